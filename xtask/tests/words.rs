//! One meaning a word: names that the glossary replaces by the field's own must not come back.

mod tree;
use std::collections::{BTreeMap, BTreeSet};
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

/// The types that a crate's root hands on of its own.
fn handed_on(root_of_crate: &str) -> BTreeSet<String> {
    let statements = root_of_crate.split(';').filter_map(|statement| statement.rsplit_once("pub use "));
    let own = statements.map(|(_, names)| names).filter(|names| !names.starts_with("dropline_"));
    let words = own.flat_map(|names| names.split([':', ',', '{', '}', ' ', '\n']));
    let declared = root_of_crate.lines().filter_map(|line| line.strip_prefix("pub ")).filter_map(|rest| {
        let (kind, name) = rest.split_once(' ')?;
        let kinds = ["struct", "enum", "trait", "type"];
        kinds.contains(&kind).then(|| name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default())
    });
    // A type's name begins with a capital and has small letters too.
    let is_type = |word: &&str| word.starts_with(char::is_uppercase) && word.chars().any(char::is_lowercase);
    words.chain(declared).filter(is_type).map(str::to_owned).collect()
}

#[test]
fn a_type_at_the_root_of_a_crate_has_a_name_that_no_other_crate_has_there() {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(path.join("src/lib.rs")) else { continue };
        for name in handed_on(&text) {
            owners.entry(name).or_default().push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    assert!(owners.len() > 200, "only {} names were found: the check reads nothing", owners.len());
    owners.retain(|_, crates| crates.len() > 1);
    assert!(owners.is_empty(), "of two crates: {owners:#?}");
}

/// A type that others may use: its name, whether all of its crate may, and what it is, without comments.
fn declared_types(text: &str) -> Vec<(String, bool, String)> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("\npub") {
        let item = &code[at + 1..];
        let Some((sight, rest)) = item.split_once(' ') else { continue };
        let kinds = ["struct ", "enum ", "trait ", "type "];
        if let Some(rest) = kinds.iter().find_map(|kind| rest.strip_prefix(kind)) {
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let body = rest.split("\n}").next().unwrap_or_default().split("\n\n").next().unwrap_or_default();
            found.push((rest[..end].to_owned(), sight != "pub(super)", body.to_owned()));
        }
    }
    found
}

#[test]
fn two_types_of_a_crate_have_two_names_and_no_type_is_declared_in_two_crates() {
    // The name of an algorithm goes before its own; what differs by the system has one name; a study is as a program by itself.
    let is_one_of_several = |file: &str, name: &str| {
        file.starts_with("search/") && name == "Config"
            || file.contains("/src/sys/")
            || file.starts_with("experiments/")
            || file.starts_with("flowgraph/")
    };
    let crates = root().join("crates");
    let mut named: BTreeMap<(String, String), Vec<(String, bool)>> = BTreeMap::new();
    let mut bodies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources(&crates) {
        let file = path.strip_prefix(&crates).unwrap().to_string_lossy().into_owned();
        if !file.contains("/src/") || is_of_tests(&path) {
            continue;
        }
        let owner = file.split('/').next().unwrap().to_owned();
        for (name, is_wide, body) in declared_types(&std::fs::read_to_string(&path).unwrap()) {
            if !is_one_of_several(&file, &name) {
                bodies.entry(body).or_default().insert(owner.clone());
                named.entry((owner.clone(), name)).or_default().push((file.clone(), is_wide));
            }
        }
    }
    assert!(named.len() > 800, "only {} types were found: the check reads nothing", named.len());
    // Those that only their own folders know may have one name.
    named.retain(|_, files| files.len() > 1 && files.iter().any(|(_, is_wide)| *is_wide));
    assert!(named.is_empty(), "two of one name: {named:#?}");
    bodies.retain(|body, owners| body.lines().count() > 2 && owners.len() > 1);
    assert!(bodies.is_empty(), "one of two crates: {bodies:#?}");
}

/// Types of the code that the glossary's third column names, with a variant where one is meant.
fn named_in_glossary(glossary: &str) -> Vec<(&str, Option<&str>)> {
    let rows = glossary.lines().filter(|line| line.starts_with("| ") && line.split('|').count() == 6);
    let code = rows.flat_map(|row| row.split('|').nth(3).unwrap_or_default().split('`').skip(1).step_by(2));
    let of = |code| str::split_once(code, "::").map_or((code, None), |(name, variant)| (name, Some(variant)));
    code.map(of)
        .filter(|(name, _)| name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric))
        .collect()
}

