//! `udp://HOST:PORT?payload=…&reply=…`: a service that is asked what its user says.

use crate::Target;
use crate::parameters::Parameters;
use dropline_archive::reading;
use dropline_failure::Failure;
use dropline_payload::service::template::{Template, TemplateError, capture};
use dropline_trial::number_of;
use std::path::{Path, PathBuf};

/// What is sent, and how replies are read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OwnProtocol {
    /// As the word says.
    Word(Box<Template>),
    /// What a file holds: payloads of a capture in turns, or bytes. It is read when it is needed.
    File { path: PathBuf, reply: String },
}

/// How replies are read where nobody says it.
const COUNTED: &str = "any";

impl OwnProtocol {
    /// What the parameters of `udp://` say; `None` where they name no payload.
    pub(super) fn of(given: &Parameters<'_>) -> Result<Option<Self>, Failure> {
        let value = |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let Some(payload) = value("payload") else { return Ok(None) };
        let (payload, reply) = (unescaped(payload)?, unescaped(value("reply").unwrap_or(COUNTED))?);
        if is_words(&payload) {
            let template = Template::read(&payload, &reply).map_err(|why| failure(&why))?;
            return Ok(Some(Self::Word(Box::new(template))));
        }
        if payload.is_empty() {
            return Err(Failure::usage("payload= says nothing").advice(KINDS));
        }
        // What is wrong with the reply is said before the file is looked for.
        Template::listed(vec![vec![0]], &reply).map_err(|why| failure(&why))?;
        Ok(Some(Self::File { path: payload.into(), reply }))
    }

    /// What is sent to that port; a capture may hold what went to others.
    pub(super) fn template(&self, port: u16) -> Result<Template, Failure> {
        let (path, reply) = match self {
            Self::Word(template) => return Ok((**template).clone()),
            Self::File { path, reply } => (path, reply),
        };
        let bytes = reading::file_bytes(path, reading::MOST_BYTES).map_err(|why| why.of(path))?;
        let wrong = |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", path.display()));
        let mut left_out = String::new();
        let payloads = if capture::begins_one(&bytes) {
            let capture = capture::read(&bytes).map_err(|why| wrong(&why))?;
            let not_sent = capture.left_out();
            let in_all = capture.datagrams.len();
            let datagrams = sent_of(capture.datagrams, Some(port));
            if datagrams.is_empty() {
                let besides =
                    if not_sent.is_empty() { String::new() } else { format!("; it has packets: {not_sent}") };
                return Err(wrong(&format!("the capture has no datagram of UDP with a payload{besides}")));
            }
            let elsewhere = match in_all - datagrams.len() {
                0 => String::new(),
                others => format!("{} to another port or without a payload", number_of(others, "datagram")),
            };
            left_out = [not_sent, elsewhere]
                .into_iter()
                .filter(|some| !some.is_empty())
                .collect::<Vec<_>>()
                .join(", ");
            datagrams.into_iter().map(|datagram| datagram.payload).collect()
        } else {
            vec![bytes]
        };
        Ok(Template::listed(payloads, reply).map_err(|why| wrong(&why))?.leaving_out(left_out))
    }

    /// Whether anything is to come back.
    pub(super) fn is_answered(&self) -> bool {
        match self {
            Self::Word(template) => template.is_answered(),
            Self::File { reply, .. } => {
                Template::listed(vec![vec![0]], reply).is_ok_and(|template| template.is_answered())
            }
        }
    }

    /// The file that says what is sent.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::Word(_) => None,
            Self::File { path, .. } => Some(path),
        }
    }
}

const KINDS: &str = "a payload is hex:c0de{tag:4}, text:PING {tag:8x}\\r\\n, or the name of a file: a capture (pcap or pcapng), whose \
                     payloads have their turns, or bytes";

/// Whether a payload is said in words, and is not the name of a file.
pub fn is_words(payload: &str) -> bool {
    payload.starts_with("hex:") || payload.starts_with("text:")
}

/// When the datagrams of a capture came that are sent to this port, in ns. `None` if it is not a capture.
///
/// # Errors
/// If it cannot be read.
pub fn captured_times(bytes: &[u8], port: Option<u16>) -> Option<Result<Vec<u64>, String>> {
    capture::begins_one(bytes).then(|| {
        let datagrams = capture::read(bytes).map_err(|why| why.to_string())?.datagrams;
        Ok(sent_of(datagrams, port).iter().map(|datagram| datagram.time_ns).collect())
    })
}

/// What of a capture is sent, payloads and times alike: what went to this port, or, where nothing did, what went where its first
/// datagram did, in the order in which it came.
fn sent_of(mut datagrams: Vec<capture::Datagram>, port: Option<u16>) -> Vec<capture::Datagram> {
    datagrams.retain(|datagram| !datagram.payload.is_empty());
    // Of a capture from elsewhere, what its first sender asked: a client speaks first.
    let here = port.filter(|&port| datagrams.iter().any(|datagram| datagram.port == port));
    let to = here.or_else(|| datagrams.first().map(|first| first.port));
    datagrams.retain(|datagram| Some(datagram.port) == to);
    datagrams.sort_by_key(|datagram| datagram.time_ns);
    datagrams
}

/// Whether a payload in words can be read; why not, in words.
///
/// # Errors
/// If it cannot.
pub fn check_payload(payload: &str) -> Result<(), String> {
    match Template::check_part(payload) {
        Ok(()) => Ok(()),
        Err(TemplateError::Payload { why, .. }) => Err(why),
        Err(why) => Err(why.to_string()),
    }
}

