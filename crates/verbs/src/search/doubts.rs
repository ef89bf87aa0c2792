//! Doubts about the trials of a search, as its answer says them: each kind once.

use dropline_record::{AnswerLine, CaveatLine, LoadUnit, Record, TrialLine};
use dropline_trial::caveat::OF_SEARCH;
use dropline_trial::number_of;
use dropline_trial::{Caveat, Rate};

/// The code of what a program says in words alone.
const PROGRAM: &str = "program";

/// A load in words, in the unit of what it counts
pub fn load_in(load: impl std::fmt::Display, load_unit: LoadUnit) -> String {
    let words = load.to_string().replace(LoadUnit::Packets.rates()[0], load_unit.rates()[0]);
    match load_unit {
        LoadUnit::Packets => words,
        _ => counted_in(&words, load_unit),
    }
}

/// Words about packets as words about what such a target counts.
fn counted_in(words: &str, load_unit: LoadUnit) -> String {
    let parts = words.split_inclusive(|sign: char| !sign.is_alphanumeric());
    let counted = |part: &str| {
        let word = part.trim_end_matches(|sign: char| !sign.is_alphanumeric());
        match word {
            "packets" => part.replacen(word, load_unit.many(), 1),
            "packet" => part.replacen(word, load_unit.one(), 1),
            _ => part.to_owned(),
        }
    };
    parts.map(counted).collect()
}

/// A doubt with its loads in the unit of what they count.
pub(super) fn said_in(caveat: &Caveat, load_unit: LoadUnit) -> CaveatLine {
    let line = CaveatLine::from(caveat);
    CaveatLine { text: load_in(&line.text, load_unit), ..line }
}

/// Each kind of doubt about trials once, with how many trials share it.
pub(super) fn of_trials(record: &Record) -> Vec<CaveatLine> {
    let unit = record.header.load_unit;
    let mut codes: Vec<&str> = Vec::new();
    for caveat in record.trials.iter().flat_map(|line| &line.caveats) {
        // How a trial varied is no part of the answer. What another program says by that code has words of its own.
        let is_of_slices = matches!(caveat.caveat(), Caveat::FewSlices { .. });
        if !codes.contains(&caveat.code.as_str()) && !is_of_slices {
            codes.push(&caveat.code);
        }
    }
    let stated = stated(record);
    let nearer = |line: &TrialLine| {
        let off = |load: &f64| (line.intended_load_pps / load).ln().abs();
        stated.iter().map(off).min_by(f64::total_cmp).unwrap_or(0.0)
    };
    let said = |code: &str| {
        let with = || all_with(record, code);
        let (count, all) = (with().count(), record.trials.len());
        // What the system refused is the cause, of whichever of them.
        let named = refused(record).filter(|_| code == GENERATOR_LIMITED);
        let near = || with().min_by(|one, other| nearer(one.0).total_cmp(&nearer(other.0)));
        let (line, caveat) = named.or_else(near)?;
        let load = load_in(Rate::from_millipps((line.intended_load_pps * 1000.0) as u64), unit);
        let again = match with().all(|(line, _)| line.void) {
            true if count == 1 => " (no answer rests on it)",
            true => " (no answer rests on them)",
            false => "",
        };
        // What only a search can say of its trials, the program that performed one of them says of that one alone.
        let (kept, named) = match OF_SEARCH.contains(&code) {
            true => (PROGRAM, format!("the program that performed it says {code}: ")),
            false => (code, String::new()),
        };
        // What another program says has words of its own.
        let words = match caveat.caveat() {
            Caveat::Reported { .. } => caveat.text.clone(),
            _ => load_in(&caveat.text, unit),
        };
        let text = format!(
            "{count} of {}, as in trial {} at {load}: {named}{words}{again}",
            number_of(all, "trial"),
            line.number
        );
        Some(CaveatLine::said(kept, text))
    };
    codes.into_iter().filter_map(said).collect()
}

/// The loads that the answers state: of a doubt that several trials share, the numbers are those of a trial near to these.
fn stated(record: &Record) -> Vec<f64> {
    let of = |answer: AnswerLine| [answer.lower_pps, answer.upper_pps, answer.headline_pps()];
    let loads = record.answers().unwrap_or_default().into_iter().flat_map(of).flatten();
    loads.filter(|load| load.is_finite() && *load > 0.0).collect()
}

