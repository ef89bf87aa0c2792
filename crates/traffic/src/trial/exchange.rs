//! One trial's packets out and back: the threads, and what they found out, put together.

use super::options::MeasurerOptions;
use super::streams::StreamSockets;
use crate::error::UdpError;
use crate::losses::evidence::Evidence;
use crate::means::{ReceiveMeans, SendMeans};
use crate::packet::attribution::Whose;
use crate::packet::content::Content;
use crate::packet::flight::Flight;
use crate::packet::sampling::Sampling;
use crate::packet::stamps::Stamps;
use crate::placement::cpus::Placement;
use crate::placement::interruptions::Interruptions;
use crate::progress::Progress;
use crate::receive::received::Received;
use crate::receive::receiver::{Receiver, Tools};
use crate::send::lane::Lane;
use crate::send::pauses::Pauses;
use crate::send::schedule::Schedule;
use crate::send::sender::Sender;
use crate::send::sent::Sent;
use crate::send::spread::Spread;
use crate::sys::ReceiveBatch;
use crate::target::{Reply, UdpTarget};
use dropline_stats::{Cut, Spacing};
use dropline_trial::{Departed, PacketTimes, TrafficProfile, TrialInput, Watched};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// What one trial moves its packets with.
pub(crate) struct Exchange<'a> {
    pub(crate) target: UdpTarget,
    pub(crate) profile: &'a TrafficProfile,
    pub(crate) options: &'a MeasurerOptions,
    pub(crate) spread: &'a Spread,
    pub(crate) ways: &'a mut StreamSockets,
    pub(crate) batches: &'a mut [ReceiveBatch],
    pub(crate) stamps: &'a Stamps,
    pub(crate) placement: &'a Placement,
    /// Of the sender's CPU, where the load is constant.
    pub(crate) interruptions: Option<&'a Interruptions>,
    /// What a reply must be.
    pub(crate) content: &'a Content,
    pub(crate) receive: ReceiveMeans,
    pub(crate) send: SendMeans,
    pub(crate) stamps_departures: bool,
    pub(crate) evidence: Option<&'a mut Evidence>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: Option<&'a Progress>,
}

/// What all threads found out.
pub(crate) struct Exchanged {
    pub(crate) sent: Sent,
    pub(crate) received: Received,
    /// The times of each packet, where they are kept.
    pub(crate) packets: Option<PacketTimes>,
    /// Departures in their order; `None` if several senders had them and the packets were not all kept.
    pub(crate) departed: Option<Departed>,
    /// Arrivals of replies in their order; as above.
    pub(crate) arrived: Option<Spacing>,
    /// What the target did meanwhile, where it is watched.
    pub(crate) watched: Option<Watched>,
}

/// From the call to the first departure: the senders' threads start meanwhile.
const LEAD: Duration = Duration::from_millis(2);
/// More packets than this are not expected, whatever the load says.
const MOST_EXPECTED: f64 = 1e9;

