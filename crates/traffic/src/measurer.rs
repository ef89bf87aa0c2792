//! Trials on a UDP target.

use crate::client::{ClientPace, ClientReply};
use crate::closed_loop::{ClientProgram, Crowd};
use crate::counting::Counting;
use crate::evidence::{Evidence, Watching};
use crate::exchange::{Exchange, Exchanged};
use crate::flight::ClockStep;
use crate::means::{Leaving, Means};
use crate::placement::Placement;
use crate::receiver::{Received, Whose, take_late};
use crate::seen::Seen;
use crate::sender::{Mark, Sent, Trains};
use crate::spread::Spread;
use crate::stamps::Stamps;
use crate::sys::{ReceiveBatch, allowed_cpus, can_stamp_departures, receive_drops, wait_for_stamps};
use crate::ways::{Sources, Targets, Wanted, Ways};
use crate::{Progress, ReceiveMeans, Reply, Seat, UdpError, UdpTarget, probe};
use dropline_payload::Tags;
use dropline_stats::Histogram;
use dropline_trial::{
    Caveat, ClosedLoop, Delay, DelayKind, Fidelity, Kept, Measurer, Observed, Pace, PacketTimes, Slice,
    Stamp, TrafficProfile, Trial, TrialInput,
};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Performs trials on one UDP target: threads that send and threads that receive, a socket for each stream.
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
    ways: Ways,
    batches: Vec<ReceiveBatch>,
    stamps: Stamps,
    placement: Placement,
    receive: ReceiveMeans,
    /// How the packets of the last trial left.
    leaving: Option<Leaving>,
    /// Whether the kernel stamps departures when it is asked to.
    stamps_departures: bool,
    /// Packets of the last trial whose stamps are still there.
    noted: u64,
    /// Whether the target ever answered.
    has_answered: bool,
    /// How a one-way target is counted, once that is known.
    counting: Option<Counting>,
    /// The cheapest send of any trial.
    send_cost_ns: Option<u64>,
    packets: Option<PacketTimes>,
    trains: Trains,
    /// What says where packets were lost, from the first trial on.
    evidence: Option<Evidence>,
    /// Replies that were taken after the last trial's drain.
    strays: u64,
    /// What is a client of a closed loop when it is started.
    clients: Option<ClientProgram>,
}

/// What can be set about the measuring, as opposed to the traffic.
#[derive(Clone, Debug)]
pub struct MeasurerOptions {
    /// Parts of equal length in which packets are also counted, by when they were due; 40 where nobody says.
    pub slices: Option<u32>,
    /// Receive buffer to ask for at each reply socket, in bytes.
    pub receive_buffer_bytes: u64,
    /// Keep the times of this many packets of each trial, one by one.
    pub keep_packets: Option<usize>,
    /// How packets are moved, by how many threads, where.
    pub means: Means,
    /// Where the streams' packets come from.
    pub sources: Sources,
    /// Where they go, beside the target.
    pub targets: Targets,
    /// How a target on this machine is watched.
    pub watching: Watching,
    /// For tests: the clock that stamps packets is set meanwhile.
    pub clock_step: Option<ClockStep>,
}

