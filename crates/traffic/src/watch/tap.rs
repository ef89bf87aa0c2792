//! Traffic that is not ours, as it arrives at interfaces: a copy of each datagram's headers.

use crate::error::nothing_as_none;
use crate::kernel::links::shown_again;
use crate::sys::{ReceiveBatch, open_tap, receive_drops, wait_for_stamps, wait_readable};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use std::{fmt, io};

/// A copy of the datagrams that arrive for one UDP port, with the kernel's stamps.
///
/// What is tapped goes on to whom it is for. Each copy costs its sender about as much as a tenth of a send.
pub struct Tap {
    socket: UdpSocket,
    batch: ReceiveBatch,
    /// Interfaces whose packets arrive at another one too.
    shown_again: Vec<u32>,
}

/// A datagram that was tapped, or several that came as one train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tapped {
    /// When the kernel took it in, by its settable clock, in ns; `None` if it did not say.
    pub stamp_ns: Option<i64>,
    /// Who sent it.
    pub source: SocketAddr,
    /// Where it goes.
    pub target: SocketAddr,
    /// UDP payload of one datagram, in bytes.
    pub payload_bytes: u32,
    /// Datagrams: more than one for a train.
    pub datagrams: u32,
}

/// Bytes that are looked at: a virtio header, Ethernet, the longest of IP and UDP.
const LOOKED_AT: usize = 128;

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl Tap {
    /// Taps what arrives for `port` at `interface`, or at any interface of this network namespace; copies wait in
    /// `buffer_bytes` until they are read.
    ///
    /// # Errors
    /// If the privilege lacks (`CAP_NET_RAW`), or there is no such interface.
    pub fn open(interface: Option<&str>, port: u16, buffer_bytes: usize) -> io::Result<Self> {
        let shown_again = if interface.is_none() { shown_again() } else { Vec::new() };
        let socket = open_tap(interface, port, buffer_bytes)?;
        wait_for_stamps();
        Ok(Self { socket, batch: ReceiveBatch::with_stamps(LOOKED_AT), shown_again })
    }

    /// Waits for copies, `longest` at most, and passes those on that one call brings; how many datagrams they are.
    ///
    /// # Errors
    /// If the interface is gone.
    pub fn receive(&mut self, longest: Duration, mut each: impl FnMut(Tapped)) -> io::Result<u64> {
        if !wait_readable(std::slice::from_ref(&self.socket), longest)? {
            return Ok(0);
        }
        let mut datagrams = 0;
        for at in 0..nothing_as_none(self.batch.receive(&self.socket))?.unwrap_or(0) {
            let Some(entrance) = self.batch.entrance(at) else { continue };
            if self.shown_again.contains(&entrance.interface) {
                continue;
            }
            if let Some(tapped) = Tapped::read(self.batch.packet(at), entrance.header_bytes) {
                datagrams += u64::from(tapped.datagrams);
                each(Tapped { stamp_ns: self.batch.stamp(at), ..tapped });
            }
        }
        Ok(datagrams)
    }

    /// Copies that found no room since the tap was opened, of any port; `None` where that is not known.
    pub fn missed(&self) -> Option<u32> {
        receive_drops(&self.socket)
    }
}

