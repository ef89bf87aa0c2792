//! One client of many, in a process of its own: it sends, thinks, and says at its end what it did.

use super::plan::{ClientError, ClientPace, ClientPlan, ClientReply};
use super::report::{ClientPacket, ClientReport};
use crate::packet::clock_join::ClockJoin;
use crate::packet::content::{Content, Difference};
use crate::packet::frame::Head;
use crate::packet::sampling::Sampling;
use crate::sockets::connection::Sources;
use crate::sockets::leash::Leash;
use crate::sys::{
    Exit, Queued, ReceiveBatch, SendBatch, end_with_parent, errno_name, hear_queued, monotonic_ns,
    receive_drops, report_refusals, sharpen_sleep, sleep_for, sleep_until_ns, stamp_packets, wait_and_hear,
};
use crate::target::Reply;
use dropline_payload::{HEADER_BYTES, Message, Tag, Verdict};
use dropline_trial::{Arrival, Rate, Think, TrialInput, seed};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest wait for a reply; then it counts as lost and the client goes on.
const PATIENCE: Duration = Duration::from_millis(500);
/// After its end a client listens for late replies as long.
const DRAIN: Duration = Duration::from_millis(100);
/// Of one that cannot send at all no more than this many tries are made.
const HOPELESS: u64 = 1000;
/// Packets that all clients together have room for before one of them needs more.
const ROOM: usize = 1 << 24;
/// A client's share of it at most: a minute of what one process can send.
const MOST_ROOM: usize = 1 << 18;

impl ClientPlan {
    /// Runs to its end, or until it is asked to `stop`. Writes what was done to `out`.
    ///
    /// # Errors
    /// If it cannot run as planned.
    pub fn run(&self, out: &mut impl Write, stop: &AtomicBool) -> Result<(), ClientError> {
        end_with_parent();
        let mut client = Client::new(self, stop)?;
        self.seat.take()?;
        client.report.late_ns = monotonic_ns().saturating_sub(self.from_ns);
        sleep_until_ns(self.from_ns);
        match &self.pace {
            ClientPace::Schedule(arrival, load) => client.follow(arrival, *load),
            ClientPace::Think(think) => client.think(*think, Duration::ZERO),
            ClientPace::TickAfter { period, offset } => client.think(Think::Tick(*period), *offset),
        }
        client.close().write(out)?;
        Ok(())
    }
}

struct Client<'a> {
    plan: &'a ClientPlan,
    stop: &'a AtomicBool,
    /// What a reply must be.
    content: Content,
    /// Packets that came back otherwise, and how; of whole ones a good copy may come too.
    different: BTreeMap<u64, Difference>,
    /// Replies of which nobody can tell whose they are: cut before that, and changed there.
    unknown: [u64; Difference::KINDS],
    sockets: [UdpSocket; 1],
    packet: SendBatch,
    replies: ReceiveBatch,
    sampling: Sampling,
    join: ClockJoin,
    report: ClientReport,
}

/// What a client knows of a packet before it sends it.
#[derive(Clone, Copy, Default)]
struct Wish {
    asked_ns: Option<u64>,
    due_ns: Option<u64>,
}

impl<'a> Client<'a> {
    fn new(plan: &'a ClientPlan, stop: &'a AtomicBool) -> Result<Self, ClientError> {
        let leash = Leash::towards(plan.target)?;
        let socket = UdpSocket::bind(leash.source(Sources::default().of_stream(0, plan.target)))?;
        leash.hold(&socket, plan.target)?;
        socket.set_nonblocking(true)?;
        report_refusals(&socket)?;
        // Where the kernel takes no stamps, times are those of the program.
        let is_stamped = plan.stamped && stamp_packets(&socket).is_ok();
        let room = (ROOM / plan.clients as usize).min(MOST_ROOM);
        let report = ClientReport { packets: Vec::with_capacity(room), ..ClientReport::default() };
        let content = Content::of(if plan.same { Reply::Echo } else { Reply::Any }, plan.payload);
        Ok(Self {
            plan,
            stop,
            different: BTreeMap::new(),
            unknown: [0; Difference::KINDS],
            sockets: [socket],
            packet: SendBatch::new(plan.payload as usize, 1, Head::default()),
            replies: ReceiveBatch::with_stamps(content.kept_bytes().max(HEADER_BYTES)),
            content,
            // Of one in 32: a client does not know how often it will send.
            sampling: if is_stamped { Sampling::of(1.0) } else { Sampling::none() },
            join: ClockJoin::default(),
            report,
        })
    }

