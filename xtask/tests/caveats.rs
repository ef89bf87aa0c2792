//! Every caveat that the program can say is explained.

mod tree;

use std::collections::BTreeSet;
use tree::{root, sources};

/// What stands before a code where it is said, and the file in which alone it means that.
const SAID_BY: [(&str, &str); 12] = [
    ("code: \"", ".rs"),
    ("CaveatLine::said(\"", ".rs"),
    (" said(\"", "verbs/src/search.rs"),
    ("reported(\"", ".rs"),
    ("say(\"", "verbs/src/compare.rs"),
    ("say(found, \"", ".rs"),
    ("SAME_DATA: &str = \"", ".rs"),
    ("BROKEN: &str = \"", ".rs"),
    ("NOT_KEPT: &str = \"", ".rs"),
    ("(\"", "searches/differences.rs"),
    ("(\"", "compare/conditions.rs"),
    ("=> \"", "trial/src/caveat.rs"),
];

/// The codes of all caveats, but of those that studies say of their own runs.
fn codes() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in sources(&root().join("crates")) {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        if name.contains("/tests") || name.contains("/examples") || name.starts_with("crates/experiments") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        // As in one line: what is said may begin in the next one.
        let text = text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("( \"", "(\"")
            .replace("( found", "(found");
        for (begin, _) in SAID_BY.iter().filter(|(_, file)| name.ends_with(file)) {
            let words = text.split(begin).skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(words.map(str::to_owned));
        }
    }
    let is_code =
        |word: &String| !word.is_empty() && word.chars().all(|sign| sign.is_ascii_lowercase() || sign == '_');
    found.retain(is_code);
    found
}

#[test]
fn every_caveat_has_a_row_that_says_what_to_do() {
    let page = std::fs::read_to_string(root().join("docs/reference/caveats.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    for row in rows.clone() {
        assert_eq!(
            row.split(" | ").count(),
            4,
            "a row has a code, what was seen, what it means, what to do: {row}"
        );
    }
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let mut named = BTreeSet::new();
    for code in cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
        assert!(named.insert(code.to_owned()), "{code} has two rows");
    }
    let said = codes();
    assert!(said.len() > 70, "only {} codes were found: the check reads nothing", said.len());
    let lacking: Vec<_> = said.difference(&named).collect();
    let surplus: Vec<_> = named.difference(&said).collect();
    assert!(lacking.is_empty() && surplus.is_empty(), "without a row: {lacking:?}; never said: {surplus:?}");
}

/// Lists of words in a source, but for its tests.
fn lists(text: &str) -> Vec<Vec<String>> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut found = Vec::new();
    for rest in code.split('[').skip(1) {
        let Some((inside, _)) = rest.split_once(']') else { continue };
        let is_list = inside
            .split('"')
            .step_by(2)
            .all(|part| part.chars().all(|sign| sign == ',' || sign.is_whitespace()));
        let words: Vec<String> = inside.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        if is_list && words.len() > 1 {
            found.push(words);
        }
    }
    found
}

/// The codes of such a list.
fn entries(file: &str, list: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let (_, list_on) = text.split_once(&format!("const {list}: [")).unwrap();
    let entries = list_on.split_once("= [").unwrap().1.split("\n];").next().unwrap();
    let entries: Vec<&str> = match entries.contains("code: ") {
        true => entries.split("code: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect(),
        false => entries.split('"').skip(1).step_by(2).collect(),
    };
    entries.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_caveat_of_a_search_is_in_the_table_of_a_searchs_answer_and_every_row_of_it_is_one() {
    let page = std::fs::read_to_string(root().join("docs/reference/caveats.md")).unwrap();
    let table = page.split_once("## A search's answer").unwrap().1.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let of_search = entries("crates/trial/src/caveat.rs", "OF_SEARCH");
    assert_eq!(rows.map(str::to_owned).collect::<BTreeSet<_>>(), of_search.into_iter().collect());
}

#[test]
fn lists_of_words_are_found() {
    let text = "const A: [&str; 2] = [\n \"one\",\n \"two\",\n]; f(&[\"x\", y]); [\"three\", \"four\"].contains(a[1])";
    assert_eq!(lists(text), [["one", "two"], ["three", "four"]]);
}

/// Wherever caveats are sorted by their codes: a code that nobody says sorts nothing.
#[test]
fn a_caveat_that_is_sorted_by_its_code_can_be_said() {
    let said = codes();
    let (mut seen, mut wrong) = (0, Vec::new());
    for path in sources(&root().join("crates")) {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        if !name.contains("/src/") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for list in lists(&text) {
            let strange: Vec<&String> = list.iter().filter(|code| !said.contains(*code)).collect();
            // A list of something else may share a word with them.
            if 2 * strange.len() < list.len() {
                seen += list.len();
                if !strange.is_empty() {
                    wrong.push(format!("{name} names what no caveat is called: {strange:?}"));
                }
            }
        }
    }
    assert!(seen > 50, "only {seen} codes in lists were found: the check reads nothing");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_caveat_that_denies_an_answer_can_be_said() {
    let (said, entries) = (codes(), entries("crates/report/src/denial.rs", "DENIALS"));
    assert!(entries.len() > 5, "only {entries:?} were found: the check reads nothing");
    let strange: Vec<_> = entries.iter().filter(|code| !said.contains(*code)).collect();
    assert!(strange.is_empty(), "DENIALS names what no caveat is called: {strange:?}");
}
