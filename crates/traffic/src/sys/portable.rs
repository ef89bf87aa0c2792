//! Every system: the standard library alone. Packets move one by one, and what the own socket dropped
//! is not known.

use super::{BATCH, Entrance, Exit, Queued, Refused};
use crate::packet::frame::{Head, Link};
use dropline_payload::{HEADER_BYTES, filler};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Packets of one stream that are due together.
pub(crate) struct SendBatch {
    packets: Vec<Vec<u8>>,
    len: usize,
}

impl SendBatch {
    /// Packets with `payload` bytes, at least the header's, and `room` for at most [`BATCH`] of them.
    pub(crate) fn new(payload: usize, room: usize, _: Head) -> Self {
        let mut packet = vec![0; HEADER_BYTES];
        packet.extend(filler(payload.saturating_sub(HEADER_BYTES)));
        let room = room.clamp(1, BATCH);
        Self { packets: vec![packet; room], len: 0 }
    }

    /// Adds a packet; nobody stamps it.
    pub(crate) fn push(&mut self, header: [u8; HEADER_BYTES], _: Option<u32>) {
        assert!(self.len < self.packets.len(), "a batch holds {} packets", self.packets.len());
        self.packets[self.len][..HEADER_BYTES].copy_from_slice(&header);
        self.len += 1;
    }

