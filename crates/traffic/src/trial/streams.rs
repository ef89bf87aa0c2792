//! The ways that a measurer's packets take: a socket a stream, and what leaves through it.

use crate::error::UdpError;
use crate::means::SendMeans;
use crate::packet::frame::{Head, Link};
use crate::send::leaving::{AskedLoad, Leaving};
use crate::send::send_queue::SendQueue;
use crate::sockets::connection::{Sources, Targets, connect_from};
use crate::sockets::flows::Flows;
use crate::sockets::guard::Guard;
use crate::sockets::leash::Leash;
use crate::sys::{
    Exit, FrameSocket, keep_trains, link_to, neighbour, report_refusals, set_receive_buffer, stamp_packets,
};
use dropline_payload::service::Service;
use dropline_payload::{HEADER_BYTES, filler};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Sockets and queues of all streams.
pub(crate) struct StreamSockets {
    /// Of each stream.
    targets: Vec<SocketAddr>,
    /// What held the first socket to each address.
    leashes: BTreeMap<IpAddr, Leash>,
    payload: usize,
    /// Whose requests leave, where they are not packets of ours.
    service: Option<&'static Service>,
    pub(crate) sockets: Vec<UdpSocket>,
    queues: Vec<SendQueue>,
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
    queues: Vec<SendQueue>,
}

/// What the sockets shall be like.
pub(crate) struct WantedSockets<'a> {
    pub(crate) service: Option<&'static Service>,
    pub(crate) streams: usize,
    pub(crate) payload: u32,
    pub(crate) receive_buffer_bytes: u64,
    pub(crate) sources: &'a Sources,
    pub(crate) targets: &'a Targets,
    pub(crate) trains: bool,
}

impl StreamSockets {
    /// Opens a socket a stream.
    ///
    /// # Errors
    /// If the system does not give them.
    pub(crate) fn open(target: SocketAddr, wanted: &WantedSockets<'_>) -> Result<Self, UdpError> {
        let mut streams = Self {
            targets: (0..wanted.streams).map(|stream| wanted.targets.of_stream(stream, target)).collect(),
            leashes: BTreeMap::new(),
            payload: wanted.payload as usize,
            service: wanted.service,
            sockets: Vec::with_capacity(wanted.streams),
            queues: Vec::with_capacity(wanted.streams),
            link: link_to(target.ip().to_canonical()).ok(),
            frames: None,
            receive_buffer_bytes: u64::MAX,
            stamped: true,
        };
        let mut leashes = BTreeMap::new();
        for stream in 0..wanted.streams {
            let target = streams.targets[stream];
            let leash = leashes.entry(target).or_insert_with(|| {
                Leash::towards(wanted.sources.flows(target, wanted.streams, &Targets::default()))
            });
            let source = wanted.sources.of_stream(stream, target);
            let socket = connect_from(source, leash.clone(), target, wanted.payload)?;
            report_refusals(&socket).map_err(UdpError::system("asking to be told of refused packets"))?;
            let asked = usize::try_from(wanted.receive_buffer_bytes).unwrap_or(usize::MAX);
            let reserved =
                set_receive_buffer(&socket, asked).map_err(UdpError::system("setting a buffer"))?;
            streams.receive_buffer_bytes = streams.receive_buffer_bytes.min(reserved as u64);
            streams.stamped &= stamp_packets(&socket).is_ok();
            if wanted.trains {
                keep_trains(&socket).map_err(UdpError::system("asking for whole trains"))?;
            }
            streams.sockets.push(socket);
            leash.iter().for_each(|leash| {
                streams.leashes.entry(target.ip()).or_insert_with(|| leash.clone());
            });
            streams.queues.push(SendQueue::new(streams.payload, wanted.streams, Head::default()));
        }
        Ok(streams)
    }

    /// What all of them send under, where these are their packets.
    pub(crate) fn guard(&self, packets: &[Flows]) -> Guard {
        let mut guard = Guard::default();
        for (&address, leash) in &self.leashes {
            let known = packets.iter().find(|flows| flows.address == address);
            let packets = known.cloned().unwrap_or_else(|| address.into());
            guard.add(packets, leash.clone(), &self.sockets);
        }
        guard
    }

    /// Where the packets of each stream go.
    pub(crate) fn targets(&self) -> &[SocketAddr] {
        &self.targets
    }

    /// Where the packets of a stream go.
    pub(crate) fn target(&self, stream: usize) -> SocketAddr {
        self.targets[stream]
    }

    /// Chooses how the packets of a trial leave, and prepares it.
    ///
    /// # Errors
    /// If they shall leave as frames and cannot.
    pub(crate) fn prepare(&mut self, told: SendMeans, pps: f64) -> Result<Leaving, UdpError> {
        let asked = AskedLoad { payload: self.payload, pps };
        let leaving = Leaving::choose(told, &asked, self.link.as_ref(), self.service.is_none());
        if let Some(service) = &self.service {
            return match leaving.means {
                SendMeans::Packet => {
                    let source =
                        io::Error::other("requests to a service leave by sockets: leave --send to auto");
                    Err(UdpError::System { doing: "sending frames of our own", source })
                }
                SendMeans::Gso if !service.is_of_one_length() => {
                    Ok(Leaving { means: SendMeans::Sendmmsg, why: "requests have several lengths" })
                }
                // A train has packets of that size: shorter ones would leave with bytes that nobody asked for.
                SendMeans::Gso if service.longest_request() < self.payload.max(HEADER_BYTES) => Ok(Leaving {
                    means: SendMeans::Sendmmsg,
                    why: "requests are shorter than a packet of a train",
                }),
                _ => Ok(leaving),
            };
        }
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
            let (packet, mtu) = (self.payload + 28, link.mtu);
            return Err(io::Error::other(format!(
                "packets of {packet} B, IP header included, are longer than the {mtu} B that the interface takes"
            )));
        }
        let theirs = neighbour(&link)?;
        let filler = filler(self.payload.saturating_sub(HEADER_BYTES));
        let queues = self
            .sockets
            .iter()
            .zip(&self.targets)
            .map(|(socket, target)| {
                let head = Head::new([ours, theirs], socket.local_addr()?, *target, &filler)
                    .ok_or_else(|| io::Error::other("source and target are of two families"))?;
                Ok(SendQueue::new(self.payload, self.sockets.len(), head))
            })
            .collect::<io::Result<_>>()?;
        Ok(Frames { socket: FrameSocket::open(link.interface)?, queues })
    }

    /// The sockets, an exit for each, and the queues that lead there.
    pub(crate) fn exits(&mut self, means: SendMeans) -> (&[UdpSocket], Vec<Exit<'_>>, &mut [SendQueue]) {
        let sockets = &self.sockets;
        if let (SendMeans::Packet, Some(frames)) = (means, &mut self.frames) {
            let exits = sockets.iter().map(|_| Exit::Frames(&frames.socket)).collect();
            return (sockets, exits, &mut frames.queues);
        }
        let exit = |socket| match means {
            SendMeans::Send => Exit::Each(socket),
            SendMeans::Gso => Exit::Train(socket),
            SendMeans::Auto | SendMeans::Packet | SendMeans::Sendmmsg => Exit::Many(socket),
        };
        (sockets, sockets.iter().map(exit).collect(), &mut self.queues)
    }
}
