//! Two targets measured in turns: A B B A or B A A B, drawn anew each time.
//!
//! What drifts slowly meets both alike, and what differs between two sessions differs between neighbours too.

use super::side::{self, Pair};
use crate::observer::Watcher;
use crate::search::{Conditions, load_is, opening};
use dropline_archive::record_file::{Keeper, Output};
use dropline_archive::{clock, environment};
use dropline_failure::{Failure, quoted_path};
use dropline_record::{CaveatLine, Header, ProfileLine, Purpose, Record, TrialLine, schema};
use dropline_targets::{Opened, Target};
use dropline_trial::number_of;
use dropline_trial::{Rate, TrafficProfile, TrialInput, seed};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A block is at least so long, where the time allows ten on each side.
const SHORTEST: Duration = Duration::from_secs(5);
/// Blocks of each side.
const FEWEST: u32 = 10;
const MOST: u32 = 40;
/// A turn that is shorter, or has fewer events, measures how it began.
const LEAST_TURN: Duration = Duration::from_millis(10);
const LEAST_EVENTS: u64 = 20;

/// Two targets and how long both are measured together.
#[derive(Clone, Debug)]
pub struct Turns {
    /// What is compared with, and what is compared.
    pub targets: [Target; 2],
    /// What the packets look like, of both.
    pub profile: TrafficProfile,
    /// Offered to either.
    pub load: Rate,
    /// All turns together.
    pub duration: Duration,
}

/// What was measured, and why it ended early where it did.
#[derive(Debug)]
pub struct Taken {
    /// Trials in the order in which they were made.
    pub record: Record,
    /// Why it ended before its time.
    pub failure: Option<Failure>,
    /// Turns that were to be made.
    wanted: usize,
    /// Where the turns are kept.
    file: Option<PathBuf>,
    /// Those of them that are.
    kept: usize,
}

/// What was measured where a side has no turn, and why there is none.
#[derive(Debug)]
pub struct OneSided {
    /// Its trials.
    pub record: Record,
    /// Why there are no more.
    pub failure: Failure,
}

/// Said at the first turn, and not after ten minutes of them.
fn without_delays(target: &str) -> Failure {
    Failure::environment(format!(
        "{}: its trials have no delays, and turns are compared by delays; two searches can be compared without them",
        quoted_path(Path::new(target))
    ))
}

impl Taken {
    /// The two sides as far as they were measured, with that doubt where turns are missing, and why they are.
    ///
    /// # Errors
    /// If nothing of one side was measured.
    pub fn pair(self) -> Result<(Pair, Option<Failure>), Box<OneSided>> {
        let Self { record, failure, wanted, file, kept } = self;
        let made = record.trials.len();
        let told = |what: &str| match &file {
            None => format!("{what} above, and kept nowhere (-o -); for more, measure again"),
            Some(_) if kept < made => format!(
                "{what} above, and {kept} of {} are kept; to keep all, make room or name a file elsewhere (-o FILE), and \
                 measure again",
                number_of(made, "turn")
            ),
            Some(_) => format!("{what} above and kept; for more, measure again into another file"),
        };
        match (side::turns(&record, "what was measured"), failure) {
            (Ok(mut pair), Some(failure)) => {
                let again = file.as_ref().filter(|_| kept == made).map_or(String::new(), |file| {
                    format!("; where the peaks are:  dropline compare {}", quoted_path(file))
                });
                let text = format!(
                    "it ended early: begun were {made} of {}, and what they say is compared, without the quantiles and \
                     peaks of either side{again}",
                    number_of(wanted, "turn")
                );
                pair.doubts.push(CaveatLine::said("ended_early", text));
                pair.is_in_haste = true;
                Ok((pair, Some(failure.advice(told("the turns until then are compared")))))
            }
            (Ok(pair), None) => Ok((pair, None)),
            (Err(_), Some(failure)) if made == 0 => {
                let advice = "it ended before a turn of each side was measured: there is nothing to compare";
                Err(Box::new(OneSided { record, failure: failure.advice(advice) }))
            }
            (Err(_), Some(failure)) => {
                let advice = told(
                    "it ended before a turn of each side was measured, so nothing is compared; what was measured is told",
                );
                Err(Box::new(OneSided { record, failure: failure.advice(advice) }))
            }
            (Err(failure), None) => Err(Box::new(OneSided { record, failure })),
        }
    }
}

