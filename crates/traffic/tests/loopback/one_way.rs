//! Targets that send nothing back.

use crate::odd_target::OddTarget;
use crate::{echo, input, measurer, profile, sink, trial_on, undisturbed, undisturbed_trial};
use dropline_traffic::{Responder, UdpError, probe};
use dropline_trial::{Caveat, Drain, Measurer as _, TrafficProfile};
use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[test]
fn a_responder_is_asked_what_it_served() {
    let (trials, counts) = undisturbed(|| {
        let responder = Responder::default().start().unwrap();
        let mut measurer = measurer(sink(responder.address()), profile())?;
        let trials = vec![measurer.measure(input(2_000.0, 200))?, measurer.measure(input(2_000.0, 200))?];
        Ok((trials, responder.stop()))
    });
    for trial in trials {
        assert_eq!((trial.offered, trial.forwarded, trial.lost()), (400, 400, 0));
        assert_eq!((trial.duplicated, trial.delay_kind, trial.stamp), (None, None, None));
        assert_eq!(trial.delay.histogram, None);
        assert!(!trial.caveats.iter().any(is_from_outside));
    }
    assert_eq!((counts.received, counts.answered, counts.unanswered), (800, 0, 800));
    assert!(counts.queries > 0);
}

fn is_from_outside(caveat: &Caveat) -> bool {
    caveat.code() == "counted_at_socket"
}

#[test]
fn what_a_responder_dropped_in_its_queue_is_lost() {
    let service_time = Duration::from_millis(5);
    let slow = Responder { service_time, sleep: true, queue: 4, ..Responder::default() };
    let (trials, counts) = undisturbed(|| {
        let responder = slow.start().unwrap();
        let trial = trial_on(sink(responder.address()), profile(), input(2_000.0, 200))?;
        Ok((vec![trial], responder.stop()))
    });
    assert_eq!((counts.received, counts.waiting), (400, 0));
    assert_eq!((trials[0].forwarded, trials[0].lost()), (counts.unanswered, counts.dropped_queue));
    assert!(trials[0].lost() > 0);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the table of sockets is Linux's")]
fn a_strange_socket_on_this_machine_is_counted_from_outside() {
    let (trials, received) = undisturbed(|| {
        let target = OddTarget::start(|_, _, _, _| {});
        let trial = trial_on(sink(target.address), profile(), input(1_000.0, 200))?;
        Ok((vec![trial], target.stop()))
    });
    assert_eq!((trials[0].offered, trials[0].forwarded), (200, 200));
    assert!(trials[0].caveats.iter().any(is_from_outside));
    assert_eq!(received, 200 + 5, "and five count queries it did not understand");
}

#[test]
#[cfg_attr(any(feature = "portable", not(target_os = "linux")), ignore = "needs what Linux tells")]
fn what_waits_unread_at_the_end_was_not_forwarded() {
    let drain = Drain { longest: Duration::from_millis(50), ..Drain::default() };
    let trial = undisturbed_trial(|| {
        // Nobody reads: a buffer's worth waits, the rest is dropped.
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket2::SockRef::from(&socket).set_recv_buffer_size(16 * 1024).unwrap();
        let target = sink(socket.local_addr().unwrap());
        trial_on(target, TrafficProfile { drain, ..profile() }, input(1_000.0, 200))
    });
    assert_eq!(trial.offered, 200);
    // The count queries wait there too, so what this trial forwarded can only be too little.
    assert_eq!((trial.forwarded, trial.lost()), (0, 200));
}

#[test]
fn what_cannot_be_counted_is_an_error() {
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stop = AtomicBool::new(false);
    assert!(matches!(probe(sink(closed), &profile(), &stop), Err(UdpError::Closed { .. })));
    assert!(matches!(trial_on(sink(closed), profile(), input(1_000.0, 100)), Err(UdpError::Closed { .. })));
    let responder = Responder::default().start().unwrap();
    assert_eq!(probe(sink(responder.address()), &profile(), &stop).unwrap().round_trip_ns, None);
    assert!(probe(echo(responder.address()), &profile(), &stop).unwrap().round_trip_ns.is_some());
}

#[test]
fn a_one_way_target_that_dies_during_a_trial_is_a_result() {
    let responder = Responder::default().start().unwrap();
    let target = sink(responder.address());
    let life = std::thread::spawn(move || {
        while responder.counts().received < 100 {
            std::thread::sleep(Duration::from_millis(2));
        }
        drop(responder);
    });
    let trial = trial_on(target, profile(), input(500.0, 3_000)).unwrap();
    life.join().unwrap();
    let codes: Vec<&str> = trial.caveats.iter().map(Caveat::code).collect();
    assert!(codes.contains(&"target_unreachable") && codes.contains(&"counted_at_socket"), "{codes:?}");
    assert!(trial.offered >= 100 && trial.forwarded <= trial.offered);
    assert_eq!(trial.lost_at.as_ref().unwrap().values().sum::<u64>(), trial.lost());
}
