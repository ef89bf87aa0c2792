//! What Linux does for frames: BPF, raw sockets, interfaces, the clock. The only unsafe code of this crate is here.

#![expect(unsafe_code, reason = "the system calls that the standard library does not have")]

mod bpf;
mod interface;
mod mapped;
mod packets;

pub(crate) use bpf::{Attached, Map, Mode, Program};
pub(crate) use interface::{Seen, driver, look};
pub(crate) use mapped::Mapped;
pub(crate) use packets::{FrameSocket, Sent};

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// CLOCK_MONOTONIC in nanoseconds: the clock of `bpf_ktime_get_ns`.
pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a timespec where it is told, which lives here.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Lets the calling thread run before others, where this user may: before all of usual priority if it sleeps now and then. One that
/// never does would be stopped for 50 ms of each second (`kernel.sched_rt_runtime_us`), and goes before its own session's alone.
pub(crate) fn run_before_others(sleeps: bool) {
    const LEAST_NICE: libc::c_int = -20;
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel reads the parameters, which live here; both calls concern this thread alone.
    unsafe {
        match sleeps {
            true => libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters),
            false => libc::setpriority(libc::PRIO_PROCESS, 0, LEAST_NICE),
        }
    };
}

/// What a system call answered, or why it did not.
fn checked(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// A file that a system call made.
fn owned(answer: libc::c_long) -> io::Result<OwnedFd> {
    let file = checked(answer)?;
    // SAFETY: a file descriptor that was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(file as libc::c_int) })
}
