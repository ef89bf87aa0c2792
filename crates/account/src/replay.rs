//! What a server would have lost: its queue replayed, packet by packet.

use crate::buffer::Waiting;
use crate::{AddressFamily, Room, Stalls, truesize};
use dropline_trial::seed;
use rand::Rng as _;
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet as it arrives at the server's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arriving {
    /// When, in ns; never before the packet ahead of it.
    pub at_ns: u64,
    /// UDP payload.
    pub payload_bytes: u32,
}

/// A server as the replay has it: a socket's buffer, workers that read from it and serve, or one reader that
/// moves packets into a queue of the server's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// How much waits at its socket.
    pub room: Room,
    /// What its packets come under.
    pub family: AddressFamily,
    /// Packets that wait for a worker in the server's own queue, behind the socket; `None` if workers read
    /// from the socket themselves.
    pub queue: Option<u64>,
    /// Packets that can be served at once.
    pub workers: u32,
    /// Most packets that one read takes from the socket.
    pub batch: u32,
    /// From a packet's arrival to when a server that waited for one reads it.
    pub wake_ns: u64,
    /// Cost of a read, whatever it takes: the system call.
    pub read_ns: u64,
    /// Time that a worker takes for a packet.
    pub service: Service,
    /// When the server does not run.
    pub stalls: Stalls,
}

/// Time that a worker takes for a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// The same for each.
    Fixed(u64),
    /// As measured, each from a moment on until the next one's: when, in ns and in order, and how long.
    Course(Arc<[(u64, u64)]>),
    /// As measured, drawn again in runs of 32 neighbours: slow phases stay together.
    Drawn(Arc<[u64]>),
}

impl Service {
    /// Packets that one worker serves from one moment to another, if it never waits.
    pub(crate) fn packets_within(&self, from_ns: u64, to_ns: u64) -> f64 {
        let in_a_row = |from: u64, to: u64, each_ns: f64| to.saturating_sub(from) as f64 / each_ns;
        match self {
            Self::Fixed(ns) => in_a_row(from_ns, to_ns, *ns as f64),
            Self::Drawn(measured) => {
                let sum: u64 = measured.iter().sum();
                in_a_row(from_ns, to_ns, sum as f64 / measured.len().max(1) as f64)
            }
            Self::Course(course) => {
                // The first one's holds before it too, and the last one's until the end.
                let begins =
                    course.iter().enumerate().map(|(at, (begin, _))| if at == 0 { 0 } else { *begin });
                let ends = course.iter().skip(1).map(|(begin, _)| *begin).chain([u64::MAX]);
                let parts = begins.zip(ends).zip(course.iter());
                let served = parts
                    .map(|((begin, end), (_, ns))| in_a_row(begin.max(from_ns), end.min(to_ns), *ns as f64));
                served.filter(|packets| !packets.is_nan()).sum()
            }
        }
    }

    /// Each of its times as many times as long.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let scaled = |ns: u64| (ns as f64 * factor) as u64;
        match self {
            Self::Fixed(ns) => Self::Fixed(scaled(*ns)),
            Self::Course(course) => Self::Course(course.iter().map(|&(at, ns)| (at, scaled(ns))).collect()),
            Self::Drawn(measured) => Self::Drawn(measured.iter().map(|&ns| scaled(ns)).collect()),
        }
    }
}

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Lost because the socket's buffer was full.
    pub lost_at_socket: u64,
    /// Lost because the server's own queue was full.
    pub lost_at_queue: u64,
    /// Still waiting, at the socket or in the queue, when the replay ended.
    pub unserved: u64,
    /// Most packets that an arrival found waiting, at the socket and in the queue.
    pub largest_backlog: u64,
    /// Each arrival in order: the packets that it found waiting, and what became of it.
    pub seen: Vec<SeenArrival>,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenArrival {
    /// Packets that waited when it arrived.
    pub backlog: u32,
    /// Whether it was lost, at the socket or in the queue.
    pub lost: bool,
}

impl Replayed {
    /// Packets lost, wherever.
    pub fn lost(&self) -> u64 {
        self.lost_at_socket + self.lost_at_queue
    }

    /// Packets that were not served, because they were lost or still waited at the end.
    pub fn missed(&self) -> u64 {
        self.lost() + self.unserved
    }

    /// Lost ÷ arrived; `None` when nothing arrived.
    pub fn loss_ratio(&self) -> Option<f64> {
        (!self.seen.is_empty()).then(|| self.lost() as f64 / self.seen.len() as f64)
    }
}

/// Replays arrivals, in order of time, against a server, until all are served. `seed` is the chance of drawn service times.
pub fn replay(arrivals: impl IntoIterator<Item = Arriving>, server: &Server, seed: u64) -> Replayed {
    replay_until(arrivals, server, seed, u64::MAX)
}

/// The same, where nobody waits longer than until `end_ns` for a packet to be served.
pub fn replay_until(
    arrivals: impl IntoIterator<Item = Arriving>,
    server: &Server,
    seed: u64,
    end_ns: u64,
) -> Replayed {
    let mut run = Run::new(server, seed);
    for packet in arrivals {
        run.advance(packet.at_ns);
        run.arrive(packet);
    }
    run.advance(end_ns);
    run.found.unserved = (run.waiting.len() + run.queued.len()) as u64;
    run.found
}

