//! Interfaces on top of others (macvlan and its like) on the way: where anybody but both ends may get packets by them, none is
//! sent. Needs root and iproute2: without them the tests are skipped, and fail where `CI` is
//! `true`.
#![allow(clippy::disallowed_methods)]
#![cfg(all(target_os = "linux", not(feature = "portable")))]

use dropline_lab::{LabError, Namespace, Pair, built_or_skipped as built};
use dropline_traffic::{
    Detour, MeasurerOptions, NoLeash, Reply, Responder, RunningResponder, UdpError, UdpMeasurer, UdpTarget,
};
use dropline_trial::{Drain, Measurer as _, Rate, TrafficProfile, Trial, TrialInput};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

const PORT: u16 = 7007;
const TOP: &str = "top";

fn serve(namespace: &Namespace, address: Ipv4Addr) -> RunningResponder {
    let listen = SocketAddr::from((address, PORT));
    namespace.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap()
}

fn measurer(address: Ipv4Addr) -> Result<UdpMeasurer, UdpError> {
    let target = UdpTarget { address: (address, PORT).into(), reply: Reply::Echo };
    let drain =
        Drain { longest: Duration::from_secs(5), quiet: Some(Duration::from_secs(1)), ..Drain::default() };
    let profile = TrafficProfile { drain, ..TrafficProfile::default() };
    UdpMeasurer::new(target, profile, MeasurerOptions::default(), 1, Arc::default(), None)
}

fn input() -> TrialInput {
    TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(50) }
}

fn offer(client: &Namespace, address: Ipv4Addr) -> Result<Trial, UdpError> {
    client.run(|| measurer(address)?.measure(input())).unwrap()
}

/// The hardware address of an interface.
fn hardware(namespace: &Namespace, device: &str) -> String {
    let said = namespace.ip(&["-o", "link", "show", "dev", device]).unwrap();
    said.split("link/ether ").nth(1).unwrap().split_whitespace().next().unwrap().into()
}

/// Puts an interface on top of another and gives it to a namespace.
fn on_top(
    of: (&Namespace, &str),
    kind: &str,
    mode: &str,
    sources: &[&str],
    to: &Namespace,
) -> Result<(), LabError> {
    let (below, device) = of;
    below.ip(&["link", "add", "link", device, "name", TOP, "type", kind, "mode", mode])?;
    for source in sources {
        below
            .ip(&["link", "set", "link", "dev", TOP, "type", kind, "macaddr", "add", source])
            .or_else(|_| below.ip(&["link", "set", TOP, "type", kind, "macaddr", "add", source]))?;
    }
    if to.name() != below.name() {
        below.ip(&["link", "set", "dev", TOP, "netns", to.name()])?;
    }
    to.ip(&["link", "set", "dev", TOP, "up"]).map(|_| ())
}

/// No packet is offered, for others may get it where interfaces are on top of another.
fn assert_refused(offered: Result<Trial, UdpError>, other: &str, what: &str) {
    let why = offered.expect_err(what);
    let is_it = matches!(
        &why,
        UdpError::NoLeash { why: NoLeash::Diverted { by: Detour::Stacked { other: named, .. }, .. }, .. }
            if **named == *other
    );
    assert!(is_it, "{what}: {why}");
}

