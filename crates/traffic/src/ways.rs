//! The ways that a measurer's packets take: a socket a stream, and what leaves through it.

use crate::error::UdpError;
use crate::frame::{Head, Link};
use crate::lane::Lane;
use crate::leash::{Leash, NoLeash};
use crate::means::{Asked, Leaving, SendMeans};
use crate::sys::{
    Exit, FrameSocket, keep_trains, link_to, neighbour, report_refusals, set_receive_buffer, stamp_packets,
};
use dropline_payload::{HEADER_BYTES, filler};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Where the streams' packets come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Addresses of this machine that the streams have in turn; empty: the one that the system prefers.
    pub addresses: Vec<IpAddr>,
    /// The first port; each further stream has the next one. `None`: any free ones.
    pub first_port: Option<u16>,
}

/// Where the streams' packets go, beside the target that was named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Addresses that the streams have in turn; empty: that of the target.
    pub addresses: Vec<IpAddr>,
    /// Ports that the streams have in turn, from the target's on; 0 is 1.
    pub ports: u16,
}

/// Sockets and lanes of all streams.
pub(crate) struct Ways {
    /// Of each stream.
    targets: Vec<SocketAddr>,
    payload: usize,
    pub(crate) sockets: Vec<UdpSocket>,
    lanes: Vec<Lane>,
    link: Option<Link>,
    /// Frames of our own; of the latest trial that used them.
    frames: Option<Frames>,
    /// Receive buffer that the system really reserved at each socket, in bytes.
    pub(crate) receive_buffer_bytes: u64,
    /// Whether every socket has the kernel's stamps.
    pub(crate) stamped: bool,
}

struct Frames {
    socket: FrameSocket,
    lanes: Vec<Lane>,
}

/// What the sockets shall be like.
pub(crate) struct Wanted<'a> {
    pub(crate) streams: usize,
    pub(crate) payload: u32,
    pub(crate) receive_buffer_bytes: u64,
    pub(crate) sources: &'a Sources,
    pub(crate) targets: &'a Targets,
    pub(crate) trains: bool,
}

impl Ways {
    /// Opens a socket a stream.
    ///
    /// # Errors
    /// If the system does not give them.
    pub(crate) fn open(target: SocketAddr, wanted: &Wanted<'_>) -> Result<Self, UdpError> {
        let mut ways = Self {
            targets: (0..wanted.streams).map(|stream| wanted.targets.of_stream(stream, target)).collect(),
            payload: wanted.payload as usize,
            sockets: Vec::with_capacity(wanted.streams),
            lanes: Vec::with_capacity(wanted.streams),
            link: link_to(target.ip().to_canonical()).ok(),
            frames: None,
            receive_buffer_bytes: u64::MAX,
            stamped: true,
        };
        let mut leashes = BTreeMap::new();
        for stream in 0..wanted.streams {
            let target = ways.targets[stream];
            let socket = connect_from(wanted.sources.of_stream(stream, target), target, wanted.payload)?;
            let leash = leashes.entry(target).or_insert_with(|| Leash::towards(target));
            hold(&socket, leash.clone(), target, wanted.payload)?;
            report_refusals(&socket).map_err(UdpError::system("asking to be told of refused packets"))?;
            let asked = usize::try_from(wanted.receive_buffer_bytes).unwrap_or(usize::MAX);
            let reserved =
                set_receive_buffer(&socket, asked).map_err(UdpError::system("setting a buffer"))?;
            ways.receive_buffer_bytes = ways.receive_buffer_bytes.min(reserved as u64);
            ways.stamped &= stamp_packets(&socket).is_ok();
            if wanted.trains {
                keep_trains(&socket).map_err(UdpError::system("asking for whole trains"))?;
            }
            ways.sockets.push(socket);
            ways.lanes.push(Lane::new(ways.payload, wanted.streams, Head::default()));
        }
        Ok(ways)
    }

    /// Chooses how the packets of a trial leave, and prepares it.
    ///
    /// # Errors
    /// If they shall leave as frames and cannot.
    pub(crate) fn prepare(&mut self, told: SendMeans, pps: f64) -> Result<Leaving, UdpError> {
        let asked = Asked { payload: self.payload, pps };
        let leaving = Leaving::choose(told, &asked, self.link.as_ref(), true);
        if leaving.means != SendMeans::Packet {
            return Ok(leaving);
        }
        match self.prepare_frames() {
            Ok(frames) => {
                self.frames = Some(frames);
                Ok(leaving)
            }
            Err(source) if told == SendMeans::Packet => {
                Err(UdpError::System { doing: "sending frames of our own", source })
            }
            Err(_) => Ok(Leaving::choose(told, &asked, self.link.as_ref(), false)),
        }
    }

