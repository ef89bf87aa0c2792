//! What sends the frames of a trial: the kernel itself, or a raw socket.

use crate::error::LinkError;
use crate::field::Field;
use crate::frame::Frame;
use crate::instructions;
use crate::link_end::Opened;
use crate::maps::Maps;
use crate::sys::{FrameSocket, Map, Program, Sent, now_ns, run_before_others};
use dropline_trial::Rate;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// What the user asks to be sent with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The fastest that works between these two interfaces.
    #[default]
    Auto,
    /// Frames that the kernel makes (BPF_PROG_RUN with live frames).
    Xdp,
    /// A raw socket (packet(7), sendmmsg).
    Packet,
}

impl Engine {
    /// All of them, by the words that name them.
    pub const ALL: [(&str, Self); 3] = [("auto", Self::Auto), ("xdp", Self::Xdp), ("packet", Self::Packet)];
}

/// What sends.
#[derive(Debug)]
pub(crate) enum Sender {
    /// The kernel, by the interface that this map holds.
    Live { device: Map, program: Program },
    /// A socket at the interface where frames leave.
    Packets(FrameSocket),
}

/// When frames leave, after the start, which the sender sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The last one is due before.
    pub(crate) end_ns: u64,
    /// What has not left by then does not.
    pub(crate) give_up_ns: u64,
    pub(crate) load: Rate,
}

/// Frames that a system call takes, or that are made between two moments in which the kernel lets others run.
const BATCH: usize = 64;
/// The sender in the kernel makes one frame at a time below this load; above, it makes some more before they leave together: what
/// leaves late by that is 20 us at most.
const ONE_BY_ONE_PPS: f64 = 50_000.0;
/// So many frames leave together at most: half of what the ring of a pair of interfaces has room for, in which otherwise the last of a
/// burst would be lost.
const MOST_AT_ONCE: f64 = 128.0;
/// Looks at the clock in one call of the sender in the kernel, and the least that they take: some 10 ns each.
const SPINS: u64 = 1024;
const SPIN_NS: u64 = SPINS * 10;
/// From the first call to the start.
const START_NS: u64 = 1_000_000;
/// From so long before a frame is due, the thread stays awake.
const AWAKE_NS: u64 = 60_000;
/// Up to this load the kernel is called for each frame.
const CALL_EACH_PPS: f64 = 12_000.0;
/// Up to this load a thread that gives frames to a socket sleeps between them.
const SLEEPS_PPS: f64 = 12_000.0;

/// What live frames take.
const LIVE_TAKES: &str = "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON";

impl Sender {
    /// The kernel, by an interface.
    pub(crate) fn live(port: &Opened, maps: &Maps) -> Result<Self, LinkError> {
        let index = port.seen.index;
        let device = port.space.inside(|| Map::device(index))?;
        let device = device.map_err(LinkError::of("holding an interface for live frames", LIVE_TAKES))?;
        Ok(Self::Live { program: making(maps, &device)?, device })
    }

    /// Lets it send what other maps hold.
    pub(crate) fn turn_to(&mut self, maps: &Maps) -> Result<(), LinkError> {
        if let Self::Live { device, program } = self {
            *program = making(maps, device)?;
        }
        Ok(())
    }

    /// A socket at an interface.
    pub(crate) fn packets(port: &Opened) -> Result<Self, LinkError> {
        let index = port.seen.index;
        let socket = port.space.inside(|| FrameSocket::open(index))?;
        socket.map(Self::Packets).map_err(LinkError::of("opening a raw socket", "CAP_NET_RAW"))
    }

    /// Sends all frames that the maps hold, each when it is due; returns those that the system refused, by the name of its error.
    pub(crate) fn send(
        &self,
        maps: &Maps,
        frame: &Frame,
        from: &Opened,
        times: Times,
    ) -> Result<BTreeMap<String, u64>, LinkError> {
        match self {
            Self::Live { program, .. } => live(program, maps, frame, from, times).map(|()| BTreeMap::new()),
            Self::Packets(socket) => packets(socket, maps, frame, times),
        }
    }
}

/// The program that makes frames.
fn making(maps: &Maps, device: &Map) -> Result<Program, LinkError> {
    instructions::sender(maps, device).map_err(LinkError::of("loading a BPF program", LIVE_TAKES))
}

