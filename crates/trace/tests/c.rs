//! The C header writes what the Rust tracepoints write: both follow one layout.

use dropline_trace::{EventCounts, Kind, Session, Shape, TraceEvent, WhenFull};
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

#[test]
fn the_header_is_c11_by_itself_and_defines_what_it_needs() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c11.c");
    std::fs::write(&source, "#define DROPLINE_TRACE_IMPLEMENTATION\n#include \"dropline_trace.h\"\n")
        .unwrap();
    let words = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"];
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c/trace");
    let done = Command::new("cc").args(words).arg(headers).arg(&source).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
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

fn drained(session: &mut Session) -> Vec<(u32, TraceEvent)> {
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
        assert_eq!(session.counts(), EventCounts { recorded: 401, programs: 1, ..EventCounts::default() });
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
    assert_eq!(session.counts(), EventCounts::default());
}

/// What a session's file may begin with: what the fuzzer keeps, and the small session with each byte changed.
fn heads() -> Vec<[u8; Shape::HEAD_BYTES]> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/head");
    let small = std::fs::read(corpus.join("small")).unwrap();
    let kept = std::fs::read_dir(corpus).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
    let changed = (0..small.len()).flat_map(|at| {
        [1, 0x80].map(|bit| {
            let mut head = small.clone();
            head[at] ^= bit;
            head
        })
    });
    kept.chain(changed).filter_map(|head| head.first_chunk().copied()).collect()
}

#[test]
fn c_attaches_to_the_sessions_that_rust_takes_and_to_no_other() {
    const LONGEST: usize = 1 << 20;
    /// Where a session counts the programs that attached.
    const ATTACHED: usize = 36;
    let program = compiled("c-heads", "cc", &["-std=c11", "-D_GNU_SOURCE"]);
    let path = std::env::temp_dir().join(format!("dropline-trace-c-heads-{}", std::process::id()));
    let mut taken = 0;
    for head in heads() {
        let rings = u32::from_le_bytes(head[8..12].try_into().unwrap());
        let capacity = u64::from_le_bytes(head[16..24].try_into().unwrap());
        let said = Shape { rings, capacity, ..Shape::default() }.bytes();
        let said = said.filter(|said| *said <= LONGEST).unwrap_or(LONGEST);
        for length in [said, said - 1, said + 1, 12_544] {
            let mut file = head.to_vec();
            file.resize(length, 0);
            std::fs::write(&path, file).unwrap();
            let status = Command::new(&program).arg("0").env("DROPLINE_TRACE", &path).status().unwrap();
            let attached = std::fs::read(&path).unwrap()[ATTACHED] == 1;
            let takes = Shape::of_head(&head, length as u64).is_some();
            assert!(
                status.success() && attached == takes,
                "{head:?} of {length} bytes: {status}, C {attached}"
            );
            taken += usize::from(takes);
        }
    }
    std::fs::remove_file(path).unwrap();
    assert!(taken > 2, "some of them are sessions");
}
