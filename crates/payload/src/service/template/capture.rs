//! Datagrams of UDP in a capture of tcpdump or Wireshark: pcap, and pcapng.

/// A datagram that was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When, in ns since 1970.
    pub time_ns: u64,
    /// The port that it went to.
    pub port: u16,
    /// What it carried.
    pub payload: Vec<u8>,
}

/// What a capture holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Its datagrams of UDP, in its order.
    pub datagrams: Vec<Datagram>,
    /// Packets that are none, or not one alone, in the order of [`Left`].
    left_out: [u64; Left::NAMES.len()],
}

/// Why a packet is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Fragment,
    Damaged,
    Link,
    NoUdp,
}

impl Left {
    const NAMES: [&'static str; 4] = [
        "fragments of datagrams",
        "datagrams whose length is not theirs",
        "of a link type that is not known",
        "that are not UDP",
    ];
}

impl Capture {
    /// In words, how many packets of which kind are left out; empty where none are.
    pub fn left_out(&self) -> String {
        let some = self.left_out.iter().zip(Left::NAMES).filter(|(count, _)| **count > 0);
        some.map(|(count, name)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    }

    fn take(&mut self, found: Result<Datagram, Left>) {
        match found {
            Ok(datagram) => self.datagrams.push(datagram),
            Err(why) => self.left_out[why as usize] += 1,
        }
    }
}

/// Why a capture is not read.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum CaptureError {
    /// It ends within something.
    #[error("the capture is cut off at byte {0}")]
    CutOff(usize),
    /// What is there is nothing of a capture.
    #[error("what is at byte {0} is not of a capture")]
    Damaged(usize),
    /// Not each packet is whole.
    #[error("packet {0} was not captured whole: capture with a snapshot length of 0 (tcpdump -s 0)")]
    NotWhole(u64),
    /// The link.
    #[error(
        "packets of the link type {0} are not known; there are Ethernet, raw IP, loopback and Linux's cooked ones"
    )]
    Link(u32),
}

/// Whether these are the first bytes of a capture.
pub fn begins_one(bytes: &[u8]) -> bool {
    bytes.starts_with(&SECTION) || order_of(bytes).is_some()
}

/// The datagrams of UDP in a capture, in its order, and how many packets are left out, and why.
///
/// # Errors
/// If it is cut off, damaged, of unknown links alone, or a datagram is not whole.
pub fn read(bytes: &[u8]) -> Result<Capture, CaptureError> {
    if bytes.starts_with(&SECTION) { blocks(bytes) } else { records(bytes) }
}

const SECTION: [u8; 4] = 0x0a0d_0d0a_u32.to_be_bytes();
const INTERFACE: u32 = 1;
const SIMPLE: u32 = 3;
const PACKET: u32 = 6;

/// Numbers of a file, in the order of the machine that wrote it.
#[derive(Clone, Copy)]
struct Order {
    is_little: bool,
    /// Of a second of pcap: how many units, in ns.
    unit_ns: u64,
}

impl Order {
    fn u32_at(self, bytes: &[u8], at: usize) -> Result<u32, CaptureError> {
        let four =
            bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(CaptureError::CutOff(bytes.len()))?;
        Ok(if self.is_little { u32::from_le_bytes(*four) } else { u32::from_be_bytes(*four) })
    }

    fn u16_at(self, bytes: &[u8], at: usize) -> Result<u16, CaptureError> {
        let two =
            bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(CaptureError::CutOff(bytes.len()))?;
        Ok(if self.is_little { u16::from_le_bytes(*two) } else { u16::from_be_bytes(*two) })
    }
}

fn order_of(bytes: &[u8]) -> Option<Order> {
    let magic = u32::from_be_bytes(*bytes.first_chunk()?);
    let order = |is_little, unit_ns| Some(Order { is_little, unit_ns });
    match magic {
        0xa1b2_c3d4 => order(false, 1000),
        0xd4c3_b2a1 => order(true, 1000),
        0xa1b2_3c4d => order(false, 1),
        0x4d3c_b2a1 => order(true, 1),
        _ => None,
    }
}

