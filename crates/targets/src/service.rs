//! Targets that speak a protocol of their own: `dns://`, `memcached://`, `ntp://`, `stun://`, `stamp://`.
//!
//! Requests and replies are `dropline_payload`'s; packets go the way of `udp://`, with its consent.

use super::{Kind, Scheme};
use crate::own_protocol::OwnProtocol;
use crate::parameters::{Parameters, parameters, unknown};
use dropline_aggregator::address::host_and_port;
use dropline_archive::reading;
use dropline_failure::Failure;
use dropline_payload::service::{
    Protocol, Service, dns, memcached, ntp, stamp, streams_needed, stun, template,
};
use dropline_trial::{Packet, Rate, quantities};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Their rows in the table of targets.
pub(super) const DNS: Scheme = Scheme {
    prefix: dns::PROTOCOL.scheme,
    forms: &[
        ("dns://HOST:PORT?queries=FILE", "a DNS server, asked what a file says: a name and a type a line"),
        (
            "dns://HOST:PORT?names=h{0..9999}.example.org&type=A",
            "the same, asked for names that are made (also edns, rd, dnssec, ask-others)",
        ),
        ("dns://HOST:PORT", "for dropline doctor alone, which finds out what it answers"),
    ],
    parse: |word| parse(word, &dns::PROTOCOL, dns_asked),
};
pub(super) const MEMCACHED: Scheme = Scheme {
    prefix: memcached::PROTOCOL.scheme,
    forms: &[
        ("memcached://HOST:PORT", "a memcached server's UDP port, asked for a key"),
        (
            "memcached://HOST:PORT?key=user{0..9999}&set=100B",
            "the same, told to store under keys that are made",
        ),
    ],
    parse: |word| parse(word, &memcached::PROTOCOL, memcached_asked),
};
pub(super) const NTP: Scheme = Scheme {
    prefix: ntp::PROTOCOL.scheme,
    forms: &[("ntp://HOST:PORT", "a time server")],
    parse: |word| parse(word, &ntp::PROTOCOL, |given| plain(&given, &ntp::PROTOCOL, Service::Ntp)),
};
pub(super) const STUN: Scheme = Scheme {
    prefix: stun::PROTOCOL.scheme,
    forms: &[("stun://HOST:PORT", "a STUN server, asked for the address that it sees")],
    parse: |word| parse(word, &stun::PROTOCOL, |given| plain(&given, &stun::PROTOCOL, Service::Stun)),
};
pub(super) const STAMP: Scheme = Scheme {
    prefix: stamp::PROTOCOL.scheme,
    forms: &[("stamp://HOST:PORT", "a STAMP session-reflector (RFC 8762), or one of TWAMP-Light")],
    parse: |word| parse(word, &stamp::PROTOCOL, |given| plain(&given, &stamp::PROTOCOL, Service::Stamp)),
};

/// Parameters of two of them; the others have none.
pub(super) static OF_DNS: [&str; 7] = ["queries", "names", "type", "edns", "rd", "dnssec", "ask-others"];
pub(super) static OF_MEMCACHED: [&str; 2] = ["key", "set"];

/// All of them.
const PROTOCOLS: [&Protocol; 6] = [
    &dns::PROTOCOL,
    &memcached::PROTOCOL,
    &ntp::PROTOCOL,
    &stun::PROTOCOL,
    &stamp::PROTOCOL,
    &template::PROTOCOL,
];

/// A service as it is named.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    /// As it begins.
    pub(super) scheme: &'static str,
    pub(super) host: String,
    pub(super) port: u16,
    asked: Asked,
}

/// What it is asked.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
    /// What a file says; it is read when it is needed.
    File { path: PathBuf, options: dns::Options },
    /// What its user describes.
    Own(OwnProtocol),
    /// What the word says.
    Word(Service),
    /// What is asked of a service whose word says nothing.
    Default(Service),
    /// Nothing: there is no question that each of them answers.
    Nothing,
}

/// Streams of a service whose replies bring few bits back, at least: a server may give its threads to sockets.
const FEWEST_STREAMS: u64 = 4;
/// The key where none is given.
const KEY: &str = "dropline{0..9999}";

impl Named {
    /// A service whose protocol its user describes.
    pub(super) fn of_own(host: &str, port: u16, own: OwnProtocol) -> Self {
        Self { scheme: template::PROTOCOL.scheme, host: host.into(), port, asked: Asked::Own(own) }
    }

    /// Whether bytes of a file are sent as they are.
    pub(super) fn sends_a_file(&self) -> bool {
        matches!(&self.asked, Asked::Own(own) if own.file().is_some())
    }

