//! Why a trial lost packets: what was seen, a replay that must come out at the measured loss, and what would
//! have changed it.

use crate::losses::Losses;
use crate::remedy::{Change, Doubt, Otherwise, Predicted, Remedy, Verdict, remedies};
use crate::service_time::Served;
use crate::{Arriving, Room, Server, Service, md1k_loss, mm1k_loss, replay, truesize};
use dropline_stats::spacing::Spacing;
use dropline_trial::LostAt;
pub use dropline_trial::Throttled;
use schemars::JsonSchema;
use serde::Serialize;

mod activity;
mod agreement;
mod backlog;
mod buffer_seen;
mod cause;
mod drained;
mod evidence;
mod full_queue;
mod lack;
mod own_time;
mod pace;
mod server;
mod timeline;

pub use crate::AddressFamily;
pub use buffer_seen::BufferSeen;
pub use cause::Cause;
pub use drained::Serving;
pub use evidence::{Doubts, Evidence};
pub use lack::Lack;
pub use own_time::OwnTime;
pub use server::{ServerSeen, ServiceFrom};
pub use timeline::{Moment, Part, Quantile, Timeline};

/// Why packets were lost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// Packets that left.
    pub offered: u64,
    /// Packets lost.
    pub lost: u64,
    /// Of these, how many at most may not be the target's doing.
    pub doubted: u64,
    /// Where: packets of each place that lost some.
    pub lost_at: Option<LostAt>,
    /// Of these, what the target's program took and did not answer: its socket and all of the path were seen, and no counter
    /// names another place.
    pub unanswered: u64,
    /// Packets whose times were looked at.
    pub looked_at: u64,
    /// When; null if none was lost, or it is not known when.
    pub when: Option<Losses>,
    /// How the packets arrived.
    pub arrivals: ArrivalsSeen,
    /// What the server did; null if nothing says.
    pub server: Option<ServerSeen>,
    /// What was full.
    pub buffer: Option<BufferSeen>,
    /// Mean service time × packets a second (ρ).
    pub load: Option<f64>,
    /// The models beside what was measured.
    pub model: Option<Model>,
    /// What it was, if the replay says.
    pub cause: Option<Cause>,
    /// What could be changed, the most effective first.
    pub remedies: Vec<Remedy>,
    /// What the CPU quota of the target stopped (`runtime_us` of each `period_us`, `times` that it was used up, `stopped_ns`);
    /// null if nothing was stopped, or that was not to be seen.
    #[schemars(with = "Option<std::collections::BTreeMap<String, u64>>")]
    pub throttled: Option<Throttled>,
    /// What this explanation lacks.
    pub lacks: Vec<Lack>,
    /// Times, for pictures.
    #[serde(skip)]
    pub course: Timeline,
}

/// How packets arrived at the target, from when they left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ArrivalsSeen {
    /// Packets a second.
    pub rate_pps: Option<f64>,
    /// Coefficient of variation of the gaps.
    pub variation: Option<f64>,
    /// Index of dispersion for counts in windows of 1, 10 and 100 ms.
    pub dispersion: [Option<f64>; 3],
    /// Most packets that waited, as the replay has it.
    pub largest_backlog: Option<u64>,
}

/// The models beside what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Model {
    /// Lost at the place that the models are of.
    pub measured: u64,
    /// The same with its doubts, at least and at most: other programs' packets may be in the counters, and our own side may have
    /// lost some.
    pub measured_between: [u64; 2],
    /// The replay of the arrivals, with the server's stalls.
    pub replay: Predicted,
    /// Packets that arrived.
    pub arrived: u64,
    /// What waited when packets were lost, as it was seen and as the replay has it: nine of ten found at most so many. Null where
    /// either is not known.
    pub waited: Option<[u64; 2]>,
    /// Poisson arrivals and one service time for all.
    pub md1k: Option<f64>,
    /// Poisson arrivals and exponential service.
    pub mm1k: Option<f64>,
}

impl Model {
    /// How far the replay is from what was measured, as a share of it; `None` if nothing was lost.
    pub fn error(&self) -> Option<f64> {
        (self.measured > 0).then(|| self.replay.lost as f64 / self.measured as f64 - 1.0)
    }

