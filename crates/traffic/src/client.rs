//! One client of many, in a process of its own: it sends, thinks, and says at its end what it did.

use crate::seat::{Seat, SeatError};
use crate::sys::{end_with_parent, errno_name, monotonic_ns, sharpen_sleep, sleep_for, sleep_until_ns};
use dropline_payload::{HEADER_BYTES, Message, Tag, filler, message::decode};
use dropline_stats::Histogram;
use dropline_trial::{Arrival, Rate, Think, TrialInput, seed};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{SocketAddr, UdpSocket};
use std::str::FromStr;
use std::time::Duration;

/// What one client shall do; written as words on its command line.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientPlan {
    /// Where it sends.
    pub target: SocketAddr,
    /// Tag of the trial.
    pub tag: u32,
    /// Its number, from 0: its packets have the indices number, number + clients, ….
    pub number: u32,
    /// How many there are.
    pub clients: u32,
    /// UDP payload in bytes.
    pub payload: u32,
    /// When it sends.
    pub pace: ClientPace,
    /// What comes back to it.
    pub reply: ClientReply,
    /// Chance of the trial.
    pub seed: u64,
    /// When it begins, by the machine's monotonic clock.
    pub from_ns: u64,
    /// When it ends.
    pub until_ns: u64,
    /// Where it runs.
    pub seat: Seat,
}

/// When a client sends.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientPace {
    /// Before each packet it does this.
    Think(Think),
    /// As [`Think::Tick`], this much later: clients that are out of phase.
    TickAfter {
        /// Time between its wake-ups.
        period: Duration,
        /// From the tick to its wake-up.
        offset: Duration,
    },
    /// By the schedule of this process at this load, alone.
    Schedule(Arrival, Rate),
}

/// What comes back to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientReply {
    /// Nothing: replies are not asked for.
    None,
    /// Echoes, which are counted when it has a moment.
    Counted,
    /// Echoes, each of which it waits for.
    Awaited,
}

/// What a client did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientReport {
    /// When each packet left, by the machine's monotonic clock: before the call that sent it.
    pub left_ns: Vec<u64>,
    /// Replies to its packets, each counted once.
    pub forwarded: u64,
    /// Further copies.
    pub duplicated: u64,
    /// Sends that the system refused, by errno name.
    pub refused: BTreeMap<String, u64>,
    /// From leaving to the reply, where it was awaited.
    pub delay: Histogram,
}

