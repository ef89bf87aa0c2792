//! Changes to the library that a rule must notice: tests that cannot fail protect nothing.

use super::machines::build_host;
use super::{Bench, printed, text};
use crate::Done;

/// A change, in words of the source; the form it is made in; the rule that breaks.
struct Mutation {
    what: &'static str,
    before: &'static str,
    after: &'static str,
    form: &'static [&'static str],
    rule: &'static str,
}

const SMALL: &[&str] = &["-DHB_FAST=0", "-DHB_WORDS=1"];
const BYTES: &[&str] = &["-DHB_FAST=0", "-DHB_WORDS=0"];
const NARROW: &[&str] = &["-DHB_NARROW=1"];
const FAST: &[&str] = &["-DHB_FAST=1"];

const CHECKSUM_RULE: &str = "a_heartbeat_with_any_bit_flipped_is_ignored";
const TABLE_RULE: &str = "full_random_tables_have_the_checksum_of_the_definition";

const MUTATIONS: [Mutation; 8] = [
    Mutation {
        what: "delete the checksum test",
        before: "if (word != high) {",
        after: "if (0) {",
        form: SMALL,
        rule: CHECKSUM_RULE,
    },
    Mutation {
        what: "delete the checksum test",
        before: "if (hb_differs(packet, word)) {",
        after: "if (0) {",
        form: BYTES,
        rule: CHECKSUM_RULE,
    },
    Mutation {
        what: "delete the checksum test",
        before: "if (high != 0x03c800f2u + 0x30001u * variable + 0x20001u * (low >> 8 & 0xffu) + 0x10001u * (low & 0xffu)) {",
        after: "if (0) {",
        form: FAST,
        rule: CHECKSUM_RULE,
    },
    Mutation {
        what: "delete the length test",
        before: "if (packet_len != HB_PACKET) {",
        after: "if (0) {",
        form: &[],
        rule: "a_packet_of_any_length_but_8_is_ignored",
    },
    Mutation {
        what: "accept longer packets",
        before: "if (packet_len != HB_PACKET) {",
        after: "if (packet_len < HB_PACKET) {",
        form: &[],
        rule: "a_packet_of_any_length_but_8_is_ignored",
    },
    Mutation {
        what: "accept variable 64",
        before: "if (variable >= HB_VARIABLES) {",
        after: "if (variable > HB_VARIABLES) {",
        form: &[],
        rule: "every_variable_of_the_table_is_stored_and_no_other",
    },
    Mutation {
        what: "reduce modulo once per 16 bytes",
        before: "    } while (--count);\n#endif\n    return hb_join(b, a);",
        after: "        if (count % 16 == 1 && b >= HB_MODULUS) {\n            b -= HB_MODULUS;\n        }\n    } while (--count);\n#endif\n    return b << 16 | a;",
        form: SMALL,
        rule: TABLE_RULE,
    },
    Mutation {
        what: "forget what a carry is worth",
        before: "sum.high = (uint16_t)(sum.high + 15u);",
        after: "sum.high = (uint16_t)(sum.high + 14u);",
        form: NARROW,
        rule: TABLE_RULE,
    },
];

pub(super) fn all_are_noticed(bench: &mut Bench) -> Done {
    println!("\nchanges that a rule must notice");
    let source = text(&bench.source.join("heartbeat.c"))?;
    for mutation in &MUTATIONS {
        let named = format!("{} ({})", mutation.what, mutation.form.join(" "));
        if !source.contains(mutation.before) {
            bench.faults.push(format!("{named}: heartbeat.c no longer has {:?}", mutation.before));
            continue;
        }
        let changed = bench.built("changed.c");
        std::fs::write(&changed, source.replace(mutation.before, mutation.after))
            .map_err(|why| format!("cannot write {changed}: {why}"))?;
        let program = build_host(bench, &changed, "gcc", mutation.form)?;
        match printed(&program, &[]) {
            Err(said) if said.contains(mutation.rule) => println!("  noticed by {}: {named}", mutation.rule),
            Err(said) => bench.faults.push(format!("{named}: {} should break, not {said}", mutation.rule)),
            Ok(_) => bench.faults.push(format!("{named}: no rule notices it")),
        }
    }
    Ok(())
}
