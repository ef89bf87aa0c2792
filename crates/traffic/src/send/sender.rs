//! A sender of one trial: packets leave when they are due, or as soon after as can be.

use super::deadline_wait::{LONGEST_SLEEP, wait_until};
use super::pauses::Pauses;
use super::requests::Requests;
use super::schedule::Schedule;
use super::send_queue::SendQueue;
use super::sent::{Mark, Sent};
use super::spread::StreamTurns;
use crate::error::ends_trial;
use crate::packet::sampling::Sampling;
use crate::packet::trial_state::TrialState;
use crate::placement::cpus::Placement;
use crate::placement::run_queue_wait::RunQueueWait;
use crate::sys::{BATCH, Exit, Refused, TRAIN, errno_name, sharpen_sleep};
use dropline_payload::{Message, Tag};
use dropline_stats::Cut;
use dropline_trial::Departed;
use dropline_trial::packets::DepartureTimes;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// Those who start together wait so long for it awake: a wake-up may take as long.
const AWAKE_BEFORE_START: Duration = Duration::from_micros(300);

/// System calls of a sender that moved packets. What is refused is told with the next call at a socket.
#[derive(Clone, Copy, Default)]
struct Calls {
    taken: u64,
    refused: u64,
}

impl Calls {
    /// Whether nobody is there, and not one who refuses a few packets: a rule of a firewall refuses one in nine.
    fn are_all_refused(self) -> bool {
        self.refused >= 3 && self.refused * 2 >= self.taken
    }
}

/// What every sender of a trial is to do.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) placement: &'a Placement,
    pub(crate) tag: Tag,
    pub(crate) reply_wanted: bool,
    /// What a service is asked; `None`: packets say whose they are.
    pub(crate) requests: Option<Requests<'a>>,
    /// When the trial ends; the last packet is due before.
    pub(crate) end_ns: u64,
    /// What is not offered by then is not offered at all.
    pub(crate) give_up_ns: u64,
    /// When it was away.
    pub(crate) pauses: Pauses,
    /// Parts of the trial to count apart.
    pub(crate) cut: Cut,
    /// Packets whose departure the kernel stamps.
    pub(crate) sampling: Sampling,
}

/// From one look whether more may leave to the next.
const HELD: Duration = Duration::from_micros(200);

/// Sends over one exit a stream. Deadlines are absolute; it sleeps until shortly before the next one and stays
/// awake from there; what is due leaves together.
pub(crate) struct Sender<'a> {
    /// Among the senders of the trial.
    pub(crate) number: usize,
    /// The streams that are its own.
    pub(crate) streams: Range<usize>,
    /// An exit for each of its streams.
    pub(crate) exits: Vec<Exit<'a>>,
    /// A queue for each of its streams.
    pub(crate) queues: &'a mut [SendQueue],
    /// Whose turn it is, of all streams.
    pub(crate) turns: StreamTurns<'a>,
    pub(crate) task: Task<'a>,
    /// Keeps each packet's times.
    pub(crate) log: Option<&'a mut DepartureTimes>,
    /// Is told all departures.
    pub(crate) departed: Option<&'a mut Departed>,
}