impl Default for MeasurerOptions {
    /// Slices as many as fit, no times of single packets, means as fit, and room for twenty thousand small replies where
    /// the system grants it.
    fn default() -> Self {
        Self {
            slices: None,
            receive_buffer_bytes: 8 << 20,
            keep_packets: None,
            means: Means::default(),
            sources: Sources::default(),
            targets: Targets::default(),
            watching: Watching::default(),
            clock_step: None,
        }
    }
}

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
        if options.targets.count() > 1 && target.reply == Reply::None {
            return Err(UdpError::OneWayTargets);
        }
        let spread = Spread::new(&profile.streams).ok_or(UdpError::Streams)?;
        let streams = profile.streams.len();
        let (senders, receivers) = (options.means.senders.unwrap_or(1), options.means.receivers.unwrap_or(1));
        if senders == 0 || receivers == 0 || senders.max(receivers) > streams {
            return Err(UdpError::Threads { threads: senders.max(receivers), streams });
        }
        let receive = options.means.receive.or_for(allowed_cpus().len());
        let trains = receive == ReceiveMeans::Gro;
        let wanted = Wanted {
            streams,
            payload: profile.packet.payload_bytes(),
            receive_buffer_bytes: options.receive_buffer_bytes,
            sources: &options.sources,
            targets: &options.targets,
            trains,
        };
        let ways = Ways::open(target.address, &wanted)?;
        if ways.stamped {
            wait_for_stamps();
        }
        let batch = || match trains {
            true => ReceiveBatch::with_trains(),
            false => ReceiveBatch::with_stamps(KEPT_BYTES),
        };
        Ok(Self {
            tags: Tags::new(profile.seed, salt()),
            first: first_trial,
            next: first_trial,
            spread,
            batches: (0..receivers).map(|_| batch()).collect(),
            stamps: Stamps::new(STAMPED),
            placement: Placement::new(&options.means.cpus, options.means.priority, senders),
            receive,
            leaving: None,
            stamps_departures: ways.stamped && can_stamp_departures(),
            noted: 0,
            has_answered: false,
            counting: None,
            send_cost_ns: None,
            packets: None,
            trains: Trains::default(),
            evidence: None,
            strays: 0,
            ways,
            clients: None,
            target,
            profile,
            options,
            stop,
            progress,
        })
    }

    /// Lets it perform closed loops, whose clients are this program.
    pub fn with_clients(self, program: ClientProgram) -> Self {
        Self { clients: Some(program), ..self }
    }

    /// A trial of clients that pace themselves, but for the counts of a one-way target.
    fn measure_clients(&self, closed: ClosedLoop, whose: Whose, trial: &mut Trial) -> Result<(), UdpError> {
        let program = self.clients.as_ref().ok_or(UdpError::NoClients)?;
        let reply = match (self.target.reply, closed.waits) {
            (Reply::None, _) => ClientReply::None,
            (Reply::Echo, false) => ClientReply::Counted,
            (Reply::Echo, true) => ClientReply::Awaited,
        };
        let crowd = Crowd {
            target: self.target.address,
            tag: whose.tag().0,
            paces: vec![ClientPace::Think(closed.think); closed.clients as usize],
            reply,
            payload: self.profile.packet.payload_bytes(),
            seed: trial.seed,
            duration: trial.input.duration,
            seat: Seat::default(),
        };
        let running = crowd.start(program).map_err(UdpError::system("starting the clients"))?;
        running.gather(&self.stop)?.fill(trial, &self.profile.arrival, reply);
        Ok(())
    }

    /// Receive buffer that the system really reserved at each reply socket, in bytes.
    pub fn receive_buffer_bytes(&self) -> u64 {
        self.ways.receive_buffer_bytes
    }

    /// Where the packets come from, a port for each stream.
    pub fn sources(&self) -> Vec<SocketAddr> {
        self.ways.sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect()
    }

    /// In words: how packets are sent and received, by whom, and why so.
    ///
    /// # Errors
    /// If they cannot be sent the way that was told.
    pub fn means(&mut self) -> Result<String, UdpError> {
        let slow = self.ways.prepare(self.options.means.send, 1.0)?;
        let fast = self.ways.prepare(self.options.means.send, f64::MAX)?;
        let mut leaving = slow.to_string();
        if fast != slow {
            leaving.push_str(&format!(", beyond {} pps {fast}", crate::means::BEYOND_A_SOCKET_PPS));
        }
        let threads =
            |count: Option<usize>| count.filter(|&count| count > 1).map(|count| format!("{count} × "));
        let stamps = match (self.ways.stamped, self.stamps_departures) {
            (true, true) => "kernel stamps of all arrivals and a sample of departures",
            (true, false) => "kernel stamps of all arrivals",
            _ => "no kernel stamps",
        };
        let means = &self.options.means;
        Ok(format!(
            "sends by {}{leaving}, receives by {}{}; {}; {stamps}",
            threads(means.senders).unwrap_or_default(),
            threads(means.receivers).unwrap_or_default(),
            self.receive,
            self.placement,
        ))
    }

    /// Packets of the last trial that left as trains: counters of the network namespace and of devices know
    /// a train as one.
    pub fn trains(&self) -> Trains {
        self.trains
    }

    /// Packets out, packets back; all threads have ended when this returns.
    fn exchange(&mut self, input: TrialInput, seed: u64, whose: Whose) -> Result<Exchanged, UdpError> {
        let leaving = self.ways.prepare(self.options.means.send, input.load.as_pps())?;
        self.leaving = Some(leaving);
        self.stamps.forget(self.noted);
        // Frames pass by where a socket's packets are stamped.
        let stamps_departures = self.stamps_departures && leaving.means != crate::SendMeans::Packet;
        let exchange = Exchange {
            target: self.target,
            profile: &self.profile,
            options: &self.options,
            spread: &self.spread,
            ways: &mut self.ways,
            batches: &mut self.batches,
            stamps: &self.stamps,
            placement: &self.placement,
            receive: self.receive,
            send: leaving.means,
            stamps_departures,
            evidence: self.evidence.as_mut(),
            stop: &self.stop,
            progress: self.progress.as_deref(),
        };
        let exchanged = exchange.run(input, seed, whose);
        self.noted = STAMPED as u64;
        exchanged
    }

    /// What the reply sockets had no room for since they were opened.
    fn drops(&self) -> Vec<u32> {
        self.ways.sockets.iter().map(|socket| receive_drops(socket).unwrap_or(0)).collect()
    }

    fn count_replies(&self, trial: &mut Trial, received: &mut Received, marks: &[Mark], drops: &[u32]) {
        trial.forwarded = received.forwarded;
        trial.duplicated = Some(received.duplicated);
        trial.reordered = Some(received.reordered);
        trial.late = Some(received.late + self.strays);
        trial.generator_lost =
            self.drops().iter().zip(drops).map(|(now, then)| u64::from(now.wrapping_sub(*then))).sum();
        let by_kernel = received.stamped > 0;
        trial.stamp = Some(if by_kernel { Stamp::Kernel } else { Stamp::App });
        trial.delay_kind = Some(DelayKind::RoundTrip);
        trial.slices = slices(marks, received);
        let fewer = received.slices.cut().fewer();
        trial.caveats.extend(fewer.map(|(slices, wanted)| Caveat::FewSlices { slices, wanted }));
        trial.delay = measured(std::mem::take(&mut received.delay));
        trial.service_delay = measured(std::mem::take(&mut received.service_delay));
        if trial.generator_lost > 0 {
            trial.caveats.push(Caveat::GeneratorLost { dropped: trial.generator_lost });
        }
        let returned = received.forwarded + received.duplicated;
        if returned > trial.offered {
            trial.caveats.push(Caveat::MoreThanOffered { offered: trial.offered, forwarded: returned });
        }
        if by_kernel && received.unstamped > 0 {
            trial.caveats.push(Caveat::StampsMissing { packets: received.unstamped });
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
        let counters = self.evidence()?.before();
        if let Pace::Closed(closed) = self.profile.arrival.pace() {
            let mut trial = Trial::new(number, input, seed);
            self.measure_clients(closed, whose, &mut trial)?;
            let stop = Arc::clone(&self.stop);
            let counted = match &before {
                Some(before) => self.counting(whose)?.count(before, &mut trial)?,
                None if trial.lost() > 0 => self.evidence()?.ask(whose, &stop),
                None => None,
            };
            let gathered = self.evidence()?.after(counters, None);
            self.rest()?;
            self.evidence()?.account(gathered, counted, 0, false, &mut trial);
            trial.elapsed = begun.elapsed();
            return Ok(trial);
        }
        let drops = self.drops();
        let Exchanged { sent, mut received, packets, departed, arrived, watched } =
            self.exchange(input, seed, whose)?;

        let mut trial = Trial::new(number, input, seed);
        trial.intended = (!self.profile.arrival.paces_itself()).then_some(sent.intended);
        trial.offered = sent.offered;
        self.send_cost_ns = self.send_cost_ns.into_iter().chain(sent.send_cost_ns).min();
        self.trains = sent.trains;
        let (sampled_lateness, sampled) = received.sample.read();
        let observed = Observed {
            intended: trial.intended,
            offered: sent.offered,
            left: departed.as_ref().map(|departed| (departed, Stamp::App)),
            arrived: arrived
                .as_ref()
                .map(|spacing| (spacing, if received.unstamped == 0 { Stamp::Kernel } else { Stamp::App })),
            sampled: Some((&sampled, sampled_lateness)),
            send_cost_ns: self.send_cost_ns,
        };
        let kept = Kept::of(&self.profile.arrival, input, seed, &observed);
        self.doubt(&mut trial, &sent, &received, &kept);
        trial.kept = Some(kept);
        trial.refused = sent.refused;
        trial.lateness = measured(sent.lateness);
        self.packets = packets;
        let mut counted = match &before {
            None => {
                self.count_replies(&mut trial, &mut received, &sent.marks, &drops);
                None
            }
            Some(before) => self.counting(whose)?.count(before, &mut trial)?,
        };
        let gathered = self.evidence()?.after(counters, watched);
        match before {
            None => {
                self.check_that_it_answers(&trial)?;
                if trial.lost() > 0 {
                    let stop = Arc::clone(&self.stop);
                    counted = self.evidence()?.ask(whose, &stop);
                }
            }
            // What never came to the socket was not read there.
            Some(_) if counted.is_none() => {
                let read = self.evidence()?.read_by_programs(&gathered);
                trial.forwarded = trial.forwarded.min(read.unwrap_or(u64::MAX));
            }
            Some(_) => {}
        }
        self.rest()?;
        let late = self.take_late(whose, &mut received.seen);
        let trains = self.trains.trains > 0;
        self.evidence()?.account(gathered, counted, late, trains, &mut trial);
        trial.elapsed = begun.elapsed();
        Ok(trial)
    }

    fn take_packets(&mut self) -> Option<PacketTimes> {
        self.packets.take()
    }
}

