//! Trials on a UDP target.

mod clients;
mod doubts;
mod replies;

use super::exchange::{Exchange, Exchanged};
use super::options::MeasurerOptions;
use super::streams::{StreamSockets, Wanted};
use crate::closed_loop::crowd::ClientProgram;
use crate::error::UdpError;
use crate::losses::counting::{Asker, Before, Counting};
use crate::losses::evidence::{Evidence, Gathered};
use crate::means::{ReceiveMeans, SendMeans};
use crate::packet::attribution::{Whose, salt};
use crate::packet::content::Content;
use crate::packet::stamps::Stamps;
use crate::placement::cpus::Placement;
use crate::placement::interruptions::Interruptions;
use crate::progress::Progress;
use crate::send::leaving::{BEYOND_A_SOCKET_PPS, Leaving};
use crate::send::sent::Trains;
use crate::send::spread::Spread;
use crate::sys::{ReceiveBatch, allowed_cpus, can_stamp_departures, wait_for_stamps};
use crate::target::{Reply, UdpTarget};
use dropline_payload::{Counts, Tags};
use dropline_trial::{
    Caveat, Delay, Kept, Measurer, Observed, Pace, PacketTimes, Stamp, TrafficProfile, Trial, TrialInput,
};
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
    ways: StreamSockets,
    /// What a reply must be.
    content: Content,
    batches: Vec<ReceiveBatch>,
    stamps: Stamps,
    placement: Placement,
    /// When the sender's CPU does something else: listened to once, where the load is constant.
    interruptions: Option<Interruptions>,
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

/// What left is counted to the end, also when the user wants to stop: that takes a second or two at most.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);
/// Packets whose times are remembered for their reply; 16 MiB.
const STAMPED: usize = 1 << 20;
/// What is kept of a reply at least: more than any message of ours needs.
const KEPT_BYTES: usize = 64;

