//! Why a trial lost packets: what was seen, a replay that must come out at the measured loss, and what would
//! have changed it.

use crate::losses::Losses;
use crate::remedy::{Change, Doubt, Otherwise, Predicted, Remedy, Verdict, equally_apart, remedies};
use crate::service_time::Served;
use crate::{
    Arriving, Place, Room, Server, Service, Site, Stalls, md1k_loss, mm1k_loss, packets_held, replay,
    truesize,
};
use dropline_stats::spacing::Spacing;
pub use dropline_trial::Throttled;
use dropline_trial::{LostAt, PacketTimes, TargetActivity};
use schemars::JsonSchema;
use serde::Serialize;

mod activity;
mod drained;
mod pace;
mod server;
mod timeline;

pub use crate::Family;
pub use drained::Serving;
pub use server::{ServerSeen, ServiceFrom};
pub use timeline::{Moment, Part, Quantile, Timeline};

/// What is known of a trial whose losses are to be explained.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Its packets.
    pub packets: &'a PacketTimes,
    /// UDP payload of those that have no length of their own.
    pub payload_bytes: u32,
    /// What they came under.
    pub family: Family,
    /// Packets that left.
    pub offered: u64,
    /// Packets that the target lost.
    pub lost: u64,
    /// Where, if that was accounted for.
    pub lost_at: Option<&'a LostAt>,
    /// Whether a part of the way was not to be seen.
    pub unseen: bool,
    /// What the target did meanwhile, if it was watched.
    pub watched: Option<&'a TargetActivity>,
    /// How long packets were sent.
    pub duration_ns: u64,
    /// Chance of the replays.
    pub seed: u64,
}

/// Why packets were lost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// Packets that left.
    pub offered: u64,
    /// Packets lost.
    pub lost: u64,
    /// Where: packets of each place that lost some.
    pub lost_at: Option<LostAt>,
    /// Of these, what the target's program took and did not answer: its socket and all of the way were seen, and no counter
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

/// What was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BufferSeen {
    /// The socket's buffer, or the server's own queue.
    pub own_queue: bool,
    /// Memory of the socket's buffer, the doubled SO_RCVBUF; null where it was not seen.
    pub bytes: Option<u64>,
    /// What a packet is charged.
    pub truesize_bytes: u32,
    /// Packets that fit.
    pub packets: u64,
    /// Fewest packets that fill it while it drains: the kernel gives room back a quarter at a time.
    pub draining_packets: u64,
    /// Whether the number was found from the backlog of the lost packets.
    pub inferred: bool,
}

/// The models beside what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Model {
    /// Lost at the place that the models are of.
    pub measured: u64,
    /// The replay of the arrivals, with the server's stalls.
    pub replay: Predicted,
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

    /// Whether the replay may be what happened: what was measured is in its interval, or off by a fifth at most.
    pub fn fits(&self) -> bool {
        /// Of what was lost.
        const OFF: f64 = 0.2;
        (self.replay.low..=self.replay.high).contains(&self.measured)
            || self.error().is_some_and(|error| error.abs() <= OFF)
    }
}

/// What made the packets be lost: what removes four fifths of the replayed loss when it is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Packets came together: the same number at equal distances would not be lost.
    Arrivals,
    /// More packets than can be served.
    Load,
    /// The server did nothing though it had work.
    Stalls,
    /// The arrivals and the stalls together, neither alone.
    Together,
    /// The target's CPU quota was used up, and it was stopped until the next period.
    Quota,
}

/// What an explanation lacks, and so may be wrong about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// The memory of the target's socket was not seen: its size is taken from the backlog of lost packets.
    BufferNotSeen,
    /// Nobody saw packets come back: not known which were lost, when each was served, when the server stalled.
    NoReplies,
    /// Packets after the first ones were not kept.
    PacketsLeftOut,
    /// The file of packets was cut off.
    PacketsMissing,
    /// Too few packets waited: the service time is not known.
    ServiceNotKnown,
    /// The target was not watched: why it stalled is not known.
    StallsUnexplained,
    /// Packets left when their system call began; the kernel may have been later.
    LeftByApp,
    /// A server as slow as its replies came would have lost packets where they wait, and lost none: something else on the way
    /// paced them.
    PacedElsewhere,
    /// Packets were lost in a queue on the way to the target, which let the others through at its own pace.
    PacedByQueue,
    /// The same on the way back.
    PacedByReturnQueue,
    /// The target spent far less CPU time on a packet than its replies were apart, and what was on its way did not wait at its
    /// socket: its pace may be a queue's on the way.
    PaceNotKnown,
    /// A part of the loss is elsewhere than where packets wait for the server: no model has it.
    ElsewhereLost,
    /// The replay loses another number than was lost: it says neither the cause nor what would help.
    NotReplayed,
}

