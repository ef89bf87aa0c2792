//! Every way to move packets accounts for every packet.

use crate::{echo, input, profile, undisturbed_trial};
use dropline_traffic::round_trips::round_trips;
use dropline_traffic::{
    Means, MeasurerOptions, ReceiveMeans, Responder, SendMeans, Sources, UdpError, UdpMeasurer, UdpTarget,
};
use dropline_trial::{Measurer as _, Packet, PacketTimes, Part, TrafficProfile, Trial, TrialInput};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn measure(
    target: UdpTarget,
    streams: u32,
    options: MeasurerOptions,
    input: TrialInput,
) -> Result<(Trial, Option<PacketTimes>), UdpError> {
    let profile = TrafficProfile { streams: Part::equal(streams), ..profile() };
    let mut measurer = UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?;
    let trial = measurer.measure(input)?;
    let packets = measurer.take_packets();
    Ok((trial, packets))
}

#[test]
fn however_packets_are_sent_and_received_each_is_counted_once() {
    for send in [SendMeans::Auto, SendMeans::Send, SendMeans::Sendmmsg, SendMeans::Gso] {
        for receive in [ReceiveMeans::Block, ReceiveMeans::Spin, ReceiveMeans::Gro] {
            // Trains that stay together are asked for where the system has none.
            if receive == ReceiveMeans::Gro && cfg!(any(not(target_os = "linux"), feature = "portable")) {
                continue;
            }
            let trial = undisturbed_trial(|| {
                let responder = Responder { receive, ..Responder::default() }.start().unwrap();
                let means = Means { send, receive, ..Means::default() };
                let options = MeasurerOptions { means, ..MeasurerOptions::default() };
                measure(echo(responder.address()), 2, options, input(20_000.0, 50)).map(|(trial, _)| trial)
            });
            assert_eq!(trial.offered, 1_000, "{send} {receive}");
            assert_eq!((trial.forwarded, trial.duplicated), (1_000, Some(0)), "{send} {receive}");
            assert_eq!(trial.delay.histogram.unwrap().count(), 1_000);
            let kept = trial.kept.unwrap();
            assert_eq!(kept.left.unwrap().packets, 1_000);
            assert_eq!(kept.arrived.unwrap().packets, 1_000);
        }
    }
}

#[test]
fn senders_and_receivers_share_the_streams_and_nothing_is_lost_between_them() {
    let mut log = None;
    let trial = undisturbed_trial(|| {
        let responder = Responder::default().start().unwrap();
        let means = Means { senders: Some(2), receivers: Some(3), ..Means::default() };
        let options = MeasurerOptions { means, keep_packets: Some(5_000), ..MeasurerOptions::default() };
        let (trial, packets) = measure(echo(responder.address()), 5, options, input(20_000.0, 100))?;
        log = packets;
        Ok(trial)
    });
    assert_eq!((trial.offered, trial.forwarded, trial.lost()), (2_000, 2_000, 0));
    let log = log.unwrap();
    assert_eq!((log.len(), log.left_out()), (2_000, 0));
    for packet in log.iter() {
        assert!(packet.left_ns >= Some(packet.due_ns) && packet.back_ns >= packet.left_ns, "{packet:?}");
    }
    let streams: BTreeSet<u16> = log.iter().map(|packet| packet.stream).collect();
    assert_eq!(streams, BTreeSet::from([0, 1, 2, 3, 4]));
    assert_eq!(trial.kept.unwrap().left.unwrap().packets, 2_000);
}

#[test]
fn a_thread_without_a_stream_is_refused() {
    let responder = Responder::default().start().unwrap();
    for (senders, receivers) in [(0, 1), (3, 1), (1, 3)] {
        let means = Means { senders: Some(senders), receivers: Some(receivers), ..Means::default() };
        let options = MeasurerOptions { means, ..MeasurerOptions::default() };
        let refused = measure(echo(responder.address()), 2, options, input(1_000.0, 10));
        assert!(matches!(refused, Err(UdpError::Threads { .. })));
    }
}

#[test]
fn streams_come_from_the_addresses_they_were_given() {
    let responder = Responder::default().start().unwrap();
    let addresses = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
    let options = MeasurerOptions {
        sources: Sources { addresses: addresses.clone(), first_port: None },
        ..MeasurerOptions::default()
    };
    let profile = TrafficProfile { streams: Part::equal(3), ..profile() };
    let target = echo(responder.address());
    let measurer = UdpMeasurer::new(target, profile, options, 1, Arc::default(), None).unwrap();
    let sources: Vec<_> = measurer.sources().iter().map(std::net::SocketAddr::ip).collect();
    assert_eq!(sources, [addresses[0], addresses[1], addresses[0]]);
}

