//! Real packets on loopback: every one is accounted for. Counts are asserted, never durations.

#![allow(clippy::disallowed_methods)]

mod command;

use command::{Bench, interrupt, wait_for_lines};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Stdio};

/// Sum of what a responder says it received, from its last lines.
fn number_behind(text: &str, word: &str) -> u64 {
    let line =
        text.lines().find(|line| line.starts_with(word)).unwrap_or_else(|| panic!("no {word} in {text}"));
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn what_a_trial_offers_the_responder_receives_or_drops() {
    let bench = Bench::new();
    let service = bench.serve(&["--service-time", "200us", "--queue", "8", "--json"]);
    let trial = bench.run(&[
        "trial",
        &service.target(),
        "--load=10kpps",
        "--duration=500ms",
        "--json",
        "-q",
        "-o",
        "-",
    ]);
    let json = trial.json();
    let served: Value = serde_json::from_str(&service.interrupt()).unwrap();
    let count = |value: &Value| value.as_u64().unwrap();
    let dropped = count(&served["dropped_queue"]) + count(&served["dropped_socket"]);
    // The probes before the trial were answered too: of the target five, and one of its stream.
    let probes = count(&served["answered"]) - count(&json["forwarded"]) - count(&json["generator_lost"]);
    assert!(probes <= 6, "{served}");
    assert_eq!(
        count(&json["offered"]) + probes,
        count(&served["received"]) + count(&served["dropped_socket"])
    );
    assert_eq!(count(&json["lost"]), dropped, "the target's loss is what the target dropped");
    assert!(count(&json["lost"]) > 0, "5 kpps of capacity cannot take 10 kpps");
    assert_eq!(json["delay_ns"]["count"], json["forwarded"]);
    assert_eq!(json["lateness_ns"]["count"], json["offered"]);
}

#[test]
fn a_one_way_service_is_counted_at_its_queue_and_socket() {
    let bench = Bench::new();
    let service = bench.serve(&["--service-time", "200us", "--queue", "8"]);
    let target = format!("{}?reply=none", service.target());
    let json =
        bench.run(&["trial", &target, "--load=10kpps", "--duration=500ms", "--json", "-q", "-o", "-"]).json();
    let text = service.interrupt();
    let (offered, forwarded) = (json["offered"].as_u64().unwrap(), json["forwarded"].as_u64().unwrap());
    assert_eq!(forwarded, number_behind(&text, "one-way"), "{text}");
    assert!(offered > forwarded && json["delay_ns"].is_null(), "nothing came back, so no delay is known");
}

#[test]
fn arrivals_change_what_a_small_queue_loses() {
    let bench = Bench::new();
    let service = bench.serve(&["--service-time", "500us", "--queue", "8"]);
    let lost = |arrival: &str| {
        let words = ["trial", &service.target(), "--load=1600pps", "--duration=2s", "--arrival", arrival];
        let json = bench.run(&[&words[..], &["--json", "-q", "-o", "-"]].concat()).json();
        assert_eq!(json["arrival"], arrival);
        (json["lost"].as_u64().unwrap(), json["offered"].as_u64().unwrap())
    };
    let (poisson, offered) = lost("poisson");
    assert!(offered > 2900 && offered < 3500, "{offered} packets are no Poisson number of 3200");
    assert!(poisson > 0, "80 % load with Poisson arrivals overflows a queue of eight");
}

#[test]
fn a_search_brackets_a_service_whose_limit_is_known() {
    let bench = Bench::new();
    // 2000 packets a second, and never more: 1000 in half a second, and after it what the queue and the service still
    // hold. Of all that, one packet in a hundred may be lost.
    let service = bench.serve(&["--service-time", "500us", "--queue", "64"]);
    let limit = (1000.0 + 64.0 + 1.0) / 0.99 / 0.5;
    let words = [
        "search",
        &service.target(),
        "--min-load=500pps",
        "--max-load=8kpps",
        "--goal=1%,trial=500ms,sum=1s,width=10%",
        "--budget=40s",
        "--json",
        "-q",
        "-o",
        "r.jsonl",
    ];
    let ended = bench.run(&words);
    let json = ended.json();
    let lower = json["goals"][0]["lower_pps"].as_f64();
    match (ended.code, json["goals"][0]["upper_pps"].as_f64()) {
        // Beside busy neighbours no trial may be fit to say so; that 8 kpps can be served is said in no case.
        (Some(3), _) => {
            let why = json["goals"][0]["why"].as_str().unwrap();
            assert!(["generator_limited", "target_starved"].contains(&why), "{json}");
            assert!(lower.is_none_or(|lower| lower < limit + 1.0), "{lower:?} pps of at most {limit}");
        }
        (code, upper) => {
            let (lower, upper) = (lower.expect("500 pps can be served"), upper.expect("8 kpps cannot"));
            assert!(lower < limit + 1.0 && lower < upper, "{code:?}: [{lower}, {upper}] pps, limit {limit}");
        }
    }
    assert!(json["target_note"].as_str().unwrap().starts_with("echo, answers in "));
    assert!(json["environment"]["reply_buffer_bytes"].as_u64().unwrap() > 0);
    bench.done(&["report", "r.jsonl", "--html", "page.html"]);
    assert!(bench.read("page.html").contains("udp://127.0.0.1:"));
}

#[test]
fn the_generators_own_limit_is_the_default_maximum() {
    let bench = Bench::new();
    let service = bench.serve(&[]);
    let words = ["search", &service.target(), "--goal=0", "--max-trials=1", "--json", "-o", "-"];
    let ended = bench.run(&words);
    let json = ended.json();
    assert_eq!(json["max_load_pps"], json["generator_limit_pps"]);
    assert_eq!(json["trials"][0]["intended_load_pps"], json["generator_limit_pps"]);
    assert!(ended.errors.contains("generator's own limit"), "{}", ended.errors);
}

#[test]
fn a_load_that_cannot_be_offered_is_not_the_targets_loss() {
    let bench = Bench::new();
    let service = bench.serve(&[]);
    let words = ["trial", &service.target(), "--load=500Mpps", "--duration=200ms", "--json", "-q", "-o", "-"];
    let ended = bench.run(&words);
    let json = ended.json();
    assert_eq!(ended.code, Some(3), "measured, but not valid");
    assert_eq!(json["intended"].as_u64(), Some(100_000_000));
    assert!(json["offered"].as_u64() < Some(50_000_000));
    let codes: Vec<&str> =
        json["caveats"].as_array().unwrap().iter().map(|caveat| caveat["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"generator_limited"), "{codes:?}");
    let lost = json["offered"].as_u64().unwrap() - json["forwarded"].as_u64().unwrap();
    assert_eq!(json["lost"].as_u64().unwrap() + json["generator_lost"].as_u64().unwrap(), lost);
}

#[test]
fn an_echo_service_that_is_not_ours_is_measured() {
    if !std::path::Path::new("/usr/sbin/xinetd").exists() {
        assert!(std::env::var_os("CI").is_none(), "xinetd is missing: cargo xtask setup test");
        eprintln!("skipped: Debian's xinetd is not installed (cargo xtask setup test)");
        return;
    }
    let bench = Bench::new();
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    bench.write(
        "xinetd.conf",
        &format!(
            "service echo\n{{\n type = INTERNAL UNLISTED\n id = echo-dgram\n socket_type = dgram\n protocol = udp\n \
             user = root\n wait = yes\n bind = 127.0.0.1\n port = {port}\n disable = no\n cps = 1000000 1\n}}\n"
        ),
    );
    let configuration = bench.path("xinetd.conf");
    let mut xinetd = Command::new("/usr/sbin/xinetd")
        .args(["-dontfork", "-inetd_ipv6", "-f"])
        .arg(&configuration)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let target = format!("udp://127.0.0.1:{port}");
    let words = ["trial", &target, "--load=1kpps", "--duration=500ms", "--json", "-q", "-o", "-"];
    // It listens a moment after it started.
    let ended = (0..20).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        bench.run(&words)
    });
    let ended = ended.into_iter().find(|ended| ended.code != Some(4));
    let _ = xinetd.kill();
    let _ = xinetd.wait();
    let json = ended.expect("xinetd answered within two seconds").json();
    assert_eq!(json["intended"], 500);
    let count = |field: &str| json[field].as_u64().unwrap();
    assert_eq!(count("offered"), count("forwarded") + count("lost") + count("generator_lost"));
    assert!(count("forwarded") > 0, "xinetd echoes");
}

/// A trial of a minute that is interrupted, and once more at once, as soon as it says that it offers something.
fn interrupted(bench: &Bench, target: &str) -> (Option<i32>, Value) {
    let words = ["trial", target, "--load=1kpps", "--duration=60s", "--json", "-o", "r.jsonl"];
    let mut command = bench.command(&words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let offers = said.find(|line| line.as_ref().is_ok_and(|line| line.contains("offered")));
    assert!(offers.is_some(), "it never said that it offers something");
    interrupt(&child);
    std::thread::sleep(std::time::Duration::from_millis(50));
    interrupt(&child);
    // What it says meanwhile is read, so that it is not held up.
    said.for_each(drop);
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), serde_json::from_slice(&ended.stdout).unwrap())
}

