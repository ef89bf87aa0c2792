//! From rings and from traces to delays.

use crate::rivals;
use dropline_passage::{Correlator, CorrelatorSettings};
use dropline_ctf::{TraceEntry, Trace, TraceWriter};
use dropline_trace::Kind;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const GRANULES: u64 = 100_000;
const PIPES: u32 = 6;

/// Events a second from the rings of two threads through the correlator: the least of 21 rounds.
pub fn correlated_a_second() -> f64 {
    let mut session = rivals::session("correlating", rivals::SHAPE);
    session.attach();
    session.start();
    std::thread::sleep(Duration::from_millis(100));
    let calibration = session.calibration().expect("time has passed");
    let mut best = Duration::MAX;
    for round in 0..21 {
        let granules = round * GRANULES / u64::from(PIPES)..(round + 1) * GRANULES / u64::from(PIPES);
        for trace in [dropline_trace::tx, dropline_trace::rx] {
            let granules = granules.clone();
            let thread = std::thread::spawn(move || {
                for n in granules {
                    (0..PIPES).for_each(|pipe| trace(pipe, n));
                }
            });
            thread.join().expect("it only traces");
        }
        let mut correlator = Correlator::new(CorrelatorSettings::default());
        let begun = Instant::now();
        let drained = session.drain(|_, event| {
            let at_ns = calibration.ns(event.ticks);
            match event.kind {
                Kind::Tx => drop(black_box(correlator.tx(event.pipe, event.n, at_ns))),
                _ => drop(black_box(correlator.rx(event.pipe, event.n, at_ns))),
            }
        });
        best = best.min(begun.elapsed() * 1_000_000 / drained.max(1) as u32);
        black_box(correlator.finish(None));
    }
    assert_eq!(session.counts().discarded, 0, "the rings were full");
    1e15 / best.as_nanos() as f64
}

/// Events a second of one CTF trace: ours, and babeltrace2's text; the least of several rounds each.
pub fn trace_against_babeltrace2() -> Result<(f64, f64), String> {
    const EVENTS: u64 = 1_000_000;
    let directory = std::env::temp_dir().join(format!("dropline-trace-cost-{}", std::process::id()));
    let failed = |why: std::io::Error| why.to_string();
    let mut writer = TraceWriter::create(&directory).map_err(failed)?;
    for n in 1..=EVENTS / 2 {
        let pipe = (n % 6) as u32;
        writer.write(0, 100 * n, TraceEntry::Tx { pipe, n: n / 6 }).map_err(failed)?;
        writer.write(1, 100 * n + 5000, TraceEntry::Rx { pipe, n: n / 6 }).map_err(failed)?;
    }
    writer.finish(|_| 0).map_err(failed)?;
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        let begun = Instant::now();
        let names = [("dropline:tx", "pipe", "n"), ("dropline:rx", "pipe", "n")];
        let mut trace = Trace::open(&directory, &names).map_err(|why| why.to_string())?;
        let mut sum = 0;
        while let Some(event) = trace.next_passage().map_err(|why| why.to_string())? {
            sum ^= event.at_ns ^ event.n;
        }
        black_box(sum);
        assert_eq!(trace.counts().wanted, EVENTS);
        ours = ours.min(begun.elapsed());
        let begun = Instant::now();
        let status = Command::new("babeltrace2").arg(&directory).stdout(Stdio::null()).status();
        let status =
            status.map_err(|why| format!("babeltrace2 is missing ({why}): cargo xtask setup trace"))?;
        theirs = theirs.min(begun.elapsed());
        if !status.success() {
            return Err("babeltrace2 failed".into());
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
    let rate = |time: Duration| EVENTS as f64 / time.as_secs_f64();
    Ok((rate(ours), rate(theirs)))
}
