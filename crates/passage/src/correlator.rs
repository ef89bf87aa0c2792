//! Events in, passages out: the correlator of all pipes of a program.

use crate::WarmUpCut;
use crate::pipe::{Pipe, keep_slowest};
use crate::timeline::Times;
use crate::window::End;
use dropline_trial::passages::{Passage, Passages, Recorder};
use std::collections::BTreeMap;

/// Pipes that are followed; events of further ones are counted and left.
pub const MOST_PIPES: usize = 256;
/// Pipes numbered below are found without a search.
const DIRECT: usize = 1024;

/// What the events mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorrelatorSettings {
    /// Samples of a granule, where that is known.
    pub granularity: Option<u64>,
    /// Samples at the sink for so many at the source: (1, 4) where a graph keeps one of four. Both above zero.
    pub ratio: (u64, u64),
    /// What is done about the beginning.
    pub cut: WarmUpCut,
}

impl Default for CorrelatorSettings {
    fn default() -> Self {
        Self { granularity: None, ratio: (1, 1), cut: WarmUpCut::default() }
    }
}

/// Pairs tx and rx events of many pipes, in constant memory.
///
/// Events of one thread come in their order, events of different threads in any: a sink's may be handed over before
/// its source's. All times are ns of one clock.
#[derive(Clone, Debug)]
pub struct Correlator {
    settings: CorrelatorSettings,
    ratio: (u64, u64),
    pipes: Vec<Pipe>,
    direct: Vec<u16>,
    by_number: BTreeMap<u32, u16>,
    times: Times,
    foreign: u64,
}

/// No pipe yet.
const NONE: u16 = u16::MAX;

impl Correlator {
    /// # Panics
    /// If a part of the ratio is 0.
    pub fn new(settings: CorrelatorSettings) -> Self {
        let (sink, source) = settings.ratio;
        assert!(sink > 0 && source > 0, "a ratio of {sink} to {source} is none");
        let common = dropline_trial::divisor(sink, source);
        Self {
            settings,
            ratio: (sink / common, source / common),
            pipes: Vec::new(),
            direct: vec![NONE; DIRECT],
            by_number: BTreeMap::new(),
            times: Times::default(),
            foreign: 0,
        }
    }

    /// Granule `n` left the source of `pipe`; the passage, if its arrival was seen before.
    #[inline]
    pub fn tx(&mut self, pipe: u32, n: u64, at_ns: u64) -> Option<Passage> {
        self.see(End::Source, pipe, n, at_ns)
    }

    /// Granule `n` reached the sink of `pipe`; the passage, if it was seen to leave.
    #[inline]
    pub fn rx(&mut self, pipe: u32, n: u64, at_ns: u64) -> Option<Passage> {
        self.see(End::Sink, pipe, n, at_ns)
    }

    /// So many samples were in `pipe`, by a sampler that knows nothing of granules.
    pub fn in_flight(&mut self, pipe: u32, samples: u64, at_ns: u64) {
        if let Some(place) = self.place(pipe) {
            self.pipes[place].samples.see(at_ns, samples);
        }
    }

    #[inline]
    fn see(&mut self, end: End, pipe: u32, n: u64, at_ns: u64) -> Option<Passage> {
        let Some(place) = self.place(pipe) else {
            self.foreign += 1;
            return None;
        };
        let passage = self.pipes[place].see(end, n, at_ns, self.ratio)?;
        self.times.see(place, passage);
        Some(passage)
    }

    /// What was found. `ended_ns` is when the recording ended, where that is known.
    pub fn finish(self, ended_ns: Option<u64>) -> Passages {
        let mut pipes = Vec::new();
        let mut slowest = Vec::new();
        for pipe in self.pipes {
            let (found, its_slowest) = pipe.finish(ended_ns);
            pipes.push(found);
            its_slowest.into_iter().for_each(|passage| keep_slowest(&mut slowest, passage));
        }
        pipes.sort_by_key(|pipe| pipe.number);
        let mut timeline = self.times.finish();
        timeline.lanes.sort_by_key(|lane| lane.pipe);
        Passages {
            granularity: self.settings.granularity,
            ratio: self.ratio,
            pipes,
            recorder: Recorder { foreign: self.foreign, ..Recorder::default() },
            timeline,
            slowest,
            kept: None,
        }
    }

    /// Where a pipe is among ours; `None` where there are too many.
    #[inline]
    fn place(&mut self, pipe: u32) -> Option<usize> {
        match self.direct.get(pipe as usize) {
            Some(&place) if place != NONE => Some(usize::from(place)),
            _ => self.look_for(pipe),
        }
    }

