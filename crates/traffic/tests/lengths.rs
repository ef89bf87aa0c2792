//! Packets that are longer than something on their way carries in one piece are told with both numbers, whether they go in
//! fragments or are dropped. Needs root and iproute2: without them the tests are skipped, and fail where `CI` is `true`.
#![cfg(all(target_os = "linux", not(feature = "portable")))]

use dropline_lab::{Bridged, Namespace, Pair, built_or_skipped as built};
use dropline_traffic::{
    MeasurerOptions, Reply, Responder, RunningResponder, UdpError, UdpMeasurer, UdpTarget, probe,
};
use dropline_trial::{Caveat, Drain, Measurer as _, Packet, Rate, TrafficProfile, Trial, TrialInput};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn serve(namespace: &Namespace, address: Ipv4Addr) -> RunningResponder {
    let listen = SocketAddr::from((address, 7007));
    namespace.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap()
}

/// A trial of packets with so much payload.
fn offer(client: &Namespace, address: Ipv4Addr, payload: u32) -> Result<Trial, UdpError> {
    let target = UdpTarget { address: (address, 7007).into(), reply: Reply::Echo };
    let drain = Drain { longest: Duration::from_millis(300), ..Drain::default() };
    let packet = Packet::of_payload(payload).unwrap();
    let profile = TrafficProfile { drain, packet, ..TrafficProfile::default() };
    let input = TrialInput { load: Rate::pps(500.0).unwrap(), duration: Duration::from_millis(200) };
    let measure = || {
        let asked = probe(target, &profile, &AtomicBool::new(false))?;
        assert!(asked.round_trip_ns.is_some());
        let options = MeasurerOptions::default();
        UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input)
    };
    client.run(measure).unwrap()
}

fn said(trial: &Trial) -> Option<(u32, u32, String)> {
    trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::PacketTooLong { packet_bytes, mtu, interface } => {
            Some((*packet_bytes, *mtu, interface.clone()))
        }
        _ => None,
    })
}

#[test]
fn packets_that_go_in_fragments_are_told_with_what_their_way_carries() {
    let Some(lab) = built(Pair::new()) else { return };
    let (to, own) = (lab.target_address, Ipv4Addr::LOCALHOST);
    let (_there, _here) = (serve(&lab.target, to), serve(&lab.client, own));
    for (address, payload) in [(to, 1_472), (own, 65_507)] {
        assert_eq!(said(&offer(&lab.client, address, payload).unwrap()), None, "what a way carries");
    }
    let over = offer(&lab.client, to, 1_473).unwrap();
    assert_eq!((over.lost(), said(&over).map(|(bytes, mtu, _)| (bytes, mtu))), (0, Some((1_501, 1_500))));
    assert!(!over.is_invalid(), "{:?}", over.caveats);
    let mtu =
        |device: &str, bytes: &str| lab.client.ip(&["link", "set", "dev", device, "mtu", bytes]).unwrap();
    // What one end sends in one piece the other must take.
    lab.target.ip(&["link", "set", "dev", Pair::FAR, "mtu", "1000"]).unwrap();
    for (device, address) in [("lo", own), (Pair::NEAR, to)] {
        mtu(device, "1000");
        let (bytes, carries, name) = said(&offer(&lab.client, address, 1_400).unwrap()).unwrap();
        assert_eq!((bytes, carries), (1_428, 1_000));
        assert!(name.contains(&format!("interface {device} of")), "{name}");
        assert_eq!(said(&offer(&lab.client, address, 900).unwrap()), None, "{device}");
    }
    lab.client.ip(&["route", "replace", "10.9.0.2/32", "dev", Pair::NEAR, "mtu", "800"]).unwrap();
    let by_route = said(&offer(&lab.client, to, 900).unwrap());
    assert_eq!(by_route, Some((928, 800, "the route to 10.9.0.2".into())));
}

#[test]
fn packets_that_a_link_of_the_way_drops_for_their_length_are_told_with_what_it_carries() {
    let Some(lab) = built(Bridged::new()) else { return };
    let _there = serve(&lab.target, lab.target_address);
    lab.bridge.ip(&["link", "set", "dev", Bridged::TO_TARGET, "mtu", "900"]).unwrap();
    let why = offer(&lab.client, lab.target_address, 1_000).unwrap_err();
    assert!(matches!(&why, UdpError::TooLong { payload: 1_000, link: Some((_, 900)), .. }), "{why}");
    let words = why.to_string();
    assert!(words.contains("900 B") && words.contains(lab.bridge.name()), "{words}");
    assert_eq!(said(&offer(&lab.client, lab.target_address, 800).unwrap()), None);
}