impl Sender<'_> {
    /// Offers the whole schedule, or what there is time for.
    pub(crate) fn run(mut self, mut schedule: Schedule, flight: &TrialState<'_>) -> Sent {
        let _guard = HaltOnPanic(flight);
        sharpen_sleep();
        let mut rank = self.task.placement.settle_sender(self.number);
        let slices = self.task.cut.slices();
        let mut sent = Sent::with_slices(slices);
        let (mut refused, mut calls) = (RefusedBy::new(), Calls::default());
        // A trial that ended in an error may have left packets behind.
        self.queues.iter_mut().for_each(SendQueue::clear);
        let awake = if flight.is_together() { AWAKE_BEFORE_START } else { Duration::ZERO };
        while !flight.until_start().is_zero() && !flight.is_halted() {
            match flight.until_start().saturating_sub(awake) {
                Duration::ZERO => std::hint::spin_loop(),
                left => std::thread::sleep(left.min(LONGEST_SLEEP)),
            }
        }
        let wait = RunQueueWait::begin();
        let (mut index, mut gathered_ns) = (0, 0);
        let mut now = flight.now_ns();
        self.task.pauses.step(0, now);
        loop {
            index = self.pass_over_others(index, &mut schedule);
            let Some(due) = schedule.due() else { break };
            self.task.pauses.look(due, now);
            let from = now.max(due);
            now = wait_until(due, now, &mut schedule, flight, &mut rank);
            self.task.pauses.step(from, now);
            if now > self.task.give_up_ns || flight.is_halted() {
                break;
            }
            if let Some(until) = self.task.pauses.given_up() {
                index = self.leave_out(index, until, &mut schedule, &mut sent);
                continue;
            }
            let slice_end = self.mark_slices(due, Mark { index, offered: sent.offered }, &mut sent.marks);
            gathered_ns = now;
            let (gathered_from, offered) = (index, sent.offered);
            index = self.gather(index, now, slice_end, &mut schedule, flight);
            flight.publish(self.number, index);
            now = match self.flush(now, &mut sent, &mut refused, &mut calls, flight) {
                Ok(now) => now,
                Err(error) => {
                    sent.error = Some(error);
                    flight.halt();
                    break;
                }
            };
            flight.have_left(self.number, sent.offered - offered);
            if index == gathered_from {
                // No more may leave just now.
                std::thread::sleep(HELD);
                now = flight.now_ns();
            }
            flight.set_offered(self.number, sent.offered);
            rank.look(now);
        }
        let ended = wait_until(self.task.end_ns, now, &mut schedule, flight, &mut rank);
        sent.stopped_ns = (flight.is_stopped() && ended < self.task.end_ns).then_some(ended);
        sent.waited = wait.so_far();
        sent.displaced = self.task.pauses.displaced();
        flight.finish();
        sent.marks.resize(slices, Mark { index: u64::MAX, offered: sent.offered });
        sent.marks.push(Mark { index, offered: sent.offered });
        sent.refused = refused.into_values().map(|(error, count)| (errno_name(&error), count)).collect();
        sent.intended = match sent.stopped_ns {
            // What became due since the last look was cut off, and is no failing.
            Some(stopped) => schedule.intended_before(stopped.min(gathered_ns + 1)),
            None => schedule.intended(),
        };
        sent
    }

    /// Leaves out packets of streams that other senders have.
    fn pass_over_others(&mut self, mut index: u64, schedule: &mut Schedule) -> u64 {
        while !self.streams.contains(&self.turns.stream()) {
            let Some(due) = schedule.due() else { break };
            if let Some(log) = &mut self.log {
                log.push(due, None, self.turns.stream() as u16);
            }
            schedule.take();
            self.turns.take();
            index += 1;
        }
        index
    }

    /// Does not offer what was due before `until`; returns the index of the next one.
    fn leave_out(&mut self, mut index: u64, until: u64, schedule: &mut Schedule, sent: &mut Sent) -> u64 {
        while let Some(due) = schedule.due().filter(|&due| due < until) {
            self.mark_slices(due, Mark { index, offered: sent.offered }, &mut sent.marks);
            if let Some(log) = &mut self.log {
                log.push(due, None, self.turns.stream() as u16);
            }
            schedule.take();
            self.turns.take();
            index += 1;
        }
        index
    }

    /// Begins the slices that a packet which is `due` then is the first of; returns when the next one begins.
    fn mark_slices(&self, due: u64, mark: Mark, marks: &mut Vec<Mark>) -> u64 {
        while marks.len() < self.task.cut.slices() && self.task.cut.begin_ns(marks.len()) <= due {
            marks.push(mark);
        }
        if marks.len() < self.task.cut.slices() { self.task.cut.begin_ns(marks.len()) } else { u64::MAX }
    }

    /// Gives every packet of the slice that is due to its stream; returns the index of the next one.
    fn gather(
        &mut self,
        mut index: u64,
        now: u64,
        slice_end: u64,
        schedule: &mut Schedule,
        flight: &TrialState<'_>,
    ) -> u64 {
        let most = match self.exits.first() {
            Some(Exit::Train(_)) => TRAIN,
            _ => BATCH,
        };
        let most = flight.may_leave(self.number, most);
        let mut gathered = 0;
        while gathered < most {
            let Some(due) = schedule.due().filter(|&due| due <= now && due < slice_end) else { break };
            let stream = self.turns.stream();
            if let Some(log) = &mut self.log {
                log.push(due, None, stream as u16);
            }
            if self.streams.contains(&stream) {
                let asked = self.task.sampling.asks(index);
                // Nobody asks for the times of others.
                if self.task.reply_wanted || asked.is_some() {
                    flight.stamps.note(index, due, now);
                }
                let queue = &mut self.queues[stream - self.streams.start];
                match self.task.requests {
                    None => {
                        let (tag, reply_wanted) = (self.task.tag, self.task.reply_wanted);
                        let packet = Message::Packet { tag, index, reply_wanted };
                        queue.push(packet.header(), index, due, asked);
                    }
                    Some(requests) => queue.ask(requests, index, due, asked),
                }
                gathered += 1;
                if queue.is_full() {
                    gathered = most;
                }
            }
            schedule.take();
            self.turns.take();
            index += 1;
        }
        index
    }

    /// Sends what was gathered and returns the time it is then. A packet that the system refuses is counted
    /// by the reason and not offered; a reason that every packet would meet ends the trial.
    fn flush(
        &mut self,
        mut now: u64,
        sent: &mut Sent,
        refused: &mut RefusedBy,
        calls: &mut Calls,
        flight: &TrialState<'_>,
    ) -> io::Result<u64> {
        for (queue, exit) in self.queues.iter_mut().zip(&mut self.exits) {
            let mut first = 0;
            while first < queue.len() {
                let given = match exit {
                    Exit::Many(_) | Exit::Frames(_) => BATCH.min(queue.len() - first),
                    Exit::Each(_) | Exit::Train(_) | Exit::Nowhere => 1,
                };
                let outcome = queue.send(exit, first);
                let after = flight.now_ns();
                self.task.pauses.step(now, after);
                match outcome {
                    Ok(count) => {
                        calls.taken += 1;
                        let call = Call { began_ns: now, ended_ns: after, first, count };
                        note_departures(
                            queue,
                            exit,
                            call,
                            sent,
                            self.departed.as_deref_mut(),
                            self.log.as_deref_mut(),
                            &mut self.task.pauses,
                        );
                        // One was refused behind others of its call, which does not say so: it is sent again.
                        sent.resent += u64::from(count < given);
                        first += count;
                    }
                    Err(Refused { error, .. }) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(Refused { error, packets }) if packets > 1 && is_no_train(&error) => {
                        // The way does not take trains after all.
                        if let Exit::Train(socket) = *exit {
                            *exit = Exit::Many(socket);
                        }
                    }
                    Err(Refused { error, packets }) => {
                        let was_there = !self.task.reply_wanted || flight.forwarded() > 0;
                        calls.refused += 1;
                        let is_each = calls.are_all_refused();
                        match ends_trial(&error) {
                            true if error.raw_os_error() == Some(libc::EMSGSIZE) => return Err(error),
                            true if !was_there && is_each && flight.is_nobody_there(&error) => {
                                return Err(error);
                            }
                            true => sent.unreachable(&error, after, packets as u64),
                            false
                                if sent.offered == 0
                                    && is_each
                                    && error.kind() == io::ErrorKind::PermissionDenied =>
                            {
                                return Err(error);
                            }
                            false => {}
                        }
                        refused.entry(error.raw_os_error()).or_insert((error, 0)).1 += packets as u64;
                        first += packets;
                    }
                }
                now = after;
            }
            queue.clear();
        }
        Ok(now)
    }
}

