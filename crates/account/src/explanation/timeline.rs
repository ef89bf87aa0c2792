//! What happened when, in as many points as a picture needs.

pub use super::backlog::Moment;
use super::backlog::backlogs;
use super::{Evidence, ServerSeen};
use crate::losses::Losses;
use crate::{Arriving, Replayed};
use dropline_trial::PacketTimes;

/// The times of a trial, thinned for pictures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Equal parts of the trial: when each begins, and what was largest in it.
    pub overview: Vec<Part>,
    /// Around the burst that lost most: each arrival.
    pub burst: Vec<Moment>,
    /// When the server did nothing, within the burst's time.
    pub burst_stalls: Vec<(u64, u64)>,
    /// Gaps between packets, asked for and as they left.
    pub gaps: Vec<Quantile>,
}

/// A part of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// When it begins.
    pub at_ns: u64,
    /// Packets that arrived in it.
    pub arrived: u64,
    /// Of those, lost; `None` where it is not known which.
    pub lost: Option<u64>,
    /// Most packets that waited or were served; `None` where nobody saw packets come back.
    pub backlog: Option<u32>,
    /// Most packets that waited in the replay.
    pub replayed: Option<u32>,
}

/// A quantile of the gaps between packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// Which.
    pub p: f64,
    /// Asked for.
    pub intended_ns: u64,
    /// As packets left.
    pub left_ns: u64,
}

const PARTS: usize = 300;
const BURST_POINTS: usize = 600;
const QUANTILES: usize = 60;

impl Timeline {
    pub(super) fn of(
        evidence: &Evidence<'_>,
        arrivals: &[Arriving],
        replayed: Option<&Replayed>,
        when: Option<&Losses>,
        server: Option<&ServerSeen>,
    ) -> Self {
        let moments = backlogs(evidence.packets);
        let known = evidence.packets.returns.is_some();
        let (burst, burst_stalls) = match when.filter(|_| known) {
            None => (Vec::new(), Vec::new()),
            Some(when) => {
                let length = (when.longest.to_ns - when.longest.from_ns).max(2_000_000);
                let from = when.longest.from_ns.saturating_sub(length / 2);
                let to = when.longest.to_ns + length / 2;
                let within: Vec<Moment> =
                    moments.iter().filter(|moment| (from..=to).contains(&moment.at_ns)).copied().collect();
                let step = within.len().div_ceil(BURST_POINTS).max(1);
                let stalls = server.map(|server| server.intervals.intervals()).unwrap_or_default();
                let stalls = stalls.iter().filter(|(begin, end)| *begin < to && *end > from);
                let stalls = stalls.map(|&(begin, end)| (begin.max(from), end.min(to))).collect();
                // The fullest arrival of each step stays.
                let kept = within
                    .chunks(step)
                    .filter_map(|some| some.iter().max_by_key(|one| (one.lost, one.backlog)));
                (kept.copied().collect(), stalls)
            }
        };
        Self {
            overview: overview(arrivals, known.then_some(&moments), replayed, evidence.duration_ns),
            burst,
            burst_stalls,
            gaps: gaps(evidence.packets),
        }
    }
}

fn overview(
    arrivals: &[Arriving],
    moments: Option<&Vec<Moment>>,
    replayed: Option<&Replayed>,
    duration_ns: u64,
) -> Vec<Part> {
    let Some(last) = arrivals.last() else { return Vec::new() };
    let width = (duration_ns.max(last.at_ns + 1)).div_ceil(PARTS as u64).max(1);
    let mut parts: Vec<Part> = (0..PARTS)
        .map(|part| Part {
            at_ns: part as u64 * width,
            lost: moments.map(|_| 0),
            backlog: moments.map(|_| 0),
            replayed: replayed.map(|_| 0),
            arrived: 0,
        })
        .collect();
    for (index, packet) in arrivals.iter().enumerate() {
        let part = &mut parts[((packet.at_ns / width) as usize).min(PARTS - 1)];
        part.arrived += 1;
        if let Some(moment) = moments.and_then(|moments| moments.get(index)) {
            part.lost = part.lost.map(|lost| lost + u64::from(moment.lost));
            part.backlog = part.backlog.max(Some(moment.backlog));
        }
        if let Some(seen) = replayed.and_then(|replayed| replayed.seen.get(index)) {
            part.replayed = part.replayed.max(Some(seen.backlog));
        }
    }
    parts
}

/// Quantiles of the gaps, closer to one another towards the longest ones.
fn gaps(packets: &PacketTimes) -> Vec<Quantile> {
    let sorted = |mut times: Vec<u64>| {
        times.sort_unstable();
        let mut gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        gaps
    };
    let left: Vec<_> = packets.iter().filter(|packet| packet.left_ns.is_some()).collect();
    let intended = sorted(left.iter().map(|packet| packet.due_ns).collect());
    let as_left = sorted(left.iter().filter_map(|packet| packet.left_ns).collect());
    if as_left.len() < QUANTILES {
        return Vec::new();
    }
    let most = (as_left.len() as f64).log10();
    (0..=QUANTILES)
        .map(|step| {
            // From the shortest gaps over the median to the one longest in so many.
            let x = step as f64 / QUANTILES as f64;
            let p = if x < 0.5 { x } else { 1.0 - 10f64.powf(-(x - 0.5) * 2.0 * most) * 0.5 };
            let at = |gaps: &[u64]| gaps[((gaps.len() - 1) as f64 * p) as usize];
            Quantile { p, intended_ns: at(&intended), left_ns: at(&as_left) }
        })
        .collect()
}
