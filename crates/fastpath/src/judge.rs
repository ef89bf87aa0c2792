//! The judge at the interface where frames come out: put there once, and given another program where trials need larger maps.

use crate::error::LinkError;
use crate::instructions;
use crate::link_end::Opened;
use crate::maps::Maps;
use crate::sys::{Attached, Mode, Program};

const CAPABILITIES: &str = "CAP_BPF and CAP_NET_ADMIN";

/// It stands there until it is dropped, or the process ends.
#[derive(Debug)]
pub(crate) struct Judge {
    attached: Attached,
    mode: Mode,
}

impl Judge {
    /// Puts it at an interface, with its maps: in the driver, or behind it where the driver does not take it.
    pub(crate) fn at(port: &Opened, maps: &Maps) -> Result<Self, LinkError> {
        let program =
            instructions::judge(maps).map_err(LinkError::of("loading a BPF program", CAPABILITIES))?;
        let (attached, mode) = attached(&program, port, Mode::Native)?;
        Ok(Self { attached, mode })
    }

    /// Lets it judge by other maps from now on.
    pub(crate) fn turn_to(&self, maps: &Maps) -> Result<(), LinkError> {
        let program =
            instructions::judge(maps).map_err(LinkError::of("loading a BPF program", CAPABILITIES))?;
        let system = LinkError::of("replacing a BPF program at an interface", CAPABILITIES);
        self.attached.replace(&program).map_err(system)
    }

    /// In words, where it stands.
    pub(crate) fn words(&self) -> &'static str {
        match self.mode {
            Mode::Native => "judged by XDP in the driver",
            Mode::Generic => "judged by XDP behind the driver, which does not take a program itself",
        }
    }
}