impl Turns {
    /// Turns of each side, an even number, and the length of one.
    pub fn blocks(&self) -> (u32, Duration) {
        let fit = self.duration.as_nanos() / (2 * SHORTEST.as_nanos());
        let blocks = u32::try_from(fit).unwrap_or(MOST).clamp(FEWEST, MOST) / 2 * 2;
        (blocks, self.duration / (2 * blocks))
    }

    /// Says before anything is measured that turns would be too short to say anything.
    ///
    /// # Errors
    /// If they would.
    pub fn check(&self) -> Result<(), Failure> {
        let events = Duration::from_nanos(LEAST_EVENTS * 1_000_000_000_000 / self.load.as_millipps().max(1));
        let least = LEAST_TURN.max(events);
        let (blocks, length) = self.blocks();
        if length >= least {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{} turns in {} s are of {} ms each, and one of less than {} ms has too little in it to compare",
            2 * blocks,
            self.duration.as_secs_f64(),
            length.as_secs_f64() * 1e3,
            least.as_secs_f64() * 1e3
        ))
        .advice(format!(
            "measure longer:  --duration {}ms, or more",
            (2 * blocks * least).as_millis().max(1)
        )))
    }

    /// Whose turn it is, A being 0.
    fn order(&self) -> impl Iterator<Item = usize> + use<'_> {
        let (blocks, _) = self.blocks();
        (0..u64::from(blocks / 2)).flat_map(|number| quartet(self.profile.seed, number))
    }

    /// Measures both.
    ///
    /// # Errors
    /// If it could not begin.
    pub fn take(
        &self,
        output: &Output,
        conditions: &Conditions,
        watcher: &mut dyn Watcher,
    ) -> Result<Taken, Failure> {
        let mut opened = [self.open(0, conditions)?, self.open(1, conditions)?];
        let header = self.header(&opened, conditions);
        watcher.opened(&header.target, header.target_note.as_deref());
        let mut keeper = Keeper::begin(output, &header)?;
        let (blocks, length) = self.blocks();
        let input = TrialInput { load: self.load, duration: length };
        let mut taken = Taken {
            record: Record::begin(header),
            failure: None,
            wanted: 2 * blocks as usize,
            file: output.path().map(Path::to_owned),
            kept: 0,
        };
        let mut at = Duration::ZERO;
        for (index, side) in self.order().enumerate() {
            let name = ["A", "B"][side];
            watcher.begins(index as u64 + 1, input, name);
            let trial = match opened[side].measurer.measure(input) {
                Ok(trial) => trial,
                Err(failure) => {
                    taken.failure = Some(failure);
                    break;
                }
            };
            // A turn that the user stopped is a shorter one.
            let stopped = trial.is_interrupted();
            if stopped && trial.offered == 0 {
                taken.failure = Some(Failure::interrupted());
                break;
            }
            let arrival = taken.record.header.profile.arrival.clone();
            let target = self.targets[side].to_string();
            let mut line = TrialLine::new(&trial, &target, &arrival, Purpose::Trial, at);
            line.number = index as u64 + 1;
            line.phase = Some(name.into());
            at += trial.elapsed;
            let kept = keeper.trial(&line);
            taken.kept += usize::from(kept.is_ok());
            watcher.ended(&line, None);
            taken.record.trials.push(line);
            let has_none =
                trial.forwarded > 0 && trial.delay.histogram.is_none() && trial.delay.negative == 0;
            taken.failure = kept
                .err()
                .or_else(|| stopped.then(Failure::interrupted))
                .or_else(|| has_none.then(|| without_delays(&target)));
            if taken.failure.is_some() {
                break;
            }
        }
        if taken.kept == 0 {
            keeper.remove_empty();
        }
        Ok(taken)
    }

    fn open(&self, side: usize, conditions: &Conditions) -> Result<Opened, Failure> {
        self.targets[side].open(&self.profile, opening(conditions, 1, &crate::observer::Unwatched))
    }

    fn header(&self, opened: &[Opened; 2], conditions: &Conditions) -> Header {
        let [a, b] = &self.targets;
        let note = |opened: &Opened| opened.note.clone().unwrap_or_else(|| "nothing to say of it".into());
        let (blocks, length) = self.blocks();
        Header {
            schema: schema::CURRENT.into(),
            verb: "compare".into(),
            started: clock::now_utc(),
            target: format!("{a} {b}"),
            target_note: Some(format!(
                "A: {}; B: {}; {} each of {:.3} s",
                note(&opened[0]),
                note(&opened[1]),
                number_of(blocks, "turn"),
                length.as_secs_f64()
            )),
            asked_digest: a.asked_digest().unwrap_or_default(),
            load_unit: a.load_unit(),
            load_is: load_is(a, &self.profile),
            profile: ProfileLine::from(&self.profile),
            search: None,
            generator: opened[0].generator.clone(),
            on: a.on().unwrap_or_default(),
            bursts: None,
            generator_limit_pps: None,
            environment: environment::capture(&conditions.command_line),
        }
    }
}

