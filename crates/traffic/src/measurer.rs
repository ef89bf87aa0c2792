//! Trials on a UDP target.

use crate::counting::Counting;
use crate::flight::Flight;
use crate::receiver::{Received, Receiver, Whose};
use crate::schedule::Schedule;
use crate::seen::Seen;
use crate::sender::{Lane, Mark, Sender, Sent};
use crate::spread::Spread;
use crate::stamps::Stamps;
use crate::sys::{ReceiveBatch, receive_drops, report_refusals, set_receive_buffer};
use crate::{Progress, Reply, UdpError, UdpTarget, probe};
use dropline_payload::Tags;
use dropline_stats::Histogram;
use dropline_trial::{Caveat, Delay, DelayKind, Measurer, Slice, Stamp, TrafficProfile, Trial, TrialInput};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Performs trials on one UDP target: a sender and a receiver with a thread each, a socket for each
/// stream.
///
/// A trial's `duration` is the sending time that was asked for; a sender that is not through a hundredth
/// of it after its end (25 ms at least, for the pauses of a busy machine) gives up, and says so. `elapsed` is everything from the call to
/// the return, rest included.
pub struct UdpMeasurer {
    target: UdpTarget,
    profile: TrafficProfile,
    options: MeasurerOptions,
    stop: Arc<AtomicBool>,
    progress: Option<Arc<Progress>>,
    tags: Tags,
    first: u64,
    next: u64,
    spread: Spread,
    sockets: Vec<UdpSocket>,
    receive_buffer_bytes: u64,
    lanes: Vec<Lane>,
    batch: ReceiveBatch,
    stamps: Stamps,
    /// Packets of the last trial whose stamps are still there.
    noted: u64,
    /// Whether the target ever answered.
    has_answered: bool,
    /// How a one-way target is counted, once that is known.
    counting: Option<Counting>,
}

/// What can be set about the measuring, as opposed to the traffic.
#[derive(Clone, Copy, Debug)]
pub struct MeasurerOptions {
    /// Parts of equal length in which packets are also counted, by when they left.
    pub slices: Option<u32>,
    /// Receive buffer to ask for at each reply socket, in bytes.
    pub receive_buffer_bytes: u64,
}

impl Default for MeasurerOptions {
    /// No slices, and room for twenty thousand small replies where the system grants it.
    fn default() -> Self {
        Self { slices: None, receive_buffer_bytes: 8 << 20 }
    }
}

/// From the call to the first departure: the sender's thread starts meanwhile.
const LEAD: Duration = Duration::from_millis(2);
/// Packets whose times are remembered for their reply; 16 MiB.
const STAMPED: usize = 1 << 20;
/// What is kept of a reply: more than any message of ours needs.
const KEPT_BYTES: usize = 64;

impl UdpMeasurer {
    /// Opens the sockets. The next trial is number `first_trial`; setting `stop` ends a trial within a
    /// tenth of a second.
    ///
    /// # Errors
    /// If the profile asks for what a UDP target cannot do, or the system does not give the sockets.
    pub fn new(
        target: UdpTarget,
        profile: TrafficProfile,
        options: MeasurerOptions,
        first_trial: u64,
        stop: Arc<AtomicBool>,
        progress: Option<Arc<Progress>>,
    ) -> Result<Self, UdpError> {
        if profile.directions.len() != 1 {
            return Err(UdpError::Directions(profile.directions.len()));
        }
        let spread = Spread::new(&profile.streams).ok_or(UdpError::Streams)?;
        let payload = profile.packet.payload_bytes();
        let mut sockets = Vec::with_capacity(profile.streams.len());
        let mut receive_buffer_bytes = u64::MAX;
        for _ in &profile.streams {
            let socket = connect(target.address, payload)?;
            report_refusals(&socket).map_err(UdpError::system("asking to be told of refused packets"))?;
            let asked = usize::try_from(options.receive_buffer_bytes).unwrap_or(usize::MAX);
            let reserved =
                set_receive_buffer(&socket, asked).map_err(UdpError::system("setting a buffer"))?;
            receive_buffer_bytes = receive_buffer_bytes.min(reserved as u64);
            sockets.push(socket);
        }
        Ok(Self {
            tags: Tags::new(profile.seed, salt()),
            first: first_trial,
            next: first_trial,
            lanes: sockets.iter().map(|_| Lane::new(payload as usize)).collect(),
            spread,
            sockets,
            receive_buffer_bytes,
            batch: ReceiveBatch::new(KEPT_BYTES),
            stamps: Stamps::new(if target.reply == Reply::Echo { STAMPED } else { 1 }),
            noted: 0,
            has_answered: false,
            counting: None,
            target,
            profile,
            options,
            stop,
            progress,
        })
    }

    /// Receive buffer that the system really reserved at each reply socket, in bytes.
    pub fn receive_buffer_bytes(&self) -> u64 {
        self.receive_buffer_bytes
    }

