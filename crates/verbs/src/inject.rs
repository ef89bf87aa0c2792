//! `inject`: which code path is it? A delay is added at a named place, and what moves has crossed it.

mod analysis;
mod words;

pub use words::study;

use crate::compare::side;
use crate::observer::Watcher;
use crate::search::{Conditions, opening};
use analysis::{Added, Asked, Round};
use dropline_distributions::import::Hints;
use dropline_failure::{Failure, nearest};
use dropline_record::{Count, Injected, Purpose, TrialLine};
use dropline_stats::{Binned, Counted, Meaning, Rounding};
use dropline_targets::background::Background;
use dropline_targets::{AnyMeasurer, Opened, Target};
use dropline_trace::{Kind, Session, SessionError};
use dropline_trial::{Rate, TrafficProfile, TrialInput};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Injection {
    /// What is measured.
    pub target: Target,
    /// What the packets look like.
    pub profile: TrafficProfile,
    /// Offered.
    pub load: Rate,
    /// All turns together.
    pub duration: Duration,
    /// The program that has the probe; `exec:` targets are it themselves.
    pub start: Option<String>,
    /// Where the delay is added; `None` only lists the probes.
    pub probe: Option<String>,
    /// The delay X.
    pub delay: Duration,
}

/// Rounds of no delay, X, 2X, no delay.
const ROUNDS: u32 = 10;
/// A turn is at least so long.
const SHORTEST: Duration = Duration::from_millis(50);
/// A service that was started answers within this.
const PATIENCE: Duration = Duration::from_secs(10);

/// Measures with and without the delay, in turns.
///
/// # Errors
/// If the program cannot be started or measured, or has no such probe.
pub fn inject(
    plan: &Injection,
    conditions: &Conditions,
    watcher: &mut dyn Watcher,
) -> Result<Injected, Failure> {
    let mut place = RecordedSession::make()?;
    let (name, path) = place.session.variable();
    let (name, path) = (name.to_owned(), path.to_string_lossy().into_owned());
    if plan.start.is_none() && !plan.target.is_exec() {
        return Err(Failure::usage(format!(
            "{} must be told of the delay when it starts: --start 'COMMAND' starts it",
            plan.target
        ))
        .advice(
            "try  dropline inject udp://127.0.0.1:7007 --start 'dropline serve' --probe request --delay 30us",
        ));
    }
    let commands: Vec<String> = plan.start.iter().cloned().collect();
    let mut program = Background::start_for("--start", &commands, &[(&name, &path)])?;
    let target = plan.target.clone().with_environment(&name, &path);
    let mut opened = open(&target, plan, &mut program, conditions, watcher)?;
    watcher.opened(&target.to_string(), opened.note.as_deref());
    place.session.start();
    let length = (plan.duration / (4 * ROUNDS)).max(SHORTEST);
    let input = TrialInput { load: plan.load, duration: length };
    let mut turn = Turn { plan, input, number: 0, watcher };
    // Probes are in the list once they were reached.
    turn.take(&mut opened.measurer, "warm-up")?;
    let mut found = Injected {
        target: plan.target.to_string(),
        probe: plan.probe.clone(),
        probes: place.session.probes(),
        delay_us: plan.delay.as_nanos() as f64 / 1000.0,
        estimator: dropline_stats::delay_injection::ESTIMATOR.into(),
        ..Injected::default()
    };
    let Some(probe) = &plan.probe else { return Ok(found) };
    let probes = place.numbers(probe)?;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let levels: [u64; 4] = if round % 2 == 0 { [0, 1, 2, 0] } else { [0, 2, 1, 0] };
        let mut taken: [Option<Binned>; 3] = [None, None, None];
        let mut last = None;
        for (order, level) in levels.into_iter().enumerate() {
            let delay = plan.delay.as_nanos() as u64 * level;
            probes.iter().for_each(|&probe| place.session.delay(probe, delay));
            let name = ["no delay", "X", "2X"][level as usize];
            let events = turn.take(&mut opened.measurer, name)?;
            place.drain(level, &probes);
            match order {
                3 => last = Some(events),
                _ => taken[level as usize] = Some(events),
            }
        }
        if let ([Some(first), Some(once), Some(twice)], Some(last)) = (taken, last) {
            rounds.push(Round { first, once, twice: Some(twice), last: Some(last) });
        }
        if conditions.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    drop(opened);
    let added = place.added(plan.delay);
    analysis::fill(&mut found, &rounds, &added, Asked::ToldApart);
    found.crossings = Some(Count(added.iter().map(|added| added.crossings).sum()));
    found.realised_us = added[0].realised_us();
    Ok(found)
}