impl UdpMeasurer {
    /// What was ours, what the network reported, what the clocks did.
    fn doubt(&self, trial: &mut Trial, sent: &Sent, received: &Received, kept: &Kept) {
        let gone = sent.unreachable.as_ref();
        if sent.offered + gone.map_or(0, |gone| gone.packets) < sent.intended {
            let (intended, offered) = (sent.intended, sent.offered);
            trial.caveats.push(Caveat::GeneratorLimited { intended, offered });
        }
        trial.caveats.extend(arrivals_not_kept(trial.input, &sent.lateness, kept));
        let is_behind = !trial.caveats.is_empty();
        if let Some(waited) = sent.waited.filter(|&waited| is_behind && waited > trial.input.duration / 50) {
            trial.caveats.push(Caveat::GeneratorStarved { waited_ns: waited.as_nanos() as u64 });
        }
        let reports = received.unreachable.as_ref();
        let firsts = gone
            .map(|gone| (gone.at_ns, &gone.error))
            .into_iter()
            .chain(reports.map(|reports| (reports.at_ns, &reports.error)));
        if let Some((at_ns, error)) = firsts.min() {
            trial.caveats.push(Caveat::TargetUnreachable {
                error: error.clone(),
                at_ns,
                refused: gone.map_or(0, |gone| gone.packets),
                reports: reports.map_or(0, |reports| reports.reports),
            });
        }
        if received.join.steps > 0 {
            let (steps, largest_ns) = (received.join.steps, received.join.largest_step_ns);
            trial.caveats.push(Caveat::ClockStepped { steps, largest_ns });
        }
    }

