//! One trial's packets out and back: what a measurer's threads work with, trial after trial.

use super::logs::Logs;
use super::setup::Setup;
use super::streams::{StreamSockets, WantedSockets};
use super::threads::{self, Receivers};
use crate::error::UdpError;
use crate::losses::ledger::Ledger;
use crate::means::{ReceiveMeans, SendMeans};
use crate::packet::attribution::{Whose, salt};
use crate::packet::content::Content;
use crate::packet::received_set::ReceivedSet;
use crate::packet::sampling::Sampling;
use crate::packet::stamps::Stamps;
use crate::packet::together::Together;
use crate::packet::trial_state::TrialState;
use crate::placement::cpus::Placement;
use crate::placement::interruptions::Interruptions;
use crate::receive::elsewhere::{Elsewhere, Strayed};
use crate::receive::late::{Late, take_late};
use crate::receive::reading::Reading;
use crate::receive::received::Received;
use crate::send::leaving::BEYOND_A_SOCKET_PPS;
use crate::send::pauses::Pauses;
use crate::send::requests::Asking;
use crate::send::schedule::Schedule;
use crate::send::sender::Task;
use crate::send::sent::Sent;
use crate::send::spread::Spread;
use crate::sys::{ReceiveBatch, allowed_cpus, can_stamp_departures, receive_drops, wait_for_stamps};
use crate::target::Reply;
use dropline_stats::{Cut, Spacing};
use dropline_trial::{Departed, PacketTimes, TargetActivity, TrialInput};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What one measurer moves packets with: its sockets, and what its threads work with.
pub(crate) struct Exchange {
    pub(crate) spread: Spread,
    pub(crate) streams: StreamSockets,
    /// Hears what comes from elsewhere, where anything comes back.
    elsewhere: Elsewhere,
    /// What a reply must be.
    pub(crate) content: Content,
    /// What a service is asked; `None`: the target gets packets that say whose they are.
    pub(crate) asking: Option<Asking>,
    /// Of each receiver.
    batches: Vec<ReceiveBatch>,
    stamps: Stamps,
    /// Packets of the last trial whose stamps are still there.
    noted: u64,
    placement: Placement,
    /// When the sender's CPU does something else: listened to once, where the load is constant.
    interruptions: Option<Interruptions>,
    receive: ReceiveMeans,
    /// Whether the kernel stamps departures when it is asked to.
    pub(crate) stamps_departures: bool,
}

/// What all threads found out.
pub(crate) struct Exchanged {
    pub(crate) sent: Sent,
    pub(crate) received: Received,
    /// What came from elsewhere.
    pub(crate) strayed: Strayed,
    /// The times of each packet, where they are kept.
    pub(crate) packets: Option<PacketTimes>,
    /// Departures in their order; `None` if several senders had them and the packets were not all kept.
    pub(crate) departed: Option<Departed>,
    /// Arrivals of replies in their order; as above.
    pub(crate) arrived: Option<Spacing>,
    /// What the target did meanwhile, where it is watched.
    pub(crate) watched: Option<TargetActivity>,
}

/// From the call to the first departure: the senders' threads start meanwhile.
const LEAD: Duration = Duration::from_millis(2);
/// More packets than this are not expected, whatever the load says.
const MOST_EXPECTED: f64 = 1e9;
/// Packets whose times are remembered for their reply; 16 MiB.
const STAMPED: usize = 1 << 20;
/// What is kept of a reply at least: more than any message of ours needs.
const KEPT_BYTES: usize = 64;

impl Exchange {
    /// Opens the sockets, and listens to the sender's CPU.
    ///
    /// # Errors
    /// If the streams cannot be had as they were asked for, or the system does not give the sockets.
    pub(crate) fn open(setup: &Setup) -> Result<Self, UdpError> {
        let (profile, options) = (&setup.profile, &setup.options);
        let spread = Spread::new(&profile.streams).ok_or(UdpError::Streams)?;
        let (senders, receivers) = setup.threads()?;
        let receive = options.means.receive.or_for(allowed_cpus().len());
        let trains = receive == ReceiveMeans::Gro;
        let asking = match setup.target.reply {
            Reply::Service(_) if !spread.is_even() => return Err(UdpError::UnevenStreams),
            Reply::Service(service) => {
                Some(Asking::new(service, salt(), &profile.arrival, options.asked_below))
            }
            Reply::Echo | Reply::Any | Reply::None => None,
        };
        let wanted = WantedSockets {
            service: setup.service(),
            streams: profile.streams.len(),
            payload: profile.packet.payload_bytes(),
            receive_buffer_bytes: options.receive_buffer_bytes,
            sources: &options.sources,
            targets: &options.targets,
            trains,
        };
        let streams = StreamSockets::open(setup.target.address, &wanted)?;
        if streams.stamped {
            wait_for_stamps();
        }
        let content = Content::of(setup.target.reply, profile.packet.payload_bytes());
        let batch = || match trains {
            true => ReceiveBatch::with_trains(),
            false => ReceiveBatch::with_stamps(kept_bytes(setup, &content)),
        };
        let elsewhere = match setup.is_answered() {
            true => Elsewhere::beside(&streams.sockets),
            false => Elsewhere::default(),
        };
        let placement = Placement::new(&options.means.cpus, options.means.priority, senders);
        Ok(Self {
            spread,
            batches: (0..receivers).map(|_| batch()).collect(),
            content,
            asking,
            stamps: Stamps::new(STAMPED),
            noted: 0,
            interruptions: profile.arrival.is_constant().then(|| placement.listen()).flatten(),
            placement,
            receive,
            stamps_departures: streams.stamped && can_stamp_departures(),
            elsewhere,
            streams,
        })
    }

