//! CPU time that was used on this machine, by all programs and by one.

use std::fs::read_to_string;

/// Length of the ticks in which the kernel tells CPU times (`USER_HZ`, 100 wherever there is Linux).
const TICK_NS: u64 = 10_000_000;

/// From a moment on, the CPU time of programs that are neither this one nor a target.
#[derive(Debug)]
pub(crate) struct OthersTime {
    target: u32,
    begun_ns: Option<u64>,
}

impl OthersTime {
    pub(crate) fn begin(target: u32) -> Self {
        Self { target, begun_ns: of_others(target) }
    }

    /// Since the beginning, in ns; `None` where the system does not say. Interrupts are nobody's.
    pub(crate) fn so_far(&self) -> Option<u64> {
        Some(of_others(self.target)?.saturating_sub(self.begun_ns?))
    }
}

/// What all used, less what this process and the target did.
fn of_others(target: u32) -> Option<u64> {
    let all = of_machine(&read_to_string("/proc/stat").ok()?)?;
    let one = |process: &str| of_process(&read_to_string(format!("/proc/{process}/stat")).ok()?);
    let known = one("self")? + one(&target.to_string())?;
    Some(all.saturating_sub(known) * TICK_NS)
}

/// User, nice and system of the first row of `/proc/stat`, in ticks.
fn of_machine(text: &str) -> Option<u64> {
    let row = text.lines().next()?.strip_prefix("cpu ")?;
    let mut numbers = row.split_whitespace().map(|number| number.parse::<u64>().ok());
    (0..3).map(|_| numbers.next()?).sum()
}

/// `utime` and `stime` of a process's `stat`, all threads, also those that ended, in ticks.
fn of_process(text: &str) -> Option<u64> {
    // A name may hold anything, spaces and brackets too.
    let (_, behind) = text.rsplit_once(") ")?;
    let mut numbers = behind.split_whitespace().skip(11).map(|number| number.parse::<u64>().ok());
    (0..2).map(|_| numbers.next()?).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_their_columns() {
        let machine = "cpu  10 20 3 4000 50 600 70 8 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(of_machine(machine), Some(33), "no idle time, no interrupts, no host's");
        let process = "7 (a) 9 9 (b) S 1 7 7 0 -1 4194560 100 0 0 0 40 2 900 900 20 0 1";
        assert_eq!(of_process(process), Some(42), "not its children's");
        assert_eq!((of_machine(""), of_machine("cpu  1 x 3"), of_process("7 (a) S 1 7")), (None, None, None));
    }

    #[test]
    fn what_this_program_used_is_not_others_and_a_process_that_is_gone_is_not_known() {
        let others = OthersTime::begin(std::process::id());
        assert!(others.so_far().is_some());
        assert_eq!(OthersTime::begin(u32::MAX).so_far(), None);
    }
}