#[test]
fn whoever_else_is_on_top_of_an_interface_of_the_way_is_refused_and_what_is_an_ends_own_is_not() {
    let Some(lab) = built(Pair::new()) else { return };
    let Some(stranger) = built(Namespace::new("stranger")) else { return };
    let _there = serve(&lab.target, lab.target_address);
    assert!(offer(&lab.client, lab.target_address).is_ok());
    let ours = hardware(&lab.client, Pair::NEAR);
    let far = (&lab.target, Pair::FAR);
    for (kind, mode, sources, to, is_refused) in [
        ("macvlan", "source", &[ours.as_str()][..], &stranger, true),
        ("macvlan", "source", &[], &stranger, true),
        ("macvtap", "source", &[ours.as_str()], &stranger, true),
        ("macvtap", "source", &[], &lab.target, true),
        ("macvlan", "passthru", &[], &stranger, true),
        ("macvtap", "passthru", &[], &lab.target, true),
        ("macvlan", "bridge", &[], &stranger, true),
        ("macvlan", "private", &[], &stranger, true),
        ("macvlan", "vepa", &[], &stranger, true),
        ("ipvlan", "l2", &[], &stranger, true),
        ("macvlan", "source", &[ours.as_str()], &lab.target, false),
        ("macvlan", "bridge", &[], &lab.target, false),
    ] {
        let what = format!("{kind} {mode} {} in {}", sources.len(), to.name());
        if let Err(why) = on_top(far, kind, mode, sources, to) {
            eprintln!("left out: {what}: {why}");
            let _ = lab.target.ip(&["link", "del", "dev", TOP]);
            continue;
        }
        let offered = offer(&lab.client, lab.target_address);
        match (is_refused, &offered) {
            (false, Ok(trial)) => assert!(trial.lost() == 0 || trial.is_disturbed(), "{what}"),
            (true, _) => assert_refused(offered, &format!("{TOP} of network namespace {}", to.name()), &what),
            (false, Err(why)) => panic!("{what}: {why}"),
        }
        to.ip(&["link", "del", "dev", TOP]).unwrap();
    }
    // The same of replies, where the client's end is below.
    on_top((&lab.client, Pair::NEAR), "macvlan", "source", &[], &stranger).unwrap();
    let other = format!("{TOP} of network namespace {}", stranger.name());
    assert_refused(offer(&lab.client, lab.target_address), &other, "at the client's end");
    stranger.ip(&["link", "del", "dev", TOP]).unwrap();
    assert!(offer(&lab.client, lab.target_address).is_ok());
}

#[test]
fn ends_on_top_of_an_interface_are_measured_where_it_leads_nowhere_else_and_refused_where_it_does() {
    let Some(host) = built(Namespace::new("host")) else { return };
    let (Some(client), Some(target), Some(stranger)) = (
        built(Namespace::new("top-client")),
        built(Namespace::new("top-target")),
        built(Namespace::new("stranger")),
    ) else {
        return;
    };
    let address = Ipv4Addr::new(10, 9, 0, 22);
    let both_on_top = |below: &str, kind: &str, mode: &str| {
        for (namespace, own) in [(&client, "10.9.0.21/24"), (&target, "10.9.0.22/24")] {
            on_top((&host, below), kind, mode, &[], namespace)?;
            namespace.ip(&["addr", "add", own, "dev", TOP])?;
        }
        Ok::<_, LabError>(serve(&target, address))
    };
    let taken_away = || {
        for namespace in [&client, &target] {
            namespace.ip(&["link", "del", "dev", TOP]).unwrap();
        }
    };
    // A wire that ends at another host, a bridge that has such a port, and what leads nowhere.
    host.ip(&["link", "add", "uplink", "type", "veth", "peer", "name", "wire", "netns", stranger.name()])
        .unwrap();
    host.ip(&[
        "link",
        "add",
        "port",
        "type",
        "veth",
        "peer",
        "name",
        "wire-of-bridge",
        "netns",
        stranger.name(),
    ])
    .unwrap();
    host.ip(&["link", "add", "bridge", "type", "bridge"]).unwrap();
    host.ip(&["link", "set", "dev", "port", "master", "bridge"]).unwrap();
    for device in ["uplink", "port", "bridge"] {
        host.ip(&["link", "set", "dev", device, "up"]).unwrap();
    }
    for device in ["wire", "wire-of-bridge"] {
        stranger.ip(&["link", "set", "dev", device, "up"]).unwrap();
    }
    for (kind, mode) in [("macvlan", "bridge"), ("macvlan", "vepa"), ("ipvlan", "l2")] {
        for (below, other) in [("uplink", ("wire", &stranger)), ("bridge", ("port", &host))] {
            let there = match both_on_top(below, kind, mode) {
                Ok(there) => there,
                Err(why) => {
                    eprintln!("left out: {kind} {mode}: {why}");
                    continue;
                }
            };
            let other = format!("{} of network namespace {}", other.0, other.1.name());
            assert_refused(offer(&client, address), &other, &format!("{kind} {mode} on {below}"));
            assert_eq!(there.counts().received, 0);
            drop(there);
            taken_away();
        }
    }
    if let Err(why) = host.ip(&["link", "add", "nowhere", "type", "dummy"]) {
        return eprintln!("left out: this kernel has no interface that leads nowhere: {why}");
    }
    host.ip(&["link", "set", "dev", "nowhere", "up"]).unwrap();
    let _there = both_on_top("nowhere", "macvlan", "bridge").unwrap();
    let trial = offer(&client, address).unwrap();
    assert!(trial.lost() == 0 || trial.is_disturbed(), "{:?}", trial.caveats);
}

