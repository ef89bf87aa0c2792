//! Trials on a UDP target.

use super::clients::Clients;
use super::doubts::{answers_after_drain, blame_a_link_that_was_down, doubt, doubt_places, too_long};
use super::exchange::{Exchange, Exchanged};
use super::options::MeasurerOptions;
use super::probe::probe;
use super::reach::reach;
use super::replies::{Replies, knows_not_which};
use super::setup::Setup;
use crate::closed_loop::client_processes::ClientProgram;
use crate::error::{NoLeash, UdpError};
use crate::kernel::quota::Quotas;
use crate::losses::evidence::Known;
use crate::losses::led_away;
use crate::losses::ledger::{Account, Ledger};
use crate::packet::attribution::{Numbering, Whose};
use crate::packet::received_set::ReceivedSet;
use crate::progress::Progress;
use crate::receive::elsewhere::Strayed;
use crate::send::requests::Asking;
use crate::send::sent::Trains;
use crate::sockets::guard::Guard;
use crate::target::UdpTarget;
use crate::watch::beside::{Beside, Left, ToldBy, Trials};
use dropline_payload::service::streams_needed;
use dropline_trial::{
    ArrivalFidelity, Caveat, ClosedLoop, Delay, Measurer, Observed, Pace, PacketTimes, Stamp, TargetActivity,
    TrafficProfile, Trial, TrialInput,
};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Performs trials on one UDP target: threads that send and threads that receive, a socket for each stream.
///
/// A trial's `duration` is the sending time that was asked for; a sender that is not through a hundredth
/// of it after its end (25 ms at least, for the pauses of a busy machine) gives up, and says so. `elapsed` is everything from the call to
/// the return, rest included.
pub struct UdpMeasurer {
    setup: Setup,
    numbering: Numbering,
    exchange: Exchange,
    ledger: Ledger,
    replies: Replies,
    /// What is a client of a closed loop when it is started.
    clients: Option<ClientProgram>,
    /// The cheapest send of any trial.
    send_cost_ns: Option<u64>,
    /// Of the last trial.
    packets: Option<PacketTimes>,
    trains: Trains,
    resent: u64,
    /// Whether a trial was performed.
    was_reached: bool,
    /// How long an answer took before the first trial.
    round_trip: Duration,
    /// Looks at the way of its packets.
    guard: Guard,
    /// Sees packets that leave beside their way.
    beside: Beside,
    /// By which interface packets of an earlier trial did.
    left_by: Option<String>,
}

/// What moving a trial's packets found, beside what stands in the trial.
struct Moved {
    /// What the target did meanwhile.
    watched: Option<TargetActivity>,
    /// Of a schedule: how many packets had their turn, and which of them came back.
    seen: Option<(u64, ReceivedSet)>,
    /// What came from elsewhere.
    strayed: Strayed,
}

