//! Granules that were seen at one end and wait for the other, in constant memory.

/// Slots of a new window; a power of two.
const FIRST: usize = 256;
/// Slots at most: granules that one pipe can have waiting.
pub const MOST: usize = 1 << 16;

/// An end of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where granules leave.
    Source,
    /// Where they arrive.
    Sink,
}

/// A granule that was seen at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Where it was seen.
    pub end: End,
    /// Which.
    pub n: u64,
    /// When, in ns.
    pub at_ns: u64,
}

/// What an event meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetEvent {
    /// Nothing yet: it waits. The one that had to go for it, where the window is full.
    Waits(Option<Waiting>),
    /// Its other end, seen at this time.
    Other(u64),
    /// The same event again.
    Same,
}

/// A table by the granules' numbers that grows up to [`MOST`] slots, and then lets the oldest go.
#[derive(Clone, Debug)]
pub struct Window {
    /// A power of two of them.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    n: u64,
    at_ns: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// Seen at the source alone.
    Source,
    /// Seen at the sink alone.
    Sink,
    /// Seen at both; kept until the slot is needed, for events that come twice.
    Passed,
}

impl Default for Window {
    fn default() -> Self {
        Self { slots: vec![Slot::FREE; FIRST] }
    }
}

impl Window {
    /// Granule `n` was seen at an end.
    #[inline]
    pub fn see(&mut self, end: End, n: u64, at_ns: u64) -> MetEvent {
        let state = match end {
            End::Source => State::Source,
            End::Sink => State::Sink,
        };
        loop {
            let length = self.slots.len();
            let place = n as usize & (length - 1);
            let slot = &mut self.slots[place];
            if slot.n == n && slot.state != State::Free {
                if slot.state == state || slot.state == State::Passed {
                    return MetEvent::Same;
                }
                slot.state = State::Passed;
                return MetEvent::Other(slot.at_ns);
            }
            let gone = slot.waiting();
            if gone.is_none() || length == MOST {
                *slot = Slot { n, at_ns, state };
                return MetEvent::Waits(gone);
            }
            self.grow();
        }
    }

    /// The granules that still wait.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting> + '_ {
        self.slots.iter().filter_map(Slot::waiting)
    }

    /// Twice as many slots: two that met in the smaller table may not meet in the larger one, never the reverse.
    #[cold]
    fn grow(&mut self) {
        let mut larger = vec![Slot::FREE; 2 * self.slots.len()];
        for slot in self.slots.iter().filter(|slot| slot.state != State::Free) {
            larger[slot.n as usize & (2 * self.slots.len() - 1)] = *slot;
        }
        self.slots = larger;
    }
}

impl Slot {
    const FREE: Self = Self { n: 0, at_ns: 0, state: State::Free };

    fn waiting(&self) -> Option<Waiting> {
        let end = match self.state {
            State::Source => End::Source,
            State::Sink => End::Sink,
            State::Free | State::Passed => return None,
        };
        Some(Waiting { end, n: self.n, at_ns: self.at_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_end_may_be_seen_first() {
        let mut window = Window::default();
        assert_eq!(window.see(End::Sink, 5, 90), MetEvent::Waits(None));
        assert_eq!(window.see(End::Source, 5, 40), MetEvent::Other(90));
        assert_eq!(window.see(End::Source, 5, 40), MetEvent::Same);
        assert_eq!(window.waiting().count(), 0);
    }

    #[test]
    fn as_many_wait_as_there_are_slots_and_then_the_oldest_goes() {
        let mut window = Window::default();
        for n in 1..=MOST as u64 {
            assert_eq!(window.see(End::Source, n, n), MetEvent::Waits(None), "{n}");
        }
        let first = Waiting { end: End::Source, n: 1, at_ns: 1 };
        assert_eq!(window.see(End::Source, 1 + MOST as u64, 7), MetEvent::Waits(Some(first)));
        assert_eq!(window.waiting().count(), MOST);
        assert_eq!(window.slots.len(), MOST);
    }

    #[test]
    fn numbers_that_wrap_go_on() {
        let mut window = Window::default();
        for (at, n) in [u64::MAX - 1, u64::MAX, 0, 1].into_iter().enumerate() {
            assert_eq!(window.see(End::Source, n, at as u64), MetEvent::Waits(None));
        }
        for (at, n) in [u64::MAX - 1, u64::MAX, 0, 1].into_iter().enumerate() {
            assert_eq!(window.see(End::Sink, n, 100), MetEvent::Other(at as u64));
        }
    }
}
