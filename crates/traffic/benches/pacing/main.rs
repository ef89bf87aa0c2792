//! How well a paced load is kept, beside what else Debian has for that: what one and the same tap sees arrive, by
//! the kernel's stamps, held against what was asked.
//!
//! Every sender goes first on its CPU (SCHED_FIFO) where that is allowed, so that only its design shows. Packets
//! go to one and the same receiver of ours, which spins, except where a rival brings its own (iperf3, D-ITG).

#![allow(clippy::disallowed_methods)]

#[path = "../rivals/mod.rs"]
mod rivals;

use dropline_lab::{Namespace, Scheduling, StartedTarget};
use dropline_stats::Spacing;
use dropline_stats::spacing::ideal_distance;
use dropline_traffic::affinity::Seat;
use dropline_traffic::tap::{Tap, Tapped};
use dropline_traffic::{
    Cpus, Means, MeasurerOptions, Priority, ReceiveMeans, Reply, Responder, SendMeans, UdpMeasurer, UdpTarget,
};
use dropline_trial::{Arrival, Measurer as _, Packet, Rate, TrafficProfile, TrialInput};
use rivals::{
    PAYLOAD, RECEIVER, REPETITIONS, SENDER, is_there, is_wanted, median, paired_ratio, start, start_as,
    wait_for_port, wait_for_traffic,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Where the receiver of ours is, and those of rivals.
const PORT: u16 = 5001;
/// Each contender sends this long.
const SENDING: Duration = Duration::from_millis(1_000);
/// Of what is tapped, the beginning is left out, for programs start, and the end, for they are ended; this between
/// them is looked at.
const LOOKED_AT: Duration = Duration::from_millis(800);
const TAIL: Duration = Duration::from_millis(50);
/// Copies wait here until they are read, together, on the receiver's CPU.
const TAP_BYTES: usize = 64 << 20;
const READ_EVERY: Duration = Duration::from_millis(2);

/// Starts a sender; what it returns is kept until all was tapped.
type Send = fn(&Namespace, f64) -> Vec<StartedTarget>;

struct Contender {
    name: &'static str,
    program: Option<&'static str>,
    send: Send,
}

const CONSTANT: [Contender; 4] = [
    Contender { name: "dropline", program: None, send: ours_constant },
    Contender { name: "iperf3 -b", program: Some("iperf3"), send: iperf3 },
    Contender { name: "mgen PERIODIC", program: Some("mgen"), send: mgen_periodic },
    Contender { name: "sockperf under-load", program: Some("sockperf"), send: sockperf },
];

const POISSON: [Contender; 3] = [
    Contender { name: "dropline", program: None, send: ours_poisson },
    Contender { name: "mgen POISSON", program: Some("mgen"), send: mgen_poisson },
    Contender { name: "D-ITG -E", program: Some("ITGSend"), send: ditg },
];

fn main() {
    let first = Scheduling::Fifo(10);
    let may = start_as_is_allowed(first);
    println!(
        "senders on CPU {SENDER}, {}; receiver and tap on CPU {RECEIVER}",
        match may {
            true => "each under SCHED_FIFO",
            false =>
                "none under SCHED_FIFO: it is not allowed here, so the machine's scheduling is in all figures",
        }
    );
    if is_wanted("constant") {
        constant(10_000.0);
    }
    for (part, pps) in [("poisson10", 10_000.0), ("poisson50", 50_000.0), ("poisson100", 100_000.0)] {
        if is_wanted(part) {
            poisson(pps);
        }
    }
}

fn constant(pps: f64) {
    println!("\nconstant, {pps} pps");
    println!(
        "{:<22} {:>10} {:>12} {:>14} {:>14} {:>14}",
        "", "rate error", "within 10 %", "late p50 us", "late p99 us", "variation"
    );
    for row in compete(&CONSTANT, pps) {
        let of = |what: fn(&Seen) -> f64| median(&row.seen.iter().map(what).collect::<Vec<f64>>());
        println!(
            "{:<22} {:>9.3}% {:>11.2}% {:>14.2} {:>14.1} {:>14.3}",
            row.name,
            100.0 * of(|seen| seen.rate / seen.asked - 1.0),
            100.0 * of(Seen::within_a_tenth),
            of(|seen| seen.late_us(0.5)),
            of(|seen| seen.late_us(0.99)),
            of(|seen| seen.spacing.variation().unwrap_or(f64::NAN)),
        );
    }
    let handed_over = LEFT.lock().expect("nobody panicked").split_off(0);
    println!(
        "dropline's as they were handed to the kernel: {:.2}% within 10 %",
        100.0 * median(&handed_over)
    );
    println!("targets: 98 % of the gaps within 10 %, half of the packets less than 2 us late");
}

fn poisson(pps: f64) {
    println!("\nPoisson, {pps} pps");
    println!(
        "{:<22} {:>10} {:>12} {:>8} {:>8} {:>10} {:>22}",
        "", "rate error", "(2 sigma)", "KS", "ideal", "variation", "IDC 1, 10, 100 ms"
    );
    let rows = compete(&POISSON, pps);
    for row in &rows {
        let of = |what: &dyn Fn(&Seen) -> f64| median(&row.seen.iter().map(what).collect::<Vec<f64>>());
        let idc = |at: usize| of(&|seen: &Seen| seen.spacing.dispersion()[at].unwrap_or(f64::NAN));
        println!(
            "{:<22} {:>9.2}% {:>11.2}% {:>8.4} {:>8.4} {:>10.3} {:>8.2} {:>6.2} {:>6.2}",
            row.name,
            100.0 * of(&|seen| seen.rate / pps - 1.0),
            200.0 / of(&|seen| seen.spacing.count() as f64).sqrt(),
            of(&|seen| seen.ks(pps)),
            of(&|seen| ideal_distance(seen.spacing.count()).unwrap_or(f64::NAN)),
            of(&|seen| seen.spacing.variation().unwrap_or(f64::NAN)),
            idc(0),
            idc(1),
            idc(2),
        );
    }
    let distances = |row: &Row| row.seen.iter().map(|seen| seen.ks(pps)).collect::<Vec<f64>>();
    for rival in &rows[1..] {
        let (mean, low, high) = paired_ratio(&distances(&rows[0]), &distances(rival));
        println!("KS ÷ that of {:<16} {mean:.3} [{low:.3}, {high:.3}]   target: below 1", rival.name);
    }
    let cost = COST.lock().expect("nobody panicked").unwrap_or(f64::NAN);
    let floor = 1.0 - (-pps * cost / 1e9).exp();
    let ks = median(&distances(&rows[0]));
    println!(
        "KS ÷ floor {:.2} (floor {floor:.4}: a send takes {:.2} us)   target 1.2",
        ks / floor,
        cost / 1e3
    );
}

struct Row {
    name: &'static str,
    seen: Vec<Seen>,
}

/// What the tap saw of one contender.
struct Seen {
    asked: f64,
    rate: f64,
    spacing: Spacing,
    /// Behind the grid that fits best, in ns.
    late: Vec<f64>,
}

impl Seen {
    fn new(asked: f64, times: &[i64]) -> Self {
        // From the end: some rivals send a few packets long before they begin.
        let end = times.last().copied().unwrap_or(0) - TAIL.as_nanos() as i64;
        let begin = end - LOOKED_AT.as_nanos() as i64;
        let times: Vec<i64> = times.iter().copied().filter(|&at| at >= begin && at < end).collect();
        let mut spacing = Spacing::new();
        times.iter().for_each(|&at| spacing.event((at - begin) as u64));
        let gap = 1e9 / asked;
        let on_grid = |(packet, &at): (usize, &i64)| (at - begin) as f64 - packet as f64 * gap;
        let mut late: Vec<f64> = times.iter().enumerate().map(on_grid).collect();
        // The earliest packet is the one in time: nobody can know when the others meant to.
        let earliest = late.iter().copied().fold(f64::MAX, f64::min);
        late.iter_mut().for_each(|late| *late -= earliest);
        Self { asked, rate: 1e9 / spacing.mean_ns().unwrap_or(f64::NAN), spacing, late }
    }

    fn within_a_tenth(&self) -> f64 {
        let gap = 1e9 / self.asked;
        self.spacing.share_within((gap * 0.9) as u64, (gap * 1.1).ceil() as u64).unwrap_or(f64::NAN)
    }

    fn late_us(&self, q: f64) -> f64 {
        dropline_stats::sample::quantile(&self.late, q).unwrap_or(f64::NAN) / 1e3
    }

    fn ks(&self, pps: f64) -> f64 {
        self.spacing.distance_to(|gap| 1.0 - (-gap * pps / 1e9).exp()).unwrap_or(f64::NAN)
    }
}

/// All in turn, again and again.
fn compete(contenders: &[Contender], pps: f64) -> Vec<Row> {
    let there: Vec<&Contender> =
        contenders.iter().filter(|contender| contender.program.is_none_or(is_there)).collect();
    let mut rows: Vec<Row> = there.iter().map(|one| Row { name: one.name, seen: Vec::new() }).collect();
    for _ in 0..REPETITIONS {
        for (contender, row) in there.iter().zip(&mut rows) {
            row.seen.push(Seen::new(pps, &tapped(contender, pps)));
        }
    }
    rows
}

/// When the contender's packets arrived, by the kernel's clock.
fn tapped(contender: &Contender, pps: f64) -> Vec<i64> {
    let namespace = rivals::namespace();
    let mut tap = namespace
        .run(|| Tap::open(Some("lo"), PORT, TAP_BYTES))
        .expect("the namespace is there")
        .expect("root can tap an interface");
    let listen = format!("127.0.0.1:{PORT}").parse().expect("an address");
    let brings_its_own = matches!(contender.program, Some("iperf3" | "ITGSend"));
    let receiver = (!brings_its_own).then(|| {
        let cpu = Some(RECEIVER as usize);
        let responder = Responder { listen, receive: ReceiveMeans::Spin, cpu, ..Responder::default() };
        namespace.run(|| responder.start()).expect("the namespace is there").expect("the port is free")
    });
    let over = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        let reading = scope.spawn(|| read(&mut tap, &over));
        let sending = (contender.send)(&namespace, pps);
        if !sending.is_empty() {
            wait_for_traffic(&namespace);
            std::thread::sleep(SENDING + Duration::from_millis(200));
        }
        sending.into_iter().for_each(|program| program.end(Duration::ZERO));
        drop(receiver);
        over.store(true, Ordering::Relaxed);
        reading.join().expect("it reads to the end")
    });
    assert_eq!(tap.missed(), Some(0), "{}: the tap had room for all", contender.name);
    times
}