/// A target's word, with what `--payload` and `--reply` say.
///
/// # Errors
/// If the target is another one than `udp://`, or says it itself.
pub fn with_payload(word: &str, payload: Option<&str>, reply: Option<&str>) -> Result<String, Failure> {
    let mut word = word.to_owned();
    for (name, value) in [("payload", payload), ("reply", reply)] {
        let Some(value) = value else { continue };
        if !word.starts_with("udp://") {
            return Err(Failure::usage(format!(
                "--{name} is for udp:// targets: {word} {}",
                Target::parse(&word)?.is_sent()
            )));
        }
        if word.contains(&format!("?{name}=")) || word.contains(&format!("&{name}=")) {
            return Err(Failure::usage(format!("--{name}: the target gives {name} too; give it once")));
        }
        let escaped = value.replace('%', "%25").replace('&', "%26");
        word.push(if word.contains('?') { '&' } else { '?' });
        word.push_str(&format!("{name}={escaped}"));
    }
    Ok(word)
}

/// What `%25` and `%26` stand for: an ampersand ends a parameter.
fn unescaped(value: &str) -> Result<String, Failure> {
    let mut parts = value.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (sign, rest) = match (part.strip_prefix("25"), part.strip_prefix("26")) {
            (Some(rest), _) => ('%', rest),
            (None, Some(rest)) => ('&', rest),
            (None, None) => {
                let why = format!("{value:?}: in a target, % is written as %25, and & as %26");
                return Err(Failure::usage(why));
            }
        };
        text.push(sign);
        text.push_str(rest);
    }
    Ok(text)
}

fn failure(why: &TemplateError) -> Failure {
    let failure = Failure::usage(why);
    if matches!(why, TemplateError::Payload { .. }) { failure.advice(KINDS) } else { failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(word: &str) -> Result<Option<OwnProtocol>, Failure> {
        OwnProtocol::of(&crate::parameters::query(word).unwrap())
    }

    #[test]
    fn a_payload_of_the_command_line_is_a_parameter_of_the_target_and_reads_back_as_it_was() {
        let payload = "text:a=1&b=100%{tag:4}";
        let word = with_payload("udp://h:1", Some(payload), Some("tag@11")).unwrap();
        assert_eq!(word, "udp://h:1?payload=text:a=1%26b=100%25{tag:4}&reply=tag@11");
        let read = own(word.split_once('?').unwrap().1).unwrap();
        let as_typed = OwnProtocol::Word(Box::new(Template::read(payload, "tag@11").unwrap()));
        assert_eq!(read, Some(as_typed));
        assert_eq!(with_payload("udp://h:1", None, Some("none")).unwrap(), "udp://h:1?reply=none");
        for (word, payload, said) in [
            ("dns://h", Some("hex:00"), "is for udp:// targets"),
            ("udp://h:1?payload=hex:00", Some("hex:00"), "give it once"),
        ] {
            assert!(with_payload(word, payload, None).unwrap_err().to_string().contains(said), "{word}");
        }
        assert!(own("payload=text:50%").unwrap_err().to_string().contains("%25"));
        assert!(own("payload=hex:0").unwrap_err().to_string().contains("line 1, column 5"));
        let why = crate::Target::parse("udp://h:1?payload=F&replay=any").unwrap_err().to_string();
        assert!(why.contains("did you mean \"reply\"?"), "{why}");
    }

    #[test]
    fn a_file_is_sent_as_it_is_and_of_a_capture_what_went_to_the_port_of_the_target() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("request.bin");
        let named = own(&format!("payload={}", path.display())).unwrap().unwrap();
        assert!(named.template(1).unwrap_err().to_string().contains("request.bin"), "it is not there yet");
        std::fs::write(&path, b"GET / \x00").unwrap();
        assert_eq!(named.template(1).unwrap().to_string().split(';').next(), Some("requests of 7 B"));
        let datagram = |port: u16, payload: &[u8]| {
            let length = |more: usize| ((payload.len() + more) as u16).to_be_bytes();
            let mut packet = vec![0x45, 0, length(28)[0], length(28)[1], 0, 0, 0, 0, 64, 17, 0, 0];
            packet.extend([127, 0, 0, 1, 127, 0, 0, 1, 0x99, 0x99]);
            packet.extend([port.to_be_bytes(), length(8), [0; 2]].concat());
            packet.extend(payload);
            packet
        };
        let mut bytes = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
        for packet in [datagram(7, b"one"), datagram(7, b"three"), datagram(9, b"other")] {
            let length = packet.len() as u32;
            bytes.extend([1, 0, length, length].map(u32::to_le_bytes).concat());
            bytes.extend(packet);
        }
        std::fs::write(&path, &bytes).unwrap();
        let sent = |port| named.template(port).unwrap().to_string().split(';').next().unwrap().to_owned();
        assert_eq!(
            (sent(7), sent(9)),
            ("2 payloads in turns, of up to 5 B".into(), "requests of 5 B".into())
        );
        assert_eq!(sent(1), "2 payloads in turns, of up to 5 B", "to the port that was asked first");
        let times = |port| captured_times(&bytes, port).unwrap().unwrap();
        assert_eq!((times(Some(7)).len(), times(Some(9)).len()), (2, 1), "as many times as payloads");
        assert_eq!((times(Some(1)).len(), times(None).len()), (2, 2));
        std::fs::write(&path, &bytes[..30]).unwrap();
        assert!(named.template(7).unwrap_err().to_string().contains("cut off at byte 30"));
    }
}
