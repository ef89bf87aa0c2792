//! What a watched target took from its socket while packets waited there: how long a packet takes it, whatever it
//! spends that time with.

use super::activity::{Activity, Spent, pairs};
use crate::{Arriving, Stalls};
use dropline_trial::{Look, TargetActivity};
use schemars::JsonSchema;
use serde::Serialize;

/// A target as its queue shows it.
///
/// Between two looks it took what arrived, less what was dropped, less what more waits. As long as it took no more than
/// waited at the first of them, packets waited all that time, and the time is its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drained {
    /// From when on each service time holds, and the service time, in ns: a run of packets each.
    pub(super) services: Vec<(u64, u64)>,
    /// Mean time from taking a packet to taking the next.
    pub(super) mean_ns: f64,
    /// Its standard error, from the means of the runs.
    pub(super) error_ns: f64,
    /// When packets waited and it took none for far longer than usual.
    pub(super) stalls: Stalls,
    /// What it did meanwhile, outside the stalls.
    pub(super) serving: Option<Serving>,
}

/// What a target's process did while packets waited and it took some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Serving {
    /// It ran.
    pub cpu_ns: u64,
    /// It could have run and had no CPU.
    pub not_scheduled_ns: u64,
    /// It slept, or waited for something else.
    pub waiting_ns: u64,
}

impl Serving {
    fn looked_ns(self) -> u64 {
        self.cpu_ns + self.not_scheduled_ns + self.waiting_ns
    }

    /// The share of a part of it; `None` of no time at all.
    pub fn share(self, part_ns: u64) -> Option<f64> {
        (self.looked_ns() > 0).then(|| part_ns as f64 / self.looked_ns() as f64)
    }
}

/// What happened between two looks.
struct Step {
    from_ns: u64,
    to_ns: u64,
    taken: u64,
    /// Packets waited all the time.
    waiting: bool,
    /// When the first packet came that was not taken, where none waited before.
    first_left_ns: Option<u64>,
}

/// Packets in a run whose mean is looked at.
const RUN: u64 = 16;
/// Fewer say too little.
const FEWEST: u64 = 2 * RUN;
/// What lasts this much longer than a service is a stall.
const STALL: f64 = 4.0;
/// And at least this much longer.
const SHORTEST_STALL_NS: f64 = 100_000.0;

impl Step {
    fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }

    fn follows(&self, before: &Self) -> bool {
        before.to_ns == self.from_ns
    }

    /// Of its time, what the packets that were taken leave over.
    fn left_over_ns(&self, usual_ns: f64) -> u64 {
        self.length_ns().saturating_sub((self.taken as f64 * usual_ns) as u64)
    }
}

impl Drained {
    /// `charged` is the memory that a packet is charged, `arrivals` are all that came up to `known_until_ns`. `None` where
    /// too few packets were taken while others waited.
    pub(super) fn of(
        watched: &TargetActivity,
        activity: Option<&Activity>,
        arrivals: &[Arriving],
        charged: u32,
        known_until_ns: u64,
    ) -> Option<Self> {
        let steps = steps(watched, arrivals, charged, known_until_ns);
        let taken: u64 = steps.iter().filter(|step| step.waiting).map(|step| step.taken).sum();
        let mut each: Vec<u64> = runs(&steps, &Stalls::default()).iter().map(|(_, each)| *each).collect();
        each.sort_unstable();
        let usual_ns = *each.get(each.len() / 2).filter(|_| taken >= FEWEST)? as f64;
        let stalls = stalls(&steps, usual_ns);
        let services = runs(&steps, &stalls);
        let values: Vec<f64> = services.iter().map(|(_, each)| *each as f64).collect();
        let mean_ns = dropline_stats::sample::mean(&values)?;
        let error_ns = dropline_stats::sample::standard_error(&values).unwrap_or(mean_ns / 4.0);
        let serving = activity.and_then(|activity| serving(&steps, &stalls, activity));
        Some(Self { serving, services, mean_ns, error_ns, stalls })
    }
}

