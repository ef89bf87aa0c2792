//! Targets in another network namespace of this machine. Needs root and iproute2: without them the tests
//! are skipped, and fail where `CI` is `true`.
#![allow(clippy::disallowed_methods)]
#![cfg(all(target_os = "linux", not(feature = "portable")))]

use dropline_lab::{Namespace, Pair, Start, StartedTarget, built_or_skipped};
use dropline_traffic::{
    Means, MeasurerOptions, Reply, Responder, SendMeans, UdpMeasurer, UdpTarget, Whereabouts,
};
use dropline_trial::{Caveat, Measurer as _, Rate, TrafficProfile, Trial, TrialInput};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn a_target_in_another_namespace_is_on_this_machine_as_long_as_the_namespace_is() {
    let inside = address(1, 2);
    assert_eq!(Whereabouts::of(IpAddr::from(inside)), Whereabouts::Elsewhere);
    let Some(namespace) = Reached::new(1, "veth") else { return };
    assert_eq!(Whereabouts::of(IpAddr::from(inside)), Whereabouts::OtherNamespace { net: None });
    assert_eq!(Whereabouts::of(IpAddr::from(address(1, 1))), Whereabouts::Here);
    assert_eq!(
        Whereabouts::of(IpAddr::from(address(1, 3))),
        Whereabouts::Elsewhere,
        "nobody's, same network"
    );
    let (_target, address) = namespace.start("serves");
    let here = Whereabouts::of(IpAddr::from(inside));
    assert!(matches!(here, Whereabouts::OtherNamespace { net: Some(_) }), "{here:?}");
    let trial = measure(UdpTarget { address, reply: Reply::Echo }, 1_000.0);
    assert!(trial.offered > 0);
    assert_eq!(trial.forwarded, trial.offered);
}

#[test]
fn an_address_behind_a_tunnel_is_elsewhere_whoever_else_holds_it() {
    // The namespace holds the address too, but packets to it would leave through the other interface.
    let Some(_namespace) = Reached::new(2, "vxlan") else { return };
    assert_eq!(Whereabouts::of(IpAddr::from(address(2, 2))), Whereabouts::Elsewhere);
}

#[test]
fn what_the_sending_queue_refuses_was_not_offered() {
    let Some(namespace) = Reached::new(3, "veth") else { return };
    let (_target, address) = namespace.start("serves");
    let near = namespace.near.as_str();
    run(
        "tc",
        &["qdisc", "add", "dev", near, "root", "tbf", "rate", "500kbit", "burst", "2kb", "limit", "3kb"],
    );
    let trial = measure(UdpTarget { address, reply: Reply::Echo }, 5_000.0);
    let refused = *trial.refused.get("ENOBUFS").unwrap_or_else(|| panic!("{trial:?}"));
    assert!(refused > 0);
    assert!(trial.offered > 0 && Some(trial.offered + refused) <= trial.intended);
    assert_eq!((trial.forwarded, trial.lost()), (trial.offered, 0), "the target lost nothing");
    let named = format!("tc -s qdisc show dev {near}");
    assert!(matches!(trial.caveats[0], Caveat::GeneratorLimited { .. }));
    assert!(trial.caveats[0].to_string().contains(&named), "the queue, and not a CPU: {}", trial.caveats[0]);
}

#[test]
fn a_strange_socket_in_another_namespace_is_counted_from_outside() {
    let Some(namespace) = Reached::new(4, "veth") else { return };
    let (_target, address) = namespace.start("listens");
    let trial = measure(UdpTarget { address, reply: Reply::None }, 1_000.0);
    assert!(trial.offered > 0);
    assert_eq!(trial.forwarded, trial.offered);
    assert!(trial.caveats.iter().any(|caveat| caveat.code() == "counted_at_socket"));
}

