//! A process of its own: its clock, its CPU, its priority, its end.

use crate::seat::Farewell;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

/// Now by the clock that all processes of this machine share and nobody sets (`CLOCK_MONOTONIC`), in ns.
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, which is what it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sleeps until then by the same clock; returns earlier when a signal arrives.
pub(crate) fn sleep_until_ns(at_ns: u64) {
    let at = libc::timespec {
        tv_sec: (at_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: reads one timespec; no remainder is asked for.
    unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, std::ptr::null_mut())
    };
}

/// Sleeps for as long on the timers as they are, their slack included.
pub(crate) fn sleep_for(length: Duration) {
    std::thread::sleep(length);
}

/// Takes this priority among the processes that go first (`SCHED_FIFO`), for what it starts too.
pub(crate) fn go_first(priority: u8) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority.into() };
    // SAFETY: the kernel reads one sched_param.
    answer(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
}

/// Lets this process end when the one that started it does.
pub(crate) fn end_with_parent() {
    // SAFETY: sets one number of the calling process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
}

/// Starts a program that is sent a signal when the thread that starts it ends, however that ends.
pub(crate) fn start_with_us(command: &mut Command, farewell: Farewell) -> io::Result<Child> {
    let signal = match farewell {
        Farewell::Asked => libc::SIGTERM,
        Farewell::Killed => libc::SIGKILL,
    };
    let us = std::process::id();
    // SAFETY: what runs between fork and exec is two system calls with plain numbers.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong);
            // We may have ended before that. Who is in another namespace of processes is number 0 there.
            match libc::getppid() {
                0 => Ok(()),
                parent if parent.cast_unsigned() == us => Ok(()),
                _ => Err(io::ErrorKind::BrokenPipe.into()),
            }
        });
    }
    command.spawn()
}

fn answer(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