    /// Whether the replay may be what happened: what was measured is in its interval, or off by little of what was lost and of
    /// what was not; and packets were lost while about as many waited.
    pub fn fits(&self) -> bool {
        /// Of what was lost, or of what was not if that is less.
        const OFF: f64 = 0.2;
        let [least, most] = self.measured_between;
        // A loss of which most is doubted agrees with anything.
        let is_known = (most - least) * 2 <= most;
        let [least, most] = if is_known { [least, most] } else { [self.measured; 2] };
        let fewer = self.measured.min(self.arrived.saturating_sub(self.measured));
        let is_near = self.replay.lost.abs_diff(self.measured) as f64 <= OFF * fewer as f64;
        let holds = self.replay.low <= most && least <= self.replay.high;
        (holds || is_near) && !self.contradicts_what_waited()
    }

    /// Whether far more, or far fewer, wait in the replay than were seen to wait, when packets are lost.
    pub fn contradicts_what_waited(&self) -> bool {
        let far = |more: u64, fewer: u64| more * 2 > fewer * 3 + 16;
        self.waited.is_some_and(|[seen, replayed]| far(seen, replayed) || far(replayed, seen))
    }
}

/// So many replies in a row are of all workers alike.
const IN_TURNS: usize = 16;
/// Explains a trial's loss.
pub fn explain(evidence: &Evidence<'_>) -> Explanation {
    let served = Served::of(evidence.packets).filter(Served::is_known);
    let found = explained(evidence, served.as_ref());
    let charged = truesize(evidence.usual_payload(), evidence.family);
    let Some(doubt) = pace::doubt(&found, evidence, charged) else { return found };
    let mut found = explained(evidence, None);
    found.lacks.retain(|lack| *lack != Lack::ServiceNotKnown);
    found.lacks.push(doubt);
    found
}

/// The same, with what the replies say of the server, where that is to be believed.
fn explained(evidence: &Evidence<'_>, served: Option<&Served>) -> Explanation {
    let packets = evidence.packets;
    let arrivals = evidence.arrivals();
    let charged = truesize(evidence.usual_payload(), evidence.family);
    let server_seen = ServerSeen::of(evidence, served, &arrivals, charged);
    let stalls = server_seen.as_ref().map(|server| &server.intervals);
    let lost_times = server::lost_times(evidence);
    let known = packets.returns.is_some().then_some(&lost_times);
    let when = Losses::of(&lost_times, evidence.duration_ns, stalls)
        .map(|when| known.map_or(when.clone(), |lost| when.at_even_distances(lost)));
    let buffer = buffer_seen::buffer(evidence);
    let rate_pps = rate(&arrivals);
    let load = server_seen.as_ref().zip(rate_pps).map(|(server, rate)| server.service_ns * rate / 1e9);
    let mut explanation = Explanation {
        offered: evidence.offered,
        lost: evidence.lost,
        doubted: evidence.doubts.not_the_targets.min(evidence.lost),
        lost_at: evidence.lost_at.cloned(),
        unanswered: evidence.unanswered(),
        looked_at: packets.len() as u64,
        when,
        arrivals: seen_arrivals(&arrivals, rate_pps),
        server: server_seen,
        buffer,
        load,
        model: None,
        cause: None,
        remedies: Vec::new(),
        throttled: evidence.watched.and_then(|watched| watched.throttled),
        lacks: Lack::before_the_replay(evidence, served, buffer),
        course: Timeline::default(),
    };
    // Without the times of packets there is nothing to replay.
    let known = explanation.server.clone().zip(buffer).filter(|_| !arrivals.is_empty());
    let replayed = known.map(|(seen, buffer)| {
        let mut server = server(&seen, buffer, charged, evidence.family);
        if explanation.unanswered > 0 {
            server.service = of_several(server.service);
        }
        let error = seen.service_error_ns / seen.service_ns.max(1.0);
        (seen, server, Doubt::of(error, arrivals.len(), evidence.seed, evidence.end_ns()))
    });
    let found =
        replayed.as_ref().map(|(_, server, _)| replay(arrivals.iter().copied(), server, evidence.seed));
    explanation.course = Timeline::of(
        evidence,
        &arrivals,
        found.as_ref(),
        explanation.when.as_ref(),
        explanation.server.as_ref(),
    );
    if let (Some((seen, server, doubt)), Some(found)) = (replayed, found) {
        let is_of_these_packets = !explanation.is_by_its_program(evidence)
            || agreement::is_more_than_the_count(&backlog::backlogs(packets), &found.seen);
        explanation.arrivals.largest_backlog = Some(found.largest_backlog);
        let exact = |loss: fn(f64, u32) -> Option<f64>| {
            let room = u32::try_from(buffer?.packets + 1).ok()?;
            Some(loss(load?, room)? * arrivals.len() as f64)
        };
        let model = Model {
            measured: evidence.measured_by_model(),
            measured_between: evidence.measured_between(),
            replay: doubt.predict(&arrivals, &server),
            arrived: arrivals.len() as u64,
            waited: buffer_seen::waited(evidence, &found),
            md1k: exact(md1k_loss),
            mm1k: exact(mm1k_loss),
        };
        explanation.model = Some(model);
        if evidence.is_by_its_program() {
            explanation.lacks.push(Lack::CountAlone);
        } else if model.measured > 0 && !model.fits() {
            explanation.lacks.push(Lack::NotReplayed);
        } else if model.measured > 0 && !is_of_these_packets {
            explanation.lacks.push(Lack::CountAlone);
        } else if evidence.is_of_waiting() && evidence.doubts.others == 0 {
            explanation.blame(&arrivals, &seen, &server, model, doubt, server::is_told_apart(evidence));
        }
    }
    explanation
}

