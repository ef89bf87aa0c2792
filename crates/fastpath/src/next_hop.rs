//! A router between the two interfaces: what its hardware address is, and answers where it asks for ours.

use crate::error::LinkError;
use crate::frame::Aim;
use crate::link_end::Opened;
use crate::neighbours::{Operation, Said};
use crate::sys::FrameSocket;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Who forwards frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// Whoever has this address, who is asked for his hardware address.
    Address(IpAddr),
    /// Whoever has this hardware address.
    Hardware([u8; 6]),
}

/// So often, and so long each time, a router is asked for its address.
const TIMES: u32 = 3;
const WAIT: Duration = Duration::from_secs(1);
/// Between two looks at whether anybody still wants answers.
const LOOK: Duration = Duration::from_millis(50);

impl NextHop {
    /// Its hardware address.
    pub(crate) fn find(self, from: &Opened, aim: &Aim, stop: &AtomicBool) -> Result<[u8; 6], LinkError> {
        let hop = match self {
            Self::Hardware(hardware) => return Ok(hardware),
            Self::Address(hop) => hop,
        };
        let socket = listening(from, hop)?;
        let asks = Said::asks(from.hardware, aim.source, hop).frame(aim.vlan);
        for _ in 0..TIMES {
            socket.send(std::slice::from_ref(&asks));
            let until = Instant::now() + WAIT;
            while Instant::now() < until {
                if stop.load(Ordering::Relaxed) {
                    return Err(LinkError::Interrupted);
                }
                let heard = socket.receive(LOOK).and_then(|frame| Said::read(&frame));
                let answer = heard.filter(|said| said.operation == Operation::Answers && said.address == hop);
                if let Some(answer) = answer {
                    return Ok(answer.hardware);
                }
            }
        }
        Err(LinkError::NoNextHop { hop, from: from.port.to_string() })
    }
}

/// Answers for our addresses at both ends, until it is dropped.
#[derive(Debug)]
pub(crate) struct Answering {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Answering {
    /// For the addresses that frames come from at the first end, and for the one that they go to at the other; in both directions for
    /// those that they come from at either.
    pub(crate) fn of([from, to]: [&Opened; 2], aim: &Aim, both: bool) -> Result<Self, LinkError> {
        let at_second = if both { aim.flows } else { 1 };
        let mut answering = Self { ended: Arc::default(), threads: Vec::new() };
        for (port, first, count) in [(from, aim.source, aim.flows), (to, aim.destination, at_second)] {
            let socket = listening(port, first)?;
            let (hardware, vlan, ended) = (port.hardware, aim.vlan, Arc::clone(&answering.ended));
            let is_ours = move |address: IpAddr| is_among(address, first, count);
            let answer = move || {
                while !ended.load(Ordering::Relaxed) {
                    let heard = socket.receive(LOOK).and_then(|frame| Said::read(&frame));
                    let asks =
                        heard.filter(|said| said.operation == Operation::Asks && is_ours(said.to_address));
                    // Whoever asks for an address that he claims himself is told nothing.
                    if let Some(asks) = asks.filter(|said| said.address != said.to_address) {
                        socket.send(&[asks.answered(hardware).frame(vlan)]);
                    }
                }
            };
            answering
                .threads
                .push(Builder::new().name("answers".into()).spawn(answer).map_err(LinkError::Thread)?);
        }
        Ok(answering)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Whether an address is one of so many from the first on.
fn is_among(address: IpAddr, first: IpAddr, count: u16) -> bool {
    match (address, first) {
        (IpAddr::V4(address), IpAddr::V4(first)) => {
            address.to_bits().wrapping_sub(first.to_bits()) < count.into()
        }
        (IpAddr::V6(address), IpAddr::V6(first)) => {
            address.to_bits().wrapping_sub(first.to_bits()) < count.into()
        }
        _ => false,
    }
}

/// A socket that hears who asks for addresses like this one at a port.
fn listening(port: &Opened, like: IpAddr) -> Result<FrameSocket, LinkError> {
    let index = port.seen.index;
    let ethertype = if like.is_ipv6() { libc::ETH_P_IPV6 } else { libc::ETH_P_ARP };
    let socket = port.space.inside(|| FrameSocket::hearing(index, ethertype as u16))?;
    socket.map_err(LinkError::of("opening a raw socket", "CAP_NET_RAW"))
}

/// A hardware address as it is mostly written: `02:00:5e:10:00:01`.
pub(crate) fn written(hardware: [u8; 6]) -> String {
    hardware.map(|byte| format!("{byte:02x}")).join(":")
}
