//! Netlink: asking the kernel for what it has no text of. Only the form of messages is known here.

use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read as _};
use std::time::Duration;

/// A conversation with one part of the kernel, in the namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Socket,
    number: u32,
    buffer: Vec<u8>,
}

/// A request under construction.
#[derive(Debug)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    dump: bool,
}

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is.
    pub kind: u16,
    /// Which request it answers.
    pub number: u32,
    /// What it says, behind its header.
    pub body: &'a [u8],
}

/// Bytes before a message's body.
const HEADER: usize = 16;
/// Answers are cut into messages that fit this.
const ANSWER: usize = 64 << 10;
/// Kinds of every protocol.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Flags of requests.
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;

impl Netlink {
    /// Opens one: `libc::NETLINK_ROUTE` and the like.
    pub(crate) fn open(protocol: libc::c_int) -> io::Result<Self> {
        let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(protocol)))?;
        // The kernel answers at once; this is against waiting for ever on a broken one.
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        Ok(Self { socket, number: 0, buffer: vec![0; ANSWER] })
    }

    /// Opens one that is told what happens from now on, by groups as `RTMGRP_LINK`.
    pub(crate) fn told_of(protocol: libc::c_int, groups: u32) -> io::Result<Self> {
        let told = Self::open(protocol)?;
        told.socket.set_nonblocking(true)?;
        rustix::net::bind(&told.socket, &rustix::net::netlink::SocketAddrNetlink::new(0, groups))?;
        Ok(told)
    }

    /// Hands on what it was told since the last time.
    pub(crate) fn news(&mut self, mut take: impl FnMut(Message<'_>)) {
        // An error says that there is no more, or that there was more than it could keep.
        while let Ok(length @ 1..) = (&self.socket).read(&mut self.buffer) {
            Messages::new(&self.buffer[..length]).for_each(&mut take);
        }
    }

    /// Asks, and hands each message of the answer to `take`.
    ///
    /// # Errors
    /// What the kernel answered instead.
    pub(crate) fn ask(&mut self, request: &Request, mut take: impl FnMut(Message<'_>)) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        self.socket.send(&request.numbered(self.number))?;
        loop {
            let length = (&self.socket).read(&mut self.buffer)?;
            for message in Messages::new(&self.buffer[..length]) {
                if message.number != self.number {
                    continue;
                }
                match message.kind {
                    DONE => return Ok(()),
                    ERROR => {
                        let code = message.body.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                        return match code {
                            0 => Ok(()),
                            code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                        };
                    }
                    _ => {
                        take(message);
                        if !request.dump {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }
}

impl Request {
    /// For one thing; `fixed` is what every request of that kind begins with.
    pub(crate) fn one(kind: u16, fixed: &[u8]) -> Self {
        Self::new(kind, REQUEST, fixed, false)
    }

    /// For all there is.
    pub(crate) fn all(kind: u16, fixed: &[u8]) -> Self {
        Self::new(kind, REQUEST | DUMP, fixed, true)
    }

    fn new(kind: u16, flags: u16, fixed: &[u8], dump: bool) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        bytes.resize(aligned(bytes.len()), 0);
        Self { bytes, dump }
    }

    /// The same with an attribute.
    pub(crate) fn with(mut self, kind: u16, value: &[u8]) -> Self {
        let length = (ATTRIBUTE + value.len()) as u16;
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(aligned(self.bytes.len()), 0);
        self
    }

    fn numbered(&self, number: u32) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[..4].copy_from_slice(&(self.bytes.len() as u32).to_ne_bytes());
        bytes[8..12].copy_from_slice(&number.to_ne_bytes());
        bytes
    }
}

/// The messages of an answer; what is torn ends it.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Those in these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let length = word(self.rest, 0)? as usize;
        let kind = half(self.rest, 4)?;
        let number = word(self.rest, 8)?;
        let body = self.rest.get(HEADER..length)?;
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Some(Message { kind, number, body })
    }
}

/// The attributes in a part of a message: kind and value. What is torn ends them.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

/// Bytes before an attribute's value.
const ATTRIBUTE: usize = 4;
/// Bits of an attribute's kind that say how its value is written.
const KIND: u16 = 0x3fff;

impl<'a> Attributes<'a> {
    /// Those in `body`, behind the part that every message of its kind has.
    pub fn behind(body: &'a [u8], fixed: usize) -> Self {
        Self { rest: body.get(aligned(fixed)..).unwrap_or_default() }
    }

    /// The value of one.
    pub fn find(body: &'a [u8], fixed: usize, kind: u16) -> Option<&'a [u8]> {
        Self::behind(body, fixed).find(|(found, _)| *found == kind).map(|(_, value)| value)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let length = usize::from(half(self.rest, 0)?);
        let kind = half(self.rest, 2)? & KIND;
        let value = self.rest.get(ATTRIBUTE..length)?;
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    }
}

fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// The 16 bits at an offset.
pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

/// The 32 bits at an offset.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The 64 bits at an offset.
pub(crate) fn double(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// Text up to its end mark.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_asked_is_read_back_as_it_was_meant() {
        let request = Request::one(18, &[1, 2, 3]).with(5, b"abc").with(6, &7_u32.to_ne_bytes());
        let bytes = request.numbered(9);
        let messages: Vec<Message<'_>> = Messages::new(&bytes).collect();
        assert_eq!((messages.len(), messages[0].kind, messages[0].number), (1, 18, 9));
        let attributes: Vec<_> = Attributes::behind(messages[0].body, 3).collect();
        assert_eq!(attributes, [(5, b"abc".as_slice()), (6, 7_u32.to_ne_bytes().as_slice())]);
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for message in Messages::new(&bytes) {
                prop_assert!(Attributes::behind(message.body, 16).count() <= bytes.len());
            }
        }
    }
}
