//! The wire of heartbeats, written from its description alone, and a server that does what the original
//! does wrong.

#![allow(clippy::disallowed_methods)]
// Each test file is a crate of its own and uses its part of this.
#![allow(dead_code)]

use crate::command::{Bench, interrupt};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A running `dropline heartbeat serve --json`.
pub(crate) struct Aggregator {
    child: Child,
    output: BufReader<ChildStdout>,
    errors: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Aggregator {
    pub(crate) fn start(bench: &Bench, words: &[&str]) -> Self {
        let all = [&["heartbeat", "serve", "--listen", "127.0.0.1:0", "--json"], words].concat();
        let mut command = bench.command(&all);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening udp ").unwrap().parse().unwrap();
        Self { child, output, errors, address }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it says that its metrics are.
    pub(crate) fn metrics(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        line.trim().strip_prefix("metrics at http://").unwrap().strip_suffix("/metrics").unwrap().to_owned()
    }

    /// Waits until it has read all that was sent, ends it as Ctrl-C does, and reads its counts.
    pub(crate) fn end(mut self) -> Value {
        // What was sent before this is in its queue before; it reads the queue to its end or drops.
        std::thread::sleep(Duration::from_millis(300));
        interrupt(&self.child);
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
    }
}

impl Drop for Aggregator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client with one socket that knows what the table must hold.
pub(crate) struct Wire {
    pub(crate) socket: UdpSocket,
    /// What was stored: sender and value of each variable.
    pub(crate) table: [Option<(u8, u8)>; 64],
    pub(crate) sent: u64,
    pub(crate) stored: u64,
    pub(crate) requests: u64,
}

impl Wire {
    pub(crate) fn new(server: &Aggregator) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(server.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self { socket, table: [None; 64], sent: 0, stored: 0, requests: 0 }
    }

    /// Sends a packet, and does to the table what the description says.
    pub(crate) fn send(&mut self, packet: &[u8]) {
        assert_eq!(self.socket.send(packet).unwrap(), packet.len());
        self.sent += 1;
        if let [c0, c1, c2, c3, 0xf1, variable @ 0..64, from, value] = *packet
            && u32::from_be_bytes([c0, c1, c2, c3]) == adler32(&packet[4..])
        {
            self.table[usize::from(variable)] = Some((from, value));
            self.stored += 1;
        }
    }

    /// Asks for a report; the answer must be the only datagram that comes, and hold what the table does.
    pub(crate) fn report(&mut self) -> [u8; 260] {
        self.socket.send(b"AreyouOK").unwrap();
        self.sent += 1;
        self.requests += 1;
        let mut bytes = [0; 2000];
        assert_eq!(self.socket.recv(&mut bytes).unwrap(), 260);
        let report: [u8; 260] = bytes[..260].try_into().unwrap();
        assert_eq!(u32::from_be_bytes(report[..4].try_into().unwrap()), adler32(&report[4..]));
        for (variable, (kept, entry)) in self.table.iter().zip(report[4..].chunks(4)).enumerate() {
            match kept {
                Some((from, value)) => assert_eq!(entry[2..], [*from, *value], "variable {variable}"),
                None => assert_eq!(entry, [0; 4], "variable {variable} was never set"),
            }
        }
        report
    }

    /// Nothing came that was not asked for.
    pub(crate) fn is_silent(&self) {
        self.socket.set_nonblocking(true).unwrap();
        let nothing = self.socket.recv(&mut [0; 300]);
        assert_eq!(nothing.unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "an answer nobody asked for");
        self.socket.set_nonblocking(false).unwrap();
    }
}

/// A heartbeat.
pub(crate) fn encode(variable: u8, from: u8, value: u8) -> [u8; 8] {
    let payload = [0xf1, variable, from, value];
    let [c0, c1, c2, c3] = adler32(&payload).to_be_bytes();
    [c0, c1, c2, c3, 0xf1, variable, from, value]
}

/// Adler-32, sum by sum (RFC 1950 §8.2).
pub(crate) fn adler32(bytes: &[u8]) -> u32 {
    let step = |(a, b): (u32, u32), byte: &u8| ((a + u32::from(*byte)) % 65_521, b);
    let (a, b) = bytes.iter().fold((1, 0), |sums, byte| {
        let (a, b) = step(sums, byte);
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}

/// The sum that the original sends: after each 16 bytes it takes the modulus away once, if at all.
pub(crate) fn wrong_as_the_original(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for sixteen in bytes.chunks(16) {
        for byte in sixteen {
            a += u32::from(*byte);
            b += a;
        }
        a -= if a >= 65_521 { 65_521 } else { 0 };
        b -= if b >= 65_521 { 65_521 } else { 0 };
    }
    b << 16 | a
}

/// A server that looks at the first eight bytes of whatever arrives, and sums up like the original.
pub(crate) struct Original {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Original {
    pub(crate) fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let address = socket.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                let (mut report, mut packet) = ([0u8; 260], [0u8; 8]);
                while !stop.load(Ordering::Relaxed) {
                    let Ok((_, source)) = socket.recv_from(&mut packet) else { continue };
                    if packet == *b"AreyouOK" {
                        let sum = wrong_as_the_original(&report[4..]);
                        report[..4].copy_from_slice(&sum.to_be_bytes());
                        socket.send_to(&report, source).unwrap();
                    } else if packet == encode(packet[5], packet[6], packet[7]) && packet[5] < 64 {
                        let at = 4 + 4 * usize::from(packet[5]);
                        report[at..at + 4].copy_from_slice(&[0x7f, 0xff, packet[6], packet[7]]);
                    }
                }
            })
        };
        Self { address, stop, thread: Some(thread) }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}
