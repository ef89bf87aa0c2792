//! Frames that leave by one of the two interfaces and come out at the other: what sends them, and what judges them.

use crate::engine::{Engine, Sender};
use crate::error::LinkError;
use crate::field::Field;
use crate::frame::{Aim, Frame, learning};
use crate::judge::Judge;
use crate::link_end::Opened;
use crate::maps::Maps;
use crate::next_hop::{NextHop, written};
use crate::sys::FrameSocket;
use dropline_account::Way;
use dropline_payload::Tag;
use dropline_trial::Packet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// One direction: from an interface to the other.
#[derive(Debug)]
pub(crate) struct OneWay {
    /// As the profile calls it.
    pub(crate) name: String,
    pub(crate) way: Way,
    pub(crate) from: Arc<Opened>,
    pub(crate) to: Arc<Opened>,
    pub(crate) aim: Aim,
    pub(crate) sender: Sender,
    /// Why a better engine is not used.
    pub(crate) instead: Option<String>,
    /// What the slowest of the first frames took.
    pub(crate) slowest: Duration,
    /// Where a bridge is told from that `to` is behind its port.
    teacher: FrameSocket,
    /// So often it was.
    taught: AtomicU64,
    packet: Packet,
    /// The hardware address that frames are for.
    hop: [u8; 6],
    is_routed: bool,
    /// Those of the latest trial; larger ones where the next one needs them.
    maps: Arc<Maps>,
    judge: Judge,
}

/// Frames that the first maps have room for.
const ROOM: u32 = 1 << 15;
/// What making maps takes.
const TAKES: &str = "CAP_BPF and CAP_NET_ADMIN";

/// Which trial frames are of: their tag, and how many tags before it are of earlier ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) tag: Tag,
    pub(crate) earlier: u64,
}

/// A trial in one direction that can begin.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) maps: Arc<Maps>,
    pub(crate) frame: Frame,
    /// When each frame is due, after the start.
    pub(crate) due_ns: Vec<u64>,
}

impl OneWay {
    /// Puts the judge in its place, and asks for the next hop; until the first trial nothing has its tag.
    pub(crate) fn open(
        (name, way): (&str, Way),
        [from, to]: [&Arc<Opened>; 2],
        aim: &Aim,
        next_hop: Option<NextHop>,
        (packet, tag): (Packet, Tag),
        stop: &AtomicBool,
    ) -> Result<Self, LinkError> {
        let maps = Maps::new(ROOM, aim.source.is_ipv6()).map_err(LinkError::of("making a BPF map", TAKES))?;
        maps.set(Field::Tag, tag.0.into());
        let judge = Judge::at(to, &maps)?;
        let teacher = to.space.inside(|| FrameSocket::open(to.seen.index))?;
        let teacher = teacher.map_err(LinkError::of("opening a raw socket", "CAP_NET_RAW"))?;
        Ok(Self {
            name: name.into(),
            way,
            sender: Sender::packets(from)?,
            instead: None,
            slowest: Duration::ZERO,
            hop: next_hop.map_or(Ok(to.hardware), |next| next.find(from, aim, stop))?,
            is_routed: next_hop.is_some(),
            from: Arc::clone(from),
            to: Arc::clone(to),
            aim: aim.clone(),
            packet,
            maps: Arc::new(maps),
            judge,
            teacher,
            taught: AtomicU64::new(0),
        })
    }

    /// In words: what sends and what judges, and why nothing better.
    pub(crate) fn means(&self) -> String {
        let sender = match self.sender {
            Sender::Live { .. } => "frames made and paced in the kernel (BPF_PROG_RUN, live frames)",
            Sender::Packets(_) => "frames sent by a raw socket (packet(7), sendmmsg)",
        };
        let instead =
            self.instead.as_ref().map(|why| format!("; not made in the kernel: {why}")).unwrap_or_default();
        let hop = if self.is_routed { format!(", by way of {}", written(self.hop)) } else { String::new() };
        format!("{sender}{hop}, {}{instead}", self.judge.words())
    }

    /// The engine that was asked for does not work.
    pub(crate) fn without(&self, engine: Engine, why: String) -> LinkError {
        let engine = Engine::ALL.into_iter().find(|(_, one)| *one == engine).map_or("", |(word, _)| word);
        LinkError::Engine { engine, from: self.from.port.to_string(), to: self.to.port.to_string(), why }
    }

    /// Maps that hold all frames of a trial, and a judge that knows them.
    pub(crate) fn prepare(&mut self, turn: Turn, due_ns: Vec<u64>) -> Result<Prepared, LinkError> {
        let frame = Frame::new(self.from.hardware, self.hop, &self.aim, self.packet, turn.tag);
        let begin = |maps: &Maps| {
            maps.begin(&frame, self.to.hardware, (turn.tag, turn.earlier), &due_ns);
        };
        if due_ns.len() <= self.maps.room() {
            begin(&self.maps);
        } else {
            // The kernel looks at both programs anew: some more room spares the next trial that.
            let room = due_ns.len() + due_ns.len() / 8;
            let maps = Maps::new(room as u32, self.maps.is_ipv6())
                .map_err(LinkError::of("making a BPF map", TAKES))?;
            begin(&maps);
            self.judge.turn_to(&maps)?;
            self.sender.turn_to(&maps)?;
            self.maps = Arc::new(maps);
        }
        self.teach();
        Ok(Prepared { maps: Arc::clone(&self.maps), frame, due_ns })
    }

    /// Lets the kernel make the frames.
    ///
    /// # Errors
    /// If this user may not.
    pub(crate) fn make_live(&mut self) -> Result<(), LinkError> {
        self.sender = Sender::live(&self.from, &self.maps)?;
        Ok(())
    }

    /// Tells a bridge where the interface is at which frames come out.
    pub(crate) fn teach(&self) {
        self.teacher.send(&[learning(self.to.hardware, self.from.hardware, self.aim.vlan)]);
        self.taught.fetch_add(1, Ordering::Relaxed);
    }

    /// How often that was done.
    pub(crate) fn taught(&self) -> u64 {
        self.taught.load(Ordering::Relaxed)
    }
}

impl Prepared {
    /// Frames that the judge has seen, of whatever kind.
    pub(crate) fn seen(&self) -> u64 {
        const KINDS: [Field; 6] = [
            Field::Unique,
            Field::Duplicated,
            Field::Late,
            Field::Truncated,
            Field::Extended,
            Field::Changed,
        ];
        KINDS.map(|field| self.maps.get(field)).iter().sum()
    }
}