#[test]
fn streams_go_to_the_targets_they_were_given_and_each_packet_comes_back() {
    use crate::undisturbed;
    use dropline_traffic::Targets;
    let (trials, received) = undisturbed(|| {
        let of = |ip: [u8; 4]| Responder { listen: (ip, 0).into(), ..Responder::default() };
        let first = of([127, 0, 0, 2]).start().unwrap();
        // The same port at another address.
        let port = first.address().port();
        let second =
            Responder { listen: ([127, 0, 0, 3], port).into(), ..Responder::default() }.start().unwrap();
        let addresses = vec![first.address().ip(), second.address().ip()];
        let targets = Targets { addresses, ports: 1 };
        let options = MeasurerOptions { targets, ..MeasurerOptions::default() };
        let profile = TrafficProfile { streams: Part::equal(4), ..profile() };
        let mut measurer =
            UdpMeasurer::new(echo(first.address()), profile, options, 1, Arc::default(), None)?;
        let trial = measurer.measure(input(4_000.0, 100))?;
        Ok((vec![trial], [first.counts().received, second.counts().received]))
    });
    assert_eq!((received, trials[0].lost()), ([trials[0].offered / 2; 2], 0));
    let options =
        MeasurerOptions { targets: Targets { addresses: vec![], ports: 2 }, ..MeasurerOptions::default() };
    let one_way = crate::sink("127.0.0.1:9".parse().unwrap());
    let refused = UdpMeasurer::new(one_way, profile(), options, 1, Arc::default(), None);
    assert!(matches!(refused, Err(UdpError::OneWayTargets)));
}

#[test]
#[cfg(all(target_os = "linux", not(feature = "portable")))]
fn the_kernel_stamps_all_arrivals_and_pairs_of_departures() {
    let trial = undisturbed_trial(|| {
        let responder = Responder::default().start().unwrap();
        measure(echo(responder.address()), 1, MeasurerOptions::default(), input(10_000.0, 500))
            .map(|(trial, _)| trial)
    });
    assert_eq!(trial.stamp, Some(dropline_trial::Stamp::Kernel));
    let kept = trial.kept.unwrap();
    assert_eq!(kept.arrived.unwrap().stamp, dropline_trial::Stamp::Kernel);
    // Kernels before 6.13 do not take numbers for departures.
    if let Some(sampled) = kept.sampled_lateness {
        assert!((10..1_000).contains(&sampled.packets), "a sample: {}", sampled.packets);
        assert!(sampled.p50_ns.unwrap() > 0, "it leaves after it is handed over");
    }
}

#[test]
#[cfg(all(target_os = "linux", not(feature = "portable")))]
fn a_clock_that_is_set_during_a_trial_moves_no_delay() {
    let step = |by_ns: Option<i64>| {
        undisturbed_trial(|| {
            let responder = Responder::default().start().unwrap();
            let at = Duration::from_millis(100);
            let clock_step = by_ns.map(|by_ns| dropline_traffic::ClockStep { at, by_ns });
            let options = MeasurerOptions { clock_step, ..MeasurerOptions::default() };
            measure(echo(responder.address()), 1, options, input(10_000.0, 200)).map(|(trial, _)| trial)
        })
    };
    for by_ns in [None, Some(-3_600_000_000_000), Some(3_600_000_000_000)] {
        let trial = step(by_ns);
        assert_eq!((trial.forwarded, trial.lost()), (2_000, 0));
        let delay = trial.delay.histogram.unwrap();
        assert_eq!(delay.count(), 2_000);
        assert!(delay.max().unwrap() < 10_000_000_000, "not an hour");
        let codes: Vec<&str> = trial.caveats.iter().map(dropline_trial::Caveat::code).collect();
        assert_eq!(codes.contains(&"clock_stepped"), by_ns.is_some(), "{codes:?}");
    }
}

#[test]
fn a_request_at_a_time_is_answered_a_request_at_a_time() {
    let responder = Responder::default().start().unwrap();
    let packet = Packet::of_payload(64).unwrap();
    let stop = AtomicBool::new(false);
    for receive in [ReceiveMeans::Block, ReceiveMeans::Spin] {
        let time = Duration::from_millis(30);
        let done = round_trips(responder.address(), packet, time, receive, None, &stop).unwrap();
        assert!(done.requests > 0);
        assert_eq!((done.answered, done.delay.count()), (done.requests, done.requests));
    }
}

#[test]
#[cfg(all(target_os = "linux", not(feature = "portable")))]
fn a_tap_sees_every_datagram_of_a_trial_with_its_stamp_trains_too() {
    use crate::{sink, undisturbed};
    use dropline_traffic::tap::Tap;
    let (trials, seen) = undisturbed(|| {
        let responder = Responder::default().start().unwrap();
        let mut tap = match Tap::open(Some("lo"), responder.address().port(), 64 << 20) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok((vec![], None)),
            tap => tap.unwrap(),
        };
        let means = Means { send: SendMeans::Gso, ..Means::default() };
        let options = MeasurerOptions { means, ..MeasurerOptions::default() };
        let (trial, _) = measure(sink(responder.address()), 1, options, input(100_000.0, 50))?;
        let (mut datagrams, mut stamped) = (0, 0);
        while tap
            .receive(Duration::from_millis(50), |tapped| {
                // Count queries go there too; they are shorter.
                if tapped.payload_bytes == 64 {
                    datagrams += u64::from(tapped.datagrams);
                    stamped += u64::from(tapped.datagrams) * u64::from(tapped.stamp_ns.is_some());
                }
            })
            .unwrap()
            > 0
        {}
        Ok((vec![trial], Some((datagrams, stamped, tap.missed()))))
    });
    let Some((datagrams, stamped, missed)) = seen else { return };
    assert_eq!((datagrams, stamped, missed), (trials[0].offered, datagrams, Some(0)));
}
