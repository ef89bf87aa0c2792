//! What delays at a probe did, in words and a table.

use dropline_record::{BetweenLine, Injected, InjectedModeLine, Study, Table};

/// For a terminal and a page.
pub fn study(found: &Injected) -> Study {
    let place =
        found.probe.as_deref().map_or_else(|| "the delay".to_owned(), |probe| format!("probe {probe}"));
    let mut paragraphs = Vec::new();
    if let Some(realised) = found.realised_us {
        paragraphs.push(format!(
            "{} crossings were delayed; a delay of {} us was {realised:.3} us by the program's own clock.",
            found.crossings.map_or(0, |count| count.0),
            found.delay_us
        ));
    } else if found.probe.is_some() && found.rounds > 0 {
        paragraphs.push(format!("Nothing crossed {place} while it had a delay."));
    }
    if found.rounds > 0 {
        let [none, once, twice] = found.events.map(|count| count.0);
        paragraphs.push(format!(
            "{} rounds of no delay, X, 2X, no delay: {none} events without, {once} with X, {twice} with 2X. The column \
             no delay compares the two without: crossings seen there are noise.",
            found.rounds
        ));
    }
    if !found.probes.is_empty() {
        paragraphs.push(format!("The program's probes: {}.", found.probes.join(", ")));
    }
    let tables = if found.modes.is_empty() { Vec::new() } else { vec![table(found)] };
    Study {
        name: "inject".into(),
        title: title(found, &place),
        paragraphs,
        tables,
        charts: Vec::new(),
        caveats: found.caveats.clone(),
    }
}

fn title(found: &Injected, place: &str) -> String {
    if found.probe.is_none() && found.rounds == 0 {
        return match found.probes.as_slice() {
            [] => format!("{} reached no probe", found.target),
            probes => format!("{} has the probes {}", found.target, probes.join(", ")),
        };
    }
    let named = |verdict: &str| -> Vec<String> {
        found
            .modes
            .iter()
            .filter(|mode| mode.verdict == verdict)
            .map(|mode| format!("{:.1} us", mode.peak))
            .collect()
    };
    let on = named("on_path");
    let partly = named("partly");
    let undecided = named("undecided");
    let mut said = Vec::new();
    if !on.is_empty() {
        said.push(format!("the mode at {} crosses {place}", on.join(" and at ")));
    }
    if !partly.is_empty() {
        said.push(format!("a part of the mode at {} crosses {place}", partly.join(" and at ")));
    }
    if said.is_empty() && undecided.is_empty() && !found.modes.is_empty() {
        said.push(format!("no mode crosses {place}"));
    }
    if !undecided.is_empty() {
        said.push(format!("the mode at {} is undecided", undecided.join(" and at ")));
    }
    let text = if said.is_empty() { "nothing can be said".to_owned() } else { said.join("; ") };
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn table(found: &Injected) -> Table {
    let between = |of: Option<BetweenLine>| match of {
        None => "\u{2013}".to_owned(),
        Some(BetweenLine { value, low, high }) if low == high => format!("{value:.2}"),
        Some(BetweenLine { value, low, high }) => format!("{value:.2} [{low:.2}, {high:.2}]"),
    };
    let verdict = |mode: &InjectedModeLine| match (mode.verdict.as_str(), mode.times, &mode.why) {
        ("on_path", Some(1) | None, _) => "on path".to_owned(),
        ("on_path", Some(times), _) => format!("on path, {times} times"),
        (verdict, _, Some(why)) => format!("{verdict}: {why}"),
        (verdict, _, None) => verdict.to_owned(),
    };
    let rows = found.modes.iter().map(|mode| {
        vec![
            format!("{:.1}\u{2013}{:.1} us, peak {:.1}", mode.low, mode.high, mode.peak),
            format!("{:.1} %", mode.share * 100.0),
            format!("{:.1} %", mode.share_with * 100.0),
            between(mode.once),
            between(mode.twice),
            mode.floor.map_or("\u{2013}".into(), |floor| format!("{floor:.2}")),
            verdict(mode),
        ]
    });
    Table {
        title: format!("How often an event of each mode crossed, X = {} us", found.delay_us),
        note: format!(
            "{}. {:.1} % of the events with X are where no mode moved to.",
            found.estimator,
            found.total_variation * 100.0
        ),
        columns: ["mode", "share", "with X", "by X", "by 2X", "no delay", "verdict"].map(String::from).into(),
        rows: rows.collect(),
    }
}
