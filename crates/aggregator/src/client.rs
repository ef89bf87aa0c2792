//! Asking an aggregator for its report.

use super::address::host_and_port;
use super::wire::{REQUEST, Report, ReportError};
use dropline_consent::{consent, not_connected};
use dropline_failure::Failure;
use dropline_traffic::{Leash, NoLeash, Whereabouts};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A report that arrived.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What it says.
    pub report: Report,
    /// When it arrived, in seconds since 1970 on this machine's clock.
    pub arrived_unix_s: u64,
    /// From the request to the report.
    pub round_trip: Duration,
    /// Datagrams that came before it and are no reports.
    pub junk: u64,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nothing listens there.
    #[error("nothing listens at {0}")]
    Closed(SocketAddr),
    /// What came is no report.
    #[error("what {target} answers is not a report: {why}")]
    NoReport {
        /// Who answered.
        target: SocketAddr,
        /// Why it is none.
        why: ReportError,
        /// How many such datagrams came.
        junk: u64,
    },
    /// Nothing came.
    #[error("{target} sent no report to {requests} requests in {waited:?}")]
    Silent {
        /// Who was asked.
        target: SocketAddr,
        /// How often.
        requests: u32,
        /// How long was waited in all.
        waited: Duration,
    },
    /// The system does not let us.
    #[error("cannot ask {target}: {source}")]
    System {
        /// Who was to be asked.
        target: SocketAddr,
        /// What it says.
        source: io::Error,
    },
}

impl From<AskError> for Failure {
    fn from(why: AskError) -> Self {
        if let AskError::System { target, source } = &why
            && NoLeash::inside(source).is_some()
        {
            return not_connected(*target, source);
        }
        let failure = Self::environment(&why);
        match why {
            AskError::Closed(target) => failure
                .advice(format!("start an aggregator there:  dropline heartbeat serve --listen {target}")),
            AskError::Silent { .. } => failure.advice(
                "it may allow reports to other networks only, or limit how often they leave (serve --allow, \
                 --no-limits)",
            ),
            AskError::NoReport { .. } | AskError::System { .. } => failure,
        }
    }
}

/// No datagram is longer.
const LARGEST_DATAGRAM: usize = 1 << 16;
/// How often a request is repeated.
const REQUESTS: u32 = 3;

/// Asks for a report, up to three times, each waiting for `patience`.
///
/// Each request leaves from a port of its own: a report that was on its way to an earlier one, or is sent
/// again by somebody, does not arrive at it.
///
/// # Errors
/// If there is none.
pub fn ask(target: SocketAddr, patience: Duration) -> Result<Answer, AskError> {
    let begun = Instant::now();
    let mut junk = Junk::default();
    for _ in 0..REQUESTS {
        match once(target, patience, &mut junk) {
            Ok(answer) => return Ok(answer),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {}
                io::ErrorKind::ConnectionRefused => return Err(AskError::Closed(target)),
                _ => return Err(AskError::System { target, source: error }),
            },
        }
    }
    Err(match junk.why {
        Some(why) => AskError::NoReport { target, why, junk: junk.count },
        None => AskError::Silent { target, requests: REQUESTS, waited: begun.elapsed() },
    })
}

/// What came and is no report.
#[derive(Default)]
struct Junk {
    count: u64,
    /// Why the last one is none.
    why: Option<ReportError>,
}

/// Asks once; what is no report is passed over until one comes or the patience ends.
fn once(target: SocketAddr, patience: Duration, junk: &mut Junk) -> io::Result<Answer> {
    let socket = connect(target)?;
    let asked = Instant::now();
    socket.send(&REQUEST)?;
    let mut bytes = vec![0; LARGEST_DATAGRAM];
    loop {
        let left = patience.saturating_sub(asked.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        let length = match socket.recv(&mut bytes) {
            // A signal, or a debugger, came between.
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            heard => heard?,
        };
        let round_trip = asked.elapsed();
        match Report::decode(&bytes[..length]) {
            Ok(report) => {
                let arrived_unix_s =
                    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                return Ok(Answer { report, arrived_unix_s, round_trip, junk: junk.count });
            }
            Err(why) => (junk.count, junk.why) = (junk.count + 1, Some(why)),
        }
    }
}

/// A socket on a fresh port that speaks with the target alone.
///
/// # Errors
/// If its packets cannot be kept on this machine, or the system gives no socket.
pub fn connect(target: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match target {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let any = SocketAddr::new(any, 0);
    // Its user may have consented before a rule came that leads packets away: each socket is held, or is none.
    let leash = Leash::towards(target).map_err(io::Error::other)?;
    let socket = UdpSocket::bind(leash.source(any))?;
    leash.hold(&socket, target)?;
    Ok(socket)
}

/// The address of `HOST:PORT`, if it may be asked.
///
/// # Errors
/// As [`resolve`], and if its host did not consent.
pub fn allowed(word: &str) -> Result<SocketAddr, Failure> {
    let target = resolve(word)?;
    consent(target).map(|()| target)
}

/// Finds the address of `HOST:PORT`, IPv4 first.
///
/// # Errors
/// If the word is none, or the name is not known.
pub fn resolve(word: &str) -> Result<SocketAddr, Failure> {
    let word = word.strip_prefix("heartbeat://").unwrap_or(word);
    let host_and_port = host_and_port(word)
        .ok_or_else(|| Failure::usage(format!("{word:?} is not an address; write 127.0.0.1:9060")))?;
    let mut found: Vec<SocketAddr> = host_and_port
        .to_socket_addrs()
        .map_err(|why| Failure::environment(format!("{word} is not known: {why}")))?
        .collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| Failure::environment(format!("{word} has no address")))
}

/// Whether the aggregator most likely stamps with this machine's clock: it runs here.
pub fn clock_is_shared(target: SocketAddr) -> bool {
    Whereabouts::of(target).is_this_machine()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use dropline_heartbeat::{HeartbeatOutcome, HeartbeatTable};

    /// A socket of loopback that answers each request with these, one after the other.
    fn answering(answers: Vec<Vec<u8>>) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut request = [0; 64];
            while let Ok((_, source)) = socket.recv_from(&mut request) {
                answers.iter().for_each(|answer| drop(socket.send_to(answer, source)));
            }
        });
        address
    }

    fn report() -> Vec<u8> {
        let mut table = HeartbeatTable::new();
        let HeartbeatOutcome::Report(report) = table.handle(0, &REQUEST) else { panic!("no report") };
        report.to_vec()
    }

    #[test]
    fn what_comes_before_a_report_and_is_none_is_passed_over_and_counted() {
        let mut damaged = report();
        damaged[100] ^= 1;
        let target = answering(vec![b"junk".to_vec(), damaged, Vec::new(), report()]);
        let answer = ask(target, Duration::from_secs(10)).unwrap();
        assert_eq!((answer.junk, answer.report), (3, Report::decode(&report()).unwrap()));
    }

    #[test]
    fn an_answer_that_is_longer_than_a_report_is_told_with_its_length() {
        let refused = ask(answering(vec![vec![0; 5_000]]), Duration::from_millis(500)).unwrap_err();
        assert!(refused.to_string().contains("it has 5000 bytes, and a report has 260"), "{refused}");
    }
}