/// Backlogs of lost packets up to this share say how much fits: the rest is late stamps.
const FULL: f64 = 0.9;
/// So many replies in a row are of all workers alike.
const IN_TURNS: usize = 16;
/// What removes this share of the loss is its cause.
const CAUSE: f64 = 0.8;

/// Explains a trial's loss.
pub fn explain(evidence: &Evidence<'_>) -> Explanation {
    let served = Served::of(evidence.packets);
    let found = explained(evidence, served.as_ref());
    let charged = truesize(usual_payload(evidence), evidence.family);
    let Some(doubt) = pace::doubt(&found, evidence, charged) else { return found };
    let mut found = explained(evidence, None);
    found.lacks.retain(|lack| *lack != Lack::ServiceNotKnown);
    found.lacks.push(doubt);
    found
}

/// The same, with what the replies say of the server, where that is to be believed.
fn explained(evidence: &Evidence<'_>, served: Option<&Served>) -> Explanation {
    let packets = evidence.packets;
    let arrivals = arrivals(evidence);
    let charged = truesize(usual_payload(evidence), evidence.family);
    let server_seen = ServerSeen::of(evidence, served, &arrivals, charged);
    let stalls = server_seen.as_ref().map(|server| &server.intervals);
    let lost_times = server::lost_times(evidence);
    let when = Losses::of(&lost_times, evidence.duration_ns, stalls);
    let buffer = buffer(evidence);
    let rate_pps = rate(&arrivals);
    let load = server_seen.as_ref().zip(rate_pps).map(|(server, rate)| server.service_ns * rate / 1e9);
    let mut explanation = Explanation {
        offered: evidence.offered,
        lost: evidence.lost,
        lost_at: evidence.lost_at.cloned(),
        unanswered: unanswered(evidence),
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
        lacks: lacks(evidence, served, buffer),
        course: Timeline::default(),
    };
    let replayed = explanation.server.as_ref().zip(buffer).map(|(seen, buffer)| {
        let mut server = server(seen, buffer, charged, evidence.family);
        if explanation.unanswered > 0 {
            server.service = of_several(server.service);
        }
        let error = seen.service_error_ns / seen.service_ns.max(1.0);
        (server, Doubt::of(error, arrivals.len(), evidence.seed))
    });
    let found = replayed.as_ref().map(|(server, _)| replay(arrivals.iter().copied(), server, evidence.seed));
    explanation.course = Timeline::of(
        evidence,
        &arrivals,
        found.as_ref(),
        explanation.when.as_ref(),
        explanation.server.as_ref(),
    );
    if let (Some((server, doubt)), Some(found)) = (replayed, found) {
        explanation.arrivals.largest_backlog = Some(found.largest_backlog);
        let replay = doubt.predict(&arrivals, &server);
        let measured = measured_by_model(evidence);
        let exact = |loss: fn(f64, u32) -> Option<f64>| {
            let room = u32::try_from(buffer?.packets + 1).ok()?;
            Some(loss(load?, room)? * arrivals.len() as f64)
        };
        let model = Model { measured, replay, md1k: exact(md1k_loss), mm1k: exact(mm1k_loss) };
        explanation.model = Some(model);
        if measured > 0 && !model.fits() {
            explanation.lacks.push(Lack::NotReplayed);
        } else if measured > 0 {
            let served = (arrivals.len() as u64).saturating_sub(replay.lost);
            let seen = explanation.server.as_ref();
            let least = replay.lost as f64 * (1.0 - CAUSE);
            let loses = |arrivals: &[Arriving], server: &Server| {
                crate::replay(arrivals.iter().copied(), server, evidence.seed).lost() as f64 > least
            };
            let otherwise = seen.map(|seen| otherwise(&server, seen, served)).unwrap_or_default();
            explanation.remedies = remedies(&arrivals, &server, &otherwise, doubt);
            for remedy in &mut explanation.remedies {
                remedy.lost = remedy.lost.beside(measured, replay.lost);
            }
            let unlimited =
                seen.zip(explanation.throttled).filter(|(seen, quota)| seen.is_stopped_by(*quota));
            let unlimited = unlimited.and(otherwise.own_cpu.as_ref());
            explanation.cause = if unlimited.is_some_and(|server| !loses(&arrivals, server)) {
                Some(Cause::Quota)
            } else {
                cause(&arrivals, &server, replay.lost, load, evidence.seed)
            };
            if unlimited.is_some() {
                let own_cpu = explanation.remedies.iter_mut().find(|remedy| remedy.change == Change::OwnCpu);
                own_cpu.into_iter().for_each(|remedy| remedy.change = Change::NoQuota);
            }
        }
    }
    explanation
}