fn rate(arrivals: &[Arriving]) -> Option<f64> {
    let span = arrivals.last()?.at_ns - arrivals.first()?.at_ns;
    (span > 0).then(|| (arrivals.len() - 1) as f64 * 1e9 / span as f64)
}

fn seen_arrivals(arrivals: &[Arriving], rate_pps: Option<f64>) -> ArrivalsSeen {
    let mut spacing = Spacing::new();
    arrivals.iter().for_each(|packet| spacing.event(packet.at_ns));
    ArrivalsSeen {
        rate_pps,
        variation: spacing.variation(),
        dispersion: spacing.dispersion(),
        largest_backlog: None,
    }
}

/// `charged` is what the replay charges a packet; as many of them fit as were found to.
fn server(seen: &ServerSeen, buffer: BufferSeen, charged: u32, family: AddressFamily) -> Server {
    let room = match (buffer.own_queue, buffer.bytes) {
        (true, Some(buffer_bytes)) => Room::Linux { buffer_bytes },
        (true, None) => Room::Unlimited,
        (false, _) => Room::Linux { buffer_bytes: buffer.packets * u64::from(charged) },
    };
    Server {
        room,
        family,
        queue: buffer.own_queue.then_some(buffer.packets),
        workers: 1,
        batch: if buffer.own_queue { 64 } else { 1 },
        wake_ns: seen.wake_ns,
        read_ns: 0,
        service: if seen.services.is_empty() {
            Service::Fixed(seen.service_ns as u64)
        } else {
            Service::Course(seen.services.as_slice().into())
        },
        stalls: seen.intervals.clone(),
    }
}

/// Service times of a program whose workers, perhaps several, answer in turns: a reply just behind another says no more than
/// that both were served at once.
fn of_several(service: Service) -> Service {
    let Service::Course(course) = &service else { return service };
    let mean = |run: &[(u64, u64)]| {
        let ns: u64 = run.iter().map(|(_, ns)| ns).sum();
        Some((run.first()?.0, ns / run.len() as u64))
    };
    Service::Course(course.chunks(IN_TURNS).filter_map(mean).collect())
}

/// The same server in other ways, as far as anything says how it would be.
fn otherwise(server: &Server, seen: &ServerSeen, served: u64) -> Otherwise {
    let pauses = seen.own_pauses();
    Otherwise {
        own_cpu: Some(seen.on_own_cpu(server)),
        pausing_by_work: (pauses.total_ns() > 0)
            .then(|| server.pausing_by_work(&pauses, served, seen.service_ns))
            .flatten(),
    }
}

