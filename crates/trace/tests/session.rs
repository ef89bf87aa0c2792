//! Programs that record into a session. A process attaches once, so each rule has a process of its own, which plays a
//! part of `parts/program.rs`.

#![allow(clippy::disallowed_methods)]

use dropline_trace::{EventCounts, Kind, Session, SessionError, Shape, TraceEvent, WhenFull};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

/// A session in a file of its own, with `rings` rings of `capacity` events.
fn session(name: &str, rings: u32, capacity: u64) -> Session {
    session_of(name, Shape { rings, capacity, ..Shape::default() })
}

fn session_of(name: &str, shape: Shape) -> Session {
    let path = std::env::temp_dir().join(format!("dropline-trace-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    Session::create(&path, shape).unwrap()
}

const PARTS: &str = env!("CARGO_BIN_EXE_dropline-trace-parts");

/// Starts a part, attached to the session.
fn start(session: &Session, part: &str) -> Child {
    let (variable, path) = session.variable();
    Command::new(PARTS).arg(part).env(variable, path).spawn().unwrap()
}

fn play(session: &Session, part: &str) -> ExitStatus {
    start(session, part).wait().unwrap()
}

fn drained(session: &mut Session) -> Vec<(u32, TraceEvent)> {
    let mut events = Vec::new();
    session.drain(|ring, event| events.push((ring, event)));
    events
}

#[test]
#[cfg(target_os = "linux")]
fn a_collectors_memory_goes_with_its_session() {
    let maps = || std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut session = session("gone", 2, 256);
    let name = session.variable().1.file_name().unwrap().to_string_lossy().into_owned();
    session.start();
    assert!(play(&session, "a_hundred_granules").success());
    assert_eq!(drained(&mut session).len(), 201);
    assert!(maps().contains(&name));
    drop(session);
    assert!(!maps().contains(&name), "{name} is still mapped");
}

#[test]
fn every_event_of_a_program_arrives_in_order_with_rising_stamps() {
    let mut session = session("all", 2, 256);
    session.start();
    assert!(play(&session, "a_hundred_granules").success());
    let events = drained(&mut session);
    assert_eq!(session.counts(), EventCounts { recorded: 201, programs: 1, ..EventCounts::default() });
    assert_eq!(events.len(), 201);
    for (index, (_, event)) in events.iter().take(200).enumerate() {
        let kind = if index % 2 == 0 { Kind::Tx } else { Kind::Rx };
        assert_eq!((event.kind, event.pipe, event.n), (kind, 3, index as u64 / 2 + 1));
    }
    let (_, own) = events[200];
    assert_eq!((own.kind, own.pipe, own.n, own.extra), (Kind::Own(7), 8, 9, 10));
    assert!(events.is_sorted_by_key(|(_, event)| event.ticks));
}

#[test]
fn what_does_not_fit_is_counted_to_the_event() {
    let mut session = session("full", 1, 64);
    session.start();
    assert!(play(&session, "a_hundred_granules").success());
    let counts = session.counts();
    assert_eq!((counts.recorded, counts.discarded), (64, 137));
    assert_eq!(drained(&mut session).len(), 64);
}

#[test]
fn a_flight_recorder_has_the_end_of_the_flight() {
    let shape = Shape { rings: 1, capacity: 64, when_full: WhenFull::OverwriteOldest };
    let mut session = session_of("flight", shape);
    session.start();
    assert!(play(&session, "a_hundred_granules").success());
    let events = drained(&mut session);
    assert_eq!(events.last().unwrap().1.kind, Kind::Own(7));
    assert_eq!(events.len() as u64 + session.counts().lapped, 201);
}

#[test]
fn a_session_that_was_not_started_records_nothing() {
    let mut session = session("idle", 1, 64);
    assert!(play(&session, "a_hundred_granules").success());
    assert_eq!(drained(&mut session), []);
    assert_eq!(session.counts(), EventCounts { programs: 1, ..EventCounts::default() });
}

#[test]
fn a_thread_that_ended_leaves_its_events_and_its_ring_to_the_next() {
    let mut session = session("threads", 1, 64);
    session.start();
    assert!(play(&session, "a_thread_after_another").success());
    assert_eq!(session.counts().homeless, 0);
    let all: Vec<u64> = drained(&mut session).iter().map(|(_, event)| event.n).collect();
    assert_eq!(all, [1, 2, 3, 4, 5]);
}

#[test]
fn events_of_a_thread_without_a_ring_are_counted() {
    let session = session("homeless", 1, 64);
    session.start();
    assert!(play(&session, "two_threads_at_once").success());
    assert_eq!((session.counts().recorded, session.counts().homeless), (1, 7));
}

#[test]
fn a_killed_program_leaves_what_it_had_written() {
    let mut session = session("killed", 1, 64);
    session.start();
    let mut child = start(&session, "then_it_hangs");
    let mut events = Vec::new();
    while events.len() < 10 && child.try_wait().unwrap().is_none() {
        events.extend(drained(&mut session));
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    events.extend(drained(&mut session));
    assert_eq!(events.len(), 10);
}

#[test]
fn a_program_lists_its_probes_and_a_delay_is_added_only_where_it_was_asked_for() {
    let mut session = session("probes", 1, 64);
    session.start();
    assert!(play(&session, "three_crossings").success());
    assert_eq!(session.probes(), ["parse", "answer"]);
    assert_eq!(drained(&mut session), [], "no delay was asked for");

    // Entries are taken in the order in which a program reaches them.
    session.delay(3, 2000);
    assert!(play(&session, "three_crossings").success());
    let calibration = session.calibration().unwrap();
    let crossings = drained(&mut session);
    assert_eq!(crossings.len(), 3);
    for (_, crossing) in crossings {
        assert_eq!((crossing.kind, crossing.pipe), (Kind::Crossing, 3));
        // Rounded to a tick on either side; never shorter than was asked for.
        assert!(crossing.n as f64 * calibration.ns_per_tick() > 1950.0, "{crossing:?}");
    }
}

#[test]
fn a_file_that_is_no_session_is_refused_and_the_program_runs_on() {
    let path = std::env::temp_dir().join(format!("dropline-trace-foreign-{}", std::process::id()));
    std::fs::write(&path, vec![7; 100_000]).unwrap();
    let status = Command::new(PARTS).arg("a_hundred_granules").env("DROPLINE_TRACE", &path).status().unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 100_000], "not a byte of it was touched");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_session_needs_rings_and_a_power_of_two_of_events() {
    for (rings, capacity) in [(0, 64), (1, 63), (1, 0), (5000, 64), (4096, 1 << 63)] {
        let path = PathBuf::from("/nonexistent");
        let refused = Session::create(&path, Shape { rings, capacity, ..Shape::default() }).unwrap_err();
        assert!(matches!(refused, SessionError::Shape(_)), "{rings} x {capacity}: {refused}");
    }
}

#[test]
fn what_a_killed_program_left_in_memory_is_removed_at_the_next_start_also_of_another_container() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    let alive = Session::in_memory(Shape::default()).unwrap();
    let alive_at = alive.variable().1.to_owned();
    // In a namespace of processes of its own, each is number 1, as in a container; without the privilege, here.
    let unshare = ["--pid", "--fork", "--kill-child=KILL"];
    let may = Command::new("unshare").args(unshare).arg("true").status().is_ok_and(|status| status.success());
    assert!(may || std::env::var("CI").as_deref() != Ok("true"), "CI cannot make namespaces of processes");
    let start = |part: &str| {
        let mut command = match may {
            true => Command::new("unshare"),
            false => Command::new(PARTS),
        };
        if may {
            command.args(unshare).arg(PARTS);
        }
        let mut child = command.arg(part).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut made = said.filter_map(|line| line.split_once("made ").map(|(_, path)| path.to_owned()));
        let path = made.next().expect("it says what it made");
        // It has more to say when it ends.
        (path, child, made)
    };
    let (left, mut killed, _) = start("makes_a_session_and_waits");
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The kernel ends the one inside soon after the one that was killed here. A session that another test makes may
    // remove what is left before ours does.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while std::path::Path::new(&left).exists() {
        assert!(std::time::Instant::now() < until, "{left} is left behind");
        let (own, mut next, _said) = start("makes_a_session_and_ends");
        assert!(next.wait().unwrap().success());
        assert_ne!(own, left);
        assert!(!std::path::Path::new(&own).exists(), "{own} is removed at the end");
    }
    assert!(alive_at.exists(), "that of a living program is its own");
}
