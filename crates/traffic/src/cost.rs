//! What a packet costs the sender beyond the system call.

use crate::flight::Flight;
use crate::frame::Head;
use crate::lane::Lane;
use crate::placement::{Cpus, Placement, Priority};
use crate::sampling::Sampling;
use crate::schedule::Schedule;
use crate::sender::Sender;
use crate::spread::Spread;
use crate::stamps::Stamps;
use crate::sys::Exit;
use dropline_payload::Tag;
use dropline_stats::Cut;
use dropline_trial::{Arrival, Departed, PacketTimes, Part, Rate, TrialInput};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

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
    let mut lanes = [Lane::new(64, 1, Head::default())];
    let mut departed = Departed::new();
    let schedule = Schedule::new(Arrival::constant().departures(input, 1));
    let sender = Sender {
        number: 0,
        streams: 0..1,
        exits: vec![Exit::Nowhere],
        lanes: &mut lanes,
        turns: spread.turns(),
        placement: &placement,
        tag: Tag(1),
        reply_wanted: false,
        end_ns: packets,
        give_up_ns: u64::MAX,
        cut: Cut::of(0, None),
        sampling: Sampling::of(1e5),
        log: log.as_mut().map(|log| &mut log.departures),
        departed: Some(&mut departed),
    };
    let flight = Flight::new(Instant::now(), 1, &stamps, &stop, None, None);
    let begun = Instant::now();
    let sent = sender.run(schedule, &flight);
    let took = begun.elapsed();
    assert_eq!(sent.offered, packets, "every packet was sent");
    Duration::from_nanos((took.as_nanos() / u128::from(packets.max(1))) as u64)
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
            assert_eq!(few, many, "the loop allocates");
        }
    }

    #[test]
    fn every_packet_goes_through_the_loop() {
        assert!(of_sending(1_000, true) < Duration::from_secs(1));
    }
}
