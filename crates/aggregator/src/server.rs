//! The server: a socket, a gate and a table, in one thread.

use super::access::{Gate, Limits, Network, Refusal};
use super::table::{Rejection, Table};
use super::wire::{PACKET_BYTES, REQUEST, VARIABLES};
use dropline_failure::Failure;
use dropline_traffic::BindError;
use dropline_traffic::datagrams::{Inbox, coarse_now, errno_name, receive_buffer, socket_drops};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a server shall be like.
#[derive(Clone, Debug)]
pub struct Server {
    /// Where it listens; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Who may have reports.
    pub monitors: Vec<Network>,
    /// Whose heartbeats are kept; `None`: everybody's.
    pub senders: Option<Vec<Network>>,
    /// How often reports leave; `None`: as often as they are asked for.
    pub limits: Option<Limits>,
    /// Receive buffer to ask for, in bytes.
    pub buffer: u64,
    /// Packets taken from the socket at a time.
    pub batch: usize,
}

impl Default for Server {
    /// On loopback, for loopback, with limits, 4 MiB and 64 packets at a time.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9060)),
            monitors: Network::LOOPBACK.to_vec(),
            senders: None,
            limits: Some(Limits::default()),
            buffer: 4 << 20,
            batch: 64,
        }
    }
}

/// What a server did. Every packet received is in exactly one of `stored`, `rejected` and
/// `requests`; what the kernel dropped was never received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerCounts {
    /// Packets read from the socket.
    pub received: u64,
    /// Heartbeats kept.
    pub stored: u64,
    /// Packets dropped, by why.
    pub rejected: BTreeMap<&'static str, u64>,
    /// Valid requests, by what became of them: `answered`, `not_sent`, or why they were refused.
    pub requests: BTreeMap<&'static str, u64>,
    /// Answers that the system did not take, by errno.
    pub send_errors: BTreeMap<String, u64>,
    /// Packets that found the socket's buffer full; null where that is not known.
    pub dropped_socket: Option<u64>,
    /// Errors that reading the socket met.
    pub receive_errors: u64,
    /// Receive buffer that the system really reserved, in bytes.
    pub receive_buffer_bytes: u64,
}

/// The last heartbeat of a variable, with all that a server knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// When it came, in seconds since 1970.
    pub arrived_unix_s: u64,
    /// Who sent it.
    pub from: u8,
    /// What it said.
    pub value: u8,
    /// Heartbeats of this variable so far.
    pub stored: u64,
}

impl Server {
    /// Listens; packets wait until it serves.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub fn listen(self) -> Result<ListeningServer, Failure> {
        let listen = self.listen;
        let (socket, reserved) = self.open().map_err(|why| match why.kind() {
            io::ErrorKind::AddrInUse => Failure::environment(BindError::InUse(listen))
                .advice("another server may still run there; or name another port: --listen"),
            io::ErrorKind::PermissionDenied => Failure::environment(BindError::Permission(listen))
                .advice("ports below 1024 need a privilege; take a higher one: --listen"),
            io::ErrorKind::AddrNotAvailable => Failure::environment(BindError::NotAvailable(listen)),
            _ => Failure::environment(format!("cannot listen at {listen}: {why}")),
        })?;
        let address = socket.local_addr().map_err(Failure::environment)?;
        let gate = Gate::new(address, self.monitors, self.limits);
        let desk = Mutex::new(Desk::new(gate, reserved, self.senders));
        let work = Arc::new(Work { address, begun: Instant::now(), desk, socket });
        Ok(ListeningServer { work, batch: self.batch })
    }

    /// Listens and serves in a thread of its own until stopped.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub fn start(self) -> Result<RunningServer, Failure> {
        let listening = self.listen()?;
        let view = listening.view();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("heartbeats".into())
            .spawn(move || {
                // A broken socket shows in the counts: they say how often reading it failed.
                let _ = listening.serve(&stopped);
            })
            .map_err(|why| Failure::thread(&why))?;
        Ok(RunningServer { view, stop, thread: Some(thread) })
    }

    /// The socket, and the receive buffer it got.
    fn open(&self) -> io::Result<(UdpSocket, u64)> {
        let socket = UdpSocket::bind(self.listen)?;
        socket.set_read_timeout(Some(LOOK_AT_STOP))?;
        let reserved = receive_buffer(&socket, self.buffer)?;
        Ok((socket, reserved))
    }
}