/// The bytes from there on, as many as are announced.
fn part(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], CaptureError> {
    let end = at.checked_add(length).ok_or(CaptureError::Damaged(at))?;
    bytes.get(at..end).ok_or(CaptureError::CutOff(bytes.len()))
}

fn records(bytes: &[u8]) -> Result<Capture, CaptureError> {
    let order = order_of(bytes).ok_or(CaptureError::Damaged(0))?;
    let link = order.u32_at(bytes, 20)? & 0xffff;
    if !is_known(link) {
        return Err(CaptureError::Link(link));
    }
    let (mut at, mut found) = (24, Capture::default());
    for number in 1.. {
        if at == bytes.len() {
            break;
        }
        let seconds = u64::from(order.u32_at(bytes, at)?);
        let units = u64::from(order.u32_at(bytes, at + 4)?);
        let (kept, long) = (order.u32_at(bytes, at + 8)?, order.u32_at(bytes, at + 12)?);
        let frame = part(bytes, at + 16, kept as usize)?;
        let time_ns = seconds * 1_000_000_000 + units * order.unit_ns;
        found.take(datagram(frame, link, kept < long, time_ns, number)?);
        at += 16 + kept as usize;
    }
    Ok(found)
}

/// An interface of a pcapng.
struct Interface {
    link: u32,
    /// Of a second, how many units.
    units: u64,
}

fn blocks(bytes: &[u8]) -> Result<Capture, CaptureError> {
    let (mut at, mut found, mut number) = (0, Capture::default(), 0);
    let mut order = Order { is_little: true, unit_ns: 1 };
    let mut interfaces: Vec<Interface> = Vec::new();
    while at < bytes.len() {
        if bytes[at..].starts_with(&SECTION) {
            // The order is that of a number that reads the same in no other.
            order.is_little = match part(bytes, at + 8, 4)? {
                [0x4d, 0x3c, 0x2b, 0x1a] => true,
                [0x1a, 0x2b, 0x3c, 0x4d] => false,
                _ => return Err(CaptureError::Damaged(at + 8)),
            };
            interfaces.clear();
        }
        let kind = order.u32_at(bytes, at)?;
        let length = order.u32_at(bytes, at + 4)? as usize;
        if length < 12 || !length.is_multiple_of(4) {
            return Err(CaptureError::Damaged(at + 4));
        }
        let body = &part(bytes, at, length)?[8..length - 4];
        let short = |_| CaptureError::Damaged(at);
        match kind {
            INTERFACE => {
                let link = order.u16_at(body, 0).map_err(short)?.into();
                interfaces.push(Interface { link, units: units(order, body) });
            }
            PACKET => {
                number += 1;
                let interface = order.u32_at(body, 0).map_err(short)? as usize;
                let interface = interfaces.get(interface).ok_or(CaptureError::Damaged(at + 8))?;
                let high = u64::from(order.u32_at(body, 4).map_err(short)?);
                let time = high << 32 | u64::from(order.u32_at(body, 8).map_err(short)?);
                let (kept, long) =
                    (order.u32_at(body, 12).map_err(short)?, order.u32_at(body, 16).map_err(short)?);
                let frame = part(body, 20, kept as usize).map_err(short)?;
                let ns = u128::from(time) * 1_000_000_000 / u128::from(interface.units);
                let time_ns = u64::try_from(ns).unwrap_or(u64::MAX);
                found.take(datagram(frame, interface.link, kept < long, time_ns, number)?);
            }
            SIMPLE => {
                number += 1;
                let interface = interfaces.first().ok_or(CaptureError::Damaged(at))?;
                let long = order.u32_at(body, 0).map_err(short)? as usize;
                let kept = long.min(body.len().saturating_sub(4));
                let frame = part(body, 4, kept).map_err(short)?;
                found.take(datagram(frame, interface.link, kept < long, 0, number)?);
            }
            _ => {}
        }
        at += length;
    }
    // One of several links may be another's; of a single one nothing is left.
    let unknown = interfaces.iter().find(|interface| !is_known(interface.link));
    match unknown.filter(|_| found.datagrams.is_empty()) {
        Some(interface) => Err(CaptureError::Link(interface.link)),
        None => Ok(found),
    }
}

