//! A receiver of one trial: every reply is judged by its tag and counted once.

use super::late::LARGEST_BACKLOG;
use super::reading::{Heard, Reading};
use super::received::{MOST_CLASSES, Received};
use crate::error::nothing_as_none;
use crate::means::ReceiveMeans;
use crate::packet::clock_join::ClockJoin;
use crate::packet::trial_state::TrialState;
use crate::sys::{BATCH, ReceiveBatch, hear_queued, wait_and_hear};
use dropline_payload::Message;
use dropline_stats::{Cut, Spacing};
use dropline_trial::Drain;
use dropline_trial::packets::ReturnTimes;
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

/// Takes replies from one socket a stream.
pub(crate) struct Receiver<'a> {
    sockets: &'a [UdpSocket],
    /// For each socket, the sender of its stream.
    senders: &'a [usize],
    batch: &'a mut ReceiveBatch,
    reading: Reading<'a>,
    /// The stream of the first socket.
    first_stream: usize,
    means: ReceiveMeans,
    /// Whether a target that reports itself gone was there at the start.
    was_there: bool,
    /// By stream: the index that would be next in order (RFC 4737 §3).
    next_expected: Vec<u64>,
    /// By stream: how many replies came.
    heard: Vec<u64>,
    last_reply_ns: u64,
    /// Of the last reply whose packet is known, from when that was due.
    last_delay_ns: u64,
    join: ClockJoin,
    log: Option<&'a mut ReturnTimes>,
    arrived: &'a mut Spacing,
    counts: Received,
}

/// The longest wait without a look at whether the user wants to stop.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// The longest drain of a trial that the user stopped, and its longest silence.
const STOPPED: Duration = Duration::from_millis(500);
const STOPPED_QUIET: Duration = Duration::from_millis(100);
/// Near the end of the schedule the receiver must not miss that the last packet left.
const SHORT_WAIT: Duration = Duration::from_millis(1);
/// Batches that are taken from one socket before the others have their turn.
const TURNS: usize = 16;

/// Looks at an empty socket between two at everything else, of a receiver that spins.
const SPINS: u32 = 256;

/// What a receiver works with.
pub(crate) struct Tools<'a> {
    pub(crate) batch: &'a mut ReceiveBatch,
    pub(crate) log: Option<&'a mut ReturnTimes>,
    pub(crate) arrived: &'a mut Spacing,
    /// How replies are read.
    pub(crate) reading: Reading<'a>,
    /// The stream of the first socket.
    pub(crate) first_stream: usize,
    /// How the trial is cut.
    pub(crate) cut: Cut,
    /// Room for packets that are expected.
    pub(crate) expected: u64,
}

impl<'a> Receiver<'a> {
    pub(crate) fn new(
        sockets: &'a [UdpSocket],
        senders: &'a [usize],
        tools: Tools<'a>,
        means: ReceiveMeans,
        was_there: bool,
    ) -> Self {
        Self {
            next_expected: vec![0; sockets.len()],
            heard: vec![0; sockets.len()],
            sockets,
            senders,
            batch: tools.batch,
            reading: tools.reading,
            first_stream: tools.first_stream,
            means,
            was_there,
            last_reply_ns: 0,
            last_delay_ns: 0,
            join: ClockJoin::default(),
            log: tools.log,
            arrived: tools.arrived,
            counts: Received::with_room(tools.expected, tools.cut),
        }
    }

    /// Takes what arrived before the trial, so that its socket begins empty.
    pub(crate) fn clear_backlog(&mut self) -> io::Result<()> {
        for (stream, socket) in self.sockets.iter().enumerate() {
            // What the network said about an earlier trial is not this one's.
            let _ = hear_queued(socket, |_| {});
            for _ in 0..LARGEST_BACKLOG {
                let Some(count) = nothing_as_none(self.batch.receive(socket))? else { break };
                for at in 0..count {
                    let heard = self.reading.hear(self.batch.packet(at), self.first_stream + stream, 0, 0);
                    self.counts.count_stray(heard);
                }
            }
        }
        Ok(())
    }

