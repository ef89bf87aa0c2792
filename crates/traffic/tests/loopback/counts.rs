//! What a trial counts.

use crate::odd_target::OddTarget;
use crate::{echo, input, measurer, profile, trial_on, undisturbed, undisturbed_trial};
use dropline_payload::Message;
use dropline_payload::message::decode;
use dropline_traffic::{Means, MeasurerOptions, Progress, Responder, UdpMeasurer};
use dropline_trial::{Arrival, Caveat, Drain, Measurer as _, Packet, Part, TrafficProfile};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn every_packet_is_accounted_for() {
    for arrival in [Arrival::constant(), Arrival::poisson()] {
        let profile = TrafficProfile { arrival: arrival.clone(), ..profile() };
        let (trials, counts) = undisturbed(|| {
            let responder = Responder::default().start().unwrap();
            let trial = trial_on(echo(responder.address()), profile.clone(), input(5_000.0, 400))?;
            Ok((vec![trial], responder.stop()))
        });
        let trial = &trials[0];
        let drawn = arrival.departures(trial.input, profile.trial_seed(1)).count() as u64;
        assert_eq!((trial.number, trial.seed), (1, profile.trial_seed(1)));
        assert_eq!((trial.intended, trial.offered), (Some(drawn), drawn));
        assert_eq!(counts.received + counts.dropped_socket.unwrap_or(0), trial.offered);
        assert_eq!(counts.answered, trial.forwarded + trial.generator_lost);
        assert_eq!(trial.lost(), trial.offered - counts.answered);
        assert_eq!((trial.duplicated, trial.reordered, trial.late), (Some(0), Some(0), Some(0)));
        let measured = |delay: &dropline_trial::Delay| delay.histogram.as_ref().map(|set| set.count());
        assert_eq!(measured(&trial.delay), Some(trial.forwarded));
        assert_eq!(measured(&trial.service_delay), Some(trial.forwarded));
        assert_eq!(measured(&trial.lateness), Some(trial.offered));
        assert!(trial.elapsed >= trial.duration);
    }
}

#[test]
fn the_shortest_frame_and_a_long_packet_come_back_over_either_family() {
    for (listen, payload) in [("127.0.0.1:0", 18), ("127.0.0.1:0", 9000), ("[::1]:0", 16)] {
        let listen = listen.parse().unwrap();
        let profile = TrafficProfile { packet: Packet::of_payload(payload).unwrap(), ..profile() };
        let trial = undisturbed_trial(|| {
            let responder = Responder { listen, ..Responder::default() }.start().unwrap();
            trial_on(echo(responder.address()), profile.clone(), input(1_000.0, 200))
        });
        assert_eq!((trial.offered, trial.forwarded), (200, 200), "{listen} {payload} B");
    }
}

#[test]
fn streams_have_ports_of_their_own_and_their_share() {
    let streams = [("small", 1), ("large", 3)].map(|(name, share)| Part { name: name.into(), share });
    let profile = TrafficProfile { streams: streams.to_vec(), ..profile() };
    let (trials, by_stream) = undisturbed(|| {
        let counts: Arc<Mutex<BTreeMap<u16, u64>>> = Arc::default();
        let counting = Arc::clone(&counts);
        let target = OddTarget::start(move |socket, _, bytes, source| {
            *counting.lock().unwrap().entry(source.port()).or_default() += 1;
            socket.send_to(bytes, source).unwrap();
        });
        let mut measurer = measurer(echo(target.address), profile.clone())?;
        let trial = measurer.measure(input(2_000.0, 200))?;
        let counts = counts.lock().unwrap();
        let by_stream: Vec<u64> = measurer.sources().iter().map(|source| counts[&source.port()]).collect();
        Ok((vec![trial], by_stream))
    });
    assert_eq!((trials[0].forwarded, trials[0].reordered), (400, Some(0)));
    assert_eq!(by_stream, [100, 300]);
}

#[test]
fn a_packet_that_comes_in_a_later_trial_is_late_and_credited_to_none() {
    let (trials, ()) = undisturbed(|| {
        // Keeps the first 7 packets until the 100th arrives, which is of the second trial.
        let mut kept = Vec::new();
        let target = OddTarget::start(move |socket, number, bytes, source| {
            if number < 7 {
                kept.push(bytes.to_vec());
            } else {
                socket.send_to(bytes, source).unwrap();
            }
            if number == 100 {
                kept.drain(..).for_each(|bytes| assert!(socket.send_to(&bytes, source).is_ok()));
            }
        });
        let mut measurer = measurer(echo(target.address), profile())?;
        Ok((vec![measurer.measure(input(400.0, 200))?, measurer.measure(input(400.0, 200))?], ()))
    });
    let [first, second] = &trials[..] else { panic!("two trials") };
    assert_eq!((first.offered, first.forwarded, first.late), (80, 73, Some(0)));
    assert_eq!((second.offered, second.forwarded, second.late), (80, 80, Some(7)));
    assert_eq!((first.lost(), second.lost()), (7, 0));
}

