//! What the server did, from its replies and from having been watched.

use super::Evidence;
use super::activity::{Activity, pairs};
use super::drained::{Drained, Serving};
use super::own_time::{self, OwnTime, Pace};
use crate::remedy::OnOwnCpu;
use crate::service_time::Served;
use crate::{Arriving, Server, Stalls};
use dropline_trial::{TargetActivity, Throttled};
use schemars::JsonSchema;
use serde::Serialize;

/// What the server did.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ServerSeen {
    /// Its process, where that was seen.
    pub pid: Option<u32>,
    /// The process's name.
    pub name: Option<String>,
    /// Mean service time.
    pub service_ns: f64,
    /// Its standard error.
    pub service_error_ns: f64,
    /// Where it comes from.
    pub service_from: ServiceFrom,
    /// Time that it would take on a CPU that nobody else uses; null where it was not seen what its busiest thread ran and
    /// waited, where that comes to more than its pace, and where no pace was seen.
    pub own_time: Option<OwnTime>,
    /// From a packet's arrival to when an idle server reads it; 0 where too few found it idle.
    pub wake_ns: u64,
    /// Times it had work and did nothing.
    pub stalls: u64,
    /// Their sum.
    pub stalled_ns: u64,
    /// The shortest and the longest of them.
    pub stall_range_ns: Option<[u64; 2]>,
    /// Of the stalled time: it could have run and had no CPU. Null where it was not watched.
    pub not_scheduled_ns: Option<u64>,
    /// Of the stalled time: it ran, and answered nothing.
    pub busy_ns: Option<u64>,
    /// Of the stalled time: it slept or waited for something else.
    pub paused_ns: Option<u64>,
    /// What its process did while packets waited and it took some; null where too little of that was seen.
    pub serving: Option<Serving>,
    /// What it needs for a packet at least, on any CPU; `None` where that is not known.
    #[serde(skip)]
    pub(crate) needs_ns: Option<f64>,
    #[serde(skip)]
    pub(crate) services: Vec<(u64, u64)>,
    #[serde(skip)]
    pub(crate) intervals: Stalls,
    /// The stalls in which it had no CPU for half of the time or more; `None` where that was not seen.
    #[serde(skip)]
    kept_from_cpu: Option<Stalls>,
    /// Those in which it had none for a tenth of the time or more.
    #[serde(skip)]
    perhaps_kept: Option<Stalls>,
}

/// Where a service time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceFrom {
    /// CPU time a packet: an upper bound.
    Cpu,
    /// Time between replies to packets that waited.
    Replies,
    /// Time between packets that were taken while others waited.
    Queue,
}

/// Fewer packets that found the server idle say nothing of how long it takes to wake: it may have been kept from reading them.
const SOME_IDLE: u64 = 4;

impl ServerSeen {
    /// `charged` is the memory that a packet is charged at the socket.
    pub(super) fn of(
        evidence: &Evidence<'_>,
        served: Option<&Served>,
        arrivals: &[Arriving],
        charged: u32,
    ) -> Option<Self> {
        let watched = evidence.watched;
        let known_until_ns = match evidence.packets.left_out() {
            0 => u64::MAX,
            _ => arrivals.last().map_or(0, |packet| packet.at_ns),
        };
        let activity = watched.and_then(Activity::of);
        let drained = watched
            .and_then(|watched| Drained::of(watched, activity.as_ref(), arrivals, charged, known_until_ns));
        let cpu_ns = watched.and_then(|watched| watched.cpu_ns_a_packet()).filter(|ns| *ns > 0.0);
        let (service_ns, service_error_ns, service_from) = match (served, &drained, cpu_ns) {
            (Some(served), ..) => (served.mean_ns, served.error_ns, ServiceFrom::Replies),
            (None, Some(drained), _) => (drained.mean_ns, drained.error_ns, ServiceFrom::Queue),
            // Waking up and the kernel's part are in it: it may be a quarter less.
            (None, None, Some(cpu_ns)) => (cpu_ns, cpu_ns / 8.0, ServiceFrom::Cpu),
            (None, None, None) => return None,
        };
        let intervals = match (served, &drained, watched) {
            (Some(served), ..) => served.stalls.clone(),
            (None, Some(drained), _) => drained.stalls.clone(),
            (None, None, Some(watched)) => stalls(watched, activity.as_ref()),
            (None, None, None) => Stalls::default(),
        };
        let serving = drained.as_ref().and_then(|drained| drained.serving);
        let services = match (served, drained) {
            (Some(served), _) => served.services.clone(),
            (None, drained) => drained.map(|drained| drained.services).unwrap_or_default(),
        };
        let lengths = || intervals.intervals().iter().map(|(begin, end)| end - begin);
        let range = lengths().min().zip(lengths().max());
        let spent = activity.as_ref().map(|activity| activity.spent_in(&intervals));
        let starved_ns = spent.map_or(0, |spent| spent.not_scheduled_ns);
        let pace = Pace { ns: service_ns, error_ns: service_error_ns };
        // CPU time is no pace: nothing says what of it a thread waited for.
        let own_time = watched
            .filter(|_| service_from != ServiceFrom::Cpu)
            .and_then(|watched| OwnTime::of(watched, evidence.served(), pace, starved_ns));
        let needs_ns = match service_from {
            ServiceFrom::Cpu => watched.and_then(|watched| own_time::ran_ns(watched, evidence.served())),
            ServiceFrom::Replies | ServiceFrom::Queue => own_time.map(|own| own.least_ns),
        };
        // Waits of several threads, added up, say of no stall why it came.
        let activity = activity.filter(|_| is_told_apart(evidence));
        let kept = |one_in| activity.as_ref().map(|activity| activity.starved_in(&intervals, one_in));
        Some(Self {
            pid: watched.and_then(|watched| watched.pid),
            name: watched.and_then(|watched| watched.name.clone()),
            service_ns,
            service_error_ns,
            service_from,
            own_time,
            needs_ns,
            wake_ns: served
                .filter(|served| served.found_idle >= SOME_IDLE)
                .map_or(0, |served| served.wake_ns),
            stalls: intervals.intervals().len() as u64,
            stalled_ns: intervals.total_ns(),
            stall_range_ns: range.map(|(shortest, longest)| [shortest, longest]),
            not_scheduled_ns: spent.map(|spent| spent.not_scheduled_ns),
            busy_ns: spent.map(|spent| spent.busy_ns),
            paused_ns: spent.map(|spent| spent.paused_ns),
            serving,
            services,
            kept_from_cpu: kept(2),
            perhaps_kept: kept(10),
            intervals,
        })
    }