    #[cold]
    fn look_for(&mut self, pipe: u32) -> Option<usize> {
        if let Some(&place) = self.by_number.get(&pipe) {
            return Some(usize::from(place));
        }
        if self.pipes.len() == MOST_PIPES {
            return None;
        }
        let place = self.pipes.len() as u16;
        self.pipes.push(Pipe::new(pipe, self.settings.cut));
        match self.direct.get_mut(pipe as usize) {
            Some(direct) => *direct = place,
            None => drop(self.by_number.insert(pipe, place)),
        }
        Some(usize::from(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::passages::PassageCounts;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn correlator(settings: CorrelatorSettings) -> Correlator {
        Correlator::new(settings)
    }

    #[test]
    fn what_is_on_its_way_at_either_end_of_the_recording_is_not_lost() {
        let mut correlator = correlator(CorrelatorSettings::default());
        correlator.rx(0, 1, 900);
        for n in 2..=5 {
            correlator.tx(0, n, 1000 * n);
        }
        for n in 2..=4 {
            correlator.rx(0, n, 1000 * n + 1500);
        }
        let found = correlator.finish(Some(20_000));
        let pipe = &found.pipes[0];
        let expected = PassageCounts {
            tx: 4,
            rx: 4,
            passed: 3,
            in_flight: 1,
            before_start: 1,
            ..PassageCounts::default()
        };
        assert_eq!(pipe.counts, expected);
        assert_eq!(
            (pipe.mean_ns, pipe.span_ns, pipe.silent_ns),
            (Some(1500.0), Some((3500, 5500)), Some(14_500))
        );
    }

    #[test]
    fn an_event_that_is_missing_at_one_end_is_counted_there() {
        let mut correlator = correlator(CorrelatorSettings::default());
        for n in 1..=100 {
            if n != 40 {
                correlator.tx(0, n, 10 * n);
            }
            if n != 60 {
                correlator.rx(0, n, 10 * n + 5);
            }
        }
        correlator.tx(0, 7, 70);
        correlator.rx(0, 7, 75);
        let expected = PassageCounts {
            tx: 100,
            rx: 100,
            passed: 98,
            without_rx: 1,
            without_tx: 1,
            duplicated_tx: 1,
            duplicated_rx: 1,
            ..PassageCounts::default()
        };
        assert_eq!(correlator.finish(None).pipes[0].counts, expected);
    }

    /// One call of a source may pass several boundaries: they have one stamp, and a head takes the first of them.
    #[test]
    fn a_granule_that_left_in_the_call_of_the_last_that_arrived_is_on_its_way_and_not_lost() {
        let mut correlator = correlator(CorrelatorSettings::default());
        for n in 1..=8 {
            correlator.tx(0, n, 100 * n.div_ceil(4));
        }
        for n in 1..=6 {
            correlator.rx(0, n, 1000 + n);
        }
        let counts = correlator.finish(None).pipes[0].counts;
        assert_eq!((counts.passed, counts.in_flight, counts.without_rx), (6, 2, 0));
    }

    #[test]
    fn a_granule_that_arrived_with_the_first_that_was_seen_to_leave_had_left_before() {
        let mut correlator = correlator(CorrelatorSettings::default());
        for n in 1..=4 {
            correlator.rx(0, n, 500);
        }
        for n in 5..=8 {
            correlator.tx(0, n, 400);
            correlator.rx(0, n, 500);
        }
        let counts = correlator.finish(None).pipes[0].counts;
        assert_eq!((counts.passed, counts.before_start, counts.without_tx), (4, 4, 0));
    }

    #[test]
    fn a_graph_that_keeps_one_sample_of_four_is_followed_where_boundaries_meet() {
        let mut correlator =
            correlator(CorrelatorSettings { ratio: (2, 8), ..CorrelatorSettings::default() });
        for n in 1..=40 {
            correlator.tx(1, n, 1000 * n);
        }
        for n in 1..=10 {
            let passage = correlator.rx(1, n, 4000 * n + 77).unwrap();
            assert_eq!((passage.n, passage.delay_ns()), (4 * n, 77));
        }
        let found = correlator.finish(None);
        let expected =
            PassageCounts { tx: 40, rx: 10, passed: 10, between_tx: 30, ..PassageCounts::default() };
        assert_eq!((found.pipes[0].counts, found.ratio), (expected, (1, 4)));
    }

    #[test]
    fn a_graph_that_makes_three_samples_of_two_is_followed_too() {
        let mut correlator =
            correlator(CorrelatorSettings { ratio: (3, 2), ..CorrelatorSettings::default() });
        for n in 1..=20 {
            correlator.tx(1, n, 3000 * n);
        }
        let passed = (1..=30).filter_map(|n| correlator.rx(1, n, 2000 * n + 5)).map(|passage| passage.n);
        assert!(passed.eq((1..=10).map(|k| 2 * k)));
        let counts = correlator.finish(None).pipes[0].counts;
        assert_eq!((counts.between_tx, counts.between_rx, counts.passed), (10, 20, 10));
    }

    #[test]
    fn the_warm_up_is_found_and_cut_only_where_that_was_asked_for() {
        let found = |cut| {
            let mut correlator = correlator(CorrelatorSettings { cut, ..CorrelatorSettings::default() });
            for n in 1..=400u64 {
                let delay = if n <= 20 { 9007 } else { 512 };
                correlator.tx(0, n, 10_000 * n);
                correlator.rx(0, n, 10_000 * n + delay);
            }
            let pipe = correlator.finish(None).pipes.remove(0);
            let histogram = pipe.delay.histogram.unwrap();
            (pipe.warm_up.found, pipe.warm_up.cut, histogram.count(), histogram.max().unwrap())
        };
        assert_eq!(found(WarmUpCut::Nothing), (Some(20), 0, 400, 9007));
        assert_eq!(found(WarmUpCut::Found), (Some(20), 20, 380, 512));
        assert_eq!(found(WarmUpCut::Passages(8)), (Some(20), 8, 392, 9007));
    }

    #[test]
    fn clocks_that_differ_by_more_than_two_processors_do_are_said() {
        let mut correlator = correlator(CorrelatorSettings::default());
        for (n, delay) in [(1, 100i64), (2, -9), (3, -51)] {
            correlator.tx(0, n, 1000 * n);
            correlator.rx(0, n, (1000 * n).saturating_add_signed(delay));
        }
        let pipe = &correlator.finish(None).pipes[0];
        assert_eq!(
            (pipe.delay.negative, pipe.delay.negative_min_ns, pipe.counts.clocks_disagree),
            (2, Some(-51), 1)
        );
    }

    #[test]
    fn the_slowest_passages_are_named_the_slowest_first() {
        let mut correlator = correlator(CorrelatorSettings::default());
        for n in 1..=500u64 {
            correlator.tx((n % 2) as u32, n, 1000 * n);
            correlator.rx((n % 2) as u32, n, 1000 * n + n * 31 % 500);
        }
        let found = correlator.finish(None);
        let delays: Vec<i64> = found.slowest.iter().map(Passage::delay_ns).collect();
        assert_eq!(delays, (480..500).rev().collect::<Vec<_>>());
    }

    #[test]
    fn pipes_beyond_those_that_are_followed_are_counted_and_cost_no_memory() {
        let mut correlator = correlator(CorrelatorSettings::default());
        for pipe in (0..2 * MOST_PIPES as u32).map(|pipe| pipe * 1_000_003) {
            correlator.tx(pipe, 1, 5);
        }
        let found = correlator.finish(None);
        assert_eq!((found.pipes.len(), found.recorder.foreign), (MOST_PIPES, MOST_PIPES as u64));
    }

    #[test]
    fn percentiles_have_intervals_or_are_not_stated() {
        let mut correlator = correlator(CorrelatorSettings::default());
        for n in 1..=1000u64 {
            correlator.tx(0, n, 1_000_000 * n);
            correlator.rx(0, n, 1_000_000 * n + n);
        }
        let pipe = &correlator.finish(None).pipes[0];
        let stated: Vec<(f64, Option<f64>)> =
            pipe.percentiles.iter().map(|found| (found.p, found.value_ns)).collect();
        let expected =
            [(0.05, Some(50.0)), (0.5, Some(500.0)), (0.95, Some(950.0)), (0.99, Some(990.0)), (0.999, None)];
        assert_eq!(stated, expected);
        let median = pipe.percentiles[1];
        assert_eq!((median.low_ns, median.high_ns), (Some(469.0), Some(532.0)));
    }

    proptest! {
        /// The obvious twin: sets of numbers. Whatever is missing, doubled or handed over late, every event is counted
        /// once, and pairs are those that both ends have.
        #[test]
        fn every_event_is_counted_once(
            tx in prop::collection::vec((0u32..3, 1u64..60), 0..200),
            rx in prop::collection::vec((0u32..3, 1u64..60), 0..200),
            sink_first: bool,
        ) {
            let mut correlator = correlator(CorrelatorSettings::default());
            let mut hand_over = |of_source: bool| {
                for &(pipe, n) in if of_source { &tx } else { &rx } {
                    if of_source { correlator.tx(pipe, n, 100 * n) } else { correlator.rx(pipe, n, 100 * n + 30) };
                }
            };
            hand_over(!sink_first);
            hand_over(sink_first);
            let found = correlator.finish(None);
            for pipe in &found.pipes {
                let of = |events: &[(u32, u64)]| {
                    events.iter().filter(|(its, _)| *its == pipe.number).map(|(_, n)| *n).collect::<Vec<_>>()
                };
                let (sent, arrived) = (of(&tx), of(&rx));
                let distinct = |all: &[u64]| all.iter().copied().collect::<BTreeSet<_>>();
                let both = distinct(&sent).intersection(&distinct(&arrived)).count() as u64;
                let counts = pipe.counts;
                prop_assert_eq!((counts.tx, counts.rx, counts.passed), (sent.len() as u64, arrived.len() as u64, both));
                let sources = counts.passed + counts.in_flight + counts.without_rx + counts.crowded_tx
                    + counts.between_tx + counts.duplicated_tx;
                let sinks = counts.passed + counts.before_start + counts.without_tx + counts.crowded_rx
                    + counts.between_rx + counts.duplicated_rx;
                prop_assert_eq!((sources, sinks), (counts.tx, counts.rx));
                prop_assert_eq!(counts.duplicated_tx, (sent.len() - distinct(&sent).len()) as u64);
            }
        }
    }
}