    /// What says where packets were lost.
    fn evidence(&mut self) -> Result<&mut Evidence, UdpError> {
        if self.evidence.is_none() {
            let source = self.ways.sockets[0].local_addr().map_err(UdpError::system("reading an address"))?;
            let (packet, watching) = (self.profile.packet, self.options.watching);
            self.evidence = Some(Evidence::open(source, self.target, packet, watching));
            if self.options.targets.count() > 1 {
                self.evidence.as_mut().expect("was opened above").of_several_targets();
            }
        }
        Ok(self.evidence.as_mut().expect("was opened above"))
    }

    /// Takes what came back after the drain; returns how many of this trial's packets were among it.
    fn take_late(&mut self, whose: Whose, seen: &mut Seen) -> u64 {
        if self.target.reply == Reply::None {
            return 0;
        }
        let late = take_late(&self.ways.sockets, &mut self.batches[0], whose, seen);
        self.strays = late.strays + late.ours;
        late.ours
    }

    fn counting(&mut self, whose: Whose) -> Result<crate::counting::Asker<'_>, UdpError> {
        if self.counting.is_none() {
            self.counting = Some(Counting::find(&self.ways.sockets[0], self.target, whose, &self.stop)?);
        }
        let counting = self.counting.as_ref().expect("was found above");
        Ok(crate::counting::Asker {
            counting,
            socket: &self.ways.sockets[0],
            target: self.target,
            whose,
            stop: &self.stop,
            longest: self.profile.drain.longest,
            packet: self.profile.packet,
        })
    }
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

