//! Events counted in equal windows of time.

/// Counts of events in windows of one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    length_ns: u64,
    end_ns: u64,
    current: u64,
    closed: u64,
    sum: u64,
    squares: u128,
}

impl Window {
    pub(super) fn new(length_ns: u64) -> Self {
        Self { length_ns, end_ns: 0, current: 0, closed: 0, sum: 0, squares: 0 }
    }

    pub(super) fn begin(&mut self, at_ns: u64) {
        self.end_ns = at_ns.saturating_add(self.length_ns);
        self.current = 1;
    }

    pub(super) fn event(&mut self, at_ns: u64) {
        if at_ns >= self.end_ns {
            self.close(at_ns);
        }
        self.current += 1;
    }

    /// Ends the window, and the empty ones after it.
    fn close(&mut self, at_ns: u64) {
        self.closed += 1;
        self.sum += self.current;
        self.squares += u128::from(self.current) * u128::from(self.current);
        self.current = 0;
        let empty = (at_ns - self.end_ns) / self.length_ns;
        self.closed += empty;
        self.end_ns = self.end_ns.saturating_add((empty + 1).saturating_mul(self.length_ns));
    }

    pub(super) fn dispersion(self) -> Option<f64> {
        if self.closed < 2 || self.sum == 0 {
            return None;
        }
        let (count, mean) = (self.closed as f64, self.sum as f64 / self.closed as f64);
        let variance = (self.squares as f64 - count * mean * mean).max(0.0) / (count - 1.0);
        Some(variance / mean)
    }
}
