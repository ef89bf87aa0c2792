//! What a tracepoint costs, beside a read of the clock: the least of 41 interleaved rounds, less an empty loop.
//!
//! `cargo bench -p dropline-trace`; ratios first, for machines differ.

use dropline_trace::{Clock, Event, Kind, Session, Shape, WhenFull};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 41;
const EVENTS: u64 = 20_000;

fn main() {
    let path = std::env::temp_dir().join(format!("dropline-bench-event-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let shape = Shape { rings: 1, capacity: 1 << 16, when_full: WhenFull::DiscardNewest };
    let mut session = Session::create(&path, shape).expect("a session in a file of its own");

    // Before this process attaches, a tracepoint is switched off as in a program that nobody measures.
    let nothing = |n: u64| {
        black_box(n);
    };
    let tracepoint = |n: u64| dropline_trace::tx(1, black_box(n));
    dropline_trace::tx(1, 0);
    let [empty, unattached] = least([&nothing, &tracepoint], || {});

    session.attach();
    let [_, stopped] = least([&nothing, &tracepoint], || {});
    session.start();
    let clock = session.clock();
    let read = |n: u64| {
        black_box(n);
        black_box(clock.ticks());
    };
    let monotonic = |n: u64| {
        black_box(n);
        black_box(Clock::Monotonic.ticks());
    };
    let instant = |n: u64| {
        black_box(n);
        black_box(Instant::now());
    };
    let [clock_read, monotonic_read, instant_read, recorded] =
        least([&read, &monotonic, &instant, &tracepoint], || {
            session.drain(|_, event| {
                black_box(event);
            });
        });
    assert_eq!(session.counts().discarded, 0, "the ring was full: what was timed is discarding");

    println!(
        "clock {clock:?}; ns an event, least of {ROUNDS} rounds of {EVENTS}, less an empty loop ({empty:.2})"
    );
    for (what, ns) in [
        ("tracepoint, no session", unattached),
        ("tracepoint, session not recording", stopped),
        ("one read of the session's clock", clock_read),
        ("CLOCK_MONOTONIC", monotonic_read),
        ("Instant::now", instant_read),
        ("tracepoint recording", recorded),
    ] {
        println!("  {what:36} {:7.2}", ns - empty);
    }
    println!(
        "recorded event / clock read            {:7.2}   (target 1.3)",
        (recorded - empty) / (clock_read - empty)
    );
    let drained = drain_rate();
    println!("events drained from a ring a second    {:7.1} M", drained / 1e6);
}

/// Least time a call, in ns, of each of several things done in turn.
fn least<const N: usize>(things: [&dyn Fn(u64); N], mut between: impl FnMut()) -> [f64; N] {
    let mut least = [Duration::MAX; N];
    for _ in 0..ROUNDS {
        for (thing, least) in things.iter().zip(&mut least) {
            *least = (*least).min(time(thing));
            between();
        }
    }
    least.map(|time| time.as_nanos() as f64 / EVENTS as f64)
}

fn time(thing: &dyn Fn(u64)) -> Duration {
    let begun = Instant::now();
    for n in 0..EVENTS {
        thing(n);
    }
    begun.elapsed()
}

fn drain_rate() -> f64 {
    let counters = dropline_trace::Counters::default();
    let slots: Vec<_> = (0..1 << 16).map(|_| dropline_trace::Slot::default()).collect();
    let ring = dropline_trace::Ring::new(&counters, &slots, WhenFull::DiscardNewest);
    let (mut writer, mut reader) = (ring.writer(), ring.reader());
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        for n in 0..1 << 16 {
            writer.write(Event { ticks: n, kind: Kind::Rx, pipe: 1, n, extra: 0 });
        }
        let begun = Instant::now();
        let mut sum = 0;
        reader.drain(|event| sum += event.n);
        black_box(sum);
        best = best.min(begun.elapsed());
    }
    f64::from(1 << 16) / best.as_secs_f64()
}
