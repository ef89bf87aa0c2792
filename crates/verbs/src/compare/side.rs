//! One side of a comparison, read from a file.

use super::conditions::{Condition, conditions};
use crate::validity;
use dropline_archive::{reading, record_file};
use dropline_distributions::import::{self, Hints, Order};
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Purpose, Record, TrialLine};
use dropline_stats::{CountError, Counted, Event, Meaning, Rounding};
use dropline_trial::{DelayKind, Slice, Trial};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Two sides, and how they stand to one another.
#[derive(Clone, Debug)]
pub struct Pair {
    /// What is compared with.
    pub a: Side,
    /// What is compared.
    pub b: Side,
    /// Whether block k of A is a neighbour of block k of B.
    pub interleaved: bool,
    /// Chance of the order of the turns.
    pub seed: Option<u64>,
    /// Whether both are one file, or one record and its copy.
    pub is_one_file: bool,
    /// Somebody waits for what is left of a measurement that was cut off: what is no verdict is not worked out.
    pub is_in_haste: bool,
    /// Whether events are like those near them.
    pub neighbours: Neighbours,
    /// Doubts about both together.
    pub doubts: Vec<CaveatLine>,
}

/// What the order of events says of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbours {
    /// No side has one, or each is in slices.
    Unknown,
    /// They are no more alike than others.
    Independent,
    /// They are.
    Alike,
}

/// Delays in blocks.
#[derive(Clone, Debug)]
pub struct Side {
    /// What it is.
    pub name: String,
    /// What a value stands for.
    pub meaning: Meaning,
    /// In the order in which they were measured; one where there are no slices.
    pub blocks: Vec<Counted>,
    /// Of each block, events that never came; `None` where nobody counted them.
    pub lost: Option<Vec<u64>>,
    /// Doubts about the trials.
    pub doubts: Vec<CaveatLine>,
    /// Most of the trials say more about us than about the target.
    pub is_invalid: bool,
    /// How long was measured.
    pub seconds: Option<f64>,
    /// Its events one after another, where a file of another program has them in the order of time.
    pub order: Order,
    /// Where its meaning was guessed.
    pub notes: Vec<String>,
    /// Under which it was measured; empty where that is not known, or is one for both.
    pub conditions: Vec<Condition>,
    /// What its times are, where a record says it.
    pub kind: Option<DelayKind>,
}

/// Two files, and what both do not say about themselves.
///
/// # Errors
/// If one cannot be read, holds no delays, or both count different things.
pub fn read(a: &Path, b: &Path, hints: &Hints) -> Result<Pair, Failure> {
    let is_one_file = is_one_file(a, b);
    let (a, b) = (side(a, hints)?, side(b, hints)?);
    if a.meaning.event != b.meaning.event {
        return Err(Failure::usage(format!(
            "{} and {} count different things: {} and {}",
            a.name,
            b.name,
            words(a.meaning.event),
            words(b.meaning.event)
        ))
        .advice("a maximum of several events is longer than an event: measure both alike"));
    }
    if let Some((of_a, of_b)) = a.kind.zip(b.kind).filter(|(of_a, of_b)| of_a != of_b) {
        return Err(Failure::usage(format!(
            "{} and {} are times of different things: {} and {}",
            a.name,
            b.name,
            quantity(of_a),
            quantity(of_b)
        ))
        .advice("one is not slower or faster than the other: compare two records of the same quantity"));
    }
    one_unit(&a, &b)?;
    Ok(Pair {
        a,
        b,
        interleaved: false,
        seed: None,
        is_one_file,
        is_in_haste: false,
        neighbours: Neighbours::Unknown,
        doubts: Vec::new(),
    })
}

/// Both name their unit, or both are taken in the same one: of a guess, one side may be a thousand times what it seems.
///
/// # Errors
/// If one of them names another unit than was guessed of the other.
fn one_unit(a: &Side, b: &Side) -> Result<(), Failure> {
    let guessed = [a, b].map(|side| side.notes.iter().any(|note| import::is_guess(note)));
    if guessed[0] == guessed[1] && a.meaning.unit_ns == b.meaning.unit_ns {
        return Ok(());
    }
    let (unnamed, named) = match guessed {
        [true, _] => (a, b),
        [false, true] => (b, a),
        [false, false] => return Ok(()),
    };
    let unit = |side: &Side| import::unit_word(side.meaning.unit_ns);
    Err(Failure::usage(format!(
        "{} names no unit, and {} is in {}: a guess of {} may be wrong by a factor of a thousand",
        unnamed.name,
        named.name,
        unit(named),
        unit(unnamed)
    ))
    .advice(format!(
        "say what {} is in:  --unit ns, us, ms or s; where only one of the files names none, make a record of it first:  \
         dropline import FILE --unit UNIT -o X.jsonl",
        unnamed.name
    )))
}

/// What two turns measured: a record whose trials are of two targets.
///
/// # Errors
/// If the record is no such one.
pub fn read_turns(path: &Path) -> Result<Pair, Failure> {
    turns(&record_file::read_record(path)?, &name(path))
}