#[test]
fn frames_of_our_own_arrive_as_any_packets_and_are_counted_as_such() {
    let Some(namespace) = Reached::new(5, "veth") else { return };
    let (_inside, address) = namespace.start("serves");
    let target = UdpTarget { address, reply: Reply::Echo };
    let profile = TrafficProfile { streams: dropline_trial::Part::equal(3), ..TrafficProfile::default() };
    let measurer = |send| {
        let means = Means { send, ..Means::default() };
        let options = MeasurerOptions { means, ..MeasurerOptions::default() };
        UdpMeasurer::new(target, profile.clone(), options, 1, Arc::default(), None).unwrap()
    };
    let input = TrialInput { load: Rate::pps(2_000.0).unwrap(), duration: Duration::from_millis(200) };
    // Nothing was sent there yet: the neighbour's hardware address is not known.
    assert!(measurer(SendMeans::Packet).measure(input).is_err());
    measurer(SendMeans::Sendmmsg).measure(input).unwrap();
    let mut framing = measurer(SendMeans::Packet);
    assert!(framing.means().unwrap().contains("packet"));
    let trial = framing.measure(input).unwrap();
    assert!(trial.offered > 0);
    assert_eq!((trial.forwarded, trial.lost()), (trial.offered, 0));
}

#[test]
fn frames_to_loopback_are_refused_because_it_is_not_ethernet() {
    let Some(namespace) = built_or_skipped(Namespace::new("lo-frames")) else { return };
    namespace.ip(&["link", "set", "dev", "lo", "up"]).unwrap();
    let responder = namespace.run(|| Responder::default().start()).unwrap().unwrap();
    let target = UdpTarget { address: responder.address(), reply: Reply::Echo };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(100) };
    let measured = namespace.run(|| {
        let means = Means { send: SendMeans::Packet, ..Means::default() };
        let options = MeasurerOptions { means, ..MeasurerOptions::default() };
        UdpMeasurer::new(target, TrafficProfile::default(), options, 1, Arc::default(), None)?.measure(input)
    });
    let why = measured.unwrap().unwrap_err().to_string();
    assert!(why.contains("an interface that is not Ethernet (loopback"), "{why}");
}

#[test]
fn an_interface_that_goes_down_during_a_trial_is_said_and_is_not_the_targets_loss() {
    // Both ends are in namespaces: without the interface there is no other way out.
    let Some(pair) = built_or_skipped(Pair::new()) else { return };
    let listen = SocketAddr::from((pair.target_address, 7007));
    let responder =
        pair.target.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap();
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_secs(2) };
    let target = UdpTarget { address: responder.address(), reply: Reply::Echo };
    let options = MeasurerOptions::default();
    let trial = std::thread::scope(|scope| {
        scope.spawn(|| {
            let until = Instant::now() + Duration::from_secs(10);
            while responder.counts().received < 100 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            pair.client.ip(&["link", "set", "dev", Pair::NEAR, "down"]).unwrap();
        });
        let profile = TrafficProfile::default();
        let measure = || UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input);
        pair.client.run(measure).unwrap().unwrap()
    });
    let refused: u64 = trial.refused.values().sum();
    assert!(refused > 100, "{trial:?}");
    assert!(is_of_a_link(&trial), "{:?}", trial.caveats);
    assert!(trial.forwarded > 0 && trial.offered + refused <= trial.intended.unwrap());
}

/// Whether what was not offered is laid to a link that was down, and the target is not said to have gone.
fn is_of_a_link(trial: &Trial) -> bool {
    let is = |caveat: &Caveat| matches!(caveat, Caveat::GeneratorLimited { error: Some(error), .. } if error == "link_down");
    trial.caveats.iter().any(is) && trial.is_invalid() && !trial.target_went_away()
}

