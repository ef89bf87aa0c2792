//! Our sender and receiver beside a plain loop of `send` and `recv`, on loopback, in the same run.
//!
//! Two questions: how many packets a second come back when nothing is paced, and how far from due are
//! the departures and arrivals of a constant 10 kpps. Both contenders have the same targets.

use dropline_stats::{Histogram, sample::quantile};
use dropline_traffic::{MeasurerOptions, Reply, Responder, UdpMeasurer, UdpTarget};
use dropline_trial::{Drain, Measurer as _, Rate, TrafficProfile, TrialInput};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Each contender in turn: a machine's pauses meet both.
const REPETITIONS: usize = 5;
const PAYLOAD: usize = 64;
const UNPACED: Duration = Duration::from_millis(500);
/// What our sender goes on for when it is behind.
const GRACE: Duration = Duration::from_millis(25);
/// More than any socket takes.
const BEYOND_ANY: Rate = Rate::from_millipps(1_000_000_000_000);
const PACED: Duration = Duration::from_secs(1);
/// Of 10 kpps.
const IDT: Duration = Duration::from_micros(100);
const PACKETS: u32 = 10_000;

fn main() {
    let (mut our_rates, mut plain_rates) = (Vec::new(), Vec::new());
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..REPETITIONS {
        our_rates.push(our_rate());
        plain_rates.push(plain_rate());
        ours.push(our_pace());
        plain.push(plain_pace());
    }
    println!("medians of {REPETITIONS}, ours beside a plain loop");
    row("packets a second that came back", &our_rates, &plain_rates);
    let column = |paces: &[Pace], what: fn(&Pace) -> f64| paces.iter().map(what).collect::<Vec<f64>>();
    for (name, what) in [
        ("at 10 kpps, us late, p50", (|pace| pace.late_p50) as fn(&Pace) -> f64),
        ("at 10 kpps, us late, p99", |pace| pace.late_p99),
        ("at 10 kpps, us from an even gap, p50", |pace| pace.gap_p50),
        ("at 10 kpps, us from an even gap, p99", |pace| pace.gap_p99),
        ("at 10 kpps, packets that arrived", |pace| pace.arrived),
    ] {
        row(name, &column(&ours, what), &column(&plain, what));
    }
}

fn row(name: &str, ours: &[f64], plain: &[f64]) {
    let (ours, plain) = (median(ours), median(plain));
    println!("{name:<38} {ours:>12.1} {plain:>12.1}   ratio {:.3}", ours / plain);
}

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5).expect("there were repetitions")
}

fn measurer(address: SocketAddr) -> UdpMeasurer {
    let target = UdpTarget { address, reply: Reply::Echo };
    let drain = Drain { longest: Duration::from_millis(200), ..Drain::default() };
    let profile = TrafficProfile { drain, ..TrafficProfile::default() };
    UdpMeasurer::new(target, profile, MeasurerOptions::default(), 1, Arc::default(), None)
        .expect("a socket on loopback")
}

fn our_rate() -> f64 {
    let responder = Responder::default().start().expect("a port on loopback");
    let input = TrialInput { load: BEYOND_ANY, duration: UNPACED };
    let trial = measurer(responder.address()).measure(input).expect("a trial on loopback");
    trial.forwarded as f64 / (UNPACED + GRACE).as_secs_f64()
}

/// One thread sends, this one receives.
fn plain_rate() -> f64 {
    let responder = Responder::default().start().expect("a port on loopback");
    let socket = connected(responder.address());
    let sending = socket.try_clone().expect("a second handle");
    let until = Instant::now() + UNPACED + GRACE;
    let sender = thread::spawn(move || {
        while Instant::now() < until {
            let _ = sending.send(&[0; PAYLOAD]);
        }
    });
    let (mut buffer, mut received) = ([0; PAYLOAD], 0u64);
    while Instant::now() < until || sender.is_finished() {
        match socket.recv(&mut buffer) {
            Ok(_) => received += 1,
            Err(_) if sender.is_finished() => break,
            Err(_) => {}
        }
    }
    sender.join().expect("sending does not panic");
    received as f64 / (UNPACED + GRACE).as_secs_f64()
}

/// How even a paced load was, in microseconds.
struct Pace {
    late_p50: f64,
    late_p99: f64,
    gap_p50: f64,
    gap_p99: f64,
    arrived: f64,
}

impl Pace {
    fn new(lateness: &Histogram, arrivals: &[Instant]) -> Self {
        let gaps: Vec<f64> = arrivals
            .windows(2)
            .map(|ends| ends[1].duration_since(ends[0]).abs_diff(IDT).as_secs_f64() * 1e6)
            .collect();
        let late = |q| lateness.quantile(q).expect("thousands left") as f64 / 1e3;
        let gap = |q| quantile(&gaps, q).expect("thousands arrived");
        let arrived = arrivals.len() as f64;
        Self { late_p50: late(0.5), late_p99: late(0.99), gap_p50: gap(0.5), gap_p99: gap(0.99), arrived }
    }
}

fn our_pace() -> Pace {
    let target = TimedEcho::start();
    let load = Rate::pps(f64::from(PACKETS) / PACED.as_secs_f64()).expect("legal");
    let input = TrialInput { load, duration: PACED };
    let trial = measurer(target.address).measure(input).expect("a trial on loopback");
    Pace::new(&trial.lateness.histogram.expect("packets left"), &target.stop())
}

/// Sleeps until each packet is due, from its index, and sends it.
fn plain_pace() -> Pace {
    let target = TimedEcho::start();
    let socket = connected(target.address);
    let receiving = socket.try_clone().expect("a second handle");
    let received = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicBool::new(false));
    let receiver = thread::spawn({
        let (received, done) = (Arc::clone(&received), Arc::clone(&done));
        move || {
            let mut buffer = [0; PAYLOAD];
            while !done.load(Ordering::Relaxed) {
                received.fetch_add(u64::from(receiving.recv(&mut buffer).is_ok()), Ordering::Relaxed);
            }
        }
    });
    let mut lateness = Histogram::new();
    let begun = Instant::now();
    for packet in 0..PACKETS {
        let due = begun + IDT * packet;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        lateness.record(Instant::now().saturating_duration_since(due).as_nanos() as u64);
        let _ = socket.send(&[0; PAYLOAD]);
    }
    done.store(true, Ordering::Relaxed);
    receiver.join().expect("receiving does not panic");
    Pace::new(&lateness, &target.stop())
}

/// A socket that gives up waiting soon, so that whoever waits sees the end.
fn connected(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port on loopback");
    socket.connect(address).expect("loopback is there");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time above zero");
    socket
}

/// A target that echoes packet by packet and notes when each arrived.
struct TimedEcho {
    address: SocketAddr,
    closed: Arc<AtomicBool>,
    thread: thread::JoinHandle<Vec<Instant>>,
}

impl TimedEcho {
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port on loopback");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time above zero");
        let address = socket.local_addr().expect("it is bound");
        let closed = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let closed = Arc::clone(&closed);
            move || {
                let (mut buffer, mut arrivals) = ([0; PAYLOAD], Vec::with_capacity(PACKETS as usize));
                while !closed.load(Ordering::Relaxed) {
                    if let Ok((length, source)) = socket.recv_from(&mut buffer) {
                        arrivals.push(Instant::now());
                        let _ = socket.send_to(&buffer[..length], source);
                    }
                }
                arrivals
            }
        });
        Self { address, closed, thread }
    }

    fn stop(self) -> Vec<Instant> {
        self.closed.store(true, Ordering::Relaxed);
        self.thread.join().expect("an echo does not panic")
    }
}