/// So long a trial waits for a link that was there in the one before.
const LINK_RETURNS: Duration = Duration::from_secs(5);
/// And looks so often.
const LINK_IS_ASKED_FOR: Duration = Duration::from_millis(20);
/// So long the sockets are kept open for answers that came after the drain, as long as some come.
const LATE_ARE_TAKEN: Duration = Duration::from_secs(2);
/// From one look at them to the next.
const NEXT_LATE: Duration = Duration::from_millis(100);

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
        let several_targets = options.targets.count() > 1;
        if several_targets && !target.reply.is_answered() {
            return Err(UdpError::OneWayTargets);
        }
        let profile = TrafficProfile { packet: target.packet(profile.packet), ..profile };
        let setup = Setup { target, profile, options, stop, progress };
        let exchange = Exchange::open(&setup)?;
        let account = Account {
            source: exchange.socket().local_addr().map_err(UdpError::system("reading an address"))?,
            target: setup.target,
            packet: setup.profile.packet,
            watching: setup.options.watching,
            several_targets,
            longest: setup.profile.drain.longest,
        };
        Ok(Self {
            guard: exchange.streams.guard(&setup.packets()),
            beside: Beside::of(&setup.packets()),
            left_by: None,
            numbering: Numbering::from(first_trial, setup.profile.seed),
            exchange,
            ledger: Ledger::new(account),
            replies: Replies::default(),
            clients: None,
            send_cost_ns: None,
            packets: None,
            trains: Trains::default(),
            resent: 0,
            was_reached: false,
            round_trip: Duration::ZERO,
            setup,
        })
    }

    /// Lets it perform closed loops, whose clients are this program.
    pub fn with_clients(self, program: ClientProgram) -> Self {
        Self { clients: Some(program), ..self }
    }

    /// Receive buffer that the system really reserved at each reply socket, in bytes.
    pub fn receive_buffer_bytes(&self) -> u64 {
        self.exchange.streams.receive_buffer_bytes
    }

    /// Where the packets come from, a port for each stream.
    pub fn sources(&self) -> Vec<SocketAddr> {
        self.exchange.streams.sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect()
    }

    /// Before the first trial: whether what every stream sends comes to the target, each by its own port. An answer takes
    /// about `round_trip`; none where that is zero, for nobody asked yet. The clients of a closed loop have ports of their own,
    /// and are not asked for.
    ///
    /// A target that answered, and falls silent as a whole, is no reason not to measure it: what it loses then is its loss.
    ///
    /// # Errors
    /// If what some of them send does not, or the user wants to stop.
    pub fn reach(&mut self, round_trip: Duration) -> Result<(), UdpError> {
        if let Pace::Closed(_) = self.setup.profile.arrival.pace() {
            return Ok(());
        }
        let has_answered = self.setup.is_answered() && !round_trip.is_zero();
        self.round_trip = round_trip;
        let target = self.setup.target.address;
        let no_leash = |why| UdpError::NoLeash { target, why };
        self.guard.look().map_err(no_leash)?;
        let astray = AtomicBool::new(false);
        let whose = self.numbering.before_the_first();
        let ask = || reach(&self.setup, &self.exchange, whose, round_trip, &astray);
        let (reached, came) = self.guard.during(&astray, ask);
        if let Some(what) = came {
            return Err(no_leash(self.guard.refusing(target.ip(), what)));
        }
        match reached {
            // Whether it is these streams alone, or nobody, that it does not answer any more.
            Err(silent @ UdpError::NoAnswer { .. }) if has_answered => {
                match probe(self.setup.target, &self.setup.profile, &self.setup.stop) {
                    Err(UdpError::NoAnswer { .. }) => {}
                    Err(other) => return Err(other),
                    Ok(_) => return Err(silent),
                }
            }
            reached => reached?,
        }
        if has_answered {
            self.replies.has_answered();
        }
        Ok(())
    }

    /// In words: how packets are sent and received, by whom, and why so.
    ///
    /// # Errors
    /// If they cannot be sent the way that was told.
    pub fn means(&mut self) -> Result<String, UdpError> {
        match self.setup.profile.arrival.pace() {
            Pace::Closed(closed) => Ok(Clients::of(closed, &self.setup, &self.exchange).means()),
            _ => self.exchange.means(&self.setup),
        }
    }

    /// Packets of the last trial that left as trains: counters of the network namespace and of devices know
    /// a train as one.
    pub fn trains(&self) -> Trains {
        self.trains
    }
}

