//! What the server did, from its replies and from having been watched.

use super::Evidence;
use crate::Stalls;
use crate::served::Served;
use dropline_trial::{Look, Watched};
use serde::Serialize;

/// What the server did.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// From a packet's arrival to when an idle server reads it.
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
    #[serde(skip)]
    pub(crate) services: Vec<(u64, u64)>,
    #[serde(skip)]
    pub(crate) intervals: Stalls,
}

/// Where a service time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceFrom {
    /// CPU time a packet: an upper bound.
    Cpu,
    /// Time between replies to packets that waited.
    Replies,
}

/// Of a time that was looked at, the shares: no CPU, CPU, neither.
#[derive(Default)]
struct Spent {
    not_scheduled_ns: f64,
    busy_ns: f64,
    paused_ns: f64,
}

impl ServerSeen {
    pub(super) fn of(evidence: &Evidence<'_>, served: Option<&Served>) -> Option<Self> {
        let watched = evidence.watched;
        let cpu_ns = watched.and_then(|watched| watched.cpu_ns_a_packet()).filter(|ns| *ns > 0.0);
        let (service_ns, service_error_ns, service_from) = match (served, cpu_ns) {
            (Some(served), _) => (served.mean_ns, served.error_ns, ServiceFrom::Replies),
            // Waking up and the kernel's part are in it: it may be a quarter less.
            (None, Some(cpu_ns)) => (cpu_ns, cpu_ns / 8.0, ServiceFrom::Cpu),
            (None, None) => return None,
        };
        let intervals = match (served, watched) {
            (Some(served), _) => served.stalls.clone(),
            (None, Some(watched)) => stalls(watched),
            (None, None) => Stalls::default(),
        };
        let lengths = || intervals.intervals().iter().map(|(begin, end)| end - begin);
        let range = lengths().min().zip(lengths().max());
        let spent = watched.and_then(|watched| spent(watched, &intervals));
        Some(Self {
            pid: watched.and_then(|watched| watched.pid),
            name: watched.and_then(|watched| watched.name.clone()),
            service_ns,
            service_error_ns,
            service_from,
            wake_ns: served.map_or(0, |served| served.wake_ns),
            stalls: intervals.intervals().len() as u64,
            stalled_ns: intervals.total_ns(),
            stall_range_ns: range.map(|(shortest, longest)| [shortest, longest]),
            not_scheduled_ns: spent.as_ref().map(|spent| spent.not_scheduled_ns as u64),
            busy_ns: spent.as_ref().map(|spent| spent.busy_ns as u64),
            paused_ns: spent.as_ref().map(|spent| spent.paused_ns as u64),
            services: served.map(|served| served.services.clone()).unwrap_or_default(),
            intervals,
        })
    }
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
fn stalls(watched: &Watched) -> Stalls {
    let intervals = pairs(watched).filter_map(|(before, after)| {
        let waiting = before.queued_bytes? > 0 && after.queued_bytes? > 0;
        let ran = after.cpu_ns?.saturating_sub(before.cpu_ns?);
        let begin = u64::try_from(before.at_ns).ok()?;
        let end = u64::try_from(after.at_ns).ok()?;
        (waiting && ran * 10 < end.saturating_sub(begin)).then_some((begin, end))
    });
    Stalls::new(intervals.collect())
}

/// What the process spent the stalled time with, each look's differences spread evenly over its time.
fn spent(watched: &Watched, stalls: &Stalls) -> Option<Spent> {
    let mut spent = Spent::default();
    let mut any = false;
    for (before, after) in pairs(watched) {
        let length = (after.at_ns - before.at_ns) as f64;
        let stalled = overlap(stalls, before.at_ns, after.at_ns) as f64;
        let (Some(ran), Some(ran_before)) = (after.cpu_ns, before.cpu_ns) else { continue };
        any = true;
        if stalled == 0.0 || length <= 0.0 {
            continue;
        }
        let share = |now: Option<u64>, then: Option<u64>| {
            let grown = now.zip(then).map_or(0, |(now, then)| now.saturating_sub(then)) as f64;
            (grown / length).min(1.0)
        };
        // What it ran, it ran outside the stall as long as there was room for that.
        let outside = 1.0 - stalled / length;
        let busy = (share(Some(ran), Some(ran_before)) - outside).max(0.0) * length;
        let waited = (share(after.waited_ns, before.waited_ns) * length).min(stalled - busy.min(stalled));
        spent.busy_ns += busy.min(stalled);
        spent.not_scheduled_ns += waited;
        spent.paused_ns += (stalled - busy - waited).max(0.0);
    }
    any.then_some(spent)
}

fn overlap(stalls: &Stalls, from_ns: i64, to_ns: i64) -> u64 {
    let (Ok(from), Ok(to)) = (u64::try_from(from_ns.max(0)), u64::try_from(to_ns)) else { return 0 };
    stalls.intervals().iter().map(|&(begin, end)| end.min(to).saturating_sub(begin.max(from))).sum()
}

fn pairs(watched: &Watched) -> impl Iterator<Item = (&Look, &Look)> {
    watched.samples.windows(2).map(|pair| (&pair[0], &pair[1]))
}
