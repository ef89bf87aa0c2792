//! Traffic that is not ours: what arrives for a port of this machine, and what its socket does with it.

use crate::Counters;
use crate::clock_join::ClockJoin;
use crate::counters::watch::Watch;
use crate::receiver::nothing_as_none;
use crate::sys::{ReceiveBatch, local_addresses, tap_drops, tap_port, wait_for_stamps, wait_readable};
use dropline_stats::Spacing;
use dropline_trial::{PacketTimes, Stamp, Watched};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A port of this machine that is listened in on.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    counters: Counters,
    watch: Watch,
    tap: Result<UdpSocket, io::Error>,
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
    /// Packets that found no room at the socket.
    pub dropped: u64,
    /// Datagrams that all sockets of this network namespace read.
    pub read_in_namespace: u64,
    /// Copies that found no room at the tap: the arrivals are not all there.
    pub missed: u64,
    /// What the socket and its process did.
    pub watched: Watched,
    /// How often the clock that stamps was set meanwhile.
    pub clock_steps: u64,
}

/// What there is to see while it goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glimpse {
    /// Since the start.
    pub elapsed: Duration,
    /// Packets that arrived in the time since the last glimpse, a second; `None` without a tap.
    pub rate_pps: Option<f64>,
    /// Index of dispersion of the arrivals since the start, over 1, 10 and 100 ms.
    pub dispersion: [Option<f64>; 3],
    /// Packets that found no room at the socket since the start.
    pub dropped: u64,
    /// Memory that waiting packets are charged for, now.
    pub waiting_bytes: u64,
}

/// Why a port cannot be listened in on.
#[derive(Debug, thiserror::Error)]
pub enum OverhearError {
    /// No UDP socket of this network namespace is bound to it.
    #[error("no UDP socket here is bound to port {0}")]
    NoSocket(u16),
    /// The socket went away.
    #[error("the socket at port {0} was closed")]
    Closed(u16),
    /// The system did not let us.
    #[error("cannot listen in on the packets: {0}")]
    System(#[from] io::Error),
}

/// From one glimpse to the next.
const GLIMPSE: Duration = Duration::from_millis(250);
/// The longest wait without a look at whether the user wants to stop.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// Packets whose times are kept.
const ROOM: usize = 2 << 20;
/// What is read of a copy: its IP and UDP headers.
const HEADERS: usize = 96;

impl Port {
    /// Finds the socket at a port of this network namespace, and looks at it each `every`. The process is the
    /// one that holds the socket, unless `pid` says otherwise.
    ///
    /// # Errors
    /// If no socket is bound to the port.
    pub fn open(port: u16, pid: Option<u32>, every: Duration) -> Result<Self, OverhearError> {
        let bound = |ip: IpAddr| {
            let address = SocketAddr::new(ip, port);
            let counters = Counters::open(ip, address);
            counters.target_sockets().map(|_| (address, counters))
        };
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let own = local_addresses().into_iter().map(|(ip, _)| ip);
        let (address, counters) =
            loopback.into_iter().chain(own).find_map(bound).ok_or(OverhearError::NoSocket(port))?;
        let from = SocketAddr::new(address.ip(), 1);
        let watch = Watch::find(&counters, from, pid, every, true).ok_or(OverhearError::NoSocket(port))?;
        let tap = tap_port(port);
        if tap.is_ok() {
            wait_for_stamps();
        }
        Ok(Self { address, counters, watch, tap })
    }

    /// Where its socket is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Why arrivals are not seen, if they are not.
    pub fn untapped(&self) -> Option<&io::Error> {
        self.tap.as_ref().err()
    }