/// Why a client could not run.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Its command line was not written by this program.
    #[error("{0:?} is no plan of a client")]
    Plan(String),
    /// It did not get its CPU or priority.
    #[error(transparent)]
    Seat(#[from] SeatError),
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The longest wait for a reply; then it counts as lost and the client goes on.
const PATIENCE: Duration = Duration::from_millis(500);
/// After its end a client listens for late replies as long.
const DRAIN: Duration = Duration::from_millis(100);
/// Of one that cannot send at all no more than this many tries are made.
const HOPELESS: u64 = 1000;

impl ClientPlan {
    /// Runs to its end. Writes what was done to `out`.
    ///
    /// # Errors
    /// If it cannot run as planned.
    pub fn run(&self, out: &mut impl Write) -> Result<(), ClientError> {
        end_with_parent();
        let socket = UdpSocket::bind(if self.target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
        socket.connect(self.target)?;
        socket.set_nonblocking(self.reply != ClientReply::Awaited)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        // A minute of what one process can send; it grows in a long trial.
        let mut client =
            Client { plan: self, socket, packet: self.packet(), sent: 0, report: ClientReport::default() };
        client.report.left_ns.reserve(1 << 18);
        self.seat.take()?;
        sleep_until_ns(self.from_ns);
        match &self.pace {
            ClientPace::Schedule(arrival, load) => client.follow(arrival, *load),
            ClientPace::Think(think) => client.think(*think, Duration::ZERO),
            ClientPace::TickAfter { period, offset } => client.think(Think::Tick(*period), *offset),
        }
        client.drain();
        client.report.write(out)?;
        Ok(())
    }

    fn packet(&self) -> Vec<u8> {
        let mut packet = vec![0; HEADER_BYTES];
        packet.extend(filler((self.payload as usize).saturating_sub(HEADER_BYTES)));
        packet
    }
}

struct Client<'a> {
    plan: &'a ClientPlan,
    socket: UdpSocket,
    packet: Vec<u8>,
    sent: u64,
    report: ClientReport,
}

impl Client<'_> {
    /// Sends until the end, thinking before each packet.
    fn think(&mut self, think: Think, offset: Duration) {
        let mut chance = seed::uniforms(seed::of_trial(self.plan.seed, u64::from(self.plan.number) + 1));
        let offset_ns = offset.as_nanos() as u64;
        loop {
            match think {
                Think::Yield => std::thread::yield_now(),
                Think::Fixed(length) => sleep_for(length),
                Think::Exponential(mean) => {
                    // −ln(1 − random()): the logarithm of 0 is never asked for.
                    let uniform = chance.next().unwrap_or(0.5);
                    sleep_for(mean.mul_f64(-f64::ln(1.0 - uniform)));
                }
                Think::Tick(period) => {
                    let period_ns = period.as_nanos().max(1) as u64;
                    let ticks = monotonic_ns().saturating_sub(offset_ns) / period_ns + 1;
                    sleep_until_ns(ticks * period_ns + offset_ns);
                }
            }
            if monotonic_ns() >= self.plan.until_ns || self.is_hopeless() {
                return;
            }
            self.send();
        }
    }

    /// Sends each packet of a schedule when it is due, or as soon after as can be.
    fn follow(&mut self, arrival: &Arrival, load: Rate) {
        sharpen_sleep();
        let duration = Duration::from_nanos(self.plan.until_ns.saturating_sub(self.plan.from_ns));
        for due in arrival.departures(TrialInput { load, duration }, self.plan.seed) {
            let due = self.plan.from_ns + due;
            while monotonic_ns() < due {
                sleep_until_ns(due);
            }
            if self.is_hopeless() {
                return;
            }
            self.send();
        }
    }

    fn send(&mut self) {
        let ClientPlan { tag, number, clients, reply, .. } = *self.plan;
        let index = u64::from(number) + self.sent * u64::from(clients);
        let reply_wanted = reply != ClientReply::None;
        let message = Message::Packet { tag: Tag(tag), index, reply_wanted };
        self.packet[..HEADER_BYTES].copy_from_slice(&message.header());
        let left_ns = monotonic_ns();
        match self.socket.send(&self.packet) {
            Ok(_) => {
                self.sent += 1;
                self.report.left_ns.push(left_ns);
            }
            Err(error) => *self.report.refused.entry(errno_name(&error)).or_default() += 1,
        }
        match reply {
            ClientReply::None => {}
            ClientReply::Counted => while self.receive().is_some() {},
            ClientReply::Awaited => self.await_reply(index, left_ns),
        }
    }

    fn await_reply(&mut self, index: u64, left_ns: u64) {
        while let Some(came) = self.receive() {
            let now = monotonic_ns();
            if came == index {
                self.report.delay.record(now - left_ns);
            }
            if came == index || now >= left_ns + PATIENCE.as_nanos() as u64 {
                return;
            }
        }
    }

    /// Takes a reply; the index of the packet it answers, `u64::MAX` if it is no reply to this client.
    fn receive(&mut self) -> Option<u64> {
        let mut bytes = [0; 64];
        let length = self.socket.recv(&mut bytes).ok()?;
        let ClientPlan { tag, number, clients, .. } = *self.plan;
        match decode(&bytes[..length]) {
            Ok(Message::Packet { tag: Tag(own), index, .. })
                if own == tag && index % u64::from(clients) == u64::from(number) =>
            {
                self.report.forwarded += 1;
                Some(index)
            }
            _ => Some(u64::MAX),
        }
    }

    fn drain(&mut self) {
        if self.plan.reply == ClientReply::None {
            return;
        }
        let _ = self.socket.set_nonblocking(false);
        let _ = self.socket.set_read_timeout(Some(DRAIN));
        while self.report.forwarded < self.sent && self.receive().is_some() {}
        self.report.duplicated = self.report.forwarded.saturating_sub(self.sent);
        self.report.forwarded = self.report.forwarded.min(self.sent);
    }

    fn is_hopeless(&self) -> bool {
        self.sent == 0 && self.report.refused.values().sum::<u64>() >= HOPELESS
    }
}

