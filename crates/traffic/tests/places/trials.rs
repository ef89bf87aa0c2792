//! Whole trials: the measurer says where.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn trial_of(
    client: &Namespace,
    target: UdpTarget,
    options: &MeasurerOptions,
    pps: f64,
    packets: u64,
) -> Trial {
    let drain = Drain {
        longest: Duration::from_secs(5),
        // However long a busy machine keeps a target from answering.
        quiet: Some(Duration::from_millis(500)),
        rest: Duration::ZERO,
    };
    let packet = Packet::of_payload(PAYLOAD as u32).unwrap();
    let profile = TrafficProfile { packet, drain, ..TrafficProfile::default() };
    let load = Rate::pps(pps).unwrap();
    let input = TrialInput { load, duration: Duration::from_secs_f64(packets as f64 / pps) };
    client
        .run(|| {
            let mut measurer =
                UdpMeasurer::new(target, profile, options.clone(), 1, Arc::default(), None).unwrap();
            measurer.measure(input).unwrap()
        })
        .unwrap()
}

fn responder(
    namespace: &Namespace,
    address: Ipv4Addr,
    more: Responder,
) -> dropline_traffic::RunningResponder {
    let listen = SocketAddr::from((address, PORT));
    namespace.run(|| Responder { listen, ..more }.start().unwrap()).unwrap()
}

pub(super) fn echo(address: Ipv4Addr) -> UdpTarget {
    UdpTarget { address: (address, PORT).into(), reply: Reply::Echo }
}

/// Where packets were lost, but those that came back after the drain, as on a machine that keeps a target waiting.
pub(super) fn lost(trial: &Trial) -> Vec<(&str, u64)> {
    places(trial.lost_at.as_ref().unwrap()).into_iter().filter(|(place, _)| *place != "late").collect()
}

/// How many these are.
fn missing(trial: &Trial) -> u64 {
    lost(trial).iter().map(|(_, packets)| packets).sum()
}

#[test]
fn a_queue_that_refuses_our_sends_loses_nothing_and_one_that_keeps_silent_is_where_they_were_lost() {
    let Some(lab) = built(Pair::new()) else { return };
    let _responder = responder(&lab.target, lab.target_address, Responder::default());
    Bottleneck { rate: "1mbit", burst_bytes: 2_000, limit_bytes: 2_000 }.at(&lab.client, Pair::NEAR).unwrap();
    let means = Means { send: SendMeans::Send, ..Means::default() };
    let options = MeasurerOptions { means, ..MeasurerOptions::default() };
    let trial = trial_of(&lab.client, echo(lab.target_address), &options, 10_000.0, 2_000);
    // What a busy machine leaves no time for is neither.
    assert!(trial.offered + trial.refused.values().sum::<u64>() <= 2_000);
    if cfg!(feature = "portable") {
        // The portable way cannot ask the kernel for the errors.
        assert_eq!(trial.refused.len(), 0);
        assert!(missing(&trial) > 0, "{:?}", trial.lost_at);
        assert_eq!(lost(&trial), [("qdisc", missing(&trial))]);
    } else {
        assert!(trial.refused["ENOBUFS"] > 0, "{:?}", trial.refused);
        assert_eq!((lost(&trial), missing(&trial)), (vec![], 0));
    }
}

/// The portable way cannot ask the kernel for the errors.
#[test]
#[cfg(not(feature = "portable"))]
fn what_a_rule_in_front_of_our_interface_refuses_is_not_told_as_a_full_queue() {
    let Some(lab) = built(Pair::new()) else { return };
    let _responder = responder(&lab.target, lab.target_address, Responder::default());
    let rules = |rule: &str| {
        format!(
            "table netdev dropline {{ chain out {{ type filter hook egress device {} priority 0; {rule}; }}; }}",
            Pair::NEAR
        )
    };
    if let Err(why) = lab.client.nft(&rules(&format!("udp dport {PORT} numgen inc mod 2 0 drop"))) {
        return eprintln!("skipped: this kernel has no such rule: {why}");
    }
    let means = Means { send: SendMeans::Send, ..Means::default() };
    let options = MeasurerOptions { means, ..MeasurerOptions::default() };
    let trial = trial_of(&lab.client, echo(lab.target_address), &options, 1_000.0, 200);
    assert!(trial.refused["ENOBUFS"] > 0, "{:?}", trial.refused);
    let limited =
        trial.caveats.iter().find(|caveat| caveat.code() == "generator_limited").unwrap().to_string();
    assert!(
        limited.contains("(chain out of table netdev dropline)") && !limited.contains("full"),
        "{limited}"
    );
    // What waits for the hardware address of its next hop is refused later, when nobody is told.
    assert!(
        trial.lost() <= 2 && lost(&trial).iter().all(|(place, _)| *place != "qdisc"),
        "{:?}",
        trial.lost_at
    );
}