#[test]
fn every_type_that_the_glossary_names_is_there() {
    let glossary = std::fs::read_to_string(root().join("GLOSSARY.md")).unwrap();
    let named = named_in_glossary(&glossary);
    assert!(named.len() > 25, "only {named:?} were found: the check reads nothing");
    let code = sources(&root().join("crates")).into_iter().map(|file| std::fs::read_to_string(file).unwrap());
    let declared: Vec<(BTreeSet<String>, String)> = code
        .map(|text| {
            let lines = text.lines().map(str::trim).filter(|line| line.starts_with("pub"));
            (lines.filter_map(declared).map(str::to_owned).collect(), text)
        })
        .collect();
    let is_there = |&(name, variant): &(&str, Option<&str>)| {
        let has = |text: &str| variant.is_none_or(|variant| text.contains(variant));
        let is_of_it = |text: &str| variant.is_some() && text.contains(&format!("impl {name} "));
        declared.iter().any(|(names, text)| (names.contains(name) || is_of_it(text)) && has(text))
    };
    let lacking: Vec<_> = named.into_iter().filter(|name| !is_there(name)).collect();
    assert!(lacking.is_empty(), "GLOSSARY.md names no type of the code by {lacking:?}");
}

#[test]
fn a_word_of_two_rows_says_in_each_where_it_is_used() {
    let glossary = std::fs::read_to_string(root().join("GLOSSARY.md")).unwrap();
    let rows = glossary.lines().filter(|line| line.starts_with("| ") && line.split('|').count() == 6);
    let heads: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).collect();
    assert!(heads.len() > 80, "only {} rows were found: the check reads nothing", heads.len());
    let words = |head: &str| -> Vec<String> {
        let terms = head.split(" (").next().unwrap_or_default().split(',');
        terms.map(|word| word.trim().to_owned()).collect()
    };
    let of = |word: &String| heads.iter().filter(|head| words(head).contains(word)).count();
    let unclear =
        heads.iter().filter(|head| !head.contains(" (") && words(head).iter().any(|word| of(word) > 1));
    assert_eq!(unclear.collect::<Vec<_>>(), [] as [&&str; 0]);
}

#[test]
fn no_crate_module_or_file_is_a_bag() {
    for file in sources(&root().join("crates")) {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let bags = ["util", "utils", "common", "core", "helper", "helpers", "types", "misc"];
        assert!(!bags.contains(&stem.as_str()), "{} is named after nothing", file.display());
        // The word is for a direction, which these are of.
        let is_direction =
            ["netrules/src/way.rs", "one_way.rs", "both_ways.rs"].iter().any(|end| file.ends_with(end));
        let avoided = stem.split('_').any(|word| ["way", "ways"].contains(&word));
        assert!(is_direction || !avoided, "{}: say path", file.display());
    }
}

/// The head of the table of words that no text of ours has.
const EVERYWHERE: &str = "| use | avoid |";

/// The words that a reader must not meet, by the table of GLOSSARY.md with this head.
fn avoided(head: &str) -> Vec<String> {
    let glossary = std::fs::read_to_string(root().join("GLOSSARY.md")).unwrap();
    let table = glossary.split(head).nth(1).expect("a table of words to avoid");
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
    // There is no Y, it stands still: sentences as they should be.
    let line = [" there is no ", " there are no ", " stands still "]
        .iter()
        .fold(line, |line, said| line.replace(said, " "));
    avoided.iter().find(|word| line.contains(&spaced(word)))
}

fn is_of_tests(file: &std::path::Path) -> bool {
    file.file_stem().is_some_and(|stem| stem == "tests")
        || file.components().any(|part| part.as_os_str() == "tests")
}

