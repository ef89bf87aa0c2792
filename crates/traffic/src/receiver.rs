//! The receiver of one trial: every reply is judged by its tag and counted once.

use crate::flight::Flight;
use crate::seen::Seen;
use crate::sys::{BATCH, ReceiveBatch, wait_readable};
use dropline_payload::{Tag, Tags, Verdict};
use dropline_stats::Histogram;
use dropline_trial::Drain;
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

/// Takes replies from one socket a stream.
pub(crate) struct Receiver<'a> {
    sockets: &'a [UdpSocket],
    batch: &'a mut ReceiveBatch,
    whose: Whose,
    /// By stream: the index that would be next in order (RFC 4737 §3).
    next_expected: Vec<u64>,
    last_reply_ns: u64,
    counts: Received,
}

/// Which packets are this trial's.
#[derive(Clone, Copy)]
pub(crate) struct Whose {
    pub(crate) tags: Tags,
    /// The first trial of this program.
    pub(crate) first: u64,
    /// This trial.
    pub(crate) number: u64,
}

impl Whose {
    /// What these bytes are to this trial.
    pub(crate) fn judge(self, bytes: &[u8]) -> Verdict {
        Verdict::of(bytes, self.tags, self.first, self.number)
    }

    /// The tag of this trial.
    pub(crate) fn tag(self) -> Tag {
        self.tags.of_trial(self.number)
    }
}

/// What came back.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) seen: Seen,
    pub(crate) forwarded: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    pub(crate) late: u64,
    pub(crate) foreign: u64,
    pub(crate) without_delay: u64,
    pub(crate) delay: Histogram,
    pub(crate) service_delay: Histogram,
}

/// The longest wait without a look at whether the user wants to stop.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// Near the end of the schedule the receiver must not miss that the last packet left.
const SHORT_WAIT: Duration = Duration::from_millis(1);
/// Batches that are taken from one socket before the others have their turn.
const TURNS: usize = 16;
/// Batches that are taken before a trial; a socket that is filled faster than that is beyond help.
const LARGEST_BACKLOG: usize = 4096;

impl<'a> Receiver<'a> {
    pub(crate) fn new(sockets: &'a [UdpSocket], batch: &'a mut ReceiveBatch, whose: Whose) -> Self {
        Self {
            next_expected: vec![0; sockets.len()],
            sockets,
            batch,
            whose,
            last_reply_ns: 0,
            counts: Received::default(),
        }
    }

    /// Takes what arrived before the trial, so that its socket begins empty.
    pub(crate) fn clear_backlog(&mut self) -> io::Result<()> {
        for socket in self.sockets {
            // What the network said about an earlier trial is not this one's.
            socket.take_error()?;
            for _ in 0..LARGEST_BACKLOG {
                let Some(count) = nothing_as_none(self.batch.receive(socket))? else { break };
                for at in 0..count {
                    let verdict = self.whose.judge(self.batch.packet(at));
                    self.counts.count_stray(verdict);
                }
            }
        }
        Ok(())
    }

    /// Receives until the drain ends, or at once when the sender finished and no reply is awaited.
    ///
    /// # Errors
    /// What the network reported; the trial is halted then.
    pub(crate) fn run(
        mut self,
        flight: &Flight<'_>,
        end_ns: u64,
        drain: Option<Drain>,
    ) -> io::Result<Received> {
        while !flight.is_halted() {
            let now = flight.now_ns();
            let longest = match (flight.finished_ns(), drain) {
                (None, _) => Duration::from_nanos(end_ns.saturating_sub(now)).max(SHORT_WAIT),
                (Some(_), None) => break,
                (Some(finished), Some(drain)) => match self.drain_left(now, finished, flight, drain) {
                    Duration::ZERO => break,
                    left => left,
                },
            };
            let taken = wait_readable(self.sockets, longest.min(LONGEST_WAIT))
                .and_then(|ready| if ready { self.take(flight) } else { Ok(()) });
            if let Err(error) = taken {
                flight.halt();
                return Err(error);
            }
        }
        Ok(self.counts)
    }

    /// How long the drain may still last.
    fn drain_left(&self, now: u64, finished: u64, flight: &Flight<'_>, drain: Drain) -> Duration {
        let since = |moment: u64| Duration::from_nanos(now.saturating_sub(moment));
        let left = drain.longest.saturating_sub(since(finished));
        match drain.quiet {
            None => left,
            Some(_) if self.counts.forwarded >= flight.offered() => Duration::ZERO,
            Some(quiet) => left.min(quiet.saturating_sub(since(self.last_reply_ns.max(finished)))),
        }
    }

    fn take(&mut self, flight: &Flight<'_>) -> io::Result<()> {
        for stream in 0..self.sockets.len() {
            for _ in 0..TURNS {
                let Some(count) = nothing_as_none(self.batch.receive(&self.sockets[stream]))? else { break };
                let now = flight.now_ns();
                let sent_below = flight.next_index();
                for at in 0..count {
                    match self.whose.judge(self.batch.packet(at)) {
                        Verdict::Ours { index } if index < sent_below => {
                            self.last_reply_ns = now;
                            self.count_reply(stream, index, now, flight);
                        }
                        other => self.counts.count_stray(other),
                    }
                }
                if count < BATCH {
                    break;
                }
            }
        }
        if let Some(progress) = flight.progress {
            progress.set_forwarded(self.counts.forwarded);
        }
        Ok(())
    }

    fn count_reply(&mut self, stream: usize, index: u64, now: u64, flight: &Flight<'_>) {
        let counts = &mut self.counts;
        if !counts.seen.insert(index) {
            counts.duplicated += 1;
            return;
        }
        counts.forwarded += 1;
        let next = &mut self.next_expected[stream];
        if index < *next {
            counts.reordered += 1;
        } else {
            *next = index + 1;
        }
        match flight.stamps.of(index) {
            Some((due, departed)) => {
                counts.delay.record(now.saturating_sub(due));
                counts.service_delay.record(now.saturating_sub(departed));
            }
            None => counts.without_delay += 1,
        }
    }
}

impl Received {
    /// Counts what is not a reply to this trial.
    fn count_stray(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Late => self.late += 1,
            // An answer to a count query that was asked twice is nobody's.
            Verdict::Counted { .. } => {}
            Verdict::Ours { .. } | Verdict::Foreign => self.foreign += 1,
        }
    }
}

/// `None` if there was nothing to receive.
pub(crate) fn nothing_as_none(received: io::Result<usize>) -> io::Result<Option<usize>> {
    match received {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
