//! One meaning a word: names that the glossary replaces by the field's own must not come back.

mod tree;
use tree::{files, root, sources};

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

/// The words that a reader must not meet, by the table of GLOSSARY.md.
fn avoided() -> Vec<String> {
    let glossary = std::fs::read_to_string(root().join("GLOSSARY.md")).unwrap();
    let table = glossary.split("| use | avoid |").nth(1).expect("the table of words to avoid");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let words = rows.flat_map(|row| row.split('|').nth(2).unwrap().split(','));
    words.map(|word| word.trim().to_owned()).collect()
}

/// The first of the words that a line has, as words of their own.
fn met<'a>(line: &str, avoided: &'a [String]) -> Option<&'a String> {
    let spaced = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        format!(" {} ", words.collect::<Vec<_>>().join(" ").to_lowercase())
    };
    let line = spaced(line);
    // There is no Y: a sentence as it should be.
    let line = line.replace(" there is no ", " ").replace(" there are no ", " ");
    avoided.iter().find(|word| line.contains(&spaced(word)))
}

#[test]
fn help_and_errors_have_none_of_the_words_to_avoid() {
    let avoided = avoided();
    assert!(avoided.len() > 6, "only {avoided:?} are avoided: the check reads nothing");
    let mut seen = 0;
    let mut wrong = Vec::new();
    for file in files(&root().join("crates/cli/src/snapshots"), "snap") {
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            seen += 1;
            wrong.extend(met(line, &avoided).map(|word| format!("{}: {word}: {line}", file.display())));
        }
    }
    let said = ["#[error(", "Failure::usage(", "Failure::environment(", ".advice("];
    for name in ["cli", "distributions", "experiments", "targets", "verbs"] {
        for file in sources(&root().join("crates").join(name).join("src")) {
            for line in std::fs::read_to_string(&file).unwrap().lines() {
                let Some(text) = said.iter().find_map(|call| line.split_once(call)).map(|(_, text)| text)
                else {
                    continue;
                };
                seen += 1;
                wrong.extend(met(text, &avoided).map(|word| format!("{}: {word}: {text}", file.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen > 2000, "only {seen} lines were read");
}
