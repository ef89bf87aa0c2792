//! Does the target answer, and how soon?

use super::doubts::{barred_by, ip_bytes};
use crate::error::{UdpError, nothing_as_none};
use crate::losses::counting::Counting;
use crate::packet::attribution::{Whose, salt};
use crate::packet::content::Content;
use crate::packet::frame::Head;
use crate::receive::reading::{Heard, Reading};
use crate::send::requests::Asking;
use crate::send::spread::Spread;
use crate::sockets::connection::{connect, listening_beside};
use crate::sockets::flows::Flows;
use crate::sockets::guard::Guard;
use crate::sockets::whereabouts::Way;
use crate::sys::{Exit, ReceiveBatch, Refused, SendBatch, report_refusals, wait_readable};
use crate::target::{Reply, UdpTarget};
use dropline_payload::service::parts::Parts;
use dropline_payload::service::{Class, Origin};
use dropline_payload::{Message, Tags};
use dropline_trial::{Arrival, Part, TrafficProfile};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a few packets before the first trial showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// Median time from request to reply, in ns; `None` of a target that sends nothing back.
    pub round_trip_ns: Option<u64>,
    /// What the last answer of a service said, by the name of its class.
    pub said: Option<&'static str>,
    /// Where a service has its answers from, by the one that says most.
    pub origin: Origin,
    /// Bytes of the last answer's last datagram.
    pub reply_bytes: usize,
}

/// Packets that are sent, each when the one before was answered or given up.
const PROBES: u64 = 5;
/// How long the first answer is waited for in all, where the drain is not longer.
const PATIENCE: Duration = Duration::from_millis(900);
/// What is kept of an answer of an echo.
const KEPT_BYTES: usize = 2048;
/// How long one answer is waited for.
const ANSWER_WITHIN: Duration = Duration::from_millis(180);

/// Sends a few packets like those of the trials and waits for them, a second at most; for the first of them as long
/// as a trial's drain may last.
///
/// # Errors
/// If none is answered, the port is closed, the host out of reach, a one-way target cannot be counted, or
/// the user wants to stop.
pub fn probe(target: UdpTarget, profile: &TrafficProfile, stop: &AtomicBool) -> Result<Probed, UdpError> {
    let payload = target.packet(profile.packet).payload_bytes();
    let socket = connect(target.address, payload)?;
    report_refusals(&socket).map_err(UdpError::system("asking to be told of refused packets"))?;
    let no_leash = |why| UdpError::NoLeash { target: target.address, why };
    let mut guard = Guard::over(&socket, target.address).map_err(no_leash)?;
    let whose = Whose { tags: Tags::new(profile.seed, salt()), first: 0, number: 0 };
    if !target.reply.is_answered() {
        let astray = AtomicBool::new(false);
        let (found, came) =
            guard.during(&astray, || Counting::find(&socket, target, whose, &[stop, &astray]));
        if let Some(what) = came {
            return Err(no_leash(guard.refusing(target.address.ip(), what)));
        }
        found?;
        return Ok(Probed { round_trip_ns: None, said: None, origin: Origin::Own, reply_bytes: 0 });
    }
    let mut batch = SendBatch::new(payload as usize, 1, Head::default());
    let words = Words::of(target, whose, &profile.arrival);
    let replies = ReceiveBatch::new(words.kept_bytes());
    let mut hearing = Hearing {
        socket,
        replies,
        reading: words.reading(),
        stop,
        others: 0,
        unlike: [0; 4],
        said: 0,
        parts: Parts::default(),
        origin: Origin::Own,
        reply_bytes: 0,
    };
    let mut sent = Vec::new();
    let mut round_trips = Vec::new();
    let mut refused = None;
    let begun = Instant::now();
    let patience = PATIENCE.max(profile.drain.longest);
    for index in 0..PROBES {
        let meaning =
            |error: io::Error| with_link(UdpError::of_socket(error, target.address, index + 1, payload));
        if index > 0 {
            guard.look().map_err(no_leash)?;
        }
        batch.clear();
        words.push(index, &mut batch);
        sent.push(Instant::now());
        if let Err(Refused { error, .. }) = batch.send(&Exit::Each(&hearing.socket), 0) {
            // What the network said of an earlier one is said of this, too.
            refused = Some(forgiven(error).map_err(&meaning)?);
            continue;
        }
        // The last one is waited for as long as any: an answer may take as long as a drain.
        let last = index + 1 == PROBES && round_trips.is_empty();
        let until = if last { begun + patience } else { Instant::now() + ANSWER_WITHIN };
        match hearing.reply(index, until) {
            Ok(answer) => round_trips.extend(
                answer.map(|(answered, reply)| reply.duration_since(sent[answered]).as_nanos() as u64),
            ),
            Err(Unheard::Stopped) => return Err(UdpError::Interrupted),
            Err(Unheard::Refused(error)) => refused = Some(forgiven(error).map_err(&meaning)?),
        }
    }
    round_trips.sort_unstable();
    match round_trips.get(round_trips.len() / 2) {
        Some(&median) => {
            let said = words.classes().get(hearing.said).map(|class| class.name);
            let Hearing { origin, reply_bytes, .. } = hearing;
            Ok(Probed { round_trip_ns: Some(median), said, origin, reply_bytes })
        }
        None if refused.is_some() => {
            let (error, sent) = (refused.expect("is some"), sent.len() as u64);
            Err(with_link(UdpError::of_socket(error, target.address, sent, payload)))
        }
        None => {
            let (target, sent, others) = (target.address, sent.len() as u64, hearing.others);
            let unlike = hearing.unlike;
            let waited = begun.elapsed();
            let beside = if others == 0 { answers_beside(target, &words, payload) } else { None };
            let (from, others) = match beside {
                Some(Beside::Packet(from)) => (Some(from), 0),
                Some(Beside::Others(from, others)) => (Some(from), others),
                None => (None, others),
            };
            // What is longer than the way carries may be dropped on it without a word.
            if let Some(link) = carries_less(target, payload).filter(|_| others == 0 && from.is_none()) {
                return Err(UdpError::TooLong { target, payload, link: Some(link) });
            }
            Err(UdpError::NoAnswer { target, sent, others, unlike: Box::new(unlike), from, waited })
        }
    }
}