/// Reads copies as they come, and to the end once it is `over`: copies that wait are memory that the kernel has to find
/// anew for each packet, up to 60 us of the sender's time every 12 ms.
fn read(tap: &mut Tap, over: &AtomicBool) -> Vec<i64> {
    Seat { cpu: Some(RECEIVER), fifo: None }.take().expect("there is a second CPU");
    let mut times = Vec::new();
    let mut each = |tapped: Tapped| {
        // Control messages and count queries are of other lengths.
        if tapped.payload_bytes == PAYLOAD
            && let Some(stamp) = tapped.stamp_ns
        {
            times.extend((0..tapped.datagrams).map(|_| stamp));
        }
    };
    loop {
        let was_over = over.load(Ordering::Relaxed);
        while tap.receive(Duration::ZERO, &mut each).expect("loopback is there") > 0 {}
        if was_over {
            return times;
        }
        std::thread::sleep(READ_EVERY);
    }
}

/// The cheapest send of ours so far, in ns.
static COST: std::sync::Mutex<Option<f64>> = std::sync::Mutex::new(None);

/// Shares of our gaps that were within a tenth, as the sender saw its packets leave.
static LEFT: std::sync::Mutex<Vec<f64>> = std::sync::Mutex::new(Vec::new());

fn ours_constant(namespace: &Namespace, pps: f64) -> Vec<StartedTarget> {
    ours(namespace, Arrival::constant(), pps)
}

