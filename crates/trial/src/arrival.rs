//! When packets leave: schedules computed from the index or drawn beforehand, and loops that pace themselves.
//!
//! A process is a file under `arrival/` and a line in [`KINDS`].

mod bursts;
mod clients;
mod constant;
mod departures;
mod gamma;
mod onoff;
mod parameters;
mod pareto;
mod poisson;
mod ramp;
mod replay;
mod shared;
mod sine;
mod sum;
mod ticks;
mod yielding;

pub use clients::{ClosedLoop, Think};
pub use departures::Departures;
pub use parameters::ArrivalError;
pub use replay::{DeparturesError, read_times};
pub use shared::{OwnPlaces, Share, divisor};

use crate::{GapLaw, Rate, TrialInput};
use parameters::Parameters;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// An arrival process: what the departures of a trial look like.
///
/// Written as its name and parameters, `bursts:size=32,idle=1ms`, and shown as it would be written; two
/// that are shown alike are equal.
#[derive(Clone, Debug)]
pub struct Arrival(Arc<dyn Process>);

/// What paces an arrival process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// The load that is asked for.
    Load,
    /// The load, or without one the rate it was recorded at.
    LoadOr(Rate),
    /// Clocks of its own, at this rate in the mean: a load is refused, nothing is intended.
    Own(Rate),
    /// Clients that wait before each packet: a load is refused, nothing is intended, there is no schedule.
    Closed(ClosedLoop),
}

/// A way for packets to arrive. Files under `arrival/` hold one each.
pub(crate) trait Process: fmt::Debug + fmt::Display + Send + Sync {
    /// The word before the colon.
    fn name(&self) -> &'static str;

    /// What paces it.
    fn pace(&self) -> Pace {
        Pace::Load
    }

    /// Distribution of the gaps, where it has a closed form.
    fn gap_law(&self, _load: Rate) -> GapLaw {
        GapLaw::Drawn
    }

    /// Whether it can have this load.
    fn check(&self, _load: Rate) -> Result<(), ArrivalError> {
        Ok(())
    }

    /// How many packets more or fewer than load · duration a trial may have: once in a thousand million trials more.
    fn slack(&self, _input: TrialInput) -> f64 {
        0.0
    }

    /// The share of it that is offered, where it is one.
    fn share(&self) -> Option<&Share> {
        None
    }

    /// Its departures.
    fn draw(&self, input: TrialInput, seed: u64) -> Box<dyn Draw>;
}

/// Departures one after the other, in ns after the start, never descending; they need not end.
pub(crate) trait Draw: fmt::Debug + Send {
    /// The next one.
    fn next(&mut self) -> Option<u64>;

    /// How many are left, where that is known without drawing them.
    fn left(&self) -> Option<u64> {
        None
    }
}

/// A process that can be named.
#[derive(Debug)]
pub struct Kind {
    /// The word before the colon.
    pub name: &'static str,
    /// How it is written, with all its parameters.
    pub written: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    read: fn(&mut Parameters<'_>) -> Result<Arc<dyn Process>, ArrivalError>,
}

/// All processes, in the order of the help text.
pub const KINDS: [Kind; 12] = [
    constant::KIND,
    poisson::KIND,
    bursts::KIND,
    onoff::KIND,
    gamma::KIND,
    pareto::KIND,
    ramp::KIND,
    sine::KIND,
    replay::KIND,
    ticks::KIND,
    clients::KIND,
    yielding::KIND,
];

/// How a sum of processes is written, and what it is.
pub const SUM: (&str, &str) =
    ("poisson+constant or 64*poisson", "sums of independent processes with equal shares of the load");

/// Gives the departure times of a recording, in ns, by the name a user wrote; or says why it cannot.
pub type ReadTimes<'a> = dyn FnMut(&str) -> Result<Vec<u64>, String> + 'a;

impl Arrival {
    /// Equal times between departures (RFC 1242 §3.4).
    pub fn constant() -> Self {
        Self(Arc::new(constant::Constant))
    }

    /// Independent exponential times between departures (RFC 2330 §11.1.1).
    pub fn poisson() -> Self {
        Self(Arc::new(poisson::Poisson))
    }

    /// `clients` that wake up every `period_ns` by one clock, spread over `groups` moments of the period.
    pub fn ticks(clients: u32, period_ns: u64, groups: u32) -> Self {
        Self(Arc::new(ticks::Ticks::new(clients, period_ns, groups, 0)))
    }

    /// One of each kind that has a schedule at any load, for tests of what takes them all.
    pub fn examples() -> Vec<Self> {
        [
            "constant",
            "poisson",
            "bursts:size=32",
            "onoff:on=100us,off=900us",
            "gamma:shape=0.5",
            "pareto:shape=2.5",
        ]
        .into_iter()
        .chain(["ramp:from=50%", "sine:period=100ms,depth=50%", "poisson+2*constant"])
        .map(|word| word.parse().expect("an example is legal"))
        .collect()
    }

