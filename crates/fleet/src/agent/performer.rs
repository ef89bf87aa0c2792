//! The thread of an agent that performs trials, one at a time.

use super::{FIRST_LEASE, Settings, Shared};
use crate::bus::{Bus, ask, bytes_of};
use crate::grant::{self, AskedTraffic, Bound, Ceiling, Duty, Grant, Signed};
use crate::wire::{self, Answer, Arm, Failed, MovingLine, Open, Ready, Told};
use dropline_failure::Failure;
use dropline_record::{ProfileLine, Purpose, TrialLine};
use dropline_targets::{AnyMeasurer, Opening, Target};
use dropline_traffic::{Consented, Lease, Leash, Means, Moving, Peak, SendMeans, Starter, Together};
use dropline_trial::{
    AgentState, Arrival, Drain, GapLaw, Measurer as _, Packet, Rate, Share, TrafficProfile, Trial, TrialInput,
};
use rustix::net::sockopt;
use serde::Serialize;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What the thread is asked, and where it answers.
pub(super) enum Task {
    Open(Box<Open>, Arc<AtomicBool>, oneshot::Sender<Vec<u8>>),
    Arm(Arm, oneshot::Sender<Vec<u8>>),
    Limit(Box<Open>, oneshot::Sender<Vec<u8>>),
    Close(String, Option<oneshot::Sender<Vec<u8>>>),
}

/// So often a result is told that nobody says to have heard, a second each.
const TELLS: u32 = 30;

/// Within so long a grant holds.
const WINDOW_NS: u64 = 100_000_000;
const WINDOWS: u64 = 10;
const WINDOWS_A_SECOND: f64 = WINDOWS as f64;
/// So many packets ask a target, one after the other, before each stream does.
const ASKED_FIRST: usize = 5;
/// The sender that they are counted as: no thread of a trial has this number.
const ASKING: usize = usize::MAX;
/// For so long what left before keeps them waiting, at most.
const ROOM_WITHIN: Duration = Duration::from_secs(1);

pub(super) struct Performer {
    settings: Settings,
    bus: Arc<Bus>,
    shared: Arc<Shared>,
    session: Option<Session>,
}

/// What the sending threads hold a trial to.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// No packet leaves later than so long from now.
    at_most: Option<Duration>,
    /// What leaves within any 100 ms.
    peak: Option<Peak>,
}

/// A target that is ready.
struct Session {
    id: String,
    target: Target,
    profile: TrafficProfile,
    opening: Opening,
    share: Share,
    /// What it may send, where somebody granted it: by any of these.
    grants: Vec<Grant>,
    /// None after a failure: it is opened again.
    measurer: Option<AnyMeasurer>,
    /// That the target's host consented, where that is another one.
    consented: Option<Consented>,
    /// What a datagram is on the wire.
    datagram: Datagram,
    /// Number of the trial that the measurer performs next.
    next: u64,
}

impl Performer {
    pub(super) fn new(settings: Settings, bus: Arc<Bus>, shared: Arc<Shared>) -> Self {
        Self { settings, bus, shared, session: None }
    }

    pub(super) fn run(mut self, to_do: &Receiver<Task>) {
        while let Ok(task) = to_do.recv() {
            match task {
                Task::Open(open, stop, tell) => {
                    self.session = None;
                    let opened = self.open(&open, stop);
                    answer(tell, opened);
                }
                Task::Limit(open, tell) => answer(tell, self.limit(&open)),
                Task::Arm(arm, tell) => self.arm(&arm, tell),
                Task::Close(session, tell) => {
                    self.session.take_if(|open| open.id == session);
                    if let Some(tell) = tell {
                        answer(tell, Ok(()));
                    }
                }
            }
        }
    }

