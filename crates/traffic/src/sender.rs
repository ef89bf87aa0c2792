//! The sender of one trial: packets leave when they are due, or as soon after as can be.

use crate::error::ends_trial;
use crate::flight::Flight;
use crate::schedule::Schedule;
use crate::spread::Spread;
use crate::sys::{BATCH, SendBatch, errno_name, sharpen_sleep};
use dropline_payload::{Message, Tag};
use dropline_stats::Histogram;
use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

/// Sends over one socket a stream. Deadlines are absolute; it sleeps until shortly before the next one
/// and stays awake from there; what is due leaves together.
pub(crate) struct Sender<'a> {
    pub(crate) sockets: &'a [UdpSocket],
    pub(crate) lanes: &'a mut [Lane],
    pub(crate) spread: &'a Spread,
    pub(crate) tag: Tag,
    pub(crate) reply_wanted: bool,
    /// When the trial ends; the last packet is due before.
    pub(crate) end_ns: u64,
    /// What is not offered by then is not offered at all.
    pub(crate) give_up_ns: u64,
    /// Parts of the trial to count apart: how many, and how long each is.
    pub(crate) slices: Option<(u32, u64)>,
}

/// One stream's packets that are due, and how late each of them is.
pub(crate) struct Lane {
    batch: SendBatch,
    late_ns: Vec<u64>,
}

impl Lane {
    /// For packets with `payload` bytes.
    pub(crate) fn new(payload: usize) -> Self {
        Self { batch: SendBatch::new(payload), late_ns: Vec::with_capacity(BATCH) }
    }

    fn clear(&mut self) {
        self.batch.clear();
        self.late_ns.clear();
    }
}

/// What was sent.
pub(crate) struct Sent {
    pub(crate) offered: u64,
    pub(crate) refused: BTreeMap<String, u64>,
    pub(crate) lateness: Histogram,
    /// Packets the schedule had.
    pub(crate) intended: u64,
    /// Where each slice begins, and the end of the last.
    pub(crate) marks: Vec<Mark>,
    /// What ended it early.
    pub(crate) error: Option<io::Error>,
}

/// A moment between two packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// The next packet's index.
    pub(crate) index: u64,
    /// Packets offered so far.
    pub(crate) offered: u64,
}

/// How long before a deadline sleep ends and waiting awake begins: a wake-up takes about this long.
const AWAKE: Duration = Duration::from_micros(40);
/// How long before a deadline the CPU is no longer offered to others.
///
/// Until then whoever shares it, the target or our own receiver on a small machine, has its turn now and
/// not when the sender's time slice is used up, 3 ms later. With nobody there a turn costs 0.3 us.
const SPIN: Duration = Duration::from_micros(4);
/// The longest sleep without a look at whether the user wants to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);
/// Departures are drawn ahead when there is this much time.
const SLACK_NS: u64 = 10_000;