#[test]
fn an_interrupted_trial_prints_and_keeps_what_it_counted() {
    for reply in ["", "?reply=none"] {
        let bench = Bench::new();
        let service = bench.serve(&[]);
        let (code, json) = interrupted(&bench, &format!("{}{reply}", service.target()));
        assert_eq!(code, Some(130));
        let count = |name: &str| json[name].as_u64().unwrap();
        assert!(count("offered") > 0 && count("forwarded") > 0, "{json}");
        assert!(count("offered") <= count("intended") && count("intended") < 60_000);
        let caveats = json["caveats"].as_array().unwrap();
        assert!(caveats.iter().any(|caveat| caveat["code"] == "interrupted"), "{caveats:?}");
        let kept: Value = serde_json::from_str(bench.read("r.jsonl").lines().nth(1).unwrap()).unwrap();
        assert_eq!((&kept["offered"], &kept["forwarded"]), (&json["offered"], &json["forwarded"]));
        assert!(bench.done(&["report", "r.jsonl"]).text.contains("stopped before its time"));
    }
}

/// A trial that is sent a signal as soon as it says that it offers something; the words before it are a shell's.
fn signalled(
    bench: &Bench,
    before: &str,
    target: &str,
    duration: &str,
    signal: &str,
) -> (Option<i32>, Value) {
    let program = env!("CARGO_BIN_EXE_dropline");
    // What this test ignores, or whoever started it, its child would ignore too.
    let heard = if before.is_empty() { ",HUP,QUIT" } else { "" };
    // A pipe would have to be read meanwhile.
    let words = format!(
        "{before} exec env --default-signal=TERM{heard} {program} trial {target} --load=1kpps --json -o r.jsonl {duration} >out.json"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &words]).current_dir(bench.path("")).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let offers = said.find(|line| line.as_ref().is_ok_and(|line| line.contains("offered")));
    assert!(offers.is_some(), "it never said that it offers something");
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    said.for_each(drop);
    let code = child.wait().unwrap().code();
    (code, serde_json::from_str(&bench.read("out.json")).unwrap_or_default())
}

