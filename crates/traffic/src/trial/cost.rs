//! What a packet costs the sender, and its reply the receiver, beyond the system call.

use crate::means::ReceiveMeans;
use crate::packet::attribution::Whose;
use crate::packet::content::Content;
use crate::packet::frame::Head;
use crate::packet::sampling::Sampling;
use crate::packet::stamps::Stamps;
use crate::packet::trial_state::TrialState;
use crate::placement::cpus::{Cpus, Placement, Priority};
use crate::receive::reading::Reading;
use crate::receive::receiver::{Receiver, Tools};
use crate::send::pauses::Pauses;
use crate::send::schedule::Schedule;
use crate::send::send_queue::SendQueue;
use crate::send::sender::{Sender, Task};
use crate::send::spread::Spread;
use crate::sys::{BATCH, Exit, ReceiveBatch, stamp_packets, wait_for_stamps, wait_readable};
use crate::target::Reply;
use dropline_payload::{HEADER_BYTES, Tag, Tags, filler};
use dropline_stats::{Cut, Spacing};
use dropline_trial::{Arrival, Departed, PacketTimes, Part, Rate, TrialInput};
use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// UDP payload in bytes; of a reply all of it is compared.
const PAYLOAD: usize = 64;

/// Lets the sender of a trial send `packets` that are all due at once, with all its counting, but calls nobody;
/// how long each took. With `keep`, the times of each packet are kept too.
///
/// What allocates is made before, so this is the loop alone.
pub fn of_sending(packets: u64, keep: bool) -> Duration {
    let billion = Rate::from_millipps(1_000_000_000_000);
    let input = TrialInput { load: billion, duration: Duration::from_nanos(packets.max(1)) };
    let (stamps, stop) = (Stamps::new(1 << 20), AtomicBool::new(false));
    let spread = Spread::new(&[Part::whole("1")]).expect("one stream is legal");
    let placement = Placement::new(&Cpus::Free, Priority::Ordinary, 1);
    let mut log = keep.then(|| PacketTimes::with_room(packets as usize, false));
    let mut queues = [SendQueue::new(PAYLOAD, 1, Head::default())];
    let mut departed = Departed::new();
    let schedule = Schedule::new(Arrival::constant().departures(input, 1));
    let sender = Sender {
        number: 0,
        streams: 0..1,
        exits: vec![Exit::Nowhere],
        queues: &mut queues,
        turns: spread.turns(),
        task: Task {
            placement: &placement,
            tag: Tag(1),
            reply_wanted: true,
            requests: None,
            end_ns: packets,
            give_up_ns: u64::MAX,
            pauses: Pauses::ignored(),
            cut: Cut::of(0, None),
            sampling: Sampling::of(1e5),
        },
        log: log.as_mut().map(|log| &mut log.departures),
        departed: Some(&mut departed),
    };
    let flight = TrialState::new(Instant::now(), 1, &stamps, &stop, None, None);
    let begun = Instant::now();
    let sent = sender.run(schedule, &flight);
    let took = begun.elapsed();
    assert_eq!(sent.offered, packets, "every packet was sent");
    Duration::from_nanos((took.as_nanos() / u128::from(packets.max(1))) as u64)
}

/// Lets the receiver of a trial count `packets` replies, all in order, with all its judging, but calls nobody; how
/// long each took, the making of its header and the comparison with what was sent included. With `keep`, the times of each packet are kept too.
///
/// Replies are those that one call brought over loopback, kernel's stamps included, under new indices.
///
/// # Panics
/// If there is no loopback.
pub fn of_receiving(packets: u64, keep: bool) -> Duration {
    let open = || UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let (target, sockets) = (open(), [open()]);
    sockets[0].set_nonblocking(true).expect("it is a socket");
    let stamped = stamp_packets(&sockets[0]).is_ok();
    if stamped {
        wait_for_stamps();
    }
    let (stamps, stop) = (Stamps::new(1 << 20), AtomicBool::new(false));
    let flight = TrialState::new(Instant::now(), 1, &stamps, &stop, None, None);
    flight.publish(0, packets);
    let address = sockets[0].local_addr().expect("it is bound");
    for _ in 0..BATCH {
        let packet = [&[0; HEADER_BYTES], filler(PAYLOAD - HEADER_BYTES).as_slice()].concat();
        target.send_to(&packet, address).expect("loopback is there");
    }
    let content = Content::of(Reply::Echo, PAYLOAD as u32);
    let spread = Spread::new(&[Part::whole("1")]).expect("one stream is legal");
    let mut batch = ReceiveBatch::with_stamps(content.kept_bytes());
    let whose = Whose { tags: Tags::new(1, 1), first: 0, number: 0 };
    let mut log = keep.then(|| PacketTimes::with_room(packets as usize, true));
    let mut arrived = Spacing::new();
    let tools = Tools {
        batch: &mut batch,
        log: log.as_mut().and_then(|log| log.returns.as_mut()),
        arrived: &mut arrived,
        reading: Reading::Echo { whose, content: &content, spread: &spread },
        first_stream: 0,
        cut: Cut::of(0, None),
        expected: packets,
    };
    let receiver = Receiver::new(&sockets, &[0], tools, ReceiveMeans::Spin, true);
    wait_readable(&sockets, Duration::from_secs(1)).expect("it is a socket");
    let begun = Instant::now();
    let counted = receiver.judge_again(packets, &flight);
    let took = begun.elapsed();
    assert!(counted >= packets, "every packet was counted");
    Duration::from_nanos((took.as_nanos() / u128::from(counted.max(1))) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_packets_ask_for_no_more_memory() {
        use crate::sys::allocations::during;
        for keep in [false, true] {
            let few = during(|| {
                of_sending(1_000, keep);
            });
            let many = during(|| {
                of_sending(100_000, keep);
            });
            assert_eq!(few, many, "the sender's loop allocates");
            let few = during(|| {
                of_receiving(1_000, keep);
            });
            // Up to what one piece of the set of seen packets holds, which is made before.
            let many = during(|| {
                of_receiving(60_000, keep);
            });
            assert_eq!(few, many, "the receiver's loop allocates");
        }
    }

    #[test]
    fn every_packet_goes_through_the_loop() {
        for keep in [false, true] {
            // Both say themselves if a packet is missing.
            of_sending(1_000, keep);
            of_receiving(1_000, keep);
        }
    }
}
