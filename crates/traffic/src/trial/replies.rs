//! What came back of a trial, and how late.

use super::probe::probe;
use super::setup::Setup;
use crate::error::UdpError;
use crate::losses::ledger::NEVER;
use crate::packet::content::Difference;
use crate::packet::received_set::ReceivedSet;
use crate::receive::late::Late;
use crate::receive::received::Received;
use crate::send::sent::Mark;
use crate::target::Reply;
use dropline_trial::{Caveat, Delay, DelayKind, Slice, Stamp, Trial};
use std::time::Duration;

/// Whether a target answers, trial after trial.
#[derive(Default)]
pub(crate) struct Replies {
    /// Whether it ever did.
    has_answered: bool,
    /// Replies that were taken after the last trial's drain.
    strays: u64,
}

impl Replies {
    /// Counts in a trial what came back; our own sockets had no room for `generator_lost`.
    pub(crate) fn count(
        &self,
        reply: Reply,
        received: &mut Received,
        marks: &[Mark],
        generator_lost: u64,
        trial: &mut Trial,
    ) {
        trial.forwarded = received.forwarded;
        trial.duplicated = Some(received.duplicated);
        trial.reordered = Some(received.reordered);
        trial.late = Some(received.late + self.strays);
        trial.generator_lost = generator_lost;
        if matches!(reply, Reply::Service(service) if service.is_in_order()) {
            // More of them than requests: some came twice, whichever.
            let surplus = std::mem::take(&mut received.unasked);
            received.duplicated += surplus;
            trial.duplicated = trial.duplicated.map(|duplicated| duplicated + surplus);
            let unknown = &mut received.unknown[Difference::Changed as usize];
            *unknown = unknown.saturating_sub(surplus);
        }
        match reply {
            Reply::Echo => {
                let (otherwise, all) = differences(trial, received);
                trial.say_differences(otherwise, all);
            }
            Reply::Service(_) => {
                let (otherwise, all) = differences(trial, received);
                trial.say_unlike(otherwise, all, received.unasked);
            }
            Reply::Any | Reply::None => {}
        }
        if let Reply::Service(service) = reply {
            let classes = service.protocol().classes.iter().zip(received.classes);
            trial.say_replies(
                classes.map(|(class, count)| (class.name, class.meaning, count)),
                received.reply_bytes,
            );
            if received.relayed > 0 {
                let replies = received.forwarded;
                let relayed = received.relayed.min(replies);
                trial.caveats.push(Caveat::RepliesRelayed { relayed, replies });
            }
        }
        let is_in_order = matches!(reply, Reply::Service(service) if service.is_in_order());
        if is_in_order {
            trial.caveats.push(Caveat::RepliesInOrder {
                replies: received.forwarded,
                lost: trial.lost(),
                together: received.together,
            });
        }
        let by_kernel = received.stamped > 0;
        trial.stamp = Some(if by_kernel { Stamp::Kernel } else { Stamp::App });
        trial.delay_kind = Some(DelayKind::RoundTrip);
        trial.slices = slices(marks, received, trial.duration);
        let fewer = received.slices.cut().fewer();
        trial.caveats.extend(fewer.map(|(slices, wanted)| Caveat::FewSlices { slices, wanted }));
        trial.delay = Delay::of(std::mem::take(&mut received.delay));
        trial.service_delay = Delay::of(std::mem::take(&mut received.service_delay));
        if received.ambiguous > 0 {
            let (ambiguous, replies) = (received.ambiguous, received.forwarded);
            trial.caveats.push(Caveat::RepliesAmbiguous { ambiguous, replies });
        }
        let (duplicated, lost) = (received.duplicated, trial.lost());
        let has_tags = matches!(reply, Reply::Service(service) if !service.is_in_order());
        if has_tags && lost > 0 && duplicated * 2 >= lost {
            trial.caveats.push(Caveat::RepliesTwice { duplicated, lost });
        }
        let is_missing = trial.forwarded < trial.offered;
        if is_in_order && (is_missing || received.together > 0) {
            // Behind one that is missing, each would be taken for another's; of two that are under way, either may come first.
            (trial.delay, trial.service_delay) = Default::default();
            trial.slices.iter_mut().for_each(|slice| slice.delay = None);
        }
        if knows_not_which(reply, received) && is_missing {
            trial.slices = Vec::new();
        }
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

    /// It answered what was asked before the first trial: silence is loss from now on.
    pub(crate) fn has_answered(&mut self) {
        self.has_answered = true;
    }

    /// Of a target that never answered, a trial without a reply is no measurement.
    pub(crate) fn check(&mut self, setup: &Setup, trial: &Trial) -> Result<(), UdpError> {
        let otherwise = trial.replies_otherwise();
        let silent =
            trial.forwarded + otherwise == 0 && trial.late.unwrap_or(0) == 0 && trial.generator_lost == 0;
        if !silent {
            self.has_answered = true;
        }
        // A trial that the user stopped may have ended before the first answer: nothing more is sent for it.
        if self.has_answered || trial.offered == 0 || setup.is_stopped() {
            return Ok(());
        }
        match probe(setup.target, &setup.profile, &NEVER) {
            Ok(_) => {
                self.has_answered = true;
                Ok(())
            }
            Err(UdpError::NoAnswer { target, waited, others, unlike, from, .. }) => {
                Err(UdpError::NoAnswer { target, sent: trial.offered, others, unlike, from, waited })
            }
            Err(other) => Err(other),
        }
    }

    /// What came back after the drain belongs to no trial that follows.
    pub(crate) fn leave_out(&mut self, late: Late) {
        self.strays = late.strays + late.ours;
    }
}

/// Whether some replies may be to other requests than those that they are counted for: of those that are missing nobody knows then
/// which they are, nor when they left.
pub(crate) fn knows_not_which(reply: Reply, received: &Received) -> bool {
    received.ambiguous > 0 || matches!(reply, Reply::Service(service) if service.is_in_order())
}

/// Packets that came back, but never as they were sent. One that did so in several ways counts as the first of the kinds.
/// Of replies that do not say which packet they were, no more than are missing. By kind; and all such replies.
fn differences(
    trial: &Trial,
    received: &mut Received,
) -> ([u64; Difference::KINDS], [u64; Difference::KINDS]) {
    let mut all = ReceivedSet::default();
    let mut counted = 0;
    let mut counts = std::mem::take(&mut received.otherwise).map(|kind| {
        all.merge(kind);
        let before = std::mem::replace(&mut counted, all.count_without(&received.seen));
        counted - before
    });
    let mut missing = trial.lost().saturating_sub(counted);
    for (count, unknown) in counts.iter_mut().zip(received.unknown) {
        let more = unknown.min(missing);
        (*count, missing) = (*count + more, missing - more);
    }
    (counts, received.different)
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
