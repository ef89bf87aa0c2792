//! Replies that are not the packets that were sent.

use crate::odd_target::OddTarget;
use crate::{echo, input, measurer, profile, undisturbed_trial};
use dropline_traffic::{Reply, UdpError, UdpTarget, probe};
use dropline_trial::{Caveat, Drain, Measurer as _, Part, TrafficProfile, Trial};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// As it is, cut, with a byte changed, and grown: one after the other.
fn whimsical() -> OddTarget {
    OddTarget::start(move |socket, number, bytes, source| {
        let mut reply = bytes.to_vec();
        match number % 4 {
            0 => {}
            1 => reply.truncate(16),
            2 => *reply.last_mut().unwrap() ^= 1,
            _ => reply.resize(1_000, 0),
        }
        let _ = socket.send_to(&reply, source);
    })
}

fn differ(trial: &Trial) -> Option<(u64, u64, u64)> {
    trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::RepliesDiffer { truncated, extended, changed } => Some((*truncated, *extended, *changed)),
        _ => None,
    })
}

#[test]
fn a_reply_that_was_cut_changed_or_grown_is_lost_and_counted_by_kind() {
    let trial = undisturbed_trial(|| {
        let odd = whimsical();
        measurer(echo(odd.address), profile())?.measure(input(2_000.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.lost()), (400, 100, 300));
    let kinds = [trial.reply_truncated, trial.reply_extended, trial.reply_changed];
    assert_eq!(kinds, [Some(100); 3]);
    let lost_at = trial.lost_at.as_ref().unwrap();
    for kind in ["reply_truncated", "reply_extended", "reply_changed"] {
        assert_eq!(lost_at[kind], 100, "{kind}");
    }
    assert_eq!(lost_at.values().sum::<u64>(), 300);
    assert_eq!(differ(&trial), Some((100, 100, 100)));
}

#[test]
fn a_reply_at_another_streams_socket_is_not_that_packet_coming_back() {
    let astray = |reply: Reply| {
        undisturbed_trial(|| {
            // To the other of two streams, as soon as it is known.
            let mut streams = Vec::new();
            let odd = OddTarget::start(move |socket, _, bytes, source| {
                if !streams.contains(&source) {
                    streams.push(source);
                }
                let other = streams.iter().find(|stream| **stream != source).unwrap_or(&source);
                let _ = socket.send_to(bytes, other);
            });
            let profile = TrafficProfile { streams: Part::equal(2), ..profile() };
            measurer(UdpTarget { address: odd.address, reply }, profile)?.measure(input(2_000.0, 200))
        })
    };
    let trial = astray(Reply::Echo);
    assert_eq!((trial.offered, trial.reply_changed), (400, Some(400 - trial.forwarded)));
    assert!(trial.forwarded < 20, "only those that came before the other stream: {}", trial.forwarded);
    assert_eq!(trial.lost_at.as_ref().unwrap()["reply_changed"], trial.lost());
    let trial = astray(Reply::Any);
    assert_eq!((trial.lost(), trial.reply_changed), (400 - trial.forwarded, None));
    let foreign = Caveat::ForeignPackets { packets: trial.lost() };
    assert!(trial.forwarded < 20 && trial.caveats.contains(&foreign), "{:?}", trial.caveats);
}

#[test]
fn a_target_that_is_to_answer_otherwise_may() {
    let trial = undisturbed_trial(|| {
        let odd = whimsical();
        let target = UdpTarget { address: odd.address, reply: Reply::Any };
        measurer(target, profile())?.measure(input(2_000.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded), (400, 400));
    assert_eq!((trial.reply_truncated, trial.reply_changed), (None, None), "they were not compared");
    assert_eq!(differ(&trial), None);
}

#[test]
fn a_packet_whose_good_reply_comes_too_was_forwarded() {
    let trial = undisturbed_trial(|| {
        let odd = OddTarget::start(move |socket, _, bytes, source| {
            let _ = socket.send_to(&bytes[..20], source);
            let _ = socket.send_to(bytes, source);
        });
        measurer(echo(odd.address), profile())?.measure(input(1_000.0, 100))
    });
    assert_eq!((trial.forwarded, trial.lost(), trial.reply_truncated), (100, 0, Some(0)));
    assert_eq!(differ(&trial), None);
}

#[test]
fn wrong_replies_beside_right_ones_are_counted_by_kind_though_nothing_is_lost() {
    let trial = undisturbed_trial(|| {
        // Cut, empty, grown, with another byte, with a damaged header, and with another index; each beside the right one.
        let odd = OddTarget::start(move |socket, number, bytes, source| {
            let mut reply = bytes.to_vec();
            match number % 6 {
                0 => reply.truncate(20),
                1 => reply.clear(),
                5 => reply.push(0),
                2 => *reply.last_mut().unwrap() ^= 1,
                3 => reply[3] ^= 1,
                _ => reply[15] ^= 1,
            }
            let _ = socket.send_to(&reply, source);
            let _ = socket.send_to(bytes, source);
        });
        measurer(echo(odd.address), profile())?.measure(input(1_000.0, 120))
    });
    assert_eq!((trial.forwarded, trial.lost(), trial.duplicated), (120, 0, Some(0)));
    assert_eq!((trial.reply_truncated, trial.reply_changed, differ(&trial)), (Some(0), Some(0), None));
    let beside = Caveat::RepliesBeside { truncated: 40, extended: 20, changed: 60 };
    assert!(trial.caveats.contains(&beside), "{:?}", trial.caveats);
}

#[test]
fn a_reply_with_a_flipped_bit_is_changed_and_never_another_packet() {
    let trial = undisturbed_trial(|| {
        // Each bit of the header and of what follows it in turn, with the packets between as they are.
        let odd = OddTarget::start(move |socket, number, bytes, source| {
            let mut reply = bytes.to_vec();
            if number % 2 == 1 {
                let bit = number as usize / 2 % (8 * reply.len());
                reply[bit / 8] ^= 1 << (bit % 8);
            }
            let _ = socket.send_to(&reply, source);
        });
        measurer(echo(odd.address), profile())?.measure(input(5_000.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.duplicated), (1000, 500, Some(0)));
    assert_eq!((trial.reply_truncated, trial.reply_changed), (Some(0), Some(500)));
    assert!(trial.caveats.iter().all(|caveat| caveat.code() != "foreign_packets"), "{:?}", trial.caveats);
}

#[test]
fn a_reply_that_was_cut_anywhere_is_truncated() {
    let trial = undisturbed_trial(|| {
        let odd = OddTarget::start(move |socket, number, bytes, source| {
            let _ = socket.send_to(&bytes[..number as usize % bytes.len()], source);
        });
        measurer(echo(odd.address), profile())?.measure(input(2_000.0, 200))
    });
    // None is whole: that it answers is known from replies that were cut.
    assert_eq!((trial.offered, trial.forwarded), (400, 0));
    assert_eq!((trial.reply_truncated, trial.reply_changed), (Some(400), Some(0)));
}

/// A service that has its own answers.
fn own_words() -> OddTarget {
    OddTarget::start(|socket, _, _, source| drop(socket.send_to(b"hello, this is somebody else", source)))
}

#[test]
fn replies_that_cannot_be_attributed_are_spoken_of_and_are_no_silence() {
    for reply in [Reply::Echo, Reply::Any] {
        let odd = own_words();
        let target = UdpTarget { address: odd.address, reply };
        let refused = probe(target, &profile(), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(refused, UdpError::NoAnswer { sent: 5, others: 5, .. }), "{refused:?}");
        assert!(refused.to_string().contains("5 replies came, but none of them is one of these packets"));
        let refused = measurer(target, profile()).unwrap().measure(input(1_000.0, 50)).unwrap_err();
        assert!(matches!(refused, UdpError::NoAnswer { others: 1.., .. }), "{refused:?}");
    }
}

#[test]
fn what_the_target_still_holds_is_waited_for_as_long_as_the_drain_allows() {
    let trial = undisturbed_trial(|| {
        // It answers the first packets of the trial, then nothing for much longer than silence ends a drain.
        let odd = OddTarget::start(|socket, number, bytes, source| {
            if number == 30 {
                std::thread::sleep(Duration::from_millis(700));
            }
            let _ = socket.send_to(bytes, source);
        });
        let drain = Drain { longest: Duration::from_secs(20), ..Drain::default() };
        measurer(echo(odd.address), TrafficProfile { drain, ..profile() })?.measure(input(1_000.0, 100))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.lost()), (100, 100, 0), "{:?}", trial.lost_at);
}

#[test]
fn a_probe_waits_as_long_as_the_drain() {
    // The first answer comes when all five have been sent and given up.
    let odd = OddTarget::start(|socket, number, bytes, source| {
        if number == 4 {
            std::thread::sleep(Duration::from_millis(1_000));
            let _ = socket.send_to(bytes, source);
        }
    });
    let drain = Drain { longest: Duration::from_secs(20), ..Drain::default() };
    let found = probe(echo(odd.address), &TrafficProfile { drain, ..profile() }, &AtomicBool::new(false));
    assert!(found.unwrap().round_trip_ns.is_some());
}