impl UdpMeasurer {
    /// Opens the sockets. The next trial is number `first_trial`; setting `stop` ends a trial as soon as what is under
    /// way came back, within a second or two. What was counted by then is a trial with the caveat `interrupted`.
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
        let ways = StreamSockets::open(target.address, &wanted)?;
        if ways.stamped {
            wait_for_stamps();
        }
        let content = Content::of(target.reply, profile.packet.payload_bytes());
        let batch = || match trains {
            true => ReceiveBatch::with_trains(),
            false => ReceiveBatch::with_stamps(content.kept_bytes().max(KEPT_BYTES)),
        };
        let placement = Placement::new(&options.means.cpus, options.means.priority, senders);
        let interruptions = profile.arrival.is_constant().then(|| placement.listen()).flatten();
        Ok(Self {
            tags: Tags::new(profile.seed, salt()),
            first: first_trial,
            next: first_trial,
            spread,
            batches: (0..receivers).map(|_| batch()).collect(),
            content,
            stamps: Stamps::new(STAMPED),
            placement,
            interruptions,
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
        if let Pace::Closed(closed) = self.profile.arrival.pace() {
            return Ok(self.means_of_clients(closed));
        }
        let slow = self.ways.prepare(self.options.means.send, 1.0)?;
        let fast = self.ways.prepare(self.options.means.send, f64::MAX)?;
        let mut leaving = slow.to_string();
        if fast != slow {
            leaving.push_str(&format!(", beyond {BEYOND_A_SOCKET_PPS} pps {fast}"));
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
        let stamps_departures = self.stamps_departures && leaving.means != SendMeans::Packet;
        let exchange = Exchange {
            target: self.target,
            profile: &self.profile,
            options: &self.options,
            spread: &self.spread,
            ways: &mut self.ways,
            batches: &mut self.batches,
            stamps: &self.stamps,
            placement: &self.placement,
            interruptions: self.interruptions.as_ref(),
            content: &self.content,
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

    /// Sleeps, unless the user wants to stop.
    fn rest(&self) {
        let until = Instant::now() + self.profile.drain.rest;
        while !self.stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}

impl Measurer for UdpMeasurer {
    type Error = UdpError;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, UdpError> {
        let begun = Instant::now();
        if self.stop.load(Ordering::Relaxed) {
            return Err(UdpError::Interrupted);
        }
        let number = self.next;
        self.next += 1;
        let seed = self.profile.trial_seed(number);
        let whose = Whose { tags: self.tags, first: self.first, number };
        if let Some(progress) = &self.progress {
            progress.begin(number);
        }
        let trial = match self.profile.arrival.pace() {
            Pace::Closed(closed) => self.measure_clients(closed, input, seed, whose),
            _ => self.measure_schedule(input, seed, whose),
        };
        trial.map(|trial| Trial { elapsed: begun.elapsed(), ..trial })
    }

    fn take_packets(&mut self) -> Option<PacketTimes> {
        self.packets.take()
    }
}

impl UdpMeasurer {
    /// A trial of a schedule, but for what it cost.
    fn measure_schedule(&mut self, input: TrialInput, seed: u64, whose: Whose) -> Result<Trial, UdpError> {
        let before = match self.target.reply {
            Reply::None => Some(self.counting(whose, &Arc::clone(&self.stop))?.before()?),
            Reply::Echo | Reply::Any => None,
        };
        let counters = self.evidence()?.before();
        let drops = self.drops();
        let Exchanged { sent, mut received, packets, departed, arrived, watched } =
            self.exchange(input, seed, whose)?;

        let mut trial = Trial::new(whose.number, input, seed);
        if let Some(stopped_ns) = sent.stopped_ns {
            trial.duration = Duration::from_nanos(stopped_ns.max(1)).min(input.duration);
        }
        if self.stop.load(Ordering::Relaxed) {
            trial.caveats.push(Caveat::Interrupted);
        }
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
            ..Observed::default()
        };
        let kept = Kept::of(
            &self.profile.arrival,
            TrialInput { duration: trial.duration, ..input },
            seed,
            &observed,
        );
        self.doubt(&mut trial, &sent, &received, &kept);
        trial.kept = Some(kept);
        trial.refused = sent.refused;
        trial.lateness = Delay::of(sent.lateness);
        self.packets = packets;
        let mut counted = match &before {
            None => {
                self.count_replies(&mut trial, &mut received, &sent.marks, &drops);
                None
            }
            Some(before) => self.count_one_way(before, whose, &mut trial)?,
        };
        let gathered = self.evidence()?.after(counters, watched);
        match before {
            None => {
                self.check_that_it_answers(&trial)?;
                if trial.lost() > 0 {
                    counted = self.evidence()?.ask(whose, &NEVER);
                }
            }
            Some(_) if counted.is_none() => self.count_what_was_read(&gathered, &mut trial)?,
            Some(_) => {}
        }
        self.rest();
        let late = self.take_late(whose, &mut received.seen);
        let trains = self.trains.trains > 0;
        self.evidence()?.account(gathered, counted, late, trains, &mut trial);
        let doubts = [trial.doubted_loss(), trial.doubted_delays()];
        trial.caveats.extend(doubts.into_iter().flatten());
        Ok(trial)
    }

    /// What a one-way target says that it served; `None` if it was looked at from outside, or died meanwhile: then
    /// what programs read is the most that it can have served.
    pub(crate) fn count_one_way(
        &mut self,
        before: &Before,
        whose: Whose,
        trial: &mut Trial,
    ) -> Result<Option<Counts>, UdpError> {
        match self.counting(whose, &NEVER)?.count(before, trial) {
            Err(UdpError::Closed { .. } | UdpError::NotCounted { .. }) if trial.offered > 0 => {
                let refused = trial.refused.values().sum();
                if !trial.caveats.iter().any(|caveat| matches!(caveat, Caveat::TargetUnreachable { .. })) {
                    let (error, at_ns) = ("ECONNREFUSED".into(), trial.duration.as_nanos() as u64);
                    trial.caveats.push(Caveat::TargetUnreachable { error, at_ns, refused, reports: 1 });
                }
                trial.caveats.push(Caveat::Reported {
                    code: "counted_at_socket".into(),
                    text: "the target died before it could be asked what it served: forwarded is what programs of \
                           its namespace read meanwhile, at most what it served"
                        .into(),
                });
                trial.forwarded = trial.offered;
                Ok(None)
            }
            counted => counted,
        }
    }

    /// Of a one-way target that does not count by itself: what never came to its socket was not read there.
    fn count_what_was_read(&mut self, gathered: &Gathered, trial: &mut Trial) -> Result<(), UdpError> {
        let read = self.evidence()?.read_by_programs(gathered);
        trial.forwarded = trial.forwarded.min(read.unwrap_or(u64::MAX));
        Ok(())
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

    fn counting<'a>(&'a mut self, whose: Whose, stop: &'a AtomicBool) -> Result<Asker<'a>, UdpError> {
        if self.counting.is_none() {
            self.counting = Some(Counting::find(&self.ways.sockets[0], self.target, whose, stop)?);
        }
        let counting = self.counting.as_ref().expect("was found above");
        Ok(Asker {
            counting,
            socket: &self.ways.sockets[0],
            target: self.target,
            whose,
            stop,
            longest: self.profile.drain.longest,
            packet: self.profile.packet,
        })
    }
}