    /// Where the packets come from, a port for each stream.
    pub fn sources(&self) -> Vec<SocketAddr> {
        self.sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect()
    }

    /// Packets out, packets back; both sides have ended when this returns.
    fn exchange(&mut self, input: TrialInput, seed: u64, whose: Whose) -> Result<(Sent, Received), UdpError> {
        let duration_ns = input.duration.as_nanos() as u64;
        let schedule = Schedule::new(self.profile.arrival.departures(input, seed));
        self.stamps.forget(self.noted);
        let drain = (self.target.reply == Reply::Echo).then_some(self.profile.drain);
        let mut receiver = Receiver::new(&self.sockets, &mut self.batch, whose);
        let payload = self.profile.packet.payload_bytes();
        let meaning = |error, sent| UdpError::of_socket(error, self.target.address, sent, payload);
        receiver.clear_backlog().map_err(|error| meaning(error, 0))?;
        let sender = Sender {
            sockets: &self.sockets,
            lanes: &mut self.lanes,
            spread: &self.spread,
            tag: whose.tag(),
            reply_wanted: self.target.reply == Reply::Echo,
            end_ns: duration_ns,
            give_up_ns: duration_ns + grace(input.duration).as_nanos() as u64,
            slices: self
                .options
                .slices
                .filter(|&count| count > 0)
                .map(|count| (count, (duration_ns / u64::from(count)).max(1))),
        };
        let flight = Flight::new(Instant::now() + LEAD, &self.stamps, &self.stop, self.progress.as_deref());
        let (sent, received) = std::thread::scope(|scope| {
            let sending = std::thread::Builder::new()
                .name("sender".into())
                .spawn_scoped(scope, || sender.run(schedule, &flight))
                .map_err(UdpError::system("starting a thread"))?;
            let received = receiver.run(&flight, duration_ns, drain);
            let sent = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((sent, received))
        })?;
        self.noted = flight.next_index();
        if self.stop.load(Ordering::Relaxed) {
            return Err(UdpError::Interrupted);
        }
        match (sent.error, received) {
            (Some(error), _) | (None, Err(error)) => Err(meaning(error, sent.offered)),
            (None, Ok(received)) => Ok((Sent { error: None, ..sent }, received)),
        }
    }

    /// What the reply sockets had no room for since they were opened.
    fn drops(&self) -> Vec<u32> {
        self.sockets.iter().map(|socket| receive_drops(socket).unwrap_or(0)).collect()
    }

    fn count_replies(&self, trial: &mut Trial, received: Received, marks: &[Mark], drops: &[u32]) {
        trial.forwarded = received.forwarded;
        trial.duplicated = Some(received.duplicated);
        trial.reordered = Some(received.reordered);
        trial.late = Some(received.late);
        trial.generator_lost =
            self.drops().iter().zip(drops).map(|(now, then)| u64::from(now.wrapping_sub(*then))).sum();
        trial.stamp = Some(Stamp::App);
        trial.delay_kind = Some(DelayKind::RoundTrip);
        trial.slices = slices(trial.input.duration, marks, &received.seen);
        trial.delay = measured(received.delay);
        trial.service_delay = measured(received.service_delay);
        if trial.generator_lost > 0 {
            trial.caveats.push(Caveat::GeneratorLost { dropped: trial.generator_lost });
        }
        let returned = received.forwarded + received.duplicated;
        if returned > trial.offered {
            trial.caveats.push(Caveat::MoreThanOffered { offered: trial.offered, forwarded: returned });
        }
        if received.without_delay > 0 {
            trial.caveats.push(Caveat::DelayUnknown { packets: received.without_delay });
        }
        if received.foreign > 0 {
            trial.caveats.push(Caveat::ForeignPackets { packets: received.foreign });
        }
    }

    /// Of a target that never answered, a trial without a reply is no measurement.
    fn check_that_it_answers(&mut self, trial: &Trial) -> Result<(), UdpError> {
        let silent = trial.forwarded == 0 && trial.late.unwrap_or(0) == 0 && trial.generator_lost == 0;
        if !silent {
            self.has_answered = true;
        }
        if self.has_answered || trial.offered == 0 {
            return Ok(());
        }
        match probe(self.target, &self.profile, &self.stop) {
            Ok(_) => {
                self.has_answered = true;
                Ok(())
            }
            Err(UdpError::NoAnswer { target, waited, .. }) => {
                Err(UdpError::NoAnswer { target, sent: trial.offered, waited })
            }
            Err(other) => Err(other),
        }
    }

