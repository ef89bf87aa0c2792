//! How many datagrams a second arrive when nothing is paced, beside what else Debian has for that; and how many
//! requests go to and fro one at a time.
//!
//! All contenders have the same payload, a CPU for what sends and one for what receives, in a network namespace
//! of their own. What counts is what the kernel says that programs have read (Udp InDatagrams), not what a
//! contender says of itself. Ours sends and counts as in any trial: tag, index, lateness, gaps, drops.

#![allow(clippy::disallowed_methods)]

#[path = "../rivals/mod.rs"]
mod rivals;

use dropline_lab::{Namespace, Start, StartedTarget};
use dropline_traffic::round_trips::round_trips;
use dropline_traffic::{
    Cpus, Means, MeasurerOptions, Priority, ReceiveMeans, Reply, Responder, RunningResponder, SendMeans,
    UdpMeasurer, UdpTarget,
};
use dropline_trial::{Drain, Measurer as _, Packet, Rate, TrafficProfile, TrialInput};
use rivals::{
    PAYLOAD, RECEIVER, REPETITIONS, SENDER, counted, is_there, is_wanted, median, paired_ratio, start,
    wait_for_port, wait_for_traffic,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// From the start of a contender until it is counted, and how long it is.
const LEAD: Duration = Duration::from_millis(400);
const LENGTH: Duration = Duration::from_millis(800);
/// More than any socket takes.
const BEYOND_ANY: Rate = Rate::from_millipps(1_000_000_000_000);

const INPUT: TrialInput = TrialInput { load: BEYOND_ANY, duration: Duration::from_millis(1_200) };

/// Lets one contender work and returns what was read and what was dropped, a second.
type Work = fn(&Namespace) -> (f64, f64);

struct Contender {
    name: &'static str,
    /// What must be installed for it.
    program: Option<&'static str>,
    work: Work,
}

const UNPACED: [Contender; 9] = [
    Contender { name: "dropline, single datagrams", program: None, work: ours_single },
    Contender { name: "dropline, trains cut up", program: None, work: ours_trains },
    Contender { name: "iperf3 -u -b0", program: Some("iperf3"), work: iperf3 },
    Contender { name: "qperf udp_bw", program: Some("qperf"), work: qperf },
    Contender { name: "nuttcp -u -Ru", program: Some("nuttcp"), work: nuttcp },
    Contender { name: "mgen, unlimited", program: Some("mgen"), work: mgen },
    Contender { name: "D-ITG -C 1e7", program: Some("ITGSend"), work: ditg },
    Contender { name: "sockperf throughput", program: Some("sockperf"), work: sockperf },
    Contender { name: "plain send and recv", program: None, work: plain },
];

const ONE_AT_A_TIME: [Contender; 3] = [
    Contender { name: "dropline, sleeping", program: None, work: ours_in_turns },
    Contender { name: "dropline, spinning", program: None, work: ours_in_turns_spinning },
    Contender { name: "qperf udp_lat", program: Some("qperf"), work: qperf_in_turns },
];

fn main() {
    if is_wanted("unpaced") {
        unpaced();
    }
    if is_wanted("turns") {
        one_at_a_time();
    }
    if is_wanted("loops") {
        loops();
    }
}

fn unpaced() {
    println!(
        "datagrams of {PAYLOAD} B read a second, nothing paced; sender on CPU {SENDER}, receiver on CPU {RECEIVER}"
    );
    let rows = compete(&UNPACED);
    table(&rows, 1.0, "read/s");
    let best = best_of(&rows[2..]);
    ratio("single datagrams", &rows[0], best, "target 1.3, stretch 1.5");
    ratio("trains, received as single datagrams", &rows[1], best, "target 5");
    println!();
}

fn one_at_a_time() {
    println!("requests of {PAYLOAD} B answered a second, one at a time");
    let rows = compete(&ONE_AT_A_TIME);
    // Each is read twice: by the target, and by who asked.
    table(&rows, 0.5, "answers/s");
    if rows.len() > 2 {
        ratio("sleeping, beside qperf", &rows[0], &rows[2], "the interval reaches 1");
        ratio("spinning, beside qperf", &rows[1], &rows[2], "");
    }
    println!();
}

fn loops() {
    use dropline_traffic::cost::{of_receiving, of_sending};
    let print = |what: &str, cost: &dyn Fn() -> Duration| {
        let costs: Vec<f64> = (0..REPETITIONS).map(|_| cost().as_nanos() as f64).collect();
        println!("{what:<44} {:>10.0}", median(&costs));
    };
    println!("what a packet costs beyond the system call, in ns (target: the sender's below 30)");
    print("sender, counting", &|| of_sending(2_000_000, false));
    print("sender, counting and keeping its times", &|| of_sending(2_000_000, true));
    print("receiver of replies, counting", &|| of_receiving(2_000_000, false));
    print("receiver of replies, keeping their times", &|| of_receiving(2_000_000, true));
    println!("allocations in these loops                            0 (a test counts them)");
}

struct Row {
    name: &'static str,
    read: Vec<f64>,
    dropped: Vec<f64>,
}

/// All in turn, again and again.
fn compete(contenders: &[Contender]) -> Vec<Row> {
    let there: Vec<&Contender> =
        contenders.iter().filter(|contender| contender.program.is_none_or(is_there)).collect();
    let mut rows: Vec<Row> =
        there.iter().map(|one| Row { name: one.name, read: Vec::new(), dropped: Vec::new() }).collect();
    for _ in 0..REPETITIONS {
        for (contender, row) in there.iter().zip(&mut rows) {
            let namespace = rivals::namespace();
            let (read, dropped) = (contender.work)(&namespace);
            row.read.push(read);
            row.dropped.push(dropped);
        }
    }
    rows
}

fn table(rows: &[Row], of_read: f64, what: &str) {
    println!("{:<34} {:>12} {:>12} {:>12} {:>12}", "", what, "least", "most", "dropped/s");
    for row in rows {
        let read: Vec<f64> = row.read.iter().map(|rate| rate * of_read).collect();
        let (least, most) = read.iter().fold((f64::MAX, 0.0f64), |(l, m), &r| (l.min(r), m.max(r)));
        let dropped = median(&row.dropped);
        println!("{:<34} {:>12.0} {least:>12.0} {most:>12.0} {dropped:>12.0}", row.name, median(&read));
    }
}

fn best_of(rows: &[Row]) -> &Row {
    let best = rows.iter().filter(|row| !row.name.starts_with("plain"));
    best.max_by(|a, b| median(&a.read).total_cmp(&median(&b.read)))
        .unwrap_or_else(|| rows.last().expect("plain is"))
}

fn ratio(what: &str, ours: &Row, theirs: &Row, target: &str) {
    let (mean, low, high) = paired_ratio(&ours.read, &theirs.read);
    println!("{what:<36} {mean:.2} × {} [{low:.2}, {high:.2}]   {target}", theirs.name);
}

fn ours_single(namespace: &Namespace) -> (f64, f64) {
    ours(namespace, SendMeans::Sendmmsg)
}

fn ours_trains(namespace: &Namespace) -> (f64, f64) {
    ours(namespace, SendMeans::Gso)
}

fn responder(namespace: &Namespace, receive: ReceiveMeans) -> RunningResponder {
    let buffer = Some(4 << 20);
    let responder = Responder { receive, buffer, cpu: Some(RECEIVER as usize), ..Responder::default() };
    namespace.run(|| responder.start()).expect("the namespace is there").expect("a port on loopback")
}

fn ours(namespace: &Namespace, send: SendMeans) -> (f64, f64) {
    let running = responder(namespace, ReceiveMeans::Spin);
    let target = UdpTarget { address: running.address(), reply: Reply::None };
    let drain = Drain { longest: Duration::from_millis(200), ..Drain::default() };
    let profile = TrafficProfile {
        drain,
        packet: Packet::of_payload(PAYLOAD).expect("legal"),
        ..TrafficProfile::default()
    };
    let means = Means {
        send,
        priority: Priority::Ordinary,
        cpus: Cpus::Fixed { senders: vec![SENDER as usize], receivers: vec![SENDER as usize] },
        ..Means::default()
    };
    let options = MeasurerOptions { means, ..MeasurerOptions::default() };
    let work = || {
        let mut measurer =
            UdpMeasurer::new(target, profile, options, 1, Arc::default(), None).expect("loopback");
        std::thread::scope(|scope| {
            let trial = scope.spawn(|| namespace.run(|| measurer.measure(INPUT)));
            let rates = rates(namespace, LEAD, LENGTH - Duration::from_millis(50));
            trial
                .join()
                .expect("measuring does not panic")
                .expect("the namespace is there")
                .expect("a trial");
            rates
        })
    };
    namespace.run(work).expect("the namespace is there")
}

fn ours_in_turns(namespace: &Namespace) -> (f64, f64) {
    in_turns(namespace, ReceiveMeans::Block)
}

fn ours_in_turns_spinning(namespace: &Namespace) -> (f64, f64) {
    in_turns(namespace, ReceiveMeans::Spin)
}

fn in_turns(namespace: &Namespace, receive: ReceiveMeans) -> (f64, f64) {
    let running = responder(namespace, receive);
    let packet = Packet::of_payload(PAYLOAD).expect("legal");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let (address, cpu) = (running.address(), Some(SENDER as usize));
            namespace.run(|| round_trips(address, packet, LEAD + 2 * LENGTH, receive, cpu, &stop))
        });
        let rates = rates(namespace, LEAD, LENGTH);
        stop.store(true, Ordering::Relaxed);
        asking
            .join()
            .expect("asking does not panic")
            .expect("the namespace is there")
            .expect("loopback is there");
        rates
    })
}