    fn open(&mut self, open: &Open, stop: Arc<AtomicBool>) -> Result<Ready, Failure> {
        if !wire::is_spoken(&open.schema) {
            return Err(Failure::environment(format!(
                "it speaks {} (dropline {}), and was asked in {} (dropline {})",
                wire::SCHEMA,
                env!("CARGO_PKG_VERSION"),
                open.schema,
                open.version
            ))
            .advice("install one version of dropline on all hosts of the fleet"));
        }
        if !self.settings.ceiling.has(Duty::Perform) {
            return Err(Failure::environment("refused: it performs no trials")
                .advice("its --config says what it does, under may; choose other agents"));
        }
        self.agree(None);
        let target = self.target(&open.target, open.shares.len() > 1)?;
        let address = target.address()?;
        // What a program sends is not held to a way or a rate: it stays on this machine.
        let far = address.filter(|_| !target.starts_a_program());
        let consented = far.map(|address| self.consented(address, open)).transpose()?.flatten();
        let share = Share::new(open.index, &open.shares)
            .ok_or_else(|| Failure::usage("a share of the load must be above zero"))?;
        let grants = self.grants(&open.grants)?;
        let mut profile = profile(&open.profile)?;
        let packet = profile.packet;
        profile.arrival = profile.arrival.shared(share.clone());
        let starter: Arc<dyn Starter> = Arc::<Shared>::clone(&self.shared);
        let opening = Opening {
            first_trial: open.first_trial,
            stop,
            patience: Duration::from_secs_f64(open.patience_s.clamp(0.0, 1e6)),
            slices: open.slices,
            moving: self.moving(&open.moving, consented.is_some(), target.is_of_frames())?,
            together: Some(Together { lease: Arc::clone(&self.shared.lease), starter }),
            ..Opening::default()
        };
        let mut session = Session {
            id: open.session.clone(),
            target,
            profile,
            opening,
            share,
            grants,
            measurer: None,
            consented,
            datagram: Datagram::of(packet, address),
            next: open.first_trial,
        };
        let mut ready = session.open(open.first_trial, &self.settings.ceiling, &self.shared.lease)?;
        ready.source = address.and_then(towards).map(|(source, _)| source);
        self.session = Some(session);
        Ok(ready)
    }

    /// The grants that are for this agent, where there are some.
    fn grants(&self, grants: &[Signed]) -> Result<Vec<Grant>, Failure> {
        let mut ceiling = self.settings.ceiling.clone();
        let mut heard = self.shared.heard();
        ceiling.revoked.extend(heard.revoked.iter().cloned());
        heard.shown.extend(grants.iter().filter_map(Signed::id));
        let each: Vec<_> = grants.iter().map(|signed| signed.of(&self.settings.name, &ceiling)).collect();
        let (mut good, mut why) = (Vec::new(), None);
        for one in each {
            match one {
                Ok(grant) => good.push(grant),
                Err(refused) => why = Some(refused),
            }
        }
        heard.grants = good.iter().map(|grant| grant.id.clone()).collect();
        why.filter(|_| good.is_empty()).map_or(Ok(good), Err)
    }

    /// The target, if this agent may open it.
    fn target(&self, word: &str, are_several: bool) -> Result<Target, Failure> {
        let target = Target::parse(word)?;
        let is_of_the_host = target.starts_a_program() || target.file().is_some() || target.is_of_frames();
        if !self.settings.programs && is_of_the_host {
            return Err(Failure::environment(format!(
                "{target} starts a program, reads a file, or takes interfaces of this host"
            ))
            .advice("start the agent with --allow-programs if whoever coordinates may do so"));
        }
        if are_several && target.is_of_frames() {
            return Err(Failure::usage(format!(
                "{target}: frames leave and come back by interfaces of one host, and several agents would each need both of them"
            ))
            .advice("measure it by one agent on that host, or there without --on"));
        }
        if are_several && target.is_counted_there() {
            return Err(Failure::usage(format!(
                "{target}: what comes there is counted at the target, and that count does not say which agent sent it"
            ))
            .advice("measure it by one agent, or a service that answers"));
        }
        Ok(target)
    }