impl Exchange<'_> {
    /// Packets out, packets back; all threads have ended when this returns.
    pub(crate) fn run(self, input: TrialInput, seed: u64, whose: Whose) -> Result<Exchanged, UdpError> {
        let echo = self.target.reply != Reply::None;
        let (target, payload) = (self.target.address, self.profile.packet.payload_bytes());
        let meaning = |error, sent| UdpError::of_socket(error, target, sent, payload);
        let duration_ns = input.duration.as_nanos() as u64;
        let cut = Cut::of(duration_ns, self.options.slices);
        let streams = self.profile.streams.len();
        let senders = self.options.means.senders.unwrap_or(1);
        let receivers = self.batches.len();
        let of_sender = streams.div_ceil(senders);
        let sender_of: Vec<usize> = (0..streams).map(|stream| stream / of_sender).collect();
        let expected =
            (input.load.as_pps() * input.duration.as_secs_f64() * 1.05).min(MOST_EXPECTED) as u64 + 10_000;
        let room = self.options.keep_packets.map(|most| most.min(expected as usize));
        let mut logs: Vec<Option<PacketTimes>> = (0..senders.max(receivers))
            .map(|_| room.map(|room| PacketTimes::with_room(room, echo)))
            .collect();
        let mut departed: Vec<Departed> = (0..senders).map(|_| Departed::new()).collect();
        let mut arrived: Vec<Spacing> = (0..receivers).map(|_| Spacing::new()).collect();
        let (mut departures, mut returns) = (Vec::new(), Vec::new());
        for log in &mut logs {
            let log = log.as_mut();
            let (left, back) =
                log.map_or((None, None), |log| (Some(&mut log.departures), log.returns.as_mut()));
            departures.push(left);
            returns.push(back);
        }

        let (sockets, exits, lanes) = self.ways.exits(self.send);
        let mut receiving = Vec::with_capacity(receivers);
        let parts =
            sockets.chunks(streams.div_ceil(receivers)).zip(sender_of.chunks(streams.div_ceil(receivers)));
        for (((part, batch), log), arrived) in
            parts.zip(&mut *self.batches).zip(returns.drain(..)).zip(&mut arrived)
        {
            let content = self.content;
            let tools =
                Tools { batch, log, arrived, content, cut, expected: if echo { expected } else { 0 } };
            let mut receiver = Receiver::new(part.0, part.1, tools, whose, self.receive, !echo);
            receiver.clear_backlog().map_err(|error| meaning(error, 0))?;
            receiving.push(receiver);
        }
        let template = Template {
            tag: whose.tag(),
            echo,
            duration_ns,
            give_up_ns: duration_ns + grace(input.duration).as_nanos() as u64,
            pauses: Pauses::of(input),
            cut,
            sampling: match self.stamps_departures {
                true => Sampling::of(input.load.as_pps()),
                false => Sampling::none(),
            },
        };
        let mut sending = template.senders(self.spread, self.placement, exits, lanes, of_sender);
        for ((sender, log), departed) in sending.iter_mut().zip(departures).zip(&mut departed) {
            sender.log = log;
            sender.departed = Some(departed);
        }
        let schedules: Vec<Schedule> =
            (0..sending.len()).map(|_| Schedule::new(self.profile.arrival.departures(input, seed))).collect();
        let soon = Instant::now() + LEAD;
        let epoch = self.interruptions.map_or(soon, |heard| heard.best_start(soon, input.load));
        let flight =
            Flight::new(epoch, sending.len(), self.stamps, self.stop, self.progress, self.options.clock_step);
        let drain = echo.then_some(self.profile.drain);
        let move_packets = || {
            std::thread::scope(|scope| {
                let mut threads: Vec<ScopedJoinHandle<'_, Sent>> = Vec::new();
                for (sender, schedule) in sending.into_iter().zip(schedules) {
                    let flight = &flight;
                    let started = Builder::new()
                        .name("sender".into())
                        .spawn_scoped(scope, move || sender.run(schedule, flight))
                        .inspect_err(|_| flight.halt())
                        .map_err(UdpError::system("starting a thread"))?;
                    threads.push(started);
                }
                let received = receive(receiving, self.placement, &flight, duration_ns, drain)?;
                let mut sent = threads.into_iter().map(join);
                let mut all = sent.next().expect("there is at least one sender");
                sent.for_each(|other| all.merge(other));
                Ok((all, received))
            })
        };
        let (moved, watched) = match self.evidence {
            Some(evidence) => evidence.watch_while(self.progress, epoch, move_packets),
            None => (move_packets(), None),
        };
        let (sent, received) = moved?;
        if self.stop.load(Ordering::Relaxed) && sent.offered == 0 {
            return Err(UdpError::Interrupted);
        }
        let received = match (sent.error, received) {
            (Some(error), _) | (None, Err(error)) => return Err(meaning(error, sent.offered)),
            (None, Ok(received)) => received,
        };
        let packets = merged(logs);
        let one_sender = senders == 1;
        let departed = if one_sender { departed.pop() } else { packets.as_ref().and_then(departed_of) };
        let arrived = if receivers == 1 { arrived.pop() } else { packets.as_ref().and_then(arrived_of) };
        let arrived = arrived.filter(|_| echo);
        Ok(Exchanged { sent: Sent { error: None, ..sent }, received, packets, departed, arrived, watched })
    }
}