/// The two sides of a record whose trials are of two targets.
///
/// # Errors
/// If it is no such record.
pub fn turns(record: &Record, name: &str) -> Result<Pair, Failure> {
    if record.header.verb != "compare" {
        return Err(Failure::usage(format!("{name} holds one side only"))
            .advice("compare two files:  dropline compare A B"));
    }
    let (a, b): (Vec<_>, Vec<_>) =
        record.trials.iter().partition(|trial| trial.phase.as_deref() == Some("A"));
    // A turn that was cut off leaves the other side one block longer.
    let turns = a.len().min(b.len());
    if turns == 0 {
        return Err(Failure::environment(format!(
            "{name} holds no turn of both sides: there is nothing to compare"
        )));
    }
    let of = |trials: &[&TrialLine]| of_trials(&trials[0].target, &trials[..turns], false);
    let seed = Some(record.header.profile.seed);
    Ok(Pair {
        a: of(&a)?,
        b: of(&b)?,
        interleaved: true,
        seed,
        is_one_file: false,
        is_in_haste: false,
        neighbours: Neighbours::Unknown,
        doubts: record.reading.clone(),
    })
}

/// Whether both paths lead to one file, or to one record and its copy: a record says when it was measured, and other files
/// may be alike by chance.
fn is_one_file(a: &Path, b: &Path) -> bool {
    let path = |path: &Path| std::fs::canonicalize(path).ok();
    let record = |path: &Path| {
        record_file::read_header(path).and_then(|_| reading::file_bytes(path, reading::MOST_BYTES).ok())
    };
    path(a).is_some_and(|a| path(b) == Some(a)) || record(a).is_some_and(|a| record(b) == Some(a))
}

/// One of them.
///
/// # Errors
/// If it cannot be read, or holds no delays.
pub(super) fn side(path: &Path, hints: &Hints) -> Result<Side, Failure> {
    let name = name(path);
    let record = looks_like_a_record(path).then(|| record_file::read_record(path)).transpose()?;
    let side = match record {
        Some(_) if *hints != (Hints { trial: hints.trial, ..Hints::default() }) => {
            return Err(Failure::usage(format!(
                "{name} is a record of trials, and --from, --unit, --column and --only are about files of other programs"
            ))
            .advice("leave them out; another program's file becomes a record too:  dropline import FILE --column NAME -o X.jsonl"));
        }
        Some(record) => {
            let is_wanted = |trial: &&TrialLine| hints.trial.is_none_or(|number| trial.number == number);
            let at_one_load = record.trials.iter().filter(|trial| trial.purpose == Purpose::Trial);
            let trials: Vec<&TrialLine> = at_one_load.filter(is_wanted).collect();
            if let (Some(number), true) = (hints.trial, trials.is_empty()) {
                return Err(Failure::usage(format!("{name} holds no trial {number} at one load")));
            }
            if trials.is_empty() {
                return Err(Failure::usage(format!("{name} holds no trial at one load")).advice(
                    "measure one:  dropline trial TARGET --load 10kpps --duration 60s -o before.jsonl",
                ));
            }
            let mut side = of_trials(&name, &trials, true).map_err(|why| {
                match record.header.verb.as_str() {
                "watch" => why.advice(
                    "a watch hears what arrives, not what comes back: compare what  dropline trial  measured",
                ),
                _ => why,
            }
            })?;
            side.conditions = conditions(&record);
            side.doubts.extend(record.reading);
            side
        }
        None => {
            let (_, mut read) = import::read(path, hints, &mut |_| {})?;
            if read.len() > 1 {
                return Err(Failure::usage(format!(
                    "{name} holds {} distributions, and one of each side is compared: {}",
                    read.len(),
                    import::names(&read)
                ))
                .advice(
                    "name one of them, or make a record of each and compare these:  dropline import FILE --only NAME -o X.jsonl",
                ));
            }
            let one = read.remove(0);
            Side {
                name,
                meaning: one.counted.meaning(),
                blocks: vec![one.counted],
                lost: None,
                doubts: Vec::new(),
                is_invalid: false,
                seconds: None,
                order: one.order,
                notes: one.notes,
                conditions: Vec::new(),
                kind: None,
            }
        }
    };
    if side.blocks.iter().all(|block| block.count() == 0) && side.lost() == 0 {
        return Err(Failure::environment(format!(
            "{} holds no events: there is nothing to compare",
            side.name
        )));
    }
    Ok(side)
}

pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn looks_like_a_record(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut first));
    // Other writers of JSON put blanks between its words.
    let first: String = String::from_utf8_lossy(&first).split_whitespace().collect();
    read.is_ok() && first.starts_with("{\"line\":\"header\"")
}