    /// What is asked, and how replies are read.
    ///
    /// # Errors
    /// If its file cannot be read, or a line of it is not a question.
    pub(super) fn service(&self) -> Result<Service, Failure> {
        match &self.asked {
            Asked::File { path, options } => {
                let bytes = reading::bytes(path, reading::MOST_BYTES).map_err(|why| why.of(path))?;
                let wrong = |why: &dyn fmt::Display| Failure::usage(format!("{}: {why}", path.display()));
                let text = str::from_utf8(&bytes).map_err(|why| {
                    let (line, column) = place(&bytes[..why.valid_up_to()]);
                    let advice = "write bytes of a name that are not letters by their numbers, as \\228";
                    wrong(&format!("line {line}, column {column}: this is not text in UTF-8")).advice(advice)
                })?;
                dns::Questions::read(text, *options).map(Service::Dns).map_err(|why| wrong(&why))
            }
            Asked::Own(own) => own.template(self.port).map(Service::Own),
            Asked::Word(service) | Asked::Default(service) => Ok(service.clone()),
            Asked::Nothing => {
                let failure = Failure::usage(format!("dns://{self} does not say what is asked"));
                Err(failure.advice(format!(
                    "name what this server has:  dns://{self}?names=www.example.org  or  dns://{self}?queries=FILE, with a name \
                     and a type a line. No question is the same to all servers: what one answers, another refuses, or asks \
                     others for"
                )))
            }
        }
    }

    /// Whether nothing says what is asked.
    pub(super) fn asks_nothing(&self) -> bool {
        self.asked == Asked::Nothing
    }

    /// Whether anything is to come back of what is asked.
    pub(super) fn is_answered(&self) -> bool {
        !matches!(&self.asked, Asked::Own(own) if !own.is_answered())
    }

    /// The file that says what is asked.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.asked {
            Asked::File { path, .. } => Some(path),
            Asked::Own(own) => own.file(),
            Asked::Word(_) | Asked::Default(_) | Asked::Nothing => None,
        }
    }

    /// The size of a packet, which is that of a request.
    pub(super) fn packet(&self) -> Result<Packet, Failure> {
        let service = self.service()?;
        let longest = u32::try_from(service.longest_request()).unwrap_or(u32::MAX);
        Packet::of_requests(longest, service.mean_request()).map_err(Failure::usage)
    }

    /// Streams by which a load can be told apart, where a reply may take so long.
    pub(super) fn streams(&self, load: Rate, longest: Duration) -> u64 {
        let bits = match &self.asked {
            Asked::File { .. } | Asked::Nothing => dns::TOKEN_BITS,
            Asked::Own(OwnProtocol::Word(template)) => Service::Own((**template).clone()).token_bits(),
            // What a file holds is sent as it is.
            Asked::Own(OwnProtocol::File { .. }) => u64::BITS,
            Asked::Word(service) | Asked::Default(service) => service.token_bits(),
        };
        let needed = streams_needed(bits, load.as_pps(), longest.as_secs_f64());
        if bits < u64::BITS { needed.max(FEWEST_STREAMS) } else { needed }
    }

    /// In words, what it is asked.
    pub(super) fn words(&self, service: &Service) -> String {
        match (service, &self.asked) {
            (Service::Dns(questions), _) => format!("DNS, {questions}"),
            (Service::Memcached(_), Asked::Default(_)) => {
                format!("memcached, asked for {KEY} as no key is named (key=PATTERN)")
            }
            (Service::Own(template), _) => format!("your own protocol, {template}"),
            (other, _) => other.protocol().name.into(),
        }
    }
}

/// All classes that replies of a service can have.
pub fn reply_classes() -> Vec<&'static str> {
    PROTOCOLS.iter().flat_map(|protocol| protocol.classes).map(|class| class.name).collect()
}

/// The word for a service that usually listens at a port.
pub(super) fn usual_at(port: u16) -> Option<&'static str> {
    PROTOCOLS.iter().find(|protocol| protocol.port == port).map(|protocol| protocol.scheme)
}

/// What shows that a DNS server listens somewhere.
pub(super) fn dns_of_itself() -> Service {
    Service::Dns(dns::Questions::of_itself())
}

/// A request of each protocol that every server of it answers, if it answers anything.
pub(super) fn first_requests() -> Vec<Service> {
    let key = memcached::Requests::get(KEY).expect("these are keys");
    vec![dns_of_itself(), Service::Memcached(key), Service::Ntp, Service::Stun, Service::Stamp]
}