/// The string literals of a source text, those over several lines as one.
fn literals(text: &str) -> impl Iterator<Item = String> {
    let mut left = text;
    std::iter::from_fn(move || {
        loop {
            let at = left.find(['"', '\'', '/'])?;
            let (before, rest) = left.split_at(at);
            if rest.starts_with("//") {
                left = rest.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(rest) = rest.strip_prefix('"') {
                let raw = before.ends_with('r') || before.ends_with('#');
                let end = if raw { rest.find('"')? } else { end_of_literal(rest)? };
                let (said, behind) = rest.split_at(end);
                left = &behind[1..];
                return Some(said.split("\\\n").map(str::trim_start).collect());
            } else if let Some(rest) = rest.strip_prefix('\'') {
                // A character, or a lifetime.
                let mut letters = rest.char_indices();
                let (_, first) = letters.next()?;
                let end = if first == '\\' {
                    rest[2..].find('\'').map(|end| end + 2)
                } else {
                    letters.next().map(|(end, _)| end)
                };
                left = end.filter(|&end| rest[end..].starts_with('\'')).map_or(rest, |end| &rest[end + 1..]);
            } else {
                left = &rest[1..];
            }
        }
    })
}

fn end_of_literal(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, letter)| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends.then_some(at)
    })
}

#[test]
fn the_literals_of_a_text_are_found() {
    let text = "f(\"one \\\" two\", '\"', '\\'', r#\"three\"#); // \"four\"\n g::<'a>(\"five \\\n   six\")";
    assert_eq!(literals(text).collect::<Vec<_>>(), ["one \\\" two", "three", "five six"]);
}

#[test]
fn help_and_errors_have_none_of_the_words_to_avoid() {
    let avoided = avoided(EVERYWHERE);
    assert!(avoided.len() > 6, "only {avoided:?} are avoided: the check reads nothing");
    let mut seen = 0;
    let mut wrong = Vec::new();
    for file in files(&root().join("crates/cli/src/snapshots"), "snap") {
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            seen += 1;
            wrong.extend(met(line, &avoided).map(|word| format!("{}: {word}: {line}", file.display())));
        }
    }
    for (file, said) in all_said() {
        seen += 1;
        wrong.extend(met(&said, &avoided).map(|word| format!("{}: {word}: {said}", file.display())));
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen > 4000, "only {seen} lines were read");
}

/// Every string literal of the program with a blank in it, with its file; of the Python package what stands beside an attribute too, and
/// the description of the Debian package.
fn all_said() -> Vec<(std::path::PathBuf, String)> {
    let mut all = Vec::new();
    for file in files(&root().join("python/python"), "py") {
        let text = std::fs::read_to_string(&file).unwrap();
        let beside = text.lines().filter_map(|line| line.trim_start().strip_prefix("#:")).map(str::to_owned);
        let said = literals(&text).chain(beside).filter(|said| said.contains(' '));
        all.extend(said.map(|said| (file.clone(), said)));
    }
    let control = root().join("packaging/control");
    all.push((control.clone(), std::fs::read_to_string(&control).unwrap()));
    for file in sources(&root().join("crates")) {
        // What somebody else wrote is quoted as it stands.
        let quotes = file.ends_with("heartbeat_reliability/verdict.rs");
        if quotes || !file.components().any(|part| part.as_os_str() == "src") || is_of_tests(&file) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        all.extend(literals(text).filter(|said| said.contains(' ')).map(|said| (file.clone(), said)));
    }
    all
}

