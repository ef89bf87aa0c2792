//! Interfaces on top of others (macvlan and its like) on the way: what takes packets that are for others is refused where it
//! is another's, and all else is accepted. Needs root and iproute2: without them the tests are skipped, and fail where `CI` is
//! `true`.
#![cfg(all(target_os = "linux", not(feature = "portable")))]

use dropline_lab::{LabError, Namespace, Pair, built_or_skipped as built};
use dropline_traffic::{
    MeasurerOptions, NoLeash, Reply, Responder, RunningResponder, UdpError, UdpMeasurer, UdpTarget,
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

fn offer(client: &Namespace, address: Ipv4Addr) -> Result<Trial, UdpError> {
    let target = UdpTarget { address: (address, PORT).into(), reply: Reply::Echo };
    let drain = Drain { longest: Duration::from_secs(5), ..Drain::default() };
    let profile = TrafficProfile { drain, ..TrafficProfile::default() };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(50) };
    let options = MeasurerOptions::default();
    let measure = || UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input);
    client.run(measure).unwrap()
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

#[test]
fn what_takes_packets_for_others_on_the_way_is_refused_and_what_takes_its_own_is_not() {
    let Some(lab) = built(Pair::new()) else { return };
    let Some(stranger) = built(Namespace::new("stranger")) else { return };
    let _there = serve(&lab.target, lab.target_address);
    assert!(offer(&lab.client, lab.target_address).is_ok());
    let ours = hardware(&lab.client, Pair::NEAR);
    let other = "02:00:5e:10:00:01";
    let far = (&lab.target, Pair::FAR);
    for (kind, mode, sources, to, is_refused) in [
        ("macvlan", "source", &[ours.as_str()][..], &stranger, true),
        ("macvlan", "source", &[other, ours.as_str()], &stranger, true),
        ("macvtap", "source", &[ours.as_str()], &stranger, true),
        ("macvtap", "source", &[ours.as_str()], &lab.target, true),
        ("macvlan", "passthru", &[], &stranger, true),
        ("macvtap", "passthru", &[], &lab.target, true),
        ("macvlan", "source", &[], &stranger, false),
        ("macvlan", "source", &[other], &stranger, false),
        ("macvlan", "source", &[ours.as_str()], &lab.target, false),
        ("macvlan", "bridge", &[], &stranger, false),
        ("macvlan", "private", &[], &stranger, false),
        ("macvlan", "vepa", &[], &stranger, false),
        ("ipvlan", "l2", &[], &stranger, false),
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
            (true, Err(why @ UdpError::NoLeash { why: NoLeash::Diverted { .. }, .. })) => {
                let words = why.to_string();
                assert!(
                    words.contains(&format!("interface {TOP} in network namespace {}", to.name())),
                    "{words}"
                );
            }
            _ => panic!("{what}: {offered:?}"),
        }
        to.ip(&["link", "del", "dev", TOP]).unwrap();
    }
    // The same of replies, where the client's end is below.
    let theirs = hardware(&lab.target, Pair::FAR);
    on_top((&lab.client, Pair::NEAR), "macvlan", "source", &[&theirs], &stranger).unwrap();
    let why = offer(&lab.client, lab.target_address).unwrap_err();
    assert!(why.to_string().contains(&format!("interface {TOP} in")), "{why}");
    stranger.ip(&["link", "del", "dev", TOP]).unwrap();
    assert!(offer(&lab.client, lab.target_address).is_ok());
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
