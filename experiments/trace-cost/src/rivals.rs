//! Ways to record an event: ours, and those that the question weighed.

mod c;
pub mod lttng;
mod uprobe;

use crate::least;
use crate::rounds::Report;
use dropline_trace::{Clock, Session, Shape, WhenFull};
use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;

pub struct Way {
    pub name: &'static str,
    pub what: &'static str,
}

pub const WAYS: &[Way] = &[
    Way { name: "off", what: "our tracepoint, no session" },
    Way { name: "stopped", what: "our tracepoint, session not recording" },
    Way { name: "ring", what: "our tracepoint into the thread's ring" },
    Way { name: "c-off", what: "the C header's tracepoint, no session" },
    Way { name: "c-stopped", what: "the C header's, session not recording" },
    Way { name: "c-ring", what: "the C header's into the thread's ring" },
    Way { name: "lttng", what: "LTTng-UST, the same tracepoint" },
    Way { name: "usdt", what: "USDT, nobody attached" },
    Way { name: "usdt-attached", what: "USDT, counted by the kernel" },
    Way { name: "uprobe", what: "uprobe on a function's entry, counted by the kernel" },
    Way { name: "tracing-off", what: "tracing::event!, no subscriber" },
    Way { name: "tracing", what: "tracing::event!, fmt to a null writer" },
    Way { name: "fastrace", what: "fastrace, a span with a property" },
    Way { name: "stdout", what: "a line to stdout, a pipe" },
    Way { name: "file", what: "a line to a file" },
    Way { name: "file-buffered", what: "a line to a file, buffered" },
    Way { name: "ramdisk", what: "20 bytes to a file on a RAM disk" },
];

/// Measures one way in this process and says it on stderr.
pub fn run(way: &str) {
    let now = || Clock::Monotonic.ticks();
    match way {
        "off" => {
            dropline_trace::tx(1, 0);
            report(|n| dropline_trace::tx(1, n), || {});
        }
        "stopped" | "ring" => {
            let mut session = session("event", SHAPE);
            session.attach();
            if way == "ring" {
                session.start();
            }
            dropline_trace::tx(1, 0);
            report(
                |n| dropline_trace::tx(1, n),
                || {
                    session.drain(|_, event| {
                        black_box(event);
                    });
                },
            );
            assert_eq!(session.counts().discarded, 0, "the ring was full: what was timed is discarding");
        }
        "c-off" => said(c::measured(None)),
        "c-stopped" | "c-ring" => {
            // One ring for all rounds: nobody drains while the program runs.
            let shape = Shape { rings: 1, capacity: 1 << 20, ..SHAPE };
            let session = session("c", shape);
            if way == "c-ring" {
                session.start();
            }
            said(c::measured(Some(&session)));
            assert_eq!(session.counts().discarded, 0, "the ring was full: what was timed is discarding");
        }
        "lttng" => {
            if dropline_trace::join() {
                report(|n| dropline_trace::tx(1, n), || {});
            } else {
                eprintln!("LTTng does not record: cargo xtask setup trace builds the provider");
            }
        }
        "usdt" => report(usdt, || {}),
        "usdt-attached" => attached(uprobe::Attached::to_usdt("dropline", "tx"), usdt),
        "uprobe" => attached(uprobe::Attached::to_function(), uprobe::traced),
        "tracing-off" => report(|n| tracing::event!(tracing::Level::INFO, pipe = 1, n), || {}),
        "tracing" => {
            let subscriber = tracing_subscriber::fmt().with_writer(std::io::sink).finish();
            tracing::subscriber::with_default(subscriber, || {
                report(|n| tracing::event!(tracing::Level::INFO, pipe = 1, n), || {});
            });
        }
        "fastrace" => {
            let root = fastrace::Span::root("pipe", fastrace::collector::SpanContext::random());
            report(
                |n| {
                    let _span =
                        fastrace::Span::enter_with_parent("tx", &root).with_property(|| ("n", n.to_string()));
                },
                || {},
            );
        }
        "stdout" => {
            let stdout = std::io::stdout();
            report(|n| line(&mut stdout.lock(), n, now()), || {});
        }
        "file" | "file-buffered" => {
            let path = std::env::current_dir()
                .unwrap_or_default()
                .join(format!("trace-cost-{}", std::process::id()));
            let mut file = OpenOptions::new().create_new(true).write(true).open(&path).expect("a file here");
            if way == "file" {
                report(|n| line(&mut file, n, now()), || {});
            } else {
                let mut file = std::io::BufWriter::new(file);
                report(|n| line(&mut file, n, now()), || {});
            }
            let _ = std::fs::remove_file(path);
        }
        "ramdisk" => {
            let path = Path::new("/dev/shm").join(format!("dropline-trace-cost-{}", std::process::id()));
            let mut file = OpenOptions::new().create_new(true).write(true).open(&path).expect("a RAM disk");
            report(
                |n| {
                    let mut bytes = [0; 20];
                    bytes[..8].copy_from_slice(&now().to_le_bytes());
                    bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
                    bytes[12..].copy_from_slice(&n.to_le_bytes());
                    file.write_all(&bytes).expect("room");
                },
                || {},
            );
            let _ = std::fs::remove_file(path);
        }
        _ => eprintln!("{way} is no way to record"),
    }
}

fn usdt(n: u64) {
    probe::probe!(dropline, tx, 1u32, n);
}

/// What the kernel must have seen, else something else was timed.
fn attached(to: Result<uprobe::Attached, String>, event: fn(u64)) {
    match to {
        Err(why) => eprintln!("{why}"),
        Ok(mut places) => {
            event(0);
            match places.seen() {
                0 => eprintln!("the kernel counted nobody who passed"),
                _ => report(event, || {}),
            }
        }
    }
}

fn line(to: &mut dyn Write, n: u64, ns: u64) {
    writeln!(to, "{ns} tx 1 {n}").expect("somebody reads");
}

/// What a way that has a process of its own found.
fn said(found: Result<Report, String>) {
    match found {
        Ok(report) => report.print(),
        Err(why) => eprintln!("{why}"),
    }
}

/// Room for the events of a few threads between two looks.
pub const SHAPE: Shape = Shape { rings: 4, capacity: 1 << 18, when_full: WhenFull::DiscardNewest };

/// A session for this bench alone.
pub fn session(name: &str, shape: Shape) -> Session {
    let path = Path::new("/dev/shm").join(format!("dropline-trace-cost-{name}-{}", std::process::id()));
    Session::create(&path, shape).expect("a session in a file of its own")
}

fn report(mut event: impl FnMut(u64), between: impl FnMut()) {
    let best = Clock::best();
    let [empty, event, clock, monotonic] = least(
        [
            &mut |n| {
                black_box(n);
            },
            &mut |n| event(black_box(n)),
            &mut |n| {
                black_box(n);
                black_box(best.ticks());
            },
            &mut |n| {
                black_box(n);
                black_box(Clock::Monotonic.ticks());
            },
        ],
        between,
    );
    Report { event: event - empty, clock: clock - empty, monotonic: monotonic - empty }.print();
}