#[test]
fn another_interface_on_top_of_one_of_the_way_that_comes_in_mid_trial_ends_it() {
    let Some(lab) = built(Pair::new()) else { return };
    let Some(stranger) = built(Namespace::new("stranger")) else { return };
    let (client, address) = (&lab.client, lab.target_address);
    let there = serve(&lab.target, address);
    let long = Duration::from_secs(20);
    let (during, after) = std::thread::scope(|scope| {
        let coming = scope.spawn(|| {
            let until = std::time::Instant::now() + long / 2;
            while there.counts().received < 100 && std::time::Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            // It is another namespace's from its first moment on.
            let made = ["link", "add", "link", Pair::FAR, "name", TOP, "netns", stranger.name()];
            lab.target.ip(&[&made[..], &["type", "macvlan", "mode", "source"]].concat()).unwrap();
        });
        client
            .run(|| {
                let mut measurer = measurer(address)?;
                let during =
                    measurer.measure(TrialInput { load: Rate::pps(500.0).unwrap(), duration: long })?;
                coming.join().unwrap();
                Ok::<_, UdpError>((during, measurer.measure(input())))
            })
            .unwrap()
            .unwrap()
    });
    let said = during.caveats.iter().find(|caveat| caveat.code() == "rule_appeared").map(ToString::to_string);
    assert!(said.is_some_and(|said| said.contains("interfaces are on top")), "{:?}", during.caveats);
    assert!(during.duration < long && during.lost_by_target() == 0, "it is ended at once");
    assert_refused(after, &format!("{TOP} of network namespace {}", stranger.name()), "the next trial");
}

#[test]
fn a_target_and_a_client_on_top_of_the_ends_of_a_link_are_measured() {
    let Some(lab) = built(Pair::new()) else { return };
    let (Some(client), Some(target)) =
        (built(Namespace::new("top-client")), built(Namespace::new("top-target")))
    else {
        return;
    };
    let address = Ipv4Addr::new(10, 9, 0, 22);
    for (kind, mode) in [("macvlan", "bridge"), ("macvlan", "passthru"), ("ipvlan", "l2")] {
        for (namespace, below, own) in [
            (&client, (&lab.client, Pair::NEAR), "10.9.0.21/24"),
            (&target, (&lab.target, Pair::FAR), "10.9.0.22/24"),
        ] {
            if let Err(why) = on_top(below, kind, mode, &[], namespace) {
                eprintln!("left out: {kind} {mode}: {why}");
                return;
            }
            namespace.ip(&["addr", "add", own, "dev", TOP]).unwrap();
        }
        let there = serve(&target, address);
        let trial = offer(&client, address).unwrap_or_else(|why| panic!("{kind} {mode}: {why}"));
        assert!(trial.lost() == 0 || trial.is_disturbed(), "{kind} {mode}: {:?}", trial.caveats);
        assert!(there.counts().answered > 0);
        drop(there);
        for namespace in [&client, &target] {
            namespace.ip(&["link", "del", "dev", TOP]).unwrap();
        }
    }
}
