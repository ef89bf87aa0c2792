//! How it was measured: load, arrivals, generator, every goal attribute, the machine.

use crate::number::{self, Loads, percent, seconds};
use crate::prose::{self, sentence_case};
use crate::search_summary::{self, SearchSummary};
use crate::traffic;
use crate::verdict_word::recorded_words;
use dropline_record::{Environment, Part, Record};
use maud::{Markup, html};

/// The facts as a list.
pub(super) fn measured(record: &Record) -> Markup {
    let facts = facts(record);
    html! {
        div {
            dl { @for (name, text) in &facts { dt { (name) } dd { (text) } } }
            @if let Some(finding) = SearchSummary::of(record) { (attributes(&finding)) }
            @if !record.header.environment.command_line.is_empty() {
                p.about { "command " code { (prose::command(&record.header.environment.command_line)) } }
            }
        }
    }
}

fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let header = &record.header;
    let profile = &header.profile;
    let mut facts = vec![
        ("target", with_note(&header.target, header.target_note.as_deref())),
        ("load", format!("{}, seed {}", traffic::traffic_words(record), profile.seed)),
    ];
    let offered = !traffic::is_at_own_pace(record);
    if offered {
        facts.push(("a load is", format!("{}; {} a second", header.load_is, header.load_unit)));
    }
    for (name, parts) in [("streams", &profile.streams), ("directions", &profile.directions)] {
        if parts.len() > 1 {
            facts.push((name, shares(parts)));
        }
    }
    let loads = |load: f64| Loads::of(header.load_unit, [], load).with_unit(load);
    let limit = header
        .generator_limit_pps
        .map_or_else(String::new, |limit| format!("; its own limit {}", loads(limit)));
    if offered {
        facts.push((
            "generator",
            format!("{}{limit}", header.generator.as_deref().unwrap_or("not described")),
        ));
    }
    if let Some(search) = &header.search {
        let preset = search.preset.as_ref().map_or_else(String::new, |preset| format!(", preset {preset}"));
        let mdr = search.mdr.as_ref().map_or_else(String::new, |mdr| {
            format!(
                ", version {}, {}, {}",
                mdr.version,
                number::plural(mdr.intermediate_phases.into(), "intermediate phase"),
                number::plural(mdr.doublings.into(), "doubling")
            )
        });
        let repetition =
            search.repetition.map_or_else(String::new, |[this, all]| format!("; search {this} of {all}"));
        facts.push((
            "search",
            format!(
                "{}{preset}{mdr}, loads from {} to {}{repetition}",
                search.algorithm,
                loads(search.min_load_pps),
                loads(search.max_load_pps)
            ),
        ));
        let warm_up = if search.warm_up_s > 0.0 { seconds(search.warm_up_s) } else { "none".into() };
        facts.push(("limits", format!("{}; warm-up {warm_up}", traffic::limits_words(record))));
        facts.push(("a trial counts", search_summary::effective_words(search)));
        facts.push((
            "loss ratio",
            "1 \u{2212} forwarded ÷ intended decides (RFC 9971); lost ÷ offered is the target's".into(),
        ));
    }
    if traffic::is_ours(record) {
        facts.push(("waits", traffic::waits_words(record)));
    }
    let lost_at = traffic::lost_at(&record.trials);
    if !lost_at.is_empty() {
        let places: Vec<String> =
            lost_at.iter().map(|(place, count)| format!("{place} {}", number::count(*count))).collect();
        facts.push(("lost at", places.join(", ")));
    }
    for (name, words) in crate::directions::of_search(record) {
        facts.push(("direction", format!("{name}: {words}")));
    }
    facts.push(("machine", machine(&header.environment)));
    facts.push(("begun", prose::date(&header.started)));
    facts
}

fn with_note(target: &str, note: Option<&str>) -> String {
    note.map_or_else(|| target.to_owned(), |note| format!("{target}, {note}"))
}

fn shares(parts: &[Part]) -> String {
    let all: u64 = parts.iter().map(|part| u64::from(part.share)).sum();
    let words: Vec<String> = parts.iter().map(|part| format!("{} {}/{all}", part.name, part.share)).collect();
    words.join(", ")
}

fn machine(environment: &Environment) -> String {
    let said = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}{value}"));
    let bytes =
        |name: &str, value: Option<u64>| value.map(|value| format!("{name} {}", number::bytes(value)));
    let words: Vec<String> = [
        environment.cpus.map(|cpus| number::plural(cpus.into(), "cpu")),
        said("", &environment.cpu),
        said("", &environment.kernel),
        said("", &environment.os),
        said("governor ", &environment.governor),
        said("turbo ", &environment.turbo),
        said("SMT ", &environment.smt),
        said("virtual: ", &environment.virtualization),
        said("clock ", &environment.clocksource),
        bytes("memory", environment.memory_bytes),
        bytes("largest receive buffer", environment.rmem_max_bytes),
        bytes("default receive buffer", environment.rmem_default_bytes),
        bytes("reply buffer", environment.reply_buffer_bytes),
        environment.load_average.map(|load| format!("load average {}", number::fixed(load, 2))),
        environment.root.map(|root| if root { "as root".into() } else { "not as root".into() }),
        (!environment.dropline.is_empty()).then(|| format!("dropline {}", environment.dropline)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if words.is_empty() { "not recorded".into() } else { words.join(", ") }
}

/// All attributes of each goal, defaults included (RFC 9971 R33).
fn attributes(finding: &SearchSummary) -> Markup {
    html! {
        div.scroll {
            table.attributes {
                thead {
                    tr {
                        th.l scope="col" { "goal" }
                        th scope="col" { "loss" br; "ratio" }
                        th scope="col" { "exceed" br; "ratio" }
                        th scope="col" { "trial" br; "s" }
                        th scope="col" { "initial" br; "s" }
                        th scope="col" { "sum" br; "s" }
                        th scope="col" { "width of" br; "upper" }
                        th.l scope="col" { "in the record" br; "(RFC 9971)" }
                    }
                }
                tbody {
                    @for (index, answer) in finding.answers.iter().enumerate() {
                        @let goal = &answer.goal;
                        tr {
                            td.l { (sentence_case(&finding.names[index])) }
                            td { (percent(goal.loss_ratio)) }
                            td { (percent(goal.exceed_ratio)) }
                            td { (number::three(goal.trial_duration_s)) }
                            td { (number::three(goal.initial_trial_duration_s)) }
                            td { (number::three(goal.duration_sum_s)) }
                            td { (percent(goal.width)) }
                            td.l { (recorded_words(answer)) }
                        }
                    }
                }
            }
        }
    }
}