/// A trial of which the system refused most of what did not leave, where that is so of half of those that were not offered
/// in full.
pub(super) fn refused(record: &Record) -> Option<(&TrialLine, &CaveatLine)> {
    let refused =
        || all_with(record, GENERATOR_LIMITED).filter(|(_, caveat)| caveat.numbers.contains_key("error"));
    let limited = all_with(record, GENERATOR_LIMITED).count();
    refused().next().filter(|_| 2 * refused().count() >= limited)
}

/// A trial that its own program says is spoilt, and what it says.
pub(super) fn of_a_program(record: &Record) -> Option<(&TrialLine, &CaveatLine)> {
    let mut said =
        record.trials.iter().flat_map(|line| line.caveats.iter().map(move |caveat| (line, caveat)));
    said.find(|(_, caveat)| caveat.caveat().tells_nothing())
}

/// Whether the trials that count for nothing are those whose answers came after the drain.
pub(super) fn are_of_a_short_drain(record: &Record) -> bool {
    let mut void = record.trials.iter().filter(|line| line.void).peekable();
    let is_short = |line: &TrialLine| {
        line.caveats.iter().any(|one| one.code == "answers_after_drain" && one.is_invalidating())
    };
    void.peek().is_some() && void.all(is_short)
}

/// What of the answers that are so ends them, or that there are none.
pub(super) fn ended(goals: &[AnswerLine], is: impl Fn(&AnswerLine) -> bool, what: &str) -> Option<String> {
    let answers: Vec<&AnswerLine> = goals.iter().filter(|answer| is(answer)).collect();
    let words: Vec<String> = answers.iter().map(|answer| answer.goal.words()).collect();
    let words = words.join(" and ");
    match answers.iter().any(|answer| has_bound(answer)) {
        _ if answers.is_empty() => None,
        true => Some(format!("what ends the answer for {words} {what}")),
        false => Some(format!("there is no answer for {words}")),
    }
}

/// What a search that was stopped by hand has found.
pub(super) fn stopped(goals: &[AnswerLine]) -> &'static str {
    match goals.iter().any(has_bound) {
        true => "the search was stopped early: the bounds are what was known then",
        false => "the search was stopped before anything was known of the limit",
    }
}

/// Whether anything is known of a goal's limit.
fn has_bound(answer: &AnswerLine) -> bool {
    answer.lower_pps.is_some() || answer.upper_pps.is_some()
}

const GENERATOR_LIMITED: &str = "generator_limited";