/// A receiver, then a sender, counted and ended.
fn pair(namespace: &Namespace, receiver: &str, port: (&str, u16), sender: &str) -> (f64, f64) {
    let receiving = start(namespace, RECEIVER, receiver);
    wait_for_port(namespace, port.0, port.1);
    let sending = start(namespace, SENDER, sender);
    wait_for_traffic(namespace);
    let rates = rates(namespace, LEAD, LENGTH);
    end([sending, receiving]);
    rates
}

/// Datagrams a second that programs read, and that were dropped at sockets, after `lead` for `length`.
fn rates(namespace: &Namespace, lead: Duration, length: Duration) -> (f64, f64) {
    std::thread::sleep(lead);
    let (began, before) = (Instant::now(), counted(namespace));
    std::thread::sleep(length);
    let (ended, after) = (Instant::now(), counted(namespace));
    let rate = |after: u64, before: u64| (after - before) as f64 / (ended - began).as_secs_f64();
    (rate(after.0, before.0), rate(after.1, before.1))
}

fn end(programs: impl IntoIterator<Item = StartedTarget>) {
    programs.into_iter().for_each(|program| program.end(Duration::ZERO));
}

fn iperf3(namespace: &Namespace) -> (f64, f64) {
    let sender = format!("iperf3 -c 127.0.0.1 -u -b 0 -l {PAYLOAD} -t 5");
    pair(namespace, "iperf3 -s", ("tcp6", 5201), &sender)
}