    /// Who is at another address agrees until then; `None`: nobody has to.
    fn agree(&self, until: Option<(SocketAddr, Instant)>) {
        self.shared.heard().far = until.map(|(address, _)| address);
        self.shared.lease.agree(until.map(|(_, until)| until));
    }

    /// That packets may go to another host, where the address is not this one's: its own agent says that it consents.
    fn consented(&self, address: SocketAddr, open: &Open) -> Result<Option<Consented>, Failure> {
        let Err(why) = Leash::towards(address) else { return Ok(None) };
        if open.consents.is_empty() {
            // Whatever keeps packets to an address of this machine is said by whoever opens it.
            return if why.is_of_another_host() {
                let why = format!("no agent on the host of {address} consents to it");
                Err(grant::not_consented(&why, address))
            } else {
                Ok(None)
            };
        }
        let questions = self.shared.heard().questions.clone();
        let ceiling = &self.settings.ceiling;
        let until = grant::consented(&open.consents, address, &open.session, ceiling, &questions)?;
        self.agree(Some((address, until)));
        Ok(Some(Consented::to(address)))
    }

    fn moving(&self, told: &MovingLine, is_far: bool, is_of_frames: bool) -> Result<Moving, Failure> {
        // Frames have no threads of ours, wherever this agent would have them: whoever coordinates chose none of that.
        let mut means = if is_of_frames { Means::default() } else { self.settings.means.clone() };
        means.send = told.send.parse().map_err(|why| Failure::usage(format!("--send: {why}")))?;
        if is_far {
            // Hosts between count a train as one packet, and frames of our own go past what holds packets to their way.
            means.send = match means.send {
                SendMeans::Auto => SendMeans::Sendmmsg,
                one @ (SendMeans::Send | SendMeans::Sendmmsg) => one,
                SendMeans::Gso | SendMeans::Packet => {
                    return Err(Failure::usage(format!("--send {}: not to another host", told.send)).advice(
                        "leave it out: packets are sent one by one there, and each host counts them so",
                    ));
                }
            };
        }
        means.receive = told.receive.parse().map_err(|why| Failure::usage(format!("--receive: {why}")))?;
        (means.senders, means.receivers) = (told.senders, told.receivers);
        if told.ordinary_priority {
            means.priority = dropline_traffic::Priority::Ordinary;
        }
        Ok(Moving { means, ..Moving::default() })
    }

    /// What this host can send, in packets a second.
    fn limit(&self, open: &Open) -> Result<f64, Failure> {
        let limit = dropline_targets::generator_limit(&profile(&open.profile)?, &self.settings.stop)?;
        Ok(limit.as_pps())
    }