    /// Sends until the end, thinking before each packet.
    fn think(&mut self, think: Think, offset: Duration) {
        let mut chance = seed::uniforms(seed::of_trial(self.plan.seed, u64::from(self.plan.number) + 1));
        let offset_ns = offset.as_nanos() as u64;
        loop {
            let wish = match think {
                Think::Yield => {
                    std::thread::yield_now();
                    Wish::default()
                }
                Think::Fixed(length) => sleep(length),
                Think::Exponential(mean) => {
                    // −ln(1 − random()): the logarithm of 0 is never asked for.
                    let uniform = chance.next().unwrap_or(0.5);
                    sleep(mean.mul_f64(-f64::ln(1.0 - uniform)))
                }
                Think::Tick(period) => {
                    let period_ns = period.as_nanos().max(1) as u64;
                    let ticks = monotonic_ns().saturating_sub(offset_ns) / period_ns + 1;
                    let due_ns = ticks * period_ns + offset_ns;
                    sleep_until_ns(due_ns);
                    Wish { due_ns: Some(due_ns), ..Wish::default() }
                }
            };
            if monotonic_ns() >= self.plan.until_ns || self.is_over() {
                return;
            }
            self.send(wish);
        }
    }

    /// Sends each packet of a schedule when it is due, or as soon after as can be.
    fn follow(&mut self, arrival: &Arrival, load: Rate) {
        sharpen_sleep();
        let duration = Duration::from_nanos(self.plan.until_ns.saturating_sub(self.plan.from_ns));
        for due in arrival.departures(TrialInput { load, duration }, self.plan.seed) {
            let due = self.plan.from_ns + due;
            while monotonic_ns() < due && !self.is_over() {
                sleep_until_ns(due);
            }
            if self.is_over() {
                return;
            }
            self.send(Wish { due_ns: Some(due), ..Wish::default() });
        }
    }

    fn send(&mut self, wish: Wish) {
        let ClientPlan { tag, number, clients, reply, .. } = *self.plan;
        let sent = self.report.packets.len();
        let index = u64::from(number) + sent as u64 * u64::from(clients);
        let message = Message::Packet { tag: Tag(tag), index, reply_wanted: reply != ClientReply::None };
        let asked = self.sampling.asks(index).map(|_| sent as u32);
        self.packet.clear();
        self.packet.push(message.header(), asked);
        let Wish { asked_ns, due_ns } = wish;
        let left_ns = monotonic_ns();
        match self.packet.send(&Exit::Each(&self.sockets[0]), 0) {
            Ok(_) => self.report.packets.push(ClientPacket { asked_ns, due_ns, left_ns, back_ns: None }),
            Err(refused) => {
                *self.report.refused.entry(errno_name(&refused.error)).or_default() += 1;
                self.hear();
                return;
            }
        }
        if asked.is_some() {
            self.hear();
        }
        match reply {
            ClientReply::None => {}
            ClientReply::Counted => self.receive(),
            ClientReply::Awaited => self.await_reply(sent, left_ns + PATIENCE.as_nanos() as u64),
        }
    }

    fn await_reply(&mut self, sent: usize, until_ns: u64) {
        let differing = self.differing();
        loop {
            self.receive();
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            // A reply that is no good one is a reply: another is not waited for.
            let is_back = self.report.packets[sent].back_ns.is_some() || self.differing() > differing;
            if is_back || left_ns == 0 {
                return;
            }
            self.wait(Duration::from_nanos(left_ns));
        }
    }

