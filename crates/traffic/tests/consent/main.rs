//! Consent is of the way that packets take, not of the address alone: what would leave this machine does not.
//! Needs root, iproute2 and nftables: without them the tests are skipped, and fail where `CI` is `true`.
#![cfg(target_os = "linux")]

use dropline_lab::{Bridged, End, Namespace, Pair, built_or_skipped as built, connect};
use dropline_traffic::{
    ClientPace, ClientPlan, ClientReply, Detour, Leash, MeasurerOptions, NoLeash, Reply, Responder,
    RunningResponder, Seat, Sources, UdpError, UdpMeasurer, UdpTarget, Whereabouts, probe,
};
use dropline_trial::{Drain, Measurer as _, Part, Rate, Think, TrafficProfile, Trial, TrialInput};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

mod addresses;
mod changes;
mod copies;
mod hops;
mod leaving;
mod published;
mod rules;
mod tracked;
mod translations;

const PORT: u16 = 7007;
/// A neighbour that is asked for again.
const OTHERS: u64 = 4;

fn serve(namespace: &Namespace, address: Ipv4Addr) -> RunningResponder {
    let listen = SocketAddr::from((address, PORT));
    namespace.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap()
}

/// A hundred packets, as any trial would send them.
fn offer(namespace: &Namespace, address: Ipv4Addr) -> Result<Trial, UdpError> {
    let target = UdpTarget { address: (address, PORT).into(), reply: Reply::Echo };
    let drain =
        Drain { longest: Duration::from_secs(5), quiet: Some(Duration::from_secs(2)), ..Drain::default() };
    let profile = TrafficProfile { drain, ..TrafficProfile::default() };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(100) };
    let options = MeasurerOptions::default();
    let measure = || UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input);
    namespace.run(measure).unwrap()
}

/// Waits until a trial is under way: some packets came to its target since it had `before`.
fn wait_for_some(served: &RunningResponder, before: u64) {
    let until = Instant::now() + Duration::from_secs(10);
    while served.counts().received < before + 50 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A packet of a program that asks nobody must arrive: else the rule that leads it away does not work.
fn assert_leads_away(namespace: &Namespace, address: Ipv4Addr, to: &RunningResponder) {
    let before = to.counts().received;
    let until = Instant::now() + Duration::from_secs(10);
    while to.counts().received == before {
        assert!(Instant::now() < until, "what is sent to {address} is not led away");
        // A rule may be of some ports, or of one in three.
        let socket = namespace.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
        let _ = socket.send_to(b"?", (address, PORT));
        std::thread::sleep(Duration::from_millis(10));
    }
    // All of them are counted before anything else is.
    std::thread::sleep(Duration::from_millis(100));
}

fn whereabouts(namespace: &Namespace, address: &str) -> Whereabouts {
    let address: IpAddr = address.parse().unwrap();
    namespace.run(|| Whereabouts::of(address)).unwrap()
}

/// Packets that left by the interface towards the other namespace.
fn left(namespace: &Namespace) -> u64 {
    let devices = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let devices = namespace.run(devices).unwrap();
    let near = devices.lines().find_map(|line| line.trim().strip_prefix("near:")).unwrap();
    near.split_whitespace().nth(9).unwrap().parse().unwrap()
}

/// The same, once nothing more follows from what was sent before: answers, and errors to answers that nobody waits for.
fn left_at_rest(namespace: &Namespace) -> u64 {
    let (mut last, mut looks_alike) = (left(namespace), 0);
    while looks_alike < 5 {
        std::thread::sleep(Duration::from_millis(50));
        let now = left(namespace);
        looks_alike = if now == last { looks_alike + 1 } else { 0 };
        last = now;
    }
    last
}

/// The address of that host.
const STRANGER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 9);

/// Another host on the bridge that client and target are joined by.
fn stranger_beside(lab: &Bridged) -> Option<Namespace> {
    let stranger = built(Namespace::new("stranger"))?;
    connect(
        End { namespace: &stranger, device: Pair::NEAR, address: Some("10.9.0.9/24") },
        End { namespace: &lab.bridge, device: "to-stranger", address: None },
    )
    .unwrap();
    lab.bridge.ip(&["link", "set", "dev", "to-stranger", "master", "bridge"]).unwrap();
    Some(stranger)
}

/// UDP datagrams that a namespace's IP layer was given for others, or for itself.
fn got(namespace: &Namespace) -> u64 {
    let tables = || std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let tables = namespace.run(tables).unwrap();
    let counts = tables.lines().filter(|line| line.starts_with("Ip:")).nth(1).unwrap();
    counts.split_whitespace().nth(3).unwrap().parse().unwrap()
}

/// A hundred packets are offered, refused in these words, and none arrives at the stranger.
fn assert_refused(client: &Namespace, address: Ipv4Addr, stranger: &Namespace, words: &str, what: &str) {
    let before = got(stranger);
    let why = offer(client, address).unwrap_err();
    let is_refused = matches!(&why, UdpError::NoLeash { why: NoLeash::Diverted { .. }, .. });
    assert!(is_refused && why.to_string().contains(words), "{what}: {why}");
    assert_eq!(got(stranger), before, "{what}");
}

/// As [`offer`], from eight ports in a row.
fn offer_from(first_port: u16, namespace: &Namespace, address: Ipv4Addr) -> Result<Trial, UdpError> {
    offer_for(Duration::from_millis(100), first_port, namespace, address)
}

/// The same for so long: what keeps a generator waiting leaves time for some packets all the same.
fn offer_for(
    duration: Duration,
    first_port: u16,
    namespace: &Namespace,
    address: Ipv4Addr,
) -> Result<Trial, UdpError> {
    let target = UdpTarget { address: (address, PORT).into(), reply: Reply::Echo };
    let drain =
        Drain { longest: Duration::from_secs(5), quiet: Some(Duration::from_secs(2)), ..Drain::default() };
    let streams = (0..8).map(|number| Part { name: number.to_string(), share: 1 }).collect();
    let profile = TrafficProfile { drain, streams, ..TrafficProfile::default() };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration };
    let sources = Sources { first_port: Some(first_port), ..Sources::default() };
    let options = MeasurerOptions { sources, ..MeasurerOptions::default() };
    let measure = || UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input);
    namespace.run(measure).unwrap()
}
