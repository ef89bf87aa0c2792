//! `udp://` targets: a UDP service that answers each request, or takes packets one way.

use super::{Kind, Opened, Opening, ProgramFile, Scheme};
use crate::own_protocol::OwnProtocol;
use crate::parameters::{parameters, unknown};
use crate::service::{self, Named};
use dropline_aggregator::address::host_and_port;
use dropline_consent::{consent, refused};
use dropline_failure::Failure;
use dropline_payload::service::{Origin, Protocol, Service, dns};
use dropline_traffic::{
    ClientProgram, Leash, MeasurerOptions, Probed, Reply, Targets, UdpError, UdpMeasurer, UdpTarget,
    Watching, probe,
};
use dropline_trial::{
    Caveat, MOST_STREAMS, Measurer, Pace, Packet, PacketTimes, Rate, TrafficProfile, Trial, TrialInput,
    time_of,
};
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Its row in the table of targets.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "udp://",
    forms: &[
        ("udp://HOST:PORT", "a UDP service that echoes each request"),
        (
            "udp://HOST:PORT?reply=any",
            "the same for a service that sends back the first 16 bytes, and then anything",
        ),
        ("udp://HOST:PORT?reply=none", "a one-way service, counted at its socket"),
        (
            "udp://HOST:PORT?payload=hex:c0de{tag:4}&reply=tag@2",
            "a service with a protocol of your own: --payload, --reply",
        ),
    ],
    parse,
};

/// Reads `HOST:PORT` or `HOST:PORT?reply=none`.
fn parse(word: &str) -> Result<Kind, Failure> {
    let (address, parameters) = parameters(word)?;
    let wrong = || Failure::usage(format!("udp://{address} is not an address; write udp://127.0.0.1:7007"));
    let (host, port) = host_and_port(address).ok_or_else(wrong)?;
    if let Some((name, _)) = parameters.iter().find(|(name, _)| !["payload", "reply"].contains(name)) {
        return Err(unknown(SCHEME.prefix, name, &["payload", "reply"]));
    }
    if let Some(own) = OwnProtocol::of(&parameters)? {
        return Ok(Kind::Service(Named::of_own(host, port, own)));
    }
    let mut reply = Reply::Echo;
    for (_, value) in parameters {
        match value {
            "echo" => reply = Reply::Echo,
            "any" => reply = Reply::Any,
            "none" => reply = Reply::None,
            _ => {
                return Err(Failure::usage(format!(
                    "reply={value}: there are reply=echo, reply=any and reply=none; more is told of replies to a payload of your \
                     own (--payload)"
                )));
            }
        }
    }
    Ok(Kind::Udp { host: host.into(), port, reply })
}

/// Each millisecond, every look kept that says something.
const CLOSELY: Watching = Watching { every: Some(Duration::from_millis(1)), keep: true, pid: None };

/// Resolves the name, asks whether we may, probes.
pub(super) fn open(
    host: &str,
    port: u16,
    reply: Reply,
    profile: &TrafficProfile,
    opening: Opening,
) -> Result<Opened, Failure> {
    open_as(host, port, [reply; 2], profile, opening, |probed| {
        Ok(match probed.round_trip_ns {
            Some(ns) if reply == Reply::Any => {
                format!("answers in {}, each with its packet's first 16 bytes", time_of(ns))
            }
            Some(ns) => format!("echo, answers in {}", time_of(ns)),
            None => "one way, counted at its socket".into(),
        })
    })
}

/// The same of a service that is asked in its own protocol.
pub(super) fn open_service(
    named: &Named,
    profile: &TrafficProfile,
    opening: Opening,
) -> Result<Opened, Failure> {
    let service = named.service()?;
    let words = named.words(&service);
    // Whether it asks others is to be known before it is told to.
    let first = if service.may_ask_others() { service.clone() } else { service.without_recursion() };
    let replies = [first, service.clone()].map(Reply::of_service);
    open_as(&named.host, named.port, replies, profile, opening, |probed| {
        asks_nobody(named, &service, probed.origin)?;
        let in_time =
            probed.round_trip_ns.map(|ns| format!(", answers in {}", time_of(ns))).unwrap_or_default();
        let said = probed.said.map(|said| format!(": {said}")).unwrap_or_default();
        Ok(format!("{words}{in_time}{said}"))
    })
}