/// What a target is asked before the first trial, and how its answers are read. Of an echo, the header is enough.
struct Words {
    whose: Whose,
    spread: Spread,
    content: Content,
    asking: Option<Asking>,
}

impl Words {
    fn of(target: UdpTarget, whose: Whose, arrival: &Arrival) -> Self {
        let asking = match target.reply {
            Reply::Service(service) => Some(Asking::new(service, salt(), arrival, 0)),
            Reply::Echo | Reply::Any | Reply::None => None,
        };
        let spread = Spread::new(&[Part::whole("probe")]).expect("one stream has a share");
        Self { whose, spread, content: Content::of(Reply::Any, 0), asking }
    }

    fn push(&self, index: u64, batch: &mut SendBatch) {
        match &self.asking {
            Some(asking) => {
                let mut request = Vec::new();
                asking.probing(&self.spread).write(index, &mut request);
                batch.push_whole(&request, None);
            }
            None => {
                let packet = Message::Packet { tag: self.whose.tag(), index, reply_wanted: true };
                batch.push(packet.header(), None);
            }
        }
    }

    fn reading(&self) -> Reading<'_> {
        match &self.asking {
            Some(asking) => Reading::Service(asking.probing(&self.spread)),
            None => Reading::Echo { whose: self.whose, content: &self.content, spread: &self.spread },
        }
    }

    /// Bytes of an answer that must be seen to judge it.
    fn kept_bytes(&self) -> usize {
        let longest = |asking: &Asking| asking.probing(&self.spread).service.longest_reply() + 1;
        self.asking.as_ref().map_or(KEPT_BYTES, longest)
    }

    /// What a service's answers can say.
    fn classes(&self) -> &'static [Class] {
        self.asking.as_ref().map_or(&[], |asking| asking.probing(&self.spread).service.protocol().classes)
    }
}

/// Says of packets that are too long what the way carries, and of those that an interface refuses what refuses them.
fn with_link(why: UdpError) -> UdpError {
    match why {
        UdpError::TooLong { target, payload, .. } => {
            UdpError::TooLong { target, payload, link: carries_less(target, payload) }
        }
        UdpError::NotTaken { target, source, .. } => {
            UdpError::NotTaken { target, source, rule: barred_by(target.ip().to_canonical()) }
        }
        other => other,
    }
}

