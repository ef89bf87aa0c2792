//! How many frames a second arrive over one pair of interfaces when nothing is paced: `link:` beside `udp://` and iperf3.
//!
//! All contenders send frames of one size from one namespace to the other, on CPU 0; what receives in a process does so on CPU 1. What
//! counts is what the kernel says that the second interface received, not what a contender says of itself: what it then does with frames
//! differs. `link:` judges each of them, iperf3 and `serve` read each by a socket.

#![allow(clippy::disallowed_methods)]
#![cfg(target_os = "linux")]

#[path = "../../../traffic/benches/rivals/mod.rs"]
#[allow(dead_code)]
mod rivals;

use dropline_lab::{Pair, Start, StartedTarget};
use dropline_payload::{Message, Tag};
use rivals::{RECEIVER, REPETITIONS, SENDER, is_there, median, paired_ratio, wait_for_port};
use std::time::{Duration, Instant};

/// From when frames arrive until they are counted, and how long they are.
const LEAD: Duration = Duration::from_millis(200);
const LENGTH: Duration = Duration::from_millis(800);
/// Frames after which a contender has begun.
const BEGUN: u64 = 5_000;
/// Bytes of a frame, its check sequence included, and those of them that are no payload.
const FRAMES: [u32; 3] = [64, 512, 1518];
const AROUND: u32 = 46;

struct Contender {
    name: &'static str,
    /// What must be installed for it.
    program: Option<&'static str>,
    /// Starts it, and what receives.
    start: fn(&Pair, u32) -> Vec<StartedTarget>,
}

const CONTENDERS: [Contender; 4] = [
    Contender {
        name: "link:, made in the kernel",
        program: None,
        start: |lab, frame| link(lab, frame, "xdp"),
    },
    Contender {
        name: "link:, by a raw socket",
        program: None,
        start: |lab, frame| link(lab, frame, "packet"),
    },
    Contender { name: "udp://, single datagrams", program: None, start: udp },
    Contender { name: "iperf3 -u -b0", program: Some("iperf3"), start: iperf3 },
];

fn main() {
    let there: Vec<&Contender> =
        CONTENDERS.iter().filter(|contender| contender.program.is_none_or(is_there)).collect();
    for frame in FRAMES {
        println!(
            "\nframes of {frame} B that arrived a second over one pair of interfaces, as the kernel counts them; nothing paced"
        );
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); there.len()];
        for _ in 0..REPETITIONS {
            for (contender, rates) in there.iter().zip(&mut rates) {
                let lab = Pair::new().expect("root can make network namespaces; run it with sudo");
                let gro = ["-K", Pair::FAR, "gro", "on"];
                let done = lab.target.command("ethtool").args(gro).status().expect("ethtool is installed");
                assert!(done.success(), "cargo xtask setup link");
                let programs = (contender.start)(&lab, frame);
                rates.push(rate(&lab, contender.name));
                programs.into_iter().for_each(|program| program.end(Duration::ZERO));
            }
        }
        tell(&there, &rates);
    }
    round_trips();
}

/// Round trips one at a time, by a service's socket and by the reflector in the kernel before it, in turns.
fn round_trips() {
    let mut medians = [Vec::new(), Vec::new()];
    for _ in 0..REPETITIONS {
        for (in_kernel, medians) in [false, true].into_iter().zip(&mut medians) {
            let lab = Pair::new().expect("root can make network namespaces; run it with sudo");
            let address = format!("{}:7007", lab.target_address);
            let mut words = vec![DROPLINE, "serve", "--listen", &address, "--receive=spin"];
            words.extend(in_kernel.then_some(["--xdp", Pair::FAR]).into_iter().flatten());
            let serving = start(&words, RECEIVER, Some(&lab.target));
            wait_for_port(&lab.target, "udp", 7007);
            std::thread::sleep(LENGTH);
            medians.push(median(&lab.client.run(|| pings(&lab)).expect("the namespace is there")));
            serving.end(Duration::ZERO);
        }
    }
    println!("\nround trip of one packet of 64 B at a time by a spinning socket on CPU 0, median in us");
    for (name, medians) in ["serve, spinning on CPU 1", "serve --xdp"].into_iter().zip(&medians) {
        println!("{name:<34} {:>12.2}", median(medians));
    }
    let (mean, low, high) = paired_ratio(&medians[1], &medians[0]);
    println!("serve --xdp ÷ serve: {mean:.2} [{low:.2}, {high:.2}]");
}