impl ClientReport {
    /// Numbers of eight bytes, then texts behind their lengths.
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(8 * self.left_ns.len() + 256);
        let mut number = |value: u64| bytes.extend_from_slice(&value.to_le_bytes());
        number(self.forwarded);
        number(self.duplicated);
        number(self.left_ns.len() as u64);
        self.left_ns.iter().for_each(|&left| number(left));
        let refused: Vec<String> =
            self.refused.iter().map(|(name, count)| format!("{name}={count}")).collect();
        let delay = if self.delay.count() > 0 { self.delay.to_v2_deflate() } else { String::new() };
        for text in [refused.join(";"), delay] {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        out.write_all(&bytes)?;
        out.flush()
    }

    /// Reads what [`write`](Self::write) wrote; `None` of what was cut or is something else.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut take = |length: usize| {
            let (taken, left) = rest.split_at_checked(length)?;
            rest = left;
            Some(taken)
        };
        let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
        let forwarded = number(take(8)?)?;
        let duplicated = number(take(8)?)?;
        let count = usize::try_from(number(take(8)?)?).ok()?;
        let left_ns = take(count.checked_mul(8)?)?.chunks_exact(8).filter_map(number).collect();
        let mut text = || {
            let length = usize::try_from(number(take(8)?)?).ok()?;
            std::str::from_utf8(take(length)?).ok()
        };
        let refused = text()?;
        let refused = refused.split(';').filter(|part| !part.is_empty()).map(|part| {
            let (name, count) = part.split_once('=')?;
            Some((name.to_owned(), count.parse().ok()?))
        });
        let refused = refused.collect::<Option<_>>()?;
        let delay = match text()? {
            "" => Histogram::new(),
            text => Histogram::from_v2_deflate(text).ok()?,
        };
        Some(Self { left_ns, forwarded, duplicated, refused, delay })
    }
}

impl ClientPlan {
    /// The plan as words of a command line.
    pub fn to_words(&self) -> Vec<String> {
        let (pace, offset) = match &self.pace {
            ClientPace::Think(think) => (format!("think={think}"), 0),
            ClientPace::TickAfter { period, offset } => {
                (format!("think={}", Think::Tick(*period)), offset.as_nanos())
            }
            ClientPace::Schedule(arrival, load) => (format!("schedule={}@{arrival}", load.as_millipps()), 0),
        };
        let reply = match self.reply {
            ClientReply::None => "none",
            ClientReply::Counted => "counted",
            ClientReply::Awaited => "awaited",
        };
        let mut words = vec![
            format!("target={}", self.target),
            format!("tag={}", self.tag),
            format!("number={}", self.number),
            format!("clients={}", self.clients),
            format!("payload={}", self.payload),
            pace,
            format!("offset={offset}"),
            format!("reply={reply}"),
            format!("seed={}", self.seed),
            format!("from={}", self.from_ns),
            format!("until={}", self.until_ns),
        ];
        words.extend(self.seat.cpu.map(|cpu| format!("cpu={cpu}")));
        words.extend(self.seat.fifo.map(|fifo| format!("fifo={fifo}")));
        words
    }

    /// Reads what [`to_words`](Self::to_words) wrote.
    ///
    /// # Errors
    /// If it is something else.
    pub fn from_words(words: &[String]) -> Result<Self, ClientError> {
        let values: BTreeMap<&str, &str> = words.iter().filter_map(|word| word.split_once('=')).collect();
        Self::of_values(&values).ok_or_else(|| ClientError::Plan(words.join(" ")))
    }

