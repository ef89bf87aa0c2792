//! What delays at a probe did, in words and a table.

use dropline_record::PathWord;
use dropline_record::{BetweenLine, Injected, InjectedModeLine, Study, Table};
use dropline_trial::number_of;

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
        paragraphs.push(if found.is_of_files() { of_files(found) } else { format!(
            "{} rounds of no delay, X, 2X, no delay: {none} events without, {once} with X, {twice} with 2X. The column \
             no delay compares the two without: crossings seen there are noise.",
            found.rounds
        ) });
    }
    if !found.probes.is_empty() {
        paragraphs.push(format!("The program's probes: {}.", found.probes.join(", ")));
    }
    let tables = if found.modes.is_empty() { Vec::new() } else { vec![table(found)] };
    Study {
        name: format!("inject {}", found.target),
        title: title(found, &place),
        paragraphs,
        tables,
        charts: Vec::new(),
        caveats: found.caveats.clone(),
    }
}

/// How many events two files hold, and into how many parts in the order of time these were put.
fn of_files(found: &Injected) -> String {
    let [none, with, _] = found.events.map(|count| count.0);
    let parts = match found.rounds {
        0..3 => "; neither file says in which order they came, so how surely is not known".to_owned(),
        parts => format!("; {parts} parts of either, in the order of time, say how surely"),
    };
    format!("{} without the delay and {} with it{parts}.", number_of(none, "event"), number_of(with, "event"))
}

fn title(found: &Injected, place: &str) -> String {
    if found.probe.is_none() && found.rounds == 0 {
        return match found.probes.as_slice() {
            [] => format!("{} reached no probe", found.target),
            probes => format!("{} has the probes {}", found.target, probes.join(", ")),
        };
    }
    let peaks = |verdict: PathWord| -> Vec<String> {
        let with = found.modes.iter().filter(|mode| mode.verdict == verdict);
        with.map(|mode| format!("{:.1}", mode.peak)).collect()
    };
    let (on, partly, undecided) =
        (peaks(PathWord::OnPath), peaks(PathWord::Partly), peaks(PathWord::Undecided));
    let mut said = Vec::new();
    if !on.is_empty() {
        said.push(format!("{} {place}", modes(&on, "crosses", "cross")));
    }
    if !partly.is_empty() {
        said.push(format!("a part of {} {place}", modes(&partly, "crosses", "crosses")));
    }
    if said.is_empty() && undecided.is_empty() && !found.modes.is_empty() {
        said.push(format!("no mode crosses {place}"));
    }
    if undecided.len() > MANY {
        said.push(format!("{} of {} modes are undecided", undecided.len(), found.modes.len()));
    } else if !undecided.is_empty() {
        said.push(modes(&undecided, "is undecided", "are undecided"));
    }
    let text = if said.is_empty() { "nothing can be said".to_owned() } else { said.join("; ") };
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// So many peaks are listed, and of more it is said how many.
const MANY: usize = 3;

/// The modes at these peaks, and what one does or several do.
fn modes(peaks: &[String], does: &str, all_do: &str) -> String {
    match peaks {
        [] => String::new(),
        [one] => format!("the mode at {one} us {does}"),
        [first @ .., last] => format!("the modes at {} and {last} us {all_do}", first.join(", ")),
    }
}

fn table(found: &Injected) -> Table {
    let between = |of: Option<BetweenLine>| match of {
        None => "\u{2013}".to_owned(),
        Some(BetweenLine { value, low, high }) if low == high => format!("{value:.2}"),
        Some(BetweenLine { value, low, high }) => format!("{value:.2} [{low:.2}, {high:.2}]"),
    };
    let verdict = |mode: &InjectedModeLine| match (mode.verdict, mode.times, &mode.why) {
        (PathWord::OnPath, Some(1) | None, _) => "on path".to_owned(),
        (PathWord::OnPath, Some(times), _) => format!("on path, {times} times"),
        (verdict, _, Some(why)) => format!("{}: {why}", verdict.words()),
        (verdict, _, None) => verdict.words(),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Modes with a verdict and a peak in microseconds.
    fn titled(verdicts: &[(PathWord, f64)]) -> String {
        let modes = verdicts.iter().map(|&(verdict, peak)| InjectedModeLine {
            verdict,
            peak,
            ..InjectedModeLine::default()
        });
        let found = Injected {
            probe: Some("parse".into()),
            rounds: 10,
            modes: modes.collect(),
            ..Injected::default()
        };
        study(&found).title
    }

    #[test]
    fn one_mode_does_and_several_do() {
        assert_eq!(
            titled(&[(PathWord::OnPath, 5.04), (PathWord::Undecided, 12.0)]),
            "The mode at 5.0 us crosses probe parse; the mode at 12.0 us is undecided"
        );
        assert_eq!(
            titled(&[
                (PathWord::OnPath, 5.0),
                (PathWord::OnPath, 9.0),
                (PathWord::Partly, 12.0),
                (PathWord::Partly, 20.0),
                (PathWord::Partly, 31.0)
            ]),
            "The modes at 5.0 and 9.0 us cross probe parse; a part of the modes at 12.0, 20.0 and 31.0 us crosses probe parse"
        );
        assert_eq!(titled(&[(PathWord::Not, 5.0)]), "No mode crosses probe parse");
    }

    #[test]
    fn many_undecided_modes_are_counted_and_not_listed() {
        assert_eq!(titled(&[(PathWord::Undecided, 5.0); 4]), "4 of 4 modes are undecided");
        assert_eq!(titled(&[(PathWord::Undecided, 5.0); 2]), "The modes at 5.0 and 5.0 us are undecided");
    }
}