impl Measurer for UdpMeasurer {
    type Error = UdpError;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, UdpError> {
        let begun = Instant::now();
        if self.setup.is_stopped() {
            return Err(UdpError::Interrupted);
        }
        self.enough_streams(input)?;
        let whose = self.numbering.next_trial();
        if let Some(progress) = &self.setup.progress {
            progress.begin(whose.number);
        }
        let target = self.setup.target.address;
        if let Some(interface) = self.left_by.clone() {
            let why = NoLeash::LeftElsewhere { address: target.ip(), interface };
            return Err(UdpError::NoLeash { target, why });
        }
        self.guard.look().map_err(|why| UdpError::NoLeash { target, why })?;
        let astray = AtomicBool::new(false);
        let mut guard = std::mem::take(&mut self.guard);
        let (trial, came) = guard.during(&astray, || self.perform_once_there(input, whose, &astray));
        self.guard = guard;
        // Nothing was sent by then but what is asked before a trial.
        if let (Err(UdpError::Interrupted), Some(what)) = (&trial, &came) {
            let why = self.guard.refusing(target.ip(), what.clone());
            return Err(UdpError::NoLeash { target, why });
        }
        let mut trial = trial.map_err(|why| match why {
            UdpError::TooLong { target, payload, .. } => {
                let link = self.beside.carries_least(target.ip().to_canonical());
                UdpError::TooLong { target, payload, link }
            }
            other => other,
        })?;
        self.was_reached = true;
        if let Some(rule) = came.or_else(|| self.guard.leads()) {
            trial.caveats.push(Caveat::RuleAppeared { rule });
            doubt_places(&mut trial);
        }
        Ok(Trial { elapsed: begun.elapsed(), ..trial })
    }

    fn take_packets(&mut self) -> Option<PacketTimes> {
        self.packets.take()
    }
}

impl UdpMeasurer {
    /// No token of a service's requests is in use twice: one that comes back says which request it is of.
    fn enough_streams(&self, input: TrialInput) -> Result<(), UdpError> {
        let Some(service) = self.setup.service() else { return Ok(()) };
        let (streams, drain) = (self.setup.profile.streams.len(), self.setup.profile.drain.longest);
        let drain = drain.max(self.round_trip);
        let needed = streams_needed(service.token_bits(), input.load.as_pps(), drain.as_secs_f64());
        match usize::try_from(needed).is_ok_and(|needed| needed <= streams) {
            true => Ok(()),
            false => Err(UdpError::FewStreams { needed, streams, load: input.load, drain }),
        }
    }

    /// A trial, once there is a way to the target again: a link that is down between two trials comes back mostly.
    fn perform_once_there(
        &mut self,
        input: TrialInput,
        whose: Whose,
        astray: &AtomicBool,
    ) -> Result<Trial, UdpError> {
        let until = Instant::now() + LINK_RETURNS;
        loop {
            match self.perform(input, whose, astray) {
                Err(UdpError::Unreachable { .. })
                    if self.was_reached && Instant::now() < until && !self.setup.is_stopped() =>
                {
                    std::thread::sleep(LINK_IS_ASKED_FOR);
                }
                performed => return performed,
            }
        }
    }

