//! What came back of a trial, and how late.

use super::{NEVER, UdpMeasurer};
use crate::error::UdpError;
use crate::packet::attribution::Whose;
use crate::packet::seen::Seen;
use crate::receive::late::take_late;
use crate::receive::received::Received;
use crate::send::sent::Mark;
use crate::sys::receive_drops;
use crate::target::Reply;
use crate::trial::probe::probe;
use dropline_trial::{Caveat, Delay, DelayKind, Slice, Stamp, Trial};
use std::sync::atomic::Ordering;
use std::time::Duration;

impl UdpMeasurer {
    /// What the reply sockets had no room for since they were opened.
    pub(crate) fn drops(&self) -> Vec<u32> {
        self.ways.sockets.iter().map(|socket| receive_drops(socket).unwrap_or(0)).collect()
    }

    pub(crate) fn count_replies(
        &self,
        trial: &mut Trial,
        received: &mut Received,
        marks: &[Mark],
        drops: &[u32],
    ) {
        trial.forwarded = received.forwarded;
        trial.duplicated = Some(received.duplicated);
        trial.reordered = Some(received.reordered);
        trial.late = Some(received.late + self.strays);
        trial.generator_lost =
            self.drops().iter().zip(drops).map(|(now, then)| u64::from(now.wrapping_sub(*then))).sum();
        if self.target.reply == Reply::Echo {
            self.count_differences(trial, received);
        }
        let by_kernel = received.stamped > 0;
        trial.stamp = Some(if by_kernel { Stamp::Kernel } else { Stamp::App });
        trial.delay_kind = Some(DelayKind::RoundTrip);
        trial.slices = slices(marks, received, trial.duration);
        let fewer = received.slices.cut().fewer();
        trial.caveats.extend(fewer.map(|(slices, wanted)| Caveat::FewSlices { slices, wanted }));
        trial.delay = Delay::of(std::mem::take(&mut received.delay));
        trial.service_delay = Delay::of(std::mem::take(&mut received.service_delay));
        if trial.generator_lost > 0 {
            trial.caveats.push(Caveat::GeneratorLost { dropped: trial.generator_lost });
        }
        let returned = received.forwarded + received.duplicated;
        if returned > trial.offered {
            trial.caveats.push(Caveat::MoreThanOffered { offered: trial.offered, forwarded: returned });
        }
        if by_kernel && received.unstamped > 0 {
            trial.caveats.push(Caveat::StampsMissing { packets: received.unstamped });
        }
        if received.without_delay > 0 {
            trial.caveats.push(Caveat::DelayUnknown { packets: received.without_delay });
        }
        if received.foreign > 0 {
            trial.caveats.push(Caveat::ForeignPackets { packets: received.foreign });
        }
    }

    /// Packets that came back, but never as they were sent. One that did so in several ways counts as truncated.
    /// Of replies that do not say which packet they were, no more than are missing.
    fn count_differences(&self, trial: &mut Trial, received: &mut Received) {
        let truncated = received.truncated.count_without(&received.seen);
        received.truncated.merge(std::mem::take(&mut received.changed));
        let changed = received.truncated.count_without(&received.seen) - truncated;
        let [cut, other] = received.unknown;
        let missing = trial.lost().saturating_sub(truncated + changed);
        let cut = cut.min(missing);
        let (truncated, changed) = (truncated + cut, changed + other.min(missing - cut));
        trial.say_differences(truncated, changed);
    }

    /// Of a target that never answered, a trial without a reply is no measurement.
    pub(crate) fn check_that_it_answers(&mut self, trial: &Trial) -> Result<(), UdpError> {
        let otherwise = trial.reply_truncated.unwrap_or(0) + trial.reply_changed.unwrap_or(0);
        let silent =
            trial.forwarded + otherwise == 0 && trial.late.unwrap_or(0) == 0 && trial.generator_lost == 0;
        if !silent {
            self.has_answered = true;
        }
        // A trial that the user stopped may have ended before the first answer: nothing more is sent for it.
        if self.has_answered || trial.offered == 0 || self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        match probe(self.target, &self.profile, &NEVER) {
            Ok(_) => {
                self.has_answered = true;
                Ok(())
            }
            Err(UdpError::NoAnswer { target, waited, others, .. }) => {
                Err(UdpError::NoAnswer { target, sent: trial.offered, others, waited })
            }
            Err(other) => Err(other),
        }
    }

    /// Takes what came back after the drain; returns how many of this trial's packets were among it.
    pub(crate) fn take_late(&mut self, whose: Whose, seen: &mut Seen) -> u64 {
        if self.target.reply == Reply::None {
            return 0;
        }
        let late = take_late(&self.ways.sockets, &mut self.batches[0], whose, seen);
        self.strays = late.strays + late.ours;
        late.ours
    }
}

/// What was due in each slice of a trial of this length, whenever it left and came back.
fn slices(marks: &[Mark], received: &Received, length: Duration) -> Vec<Slice> {
    let cut = received.slices.cut();
    let end = marks.last().map_or(0, |end| end.index);
    let parts = marks.windows(2).zip(received.slices.iter()).enumerate();
    // A trial that was stopped ends within a slice.
    let length_ns = length.as_nanos() as u64;
    parts
        .take_while(|(at, _)| cut.begin_ns(*at) < length_ns)
        .map(|(at, (ends, recorder))| Slice {
            duration: Duration::from_nanos(cut.length_ns(at).min(length_ns - cut.begin_ns(at))),
            offered: ends[1].offered - ends[0].offered,
            forwarded: received.seen.count(ends[0].index.min(end)..ends[1].index.min(end)),
            delay: Some(recorder.recorded()),
        })
        .collect()
}