/// The rates of each, and by what ours are those of the others, with 95 % intervals.
fn tell(there: &[&Contender], rates: &[Vec<f64>]) {
    println!("{:<34} {:>12} {:>12} {:>12}", "", "frames/s", "least", "most");
    for (contender, rates) in there.iter().zip(rates) {
        let (least, most) = rates.iter().fold((f64::MAX, 0.0f64), |(l, m), &rate| (l.min(rate), m.max(rate)));
        println!("{:<34} {:>12.0} {least:>12.0} {most:>12.0}", contender.name, median(rates));
    }
    for (one, ours) in there.iter().zip(rates).take(2) {
        for (other, theirs) in there.iter().zip(rates).skip(2) {
            let (mean, low, high) = paired_ratio(ours, theirs);
            println!("{} ÷ {}: {mean:.2} [{low:.2}, {high:.2}]", one.name, other.name);
        }
    }
}

/// How long packets took that were sent and answered one after another, in us.
fn pings(lab: &Pair) -> Vec<f64> {
    const PINGS: u64 = 20_000;
    let only = only_cpu(SENDER);
    rustix::thread::sched_setaffinity(None, &only).expect("a thread may move");
    let socket = std::net::UdpSocket::bind((lab.client_address, 40_000)).expect("a port is free");
    socket.connect((lab.target_address, 7007)).expect("there is a route");
    socket.set_nonblocking(true).expect("a socket may spin");
    let mut reply = [0; 64];
    let ping = |index: u64| {
        let packet = Message::Packet { tag: Tag(7), index, reply_wanted: true }.header();
        let sent = Instant::now();
        socket.send(&packet).expect("it leaves");
        while socket.recv(&mut reply).is_err() {
            assert!(sent.elapsed() < Duration::from_secs(5), "no reply came back");
        }
        sent.elapsed().as_secs_f64() * 1e6
    };
    (0..PINGS).map(ping).collect()
}

fn only_cpu(cpu: u32) -> rustix::thread::CpuSet {
    let mut only = rustix::thread::CpuSet::new();
    only.set(cpu as usize);
    only
}

/// What arrives a second once a contender has begun.
fn rate(lab: &Pair, name: &str) -> f64 {
    let until = Instant::now() + Duration::from_secs(30);
    while received(lab) < BEGUN {
        assert!(Instant::now() < until, "{name}: no frames come");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(LEAD);
    let (began, before) = (Instant::now(), received(lab));
    std::thread::sleep(LENGTH);
    (received(lab) - before) as f64 / began.elapsed().as_secs_f64()
}

/// Frames that the second interface received.
fn received(lab: &Pair) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let text = lab.target.run(read).expect("the namespace is there");
    let of = |line: &str| {
        line.trim().strip_prefix(Pair::FAR)?.strip_prefix(':')?.split_whitespace().nth(1)?.parse().ok()
    };
    text.lines().find_map(of).unwrap_or(0)
}

/// Starts a program on a CPU, each before what else runs there: senders of ours do that themselves, and those of others do not.
fn start(words: &[&str], cpu: u32, lab: Option<&dropline_lab::Namespace>) -> StartedTarget {
    let scheduling = dropline_lab::Scheduling::Nice(-20);
    let start = Start { cpus: vec![cpu], scheduling, ..Start::new(words.iter().copied()) };
    start.start(lab).unwrap_or_else(|why| panic!("{words:?}: {why}"))
}

const DROPLINE: &str = env!("CARGO_BIN_EXE_dropline");
const UNPACED: [&str; 5] = ["--load=4Mpps", "--duration=4s", "-q", "-o", "-"];

fn link(lab: &Pair, frame: u32, engine: &str) -> Vec<StartedTarget> {
    let (client, target) = (lab.client.name(), lab.target.name());
    let word = format!("link:{client}/{},{target}/{}?engine={engine}", Pair::NEAR, Pair::FAR);
    let frame = format!("--frame={frame}B");
    vec![start(&[&[DROPLINE, "trial", &word, &frame], &UNPACED[..]].concat(), SENDER, None)]
}

fn udp(lab: &Pair, frame: u32) -> Vec<StartedTarget> {
    let address = format!("{}:7007", lab.target_address);
    let serving = start(&[DROPLINE, "serve", "--listen", &address], RECEIVER, Some(&lab.target));
    wait_for_port(&lab.target, "udp", 7007);
    let (word, frame) = (format!("udp://{address}?reply=none"), format!("--frame={frame}B"));
    let words = [&[DROPLINE, "trial", &word, &frame, "--send=sendmmsg"], &UNPACED[..]].concat();
    vec![serving, start(&words, SENDER, Some(&lab.client))]
}

fn iperf3(lab: &Pair, frame: u32) -> Vec<StartedTarget> {
    let serving = start(&["iperf3", "-s"], RECEIVER, Some(&lab.target));
    wait_for_port(&lab.target, "tcp6", 5201);
    let (address, payload) = (lab.target_address.to_string(), (frame - AROUND).to_string());
    let words = ["iperf3", "-c", &address, "-u", "-b", "0", "-l", &payload, "-t", "5"];
    vec![serving, start(&words, SENDER, Some(&lab.client))]
}
