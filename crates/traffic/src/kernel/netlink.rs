//! Netlink: asking the kernel for what it has no text of.

use dropline_netrules::message::{Message, Messages, Request};
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

/// Answers are cut into messages that fit this.
const ANSWER: usize = 64 << 10;
/// Kinds of every protocol.
const ERROR: u16 = 2;
const DONE: u16 = 3;

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

    /// Hands on what it was told since the last time; whether that is all, and not more than it could keep.
    pub(crate) fn news(&mut self, mut take: impl FnMut(Message<'_>)) -> bool {
        let mut is_whole = true;
        loop {
            match (&self.socket).read(&mut self.buffer) {
                Ok(length @ 1..) => Messages::new(&self.buffer[..length]).for_each(&mut take),
                Err(why) if why.raw_os_error() == Some(libc::ENOBUFS) => is_whole = false,
                _ => return is_whole,
            }
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
                        if !request.is_for_all() {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }
}