/// The kernel calls the sender again and again; it makes a frame when one is due, and none in other calls.
fn live(program: &Program, maps: &Maps, frame: &Frame, from: &Opened, times: Times) -> Result<(), LinkError> {
    let refused = LinkError::of("sending live frames", LIVE_TAKES);
    let batch = (times.load.as_pps() / ONE_BY_ONE_PPS).clamp(1.0, MOST_AT_ONCE) as u64;
    maps.set(Field::GiveUp, times.give_up_ns);
    maps.set(Field::Spins, SPINS / batch);
    let run = || match times.load.as_pps() <= CALL_EACH_PPS {
        true => call_each(program, maps, frame, times),
        false => call_once(program, maps, frame, times, batch),
    };
    from.space.inside(run)?.map_err(refused)
}

/// One call of the kernel sends all; what it does before the first frame takes 20 ms and more, and it never sleeps.
fn call_once(program: &Program, maps: &Maps, frame: &Frame, times: Times, batch: u64) -> io::Result<()> {
    run_before_others(false);
    while !is_over(maps, times) {
        let left = maps.get(Field::Count) - maps.get(Field::Next);
        let passed_ns = maps.epoch().map_or(0, |epoch| now_ns().saturating_sub(epoch));
        let early = ((times.end_ns + START_NS).saturating_sub(passed_ns) / SPIN_NS + 1) * batch;
        let calls = u32::try_from(left + early).unwrap_or(u32::MAX);
        resumed(program.run_live(frame.bytes(), calls, batch as u32))?;
    }
    Ok(())
}

/// A call for each frame, which takes some 20 us; between frames the thread sleeps.
fn call_each(program: &Program, maps: &Maps, frame: &Frame, times: Times) -> io::Result<()> {
    run_before_others(true);
    maps.set(Field::Epoch, now_ns() + START_NS);
    while !is_over(maps, times) {
        sleep_until(maps.epoch().unwrap_or(0) + maps.due(maps.get(Field::Next) as usize));
        resumed(program.run_live(frame.bytes(), 1, 1))?;
    }
    Ok(())
}

/// A call that a signal ended is made again.
fn resumed(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|why| if why.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(why) })
}

/// Whether all left, the user wants to stop, or it is too late.
fn is_over(maps: &Maps, times: Times) -> bool {
    let passed_ns = maps.epoch().map_or(0, |epoch| now_ns().saturating_sub(epoch));
    maps.get(Field::Next) >= maps.get(Field::Count)
        || maps.get(Field::Stop) != 0
        || passed_ns > times.give_up_ns
}

/// Sleeps until shortly before, and not past a wish to stop.
fn sleep_until(due_ns: u64) {
    let early = due_ns.saturating_sub(now_ns());
    if early > AWAKE_NS {
        std::thread::sleep(Duration::from_nanos((early - AWAKE_NS).min(20_000_000)));
    }
}

/// A socket is given what is due, together.
fn packets(
    socket: &FrameSocket,
    maps: &Maps,
    frame: &Frame,
    times: Times,
) -> Result<BTreeMap<String, u64>, LinkError> {
    run_before_others(times.load.as_pps() <= SLEEPS_PPS);
    let mut refused = BTreeMap::new();
    let mut frames = vec![frame.bytes().to_vec(); BATCH];
    let count = maps.get(Field::Count) as usize;
    let mut next = 0;
    let epoch_ns = now_ns() + START_NS;
    maps.set(Field::Epoch, epoch_ns);
    while !is_over(maps, times) {
        let now = now_ns();
        let due =
            (next..count.min(next + BATCH)).take_while(|&index| epoch_ns + maps.due(index) <= now).count();
        if due == 0 {
            sleep_until(epoch_ns + maps.due(next));
            continue;
        }
        for (at, frame_bytes) in frames[..due].iter_mut().enumerate() {
            frame.write((next + at) as u64, maps.word(next + at), frame_bytes);
            maps.set_departed(next + at, now);
        }
        let Sent { taken, refused: why } = socket.send(&frames[..due]);
        (next + taken..next + due).for_each(|index| maps.set_departed(index, 0));
        next += taken;
        match why {
            None => {}
            // Its memory is full of what waits in a queue.
            Some(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            // The interface had no room: this one was not offered.
            Some(why) if why.raw_os_error() == Some(libc::ENOBUFS) => {
                *refused.entry("ENOBUFS".to_owned()).or_default() += 1;
                next += 1;
            }
            Some(why) => return Err(LinkError::of("sending frames", "CAP_NET_RAW")(why)),
        }
        maps.set(Field::Next, next as u64);
    }
    Ok(refused)
}