/// Packets as they arrived at the target, in order of time.
fn arrivals(evidence: &Evidence<'_>) -> Vec<Arriving> {
    let mut arrivals: Vec<Arriving> = evidence
        .packets
        .iter()
        .filter_map(|packet| {
            let payload_bytes = packet.payload_bytes.map_or(evidence.payload_bytes, u32::from);
            Some(Arriving { at_ns: packet.left_ns?, payload_bytes })
        })
        .collect();
    arrivals.sort_by_key(|packet| packet.at_ns);
    arrivals
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

/// Lost where packets wait, which is what the models are of; all of the loss where no place is known.
fn measured_by_model(evidence: &Evidence<'_>) -> u64 {
    match evidence.lost_at {
        None => evidence.lost,
        Some(_) => at(evidence, Place::ReceiveBuffer) + own(evidence),
    }
}

fn at(evidence: &Evidence<'_>, place: Place) -> u64 {
    evidence.lost_at.and_then(|lost_at| lost_at.get(&Site::out(place).key())).copied().unwrap_or(0)
}

/// Lost in the target's program: by its own count, or as far as counters tell.
fn own(evidence: &Evidence<'_>) -> u64 {
    at(evidence, Place::ServiceQueue) + unanswered(evidence)
}

/// What a target that echoes took and did not answer.
fn unanswered(evidence: &Evidence<'_>) -> u64 {
    let looks = evidence.watched.map_or(&[][..], |watched| &watched.samples);
    let is_seen = [looks.first(), looks.last()].iter().flatten().filter(|look| look.drops.is_some()).count();
    match evidence.packets.returns.is_some() && !evidence.unseen && is_seen == 2 {
        true => at(evidence, Place::Unexplained),
        false => 0,
    }
}

/// What was full: the server's own queue if more was lost there, else its socket's buffer.
fn buffer(evidence: &Evidence<'_>) -> Option<BufferSeen> {
    let own_queue = own(evidence) > at(evidence, Place::ReceiveBuffer);
    let truesize_bytes = truesize(usual_payload(evidence), evidence.family);
    let bytes = evidence.watched.and_then(|watched| watched.buffer_bytes);
    let (packets, inferred) = match bytes {
        Some(bytes) if !own_queue => {
            let held = packets_held(bytes, truesize_bytes);
            // The packets of a train are charged a little more than those that come one by one.
            let most = backlog_of_the_lost(evidence.packets, 1.0)
                .filter(|most| (held * 9..held * 10).contains(&(most * 10)));
            (most.unwrap_or(held), false)
        }
        _ => (backlog_of_the_lost(evidence.packets, FULL)?, true),
    };
    let truesize_bytes = match bytes.filter(|_| !own_queue) {
        Some(bytes) if packets < packets_held(bytes, truesize_bytes) => {
            u32::try_from(bytes / packets).unwrap_or(truesize_bytes)
        }
        _ => truesize_bytes,
    };
    let draining_packets = if own_queue { packets } else { packets - packets / 4 };
    Some(BufferSeen { own_queue, bytes, truesize_bytes, packets, draining_packets, inferred })
}

/// Median payload.
fn usual_payload(evidence: &Evidence<'_>) -> u32 {
    let mut lengths: Vec<u16> = evidence.packets.iter().filter_map(|packet| packet.payload_bytes).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).map_or(evidence.payload_bytes, |&length| u32::from(length))
}