fn ours_poisson(namespace: &Namespace, pps: f64) -> Vec<StartedTarget> {
    ours(namespace, Arrival::poisson(), pps)
}

fn ours(namespace: &Namespace, arrival: Arrival, pps: f64) -> Vec<StartedTarget> {
    let target =
        UdpTarget { address: format!("127.0.0.1:{PORT}").parse().expect("an address"), reply: Reply::None };
    let packet = Packet::of_payload(PAYLOAD).expect("legal");
    static SEED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let seed = SEED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let profile = TrafficProfile { arrival, packet, seed, ..TrafficProfile::default() };
    let means = Means {
        send: SendMeans::Auto,
        priority: Priority::Auto,
        cpus: Cpus::Fixed { senders: vec![SENDER as usize], receivers: vec![RECEIVER as usize] },
        ..Means::default()
    };
    let options = MeasurerOptions { means, ..MeasurerOptions::default() };
    let measure = || {
        let mut measurer =
            UdpMeasurer::new(target, profile, options, 1, Arc::default(), None).expect("loopback");
        let input = TrialInput { load: Rate::pps(pps).expect("legal"), duration: SENDING };
        measurer.measure(input).expect("a trial on loopback")
    };
    let trial = namespace.run(measure).expect("the namespace is there");
    let kept = trial.kept.as_ref();
    let within = kept.and_then(|kept| kept.left.as_ref()?.within_tenth);
    LEFT.lock().expect("nobody panicked").extend(within);
    let cost = kept.and_then(|kept| kept.send_cost_ns).map(|cost| cost as f64);
    let mut least = COST.lock().expect("nobody panicked");
    *least = least.into_iter().chain(cost).reduce(f64::min);
    Vec::new()
}