fn qperf(namespace: &Namespace) -> (f64, f64) {
    let sender = format!("qperf 127.0.0.1 -t 5 -m {PAYLOAD} udp_bw");
    pair(namespace, "qperf", ("tcp6", 19765), &sender)
}

fn qperf_in_turns(namespace: &Namespace) -> (f64, f64) {
    let sender = format!("qperf 127.0.0.1 -t 5 -m {PAYLOAD} udp_lat");
    pair(namespace, "qperf", ("tcp6", 19765), &sender)
}

fn nuttcp(namespace: &Namespace) -> (f64, f64) {
    let sender = format!("nuttcp -u -Ru -l{PAYLOAD} -T5 127.0.0.1");
    pair(namespace, "nuttcp -S --nofork", ("tcp6", 5000), &sender)
}

fn mgen(namespace: &Namespace) -> (f64, f64) {
    let receiving = start(namespace, RECEIVER, "mgen port 5000 nolog");
    wait_for_port(namespace, "udp", 5000);
    let event = format!("ON 1 UDP DST 127.0.0.1/5000 PERIODIC [-1 {PAYLOAD}]");
    let start = Start { cpus: vec![SENDER], ..Start::new(["mgen", "nolog", "event", &event]) };
    let sending = start.start(Some(namespace)).expect("mgen is installed");
    let rates = rates(namespace, LEAD, LENGTH);
    end([sending, receiving]);
    rates
}

fn ditg(namespace: &Namespace) -> (f64, f64) {
    let sender = format!("ITGSend -a 127.0.0.1 -T UDP -C 10000000 -c {PAYLOAD} -t 5000");
    pair(namespace, "ITGRecv", ("tcp", 9000), &sender)
}

fn sockperf(namespace: &Namespace) -> (f64, f64) {
    let sender = format!("sockperf tp -i 127.0.0.1 -p 11111 -m {PAYLOAD} -t 5");
    pair(namespace, "sockperf sr -i 127.0.0.1 -p 11111", ("udp", 11111), &sender)
}

/// What anybody would write: a loop of `send`, a loop of `recv`.
fn plain(namespace: &Namespace) -> (f64, f64) {
    let done = AtomicBool::new(false);
    let bind = || std::net::UdpSocket::bind("127.0.0.1:0").expect("a port on loopback");
    let (inside, outside) = namespace.run(|| (bind(), bind())).expect("the namespace is there");
    outside.connect(inside.local_addr().expect("it is bound")).expect("loopback is there");
    inside.set_read_timeout(Some(Duration::from_millis(20))).expect("a time above zero");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = inside.recv(&mut [0; PAYLOAD as usize]);
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = outside.send(&[0; PAYLOAD as usize]);
            }
        });
        let rates = rates(namespace, LEAD, LENGTH);
        done.store(true, Ordering::Relaxed);
        rates
    })
}