/// A server that asks others sends the load on to hosts that nobody asked for their consent.
fn asks_nobody(named: &Named, service: &Service, origin: Origin) -> Result<(), Failure> {
    let by = match origin {
        _ if service.may_ask_others() => return Ok(()),
        Origin::Own => return Ok(()),
        Origin::OwnOrOthers => "its replies offer recursion",
        Origin::Others => "its replies have no authority of their own",
    };
    let scheme = service.protocol().scheme;
    if matches!(service, Service::Own(_)) {
        return Err(Failure::environment(format!(
            "refused: {scheme}{named} is asked what DNS servers are asked, and asks others for what it does not know ({by}): it \
             would send them this load, and they did not consent"
        ))
        .advice(format!("where they are yours, or it cannot reach any, measure it as  dns://{named}?queries=FILE&ask-others=1")));
    }
    let said = format!(
        "refused: {scheme}{named} asks other servers for what it does not know ({by}): it would send them this load, and they \
         did not consent"
    );
    Err(Failure::environment(said).advice(
        "measure a server that has the names itself, and asks nobody (with recursion switched off); where those whom this one \
         asks are yours and may get the whole load, or it cannot reach any, add ask-others=1 to the target; rd=0, which asks \
         it to answer by itself, is not heeded by every forwarder",
    ))
}

/// Opens a target; what a few packets, the first of the two kinds, showed makes the note.
fn open_as(
    host: &str,
    port: u16,
    [first, reply]: [Reply; 2],
    profile: &TrafficProfile,
    opening: Opening,
    note: impl FnOnce(Probed) -> Result<String, Failure>,
) -> Result<Opened, Failure> {
    let address = resolve(host, port, reply.scheme())?;
    consent_of_all(address, &opening.moving.targets)?;
    // What is named is where packets go, and what is spoken of.
    let ip = opening.moving.targets.addresses.first().copied().unwrap_or(address.ip());
    let target = UdpTarget { address: SocketAddr::new(ip, address.port()), reply };
    let probed = probe(UdpTarget { reply: first, ..target }, profile, &opening.stop)
        .map_err(|why| not_answered(&why, target, &opening.stop))?;
    let note = note(probed)?;
    let Probed { round_trip_ns, .. } = probed;
    let profile = patient(profile, round_trip_ns);
    let options = MeasurerOptions {
        slices: opening.slices,
        // A single trial is looked at closely: what is explained later must be seen now.
        watching: Watching {
            pid: opening.moving.target_pid,
            ..if opening.keep_packets > 0 { CLOSELY } else { Watching::default() }
        },
        keep_packets: (opening.keep_packets > 0).then_some(opening.keep_packets),
        means: opening.moving.means,
        sources: opening.moving.sources,
        targets: opening.moving.targets,
        together: opening.together,
        asked_below: opening.asked_below,
        ..MeasurerOptions::default()
    };
    let has_clients = matches!(profile.arrival.pace(), Pace::Closed(_));
    let mut measurer =
        UdpMeasurer::new(target, profile, options, opening.first_trial, opening.stop, opening.live)
            .map_err(|why| failure(&why))?;
    if has_clients {
        measurer = measurer.with_clients(client_program(&opening.program)?);
    }
    let reached = measurer.reach(Duration::from_nanos(round_trip_ns.unwrap_or(0)));
    reached.map_err(|why| failure_of(&why, reply))?;
    Ok(Opened {
        note: Some(note),
        generator: Some(measurer.means().map_err(|why| failure(&why))?),
        reply_buffer_bytes: Some(measurer.receive_buffer_bytes()),
        measurer: Box::new(Udp { measurer, reply, last: None }),
    })
}

