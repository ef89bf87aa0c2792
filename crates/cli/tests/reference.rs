//! The pages below docs/reference say what the program says.
//!
//! What stands between `<!-- made: NAME -->` and `<!-- end -->` is made from the program's own tables. After a change
//! to a flag, a table or the schema: `DROPLINE_BLESS=1 cargo test -p dropline --test reference`, and look at the diff.

mod command;

use command::Bench;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Sections of a help that have a page of their own; what `--help` of several verbs repeats.
const ELSEWHERE: [&str; 4] = ["Targets:", "Simulated systems:", "Units:", "Arrival processes"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn help(verb: &str) -> String {
    let bench = Bench::new();
    let words: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
    let mut command = bench.command(&words);
    String::from_utf8(command.env_remove("COLUMNS").output().unwrap().stdout).unwrap()
}

/// The verbs that a help lists below the one that it is of.
fn below(verb: &str, help: &str) -> Vec<String> {
    let list = help.split("Verbs:\n").nth(1).unwrap_or_default();
    let names = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(|name| format!("{verb} {name}").trim().to_owned()).collect()
}

/// The paragraphs of a help that begin so.
fn sections(help: &str, begins: &[&str]) -> String {
    let paragraphs = help.trim_end().split("\n\n");
    let chosen = paragraphs.filter(|text| begins.iter().any(|begin| text.starts_with(begin)));
    chosen.collect::<Vec<_>>().join("\n\n")
}

/// Each verb's help, without what has a page of its own.
fn verbs() -> String {
    let mut text = String::new();
    let mut left = below("", &help(""));
    left.reverse();
    while let Some(verb) = left.pop() {
        let help = help(&verb);
        let own = help.trim_end().split("\n\n");
        let own = own.filter(|text| !ELSEWHERE.iter().any(|begin| text.starts_with(begin)));
        let own = own.collect::<Vec<_>>().join("\n\n");
        writeln!(text, "## dropline {verb}\n\n```text\n{own}\n```\n").unwrap();
        left.extend(below(&verb, &help).into_iter().rev());
    }
    text.trim_end().to_owned()
}

/// What a field of the schema may hold, in a word.
fn kind(field: &Value) -> String {
    let named = |word: &str| {
        let name = word.rsplit('/').next().unwrap();
        format!("[{name}](#{})", name.to_lowercase())
    };
    if let Some(word) = field["$ref"].as_str() {
        return named(word);
    }
    if let Some(all) = ["anyOf", "oneOf"].iter().find_map(|key| field[key].as_array()) {
        return all.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(constant) = field["const"].as_str() {
        return format!("`{constant}`");
    }
    if let Some(words) = field["enum"].as_array() {
        return words
            .iter()
            .map(|word| format!("`{}`", word.as_str().unwrap_or("null")))
            .collect::<Vec<_>>()
            .join(", ");
    }
    let types: Vec<&str> = match &field["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec!["any"],
    };
    let types = types.iter().map(|name| match *name {
        "array" => format!("list of {}", kind(&field["items"])),
        name => name.to_owned(),
    });
    types.collect::<Vec<_>>().join(" or ")
}

fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

/// The lines of a record, and the parts of these: a table each.
fn record() -> String {
    let text = std::fs::read_to_string(root().join("schema/dropline-1.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let mut page = "| `line` | what it is | its fields |\n|---|---|---|\n".to_owned();
    for line in schema["oneOf"].as_array().unwrap() {
        let name = line["properties"]["line"]["const"].as_str().unwrap();
        let about = cell(line["description"].as_str().unwrap_or_default());
        writeln!(page, "| `{name}` | {about} | {} |", kind(line)).unwrap();
    }
    for (name, part) in schema["$defs"].as_object().unwrap() {
        let about = cell(part["description"].as_str().unwrap_or_default());
        writeln!(page, "\n## {name}\n\n{about}\n").unwrap();
        let Some(fields) = part["properties"].as_object() else {
            writeln!(page, "One of {}.", kind(part)).unwrap();
            continue;
        };
        page += "| field | holds | meaning |\n|---|---|---|\n";
        for (field, what) in fields {
            let about = cell(what["description"].as_str().unwrap_or_default());
            writeln!(page, "| `{field}` | {} | {about} |", kind(what)).unwrap();
        }
    }
    page.trim_end().to_owned()
}

fn fenced(text: &str) -> String {
    assert!(!text.is_empty(), "the help has no such section any more");
    format!("```text\n{text}\n```")
}

fn made(name: &str) -> String {
    match name {
        "verbs" => verbs(),
        "record" => record(),
        "targets" => fenced(&sections(&help("search"), &ELSEWHERE[..3])),
        "arrivals" => fenced(&sections(&help("trial"), &["Arrival processes"])),
        "goals" => fenced(&sections(&help("search"), &["A goal is"])),
        "exit codes" => fenced(&sections(&help(""), &["Exit codes:"])),
        other => panic!("nothing is made by the name {other:?}"),
    }
}

/// The page with each of its parts made anew.
fn anew(page: &str) -> String {
    let mut parts = page.split("<!-- made: ");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").unwrap();
        let (_, after) = rest.split_once("<!-- end -->").expect("an end of what is made");
        write!(text, "<!-- made: {name} -->\n{}\n<!-- end -->{after}", made(name)).unwrap();
    }
    text
}

#[test]
fn the_reference_says_what_the_program_says() {
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("docs/reference")).unwrap() {
        let path = entry.unwrap().path();
        let page = std::fs::read_to_string(&path).unwrap();
        seen += page.matches("<!-- made: ").count();
        let anew = anew(&page);
        if std::env::var_os("DROPLINE_BLESS").is_some() {
            std::fs::write(&path, anew).unwrap();
        } else {
            let differs = page.lines().zip(anew.lines()).find(|(old, new)| old != new);
            assert!(
                page == anew,
                "{} is not what the program says: {differs:?}\nmake it anew by DROPLINE_BLESS=1 cargo test -p dropline --test reference",
                path.display()
            );
        }
    }
    assert!(seen >= 5, "only {seen} parts are made: the check reads nothing");
}

#[test]
fn the_readme_names_every_kind_of_target() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let table = sections(&help("search"), &["Targets:"]);
    let forms = table.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let kinds: Vec<&str> = forms.filter_map(|form| form.trim().split(':').next()).collect();
    assert!(kinds.len() > 8, "only {kinds:?} were found: the check reads nothing");
    for kind in kinds {
        assert!(readme.contains(&format!("| `{kind}:")), "README.md has no row for {kind}:");
    }
}