    /// Sleeps, unless the user wants to stop.
    fn rest(&self) -> Result<(), UdpError> {
        let until = Instant::now() + self.profile.drain.rest;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(UdpError::Interrupted);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}

impl Measurer for UdpMeasurer {
    type Error = UdpError;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, UdpError> {
        let begun = Instant::now();
        let number = self.next;
        self.next += 1;
        let seed = self.profile.trial_seed(number);
        let whose = Whose { tags: self.tags, first: self.first, number };
        if let Some(progress) = &self.progress {
            progress.begin(number);
        }
        let before = match self.target.reply {
            Reply::Echo => None,
            Reply::None => Some(self.counting(whose)?.before()?),
        };
        let drops = self.drops();
        let (sent, received) = self.exchange(input, seed, whose)?;

        let mut trial = Trial::new(number, input, seed);
        trial.intended = (!self.profile.arrival.paces_itself()).then_some(sent.intended);
        trial.offered = sent.offered;
        trial.refused = sent.refused;
        if trial.offered < sent.intended {
            let (intended, offered) = (sent.intended, sent.offered);
            trial.caveats.push(Caveat::GeneratorLimited { intended, offered });
        }
        trial.caveats.extend(arrivals_not_kept(input, &sent.lateness));
        trial.lateness = measured(sent.lateness);
        match before {
            None => {
                self.count_replies(&mut trial, received, &sent.marks, &drops);
                self.check_that_it_answers(&trial)?;
            }
            Some(before) => {
                let after = self.counting(whose)?;
                after.count(&before, &mut trial)?;
            }
        }
        self.rest()?;
        trial.elapsed = begun.elapsed();
        Ok(trial)
    }
}

impl UdpMeasurer {
    fn counting(&mut self, whose: Whose) -> Result<crate::counting::Asker<'_>, UdpError> {
        if self.counting.is_none() {
            self.counting = Some(Counting::find(&self.sockets[0], self.target, whose, &self.stop)?);
        }
        let counting = self.counting.as_ref().expect("was found above");
        Ok(crate::counting::Asker {
            counting,
            socket: &self.sockets[0],
            target: self.target,
            whose,
            stop: &self.stop,
            longest: self.profile.drain.longest,
            packet: self.profile.packet,
        })
    }
}

/// A socket of this machine from which packets go to `target` alone, and that hears of it alone.
pub(crate) fn connect(target: SocketAddr, payload: u32) -> Result<UdpSocket, UdpError> {
    let any: IpAddr = match target {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let open = || -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(target)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    open().map_err(|error| match UdpError::of_socket(error, target, 0, payload) {
        UdpError::System { source, .. } => UdpError::System { doing: "opening a socket", source },
        meaning => meaning,
    })
}

/// Differs from process to process, and from measurer to measurer.
pub(crate) fn salt() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// How long after the end of the schedule the sender goes on before it gives up.
pub(crate) fn grace(duration: Duration) -> Duration {
    (duration / 100).max(Duration::from_millis(25))
}

fn measured(histogram: Histogram) -> Delay {
    let histogram = (histogram.count() > 0).then_some(histogram);
    Delay { histogram, ..Delay::default() }
}

/// Arrivals were not as asked when one packet in a hundred left later than ten times the time between two
/// packets, and than [`EXCUSED`].
///
/// Ten packets in one lump is what a queue notices; the excuse covers the pauses that a shared machine
/// makes now and then and that lateness percentiles state anyway.
fn arrivals_not_kept(input: TrialInput, lateness: &Histogram) -> Option<Caveat> {
    let intended_idt_ns = 1_000_000_000_000 / input.load.as_millipps();
    let lateness_p99_ns = lateness.quantile(0.99)?;
    let allowed = EXCUSED.max(Duration::from_nanos(intended_idt_ns.saturating_mul(10)));
    (u128::from(lateness_p99_ns) > allowed.as_nanos())
        .then_some(Caveat::ArrivalsNotKept { lateness_p99_ns, intended_idt_ns })
}

/// Lateness that is never called a failing.
const EXCUSED: Duration = Duration::from_millis(1);

fn slices(duration: Duration, marks: &[Mark], seen: &Seen) -> Vec<Slice> {
    let count = marks.len().saturating_sub(1) as u32;
    marks
        .windows(2)
        .map(|ends| Slice {
            duration: duration / count,
            offered: ends[1].offered - ends[0].offered,
            forwarded: seen.count(ends[0].index..ends[1].index),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::Rate;

    fn lateness(late: u64, lateness_ns: u64) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000, 1000 - late);
        histogram.record_n(lateness_ns, late);
        histogram
    }

    #[test]
    fn a_rare_pause_of_the_machine_is_no_fault_and_a_common_one_is() {
        let at = |pps| TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_secs(1) };
        assert_eq!(arrivals_not_kept(at(1e5), &lateness(10, 4_000_000)), None, "1 % exactly is not p99");
        assert!(arrivals_not_kept(at(1e5), &lateness(11, 4_000_000)).is_some());
        assert_eq!(arrivals_not_kept(at(1e3), &lateness(500, 4_000_000)), None, "four packets' time");
        assert_eq!(arrivals_not_kept(at(1e6), &lateness(500, 400_000)), None);
    }
}
