//! The answer: what each service bears, where requests went beyond that, and what others say of it.

use super::MOST_ANSWERS;
use super::observed::Observed;
use super::server::SERVICES;
use dropline_record::{CaveatLine, Study, Table};
use dropline_trial::number_of;

/// The service that is held against itself.
const HELD: &str = "knot";

/// What a service bears with some loss, by its first search.
pub(super) fn bears(seen: &[Observed], service: &str) -> Option<f64> {
    let first = seen.iter().find(|one| one.is_of(service, "constant", 1))?;
    ["pdr_median_pps", "pdr_lower_pps"].into_iter().find_map(|name| first.figure(name))
}

/// What a generator stated of a service in a round.
pub(super) fn stated(seen: &[Observed], service: &str, rival: &str, round: u32) -> Option<f64> {
    seen.iter().find(|one| one.is_of(service, rival, round))?.figure("rate")
}

/// All that was seen.
pub(super) fn study(seen: &[Observed], caveats: Vec<CaveatLine>) -> Study {
    let services: Vec<&str> = SERVICES
        .iter()
        .map(|service| service.name)
        .filter(|name| seen.iter().any(|one| one.service == *name))
        .collect();
    let (inside, pairs) = held(seen);
    Study {
        name: "services".into(),
        title: match pairs {
            0 => format!("What {} can take, and what others say of them", number_of(services.len(), "service")),
            _ => format!("Of {pairs} pairs of searches of {HELD}, in {inside} the middle of one lies in the interval of the other"),
        },
        paragraphs: vec![
            "Each service runs on the first CPU; only one program asks it at a time. A search looks for the load without loss and \
             the one with 0.5 % loss, and states where it is with 95 %. It has all CPUs: where there are two, its receiver has a \
             part of the service's, which takes less then. The most answers, and what is lost at the rate that another generator \
             states, are of open loads from the last CPU alone, as these generators. Those that wait for answers ask less while a \
             service stands still: what they state is not a load that comes whether it is answered or not."
                .into(),
        ],
        tables: vec![borne(seen, &services), above(seen, &services), others(seen, &services), repeats(seen), lost_there(seen)],
        charts: Vec::new(),
        caveats,
    }
}

/// How many of the pairs of searches of one service agree: the middle of each in the interval of the other.
fn held(seen: &[Observed]) -> (usize, usize) {
    let all: Vec<[f64; 3]> = repeated(seen).filter_map(|one| interval(one, "ndr")).collect();
    let pairs = || all.iter().enumerate().flat_map(|(at, a)| all[at + 1..].iter().map(move |b| (a, b)));
    let holds = |[low, _, high]: &[f64; 3], [_, middle, _]: &[f64; 3]| (low..=high).contains(&middle);
    (pairs().filter(|(a, b)| holds(a, b) && holds(b, a)).count(), pairs().count())
}

fn repeated(seen: &[Observed]) -> impl Iterator<Item = &Observed> {
    seen.iter().filter(|one| one.service == HELD && one.step == "constant")
}

fn interval(one: &Observed, goal: &str) -> Option<[f64; 3]> {
    let end = |name: &str| one.figure(&format!("{goal}_{name}_pps"));
    Some([end("lower")?, end("median")?, end("upper")?])
}

fn borne(seen: &[Observed], services: &[&str]) -> Table {
    let mut rows = Vec::new();
    for service in services {
        let about = SERVICES.iter().find(|one| one.name == *service).map_or("", |one| one.about);
        for one in seen.iter().filter(|one| one.service == *service && one.round == 1) {
            if !["constant", "poisson"].contains(&one.step.as_str()) {
                continue;
            }
            let [ndr, pdr] = ["ndr", "pdr"].map(|goal| written(one, goal));
            let knee = seen.iter().find(|knee| one.step == "constant" && knee.is_of(service, "knee", 1));
            let knee = knee.map_or_else(|| "-".into(), |knee| written(knee, "knee"));
            rows.push(vec![(*service).into(), about.into(), one.step.clone(), ndr, pdr, knee, doubts(one)]);
        }
    }
    table(
        "What each takes",
        "Requests a second: the middle, and the interval. The knee is the load up to which 99 % come back within a millisecond.",
        &["service", "as", "arrivals", "no loss", "0.5 %", "knee", "caveats"],
        rows,
    )
}

/// The middle and the interval; of one whose end is not known, what there is.
fn written(one: &Observed, goal: &str) -> String {
    if let Some(why) = &one.failed {
        return why.clone();
    }
    let end = |name: &str| one.figure(&format!("{goal}_{name}_pps"));
    let number = |value: Option<f64>| value.map_or_else(|| "-".into(), rate);
    match (end("lower"), end("median"), end("upper")) {
        (None, None, None) => one.numbers.words.clone(),
        (low, middle, high) => format!("{} [{}, {}]", number(middle), number(low), number(high)),
    }
}

fn above(seen: &[Observed], services: &[&str]) -> Table {
    let of = |service: &&str| {
        let one = seen.iter().find(|one| one.is_of(service, "above", 1))?;
        Some(vec![(*service).to_owned(), figure(one, "load"), lost(one), said(one), doubts(one)])
    };
    let rows = services.iter().filter_map(of).collect();
    table(
        "Where requests went at one and a half times that",
        "Requests by the place where they were lost, and replies by class.",
        &["service", "offered a second", "lost", "where, and replies", "caveats"],
        rows,
    )
}