/// The trials with a doubt, and the doubt.
fn all_with<'a>(record: &'a Record, code: &str) -> impl Iterator<Item = (&'a TrialLine, &'a CaveatLine)> {
    let with =
        move |line: &'a TrialLine| Some((line, line.caveats.iter().find(|caveat| caveat.code == code)?));
    record.trials.iter().filter_map(with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_counts_loads_in_what_the_target_counts() {
        let doubt = Caveat::TwoStates { slow_pps: 744e6, fast_pps: 860e6, slow: 0.4, by_chance: None };
        let said = said_in(&doubt, LoadUnit::Samples);
        assert!(said.text.contains("744 Msps") && !said.text.contains("pps"), "{}", said.text);
        assert_eq!(said_in(&doubt, LoadUnit::Packets), CaveatLine::from(&doubt));
    }

    fn kept() -> Record {
        let text = include_str!("../../../record/tests/records/dropline-1.jsonl");
        let (trials, _) = text.trim_end().rsplit_once('\n').unwrap();
        Record::read(trials).unwrap()
    }

    #[test]
    fn a_trial_that_counts_for_nothing_is_not_said_to_be_made_again_where_it_is_the_only_one() {
        let mut record = kept();
        record.trials.truncate(1);
        record.trials[0].void = true;
        record.trials[0].caveats =
            vec![CaveatLine::from(&Caveat::GeneratorStarved { waited_ns: 827_000_000 })];
        let [said] = of_trials(&record).try_into().unwrap();
        assert!(
            said.text.starts_with("1 of 1 trial") && said.text.ends_with(" (no answer rests on it)"),
            "{}",
            said.text
        );
    }

    #[test]
    fn what_a_program_says_by_the_code_of_a_doubt_that_is_left_out_is_said() {
        let mut record = kept();
        record.trials.truncate(1);
        record.trials[0].caveats = vec![CaveatLine::from(&Caveat::FewSlices { slices: 2, wanted: 4 })];
        assert_eq!(of_trials(&record), [], "how a trial varied is no part of the answer");
        record.trials[0].caveats = vec![CaveatLine::said("few_slices", "our card was warm")];
        let [said] = of_trials(&record).try_into().unwrap();
        assert!(said.text.contains("our card was warm"), "{}", said.text);
    }

    #[test]
    fn a_doubt_about_requests_speaks_of_no_packets() {
        let mut record = kept();
        record.header.load_unit = LoadUnit::Requests;
        let limited = Caveat::GeneratorLimited { intended: 10, offered: 4, error: None, interface: None };
        record.trials.iter_mut().for_each(|line| line.caveats = vec![CaveatLine::from(&limited)]);
        let text = of_trials(&record).remove(0).text;
        assert!(text.contains("offered 4 of 10 intended requests") && !text.contains("packet"), "{text}");
        for line in &mut record.trials {
            line.caveats = vec![CaveatLine::said("tool", "our packets are ours")];
        }
        assert!(of_trials(&record)[0].text.ends_with("our packets are ours"));
    }

    #[test]
    fn what_only_a_search_can_say_is_of_one_trial_where_its_program_says_it() {
        for code in OF_SEARCH {
            let mut record = kept();
            let text = include_str!("../../../record/tests/records/dropline-1.jsonl");
            record.result = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            record.result.as_mut().unwrap().caveats.clear();
            for line in &mut record.trials {
                line.caveats = Vec::new();
            }
            let stated = |record: &Record| dropline_report::said(record);
            let before = stated(&record);
            record.trials[1].caveats = vec![CaveatLine::said(code, "our card was warm")];
            let said = of_trials(&record);
            let [only] = said.as_slice() else { panic!("{said:?}") };
            assert!(
                only.code == PROGRAM && only.text.ends_with(&format!("says {code}: our card was warm")),
                "{only:?}"
            );
            record.result.as_mut().unwrap().caveats = said;
            assert_eq!(stated(&record), before, "{code} became the headline of a search");
        }
    }

    #[test]
    fn where_nothing_is_known_of_a_limit_nothing_is_said_to_end_it_and_no_bounds_to_be_what_was_known() {
        let mut answer = kept().answers().unwrap().remove(0);
        (answer.lower_pps, answer.upper_pps) = (None, None);
        let all = |_: &AnswerLine| true;
        assert!(ended(&[answer.clone()], all, "x").unwrap().starts_with("there is no answer for "));
        assert!(!stopped(&[answer.clone()]).contains("bounds"));
        answer.lower_pps = Some(1e3);
        assert!(ended(&[answer.clone()], all, "is not it").unwrap().ends_with(" is not it"));
        assert!(stopped(&[answer.clone()]).contains("bounds"));
        assert_eq!(ended(&[answer], |_| false, "x"), None);
    }

    #[test]
    fn a_search_whose_sends_were_refused_names_what_refused_them_and_no_cpu() {
        let mut record = kept();
        let limited = |error: Option<&str>| {
            let (error, interface) = (error.map(String::from), error.map(|_| "veA".into()));
            vec![CaveatLine::from(&Caveat::GeneratorLimited { intended: 10, offered: 4, error, interface })]
        };
        for line in &mut record.trials {
            line.caveats = Vec::new();
        }
        record.trials[0].caveats = limited(None);
        assert_eq!(refused(&record), None);
        record.trials[1].caveats = limited(Some("ENOBUFS"));
        assert_eq!(refused(&record).unwrap().0.number, record.trials[1].number);
        let [said] = of_trials(&record).try_into().unwrap();
        let which = format!("2 of 4 trials, as in trial {} at", record.trials[1].number);
        assert!(said.text.starts_with(&which), "{}", said.text);
        assert!(
            said.text.contains("tc -s qdisc show dev veA") && !said.text.contains("CPU"),
            "{}",
            said.text
        );
        record.trials[2].caveats = limited(None);
        assert_eq!(refused(&record), None, "most were short for other reasons");
    }
}