/// How long after the end of the schedule the sender goes on before it gives up.
pub(crate) fn grace(duration: Duration) -> Duration {
    (duration / 100).max(Duration::from_millis(25))
}

/// What all senders of a trial have in common.
struct Template {
    tag: dropline_payload::Tag,
    echo: bool,
    duration_ns: u64,
    give_up_ns: u64,
    pauses: Pauses,
    cut: Cut,
    sampling: Sampling,
}

impl Template {
    /// One sender for every `each` streams.
    fn senders<'a>(
        &self,
        spread: &'a Spread,
        placement: &'a Placement,
        mut exits: Vec<crate::sys::Exit<'a>>,
        lanes: &'a mut [Lane],
        each: usize,
    ) -> Vec<Sender<'a>> {
        let mut begin = 0;
        lanes
            .chunks_mut(each)
            .enumerate()
            .map(|(number, lanes)| {
                let streams = begin..begin + lanes.len();
                begin = streams.end;
                Sender {
                    number,
                    streams,
                    exits: exits.drain(..lanes.len()).collect(),
                    lanes,
                    turns: spread.turns(),
                    placement,
                    tag: self.tag,
                    reply_wanted: self.echo,
                    end_ns: self.duration_ns,
                    give_up_ns: self.give_up_ns,
                    pauses: self.pauses,
                    cut: self.cut,
                    sampling: self.sampling,
                    log: None,
                    departed: None,
                }
            })
            .collect()
    }
}

/// Receives with one thread each, the first of them this one.
fn receive(
    receiving: Vec<Receiver<'_>>,
    placement: &Placement,
    flight: &Flight<'_>,
    end_ns: u64,
    drain: Option<dropline_trial::Drain>,
) -> Result<io::Result<Received>, UdpError> {
    std::thread::scope(|scope| {
        let run = |number, receiver: Receiver<'_>| {
            let _settled = placement.settle_receiver(number);
            receiver.run(flight, end_ns, drain)
        };
        let mut receiving = receiving.into_iter().enumerate();
        let (_, first) = receiving.next().expect("there is at least one receiver");
        let mut others = Vec::new();
        for (number, receiver) in receiving {
            let started = Builder::new()
                .name("receiver".into())
                .spawn_scoped(scope, move || run(number, receiver))
                .inspect_err(|_| flight.halt())
                .map_err(UdpError::system("starting a thread"))?;
            others.push(started);
        }
        let mut all = run(0, first);
        for other in others {
            match (&mut all, join(other)) {
                (Ok(all), Ok(other)) => all.merge(other),
                (Ok(_), Err(error)) => all = Err(error),
                (Err(_), _) => {}
            }
        }
        Ok(all)
    })
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The times that each thread kept, put together.
fn merged(logs: Vec<Option<PacketTimes>>) -> Option<PacketTimes> {
    let mut logs = logs.into_iter().flatten();
    let mut all = logs.next()?;
    logs.for_each(|log| all.merge(&log));
    Some(all)
}

/// All departures of several senders in their order, if all were kept.
fn departed_of(packets: &PacketTimes) -> Option<Departed> {
    let mut left: Vec<(u64, u64)> =
        packets.iter().filter_map(|packet| Some((packet.left_ns?, packet.due_ns))).collect();
    left.sort_unstable();
    let mut departed = Departed::new();
    left.into_iter().for_each(|(left, due)| departed.packet(due, left));
    (packets.left_out() == 0).then_some(departed)
}

fn arrived_of(packets: &PacketTimes) -> Option<Spacing> {
    let mut back: Vec<u64> = packets.iter().filter_map(|packet| packet.back_ns).collect();
    back.sort_unstable();
    let mut arrived = Spacing::new();
    back.into_iter().for_each(|at| arrived.event(at));
    (packets.left_out() == 0).then_some(arrived)
}
