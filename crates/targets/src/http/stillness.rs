//! How long a tool stood still: it was stopped, or others had the CPUs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A pause is one where it stood still without a break for so long: any machine has shorter ones.
const A_PAUSE: Duration = Duration::from_millis(5);

/// Looks at a process now and then.
pub(super) struct Stillness {
    pid: u32,
    /// Of each thread, how long it had waited for a CPU at the last look.
    waited: BTreeMap<String, u64>,
    looked: Instant,
    /// The pause that goes on.
    pause: Duration,
    total: Duration,
}

impl Stillness {
    pub(super) fn of(pid: u32) -> Self {
        Self {
            pid,
            waited: BTreeMap::new(),
            looked: Instant::now(),
            pause: Duration::ZERO,
            total: Duration::ZERO,
        }
    }

    /// To be called again and again, while it runs.
    pub(super) fn look(&mut self) {
        let since = self.looked.elapsed();
        self.looked += since;
        let still = if is_stopped(self.pid) { since } else { self.longest_wait().min(since) };
        self.count(since, still);
    }

    /// It stood still for a part of the time since the last look.
    fn count(&mut self, since: Duration, still: Duration) {
        self.pause += still;
        if still * 2 < since {
            self.end_pause();
        }
    }

    /// All its pauses.
    pub(super) fn total(mut self) -> Duration {
        self.end_pause();
        self.total
    }

    fn end_pause(&mut self) {
        let pause = std::mem::take(&mut self.pause);
        if pause > A_PAUSE {
            self.total += pause;
        }
    }

    /// How long the thread that waited longest since the last look waited for a CPU.
    fn longest_wait(&mut self) -> Duration {
        let mut longest = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten().flatten() {
            let (name, line) = (task.file_name(), std::fs::read_to_string(task.path().join("schedstat")));
            // Time on a CPU, time waited for one, times put on one.
            let waited = line.ok().and_then(|line| line.split(' ').nth(1)?.parse().ok());
            let (Some(waited), Some(name)) = (waited, name.to_str()) else { continue };
            let before: u64 = self.waited.insert(name.to_owned(), waited).unwrap_or(waited);
            longest = longest.max(waited.saturating_sub(before));
        }
        Duration::from_nanos(longest)
    }
}

/// Whether it was sent SIGSTOP, or is held by a debugger.
fn is_stopped(pid: u32) -> bool {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may have any signs in it.
    line.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['T', 't']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_told_in_its_whole_length_and_moments_are_not() {
        let ms = Duration::from_millis;
        let mut stillness = Stillness::of(std::process::id());
        for (since, still) in [(5, 1), (5, 5), (6, 6), (5, 4), (5, 0), (5, 5), (5, 0), (900, 900)] {
            stillness.count(ms(since), ms(still));
        }
        assert_eq!(stillness.total(), ms(5 + 6 + 4 + 900));
    }
}
