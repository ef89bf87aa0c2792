//! What made the packets be lost, as far as the evidence parts the causes from one another.

use super::ServerSeen;
use crate::remedy::{Doubt, OnOwnCpu, Otherwise, equally_apart};
use crate::replay::replay_until;
use crate::{Arriving, Server, Stalls};
use schemars::JsonSchema;
use serde::Serialize;

/// What made the packets be lost: what removes four fifths of the replayed loss when it is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Packets came together: the same number at equal distances would not be lost.
    Arrivals,
    /// More packets than can be served, also on a CPU that nobody else uses.
    Overload,
    /// The server could have run and had no CPU; on one of its own, as slow as its pace was, it would not have lost them.
    NoCpu,
    /// The lack of a CPU or the load itself: the server would have kept up if its running time were all that a packet takes,
    /// and not at the pace of its replies. The trial cannot tell them apart.
    NoCpuOrLoad,
    /// The server did nothing though it had work.
    Stalls,
    /// The arrivals and the stalls together, neither alone.
    Together,
    /// The target's CPU quota was used up, and it was stopped until the next period.
    Quota,
}

/// What removes this share of the loss is its cause.
const CAUSE: f64 = 0.8;

/// A loss as the replay has it, with all that may have caused it.
pub(super) struct LossReplayed<'a> {
    pub(super) arrivals: &'a [Arriving],
    pub(super) server: &'a Server,
    pub(super) otherwise: &'a Otherwise,
    pub(super) seen: &'a ServerSeen,
    /// Packets that the replay loses.
    pub(super) lost: u64,
    pub(super) rate_pps: Option<f64>,
    /// Whether its CPU quota stopped it for most of the time that it had no CPU.
    pub(super) is_stopped_by_quota: bool,
    pub(super) doubt: Doubt,
}

impl LossReplayed<'_> {
    /// What takes most of the loss with it when it is taken away; `None` if nothing does.
    pub(super) fn cause(&self) -> Option<Cause> {
        if self.lost == 0 {
            return None;
        }
        let Self { arrivals, server, seen, .. } = self;
        if let Some(OnOwnCpu { best, worst }) = &self.otherwise.own_cpu {
            match (self.removes(arrivals, worst), self.is_stopped_by_quota) {
                (true, true) => return Some(Cause::Quota),
                // Pauses of its own, and those of which nobody knows why, are in the worst case too.
                (true, false) => return Some(Cause::NoCpu),
                // Where nobody saw what it ran and waited, the best case is anything.
                (false, _) if seen.needs_ns.is_some() && self.removes(arrivals, best) => {
                    return Some(Cause::NoCpuOrLoad);
                }
                (false, _) => {}
            }
        }
        let running = Server { stalls: Stalls::default(), ..(*server).clone() };
        let apart = equally_apart(arrivals);
        if self.removes(arrivals, &running) {
            return Some(Cause::Stalls);
        }
        if self.removes(&apart, server) {
            return Some(Cause::Arrivals);
        }
        let load = |service_ns: f64| self.rate_pps.map_or(0.0, |rate| service_ns * rate / 1e9);
        if load(seen.service_ns) >= 1.0 {
            // What its busiest thread ran for a packet is needed on any CPU.
            let is_needed = seen.needs_ns.is_some_and(|needs_ns| load(needs_ns) >= 1.0);
            return Some(if is_needed { Cause::Overload } else { Cause::NoCpuOrLoad });
        }
        self.removes(&apart, &running).then_some(Cause::Together)
    }

    fn removes(&self, arrivals: &[Arriving], server: &Server) -> bool {
        let Doubt { seed, end_ns, .. } = self.doubt;
        let lost = replay_until(arrivals.iter().copied(), server, seed, end_ns).lost();
        lost as f64 <= self.lost as f64 * (1.0 - CAUSE)
    }
}