/// Arrivals were not as asked when their gaps are distributed otherwise, where a send is cheap enough for them
/// to be right; and when one packet in a hundred left later than ten times the time between two packets, and
/// than [`EXCUSED`].
///
/// Ten packets in one lump is what a queue notices; the excuse covers the pauses that a shared machine
/// makes now and then and that lateness percentiles state anyway.
fn arrivals_not_kept(input: TrialInput, lateness: &Histogram, kept: &Kept) -> Option<Caveat> {
    let intended_idt_ns = 1_000_000_000_000 / input.load.as_millipps();
    let lateness_p99_ns = lateness.quantile(0.99)?;
    let allowed = EXCUSED.max(Duration::from_nanos(intended_idt_ns.saturating_mul(10)));
    let could_be_right = kept.send_cost_ns.is_some_and(|cost| cost.saturating_mul(10) < intended_idt_ns);
    let is_late = u128::from(lateness_p99_ns) > allowed.as_nanos();
    (is_late || could_be_right && kept.fidelity() == Some(Fidelity::NotAsAsked))
        .then_some(Caveat::ArrivalsNotKept { lateness_p99_ns, intended_idt_ns })
}

/// Lateness that is never called a failing.
const EXCUSED: Duration = Duration::from_millis(1);

/// What was due in each slice, whenever it left and came back.
fn slices(marks: &[Mark], received: &Received) -> Vec<Slice> {
    let cut = received.slices.cut();
    let end = marks.last().map_or(0, |end| end.index);
    let parts = marks.windows(2).zip(received.slices.iter()).enumerate();
    parts
        .map(|(at, (ends, recorder))| Slice {
            duration: Duration::from_nanos(cut.length_ns(at)),
            offered: ends[1].offered - ends[0].offered,
            forwarded: received.seen.count(ends[0].index.min(end)..ends[1].index.min(end)),
            delay: Some(recorder.recorded()),
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
        let judged = |pps, lateness: Histogram| arrivals_not_kept(at(pps), &lateness, &Kept::default());
        assert_eq!(judged(1e5, lateness(10, 4_000_000)), None, "1 % exactly is not p99");
        assert!(judged(1e5, lateness(11, 4_000_000)).is_some());
        assert_eq!(judged(1e3, lateness(500, 4_000_000)), None, "four packets' time");
        assert_eq!(judged(1e6, lateness(500, 400_000)), None);
    }
}
