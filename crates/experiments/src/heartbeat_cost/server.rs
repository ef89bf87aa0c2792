//! What a running server's CPU spends on each datagram, from the scheduler's own account.

use serde::Serialize;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Heartbeats between two reports, which say that all before were handled or lost.
const BATCH: u64 = 200;
const BATCHES: u64 = 100;
const PATIENCE: Duration = Duration::from_secs(2);

/// CPU time of a server's process over a known number of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ServerCost {
    /// Heartbeats sent.
    pub heartbeats: u64,
    /// Requests sent, each answered.
    pub requests: u64,
    /// CPU time of all its threads, in nanoseconds.
    pub cpu_ns: u64,
    /// Of that for each datagram, wake-ups included.
    pub cpu_ns_each: f64,
}

/// Why a server's cost is not known.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// No process of that number, or it cannot be looked at.
    #[error("the scheduler's account of process {0} cannot be read")]
    Process(u32),
    /// Sending or receiving failed.
    #[error("{0}")]
    Socket(#[from] std::io::Error),
    /// A request had no answer.
    #[error("{0} did not answer a request within 2 s; is it an aggregator, and not limiting reports?")]
    Silent(SocketAddr),
}

/// Sends heartbeats in batches, a request behind each, and asks the scheduler before and after.
///
/// # Errors
/// If the process cannot be looked at, or the server does not answer.
pub fn measure(server: SocketAddr, process: u32) -> Result<ServerCost, ServerError> {
    let socket = dropline_aggregator::client::connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    batch(&socket, server)?;
    let before = cpu_ns(process)?;
    for _ in 0..BATCHES {
        batch(&socket, server)?;
    }
    let cpu_ns = cpu_ns(process)?.saturating_sub(before);
    let (heartbeats, requests) = (BATCH * BATCHES, BATCHES);
    Ok(ServerCost {
        heartbeats,
        requests,
        cpu_ns,
        cpu_ns_each: cpu_ns as f64 / (heartbeats + requests) as f64,
    })
}

fn batch(socket: &UdpSocket, server: SocketAddr) -> Result<(), ServerError> {
    const HEARTBEAT: [u8; 8] = [0x05, 0x6b, 0x01, 0xce, 0xf1, 0x3e, 0x4b, 0x53];
    for _ in 0..BATCH {
        socket.send(&HEARTBEAT)?;
    }
    let mut report = [0; 512];
    for _ in 0..3 {
        socket.send(b"AreyouOK")?;
        match socket.recv(&mut report) {
            Ok(_) => return Ok(()),
            Err(why)
                if matches!(why.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(why) => return Err(why.into()),
        }
    }
    Err(ServerError::Silent(server))
}

/// CPU time of all threads of a process so far.
pub(crate) fn cpu_ns(process: u32) -> Result<u64, ServerError> {
    let unknown = |_| ServerError::Process(process);
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task")).map_err(unknown)? {
        let path = task.map_err(unknown)?.path().join("schedstat");
        sum += std::fs::read_to_string(path)
            .ok()
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
            .ok_or(ServerError::Process(process))?;
    }
    Ok(sum)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    /// A stand-in that answers requests only.
    fn answering() -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut packet = [0; 16];
            while let Ok((8, from)) = socket.recv_from(&mut packet) {
                if packet.starts_with(b"AreyouOK") {
                    socket.send_to(&[0; 260], from).unwrap();
                }
            }
        });
        address
    }

    #[test]
    fn a_server_in_this_process_costs_cpu_and_every_datagram_is_counted() {
        // The threads of other tests that end meanwhile take their CPU time with them: then it is asked again.
        let costly = (0..10).any(|_| {
            let cost = measure(answering(), std::process::id()).unwrap();
            assert_eq!((cost.heartbeats, cost.requests), (20_000, 100));
            cost.cpu_ns > 0 && cost.cpu_ns_each > 0.0
        });
        assert!(costly);
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        assert!(matches!(cpu_ns(u32::MAX), Err(ServerError::Process(u32::MAX))));
    }
}