    /// A trial, but for what it cost.
    fn perform(&mut self, input: TrialInput, whose: Whose, astray: &AtomicBool) -> Result<Trial, UdpError> {
        let mut trial = Trial::new(whose.number, input, self.setup.profile.trial_seed(whose.number));
        let opening = self.ledger.open(self.exchange.socket(), whose, &[&self.setup.stop, astray])?;
        let (moved, left) = self.move_watched(whose, astray, &mut trial);
        let Moved { watched, seen, strayed } = moved?;
        if let Some(left) = &left {
            let interface = left.interface();
            self.left_by = Some(interface.clone());
            trial.caveats.push(Caveat::LeftElsewhere { packets: left.packets, interface });
        }
        let (packet, target) = (self.setup.profile.packet, self.setup.target.address.ip().to_canonical());
        trial.caveats.extend(too_long(packet, target, self.beside.carries_least(target)));
        let socket = self.exchange.socket();
        let mut closing = self.ledger.close(opening, socket, whose, watched, astray, &mut trial)?;
        if self.setup.is_answered() {
            if !astray.load(Ordering::Acquire) {
                self.replies.check(&self.setup, &trial)?;
            }
            if trial.lost() > 0 {
                self.ledger.ask(&mut closing, whose, astray);
            }
        }
        self.rest();
        match seen {
            None => self.ledger.account(closing, Known::default(), &mut trial),
            Some((intended, mut seen)) => {
                let late = self.take_late(whose, &mut seen);
                let drain_ns = self.setup.profile.drain.longest.as_nanos() as u64;
                trial.caveats.extend(answers_after_drain(&trial, late, drain_ns));
                let elsewhere = strayed.of_missing(trial.lost().saturating_sub(late));
                let copies = strayed.of_answered(trial.forwarded);
                trial.caveats.extend(strayed.doubts(elsewhere, copies, self.setup.target.address));
                let known = Known {
                    late,
                    elsewhere,
                    elsewhere_dropped: strayed.dropped,
                    in_trains: self.trains.behind(),
                    resent: self.resent,
                };
                self.ledger.account(closing, known, &mut trial);
                blame_a_link_that_was_down(&mut trial);
                // Of several targets, one may be gone and the others not.
                if self.setup.is_answered() && self.setup.options.targets.count() == 1 {
                    led_away::find(&mut trial, intended, &seen, &self.exchange.spread);
                }
                let doubts = [
                    trial.limited_answers(),
                    trial.starved_target(),
                    trial.doubted_loss(),
                    trial.doubted_delays(),
                ];
                trial.caveats.extend(doubts.into_iter().flatten());
            }
        }
        Ok(trial)
    }

    /// Packets out and back, until any of them leaves beside the way, which is told in `astray` too; what did.
    fn move_watched(
        &mut self,
        whose: Whose,
        astray: &AtomicBool,
        trial: &mut Trial,
    ) -> (Result<Moved, UdpError>, Option<Left>) {
        let is_closed = matches!(self.setup.profile.arrival.pace(), Pace::Closed(_));
        // The clients of a closed loop have ports of their own.
        let ports: BTreeSet<u16> = match is_closed {
            true => BTreeSet::new(),
            false => self.sources().iter().map(SocketAddr::port).collect(),
        };
        let targets = self.exchange.streams.targets();
        let canonical = |target: &SocketAddr| SocketAddr::new(target.ip().to_canonical(), target.port());
        let targets: BTreeSet<SocketAddr> = targets.iter().map(canonical).collect();
        let sources: BTreeSet<IpAddr> =
            self.sources().iter().map(|source| source.ip().to_canonical()).collect();
        let told_by = match self.setup.service() {
            None => ToldBy::Tag(whose.tag()),
            Some(_) => ToldBy::Ports(&sources),
        };
        let trials = Trials { told_by, ports: &ports, targets: &targets };
        let mut beside = std::mem::take(&mut self.beside);
        let moved = beside.watch_while(&trials, astray, || match self.setup.profile.arrival.pace() {
            Pace::Closed(closed) => self.move_by_clients(closed, whose, astray, trial),
            _ => self.move_by_schedule(whose, astray, trial),
        });
        self.beside = beside;
        moved
    }

    /// The packets of a closed loop.
    fn move_by_clients(
        &mut self,
        closed: ClosedLoop,
        whose: Whose,
        astray: &AtomicBool,
        trial: &mut Trial,
    ) -> Result<Moved, UdpError> {
        let program = self.clients.as_ref().ok_or(UdpError::NoClients)?;
        let clients = Clients::of(closed, &self.setup, &self.exchange);
        let (packets, watched) = clients.run(program, &mut self.ledger, whose, astray, trial)?;
        self.packets = packets;
        if !self.setup.is_stopped() {
            trial.caveats.retain(|caveat| *caveat != Caveat::Interrupted);
        }
        Ok(Moved { watched, seen: None, strayed: Strayed::default() })
    }

