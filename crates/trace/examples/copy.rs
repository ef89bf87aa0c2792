//! Samples through a channel, from a source's thread to a sink's: how long are they on their way?

#![allow(clippy::disallowed_methods)]

use dropline_trace::Granules;
use std::sync::mpsc::sync_channel;

const GRANULARITY: u64 = 32768;
const BLOCK: u64 = 4096;

fn copy(samples: u64) {
    dropline_trace::join();
    let (send, receive) = sync_channel::<Vec<f32>>(16);
    let source = std::thread::spawn(move || {
        let mut sent = Granules::of(GRANULARITY);
        for _ in 0..samples / BLOCK {
            sent.tx(0, BLOCK); // before they are handed on
            send.send(vec![0.0; BLOCK as usize]).expect("the sink takes all");
        }
    });
    let mut received = Granules::of(GRANULARITY);
    for block in receive {
        received.rx(0, block.len() as u64);
    }
    source.join().expect("the source ends");
}

fn main() {
    copy(std::env::args().nth(1).map_or(32_768_000, |word| word.parse().expect("a number of samples")));
}
