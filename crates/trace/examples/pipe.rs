//! A pipe of one stage, traced: granules of 1000 samples go through it.
//!
//! `DROPLINE_TRACE` names the session's file; without it the tracepoints cost next to nothing.

#![allow(clippy::disallowed_methods)]

use dropline_trace::{event, probe, rx, tx};
use std::hint::black_box;

fn stage(seed: u64) -> u64 {
    probe!("stage");
    (0..1000).fold(seed, |sum, _| black_box(sum.wrapping_mul(3).wrapping_add(1)))
}

fn run(pipe: u32, granules: u64) {
    for n in 1..=granules {
        tx(pipe, n);
        stage(n);
        rx(pipe, n);
    }
}

fn main() {
    let granules = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(100);
    std::thread::scope(|threads| {
        threads.spawn(|| run(2, granules));
        run(1, granules);
    });
    event(7, 8, 9, 10);
}
