//! What arrived at a target that sends nothing back.

use super::counters::Counters;
use crate::error::{UdpError, nothing_as_none};
use crate::packet::attribution::Whose;
use crate::sys::{ReceiveBatch, monotonic_ns, receive_memory, wait_readable};
use crate::target::{Reply, UdpTarget};
use dropline_account::{Snapshot, TargetSockets};
use dropline_payload::service::{Request, Service};
use dropline_payload::{Counts, Message, QUERY_BYTES, Verdict};
use dropline_trial::number_of;
use dropline_trial::{Caveat, Packet, Trial};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When any of these is set, nothing more is asked: the user wants to stop, or what is asked would go elsewhere.
pub(crate) type Stops<'a> = &'a [&'a AtomicBool];

/// Whether nothing more is to be asked.
fn is_any(stops: Stops<'_>) -> bool {
    stops.iter().any(|stop| stop.load(Ordering::Acquire))
}

/// How a one-way target is counted.
pub(crate) enum Counting {
    /// It answers count queries.
    Asked,
    /// Its socket is on this machine, and the tables of its namespace show it.
    AtSocket(Box<Counters>),
}

/// Queries that are sent before a target is taken for one that does not answer them.
const QUERIES: u64 = 5;
/// How long one answer is waited for.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);
/// Between two looks at a target that is still busy.
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl Counting {
    /// Finds out how `target` can be counted.
    ///
    /// # Errors
    /// If it cannot be, its port is closed, or the user wants to stop.
    pub(crate) fn find(
        socket: &UdpSocket,
        target: UdpTarget,
        whose: Whose,
        stops: Stops<'_>,
    ) -> Result<Self, UdpError> {
        let source = socket.local_addr().map_err(UdpError::system("reading an address"))?;
        let mut counters = Counters::open(source.ip(), target.address);
        let before = counters.read();
        let asked = match target.reply {
            Reply::Service(service) => show(socket, target, service).map(|()| None)?,
            Reply::Echo | Reply::Any | Reply::None => ask(socket, target, whose, stops)?,
        };
        if asked.is_some() {
            return Ok(Self::Asked);
        }
        // Nobody understood the queries; but they came to where packets go.
        match came(&before, &counters.read()) {
            Some(true) => Ok(Self::AtSocket(Box::new(counters))),
            Some(false) => Err(UdpError::NotReached { target: target.address }),
            None => Err(UdpError::NotCounted { target: target.address }),
        }
    }
}

/// Sends a few requests to a service that would not understand a query.
fn show(socket: &UdpSocket, target: UdpTarget, service: &Service) -> Result<(), UdpError> {
    for number in 0..QUERIES {
        let mut request = Vec::new();
        service.write(Request::of_one_stream(number), || 0, &mut request);
        match socket.send(&request) {
            Err(error) if !is_of_one(&error) && error.kind() != io::ErrorKind::WouldBlock => {
                return Err(UdpError::of_socket(error, target.address, number + 1, request.len() as u32));
            }
            _ => std::thread::sleep(LOOK_EVERY),
        }
    }
    Ok(())
}

/// Whether what was sent between two looks came to the target's socket; `None` if that is not to be seen. What others
/// sent meanwhile is taken for it.
fn came(before: &Snapshot, after: &Snapshot) -> Option<bool> {
    let (then, now) = (before.target?, after.target?);
    let read = |snapshot: &Snapshot| snapshot.spaces.last().map(|space| space.stack.udp_read);
    let was_read = read(after)?.saturating_sub(read(before)?) >= QUERIES;
    Some(was_read || now.drops > then.drops || now.waiting_bytes > then.waiting_bytes)
}

/// What a one-way target itself counted, if it does, and how many queries that took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) counts: Option<Counts>,
    pub(crate) queries: u64,
}

/// Counts one trial of a one-way target.
pub(crate) struct Asker<'a> {
    pub(crate) counting: &'a Counting,
    pub(crate) socket: &'a UdpSocket,
    pub(crate) target: UdpTarget,
    pub(crate) whose: Whose,
    pub(crate) stops: Stops<'a>,
    /// How long a busy target may take to be through.
    pub(crate) longest: Duration,
    pub(crate) packet: Packet,
}

/// What was known before the trial.
pub(crate) enum Before {
    /// The target counts by tag, from zero.
    Nothing,
    /// Its socket had dropped this many packets.
    Dropped(u64),
}