    /// Reads a process; `read_times` gives the contents of a recording.
    ///
    /// # Errors
    /// If the word names no process, or its parameters are wrong: the error names the right ones.
    pub fn parse(word: &str, read_times: &mut ReadTimes<'_>) -> Result<Self, ArrivalError> {
        match sum::parts(word) {
            Some(parts) => sum::read(&parts, read_times).map(Self),
            None => read_one(word, read_times).map(Self),
        }
    }

    /// The share of it that one of several generators offers. It is written as the whole.
    #[must_use]
    pub fn shared(self, share: Share) -> Self {
        Self(Arc::new(shared::Shared { process: self.0, share }))
    }

    /// The share of it that is offered, where several generators offer it.
    pub fn share(&self) -> Option<&Share> {
        self.0.share()
    }

    /// The word before the colon; of a sum, `sum`.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// What paces it.
    pub fn pace(&self) -> Pace {
        self.0.pace()
    }

    /// Whether it takes no load: clients with their own clocks, and closed loops.
    pub fn paces_itself(&self) -> bool {
        matches!(self.pace(), Pace::Own(_) | Pace::Closed(_))
    }

    /// Whether departures are equally far apart.
    pub fn is_constant(&self) -> bool {
        self.name() == constant::KIND.name
    }

    /// Whether it can have this load.
    ///
    /// # Errors
    /// If its parameters leave no room for it.
    pub fn check(&self, load: Rate) -> Result<(), ArrivalError> {
        self.0.check(load)
    }

    /// Distribution of the gaps between departures at this load.
    pub fn gap_law(&self, load: Rate) -> GapLaw {
        self.0.gap_law(load)
    }

    /// How many packets a trial at this load may intend, whoever draws them, when each of `parts` parts of the load is
    /// rounded by itself; `None` where the process has its own pace.
    pub fn intends(&self, input: TrialInput, parts: u64) -> Option<RangeInclusive<u64>> {
        if self.paces_itself() {
            return None;
        }
        let packets = input.load.packets_in(input.duration);
        let slack = (libm::ceil(self.0.slack(input)) as u64).saturating_add(parts);
        Some(packets.saturating_sub(slack)..=packets.saturating_add(slack))
    }

    /// The departures of one trial, in order, as nanoseconds after its start. A closed loop has none.
    pub fn departures(&self, input: TrialInput, seed: u64) -> Departures {
        let rate = match self.pace() {
            Pace::Own(rate) => rate,
            _ => input.load,
        };
        let end_ns = u64::try_from(input.duration.as_nanos()).unwrap_or(u64::MAX);
        Departures::of(self.0.draw(input, seed), end_ns, mean_ns(rate))
    }
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Arrival {}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::str::FromStr for Arrival {
    type Err = ArrivalError;

    /// Reads a process that needs no file.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::parse(word, &mut |_| Err("there are no files here".into()))
    }
}

fn read_one(word: &str, read_times: &mut ReadTimes<'_>) -> Result<Arc<dyn Process>, ArrivalError> {
    let (name, rest) = word.split_once(':').unwrap_or((word, ""));
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| ArrivalError::unknown(name))?;
    if kind.name == replay::KIND.name {
        return replay::read(rest, read_times);
    }
    (kind.read)(&mut Parameters::of(kind, rest)?)
}

/// How far a count may stray whose variance is `dispersion` times its mean, and which grows in steps of about `step`:
/// six standard deviations, and what makes up for a distribution that is no normal one when it is small.
fn strays(mean: f64, dispersion: f64, step: f64) -> f64 {
    6.0 * libm::sqrt(mean * dispersion) + 10.0 * step
}

/// Packets that a load has in a time, in the mean.
fn mean_packets(input: TrialInput) -> f64 {
    input.load.as_pps() * input.duration.as_secs_f64()
}

/// Mean time between departures, in ns.
fn mean_ns(load: Rate) -> f64 {
    1e12 / load.as_millipps() as f64
}