/// Whose turn it is in the four turns of this number, A being 0: A B B A or B A A B by chance.
pub fn quartet(chance: u64, number: u64) -> [usize; 4] {
    let first = (seed::of_trial(chance, number) >> 32 & 1) as usize;
    [first, 1 - first, 1 - first, first]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(duration: Duration, seed: u64) -> Turns {
        let target = Target::parse("sim:hard").unwrap();
        Turns {
            targets: [target.clone(), target],
            profile: TrafficProfile { seed, ..TrafficProfile::default() },
            load: Rate::from_millipps(1_000_000),
            duration,
        }
    }

    #[test]
    fn both_have_as_many_turns_and_blocks_are_long_where_time_allows() {
        let blocks = |seconds| turns(Duration::from_secs(seconds), 7).blocks();
        assert_eq!(blocks(600), (40, Duration::from_millis(7500)));
        assert_eq!(blocks(240), (24, Duration::from_secs(5)));
        assert_eq!(blocks(20), (10, Duration::from_secs(1)));
        let order: Vec<usize> = turns(Duration::from_secs(600), 7).order().collect();
        assert_eq!((order.len(), order.iter().sum::<usize>()), (80, 40));
        for quartet in order.chunks(4) {
            assert!(quartet == [0, 1, 1, 0] || quartet == [1, 0, 0, 1], "{quartet:?}");
        }
    }

    #[test]
    fn turns_too_short_to_say_anything_are_refused_with_how_long_is_enough() {
        let check = |ms| turns(Duration::from_millis(ms), 7).check();
        let error = check(100).unwrap_err();
        assert!(error.exit_code() == 2 && error.to_string().contains("--duration 400ms"), "{error}");
        assert!(check(399).is_err() && check(400).is_ok());
        let slow = Turns { load: Rate::from_millipps(10_000), ..turns(Duration::from_secs(4), 7) };
        assert!(slow.check().unwrap_err().to_string().contains("--duration 40000ms"), "20 events a turn");
    }

    #[test]
    fn the_order_is_drawn_from_the_seed() {
        let first = |seed| {
            let quartets: Vec<usize> = turns(Duration::from_secs(600), seed).order().step_by(4).collect();
            quartets
        };
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
        let begins_with_b = first(7).iter().sum::<usize>();
        assert!((3..=17).contains(&begins_with_b), "{begins_with_b} of 20");
    }
}
