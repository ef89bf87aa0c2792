//! How long a thread wanted to run and did not.

use std::fs::File;
use std::io::Read as _;
use std::time::Duration;

/// From a moment on, the calling thread's time in the run queue.
pub(crate) struct RunQueueWait(Option<Duration>);

impl RunQueueWait {
    pub(crate) fn begin() -> Self {
        Self(waited())
    }

    /// Since the beginning; `None` where the system does not say.
    pub(crate) fn so_far(&self) -> Option<Duration> {
        Some(waited()?.saturating_sub(self.0?))
    }
}

/// The second number of the thread's `schedstat` (linux/Documentation/scheduler/sched-stats.rst).
fn waited() -> Option<Duration> {
    // Three numbers of at most 20 digits. On the stack: a trial's loop asks for no memory, however long they are.
    let mut text = [0; 64];
    let length = File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    of_schedstat(std::str::from_utf8(&text[..length]).ok()?)
}

fn of_schedstat(text: &str) -> Option<Duration> {
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(of_schedstat("123 4567 8\n"), Some(Duration::from_nanos(4567)));
        assert_eq!(of_schedstat(""), None);
        assert_eq!(of_schedstat("1 x 2"), None);
    }
}