/// Of a second, the units in which an interface counts time: a millionth unless an option says otherwise.
fn units(order: Order, body: &[u8]) -> u64 {
    const RESOLUTION: u16 = 9;
    let mut at = 8;
    while let (Ok(code), Ok(length)) = (order.u16_at(body, at), order.u16_at(body, at + 2)) {
        match (code, body.get(at + 4)) {
            (RESOLUTION, Some(&power)) if power & 0x80 == 0 => {
                return 10u64.checked_pow(power.into()).unwrap_or(u64::MAX);
            }
            (RESOLUTION, Some(&power)) => return 1u64.checked_shl((power & 0x7f).into()).unwrap_or(u64::MAX),
            _ => at += 4 + usize::from(length).next_multiple_of(4),
        }
    }
    1_000_000
}

/// The tags that stand before the type of a frame: of VLANs, of providers', and as some wrote these before.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

fn is_known(link: u32) -> bool {
    matches!(link, 0 | 1 | 101 | 113 | 228 | 229 | 276)
}

/// The datagram of UDP in a frame, or why there is none.
fn datagram(
    frame: &[u8],
    link: u32,
    is_cut: bool,
    time_ns: u64,
    number: u64,
) -> Result<Result<Datagram, Left>, CaptureError> {
    let packet = match link {
        0 => frame.get(4..),
        1 => {
            let is_tag = |tag: &usize| be16(frame, 12 + 4 * tag).is_some_and(|kind| TAGS.contains(&kind));
            frame.get(14 + 4 * (0..).take_while(is_tag).count()..)
        }
        101 | 228 | 229 => Some(frame),
        113 => frame.get(16..),
        276 => frame.get(20..),
        _ => return Ok(Err(Left::Link)),
    };
    let udp = match packet.map_or(Err(Left::NoUdp), udp) {
        Ok(udp) => udp,
        // Too little is there to say what it was.
        Err(_) if is_cut && packet.is_none_or(|packet| packet.len() < LONGEST_HEADER) => {
            return Err(CaptureError::NotWhole(number));
        }
        Err(why) => return Ok(Err(why)),
    };
    let payload = be16(udp, 4).and_then(|length| udp.get(8..usize::from(length)));
    match be16(udp, 2).zip(payload) {
        Some((port, payload)) => Ok(Ok(Datagram { time_ns, port, payload: payload.to_vec() })),
        None if is_cut => Err(CaptureError::NotWhole(number)),
        None => Ok(Err(Left::Damaged)),
    }
}

/// Of IPv4 without options, which says whose packet it is.
const LONGEST_HEADER: usize = 20;