/// Nobody answered a few packets before the first trial. A service that was not asked in its own protocol is named.
fn not_answered(why: &UdpError, target: UdpTarget, stop: &AtomicBool) -> Failure {
    let (UdpError::NoAnswer { target: address, .. }, Reply::Echo | Reply::Any | Reply::None) =
        (why, target.reply)
    else {
        return failure_of(why, target.reply);
    };
    let by_port = service::usual_at(address.port());
    let as_dns = || {
        let asked = UdpTarget { reply: Reply::of_service(service::dns_of_itself()), ..target };
        probe(asked, &TrafficProfile::default(), stop).ok().map(|_| dns::PROTOCOL.scheme)
    };
    match as_dns() {
        Some(scheme) => Failure::environment(why).advice(format!(
            "a DNS server answers there: it is measured as  {scheme}{address}?queries=FILE"
        )),
        None => match by_port {
            Some(scheme) => Failure::environment(why).advice(format!(
                "a service that echoes each packet is needed; what usually listens at this port is measured as  {scheme}{address}"
            )),
            None => failure(why),
        },
    }
}

/// Why a target that answers so cannot be measured, with what to do.
fn failure_of(why: &UdpError, reply: Reply) -> Failure {
    let Reply::Service(service) = reply else { return failure(why) };
    let Protocol { name, scheme, .. } = service.protocol();
    let advice = match why {
        UdpError::Closed { .. } => format!(
            "nothing listens there: start the server, or name the port at which it speaks {name}, as {scheme}HOST:PORT"
        ),
        UdpError::NoAnswer { from: Some(_), .. } => return failure(why),
        UdpError::NoAnswer { others: 0, .. } => format!(
            "what listens there may not speak {name}; or it dropped what it was asked without a word, by a rule of its own (an \
             access list, a limit of answers for each address), or because it asks others who are silent; one that takes \
             longer needs a longer --drain, such as --drain 10s"
        ),
        UdpError::NoAnswer { .. } => {
            format!(
                "what came is not what {name} answers to these requests: is it another service that listens there?"
            )
        }
        UdpError::SomeStreams { error: None, .. } => format!(
            "each stream asks by a port of its own, and every question has its turn on each: the server answers some ports and \
             others not, as a limit for each of them would (its log says so), or some of its workers do not answer; else a rule \
             of a firewall drops packets of these streams, or leads them elsewhere. Try --streams {}",
            if service.token_bits() < u64::BITS { 4 } else { 1 }
        ),
        _ => return failure(why),
    };
    Failure::environment(why).advice(advice)
}

/// Answers that take longer than the silence that ends a drain are waited for: twice as long as the probe's took.
fn patient(profile: &TrafficProfile, round_trip_ns: Option<u64>) -> TrafficProfile {
    let mut profile = profile.clone();
    let usual = Duration::from_nanos(round_trip_ns.unwrap_or(0)).saturating_mul(2);
    profile.drain.quiet = profile.drain.quiet.map(|quiet| quiet.max(usual));
    profile
}

/// What this machine's generator can offer with packets like these, a second against our own reflector.
///
/// # Errors
/// If the system does not give the sockets, or the user wants to stop.
pub fn generator_limit(profile: &TrafficProfile, stop: &Arc<AtomicBool>) -> Result<Rate, Failure> {
    let streams = u32::try_from(profile.streams.len()).unwrap_or(u32::MAX);
    // Our own reflector is sent packets of ours.
    let bytes = profile.packet.payload_bytes().max(Packet::SHORTEST);
    let packet = Packet::of_payload(bytes).map_err(Failure::usage)?;
    dropline_traffic::generator_limit(packet, streams, stop).map_err(|why| failure(&why))
}