/// When packet `index` of a constant load is due: off by less than 1 ns for every index.
fn due_ns(index: u64, load: Rate) -> u64 {
    let due = u128::from(index) * 1_000_000_000_000 / u128::from(load.as_millipps());
    u64::try_from(due).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn input(pps: f64, seconds: u64) -> TrialInput {
        TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_secs(seconds) }
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let more = [
            "bursts:size=32,idle=1ms",
            "ticks:n=128,period=20ms",
            "ticks:n=128,period=10ms,groups=2,jitter=100us",
            "clients:n=64,think=exp(200us)",
            "clients:n=64,think=10ms,wait=none",
            "yield:n=64",
            "onoff:on=1ms,off=9ms,inside=constant,periods=fixed",
            "3*poisson+constant",
            "8*onoff:on=1ms,off=9ms",
        ];
        let examples = Arrival::examples().into_iter().map(|arrival| arrival.to_string());
        for word in examples.chain(more.into_iter().map(String::from)) {
            let read: Arrival = word.parse().unwrap();
            assert_eq!(read.to_string(), word);
        }
    }

    #[test]
    fn every_schedule_has_the_mean_that_was_asked_for_and_never_goes_back() {
        for arrival in Arrival::examples() {
            let departures: Vec<u64> = arrival.departures(input(20_000.0, 20), 3).collect();
            assert!(departures.is_sorted(), "{arrival}");
            let rate = departures.len() as f64 / 400_000.0;
            // The burstiest, on and off, has a dispersion of 33: 0.9 % is a deviation.
            assert!((rate - 1.0).abs() < 0.03, "{arrival}: {rate}");
        }
    }

    #[test]
    fn a_trial_intends_what_its_arrivals_may_draw_and_not_what_another_load_does() {
        for arrival in Arrival::examples() {
            for (pps, seconds) in [(20_000.0, 3), (300.0, 1), (2.0, 1)] {
                let may = arrival.intends(input(pps, seconds), 1).unwrap();
                for seed in 0..40 {
                    let drawn = arrival.departures(input(pps, seconds), seed).count() as u64;
                    assert!(may.contains(&drawn), "{arrival} at {pps}: {drawn} of {may:?}");
                }
            }
        }
        let may = |word: &str| word.parse::<Arrival>().unwrap().intends(input(1e6, 1), 1);
        assert_eq!(may("constant"), Some(999_999..=1_000_001));
        assert_eq!(may("poisson"), Some(993_989..=1_006_011));
        assert_eq!(may("bursts:size=32"), Some(999_967..=1_000_033));
        assert_eq!(may("ticks:n=4,period=1ms"), None);
        for arrival in Arrival::examples() {
            let other = arrival.intends(input(2e6, 1), 1).unwrap();
            assert!(arrival.name() == "pareto" || !other.contains(&1_000_000), "{arrival}: {other:?}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_arrivals() {
        for arrival in Arrival::examples() {
            let draw = |seed| arrival.departures(input(1000.0, 2), seed).collect::<Vec<_>>();
            assert_eq!(draw(5), draw(5), "{arrival}");
            let is_chance = !["constant", "bursts", "ramp", "sine"].contains(&arrival.name());
            assert_eq!(draw(5) != draw(6), is_chance, "{arrival}");
        }
    }

    #[test]
    fn what_is_left_is_counted_or_expected() {
        for arrival in Arrival::examples() {
            let all = arrival.departures(input(10_000.0, 1), 5).count() as u64;
            let mut some = arrival.departures(input(10_000.0, 1), 5);
            some.by_ref().take(10).for_each(drop);
            assert_eq!(some.remaining(), all - 10, "{arrival}");
            let absurd = arrival.departures(input(1e12, 1), 5);
            assert!((absurd.remaining() as f64 / 1e12 - 1.0).abs() < 1e-3, "{arrival}");
        }
    }

    #[test]
    fn a_wrong_word_is_told_the_nearest_right_one() {
        let says = |word: &str| word.parse::<Arrival>().unwrap_err().to_string();
        assert!(says("poison").contains("did you mean \"poisson\"?"), "{}", says("poison"));
        assert!(says("zebra").contains("ticks, clients and yield"), "{}", says("zebra"));
        let wrong = says("bursts:sise=3");
        assert!(wrong.contains("did you mean \"size\"?") && wrong.contains("bursts:size="), "{wrong}");
        assert!(says("bursts:size").contains("NAME=VALUE"), "{}", says("bursts:size"));
        assert!(says("bursts:size=0").contains("size"), "{}", says("bursts:size=0"));
        assert!(says("onoff:on=1ms").contains("needs off"), "{}", says("onoff:on=1ms"));
        assert!(says("ticks:n=4,period=20").contains("needs a unit"), "{}", says("ticks:n=4,period=20"));
        assert!(says("yield:n=4+constant").contains("cannot be part of a sum"));
        assert!(says("replay:x").contains("x: there are no files here"), "{}", says("replay:x"));
    }

    #[test]
    fn only_what_has_its_own_clock_refuses_a_load() {
        let paces_itself = |word: &str| word.parse::<Arrival>().unwrap().paces_itself();
        assert!(Arrival::examples().iter().all(|arrival| !arrival.paces_itself()));
        assert!(
            ["ticks:n=4,period=1ms", "clients:n=4,think=1ms", "yield:n=4"]
                .map(paces_itself)
                .iter()
                .all(|&p| p)
        );
    }

    proptest! {
        #[test]
        fn no_word_makes_the_reader_panic(word in "\\PC{0,60}") {
            let _ = word.parse::<Arrival>();
        }

        #[test]
        fn no_parameters_make_the_reader_or_its_departures_panic(
            name in prop::sample::select(KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>()),
            rest in "[a-z]{1,6}=[0-9.a-z%()]{0,8}(,[a-z]{1,6}=[0-9.a-z%]{0,8}){0,2}",
        ) {
            if let Ok(arrival) = format!("{name}:{rest}").parse::<Arrival>() {
                let _ = arrival.departures(input(1000.0, 1), 1).take(1000).count();
            }
        }
    }
}