    fn arm(&mut self, arm: &Arm, tell: oneshot::Sender<Vec<u8>>) {
        let Some(session) = self.session.as_mut().filter(|session| session.id == arm.session) else {
            let _ = tell.send(bytes_of(&Answer::<()>::Unknown));
            return;
        };
        let load = session.share.of(Rate::from_millipps(arm.load_millipps));
        session.share.begin_at(arm.first_turn);
        let input = TrialInput { load, duration: Duration::from_nanos(arm.duration_ns) };
        if session.consented.is_some() && self.shared.lease.is_disagreed() {
            // It is asked for anew by whoever opens it again.
            let _ = tell.send(bytes_of(&Answer::<()>::Unknown));
            return;
        }
        let Held { at_most, peak } = match session.may_send(arm.trial, input, &self.settings.ceiling) {
            Ok(held) => held,
            Err(why) => {
                let _ = tell.send(bytes_of(&Answer::<()>::Failed((&why).into())));
                return;
            }
        };
        self.shared.lease.begin(FIRST_LEASE, at_most);
        self.shared.lease.bound(peak);
        {
            let mut heard = self.shared.heard();
            heard.attempt = arm.attempt;
            heard.armed = Some(tell);
            (heard.starts_ns, heard.missed, heard.late) = (None, false, None);
        }
        let measured = session.measure(arm.trial, input, &self.settings.ceiling, &self.shared);
        let is_disagreed = self.shared.lease.is_disagreed();
        self.shared.lease.end();
        let mut heard = self.shared.heard();
        let (missed, late) = (heard.missed, heard.late);
        // Nobody waits for what became of a trial that was called off: to tell it again would keep the next one waiting.
        let times = if heard.starts_ns.is_some() { TELLS } else { 1 };
        if let Some(tell) = heard.armed.take() {
            // It never was ready: whoever armed it is told why.
            let failure = measured.err().unwrap_or_else(Failure::interrupted);
            let _ = tell.send(bytes_of(&Answer::<()>::Failed((&failure).into())));
            return;
        }
        drop(heard);
        let mut told =
            Told { attempt: arm.attempt, state: AgentState::Whole, line: None, failed: None, late_ns: None };
        told.late_ns = late.map(|late| i64::try_from(late.as_nanos()).unwrap_or(i64::MAX));
        match measured {
            Ok(trial) => {
                if trial.is_interrupted() {
                    told.state = if is_disagreed { AgentState::NotConsented } else { AgentState::Stopped };
                }
                let line =
                    TrialLine::new(&trial, &session.target.to_string(), "", Purpose::Trial, Duration::ZERO);
                told.line = Some(Box::new(line));
            }
            Err(_) if missed => told.state = AgentState::NotStarted,
            Err(why) => {
                told.state = AgentState::Stopped;
                told.failed = (!Failed::is_interruption(&why)).then(|| (&why).into());
            }
        }
        self.tell(&arm.session, &told, times);
    }

