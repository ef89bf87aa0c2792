//! What looks after a trial while its frames leave: whether the interfaces are what they were, whether frames still come out, and
//! whether a bridge still knows where they are to go.

use crate::field::Field;
use crate::maps::Maps;
use crate::one_way::OneWay;
use crate::sys::now_ns;
use dropline_trial::number_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A look at whether the interfaces are what they were.
pub(crate) const LOOK_AT_ENDS: Duration = Duration::from_millis(20);
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

impl Ended {
    /// The same, and not before the last frame left that came out: until then both interfaces were there.
    pub(crate) fn not_before_what_came(mut self, maps: &Maps) -> Self {
        let left = (0..maps.get(Field::Next) as usize).rev().filter(|&index| maps.arrived(index).is_some());
        let last_ns = left.filter_map(|index| maps.departed(index)).next().unwrap_or(0);
        self.at_ns = self.at_ns.max(last_ns.saturating_sub(maps.epoch().unwrap_or(0)));
        self
    }
}

/// Over one direction of a trial.
pub(crate) struct Lookout<'a> {
    one: &'a OneWay,
    maps: &'a Maps,
    stop: &'a AtomicBool,
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
    pub(crate) fn new(one: &'a OneWay, maps: &'a Maps, stop: &'a AtomicBool) -> Self {
        let now = Instant::now();
        Self { one, maps, stop, looked: now, seen_ns: 0, taught: now, heard: now, came: Came::default() }
    }

    /// Whether the trial has to end; frames leave meanwhile.
    pub(crate) fn look(&mut self) -> Option<Ended> {
        if self.taught.elapsed() >= TEACH {
            self.one.teach();
            self.taught = Instant::now();
        }
        if self.stop.load(Ordering::Relaxed) {
            return Some(Ended { at_ns: self.passed_ns(), astray: None });
        }
        let changed = if self.looked.elapsed() >= LOOK_AT_ENDS { self.look_at_ends() } else { None };
        changed.or_else(|| self.listen())
    }

    /// Whether an interface is not what it was. The one where frames leave: what is given to it then does not, so the trial ended when it
    /// was seen last. The other one: frames left until now.
    pub(crate) fn look_at_ends(&mut self) -> Option<Ended> {
        let begun_ns = self.passed_ns();
        if let Some(how) = self.one.from.changed() {
            return Some(Ended { at_ns: self.seen_ns, astray: Some(how) });
        }
        if let Some(how) = self.one.to.changed() {
            return Some(Ended { at_ns: self.passed_ns(), astray: Some(how) });
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
        if self.heard.elapsed() <= SILENCE + self.one.slowest || unanswered <= UNANSWERED {
            return None;
        }
        let (frames, from, to) = (number_of(unanswered, "frame"), &self.one.from.port, &self.one.to.port);
        let astray = Some(format!("of {frames} that left by {from}, none came out at {to} for a second"));
        Some(Ended { at_ns: self.passed_ns(), astray })
    }

    /// Since the start.
    pub(crate) fn passed_ns(&self) -> u64 {
        self.maps.epoch().map_or(0, |epoch_ns| now_ns().saturating_sub(epoch_ns))
    }
}
