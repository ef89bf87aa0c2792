//! One trial: what was asked, what was counted.

mod directions;
pub mod disturbance;
pub mod merged;
mod replies;
mod void;
pub mod within;

use crate::caveat::is_as_asked;
use crate::graph::Graph;
use crate::{
    Agent, ArrivalFidelity, AskedTurns, Caveat, CommonStart, Cycles, Delay, DelayKind, Extra, LostAt,
    Passages, Ratio, Stamp, TargetActivity, TrialInput, Wakeups,
};
use disturbance::Disturbance;
use dropline_stats::Recorded;
use std::collections::BTreeMap;
use std::time::Duration;

/// One load offered for one duration, with its waits (RFC 2544 §23), and what was counted.
///
/// Counts are stored, ratios derived. What was not measured is `None`, never 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// From 1, within its record.
    pub number: u64,
    /// What was asked.
    pub input: TrialInput,
    /// Chance of this trial, derived from the profile's seed and the number.
    pub seed: u64,
    /// Packets that the load asked for: ⌊load · duration⌋ for constant arrivals, else the number drawn;
    /// `None` for closed loops.
    pub intended: Option<u64>,
    /// Packets that left the sender (RFC 2285 §3.5.2). A send refused by the system was not offered.
    pub offered: u64,
    /// The turns that requests had, where what is asked follows from them.
    pub turns: Option<AskedTurns>,
    /// Packets that came back in time, each counted once.
    pub forwarded: u64,
    /// Further copies of packets that came back (RFC 5560).
    pub duplicated: Option<u64>,
    /// Packets that came back behind a packet sent later (RFC 4737).
    pub reordered: Option<u64>,
    /// Packets of an earlier trial that came back during this one, by their tag; part of that trial's
    /// loss, credited to none.
    pub late: Option<u64>,
    /// Packets that came back shorter than they were sent: part of the loss, never of `forwarded`.
    pub reply_truncated: Option<u64>,
    /// Packets that came back longer than they were sent: part of the loss too.
    pub reply_extended: Option<u64>,
    /// Packets that came back with other bytes than they were sent, or to another stream's socket: part of the loss too.
    pub reply_changed: Option<u64>,
    /// Replies that our own socket dropped: not the target's loss.
    pub generator_lost: u64,
    /// Sends that the system refused, by errno name.
    pub refused: BTreeMap<String, u64>,
    /// How long packets were really sent; the effective duration of RFC 9971 §4.5.8.
    pub duration: Duration,
    /// What the trial cost, waits included. Time is what trials say it was.
    pub elapsed: Duration,
    /// Where times were taken.
    pub stamp: Option<Stamp>,
    /// What the delays are.
    pub delay_kind: Option<DelayKind>,
    /// From when each packet was due.
    pub delay: Delay,
    /// From when each packet left.
    pub service_delay: Delay,
    /// How much later than due each packet left.
    pub lateness: Delay,
    /// How well the arrivals were kept, where that was measured.
    pub kept: Option<ArrivalFidelity>,
    /// What our own side did to the departures, where that was measured.
    pub disturbance: Option<Disturbance>,
    /// Parts of the trial in order, where the measurer gives them.
    pub slices: Vec<Slice>,
    /// Where packets were lost, where that was accounted for.
    pub lost_at: Option<LostAt>,
    /// What the target did meanwhile, where it is on this machine and could be looked at.
    pub watched: Option<TargetActivity>,
    /// What its kind of target adds.
    pub extra: Option<Extra>,
    /// Who performed it, where several machines or processes did together.
    pub agents: Vec<Agent>,
    /// How well they started together.
    pub start: Option<CommonStart>,
    /// Doubts about this trial.
    pub caveats: Vec<Caveat>,
}

impl Trial {
    /// A trial with nothing counted yet.
    pub fn new(number: u64, input: TrialInput, seed: u64) -> Self {
        Self {
            number,
            input,
            seed,
            intended: None,
            offered: 0,
            turns: None,
            forwarded: 0,
            duplicated: None,
            reordered: None,
            late: None,
            reply_truncated: None,
            reply_extended: None,
            reply_changed: None,
            generator_lost: 0,
            refused: BTreeMap::new(),
            duration: input.duration,
            elapsed: input.duration,
            stamp: None,
            delay_kind: None,
            delay: Delay::default(),
            service_delay: Delay::default(),
            lateness: Delay::default(),
            kept: None,
            disturbance: None,
            slices: Vec::new(),
            lost_at: None,
            watched: None,
            extra: None,
            agents: Vec::new(),
            start: None,
            caveats: Vec::new(),
        }
    }

    /// Packets the system under test lost: max(0, offered − forwarded − generator_lost).
    pub fn lost(&self) -> u64 {
        self.offered.saturating_sub(self.forwarded).saturating_sub(self.generator_lost)
    }

