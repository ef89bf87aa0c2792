//! Where the system starts no more threads, a verb says so and ends: it does not panic.
#![cfg(target_os = "linux")]

mod command;

use command::Bench;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Command, Stdio};

/// A user that nothing else runs as, so that the limit counts this program's threads alone.
const USER: &str = "64917";

#[test]
fn where_no_thread_can_be_started_a_verb_says_so_and_ends() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        // Who is not root has other processes, and is no other user.
        return;
    }
    let bench = Bench::new();
    // A user who is not root runs it, from a place that every user may enter.
    let program = bench.path("dropline");
    std::fs::copy(env!("CARGO_BIN_EXE_dropline"), &program).unwrap();
    std::fs::set_permissions(bench.path("."), std::fs::Permissions::from_mode(0o777)).unwrap();
    let service = bench.serve(&[]);
    let target = service.target();
    let words: [&[&str]; 7] = [
        &["heartbeat", "send", &service.address, "--once"],
        &["serve", "--listen=127.0.0.1:0", "--until-eof"],
        &["doctor", &target],
        &["search", &target, "--max-trials=1", "--max-load=2kpps", "-q", "-o", "r.jsonl"],
        &["trial", &target, "--load=1kpps", "--duration=10ms", "--senders=4", "-q", "-o", "r.jsonl"],
        &["trial", "wakeup:?threads=3", "--duration=10ms", "-q", "-o", "r.jsonl"],
        &["trial", "exec:cat", "--load=1kpps", "--duration=10ms", "-q", "-o", "r.jsonl"],
    ];
    let mut not_looked = 0;
    for words in words {
        let mut refused = 0;
        for limit in 1..=8 {
            let mut limited = Command::new("setpriv");
            limited.args(["--reuid", USER, "--regid", USER, "--clear-groups", "prlimit"]);
            limited.arg(format!("--nproc={limit}")).arg(&program).args(words);
            limited.current_dir(bench.path(".")).stdin(Stdio::null()).env("RUST_BACKTRACE", "0");
            let ended = limited.output().unwrap();
            let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
            let what = format!("{words:?} with {limit} processes, {}: {said}", ended.status);
            assert!(
                !said.contains("panicked") && ended.status.code().is_some_and(|code| code < 100),
                "{what}"
            );
            if said.contains("a thread could not be started") {
                refused += 1;
                assert!(said.contains("ulimit -u"), "{what}");
                // What stops a check of the doctor is one of its findings.
                let code = if said.contains("x generator") { 3 } else { 4 };
                assert_eq!(ended.status.code(), Some(code), "{what}");
            }
            not_looked += u32::from(said.contains("stay on this machine could not be found out"));
            let _ = std::fs::remove_file(bench.path("r.jsonl"));
        }
        assert!(refused > 0, "{words:?} never ran into the limit");
    }
    assert!(not_looked > 0, "whoever cannot look at the way takes it for one that stays here");
}