    /// The first of its sockets.
    pub(crate) fn socket(&self) -> &UdpSocket {
        &self.streams.sockets[0]
    }

    /// What the reply sockets had no room for since they were opened.
    pub(crate) fn drops(&self) -> Vec<u32> {
        self.streams.sockets.iter().map(|socket| receive_drops(socket).unwrap_or(0)).collect()
    }

    /// Takes what came back after the drain.
    pub(crate) fn take_late(&mut self, whose: Whose, seen: &mut ReceivedSet) -> Late {
        let Self { asking, content, spread, streams, batches, .. } = self;
        let reading = reading(asking.as_ref(), whose, content, spread);
        let sent_below = asking.as_ref().map_or(u64::MAX, Asking::asked);
        take_late(&streams.sockets, &mut batches[0], reading, sent_below, seen)
    }

    /// In words: how packets are sent and received, by whom, and why so.
    ///
    /// # Errors
    /// If they cannot be sent the way that was told.
    pub(crate) fn means(&mut self, setup: &Setup) -> Result<String, UdpError> {
        let means = &setup.options.means;
        let slow = self.streams.prepare(means.send, 1.0)?;
        let fast = self.streams.prepare(means.send, f64::MAX)?;
        let mut leaving = slow.to_string();
        if fast != slow {
            leaving.push_str(&format!(", beyond {BEYOND_A_SOCKET_PPS} pps {fast}"));
        }
        let threads =
            |count: Option<usize>| count.filter(|&count| count > 1).map(|count| format!("{count} × "));
        let stamps = match (self.streams.stamped, self.stamps_departures) {
            (true, true) => "kernel stamps of all arrivals and a sample of departures",
            (true, false) => "kernel stamps of all arrivals",
            _ => "no kernel stamps",
        };
        Ok(format!(
            "sends by {}{leaving}, receives by {}{}; {}; {stamps}",
            threads(means.senders).unwrap_or_default(),
            threads(means.receivers).unwrap_or_default(),
            self.receive,
            self.placement,
        ))
    }

