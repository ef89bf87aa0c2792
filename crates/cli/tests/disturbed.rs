//! A generator that is stopped now and then: whatever is lost or missing for that is not the target's.

#![allow(clippy::disallowed_methods)]

mod command;

use command::{Bench, Ended};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read as _;
use std::net::UdpSocket;
use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Answers whatever comes, and counts it.
struct Reflector {
    address: String,
    received: Arc<AtomicU64>,
}

impl Reflector {
    /// It ends with the test.
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = format!("udp://{}", socket.local_addr().unwrap());
        let received = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&received);
        std::thread::spawn(move || {
            let mut bytes = [0; 2048];
            while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                counter.fetch_add(1, Ordering::Relaxed);
                // Its own failings are losses, and losses are what this is about.
                drop(socket.send_to(&bytes[..length], from));
            }
        });
        Self { address, received }
    }

    /// Until a trial is under way: a probe has fewer packets.
    fn wait_for_traffic(&self, child: &mut Child) {
        let until = Instant::now() + Duration::from_secs(120);
        while self.received.load(Ordering::Relaxed) < 100 {
            assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "no traffic");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn start(bench: &Bench, words: &[&str]) -> Child {
    bench.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Stops the child, and lets it go on after so long.
fn stop_for(child: &Child, stopped: Duration) {
    let pid = Pid::from_child(child);
    // Until it is waited for there is such a process, ended or not.
    kill_process(pid, Signal::STOP).unwrap();
    std::thread::sleep(stopped);
    kill_process(pid, Signal::CONT).unwrap();
}

#[test]
fn a_generator_that_was_stopped_catches_nothing_up_and_its_trial_is_not_valid() {
    let (bench, target) = (Bench::new(), Reflector::start());
    let words = ["trial", &target.address, "--load", "2kpps", "--duration", "2s", "--json", "-q"];
    let mut child = start(&bench, &words);
    target.wait_for_traffic(&mut child);
    stop_for(&child, Duration::from_millis(800));
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(3), "{}", ended.text);
    assert!(ended.errors.contains("not valid"), "{}", ended.errors);
    let trial = ended.json();
    let [intended, offered] = ["intended", "offered"].map(|key| trial[key].as_u64().unwrap());
    assert_eq!(intended, 4_000);
    assert!(intended - offered > 1_000, "what fell due meanwhile did not leave in a lump: {offered}");
}

/// Four searches at once: each takes what its algorithm takes, and their generators stand still nine tenths of the time.
#[test]
fn no_algorithm_has_a_regular_or_narrow_answer_where_the_generator_has_a_tenth_of_its_time() {
    let goal = "0,trial=300ms,initial=300ms,sum=1s,width=5%";
    std::thread::scope(|scope| {
        for algorithm in dropline_search::ALGORITHMS {
            scope.spawn(move || {
                let (bench, target) = (Bench::new(), Reflector::start());
                let range = ["--min-load", "1kpps", "--max-load", "20kpps", "--max-trials", "3"];
                let how = ["--algorithm", algorithm, "--warm-up", "0s", "--goal", goal, "--json", "-q"];
                let words = [&["search", target.address.as_str()], &range[..], &how].concat();
                let mut child = start(&bench, &words);
                target.wait_for_traffic(&mut child);
                // What it prints is more than a pipe holds: one that waits for its reader does not end.
                let mut stdout = child.stdout.take().unwrap();
                let printed = std::thread::spawn(move || {
                    let mut text = Vec::new();
                    stdout.read_to_end(&mut text).unwrap();
                    text
                });
                while child.try_wait().unwrap().is_none() {
                    stop_for(&child, Duration::from_millis(90));
                    std::thread::sleep(Duration::from_millis(10));
                }
                let stdout = printed.join().unwrap();
                let ended = Ended::from(Output { stdout, ..child.wait_with_output().unwrap() });
                assert_eq!(ended.code, Some(3), "{algorithm}: {}{}", ended.text, ended.errors);
                let answer = &ended.json()["goals"][0];
                assert_eq!(answer["why"], "generator_limited", "{algorithm}: {answer}");
            });
        }
    });
}

/// Another program's trials, judged alike by both verbs and by every algorithm: those that are not valid end with 3.
#[test]
fn a_search_takes_a_trial_for_valid_where_the_verb_trial_does() {
    let said = |code: &str| format!("caveats=[dict(code='{code}', text='the card was reset')]");
    for (answer, valid) in [
        ("offered=sent".to_owned(), true),
        // One in a hundred thousand, or less.
        ("offered=sent - sent // 200000".to_owned(), true),
        ("caveats=[dict(code='drizzle', text='outside')]".to_owned(), true),
        ("offered=sent - sent // 10, forwarded=min(back, sent - sent // 10)".to_owned(), false),
        (said("generator_limited"), false),
        (said("generator_lost"), false),
        (said("loss_doubted"), false),
        (said("rule_appeared"), false),
    ] {
        let bench = Bench::new();
        bench.write(
            "tester.py",
            &format!(
                "import json, sys\nfor line in sys.stdin:\n    trial = json.loads(line)\n    sent = \
                 int(trial['intended_load_pps'] * trial['duration_s'])\n    back = min(sent - sent // 200000, int(1e6 * \
                 trial['duration_s']))\n    print(json.dumps(dict(dict(intended=sent, offered=sent, forwarded=back, \
                 duration_s=trial['duration_s']), {answer})), flush=True)\n"
            ),
        );
        let target = "exec:python3 tester.py";
        let code = Some(if valid { 0 } else { 3 });
        let one = bench.run(&["trial", target, "--load=900kpps", "--duration=1s", "-q", "-o", "-"]);
        assert_eq!(one.code, code, "{answer}: {}{}", one.text, one.errors);
        for algorithm in dropline_search::ALGORITHMS {
            let how =
                ["--algorithm", algorithm, "--goal=0.5%", "--max-load=10Mpps", "--json", "-q", "-o", "-"];
            let searched = bench.run(&[&["search", target], &how[..]].concat());
            assert_eq!(searched.code, code, "{algorithm}, {answer}: {}{}", searched.text, searched.errors);
            let goal = &searched.json()["goals"][0];
            assert_eq!(goal["why"] == "generator_limited", !valid, "{algorithm}, {answer}: {goal}");
        }
    }
}

/// Ordinary programs that want all CPUs, four to each. The generator goes first where it may; the target does not.
#[test]
fn a_target_that_others_keep_from_its_cpu_is_not_judged_by_what_it_loses() {
    let bench = Bench::new();
    let target = bench.serve(&["--service-time", "30us", "--queue", "0"]);
    let cpus = std::thread::available_parallelism().unwrap().get();
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        for _ in 0..4 * cpus {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let words = ["trial", &target.target(), "--load", "20kpps", "--duration", "1s", "--json", "-q"];
        let ended = bench.run(&words);
        is_over.store(true, Ordering::Relaxed);
        ended
    });
    let trial = ended.json();
    assert!(trial["lost"].as_u64().unwrap() > 0, "{}", ended.text);
    assert_eq!(ended.code, Some(3), "{}", ended.errors);
    let codes: Vec<&str> =
        trial["caveats"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"loss_doubted") && codes.contains(&"target_starved"), "{codes:?}");
    let watched = &trial["watched"];
    assert!(watched["waited_ns_total"].is_u64() && watched["others_ns_total"].is_u64(), "{watched}");
}