#[test]
fn loopback_that_is_down_for_a_while_during_a_trial_is_said_and_is_nobodys_loss() {
    let Some(namespace) = built_or_skipped(Namespace::new("lo")) else { return };
    let switch = |to| namespace.ip(&["link", "set", "dev", "lo", to]).unwrap();
    switch("up");
    let responder = namespace.run(|| Responder::default().start()).unwrap().unwrap();
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_secs(2) };
    let target = UdpTarget { address: responder.address(), reply: Reply::Echo };
    let trial = std::thread::scope(|scope| {
        scope.spawn(|| {
            let until = Instant::now() + Duration::from_secs(10);
            while responder.counts().received < 100 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            switch("down");
            std::thread::sleep(Duration::from_millis(300));
            switch("up");
        });
        let (profile, options) = (TrafficProfile::default(), MeasurerOptions::default());
        let measure = || UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input);
        namespace.run(measure).unwrap().unwrap()
    });
    let down = Caveat::LinkDown { interface: "lo".into() };
    assert!(trial.caveats.contains(&down), "{:?} {:?}", trial.caveats, trial.lost_at);
    let places = trial.lost_at.as_ref().unwrap();
    assert_eq!(places.values().sum::<u64>(), trial.lost(), "{places:?}");
    // What was under way just then was counted nowhere: that is one packet, or its reply, at a thousand a second.
    assert!(places["unexplained"] <= (trial.lost() / 5).max(1), "{places:?}");
    let missing = trial.intended.unwrap() - trial.forwarded;
    assert!(missing > 0, "packets were not offered, or lost: {places:?} {:?}", trial.refused);
    let is_offered = Some(trial.offered) == trial.intended;
    assert!(is_offered || is_of_a_link(&trial), "{:?}", trial.caveats);
    assert!(trial.is_void_at(dropline_trial::Ratio::ZERO), "it is no evidence: {places:?}");
}

#[test]
fn a_link_that_is_down_for_a_while_is_not_called_a_full_queue() {
    let Some(pair) = built_or_skipped(Pair::new()) else { return };
    let listen = SocketAddr::from((pair.target_address, 7007));
    let responder =
        pair.target.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap();
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_secs(2) };
    let target = UdpTarget { address: responder.address(), reply: Reply::Echo };
    // Each end is switched off: the other one's link is down then too.
    for (namespace, device) in [(&pair.target, Pair::FAR), (&pair.client, Pair::NEAR)] {
        let before = responder.counts().received;
        let trial = std::thread::scope(|scope| {
            scope.spawn(|| {
                let until = Instant::now() + Duration::from_secs(10);
                while responder.counts().received < before + 100 && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(5));
                }
                namespace.ip(&["link", "set", "dev", device, "down"]).unwrap();
                std::thread::sleep(Duration::from_millis(400));
                namespace.ip(&["link", "set", "dev", device, "up"]).unwrap();
            });
            let (profile, options) = (TrafficProfile::default(), MeasurerOptions::default());
            let measure =
                || UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input);
            pair.client.run(measure).unwrap().unwrap()
        });
        assert!(
            trial.caveats.iter().any(|caveat| caveat.code() == "link_down"),
            "{device}: {:?}",
            trial.caveats
        );
        for caveat in &trial.caveats {
            let words = caveat.to_string();
            let says = |false_of: &[&str]| false_of.iter().any(|of| words.contains(of));
            let is_of_a_queue = says(&["ENOBUFS", "queue of"]) && caveat.code() != "loss_doubted";
            // Beside busy neighbours the generator may have waited for a CPU: that is another doubt.
            let is_of_a_cpu = caveat.code() == "generator_limited" && says(&["free a CPU", "find out why"]);
            assert!(!is_of_a_queue && !is_of_a_cpu, "{device}: {words} {:?}", trial.refused);
        }
    }
}