pub(super) fn resolve(host: &str, port: u16, scheme: &str) -> Result<SocketAddr, Failure> {
    let found = (host, port).to_socket_addrs().map_err(|why| {
        Failure::environment(format!("{host} is not known: {why}"))
            .advice(format!("write its address, as {scheme}127.0.0.1:{port}"))
    })?;
    // A name with several addresses: IPv4 first, as services on localhost mostly listen there.
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| Failure::environment(format!("{host} has no address")))
}

/// The same of all addresses that the streams go to.
pub(super) fn consent_of_all(address: SocketAddr, targets: &Targets) -> Result<(), Failure> {
    consent(address)?;
    targets.addresses.iter().try_for_each(|&further| {
        let address = SocketAddr::new(further, address.port());
        let named = |why| refused(&format!("{address} (of --target-addresses)"), &why);
        Leash::towards(address).map(|_| ()).map_err(named)
    })
}

/// Why a UDP target cannot be measured, with what to do.
pub fn failure(why: &UdpError) -> Failure {
    let failure = match why {
        UdpError::Interrupted => return Failure::interrupted(),
        UdpError::Thread(why) => return Failure::thread(why),
        UdpError::NoLeash { target, why } => return refused(&target.to_string(), why),
        UdpError::Directions(_)
        | UdpError::OneWayTargets
        | UdpError::Streams
        | UdpError::UnevenStreams
        | UdpError::FewStreams { .. }
        | UdpError::Threads { .. }
        | UdpError::TooLong { .. } => Failure::usage(why),
        _ => Failure::environment(why),
    };
    match why {
        UdpError::Closed { target, .. } => failure.advice(format!(
            "nothing listens there. Start your service, or measure ours:  dropline serve --listen {target}"
        )),
        UdpError::NoAnswer { target, others: 1.., from: Some(_), .. } => failure.advice(format!(
            "what came is not an echo, and it came from another socket than the one that was asked: such a service is \
             measured by what comes to its socket, udp://{target}?reply=none"
        )),
        UdpError::NoAnswer { target, others: 1.., .. } => failure.advice(format!(
            "which reply is to which packet is told by the first 16 bytes of a packet: a service that sends them back \
             and then what it likes is udp://{target}?reply=any; one whose answers begin otherwise is measured by what \
             comes to its socket, udp://{target}?reply=none"
        )),
        UdpError::NoAnswer { from: Some(_), .. } => failure.advice(
            "the service answers from another socket than the one that it was asked at, or from another address of its \
             host: let it answer from the socket that heard the request, or bind that to the address that is named here",
        ),
        UdpError::NoAnswer { target, .. } => failure.advice(format!(
            "a service that echoes each packet is needed; one that takes longer needs a longer --drain of a trial or a \
             search, such as --drain 10s; one that sends nothing back is udp://{target}?reply=none; where a rule of a \
             firewall leads that address elsewhere, packets are not let follow: name what is behind it"
        )),
        UdpError::UnevenStreams => failure.advice("write --streams as a number, or leave it out"),
        UdpError::FewStreams { needed, .. } if *needed > u64::from(MOST_STREAMS) => failure.advice(format!(
            "no load has more than {MOST_STREAMS} streams: take a longer tag (such as {{tag:4}}), a lower load or a shorter --drain"
        )),
        UdpError::FewStreams { needed, .. } => failure.advice(format!(
            "leave --streams out, or write --streams {needed}; a lower load or a shorter --drain needs fewer"
        )),
        UdpError::NotReached { .. } => failure.advice(
            "a rule of a firewall leads packets to that address elsewhere, or drops them, and none is let follow: \
             name what is behind the rule, or take it away",
        ),
        UdpError::SomeStreams { .. } => failure.advice(
            "a rule of a firewall leads packets of these streams elsewhere, or drops them, and none is let follow: name what \
             is behind the rule, or take it away; of several --target-addresses or --target-ports, each must answer",
        ),
        UdpError::Source { .. } => failure.advice(
            "--source-addresses are addresses of this machine, and --source-port is the first of as many free ports as \
             there are --streams",
        ),
        UdpError::NotCounted { .. } => {
            failure.advice("a one-way target is dropline serve, or a service on this machine and in this namespace")
        }
        UdpError::Permission { .. } => {
            failure.advice("a firewall rule of this machine forbids it, or the address is a broadcast one")
        }
        UdpError::NotTaken { .. } => failure.advice(
            "a queue there is full, or a rule drops what leaves: look at  tc -s qdisc show  and  nft list ruleset, and take away \
             what stops them",
        ),
        UdpError::Unreachable { .. } => failure.advice(
            "there is no route to it (its link, or loopback, may be down), or a rule of a firewall leads packets to it \
             elsewhere and none is let follow: check the address,  ip link,  ip route  and  nft list ruleset",
        ),
        _ => failure,
    }
}

