//! Traffic that is not ours: what arrives for a port of this machine, and what its socket does with it.

use super::arrivals::{Arrivals, MOST_WAITING};
use super::presence::Presence;
use super::tap::Tap;
use crate::kernel::addresses;
use crate::kernel::view::OtherNamespace;
use crate::losses::counters::Counters;
use crate::losses::watch::Watch;
use dropline_account::{Account, AddressFamily, Outcome, Role, Snapshot, account};
use dropline_stats::Spacing;
use dropline_trial::{Caveat, PacketTimes, TargetActivity};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// A port of this machine that is listened in on.
#[derive(Debug)]
pub struct Port {
    /// The namespace that it is of; `None` if that is ours.
    elsewhere: Option<OtherNamespace>,
    address: SocketAddr,
    counters: Counters,
    watch: Watch,
}

/// What was overheard.
#[derive(Debug)]
pub struct Overheard {
    /// How long.
    pub duration: Duration,
    /// Packets that arrived, by the kernel's stamps; `None` where no tap was to be had. When they came back, if
    /// they did, nobody saw.
    pub packets: Option<PacketTimes>,
    /// Packets that arrived, those included that were not kept.
    pub arrived: Option<u64>,
    /// The same arrivals, all of them, by how they were spread.
    pub spacing: Option<Spacing>,
    /// The payload of the packet in the middle, by size; `None` where none was seen.
    pub usual_payload_bytes: Option<u16>,
    /// Why no arrivals were seen, if none were.
    pub untapped: Option<String>,
    /// Why it ended before it should have.
    pub ended: Option<OverhearError>,
    /// Packets that the socket did not take.
    pub dropped: u64,
    /// Packets that came while no socket was open at the port.
    pub without_socket: u64,
    /// Packets that still waited when a socket was last seen, before it was closed.
    pub unread: u64,
    /// Datagrams that all sockets of this network namespace read.
    pub read_in_namespace: u64,
    /// Of what arrived, what did not reach a program, by place. Where other sockets of this namespace read too, what
    /// was lost before the socket is not less than this, and may be more.
    pub account: Account,
    /// Copies that found no room at the tap: the arrivals are not all there.
    pub missed: u64,
    /// What the socket and its process did.
    pub watched: TargetActivity,
    /// How often the clock that stamps was set meanwhile.
    pub clock_steps: u64,
}

/// What there is to see while it goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glimpse {
    /// Since the start.
    pub elapsed: Duration,
    /// Packets that arrived since the start; `None` without a tap.
    pub arrived: Option<u64>,
    /// Packets that arrived in the time since the last glimpse, a second; `None` without a tap, and where hardly any
    /// time has passed yet.
    pub rate_pps: Option<f64>,
    /// Index of dispersion of the arrivals since the start, over 1, 10 and 100 ms.
    pub dispersion: [Option<f64>; 3],
    /// Packets that the socket did not take since the start.
    pub dropped: u64,
    /// Memory that waiting packets are charged for, now.
    pub waiting_bytes: u64,
}

/// Why a port cannot be listened in on.
#[derive(Debug, thiserror::Error)]
pub enum OverhearError {
    /// There is no such process.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// No UDP socket of the network namespace is bound to it.
    #[error("no UDP socket here is bound to port {0}")]
    NoSocket(u16),
    /// The socket went away.
    #[error("the socket at port {0} was closed: its service ended, or closed it")]
    Closed(u16),
    /// The system did not start a thread.
    #[error("a thread could not be started: {0}")]
    Thread(io::Error),
    /// The system did not let us.
    #[error("cannot listen in on the packets: {0}")]
    System(#[from] io::Error),
}

/// From one glimpse to the next.
const GLIMPSE: Duration = Duration::from_millis(250);
/// From one time that what was heard is kept to the next.
const KEPT_EVERY: Duration = Duration::from_secs(2);
/// From one look at whether the socket is there to the next, at least: all rows of a table are read for it.
const LOOK: Duration = Duration::from_millis(10);
/// The longest wait without a look at whether the user wants to stop.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// Room for copies while this program gets no CPU; more than the system grants is cut to it.
const TAP_BYTES: usize = 32 << 20;

impl Port {
    /// Finds the socket at a port of this network namespace, and looks at it each `every`. The process is the
    /// one that holds the socket, unless `pid` says otherwise; then the port is one of that process's namespace.
    ///
    /// # Errors
    /// If no socket is bound to the port, there is no such process, or its namespace may not be entered.
    pub fn open(port: u16, pid: Option<u32>, every: Duration) -> Result<Self, OverhearError> {
        let elsewhere = pid.map(|pid| match OtherNamespace::of_process(pid) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Err(OverhearError::NoProcess(pid)),
            elsewhere => Ok(elsewhere?),
        });
        let Some(elsewhere) = elsewhere.transpose()?.flatten() else {
            return Self::open_here(port, pid, every);
        };
        let there = elsewhere.inside(|| Self::open_here(port, pid, every))??;
        Ok(Self { elsewhere: Some(elsewhere), ..there })
    }