#[test]
fn duplicates_are_counted_apart_and_more_back_than_sent_is_a_caveat() {
    let trial = undisturbed_trial(|| {
        let target = OddTarget::start(|socket, number, bytes, source| {
            for _ in 0..=u64::from(number % 4 == 0) {
                socket.send_to(bytes, source).unwrap();
            }
        });
        trial_on(echo(target.address), profile(), input(1_000.0, 200))
    });
    assert_eq!((trial.forwarded, trial.duplicated, trial.lost()), (200, Some(50), 0));
    assert!(trial.caveats.contains(&Caveat::MoreThanOffered { offered: 200, forwarded: 250 }));
}

#[test]
fn a_packet_behind_a_later_one_is_reordered() {
    let trial = undisturbed_trial(|| {
        // Swaps each pair: of each, the first comes back behind the second.
        let mut kept: Option<Vec<u8>> = None;
        let target = OddTarget::start(move |socket, _, bytes, source| match kept.take() {
            None => kept = Some(bytes.to_vec()),
            Some(first) => {
                socket.send_to(bytes, source).unwrap();
                socket.send_to(&first, source).unwrap();
            }
        });
        trial_on(echo(target.address), profile(), input(1_000.0, 200))
    });
    assert_eq!((trial.forwarded, trial.reordered, trial.duplicated), (200, Some(100), Some(0)));
}

#[test]
fn bytes_that_are_not_ours_are_ignored_with_a_caveat() {
    let trial = undisturbed_trial(|| {
        let target = OddTarget::start(|socket, number, bytes, source| {
            socket.send_to(bytes, source).unwrap();
            if number < 3 {
                socket.send_to(b"good morning", source).unwrap();
            }
            if number == 3 {
                // Ours by its tag, but never sent.
                let Ok(Message::Packet { tag, .. }) = decode(bytes) else { panic!("a packet") };
                let forged = Message::Packet { tag, index: 1 << 40, reply_wanted: true };
                socket.send_to(&forged.encode(), source).unwrap();
            }
        });
        trial_on(echo(target.address), profile(), input(1_000.0, 100))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.duplicated), (100, 100, Some(0)));
    assert!(trial.caveats.contains(&Caveat::ForeignPackets { packets: 4 }));
}