/// Packets that waited when others were lost: this share of the lost packets found at most so many.
fn backlog_of_the_lost(packets: &PacketTimes, share: f64) -> Option<u64> {
    packets.returns.as_ref()?;
    let mut found: Vec<u64> = timeline::backlogs(packets)
        .into_iter()
        .filter(|moment| moment.lost)
        // One of them was being served.
        .map(|moment| u64::from(moment.backlog).saturating_sub(1))
        .collect();
    if found.is_empty() {
        return None;
    }
    found.sort_unstable();
    Some(found[((found.len() - 1) as f64 * share) as usize].max(1))
}

/// `charged` is what the replay charges a packet; as many of them fit as were found to.
fn server(seen: &ServerSeen, buffer: BufferSeen, charged: u32, family: Family) -> Server {
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
    let (stalls, factor) = seen.on_own_cpu();
    let own_cpu = Server { stalls, service: server.service.scaled(factor), ..server.clone() };
    Otherwise {
        own_cpu: (seen.stalls > 0 || seen.serving.is_some()).then_some(own_cpu),
        pausing_by_work: (pauses.total_ns() > 0)
            .then(|| server.pausing_by_work(&pauses, served, seen.service_ns))
            .flatten(),
    }
}

/// What takes most of the loss with it when it is taken away.
fn cause(arrivals: &[Arriving], server: &Server, lost: u64, load: Option<f64>, seed: u64) -> Option<Cause> {
    if lost == 0 {
        return None;
    }
    let least = lost as f64 * (1.0 - CAUSE);
    let removes = |arrivals: &[Arriving], server: &Server| {
        replay(arrivals.iter().copied(), server, seed).lost() as f64 <= least
    };
    let running = Server { stalls: Stalls::default(), ..server.clone() };
    let apart = equally_apart(arrivals);
    match (removes(arrivals, &running), removes(&apart, server)) {
        (true, _) => Some(Cause::Stalls),
        (false, true) => Some(Cause::Arrivals),
        (false, false) if load.is_some_and(|load| load >= 1.0) => Some(Cause::Load),
        (false, false) => removes(&apart, &running).then_some(Cause::Together),
    }
}

fn lacks(evidence: &Evidence<'_>, served: Option<&Served>, buffer: Option<BufferSeen>) -> Vec<Lack> {
    let packets = evidence.packets;
    let elsewhere = evidence.lost.saturating_sub(measured_by_model(evidence));
    let known = [
        (Lack::NoReplies, packets.returns.is_none()),
        (Lack::PacketsLeftOut, packets.left_out() > 0),
        (Lack::ServiceNotKnown, packets.returns.is_some() && served.is_none()),
        (Lack::BufferNotSeen, buffer.is_none_or(|buffer| buffer.inferred && !buffer.own_queue)),
        (
            Lack::StallsUnexplained,
            evidence.watched.is_none() && served.is_some_and(|served| served.stalls.total_ns() > 0),
        ),
        (Lack::ElsewhereLost, elsewhere * 50 > evidence.lost),
        (Lack::LeftByApp, packets.departures.stamp == dropline_trial::Stamp::App),
    ];
    known.into_iter().filter(|(_, is)| *is).map(|(lack, _)| lack).collect()
}

impl Explanation {
    /// Whether a change would spare half of the replayed loss or more.
    pub fn verdict(&self, remedy: &Remedy) -> Verdict {
        let half = |lost: u64| self.model.is_some_and(|model| lost.saturating_mul(2) <= model.replay.lost);
        match (half(remedy.lost.high), half(remedy.lost.low)) {
            (true, _) if self.only_delays(remedy.change) => Verdict::MayHelp,
            (true, _) => Verdict::Helps,
            (false, true) => Verdict::MayHelp,
            (false, false) => Verdict::DoesNot,
        }
    }

    /// Whether a change only takes longer to be full: more comes than is served, all the time.
    pub fn only_delays(&self, change: Change) -> bool {
        let more_room = matches!(change, Change::Buffer { .. } | Change::Queue { .. });
        more_room && self.load.is_some_and(|load| load >= 1.0)
    }

    /// What a change would lose, if it was tried.
    pub fn with(&self, wanted: impl Fn(Change) -> bool) -> Option<Predicted> {
        self.remedies.iter().find(|remedy| wanted(remedy.change)).map(|remedy| remedy.lost)
    }
}

#[cfg(test)]
mod tests;
