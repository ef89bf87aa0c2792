//! Programs with tracepoints that tests follow: its first argument says which.

#![allow(clippy::disallowed_methods)]

use dropline_trace::{Session, Shape, event, join, probe, rx, tx};
use std::time::Duration;

fn main() {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("a_hundred_granules") => {
            (1..=100).for_each(|n| passes(3, n));
            event(7, 8, 9, 10);
        }
        Some("a_hundred_granules_and_an_abort") => {
            (1..=100).for_each(|n| passes(4, n));
            std::process::abort();
        }
        Some("a_source_that_traces_every_second_boundary") => {
            for n in 1..=100 {
                if n % 2 == 0 {
                    tx(0, n);
                }
                rx(0, n);
            }
        }
        Some("a_thread_after_another") => {
            for n in 1..=5 {
                std::thread::spawn(move || tx(1, n)).join().unwrap();
            }
        }
        Some("granules_that_take_ten_milliseconds") => {
            let pipes = words.next().unwrap().parse().unwrap();
            join();
            std::thread::scope(|threads| {
                for pipe in 0..pipes {
                    threads.spawn(move || {
                        for n in 1..=100 {
                            tx(pipe, n);
                            std::thread::sleep(Duration::from_millis(10));
                            rx(pipe, n);
                        }
                    });
                }
            });
        }
        Some("makes_a_session_and_ends") => drop(session()),
        Some("makes_a_session_and_waits") => {
            let _session = session();
            std::io::Read::read_to_end(&mut std::io::stdin(), &mut Vec::new()).unwrap();
        }
        Some("then_it_hangs") => {
            (1..=10).for_each(|n| tx(1, n));
            std::thread::sleep(Duration::from_secs(60));
        }
        Some("three_crossings") => {
            for _ in 0..3 {
                probe!("parse");
                probe!("answer");
            }
        }
        Some("two_threads_at_once") => {
            tx(1, 1);
            std::thread::spawn(|| (0..7).for_each(|n| tx(2, n))).join().unwrap();
        }
        other => panic!("{other:?} is not a part"),
    }
}

fn passes(pipe: u32, n: u64) {
    tx(pipe, n);
    rx(pipe, n);
}

fn session() -> Session {
    let session = Session::in_memory(Shape::default()).unwrap();
    println!("made {}", session.variable().1.display());
    session
}
