//! What Linux does for a thread that must wake up in time. The only unsafe code of this crate is here.

#![expect(unsafe_code, reason = "the system calls that the standard library does not have")]

use std::io;

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn now_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a timespec where it is told, which lives here.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Sleeps until CLOCK_MONOTONIC shows this; at once when it has passed.
pub(crate) fn sleep_until(at_ns: i64) {
    let at = libc::timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 };
    // A signal ends the sleep early: it is resumed.
    // SAFETY: the kernel reads one timespec, which lives here, and writes nothing of an absolute sleep.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, std::ptr::null_mut())
    } == libc::EINTR
    {}
}

/// The CPUs that this thread may run on, ascending.
pub(crate) fn allowed_cpus() -> io::Result<Vec<usize>> {
    // SAFETY: a set of CPUs is bits; no bit is a legal set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most the length of the set that it is given.
    let done = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    checked(done)?;
    // SAFETY: the index is below the number of bits of the set.
    let is_in = |cpu: usize| unsafe { libc::CPU_ISSET(cpu, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(|&cpu| is_in(cpu)).collect())
}

/// Keeps this thread on one CPU.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: a set of CPUs is bits; no bit is a legal set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the index is below the number of bits of the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the kernel reads the set that lives here, of the length that it is told.
    checked(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })
}

/// Gives this thread SCHED_FIFO.
pub(crate) fn fifo(priority: u8) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: libc::c_int::from(priority) };
    // SAFETY: the kernel reads the parameters, which live here.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
}

/// Lets timers of this thread expire so much later; returns what the kernel then says.
pub(crate) fn set_timer_slack(ns: u64) -> Option<u64> {
    // SAFETY: both are calls with plain numbers that concern this thread alone.
    let kept = unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong, 0, 0, 0);
        libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0)
    };
    u64::try_from(kept).ok()
}

/// Keeps all memory of the process in RAM, what is allocated later too.
pub(crate) fn lock_memory() -> io::Result<()> {
    // SAFETY: a call with plain numbers; it changes where pages are, not what is in them.
    checked(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) })
}

/// The reverse.
pub(crate) fn unlock_memory() {
    // SAFETY: a call without arguments; it changes where pages may be, not what is in them.
    unsafe { libc::munlockall() };
}

/// Ticks a second of the times in /proc/stat.
pub(crate) fn ticks_per_second() -> Option<u64> {
    // SAFETY: a call with a plain number.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|ticks| *ticks > 0)
}

fn checked(done: libc::c_int) -> io::Result<()> {
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