#[test]
fn packets_that_a_queue_refused_take_no_place_of_those_that_the_target_lost() {
    let Some(lab) = built(Pair::new()) else { return };
    let ends = Arc::new(AtomicBool::new(false));
    let target = bound(&lab.target, lab.target_address, PORT);
    let service = answer_nine_of_ten(target, Arc::clone(&ends));
    Bottleneck { rate: "1mbit", burst_bytes: 2_000, limit_bytes: 2_000 }.at(&lab.client, Pair::NEAR).unwrap();
    let means = Means { send: SendMeans::Sendmmsg, ..Means::default() };
    let options = MeasurerOptions { means, ..MeasurerOptions::default() };
    let trial = trial_of(&lab.client, echo(lab.target_address), &options, 10_000.0, 2_000);
    ends.store(true, Ordering::Relaxed);
    service.join().unwrap();
    assert!(trial.lost() > 10, "{:?}", trial.lost_at);
    let at_queue = trial.lost_at.as_ref().unwrap().get("qdisc").copied().unwrap_or(0);
    // The portable way cannot ask the kernel for the errors.
    assert!(cfg!(feature = "portable") || at_queue == 0, "{:?}, refused {:?}", trial.lost_at, trial.refused);
}

#[test]
fn a_full_service_queue_is_the_targets_own_word() {
    let Some(lab) = built(Pair::new()) else { return };
    let slow = Responder { service_time: Duration::from_millis(1), queue: 16, ..Responder::default() };
    let responder = responder(&lab.target, lab.target_address, slow);
    let options = MeasurerOptions::default();
    let trial = trial_of(&lab.client, echo(lab.target_address), &options, 5_000.0, 2_000);
    assert!(missing(&trial) > 0, "{:?}", trial.lost_at);
    assert_eq!(lost(&trial), [("service_queue", missing(&trial))]);
    assert_eq!(responder.counts().dropped_queue, missing(&trial));
}

#[test]
fn replies_that_are_lost_are_lost_on_the_way_back() {
    let Some(lab) = built(Bridged::new()) else { return };
    let _responder = responder(&lab.target, lab.target_address, Responder::default());
    let options = MeasurerOptions::default();
    let trial = |namespace: &Namespace, device| {
        // So slow that it is too slow for replies of a target that is kept waiting, too.
        Bottleneck { rate: "100kbit", burst_bytes: 2_000, limit_bytes: 2_000 }.at(namespace, device).unwrap();
        let trial = trial_of(&lab.client, echo(lab.target_address), &options, 1_000.0, 1_000);
        namespace.tc(&["qdisc", "del", "dev", device, "root"]).unwrap();
        assert!(missing(&trial) > 50, "{:?}", trial.lost_at);
        trial
    };
    for (namespace, device) in [(&lab.target, Pair::FAR), (&lab.bridge, Bridged::TO_CLIENT)] {
        let trial = trial(namespace, device);
        assert_eq!(lost(&trial), [("return_qdisc", missing(&trial))], "{device}");
    }
    lab.client
        .nft(&format!(
            "table inet dropline {{ chain in {{ type filter hook input priority 0; udp sport {PORT} \
             numgen inc mod 4 0 drop; }}; }}"
        ))
        .unwrap();
    let trial = trial_of(&lab.client, echo(lab.target_address), &options, 1_000.0, 1_000);
    // One of the answers may be that to the probing query.
    let quarter = trial.offered / 4;
    assert!((quarter - 10..=quarter + 10).contains(&missing(&trial)), "{:?}", trial.lost_at);
    assert_eq!(lost(&trial), [("return_netfilter", missing(&trial))]);
}

#[test]
fn a_stranger_that_does_not_read_is_watched_while_its_buffer_fills() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let one_way = UdpTarget { address: target.local_addr().unwrap(), reply: Reply::None };
    let watching = Watching { every: Some(Duration::from_millis(1)), keep: true, pid: None };
    let options = MeasurerOptions { watching, ..MeasurerOptions::default() };
    let trial = trial_of(&lab.client, one_way, &options, 50_000.0, 3_000);
    let watched = trial.watched.as_ref().expect("is on this machine");
    assert_eq!(watched.buffer_bytes, Some(212_992));
    let last = watched.samples.last().unwrap();
    assert!(last.queued_bytes > Some(211_000) && watched.largest_queued_bytes >= last.queued_bytes);
    // Five count queries, which it did not read either, wait or were dropped too.
    let places = trial.lost_at.as_ref().unwrap();
    let dropped = places["receive_buffer"];
    assert!(last.drops.is_some_and(|drops| (dropped..=dropped + 5).contains(&drops)), "{last:?} {places:?}");
    assert_eq!((dropped + places["unread"], places["unexplained"]), (trial.offered, 0));
    drop(target);
}