impl Tapped {
    /// Reads a frame with a virtio header before it, and `link_bytes` of the link's own; `None` if it is no UDP
    /// datagram from its beginning.
    pub fn read(bytes: &[u8], link_bytes: usize) -> Option<Self> {
        const VIRTIO: usize = 10;
        const UDP: u8 = 17;
        /// virtio_net.h: a train of UDP datagrams.
        const UDP_TRAIN: u8 = 5;
        let short = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let ip = VIRTIO + link_bytes;
        let (source, target, udp) = match bytes.get(ip)? >> 4 {
            4 => {
                let length = usize::from(bytes[ip] & 15) * 4;
                let is_first = short(ip + 6)? & 0x1fff == 0;
                if *bytes.get(ip + 9)? != UDP || !is_first || length < 20 {
                    return None;
                }
                let address = |at: usize| {
                    Some(IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(at..at + 4)?).ok()?)))
                };
                (address(ip + 12)?, address(ip + 16)?, ip + length)
            }
            6 => {
                if *bytes.get(ip + 6)? != UDP {
                    return None;
                }
                let address = |at: usize| {
                    Some(IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(at..at + 16)?).ok()?)))
                };
                (address(ip + 8)?, address(ip + 24)?, ip + 40)
            }
            _ => return None,
        };
        let payload = u32::from(short(udp + 4)?).checked_sub(8)?;
        let each = u32::from(u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?));
        // What fits one packet is no train, whatever its header says.
        let is_train = bytes.get(1)? & 0x7f == UDP_TRAIN && (1..payload).contains(&each);
        let (payload_bytes, datagrams) = if is_train { (each, payload.div_ceil(each)) } else { (payload, 1) };
        Some(Self {
            stamp_ns: None,
            source: SocketAddr::new(source, short(udp)?),
            target: SocketAddr::new(target, short(udp + 2)?),
            payload_bytes,
            datagrams,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame() -> Vec<u8> {
        let mut frame = vec![0; 10 + 14 + 20 + 8];
        frame[22..24].copy_from_slice(&[0x08, 0x00]);
        frame[24] = 0x45;
        frame[33] = 17;
        frame[36..40].copy_from_slice(&[10, 0, 0, 1]);
        frame[40..44].copy_from_slice(&[10, 0, 0, 2]);
        frame[44..50].copy_from_slice(&[0x03, 0xe8, 0x07, 0xd0, 0, 136]);
        frame
    }

    #[test]
    fn a_datagram_and_a_train_are_told_apart() {
        let mut frame = frame();
        let one = Tapped::read(&frame, 14).unwrap();
        assert_eq!(
            (one.source.to_string(), one.target.to_string()),
            ("10.0.0.1:1000".into(), "10.0.0.2:2000".into())
        );
        assert_eq!((one.payload_bytes, one.datagrams), (128, 1));
        frame[1] = 5;
        frame[4..6].copy_from_slice(&50u16.to_ne_bytes());
        let train = Tapped::read(&frame, 14).unwrap();
        assert_eq!((train.payload_bytes, train.datagrams), (50, 3), "the last one is shorter");
        frame[48..50].copy_from_slice(&8u16.to_be_bytes());
        let empty = Tapped::read(&frame, 14).unwrap();
        assert_eq!((empty.payload_bytes, empty.datagrams), (0, 1), "nothing is no train");
    }

    #[test]
    fn a_link_without_a_header_of_its_own_is_read_as_one_with() {
        let mut frame = frame();
        let behind_ethernet = Tapped::read(&frame, 14);
        frame.drain(10..24);
        assert_eq!(Tapped::read(&frame, 0), behind_ethernet);
        let mut v6 = vec![0; 10 + 40 + 8];
        (v6[10], v6[16]) = (0x60, 17);
        v6[54..56].copy_from_slice(&8u16.to_be_bytes());
        assert_eq!(Tapped::read(&v6, 0).map(|empty| (empty.payload_bytes, empty.datagrams)), Some((0, 1)));
    }

    #[test]
    fn what_is_no_datagram_is_left_out() {
        let spoilt = |at: usize, byte| {
            let mut frame = frame();
            frame[at] = byte;
            Tapped::read(&frame, 14)
        };
        assert_eq!(spoilt(33, 6), None, "TCP");
        assert_eq!(spoilt(24, 0x00), None, "ARP");
        assert_eq!(spoilt(31, 1), None, "a later fragment has no ports");
        assert_eq!(spoilt(49, 7), None, "shorter than its header");
        assert_eq!(Tapped::read(&frame()[..48], 14), None, "cut off");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
            let _ = (Tapped::read(&bytes, 0), Tapped::read(&bytes, 14));
        }
    }
}