    fn open_here(port: u16, pid: Option<u32>, every: Duration) -> Result<Self, OverhearError> {
        let bound = |ip: IpAddr| {
            let address = SocketAddr::new(ip, port);
            let counters = Counters::open(ip, address);
            counters.target_sockets().map(|_| (address, counters))
        };
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let own = addresses::here().into_iter().map(|(ip, _)| ip);
        let (address, counters) =
            loopback.into_iter().chain(own).find_map(bound).ok_or(OverhearError::NoSocket(port))?;
        let from = SocketAddr::new(address.ip(), 1);
        let watch = Watch::find(&counters, from, pid, every, true).ok_or(OverhearError::NoSocket(port))?;
        Ok(Self { elsewhere: None, address, counters, watch })
    }

    /// Where its socket is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Listens until `duration` is over, `stop` is set or the socket goes away; `see` is shown how it goes, first when it
    /// has begun. Every few seconds `keep` is given what was heard so far, without the times of packets.
    ///
    /// # Errors
    /// If it cannot begin.
    pub fn listen(
        mut self,
        duration: Option<Duration>,
        stop: &AtomicBool,
        see: impl FnMut(&Glimpse) + Send,
        keep: impl FnMut(&Overheard) + Send,
    ) -> Result<Overheard, OverhearError> {
        match self.elsewhere.take() {
            Some(elsewhere) => elsewhere.inside(|| self.listen_here(duration, stop, see, keep))?,
            None => self.listen_here(duration, stop, see, keep),
        }
    }

    fn listen_here(
        mut self,
        duration: Option<Duration>,
        stop: &AtomicBool,
        mut see: impl FnMut(&Glimpse),
        mut keep: impl FnMut(&Overheard),
    ) -> Result<Overheard, OverhearError> {
        let port = self.address.port();
        let (tap, untapped) = match Tap::open(None, port, TAP_BYTES) {
            Ok(tap) => (Some(tap), None),
            Err(why) => (None, Some(why.to_string())),
        };
        // The socket's are looked at meanwhile by those that are read at the end.
        let mut meanwhile = Counters::open(self.address.ip(), self.address);
        // Counters before the first arrival and after the last: nothing that arrived is missed among what was read.
        let before = self.counters.read();
        let family = if self.address.is_ipv6() { AddressFamily::V6 } else { AddressFamily::V4 };
        let presence = Presence::begin(before.target.ok_or(OverhearError::Closed(port))?, family);
        let mut arrivals = tap.map(Arrivals::new).transpose()?;
        let (counters, watch) = (&self.counters, &mut self.watch);
        let epoch = Instant::now();
        let done = AtomicBool::new(false);
        let mut hearing = Hearing { epoch, duration, presence };
        let seen = Mutex::new(watch.begin());
        let mut kept = |arrivals: Option<&Arrivals>, presence: &Presence| {
            let grown = meanwhile.read().since(&before);
            if grown.target.is_some() {
                let far = seen.lock().unwrap_or_else(PoisonError::into_inner).so_far();
                keep(&so_far(epoch.elapsed(), &grown, arrivals, presence, far, untapped.clone()));
            }
        };
        let (watched, ended) = std::thread::scope(|scope| {
            let look = || watch.run_into(&seen, counters, epoch, &done, None, &|_| {});
            let watching = Builder::new().spawn_scoped(scope, look).map_err(OverhearError::Thread)?;
            let ended = hearing.hear(arrivals.as_mut(), counters, stop, &mut see, &mut kept);
            done.store(true, Ordering::Release);
            watching.thread().unpark();
            Ok::<_, OverhearError>((
                watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                ended,
            ))
        })?;
        let duration = epoch.elapsed();
        let after = self.counters.read();
        let closed = after.target.is_none();
        hearing.presence.look(epoch.elapsed().as_nanos() as u64, after.target);
        let grown = after.since(&before);
        let ended = ended.err().map(OverhearError::System);
        let heard = so_far(duration, &grown, arrivals.as_ref(), &hearing.presence, watched, untapped);
        Ok(Overheard {
            ended: ended.or_else(|| closed.then_some(OverhearError::Closed(port))),
            packets: arrivals.map(|arrivals| arrivals.times),
            ..heard
        })
    }
}

