//! The pages below docs/reference, docs/how-to and docs/explanation say what the program says.
//!
//! What stands between `<!-- made: NAME -->` and `<!-- end -->` is made from the program's own tables. After a change
//! to a flag, a table or the schema: `DROPLINE_BLESS=1 cargo test -p dropline --test reference`, and look at the diff.

mod command;

use command::{Bench, below};
use dropline_table::Values;
use dropline_targets::{IN_TABLES, PARAMETERS, Parameter};
use dropline_trial::caveat::{DISTURBING, INVALIDATING, OF_SEARCH};
use schemars::JsonSchema;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Sections of a help that have a page of their own; what `--help` of several verbs repeats.
const ELSEWHERE: [&str; 3] = ["All targets:", "Units:", "Arrival processes"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn help(verb: &str) -> String {
    let bench = Bench::new();
    let words: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
    let mut command = bench.command(&words);
    String::from_utf8(command.env_remove("COLUMNS").output().unwrap().stdout).unwrap()
}

/// The list of `dropline help targets`.
fn targets() -> String {
    Bench::new().done(&["help", "targets"]).text
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

/// What a field of the schema may hold, in a word; `link` says where a part has its table.
fn kind(field: &Value, link: &dyn Fn(&str) -> String) -> String {
    let named = |word: &str| {
        let name = word.rsplit('/').next().unwrap();
        format!("[{name}]({})", link(name))
    };
    if let Some(word) = field["$ref"].as_str() {
        return named(word);
    }
    if let Some(all) = ["anyOf", "oneOf"].iter().find_map(|key| field[key].as_array()) {
        return all.iter().map(|one| kind(one, link)).collect::<Vec<_>>().join(" or ");
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
        "array" => format!("list of {}", kind(&field["items"], link)),
        name => name.to_owned(),
    });
    types.collect::<Vec<_>>().join(" or ")
}

fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

fn on_this_page(name: &str) -> String {
    format!("#{}", name.to_lowercase())
}

/// The lines of a record, and the parts of these: a table each.
fn record() -> String {
    let schema = written_lines();
    let mut page = "| `line` | what it is | its fields |\n|---|---|---|\n".to_owned();
    for line in schema["oneOf"].as_array().unwrap() {
        let name = line["properties"]["line"]["const"].as_str().unwrap();
        let about = cell(line["description"].as_str().unwrap_or_default());
        writeln!(page, "| `{name}` | {about} | {} |", kind(line, &on_this_page)).unwrap();
    }
    for (name, part) in schema["$defs"].as_object().unwrap() {
        describe(&mut page, name, part, &on_this_page);
    }
    page.trim_end().to_owned()
}

/// Answers that are no result of a measurement. The first word of each says which verb.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is wanted")]
enum CountsAnswer {
    /// `doctor`: a list of these.
    Doctor(dropline_verbs::doctor::Finding),
    /// `serve`, when it ends.
    Served(dropline_verbs::serve::Served),
    /// `heartbeat serve`, when it ends.
    HeartbeatServed(dropline_aggregator::server::ServerCounts),
    /// `heartbeat send`.
    HeartbeatSent(dropline_aggregator::sender::SentLine),
    /// `heartbeat report`.
    HeartbeatReport(dropline_aggregator::report::Reading),
    /// `heartbeat watch`, when it ends.
    HeartbeatWatch(dropline_aggregator::watch::WatchState),
    /// `fleet list`.
    FleetList(dropline_fleet::answers::AgentsLine),
    /// `fleet ping`.
    FleetPing(dropline_fleet::answers::ClocksLine),
    /// `fleet doctor`.
    FleetDoctor(dropline_fleet::answers::FleetFindings),
    /// `fleet revoke`: a list of these.
    FleetRevoke(dropline_fleet::Revoked),
}

/// What `--json` prints where the answer is no record: as of a record, whose own parts stand on its page.
fn answers() -> String {
    let records = serde_json::from_str(&dropline_record::schema::answer_schema()).unwrap();
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let counts =
        serde_json::to_value(settings.into_generator().into_root_schema_for::<CountsAnswer>()).unwrap();
    let schemas: [Value; 2] = [records, counts];
    let record = written_lines();
    let of_record = record["$defs"].as_object().unwrap();
    let link = |name: &str| match of_record.contains_key(name) {
        true => format!("record.md{}", on_this_page(name)),
        false => on_this_page(name),
    };
    let mut page = "| answer of | its fields |\n|---|---|\n".to_owned();
    for answer in schemas.iter().flat_map(|schema| schema["anyOf"].as_array().unwrap()) {
        let verb = answer["description"].as_str().unwrap().trim_end_matches('.');
        writeln!(page, "| {verb} | {} |", kind(answer, &link)).unwrap();
    }
    for (name, part) in schemas.iter().flat_map(|schema| schema["$defs"].as_object().unwrap()) {
        match of_record.get(name) {
            Some(same) => assert_eq!(part, same, "two types are called {name}"),
            None => describe(&mut page, name, part, &link),
        }
    }
    page.trim_end().to_owned()
}

/// The lines of a record as they are written.
fn written_lines() -> Value {
    serde_json::from_str(&dropline_record::schema::written_line_schema()).unwrap()
}

/// A part of a schema: its fields, or the words that it is one of, a table; else what it is one of.
fn describe(page: &mut String, name: &str, part: &Value, link: &dyn Fn(&str) -> String) {
    let about = |of: &Value| cell(of["description"].as_str().unwrap_or_default());
    writeln!(page, "\n## {name}\n\n{}\n", about(part)).unwrap();
    let forms = part["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fields = |of: &Value| of["properties"].as_object().cloned().unwrap_or_default();
    if forms.iter().any(|form| form["const"].is_string()) {
        *page += "| word | meaning |\n|---|---|\n";
        for form in forms {
            writeln!(page, "| {} | {} |", kind(form, link), about(form)).unwrap();
        }
    } else if fields(part).is_empty() {
        writeln!(page, "One of {}.", kind(part, link)).unwrap();
    } else {
        *page += "| field | holds | meaning |\n|---|---|---|\n";
        let required = part["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (field, what) in fields(part) {
            let mut holds = kind(&what, link);
            if !required.iter().any(|name| *name == field) {
                // It is left out instead.
                holds = format!("{}, may be absent", holds.strip_suffix(" or null").unwrap_or(&holds));
                assert!(
                    !about(&what).contains("null"),
                    "{name}.{field} is absent, and its text speaks of null"
                );
            }
            writeln!(page, "| `{field}` | {holds} | {} |", about(&what)).unwrap();
        }
    }
    // What else it holds, by the word of a field.
    for form in forms.iter().filter(|form| !fields(form).is_empty()) {
        let (own, others): (Vec<_>, Vec<_>) =
            fields(form).into_iter().partition(|(_, what)| what["const"].is_string());
        let word = own.iter().map(|(field, what)| format!("`{field}` | {}", kind(what, link)));
        let others =
            others.iter().map(|(field, what)| format!(" `{field}` ({}): {}", kind(what, link), about(what)));
        let others = others.collect::<String>();
        writeln!(page, "| {} | {}{others} |", word.collect::<String>(), about(form)).unwrap();
    }
}

/// The columns of trials, each with what the field of a trial means that it is made of.
fn columns() -> String {
    // One has replies, the other has goals.
    let kept = ["dns", "search-credible"].map(|name| {
        let path = root().join(format!("crates/record/tests/kept/2026-11-27/{name}.jsonl"));
        dropline_record::Record::read(&std::fs::read_to_string(path).unwrap()).unwrap()
    });
    let schema = written_lines();
    let about = |part: &str, field: &str| {
        let field = &schema["$defs"][part]["properties"][field];
        field["description"].as_str().map(|text| cell(text).trim_end_matches('.').to_owned())
    };
    let fields: Vec<&String> =
        schema["$defs"]["TrialLine"]["properties"].as_object().unwrap().keys().collect();
    let mut rows: Vec<(String, &str, String)> = Vec::new();
    for column in kept.iter().flat_map(dropline_report::trial_columns) {
        let holds = match column.values {
            Values::Integers(_) | Values::Times(_) => "integer",
            Values::Numbers(_) => "number",
            Values::Texts(_) => "text",
            Values::Truths(_) => "truth",
        };
        let name = column.name.as_str();
        let (name, meaning) = if let Some(meaning) = about("TrialLine", name) {
            // Of the list of doubts a column has the codes.
            let codes = if name == "caveats" { ": their codes, a blank between" } else { "" };
            (name.to_owned(), meaning + codes)
        } else if let Some((_, bound)) = name.strip_prefix("goal_").and_then(|rest| rest.split_once('_')) {
            (format!("goal_N_{bound}"), format!("Of goal N: {}", about("BoundsLine", bound).expect(name)))
        } else {
            let begins = |field: &&&String| name.starts_with(&format!("{field}_"));
            let field = fields.iter().filter(begins).max_by_key(|field| field.len()).expect(name);
            let part = match field.as_str() {
                "lost_at" => "PLACE",
                "replies" => "CLASS",
                _ => &name[field.len() + 1..],
            };
            let of_delay = about("DelayLine", part).map_or_else(String::new, |of| format!(": {of}"));
            (format!("{field}_{part}"), about("TrialLine", field).unwrap() + &of_delay)
        };
        if !rows.iter().any(|(known, ..)| *known == name) {
            rows.push((name, holds, meaning));
        }
    }
    let mut table = "| column | holds | meaning |\n|---|---|---|\n".to_owned();
    for (name, holds, meaning) in rows {
        writeln!(table, "| `{name}` | {holds} | {meaning} |").unwrap();
    }
    table.trim_end().to_owned()
}

fn fenced(text: &str) -> String {
    assert!(!text.is_empty(), "the help has no such section any more");
    format!("```text\n{text}\n```")
}

fn codes(all: impl IntoIterator<Item = &'static str>) -> String {
    all.into_iter().map(|code| format!("`{code}`")).collect::<Vec<_>>().join(", ")
}

/// The parameters of a closed set: what each may be, and is where nobody says.
fn parameters(prefix: &str) -> String {
    let (_, set) = PARAMETERS.iter().find(|(known, _)| *known == prefix).expect("a set of parameters");
    let mut table = "| parameter | values | default | meaning |\n|---|---|---|---|\n".to_owned();
    for Parameter { name, values, default, about } in *set {
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        writeln!(table, "| `{name}` | {} | {default} | {} |", cell(values), cell(about)).unwrap();
    }
    table.trim_end().to_owned()
}

fn made(name: &str) -> String {
    if let Some(prefix) = name.strip_prefix("parameters of ") {
        return parameters(prefix);
    }
    match name {
        "verbs" => verbs(),
        "record" => record(),
        "columns of trials" => columns(),
        "answers" => answers(),
        "invalidating" => codes(INVALIDATING),
        "spoiling" => codes(DISTURBING.into_iter().filter(|code| INVALIDATING.contains(code))),
        "of a search" => codes(OF_SEARCH),
        "denying" => codes(dropline_report::denying()),
        "targets" => fenced(targets().trim_end()),
        "arrivals" => fenced(&sections(&help("trial"), &["Arrival processes"])),
        "goals" => fenced(&sections(&help("search"), &["A goal is", "Or a bound on the delay"])),
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
    let mut tables = PARAMETERS.to_vec();
    let pages = ["docs/reference", "docs/how-to", "docs/explanation"]
        .map(|place| std::fs::read_dir(root().join(place)).unwrap());
    for entry in pages.into_iter().flatten() {
        let path = entry.unwrap().path();
        let page = std::fs::read_to_string(&path).unwrap();
        seen += page.matches("<!-- made: ").count();
        tables.retain(|(prefix, _)| !page.contains(&format!("<!-- made: parameters of {prefix} -->")));
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
    assert!(seen >= 8, "only {seen} parts are made: the check reads nothing");
    assert!(tables.is_empty(), "no page has the table of {tables:?}");
}

#[test]
fn every_parameter_of_a_target_stands_in_a_table() {
    for (page, names) in IN_TABLES {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let cells: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
        for name in names {
            let is_it = |word: &str| word.split('=').next() == Some(name);
            let stands = cells.iter().any(|cell| cell.split('`').any(is_it));
            assert!(stands, "{page} has no row for {name}=");
        }
    }
}

/// The fields that a part of a page says are always there, and parts by which what they hold is described.
fn always_there<'a>(page: &'a str, part: &str) -> Vec<(&'a str, Option<&'a str>)> {
    let section = page.split(&format!("\n## {part}\n")).nth(1).unwrap();
    let rows = section.split("\n## ").next().unwrap().lines().filter(|row| row.starts_with("| `"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>()).filter(|cells| cells.len() == 3);
    let there = cells.filter(|cells| !cells[1].ends_with(", may be absent"));
    let linked =
        |holds: &'a str| holds.split_once("](#").map(|(before, _)| before.rsplit('[').next().unwrap());
    there.map(|cells| (cells[0].trim_matches(['|', ' ', '`']), linked(cells[1]))).collect()
}

/// What a value lacks of what the page says of its part.
fn lacking(page: &str, part: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(several) => several.iter().for_each(|one| lacking(page, part, one, found)),
        Value::Object(_) => {
            for (field, below) in always_there(page, part) {
                match (value.get(field), below) {
                    (None, _) => found.push(format!("{part}.{field}")),
                    (Some(held), Some(below)) => lacking(page, below, held, found),
                    (Some(_), None) => {}
                }
            }
        }
        _ => {}
    }
}

#[test]
fn a_field_that_the_reference_does_not_call_absent_is_in_every_record() {
    let page = std::fs::read_to_string(root().join("docs/reference/record.md")).unwrap();
    let bench = Bench::new();
    bench.done(&["search", "sim:consistent", "-q", "--max-trials", "9", "-o", "search.jsonl"]);
    bench.done(&["trial", "sim:queue", "-q", "--load", "1kpps", "--duration", "1s", "-o", "trial.jsonl"]);
    let mut found = Vec::new();
    for line in [bench.read("search.jsonl"), bench.read("trial.jsonl")].concat().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let part = match line["line"].as_str().unwrap() {
            "header" => "Header",
            "trial" => "TrialLine",
            "result" => "ResultLine",
            other => panic!("no line {other} was to be written"),
        };
        lacking(&page, part, &line, &mut found);
    }
    assert!(found.is_empty(), "{found:?} are absent, and the reference does not say so");
}

#[test]
fn the_picture_of_the_readme_is_what_the_command_below_it_draws() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let command = "dropline search sim:consistent";
    let about = readme.split("](docs/loss.svg)").nth(1).unwrap();
    assert!(about.trim_start().starts_with(&format!("Each dot is a trial of `{command}`")), "{about:.200}");
    let bench = Bench::new();
    bench.done(&["search", "sim:consistent", "-q", "-o", "found.jsonl"]);
    bench.done(&["report", "found.jsonl", "--svg", "plots"]);
    let (drawn, shown) = (bench.read("plots/loss.svg"), root().join("docs/loss.svg"));
    if std::env::var_os("DROPLINE_BLESS").is_some() {
        std::fs::write(&shown, &drawn).unwrap();
    }
    assert!(
        std::fs::read_to_string(&shown).unwrap() == drawn,
        "docs/loss.svg is not what the program draws: DROPLINE_BLESS=1 cargo test -p dropline --test reference"
    );
}

#[test]
fn the_readme_names_every_kind_of_target() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let table = sections(&targets(), &["Targets:"]);
    let forms = table.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let kinds: Vec<&str> = forms.filter_map(|form| form.trim().split(':').next()).collect();
    assert!(kinds.len() > 8, "only {kinds:?} were found: the check reads nothing");
    for kind in kinds {
        assert!(readme.contains(&format!("| `{kind}:")), "README.md has no row for {kind}:");
    }
}
