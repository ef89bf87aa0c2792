//! Who listens at an address, and which protocol it speaks: for a person who does not know yet how to name it.

use super::{Kind, Target, service, udp};
use dropline_consent::consent;
use dropline_failure::{Failure, quoted};
use dropline_payload::service::{Origin, Service};
use dropline_traffic::{Reply, TargetSocket, UdpTarget, probe};
use dropline_trial::{TrafficProfile, time_of};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What listens at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// In words: whose socket it is.
    pub holder: String,
    /// What it answers to, of the protocols that are known here.
    pub spoken: Option<Spoken>,
}

/// A protocol that it speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// In words: how it answered a few requests.
    pub words: String,
    /// The command that measures it.
    pub command: String,
}

/// How long an answer is waited for, of a protocol that may be another one.
const PATIENCE: Duration = Duration::from_millis(300);

impl Target {
    /// Who listens there, and to what it answers: its own protocol first, then the usual one of its port, then all others.
    /// `None` of a target that is not an address of requests.
    ///
    /// # Errors
    /// If packets may not go there.
    pub fn listener(&self, stop: &AtomicBool) -> Result<Option<Listener>, Failure> {
        let (host, port, scheme) = match &self.kind {
            Kind::Udp { host, port, .. } => (host, *port, udp::SCHEME.prefix),
            Kind::Service(service::Named { scheme, host, port, .. }) => (host, *port, *scheme),
            _ => return Ok(None),
        };
        let address = udp::resolve(host, port, scheme)?;
        consent(address)?;
        let mut services = service::first_requests();
        services.sort_by_key(|service| {
            let protocol = service.protocol();
            (protocol.scheme != scheme, protocol.port != port)
        });
        let spoken = services.into_iter().find_map(|service| spoken(service, address, stop));
        Ok(Some(Listener { holder: holder(address), spoken }))
    }

    /// Whether it is a service that nobody said what to ask.
    pub fn asks_nothing(&self) -> bool {
        matches!(&self.kind, Kind::Service(named) if named.asks_nothing())
    }
}

fn holder(address: SocketAddr) -> String {
    let Some(socket) = TargetSocket::find(address) else {
        return format!("no socket of this machine has {address}, as far as is seen from here");
    };
    match socket.program() {
        Some((pid, Some(name))) => format!("{name} (process {pid}) listens at {address}"),
        Some((pid, None)) => format!("process {pid} listens at {address}"),
        None => format!("a program that this user may not look at listens at {address}"),
    }
}

fn spoken(service: Service, address: SocketAddr, stop: &AtomicBool) -> Option<Spoken> {
    let protocol = service.protocol();
    let is_dns = matches!(service, Service::Dns(_));
    let mut profile = TrafficProfile::default();
    profile.drain.longest = PATIENCE;
    let target = UdpTarget { address, reply: Reply::of_service(service) };
    let found = probe(target, &profile, stop).ok()?;
    let (said, bytes) = (found.said?, found.reply_bytes);
    let in_time = time_of(found.round_trip_ns?);
    let asked = if is_dns { " (asked what it is: version.bind)" } else { "" };
    let (others, word) = match found.origin {
        Origin::Own => ("", ""),
        _ => {
            let said = "; it asks other servers for what it does not know, which then get that load: it is measured only where \
                        &ask-others=1 allows that";
            (said, "&ask-others=1")
        }
    };
    let names = if is_dns { "?names=www.example.org" } else { "" };
    let named = format!("{}{address}{names}{word}", protocol.scheme);
    Some(Spoken {
        words: format!(
            "speaks {}: answers in {in_time} with {bytes} B, {said}{asked}{others}",
            protocol.name
        ),
        command: format!("dropline trial {} --load 1kpps --duration 5s", quoted(&named)),
    })
}