/// Line and column behind this text, both from 1.
fn place(text: &[u8]) -> (usize, usize) {
    let text = String::from_utf8_lossy(text);
    let last = text.rsplit('\n').next().unwrap_or_default();
    (text.matches('\n').count() + 1, last.chars().count() + 1)
}

fn parse(
    word: &str,
    protocol: &Protocol,
    asked: impl FnOnce(Parameters<'_>) -> Result<Asked, Failure>,
) -> Result<Kind, Failure> {
    let (address, given) = parameters(word)?;
    let (scheme, port) = (protocol.scheme, protocol.port);
    let with_port = format!("{address}:{port}");
    let found = host_and_port(address).or_else(|| host_and_port(&with_port));
    let (host, port) = found.ok_or_else(|| {
        Failure::usage(format!("{scheme}{address} is not an address; write {scheme}127.0.0.1:{port}"))
    })?;
    Ok(Kind::Service(Named { scheme, host: host.into(), port, asked: asked(given)? }))
}

/// Nothing can be said.
fn plain(given: &Parameters<'_>, protocol: &Protocol, service: Service) -> Result<Asked, Failure> {
    match given.first() {
        None => Ok(Asked::Default(service)),
        Some((name, _)) => Err(unknown(protocol.scheme, name, &[])),
    }
}

fn dns_asked(given: Parameters<'_>) -> Result<Asked, Failure> {
    let (mut queries, mut names, mut kind) = (None, None, None);
    let mut options = dns::Options::default();
    for (name, value) in given {
        match name {
            "queries" => queries = Some(value),
            "names" => names = Some(value),
            "type" => kind = Some(value),
            "edns" => options.edns = Some(edns(value)?),
            "rd" => options.recursion = bit(name, value)?,
            "ask-others" => options.may_ask_others = bit(name, value)?,
            "dnssec" => options.dnssec = bit(name, value)?,
            _ => {
                return Err(unknown(dns::PROTOCOL.scheme, name, &OF_DNS));
            }
        }
    }
    if options.dnssec && options.edns.is_none() {
        // Signatures are asked for by EDNS, and are long.
        options.edns = Some(1232);
    }
    let wrong = |why: dns::QuestionError| Failure::usage(format!("names in the target: {why}"));
    match (queries, names, kind) {
        (Some(_), Some(_), _) => {
            Err(Failure::usage("queries=FILE and names=PATTERN both say what is asked: give one of them"))
        }
        (Some(_), None, Some(_)) => {
            Err(Failure::usage("type= is for names=PATTERN: a file has a type a line"))
        }
        (Some(""), ..) => Err(Failure::usage("queries= names no file")),
        (Some(path), None, None) => Ok(Asked::File { path: path.into(), options }),
        (None, Some(pattern), kind) => {
            let questions = dns::Questions::named(pattern, kind.unwrap_or("A"), options).map_err(wrong)?;
            Ok(Asked::Word(Service::Dns(questions)))
        }
        (None, None, Some(_)) => {
            Err(Failure::usage("type= needs names=PATTERN, such as names=www.example.org"))
        }
        (None, None, None) => Ok(Asked::Nothing),
    }
}

/// Bytes of the longest reply that is taken.
fn edns(value: &str) -> Result<u16, Failure> {
    let wrong = || {
        Failure::usage(format!(
            "edns={value}: the longest reply that is taken has 512 to 65535 bytes, such as edns=1232"
        ))
    };
    let digits = value.strip_suffix('B').unwrap_or(value);
    digits.parse().ok().filter(|&bytes| bytes >= 512).ok_or_else(wrong)
}

fn bit(name: &str, value: &str) -> Result<bool, Failure> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(Failure::usage(format!("{name}={value}: there are {name}=0 and {name}=1"))),
    }
}

