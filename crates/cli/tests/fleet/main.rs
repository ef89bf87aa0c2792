//! Trials that agents perform together, over a real nats-server: what they count, and what is left on the wire when one of them,
//! the coordinator or the server is killed, stopped or cut off.
#![allow(clippy::disallowed_methods)]
#![cfg(all(target_os = "linux", feature = "fleet"))]

#[path = "../command/mod.rs"]
mod command;
mod hops;

use command::Bench;
use dropline_lab::{Namespace, built_or_skipped};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Load stops so soon after whoever coordinates it has gone: the lease, and what a busy machine makes of it.
const STOPS_WITHIN: Duration = Duration::from_secs(1);

/// A service that echoes what comes, and remembers when the last packet came.
struct Echo {
    address: String,
    packets: Arc<AtomicU64>,
    last_ns: Arc<AtomicU64>,
    /// The beginnings of what came.
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
    since: Instant,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    fn start() -> Self {
        Self::at("127.0.0.1:0")
    }

    fn at(address: &str) -> Self {
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let address = socket.local_addr().unwrap().to_string();
        let (packets, last_ns, stop) = (Arc::default(), Arc::default(), Arc::default());
        let since = Instant::now();
        let (counted, last, stopped) = (Arc::clone(&packets), Arc::clone(&last_ns), Arc::clone(&stop));
        let heard: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let hears = Arc::clone(&heard);
        let serve = move || {
            let mut bytes = [0; 2048];
            while !AtomicBool::load(&stopped, Ordering::Relaxed) {
                if let Ok((length, from)) = socket.recv_from(&mut bytes) {
                    AtomicU64::fetch_add(&counted, 1, Ordering::Relaxed);
                    AtomicU64::store(&last, since.elapsed().as_nanos() as u64, Ordering::Relaxed);
                    let _ = socket.send_to(&bytes[..length], from);
                    hears.lock().unwrap().push(bytes[..length.min(16)].to_vec());
                }
            }
        };
        Self { address, packets, last_ns, heard, since, stop, thread: Some(std::thread::spawn(serve)) }
    }

    fn target(&self) -> String {
        format!("udp://{}", self.address)
    }

