//! The C header writes what the Rust tracepoints write: both follow one layout.

use dropline_trace::{Counts, Event, Kind, Session, Shape, WhenFull};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The example of c/trace, compiled as told.
fn compiled(name: &str, compiler: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c/trace/example.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let done = Command::new(compiler)
        .args(flags)
        .args(["-Wall", "-Wextra", "-Werror", "-O2", "-pthread", "-o"])
        .args([&program, &source])
        .status()
        .unwrap_or_else(|why| panic!("{compiler} is missing ({why}): cargo xtask setup test installs it"));
    assert!(done.success());
    program
}

fn session(name: &str, rings: u32, capacity: u64, when_full: WhenFull) -> Session {
    let path = std::env::temp_dir().join(format!("dropline-trace-c-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    Session::create(&path, Shape { rings, capacity, when_full }).unwrap()
}

fn play(session: &Session, program: &Path, granules: &str) {
    let (variable, path) = session.variable();
    let status = Command::new(program).arg(granules).env(variable, path).status().unwrap();
    assert!(status.success());
}

fn drained(session: &mut Session) -> Vec<(u32, Event)> {
    let mut events = Vec::new();
    session.drain(|ring, event| events.push((ring, event)));
    events
}

#[test]
fn every_event_of_a_c_and_of_a_cplusplus_program_arrives() {
    let c = compiled("c", "cc", &["-std=c11", "-D_GNU_SOURCE", "-Wpedantic", "-Wconversion"]);
    let cplusplus = compiled("cplusplus", "c++", &["-std=c++11", "-x", "c++"]);
    for program in [c, cplusplus] {
        // Room for both threads in one ring: the second may find the first one's free again.
        let mut session = session("all", 2, 512, WhenFull::DiscardNewest);
        session.start();
        play(&session, &program, "100");
        assert_eq!(session.counts(), Counts { recorded: 401, programs: 1, ..Counts::default() });
        assert_eq!(session.probes(), ["stage"]);
        let events = drained(&mut session);
        for pipe in [1, 2] {
            let passages: Vec<_> =
                events.iter().filter(|(_, event)| event.pipe == pipe).map(|(_, event)| *event).collect();
            assert_eq!(passages.len(), 200);
            for (index, event) in passages.iter().enumerate() {
                let kind = if index % 2 == 0 { Kind::Tx } else { Kind::Rx };
                assert_eq!((event.kind, event.n), (kind, index as u64 / 2 + 1));
            }
            assert!(passages.is_sorted_by_key(|event| event.ticks));
        }
        let own = events.iter().find(|(_, event)| event.kind == Kind::Own(7)).unwrap().1;
        assert_eq!((own.pipe, own.n, own.extra), (8, 9, 10));
    }
}

#[test]
fn a_c_program_counts_what_it_could_not_write() {
    let program = compiled("c-full", "cc", &["-std=c11", "-D_GNU_SOURCE"]);
    // One ring for two threads that overlap or follow one another: every event is somewhere.
    let session = session("full", 1, 64, WhenFull::DiscardNewest);
    session.start();
    play(&session, &program, "100");
    let counts = session.counts();
    assert_eq!(counts.recorded, 64);
    assert_eq!(counts.recorded + counts.discarded + counts.homeless, 401);
}

#[test]
fn a_delay_at_a_probe_of_a_c_program_is_added_and_recorded() {
    let program = compiled("c-probe", "cc", &["-std=c11", "-D_GNU_SOURCE"]);
    let mut session = session("probe", 2, 256, WhenFull::OverwriteOldest);
    session.start();
    session.delay(0, 3000);
    play(&session, &program, "10");
    let calibration = session.calibration().unwrap();
    let crossings: Vec<_> =
        drained(&mut session).into_iter().filter(|(_, event)| event.kind == Kind::Crossing).collect();
    assert_eq!(crossings.len(), 20);
    for (_, crossing) in crossings {
        assert!(crossing.n as f64 * calibration.ns_per_tick() > 2950.0, "{crossing:?}");
    }
}

#[test]
fn a_silenced_program_leaves_no_trace() {
    let program = compiled("c-silent", "cc", &["-std=c11", "-D_GNU_SOURCE", "-DDROPLINE_TRACE_SILENT"]);
    let session = session("silent", 2, 64, WhenFull::DiscardNewest);
    session.start();
    play(&session, &program, "10");
    assert_eq!(session.counts(), Counts::default());
}