/// A target that was measured before and is not there any more.
pub(super) fn died(why: &dyn fmt::Display, last: &Lived) -> Failure {
    let number = last.number;
    let when = match last.died_ns {
        Some(ns) => format!("in trial {number}, {} after its start", time_of(ns)),
        None => format!("after trial {number}"),
    };
    Failure::environment(format!("the target died {when}: {why}"))
        .advice("finished trials are kept; start the target again: a search is then resumed with --resume")
}

/// The last trial in which the target was there.
pub(super) struct Lived {
    number: u64,
    /// When it died in it, if it did.
    died_ns: Option<u64>,
}

impl Lived {
    pub(super) fn of(trial: &Trial) -> Self {
        let gone = trial.caveats.iter().find_map(|caveat| match caveat {
            Caveat::TargetUnreachable { at_ns, .. } => Some(*at_ns),
            _ => None,
        });
        Self { number: trial.number, died_ns: gone.filter(|_| trial.target_went_away()) }
    }

    /// Whether it died in it.
    pub(super) fn has_died(&self) -> bool {
        self.died_ns.is_some()
    }
}

/// A UDP measurer whose errors say what to do.
struct Udp {
    measurer: UdpMeasurer,
    reply: Reply,
    last: Option<Lived>,
}

impl Measurer for Udp {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        match self.measurer.measure(input) {
            Ok(trial) => {
                self.last = Some(Lived::of(&trial));
                Ok(trial)
            }
            Err(why @ (UdpError::Closed { .. } | UdpError::NotCounted { .. })) => {
                Err(self.last.as_ref().map_or_else(|| failure_of(&why, self.reply), |last| died(&why, last)))
            }
            Err(why) => Err(failure_of(&why, self.reply)),
        }
    }

    fn take_packets(&mut self) -> Option<PacketTimes> {
        self.measurer.take_packets()
    }
}

/// The program `dropline`, as the clients of a closed loop.
///
/// # Errors
/// If it is not here, or the system does not say where it is.
pub fn client_program(dropline: &ProgramFile) -> Result<ClientProgram, Failure> {
    Ok(ClientProgram { path: dropline.find()?, words: vec!["client".into()] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_died_in_a_trial_is_told_with_the_trial_and_the_moment() {
        let input = TrialInput { load: Rate::from_millipps(50_000_000), duration: Duration::from_secs(1) };
        let gone = Caveat::TargetUnreachable {
            error: "ECONNREFUSED".into(),
            at_ns: 600_000_000,
            refused: 9,
            reports: 0,
        };
        let why = UdpError::Closed { target: "127.0.0.1:7011".parse().unwrap(), sent: 0 };
        let said = |caveats: Vec<Caveat>| {
            died(&why, &Lived::of(&Trial { caveats, ..Trial::new(1, input, 7) })).to_string()
        };
        assert!(said(vec![gone]).starts_with("the target died in trial 1, 600 ms after its start: "));
        assert!(said(Vec::new()).starts_with("the target died after trial 1: "));
    }
}
