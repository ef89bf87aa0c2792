//! What the programs of one trial and this process share: a page of counts and orders, and a slot for each frame.

use crate::field::{Field, HEAD};
use crate::frame::Frame;
use crate::sys::{Map, Mapped};
use dropline_payload::Tag;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

/// Words of the control page.
const FIELDS: usize = Field::Padded as usize + 1;

/// A word of a slot; as in `struct slot`.
#[derive(Clone, Copy, Debug)]
enum OfFrame {
    Due,
    Word,
    Departed,
    Arrived,
}

const OF_FRAME: usize = OfFrame::Arrived as usize + 1;

/// The two maps of the trials in one direction: each has them after the other.
#[derive(Debug)]
pub(crate) struct Maps {
    control: (Map, Mapped),
    slots: (Map, Mapped),
    /// Frames that have a slot.
    room: usize,
    /// Which version of IP their programs know.
    is_ipv6: bool,
}

/// What runs in the kernel when a trial's tag is written has read the one before, and is done with its frame after so long.
const UNDER_WAY: Duration = Duration::from_millis(1);
/// Words that a trial begins with at 0.
const ANEW: [Field; 10] = [
    Field::Count,
    Field::Stop,
    Field::Epoch,
    Field::Next,
    Field::Unique,
    Field::Duplicated,
    Field::Truncated,
    Field::Extended,
    Field::Changed,
    Field::Padded,
];

impl Maps {
    /// For trials of so many frames at most, of IPv6 or IPv4.
    ///
    /// # Errors
    /// If this user may not, or there is no memory.
    pub(crate) fn new(frames: u32, is_ipv6: bool) -> io::Result<Self> {
        let mapped = |map: Map| Mapped::of(&map).map(|seen| (map, seen));
        let word = size_of::<u64>();
        Ok(Self {
            control: mapped(Map::array((FIELDS * word) as u32, 1)?)?,
            slots: mapped(Map::array((OF_FRAME * word) as u32, frames.max(1))?)?,
            room: frames as usize,
            is_ipv6,
        })
    }

    /// Frames that they hold.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Which version of IP the programs that have these know.
    pub(crate) fn is_ipv6(&self) -> bool {
        self.is_ipv6
    }

    /// Begins another trial, of so many frames, though the judge uses these maps: from the moment on at which it reads the tag of this
    /// one, frames of earlier ones are late, and no slot is theirs.
    pub(crate) fn begin(&self, frame: &Frame, station: [u8; 6], (tag, earlier): (Tag, u64), due_ns: &[u64]) {
        self.set(Field::Late, 0);
        self.set(Field::Earlier, earlier);
        self.set(Field::Tag, tag.0.into());
        std::thread::sleep(UNDER_WAY);
        ANEW.iter().for_each(|&field| self.set(field, 0));
        self.expect(frame, station, tag, earlier);
        for (index, &due_ns) in due_ns.iter().enumerate() {
            let of_frame = [
                (OfFrame::Due, due_ns),
                (OfFrame::Word, Frame::word(tag, index as u64)),
                (OfFrame::Departed, 0),
                (OfFrame::Arrived, 0),
            ];
            of_frame.into_iter().for_each(|(word, value)| self.set_of(index, word, value));
        }
        self.set(Field::Count, due_ns.len() as u64);
    }

    /// What instructions name them by: control, slots.
    pub(crate) fn numbers(&self) -> [u32; 2] {
        [self.control.0.number(), self.slots.0.number()]
    }

    /// Says what the frames of the trial look like, for whose hardware address they come out, and which tags before its own are of
    /// earlier ones.
    fn expect(&self, frame: &Frame, [a, b, c, d, e, f]: [u8; 6], tag: Tag, earlier: u64) {
        let station =
            u64::from(u32::from_ne_bytes([a, b, c, d])) | u64::from(u16::from_ne_bytes([e, f])) << 32;
        let own = [(Field::Tag, tag.0.into()), (Field::Earlier, earlier), (Field::Station, station)];
        let head = HEAD.into_iter().zip(frame.head());
        for (field, value) in frame.expected().into_iter().chain(own).chain(head) {
            self.set(field, value);
        }
    }

    pub(crate) fn get(&self, field: Field) -> u64 {
        self.control.1.words()[field as usize].load(Acquire)
    }

    pub(crate) fn set(&self, field: Field, value: u64) {
        self.control.1.words()[field as usize].store(value, Release);
    }

    pub(crate) fn word(&self, index: usize) -> u64 {
        self.of(index, OfFrame::Word)
    }

    /// The start on the kernel's clock; `None` before it.
    pub(crate) fn epoch(&self) -> Option<u64> {
        Some(self.get(Field::Epoch)).filter(|&at| at > 0)
    }

    pub(crate) fn due(&self, index: usize) -> u64 {
        self.of(index, OfFrame::Due)
    }

    /// Notes when it left; 0 takes that back.
    pub(crate) fn set_departed(&self, index: usize, at_ns: u64) {
        self.set_of(index, OfFrame::Departed, at_ns);
    }

    /// When it left, if it did.
    pub(crate) fn departed(&self, index: usize) -> Option<u64> {
        Some(self.of(index, OfFrame::Departed)).filter(|&at| at > 0)
    }

    /// When it arrived first, if it did.
    pub(crate) fn arrived(&self, index: usize) -> Option<u64> {
        Some(self.of(index, OfFrame::Arrived)).filter(|&at| at > 0)
    }

    fn of(&self, index: usize, word: OfFrame) -> u64 {
        self.slots.1.words()[index * OF_FRAME + word as usize].load(Acquire)
    }

    fn set_of(&self, index: usize, word: OfFrame, value: u64) {
        self.slots.1.words()[index * OF_FRAME + word as usize].store(value, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::tests::names;

    #[test]
    fn a_slot_is_the_same_on_both_sides() {
        let ours = [OfFrame::Due, OfFrame::Word, OfFrame::Departed, OfFrame::Arrived];
        assert_eq!(names("struct slot {", "};"), ours.map(|word| format!("{word:?}").to_lowercase()));
    }
}
