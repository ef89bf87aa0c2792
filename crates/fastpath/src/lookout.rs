//! What looks after a trial while its frames leave: whether the interfaces are what they were, whether frames still come out, and
//! whether a bridge still knows where they are to go.

use crate::frame::learning;
use crate::link_end::Opened;
use crate::maps::{Field, Maps};
use crate::sys::{FrameSocket, now_ns};
use dropline_trial::number_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A look at whether the interfaces are what they were.
const LOOK_AT_ENDS: Duration = Duration::from_millis(20);
/// A bridge is told again where the second interface is: some forget that within two seconds.
const TEACH: Duration = Duration::from_secs(1);
/// Where nothing came out for so long of so many frames, something else may get them.
const SILENCE: Duration = Duration::from_secs(1);
const UNANSWERED: u64 = 100;

/// The end of a trial before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// After its start, in ns: what left later does not belong to it.
    pub(crate) at_ns: u64,
    /// What may have led frames elsewhere; `None` where the user wanted it.
    pub(crate) astray: Option<String>,
}

/// Over one trial.
pub(crate) struct Lookout<'a> {
    pub(crate) ends: [&'a Opened; 2],
    pub(crate) maps: &'a Maps,
    pub(crate) teacher: &'a FrameSocket,
    pub(crate) stop: &'a AtomicBool,
    /// What the way takes.
    pub(crate) slowest: Duration,
    looked: Instant,
    /// Until when, after the start, both interfaces were seen to be what they were.
    seen_ns: u64,
    taught: Instant,
    /// Since when, and of how many frames, nothing came out.
    heard: Instant,
    came: Came,
}

/// How many frames came out, when so many had left.
#[derive(Clone, Copy, Default)]
struct Came {
    unique: u64,
    left: u64,
}

impl<'a> Lookout<'a> {
    /// Begins to look.
    pub(crate) fn new(
        ends: [&'a Opened; 2],
        maps: &'a Maps,
        teacher: &'a FrameSocket,
        stop: &'a AtomicBool,
        slowest: Duration,
    ) -> Self {
        let now = Instant::now();
        let (looked, taught, heard) = (now, now, now);
        Self { ends, maps, teacher, stop, slowest, looked, seen_ns: 0, taught, heard, came: Came::default() }
    }

    /// Whether the trial has to end; frames leave meanwhile.
    pub(crate) fn look(&mut self) -> Option<Ended> {
        if self.taught.elapsed() >= TEACH {
            self.teacher.send(&[learning(self.ends[1].hardware, self.ends[0].hardware)]);
            self.taught = Instant::now();
        }
        if self.stop.load(Ordering::Relaxed) {
            return Some(Ended { at_ns: self.passed_ns(), astray: None });
        }
        let changed = if self.looked.elapsed() >= LOOK_AT_ENDS { self.look_at_ends() } else { None };
        changed.or_else(|| self.listen())
    }

    /// Whether an interface is not what it was; then the trial ended when both were seen last.
    pub(crate) fn look_at_ends(&mut self) -> Option<Ended> {
        let begun_ns = self.passed_ns();
        if let Some(how) = self.ends.iter().find_map(|end| end.changed()) {
            return Some(Ended { at_ns: self.seen_ns, astray: Some(how) });
        }
        (self.looked, self.seen_ns) = (Instant::now(), begun_ns);
        None
    }

    /// Whether nothing comes out any more.
    fn listen(&mut self) -> Option<Ended> {
        let (unique, left) = (self.maps.get(Field::Unique), self.maps.get(Field::Next));
        if unique != self.came.unique || self.came.left == 0 {
            (self.heard, self.came) = (Instant::now(), Came { unique, left });
        }
        let unanswered = left - self.came.left;
        if self.heard.elapsed() <= SILENCE + self.slowest || unanswered <= UNANSWERED {
            return None;
        }
        let (frames, [from, to]) = (number_of(unanswered, "frame"), self.ends.map(|end| &end.port));
        let astray = Some(format!("of {frames} that left by {from}, none came out at {to} for a second"));
        Some(Ended { at_ns: self.passed_ns(), astray })
    }

    fn passed_ns(&self) -> u64 {
        self.maps.epoch().map_or(0, |epoch_ns| now_ns().saturating_sub(epoch_ns))
    }
}