    /// Packets out, packets back, until all are through or `astray` is set; all threads have ended when this returns.
    pub(crate) fn run(
        &mut self,
        setup: &Setup,
        ledger: &mut Ledger,
        input: TrialInput,
        seed: u64,
        whose: Whose,
        astray: &AtomicBool,
    ) -> Result<Exchanged, UdpError> {
        let send = self.streams.prepare(setup.options.means.send, input.load.as_pps())?.means;
        self.stamps.forget(self.noted);
        self.noted = STAMPED as u64;
        let echo = setup.is_answered();
        let (senders, receivers) = setup.threads()?;
        let duration_ns = input.duration.as_nanos() as u64;
        let cut = Cut::of(duration_ns, setup.options.slices);
        let expected = expected(input);
        let room = setup.options.keep_packets.map(|most| most.min(expected as usize));
        let mut logs = Logs::new(senders, receivers, room, echo);
        let (left, back) = logs.parts();

        self.elsewhere.clear();
        if let Some(asking) = &mut self.asking {
            asking.next_trial(setup.profile.streams.len());
        }
        let asking = self.asking.as_ref();
        let (sockets, exits, queues) = self.streams.exits(send);
        let of_sender = sockets.len().div_ceil(senders);
        let sender_of: Vec<usize> = (0..sockets.len()).map(|stream| stream / of_sender).collect();
        let receivers = Receivers {
            reading: reading(asking, whose, &self.content, &self.spread),
            cut,
            expected: if echo { expected } else { 0 },
            means: self.receive,
            one_way: !echo,
        };
        let receiving = receivers.of(sockets, &sender_of, &mut self.batches, back);
        let receiving = receiving.map_err(|error| setup.meaning(error, 0))?;
        // Frames pass by where a socket's packets are stamped.
        let stamped = self.stamps_departures && send != SendMeans::Packet;
        let task = Task {
            tag: whose.tag(),
            reply_wanted: echo,
            requests: asking.map(|asking| asking.requests(&self.spread)),
            end_ns: duration_ns,
            give_up_ns: duration_ns + grace(input.duration).as_nanos() as u64,
            pauses: Pauses::of(input),
            cut,
            sampling: if stamped { Sampling::of(input.load.as_pps()) } else { Sampling::none() },
            placement: &self.placement,
        };
        let sending = threads::senders(task, &self.spread, exits, queues, left);
        let schedules = || Schedule::new(setup.profile.arrival.departures(input, seed));
        let sending: Vec<_> = sending.into_iter().map(|sender| (sender, schedules())).collect();

        let together = setup.options.together.as_ref();
        let epoch = start(together, self.interruptions.as_ref(), input)?;
        let (progress, clock_step) = (setup.progress.as_deref(), setup.options.clock_step);
        let flight = TrialState::new(epoch, sending.len(), &self.stamps, &setup.stop, progress, clock_step);
        let flight = flight.until(astray).leased(together.map(|together| &*together.lease));
        let drain = echo.then_some(setup.profile.drain);
        let move_packets = || threads::run(sending, receiving, &self.placement, &flight, duration_ns, drain);
        let (moved, watched) =
            ledger.watch_while(progress, epoch, &|bytes| flight.set_held(bytes), move_packets);
        let had_their_turn = flight.last_index();
        if let Some(asking) = &mut self.asking {
            asking.had_their_turn(had_their_turn);
        }
        let (mut sent, received) = moved?;
        if let (Some(together), Some(late_ns)) = (together, sent.first_late_ns) {
            together.starter.left(Duration::from_nanos(late_ns));
        }
        let received = through(setup, &flight, &mut sent, received)?;
        let reading = reading(self.asking.as_ref(), whose, &self.content, &self.spread);
        let strayed = self.elsewhere.take(reading, had_their_turn, &received.seen);
        let (packets, departed, arrived) = logs.together();
        let arrived = arrived.filter(|_| echo);
        Ok(Exchanged { sent, received, strayed, packets, departed, arrived, watched })
    }
}

/// When the trial starts: when all agents are ready, or where the sender's CPU is soon left alone.
fn start(
    together: Option<&Together>,
    interruptions: Option<&Interruptions>,
    input: TrialInput,
) -> Result<Instant, UdpError> {
    match together {
        Some(together) => together.starter.ready().ok_or(UdpError::Interrupted),
        None => {
            let soon = Instant::now() + LEAD;
            Ok(interruptions.map_or(soon, |heard| heard.best_start(soon, input.load)))
        }
    }
}

/// What came back, where the trial could be performed: loss is a result, and what kept it from being one is an error.
fn through(
    setup: &Setup,
    flight: &TrialState<'_>,
    sent: &mut Sent,
    received: io::Result<Received>,
) -> Result<Received, UdpError> {
    if flight.is_stopped() && sent.offered == 0 {
        return Err(UdpError::Interrupted);
    }
    let received = match (sent.error.take(), received) {
        (Some(error), _) | (None, Err(error)) => return Err(setup.meaning(error, sent.offered)),
        (None, Ok(received)) => received,
    };
    let nothing_came = received.forwarded + received.different.iter().sum::<u64>() == 0;
    match flight.nobody() {
        Some(error) if nothing_came && !flight.is_stopped() => Err(setup.meaning(error, sent.offered)),
        _ => Ok(received),
    }
}

/// How replies are read.
fn reading<'a>(
    asking: Option<&'a Asking>,
    whose: Whose,
    content: &'a Content,
    spread: &'a Spread,
) -> Reading<'a> {
    match asking {
        Some(asking) => Reading::Service(asking.requests(spread)),
        None => Reading::Echo { whose, content, spread },
    }
}

/// Bytes of a reply that must be seen to judge it: of a service's, one more than it may have.
fn kept_bytes(setup: &Setup, content: &Content) -> usize {
    let longest = setup.service().map_or_else(|| content.kept_bytes(), |service| service.longest_reply() + 1);
    longest.max(KEPT_BYTES)
}

/// Packets that there is room for: a little more than the load asks for.
fn expected(input: TrialInput) -> u64 {
    (input.load.as_pps() * input.duration.as_secs_f64() * 1.05).min(MOST_EXPECTED) as u64 + 10_000
}

/// How long after the end of the schedule the sender goes on before it gives up.
pub(crate) fn grace(duration: Duration) -> Duration {
    (duration / 100).max(Duration::from_millis(25))
}
