//! Bursts of equal size at equal distances (RFC 2544 §21).

use super::parameters::{ArrivalError, count, duration, written};
use super::{Draw, Kind, Process, due_ns};
use crate::{Rate, TrialInput};
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "bursts",
    written: "bursts:size=32[,idle=1ms]",
    about: "bursts of `size` packets: back to back, or evenly spread except for `idle` before the next burst",
    read: |parameters| {
        let size = parameters.need("size", count)?;
        let idle_ns = parameters.take("idle", duration)?.map(|idle| idle.as_nanos() as u64);
        Ok(Arc::new(Bursts { size, idle_ns }))
    },
};

/// Burst b begins at b · size ÷ load; its packets share what the idle time leaves of size ÷ load.
#[derive(Debug)]
struct Bursts {
    size: u32,
    idle_ns: Option<u64>,
}

impl Process for Bursts {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn check(&self, load: Rate) -> Result<(), ArrivalError> {
        let period_ns = due_ns(self.size.into(), load);
        match self.idle_ns {
            Some(idle) if idle > period_ns => Err(ArrivalError::new(format!(
                "bursts of {} at {load} begin every {} ns: no room for {} of idle time",
                self.size,
                period_ns,
                written(idle)
            ))),
            _ => Ok(()),
        }
    }

    fn slack(&self, _input: TrialInput) -> f64 {
        f64::from(self.size)
    }

    fn draw(&self, input: TrialInput, _seed: u64) -> Box<dyn Draw> {
        let period_ns = due_ns(self.size.into(), input.load);
        let burst_ns = self.idle_ns.map_or(0, |idle| period_ns.saturating_sub(idle));
        Box::new(Train { load: input.load, size: self.size.into(), burst_ns, next: 0 })
    }
}

impl fmt::Display for Bursts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:size={}", KIND.name, self.size)?;
        self.idle_ns.map_or(Ok(()), |idle| write!(f, ",idle={}", written(idle)))
    }
}

#[derive(Debug)]
struct Train {
    load: Rate,
    size: u64,
    /// From the first packet of a burst to its last.
    burst_ns: u64,
    next: u64,
}

impl Draw for Train {
    fn next(&mut self) -> Option<u64> {
        let place = self.next % self.size;
        let begun = due_ns(self.next - place, self.load);
        self.next += 1;
        let within = u128::from(self.burst_ns) * u128::from(place) / u128::from(self.size.max(2) - 1);
        Some(begun + within as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;
    use std::time::Duration;

    fn departures(word: &str, pps: f64) -> Vec<u64> {
        let input = TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_millis(20) };
        word.parse::<Arrival>().unwrap().departures(input, 1).collect()
    }

    #[test]
    fn a_burst_is_spread_over_what_the_idle_time_leaves() {
        assert_eq!(
            departures("bursts:size=4,idle=7ms", 400.0),
            [0, 1_000_000, 2_000_000, 3_000_000, 10_000_000, 11_000_000, 12_000_000, 13_000_000]
        );
        assert_eq!(departures("bursts:size=2", 200.0), [0, 0, 10_000_000, 10_000_000]);
    }

    #[test]
    fn a_load_that_leaves_no_room_for_the_idle_time_is_refused() {
        let bursts: Arrival = "bursts:size=32,idle=1ms".parse().unwrap();
        assert!(bursts.check(Rate::pps(32_000.0).unwrap()).is_ok());
        let why = bursts.check(Rate::pps(33_000.0).unwrap()).unwrap_err().to_string();
        assert!(why.contains("969696 ns") && why.contains("1ms"), "{why}");
    }
}