#[test]
fn a_terminal_that_is_gone_ends_a_trial_as_sigterm_does() {
    for signal in ["-TERM", "-HUP", "-QUIT"] {
        let bench = Bench::new();
        let service = bench.serve(&[]);
        let (code, json) = signalled(&bench, "", &service.target(), "--duration=60s", signal);
        assert_eq!(code, Some(130), "{signal}: {json}");
        assert!(json["offered"].as_u64().unwrap() > 0, "{signal}: {json}");
        let kept: Value = serde_json::from_str(bench.read("r.jsonl").lines().nth(1).unwrap()).unwrap();
        assert_eq!(
            (&kept["offered"], &kept["forwarded"]),
            (&json["offered"], &json["forwarded"]),
            "{signal}"
        );
    }
}

/// Starts a command in a terminal, takes the terminal away when the command says that it offers something, and prints
/// how it ended.
const HANGS_UP: &str = "
import os, pty, signal, sys
child, terminal = pty.fork()
if child == 0:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
said = b''
while b'offered' not in said:
    said += os.read(terminal, 4096)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";

#[test]
fn a_trial_whose_terminal_hung_up_ends_as_one_that_was_stopped() {
    let bench = Bench::new();
    let service = bench.serve(&[]);
    let (program, target) = (env!("CARGO_BIN_EXE_dropline"), service.target());
    let words = [program, "trial", &target, "--load=1kpps", "--duration=60s", "-o", "r.jsonl"];
    let mut python = Command::new("python3");
    let ended = python.args(["-c", HANGS_UP]).args(words).current_dir(bench.path("")).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(String::from_utf8_lossy(&ended.stdout).trim(), "130", "{said}");
    let kept: Value = serde_json::from_str(bench.read("r.jsonl").lines().nth(1).unwrap()).unwrap();
    assert!(kept["offered"].as_u64().unwrap() > 0, "{kept}");
}

