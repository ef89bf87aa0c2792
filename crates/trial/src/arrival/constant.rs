//! Equal times between departures.

use super::{Draw, Kind, Process, due_ns, mean_ns};
use crate::{GapLaw, Rate, TrialInput};
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "constant",
    written: "constant",
    about: "equal times between departures (RFC 1242 §3.4)",
    read: |_| Ok(Arc::new(Constant)),
};

/// Packet n is due at n ÷ load, from the index.
#[derive(Debug)]
pub(super) struct Constant;

impl Process for Constant {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn gap_law(&self, load: Rate) -> GapLaw {
        GapLaw::Equal { gap_ns: mean_ns(load) }
    }

    fn draw(&self, input: TrialInput, _seed: u64) -> Box<dyn Draw> {
        Box::new(Grid { load: input.load, next: 0, count: input.load.packets_in(input.duration) })
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(KIND.name)
    }
}

#[derive(Debug)]
struct Grid {
    load: Rate,
    next: u64,
    /// ⌊load · duration⌋.
    count: u64,
}

impl Draw for Grid {
    fn next(&mut self) -> Option<u64> {
        let due = (self.next < self.count).then(|| due_ns(self.next, self.load))?;
        self.next += 1;
        Some(due)
    }

    fn left(&self) -> Option<u64> {
        Some(self.count - self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;
    use std::time::Duration;

    #[test]
    fn a_constant_load_does_not_drift() {
        let input = TrialInput { load: Rate::pps(7e6).unwrap(), duration: Duration::from_secs(3) };
        let all: Vec<u64> = Arrival::constant().departures(input, 1).collect();
        assert_eq!(all.len(), 21_000_000);
        assert_eq!(all[7_000_000], 1_000_000_000, "one second later, not 6 ms earlier");
        assert_eq!(all[20_999_999], 2_999_999_857);
    }
}
