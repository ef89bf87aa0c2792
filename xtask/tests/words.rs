//! One meaning a word: names that the glossary replaces by the field's own must not come back.

mod tree;
use tree::{root, sources};

/// Exact identifiers, flags and JSON keys that must not be used, and the word to use.
const FORBIDDEN: [(&str, &str); 14] = [
    ("drop_rate", "loss_ratio"),
    ("drop_ratio", "loss_ratio"),
    ("loss_rate", "loss_ratio"),
    ("plr", "loss_ratio"),
    ("sent_rate", "offered_load"),
    ("target_rate", "intended_load"),
    ("goodput", "forwarding_rate"),
    ("throughput", "conditional_throughput, or the result of a zero-loss goal"),
    ("jitter", "ipdv or pdv"),
    ("datapoint", "singleton"),
    ("inter_packet_gap", "idt or iat"),
    ("confidence", "level"),
    ("test_run", "trial"),
    ("best_rate", "relevant_lower_bound"),
];

/// The names that a line declares as public: items, fields, and flags.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub "))?;
    let rest = ["const ", "async ", "fn ", "struct ", "enum ", "trait ", "type ", "static ", "mod "]
        .iter()
        .fold(rest, |rest, keyword| rest.strip_prefix(keyword).unwrap_or(rest));
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}

#[test]
fn public_names_are_the_fields_own_words() {
    let mut seen = 0;
    for file in sources(&root().join("crates")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for name in text.lines().filter_map(declared) {
            seen += 1;
            let forbidden = FORBIDDEN.iter().find(|(word, _)| name.eq_ignore_ascii_case(word));
            assert!(forbidden.is_none(), "{}: {name}; say {}", file.display(), forbidden.unwrap().1);
            let getter = name.starts_with("get_");
            assert!(!getter, "{}: {name}; say it without get_", file.display());
        }
    }
    assert!(seen > 300, "only {seen} names were found: the check reads nothing");
}

#[test]
fn no_crate_module_or_file_is_a_bag() {
    for file in sources(&root().join("crates")) {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let bags = ["util", "utils", "common", "core", "helper", "helpers", "types", "misc"];
        assert!(!bags.contains(&stem.as_str()), "{} is named after nothing", file.display());
    }
}