fn others(seen: &[Observed], services: &[&str]) -> Table {
    let mut rows = Vec::new();
    for service in SERVICES.iter().filter(|service| services.contains(&service.name)) {
        let ours =
            (MOST_ANSWERS, "open loads of 100, 200 and 400 kpps, 2 s each: the most that were answered");
        for (name, does) in
            std::iter::once(ours).chain(service.rivals.iter().map(|one| (one.name, one.about)))
        {
            let rounds: Vec<&Observed> =
                seen.iter().filter(|one| one.service == service.name && one.step == name).collect();
            if rounds.is_empty() {
                continue;
            }
            let each = |of: &dyn Fn(&Observed) -> String| {
                rounds.iter().map(|one| of(one)).collect::<Vec<_>>().join(", ")
            };
            let rates = each(&|one| one.failed.clone().unwrap_or_else(|| figure(one, "rate")));
            let lost = each(&|one| {
                one.figure("lost_percent").map_or_else(|| "-".into(), |lost| format!("{lost} %"))
            });
            let ours = seen.iter().find(|one| one.is_of(service.name, "constant", 1));
            let ours = ours.map_or_else(String::new, |one| written(one, "pdr"));
            rows.push(vec![service.name.into(), name.into(), does.into(), rates, lost, ours]);
        }
    }
    table(
        "What their users' generators state",
        "Of each round; beside it ours with 0.5 % loss.",
        &["service", "generator", "what it does", "a second", "it says lost", "ours"],
        rows,
    )
}

fn repeats(seen: &[Observed]) -> Table {
    let rows = repeated(seen).map(|one| {
        vec![
            one.round.to_string(),
            written(one, "ndr"),
            written(one, "pdr"),
            one.numbers.words.clone(),
            doubts(one),
        ]
    });
    table(
        "The same search again",
        "Of knot; the middles should lie in the other intervals.",
        &["search", "no loss", "0.5 %", "results", "caveats"],
        rows.collect(),
    )
}

fn lost_there(seen: &[Observed]) -> Table {
    let rows = seen.iter().filter_map(|one| {
        let rival = one.step.strip_prefix("at what ")?.strip_suffix(" states")?;
        let stated = seen.iter().find(|other| other.is_of(&one.service, rival, one.round))?;
        let says = stated.figure("lost_percent").map_or_else(|| "-".into(), |lost| format!("{lost} %"));
        Some(vec![
            rival.into(),
            one.round.to_string(),
            figure(stated, "rate"),
            says,
            lost(one),
            said(one),
            doubts(one),
        ])
    });
    table(
        "What an open load loses at the rate that each states",
        "Of knot: two seconds of requests that come whether the earlier ones are answered or not.",
        &[
            "generator",
            "round",
            "it states a second",
            "it says lost",
            "lost by an open load",
            "where, and replies",
            "caveats",
        ],
        rows.collect(),
    )
}

fn table(title: &str, note: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Table {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Table { title: title.into(), note: note.into(), columns, rows }
}

fn lost(one: &Observed) -> String {
    match (one.figure("lost"), one.figure("offered")) {
        (Some(lost), Some(offered)) if offered > 0.0 => format!("{:.2} %", lost / offered * 100.0),
        _ => "-".into(),
    }
}

fn said(one: &Observed) -> String {
    one.failed.clone().unwrap_or_else(|| one.numbers.words.clone())
}

fn doubts(one: &Observed) -> String {
    let codes: std::collections::BTreeSet<&str> = one.numbers.caveats.iter().map(String::as_str).collect();
    codes.into_iter().collect::<Vec<_>>().join(", ")
}

fn figure(one: &Observed, name: &str) -> String {
    one.figure(name).map_or_else(|| "-".into(), rate)
}

fn rate(value: f64) -> String {
    format!("{value:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::observed::Numbers;

    fn one(step: &str, round: u32, figures: &[(&str, f64)]) -> Observed {
        let figures = figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let mut found = Observed::of(HELD, step, round, Ok(Numbers { figures, ..Numbers::default() }));
        found.ended = String::new();
        found
    }

    #[test]
    fn searches_agree_where_the_middle_of_each_lies_in_the_others_interval_and_what_is_stated_is_held_against_an_open_load()
     {
        let search = |round, low, middle, high| {
            one(
                "constant",
                round,
                &[
                    ("ndr_lower_pps", low),
                    ("ndr_median_pps", middle),
                    ("ndr_upper_pps", high),
                    ("pdr_median_pps", 30.0),
                ],
            )
        };
        let seen = [
            search(1, 20.0, 25.0, 30.0),
            search(2, 24.0, 28.0, 32.0),
            search(3, 27.0, 29.0, 32.0),
            one("dnsperf", 1, &[("rate", 100.0), ("lost_percent", 0.0)]),
            one("at what dnsperf states", 1, &[("load", 100.0), ("offered", 200.0), ("lost", 50.0)]),
        ];
        assert_eq!(held(&seen), (2, 3));
        assert_eq!((bears(&seen, HELD), stated(&seen, HELD, "dnsperf", 1)), (Some(30.0), Some(100.0)));
        let study = study(&seen, Vec::new());
        assert!(study.title.starts_with("Of 3 pairs"), "{}", study.title);
        assert_eq!(study.tables[4].rows[0][..5], ["dnsperf", "1", "100", "0 %", "25.00 %"]);
        assert_eq!(study.tables[3].rows[1][1], "28 [24, 32]");
    }
}
