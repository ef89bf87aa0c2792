//! Every number of the credible search that somebody chose stands in one table, with its unit and what set it.

mod tree;

use std::fs::read_to_string;
use tree::{root, sources};

/// Constants that stand where they are used: they follow from mathematics, or are a state and not a choice.
const DERIVED: [&str; 11] = [
    "ANYWHERE",
    "BETA_HALF_8",
    "CELLS",
    "FAR",
    "LOG_EXPONENTIAL",
    "LOG_EXPONENTIAL_MEAN",
    "LOG_EXPONENTIAL_VARIANCE",
    "PER_UNIT",
    "UNASKED",
    "UNCERTAIN",
    "UNKNOWNS",
];

/// The constants of a text but for its tests: each with the comment above it.
fn constants(text: &str) -> Vec<(String, String)> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let mut comment = String::new();
    let mut found = Vec::new();
    for line in code.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            comment.push_str(words);
        } else {
            let declared = line.split("const ").nth(1).filter(|_| !line.contains("fn "));
            if let Some((name, _)) = declared.and_then(|rest| rest.split_once(':')) {
                found.push((name.to_owned(), comment.clone()));
            }
            comment.clear();
        }
    }
    found
}

#[test]
fn every_chosen_number_of_credible_stands_in_its_table_with_its_unit_and_what_set_it() {
    let folder = root().join("crates/search/src/credible");
    let table = folder.join("constants.rs");
    let text = read_to_string(&table).unwrap();
    let chosen = constants(&text);
    assert!(chosen.len() > 100, "{}", chosen.len());
    for (name, comment) in &chosen {
        assert!(comment.contains("Unit: ") && comment.contains("Set by: "), "{name}: {comment}");
    }
    let elsewhere: Vec<String> = sources(&folder)
        .into_iter()
        .filter(|file| *file != table)
        .flat_map(|file| constants(&read_to_string(file).unwrap()))
        .map(|(name, _)| name)
        .filter(|name| !DERIVED.contains(&name.as_str()))
        .collect();
    assert!(elsewhere.is_empty(), "to be put into {}: {elsewhere:?}", table.display());
    // A part of the table has the name of the file that uses it.
    for part in text.lines().filter_map(|line| line.strip_prefix("pub(super) mod ")) {
        let file = part.trim_end_matches(" {");
        let is_there = file == "credible" || folder.join(file).with_extension("rs").is_file();
        assert!(is_there, "no file of the search is called {file}");
    }
}