    /// Asks for both hardware addresses anew: a neighbour may have been replaced.
    fn prepare_frames(&self) -> io::Result<Frames> {
        let first = self.targets.first().copied().ok_or(io::ErrorKind::InvalidInput)?;
        if self.targets.iter().any(|target| target.ip() != first.ip()) {
            return Err(io::Error::other(
                "the streams go to several addresses, which may be behind several links",
            ));
        }
        let link = link_to(first.ip().to_canonical())?;
        let ours = link.ethernet.ok_or_else(|| io::Error::other("packets to this target leave by an interface that is not Ethernet (loopback, a tunnel): leave --send to auto"))?;
        if self.payload + 28 > link.mtu as usize {
            return Err(io::Error::other("the packets are longer than the interface takes"));
        }
        let theirs = neighbour(&link)?;
        let filler = filler(self.payload.saturating_sub(HEADER_BYTES));
        let lanes = self
            .sockets
            .iter()
            .zip(&self.targets)
            .map(|(socket, target)| {
                let head = Head::new([ours, theirs], socket.local_addr()?, *target, &filler)
                    .ok_or_else(|| io::Error::other("source and target are of two families"))?;
                Ok(Lane::new(self.payload, self.sockets.len(), head))
            })
            .collect::<io::Result<_>>()?;
        Ok(Frames { socket: FrameSocket::open(link.interface)?, lanes })
    }

    /// The sockets, an exit for each, and the lanes that lead there.
    pub(crate) fn exits(&mut self, means: SendMeans) -> (&[UdpSocket], Vec<Exit<'_>>, &mut [Lane]) {
        let sockets = &self.sockets;
        if let (SendMeans::Packet, Some(frames)) = (means, &mut self.frames) {
            let exits = sockets.iter().map(|_| Exit::Frames(&frames.socket)).collect();
            return (sockets, exits, &mut frames.lanes);
        }
        let exit = |socket| match means {
            SendMeans::Send => Exit::Each(socket),
            SendMeans::Gso => Exit::Train(socket),
            SendMeans::Auto | SendMeans::Packet | SendMeans::Sendmmsg => Exit::Many(socket),
        };
        (sockets, sockets.iter().map(exit).collect(), &mut self.lanes)
    }
}

impl Sources {
    fn of_stream(&self, stream: usize, target: SocketAddr) -> SocketAddr {
        let any: IpAddr = match target {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let ip = match self.addresses.len() {
            0 => any,
            count => self.addresses[stream % count],
        };
        // Beyond the last port the system says that there is none: 0 would be any.
        let port =
            self.first_port.map_or(0, |first| u16::try_from(usize::from(first) + stream).unwrap_or(first));
        SocketAddr::new(ip, port)
    }
}

impl Targets {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.addresses.len().max(1) * usize::from(self.ports.max(1))
    }

    /// All addresses first, then all on the next port.
    fn of_stream(&self, stream: usize, target: SocketAddr) -> SocketAddr {
        let addresses = self.addresses.len().max(1);
        let ip = self.addresses.get(stream % addresses).copied().unwrap_or(target.ip());
        let further = (stream / addresses) % usize::from(self.ports.max(1));
        // Beyond the last port there is none: 0 is refused by the system.
        let port = u16::try_from(usize::from(target.port()) + further).unwrap_or(0);
        SocketAddr::new(ip, port)
    }
}

/// A socket of this machine from which packets go to `target` alone, and that hears of it alone.
pub(crate) fn connect(target: SocketAddr, payload: u32) -> Result<UdpSocket, UdpError> {
    let socket = connect_from(Sources::default().of_stream(0, target), target, payload)?;
    hold(&socket, Leash::towards(target), target, payload)?;
    Ok(socket)
}

/// No packet leaves through a socket that is not held on this machine.
fn hold(
    socket: &UdpSocket,
    leash: Result<Leash, NoLeash>,
    target: SocketAddr,
    payload: u32,
) -> Result<(), UdpError> {
    let leash = leash.map_err(|why| UdpError::NoLeash { target, why })?;
    leash.hold(socket, target).map_err(|error| UdpError::of_socket(error, target, 0, payload))
}

fn connect_from(source: SocketAddr, target: SocketAddr, payload: u32) -> Result<UdpSocket, UdpError> {
    let socket = UdpSocket::bind(source).map_err(|why| UdpError::Source { address: source, source: why })?;
    let open = || -> io::Result<UdpSocket> {
        socket.connect(target)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    open().map_err(|error| match UdpError::of_socket(error, target, 0, payload) {
        UdpError::System { source, .. } => UdpError::System { doing: "opening a socket", source },
        meaning => meaning,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_the_targets_in_turn_all_addresses_before_the_next_port() {
        let target = "127.0.0.1:7007".parse().unwrap();
        let addresses = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
        let targets = Targets { addresses, ports: 2 };
        let of = |stream| targets.of_stream(stream, target).to_string();
        assert_eq!(
            (0..5).map(of).collect::<Vec<_>>(),
            ["127.0.0.2:7007", "127.0.0.3:7007", "127.0.0.2:7008", "127.0.0.3:7008", "127.0.0.2:7007"]
        );
        assert_eq!(targets.count(), 4);
        assert_eq!(Targets::default().of_stream(3, target), target);
    }

    #[test]
    fn streams_have_the_sources_in_turn() {
        let target = "127.0.0.1:7007".parse().unwrap();
        let sources = Sources {
            addresses: vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()],
            first_port: Some(40_000),
        };
        let of = |stream| sources.of_stream(stream, target).to_string();
        assert_eq!([of(0), of(1), of(2)], ["127.0.0.2:40000", "127.0.0.3:40001", "127.0.0.2:40002"]);
        assert_eq!(Sources::default().of_stream(3, target).to_string(), "0.0.0.0:0");
    }
}
