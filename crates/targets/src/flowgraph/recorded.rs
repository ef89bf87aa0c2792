//! A trace that somebody recorded: read once from its beginning to its end, correlated, never held in memory.

use super::{Collected, Names};
use dropline_ctf::{CtfError, Trace, TraceCounts};
use dropline_failure::Failure;
use dropline_passage::{Correlator, CorrelatorSettings};
use dropline_trial::passages::Recorder;
use std::path::Path;
use std::time::Duration;

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// By pipe, over time.
    pub collected: Collected,
    /// What the trace says of itself.
    pub counts: TraceCounts,
}

/// Correlates the CTF 1.8 trace in `path`, or in the one directory below it that has metadata.
///
/// # Errors
/// If there is none, or it cannot be read.
pub fn read(
    path: &Path,
    names: &Names,
    meaning: CorrelatorSettings,
    recorder: &str,
) -> Result<Recorded, Failure> {
    let failure = |why: CtfError| {
        Failure::environment(format!("no trace could be read: {why}")).advice(
            "a trace is a directory with a file called metadata, as LTTng and babeltrace2 write it (CTF 1.8)",
        )
    };
    let [tx, rx, in_flight] = ["tx", "rx", "in_flight"].map(|event| format!("{}:{event}", names.provider));
    let wanted = [
        (tx.as_str(), names.pipe.as_str(), names.n.as_str()),
        (rx.as_str(), names.pipe.as_str(), names.n.as_str()),
        (in_flight.as_str(), names.pipe.as_str(), "samples"),
    ];
    let mut trace = Trace::open(path, &wanted).map_err(failure)?;
    let mut correlator = Correlator::new(meaning);
    let mut span: Option<(u64, u64)> = None;
    while let Some(event) = trace.next_passage().map_err(failure)? {
        let at_ns = event.at_ns;
        let (first, last) = span.unwrap_or((at_ns, at_ns));
        span = Some((first.min(at_ns), last.max(at_ns)));
        // A pipe that does not fit is one of those beyond the number that is followed.
        let pipe = u32::try_from(event.pipe).unwrap_or(u32::MAX);
        match event.which {
            0 => drop(correlator.tx(pipe, event.n, at_ns)),
            1 => drop(correlator.rx(pipe, event.n, at_ns)),
            _ => correlator.in_flight(pipe, event.n, at_ns),
        }
    }
    let counts = trace.counts();
    let mut passages = correlator.finish(span.map(|(_, last)| last));
    passages.recorder = Recorder {
        name: recorder.into(),
        clock: trace.clock().unwrap_or("unknown").to_owned(),
        recorded: counts.wanted,
        discarded: counts.discarded,
        lost_packets: counts.lost_packets,
        unreadable: counts.torn + counts.unknown,
        ..passages.recorder
    };
    let (first, last) = span.unwrap_or_default();
    let collected = Collected { passages, span: Duration::from_nanos(last - first), drift_ppm: 0.0 };
    Ok(Recorded { collected, counts })
}