/// Two files that were measured without and with a delay, and what both do not say about themselves.
///
/// # Errors
/// If one cannot be read, or holds no delays.
pub fn stored(before: &Path, after: &Path, hints: &Hints, delay: Duration) -> Result<Injected, Failure> {
    let pair = side::read(before, after, hints)?;
    let unit = |side: &side::Side| Meaning { unit_ns: 1000, ..side.meaning };
    let of = |side: &side::Side| -> Vec<Binned> {
        let parts = side.in_parts(ROUNDS as usize);
        parts.into_iter().map(|part| part.with_meaning(unit(side)).binned()).collect()
    };
    let (before_blocks, after_blocks) = (of(&pair.a), of(&pair.b));
    // Slices of both are rounds, and parts of events in the order of time; a file that has neither is one round.
    let few = before_blocks.len().min(after_blocks.len()).min(ROUNDS as usize);
    let part = |blocks: &[Binned], index: usize| {
        let (from, to) = (index * blocks.len() / few, (index + 1) * blocks.len() / few);
        Binned::together(&blocks[from..to])
    };
    let rounds: Vec<Round> = (0..few)
        .map(|index| Round {
            first: part(&before_blocks, index),
            once: part(&after_blocks, index),
            twice: None,
            last: None,
        })
        .collect();
    let mut found = Injected {
        target: format!("{} and {}", pair.a.name, pair.b.name),
        delay_us: delay.as_nanos() as f64 / 1000.0,
        estimator: dropline_stats::delay_injection::ESTIMATOR.into(),
        ..Injected::default()
    };
    let added = [Added::asked(delay), Added::asked(delay * 2)];
    analysis::fill(&mut found, &rounds, &added, Asked::Fitted);
    Ok(found)
}

/// Opens the target as soon as its service answers.
fn open(
    target: &Target,
    plan: &Injection,
    program: &mut Background,
    conditions: &Conditions,
    watcher: &dyn Watcher,
) -> Result<Opened, Failure> {
    let begun = Instant::now();
    loop {
        match target.open(&plan.profile, opening(conditions, 1, watcher)) {
            // A wrong word stays wrong, and a program that ended answers no more.
            Err(why)
                if plan.start.is_some()
                    && why.exit_code() == 4
                    && program.ended() == 0
                    && begun.elapsed() < PATIENCE =>
            {
                if conditions.stop.load(Ordering::Relaxed) {
                    return Err(Failure::interrupted());
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            opened => return opened,
        }
    }
}

/// One turn after the other.
struct Turn<'a> {
    plan: &'a Injection,
    input: TrialInput,
    number: u64,
    watcher: &'a mut dyn Watcher,
}

impl Turn<'_> {
    fn take(&mut self, measurer: &mut AnyMeasurer, name: &str) -> Result<Binned, Failure> {
        self.number += 1;
        self.watcher.begins(self.number, self.input, name);
        let trial = measurer.measure(self.input).and_then(dropline_targets::whole)?;
        let target = self.plan.target.to_string();
        let line = TrialLine::new(&trial, &target, "", Purpose::Trial, Duration::ZERO);
        self.watcher.ended(&line, None);
        // From when it left: how late we were is no code path of the target's.
        let (measured, answered) = (trial.service_delay.histogram.or(trial.delay.histogram), trial.forwarded);
        if measured.is_none() && answered > 0 {
            return Err(Failure::environment(format!(
                "{target} reports no delays, so nobody can see a peak move"
            )));
        }
        // A turn in which the machine let nothing come back in time has no events.
        let histogram = measured.unwrap_or_default();
        let meaning = Meaning {
            unit_ns: 1000,
            quantum_ns: 1.0,
            rounding: Rounding::Round,
            event: dropline_stats::Event::Each,
        };
        let tick = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let ranges = histogram.ranges().map(|(low, high, count)| (tick(low), tick(high), count));
        Counted::ranges(meaning, ranges, None).map(|counted| counted.binned()).map_err(Failure::environment)
    }
}

/// Where programs find the session, and what they recorded.
struct RecordedSession {
    session: Session,
    /// Ticks of each delay that was added, at X and at 2X.
    ticks: [Vec<u64>; 2],
}

impl RecordedSession {
    fn make() -> Result<Self, Failure> {
        let session = Session::in_memory(dropline_trace::Shape::default())
            .map_err(|why: SessionError| Failure::environment(why))?;
        Ok(Self { session, ticks: [Vec::new(), Vec::new()] })
    }

    /// Entries of a name: each program that has the probe took its own.
    fn numbers(&self, probe: &str) -> Result<Vec<usize>, Failure> {
        let names = self.session.probes();
        let numbers: Vec<usize> =
            names.iter().enumerate().filter(|(_, name)| *name == probe).map(|(number, _)| number).collect();
        if !numbers.is_empty() {
            return Ok(numbers);
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        Err(match known.is_empty() {
            true => Failure::environment(
                "the program reached no probe: it was built without one, or not started here",
            ),
            false => Failure::usage(format!(
                "the program has no probe {probe:?}{}; it has {}",
                nearest(probe, &known),
                known.join(", ")
            )),
        })
    }

    /// Takes what was recorded in a turn.
    fn drain(&mut self, level: u64, probes: &[usize]) {
        let ticks = &mut self.ticks;
        self.session.drain(|_, event| {
            if event.kind == Kind::Crossing && probes.contains(&(event.pipe as usize)) && level > 0 {
                ticks[level as usize - 1].push(event.n);
            }
        });
    }

    /// Delays that were really added, at X and at 2X.
    fn added(&self, asked: Duration) -> [Added; 2] {
        let ns_per_tick = self.session.calibration().map_or(1.0, |calibration| calibration.ns_per_tick());
        [(0, 1), (1, 2)].map(|(level, times)| Added::of(&self.ticks[level], ns_per_tick, asked * times))
    }
}
