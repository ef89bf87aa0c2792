//! Replies that are not the packets that were sent.

use crate::odd_target::OddTarget;
use crate::{echo, input, measurer, profile, undisturbed_trial};
use dropline_traffic::{Reply, UdpTarget};
use dropline_trial::{Caveat, Measurer as _, Trial};

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

fn differ(trial: &Trial) -> Option<(u64, u64)> {
    trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::RepliesDiffer { truncated, changed } => Some((*truncated, *changed)),
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
    assert_eq!((trial.reply_truncated, trial.reply_changed), (Some(100), Some(200)));
    let lost_at = trial.lost_at.as_ref().unwrap();
    assert_eq!((lost_at["reply_truncated"], lost_at["reply_changed"]), (100, 200));
    assert_eq!(lost_at.values().sum::<u64>(), 300);
    assert_eq!(differ(&trial), Some((100, 200)));
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