    /// Receives until the drain ends, or at once when the sender finished and no reply is awaited. What is under way
    /// when the user stops the trial is waited for too, but [`STOPPED`] at most.
    ///
    /// # Errors
    /// What the network reported of a target that was never there; the trial is halted then.
    pub(crate) fn run(
        mut self,
        flight: &TrialState<'_>,
        end_ns: u64,
        drain: Option<Drain>,
    ) -> io::Result<Received> {
        self.read_clocks(flight);
        while !flight.is_broken() {
            let now = flight.now_ns();
            let drain = drain.map(|drain| if flight.is_stopped() { stopped(drain) } else { drain });
            let longest = match (flight.finished_ns(), drain) {
                (None, _) => Duration::from_nanos(end_ns.saturating_sub(now)).max(SHORT_WAIT),
                (Some(_), None) => break,
                (Some(finished), Some(drain)) => match self.drain_left(now, finished, flight, drain) {
                    Duration::ZERO => break,
                    left => left,
                },
            };
            let taken = match self.means.spins() && drain.is_some() {
                true => self.spin(flight),
                false => self.wait(longest.min(LONGEST_WAIT), flight),
            };
            if let Err(error) = taken.or_else(|error| self.report(error, flight)) {
                flight.halt();
                return Err(error);
            }
        }
        // What was stamped last may have been read by nobody yet.
        self.hear(flight);
        self.counts.end();
        self.counts.join = self.join;
        Ok(self.counts)
    }

    /// Sleeps until something is there.
    fn wait(&mut self, longest: Duration, flight: &TrialState<'_>) -> io::Result<()> {
        let (join, counts, senders) = (&mut self.join, &mut self.counts, self.senders);
        let ready = wait_and_hear(self.sockets, longest, |socket, queued| {
            counts.hear(queued, senders[socket], join, flight);
        })?;
        if ready { self.take(flight).map(|_| ()) } else { Ok(()) }
    }

    /// Asks all the time.
    fn spin(&mut self, flight: &TrialState<'_>) -> io::Result<()> {
        for _ in 0..SPINS {
            if !self.take(flight)? {
                std::hint::spin_loop();
            }
        }
        self.hear(flight);
        Ok(())
    }

    /// Takes what waits in the error queues. Errors among it are in the next answer of a socket too.
    fn hear(&mut self, flight: &TrialState<'_>) {
        for (socket, &sender) in self.sockets.iter().zip(self.senders) {
            let (join, counts) = (&mut self.join, &mut self.counts);
            if let Err(error) = hear_queued(socket, |queued| counts.hear(queued, sender, join, flight)) {
                self.counts.report(&error, flight.now_ns());
            }
        }
    }

    /// A target that was there and is gone is a result; one that never was there is an error, once that is plain.
    fn report(&mut self, error: io::Error, flight: &TrialState<'_>) -> io::Result<()> {
        let gone = crate::error::ends_trial(&error) && error.raw_os_error() != Some(libc::EMSGSIZE);
        let was_there = self.was_there || flight.forwarded() > 0;
        if !gone || !was_there && flight.is_nobody_there(&error) {
            return Err(error);
        }
        self.counts.report(&error, flight.now_ns());
        Ok(())
    }

    /// How long the drain may still last. What waits at the target's socket is no silence.
    fn drain_left(&self, now: u64, finished: u64, flight: &TrialState<'_>, drain: Drain) -> Duration {
        let since = |moment: u64| Duration::from_nanos(now.saturating_sub(moment));
        let left = drain.longest.saturating_sub(since(finished));
        match drain.quiet {
            None => left,
            Some(_) if flight.forwarded() >= flight.offered() => Duration::ZERO,
            Some(_) if flight.target_holds() => left,
            Some(quiet) => left.min(quiet.saturating_sub(since(self.last_reply_ns.max(finished)))),
        }
    }

    /// Takes what is there; whether there was anything.
    fn take(&mut self, flight: &TrialState<'_>) -> io::Result<bool> {
        let before = self.counts.forwarded;
        let mut any = false;
        for stream in 0..self.sockets.len() {
            for _ in 0..TURNS {
                let Some(count) = nothing_as_none(self.batch.receive(&self.sockets[stream]))? else { break };
                any = true;
                self.judge(stream, count, flight);
                if count < BATCH {
                    break;
                }
            }
        }
        let forwarded = self.counts.forwarded - before;
        if forwarded > 0 {
            flight.add_forwarded(forwarded, self.last_delay_ns);
        }
        Ok(any)
    }

    /// Reads the schedule's clock, and the stamps' with it; not before the trial starts, when the first stands still.
    fn read_clocks(&mut self, flight: &TrialState<'_>) -> u64 {
        let now = flight.now_ns();
        if now > 0 {
            self.join.observe(now, flight.real_ns(), flight.now_ns());
        }
        now
    }