fn start_as_is_allowed(scheduling: Scheduling) -> bool {
    let namespace = rivals::namespace();
    start_as(&namespace, SENDER, scheduling, "true");
    std::process::Command::new("chrt")
        .args(["-f", "10", "true"])
        .status()
        .is_ok_and(|status| status.success())
}

fn first(namespace: &Namespace, words: &str) -> StartedTarget {
    start_as(namespace, SENDER, Scheduling::Fifo(10), words)
}

fn iperf3(namespace: &Namespace, pps: f64) -> Vec<StartedTarget> {
    let receiving = start(namespace, RECEIVER, &format!("iperf3 -s -p {PORT}"));
    wait_for_port(namespace, "tcp6", PORT);
    let bits = pps * 8.0 * f64::from(PAYLOAD);
    vec![
        first(namespace, &format!("iperf3 -c 127.0.0.1 -p {PORT} -u -b {bits} -l {PAYLOAD} -t 5")),
        receiving,
    ]
}

fn mgen_periodic(namespace: &Namespace, pps: f64) -> Vec<StartedTarget> {
    mgen(namespace, "PERIODIC", pps)
}

fn mgen_poisson(namespace: &Namespace, pps: f64) -> Vec<StartedTarget> {
    mgen(namespace, "POISSON", pps)
}

fn mgen(namespace: &Namespace, pattern: &str, pps: f64) -> Vec<StartedTarget> {
    let event = format!("ON 1 UDP DST 127.0.0.1/{PORT} {pattern} [{pps} {PAYLOAD}]");
    let start = dropline_lab::Start {
        cpus: vec![SENDER],
        scheduling: Scheduling::Fifo(10),
        ..dropline_lab::Start::new(["mgen", "nolog", "event", &event])
    };
    vec![start.start(Some(namespace)).expect("mgen is installed")]
}

fn sockperf(namespace: &Namespace, pps: f64) -> Vec<StartedTarget> {
    let words = format!("sockperf ul -i 127.0.0.1 -p {PORT} -m {PAYLOAD} --mps {pps} -t 5");
    vec![first(namespace, &words)]
}

fn ditg(namespace: &Namespace, pps: f64) -> Vec<StartedTarget> {
    let receiving = start(namespace, RECEIVER, "ITGRecv");
    wait_for_port(namespace, "tcp", 9000);
    let words = format!("ITGSend -a 127.0.0.1 -rp {PORT} -T UDP -E {pps} -c {PAYLOAD} -t 5000");
    vec![first(namespace, &words), receiving]
}