impl Explanation {
    /// Names the cause of a loss that the replay shows, and tries what would have changed it.
    fn blame(
        &mut self,
        arrivals: &[Arriving],
        seen: &ServerSeen,
        server: &Server,
        model: Model,
        doubt: Doubt,
        is_told_apart: bool,
    ) {
        let lost = model.replay.lost;
        let served = (arrivals.len() as u64).saturating_sub(lost);
        let otherwise = otherwise(server, seen, served);
        self.remedies = remedies(arrivals, server, &otherwise, doubt);
        let is_stopped_by_quota = self.throttled.is_some_and(|quota| seen.is_stopped_by(quota));
        let is_more_than_served = self.is_more_than_served(arrivals);
        for remedy in &mut self.remedies {
            remedy.lost = remedy.beside(model.measured_between, lost);
            remedy.postpones = is_more_than_served && remedy.change.is_more_room();
            if is_stopped_by_quota && remedy.change == Change::OwnCpu {
                remedy.change = Change::NoQuota;
            }
        }
        if seen.needs_ns.is_none() && !self.lacks.contains(&Lack::StallsUnexplained) {
            self.lacks.push(if is_told_apart { Lack::OwnTimeNotKnown } else { Lack::CpuNotSeen });
        }
        let rate_pps = self.arrivals.rate_pps;
        let otherwise = &otherwise;
        let replayed = cause::LossReplayed {
            arrivals,
            server,
            otherwise,
            seen,
            lost,
            rate_pps,
            is_stopped_by_quota,
            doubt,
        };
        self.cause = replayed.cause();
        let may_be_its_cpu = self.remedies.iter().any(|remedy| {
            remedy.change.is_a_cpu() && matches!(self.verdict(remedy), Verdict::Helps | Verdict::MayHelp)
        });
        if self.cause == Some(Cause::Overload) && may_be_its_cpu {
            self.cause = Some(Cause::NoCpuOrLoad);
        }
    }

    /// Whether most of what the models are of was lost inside the target's program, and no counter says why: a full queue is
    /// one reason, and it may drop packets by itself.
    fn is_by_its_program(&self, evidence: &Evidence<'_>) -> bool {
        self.unanswered * 2 > evidence.measured_by_model()
    }

    /// Whether more comes than is served, in the time that it does not stall: whatever holds packets is full sooner or later.
    fn is_more_than_served(&self, arrivals: &[Arriving]) -> bool {
        let (Some(load), Some(seen)) = (self.load, &self.server) else { return false };
        let [Some(first), Some(last)] = [arrivals.first(), arrivals.last()] else { return false };
        let span = (last.at_ns - first.at_ns) as f64;
        let stalled = seen.intervals.within(first.at_ns, last.at_ns) as f64;
        load * span >= span - stalled
    }

    /// Whether a change would spare half of the replayed loss or more; never where most replays lose more than was lost.
    pub fn verdict(&self, remedy: &Remedy) -> Verdict {
        let half = |lost: u64| self.model.is_some_and(|model| lost.saturating_mul(2) <= model.replay.lost);
        let is_worse = self.model.is_some_and(|model| remedy.lost.lost > model.measured_between[1]);
        match (half(remedy.lost.high), half(remedy.lost.low)) {
            _ if remedy.postpones => Verdict::Postpones,
            _ if is_worse => Verdict::DoesNot,
            (true, _) => Verdict::Helps,
            (false, true) => Verdict::MayHelp,
            (false, false) => Verdict::DoesNot,
        }
    }

    /// Of what was lost, at most so many for want of a CPU, as far as this explanation says: the others would be lost on a CPU of its
    /// own as well, or its program took them, whatever waited, and did not answer them.
    pub fn for_want_of_a_cpu(&self) -> Option<u64> {
        let replayed = self.with(Change::is_a_cpu).map(|found| found.low);
        let taken =
            (self.unanswered > 0 && self.lacks.contains(&Lack::CountAlone)).then_some(self.unanswered);
        Some(self.lost.saturating_sub(replayed.or(taken)?))
    }

    /// What a change would lose, if it was tried.
    pub fn with(&self, wanted: impl Fn(Change) -> bool) -> Option<Predicted> {
        self.remedies.iter().find(|remedy| wanted(remedy.change)).map(|remedy| remedy.lost)
    }
}

#[cfg(test)]
mod tests;