#[test]
fn a_trial_that_was_started_to_outlive_its_terminal_does() {
    for signal in ["-HUP", "-QUIT"] {
        let bench = Bench::new();
        let service = bench.serve(&[]);
        let ignored = format!("trap '' {};", &signal[1..]);
        let (code, json) = signalled(&bench, &ignored, &service.target(), "--duration=4s", signal);
        assert_ne!(code, Some(130), "{signal}: {json}");
        assert_eq!(json["intended"], 4000, "{signal}: {json}");
    }
}

#[test]
fn a_trial_that_cannot_be_kept_is_printed_all_the_same() {
    let bench = Bench::new();
    let service = bench.serve(&[]);
    // No file may be longer than 4 KiB, as on a disk that is nearly full.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec {} trial {} --load=4kpps --duration=500ms -q -o r.jsonl",
        env!("CARGO_BIN_EXE_dropline"),
        service.target()
    );
    let ended = Command::new("sh").args(["-c", &script]).current_dir(bench.path("")).output().unwrap();
    let (text, errors) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    assert_eq!(ended.status.code(), Some(4), "{errors}");
    assert!(text.contains("offered") && text.contains("forwarded"), "{text}");
    assert!(errors.contains("cannot write") && errors.contains("-o FILE"), "{errors}");
    assert!(!errors.contains("--resume"), "a trial cannot be resumed: {errors}");
    assert!(!bench.path("r.jsonl.packets").exists(), "half a file is of no use");
    assert!(!bench.path("r.jsonl").exists() || bench.read("r.jsonl").ends_with('\n'), "no torn line");
}

#[test]
fn the_line_of_a_trial_is_kept_before_the_times_of_its_packets() {
    let service = Bench::new().serve(&[]);
    // No file may be longer: room for a line or for neither.
    for (blocks, load, is_kept) in [(180, "40kpps", true), (4, "200pps", false)] {
        let bench = Bench::new();
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec {} trial {} --load={load} --duration=500ms -q -o r.jsonl",
            env!("CARGO_BIN_EXE_dropline"),
            service.target()
        );
        let ended = Command::new("sh").args(["-c", &script]).current_dir(bench.path("")).output().unwrap();
        assert_eq!(ended.status.code(), Some(4), "{}", String::from_utf8_lossy(&ended.stderr));
        assert!(String::from_utf8_lossy(&ended.stdout).contains("forwarded"));
        assert!(!bench.path("r.jsonl.packets").exists(), "it is kept with its line, or not at all");
        assert_eq!(bench.path("r.jsonl").exists(), is_kept, "a header alone tells nobody anything");
        if is_kept {
            let text = bench.read("r.jsonl");
            assert_eq!((text.matches('\n').count(), text.ends_with('\n')), (2, true));
            assert!(bench.done(&["report", "r.jsonl"]).text.contains("forwarded"));
            let why = bench.run(&["explain", "r.jsonl"]).errors;
            assert!(why.contains("which is not there"), "{why}");
        }
    }
}

#[test]
fn a_target_that_dies_in_mid_search_is_said_to_have_died_after_a_trial() {
    let bench = Bench::new();
    // A thousand packets a second, and a search that needs more than ten trials to say so exactly.
    let service = bench.serve(&["--service-time", "1ms", "--queue", "8", "--sleep"]);
    let words = [
        "search",
        &service.target(),
        "--algorithm=binary",
        "--goal=0,trial=1s,width=0.01%",
        "--min-load=100pps",
        "--max-load=4kpps",
        "--warm-up=0s",
        "-q",
        "-o",
        "r.jsonl",
    ];
    let child = bench.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_lines(&bench.path("r.jsonl"), 2);
    drop(service);
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(4), "{errors}");
    assert!(
        errors.contains("the target died ") && errors.contains(" trial ") && errors.contains("--resume"),
        "{errors}"
    );
}

#[test]
fn the_doctor_says_whether_a_target_answers() {
    let bench = Bench::new();
    let service = bench.serve(&[]);
    let ended = bench.done(&["doctor", &service.target(), "--json"]);
    let findings = ended.json();
    let target = findings.as_array().unwrap().last().unwrap();
    assert!(target["found"].as_str().unwrap().contains("answers in"), "{target}");
    drop(service);
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ended = bench.run(&["doctor", &format!("udp://{free}")]);
    assert_eq!(ended.code, Some(3), "{}", ended.text);
}