/// A replay on its way.
struct Run<'a> {
    server: &'a Server,
    waiting: Waiting,
    /// In the server's own queue: the numbers of the arrivals.
    queued: VecDeque<usize>,
    /// Numbers of the arrivals that wait at the socket; kept for a server with a queue alone.
    numbers: VecDeque<usize>,
    /// When each thread that reads from the socket does so next; `None` while it sleeps.
    readers: Vec<Option<u64>>,
    /// The same of the threads that take from the queue.
    takers: Vec<Option<u64>>,
    draws: Draws<'a>,
    found: Replayed,
}

impl<'a> Run<'a> {
    fn new(server: &'a Server, seed: u64) -> Self {
        let workers = server.workers.max(1) as usize;
        let (readers, takers) = if server.queue.is_some() { (1, workers) } else { (workers, 0) };
        Self {
            server,
            waiting: Waiting::new(server.room),
            queued: VecDeque::new(),
            numbers: VecDeque::new(),
            readers: vec![None; readers],
            takers: vec![None; takers],
            draws: Draws::new(&server.service, seed),
            found: Replayed::default(),
        }
    }

    /// Does all that the server's threads do up to and at `until`.
    fn advance(&mut self, until: u64) {
        loop {
            let reader = earliest(&self.readers);
            let taker = earliest(&self.takers);
            match (reader, taker) {
                (Some((at, reader)), other) if at <= until && other.is_none_or(|(then, _)| at <= then) => {
                    self.read(reader, at);
                }
                (_, Some((at, taker))) if at <= until => self.take(taker, at),
                _ => return,
            }
        }
    }

    fn arrive(&mut self, packet: Arriving) {
        let backlog = self.waiting.len() + self.queued.len();
        let fits = self.waiting.arrive(truesize(packet.payload_bytes, self.server.family));
        self.found.largest_backlog = self.found.largest_backlog.max(backlog as u64);
        if fits {
            if self.server.queue.is_some() {
                self.numbers.push_back(self.found.seen.len());
            }
            let wakes_at = self.server.stalls.running_from(packet.at_ns.saturating_add(self.server.wake_ns));
            wake(&mut self.readers, wakes_at);
        } else {
            self.found.lost_at_socket += 1;
        }
        self.found
            .seen
            .push(SeenArrival { backlog: u32::try_from(backlog).unwrap_or(u32::MAX), lost: !fits });
    }

    /// A thread reads from the socket: it serves what it got, or puts it into the queue.
    fn read(&mut self, reader: usize, at: u64) {
        let mut taken = 0;
        let mut work = self.server.read_ns;
        while taken < self.server.batch.max(1) && self.waiting.read() {
            taken += 1;
            match self.server.queue {
                None => work += self.draws.next(at),
                Some(room) => self.enqueue(room, at),
            }
        }
        self.readers[reader] = (taken > 0).then(|| self.server.stalls.done(at, work));
    }

    fn enqueue(&mut self, room: u64, at: u64) {
        let Some(number) = self.numbers.pop_front() else { return };
        if self.queued.len() as u64 >= room {
            self.found.lost_at_queue += 1;
            self.found.seen[number].lost = true;
            return;
        }
        self.queued.push_back(number);
        wake(&mut self.takers, self.server.stalls.running_from(at.saturating_add(self.server.wake_ns)));
    }

    /// A worker takes a packet from the queue and serves it.
    fn take(&mut self, taker: usize, at: u64) {
        self.takers[taker] =
            self.queued.pop_front().map(|_| self.server.stalls.done(at, self.draws.next(at)));
    }
}

/// The thread that acts first, and when; the first of several.
fn earliest(threads: &[Option<u64>]) -> Option<(u64, usize)> {
    threads.iter().enumerate().filter_map(|(index, at)| Some(((*at)?, index))).min()
}

/// Wakes one thread that sleeps.
fn wake(threads: &mut [Option<u64>], at: u64) {
    if let Some(asleep) = threads.iter_mut().find(|thread| thread.is_none()) {
        *asleep = Some(at);
    }
}

/// Service times, one after the other.
struct Draws<'a> {
    service: &'a Service,
    chance: rand_chacha::ChaCha8Rng,
    next: usize,
    left: u32,
}

/// Neighbours that stay together when service times are drawn again.
const TOGETHER: u32 = 32;

impl<'a> Draws<'a> {
    fn new(service: &'a Service, seed: u64) -> Self {
        Self { service, chance: seed::generator(seed), next: 0, left: 0 }
    }

    /// The time that a service begun at `at` takes; they are begun in order of time.
    fn next(&mut self, at: u64) -> u64 {
        match self.service {
            Service::Fixed(ns) => *ns,
            Service::Course(course) => {
                while course.get(self.next + 1).is_some_and(|(from, _)| *from <= at) {
                    self.next += 1;
                }
                course.get(self.next).map_or(0, |(_, ns)| *ns)
            }
            Service::Drawn(measured) if measured.is_empty() => 0,
            Service::Drawn(measured) => {
                if self.left == 0 {
                    self.next = self.chance.random_range(0..measured.len());
                    self.left = TOGETHER;
                }
                let ns = measured[self.next % measured.len()];
                self.next += 1;
                self.left -= 1;
                ns
            }
        }
    }
}

#[cfg(test)]
mod tests;
