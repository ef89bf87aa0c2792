//! A process of its own: its clock, its CPU, its priority, its end.

use crate::sys::Farewell;
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
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

/// Sleeps for as long on the timers as they are, their slack included; returns earlier when a signal arrives.
pub(crate) fn sleep_for(length: Duration) {
    let length = libc::timespec {
        tv_sec: length.as_secs().min(libc::time_t::MAX as u64) as libc::time_t,
        tv_nsec: length.subsec_nanos().into(),
    };
    // SAFETY: reads one timespec; no remainder is asked for.
    unsafe { libc::nanosleep(&raw const length, std::ptr::null_mut()) };
}

/// Asks a program of ours to end.
pub(crate) fn ask_to_end(child: &Child) {
    // SAFETY: a system call with plain numbers; the child has not been waited for, so its number is still its own.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
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

/// What holds a program's process group: the group is ended when this is closed, by whomever.
#[derive(Debug)]
pub(crate) struct Tether {
    _end: io::PipeWriter,
}

/// Starts a program in a group of its own. It is sent a signal when the thread that starts it ends, however that ends;
/// its group, when the tether is closed.
pub(crate) fn start_with_us(command: &mut Command, farewell: Farewell) -> io::Result<(Child, Tether)> {
    let signal = match farewell {
        Farewell::Asked => libc::SIGTERM,
        Farewell::Killed => libc::SIGKILL,
    };
    let us = std::process::id();
    let (held, end) = io::pipe()?;
    let watched = held.as_raw_fd();
    command.process_group(0);
    // SAFETY: what runs between fork and exec is system calls with plain numbers, and no memory is asked for.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong);
            // We may have ended before that. Who is in another namespace of processes is number 0 there.
            match libc::getppid() {
                0 => {}
                parent if parent.cast_unsigned() == us => {}
                _ => return Err(io::ErrorKind::BrokenPipe.into()),
            }
            post_guard(watched, signal)
        });
    }
    Ok((command.spawn()?, Tether { _end: end }))
}

/// Leaves a process in this group that ends the group when nobody holds the pipe's other end any more. It is no child
/// of the program, which may wait for all of its own.
fn post_guard(watched: RawFd, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: called between fork and exec, where one thread runs; each copy does system calls alone, and never returns.
    unsafe {
        let between = libc::fork();
        if between == 0 {
            match libc::fork() {
                0 => guard(watched, signal),
                guard => libc::_exit(i32::from(guard < 0)),
            }
        }
        let mut status = 0;
        answer(between.min(0))?;
        while libc::waitpid(between, &raw mut status, 0) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        if status == 0 { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) }
    }
}

/// From being asked to end to being ended.
static GRACE: libc::timespec = libc::timespec { tv_sec: 1, tv_nsec: 0 };

/// Waits for the pipe's end, then ends the group, itself included: as long as it is there, no other has its number.
///
/// # Safety
/// In a process that does nothing else, and nothing of which is needed.
unsafe fn guard(watched: RawFd, signal: libc::c_int) -> ! {
    // SAFETY: system calls with plain numbers; the one that writes has a byte to write to.
    unsafe {
        // Nothing else is kept open: others wait for the end of what this copy inherited.
        libc::dup2(watched, 0);
        if libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0) != 0 {
            (1..1024).for_each(|fd| _ = libc::close(fd));
        }
        for asked in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::signal(asked, libc::SIG_IGN);
        }
        let mut byte = 0u8;
        loop {
            let read = libc::read(0, (&raw mut byte).cast(), 1);
            let again = read < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
            if read <= 0 && !again {
                break;
            }
        }
        libc::kill(0, signal);
        libc::nanosleep(&raw const GRACE, std::ptr::null_mut());
        libc::kill(0, libc::SIGKILL);
        libc::_exit(0)
    }
}

fn answer(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