/// Each trial is a block, or each of its time slices where they are wanted and all trials have them.
///
/// # Errors
/// If one measured no delays, or its line is damaged.
pub(crate) fn of_trials(name: &str, lines: &[&TrialLine], sliced: bool) -> Result<Side, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::environment(format!("{name}: {why}"));
    let meaning = recorded();
    let (mut blocks, mut lost) = (Vec::new(), Vec::new());
    let doubts = validity::doubts(lines);
    let is_invalid = validity::are_mostly_invalid(lines);
    let trials: Vec<Trial> =
        lines.iter().map(|trial| trial.trial().map_err(|why| wrong(&why))).collect::<Result<_, _>>()?;
    let in_slices = |trial: &Trial| trial.slices.iter().map(missing).sum::<u64>();
    let says = |trial: &Trial| trial.slices.iter().any(has_delays) && in_slices(trial) >= trial.lost();
    let sliced = sliced && trials.iter().all(says);
    for trial in &trials {
        let histogram = trial.delay.histogram.as_ref();
        // Of a target that answered nothing there is nothing but its loss.
        if histogram.is_none() && (trial.forwarded > 0 || trial.lost() == 0) {
            return Err(wrong(&format!("trial {} measured no delays", trial.number)));
        }
        let found: Result<Vec<Counted>, CountError> = match sliced {
            true => {
                let says = trial.slices.iter().filter(|slice| has_delays(slice) || missing(slice) > 0);
                let delays = says.clone().map(|slice| slice.delay.iter().flat_map(|delay| delay.ranges()));
                lost.extend(shares(&says.map(missing).collect::<Vec<_>>(), trial.lost()));
                delays.map(|ranges| counted(ranges, meaning)).collect()
            }
            false => {
                lost.push(trial.lost());
                let ranges = histogram.into_iter().flat_map(|histogram| histogram.ranges());
                counted(ranges, meaning).map(|block| vec![block])
            }
        };
        blocks.extend(found.map_err(|why| wrong(&why))?);
    }
    let seconds = trials.iter().map(|trial| trial.duration.as_secs_f64()).sum();
    Ok(Side {
        name: name.into(),
        meaning,
        blocks,
        lost: Some(lost),
        doubts,
        is_invalid,
        seconds: Some(seconds),
        order: Order::Unknown,
        notes: Vec::new(),
        conditions: Vec::new(),
        kind: lines.iter().find_map(|trial| trial.delay_kind),
    })
}

impl Side {
    /// Events that never came.
    pub fn lost(&self) -> u64 {
        self.lost.iter().flatten().sum()
    }
}

/// What did not come back of a slice, whoever lost it.
fn missing(slice: &Slice) -> u64 {
    slice.offered.saturating_sub(slice.forwarded)
}

/// What the target lost, by slice: as what is missing, of which our own socket may have lost a part.
fn shares(missing: &[u64], lost: u64) -> Vec<u64> {
    let all: u64 = missing.iter().sum();
    let (mut before, mut given) = (0u128, 0u64);
    missing
        .iter()
        .map(|&missing| {
            before += u128::from(missing);
            let upto =
                if all > 0 { (u128::from(lost.min(all)) * before / u128::from(all)) as u64 } else { 0 };
            let own = upto - given;
            given = upto;
            own
        })
        .collect()
}

/// What our own recorder counts: each event, whole nanoseconds in its cells, said in microseconds.
fn recorded() -> Meaning {
    Meaning { unit_ns: 1000, quantum_ns: 1.0, rounding: Rounding::Floor, event: Event::Each }
}

/// Whether a slice is a replicate: nobody can be asked of an empty one.
fn has_delays(slice: &Slice) -> bool {
    slice.delay.as_ref().is_some_and(|delay| delay.count > 0)
}

fn counted(ranges: impl Iterator<Item = (u64, u64, u64)>, meaning: Meaning) -> Result<Counted, CountError> {
    let tick = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Counted::ranges(meaning, ranges.map(|(low, high, count)| (tick(low), tick(high), count)), None)
}

/// What times of this kind are.
fn quantity(kind: DelayKind) -> &'static str {
    match kind {
        DelayKind::Lateness => "how late something was",
        DelayKind::OneWay => "one-way delays",
        DelayKind::Passage => "how long samples took through a pipeline",
        DelayKind::RoundTrip => "round trips",
    }
}

fn words(event: Event) -> String {
    match event {
        Event::Each => "each event".into(),
        Event::MaximumOf(k) => format!("the largest of {k} events"),
        Event::Unknown => "events that the file does not explain".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_two_paths_are_one_file_is_found_without_waiting_for_a_pipe_or_reading_a_device() {
        let directory = tempfile::tempdir().unwrap();
        let [pipe, file] = ["pipe", "file"].map(|name| directory.path().join(name));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::fs::write(&file, "10\n20\n").unwrap();
        for other in [pipe.as_path(), Path::new("/dev/zero")] {
            assert!(!is_one_file(other, &file) && !is_one_file(&file, other));
        }
        assert!(is_one_file(&file, &directory.path().join(".").join("file")));
    }
}