#[test]
fn the_process_that_is_named_is_watched_in_whichever_namespace_it_is() {
    let Some(lab) = built(Pair::new()) else { return };
    let _responder = responder(&lab.target, lab.target_address, Responder::default());
    // Its socket is this program's, which is not to be told apart from the generator.
    let mut named = lab.target.command("sleep").arg("60").spawn().unwrap();
    let watching = Watching { pid: Some(named.id()), keep: true, ..Watching::default() };
    let options = MeasurerOptions { watching, ..MeasurerOptions::default() };
    let trial = trial_of(&lab.client, echo(lab.target_address), &options, 10_000.0, 500);
    named.kill().unwrap();
    named.wait().unwrap();
    let watched = trial.watched.expect("is on this machine");
    assert_eq!(watched.pid, Some(named.id()));
    assert!(watched.buffer_bytes.is_some() && watched.cpu_ns.is_some(), "{watched:?}");
    assert!(watched.samples.iter().all(|look| look.switches.is_some()), "{:?}", watched.samples);
}

#[test]
fn trains_into_a_small_buffer_are_counted_in_packets() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let means = Means { send: SendMeans::Gso, ..Means::default() };
    let options = MeasurerOptions { means, ..MeasurerOptions::default() };
    let one_way = UdpTarget { address: target.local_addr().unwrap(), reply: Reply::None };
    let trial = trial_of(&lab.client, one_way, &options, 400_000.0, 8_000);
    let places = trial.lost_at.as_ref().unwrap();
    // Packets cut out of a train are charged for more than ones that came alone.
    assert!((200..=256).contains(&places["unread"]), "{places:?}");
    assert_eq!((places["receive_buffer"] + places["unread"], places["unexplained"]), (trial.offered, 0));
    let doubts =
        trial.caveats.iter().filter(|caveat| ["counters_shared", "place_inferred"].contains(&caveat.code()));
    assert_eq!(doubts.count(), 0);
}

/// Answers nine of ten and counts nothing, until it is told to end.
fn answer_nine_of_ten(target: UdpSocket, ends: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        target.set_nonblocking(false).unwrap();
        target.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (mut bytes, mut number) = ([0; 2048], 0);
        while !ends.load(Ordering::Relaxed) {
            let Ok((length, source)) = target.recv_from(&mut bytes) else { continue };
            number += 1;
            if number % 10 != 0 {
                target.send_to(&bytes[..length], source).unwrap();
            }
        }
    })
}

/// What another program sends meanwhile is lost in the same namespace, at a place that the namespace counts.
#[test]
fn what_a_target_drops_unseen_is_not_put_where_another_program_loses_packets() {
    let Some(lab) = built(Pair::new()) else { return };
    let drop = |hook: &str| {
        format!(
            "table inet dropline {{ chain in {{ type filter hook {hook} priority 0; udp dport 9 drop; }}; }}"
        )
    };
    let one_namespace = (&lab.client, lab.client_address);
    let two_namespaces = (&lab.target, lab.target_address);
    for (namespace, address) in [one_namespace, two_namespaces] {
        for (rules, place) in [
            (None, "no_listener"),
            (Some(drop("input")), "netfilter"),
            (Some(drop("output")), "return_netfilter"),
        ] {
            if let Some(rules) = &rules {
                namespace.nft(rules).unwrap();
            }
            let ends = Arc::new(AtomicBool::new(false));
            let service = answer_nine_of_ten(bound(namespace, address, PORT), Arc::clone(&ends));
            let stranger = bound(namespace, address, 0);
            let chatter = std::thread::spawn({
                let ends = Arc::clone(&ends);
                move || {
                    let mut sent = 0_u64;
                    while !ends.load(Ordering::Relaxed) {
                        let _ = stranger.send_to(&[0; 8], (address, 9));
                        sent += 1;
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    sent
                }
            });
            let trial = trial_of(&lab.client, echo(address), &MeasurerOptions::default(), 1_000.0, 1_000);
            ends.store(true, Ordering::Relaxed);
            let sent = chatter.join().unwrap();
            service.join().unwrap();
            if rules.is_some() {
                namespace.nft("delete table inet dropline").unwrap();
            }
            let said = trial.caveats.iter().any(|caveat| caveat.code() == "counters_shared");
            // A service that is kept from its CPU may lose some at its full socket, too.
            let at: std::collections::BTreeMap<_, _> = lost(&trial).into_iter().collect();
            let dropped = at.get("unexplained").copied().unwrap_or(0);
            let full = at.get("receive_buffer").copied().unwrap_or(0);
            assert!(sent > 5 && dropped > 0, "{sent} {:?}", trial.lost_at);
            assert!(dropped + 1 >= (trial.offered - full) / 10, "{:?} of {}", trial.lost_at, trial.offered);
            assert_eq!((dropped + full, said), (missing(&trial), true), "{place} of {address}: {at:?}");
        }
    }
}