    /// Adds a packet that is all of its bytes.
    pub(crate) fn push_whole(&mut self, bytes: &[u8], _: Option<u32>) {
        assert!(self.len < self.packets.len(), "a batch holds {} packets", self.packets.len());
        self.packets[self.len].clear();
        self.packets[self.len].extend_from_slice(bytes);
        self.len += 1;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == self.packets.len()
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Sends packet `first` without waiting, whatever the means: one call each is all there is.
    pub(crate) fn send(&mut self, exit: &Exit<'_>, first: usize) -> Result<usize, Refused> {
        match exit {
            Exit::Each(socket) | Exit::Many(socket) | Exit::Train(socket) => {
                socket.send(&self.packets[first]).map(|_| 1).map_err(|error| Refused { error, packets: 1 })
            }
            Exit::Frames(socket) => match **socket {},
            Exit::Nowhere => Ok(self.len - first),
        }
    }
}

/// There are none.
#[derive(Debug)]
pub(crate) enum FrameSocket {}

impl FrameSocket {
    pub(crate) fn open(_: u32) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Not known.
pub(crate) fn link_to(_: IpAddr) -> io::Result<Link> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not known.
pub(crate) fn programs_at(_: u32) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not known.
pub(crate) fn older_rules(_: super::IpVersion, _: &str) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not known.
pub(crate) fn neighbour(_: &Link) -> io::Result<[u8; 6]> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The kernel's stamps are not to be had.
pub(crate) fn stamp_packets(_: &UdpSocket) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Nothing to wait for.
pub(crate) fn wait_for_stamps() {}

/// It does not.
pub(crate) fn can_stamp_departures() -> bool {
    false
}

/// Trains cannot be kept together.
pub(crate) fn keep_trains(_: &UdpSocket) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// As many as the system says there are.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

/// Threads stay wherever the system puts them.
pub(crate) fn run_on(_: &[usize]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Nobody goes first.
pub(crate) fn real_time(_: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Nobody is preferred.
pub(crate) fn prefer() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Waits like [`wait_readable`]; nothing else is heard.
pub(crate) fn wait_and_hear(
    sockets: &[UdpSocket],
    longest: Duration,
    _: impl FnMut(usize, Queued),
) -> io::Result<bool> {
    wait_readable(sockets, longest)
}

/// What the network reported.
pub(crate) fn hear_queued(socket: &UdpSocket, _: impl FnMut(Queued)) -> io::Result<()> {
    socket.take_error()?.map_or(Ok(()), Err)
}

/// Buffers for packets that arrive together.
pub(crate) struct ReceiveBatch {
    /// What is kept of each packet; the rest is cut off.
    keep: usize,
    bytes: Vec<u8>,
    packets: Vec<(usize, SocketAddr)>,
}

impl ReceiveBatch {
    /// Keeps the first `keep` bytes of each packet.
    pub(crate) fn new(keep: usize) -> Self {
        Self { keep, bytes: vec![0; keep * BATCH], packets: Vec::with_capacity(BATCH) }
    }

    /// The same: nobody stamps them.
    pub(crate) fn with_stamps(keep: usize) -> Self {
        Self::new(keep)
    }

    /// For packets of any length: trains come apart.
    pub(crate) fn with_trains() -> Self {
        Self::new(65_535)
    }

    /// Most packets of one call.
    pub(crate) fn most(&self) -> usize {
        BATCH
    }

    /// The same as [`receive`](Self::receive), but waits for the first of them, `longest` at most.
    pub(crate) fn receive_or_wait(&mut self, socket: &UdpSocket, longest: Duration) -> io::Result<usize> {
        match wait_readable(std::slice::from_ref(socket), longest)? {
            true => self.receive(socket),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Nobody stamped it.
    pub(crate) fn stamp(&self, _: usize) -> Option<i64> {
        None
    }

    /// Takes what waits at the socket, at most [`BATCH`] packets, without waiting: `WouldBlock` if
    /// there is none.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.packets.clear();
        for at in 0..BATCH {
            match socket.recv_from(&mut self.bytes[at * self.keep..][..self.keep]) {
                Ok(packet) => self.packets.push(packet),
                Err(error) if at == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(self.packets.len())
    }

    /// Bytes of packet `at` of the last `receive`, as far as they were kept.
    pub(crate) fn packet(&self, at: usize) -> &[u8] {
        &self.bytes[at * self.keep..][..self.packets[at].0]
    }

    /// Where packet `at` came from.
    pub(crate) fn source(&self, at: usize) -> Option<SocketAddr> {
        Some(self.packets[at].1)
    }

    /// The same, to be written to.
    pub(crate) fn packet_mut(&mut self, at: usize) -> &mut [u8] {
        &mut self.bytes[at * self.keep..][..self.packets[at].0]
    }

    /// No socket is a tap.
    pub(crate) fn entrance(&self, _: usize) -> Option<Entrance> {
        None
    }

    /// Sends the `chosen` packets back to where they came from, unchanged, from the `first` of them on;
    /// returns how many left. An error is about the first alone.
    pub(crate) fn echo(&mut self, socket: &UdpSocket, chosen: &[usize], first: usize) -> io::Result<usize> {
        let at = chosen[first];
        socket.send_to(self.packet(at), self.packets[at].1).map(|_| 1)
    }
}

/// Room for one datagram.
pub(crate) struct InBatch {
    bytes: Vec<u8>,
    last: Option<(usize, SocketAddr)>,
}

impl InBatch {
    /// Keeps the first `keep` bytes.
    pub(crate) fn new(_: usize, keep: usize) -> Self {
        Self { bytes: vec![0; keep], last: None }
    }

    /// Waits for a datagram, as long as the socket waits.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.last = Some(socket.recv_from(&mut self.bytes)?);
        Ok(1)
    }

    /// Bytes of the datagram of the last `receive`, as far as they were kept.
    pub(crate) fn datagram(&self, _: usize) -> &[u8] {
        &self.bytes[..self.last.map_or(0, |(length, _)| length)]
    }

    /// Where it came from.
    pub(crate) fn source(&self, _: usize) -> Option<SocketAddr> {
        self.last.map(|(_, source)| source)
    }
}

/// Datagrams of one length.
pub(crate) struct OutBatch<const LENGTH: usize>(Vec<[u8; LENGTH]>);

impl<const LENGTH: usize> OutBatch<LENGTH> {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(BATCH))
    }

    /// Adds a datagram; at most [`BATCH`] fit.
    pub(crate) fn push(&mut self, datagram: [u8; LENGTH]) {
        assert!(self.0.len() < BATCH, "a batch holds {BATCH} datagrams");
        self.0.push(datagram);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Sends datagram `first` over a connected socket.
    pub(crate) fn send(&mut self, socket: &UdpSocket, first: usize) -> io::Result<usize> {
        socket.send(&self.0[first]).map(|_| 1)
    }
}

/// Waits until one of the sockets has something, at most `longest`; whether one has.
///
/// # Errors
/// What the network reported about an earlier packet, such as a closed port.
pub(crate) fn wait_readable(sockets: &[UdpSocket], longest: Duration) -> io::Result<bool> {
    const LOOK_EVERY: Duration = Duration::from_micros(50);
    let begun = Instant::now();
    loop {
        for socket in sockets {
            match socket.peek(&mut [0]) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        if begun.elapsed() >= longest {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Receiving waits by asking again and again.
pub(crate) fn let_wait(_: &UdpSocket, _: Duration) -> io::Result<()> {
    Ok(())
}

/// Nothing is counted.
pub(crate) fn count_tracepoint(_: u64, _: u32, _: &str) -> io::Result<std::fs::File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Packets on their way to others are not shown.
pub(crate) fn open_tap(_: Option<&str>, _: u16, _: usize) -> io::Result<UdpSocket> {
    Err(io::ErrorKind::Unsupported.into())
}

/// There is no tap.
pub(crate) fn open_count(_: u32, _: std::net::SocketAddr, _: bool, _: bool) -> io::Result<UdpSocket> {
    Err(io::ErrorKind::Unsupported.into())
}

/// There is none.
pub(crate) fn counted(_: &UdpSocket) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

/// As [`open_tap`].
pub(crate) fn open_tap_of_trial(_: u32, _: super::Mark<'_>, _: bool) -> io::Result<UdpSocket> {
    Err(io::ErrorKind::Unsupported.into())
}

/// There is no tap.
pub(crate) fn tap_trial(_: &UdpSocket, _: super::Mark<'_>, _: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Nothing to ask for: a queue that drops silently is counted as loss.
pub(crate) fn report_refusals(_: &UdpSocket) -> io::Result<()> {
    Ok(())
}

/// Asks for a receive buffer of `bytes`; returns what the system says it reserves.
pub(crate) fn set_receive_buffer(socket: &UdpSocket, bytes: usize) -> io::Result<usize> {
    let socket = socket2::SockRef::from(socket);
    socket.set_recv_buffer_size(bytes)?;
    socket.recv_buffer_size()
}

/// Not known.
pub(crate) fn receive_drops(_: &UdpSocket) -> Option<u32> {
    None
}

/// Not known.
pub(crate) fn receive_memory(_: &UdpSocket) -> Option<u32> {
    None
}

/// Sleeps end when the system lets them.
pub(crate) fn sharpen_sleep() {}

/// The standard library has one clock of the calendar.
pub(crate) fn coarse_now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// What kind of error it is, in the standard library's word where it has one.
pub(crate) fn errno_name(error: &io::Error) -> String {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::WouldBlock, _) => "EAGAIN".into(),
        (_, Some(number)) => format!("errno {number}"),
        (kind, None) => format!("{kind:?}"),
    }
}
