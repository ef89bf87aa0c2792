//! Rulesets of nftables as the kernel lists them, and tables of iptables-legacy, held against packets.

use dropline_netrules::legacy_tables::LegacyTable;
use dropline_netrules::message::Messages;
use dropline_netrules::registers::Certainty;
use dropline_netrules::rule_match::MetRule;
use dropline_netrules::ruleset::Ruleset;
use dropline_netrules::visit::{By, Passes, Tuple, Visit};

/// Any bytes are a ruleset through which a packet comes to an end; and what one packet meets, any that may be it or another
/// meets too.
pub fn check(bytes: &[u8]) {
    let mut rules = Ruleset::default();
    Messages::new(bytes).for_each(|message| rules.add(message));
    let lo = Passes::These(vec![("lo".to_owned(), 1)]);
    let by = By { packets: lo.clone(), frames: lo };
    let (here, there) = ("127.0.0.1".parse().ok(), "10.9.0.2".parse().ok());
    for (source, destination) in [(here, here), (here, there)] {
        let narrow = Tuple {
            source,
            destination,
            source_ports: 4000..=4000,
            destination_ports: 7007..=7007,
            ..Tuple::any(true)
        };
        for visits in [Visit::leaving(&by, true), Visit::arriving(&by, true), Visit::passing(&by, false)] {
            let met = rules.met(&narrow, &visits);
            assert!(met.iter().all(|met| met.certainty > Certainty::Not), "what is not met is not told");
            let wide = rules.met(&Tuple::any(true), &visits);
            let is_there =
                |one: &MetRule| wide.iter().any(|other| (other.does, &other.chain) == (one.does, &one.chain));
            assert!(met.iter().all(is_there), "{met:?} {wide:?}");
            for is_version_4 in [true, false] {
                let table = LegacyTable { is_version_4, name: "filter".into(), entries: bytes.to_vec() };
                let met = table.met(&narrow, &visits);
                assert!(met.len() <= bytes.len());
            }
        }
    }
}
