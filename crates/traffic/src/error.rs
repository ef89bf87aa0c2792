//! Why a trial could not be performed, or a target not be started.

mod no_leash;

pub use no_leash::{Detour, NoLeash};

use dropline_trial::{Rate, time_of};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a trial could not be performed. Loss is never one of these.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UdpError {
    /// Nothing listens at that port (ICMP): start the service, or measure the embedded one.
    #[error("{} sent to {target} and the host answered \"port unreachable\"", packets_were(*sent))]
    Closed {
        /// Where packets went.
        target: SocketAddr,
        /// Packets that left in this trial until then.
        sent: u64,
    },
    /// Packets leave and nothing ever came back: not an echo service, or something in between drops all.
    #[error("{} sent to {target} and {}", packets_were(*sent), what_came(*others, *from, *waited, unlike))]
    NoAnswer {
        /// Where packets went.
        target: SocketAddr,
        /// Packets that left.
        sent: u64,
        /// What the target sent back instead: no packet's answer, as far as can be told.
        others: u64,
        /// Of those from a service, how many had the token of no request, were too short, too long, or spoke of something else.
        unlike: Box<[u64; 4]>,
        /// Where an answer came from, or these others, that no socket hears which asked the target alone.
        from: Option<SocketAddr>,
        /// How long an answer was waited for after the last of them.
        waited: Duration,
    },
    /// A one-way target that neither answers count queries nor has its socket on this machine.
    #[error(
        "what arrives at {target} cannot be counted: it answers no count query and no socket of this machine has that port"
    )]
    NotCounted {
        /// Where packets went.
        target: SocketAddr,
    },
    /// A one-way target at whose socket nothing arrives: a rule on the way leads packets elsewhere, or drops them.
    #[error("what is sent to {target} does not arrive at the socket that listens there")]
    NotReached {
        /// Where packets went.
        target: SocketAddr,
    },
    /// What some streams send does not come to the target, and what others send does: a rule on the way leads some flows
    /// elsewhere, or drops them.
    #[error(
        "what {led_away} of {streams} streams send to {target} {}, unlike what the others send", unlike(error.as_ref())
    )]
    SomeStreams {
        /// Where the first of them sends.
        target: SocketAddr,
        /// Streams whose packets do not come there.
        led_away: usize,
        /// All of them.
        streams: usize,
        /// What the system or the network said of the first; `None` if nobody answered.
        error: Option<io::Error>,
    },
    /// No packet can come from there: it is not an address of this machine, or the port is taken.
    #[error("packets cannot be sent from {address}: {source}")]
    Source {
        /// Where packets were to come from.
        address: SocketAddr,
        /// In the system's words.
        source: io::Error,
    },
    /// The system does not let us send there: a firewall rule, or a broadcast address.
    #[error("the system does not permit sending to {target}: {source}")]
    Permission {
        /// Where packets were to go.
        target: SocketAddr,
        /// In the system's words.
        source: io::Error,
    },
    /// What stands in front of the interface towards it takes no packet: a full queue, or a rule that drops.
    #[error(
        "what is sent to {target} does not leave: the interface towards it refuses packets ({source}){}",
        by_rule(rule)
    )]
    NotTaken {
        /// Where packets were to go.
        target: SocketAddr,
        /// In the system's words.
        source: io::Error,
        /// The rule of a firewall in front of the interface that drops them, where that is seen.
        rule: Option<String>,
    },
    /// Packets to it would leave this machine, or nobody can tell.
    #[error("{target}: {why}")]
    NoLeash {
        /// Where packets were to go.
        target: SocketAddr,
        /// Why they may not.
        why: NoLeash,
    },
    /// There is no way to that network or host.
    #[error("{target} cannot be reached: {source}")]
    Unreachable {
        /// Where packets were to go.
        target: SocketAddr,
        /// In the system's words.
        source: io::Error,
    },
    /// The packets are longer than the way to the target allows in one piece.
    #[error("packets with {payload} B of payload are too long for the path to {target}{}", carries(link))]
    TooLong {
        /// Where packets were to go.
        target: SocketAddr,
        /// Bytes of UDP payload.
        payload: u32,
        /// The interface of the way that carries least, and how many bytes, where that is known.
        link: Option<(String, u32)>,
    },
    /// One socket sends in one direction only: more need a target that says so.
    #[error("a UDP target has one direction, not {0}")]
    Directions(usize),
    /// Several targets that send nothing back.
    #[error(
        "several target addresses or ports are only for targets that answer: the others are counted at one socket"
    )]
    OneWayTargets,
    /// No stream, or one without a share of the load.
    #[error("every stream needs a share of the load above 0, and there must be one")]
    Streams,
    /// Streams of a service have the same share each: so a reply tells its request.
    #[error("the streams to a service share the load evenly, and these have shares of their own")]
    UnevenStreams,
    /// A reply tells its request by so few bits that more requests would be under way than there are of them.
    #[error(
        "{load} with replies that may take {} need {needed} streams, and there {}: each has requests of its own, and no two of \
         them under way may be alike",
        time_of(u64::try_from(drain.as_nanos()).unwrap_or(u64::MAX)),
        if *streams == 1 { "is 1".to_owned() } else { format!("are {streams}") }
    )]
    FewStreams {
        /// Streams at least.
        needed: u64,
        /// Of the profile.
        streams: usize,
        /// Load of the trial.
        load: Rate,
        /// How long a reply may take.
        drain: Duration,
    },
    /// Each thread has streams of its own: fewer threads or more streams.
    #[error(
        "{threads} threads cannot share {streams} streams: each has streams of its own, and there is at least one of both"
    )]
    Threads {
        /// Threads that send, or that receive.
        threads: usize,
        /// Streams of the profile.
        streams: usize,
    },
    /// A closed loop needs a program to start as its clients, and this measurer was given none.
    #[error("this measurer has no program for the clients of a closed loop")]
    NoClients,
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// The system did not start a thread.
    #[error("a thread could not be started: {0}")]
    Thread(io::Error),
    /// The system refused something else.
    #[error("{doing} failed: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// In the system's words.
        source: io::Error,
    },
}