    /// Whether its quota stopped it for a tenth of the time that it had no CPU with packets waiting, or more: a CPU of its own
    /// would not take that away.
    pub(super) fn is_stopped_by(&self, quota: Throttled) -> bool {
        let stalled = self.not_scheduled_ns.unwrap_or(0);
        let without_cpu = stalled + self.serving.map_or(0, |serving| serving.not_scheduled_ns);
        without_cpu > 0 && quota.stopped_ns * 10 >= without_cpu
    }

    /// Stalls that are its own doing, or may be: it had a CPU, or nobody saw whether it had.
    pub(super) fn own_pauses(&self) -> Stalls {
        self.kept_from_cpu
            .as_ref()
            .map_or_else(|| self.intervals.clone(), |kept| self.intervals.without(kept))
    }

    /// It on a CPU that nobody else uses: at least as fast as its pace was, at most as fast as its own running time allows, or
    /// as anything where nobody saw that. Stalls of which nobody saw why they came may go, or stay.
    pub(super) fn on_own_cpu(&self, server: &Server) -> OnOwnCpu {
        let without = |kept: &Option<Stalls>| kept.as_ref().map(|kept| self.intervals.without(kept));
        let least_ns = self.needs_ns.unwrap_or(0.0).min(self.service_ns);
        OnOwnCpu {
            best: Server {
                stalls: without(&self.perhaps_kept).unwrap_or_default(),
                service: server.service.scaled(least_ns / self.service_ns.max(1.0)),
                ..server.clone()
            },
            worst: Server {
                stalls: without(&self.kept_from_cpu).unwrap_or_else(|| self.intervals.clone()),
                ..server.clone()
            },
        }
    }
}

/// Whether it was seen what the target's busiest thread ran and waited.
pub(super) fn is_told_apart(evidence: &Evidence<'_>) -> bool {
    let told = |watched: &TargetActivity| watched.busiest_cpu_ns.zip(watched.waited_ns).is_some();
    evidence.watched.is_some_and(told) && evidence.served() > 0
}

/// Times and positions of the lost packets: those that never came back, or, where nobody saw packets come
/// back, the socket's drops at the looks that found them.
pub(super) fn lost_times(evidence: &Evidence<'_>) -> Vec<(u64, usize)> {
    let packets = evidence.packets;
    if packets.returns.is_some() {
        let left = packets.iter().filter_map(|packet| Some((packet.left_ns?, packet.back_ns)));
        let mut sorted: Vec<(u64, Option<u64>)> = left.collect();
        sorted.sort_by_key(|(left, _)| *left);
        return sorted
            .into_iter()
            .enumerate()
            .filter(|(_, (_, back))| back.is_none())
            .map(|(position, (left, _))| (left, position))
            .collect();
    }
    let Some(watched) = evidence.watched else { return Vec::new() };
    let mut lost = Vec::new();
    for (before, after) in pairs(watched) {
        let (Some(then), Some(now)) = (before.drops, after.drops) else { continue };
        let at_ns = u64::try_from(after.at_ns).unwrap_or(0);
        // Not known to be neighbours: every other position.
        lost.extend(
            (0..now.saturating_sub(then)).map(|n| (at_ns, 2 * (lost.len() + n as usize))).collect::<Vec<_>>(),
        );
    }
    lost
}

/// Times between two looks in which packets waited and the process used less than a tenth of a CPU.
fn stalls(watched: &TargetActivity, activity: Option<&Activity>) -> Stalls {
    let intervals = pairs(watched).filter_map(|(before, after)| {
        let waiting = before.queued_bytes? > 0 && after.queued_bytes? > 0;
        let begin = u64::try_from(before.at_ns).ok()?;
        let end = u64::try_from(after.at_ns).ok()?;
        let ran = activity?.spent(begin, end).busy_ns;
        (waiting && ran * 10 < end.saturating_sub(begin)).then_some((begin, end))
    });
    Stalls::new(intervals.collect())
}
