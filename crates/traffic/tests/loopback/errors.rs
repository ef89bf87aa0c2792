//! Trials that cannot be performed.

use crate::odd_target::OddTarget;
use crate::{echo, input, measurer, profile, sink, trial_on, undisturbed};
use dropline_traffic::{
    MeasurerOptions, NoLeash, Progress, Reply, Responder, UdpError, UdpMeasurer, UdpTarget, generator_limit,
    probe,
};
use dropline_trial::{Measurer as _, Packet, Part, TrafficProfile};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// An address where nothing listens: it was free a moment ago.
fn closed_port() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn a_closed_port_is_an_error_and_not_loss() {
    let address = closed_port();
    let error = trial_on(echo(address), profile(), input(1_000.0, 2_000)).unwrap_err();
    let UdpError::Closed { target, sent } = error else { panic!("{error}") };
    assert_eq!(target, address);
    assert!((1..2_000).contains(&sent), "it stops at once: {sent}");
}

#[test]
fn a_probe_tells_a_closed_port_from_a_silent_target_and_from_one_that_answers() {
    let stop = AtomicBool::new(false);
    let asked = |address| probe(echo(address), &profile(), &stop);
    assert!(matches!(asked(closed_port()), Err(UdpError::Closed { .. })));
    let silent = OddTarget::start(|_, _, _, _| {});
    let Err(UdpError::NoAnswer { sent, .. }) = asked(silent.address) else { panic!("it is silent") };
    // One more asked whether an answer comes from elsewhere.
    assert_eq!(silent.stop(), sent + 1);
    let responder = Responder::default().start().unwrap();
    assert!(asked(responder.address()).unwrap().round_trip_ns.is_some());
}

#[test]
fn an_answer_from_another_socket_is_named_with_its_address_and_is_no_silence() {
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = other.local_addr().unwrap();
    let target = OddTarget::start(move |_, _, bytes, source| drop(other.send_to(bytes, source)));
    let refused = probe(echo(target.address), &profile(), &AtomicBool::new(false)).unwrap_err();
    let UdpError::NoAnswer { from: found, others: 0, .. } = refused else { panic!("{refused}") };
    assert_eq!(found, Some(from));
    assert!(refused.to_string().contains(&format!("an answer comes from {from}")), "{refused}");
}

#[test]
fn what_another_socket_sends_is_called_an_answer_only_where_it_is_the_packet() {
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = other.local_addr().unwrap();
    for (replies, says) in [(1, "1 reply came from"), (3, "3 replies came from")] {
        let other = other.try_clone().unwrap();
        let target = OddTarget::start(move |_, _, bytes, source| {
            for number in 0..replies {
                // As long as what was sent, and what was sent with another header.
                let mut reply = if number == 0 { vec![b'!'; bytes.len()] } else { bytes.to_vec() };
                reply[4 + number] ^= 0x55;
                let _ = other.send_to(&reply, source);
            }
        });
        let refused = probe(echo(target.address), &profile(), &AtomicBool::new(false)).unwrap_err();
        let UdpError::NoAnswer { from: found, others, .. } = refused else { panic!("{refused}") };
        assert_eq!((found, others), (Some(from), replies as u64));
        assert!(refused.to_string().contains(&format!("{says} {from}")), "{refused}");
        assert!(!refused.to_string().contains("an answer comes from"), "{refused}");
    }
}

#[test]
fn a_slow_answer_to_an_earlier_probe_is_an_answer() {
    let slow = OddTarget::start(|socket, _, bytes, source| {
        std::thread::sleep(Duration::from_millis(250));
        socket.send_to(bytes, source).unwrap();
    });
    let probe = probe(echo(slow.address), &profile(), &AtomicBool::new(false)).unwrap();
    assert!(probe.round_trip_ns.unwrap() >= 250_000_000);
}

#[test]
fn a_target_that_never_answers_is_an_error_and_one_that_stops_answering_loses() {
    let silent = OddTarget::start(|_, _, _, _| {});
    let error = trial_on(echo(silent.address), profile(), input(1_000.0, 100)).unwrap_err();
    let UdpError::NoAnswer { sent, .. } = error else { panic!("{error}") };
    assert!((1..=100).contains(&sent), "{sent}");

    let (trials, ()) = undisturbed(|| {
        let tired = OddTarget::start(|socket, number, bytes, source| {
            if number < 50 {
                socket.send_to(bytes, source).unwrap();
            }
        });
        let mut measurer = measurer(echo(tired.address), profile())?;
        Ok((vec![measurer.measure(input(1_000.0, 100))?, measurer.measure(input(1_000.0, 100))?], ()))
    });
    assert_eq!((trials[0].lost(), trials[1].lost()), (50, 100));
}