    /// Listens until `duration` is over or `stop` is set; `see` is shown how it goes.
    ///
    /// # Errors
    /// If the socket goes away, or the tap fails.
    pub fn listen(
        mut self,
        duration: Option<Duration>,
        stop: &AtomicBool,
        mut see: impl FnMut(&Glimpse),
    ) -> Result<Overheard, OverhearError> {
        let closed = OverhearError::Closed(self.address.port());
        let Some(before) = self.counters.target_sockets() else { return Err(closed) };
        let read_before = read_in_namespace(&mut self.counters);
        let mut arrivals = self.tap.ok().map(Arrivals::new).transpose()?;
        let (counters, watch) = (&self.counters, &mut self.watch);
        let epoch = Instant::now();
        let done = AtomicBool::new(false);
        let (watched, ended) = std::thread::scope(|scope| {
            let watching = scope.spawn(|| watch.run(counters, epoch, &done, None));
            let ended = hear(arrivals.as_mut(), counters, before.drops, (epoch, duration, stop), &mut see);
            done.store(true, Ordering::Release);
            watching.thread().unpark();
            (watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), ended)
        });
        ended?;
        let duration = epoch.elapsed();
        let Some(after) = self.counters.target_sockets() else { return Err(closed) };
        let read_in_namespace = read_in_namespace(&mut self.counters).saturating_sub(read_before);
        let dropped = after.drops.saturating_sub(before.drops);
        let arrived = arrivals.as_ref().map(|arrivals| arrivals.spacing.count());
        let missed = arrivals.as_ref().map_or(0, |arrivals| arrivals.missed);
        let clock_steps = arrivals.as_ref().map_or(0, |arrivals| arrivals.join.steps);
        let packets = arrived.map_or(0, |arrived| arrived.saturating_sub(dropped));
        Ok(Overheard {
            duration,
            packets: arrivals.map(|arrivals| arrivals.times),
            arrived,
            dropped,
            read_in_namespace,
            missed,
            watched: Watched { packets, ..watched },
            clock_steps,
        })
    }
}

/// Datagrams that the sockets of the port's namespace have read so far.
fn read_in_namespace(counters: &mut Counters) -> u64 {
    counters.read().spaces.iter().map(|space| space.stack.udp_read).sum()
}

/// Takes copies until the time is over.
fn hear(
    mut arrivals: Option<&mut Arrivals>,
    counters: &Counters,
    drops_before: u64,
    (epoch, duration, stop): (Instant, Option<Duration>, &AtomicBool),
    see: &mut impl FnMut(&Glimpse),
) -> io::Result<()> {
    let (mut seen_at, mut seen) = (epoch, 0);
    loop {
        let now = Instant::now();
        let left = duration.map(|duration| duration.saturating_sub(now - epoch));
        if stop.load(Ordering::Relaxed) || left.is_some_and(|left| left.is_zero()) {
            return Ok(());
        }
        let wait = left.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        match &mut arrivals {
            Some(arrivals) => arrivals.take(epoch, wait)?,
            None => std::thread::sleep(wait),
        }
        let since = seen_at.elapsed();
        if since >= GLIMPSE
            && let Some(at) = counters.target_sockets()
        {
            let all = arrivals.as_ref().map(|arrivals| arrivals.spacing.count());
            see(&Glimpse {
                elapsed: epoch.elapsed(),
                rate_pps: all.map(|all| (all - seen) as f64 / since.as_secs_f64()),
                dispersion: arrivals.as_ref().map_or([None; 3], |arrivals| arrivals.spacing.dispersion()),
                dropped: at.drops.saturating_sub(drops_before),
                waiting_bytes: at.waiting_bytes,
            });
            seen = all.unwrap_or(0);
            seen_at = Instant::now();
        }
    }
}

/// What the tap brings.
struct Arrivals {
    tap: [UdpSocket; 1],
    batch: ReceiveBatch,
    times: PacketTimes,
    spacing: Spacing,
    join: ClockJoin,
    missed: u64,
}

impl Arrivals {
    fn new(tap: UdpSocket) -> io::Result<Self> {
        let mut batch = ReceiveBatch::with_stamps(HEADERS);
        // What came while the stamps were waited for is of no time.
        while nothing_as_none(batch.receive(&tap))?.is_some() {}
        tap_drops(&tap)?;
        let mut times = PacketTimes::with_room(ROOM, false);
        times.departures.stamp = Stamp::Kernel;
        Ok(Self { tap: [tap], batch, times, spacing: Spacing::new(), join: ClockJoin::default(), missed: 0 })
    }