#[test]
fn a_link_that_is_down_between_two_trials_is_waited_for() {
    let Some(namespace) = built_or_skipped(Namespace::new("lo-between")) else { return };
    let switch = |to| namespace.ip(&["link", "set", "dev", "lo", to]).unwrap();
    switch("up");
    let responder = namespace.run(|| Responder::default().start()).unwrap().unwrap();
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(200) };
    let target = UdpTarget { address: responder.address(), reply: Reply::Echo };
    let (profile, options) = (TrafficProfile::default(), MeasurerOptions::default());
    let trials = namespace.run(|| {
        let mut measurer = UdpMeasurer::new(target, profile, options, 1, Arc::default(), None).unwrap();
        let before = measurer.measure(input);
        switch("down");
        let again = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                switch("up");
            });
            measurer.measure(input)
        });
        [before, again].map(|trial| trial.map(|trial| (trial.number, trial.forwarded)))
    });
    let [before, again] = trials.unwrap();
    assert_eq!((before.unwrap(), again.unwrap()), ((1, 200), (2, 200)));
}

fn measure(target: UdpTarget, pps: f64) -> Trial {
    let input = TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_millis(200) };
    let profile = TrafficProfile::default();
    let options = MeasurerOptions::default();
    let mut measurer = UdpMeasurer::new(target, profile, options, 1, Arc::default(), None).unwrap();
    measurer.measure(input).unwrap()
}

/// 10.213.x.y, with an x for each test of each process.
fn address(test: u8, host: u8) -> Ipv4Addr {
    let network = (std::process::id() % 60) as u8 * 4 + test;
    Ipv4Addr::new(10, 213, network, host)
}

/// A namespace that is reached from this one, gone when dropped, and the interface with it.
struct Reached {
    inside: Namespace,
    /// The interface on this side.
    near: String,
    address: Ipv4Addr,
}

impl Reached {
    /// With `veth`, a pair of interfaces leads there; with `vxlan`, the way to its address is a tunnel to elsewhere.
    fn new(test: u8, interface: &str) -> Option<Self> {
        let inside = built_or_skipped(Namespace::new("reached"))?;
        let near = format!("dl{}n{test}", std::process::id() % 100_000);
        let reached = Self { inside, near, address: address(test, 2) };
        let (outside, within) = (format!("{}/30", address(test, 1)), format!("{}/30", reached.address));
        let (near, inside) = (reached.near.as_str(), &reached.inside);
        if interface == "veth" {
            run("ip", &["link", "add", near, "type", "veth", "peer", "name", "far", "netns", inside.name()]);
            inside.ip(&["addr", "add", &within, "dev", "far"]).unwrap();
            inside.ip(&["link", "set", "far", "up"]).unwrap();
        } else {
            let tunnel = ["type", interface, "id", "213", "dstport", "4789", "local", "127.0.0.1"];
            run("ip", &[&["link", "add", near], &tunnel[..]].concat());
            inside.ip(&["addr", "add", &within, "dev", "lo"]).unwrap();
            inside.ip(&["link", "set", "lo", "up"]).unwrap();
        }
        run("ip", &["addr", "add", &outside, "dev", near]);
        run("ip", &["link", "set", near, "up"]);
        Some(reached)
    }

    /// Starts a part of `parts/program.rs` inside.
    fn start(&self, part: &str) -> (StartedTarget, SocketAddr) {
        let listen = format!("{}:0", self.address);
        let start = Start::new([env!("CARGO_BIN_EXE_dropline-traffic-parts"), part, &listen]);
        let started = start.start(Some(&self.inside)).unwrap();
        let says = |line: &str| line.strip_prefix("listening at ")?.parse().ok();
        let address = started.wait_for(Duration::from_secs(60), says).unwrap();
        (started, address)
    }
}

impl Drop for Reached {
    fn drop(&mut self) {
        // Of a tunnel no end goes with the namespace.
        let _ = Command::new("ip").args(["link", "del", &self.near]).stderr(Stdio::null()).status();
    }
}

fn run(program: &str, words: &[&str]) {
    let ended = Command::new(program).args(words).output().unwrap();
    assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
}
