//! Doubts about a result: data that travels with it, never log lines.

use serde::Serialize;
use std::fmt;

/// Why a number may mislead. Its code is stable, its numbers are kept, its text says what to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Caveat {
    /// The generator fell behind: the trial says nothing about the target at this load.
    GeneratorLimited {
        /// Packets the load asked for.
        intended: u64,
        /// Packets that left.
        offered: u64,
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
    /// What a trial found was much like what the one before it had found: the trials say less than as many
    /// that do not depend on one another.
    DependentTrials {
        /// Correlation of neighbouring trials, each against what was expected of it.
        correlation: f64,
        /// How often trials in a random order look as dependent.
        by_chance: f64,
    },
    /// The target became slower or faster while it was searched.
    Drift {
        /// Correlation of the trials' number with how much better than expected they were.
        correlation: f64,
        /// How often trials in a random order look as much like a drift.
        by_chance: f64,
    },
    /// The first trials found a slower target than the later ones.
    WarmUp {
        /// How often trials in a random order begin as badly.
        by_chance: f64,
    },
    /// The trials' capacities fall into two groups far apart, and about as many are slow as are fast.
    TwoStates {
        /// The slowest trial's capacity, in packets a second.
        slow_pps: f64,
        /// The fastest trial's capacity, in packets a second.
        fast_pps: f64,
        /// Share of slow ones among the trials that could tell.
        slow: f64,
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
    /// Counters from which places of loss were taken hold other programs' packets too.
    CountersShared {
        /// Packets that they counted beyond what was lost here.
        beyond: u64,
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
    /// What a target's own program reported, or a record of an older version held.
    #[serde(untagged)]
    Reported {
        /// Stable name of the doubt.
        code: String,
        /// In words.
        text: String,
    },
}

impl Caveat {
    /// Stable name, as in the JSON field `code`.
    pub fn code(&self) -> &str {
        match self {
            Self::GeneratorLimited { .. } => "generator_limited",
            Self::GeneratorLost { .. } => "generator_lost",
            Self::MoreThanOffered { .. } => "more_than_offered",
            Self::ArrivalsNotKept { .. } => "arrivals_not_kept",
            Self::GeneratorStarved { .. } => "generator_starved",
            Self::TargetUnreachable { .. } => "target_unreachable",
            Self::ClockStepped { .. } => "clock_stepped",
            Self::StampsMissing { .. } => "stamps_missing",
            Self::DelayUnknown { .. } => "delay_unknown",
            Self::FewSlices { .. } => "few_slices",
            Self::PacketsLeftOut { .. } => "packets_left_out",
            Self::ForeignPackets { .. } => "foreign_packets",
            Self::DependentTrials { .. } => "dependent_trials",
            Self::Drift { .. } => "drift",
            Self::WarmUp { .. } => "warm_up",
            Self::TwoStates { .. } => "two_states",
            Self::LossBelow { .. } => "loss_below",
            Self::CountersShared { .. } => "counters_shared",
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

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GeneratorLimited { intended, offered } => write!(
                f,
                "the generator offered {offered} of {intended} intended packets: lower the load, or free a \
                 CPU for it, before judging the target"
            ),
            Self::GeneratorLost { dropped } => write!(
                f,
                "our own reply socket dropped {dropped} replies: they are not counted as the target's loss"
            ),
            Self::MoreThanOffered { offered, forwarded } => write!(
                f,
                "{forwarded} packets came back of {offered} sent: something duplicates them, or foreign \
                 packets were counted"
            ),
            Self::ArrivalsNotKept { lateness_p99_ns, intended_idt_ns } => write!(
                f,
                "the arrivals were not as asked: one packet in 100 left {} us late or more, where packets \
                 are {} us apart",
                lateness_p99_ns / 1000,
                intended_idt_ns / 1000
            ),
            Self::GeneratorStarved { waited_ns } => write!(
                f,
                "the generator waited {} ms for a CPU that others kept busy: its lateness is not the \
                 target's doing; free a CPU for it, or let it go first (CAP_SYS_NICE)",
                waited_ns / 1_000_000
            ),
            Self::TargetUnreachable { error, at_ns, refused, reports } => write!(
                f,
                "{:.1} s after the start the target, or the way to it, was gone ({error}): {refused} packets \
                 were refused for it and not offered, {reports} reports came about packets that had left",
                *at_ns as f64 / 1e9
            ),
            Self::ClockStepped { steps, largest_ns } => write!(
                f,
                "the clock was set {steps} times during the trial, by up to {} us: packets stamped just then \
                 have the program's stamps",
                largest_ns / 1000
            ),
            Self::StampsMissing { packets } => write!(
                f,
                "{packets} replies have no kernel stamp that can be believed: their delay was taken when they \
                 were read"
            ),
            Self::DelayUnknown { packets } => {
                write!(f, "{packets} replies came so late that their delay is not known")
            }
            Self::FewSlices { slices, wanted } => write!(
                f,
                "the trial is short: it has {slices} time slices and not {wanted}, so less is known of how it varied"
            ),
            Self::PacketsLeftOut { kept, left_out } => write!(
                f,
                "the times of the first {kept} packets are kept, those of the other {left_out} are not: a \
                 shorter trial is explained in full"
            ),
            Self::ForeignPackets { packets } => {
                write!(f, "{packets} packets arrived that this trial did not send; they were ignored")
            }
            Self::DependentTrials { correlation, by_chance } => write!(
                f,
                "a trial finds what the one before it found (correlation {correlation:.2}, by chance in \
                 {:.1} % of searches): the target has states that last longer than a trial; search again \
                 later, or with longer trials",
                100.0 * by_chance
            ),
            Self::Drift { correlation, by_chance } => {
                let became = if *correlation < 0.0 { "slower" } else { "faster" };
                write!(
                    f,
                    "the target became {became} while it was searched (correlation {correlation:.2}, by \
                     chance in {:.1} % of searches): the answer is of no one moment",
                    100.0 * by_chance
                )
            }
            Self::WarmUp { by_chance } => write!(
                f,
                "the first trials found a slower target than the later ones (by chance in {:.1} % of \
                 searches): warm it up before the search",
                100.0 * by_chance
            ),
            Self::TwoStates { slow_pps, fast_pps, slow } => write!(
                f,
                "trials find one of two targets, of {slow_pps:.0} and {fast_pps:.0} pps, {:.0} % of them the slow one: the \
                 interval may be of either; look for a throttled clock or a flow that moves between cores",
                100.0 * slow
            ),
            Self::LossBelow { intended_load_pps, offered, lost } => write!(
                f,
                "{lost} of {offered} were lost at {intended_load_pps:.0} a second, far below the load that was \
                 found: loss does not begin there; search again with a lower highest load"
            ),
            Self::CountersShared { beyond: 0 } => f.write_str(
                "the counters that say where packets were lost hold other programs' packets too: places \
                 other than the target's own socket may be theirs",
            ),
            Self::CountersShared { beyond } => write!(
                f,
                "the counters that say where packets were lost count {beyond} more than were lost here: other \
                 programs lose packets on this machine meanwhile, and a place may be theirs"
            ),
            Self::PlaceInferred { place, packets, because } => {
                write!(f, "{packets} lost packets were put at {place} as what remained: {because}")
            }
            Self::PlacesUnseen { what, need } => {
                write!(f, "{what} could not be looked at for lost packets: {need}")
            }
            Self::NotRealTime { why } => write!(
                f,
                "the threads have no real-time policy ({why}): run as root, or give the program CAP_SYS_NICE"
            ),
            Self::TimerSlack { ns } => write!(
                f,
                "timers may expire {} us late to save power, and that is in every delay: slack=1ns in the target \
                 takes it out",
                ns / 1000
            ),
            Self::RealTimeThrottled { runtime_us, period_us } => write!(
                f,
                "real-time threads may run for {} of each {} ms together: a busy one is stopped for the rest \
                 (kernel.sched_rt_runtime_us)",
                runtime_us / 1000,
                period_us / 1000
            ),
            Self::Virtualized { by } => write!(
                f,
                "this machine runs on {by}, which decides when it runs: what it took is steal time, and not all of \
                 it is seen"
            ),
            Self::MemoryNotLocked => f.write_str(
                "memory could not be kept in RAM: a page that has to be fetched is a late wake-up (RLIMIT_MEMLOCK)",
            ),
            Self::CpusMaySleep => f.write_str(
                "CPUs may sleep deeply between wake-ups: /dev/cpu_dma_latency could not be held (needs root)",
            ),
            Self::StoppedAtSpike { late_ns, number, cpu } => write!(
                f,
                "stopped at wake-up {number} on CPU {cpu}, which was {} us late: the trial is shorter than asked",
                late_ns / 1000
            ),
            Self::EventsMissing { recorded, missing } => write!(
                f,
                "{missing} events are missing beside {recorded} that were recorded: there was no room for them; \
                 give the recorder more (events=, rings= in the target), or a larger granularity"
            ),
            Self::PassagesUnmatched { passages } => write!(
                f,
                "{passages} granules arrived that were not seen to leave, though no recorder lost an event: does the \
                 source trace every boundary that a call crosses, and is the ratio that of the graph?"
            ),
            Self::StampsDisagree { passages, least_ns } => write!(
                f,
                "{passages} granules arrived before they left, by up to {} ns: source and sink are stamped by clocks \
                 that differ, or the source is traced after it hands on",
                -least_ns
            ),
            Self::StampsDrift { ppm } => write!(
                f,
                "the clock of the stamps ran {ppm:+.0} ppm against CLOCK_MONOTONIC between the trial's begin and end"
            ),
            Self::Stalled { pipe, silent_ns, in_flight } => write!(
                f,
                "pipe {pipe} stalled: {in_flight} granules were in it and nothing came out for the last {} ms",
                silent_ns / 1_000_000
            ),
            Self::BeginningCounted { passages } => write!(
                f,
                "the first passages, {passages} in all pipes, are unlike the rest and among the delays: \
                 warm-up=auto in the target cuts them"
            ),
            Self::ProgramFailed { status } => {
                write!(f, "the program ended with an error ({status}): what it had recorded until then is here")
            }
            Self::EventsLeftOut { kept, left_out } => write!(
                f,
                "the first {kept} events are kept, the other {left_out} are not: the numbers are of all of them, an \
                 export is of the first"
            ),
            Self::TraceDamaged { packets } => write!(
                f,
                "{packets} parts of the trace are damaged, cut off or foreign: what could be read is here"
            ),
            Self::Interrupted => f.write_str("the trial was stopped before its time: it is shorter than asked"),
            Self::Reported { text, .. } => f.write_str(text),
        }
    }
}
