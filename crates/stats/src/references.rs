//! Four histograms of 2004, for the tests: delays in microseconds and how often JACK saw them.

use crate::{Binned, Counted, Meaning};

pub(crate) const IDLE: &str = include_str!("../../../experiments/audio-2004/idle.tsv");
pub(crate) const IOZONE64: &str = include_str!("../../../experiments/audio-2004/iozone64.tsv");
pub(crate) const IOZONE32: &str = include_str!("../../../experiments/audio-2004/iozone32.tsv");

/// The ticks of such a file.
pub(crate) fn ticks(text: &str) -> Vec<(i64, u64)> {
    let line = |line: &str| {
        let (tick, count) = line.split_once('\t').unwrap();
        (tick.parse().unwrap(), count.parse().unwrap())
    };
    text.lines().skip(1).map(line).collect()
}

/// Its events.
pub(crate) fn binned(text: &str) -> Binned {
    Counted::ticks(Meaning::default(), ticks(text), None).unwrap().binned()
}

/// Two whose tables are not printed beside them: what is known of them is in words.
pub(crate) const IOZONE16: &str = include_str!("../../../experiments/audio-2004/iozone16.tsv");
