//! What it costs to record one delay with every field of a slice (count, sum, sum of squares, extremes, negative ones,
//! first and last time), beside HdrHistogram, which has none of them: 41 interleaved passes over a million lognormal
//! values, the fastest of each.

#![expect(clippy::disallowed_types, reason = "a bench reads the clock")]

use dropline_stats::{Cut, Recorder, Slices};
use hdrhistogram::Histogram;
use rand::SeedableRng as _;
use rand_distr::{Distribution as _, LogNormal};
use std::hint::black_box;
use std::time::Instant;

const VALUES: usize = 1_000_000;
const PASSES: usize = 41;
/// Between two events.
const PERIOD_NS: u64 = 10_000;

/// A way to record, by name: nanoseconds a value.
type Way<'a> = (&'static str, Box<dyn FnMut(&[u64]) -> f64 + 'a>);

fn main() {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    let law = LogNormal::new(9_900f64.ln(), 0.6).expect("a legal law");
    let values: Vec<u64> = (0..VALUES).map(|_| law.sample(&mut rng) as u64).collect();
    let hour = 3_600_000_000_000;
    let mut ours = Recorder::new();
    let mut record = Histogram::<u64>::new_with_max(hour, 2).expect("legal");
    let mut saturating = Histogram::<u64>::new_with_max(hour, 2).expect("legal");
    let mut narrow = Histogram::<u32>::new_with_max(hour, 2).expect("legal");
    let mut slices = Slices::new(Cut::of(PERIOD_NS * VALUES as u64, None));
    let mut ways: Vec<Way> = vec![
        (
            "recorder, 7 bits, every slice field",
            Box::new(|values| {
                let mut due = 0;
                timed(values, |value| {
                    due += PERIOD_NS;
                    ours.record_signed(value as i64);
                    ours.at(due);
                })
            }),
        ),
        (
            "Histogram<u64> 2 digits, record",
            Box::new(|values| timed(values, |value| record.record(value).expect("in range"))),
        ),
        (
            "Histogram<u64> 2 digits, saturating_record",
            Box::new(|values| timed(values, |value| saturating.saturating_record(value))),
        ),
        (
            "the same in one of 40 slices, by when it was due",
            Box::new(|values| {
                let mut due = 0;
                timed(values, |value| {
                    due += PERIOD_NS;
                    slices.record(due, value as i64);
                })
            }),
        ),
        (
            "Histogram<u32> 2 digits, record",
            Box::new(|values| timed(values, |value| narrow.record(value).expect("in range"))),
        ),
    ];
    let mut least = vec![f64::INFINITY; ways.len()];
    for _ in 0..PASSES {
        for ((_, way), least) in ways.iter_mut().zip(&mut least) {
            *least = least.min(way(&values));
        }
    }
    for ((name, _), least) in ways.iter().zip(&least) {
        println!("{least:6.3} ns/value   {name}");
    }
    println!("record of Histogram<u64> takes {:.2} times as long as ours", least[1] / least[0]);
    drop(ways);
    let total = (VALUES * PASSES) as u64;
    let sliced: u64 = slices.iter().map(|slice| slice.totals().count).sum();
    assert_eq!([ours.totals().count, sliced], [total; 2], "every value was recorded");
    assert_eq!([record.len(), saturating.len(), narrow.len()], [total; 3], "every value was recorded");
}

fn timed(values: &[u64], mut record: impl FnMut(u64)) -> f64 {
    let begin = Instant::now();
    for &value in black_box(values) {
        record(value);
    }
    begin.elapsed().as_secs_f64() * 1e9 / values.len() as f64
}