/// How long a wish to stop may go unnoticed.
const LOOK_AT_STOP: Duration = Duration::from_millis(100);
/// Enough of a packet to see that it is too long.
const KEPT_BYTES: usize = PACKET_BYTES + 1;

/// A server whose packets wait.
#[derive(Debug)]
pub struct ListeningServer {
    work: Arc<Work>,
    batch: usize,
}

impl ListeningServer {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.work.address
    }

    /// What can be asked of it, also while it serves.
    pub fn view(&self) -> ServerView {
        ServerView { work: Arc::clone(&self.work) }
    }

    /// Serves in this thread until `stop` is set. One thread is all it takes, so a process that does
    /// nothing else pays for no other.
    ///
    /// # Errors
    /// If its socket is broken.
    pub fn serve(&self, stop: &AtomicBool) -> Result<(), Failure> {
        if self.work.serve(self.batch, stop) {
            Ok(())
        } else {
            Err(Failure::environment("the socket cannot be read any more"))
        }
    }
}

/// A server at work; dropping it stops it.
#[derive(Debug)]
pub struct RunningServer {
    view: ServerView,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RunningServer {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.view.work.address
    }

    /// What can be asked of it while it runs.
    pub fn view(&self) -> ServerView {
        self.view.clone()
    }

    /// Stops it and says what it did.
    pub fn stop(mut self) -> ServerCounts {
        self.close();
        self.view.counts()
    }