/// What stands behind the IP header of a packet of UDP that is not a fragment.
fn udp(packet: &[u8]) -> Result<&[u8], Left> {
    const UDP: u8 = 17;
    const FRAGMENT: u8 = 44;
    let behind = |at: usize| packet.get(at..).ok_or(Left::Damaged);
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.get(9) == Some(&UDP) => match be16(packet, 6).unwrap_or(0) & 0x3fff {
            0 => behind((usize::from(packet[0] & 15) * 4).max(LONGEST_HEADER)),
            _ => Err(Left::Fragment),
        },
        Some(6) if packet.get(6) == Some(&UDP) => behind(40),
        Some(6) if packet.get(6) == Some(&FRAGMENT) && packet.get(40) == Some(&UDP) => Err(Left::Fragment),
        _ => Err(Left::NoUdp),
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    crate::service::u16_at(bytes, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A frame of Ethernet with a datagram over IPv4.
    fn frame(port: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00]);
        let length = |more: usize| ((payload.len() + more) as u16).to_be_bytes();
        frame.extend([
            0x45,
            0,
            length(28)[0],
            length(28)[1],
            0,
            0,
            0,
            0,
            64,
            17,
            0,
            0,
            127,
            0,
            0,
            1,
            127,
            0,
            0,
            1,
        ]);
        frame.extend([0x99, 0x99]);
        frame.extend(port.to_be_bytes());
        frame.extend(length(8));
        frame.extend([0, 0]);
        frame.extend(payload);
        frame
    }

    fn pcap(frames: &[(u32, Vec<u8>)], kept: Option<usize>) -> Vec<u8> {
        let mut bytes = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
        for (time, frame) in frames {
            let part = &frame[..kept.unwrap_or(frame.len())];
            let head = [1, *time, part.len() as u32, frame.len() as u32];
            bytes.extend(head.map(u32::to_le_bytes).concat());
            bytes.extend(part);
        }
        bytes
    }

    fn pcapng(frames: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let block = |kind: u32, body: &[u8]| {
            let padded = body.len().next_multiple_of(4);
            let length = (padded as u32 + 12).to_be_bytes();
            let mut bytes = [&kind.to_be_bytes(), &length[..], body].concat();
            bytes.resize(8 + padded, 0);
            bytes.extend(length);
            bytes
        };
        let mut bytes = block(
            0x0a0d_0d0a,
            &[0x1a2b_3c4d_u32, 0x0001_0000, u32::MAX, u32::MAX].map(u32::to_be_bytes).concat(),
        );
        // Nanoseconds by an option.
        bytes.extend(block(1, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 9, 0, 0, 0]));
        bytes.extend(block(5, b"statistics, which are skipped"));
        for (time, frame) in frames {
            let length = frame.len() as u32;
            let mut body = [0, 0, *time, length, length].map(u32::to_be_bytes).concat();
            body.extend(frame);
            bytes.extend(block(6, &body));
        }
        bytes
    }

    #[test]
    fn datagrams_are_found_in_both_formats_with_their_times_and_what_is_not_udp_is_left_out() {
        let mut tcp = frame(80, b"not a datagram");
        tcp[23] = 6;
        let mut fragment = frame(53, b"the first half of one");
        fragment[20] = 0x20;
        let frames = [(5, frame(53, b"one")), (6, tcp), (7, fragment), (9, frame(54, b""))];
        let of = |time_ns, port, payload: &[u8]| Datagram { time_ns, port, payload: payload.to_vec() };
        let found = read(&pcap(&frames, None)).unwrap();
        assert_eq!(found.left_out(), "1 fragments of datagrams, 1 that are not UDP");
        assert_eq!(found.datagrams, [of(1_000_005_000, 53, b"one"), of(1_000_009_000, 54, b"")]);
        let found = read(&pcapng(&frames)).unwrap();
        assert_eq!(found.datagrams, [of(5, 53, b"one"), of(9, 54, b"")]);
        assert!(begins_one(&pcap(&[], None)) && begins_one(&pcapng(&[])) && !begins_one(b"GET key\r\n"));
    }

    #[test]
    fn tags_of_vlans_and_other_links_are_passed_over() {
        let ethernet = frame(53, b"one");
        let mut tagged = ethernet[..12].to_vec();
        tagged.extend([0x91, 0x00, 0, 9, 0x81, 0x00, 0, 7]);
        tagged.extend(&ethernet[12..]);
        let raw = ethernet[14..].to_vec();
        let with = |bytes: usize| [&vec![0; bytes][..], &raw].concat();
        for (link, frame) in [(1, tagged), (101, raw.clone()), (0, with(4)), (113, with(16)), (276, with(20))]
        {
            let found = datagram(&frame, link, false, 0, 1).unwrap().unwrap();
            assert_eq!(found.payload, b"one", "link {link}");
        }
        let mut other = pcap(&[(5, ethernet)], None);
        other[20] = 147;
        assert_eq!(read(&other), Err(CaptureError::Link(147)));
        assert_eq!(datagram(&raw, 147, false, 0, 1), Ok(Err(Left::Link)), "of one of several interfaces");
    }

    #[test]
    fn a_capture_that_was_cut_is_told_and_not_sent_in_part() {
        let frames = [(5, frame(53, b"one and more of it"))];
        assert_eq!(read(&pcap(&frames, Some(50))), Err(CaptureError::NotWhole(1)));
        let whole = pcap(&frames, None);
        for length in 25..whole.len() {
            assert_eq!(read(&whole[..length]), Err(CaptureError::CutOff(length)), "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            start in 0usize..4, cut in 0usize..200, bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let frames = [(5, frame(53, b"one"))];
            let mut all = [Vec::new(), pcap(&frames, None), pcapng(&frames), SECTION.to_vec()][start].clone();
            all.truncate(cut);
            all.extend(&bytes);
            let _ = read(&all);
        }
    }
}