    /// Waits for copies and takes all that are there.
    fn take(&mut self, epoch: Instant, longest: Duration) -> io::Result<()> {
        if !wait_readable(&self.tap, longest)? {
            return Ok(());
        }
        while let Some(count) = nothing_as_none(self.batch.receive(&self.tap[0]))? {
            let now_ns = epoch.elapsed().as_nanos() as u64;
            let real_ns =
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i64);
            self.join.observe(now_ns, real_ns, epoch.elapsed().as_nanos() as u64);
            for at in 0..count {
                let Some(payload_bytes) = payload_bytes(self.batch.packet(at)) else { continue };
                let stamp = self.batch.stamp(at);
                let at_ns = stamp.and_then(|stamp| self.join.trial_ns(stamp, 0, now_ns)).unwrap_or(now_ns);
                self.spacing.event(at_ns);
                self.times.departures.push_of(at_ns, Some(at_ns), 0, payload_bytes);
            }
        }
        self.missed += u64::from(tap_drops(&self.tap[0])?);
        Ok(())
    }
}

/// UDP payload of a packet that begins with its IP header, by the length that UDP states; `None` if it is no
/// UDP datagram, or its headers are not whole.
fn payload_bytes(packet: &[u8]) -> Option<u16> {
    let (protocol, header) = match packet.first()? >> 4 {
        4 => (*packet.get(9)?, usize::from(packet[0] & 0xF) * 4),
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    let length = packet.get(header + 4..header + 6)?;
    let length = u16::from_be_bytes(length.try_into().ok()?);
    if protocol == 17 { length.checked_sub(8) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_datagram_says_how_long_it_is() {
        let mut v4 = vec![0u8; 28];
        (v4[0], v4[9]) = (0x45, 17);
        v4[24..26].copy_from_slice(&72u16.to_be_bytes());
        assert_eq!(payload_bytes(&v4), Some(64));
        let mut v6 = vec![0u8; 48];
        (v6[0], v6[6]) = (0x60, 17);
        v6[44..46].copy_from_slice(&8u16.to_be_bytes());
        assert_eq!(payload_bytes(&v6), Some(0));
        v6[6] = 6;
        assert_eq!(payload_bytes(&v6), None);
    }

    #[test]
    fn packets_for_somebody_elses_socket_are_heard_and_its_drops_counted() {
        let target = UdpSocket::bind("127.0.0.1:0").unwrap();
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = Port::open(target.local_addr().unwrap().port(), None, Duration::from_millis(5)).unwrap();
        if port.untapped().is_some() {
            // Without the privilege there is nothing to hear.
            return;
        }
        let stop = AtomicBool::new(false);
        let heard = std::thread::scope(|scope| {
            let listening = scope.spawn(|| port.listen(Some(Duration::from_secs(20)), &stop, |_| {}));
            std::thread::sleep(Duration::from_millis(200));
            for _ in 0..1000 {
                sender.send_to(&[0; 100], target.local_addr().unwrap()).unwrap();
                sender.send_to(&[0; 50], other.local_addr().unwrap()).unwrap();
            }
            std::thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
            listening.join().unwrap().unwrap()
        });
        let packets = heard.packets.unwrap();
        assert_eq!((heard.arrived, packets.len()), (Some(1000), 1000));
        assert!(packets.iter().all(|packet| packet.payload_bytes == Some(100)));
        let held = heard.watched.buffer_bytes.unwrap() / 832;
        assert_eq!((heard.dropped, heard.missed), (1000 - held, 0));
    }

    #[test]
    fn a_port_that_nobody_has_is_no_port_to_hear() {
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let refused = Port::open(free, None, Duration::from_millis(5)).unwrap_err();
        assert!(matches!(refused, OverhearError::NoSocket(port) if port == free));
    }

    proptest! {
        #[test]
        fn no_bytes_are_taken_for_more_than_they_are(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            if let Some(payload) = payload_bytes(&bytes) {
                prop_assert!(bytes.len() >= 26 && payload <= u16::MAX - 8);
            }
        }
    }
}
