//! What the fuzzer was given, and what it found, is read again: every file in `fuzz/corpus`.

#[expect(unreachable_pub, reason = "the fuzzer uses these modules as a library")]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

use std::path::{Path, PathBuf};

/// A reader's name, and what must hold of it for any bytes.
type Check = (&'static str, fn(&[u8]));

const CHECKS: &[Check] = &[
    ("acknowledged", fuzz::acknowledged::check),
    ("addresses", fuzz::addresses::check),
    ("answer", fuzz::answer::check),
    ("client_report", fuzz::client_report::check),
    ("counters", fuzz::counters::check),
    ("cycles", fuzz::cycles::check),
    ("dns_questions", fuzz::dns_questions::check),
    ("goal", fuzz::goal::check),
    ("grant", fuzz::grant::check),
    ("graph_answer", fuzz::graph_answer::check),
    ("head", fuzz::head::check),
    ("heartbeat", fuzz::heartbeat::check),
    ("heartbeat_report", fuzz::heartbeat_report::check),
    ("histogram", fuzz::histogram::check),
    ("http", fuzz::http::check),
    ("import", fuzz::import::check),
    ("index", fuzz::index::check),
    ("kernel", fuzz::kernel::check),
    ("message", fuzz::message::check),
    ("object", fuzz::object::check),
    ("own_payload", fuzz::own_payload::check),
    ("packets", fuzz::packets::check),
    ("quantity", fuzz::quantity::check),
    ("record", fuzz::record::check),
    ("recording", fuzz::recording::check),
    ("ruleset", fuzz::ruleset::check),
    ("said", fuzz::said::check),
    ("scenario", fuzz::scenario::check),
    ("search", fuzz::search::check),
    ("service_reply", fuzz::service_reply::check),
    ("session", fuzz::session::check),
    ("target", fuzz::target::check),
    ("trace", fuzz::trace::check),
    ("typed", fuzz::typed::check),
];

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn whatever_was_fuzzed_is_still_read_as_promised() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let known: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
    let found = files(&corpus);
    let found: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(found, known, "each directory of the corpus has its check");
    for (name, check) in CHECKS {
        let files = files(&corpus.join(name));
        assert!(!files.is_empty(), "{name} has no corpus");
        for file in files {
            let bytes = std::fs::read(&file).unwrap();
            assert!(std::panic::catch_unwind(|| check(&bytes)).is_ok(), "{} is not", file.display());
        }
    }
}

/// Inputs beyond the corpus for each reader of what any host on the network may send.
const MORE: u64 = 250_000;

#[test]
fn a_million_datagrams_made_up_here_are_read_as_promised() {
    let checks: [fn(&[u8]); 4] =
        [fuzz::heartbeat::check, fuzz::heartbeat_report::check, fuzz::http::check, fuzz::message::check];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut chance = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes = Vec::new();
    for check in checks {
        for _ in 0..MORE {
            let length = (chance() >> 32) % 64;
            bytes.clear();
            bytes.extend((0..length).map(|_| (chance() >> 24) as u8));
            check(&bytes);
        }
    }
}
