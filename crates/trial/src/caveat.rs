//! Doubts about a result: data that travels with it, never log lines.

mod words;

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Why a number may mislead. Its code is stable, its numbers are kept, its text says what to do.
///
/// What is stored must be read back as what it is, for searches decide by it: a field that is added later has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Caveat {
    /// The generator fell behind: the trial says nothing about the target at this load.
    GeneratorLimited {
        /// Packets the load asked for.
        intended: u64,
        /// Packets that left.
        offered: u64,
        /// The system error with which most of the others were refused, or `link_down` where a link of the way was down
        /// meanwhile and took them with it; `None` if they were not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The interface that they were to leave through, where they were refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interface: Option<String>,
    },
    /// Our own reply socket dropped replies: the target may have answered all.
    GeneratorLost {
        /// Replies dropped by our socket.
        dropped: u64,
    },
    /// More packets came back than were sent; the surplus is not counted as negative loss.
    MoreThanOffered {
        /// Packets that left.
        offered: u64,
        /// Packets that came back, further copies included.
        forwarded: u64,
    },
    /// The packets did not leave when they were due.
    ArrivalsNotKept {
        /// 99th percentile of how late they left, in ns.
        lateness_p99_ns: u64,
        /// Mean time between departures that was asked for, in ns.
        intended_idt_ns: u64,
    },
    /// The generator wanted a CPU and did not get one: what was late or missing is this machine's doing.
    GeneratorStarved {
        /// How long the sender waited for a CPU, in ns.
        waited_ns: u64,
    },
    /// The generator's CPU quota was used up: what was late or missing is that quota's doing.
    GeneratorThrottled {
        /// How long it was stopped, in ns.
        stopped_ns: u64,
        /// Times that it was.
        times: u64,
        /// CPU time of each period, in us.
        runtime_us: u64,
        /// The period, in us.
        period_us: u64,
    },
    /// The target lost packets, wanted a CPU and did not get one, while programs that are neither it nor the generator had
    /// them: part of the loss may be this machine's doing.
    TargetStarved {
        /// How long it was kept from running, at most, in ns.
        kept_ns: u64,
        /// Lost packets that may be lost for it, at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<u64>,
    },
    /// Half of the loss or more may not be the target's: the trial does not say what the target loses.
    LossDoubted {
        /// Lost packets.
        lost: u64,
        /// How many of them at most may be lost by what was not the target.
        ours: u64,
    },
    /// The delays from when packets were due are for the most part our own lateness.
    DelaysDoubted {
        /// What one packet in ten took, or longer, in ns.
        delay_p90_ns: u64,
        /// How late one packet in ten left, or later, in ns.
        lateness_p90_ns: u64,
    },
    /// An interface on the way was switched off, or lost its peer, during the trial.
    LinkDown {
        /// Its name.
        interface: String,
    },
    /// Something came during the trial that may lead packets, or copies of them, elsewhere, or an interface of the way left: the
    /// trial was ended for it.
    RuleAppeared {
        /// What it does, and its chain.
        rule: String,
    },
    /// Packets of the trial, or copies of them, left by an interface that is not on the way to the target or back: the trial
    /// was ended for it.
    LeftElsewhere {
        /// How many were seen to.
        packets: u64,
        /// The interface that most of them left by, and its namespace.
        interface: String,
    },
    /// Not every agent of the trial sent its share and told what it counted.
    AgentsLost {
        /// Their names, each with what became of it.
        agents: String,
        /// How many.
        lost: u64,
        /// Of so many.
        of: u64,
    },
    /// The agents of the trial did not start together: at both ends of it some sent and others did not.
    StartSkew {
        /// From the first start to the last, in ns.
        skew_ns: u64,
        /// How long packets were to be sent, in ns.
        duration_ns: u64,
    },
    /// Several agents send one load whose gaps are shorter than what is known of their clocks and starts.
    SuperposedConstant {
        /// How many agents.
        agents: u64,
        /// What is not known of their starts, in ns.
        skew_ns: u64,
        /// Mean time between packets of all, in ns.
        gap_ns: u64,
    },
    /// The packets are longer than an interface on the way carries in one piece.
    PacketTooLong {
        /// Bytes of each packet, its IP header included.
        packet_bytes: u32,
        /// What the interface carries, in bytes.
        mtu: u32,
        /// The interface that carries least, and its namespace.
        interface: String,
    },
    /// The target was there and then was not: it died, or the way to it ended. What the system refused for
    /// that was not offered.
    TargetUnreachable {
        /// What the system said first.
        error: String,
        /// When it said so, in ns after the trial's start.
        at_ns: u64,
        /// Packets that were refused.
        refused: u64,
        /// Reports about packets that had left.
        reports: u64,
    },
    /// For a while next to nothing came back, neither for what left in it nor for what had left before: the target, this
    /// machine, or the way stood still.
    Outage {
        /// When the longest began, in ns after the trial's start.
        at_ns: u64,
        /// How long it was, in ns.
        for_ns: u64,
        /// Packets that did not come back then.
        missing: u64,
        /// Packets that left in that time.
        offered: u64,
        /// How many there were.
        outages: u64,
    },
    /// Few packets were lost, and ever more waited up to the trial's end: a longer trial at its load loses more.
    WaitingGrew {
        /// Mean delay of its first quarter, in ns.
        from_ns: u64,
        /// Mean delay of its last quarter, in ns.
        to_ns: u64,
        /// How long packets were sent, in ns.
        duration_ns: u64,
    },
    /// From some moment of the trial on nothing came back any more.
    FellSilent {
        /// When that was, in ns after the trial's start.
        at_ns: u64,
        /// Packets that left from then on.
        offered: u64,
    },
    /// Answers still came when the wait for them was over: they count as lost, and how many more were under way is not known.
    AnswersAfterDrain {
        /// Packets that were lost, these included.
        lost: u64,
        /// Packets whose answers came after the drain, before the trial was closed.
        late: u64,
        /// The drain, in ns.
        drain_ns: u64,
        /// What the fastest answer took, in ns.
        fastest_ns: u64,
        /// What the slowest answer took that was in time, in ns.
        slowest_ns: u64,
    },
    /// Packets still waited in a queue of the way when the wait for them was over.
    StillQueued {
        /// Packets that were lost, these included.
        lost: u64,
        /// Packets that waited.
        queued: u64,
    },
    /// The clock that stamps packets was set during the trial.
    ClockStepped {
        /// How often.
        steps: u64,
        /// By how much at most, either way, in ns.
        largest_ns: u64,
    },
    /// The kernel did not stamp some replies, or stamped them when the clock was set: their delay was taken by
    /// the program.
    StampsMissing {
        /// How many.
        packets: u64,
    },
    /// Replies came too late for their send time to be known any more; they have no delay.
    DelayUnknown {
        /// How many.
        packets: u64,
    },
    /// The program that performed the trial gave the delays of a part of the replies: the others came, and have none.
    DelaysOfPart {
        /// How many have a delay.
        known: u64,
        /// How many came back.
        replies: u64,
    },
    /// The trial was cut into fewer slices than it should be: none is shorter than 10 ms or without an event.
    FewSlices {
        /// How many it has.
        slices: u64,
        /// How many it should have.
        wanted: u64,
    },
    /// The trial had more packets than are kept one by one: `explain` sees the first of them alone.
    PacketsLeftOut {
        /// Packets whose times are kept.
        kept: u64,
        /// Packets after them.
        left_out: u64,
    },
    /// Bytes that are not ours arrived at the reply socket.
    ForeignPackets {
        /// How many.
        packets: u64,
    },
    /// The target answered otherwise than with the packet it was sent: such packets are lost.
    RepliesDiffer {
        /// Packets that came back shorter.
        truncated: u64,
        /// Packets that came back longer.
        #[serde(default)]
        extended: u64,
        /// Packets that came back with other bytes.
        changed: u64,
    },
    /// Frames came out of a device otherwise than they went in: such frames are lost.
    FramesDiffer {
        /// Frames that came out shorter.
        truncated: u64,
        /// Frames that came out longer.
        extended: u64,
        /// Frames that came out with other bytes.
        changed: u64,
    },
    /// Frames came out of a device with bytes behind their packet, more than fill a short frame up: a station takes those frames.
    FramesPadded {
        /// Such frames.
        frames: u64,
    },
    /// A service sent what does not answer the requests that it was sent.
    RepliesUnlike {
        /// Those that ended too early.
        truncated: u64,
        /// Those that were longer than they said, or than they may be.
        #[serde(default)]
        extended: u64,
        /// Those that spoke of something else.
        changed: u64,
        /// Those that carried the token of no request.
        #[serde(default)]
        unasked: u64,
    },
    /// Packets were answered from another address or port than they were sent to: they are lost.
    RepliesElsewhere {
        /// How many.
        packets: u64,
        /// Where they were sent.
        asked: String,
        /// Where the first such answer came from.
        from: String,
    },
    /// Packets that came back were answered from another address or port too: a client that asked one address hears one answer.
    CopiesElsewhere {
        /// How many.
        copies: u64,
        /// Where they were sent.
        asked: String,
        /// Where the first such answer came from.
        from: String,
    },
    /// A service has answers from others, or seems to: what is measured is not it alone, and others get its load.
    RepliesRelayed {
        /// How many.
        relayed: u64,
        /// Of so many replies.
        replies: u64,
    },
    /// Replies do not say which request they answer: those of a stream were taken for its requests' in their order.
    RepliesInOrder {
        /// How many.
        replies: u64,
        /// Requests that are left without one.
        lost: u64,
        /// Replies that came when a further request of their stream had left: of these it may be that one's.
        #[serde(default)]
        together: u64,
    },
    /// Replies carry a tag that came round: an earlier request with it has no reply either, and either may be meant.
    RepliesAmbiguous {
        /// How many.
        ambiguous: u64,
        /// Of so many replies.
        replies: u64,
    },
    /// Some requests have two replies and others none.
    RepliesTwice {
        /// Replies to requests that had one already.
        duplicated: u64,
        /// Requests without one.
        lost: u64,
    },
    /// A service refused by a rule of its own: that is not loss, and nobody got what he asked for.
    RepliesRefuse {
        /// What most of them said.
        class: String,
        /// How many there were.
        refused: u64,
        /// Of so many replies.
        replies: u64,
    },
    /// A service refused much of what it was asked and did not answer much of the rest: a limit of its answers looks so.
    AnswersLimited {
        /// Replies that refused, or told to come another way.
        refused: u64,
        /// Of so many replies.
        replies: u64,
        /// Requests that had no reply, where no counter names another place.
        silent: u64,
        /// Of so many requests.
        offered: u64,
    },
    /// A service said that it could not do what it was asked.
    RepliesFail {
        /// What most of them said.
        class: String,
        /// How many there were.
        failed: u64,
        /// Of so many replies.
        replies: u64,
    },
    /// The target answered rightly and wrongly too: nothing is lost by that.
    RepliesBeside {
        /// Wrong replies that were cut short.
        truncated: u64,
        /// Wrong replies that were longer.
        #[serde(default)]
        extended: u64,
        /// Wrong replies that had other bytes.
        changed: u64,
    },
    /// The target became slower or faster while it was searched.
    Drift {
        /// Correlation of the trials' number with how much better than expected they were.
        correlation: f64,
        /// How often trials in a random order look as much like a drift.
        by_chance: f64,
        /// Number of the first trial that found it so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since_trial: Option<u64>,
        /// When that began, in seconds of the search.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since_s: Option<f64>,
        /// Whether it became so by and by, and not at once.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_degrees: bool,
    },
    /// The first trials found a slower target than the later ones.
    WarmUp {
        /// How often trials in a random order begin as badly.
        by_chance: f64,
        /// Number of the first trial that found it as it was from then on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since_trial: Option<u64>,
        /// When that began, in seconds of the search.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since_s: Option<f64>,
        /// When the last trial ended that found it slower, in seconds of the search.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_s: Option<f64>,
        /// How long it had been warmed up before, in seconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        warmed_s: f64,
    },
    /// Trials right after one that lost packets find less than others at such loads: what one leaves in a queue, or takes from a
    /// bucket of tokens, comes into the next.
    CarriesOver {
        /// How often trials in a random order look as much like it.
        by_chance: f64,
        /// Of the trials that could tell and came right after a loss, how many found a slow target.
        slow: u64,
        /// How many these were.
        after_loss: u64,
        /// What came through right after a loss (the median), in packets a second.
        after_loss_pps: f64,
        /// The most that came through of one that found a fast target, in packets a second.
        rested_pps: f64,
    },
    /// The target was not the same in all trials, and not one of two either.
    Unsteady {
        /// How often trials in a random order look as little alike.
        by_chance: f64,
        /// The least that it bore or let through when it was slow, in packets a second.
        low_pps: f64,
        /// The most that came through when it was not, in packets a second.
        high_pps: f64,
        /// Whether it was slower for a while, where that was so once; else faster.
        is_slow: bool,
        /// When that began, in seconds of the search.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_s: Option<f64>,
        /// When it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_s: Option<f64>,
    },
    /// More came through at first than later at the same loads.
    Slowed {
        /// What came through at first, in packets a second.
        before_pps: f64,
        /// What came through later, in packets a second.
        then_pps: f64,
    },
    /// Trials find one of two targets in turns, a slow one and a fast one.
    TwoStates {
        /// What came through of slow trials (their median), in packets a second.
        slow_pps: f64,
        /// The most that came through of a fast one, in packets a second.
        fast_pps: f64,
        /// Share of slow ones among the trials that could tell.
        slow: f64,
        /// How often trials in a random order look as much like turns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_chance: Option<f64>,
    },
    /// Nearly nothing came through of some trials, at loads at which others lost next to nothing.
    Outages {
        /// How many lost nearly all.
        trials: u64,
        /// How many lost next to nothing at such loads or higher.
        good: u64,
        /// The lowest load of those that lost nearly all, in packets a second.
        lowest_pps: f64,
        /// The highest load of those that lost next to nothing, in packets a second.
        borne_pps: f64,
        /// The least that one of the former lost, as a share.
        least_lost: f64,
    },
    /// Packets were lost far below the load that was found: a floor of loss, or a lossy band.
    LossBelow {
        /// The load, in packets a second.
        intended_load_pps: f64,
        /// Packets that left.
        offered: u64,
        /// Packets that the target lost.
        lost: u64,
    },
    /// More was achieved with less loss allowed than with more: no target has both answers.
    GoalsContradict {
        /// Loss ratio of the one goal.
        strict_loss_ratio: f64,
        /// Loss ratio of the other, above it.
        loose_loss_ratio: f64,
        /// Where the one was achieved, in packets a second.
        achieved_pps: f64,
        /// Where the other ends, below it, in packets a second.
        limit_pps: f64,
        /// The lowest of the bounds of both, in packets a second.
        low_pps: f64,
        /// The highest of the bounds of both, in packets a second.
        high_pps: f64,
    },
    /// A few trials failed a goal far below what others achieved it at.
    BadMoments {
        /// Loss ratio of the goal.
        loss_ratio: f64,
        /// How many failed so.
        trials: u64,
        /// How many achieved the goal at the lowest of their loads, or above it; or let far more through there.
        good: u64,
        /// The lowest of their loads, in packets a second.
        lowest_pps: f64,
        /// The third highest of the loads that these achieved it at, or of what they let through: three did so much or more, in packets
        /// a second.
        borne_pps: f64,
        /// Whether the limit is not known for them: the goal's upper bound is theirs, below that load, one of their loads
        /// failed each time, or they were the last ones.
        decide: bool,
        /// Whether they were the last trials at such loads: what the target would do now is not known.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        last: bool,
        /// Whether they are several, in no order: trials at one load end differently, and no moment was worse.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        scattered: bool,
    },
    /// A few trials failed a goal far below what others achieved it at, and lost no more than chance makes of one probability
    /// for every packet.
    RandomLoss {
        /// Loss ratio of the goal.
        loss_ratio: f64,
        /// How many failed so.
        trials: u64,
        /// Of how many trials at such loads.
        of: u64,
        /// The lowest of these loads, in packets a second.
        lowest_pps: f64,
        /// The highest of them, in packets a second.
        highest_pps: f64,
        /// Packets that were lost in them.
        lost: u64,
        /// Packets that left in them.
        offered: u64,
    },
    /// Trials fail a goal at any load now and then, so that an end of the answer is stated only where chance does not explain it.
    FailsAnywhere {
        /// Loss ratio of the goal.
        loss_ratio: f64,
        /// How many failed so.
        trials: u64,
        /// Of how many trials.
        of: u64,
        /// The lowest of their loads, in packets a second.
        lowest_pps: f64,
        /// The highest load that met the goal, in packets a second.
        borne_pps: f64,
        /// Whether there is a lower end.
        has_lower: bool,
        /// Whether there is an upper end.
        has_upper: bool,
    },
    /// The answer to a goal has no upper end, though trials failed it.
    NoUpperEnd {
        /// Loss ratio of the goal.
        loss_ratio: f64,
        /// How many failed it: at loads up to the one that the last trials passed, or at any.
        failed: u64,
        /// The load that the last trials met it at, above the end that there would be, in packets a second; `None` where the others
        /// leave it open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passed_pps: Option<f64>,
    },
    /// Counters from which places of loss were taken hold other programs' packets too.
    CountersShared {
        /// Packets that they counted beyond what was lost here.
        beyond: u64,
        /// Lost packets that they could have placed, but that may be the other programs', which had as many packets there:
        /// these stay unexplained.
        #[serde(default)]
        unplaced: u64,
    },
    /// Packets of others came to the target's socket meanwhile, or may have: what a model of the trial's own packets says of it
    /// does not hold.
    OthersCame {
        /// Packets that its socket dropped beyond the trial's.
        dropped: u64,
        /// Packets that programs of its network namespace got beyond the trial's, at this socket or at others.
        came: u64,
    },
    /// Packets were given to a place that did not count them: what remained.
    PlaceInferred {
        /// The place.
        place: String,
        /// How many.
        packets: u64,
        /// Why there.
        because: String,
    },
    /// Counters that could say where packets were lost were not to be seen.
    PlacesUnseen {
        /// What could not be looked at.
        what: String,
        /// What it takes.
        need: String,
    },
    /// Threads that should have had a real-time policy did not get it.
    NotRealTime {
        /// What the system said.
        why: String,
    },
    /// The kernel may make timers later to save power: that is in every delay.
    TimerSlack {
        /// By so much.
        ns: u64,
    },
    /// Real-time threads may not run all the time.
    RealTimeThrottled {
        /// So long, all together, in us.
        runtime_us: u64,
        /// Of each so long, in us.
        period_us: u64,
    },
    /// Another system decides when this one runs.
    Virtualized {
        /// What it says it is.
        by: String,
    },
    /// Memory of the program may be away when it is needed.
    MemoryNotLocked,
    /// CPUs may fall asleep deeply between wake-ups.
    CpusMaySleep,
    /// The trial ended early, at a wake-up that was too late.
    StoppedAtSpike {
        /// How late, in ns.
        late_ns: i64,
        /// Which, from 0, within its thread.
        number: u64,
        /// On which CPU.
        cpu: u32,
    },
    /// The recorder of events had no room for some: their granules are at one end alone, or at none.
    EventsMissing {
        /// Events that are there.
        recorded: u64,
        /// Events that were to be recorded and are not.
        missing: u64,
    },
    /// Granules arrived that were not seen to leave, and no recorder says that it lost an event.
    PassagesUnmatched {
        /// How many.
        passages: u64,
    },
    /// Granules reached their sink before they left the source: the stamps are of clocks that differ.
    StampsDisagree {
        /// How many, by more than 50 ns.
        passages: u64,
        /// The most negative delay, in ns.
        least_ns: i64,
    },
    /// The clock of the stamps changed its rate against CLOCK_MONOTONIC.
    StampsDrift {
        /// By so many parts in a million.
        ppm: f64,
    },
    /// Granules were in a pipe, and nothing came out of it.
    Stalled {
        /// Which pipe.
        pipe: u32,
        /// For so long before the end, in ns.
        silent_ns: u64,
        /// So many granules.
        in_flight: u64,
    },
    /// The first passages are unlike the rest, and are among the delays.
    BeginningCounted {
        /// Of all pipes.
        passages: u64,
    },
    /// The program that was measured ended by itself, with an error.
    ProgramFailed {
        /// How.
        status: String,
    },
    /// Only the first events are kept beside the record.
    EventsLeftOut {
        /// Kept.
        kept: u64,
        /// After them.
        left_out: u64,
    },
    /// Parts of a trace are damaged, or not what it says of itself.
    TraceDamaged {
        /// How many.
        packets: u64,
    },
    /// The user stopped the trial: it is shorter than asked.
    Interrupted,
    /// What a target's own program reported.
    #[serde(untagged)]
    Reported {
        /// Stable name of the doubt.
        code: String,
        /// In words.
        text: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// Doubts that say that our own side, or the way, disturbed what was offered or counted.
pub const DISTURBING: [&str; 13] = [
    "not_caught_up",
    "agents_lost",
    "start_skew",
    "generator_limited",
    "generator_lost",
    "generator_starved",
    "generator_throttled",
    "answers_after_drain",
    "arrivals_not_kept",
    "loss_doubted",
    "link_down",
    "rule_appeared",
    "left_elsewhere",
];

/// Doubts about a trial after which it says more about us, or the way, than about the target.
pub const INVALIDATING: [&str; 12] = [
    "not_caught_up",
    "agents_lost",
    "start_skew",
    "generator_limited",
    "generator_lost",
    "loss_doubted",
    "delays_doubted",
    "rule_appeared",
    "left_elsewhere",
    "events_missing",
    "stamps_disagree",
    "answers_after_drain",
];

/// Doubts about a search, which only the search that made all its trials can have: whoever performs one trial has none of them.
pub const OF_SEARCH: [&str; 13] = [
    "goals_contradict",
    "two_states",
    "unsteady",
    "carries_over",
    "outages",
    "loss_below",
    "bad_moments",
    "random_loss",
    "fails_anywhere",
    "no_upper_end",
    "slowed",
    "drift",
    "warm_up",
];

/// Agents that start further apart than one part of so many of a trial do not offer its load together.
const VOID_SKEW_OF: u64 = 100;
/// And further than one of so many: that is worth a word.
const TOLD_SKEW_OF: u64 = 1000;

/// A load is what was asked for where it lacks no more than one packet of so many.
const AS_ASKED: u64 = 100_000;

/// Whether so few packets were not offered that the load is the one that was asked for.
pub(crate) fn is_as_asked(intended: u64, offered: u64) -> bool {
    intended.saturating_sub(offered) <= intended / AS_ASKED
}

impl Caveat {
    /// Whether a trial with it is not valid: it says more about us, or the way, than about the target.
    ///
    /// Every verb asks this, of whatever target.
    pub fn invalidates(&self) -> bool {
        INVALIDATING.contains(&self.code()) && !self.is_forgiven()
    }

    /// Whether the load is the one that was asked for all the same.
    fn is_forgiven(&self) -> bool {
        match self {
            Self::GeneratorLimited { intended, offered, .. } => is_as_asked(*intended, *offered),
            Self::AnswersAfterDrain { .. } => !self.is_of_a_short_drain(),
            Self::StartSkew { skew_ns, duration_ns } => *skew_ns <= duration_ns / VOID_SKEW_OF,
            _ => false,
        }
    }

    /// Whether no answer could come in time however idle the target was: even the fastest one took longer than the drain.
    pub(crate) fn is_of_a_short_drain(&self) -> bool {
        matches!(self, Self::AnswersAfterDrain { drain_ns, fastest_ns, .. } if fastest_ns > drain_ns)
    }

    /// Whether that is so of what was counted, and not of the delays alone.
    pub(crate) fn spoils_counts(&self) -> bool {
        self.invalidates() && self.disturbs()
    }

    /// Whether our own side, or the way, disturbed a trial with it.
    pub fn disturbs(&self) -> bool {
        DISTURBING.contains(&self.code()) && !self.is_forgiven()
    }

    /// The doubt about agents that started so far apart, where that matters in a trial so long.
    pub fn of_start(skew_ns: u64, duration_ns: u64) -> Option<Self> {
        (skew_ns > duration_ns / TOLD_SKEW_OF).then_some(Self::StartSkew { skew_ns, duration_ns })
    }

    /// Whether a trial with it is spoilt, and it gives no numbers by which the rest could be judged: the program that performed
    /// it says so, or an agent of it is missing.
    pub fn tells_nothing(&self) -> bool {
        matches!(self, Self::Reported { .. } | Self::AgentsLost { .. } | Self::StartSkew { .. })
            && self.spoils_counts()
    }

    /// The same of a target that had been warmed up for so long before the search.
    #[must_use]
    pub fn after(self, warm_up: Duration) -> Self {
        match self {
            Self::WarmUp { by_chance, since_trial, since_s, until_s, .. } => {
                Self::WarmUp { by_chance, since_trial, since_s, until_s, warmed_s: warm_up.as_secs_f64() }
            }
            other => other,
        }
    }

    /// Stable name, as in the JSON field `code`.
    pub fn code(&self) -> &str {
        match self {
            Self::GeneratorLimited { .. } => "generator_limited",
            Self::GeneratorLost { .. } => "generator_lost",
            Self::MoreThanOffered { .. } => "more_than_offered",
            Self::ArrivalsNotKept { .. } => "arrivals_not_kept",
            Self::GeneratorStarved { .. } => "generator_starved",
            Self::GeneratorThrottled { .. } => "generator_throttled",
            Self::TargetStarved { .. } => "target_starved",
            Self::LossDoubted { .. } => "loss_doubted",
            Self::DelaysDoubted { .. } => "delays_doubted",
            Self::LinkDown { .. } => "link_down",
            Self::RuleAppeared { .. } => "rule_appeared",
            Self::LeftElsewhere { .. } => "left_elsewhere",
            Self::AgentsLost { .. } => "agents_lost",
            Self::StartSkew { .. } => "start_skew",
            Self::SuperposedConstant { .. } => "superposed_constant",
            Self::PacketTooLong { .. } => "packet_too_long",
            Self::TargetUnreachable { .. } => "target_unreachable",
            Self::Outage { .. } => "outage",
            Self::WaitingGrew { .. } => "waiting_grew",
            Self::FellSilent { .. } => "fell_silent",
            Self::AnswersAfterDrain { .. } => "answers_after_drain",
            Self::StillQueued { .. } => "still_queued",
            Self::ClockStepped { .. } => "clock_stepped",
            Self::StampsMissing { .. } => "stamps_missing",
            Self::DelayUnknown { .. } => "delay_unknown",
            Self::DelaysOfPart { .. } => "delays_of_part",
            Self::FewSlices { .. } => "few_slices",
            Self::PacketsLeftOut { .. } => "packets_left_out",
            Self::ForeignPackets { .. } => "foreign_packets",
            Self::RepliesDiffer { .. } => "replies_differ",
            Self::FramesDiffer { .. } => "frames_differ",
            Self::FramesPadded { .. } => "frames_padded",
            Self::RepliesUnlike { .. } => "replies_unlike",
            Self::RepliesElsewhere { .. } => "replies_elsewhere",
            Self::CopiesElsewhere { .. } => "copies_elsewhere",
            Self::RepliesRelayed { .. } => "replies_relayed",
            Self::RepliesInOrder { .. } => "replies_in_order",
            Self::RepliesAmbiguous { .. } => "replies_ambiguous",
            Self::RepliesTwice { .. } => "replies_twice",
            Self::RepliesRefuse { .. } => "replies_refuse",
            Self::AnswersLimited { .. } => "answers_limited",
            Self::RepliesFail { .. } => "replies_fail",
            Self::RepliesBeside { .. } => "replies_beside",
            Self::Drift { .. } => "drift",
            Self::WarmUp { .. } => "warm_up",
            Self::Slowed { .. } => "slowed",
            Self::CarriesOver { .. } => "carries_over",
            Self::Unsteady { .. } => "unsteady",
            Self::TwoStates { .. } => "two_states",
            Self::Outages { .. } => "outages",
            Self::LossBelow { .. } => "loss_below",
            Self::GoalsContradict { .. } => "goals_contradict",
            Self::BadMoments { .. } => "bad_moments",
            Self::RandomLoss { .. } => "random_loss",
            Self::FailsAnywhere { .. } => "fails_anywhere",
            Self::NoUpperEnd { .. } => "no_upper_end",
            Self::CountersShared { .. } => "counters_shared",
            Self::OthersCame { .. } => "others_came",
            Self::PlaceInferred { .. } => "place_inferred",
            Self::PlacesUnseen { .. } => "places_unseen",
            Self::NotRealTime { .. } => "not_real_time",
            Self::TimerSlack { .. } => "timer_slack",
            Self::RealTimeThrottled { .. } => "real_time_throttled",
            Self::Virtualized { .. } => "virtualized",
            Self::MemoryNotLocked => "memory_not_locked",
            Self::CpusMaySleep => "cpus_may_sleep",
            Self::StoppedAtSpike { .. } => "stopped_at_spike",
            Self::EventsMissing { .. } => "events_missing",
            Self::PassagesUnmatched { .. } => "passages_unmatched",
            Self::StampsDisagree { .. } => "stamps_disagree",
            Self::StampsDrift { .. } => "stamps_drift",
            Self::Stalled { .. } => "stalled",
            Self::BeginningCounted { .. } => "beginning_counted",
            Self::ProgramFailed { .. } => "program_failed",
            Self::EventsLeftOut { .. } => "events_left_out",
            Self::TraceDamaged { .. } => "trace_damaged",
            Self::Interrupted => "interrupted",
            Self::Reported { code, .. } => code,
        }
    }
}
