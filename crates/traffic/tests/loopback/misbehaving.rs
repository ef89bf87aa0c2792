//! Targets that die, restart, and answer what nobody asked; generators that get no CPU.

use crate::odd_target::OddTarget;
use crate::{echo, input, measurer, profile, undisturbed_trial};
use dropline_payload::{Message, Tag};
use dropline_traffic::{MeasurerOptions, Responder, UdpError, UdpMeasurer};
use dropline_trial::{Caveat, Drain, Measurer as _, TrafficProfile, Trial};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A responder that answers some packets, is away for a while and, where `again`, there again.
fn comes_and_goes(again: bool) -> (SocketAddr, std::thread::JoinHandle<()>) {
    let first = Responder::default().start().unwrap();
    let address = first.address();
    let life = std::thread::spawn(move || {
        for _ in 0..1_000 {
            if first.counts().answered >= ANSWERED {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(first);
        std::thread::sleep(Duration::from_millis(100));
        if again {
            let second = Responder { listen: address, ..Responder::default() }.start().unwrap();
            std::thread::sleep(Duration::from_millis(600));
            drop(second);
        }
    });
    (address, life)
}

/// Packets that it answers at least before it dies.
const ANSWERED: u64 = 200;

/// Again, where this machine kept our receiver from its CPU so long that the target died before an answer was
/// read: then nobody knows that it was there.
fn measured(again: bool) -> (UdpMeasurer, Trial) {
    for _ in 0..20 {
        let (address, life) = comes_and_goes(again);
        let mut measurer = measurer(echo(address), profile()).unwrap();
        let trial = measurer.measure(input(2_000.0, 500));
        life.join().unwrap();
        match trial {
            Ok(trial) if gone(&trial).is_some() => return (measurer, trial),
            Ok(_) | Err(UdpError::Closed { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    panic!("no trial in which the target died");
}

fn gone(trial: &Trial) -> Option<(u64, u64)> {
    trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::TargetUnreachable { refused, reports, error, .. } => {
            assert!(error == "ECONNREFUSED" || error.starts_with("errno"), "{error}");
            Some((*refused, *reports))
        }
        _ => None,
    })
}

#[test]
fn a_target_that_dies_during_a_trial_is_a_result_and_a_dead_one_an_error() {
    let (mut measurer, trial) = measured(false);
    let (refused, reports) = gone(&trial).expect("the trial says that the target was gone");
    assert!(refused + reports > 0);
    assert!(trial.forwarded > 0 && trial.forwarded < trial.offered + refused);
    assert_eq!(trial.refused.values().sum::<u64>(), refused, "a refused send was not offered");
    assert!(trial.offered + refused <= trial.intended.unwrap());
    assert!(matches!(measurer.measure(input(2_000.0, 400)), Err(UdpError::Closed { .. })));
}

#[test]
fn a_target_that_restarts_during_a_trial_answers_again() {
    let (_, trial) = measured(true);
    assert!(trial.forwarded >= ANSWERED, "{}", trial.forwarded);
    assert!(trial.lost() < trial.offered, "it was not dead to the end");
}

#[test]
fn answers_from_another_port_with_anothers_tag_or_twice_are_no_forwarded_packets() {
    let elsewhere = UdpSocket::bind("127.0.0.1:0").unwrap();
    let trial = undisturbed_trial(|| {
        let elsewhere = elsewhere.try_clone().unwrap();
        let odd = OddTarget::start(move |socket, number, bytes, source| match number % 4 {
            // As asked.
            0 => drop(socket.send_to(bytes, source)),
            1 => (0..2).for_each(|_| drop(socket.send_to(bytes, source))),
            // The kernel keeps it from a socket that is connected to the target.
            2 => drop(elsewhere.send_to(bytes, source)),
            _ => {
                let others = Message::Packet { tag: Tag(7), index: number, reply_wanted: true };
                drop(socket.send_to(&others.encode(), source));
            }
        });
        measurer(echo(odd.address), profile())?.measure(input(2_000.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.duplicated), (400, 200, Some(100)));
    assert_eq!(trial.lost(), 200);
    let foreign = trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::ForeignPackets { packets } => Some(*packets),
        _ => None,
    });
    assert_eq!(foreign, Some(100), "another's tag is seen, another's port is not");
    assert_eq!(
        trial.lost_at.as_ref().unwrap().get("return_no_listener"),
        Some(&100),
        "every packet came to the target"
    );
    let from = elsewhere.local_addr().unwrap().to_string();
    assert!(trial.caveats.iter().any(|caveat| caveat.to_string().contains(&from)), "{:?}", trial.caveats);
}

#[test]
fn an_answer_that_comes_from_another_address_too_has_a_word_and_is_no_duplicate() {
    let elsewhere = UdpSocket::bind("127.0.0.2:0").unwrap();
    let from = elsewhere.local_addr().unwrap().to_string();
    let trial = undisturbed_trial(|| {
        let elsewhere = elsewhere.try_clone().unwrap();
        let odd = OddTarget::start(move |socket, _, bytes, source| {
            drop(socket.send_to(bytes, source));
            drop(elsewhere.send_to(bytes, source));
        });
        // Fewer than a socket holds: portably, nothing says how many it had no room for.
        measurer(echo(odd.address), profile())?.measure(input(1_000.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.duplicated, trial.lost()), (200, 200, Some(0), 0));
    let copies = trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::CopiesElsewhere { copies, from, .. } => Some((*copies, from.clone())),
        _ => None,
    });
    assert_eq!(copies, Some((200, from)), "{:?}", trial.caveats);
}

#[test]
fn a_generator_without_a_cpu_says_so_and_blames_nobody_else() {
    // More programs than CPUs, all busy, and a sender that is one of them.
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    let done = Arc::new(AtomicBool::new(false));
    let hogs: Vec<_> = (0..8 * cpus)
        .map(|_| {
            let done = Arc::clone(&done);
            std::thread::spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    // They end before the drain does, so that the target has its turn and answers what waits.
    let ending = Arc::clone(&done);
    let end = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(400));
        ending.store(true, Ordering::Relaxed);
    });
    let responder = Responder::default().start().unwrap();
    let mut options = MeasurerOptions::default();
    options.means.priority = dropline_traffic::Priority::Ordinary;
    let drain =
        Drain { quiet: Some(Duration::from_secs(5)), longest: Duration::from_secs(10), ..Drain::default() };
    let profile = TrafficProfile { drain, ..profile() };
    let target = echo(responder.address());
    let mut measurer = UdpMeasurer::new(target, profile, options, 1, Arc::default(), None).unwrap();
    let trial = measurer.measure(input(20_000.0, 300)).unwrap();
    end.join().unwrap();
    hogs.into_iter().for_each(|hog| hog.join().unwrap());
    assert_eq!(trial.lost(), 0, "what did not leave is not the target's loss: {:?}", trial.caveats);
    let codes: Vec<&str> = trial.caveats.iter().map(Caveat::code).collect();
    assert!(codes.contains(&"generator_limited") || codes.contains(&"arrivals_not_kept"), "{codes:?}");
    if cfg!(target_os = "linux") {
        assert!(codes.contains(&"generator_starved"), "{codes:?}");
    }
}
