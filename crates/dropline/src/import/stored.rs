//! Our own records: distributions that were imported, and the delays of trials.

use super::{ImportError, Imported, TimeSlice};
use dropline_record::schema::Line;
use dropline_record::{DelayLine, Purpose, TrialLine};
use dropline_stats::histogram::v2_deflate_cells;
use dropline_stats::{Counted, Event, Meaning, Rounding};

const LINE: &str = "a line of a record with a distribution or the delays of a trial";

/// Reads every distribution of a record: what was imported, or the delays that a search measured at its loads, or
/// those of its last trial that has any.
///
/// # Errors
/// If a line is none of a record, or there are no delays.
pub fn parse(text: &str) -> Result<Vec<Imported>, ImportError> {
    let mut imported = Vec::new();
    let mut trials: Vec<(usize, Box<TrialLine>)> = Vec::new();
    let lines = text.lines().count();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Line>(line) {
            Ok(Line::Distribution(line)) => {
                let slices = line.slices.iter().map(|slice| {
                    let (begin_s, length_s) = (slice.begin_s, slice.duration_s);
                    Ok(TimeSlice { begin_s, length_s, counted: line.slice(slice)? })
                });
                imported.push(Imported {
                    slices: slices.collect::<Result<_, ImportError>>()?,
                    ..Imported::whole(line.counted()?, line.name.clone(), line.notes.clone())
                });
            }
            Ok(Line::Trial(trial)) if trial.delay_ns.is_some() => trials.push((index + 1, trial)),
            Ok(_) => {}
            // A torn last line.
            Err(_) if index > 0 && index + 1 == lines && !text.ends_with('\n') => {}
            Err(_) => return Err(ImportError::line(index + 1, line, LINE)),
        }
    }
    let asked: Vec<_> = trials.iter().filter(|(_, trial)| trial.purpose == Purpose::DelayAt).collect();
    let chosen = if asked.is_empty() { trials.last().into_iter().collect() } else { asked };
    for (line, trial) in chosen {
        imported.push(delays(*line, trial)?);
    }
    if imported.is_empty() { Err(ImportError::Ends { expected: LINE }) } else { Ok(imported) }
}

fn delays(line: usize, trial: &TrialLine) -> Result<Imported, ImportError> {
    let delay = trial.delay_ns.as_ref().ok_or(ImportError::Ends { expected: LINE })?;
    of_trial(trial, delay).map_err(|why| match why {
        ImportError::Histogram(_) => ImportError::line(line, &delay.histogram, LINE),
        why => why,
    })
}

/// The delays of a trial that measured some.
///
/// # Errors
/// If a histogram is broken.
pub(crate) fn of_trial(trial: &TrialLine, delay: &DelayLine) -> Result<Imported, ImportError> {
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
        let read = parse(&text).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].counted, counted);
    }

    #[test]
    fn a_record_without_delays_says_so() {
        assert!(parse("").unwrap_err().to_string().starts_with("the file ends"));
        assert!(parse("{\"line\":\"what\"}\n{}\n").unwrap_err().to_string().starts_with("line 1"));
    }
}