    /// Frame loss (RFC 1242 §3.6) as a ratio: lost ÷ offered; `None` when nothing was offered.
    pub fn loss_ratio(&self) -> Option<f64> {
        (self.offered > 0).then(|| self.lost() as f64 / self.offered as f64)
    }

    /// What was intended and did not come back, whoever's fault: max(0, intended − forwarded).
    ///
    /// `None` for closed loops, which intend nothing.
    pub fn undelivered(&self) -> Option<u64> {
        Some(self.intended?.saturating_sub(self.forwarded))
    }

    /// Trial Loss Ratio (RFC 9971 §4.5.6): 1 − forwarded ÷ intended.
    ///
    /// Never below [`loss_ratio`](Self::loss_ratio): a sender that falls behind counts here.
    pub fn trial_loss_ratio(&self) -> Option<f64> {
        let intended = self.intended.filter(|&intended| intended > 0)?;
        Some(self.undelivered()? as f64 / intended as f64)
    }

    /// Whether more than `ratio` of what was intended did not come back (RFC 9971: a bad trial).
    ///
    /// A trial that intended nothing is judged by what was offered, one that offered nothing is bad. Where no more than one
    /// packet of a hundred thousand was not offered, the load is the one that was asked for, and these are not missed. One
    /// that [tells nothing](Self::tells_nothing) does not show that any goal was achieved.
    pub fn exceeds(&self, ratio: Ratio) -> bool {
        match (self.undelivered(), self.intended) {
            _ if self.tells_nothing() => true,
            (Some(undelivered), Some(intended)) if intended > 0 => {
                let forgiven = if self.is_short() { 0 } else { intended.saturating_sub(self.offered) };
                ratio.is_exceeded_by(undelivered.saturating_sub(forgiven), intended)
            }
            _ => ratio.is_exceeded_by(self.lost(), self.offered) || self.offered == 0,
        }
    }

    /// Whether less was offered than was asked for.
    pub fn is_short(&self) -> bool {
        self.intended.is_some_and(|intended| !is_as_asked(intended, self.offered))
    }

    /// Whether the target failed a goal of this loss ratio, or met it; `None` where the trial is
    /// [void](Self::is_void_at): then it bounds nothing.
    pub fn fails(&self, ratio: Ratio) -> Option<bool> {
        (!self.is_void_at(ratio)).then(|| self.exceeds(ratio))
    }

    /// Whether the target lost more than `ratio` of what was offered to it, whatever our own side did to the load
    /// ([`lost_by_target`](Self::lost_by_target)). What could not be offered because it was gone is its doing.
    pub fn target_exceeds(&self, ratio: Ratio) -> bool {
        !self.tells_nothing()
            && (ratio.is_exceeded_by(self.lost_by_target(), self.offered)
                || self.target_went_away() && self.exceeds(ratio))
    }

    /// Whether the target died meanwhile: what was lost says how long it lived, not what it bears. Where a link went
    /// down, nobody can tell.
    pub fn target_went_away(&self) -> bool {
        let has = |is: fn(&Caveat) -> bool| self.caveats.iter().any(is);
        has(|caveat| matches!(caveat, Caveat::TargetUnreachable { .. }))
            && !has(|caveat| matches!(caveat, Caveat::LinkDown { .. }))
    }

    /// Packets that came back, but never as they were sent; 0 where replies are not compared.
    pub fn replies_otherwise(&self) -> u64 {
        [self.reply_truncated, self.reply_extended, self.reply_changed].into_iter().flatten().sum()
    }

    /// Keeps how many packets came back, but never as they were sent, by kind (shorter, longer, changed); of all such
    /// `replies`, those that came beside others are a doubt of their own.
    pub fn say_differences(&mut self, otherwise: [u64; 3], replies: [u64; 3]) {
        let [truncated, extended, changed] = otherwise;
        self.reply_truncated = Some(truncated);
        self.reply_extended = Some(extended);
        self.reply_changed = Some(changed);
        if otherwise != [0; 3] {
            self.caveats.push(Caveat::RepliesDiffer { truncated, extended, changed });
        }
        let beside = std::array::from_fn(|kind| replies[kind].saturating_sub(otherwise[kind]));
        if beside != [0; 3] {
            let [truncated, extended, changed] = beside;
            self.caveats.push(Caveat::RepliesBeside { truncated, extended, changed });
        }
    }

    /// Whether the user stopped it: it says what was counted until then, and is no evidence to a search.
    pub fn is_interrupted(&self) -> bool {
        self.caveats.iter().any(|caveat| caveat.code() == Caveat::Interrupted.code())
    }