    /// Sleeps until something is there.
    fn wait(&mut self, longest: Duration) {
        let (join, report) = (&mut self.join, &mut self.report);
        if let Err(error) = wait_and_hear(&self.sockets, longest, |_, queued| report.hear(queued, join)) {
            report.gone(&error);
        }
    }

    /// Takes what waits in the error queue.
    fn hear(&mut self) {
        let (join, report) = (&mut self.join, &mut self.report);
        if let Err(error) = hear_queued(&self.sockets[0], |queued| report.hear(queued, join)) {
            report.gone(&error);
        }
    }

    /// Takes the replies that are there.
    fn receive(&mut self) {
        loop {
            let count = match self.replies.receive(&self.sockets[0]) {
                Ok(count) => count,
                Err(error) => return self.report.gone(&error),
            };
            let now = observe(&mut self.join);
            for at in 0..count {
                self.judge(at, now);
            }
        }
    }

    fn judge(&mut self, at: usize, now: u64) {
        let ClientPlan { tag, number, clients, .. } = *self.plan;
        let compares = self.content.compares();
        let (index, difference) = match Verdict::of_one(self.replies.packet(at), Tag(tag)) {
            Verdict::Ours { index } => (Some(index), self.content.difference(self.replies.packet(at))),
            Verdict::Cut if compares => (None, Some(Difference::Truncated)),
            Verdict::Changed { index } if compares => (index, Some(Difference::Changed)),
            _ => (None, None),
        };
        let own = index.filter(|index| index % u64::from(clients) == u64::from(number));
        if let Some(difference) = difference {
            self.report.different[difference as usize] += 1;
        }
        match (own, difference) {
            (Some(own), Some(difference)) => {
                self.different.insert(own / u64::from(clients), difference);
                return;
            }
            (None, Some(difference)) => {
                self.unknown[difference as usize] += 1;
                return;
            }
            (_, None) => {}
        }
        let packets = &mut self.report.packets;
        let Some(packet) = own.and_then(|own| packets.get_mut((own / u64::from(clients)) as usize)) else {
            self.report.foreign += 1;
            return;
        };
        if packet.back_ns.is_some() {
            self.report.duplicated += 1;
            return;
        }
        let stamp = self.replies.stamp(at).and_then(|stamp| self.join.trial_ns(stamp, packet.left_ns, now));
        packet.back_ns = Some(stamp.unwrap_or(now));
        self.report.stamped += u64::from(stamp.is_some());
    }

    /// Waits for what is still on its way; what was done.
    fn close(mut self) -> ClientReport {
        let until_ns = monotonic_ns() + DRAIN.as_nanos() as u64;
        while self.plan.reply != ClientReply::None {
            self.receive();
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            if left_ns == 0
                || self.stop.load(Ordering::Relaxed)
                || self.report.packets.iter().all(|packet| packet.back_ns.is_some())
            {
                break;
            }
            self.wait(Duration::from_nanos(left_ns));
        }
        self.hear();
        self.count_differences();
        self.report.dropped = receive_drops(&self.sockets[0]).map_or(0, u64::from);
        self.report.clock_steps = [self.join.steps, self.join.largest_step_ns];
        self.report
    }

    /// Replies so far that are not what was sent.
    fn differing(&self) -> u64 {
        self.different.len() as u64 + self.unknown.iter().sum::<u64>()
    }

    /// Packets of which no good copy came; of replies that nobody can place, no more than are missing.
    fn count_differences(&mut self) {
        let packets = &self.report.packets;
        let lost = |at: u64| packets.get(at as usize).is_some_and(|packet| packet.back_ns.is_none());
        let mut missing = packets.iter().filter(|packet| packet.back_ns.is_none()).count() as u64;
        let mut counts = [0; Difference::KINDS];
        for (_, difference) in self.different.iter().filter(|(at, _)| lost(**at)) {
            counts[*difference as usize] += 1;
            missing -= 1;
        }
        for (count, unknown) in counts.iter_mut().zip(self.unknown) {
            let more = unknown.min(missing);
            (*count, missing) = (*count + more, missing - more);
        }
        self.report.otherwise = counts;
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.is_hopeless()
    }