    /// Counts what the last call brought.
    fn judge(&mut self, stream: usize, count: usize, flight: &TrialState<'_>) {
        let now = self.read_clocks(flight);
        let sent_below = flight.next_index(self.senders[stream]);
        for at in 0..count {
            let before = self.heard[stream];
            let heard =
                self.reading.hear(self.batch.packet(at), self.first_stream + stream, sent_below, before);
            if !matches!(heard, Heard::Late | Heard::Counted | Heard::Unasked | Heard::Foreign) {
                self.last_reply_ns = now;
                self.heard[stream] += 1;
            }
            match heard {
                Heard::Reply { index, class, origin } => {
                    self.counts.count_origin(origin);
                    self.count_reply(stream, index, class, (at, now, sent_below), flight);
                }
                Heard::Part { index, part } => match self.counts.take_part(index, part) {
                    Some(class) => self.count_reply(stream, index, class, (at, now, sent_below), flight),
                    None => self.counts.reply_bytes += self.batch.packet(at).len() as u64,
                },
                Heard::Different { difference, index } => self.counts.count_different(difference, index),
                other => self.counts.count_stray(other),
            }
        }
    }

    /// Counts `packets` replies, which are those of the last call again and again under new indices: what a receiver
    /// costs without the system. Returns how many were counted.
    pub(crate) fn judge_again(mut self, packets: u64, flight: &TrialState<'_>) -> u64 {
        let Ok(count) = self.batch.receive(&self.sockets[0]) else { return 0 };
        for first in (0..packets).step_by(count) {
            for at in 0..count {
                let index = first + at as u64;
                flight.stamps.note(index, 0, 0);
                let Reading::Echo { whose, .. } = self.reading else { return 0 };
                let packet = Message::Packet { tag: whose.tag(), index, reply_wanted: true };
                let header = packet.header();
                self.batch.packet_mut(at)[..header.len()].copy_from_slice(&header);
            }
            self.judge(0, count, flight);
        }
        self.counts.forwarded
    }

    fn count_reply(
        &mut self,
        stream: usize,
        index: u64,
        class: usize,
        (at, now, sent_below): (usize, u64, u64),
        flight: &TrialState<'_>,
    ) {
        let counts = &mut self.counts;
        // Who had the tag before has no reply yet, or none that is surely his: this one may be his, and nobody can tell. So it is of
        // all that have the tag after that.
        let is_ambiguous = self.reading.turn_before(index).is_some_and(|before| {
            let before = before..before + 1;
            counts.seen.count(before.clone()) == 0 || counts.unsure.count(before) > 0
        });
        if !counts.seen.insert(index) {
            if is_ambiguous {
                counts.late += 1;
            } else {
                counts.duplicated += 1;
            }
            return;
        }
        counts.forwarded += 1;
        counts.reply_bytes += self.batch.packet(at).len() as u64;
        counts.classes[class.min(MOST_CLASSES - 1)] += 1;
        let next = &mut self.next_expected[stream];
        if index < *next {
            counts.reordered += 1;
        } else {
            *next = index + 1;
        }
        if is_ambiguous {
            counts.ambiguous += 1;
            counts.unsure.insert(index);
            return;
        }
        let times = flight.stamps.of(index);
        let earliest = times.map_or(0, |(_, departed)| departed);
        let stamp = self.batch.stamp(at).map(|stamp| flight.stamped(stamp));
        let back = match stamp.and_then(|stamp| self.join.trial_ns(stamp, earliest, now)) {
            Some(back) => {
                counts.stamped += 1;
                back
            }
            None => {
                counts.unstamped += 1;
                now
            }
        };
        if let Some(next) = self.reading.next_in_order(index).filter(|&next| next < sent_below) {
            // Its times may be gone: a great deal has left since.
            let has_left = |(_, departed): (u64, u64)| departed <= back;
            counts.together += u64::from(flight.stamps.of(next).is_none_or(has_left));
        }
        self.arrived.event(back);
        if let Some(log) = &mut self.log {
            log.note(index, back);
        }
        match times {
            Some((due, departed)) => {
                self.last_delay_ns = back.saturating_sub(due);
                counts.delay.record(self.last_delay_ns);
                counts.slices.record(due, back.cast_signed() - due.cast_signed());
                counts.service_delay.record(back.saturating_sub(departed));
            }
            None => counts.without_delay += 1,
        }
    }
}

/// The drain of a trial that the user stopped.
fn stopped(drain: Drain) -> Drain {
    let quiet = drain.quiet.unwrap_or(STOPPED_QUIET).min(STOPPED_QUIET);
    Drain { longest: drain.longest.min(STOPPED), quiet: Some(quiet), ..drain }
}
