//! What follows from a target's kind is asked of one table, so that a new kind is one line there.

mod tree;

use std::fs::read_to_string;
use tree::{root, sources};

const TABLE: &str = "crates/record/src/target_kind.rs";

/// What only reads and shows records: it has a target's word, and nothing that measures.
const READERS: [&str; 6] = ["archive", "cli", "distributions", "record", "report", "verbs"];

#[test]
fn what_reads_a_record_asks_the_table_of_kinds_and_not_the_word_of_a_target() {
    let table = read_to_string(root().join(TABLE)).unwrap();
    let prefixes: Vec<&str> = table
        .split("kind(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|word| word.contains(':'))
        .collect();
    assert!(prefixes.len() > 12, "only {prefixes:?} were found: the check reads nothing");
    let mut wrong = Vec::new();
    for file in READERS.iter().flat_map(|name| sources(&root().join("crates").join(name).join("src"))) {
        if file.ends_with(TABLE) {
            continue;
        }
        let text = read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        // The word alone is there to be compared with a target.
        let asks = |prefix: &&&str| code.contains(&format!("\"{prefix}\""));
        wrong.extend(prefixes.iter().find(asks).map(|prefix| format!("{}: {prefix}", file.display())));
    }
    assert!(wrong.is_empty(), "give {TABLE} a field for what these ask:\n{}", wrong.join("\n"));
}