    /// Tells a result until it is heard, or nobody wants it any more.
    fn tell(&self, session: &str, told: &Told, times: u32) {
        let subject = wire::result(session, &self.settings.name);
        for _ in 0..times {
            let client = self.bus.client();
            let heard = ask::<bool>(client, subject.clone(), bytes_of(told), Duration::from_secs(1));
            if self.bus.runtime().block_on(heard).is_some() {
                return;
            }
            let is_over = self.shared.heard().session.as_deref() != Some(session);
            if is_over || self.settings.stop.load(std::sync::atomic::Ordering::SeqCst) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Session {
    /// Opens the target, which is asked whether it is there by a few packets: as few as may be, whoever sent before.
    fn open(&mut self, first_trial: u64, ceiling: &Ceiling, lease: &Lease) -> Result<Ready, Failure> {
        self.measurer = None;
        let opening = Opening { first_trial, ..self.opening.clone() };
        let asks = self.asks();
        lease.bound(self.may_ask(ceiling)?.peak);
        let until = Instant::now() + ROOM_WITHIN;
        while lease.take(ASKING, asks) < asks {
            if Instant::now() > until {
                return Err(Failure::environment(
                    "what may be sent within 100 ms was sent by others of this agent's trials",
                )
                .advice("measure once more when these have ended"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let opened = self.target.open(&self.profile, opening);
        lease.gone(ASKING, asks as u64);
        let opened = opened?;
        self.measurer = Some(opened.measurer);
        self.next = first_trial;
        Ok(Ready {
            note: opened.note,
            generator: opened.generator,
            reply_buffer_bytes: opened.reply_buffer_bytes,
            source: None,
        })
    }

    /// Whether so much may be sent for so long, and what it is held to.
    fn may_send(&self, trial: u64, input: TrialInput, ceiling: &Ceiling) -> Result<Held, Failure> {
        let is_bound = !self.grants.is_empty() || ceiling.max_pps.or(ceiling.max_bps).is_some();
        let arrival = &self.profile.arrival;
        let is_even = matches!(arrival.gap_law(input.load), GapLaw::Equal { .. });
        let peak_pps = match is_bound && !is_even {
            true => peak_pps(arrival.departures(input, self.profile.trial_seed(trial))),
            false => 0.0,
        };
        self.may("its share of the load", input.load.as_pps().max(peak_pps), input.duration, ceiling)
    }

    /// Datagrams that ask the target whether it is there, and answers each stream.
    fn asks(&self) -> usize {
        ASKED_FIRST + self.profile.streams.len()
    }

    /// Whether the target may be asked whether it is there, and answers each stream.
    fn may_ask(&self, ceiling: &Ceiling) -> Result<Held, Failure> {
        self.may(
            "what asks the target whether it answers",
            self.asks() as f64 * WINDOWS_A_SECOND,
            Duration::ZERO,
            ceiling,
        )
    }

    /// Whether one of the grants allows so much, or none is needed.
    fn may(
        &self,
        what: &'static str,
        pps: f64,
        duration: Duration,
        ceiling: &Ceiling,
    ) -> Result<Held, Failure> {
        let Some(target) = self.target.address()? else { return Ok(Held::default()) };
        let Datagram { packets, bits } = self.datagram;
        let (pps, bps) = (pps * packets as f64, pps * bits as f64);
        let now = dropline_archive::clock::now_s();
        let asked = AskedTraffic { target, what, pps, bps, duration, now };
        let by = |grant: Option<&Grant>| grant::check(&asked, grant, ceiling);
        let mut found = self.grants.first().map_or_else(|| by(None), |first| by(Some(first)));
        for grant in self.grants.iter().skip(1) {
            found = found.or_else(|_| by(Some(grant)));
        }
        let Bound { until, pps, bps } = found?;
        // Less than one datagram in 100 ms is one.
        let within = |most: Option<u64>, least: u64| most.map(|most| (most / WINDOWS).max(least));
        let peak = Peak {
            packets: within(pps, packets),
            bits: within(bps, bits),
            datagram_packets: packets,
            datagram_bits: bits,
        };
        Ok(Held {
            at_most: until.map(|until| Duration::from_secs(u64::try_from(until - now).unwrap_or(0))),
            peak: pps.or(bps).map(|_| peak),
        })
    }

    fn measure(
        &mut self,
        trial: u64,
        input: TrialInput,
        ceiling: &Ceiling,
        shared: &Shared,
    ) -> Result<Trial, Failure> {
        if self.measurer.is_none() || self.next != trial {
            let peak = self.may_send(trial, input, ceiling)?.peak;
            self.open(trial, ceiling, &shared.lease)?;
            shared.lease.bound(peak);
        }
        if !self.target.starts_together() {
            let starts = shared.ready().ok_or_else(Failure::interrupted)?;
            std::thread::sleep(starts.saturating_duration_since(Instant::now()));
        }
        let measurer = self.measurer.as_mut().expect("it was opened");
        let measured = measurer.measure(input);
        self.next = trial + 1;
        if measured.is_err() {
            self.measurer = None;
        }
        measured
    }
}

/// The most packets of any 100 ms, as a rate: one at the end of them is not within them.
fn peak_pps(departures: impl Iterator<Item = u64>) -> f64 {
    let (mut within, mut most) = (VecDeque::new(), 0);
    for due in departures {
        within.push_back(due);
        while within.front().is_some_and(|first| due - first >= WINDOW_NS) {
            within.pop_front();
        }
        most = most.max(within.len());
    }
    most as f64 * WINDOWS_A_SECOND
}

pub(super) fn answer<T: Serialize>(tell: oneshot::Sender<Vec<u8>>, done: Result<T, Failure>) {
    let answer = match done {
        Ok(done) => Answer::Done(done),
        Err(why) => Answer::Failed((&why).into()),
    };
    let _ = tell.send(bytes_of(&answer));
}

/// The address that packets to this one have from here, and the longest that leaves in one piece. A socket that is connected has
/// sent nothing.
fn towards(address: SocketAddr) -> Option<(IpAddr, u32)> {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(address).ok()?;
    let mtu = if address.is_ipv4() { sockopt::ip_mtu(&socket) } else { sockopt::ipv6_mtu(&socket) };
    Some((socket.local_addr().ok()?.ip(), mtu.unwrap_or(LEAST_MTU)))
}

/// What a datagram is on the wire: packets, and bits of their frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Datagram {
    packets: u64,
    bits: u64,
}

/// Any network carries packets of this length (RFC 8200), where that is not to be seen.
const LEAST_MTU: u32 = 1280;

impl Datagram {
    fn of(packet: Packet, address: Option<SocketAddr>) -> Self {
        let mtu = address.and_then(towards).map_or(LEAST_MTU, |(_, mtu)| mtu);
        Self::over(mtu, packet, address.is_some_and(|address| address.is_ipv6()))
    }

    /// What is longer than the way carries leaves in parts, each with headers of its own.
    fn over(mtu: u32, packet: Packet, is_ipv6: bool) -> Self {
        const UDP: u32 = 8;
        /// Ethernet with its checksum.
        const FRAME: u32 = 18;
        let (header, of_part) = if is_ipv6 { (40, 48) } else { (20, 20) };
        let length = packet.payload_bytes() + UDP;
        // All parts but the last have a multiple of eight bytes.
        let each = (mtu.saturating_sub(of_part) & !7).max(8);
        let packets = if length + header <= mtu { 1 } else { length.div_ceil(each) };
        let more = (packets - 1) * (of_part + FRAME);
        Self { packets: packets.into(), bits: u64::from(packet.frame_bytes() + more) * 8 }
    }
}

/// The profile that was told.
fn profile(line: &ProfileLine) -> Result<TrafficProfile, Failure> {
    let arrival: Arrival = line.arrival.parse().map_err(|why| {
        Failure::usage(format!("--arrival {}: {why}", line.arrival))
            .advice("a recording is of one machine: agents take processes that are drawn")
    })?;
    if arrival.paces_itself() {
        return Err(Failure::usage(format!(
            "--arrival {arrival} has clocks of its own, and no load that agents could share"
        )));
    }
    let seconds = |s: f64| Duration::from_secs_f64(s.clamp(0.0, 1e6));
    Ok(TrafficProfile {
        arrival,
        packet: line.packet().map_err(Failure::usage)?,
        streams: line.streams.clone(),
        directions: line.directions.clone(),
        drain: Drain {
            longest: seconds(line.drain_s),
            quiet: line.drain_quiet_s.map(seconds),
            rest: seconds(line.rest_s),
        },
        seed: line.seed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_that_is_longer_than_the_way_carries_is_as_many_packets_as_it_leaves_in() {
        let of = |payload: u32, mtu: u32, is_ipv6: bool| {
            Datagram::over(mtu, Packet::of_payload(payload).unwrap(), is_ipv6).packets
        };
        assert_eq!([1472, 1473, 6000].map(|payload| of(payload, 1500, false)), [1, 2, 5]);
        assert_eq!([1452, 1453, 6000].map(|payload| of(payload, 1500, true)), [1, 2, 5]);
        let whole = Datagram::over(9000, Packet::of_payload(6000).unwrap(), false);
        let parts = Datagram::over(1500, Packet::of_payload(6000).unwrap(), false);
        assert_eq!(parts.bits - whole.bits, 4 * 38 * 8, "each part has headers of its own");
    }

    #[test]
    fn a_grant_is_held_against_the_most_of_any_100_ms_and_not_the_mean() {
        let input = TrialInput { load: Rate::pps(1000.0).unwrap(), duration: Duration::from_secs(2) };
        let peak = |word: &str| peak_pps(word.parse::<Arrival>().unwrap().departures(input, 11));
        assert_eq!(peak("constant"), 1000.0);
        for (word, least) in
            [("bursts:size=500", 5000.0), ("onoff:on=100ms,off=900ms", 3000.0), ("poisson", 1010.0)]
        {
            assert!(peak(word) >= least, "{word}: {}", peak(word));
        }
        assert_eq!(peak_pps([0, WINDOW_NS - 1, WINDOW_NS].into_iter()), 20.0);
    }
}