    /// Whether this trial may exceed `ratio` by our own failings alone (packets not offered, replies dropped here,
    /// packets that left late in lumps), or [tells nothing](Self::tells_nothing): then it is no evidence about the target.
    pub fn is_void_at(&self, ratio: Ratio) -> bool {
        self.exceeds(ratio) && !self.target_exceeds(ratio)
    }

    /// Forwarding rate in packets a second (RFC 2285 §3.6.1): load × forwarded ÷ intended
    /// (RFC 9971 §4.5.7).
    pub fn forwarding_rate_pps(&self) -> f64 {
        match self.trial_loss_ratio() {
            Some(ratio) => self.input.load.as_pps() * (1.0 - ratio),
            None => self.forwarded as f64 / self.duration.as_secs_f64(),
        }
    }
}

/// What its kind of target adds.
impl Trial {
    /// Of a trial of an audio server's cycles.
    pub fn cycles(&self) -> Option<&Cycles> {
        if let Some(Extra::Cycles(cycles)) = &self.extra { Some(cycles) } else { None }
    }

    /// Of a trial of one of our own graphs.
    pub fn graph(&self) -> Option<&Graph> {
        if let Some(Extra::Graph(graph, _)) = &self.extra { Some(graph) } else { None }
    }

    /// Of a trial of a pipeline, one of our own graphs or another.
    pub fn passages(&self) -> Option<&Passages> {
        match &self.extra {
            Some(Extra::Passages(passages)) => Some(passages),
            Some(Extra::Graph(_, passages)) => passages.as_ref(),
            _ => None,
        }
    }

    /// Of a trial of wake-ups.
    pub fn woken(&self) -> Option<&Wakeups> {
        if let Some(Extra::Wakeups(woken)) = &self.extra { Some(woken) } else { None }
    }
}

/// A part of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Length of the part.
    pub duration: Duration,
    /// Packets that were due in it and left.
    pub offered: u64,
    /// Of those, how many came back.
    pub forwarded: u64,
    /// How long they took from when they were due, where that was measured.
    pub delay: Option<Recorded>,
}

impl Slice {
    /// Packets that came back and whose delay is not known; `None` where delays were not measured.
    pub fn drops(&self) -> Option<u64> {
        let delay = self.delay.as_ref()?;
        Some(self.forwarded.saturating_sub(delay.count).saturating_sub(delay.negative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;

    fn trial(intended: u64, offered: u64, forwarded: u64, generator_lost: u64) -> Trial {
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
        Trial { intended: Some(intended), offered, forwarded, generator_lost, ..Trial::new(1, input, 7) }
    }

    #[test]
    fn a_sender_that_fell_behind_is_not_the_targets_loss() {
        let behind = trial(1000, 900, 900, 0);
        assert_eq!((behind.lost(), behind.loss_ratio()), (0, Some(0.0)));
        assert_eq!(behind.trial_loss_ratio(), Some(0.1));
        assert!(behind.is_void_at(Ratio::ZERO));
    }

    #[test]
    fn what_our_own_socket_dropped_is_not_the_targets_loss() {
        let dropped = trial(1000, 1000, 990, 10);
        assert_eq!(dropped.lost(), 0);
        assert!(dropped.is_void_at(Ratio::ZERO));
        assert!(!dropped.is_void_at(Ratio::new(0.01).unwrap()), "0.01 is not exceeded at all");
    }

    #[test]
    fn more_back_than_sent_is_never_negative_loss() {
        let surplus = trial(1000, 1000, 1001, 0);
        assert_eq!((surplus.lost(), surplus.trial_loss_ratio()), (0, Some(0.0)));
        assert!(!surplus.exceeds(Ratio::ZERO));
    }

    #[test]
    fn nothing_offered_has_no_loss_ratio_and_is_no_success() {
        let silent = trial(1000, 0, 0, 0);
        assert_eq!(silent.loss_ratio(), None);
        assert!(silent.is_void_at(Ratio::ZERO));
    }

    #[test]
    fn a_load_that_lacks_one_packet_of_a_hundred_thousand_is_the_one_that_was_asked_for() {
        for (intended, offered, is_void) in [
            (1_000_000, 999_999, false),
            (1_000_000, 999_990, false),
            (1_000_000, 999_989, true),
            (1_000, 999, true),
        ] {
            let all_came_back = trial(intended, offered, offered, 0);
            assert_eq!(all_came_back.is_void_at(Ratio::ZERO), is_void, "{offered} of {intended}");
            assert_eq!(all_came_back.exceeds(Ratio::ZERO), is_void);
            let one_was_lost = trial(intended, offered, offered - 1, 0);
            assert!(one_was_lost.exceeds(Ratio::ZERO), "{offered} of {intended}: the target lost one");
        }
    }
}
