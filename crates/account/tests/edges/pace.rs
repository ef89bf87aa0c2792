//! Whether the pace of the replies is the server's.

use super::{Seen, US, busy, times};
use dropline_account::explanation::Lack;
use dropline_trial::TargetActivity;
use std::time::Duration;

fn doubts(seen: &Seen) -> Vec<Lack> {
    use Lack::{PaceNotKnown, PacedByQueue, PacedByReturnQueue, PacedElsewhere};
    let doubts = [PaceNotKnown, PacedByQueue, PacedByReturnQueue, PacedElsewhere];
    seen.explained().lacks.into_iter().filter(|lack| doubts.contains(lack)).collect()
}

#[test]
fn a_queue_paced_the_replies_if_it_lost_more_than_is_lost_where_packets_wait_for_the_server() {
    let found = |places: &[(&str, u64)]| doubts(&Seen::of(times(&busy(32, 40 * US))).lost_at(places));
    let buffers = |qdisc| [("qdisc", qdisc), ("receive_buffer", 5), ("service_queue", 5)];
    assert_eq!(found(&buffers(10)), []);
    assert_eq!(found(&buffers(11)), [Lack::PacedByQueue]);
    let sum = [("qdisc", 3), ("return_qdisc", 3), ("return_send_buffer", 3), ("receive_buffer", 8)];
    assert_eq!(found(&sum), [Lack::PacedByReturnQueue]);
    let both = |qdisc| [("qdisc", qdisc), ("return_qdisc", 3), ("return_send_buffer", 3)];
    assert_eq!(found(&both(6)), [Lack::PacedByReturnQueue]);
    assert_eq!(found(&both(7)), [Lack::PacedByQueue]);
}

#[test]
fn a_queue_did_not_pace_a_server_that_ran_for_two_thirds_of_the_time() {
    // Each 30 us a reply; ten packets took this CPU time.
    let found = |cpu_ns| {
        let watched = TargetActivity { cpu_ns: Some(cpu_ns), packets: 10, ..TargetActivity::default() };
        doubts(&Seen::of(times(&busy(32, 30 * US))).lost_at(&[("qdisc", 6)]).watched(watched))
    };
    assert_eq!((found(200_000), found(199_999)), (vec![], vec![Lack::PacedByQueue]));
}

#[test]
fn a_loss_elsewhere_doubts_the_pace_only_where_so_slow_a_server_would_have_lost_packets_too() {
    let found = |held: u64| {
        let watched = TargetActivity { buffer_bytes: Some(held * 832), ..TargetActivity::default() };
        doubts(&Seen::of(times(&busy(32, 40 * US))).lost_at(&[("return_softnet", 3)]).watched(watched))
    };
    assert_eq!((found(256), found(8)), (vec![], vec![Lack::PacedElsewhere]));
}

#[test]
fn what_waited_elsewhere_was_much_and_long_and_not_at_the_socket_of_a_server_that_hardly_ran() {
    let found = |waiting, cpu_ns: u64, queued_bytes, every_ns| {
        let watched = TargetActivity {
            cpu_ns: Some(cpu_ns * 10),
            packets: 10,
            largest_queued_bytes: queued_bytes,
            every: Duration::from_nanos(every_ns),
            ..TargetActivity::default()
        };
        doubts(&Seen::of(times(&busy(waiting, 40 * US))).watched(watched)) == [Lack::PaceNotKnown]
    };
    let seven = Some(8 * 832 - 1);
    assert!(found(32, 9_999, seven, 255_999));
    assert!(!found(31, 9_999, Some(0), 1), "31 may be those of one read");
    assert!(!found(32, 10_000, seven, 255_999), "it ran for a quarter of the time");
    assert!(!found(32, 9_999, Some(8 * 832), 255_999), "a quarter of them was at its socket");
    assert!(!found(32, 9_999, None, 255_999), "nobody saw its socket");
    assert!(!found(32, 9_999, seven, 256_000), "they were there for five looks and no longer");
}
