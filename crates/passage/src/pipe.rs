//! One pipe while its events come in.

use crate::littles_law::Samples;
use crate::warm_up::{self, WarmUpCut};
use crate::window::{End, MetEvent, Waiting, Window};
use dropline_stats::{Counted, Event, Histogram, Meaning, Rounding, percentiles};
use dropline_trial::Delay;
use dropline_trial::passages::{LEVEL, Passage, PassageCounts, Percentile, Pipe as Found, WarmUp};

/// Passages at the beginning among which the warm-up is looked for.
const EARLY: usize = 4096;
/// Of the longest, so many are kept.
pub(crate) const SLOWEST: usize = 20;
/// Two processors' counters, not ordered against loads, differ by less.
const CLOCKS_AGREE_NS: i64 = -50;
/// What is stated of a pipe.
const STATED: [f64; 5] = [0.05, 0.5, 0.95, 0.99, 0.999];

/// Pairs the events of a pipe and counts what became of them.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    number: u32,
    cut: WarmUpCut,
    window: Window,
    counts: PassageCounts,
    /// The beginning, and whether it is in the numbers below already.
    early: Vec<Passage>,
    is_open: bool,
    warm_up: WarmUp,
    histogram: Histogram,
    negative: u64,
    negative_min_ns: Option<i64>,
    sum_ns: i128,
    span_ns: Option<(u64, u64)>,
    /// Of what passed: when the latest left and its number, when the earliest arrived and its number. One call that
    /// passes several boundaries stamps them alike, so that the stamp alone does not order them.
    last_tx: (u64, u64),
    first_rx: (u64, u64),
    latest_rx_ns: Option<u64>,
    pub(crate) samples: Samples,
    pub(crate) slowest: Vec<Passage>,
}

impl Pipe {
    pub(crate) fn new(number: u32, cut: WarmUpCut) -> Self {
        Self {
            number,
            cut,
            window: Window::default(),
            counts: PassageCounts::default(),
            early: Vec::new(),
            is_open: cut != WarmUpCut::Found,
            warm_up: WarmUp::default(),
            histogram: Histogram::new(),
            negative: 0,
            negative_min_ns: None,
            sum_ns: 0,
            span_ns: None,
            last_tx: (0, 0),
            first_rx: (u64::MAX, u64::MAX),
            latest_rx_ns: None,
            samples: Samples::default(),
            slowest: Vec::new(),
        }
    }

    /// An event of granule `n`, of which one in `of` has a boundary at the other end, and each there is `other` here.
    #[inline]
    pub(crate) fn see(&mut self, end: End, n: u64, at_ns: u64, ratio: (u64, u64)) -> Option<Passage> {
        let (sink_step, source_step) = ratio;
        let step = match end {
            End::Source => {
                self.counts.tx += 1;
                source_step
            }
            End::Sink => {
                self.counts.rx += 1;
                self.latest_rx_ns = self.latest_rx_ns.max(Some(at_ns));
                sink_step
            }
        };
        let key = if step == 1 {
            n
        } else if n.is_multiple_of(step) {
            n / step
        } else {
            match end {
                End::Source => self.counts.between_tx += 1,
                End::Sink => self.counts.between_rx += 1,
            }
            return None;
        };
        match self.window.see(end, key, at_ns) {
            MetEvent::Waits(gone) => {
                match gone.map(|gone| gone.end) {
                    Some(End::Source) => self.counts.crowded_tx += 1,
                    Some(End::Sink) => self.counts.crowded_rx += 1,
                    None => {}
                }
                None
            }
            MetEvent::Same => {
                match end {
                    End::Source => self.counts.duplicated_tx += 1,
                    End::Sink => self.counts.duplicated_rx += 1,
                }
                None
            }
            MetEvent::Other(other_ns) => {
                let (tx_ns, rx_ns) = match end {
                    End::Source => (at_ns, other_ns),
                    End::Sink => (other_ns, at_ns),
                };
                let passage = Passage { pipe: self.number, n: key.wrapping_mul(source_step), tx_ns, rx_ns };
                self.pass(passage, key);
                Some(passage)
            }
        }
    }