    fn of_values(values: &BTreeMap<&str, &str>) -> Option<Self> {
        fn value<T: FromStr>(values: &BTreeMap<&str, &str>, name: &str) -> Option<T> {
            values.get(name)?.parse().ok()
        }
        let offset = Duration::from_nanos(value(values, "offset")?);
        let pace = match values.get("schedule") {
            Some(schedule) => {
                let (load, arrival) = schedule.split_once('@')?;
                ClientPace::Schedule(arrival.parse().ok()?, Rate::from_millipps(load.parse().ok()?))
            }
            None => match value(values, "think")? {
                Think::Tick(period) if !offset.is_zero() => ClientPace::TickAfter { period, offset },
                think => ClientPace::Think(think),
            },
        };
        let reply = match *values.get("reply")? {
            "none" => ClientReply::None,
            "counted" => ClientReply::Counted,
            "awaited" => ClientReply::Awaited,
            _ => return None,
        };
        Some(Self {
            target: value(values, "target")?,
            tag: value(values, "tag")?,
            number: value(values, "number")?,
            clients: value(values, "clients").filter(|&clients: &u32| clients > 0)?,
            payload: value(values, "payload").filter(|&payload: &u32| payload <= 65_507)?,
            pace,
            reply,
            seed: value(values, "seed")?,
            from_ns: value(values, "from")?,
            until_ns: value(values, "until")?,
            seat: Seat { cpu: value(values, "cpu"), fifo: value(values, "fifo") },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(pace: ClientPace, reply: ClientReply) -> ClientPlan {
        ClientPlan {
            target: "127.0.0.1:7007".parse().unwrap(),
            tag: 77,
            number: 3,
            clients: 64,
            payload: 16,
            pace,
            reply,
            seed: u64::MAX,
            from_ns: 1_000,
            until_ns: 2_000,
            seat: Seat { cpu: Some(1), fifo: None },
        }
    }

    #[test]
    fn a_plan_survives_its_command_line() {
        let ms = Duration::from_millis;
        for pace in [
            ClientPace::Think(Think::Yield),
            ClientPace::Think(Think::Exponential(Duration::from_micros(200))),
            ClientPace::Think(Think::Tick(ms(20))),
            ClientPace::TickAfter { period: ms(20), offset: Duration::from_nanos(156_250) },
            ClientPace::Schedule(Arrival::poisson(), Rate::from_millipps(6_400_000)),
        ] {
            let plan = plan(pace, ClientReply::Counted);
            assert_eq!(ClientPlan::from_words(&plan.to_words()).unwrap(), plan);
        }
        assert!(ClientPlan::from_words(&["target=nowhere".into()]).is_err());
    }

    #[test]
    fn a_report_that_was_cut_is_none_and_a_whole_one_is_the_same() {
        let mut report =
            ClientReport { left_ns: vec![5, 7, u64::MAX], forwarded: 2, ..ClientReport::default() };
        report.refused.insert("ENOBUFS".into(), 4);
        report.delay.record(41_000);
        let mut bytes = Vec::new();
        report.write(&mut bytes).unwrap();
        assert_eq!(ClientReport::read(&bytes), Some(report));
        for cut in 0..bytes.len() {
            assert_eq!(ClientReport::read(&bytes[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn a_client_that_awaits_its_replies_has_one_packet_on_its_way() {
        let responder = crate::Responder::default().start().unwrap();
        // A client that gets no CPU before its time is over has nothing to say: then it gets more time.
        let report = (1..=20)
            .map(|attempt| {
                let plan = ClientPlan {
                    target: responder.address(),
                    until_ns: monotonic_ns() + attempt * 50_000_000,
                    seat: Seat::default(),
                    ..plan(ClientPace::Think(Think::Fixed(Duration::from_millis(1))), ClientReply::Awaited)
                };
                let mut bytes = Vec::new();
                plan.run(&mut bytes).unwrap();
                ClientReport::read(&bytes).unwrap()
            })
            .find(|report| !report.left_ns.is_empty())
            .expect("a client that gets a second sends something");
        assert!(report.left_ns.is_sorted());
        assert_eq!(report.forwarded, report.left_ns.len() as u64);
        assert_eq!(report.delay.count(), report.forwarded);
    }
}