/// What was heard until now, but the times of packets.
fn so_far(
    duration: Duration,
    grown: &Snapshot,
    arrivals: Option<&Arrivals>,
    presence: &Presence,
    watched: TargetActivity,
    untapped: Option<String>,
) -> Overheard {
    let arrived = arrivals.map(|arrivals| arrivals.spacing.count());
    let payload_bytes = arrivals.and_then(Arrivals::usual_payload_bytes);
    let mut grown = grown.clone();
    grown.target = Some(presence.sockets());
    let (known, read_in_namespace) = outcome(&grown, arrived, presence, payload_bytes);
    let outcome = Outcome { in_trains: arrivals.map_or(0, |arrivals| arrivals.in_trains), ..known };
    let mut account = account(&outcome, &grown, |_| None);
    // Whoever sent to the port is heard: all of it is what is accounted for.
    account.caveats.retain(|caveat| !matches!(caveat, Caveat::OthersCame { .. }));
    Overheard {
        duration,
        packets: None,
        arrived,
        spacing: arrivals.map(|arrivals| arrivals.spacing.clone()),
        usual_payload_bytes: payload_bytes,
        untapped,
        ended: None,
        dropped: presence.dropped(),
        without_socket: outcome.without_socket,
        unread: outcome.unread,
        read_in_namespace,
        account,
        missed: arrivals.map_or(0, |arrivals| arrivals.missed),
        // Who sends is not known, and not to be told from others.
        watched: TargetActivity { packets: outcome.forwarded, others_ns: None, ..watched },
        clock_steps: arrivals.map_or(0, |arrivals| arrivals.join.steps),
    }
}

/// What is known without a place: what arrived, and what programs read of it at most; and what the namespace's
/// sockets read in all.
fn outcome(
    grown: &Snapshot,
    arrived: Option<u64>,
    presence: &Presence,
    payload_bytes: Option<u16>,
) -> (Outcome, u64) {
    let here = grown.spaces.iter().find(|space| matches!(space.role, Role::Both | Role::Far));
    let (read, no_ports) = here.map_or((0, 0), |space| (space.stack.udp_read, space.stack.no_ports));
    let dropped = presence.dropped();
    let unread = presence.unread(payload_bytes);
    let offered = arrived.unwrap_or(read + dropped + unread).max(dropped);
    let without_socket = presence.without_socket(no_ports).min(offered - dropped);
    let unread = unread.min(offered - dropped - without_socket);
    let forwarded = (offered - dropped - without_socket - unread).min(read + presence.waiting());
    (Outcome { offered, forwarded, one_way: true, without_socket, unread, ..Outcome::default() }, read)
}

/// So many packets in that time, a second. The first glimpse comes at once: what waited at the tap until then did not
/// arrive in no time.
fn rate_pps(packets: u64, since: Duration) -> Option<f64> {
    (since >= GLIMPSE).then(|| packets as f64 / since.as_secs_f64())
}

/// How long it is listened, and what the socket was seen to be.
struct Hearing {
    epoch: Instant,
    duration: Option<Duration>,
    presence: Presence,
}

impl Hearing {
    /// Takes copies until the time is over or the socket is gone.
    fn hear(
        &mut self,
        mut arrivals: Option<&mut Arrivals>,
        counters: &Counters,
        stop: &AtomicBool,
        see: &mut impl FnMut(&Glimpse),
        keep: &mut impl FnMut(Option<&Arrivals>, &Presence),
    ) -> io::Result<()> {
        let epoch = self.epoch;
        let (mut seen_at, mut seen) = (epoch, 0);
        let (mut kept_at, mut looked_at): (Option<Instant>, Option<Instant>) = (None, None);
        // Glimpses in a row that found no socket: one that is made anew is gone for a moment.
        let mut unseen = 0;
        let mut shown = false;
        loop {
            let left = self.duration.map(|duration| duration.saturating_sub(epoch.elapsed()));
            if stop.load(Ordering::Relaxed) || left.is_some_and(|left| left.is_zero()) || unseen > 1 {
                // What came until now.
                let Some(arrivals) = arrivals else { return Ok(()) };
                for _ in 0..MOST_WAITING {
                    if !arrivals.take(epoch, Duration::ZERO, &mut self.presence)? {
                        break;
                    }
                }
                return Ok(());
            }
            let wait = left.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
            match &mut arrivals {
                Some(arrivals) => {
                    arrivals.take(epoch, wait, &mut self.presence)?;
                }
                None => std::thread::sleep(wait),
            }
            if looked_at.is_none_or(|at| at.elapsed() >= LOOK) {
                // Before it is asked: what comes until the answer may find the socket gone.
                let now_ns = epoch.elapsed().as_nanos() as u64;
                self.presence.look(now_ns, counters.target_sockets());
                looked_at = Some(Instant::now());
            }
            let since = seen_at.elapsed();
            if since < GLIMPSE && shown {
                continue;
            }
            if kept_at.is_none_or(|at| at.elapsed() >= KEPT_EVERY) {
                keep(arrivals.as_deref(), &self.presence);
                kept_at = Some(Instant::now());
            }
            if self.presence.is_there() {
                unseen = 0;
                let all = arrivals.as_ref().map(|arrivals| arrivals.spacing.count());
                see(&Glimpse {
                    elapsed: epoch.elapsed(),
                    arrived: all,
                    rate_pps: all.and_then(|all| rate_pps(all - seen, since)),
                    dispersion: arrivals.as_ref().map_or([None; 3], |arrivals| arrivals.spacing.dispersion()),
                    dropped: self.presence.dropped(),
                    waiting_bytes: self.presence.waiting_bytes(),
                });
                seen = all.unwrap_or(0);
            } else {
                unseen += 1;
            }
            seen_at = Instant::now();
            shown = true;
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests;
