//! The threads of a responder and what they share: socket, queue, counts.

use super::rate_limits::{RateLimits, is_one, may_be_sender};
use super::sessions::Sessions;
use super::settings::{Responder, ResponderCounts};
use super::tally::Tally;
use super::turns::{StoodStill, Turns};
use crate::error::nothing_as_none;
use crate::means::ReceiveMeans;
use crate::sys::{BATCH, ReceiveBatch, monotonic_ns, receive_drops, run_on, sharpen_sleep, wait_readable};
use dropline_payload::message::decode;
use dropline_payload::service::stamp::{self, Reflector};
use dropline_payload::{DecodeError, Message, Tag, mark_answered};
use dropline_trace::Probe;
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What the threads of a responder share.
#[derive(Debug)]
pub(crate) struct Workers {
    sockets: [UdpSocket; 1],
    pub(crate) address: SocketAddr,
    config: Responder,
    counters: Counters,
    book: Mutex<Book>,
    queue: Mutex<Queue>,
    filled: Condvar,
    closed: AtomicBool,
    stood_still: StoodStill,
    /// Read and served, by the machine's monotonic clock.
    times: Mutex<Vec<[u64; 2]>>,
}

/// What is remembered of whoever sent.
#[derive(Debug)]
struct Book {
    tally: Tally,
    manners: RateLimits,
    sessions: Sessions,
}

#[derive(Debug, Default)]
struct Counters {
    received: AtomicU64,
    answered: AtomicU64,
    unanswered: AtomicU64,
    dropped_queue: AtomicU64,
    refused: AtomicU64,
    queries: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Request>,
    /// Buffers of requests that were served, so that none is allocated for each packet.
    spare: Vec<Vec<u8>>,
}

/// A packet of the batch that was just received.
#[derive(Clone, Copy)]
struct Taken {
    at: usize,
    source: SocketAddr,
    origin: Origin,
}

/// A packet in the queue.
#[derive(Debug)]
struct Request {
    source: SocketAddr,
    bytes: Vec<u8>,
    origin: Origin,
    came_ns: u64,
}

/// Which trial a packet is of, and whether it is to be answered.
#[derive(Clone, Copy, Debug)]
struct Origin {
    tag: Option<Tag>,
    reply_wanted: bool,
    reflected: Option<Reflected>,
}

/// What the answer of a reflector has beside its request.
#[derive(Clone, Copy, Debug)]
struct Reflected {
    /// Of its own.
    number: Option<u32>,
    /// When the request came, since 1970.
    came: Duration,
}

impl Origin {
    /// Makes the reply of a packet.
    fn reply(&self, bytes: &mut [u8]) {
        match self.reflected {
            Some(Reflected { number, came }) => stamp::reflect(bytes, number, came, since_1970()),
            None => mark_answered(bytes),
        }
    }
}

/// What received bytes are.
enum Sorted {
    /// A count that is asked for.
    Query { tag: Tag, number: u64 },
    /// A packet to serve.
    Request(Origin),
}

/// Where an experimenter can add a delay to every packet, and to every count that is asked for.
static REQUEST: Probe = Probe::new("request");
static QUERY: Probe = Probe::new("query");

/// How soon the threads see that they are to stop.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Packets taken from a socket that is not served any more, at most: who still sends shall not keep it open.
const MOST_WAITING: usize = 1 << 20;
/// How long packets gather: a small buffer of 256 holds ten times as many as come meanwhile.
const GATHERING: Duration = Duration::from_micros(10);
/// Longest UDP payload.
const LONGEST: usize = 65_535;

impl Workers {
    pub(crate) fn new(socket: UdpSocket, address: SocketAddr, config: Responder) -> Self {
        REQUEST.announce();
        QUERY.announce();
        Self {
            sockets: [socket],
            address,
            config,
            counters: Counters::default(),
            book: Mutex::new(Book {
                tally: Tally::default(),
                manners: RateLimits::new(address),
                sessions: Sessions::default(),
            }),
            queue: Mutex::default(),
            filled: Condvar::new(),
            closed: AtomicBool::new(false),
            stood_still: StoodStill::default(),
            times: Mutex::new(Vec::with_capacity(config.keep_times)),
        }
    }

    /// Where packets come in.
    pub(crate) fn socket(&self) -> &UdpSocket {
        &self.sockets[0]
    }