fn memcached_asked(given: Parameters<'_>) -> Result<Asked, Failure> {
    let (mut key, mut set) = (None, None);
    for (name, value) in given {
        match name {
            "key" => key = Some(value),
            "set" => {
                let bytes = crate::parameters::quantity(name, quantities::bytes(value))?;
                set = Some(usize::try_from(bytes).unwrap_or(usize::MAX));
            }
            _ => return Err(unknown(memcached::PROTOCOL.scheme, name, &OF_MEMCACHED)),
        }
    }
    let keys = key.unwrap_or(KEY);
    let requests = match set {
        None => memcached::Requests::get(keys),
        Some(bytes) => memcached::Requests::set(keys, bytes),
    };
    let service = Service::Memcached(requests.map_err(Failure::usage)?);
    Ok(if key.is_none() && set.is_none() { Asked::Default(service) } else { Asked::Word(service) })
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    fn named(word: &str) -> Named {
        match Target::parse(word).unwrap().kind {
            Kind::Service(named) => named,
            other => panic!("{other:?}"),
        }
    }

    fn refusal(word: &str) -> String {
        let error = Target::parse(word).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{word}");
        error.to_string()
    }

    #[test]
    fn the_doctor_knows_a_request_of_every_protocol_but_its_users_own() {
        let asked: Vec<&str> = first_requests().iter().map(|service| service.protocol().scheme).collect();
        let all: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.scheme).collect();
        assert_eq!(all[all.len() - 1], template::PROTOCOL.scheme);
        assert_eq!(asked, all[..all.len() - 1], "each has its line in first_requests, in their order");
    }

    #[test]
    fn a_service_without_a_port_is_asked_at_its_usual_one() {
        for (word, port) in [
            ("dns://127.0.0.1", 53),
            ("ntp://[::1]", 123),
            ("stun://localhost:5", 5),
            ("memcached://h", 11_211),
        ] {
            assert_eq!(named(word).port, port, "{word}");
        }
        assert_eq!(named("ntp://[::1]").host, "::1");
        assert!(refusal("dns://").contains("dns://127.0.0.1:53"));
    }

    #[test]
    fn a_parameter_that_says_nothing_or_too_much_is_refused_with_what_there_is() {
        assert!(refusal("dns://h?querys=F").contains("did you mean \"queries\"?"));
        assert!(refusal("dns://h?queries=F&names=a").contains("give one of them"));
        assert!(refusal("dns://h?queries=F&type=A").contains("a file has a type a line"));
        assert!(refusal("dns://h?names=a&type=Q").contains("\"Q\" is not a type of DNS"));
        assert!(refusal("dns://h?edns=12").contains("512 to 65535"));
        assert!(refusal("dns://h?rd=yes").contains("rd=0 and rd=1"));
        assert!(refusal("ntp://h?x=1").contains("has no parameter"));
        assert!(refusal("memcached://h?set=100").contains("set in the target"));
        assert!(refusal("memcached://h?set=2000B").contains("1300"));
    }

    #[test]
    fn a_file_of_questions_is_read_when_it_is_needed_and_a_wrong_line_is_told_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("names");
        let named = named(&format!("dns://h?queries={}", path.display()));
        assert!(named.service().unwrap_err().to_string().contains("names"), "it is not there yet");
        std::fs::write(&path, "www.example.org A\nexample.org\n").unwrap();
        assert!(named.service().unwrap_err().to_string().contains("line 2, column 1: the type is missing"));
        std::fs::write(&path, b"www.example.org A\nb\xc3\xa4r\xe4.org A\n").unwrap();
        let latin = named.service().unwrap_err();
        assert!(latin.to_string().contains("line 2, column 4: this is not text in UTF-8"), "{latin}");
        assert_eq!(latin.exit_code(), 2, "as of every other fault of the file");
        std::fs::write(&path, "www.example.org A\nexample.org MX\n").unwrap();
        let service = named.service().unwrap();
        assert_eq!(named.words(&service), "DNS, 2 questions in turns");
        assert_eq!(named.packet().unwrap().payload_bytes(), 12 + 17 + 4);
    }

    #[test]
    fn a_dns_server_that_nobody_says_what_to_ask_is_not_measured_and_the_error_shows_how() {
        let why = named("dns://h").service().unwrap_err();
        assert_eq!(why.exit_code(), 2);
        let advice = why.to_string();
        assert!(advice.contains("dns://h:53?names=www.example.org"), "{advice}");
    }

    #[test]
    fn a_server_is_not_told_to_ask_others_and_may_not_unless_its_word_says_so() {
        let asked = |word| named(word).service().unwrap();
        let mut bytes = Vec::new();
        asked("dns://h?names=a").write(
            dropline_payload::service::Request::of_one_stream(1),
            || 0,
            &mut bytes,
        );
        assert_eq!(bytes[2] & 1, 0, "rd=0");
        assert!(!asked("dns://h?names=a&rd=1").may_ask_others());
        assert!(asked("dns://h?names=a&ask-others=1").may_ask_others());
    }

    #[test]
    fn so_many_streams_that_a_reply_tells_its_request() {
        let of = |word, pps| named(word).streams(Rate::pps(pps).unwrap(), Duration::from_secs(2));
        assert_eq!((of("dns://h", 1e3), of("dns://h", 1e6)), (4, 62));
        assert_eq!((of("ntp://h", 1e6), of("stun://h", 1e6)), (1, 1));
    }
}