fn steps(watched: &TargetActivity, arrivals: &[Arriving], charged: u32, known_until_ns: u64) -> Vec<Step> {
    let mut ahead = 0i64;
    let step = |(before, after): (&Look, &Look)| {
        let (from_ns, to_ns) = (u64::try_from(before.at_ns).ok()?, u64::try_from(after.at_ns).ok()?);
        let (then, now) = (before.queued_bytes?, after.queued_bytes?);
        let dropped = after.drops?.saturating_sub(before.drops?);
        if to_ns <= from_ns || to_ns > known_until_ns {
            return None;
        }
        let come_by = |ns: u64| arrivals.partition_point(|packet| packet.at_ns <= ns);
        let first = come_by(from_ns);
        let packets = |bytes: u64| (bytes / u64::from(charged.max(1))) as i64;
        let come = (come_by(to_ns) - first) as i64;
        // A look is no moment: what one counts too much the next counts too little.
        let found = ahead + come - dropped as i64 - (packets(now) - packets(then));
        ahead = found.min(0);
        let taken = found.max(0) as u64;
        let waiting = then > 0 && now > 0 && taken <= packets(then) as u64;
        let first_left = arrivals.get(first + taken as usize).filter(|_| then == 0 && now > 0);
        let first_left_ns = first_left.map(|packet| packet.at_ns);
        Some(Step { from_ns, to_ns, taken, waiting, first_left_ns })
    };
    pairs(watched).filter_map(step).collect()
}

/// Runs of packets: when each began, and the time a packet, less that of stalls.
fn runs(steps: &[Step], stalls: &Stalls) -> Vec<(u64, u64)> {
    let mut runs = Vec::new();
    let (mut begun_ns, mut taken, mut time_ns) = (0, 0, 0);
    for (at, step) in steps.iter().enumerate() {
        let follows = at > 0 && step.follows(&steps[at - 1]);
        if !step.waiting || !follows {
            (taken, time_ns) = (0, 0);
        }
        if !step.waiting {
            continue;
        }
        if taken == 0 && time_ns == 0 {
            begun_ns = step.from_ns;
        }
        taken += step.taken;
        time_ns += step.length_ns() - stalls.within(step.from_ns, step.to_ns);
        if taken >= RUN {
            runs.push((begun_ns, time_ns / taken));
            (taken, time_ns) = (0, 0);
        }
    }
    runs
}

/// Neighbouring steps in which packets waited and hardly one was taken, if they are long enough.
fn stalls(steps: &[Step], usual_ns: f64) -> Stalls {
    let limit = (usual_ns * STALL).max(usual_ns + SHORTEST_STALL_NS) as u64;
    let still = |step: &Step| step.waiting && step.taken as f64 * usual_ns * 10.0 < step.length_ns() as f64;
    let mut found = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let begin = at;
        while at < steps.len() && still(&steps[at]) && (at == begin || steps[at].follows(&steps[at - 1])) {
            at += 1;
        }
        if at == begin {
            at += 1;
            continue;
        }
        let (mut from_ns, mut to_ns) = (steps[begin].from_ns, steps[at - 1].to_ns);
        if let Some(before) = begin.checked_sub(1).map(|before| &steps[before])
            && steps[begin].follows(before)
        {
            from_ns = before.first_left_ns.unwrap_or(from_ns - before.left_over_ns(usual_ns));
        }
        if let Some(after) = steps.get(at).filter(|after| after.follows(&steps[at - 1])) {
            to_ns += after.left_over_ns(usual_ns);
        }
        if to_ns.saturating_sub(from_ns) > limit {
            found.push((from_ns, to_ns));
        }
    }
    Stalls::new(found)
}

/// What the process did while packets waited, outside the stalls; `None` if that was too short to tell, as clock ticks
/// are milliseconds.
fn serving(steps: &[Step], stalls: &Stalls, activity: &Activity) -> Option<Serving> {
    const SHORTEST_NS: u64 = 50_000_000;
    let serving = steps.iter().filter(|step| step.waiting && stalls.within(step.from_ns, step.to_ns) == 0);
    let spent =
        serving.map(|step| activity.spent(step.from_ns, step.to_ns)).fold(Spent::default(), Spent::and);
    let serving = Serving {
        cpu_ns: spent.busy_ns,
        not_scheduled_ns: spent.not_scheduled_ns,
        waiting_ns: spent.paused_ns,
    };
    (serving.looked_ns() >= SHORTEST_NS).then_some(serving)
}