    /// The packets of a schedule.
    fn move_by_schedule(
        &mut self,
        whose: Whose,
        astray: &AtomicBool,
        trial: &mut Trial,
    ) -> Result<Moved, UdpError> {
        let (input, seed, arrival) = (trial.input, trial.seed, &self.setup.profile.arrival);
        let drops = self.exchange.drops();
        let quotas = Quotas::of_this_process();
        let Exchanged { sent, mut received, strayed, packets, departed, arrived, watched } =
            self.exchange.run(&self.setup, &mut self.ledger, input, seed, whose, astray)?;
        if let Some(stopped_ns) = sent.stopped_ns {
            trial.duration = Duration::from_nanos(stopped_ns.max(1)).min(input.duration);
        }
        let is_alone = self.setup.options.together.as_ref().is_some_and(|together| together.lease.is_over());
        if self.setup.is_stopped() || is_alone && sent.stopped_ns.is_some() {
            trial.caveats.push(Caveat::Interrupted);
        }
        trial.intended = (!arrival.paces_itself()).then_some(sent.intended);
        trial.offered = sent.offered;
        trial.turns = self.exchange.asking.as_ref().and_then(Asking::turns);
        self.send_cost_ns = self.send_cost_ns.into_iter().chain(sent.send_cost_ns).min();
        (self.trains, self.resent) = (sent.trains, sent.resent);
        self.packets = packets;
        let (sampled_lateness, sampled) = received.sample.read();
        let arrivals = if received.unstamped == 0 { Stamp::Kernel } else { Stamp::App };
        let observed = Observed {
            intended: trial.intended,
            offered: sent.offered,
            left: departed.as_ref().map(|departed| (departed, Stamp::App)),
            arrived: arrived.as_ref().map(|spacing| (spacing, arrivals)),
            sampled: Some((&sampled, sampled_lateness)),
            send_cost_ns: self.send_cost_ns,
            ..Observed::default()
        };
        let kept =
            ArrivalFidelity::of(arrival, TrialInput { duration: trial.duration, ..input }, seed, &observed);
        let throttled = Quotas::of_this_process().throttled_since(&quotas);
        let target = self.setup.target.address.ip().to_canonical();
        doubt(trial, &sent, &received, &kept, throttled, target);
        trial.kept = Some(kept);
        trial.refused = sent.refused;
        let intended = sent.intended;
        trial.lateness = Delay::of(sent.lateness);
        if self.setup.is_answered() {
            let now = self.exchange.drops();
            let lost = now.iter().zip(&drops).map(|(now, then)| u64::from(now.wrapping_sub(*then))).sum();
            self.replies.count(self.setup.target.reply, &mut received, &sent.marks, lost, trial);
            if knows_not_which(self.setup.target.reply, &received) && trial.forwarded < trial.offered {
                // Behind one that is missing, each would be taken for another's.
                self.packets = None;
            }
        }
        Ok(Moved { watched, seen: Some((intended, received.seen)), strayed })
    }

    /// Takes what came back after the drain; returns how many of this trial's packets were among it.
    fn take_late(&mut self, whose: Whose, seen: &mut ReceivedSet) -> u64 {
        if !self.setup.is_answered() {
            return 0;
        }
        let mut late = self.exchange.take_late(whose, seen);
        let until = Instant::now() + LATE_ARE_TAKEN;
        let mut came = late.ours;
        // How many come says whether the wait was too short, or a packet strayed.
        while came > 0 && Instant::now() < until && !self.setup.is_stopped() {
            std::thread::sleep(NEXT_LATE);
            let more = self.exchange.take_late(whose, seen);
            came = more.ours;
            late.ours += more.ours;
            late.strays += more.strays;
        }
        self.replies.leave_out(late);
        late.ours
    }

    /// Sleeps, unless the user wants to stop.
    fn rest(&self) {
        let until = Instant::now() + self.setup.profile.drain.rest;
        while !self.setup.is_stopped() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}