/// Puts a program at an interface: where that is asked for in the driver, or behind it where the driver does not take it.
pub(crate) fn attached(program: &Program, port: &Opened, first: Mode) -> Result<(Attached, Mode), LinkError> {
    let index = port.seen.index;
    let attach = || match Attached::at(program, index, first) {
        Ok(attached) => Ok((attached, first)),
        Err(why) if matches!(why.raw_os_error(), Some(libc::EBUSY | libc::EEXIST | libc::EPERM)) => Err(why),
        Err(_) => Attached::at(program, index, Mode::Generic).map(|attached| (attached, Mode::Generic)),
    };
    port.space.inside(attach)?.map_err(|why| match why.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => LinkError::Unfit {
            port: port.port.to_string(),
            what: "has a BPF program already: two cannot stand there; ip link show says which",
        },
        _ => LinkError::of("putting a BPF program at an interface", CAPABILITIES)(why),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;
    use crate::frame::{Aim, DESTINATION, Frame, SOURCE};
    use crate::link_end::LinkEnd;
    use crate::sys::FrameSocket;
    use dropline_lab::{Pair, built_or_skipped};
    use dropline_payload::Tag;
    use dropline_trial::Packet;
    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    const FRAMES: usize = 1000;
    const TAG: Tag = Tag(0x0a0b_0c0d);

    /// The judge of a trial at one end of a pair, and a socket at the other. A namespace of its own is named by the lab, and its
    /// interfaces have addresses: nobody else uses them.
    fn bench(lab: &Pair, aim: &Aim, payload: u32) -> (Opened, FrameSocket, Maps, Frame, Judge) {
        let port =
            |namespace: &str, interface: &str| LinkEnd::parse(&format!("{namespace}/{interface}")).unwrap();
        let from = port(lab.client.name(), Pair::NEAR).open().unwrap();
        let to = port(lab.target.name(), Pair::FAR).open().unwrap();
        let maps = Maps::new(FRAMES as u32, aim.source.is_ipv6()).unwrap();
        let frame = Frame::new(from.hardware, to.hardware, aim, Packet::of_payload(payload).unwrap(), TAG);
        maps.begin(&frame, to.hardware, (TAG, 5), &[0; FRAMES]);
        let judge = Judge::at(&to, &maps).unwrap();
        let socket = from.space.inside(|| FrameSocket::open(from.seen.index)).unwrap().unwrap();
        (to, socket, maps, frame, judge)
    }

    /// Sends all, a few at a time, so that no ring is full; waits until the judge has counted as many of ours.
    fn send(socket: &FrameSocket, maps: &Maps, frames: &[Vec<u8>], counted: u64) -> [u64; 6] {
        for some in frames.chunks(16) {
            assert_eq!(socket.send(some).taken, some.len());
            std::thread::sleep(Duration::from_millis(1));
        }
        let counts = || {
            [Field::Unique, Field::Duplicated, Field::Late, Field::Truncated, Field::Extended, Field::Changed]
                .map(|field| maps.get(field))
        };
        let until = Instant::now() + Duration::from_secs(20);
        while counts().iter().sum::<u64>() < counted && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        counts()
    }

    #[test]
    fn the_judge_counts_each_frame_once_and_by_its_kind() {
        let Some(lab) = built_or_skipped(Pair::new()) else { return };
        let (to, socket, maps, frame, _judge) = bench(&lab, &Aim::default(), 99);
        let whole = |index: usize| frame.with(index as u64, Frame::word(TAG, index as u64));
        let mut frames: Vec<Vec<u8>> = (0..FRAMES).filter(|index| index % 10 != 0).map(whole).collect();
        frames.extend((0..70).map(|index| whole(index * 10 + 1)));
        // A bit of each byte, but for those of the tag, and of the sender's hardware address, which a router writes.
        let length = frame.bytes().len();
        let places: Vec<usize> =
            (0..length).filter(|place| !(46..50).contains(place) && !(6..12).contains(place)).collect();
        frames.extend(places.iter().map(|&place| {
            let mut changed = whole(0);
            changed[place] ^= 1 << (place % 8);
            changed
        }));
        let of = |packet: u32, tag: Tag| {
            Frame::new([2; 6], to.hardware, &Aim::default(), Packet::of_payload(packet).unwrap(), tag)
                .with(0, Frame::word(tag, 0))
        };
        frames.extend((0..3).map(|_| of(98, TAG)));
        frames.extend((0..4).map(|_| of(100, TAG)));
        // Frames that came before, with bytes behind their packets: a station takes them.
        frames.extend(
            [(11, 1, 0), (21, 46, 0), (31, 4, 0xa5)]
                .map(|(index, more, byte)| [whole(index), vec![byte; more]].concat()),
        );
        // Without a checksum of UDP, a frame that came before: a station takes it.
        let mut unchecked = whole(1);
        unchecked[40..42].fill(0);
        frames.push(unchecked);
        for left in [length - 1, 50] {
            let mut cut = whole(0);
            cut.truncate(left);
            frames.push(cut);
        }
        // With a tag of a VLAN, and on to another port with a right checksum, as what translates addresses writes it.
        let tagged = [&whole(0)[..12], &[0x81, 0, 0, 5], &whole(0)[12..]].concat();
        let mut translated = whole(0);
        translated[37] += 1;
        let sum = u16::from_be_bytes([translated[40], translated[41]]).wrapping_sub(1);
        translated[40..42].copy_from_slice(&sum.to_be_bytes());
        frames.extend([tagged, translated]);
        // Of the five trials before; of one before those and of an earlier process, long or short, which come late too; and of another
        // program from another address, which is nobody's here.
        frames.extend((1..=7).map(|age| of(99, Tag(TAG.0 - age))));
        frames.extend([99, 64, 200].map(|packet| of(packet, Tag(TAG.0 + 1000))));
        let others = Aim { source: Ipv4Addr::new(10, 9, 0, 1).into(), ..Aim::default() };
        let packet = Packet::of_payload(99).unwrap();
        let other = Tag(TAG.0 + 2000);
        frames.push(Frame::new([2; 6], to.hardware, &others, packet, other).with(0, Frame::word(other, 0)));
        // And of one after it: the first frames of a trial have a tag before all others, and those of the last trial may still come.
        frames.push(of(99, Tag(TAG.0 + 1)));
        let counts = send(&socket, &maps, &frames, 900 + 74 + 11 + 5 + 4 + places.len() as u64 + 2);
        assert_eq!(counts, [900, 74, 11, 5, 4, places.len() as u64 + 2]);
        assert_eq!(maps.get(Field::Padded), 3);
        for index in 0..FRAMES {
            assert_eq!(maps.arrived(index).is_some(), index % 10 != 0, "{index}");
        }
    }

    #[test]
    fn frames_of_all_flows_of_a_vlan_are_counted_with_their_tag_or_without() {
        let Some(lab) = built_or_skipped(Pair::new()) else { return };
        let aim = Aim { vlan: Some(5), flows: 7, ..Aim::default() };
        let (_to, socket, maps, frame, _judge) = bench(&lab, &aim, 99);
        let whole = |index: usize| frame.with(index as u64, Frame::word(TAG, index as u64));
        let mut frames: Vec<Vec<u8>> = (0..300).map(whole).collect();
        frames.extend((300..400).map(whole).map(|tagged| [&tagged[..12], &tagged[16..]].concat()));
        let mut other_vlan = whole(500);
        other_vlan[15] = 6;
        // Of the flow beside, with all checksums right: what translates addresses does so.
        let other_flow = frame.with(502, Frame::word(TAG, 501));
        frames.extend([other_vlan, other_flow]);
        assert_eq!(send(&socket, &maps, &frames, 402), [400, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn frames_of_ipv6_are_judged_as_those_of_ipv4() {
        let Some(lab) = built_or_skipped(Pair::new()) else { return };
        for vlan in [None, Some(5)] {
            let aim = Aim { flows: 7, vlan, ..Aim::of_ipv6() };
            let (_to, socket, maps, frame, _judge) = bench(&lab, &aim, 99);
            let whole = |index: usize| frame.with(index as u64, Frame::word(TAG, index as u64));
            let mut frames: Vec<Vec<u8>> = (1..300).map(whole).collect();
            frames.push([whole(1), vec![0xa5; 9]].concat());
            // A bit of each byte, but for those of the tag, of the sender's hardware address, and of what routers write: the class
            // of traffic, the label of the flow, and the hops that are left.
            let moved = frame.bytes().len() - 161;
            let free = |place: usize| {
                (6..12).contains(&place)
                    || place >= 12 + moved && [15, 16, 17, 21].contains(&(place - moved))
                    || place >= 12 + moved && (66..70).contains(&(place - moved))
                    || place == 14 && vlan.is_some()
            };
            let places: Vec<usize> = (0..frame.bytes().len()).filter(|&place| !free(place)).collect();
            frames.extend(places.iter().map(|&place| {
                let mut changed = whole(0);
                // Of the first byte of the header the version, of a tag its number.
                changed[place] ^= if place == 14 + moved { 0x10 } else { 1 << (place % 8) };
                changed
            }));
            // A checksum of 0 is none, which a station of IPv6 does not take.
            let mut unchecked = whole(0);
            unchecked[60 + moved..62 + moved].fill(0);
            frames.push(unchecked);
            let mut cut = whole(0);
            cut.truncate(frame.bytes().len() - 1);
            frames.push(cut);
            let all = frames.len() as u64;
            let counts = send(&socket, &maps, &frames, all);
            assert_eq!(counts[..3], [299, 1, 0], "{counts:?} of {all}");
            // One was cut, and of two the length was changed, which IPv6 has no checksum of.
            assert_eq!(counts[3] + counts[4], 3, "{counts:?} of {all}");
            // Of another type of frame, or a tag, nothing says that it was ours.
            assert!(all - counts.iter().sum::<u64>() <= 4, "{counts:?} of {all}");
            assert_eq!(maps.get(Field::Padded), 1);
        }
    }

    #[test]
    fn the_shortest_frame_may_be_filled_up_and_the_next_trial_has_the_same_maps() {
        let Some(lab) = built_or_skipped(Pair::new()) else { return };
        let (to, socket, maps, frame, _judge) = bench(&lab, &Aim::default(), 16);
        let whole = |index: u64| frame.with(index, Frame::word(TAG, index));
        // Whatever fills it up, as what was in memory does.
        let filled = |index: u64, more: usize, byte: u8| [whole(index), vec![byte; more]].concat();
        let frames = [filled(1, 0, 0), filled(2, 2, 0), filled(3, 2, 0xee), filled(5, 3, 0)];
        assert_eq!(send(&socket, &maps, &frames, 4), [4, 0, 0, 0, 0, 0]);
        assert_eq!(maps.get(Field::Padded), 1);
        let next = Tag(TAG.0 + 1);
        let packet = Packet::of_payload(16).unwrap();
        let after = Frame::new([2; 6], to.hardware, &Aim::default(), packet, next);
        maps.begin(&after, to.hardware, (next, 6), &[0; 10]);
        assert_eq!(maps.arrived(1), None);
        let frames =
            [whole(4), after.with(1, Frame::word(next, 1)), whole(1), after.with(1, Frame::word(next, 1))];
        assert_eq!(send(&socket, &maps, &frames, 4), [1, 1, 2, 0, 0, 0]);
    }

    #[test]
    fn what_is_not_the_trials_goes_on_as_if_there_were_no_judge() {
        let Some(lab) = built_or_skipped(Pair::new()) else { return };
        let (_to, _socket, maps, _frame, judge) = bench(&lab, &Aim::default(), 99);
        let (address, from) = ((lab.target_address, 7), (lab.client_address, 0));
        let listening = lab.target.run(|| std::net::UdpSocket::bind(address)).unwrap().unwrap();
        listening.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let sending = lab.client.run(|| std::net::UdpSocket::bind(from)).unwrap().unwrap();
        sending.send_to(b"not a frame of ours, though one of UDP", address).unwrap();
        assert_eq!(listening.recv(&mut [0; 64]).unwrap(), 38);
        // Another program's, though from the same address and port to the same.
        let [source, destination] = [SOURCE, DESTINATION].map(|address| format!("{address}/15"));
        lab.client.ip(&["addr", "add", &source, "dev", Pair::NEAR]).unwrap();
        lab.target.ip(&["addr", "add", &destination, "dev", Pair::FAR]).unwrap();
        let listening = lab.target.run(|| std::net::UdpSocket::bind((DESTINATION, 9))).unwrap().unwrap();
        listening.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let sending = lab.client.run(|| std::net::UdpSocket::bind((SOURCE, 49_152))).unwrap().unwrap();
        for length in [3, 20, 99] {
            sending.send_to(&vec![7; length], (DESTINATION, 9)).unwrap();
            assert_eq!(listening.recv(&mut [0; 128]).unwrap(), length);
        }
        let counted = [Field::Truncated, Field::Extended, Field::Changed].map(|field| maps.get(field));
        assert_eq!(counted, [0; 3]);
        assert_eq!(maps.get(Field::Unique), 0);
        // It is gone with its file.
        let here = || lab.target.ip(&["link", "show", "dev", Pair::FAR]).unwrap();
        assert!(here().contains("xdp"), "{}", here());
        drop(judge);
        let until = Instant::now() + Duration::from_secs(20);
        while here().contains("xdp") && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!here().contains("xdp"), "{}", here());
    }
}