impl UdpError {
    /// What an error of a socket that is connected to `target` means, after `sent` packets left.
    pub(crate) fn of_socket(source: io::Error, target: SocketAddr, sent: u64, payload: u32) -> Self {
        match source.kind() {
            io::ErrorKind::ConnectionRefused => Self::Closed { target, sent },
            io::ErrorKind::PermissionDenied => Self::Permission { target, source },
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::AddrNotAvailable => Self::Unreachable { target, source },
            _ if source.raw_os_error() == Some(libc::ENOBUFS) => {
                Self::NotTaken { target, source, rule: None }
            }
            _ if is_too_long(&source) => Self::TooLong { target, payload, link: None },
            _ => Self::System { doing: "moving packets", source },
        }
    }

    /// What an error of holding a socket that was to be connected to `target` means.
    pub(crate) fn of_holding(source: io::Error, target: SocketAddr, payload: u32) -> Self {
        match NoLeash::inside(&source) {
            Some(why) => Self::NoLeash { target, why: why.clone() },
            None => Self::of_socket(source, target, 0, payload),
        }
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}

/// Whether an error of a send ends the trial: then every other packet would meet it too. The other
/// errors refuse one packet, which is counted.
pub(crate) fn ends_trial(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
    ) || is_too_long(error)
}

/// `None` if there was nothing to receive.
pub(crate) fn nothing_as_none(received: io::Result<usize>) -> io::Result<Option<usize>> {
    match received {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

/// What a way carries, where that is known.
fn carries(link: &Option<(String, u32)>) -> String {
    let said = |(name, mtu): &(String, u32)| {
        format!(": {name} carries {mtu} B in one piece, IP and UDP headers included")
    };
    link.as_ref().map(said).unwrap_or_default()
}

/// The rule that drops, where it is known.
fn by_rule(rule: &Option<String>) -> String {
    rule.as_ref().map(|rule| format!(": {rule}")).unwrap_or_default()
}

/// Why the embedded target could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another program listens there: stop it, or listen elsewhere.
    #[error("{0} is in use by another program")]
    InUse(SocketAddr),
    /// Ports below 1024 need a privilege.
    #[error("this user may not listen at {0}")]
    Permission(SocketAddr),
    /// No interface of this machine has the address.
    #[error("{0} is not an address of this machine")]
    NotAvailable(SocketAddr),
    /// A queue without a place, or no worker to empty it.
    #[error("the target needs at least one {0}")]
    Zero(&'static str),
    /// The system did not start a thread.
    #[error("a thread could not be started: {0}")]
    Thread(io::Error),
    /// The system refused something else.
    #[error("{doing} failed: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// In the system's words.
        source: io::Error,
    },
}

impl BindError {
    pub(crate) fn of_bind(source: io::Error, address: SocketAddr) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::InUse(address),
            io::ErrorKind::PermissionDenied => Self::Permission(address),
            io::ErrorKind::AddrNotAvailable => Self::NotAvailable(address),
            _ => Self::System { doing: "opening a socket", source },
        }
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}

/// `1 packet was`, `3 000 packets were`.
fn packets_were(number: u64) -> String {
    if number == 1 { "1 packet was".into() } else { format!("{} packets were", grouped(number)) }
}

/// What came of packets that nobody answered.
fn what_came(others: u64, from: Option<SocketAddr>, waited: Duration, unlike: &[u64; 4]) -> String {
    const KINDS: [&str; 4] = [
        "carried the identifier of no request that was open",
        "were too short",
        "were too long",
        "spoke of something else than was asked",
    ];
    let kinds: Vec<String> = unlike
        .iter()
        .zip(KINDS)
        .filter(|(count, _)| **count > 0)
        .map(|(count, kind)| format!("{} {kind}", grouped(*count)))
        .collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    match (others, from) {
        (0, Some(from)) => format!("none was answered from there: an answer comes from {from}"),
        (1, Some(from)) => format!("1 reply came from {from}, but it is none of them{kinds}"),
        (_, Some(from)) => {
            format!(
                "{} replies came from {from}, but none of them is one of these packets{kinds}",
                grouped(others)
            )
        }
        (0, None) => format!("none was answered within {}", time_of(waited.as_nanos() as u64)),
        (1, None) => format!("1 reply came, but it is none of them{kinds}"),
        _ => format!("{} replies came, but none of them is one of these packets{kinds}", grouped(others)),
    }
}

/// What became of packets that others of the same load did not share.
fn unlike(error: Option<&io::Error>) -> String {
    match error {
        None => "gets no answer, however often it is sent".into(),
        Some(error) => format!("is refused on its way ({error})"),
    }
}

/// `3 000`: digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_port_is_told_with_what_was_sent() {
        let target = "127.0.0.1:7008".parse().unwrap();
        assert_eq!(
            UdpError::Closed { target, sent: 3000 }.to_string(),
            "3 000 packets were sent to 127.0.0.1:7008 and the host answered \"port unreachable\""
        );
        assert_eq!((grouped(7), grouped(1_000_204)), ("7".into(), "1 000 204".into()));
        assert_eq!(packets_were(1), "1 packet was");
    }
}
