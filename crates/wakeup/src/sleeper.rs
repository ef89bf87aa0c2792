//! One thread: sleeps until each time that it is due, and writes down how late it was.

use crate::settings::Policy;
use crate::sys;
use dropline_stats::{Cut, Histogram, Slices};
use dropline_trial::Delay;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a thread is to do.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    pub(crate) policy: Policy,
    pub(crate) cpu: usize,
    pub(crate) timer_slack_ns: u64,
    /// CLOCK_MONOTONIC of wake-up 0.
    pub(crate) epoch_ns: i64,
    /// Wake-ups.
    pub(crate) count: u64,
    /// They are due at n · length ÷ count from the epoch.
    pub(crate) length_ns: u64,
    pub(crate) cut: Cut,
    pub(crate) stop_above_ns: Option<i64>,
}

/// What it saw.
#[derive(Debug)]
pub(crate) struct Sleeper {
    pub(crate) cpu: usize,
    /// Whether the policy asked for was given; why not.
    pub(crate) refused: Option<std::io::Error>,
    pub(crate) pinned: bool,
    pub(crate) timer_slack_ns: Option<u64>,
    pub(crate) delay: Delay,
    pub(crate) parts: Vec<Part>,
    pub(crate) slices: Slices,
    /// Wake-ups that were due before it stopped.
    pub(crate) due: u64,
    /// The wake-up that ended it: its number, how late it was.
    pub(crate) spike: Option<(u64, i64)>,
}

/// What a thread saw in one slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) due: u64,
    pub(crate) woken: u64,
    pub(crate) latest_ns: Option<i64>,
}

impl Orders {
    /// When wake-up `n` is due, from its index: no error adds up.
    fn due_ns(&self, n: u64) -> i64 {
        self.epoch_ns + self.offset_ns(n) as i64
    }

    /// The same, from the epoch.
    pub(crate) fn offset_ns(&self, n: u64) -> u64 {
        (u128::from(n) * u128::from(self.length_ns) / u128::from(self.count)) as u64
    }
}

impl Sleeper {
    /// Memory for all that it may see: nothing is allocated once it sleeps.
    pub(crate) fn new(orders: &Orders) -> Self {
        Self {
            cpu: orders.cpu,
            refused: None,
            pinned: false,
            timer_slack_ns: None,
            delay: Delay { histogram: Some(Histogram::new()), ..Delay::default() },
            parts: vec![Part::default(); orders.cut.slices()],
            slices: Slices::new(orders.cut),
            due: 0,
            spike: None,
        }
    }

    /// Takes the thread that it is called on. Ends when all are done, `stop` is set, or one was too late.
    pub(crate) fn sleep(mut self, orders: &Orders, stop: &AtomicBool, spiked: &AtomicBool) -> Self {
        self.pinned = sys::pin(orders.cpu).is_ok();
        self.timer_slack_ns = sys::set_timer_slack(orders.timer_slack_ns);
        if let Policy::Fifo(priority) = orders.policy {
            self.refused = sys::fifo(priority).err();
        }
        // The first sleep brings code and data near; it is not counted.
        sys::sleep_until(orders.epoch_ns - 1_000_000);
        let mut n = 0;
        while n < orders.count && !stop.load(Ordering::Relaxed) && !spiked.load(Ordering::Relaxed) {
            let due_ns = orders.due_ns(n);
            sys::sleep_until(due_ns);
            let now_ns = sys::now_ns();
            self.woke(orders, n, now_ns - due_ns);
            if orders.stop_above_ns.is_some_and(|limit| now_ns - due_ns > limit) {
                self.spike = Some((n, now_ns - due_ns));
                spiked.store(true, Ordering::Relaxed);
            }
            n = self.next(orders, n, now_ns);
        }
        self.due = n;
        self
    }

    fn woke(&mut self, orders: &Orders, n: u64, late_ns: i64) {
        let offset_ns = orders.offset_ns(n);
        let part = &mut self.parts[orders.cut.slice_of(offset_ns)];
        part.due += 1;
        part.woken += 1;
        part.latest_ns = Some(part.latest_ns.map_or(late_ns, |latest| latest.max(late_ns)));
        self.slices.record(offset_ns, late_ns);
        match u64::try_from(late_ns) {
            Ok(late) => self.delay.histogram.iter_mut().for_each(|histogram| histogram.record(late)),
            Err(_) => {
                self.delay.negative += 1;
                let lowest = self.delay.negative_min_ns.map_or(late_ns, |lowest| lowest.min(late_ns));
                self.delay.negative_min_ns = Some(lowest);
            }
        }
    }

    /// The next wake-up that is not due yet; those that are due already were missed.
    fn next(&mut self, orders: &Orders, n: u64, now_ns: i64) -> u64 {
        let mut next = n + 1;
        while next < orders.count && orders.due_ns(next) <= now_ns {
            let offset_ns = orders.offset_ns(next);
            self.parts[orders.cut.slice_of(offset_ns)].due += 1;
            self.slices.miss(offset_ns);
            next += 1;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> Orders {
        Orders {
            policy: Policy::Other,
            cpu: 0,
            timer_slack_ns: 1,
            epoch_ns: 1_000,
            count: 7,
            length_ns: 1_000_000_000,
            cut: Cut::of(1_000_000_000, Some(3)),
            stop_above_ns: None,
        }
    }

    #[test]
    fn times_come_from_the_index_and_no_error_adds_up() {
        let orders = orders();
        assert_eq!(orders.due_ns(0), 1_000);
        assert_eq!(orders.due_ns(7), 1_000_001_000);
        assert_eq!(orders.due_ns(3), 1_000 + 3_000_000_000 / 7);
        assert_eq!([0, 2, 3, 6].map(|n| orders.cut.slice_of(orders.offset_ns(n))), [0, 0, 1, 2]);
    }

    #[test]
    fn periods_that_pass_while_it_is_late_are_missed_and_counted_where_they_were_due() {
        let orders = orders();
        let mut sleeper = Sleeper::new(&orders);
        sleeper.woke(&orders, 1, 300_000_000);
        let next = sleeper.next(&orders, 1, orders.due_ns(1) + 300_000_000);
        assert_eq!(next, 4, "two and three were due meanwhile");
        let parts: Vec<_> = sleeper.parts.iter().map(|part| (part.due, part.woken)).collect();
        assert_eq!(parts, [(2, 1), (1, 0), (0, 0)]);
        let missed: Vec<_> = sleeper.slices.iter().map(|slice| slice.totals().missed).collect();
        assert_eq!(missed, [1, 1, 0]);
        assert_eq!(sleeper.next(&orders, 6, i64::MAX), 7, "nothing is due behind the end");
    }

    #[test]
    fn a_wake_up_before_its_time_is_kept_apart() {
        let orders = orders();
        let mut sleeper = Sleeper::new(&orders);
        sleeper.woke(&orders, 0, -5);
        assert_eq!((sleeper.delay.negative, sleeper.delay.negative_min_ns), (1, Some(-5)));
        assert_eq!(sleeper.delay.histogram.unwrap().count(), 0);
    }
}