#[test]
fn a_target_that_answers_every_question_and_then_nothing_has_trials_with_their_places() {
    // Silent from the first packet of the trial on, and from the first that a stream asks.
    for answers in [5 + 1, 5] {
        let (trials, ()) = undisturbed(|| {
            let falls_silent = OddTarget::start(move |socket, number, bytes, source| {
                if number < answers {
                    socket.send_to(bytes, source).unwrap();
                }
            });
            let target = echo(falls_silent.address);
            let asked = probe(target, &profile(), &AtomicBool::new(false))?;
            let mut measurer = measurer(target, profile())?;
            measurer.reach(Duration::from_nanos(asked.round_trip_ns.unwrap()))?;
            Ok((vec![measurer.measure(input(1_000.0, 100))?, measurer.measure(input(1_000.0, 100))?], ()))
        });
        for trial in trials {
            assert_eq!((trial.offered, trial.forwarded, trial.lost()), (100, 0, 100), "{answers}");
            assert_eq!(trial.lost_at.as_ref().unwrap().values().sum::<u64>(), 100, "{answers}");
        }
    }
}

#[test]
fn the_user_can_stop_a_trial_at_any_time_and_has_its_counts() {
    let responder = Responder::default().start().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    let mut measurer = UdpMeasurer::new(
        echo(responder.address()),
        profile(),
        MeasurerOptions::default(),
        1,
        Arc::clone(&stop),
        None,
    )
    .unwrap();
    let user = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stopping.store(true, Ordering::Relaxed);
    });
    let begun = Instant::now();
    // One packet in ten seconds: the sender sleeps.
    let trial = measurer.measure(input(0.1, 60_000)).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30), "not at the end of the trial");
    user.join().unwrap();
    assert!(trial.is_interrupted() && trial.duration < Duration::from_secs(30), "{:?}", trial.caveats);
    assert_eq!((trial.intended, trial.offered), (Some(1), 1), "what was not due yet was not intended");
    assert_eq!(trial.lost_at.as_ref().unwrap().values().sum::<u64>(), trial.lost());
    assert!(matches!(measurer.measure(input(0.1, 60_000)), Err(UdpError::Interrupted)), "nothing was sent");
    let packet = Packet::of_payload(64).unwrap();
    assert!(matches!(generator_limit(packet, 1, &stop), Err(UdpError::Interrupted)));
}

#[test]
fn what_an_interruption_cut_off_is_no_failing_of_the_generator() {
    let responder = Responder::default().start().unwrap();
    let cut_off = || {
        let (stop, progress) = (Arc::new(AtomicBool::new(false)), Arc::new(Progress::default()));
        let options = MeasurerOptions::default();
        let (stopping, counted) = (Arc::clone(&stop), Arc::clone(&progress));
        let target = echo(responder.address());
        let mut measurer =
            UdpMeasurer::new(target, profile(), options, 1, Arc::clone(&stop), Some(progress)).unwrap();
        let user = std::thread::spawn(move || {
            while counted.offered() < 200 && !stopping.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            stopping.store(true, Ordering::Relaxed);
        });
        let trial = measurer.measure(input(20_000.0, 60_000)).unwrap();
        // Where nothing could be sent in a whole minute nobody waits for more.
        stop.store(true, Ordering::Relaxed);
        user.join().unwrap();
        assert!(trial.is_interrupted());
        trial.intended.unwrap() - trial.offered
    };
    // A machine that is busy at that moment is behind: not more often than not.
    let missing: Vec<u64> = (0..9).map(|_| cut_off()).collect();
    assert!(missing.iter().filter(|missing| **missing == 0).count() >= 5, "{missing:?}");
}