#[test]
fn what_the_target_swallows_is_its_loss() {
    let trial = undisturbed_trial(|| {
        let target = OddTarget::start(|socket, number, bytes, source| {
            if number % 10 != 0 {
                socket.send_to(bytes, source).unwrap();
            }
        });
        trial_on(echo(target.address), profile(), input(1_000.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.lost()), (200, 180, 20));
    assert_eq!(trial.loss_ratio(), Some(0.1));
}

#[test]
#[cfg_attr(feature = "portable", ignore = "what a socket dropped is not known there")]
fn what_our_own_socket_drops_is_not_the_targets_loss() {
    let trial = undisturbed_trial(|| {
        // Keeps everything until the last packet came, then sends it all at once into a tiny buffer.
        let mut kept = Vec::new();
        let target = OddTarget::start(move |socket, _, bytes, source| {
            kept.push(bytes.to_vec());
            if kept.len() == 1000 {
                kept.drain(..).for_each(|bytes| assert!(socket.send_to(&bytes, source).is_ok()));
            }
        });
        let options = MeasurerOptions { receive_buffer_bytes: 1, ..MeasurerOptions::default() };
        let mut measurer = with_options(target.address, options);
        assert!(measurer.receive_buffer_bytes() < 8192);
        measurer.measure(input(10_000.0, 100))
    });
    assert!(trial.generator_lost > 0);
    assert_eq!((trial.forwarded + trial.generator_lost, trial.lost()), (1000, 0));
    assert!(trial.caveats.contains(&Caveat::GeneratorLost { dropped: trial.generator_lost }));
}

fn with_options(target: SocketAddr, options: MeasurerOptions) -> UdpMeasurer {
    UdpMeasurer::new(echo(target), profile(), options, 1, Arc::default(), None).unwrap()
}

#[test]
fn a_load_beyond_the_generator_is_its_own_failing() {
    let responder = Responder::default().start().unwrap();
    for arrival in [Arrival::constant(), Arrival::poisson()] {
        let profile = TrafficProfile { arrival, ..profile() };
        let trial = trial_on(echo(responder.address()), profile, input(50e6, 100)).unwrap();
        let intended = trial.intended.unwrap();
        assert!((4_900_000..=5_100_000).contains(&intended), "{intended}");
        assert!(trial.offered > 0 && trial.offered < intended);
        let limited =
            Caveat::GeneratorLimited { intended, offered: trial.offered, error: None, interface: None };
        assert!(trial.caveats.contains(&limited), "{:?}", trial.caveats);
        assert!(trial.forwarded + trial.generator_lost <= trial.offered);
    }
}

#[test]
fn slices_add_up_to_the_trial_and_show_when_packets_were_lost() {
    let trial = undisturbed_trial(|| {
        let target = OddTarget::start(|socket, number, bytes, source| {
            // Silent for the last quarter.
            if number < 150 {
                socket.send_to(bytes, source).unwrap();
            }
        });
        let options = MeasurerOptions { slices: Some(4), ..MeasurerOptions::default() };
        with_options(target.address, options).measure(input(1_000.0, 200))
    });
    assert_eq!(trial.slices.len(), 4);
    // A packet is of the slice that it was due in, whenever it left and came back.
    let counts: Vec<(u64, u64)> = trial.slices.iter().map(|slice| (slice.offered, slice.forwarded)).collect();
    assert_eq!(counts, [(50, 50), (50, 50), (50, 50), (50, 0)]);
    assert_eq!(trial.slices.iter().map(|slice| slice.duration).sum::<Duration>(), trial.duration);
    let delays: Vec<_> = trial.slices.iter().map(|slice| slice.delay.as_ref().unwrap()).collect();
    assert_eq!(delays.iter().map(|delay| delay.count).collect::<Vec<_>>(), [50, 50, 50, 0]);
    assert_eq!((delays[1].first_ns, delays[1].last_ns), (Some(50_000_000), Some(99_000_000)));
    let longest = delays.iter().filter_map(|delay| delay.max_ns).max();
    let whole = trial.delay.histogram.as_ref().unwrap();
    assert!(longest <= whole.max() && whole.count() == 150, "{longest:?} {:?}", whole.max());
}

#[test]
fn two_senders_agree_where_a_slice_begins() {
    let streams = [1, 1, 1].map(|share| Part { name: share.to_string(), share }).to_vec();
    let means = Means { senders: Some(2), ..Means::default() };
    let trial = undisturbed_trial(|| {
        let responder = Responder::default().start().unwrap();
        let options = MeasurerOptions { slices: Some(4), means: means.clone(), ..MeasurerOptions::default() };
        let profile = TrafficProfile { streams: streams.clone(), ..profile() };
        UdpMeasurer::new(echo(responder.address()), profile, options, 12, Arc::default(), None)
            .unwrap()
            .measure(input(1_000.0, 200))
    });
    assert_eq!(trial.slices.iter().map(|slice| slice.offered).collect::<Vec<_>>(), [50; 4]);
    assert_eq!(trial.slices.iter().map(|slice| slice.forwarded).sum::<u64>(), trial.forwarded);
    assert!(trial.slices.iter().all(|slice| slice.forwarded <= 50), "{:?}", trial.slices);
}

#[test]
fn progress_ends_at_the_counts() {
    let responder = Responder::default().start().unwrap();
    let progress = Arc::new(Progress::default());
    let (target, options) = (echo(responder.address()), MeasurerOptions::default());
    let shown = Some(Arc::clone(&progress));
    let mut measurer = UdpMeasurer::new(target, profile(), options, 12, Arc::default(), shown).unwrap();
    assert_eq!(progress.trial(), 0);
    let trial = measurer.measure(input(1_000.0, 100)).unwrap();
    assert_eq!(trial.number, 12);
    assert_eq!(
        (progress.trial(), progress.offered(), progress.forwarded()),
        (12, trial.offered, trial.forwarded)
    );
}

#[test]
fn without_a_quiet_end_the_drain_is_waited_for_in_full_and_the_rest_too() {
    let longest = Duration::from_millis(150);
    let drain = Drain { longest, quiet: None, rest: Duration::from_millis(100) };
    let trial = undisturbed_trial(|| {
        let responder = Responder::default().start().unwrap();
        trial_on(echo(responder.address()), TrafficProfile { drain, ..profile() }, input(1_000.0, 50))
    });
    assert_eq!(trial.forwarded, 50);
    assert!(trial.elapsed >= Duration::from_millis(50 + 150 + 100), "{:?}", trial.elapsed);
}