/// What of the way to a target carries less in one piece than packets with so much payload have, and how many bytes.
fn carries_less(target: SocketAddr, payload: u32) -> Option<(String, u32)> {
    let address = target.ip().to_canonical();
    let least = Way::to(&Flows::from(target)).ok()?.passed?.carries_least(address);
    least.filter(|(_, mtu)| ip_bytes(payload, address) > *mtu)
}

/// What comes from elsewhere than from where a packet was sent.
enum Beside {
    /// That very packet.
    Packet(SocketAddr),
    /// So many other replies, the first from there.
    Others(SocketAddr, u64),
}

/// What comes from elsewhere where a packet is sent, if anything does: a second socket hears of every address.
fn answers_beside(target: SocketAddr, words: &Words, payload: u32) -> Option<Beside> {
    let socket = connect(target, payload).ok()?;
    let hears = listening_beside(&socket).ok()?;
    let mut batch = SendBatch::new(payload as usize, 1, Head::default());
    words.push(PROBES, &mut batch);
    batch.send(&Exit::Each(&socket), 0).ok()?;
    let mut bytes = vec![0; words.kept_bytes()];
    let until = Instant::now() + ANSWER_WITHIN;
    let mut found: Option<(SocketAddr, u64)> = None;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // No wait is as long as none, and none would be for ever.
        hears.set_read_timeout(Some(left).filter(|left| !left.is_zero())).ok()?;
        let heard = if left.is_zero() { None } else { hears.recv_from(&mut bytes).ok() };
        match heard {
            None => return found.map(|(from, others)| Beside::Others(from, others)),
            Some((_, from)) if from == target => {}
            Some((length, from)) => {
                let heard = words.reading().hear(&bytes[..length], 0, PROBES + 1, PROBES);
                if matches!(heard, Heard::Reply { index: PROBES, .. }) {
                    return Some(Beside::Packet(from));
                }
                found.get_or_insert((from, 0)).1 += 1;
            }
        }
    }
}

/// What refuses one packet may let the next one pass, as a rule of a firewall for one in nine does: it is an error where
/// none is answered.
fn forgiven(error: io::Error) -> Result<io::Error, io::Error> {
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable => Ok(error),
        _ if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(error),
        _ => Err(error),
    }
}

/// Why no reply was heard.
enum Unheard {
    /// The user wants to stop.
    Stopped,
    /// The system, or the network, said why.
    Refused(io::Error),
}

/// What comes back.
struct Hearing<'a> {
    socket: UdpSocket,
    replies: ReceiveBatch,
    reading: Reading<'a>,
    stop: &'a AtomicBool,
    /// What came and was no probe.
    others: u64,
    /// Of those from a service, as [`UdpError::NoAnswer`] has them.
    unlike: [u64; 4],
    /// The class of the last answer.
    said: usize,
    /// Answers of several datagrams.
    parts: Parts,
    /// Where answers are from, by the one that says most.
    origin: Origin,
    /// Bytes of the last answer's last datagram.
    reply_bytes: usize,
}

impl Hearing<'_> {
    /// Which probe up to `latest` was answered next, and when; `None` if none was `until` then.
    fn reply(&mut self, latest: u64, until: Instant) -> Result<Option<(usize, Instant)>, Unheard> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Unheard::Stopped);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            // Looks up from waiting often enough to see that the user wants to stop.
            let left = left.min(Duration::from_millis(50));
            if !wait_readable(std::slice::from_ref(&self.socket), left).map_err(Unheard::Refused)? {
                continue;
            }
            let now = Instant::now();
            let count =
                nothing_as_none(self.replies.receive(&self.socket)).map_err(Unheard::Refused)?.unwrap_or(0);
            for at in 0..count {
                self.reply_bytes = self.replies.packet(at).len();
                match self.reading.hear(self.replies.packet(at), 0, latest + 1, latest) {
                    Heard::Reply { index, class, origin } => {
                        (self.said, self.origin) = (class, self.origin.max(origin));
                        return Ok(Some((index as usize, now)));
                    }
                    Heard::Part { index, part } => {
                        if let Ok(Some(class)) = self.parts.take(index, part) {
                            self.said = class;
                            return Ok(Some((index as usize, now)));
                        }
                    }
                    other => {
                        self.others += 1;
                        match other {
                            Heard::Unasked => self.unlike[0] += 1,
                            Heard::Different { difference, .. } => self.unlike[1 + difference as usize] += 1,
                            _ => {}
                        }
                    }
                }
            }
        }
    }
}