#[test]
fn a_stopped_trial_has_the_replies_that_were_under_way_and_slices_that_sum_up() {
    let responder = Responder::default().start().unwrap();
    for reply in [Reply::Echo, Reply::None] {
        let stop = Arc::new(AtomicBool::new(false));
        let progress = Arc::new(Progress::default());
        let target = UdpTarget { address: responder.address(), reply };
        let options = MeasurerOptions::default();
        let mut measurer =
            UdpMeasurer::new(target, profile(), options, 1, Arc::clone(&stop), Some(Arc::clone(&progress)))
                .unwrap();
        let user = std::thread::spawn(move || {
            while progress.offered() < 50 {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let trial = measurer.measure(input(500.0, 600_000)).unwrap();
        user.join().unwrap();
        assert!(trial.is_interrupted() && trial.offered >= 50 && trial.duration < Duration::from_secs(300));
        assert!(Some(trial.offered) <= trial.intended && trial.intended < Some(300_000));
        assert!(trial.forwarded > 0);
        assert_eq!(trial.lost_at.as_ref().unwrap().values().sum::<u64>(), trial.lost());
        if reply == Reply::Echo {
            let length: Duration = trial.slices.iter().map(|slice| slice.duration).sum();
            let offered: u64 = trial.slices.iter().map(|slice| slice.offered).sum();
            assert_eq!((length, offered), (trial.duration, trial.offered));
        }
    }
}

#[test]
fn traffic_that_a_udp_target_cannot_have_is_refused() {
    let target = echo(closed_port());
    let two = TrafficProfile { directions: Part::equal(2), ..profile() };
    assert!(matches!(measurer(target, two), Err(UdpError::Directions(2))));
    let none = TrafficProfile { streams: Vec::new(), ..profile() };
    assert!(matches!(measurer(target, none), Err(UdpError::Streams)));
}

#[test]
fn a_place_that_cannot_be_reached_is_an_error() {
    let refused = |address: &str| measurer(echo(address.parse().unwrap()), profile()).err().unwrap();
    let all = refused("255.255.255.255:9");
    let is_refused =
        matches!(all, UdpError::NoLeash { why: NoLeash::Elsewhere(_) | NoLeash::LeadsOff { .. }, .. });
    assert!(is_refused, "{all}");
    let own = refused("127.255.255.255:9");
    assert!(matches!(own, UdpError::Permission { .. }), "{own}");
}

/// A measurer of sixteen streams, asked whether what each of them sends comes to the target.
fn reached(target: UdpTarget) -> Result<(), UdpError> {
    let streams = (0..16).map(|number| Part { name: number.to_string(), share: 1 }).collect();
    let profile = TrafficProfile { streams, ..profile() };
    measurer(target, profile)?.reach(Duration::from_millis(1))
}

#[test]
fn streams_that_are_never_answered_while_others_are_refuse_the_target_and_are_counted() {
    let mut deaf: Vec<SocketAddr> = Vec::new();
    let mut heard: Vec<SocketAddr> = Vec::new();
    let odd = OddTarget::start(move |socket, _, bytes, source| {
        if !deaf.contains(&source) && !heard.contains(&source) {
            if (deaf.len() + heard.len()) % 3 == 2 { deaf.push(source) } else { heard.push(source) }
        }
        if heard.contains(&source) {
            let _ = socket.send_to(bytes, source);
        }
    });
    let begun = Instant::now();
    let refused = reached(echo(odd.address)).unwrap_err();
    assert!(matches!(refused, UdpError::SomeStreams { led_away: 5, streams: 16, .. }), "{refused:?}");
    assert!(refused.to_string().contains("what 5 of 16 streams send to"), "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(10), "they wait together");
}

#[test]
fn a_target_that_loses_every_second_packet_is_not_refused_for_streams_that_were_unlucky() {
    for _ in 0..3 {
        let mut chance = 7_u64;
        let odd = OddTarget::start(move |socket, _, bytes, source| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if chance >> 63 == 0 {
                let _ = socket.send_to(bytes, source);
            }
        });
        reached(echo(odd.address)).unwrap();
    }
}

#[test]
fn streams_are_asked_of_every_kind_of_target_and_leave_nothing_to_the_first_trial() {
    let (mut trials, ()) = undisturbed(|| {
        let responder = Responder::default().start().unwrap();
        reached(sink(responder.address()))?;
        let mut measurer = measurer(echo(responder.address()), profile())?;
        measurer.reach(Duration::ZERO)?;
        Ok((vec![measurer.measure(input(1_000.0, 100))?], ()))
    });
    let trial = trials.remove(0);
    assert_eq!((trial.offered, trial.forwarded, trial.late), (100, 100, Some(0)));
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    reached(sink(silent.local_addr().unwrap())).unwrap();
    assert!(matches!(reached(sink(closed_port())), Err(UdpError::Closed { .. })));
    assert!(matches!(reached(echo(closed_port())), Err(UdpError::Closed { .. })));
}
