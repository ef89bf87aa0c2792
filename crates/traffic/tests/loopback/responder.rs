//! The embedded target.

use crate::{echo, input, profile, trial_on};
use dropline_payload::message::decode;
use dropline_payload::{Counts, Message, QUERY_BYTES, Tag};
use dropline_traffic::{Responder, ResponderCounts, generator_limit};
use dropline_trial::Packet;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

fn client(responder: &dropline_traffic::RunningResponder) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(responder.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

#[test]
fn a_reply_is_its_request_whoever_asks() {
    for service_time in [Duration::ZERO, Duration::from_micros(10)] {
        let responder = Responder { service_time, ..Responder::default() }.start().unwrap();
        let client = client(&responder);
        let mut bytes = [0; 2000];
        for request in [&b""[..], b"x", &[7; 1500]] {
            client.send(request).unwrap();
            let length = client.recv(&mut bytes).unwrap();
            assert_eq!(&bytes[..length], request);
        }
        let counts = responder.stop();
        assert_eq!((counts.received, counts.answered), (3, 3));
    }
}

#[test]
fn a_count_query_is_answered_with_no_byte_more() {
    let responder = Responder::default().start().unwrap();
    let client = client(&responder);
    let packet = Message::Packet { tag: Tag(5), index: 0, reply_wanted: false };
    client.send(&packet.encode()).unwrap();
    client.send(&Message::CountQuery { tag: Tag(5), number: 9 }.encode()).unwrap();
    let mut bytes = [0; 2000];
    let length = client.recv(&mut bytes).unwrap();
    assert_eq!(length, QUERY_BYTES);
    let counts = Counts { received: 1, served: 1, dropped_queue: 0 };
    assert_eq!(decode(&bytes[..length]), Ok(Message::CountAnswer { tag: Tag(5), number: 9, counts }));
    let expected = ResponderCounts { received: 1, unanswered: 1, queries: 1, ..responder.counts() };
    assert_eq!(responder.stop(), expected);
}

#[test]
fn a_full_queue_drops_and_every_packet_is_in_one_count() {
    for sleep in [true, false] {
        let service_time = Duration::from_millis(2);
        let slow = Responder { service_time, sleep, queue: 16, workers: 2, ..Responder::default() };
        let responder = slow.start().unwrap();
        let trial = trial_on(echo(responder.address()), profile(), input(4_000.0, 250)).unwrap();
        let counts = responder.stop();
        assert_eq!(counts.received, trial.offered);
        assert_eq!(counts.answered + counts.dropped_queue, trial.offered);
        assert_eq!((counts.waiting, counts.unanswered, counts.refused), (0, 0, 0));
        assert_eq!((trial.forwarded, trial.lost()), (counts.answered, counts.dropped_queue));
        // Two workers, never faster than the service time allows.
        let served_at_most = 2 * trial.elapsed.as_millis() as u64 / 2 + 2;
        assert!(counts.answered <= served_at_most && counts.dropped_queue > 0, "{counts:?}");
    }
}

#[test]
fn without_a_queue_packets_wait_in_the_sockets_buffer_and_are_lost_there() {
    let service_time = Duration::from_millis(2);
    let simple = Responder { service_time, queue: 0, buffer: Some(8 * 832), ..Responder::default() };
    let responder = simple.start().unwrap();
    let trial = trial_on(echo(responder.address()), profile(), input(4_000.0, 250)).unwrap();
    let counts = responder.stop();
    assert_eq!((counts.dropped_queue, counts.waiting), (0, 0), "{counts:?}");
    // The portable way cannot ask the kernel, and then says so instead of a number.
    let counted = (!cfg!(feature = "portable")).then_some(trial.offered);
    assert_eq!(counts.dropped_socket.map(|dropped| dropped + counts.answered), counted);
    assert_eq!((trial.forwarded, trial.lost()), (counts.answered, trial.offered - counts.answered));
    assert!(trial.lost() > trial.offered / 2, "{trial:?}");
}

#[test]
fn what_a_stopped_responder_left_in_its_socket_waited_and_is_not_missing() {
    // With a queue and without one: the first packet keeps the only worker busy until long after the stop.
    for queue in [0, 2] {
        let service_time = Duration::from_millis(500);
        let slow = Responder { service_time, sleep: true, queue, ..Responder::default() };
        let responder = slow.start().unwrap();
        let client = client(&responder);
        for _ in 0..50 {
            client.send(b"please").unwrap();
        }
        let counts = responder.stop();
        assert_eq!(counts.received, 50, "{counts:?}");
        assert_eq!(counts.answered + counts.dropped_queue + counts.waiting, 50, "{counts:?}");
        assert!(counts.answered <= 1, "{counts:?}");
    }
}

#[test]
fn the_generators_limit_is_found() {
    let limit = generator_limit(Packet::of_payload(64).unwrap(), 2, &Arc::default()).unwrap();
    assert!((1e3..1e8).contains(&limit.as_pps()), "{limit}");
}