    fn pass(&mut self, passage: Passage, key: u64) {
        self.counts.passed += 1;
        self.last_tx = self.last_tx.max((passage.tx_ns, key));
        self.first_rx = self.first_rx.min((passage.rx_ns, key));
        if let WarmUpCut::Passages(cut) = self.cut
            && self.warm_up.cut < cut
        {
            self.warm_up.cut += 1;
        } else if self.is_open {
            self.count(passage);
        }
        if self.early.len() < EARLY {
            self.early.push(passage);
            if self.early.len() == EARLY {
                self.settle();
            }
        }
    }

    /// Decides about the beginning.
    fn settle(&mut self) {
        self.early.sort_by_key(|passage| passage.rx_ns);
        let delays: Vec<i64> = self.early.iter().map(Passage::delay_ns).collect();
        self.warm_up.found = warm_up::find(&delays);
        if !self.is_open {
            self.is_open = true;
            self.warm_up.cut = self.warm_up.found.unwrap_or(0);
            for index in self.warm_up.cut as usize..self.early.len() {
                self.count(self.early[index]);
            }
        }
    }

    /// A passage whose delay counts.
    #[inline]
    fn count(&mut self, passage: Passage) {
        let delay_ns = passage.delay_ns();
        match u64::try_from(delay_ns) {
            Ok(delay_ns) => self.histogram.record(delay_ns),
            Err(_) => {
                self.negative += 1;
                self.negative_min_ns =
                    Some(self.negative_min_ns.map_or(delay_ns, |least| least.min(delay_ns)));
                self.counts.clocks_disagree += u64::from(delay_ns < CLOCKS_AGREE_NS);
            }
        }
        self.sum_ns += i128::from(delay_ns);
        let (first, last) = self.span_ns.unwrap_or((passage.rx_ns, passage.rx_ns));
        self.span_ns = Some((first.min(passage.rx_ns), last.max(passage.rx_ns)));
        keep_slowest(&mut self.slowest, passage);
    }

    pub(crate) fn finish(mut self, ended_ns: Option<u64>) -> (Found, Vec<Passage>) {
        if self.early.len() < EARLY {
            self.settle();
        }
        for Waiting { end, n, at_ns } in self.window.waiting() {
            match end {
                End::Source if (at_ns, n) > self.last_tx => self.counts.in_flight += 1,
                End::Source => self.counts.without_rx += 1,
                // Nothing passed: it cannot be told from a lost event.
                End::Sink if self.counts.passed > 0 && (at_ns, n) < self.first_rx => {
                    self.counts.before_start += 1
                }
                End::Sink => self.counts.without_tx += 1,
            }
        }
        let counted = self.histogram.count() + self.negative;
        let silent_ns = ended_ns.zip(self.latest_rx_ns).map(|(ended, latest)| ended.saturating_sub(latest));
        let found = Found {
            number: self.number,
            counts: self.counts,
            percentiles: percentiles_of(&self.histogram),
            delay: Delay {
                histogram: (counted > 0).then_some(self.histogram),
                negative: self.negative,
                negative_min_ns: self.negative_min_ns,
            },
            mean_ns: (counted > 0).then(|| self.sum_ns as f64 / counted as f64),
            sampled_in_flight: self.span_ns.and_then(|span| self.samples.mean(span)),
            span_ns: self.span_ns,
            warm_up: self.warm_up,
            silent_ns,
        };
        (found, self.slowest)
    }
}

/// Puts a passage among the slowest, if it is one.
pub(crate) fn keep_slowest(slowest: &mut Vec<Passage>, passage: Passage) {
    let place = slowest.partition_point(|slower| slower.delay_ns() >= passage.delay_ns());
    if place < SLOWEST {
        slowest.insert(place, passage);
        slowest.truncate(SLOWEST);
    }
}

fn percentiles_of(histogram: &Histogram) -> Vec<Percentile> {
    let meaning = Meaning { unit_ns: 1, quantum_ns: 1.0, rounding: Rounding::Round, event: Event::Each };
    let ranges = histogram.ranges().map(|(low, high, count)| (low as i64, high as i64, count));
    let Ok(counted) = Counted::ranges(meaning, ranges, None) else { return Vec::new() };
    let binned = counted.binned();
    let stated = STATED.into_iter().map(|p| percentiles::Percentile::of(&binned, p, LEVEL));
    stated
        .map(|found| Percentile { p: found.p, value_ns: found.value, low_ns: found.low, high_ns: found.high })
        .collect()
}