    /// Lets the threads end.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.filled.notify_all();
    }

    /// What was done so far.
    pub(crate) fn counts(&self) -> ResponderCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        let (answered, unanswered) = (of(&counters.answered), of(&counters.unanswered));
        let (dropped_queue, refused) = (of(&counters.dropped_queue), of(&counters.refused));
        // Read last: what was dealt with had been received.
        let received = of(&counters.received);
        ResponderCounts {
            received,
            answered,
            unanswered,
            dropped_queue,
            refused,
            waiting: received.saturating_sub(answered + unanswered + dropped_queue + refused),
            dropped_socket: receive_drops(&self.sockets[0]).map(u64::from),
            queries: of(&counters.queries),
            stood_still: Duration::from_nanos(self.stood_still.ns()),
        }
    }

    /// The receiving thread.
    pub(crate) fn receive_all(&self) {
        if let Some(cpu) = self.config.cpu {
            // A CPU that is not there leaves the thread where it is.
            let _ = run_on(&[cpu]);
        }
        let spins = self.config.receive.spins();
        let mut batch = match self.config.receive {
            ReceiveMeans::Gro => ReceiveBatch::with_trains(),
            _ => ReceiveBatch::new(LONGEST),
        };
        let mut requests = Vec::with_capacity(batch.most());
        let mut queries = Vec::with_capacity(BATCH);
        let mut chosen = Vec::with_capacity(batch.most());
        while !self.closed.load(Ordering::Relaxed) {
            // An error here is about a reply that was not wanted, and ends nothing.
            let received = match spins {
                true => batch.receive(&self.sockets[0]),
                false => batch.receive_or_wait(&self.sockets[0], LOOK_EVERY),
            };
            let count = nothing_as_none(received).ok().flatten().unwrap_or(0);
            if count == 0 {
                std::hint::spin_loop();
                continue;
            }
            self.read(&batch, count, &mut requests, &mut queries);
            if self.config.service_time.is_zero() {
                self.answer_at_once(&mut batch, &requests, &mut chosen);
            } else {
                self.enqueue(&batch, &requests);
            }
            self.answer_queries(&queries);
            let awaited = !queries.is_empty() || requests.iter().any(|taken| taken.origin.reply_wanted);
            if spins && !awaited && count < BATCH {
                gather();
            }
        }
        self.count_what_waits();
    }

    /// Once closed: takes what the socket still holds, so that it is counted as waiting and not missing.
    fn count_what_waits(&self) {
        if self.socket().set_nonblocking(true).is_err() {
            return;
        }
        let mut bytes = [0; dropline_payload::QUERY_BYTES];
        for _ in 0..MOST_WAITING {
            // Of a longer packet only its head is taken. An error ends it too: nothing more waits, or the
            // socket is of no use.
            let Ok((length, source)) = self.socket().recv_from(&mut bytes) else { break };
            if let Sorted::Request(_) = self.sort(
                &bytes[..length],
                source,
                &mut lock(&self.book),
                Duration::from_nanos(monotonic_ns()),
            ) {
                add(&self.counters.received, 1);
            }
        }
    }

    /// Counts what was received and sorts it into packets to serve and counts that are asked for.
    fn read(
        &self,
        batch: &ReceiveBatch,
        count: usize,
        requests: &mut Vec<Taken>,
        queries: &mut Vec<(SocketAddr, Tag, u64)>,
    ) {
        requests.clear();
        queries.clear();
        let (mut book, now) = (lock(&self.book), Duration::from_nanos(monotonic_ns()));
        for at in 0..count {
            let Some(source) = batch.source(at) else { continue };
            match self.sort(batch.packet(at), source, &mut book, now) {
                Sorted::Query { tag, number } => queries.push((source, tag, number)),
                Sorted::Request(origin) => requests.push(Taken { at, source, origin }),
            }
        }
        drop(book);
        add(&self.counters.received, requests.len());
        requests.iter().for_each(|_| REQUEST.cross());
        queries.iter().for_each(|_| QUERY.cross());
    }

    /// Says what bytes are, and notes a trial's packet as received.
    fn sort(&self, bytes: &[u8], source: SocketAddr, book: &mut Book, now: Duration) -> Sorted {
        if let Some(kind) = self.config.stamp {
            return Sorted::Request(self.reflected(kind, bytes, source, book, now));
        }
        let any = self.config.answer_all;
        let Book { tally, manners, .. } = book;
        let (tag, reply_wanted) = match decode(bytes) {
            Ok(Message::CountQuery { tag, number }) if any || tally.admit(tag, number, source) => {
                return Sorted::Query { tag, number };
            }
            Ok(Message::Packet { tag, index, reply_wanted }) => {
                tally.of(tag).received += 1;
                let admitted = tally.admit(tag, index, source);
                if admitted {
                    manners.note_whole();
                }
                (Some(tag), reply_wanted && (any || admitted))
            }
            // What came to harm on the way here is for its sender to see.
            Err(DecodeError::Damaged { reply_wanted }) => {
                (None, reply_wanted && (any || manners.admit_harmed()))
            }
            // An answer is not answered: two reflectors would do so for ever.
            Ok(Message::Answered { .. }) => (None, any),
            Ok(Message::CountQuery { .. } | Message::CountAnswer { .. }) => (None, false),
            // Not a trial's: echoed as any echo service would.
            Err(_) => (None, any || manners.admit_other(source, bytes, now)),
        };
        let reply_wanted = reply_wanted && self.may_go_to(source, book);
        Sorted::Request(Origin { tag, reply_wanted, reflected: None })
    }

    /// As a reflector of STAMP: it answers whoever may be a session-sender, and nobody else.
    fn reflected(
        &self,
        kind: Reflector,
        bytes: &[u8],
        source: SocketAddr,
        book: &mut Book,
        now: Duration,
    ) -> Origin {
        let may = stamp::is_request(bytes) && may_be_sender(source) && !self.is_itself(source);
        let number = match kind {
            Reflector::Stateful if may => book.sessions.next(source, now),
            _ => None,
        };
        let reply_wanted = may && (number.is_some() || kind == Reflector::Stateless);
        Origin { tag: None, reply_wanted, reflected: Some(Reflected { number, came: since_1970() }) }
    }

    fn is_itself(&self, source: SocketAddr) -> bool {
        source.port() == self.address.port()
            && (self.address.ip().is_unspecified() || source.ip() == self.address.ip())
    }

    /// Whether anything may be sent there.
    fn may_go_to(&self, source: SocketAddr, book: &Book) -> bool {
        match self.config.answer_all {
            true => is_one(source) && !self.is_itself(source),
            false => book.manners.may_go_to(source),
        }
    }

    /// After the packets that came before them were dealt with.
    fn answer_queries(&self, queries: &[(SocketAddr, Tag, u64)]) {
        for &(source, tag, number) in queries {
            let mut book = lock(&self.book);
            let counts = book.tally.known(tag).copied().unwrap_or_default();
            let may_answer = self.may_go_to(source, &book);
            drop(book);
            let answer = Message::CountAnswer { tag, number, counts }.encode();
            if may_answer && self.sockets[0].send_to(&answer, source).is_ok() {
                add(&self.counters.queries, 1);
            }
        }
    }

    /// Without a service time.
    fn answer_at_once(&self, batch: &mut ReceiveBatch, requests: &[Taken], chosen: &mut Vec<usize>) {
        chosen.clear();
        for taken in requests.iter().filter(|taken| taken.origin.reply_wanted) {
            chosen.push(taken.at);
            taken.origin.reply(batch.packet_mut(taken.at));
        }
        let (mut first, mut refused) = (0, 0);
        while first < chosen.len() {
            match batch.echo(&self.sockets[0], chosen, first) {
                Ok(count) => first += count,
                Err(_) => {
                    refused += 1;
                    first += 1;
                }
            }
        }
        let mut book = lock(&self.book);
        for taken in requests {
            if let Some(counts) = taken.origin.tag.and_then(|tag| book.tally.known(tag)) {
                counts.served += 1;
            }
        }
        add(&self.counters.answered, chosen.len() - refused);
        add(&self.counters.refused, refused);
        add(&self.counters.unanswered, requests.len() - chosen.len());
    }

    /// With one: what finds no place is dropped.
    fn enqueue(&self, batch: &ReceiveBatch, requests: &[Taken]) {
        let (mut dropped, came_ns) = (0, monotonic_ns());
        let mut queue = lock(&self.queue);
        for &Taken { at, source, origin } in requests {
            if queue.waiting.len() >= self.config.queue {
                dropped += 1;
                if let Some(tag) = origin.tag {
                    lock(&self.book).tally.of(tag).dropped_queue += 1;
                }
                continue;
            }
            let mut bytes = queue.spare.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(batch.packet(at));
            queue.waiting.push_back(Request { source, bytes, origin, came_ns });
            self.filled.notify_one();
        }
        add(&self.counters.dropped_queue, dropped);
    }

    /// A worker.
    pub(crate) fn serve_all(&self) {
        sharpen_sleep();
        let mut turns = self.turns();
        let mut served = None;
        while let Some(request) = self.next_request(served.take()) {
            let Request { source, mut bytes, origin, came_ns } = request;
            turns.take(came_ns, &self.stood_still);
            self.answer(&mut bytes, source, origin);
            served = Some(bytes);
        }
    }

    /// A worker without a queue before it: it reads a packet, serves it, and reads the next. What waits,
    /// waits in the socket's buffer.
    pub(crate) fn serve_from_socket(&self) {
        sharpen_sleep();
        let mut turns = self.turns();
        // When it last had to wait: what is there without a wait came while it served.
        let mut waited_ns = 0;
        let mut bytes = vec![0; LONGEST];
        while !self.closed.load(Ordering::Relaxed) {
            // An error here is about a reply that was not wanted, and ends nothing.
            let Ok((length, source)) = self.sockets[0].recv_from(&mut bytes) else {
                let _ = wait_readable(&self.sockets, LOOK_EVERY);
                waited_ns = monotonic_ns();
                continue;
            };
            let sorted = self.sort(
                &bytes[..length],
                source,
                &mut lock(&self.book),
                Duration::from_nanos(monotonic_ns()),
            );
            match sorted {
                Sorted::Query { tag, number } => {
                    QUERY.cross();
                    self.answer_queries(&[(source, tag, number)]);
                }
                Sorted::Request(origin) => {
                    let read_ns = monotonic_ns();
                    REQUEST.cross();
                    add(&self.counters.received, 1);
                    turns.take(waited_ns, &self.stood_still);
                    self.answer(&mut bytes[..length], source, origin);
                    self.keep_times(read_ns);
                }
            }
        }
        self.count_what_waits();
    }

    /// Notes that a packet read then is served now, if there is room.
    fn keep_times(&self, read_ns: u64) {
        if self.config.keep_times > 0 {
            let mut times = lock(&self.times);
            if times.len() < self.config.keep_times {
                times.push([read_ns, monotonic_ns()]);
            }
        }
    }

    /// The times kept so far.
    pub(crate) fn times(&self) -> Vec<[u64; 2]> {
        lock(&self.times).clone()
    }

    fn turns(&self) -> Turns {
        Turns::new(self.config.service_time, self.config.sleep)
    }

    /// Once it is served.
    fn answer(&self, bytes: &mut [u8], source: SocketAddr, origin: Origin) {
        if origin.reply_wanted {
            origin.reply(bytes);
        }
        let outcome = match origin.reply_wanted {
            false => &self.counters.unanswered,
            true if self.sockets[0].send_to(bytes, source).is_ok() => &self.counters.answered,
            true => &self.counters.refused,
        };
        add(outcome, 1);
        if let Some(tag) = origin.tag
            && let Some(counts) = lock(&self.book).tally.known(tag)
        {
            counts.served += 1;
        }
    }

    /// Waits for the next request; `None` when the responder is to stop. Takes the last one's buffer back.
    fn next_request(&self, served: Option<Vec<u8>>) -> Option<Request> {
        let mut queue = lock(&self.queue);
        queue.spare.extend(served);
        loop {
            if self.closed.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(request) = queue.waiting.pop_front() {
                return Some(request);
            }
            let (waited, _) =
                self.filled.wait_timeout(queue, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner);
            queue = waited;
        }
    }
}

/// Lets packets gather that nobody waits for: reading each at once, its thread would hold the socket's lock when the
/// next arrives, and the sender would wait for it. The kernel's stamps stay what they are.
fn gather() {
    let until = Instant::now() + GATHERING;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}

/// A thread that panicked while it held the lock left only counts behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
