//! Does what each stream sends come to the target? A rule of a firewall may lead some flows elsewhere, and the packets of
//! one socket say nothing of another's.

use super::exchange::Exchange;
use super::setup::Setup;
use super::streams::StreamSockets;
use crate::error::{UdpError, nothing_as_none};
use crate::packet::attribution::Whose;
use crate::send::requests::Requests;
use dropline_payload::{HEADER_BYTES, Message};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long nothing must come before what was asked is taken for lost, where answers do not take longer.
const ANSWER_WITHIN: Duration = Duration::from_millis(180);
/// Between two looks at all sockets.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// How often a stream is asked before its silence is weighed, and how often at most.
const FIRST: u32 = 5;
const MOST: u32 = 32;
/// How often all of them are, where none is answered.
const ALL_SILENT: u32 = 20;
/// How often each is, where only errors can be heard.
const ONE_WAY: u32 = 2;
/// A target that loses packets leaves a stream without an answer so rarely by that alone.
const BY_LOSS: f64 = 1e-6;
/// Streams that ask in a row before what came back is taken.
const IN_A_ROW: usize = 64;

/// One stream that is asked.
#[derive(Default)]
struct Stream {
    answered: bool,
    /// What the system or the network said instead, last.
    error: Option<io::Error>,
}

/// All of them.
struct Asking<'a> {
    setup: &'a Setup,
    requests: Option<Requests<'a>>,
    sockets: &'a [UdpSocket],
    /// Set where what they send would go elsewhere.
    astray: &'a AtomicBool,
    streams: Vec<Stream>,
    rounds: u32,
    /// Packets of streams that were answered then, and those that were not.
    sent: u64,
    lost: u64,
}

/// Lets every stream ask, all at once, until each was answered or its silence cannot be by a loss that the others share.
///
/// # Errors
/// If some are never answered, the user wants to stop, or `astray` is set.
pub(super) fn reach(
    setup: &Setup,
    exchange: &Exchange,
    whose: Whose,
    round_trip: Duration,
    astray: &AtomicBool,
) -> Result<(), UdpError> {
    let streams = &exchange.streams;
    let requests = exchange.asking.as_ref().map(|asking| asking.before(&exchange.spread));
    let sockets = streams.sockets.as_slice();
    let asked = sockets.iter().map(|_| Stream::default()).collect();
    let mut asking = Asking { setup, requests, sockets, astray, streams: asked, rounds: 0, sent: 0, lost: 0 };
    let quiet = ANSWER_WITHIN.max(round_trip * 2);
    let begun = Instant::now();
    while !asking.is_settled() {
        asking.ask(whose);
        asking.hear(quiet)?;
    }
    asking.verdict(streams, begun.elapsed())
}

impl Asking<'_> {
    /// Every stream that was not answered asks.
    fn ask(&mut self, whose: Whose) {
        self.rounds += 1;
        let mut packet = vec![0; self.setup.profile.packet.payload_bytes() as usize];
        for at in 0..self.sockets.len() {
            if at % IN_A_ROW == IN_A_ROW - 1 {
                self.take();
            }
            if self.streams[at].answered {
                continue;
            }
            let number = u64::from(self.rounds);
            let sent = if let Some(requests) = self.requests {
                packet.clear();
                requests.write_in_round(at, number, &mut packet);
                self.sockets[at].send(&packet)
            } else if !self.setup.is_answered() {
                self.sockets[at].send(&Message::CountQuery { tag: whose.tag(), number }.encode())
            } else {
                let header = Message::Packet { tag: whose.tag(), index: number, reply_wanted: true }.header();
                packet[..HEADER_BYTES].copy_from_slice(&header);
                self.sockets[at].send(&packet)
            };
            self.streams[at].error = nothing_as_none(sent).err();
        }
    }

    /// Until all were answered or met an error, or nothing comes any more.
    fn hear(&mut self, quiet: Duration) -> Result<(), UdpError> {
        let mut last = Instant::now();
        while self.streams.iter().any(|stream| !stream.answered && stream.error.is_none()) {
            if self.setup.is_stopped() || self.astray.load(Ordering::Relaxed) {
                return Err(UdpError::Interrupted);
            }
            if self.take() {
                last = Instant::now();
            } else if last.elapsed() >= quiet {
                break;
            } else {
                // To wait at the sockets would read what the network said of some, and leave nothing for the look at each.
                std::thread::sleep(LOOK_EVERY);
            }
        }
        Ok(())
    }

    /// Takes what came back; whether there was anything.
    fn take(&mut self) -> bool {
        let mut any = false;
        for (socket, stream) in self.sockets.iter().zip(&mut self.streams) {
            loop {
                match nothing_as_none(socket.recv(&mut [0; HEADER_BYTES])) {
                    Ok(None) => break,
                    Ok(Some(_)) if !stream.answered => {
                        stream.answered = true;
                        self.sent += u64::from(self.rounds);
                        self.lost += u64::from(self.rounds) - 1;
                    }
                    Ok(Some(_)) => {}
                    Err(error) => {
                        stream.error = Some(error);
                        break;
                    }
                }
                any = true;
            }
        }
        any
    }

    fn silent(&self) -> usize {
        self.streams.iter().filter(|stream| !stream.answered).count()
    }

    /// Whether nothing more is to be learnt.
    fn is_settled(&self) -> bool {
        let silent = self.silent();
        match silent {
            0 => true,
            _ if silent < self.streams.len() => {
                self.rounds >= FIRST && self.is_no_loss() || self.rounds >= MOST
            }
            _ if !self.setup.is_answered() => self.rounds >= ONE_WAY,
            _ => self.rounds >= ALL_SILENT,
        }
    }

    /// Whether the target does not lose so much of what the others ask that some would have no answer by that.
    fn is_no_loss(&self) -> bool {
        let lost = (self.lost + 1) as f64 / (self.sent + 1) as f64;
        self.silent() as f64 * lost.powf(f64::from(self.rounds)) < BY_LOSS
    }

    fn verdict(mut self, streams: &StreamSockets, waited: Duration) -> Result<(), UdpError> {
        let (silent, all) = (self.silent(), self.streams.len());
        let one_way = !self.setup.is_answered() && silent == all;
        // Of a target that answers nobody, only errors say that packets do not come there.
        let is_led_away = |stream: &Stream| !stream.answered && (!one_way || stream.error.is_some());
        let led_away = self.streams.iter().filter(|stream| is_led_away(stream)).count();
        let Some(first) = self.streams.iter().position(is_led_away) else { return Ok(()) };
        let (target, error) = (streams.target(first), self.streams[first].error.take());
        let sent = u64::from(self.rounds) * all as u64;
        match error {
            Some(error) if led_away == all => Err(self.setup.meaning(error, sent)),
            None if led_away == all => Err(UdpError::NoAnswer {
                target,
                sent,
                others: 0,
                unlike: Box::new([0; 4]),
                from: None,
                waited,
            }),
            // A target that loses nearly all may have lost these too.
            None if !self.is_no_loss() => Ok(()),
            error => Err(UdpError::SomeStreams { target, led_away, streams: all, error }),
        }
    }
}