#[test]
fn a_number_has_its_noun_from_number_of_so_that_one_of_a_thing_is_no_plural() {
    const NOUNS: [&str; 10] = [
        "packets",
        "replies",
        "values",
        "trials",
        "samples",
        "records",
        "granules",
        "heartbeats",
        "datagrams",
        "turns",
    ];
    // What is said where it was seen that there are several, and what is only seen by who wrote it.
    const SEVERAL: [&str; 14] = [
        "{number} {stem}plies",
        "{} packets were",
        "{below} values are below zero",
        "a batch holds {",
        "{} replies came, but",
        "{} replies came from {from}, but",
        " of these {lost} packets",
        "Of {all} trials {drawn} are drawn",
        "buffer for \\u{d7}{times} packets",
        // A range, and a unit: `10 to 20 packets`, `2 s trials`, `1 packets a second`.
        "{} to {} packets",
        "{} trials",
        " for {duration_s} s {} packets",
        "{0} packets a second",
        "{} turns in {} s are of",
    ];
    let mut wrong = Vec::new();
    for (file, said) in all_said() {
        let experiments = file.components().any(|part| part.as_os_str() == "experiments");
        let meets = |noun: &&str| {
            said.split("} ")
                .skip(1)
                .any(|behind| behind.strip_prefix(*noun).is_some_and(|rest| !rest.starts_with('-')))
        };
        if !experiments && NOUNS.iter().any(meets) && !SEVERAL.iter().any(|known| said.contains(known)) {
            wrong.push(format!("{}: {said}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The documents that a user reads.
fn pages() -> Vec<std::path::PathBuf> {
    let parts = ["docs/how-to", "docs/reference", "docs/explanation"];
    let alone = ["README.md", "docs/README.md", "docs/tutorial.md"].map(|name| root().join(name));
    parts.iter().flat_map(|part| files(&root().join(part), "md")).chain(alone).collect()
}

/// The sentences of a document: of its headings, paragraphs, items of lists and cells of tables. Code is left out, or one word where it
/// is in a sentence, and so is what is made from the program's own tables.
fn sentences(document: &str) -> Vec<String> {
    let mut parts = document.split("<!-- made: ");
    let first = parts.next().unwrap_or_default();
    let by_hand = parts.map(|part| part.split_once("<!-- end -->").map_or("", |(_, rest)| rest));
    let text: String = std::iter::once(first).chain(by_hand).collect();
    let mut blocks = vec![String::new()];
    let (mut is_fenced, mut is_code) = (false, false);
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        let last = blocks.len() - 1;
        // Four blanks behind an empty line: code, as long as it is so far to the right.
        is_code = line.starts_with("    ") && (is_code || blocks[last].is_empty());
        let words = line.trim_start();
        let number = words.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_item = number.len() < words.len() && number.starts_with(". ");
        let begins = is_item || ["#", "- ", "|"].iter().any(|begin| words.starts_with(begin));
        let is_prose = !(is_fence || is_fenced || is_code || words.is_empty());
        if !is_prose || begins {
            blocks.push(String::new());
        }
        if !is_prose {
            continue;
        }
        if let Some(row) = words.strip_prefix('|') {
            blocks.extend(row.split('|').map(str::to_owned));
            blocks.push(String::new());
        } else if let Some(block) = blocks.last_mut() {
            *block += &format!("{} ", words.trim_end());
        }
    }
    blocks.iter().flat_map(|block| in_sentences(&plain(block))).collect()
}

/// A block without what is in backticks, and without where its links lead.
fn plain(block: &str) -> String {
    let code = block.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "code" });
    let text: String = code.collect();
    let mut links = text.split("](");
    let first = links.next().unwrap_or_default().to_owned();
    links.fold(first, |text, link| text + link.split_once(')').map_or("", |(_, rest)| rest))
}

fn in_sentences(block: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in block.split_whitespace() {
        let last = found.len() - 1;
        found[last] += &format!("{word} ");
        if word.trim_end_matches(['"', '*', ')', '_']).ends_with(['.', '!', '?']) {
            found.push(String::new());
        }
    }
    found
}

#[test]
fn the_sentences_of_a_document_are_found() {
    let page = "# A head\n\nOne `a. b` and\n[two](x.md). Three!\n\n```text\nnone. of it\n```\n\n    nor this\n    one\n\n- four\n  goes on\n\
                | five | six. Seven |\n<!-- made: x -->\nmade.\n<!-- end -->\n10. eight";
    let found = sentences(page).into_iter().map(|one| one.trim().to_owned()).filter(|one| !one.is_empty());
    let expected = [
        "# A head",
        "One code and [two.",
        "Three!",
        "- four goes on",
        "five",
        "six.",
        "Seven",
        "10.",
        "eight",
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn documents_have_none_of_the_words_to_avoid() {
    let avoided = [avoided(EVERYWHERE), avoided("| use | avoid in documents |")].concat();
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        for sentence in sentences(&std::fs::read_to_string(&page).unwrap()) {
            seen += 1;
            wrong.extend(
                met(&sentence, &avoided).map(|word| format!("{}: {word}: {sentence}", page.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{} sentences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen > 1500, "only {seen} sentences were read");
}

#[test]
fn no_sentence_of_a_document_has_more_than_60_words() {
    let (mut longest, mut wrong) = (0, Vec::new());
    for page in pages() {
        for sentence in sentences(&std::fs::read_to_string(&page).unwrap()) {
            let words =
                sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            longest = longest.max(words);
            if words > 60 {
                wrong.push(format!("{}: {words} words: {sentence}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(longest > 25, "the longest sentence has {longest} words: the check reads nothing");
}