    fn close(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Looks at a server from another thread.
#[derive(Clone, Debug)]
pub struct ServerView {
    work: Arc<Work>,
}

impl ServerView {
    /// What it did so far.
    pub fn counts(&self) -> ServerCounts {
        let mut desk = self.work.desk();
        desk.look_at_drops(&self.work.socket);
        desk.counts()
    }

    /// The last heartbeat of every variable that was ever set.
    pub fn kept(&self) -> [Option<Kept>; VARIABLES] {
        self.work.desk().kept
    }
}

#[derive(Debug)]
struct Work {
    address: SocketAddr,
    socket: UdpSocket,
    begun: Instant,
    desk: Mutex<Desk>,
}

/// In a row without a packet between them, these errors mean that the socket is broken.
const ERRORS_IN_A_ROW: u32 = 1000;

impl Work {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves until `stop` is set; false if the socket is broken.
    ///
    /// A packet that comes alone is read with the cheapest call there is; once they come one behind the
    /// other, many are taken at a time, until one comes alone again.
    fn serve(&self, batch: usize, stop: &AtomicBool) -> bool {
        let mut inbox = Inbox::new(batch.max(1), KEPT_BYTES);
        let mut single = [0; KEPT_BYTES];
        let (mut together, mut errors, mut pace) = (false, 0, Pace::default());
        while !stop.load(Ordering::Relaxed) {
            let received = if together {
                inbox.receive(&self.socket).map(|count| (count, None))
            } else {
                self.socket.recv_from(&mut single).map(|one| (1, Some(one)))
            };
            match received {
                Ok((count, one)) => {
                    errors = 0;
                    let now = coarse_now();
                    let seconds = now.as_secs();
                    let mut desk = self.desk();
                    match one {
                        Some((length, source)) => {
                            desk.take(&single[..length], || Some(source), seconds, self);
                            together = batch > 1 && pace.is_crowded(now);
                        }
                        None => {
                            (0..count).for_each(|at| {
                                desk.take(inbox.datagram(at), || inbox.source(at), seconds, self);
                            });
                            together = count > 1;
                        }
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        self.desk().look_at_drops(&self.socket);
                    }
                    io::ErrorKind::Interrupted => {}
                    _ => {
                        errors += 1;
                        self.desk().receive_errors += 1;
                        if errors == ERRORS_IN_A_ROW {
                            return false;
                        }
                    }
                },
            }
        }
        true
    }
}

/// How many packets came one by one since the coarse clock moved, which it does every few milliseconds.
#[derive(Debug, Default)]
struct Pace {
    tick: Duration,
    packets: u32,
}

impl Pace {
    /// So many between two ticks are worth a look at how many wait.
    const MANY: u32 = 16;

    /// Whether another packet at `now` makes them many; the count then begins anew.
    fn is_crowded(&mut self, now: Duration) -> bool {
        let before = if self.tick == now { self.packets } else { 0 };
        self.tick = now;
        self.packets = (before + 1) % Self::MANY;
        self.packets == 0
    }
}

/// Everything that changes while a server runs.
#[derive(Debug)]
struct Desk {
    table: Table,
    gate: Gate,
    senders: Option<Vec<Network>>,
    kept: [Option<Kept>; VARIABLES],
    stored: u64,
    rejected: [u64; Rejection::ALL.len()],
    strangers: u64,
    answered: u64,
    not_sent: u64,
    refused: [u64; Refusal::ALL.len()],
    send_errors: BTreeMap<String, u64>,
    receive_errors: u64,
    receive_buffer_bytes: u64,
    /// Packets the kernel dropped; its own counter wraps around at 2³².
    dropped: Option<u64>,
}

impl Desk {
    fn new(gate: Gate, receive_buffer_bytes: u64, senders: Option<Vec<Network>>) -> Self {
        Self {
            table: Table::default(),
            gate,
            senders,
            kept: [None; VARIABLES],
            stored: 0,
            rejected: [0; Rejection::ALL.len()],
            strangers: 0,
            answered: 0,
            not_sent: 0,
            refused: [0; Refusal::ALL.len()],
            send_errors: BTreeMap::new(),
            receive_errors: 0,
            receive_buffer_bytes,
            dropped: None,
        }
    }

    /// Takes a packet; only a valid request is ever answered.
    fn take(&mut self, packet: &[u8], source: impl Fn() -> Option<SocketAddr>, now: u64, work: &Work) {
        if packet == REQUEST {
            return self.answer(source(), work);
        }
        if let Some(senders) = &self.senders
            && !source().is_some_and(|source| senders.iter().any(|network| network.holds(source.ip())))
        {
            self.strangers += 1;
            return;
        }
        match self.table.keep(now, packet) {
            Ok(heartbeat) => {
                self.stored += 1;
                let kept = &mut self.kept[usize::from(heartbeat.variable)];
                let stored = kept.map_or(0, |kept| kept.stored) + 1;
                let (from, value) = (heartbeat.from, heartbeat.value);
                *kept = Some(Kept { arrived_unix_s: now, from, value, stored });
            }
            Err(why) => self.rejected[why as usize] += 1,
        }
    }

    fn answer(&mut self, source: Option<SocketAddr>, work: &Work) {
        let admitted = source
            .ok_or(Refusal::NoPlace)
            .and_then(|source| self.gate.admit(source, work.begun.elapsed()).map(|()| source));
        let sent = match admitted {
            Err(why) => {
                self.refused[why as usize] += 1;
                return;
            }
            Ok(source) => work.socket.send_to(self.table.report(), source),
        };
        match sent {
            Ok(_) => self.answered += 1,
            Err(error) => {
                self.not_sent += 1;
                *self.send_errors.entry(errno_name(&error)).or_default() += 1;
            }
        }
    }

    fn look_at_drops(&mut self, socket: &UdpSocket) {
        if let Some(now) = socket_drops(socket) {
            let before = self.dropped.unwrap_or(0);
            self.dropped = Some(before + u64::from(now.wrapping_sub(before as u32)));
        }
    }

    fn counts(&self) -> ServerCounts {
        let mut rejected: BTreeMap<&'static str, u64> =
            Rejection::ALL.iter().map(|&why| (why.name(), self.rejected[why as usize])).collect();
        rejected.insert("sender_not_allowed", self.strangers);
        let mut requests: BTreeMap<&'static str, u64> =
            Refusal::ALL.iter().map(|&why| (why.name(), self.refused[why as usize])).collect();
        requests.insert("answered", self.answered);
        requests.insert("not_sent", self.not_sent);
        ServerCounts {
            received: self.stored + rejected.values().sum::<u64>() + requests.values().sum::<u64>(),
            stored: self.stored,
            rejected,
            requests,
            send_errors: self.send_errors.clone(),
            dropped_socket: self.dropped,
            receive_errors: self.receive_errors,
            receive_buffer_bytes: self.receive_buffer_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_many_when_sixteen_come_between_two_ticks() {
        let ms = Duration::from_millis;
        let mut pace = Pace::default();
        let spread = (0..100).filter(|at| pace.is_crowded(ms(4 * (at / 15)))).count();
        assert_eq!(spread, 0, "fifteen a tick are not");
        let crowded = (0..32).filter(|_| pace.is_crowded(ms(1000))).count();
        assert_eq!(crowded, 2, "and it is looked at again after sixteen more");
    }
}