impl Sender<'_> {
    /// Offers the whole schedule, or what there is time for.
    pub(crate) fn run(mut self, mut schedule: Schedule, flight: &Flight<'_>) -> Sent {
        sharpen_sleep();
        let _guard = HaltOnPanic(flight);
        let slices = self.slices.map_or(0, |(count, _)| count as usize);
        let mut sent = Sent {
            offered: 0,
            refused: BTreeMap::new(),
            lateness: Histogram::new(),
            intended: 0,
            marks: Vec::with_capacity(slices + 1),
            error: None,
        };
        let mut refused = BTreeMap::new();
        let mut index = 0;
        // A trial that ended in an error may have left packets behind.
        self.lanes.iter_mut().for_each(Lane::clear);
        while !flight.until_start().is_zero() && !flight.is_halted() {
            std::thread::sleep(flight.until_start().min(LONGEST_SLEEP));
        }
        while let Some(due) = schedule.due() {
            let now = wait_until(due, &mut schedule, flight);
            if now > self.give_up_ns || flight.is_halted() {
                break;
            }
            self.mark_slices(now, Mark { index, offered: sent.offered }, &mut sent.marks);
            index = self.gather(index, now, &mut schedule, flight);
            flight.publish(index);
            let outcome = self.flush(&mut sent, &mut refused);
            flight.set_offered(sent.offered);
            if let Err(error) = outcome {
                sent.error = Some(error);
                flight.halt();
                break;
            }
        }
        wait_until(self.end_ns, &mut schedule, flight);
        flight.finish();
        sent.marks.resize(slices + 1, Mark { index, offered: sent.offered });
        sent.refused = refused.into_values().map(|(error, count)| (errno_name(&error), count)).collect();
        sent.intended = schedule.intended();
        sent
    }

    /// Begins the slices that have begun by `now`; what leaves after the last one's end belongs to it.
    fn mark_slices(&self, now: u64, mark: Mark, marks: &mut Vec<Mark>) {
        let Some((count, length_ns)) = self.slices else { return };
        while marks.len() < count as usize && marks.len() as u64 * length_ns <= now {
            marks.push(mark);
        }
    }

    /// Gives every packet that is due to its stream; returns the index of the next one.
    fn gather(&mut self, mut index: u64, now: u64, schedule: &mut Schedule, flight: &Flight<'_>) -> u64 {
        for _ in 0..BATCH {
            let Some(due) = schedule.due().filter(|&due| due <= now) else { break };
            let packet = Message::Packet { tag: self.tag, index, reply_wanted: self.reply_wanted };
            flight.stamps.note(index, due, now);
            let lane = &mut self.lanes[self.spread.stream_of(index)];
            lane.batch.push(packet.header());
            lane.late_ns.push(now - due);
            schedule.take();
            index += 1;
        }
        index
    }

    /// Sends what was gathered. A packet that the system refuses is counted by the reason and not
    /// offered; a reason that every packet would meet ends the trial.
    fn flush(&mut self, sent: &mut Sent, refused: &mut Refused) -> io::Result<()> {
        for (lane, socket) in self.lanes.iter_mut().zip(self.sockets) {
            let mut first = 0;
            while first < lane.batch.len() {
                match lane.batch.send(socket, first) {
                    Ok(count) => {
                        lane.late_ns[first..first + count].iter().for_each(|&ns| sent.lateness.record(ns));
                        sent.offered += count as u64;
                        first += count;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if ends_trial(&error) || (sent.offered == 0 && is_forbidden(&error)) => {
                        return Err(error);
                    }
                    Err(error) => {
                        refused.entry(error.raw_os_error()).or_insert((error, 0)).1 += 1;
                        first += 1;
                    }
                }
            }
            lane.clear();
        }
        Ok(())
    }
}

/// Packets that the system did not take, by its error number.
type Refused = BTreeMap<Option<i32>, (io::Error, u64)>;

fn is_forbidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// The receiver waits for the end of the sending time, which a sender that panicked does not announce.
struct HaltOnPanic<'a>(&'a Flight<'a>);

impl Drop for HaltOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt();
        }
    }
}

/// Waits until `due` and returns the time it is then; returns early when the trial is halted.
fn wait_until(due: u64, schedule: &mut Schedule, flight: &Flight<'_>) -> u64 {
    loop {
        let now = flight.now_ns();
        let left = due.saturating_sub(now);
        if left == 0 || flight.is_halted() {
            return now;
        }
        if left > SLACK_NS {
            schedule.draw_ahead();
        }
        let left = Duration::from_nanos(due.saturating_sub(flight.now_ns()));
        if left > AWAKE {
            std::thread::sleep((left - AWAKE).min(LONGEST_SLEEP));
        } else if left > SPIN {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamps::Stamps;
    use dropline_trial::{Arrival, Part, Rate, TrialInput};
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    #[test]
    fn a_sender_that_panics_does_not_leave_the_receiver_waiting() {
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
        let (stamps, stop) = (Stamps::new(1), AtomicBool::new(false));
        let flight = Flight::new(Instant::now(), &stamps, &stop, None);
        let sender = Sender {
            sockets: &[],
            lanes: &mut [],
            spread: &Spread::new(&[Part::whole("1")]).unwrap(),
            tag: Tag(1),
            reply_wanted: true,
            end_ns: 1_000_000_000,
            give_up_ns: 2_000_000_000,
            slices: None,
        };
        let schedule = Schedule::new(Arrival::constant().departures(input, 7));
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| sender.run(schedule, &flight));
            assert!(sending.join().is_err(), "it has no lane to send on");
        });
        assert!(flight.is_halted());
    }
}