    fn heard(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.heard.lock().unwrap())
    }

    fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    /// Waits until a trial is under way.
    fn wait_for_load(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        let from = self.packets();
        while self.packets() < from + 2000 {
            assert!(Instant::now() < until, "no load came: {} packets", self.packets());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// How long after `event` the last packet came; waits until none came for long.
    fn last_after(&self, event: Instant) -> Duration {
        std::thread::sleep(STOPS_WITHIN * 3);
        let last = self.since + Duration::from_nanos(self.last_ns.load(Ordering::Relaxed));
        last.saturating_duration_since(event)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Keys of the coordinator and of two agents, made for these tests alone: they open nothing but the server below.
struct Fleet {
    bench: Bench,
    url: String,
    server: Child,
    agents: Vec<Child>,
}

impl Fleet {
    /// A server whose users are the coordinator and these agents, and the agents.
    fn start(names: &[&str]) -> Self {
        let mut fleet = Self::served("127.0.0.1", names);
        for name in names {
            let agent = fleet.agent(name, &format!("fleet/{name}.nk"));
            fleet.agents.push(agent);
        }
        fleet
    }

    /// The server alone, at an address.
    fn served(address: &str, names: &[&str]) -> Self {
        let bench = Bench::new();
        let listen = format!("{address}:-1");
        let mut words = vec!["fleet", "keys", "--listen", &listen, "fleet"];
        words.extend(names);
        bench.done(&words);
        let mut fleet = Self { url: String::new(), server: dummy(), agents: Vec::new(), bench };
        fleet.serve();
        fleet
    }

    fn serve(&mut self) {
        let mut config = self.bench.read("fleet/server.conf");
        if !self.url.is_empty() {
            let listened = self.url.strip_prefix("nats://").unwrap();
            config = config.replace(&format!("{}:-1", listened.rsplit_once(':').unwrap().0), listened);
        }
        config += &format!("ports_file_dir: {:?}\n", self.bench.path("fleet"));
        self.bench.write("fleet/started.conf", &config);
        let mut command = Command::new("nats-server");
        command
            .arg("-c")
            .arg(self.bench.path("fleet/started.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let _ = self.server.kill();
        let _ = self.server.wait();
        self.server = command.spawn().unwrap();
        if self.url.is_empty() {
            self.url = self.listening();
        }
    }

    fn listening(&self) -> String {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let is_ports = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ports");
            let entries = std::fs::read_dir(self.bench.path("fleet")).unwrap();
            let found = entries.filter_map(|entry| Some(entry.ok()?.path())).find(is_ports);
            let ports = found.and_then(|path| std::fs::read_to_string(path).ok());
            let ports = ports.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            if let Some(url) = ports.as_ref().and_then(|ports| ports["nats"][0].as_str()) {
                return url.to_owned();
            }
            assert!(Instant::now() < until, "the server does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn agent(&self, name: &str, key: &str) -> Child {
        self.agent_with(name, key, "fleet/agent.toml")
    }

    fn agent_with(&self, name: &str, key: &str, config: &str) -> Child {
        let words = ["agent", "--join", &self.url, "--name", name, "--creds", key, "--config", config];
        let words = [&words[..], &["--cpus", "free", "--ordinary-priority"]].concat();
        self.bench.command(&words).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Waits until so many agents answer.
    fn wait_for_agents(&self, count: usize) {
        let words = ["fleet", "list", "--json", "--join", &self.url, "--creds", "fleet/coordinator.nk"];
        let until = Instant::now() + Duration::from_secs(30);
        let there = || self.bench.run(&words).text;
        let number = |text: &str| {
            serde_json::from_str::<Value>(text).ok().and_then(|said| Some(said["agents"].as_array()?.len()))
        };
        while number(&there()) != Some(count) {
            assert!(Instant::now() < until, "{}", there());
        }
    }

    /// The words of a measurement by all agents.
    fn words<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [more, &["--join", &self.url, "--creds", "fleet/coordinator.nk", "--arrival", "poisson"]].concat()
    }

    fn trials(&self, record: &str) -> Vec<Value> {
        let lines = self.bench.read(record);
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line.get("offered").is_some()).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in self.agents.iter_mut().chain([&mut self.server]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn dummy() -> Child {
    Command::new("sh").args(["-c", "true"]).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let done = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn codes(trial: &Value) -> Vec<&str> {
    trial["caveats"].as_array().unwrap().iter().filter_map(|caveat| caveat["code"].as_str()).collect()
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn two_targets_are_compared_in_turns_by_agents() {
    let (bench, a, b) = (Bench::new(), Echo::start(), Echo::start());
    let (at, and) = (a.target(), b.target());
    let words =
        ["compare", "--abba", &at, &and, "--load=2kpps", "--duration=4s", "--json", "-o", "turns.jsonl"];
    let ended = bench.run(&[&words[..], &["--on", "local:2"]].concat());
    // A busy machine may make a turn of it say more about the agents than about the targets.
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{:?} {}", ended.code, ended.errors);
    let record = bench.read("turns.jsonl");
    let lines: Vec<Value> = record.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["on"], "local:2");
    let turns: Vec<&Value> = lines.iter().filter(|line| line.get("offered").is_some()).collect();
    assert!(
        turns.len() >= 4 && turns.iter().all(|turn| turn["agents"].as_array().unwrap().len() == 2),
        "{record}"
    );
    let is_disturbed = turns.iter().any(|turn| !codes(turn).is_empty());
    assert!(ended.code != Some(3) || is_disturbed, "nothing disturbed it: {record}");
    assert!(a.packets() > 2_000 && b.packets() > 2_000, "{} {}", a.packets(), b.packets());
    let refused = bench.run(&["compare", "turns.jsonl", "--on", "local:2"]);
    assert!(refused.code == Some(2) && refused.errors.contains("--abba"), "{}", refused.errors);
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn two_agents_intend_what_one_process_does_to_the_packet() {
    let (bench, echo) = (Bench::new(), Echo::start());
    let target = echo.target();
    for arrival in ["constant", "poisson", "bursts:size=32"] {
        let words =
            ["trial", &target, "--load=3001pps", "--duration=1s", "--json", "-o", "-", "--arrival", arrival];
        let intended = |more: &[&str]| bench.run(&[&words[..], more].concat()).json()["intended"].clone();
        assert_eq!(intended(&["--on", "local:3"]), intended(&[]), "{arrival}");
    }
    let words = ["trial", "sim:hard?capacity=1Mpps", "--load=100kpps", "--duration=1s", "--json", "-o", "-"];
    let [alone, together] =
        [&[][..], &["--on", "local:2"]].map(|more| bench.done(&[&words[..], more].concat()).json());
    assert_eq!(together["forwarded"], alone["forwarded"]);
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn agents_ask_what_one_generator_would_and_none_what_another_does() {
    let (bench, echo) = (Bench::new(), Echo::start());
    let target = echo.target();
    let payload = ["--payload", "text:x{counter:13d}", "--streams=2", "--seed=3", "--json"];
    for (arrival, on) in [("constant", "local:2"), ("poisson", "local:3"), ("bursts:size=32", "local:2")] {
        let words = ["trial", &target, "--load=1501pps", "--duration=1s", "--arrival", arrival, "--on", on];
        echo.heard();
        let trial = bench.run(&[&words[..], &payload, &["-o", "-"]].concat()).json();
        let asked = echo.heard();
        let names: BTreeSet<&Vec<u8>> = asked.iter().collect();
        assert_eq!(names.len(), asked.len(), "{arrival}: none twice, whoever asks, probes neither");
        let [first, last] = ["first", "last"].map(|key| count(&trial["turns"][key]));
        let of_trial = |turn: &u64| names.contains(&format!("x{turn:013}").into_bytes());
        let found = (first..=last).filter(of_trial).count() as u64;
        assert_eq!(found, count(&trial["offered"]), "{arrival}: the record says which");
        if arrival != "poisson" {
            assert_eq!(last - first + 1, count(&trial["intended"]), "{arrival}: one behind the other");
        }
    }
    // A search's trials, and those of its rest, ask nothing that an earlier one did.
    let search =
        ["search", &target, "--goal=0,trial=200ms,initial=200ms", "--min-load=200pps", "--max-load=400pps"];
    let on = ["--warm-up=0s", "-q", "--on=local:2", "--max-trials=2", "-o", "c.jsonl"];
    echo.heard();
    bench.run(&[&search[..], &["--payload", "text:x{counter:13d}"], &on].concat());
    bench.run(&["search", "--resume", "c.jsonl", "--max-trials=3", "-q", "--on=local:2"]);
    assert_eq!(bench.read("c.jsonl").matches("\"turns\"").count(), 3);
    let asked = echo.heard();
    assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len());
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn interfaces_of_one_host_are_not_shared_by_agents_and_no_flag_is_blamed_that_nobody_gave() {
    let bench = Bench::new();
    let by = |on: &str| bench.run(&["trial", "link:near0,far0", "--load=1kpps", "--duration=1s", "--on", on]);
    let several = by("local:2");
    assert_eq!(several.code, Some(2), "{}", several.errors);
    assert!(several.errors.contains("interfaces of one host"), "{}", several.errors);
    for refused in [several, by("local:1")] {
        assert!(refused.code != Some(0) && !refused.errors.contains("--cpus"), "{}", refused.errors);
    }
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn a_search_by_agents_is_resumed_by_the_same_agents_alone_and_compared_as_theirs() {
    let bench = Bench::new();
    let search =
        ["search", "sim:hard?capacity=10kpps", "--min-load=1kpps", "--max-load=30kpps", "--max-trials=2"];
    bench.run(&[&search[..], &["-o", "alone.jsonl"]].concat());
    bench.run(&[&search[..], &["--on", "local:2", "-o", "two.jsonl"]].concat());
    let before = bench.read("two.jsonl");
    let resume = |record: &'static str, on: &[&'static str]| {
        bench.run(&[&["search", "--resume", record, "--max-trials=3"], on].concat())
    };
    for (record, on) in
        [("two.jsonl", &[][..]), ("two.jsonl", &["--on", "local:3"]), ("alone.jsonl", &["--on", "local:2"])]
    {
        let refused = resume(record, on);
        assert!(refused.code == Some(2) && refused.errors.contains("were measured by"), "{}", refused.errors);
    }
    assert!(resume("two.jsonl", &[]).errors.contains("dropline search --resume two.jsonl --on local:2"));
    assert_eq!(bench.read("two.jsonl"), before, "the file is as it was");
    let compared = bench.run(&["compare", "alone.jsonl", "two.jsonl"]).text;
    let compared = compared.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(compared.contains("measured by: A one process, B agents local:2"), "{compared}");
    let more = resume("two.jsonl", &["--on", "local:2"]);
    assert_eq!(bench.read("two.jsonl").matches("\"offered_load_pps\"").count(), 3, "{}", more.errors);
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn counts_of_four_agents_add_up_to_what_the_target_got() {
    let (bench, echo) = (Bench::new(), Echo::start());
    let target = echo.target();
    let words =
        ["trial", &target, "--load=4kpps", "--duration=1s", "--on", "local:4", "--arrival", "poisson"];
    let ended = bench.run(&[&words[..], &["-o", "four.jsonl", "--json"]].concat());
    let trial = &ended.json();
    let agents = trial["agents"].as_array().unwrap();
    let sum = |key: &str| agents.iter().map(|agent| count(&agent[key])).sum::<u64>();
    for key in ["offered", "forwarded", "lost"] {
        assert_eq!(sum(key), count(&trial[key]), "{key}");
    }
    assert_eq!(count(&trial["intended"]), count(&trial["offered"]), "{}", ended.errors);
    let asked = echo.packets() - count(&trial["offered"]);
    assert!(asked < 200, "beside the trial only a few packets of each agent's probe came: {asked}");
    assert!(
        agents.iter().all(|agent| agent["state"] == "whole" && count(&agent["offered"]) > 800),
        "{agents:?}"
    );
    assert!(trial["start"]["skew_ns"].is_u64() && trial["start"]["bound_ns"] == 0, "{}", trial["start"]);
    bench.done(&["report", "four.jsonl"]);
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn an_agent_that_is_killed_makes_its_trial_void_and_the_others_end_as_planned() {
    let echo = Echo::start();
    let mut fleet = Fleet::start(&["a", "b"]);
    let target = echo.target();
    let words =
        fleet.words(&["trial", &target, "--load=4kpps", "--duration=3s", "--on", "a,b", "-o", "void.jsonl"]);
    let measuring = fleet.bench.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    echo.wait_for_load();
    fleet.agents[1].kill().unwrap();
    assert_eq!(measuring.wait_with_output().unwrap().status.code(), Some(3), "measured, and not valid");
    let trial = &fleet.trials("void.jsonl")[0];
    assert!(codes(trial).contains(&"agents_lost"), "{:?}", codes(trial));
    let states: Vec<&str> =
        trial["agents"].as_array().unwrap().iter().filter_map(|one| one["state"].as_str()).collect();
    assert_eq!(states, ["whole", "silent"]);
    assert_eq!(trial["agents"][1]["offered"], Value::Null, "what it sent is not known");
    assert!(count(&trial["offered"]) > 5000, "the other one sent its share of 12000 to the end");
    fleet.bench.done(&["report", "void.jsonl"]);
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn a_search_repeats_the_trial_that_an_agent_missed_once_that_is_there_again() {
    let echo = Echo::start();
    let mut fleet = Fleet::start(&["a", "b"]);
    let target = echo.target();
    let words = [
        "search",
        &target,
        "--max-load=6kpps",
        "--min-load=2kpps",
        "--max-trials=4",
        "--on",
        "a,b",
        "-o",
        "s.jsonl",
    ];
    let words = fleet.words(&words);
    let measuring = fleet.bench.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    echo.wait_for_load();
    fleet.agents[1].kill().unwrap();
    fleet.agents[1].wait().unwrap();
    fleet.agents[1] = fleet.agent("b", "fleet/b.nk");
    measuring.wait_with_output().unwrap();
    let trials = fleet.trials("s.jsonl");
    let void: Vec<bool> =
        trials.iter().map(|trial| trial["void"] == true && codes(trial).contains(&"agents_lost")).collect();
    assert!(void[0], "{trials:?}");
    assert_eq!(trials[0]["intended_load_pps"], trials[1]["intended_load_pps"], "it is repeated");
    assert!(!void[1], "with both agents: {trials:?}");
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn no_packet_leaves_once_the_coordinator_is_gone_for_as_long_as_the_lease() {
    let echo = Echo::start();
    let fleet = Fleet::start(&["a", "b"]);
    let target = echo.target();
    let words =
        fleet.words(&["trial", &target, "--load=4kpps", "--duration=30s", "--on", "a,b", "-o", "gone.jsonl"]);
    let mut measuring =
        fleet.bench.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    echo.wait_for_load();
    let killed = Instant::now();
    measuring.kill().unwrap();
    measuring.wait().unwrap();
    let last = echo.last_after(killed);
    assert!(last < STOPS_WITHIN, "the last packet came {last:?} after the coordinator was killed");
    // They take part in the next measurement, which waits until they have forgotten this one.
    fleet.bench.run(&fleet.words(&[
        "trial",
        &target,
        "--load=4kpps",
        "--duration=500ms",
        "--on",
        "a,b",
        "-o",
        "next.jsonl",
    ]));
    assert_eq!(fleet.trials("next.jsonl").len(), 1);
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn all_that_local_started_ends_with_it_even_when_it_is_killed() {
    let (bench, echo) = (Bench::new(), Echo::start());
    let target = echo.target();
    let words = ["trial", &target, "--load=4kpps", "--duration=30s", "--on", "local:2", "-o", "-"];
    let mut measuring = bench.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    echo.wait_for_load();
    let killed = Instant::now();
    measuring.kill().unwrap();
    measuring.wait().unwrap();
    assert!(echo.last_after(killed) < STOPS_WITHIN);
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn a_server_that_is_killed_ends_the_load_and_the_trial_is_void() {
    let echo = Echo::start();
    let mut fleet = Fleet::start(&["a", "b"]);
    let target = echo.target();
    let words = fleet.words(&[
        "trial",
        &target,
        "--load=4kpps",
        "--duration=6s",
        "--on",
        "a,b",
        "-o",
        "server.jsonl",
    ]);
    let measuring = fleet.bench.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    echo.wait_for_load();
    let killed = Instant::now();
    fleet.server.kill().unwrap();
    fleet.server.wait().unwrap();
    let last = echo.last_after(killed);
    assert!(last < STOPS_WITHIN, "the last packet came {last:?} after the server was killed");
    fleet.serve();
    assert_eq!(measuring.wait_with_output().unwrap().status.code(), Some(3));
    assert!(codes(&fleet.trials("server.jsonl")[0]).contains(&"agents_lost"));
    fleet.bench.done(&["report", "server.jsonl"]);
}

/// A server that does not come back ends a search, with what it measured, and not its user's patience.
#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn a_search_whose_server_stays_away_ends_and_says_so() {
    let echo = Echo::start();
    let mut fleet = Fleet::start(&["a", "b"]);
    let target = echo.target();
    let on = ["--on", "a,b", "--max-load=20kpps", "--budget=300s", "-q", "-o", "away.jsonl"];
    let words = fleet.words(&[&["search", &target][..], &on].concat());
    let mut command = fleet.bench.command(&words);
    let searching = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    echo.wait_for_load();
    fleet.server.kill().unwrap();
    fleet.server.wait().unwrap();
    let killed = Instant::now();
    let ended = searching.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(4), "{said}");
    assert!(said.contains("the nats-server that connects the agents is gone"), "{said}");
    // Most of its budget is left: it ended because of the server.
    assert!(killed.elapsed() < Duration::from_secs(120), "{:?}", killed.elapsed());
    assert!(fleet.bench.path("away.jsonl").exists());
    fleet.serve();
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn an_agent_that_stood_still_sends_nothing_when_it_runs_again() {
    let echo = Echo::start();
    let fleet = Fleet::start(&["a"]);
    let target = echo.target();
    let words =
        fleet.words(&["trial", &target, "--load=4kpps", "--duration=8s", "--on", "a", "-o", "still.jsonl"]);
    let measuring = fleet.bench.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    echo.wait_for_load();
    signal(&fleet.agents[0], "STOP");
    std::thread::sleep(Duration::from_millis(200));
    let before = echo.packets();
    std::thread::sleep(Duration::from_secs(2));
    signal(&fleet.agents[0], "CONT");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(echo.packets(), before, "what waited to be heard does not renew a lease that is over");
    assert_eq!(measuring.wait_with_output().unwrap().status.code(), Some(3));
    assert!(codes(&fleet.trials("still.jsonl")[0]).contains(&"agents_lost"));
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn a_key_that_the_server_does_not_know_is_refused_at_once_and_nothing_leaves() {
    let echo = Echo::start();
    let fleet = Fleet::start(&["a"]);
    fleet.bench.done(&["fleet", "keys", "other", "a"]);
    let target = echo.target();
    let words = ["trial", &target, "--load=4kpps", "--on", "a", "-o", "-", "--join", &fleet.url];
    for (key, said) in [("other/coordinator.nk", "does not know this key"), ("fleet/a.nk", "a")] {
        let ended = fleet.bench.run(&[&words[..], &["--creds", key]].concat());
        assert_eq!(ended.code, Some(4), "{key}: {}", ended.errors);
        assert!(ended.errors.contains(said), "{key}: {}", ended.errors);
    }
    let agent = fleet.bench.run(&["agent", "--join", &fleet.url, "--name", "a", "--creds", "other/a.nk"]);
    assert_eq!(agent.code, Some(4), "{}", agent.errors);
    assert_eq!(echo.packets(), 0);
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn a_fleet_says_who_is_there_and_how_well_clocks_are_known() {
    let fleet = Fleet::start(&["a", "b"]);
    std::thread::sleep(Duration::from_secs(2));
    let at = ["--join", &fleet.url, "--creds", "fleet/coordinator.nk"];
    let list = fleet.bench.done(&[&["fleet", "list"], &at[..]].concat()).text;
    assert_eq!(list.lines().count(), 3, "{list}");
    let ping = fleet.bench.done(&[&["fleet", "ping"], &at[..]].concat()).text;
    assert!(
        ping.lines().skip(1).all(|line| line.contains(" us") || line.contains(" ns") || line.contains(" ms")),
        "{ping}"
    );
    let doctor = fleet.bench.done(&[&["fleet", "doctor"], &at[..]].concat()).text;
    assert!(doctor.contains("2 answered: a, b"), "{doctor}");
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn two_agents_of_one_name_are_refused_and_the_one_that_was_not_asked_never_sends() {
    let echo = Echo::start();
    let mut fleet = Fleet::start(&["a", "b"]);
    let target = echo.target();
    let search =
        ["search", &target, "--max-load=4kpps", "--min-load=2kpps", "-o", "two.jsonl", "--on", "a,b"];
    let words = fleet.words(&search);
    let measuring = fleet.bench.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    echo.wait_for_load();
    let again = fleet.agent("a", "fleet/a.nk");
    fleet.agents.push(again);
    let ended = measuring.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(4) && said.contains("2 agents answer to the name a"), "{said}");
    let offered: u64 = fleet.trials("two.jsonl").iter().map(|trial| count(&trial["offered"])).sum();
    assert!(echo.packets() < offered + 200, "{} came, and {offered} were counted", echo.packets());
    let before = echo.packets();
    let trial = ["trial", &target, "--load=4kpps", "--duration=1s", "-o", "-", "--on", "a,b"];
    let refused = fleet.bench.run(&fleet.words(&trial));
    assert!(refused.code == Some(4) && refused.errors.contains("on host"), "{}", refused.errors);
    assert_eq!(echo.packets(), before, "nothing leaves");
    let at = ["--join", &fleet.url, "--creds", "fleet/coordinator.nk"];
    let list = fleet.bench.done(&[&["fleet", "list"], &at[..]].concat()).text;
    assert_eq!(list.lines().count(), 4, "{list}");
    let doctor = fleet.bench.done(&[&["fleet", "doctor"], &at[..]].concat()).text;
    assert!(doctor.contains("not the only one of that name"), "{doctor}");
    let other = ["trial", &target, "--load=1kpps", "--duration=1s", "-o", "-", "--on", "b"];
    let other = fleet.bench.run(&fleet.words(&other));
    assert_ne!(other.code, Some(4), "whoever is alone of its name measures: {}", other.errors);
}

/// A namespace with an address that is not loopback's, and a service there.
fn beside_loopback(test: impl FnOnce(&Fleet, &Echo) + Send) {
    let Some(namespace) = built_or_skipped(Namespace::new("granted")) else { return };
    namespace.ip(&["link", "set", "lo", "up"]).unwrap();
    namespace.ip(&["address", "add", "10.77.0.1/24", "dev", "lo"]).unwrap();
    let run = || test(&Fleet::start(&["a", "b"]), &Echo::at("10.77.0.1:0"));
    namespace.run(run).unwrap();
}

/// A grant, as the words say, in a file.
fn grant(fleet: &Fleet, name: &str, words: &[&str]) -> String {
    let text = fleet.bench.done(&[&["fleet", "grant"], words].concat()).text;
    fleet.bench.write(name, &text);
    let signed: Value = serde_json::from_str(&text).unwrap();
    let grant: Value = serde_json::from_str(signed["grant"].as_str().unwrap()).unwrap();
    grant["id"].as_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn nothing_leaves_beyond_loopback_that_was_not_granted() {
    beside_loopback(|fleet, echo| {
        fleet.bench.done(&["fleet", "keys", "stranger", "a"]);
        let (own, there) = ("fleet/issuer.nk", "10.77.0.0/24");
        let good = ["--agent", "a", "--max-pps", "6000", "--target", there];
        let of = |key: &'static str, more: &[&'static str]| [&["--key", key][..], &good, more].concat();
        grant(fleet, "good", &of(own, &[]));
        grant(fleet, "foreign", &of("stranger/issuer.nk", &[]));
        grant(fleet, "short", &of(own, &["--trial-max", "1s"]));
        grant(fleet, "ends", &of(own, &["--for", "1s"]));
        grant(fleet, "other-agent", &["--key", own, "--agent", "b", "--max-pps", "4000", "--target", there]);
        grant(fleet, "slow", &["--key", own, "--agent", "a", "--max-pps", "3999", "--target", there]);
        grant(
            fleet,
            "other-network",
            &["--key", own, "--agent", "a", "--max-pps", "4000", "--target", "10.78.0.0/24"],
        );
        let changed = fleet.bench.read("slow").replace("3999", "9999");
        fleet.bench.write("changed", &changed);
        let target = echo.target();
        let trial = ["trial", &target, "--load=4kpps", "--duration=2s", "--on", "a", "-o", "-"];
        let refused = |more: &[&str]| {
            let ended = fleet.bench.run(&fleet.words(&[&trial[..], more].concat()));
            assert_eq!(ended.code, Some(4), "{more:?}: {}", ended.errors);
            assert!(ended.errors.contains("refused"), "{more:?}: {}", ended.errors);
        };
        refused(&[]);
        for wrong in ["foreign", "other-agent", "other-network", "changed"] {
            refused(&["--grant", wrong]);
        }
        assert_eq!(echo.packets(), 0);
        // What a trial would exceed is refused before its first packet; until then the target was asked whether it is there.
        for wrong in ["short", "ends", "slow"] {
            refused(&["--grant", wrong]);
        }
        assert!(echo.packets() < 1000, "{} packets of probes", echo.packets());
        let asked = echo.packets();
        for arrival in ["bursts:size=2000", "onoff:on=100ms,off=900ms"] {
            let at = ["--join", &fleet.url, "--creds", "fleet/coordinator.nk", "--grant", "good"];
            let ended = fleet.bench.run(&[&trial[..], &at, &["--arrival", arrival]].concat());
            assert!(ended.code == Some(4) && ended.errors.contains("within 100 ms"), "{}", ended.errors);
        }
        assert!(echo.packets() < asked + 200, "a peak above the grant does not leave");
        let asked = echo.packets();
        fleet.bench.run(&fleet.words(&[&trial[..], &["--grant", "good"]].concat()));
        assert!(echo.packets() > asked + 4000, "what is granted is sent");
    });
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn a_grant_that_is_revoked_ends_the_load() {
    beside_loopback(|fleet, echo| {
        let key = ["--key", "fleet/issuer.nk"];
        let words = [&key[..], &["--agent", "a", "--max-pps", "6000", "--target", "10.77.0.1"]].concat();
        let id = grant(fleet, "grant", &words);
        let target = echo.target();
        let words =
            ["trial", &target, "--load=4kpps", "--duration=30s", "--on", "a", "--grant", "grant", "-o", "-"];
        let mut measuring = fleet.bench.command(&fleet.words(&words));
        let mut measuring = measuring.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        echo.wait_for_load();
        let revoke =
            [&["fleet", "revoke", &id][..], &key, &["--join", &fleet.url, "--creds", "fleet/coordinator.nk"]]
                .concat();
        fleet.bench.done(&revoke);
        let last = echo.last_after(Instant::now());
        assert!(last < STOPS_WITHIN, "the last packet came {last:?} after the grant was revoked");
        assert_eq!(measuring.wait().unwrap().code(), Some(3));
        let again = fleet.bench.run(&fleet.words(&words));
        assert!(again.code == Some(4) && again.errors.contains("revoked"), "{}", again.errors);
    });
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn a_revocation_outlives_the_agent_and_an_id_that_nobody_knows_is_told_as_such() {
    beside_loopback(|fleet, echo| {
        let key = ["--key", "fleet/issuer.nk"];
        let words = [&key[..], &["--agent", "a", "--max-pps", "6000", "--target", "10.77.0.1"]].concat();
        let id = grant(fleet, "grant", &words);
        let at = ["--join", &fleet.url, "--creds", "fleet/coordinator.nk"];
        let revoke = |id: &str| fleet.bench.run(&[&["fleet", "revoke", id][..], &key, &at].concat());
        let wrong = revoke("NOSUCHID");
        assert!(wrong.code == Some(2) && wrong.errors.contains("not the id of a grant"), "{}", wrong.errors);
        fleet.wait_for_agents(2);
        assert!(revoke(&id).text.contains("none of them was shown"), "nobody was shown it yet");
        assert!(fleet.bench.read("fleet/agent.revoked").contains(&id));
        // Both agents have one file here, and are started anew.
        fleet.agents.iter().for_each(|agent| signal(agent, "KILL"));
        let _again = ["a", "b"].map(|name| Ends(fleet.agent(name, &format!("fleet/{name}.nk"))));
        fleet.wait_for_agents(2);
        let target = echo.target();
        let words =
            ["trial", &target, "--load=1kpps", "--duration=1s", "--on", "a", "--grant", "grant", "-o", "-"];
        let refused = fleet.bench.run(&fleet.words(&words));
        assert!(refused.code == Some(4) && refused.errors.contains("revoked"), "{}", refused.errors);
        assert_eq!(echo.packets(), 0);
        assert!(!revoke(&id).text.contains("none of them was shown"), "a was shown it");
    });
}

/// An agent that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn an_agent_whose_name_is_not_its_keys_says_so_at_once() {
    let fleet = Fleet::start(&["a", "b"]);
    let begun = Instant::now();
    let ended = fleet.bench.run(&["agent", "--join", &fleet.url, "--name", "b", "--creds", "fleet/a.nk"]);
    assert!(ended.code == Some(4) && ended.errors.contains("does not let this key hear"), "{}", ended.errors);
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
#[ignore = "needs nats-server: make test-fleet"]
fn a_grant_that_allows_nothing_or_is_for_nobody_is_not_written() {
    let bench = Bench::new();
    bench.done(&["fleet", "keys", "fleet", "a"]);
    let grant = |key: &str, agent: &str, pps: &str, target: &str| {
        let words = ["fleet", "grant", "--key", key, "--agent", agent, "--max-pps", pps, "--target", target];
        bench.run(&words)
    };
    let own = "fleet/issuer.nk";
    assert_eq!(grant(own, "a", "1", "10.0.0.7:7007").code, Some(0));
    for (key, agent, pps, target) in [
        (own, "", "1", "10.0.0.7"),
        (own, "a", "0", "10.0.0.7"),
        (own, "a", "1", "10.0.0.7:0"),
        ("fleet/a.nk", "a", "1", "10.0.0.7"),
    ] {
        let refused = grant(key, agent, pps, target);
        assert!(
            refused.code == Some(2) && refused.text.is_empty(),
            "{key} {agent:?} {pps} {target}: {}",
            refused.errors
        );
    }
}
