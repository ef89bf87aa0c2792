//! Our own records: distributions that were imported, and the delays of trials.

use super::{ImportError, Imported, Order, TimeSlice, last_if_cut};
use dropline_record::schema::Line;
use dropline_record::{DelayLine, Purpose, ReadError, Record, TrialLine};
use dropline_stats::histogram::v2_deflate_cells;
use dropline_stats::{Counted, Event, Meaning, Rounding};
use dropline_trial::number_of;

const LINE: &str = "a line of a record with a distribution or the delays of a trial";

/// Reads every distribution of a record: what was imported, or the delays of the trials that [`chosen`] names.
///
/// # Errors
/// If a line is none of a record, or there are no delays, or not those of trial `number`.
pub fn parse(text: &str, number: Option<u64>) -> Result<Vec<Imported>, ImportError> {
    if let Err(ReadError::Contradiction { line, what }) = Record::read(text) {
        return Err(ImportError::Disagrees { line, what: format!("it contradicts {what}") });
    }
    let mut imported = Vec::new();
    let mut trials: Vec<TrialLine> = Vec::new();
    let (cut, mut is_torn) = (last_if_cut(text), false);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Line>(line) {
            Ok(Line::Distribution(line)) => {
                let against_itself = |what| ImportError::Disagrees {
                    line: index + 1,
                    what: format!("it contradicts itself: {what}"),
                };
                let stretches = line.counted_stretches().map_err(against_itself)?;
                let order = match line.events_in_order().map_err(against_itself)? {
                    [] if stretches.is_empty() => Order::Unknown,
                    [] => Order::Stretches(stretches),
                    events => Order::Events(events.to_vec()),
                };
                let slices = line.counted_slices().map_err(against_itself)?.into_iter();
                let slices =
                    slices.map(|(begin_s, length_s, counted)| TimeSlice { begin_s, length_s, counted });
                imported.push(Imported {
                    slices: slices.collect(),
                    order,
                    ..Imported::whole(line.counted().map_err(against_itself)?, line.name, line.notes)
                });
            }
            Ok(Line::Trial(trial)) => trials.push(*trial),
            Ok(_) => {}
            // A torn last line: of a record of trials the others stand, and what was imported is written whole.
            Err(_) if index > 0 && cut == Some(index + 1) && imported.is_empty() => is_torn = true,
            Err(_) => return Err(ImportError::line(index + 1, line, LINE)),
        }
    }
    imported.extend(chosen(&trials, number)?.into_iter().map(|(_, imported)| imported));
    if is_torn {
        let torn = "the last line of the record was cut off and is left out";
        imported.iter_mut().for_each(|one| one.notes.push(torn.into()));
    }
    match imported.is_empty() {
        true if trials.is_empty() => Err(ImportError::Ends { expected: LINE }),
        true => Err(ImportError::Lacks { what: "delays: none of its trials measured any" }),
        false => Ok(imported),
    }
}

/// The delays of trial `number`; else of those trials that somebody asked for, which a search's own are not; else of
/// the last one that measured some. What is left out is said.
///
/// # Errors
/// If there is no such trial, or a histogram is broken.
pub(crate) fn chosen(
    trials: &[TrialLine],
    number: Option<u64>,
) -> Result<Vec<(&TrialLine, Imported)>, ImportError> {
    let measured: Vec<(&TrialLine, &DelayLine)> =
        trials.iter().filter_map(|trial| Some((trial, trial.delay_ns.as_ref()?))).collect();
    let of = |is: &dyn Fn(&TrialLine) -> bool| -> Vec<_> {
        measured.iter().copied().filter(|(trial, _)| is(trial)).collect()
    };
    let (chosen, note) = match number {
        Some(number) => {
            let chosen = of(&|trial| trial.number == number);
            let there: Vec<String> = measured.iter().map(|(trial, _)| trial.number.to_string()).collect();
            let there = if there.is_empty() { "none".into() } else { there.join(", ") };
            (if chosen.is_empty() { Err(ImportError::NoTrial { number, there }) } else { Ok(chosen) }?, None)
        }
        None => {
            let asked = of(&|trial| matches!(trial.purpose, Purpose::Trial | Purpose::DelayAt));
            let what = if asked.is_empty() { "the last one" } else { "those at a load that was asked for" };
            let chosen =
                if asked.is_empty() { measured.last().copied().into_iter().collect() } else { asked };
            let of_several = || {
                format!(
                    "of {} with delays, {what} (--trial N names another)",
                    number_of(measured.len(), "trial")
                )
            };
            let note = (chosen.len() < measured.len()).then(of_several);
            (chosen, note)
        }
    };
    let read = |(trial, delay)| {
        let mut imported = of_trial(trial, delay)?;
        imported.notes.extend(note.clone());
        Ok((trial, imported))
    };
    chosen.into_iter().map(read).collect()
}

/// The delays of a trial that measured some.
fn of_trial(trial: &TrialLine, delay: &DelayLine) -> Result<Imported, ImportError> {
    let mut notes = Vec::new();
    if trial.negative.count.0 > 0 {
        notes.push(format!("{} delays below zero are left out: the clocks disagree", trial.negative.count.0));
    }
    if trial.lost.0 > 0 {
        notes.push(format!("{} that were lost have no delay and are not among the events", trial.lost.0));
    }
    let name = format!("trial {} at {} a second", trial.number, trial.intended_load_pps);
    Ok(Imported { slices: slices(trial)?, ..Imported::whole(counted(delay)?, name, notes) })
}

/// What our recorder kept: each event, in cells of whole nanoseconds.
const RECORDED: Meaning =
    Meaning { unit_ns: 1000, quantum_ns: 1.0, rounding: Rounding::Round, event: Event::Each };

/// All delays of a trial.
pub(crate) fn counted(delay: &DelayLine) -> Result<Counted, ImportError> {
    let tick = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let cells = v2_deflate_cells(&delay.histogram)?;
    let ranges = cells.into_iter().map(|(low, high, count)| (tick(low), tick(high), count));
    Ok(Counted::ranges(RECORDED, ranges, None)?)
}

/// The time slices of a trial that have delays.
fn slices(trial: &TrialLine) -> Result<Vec<TimeSlice>, ImportError> {
    let mut begin_s = 0.0;
    let mut slices = Vec::new();
    for slice in &trial.slices {
        let length_s = slice.duration_s;
        if let Some(delay) = &slice.delay_ns
            && delay.count.0 > 0
        {
            let counted = delay.recorded()?.counted()?.with_meaning(RECORDED);
            slices.push(TimeSlice { begin_s, length_s, counted });
        }
        begin_s += length_s;
    }
    Ok(if slices.len() > 1 { slices } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_record::DistributionLine;

    #[test]
    fn what_was_imported_is_read_again() {
        let counted = Counted::ticks(Meaning::default(), [(6, 2257), (7, 1)], None).unwrap();
        let line = DistributionLine::new("idle.tsv", "tsv", "", &counted, &[]);
        let text = format!("{}\n", serde_json::to_string(&Line::Distribution(Box::new(line))).unwrap());
        let read = parse(&text, None).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].counted, counted);
        let cut = format!("{text}{}", &text[..text.len() - 9]);
        assert!(
            parse(&cut, None).unwrap_err().to_string().starts_with("line 2"),
            "the second one was cut off"
        );
    }

    #[test]
    fn a_record_without_delays_says_so() {
        assert!(parse("", None).unwrap_err().to_string().starts_with("the file ends"));
        assert!(parse("{\"line\":\"what\"}\n{}\n", None).unwrap_err().to_string().starts_with("line 1"));
    }
}