impl Asker<'_> {
    /// Before the first packet leaves.
    pub(crate) fn before(&self) -> Result<Before, UdpError> {
        match self.counting {
            Counting::Asked => Ok(Before::Nothing),
            Counting::AtSocket(counters) => Ok(Before::Dropped(self.look(counters)?.drops)),
        }
    }

    /// Waits until the target is through with the trial's packets, or for as long as the drain may last,
    /// and counts them; returns what the target itself counted.
    ///
    /// # Errors
    /// If the target is gone, or the user wants to stop.
    pub(crate) fn count(&self, before: &Before, trial: &mut Trial) -> Result<Counted, UdpError> {
        let until = Instant::now() + self.longest;
        match (self.counting, before) {
            (Counting::AtSocket(counters), Before::Dropped(before)) => {
                let mut now = self.look(counters)?;
                while now.waiting_bytes > 0 && Instant::now() < until {
                    self.pause()?;
                    now = self.look(counters)?;
                }
                let waiting = now.waiting_bytes.div_ceil(charge_of(self.packet));
                let dropped = now.drops.saturating_sub(*before);
                trial.forwarded = trial.offered.saturating_sub(dropped).saturating_sub(waiting);
                trial.caveats.push(Caveat::Reported {
                    code: "counted_at_socket".into(),
                    text: format!(
                        "the target was counted from outside: its socket dropped {} and {waiting} \
                         still wait there; what others sent to it is in these numbers too, and what was \
                         lost before it came there is not",
                        number_of(dropped, "packet")
                    ),
                });
            }
            _ => {
                let (counts, queries) = self.settled(until)?;
                trial.forwarded = counts.served;
                return Ok(Counted { counts: Some(counts), queries });
            }
        }
        Ok(Counted::default())
    }

    /// The target's answer, once it has nothing waiting and two answers are equal; and how many were needed.
    fn settled(&self, until: Instant) -> Result<(Counts, u64), UdpError> {
        let mut last = None;
        for queries in 1.. {
            let Some(counts) = ask(self.socket, self.target, self.whose, self.stops)? else {
                return Err(UdpError::NotCounted { target: self.target.address });
            };
            if (counts.waiting() == 0 && last == Some(counts)) || Instant::now() >= until {
                return Ok((counts, queries));
            }
            last = Some(counts);
            self.pause()?;
        }
        unreachable!("it asks until the drain is over")
    }

    fn look(&self, counters: &Counters) -> Result<TargetSockets, UdpError> {
        counters.target_sockets().ok_or(UdpError::NotCounted { target: self.target.address })
    }

    fn pause(&self) -> Result<(), UdpError> {
        std::thread::sleep(LOOK_EVERY);
        if is_any(self.stops) { Err(UdpError::Interrupted) } else { Ok(()) }
    }
}

/// Asks what was seen of the trial; `None` if nobody answers.
pub(crate) fn ask(
    socket: &UdpSocket,
    target: UdpTarget,
    whose: Whose,
    stops: Stops<'_>,
) -> Result<Option<Counts>, UdpError> {
    ask_times(QUERIES, socket, target, whose, stops)
}

/// The same with so many queries until nobody is taken to answer.
pub(crate) fn ask_times(
    queries: u64,
    socket: &UdpSocket,
    target: UdpTarget,
    whose: Whose,
    stops: Stops<'_>,
) -> Result<Option<Counts>, UdpError> {
    let mut batch = ReceiveBatch::new(QUERY_BYTES);
    let mut refused = None;
    for sent in 1..=queries {
        if is_any(stops) {
            return Err(UdpError::Interrupted);
        }
        // Each has a number of its own, of the bits that a message has: what comes again and again is not answered.
        let number = (monotonic_ns() / 1000) & u64::from(u32::MAX);
        let query = Message::CountQuery { tag: whose.tag(), number };
        let meaning = |error: io::Error| UdpError::of_socket(error, target.address, sent, 0);
        match socket.send(&query.encode()) {
            Err(error) if is_of_one(&error) => {
                refused = Some(meaning(error));
                continue;
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(meaning(error)),
            _ => {}
        }
        let until = Instant::now() + ANSWER_WITHIN;
        loop {
            if is_any(stops) {
                return Err(UdpError::Interrupted);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if !wait_readable(std::slice::from_ref(socket), left).map_err(meaning)? {
                continue;
            }
            let received = match nothing_as_none(batch.receive(socket)) {
                Err(error) if is_of_one(&error) => {
                    refused = Some(meaning(error));
                    break;
                }
                received => received.map_err(meaning)?.unwrap_or(0),
            };
            for at in 0..received {
                if let Verdict::Counted { number: answered, counts } = whose.judge(batch.packet(at))
                    && answered == number
                {
                    return Ok(Some(counts));
                }
            }
        }
    }
    refused.map_or(Ok(None), Err)
}

/// Whether an error may be of one packet alone, as a rule of a firewall refuses one in nine.
fn is_of_one(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::PermissionDenied)
}

/// What the kernel charges a waiting packet of this length for, found by letting one wait.
fn charge_of(packet: Packet) -> u64 {
    let charge = || -> io::Result<Option<u32>> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.send_to(&vec![0; packet.payload_bytes() as usize], socket.local_addr()?)?;
        Ok(receive_memory(&socket))
    };
    /// Of a small packet on Linux 6.18.
    const SMALL: u32 = 832;
    charge().ok().flatten().filter(|&bytes| bytes > 0).unwrap_or(SMALL).into()
}