/// A system call that took packets.
#[derive(Clone, Copy)]
struct Call {
    began_ns: u64,
    ended_ns: u64,
    first: usize,
    count: usize,
}

/// Packets that left one by one in a call share its time evenly; those of a train left at once.
fn note_departures(
    queue: &SendQueue,
    exit: &Exit<'_>,
    call: Call,
    sent: &mut Sent,
    mut departed: Option<&mut Departed>,
    mut log: Option<&mut DepartureTimes>,
    pauses: &mut Pauses,
) {
    let Call { began_ns, ended_ns, first, count } = call;
    let took = ended_ns.saturating_sub(began_ns);
    let each = match exit {
        Exit::Train(_) if count > 1 => {
            sent.trains.trains += 1;
            sent.trains.packets += count as u64;
            0
        }
        _ => {
            let each = took / count as u64;
            sent.send_cost_ns = Some(sent.send_cost_ns.map_or(each, |least| least.min(each)));
            each
        }
    };
    let mut left = began_ns;
    for packet in queue.packets(first, count) {
        let late_ns = left.saturating_sub(packet.due_ns);
        sent.first_late_ns.get_or_insert(late_ns);
        sent.lateness.record(late_ns);
        pauses.left(packet.due_ns, left);
        if let Some(departed) = &mut departed {
            departed.packet(packet.due_ns, left);
        }
        if let Some(log) = &mut log {
            log.left(packet.index, left);
        }
        left += each;
    }
    sent.offered += count as u64;
}

/// Packets that the system did not take, by its error number.
type RefusedBy = BTreeMap<Option<i32>, (io::Error, u64)>;

/// What says that trains cannot be sent this way, not that packets cannot.
fn is_no_train(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE | libc::EOPNOTSUPP))
}

/// The receiver waits for the end of the sending time, which a sender that panicked does not announce.
struct HaltOnPanic<'a>(&'a TrialState<'a>);

impl Drop for HaltOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt();
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use crate::packet::stamps::Stamps;
    use crate::placement::cpus::{Cpus, Priority};
    use crate::send::spread::Spread;
    use dropline_trial::{Arrival, Part, Rate, TrialInput};
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    #[test]
    fn a_sender_that_panics_does_not_leave_the_receiver_waiting() {
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
        let (stamps, stop) = (Stamps::new(1), AtomicBool::new(false));
        let flight = TrialState::new(Instant::now(), 1, &stamps, &stop, None, None);
        let spread = Spread::new(&[Part::whole("1")]).unwrap();
        let sender = Sender {
            number: 0,
            streams: 0..1,
            exits: Vec::new(),
            queues: &mut [],
            turns: spread.turns(),
            task: Task {
                placement: &Placement::new(&Cpus::Free, Priority::Ordinary, 1),
                tag: Tag(1),
                reply_wanted: true,
                requests: None,
                end_ns: 1_000_000_000,
                give_up_ns: 2_000_000_000,
                pauses: Pauses::ignored(),
                cut: Cut::of(1_000_000_000, None),
                sampling: Sampling::none(),
            },
            log: None,
            departed: None,
        };
        let schedule = Schedule::new(Arrival::constant().departures(input, 7));
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| sender.run(schedule, &flight));
            assert!(sending.join().is_err(), "it has no queue to send on");
        });
        assert!(flight.is_halted());
    }
}