    fn is_hopeless(&self) -> bool {
        self.report.packets.is_empty() && self.report.refused.values().sum::<u64>() >= HOPELESS
    }
}

impl ClientReport {
    /// Takes the kernel's stamp of a departure.
    fn hear(&mut self, queued: Queued, join: &mut ClockJoin) {
        let Queued::Left { number, stamp_ns } = queued else { return };
        let now = observe(join);
        let Some(packet) = self.packets.get(number as usize) else { return };
        if let Some(left_ns) = join.trial_ns(stamp_ns, packet.left_ns, now) {
            self.sampled.record(left_ns.saturating_sub(packet.due_ns.unwrap_or(packet.left_ns)));
        }
    }

    /// An error of a socket, if it says that the target is gone.
    fn gone(&mut self, error: &io::Error) {
        if crate::error::ends_trial(error) && error.raw_os_error() != Some(libc::EMSGSIZE) {
            self.gone_ns.get_or_insert_with(monotonic_ns);
            *self.gone.entry(errno_name(error)).or_default() += 1;
        }
    }
}

/// Reads both clocks; now by the one that nobody sets.
fn observe(join: &mut ClockJoin) -> u64 {
    let now = monotonic_ns();
    let real = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
    join.observe(now, real, monotonic_ns());
    now
}

fn sleep(length: Duration) -> Wish {
    let length_ns = length.as_nanos() as u64;
    let due_ns = monotonic_ns() + length_ns;
    sleep_for(length);
    Wish { asked_ns: Some(length_ns), due_ns: Some(due_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::affinity::Seat;

    /// What a client of one packet a millisecond says that sends for so long.
    fn ran(
        responder: &crate::responder::running::RunningResponder,
        reply: ClientReply,
        milliseconds: u64,
    ) -> ClientReport {
        let plan = ClientPlan {
            target: responder.address(),
            tag: 77,
            number: 3,
            clients: 64,
            payload: 16,
            pace: ClientPace::Think(Think::Fixed(Duration::from_millis(1))),
            reply,
            same: true,
            stamped: true,
            seed: 7,
            from_ns: 1_000,
            until_ns: monotonic_ns() + milliseconds * 1_000_000,
            seat: Seat::default(),
        };
        let mut bytes = Vec::new();
        plan.run(&mut bytes, &AtomicBool::new(false)).unwrap();
        ClientReport::read(&bytes).unwrap()
    }

    #[test]
    fn a_client_knows_of_each_packet_when_it_was_due_left_and_came_back() {
        let responder = crate::responder::settings::Responder::default().start().unwrap();
        for reply in [ClientReply::Awaited, ClientReply::Counted] {
            // A client that gets no CPU before its time is over has nothing to say: then it gets more time.
            let report = (1..=20)
                .map(|attempt| ran(&responder, reply, 50 * attempt))
                .find(|report| !report.packets.is_empty())
                .expect("a client that gets a second sends something");
            for packet in &report.packets {
                let (due_ns, back_ns) = (packet.due_ns.unwrap(), packet.back_ns.expect("was answered"));
                assert_eq!(packet.asked_ns, Some(1_000_000));
                assert!(due_ns <= packet.left_ns && packet.left_ns <= back_ns, "{packet:?}");
            }
            assert_eq!(report.forwarded(), report.packets.len() as u64);
            assert_eq!((report.duplicated, report.foreign, report.dropped), (0, 0, 0));
            if reply == ClientReply::Awaited {
                let alone = report.packets.windows(2).all(|pair| pair[0].back_ns.unwrap() <= pair[1].left_ns);
                assert!(alone, "one packet is on its way at a time");
            }
        }
    }
}
