//! Which CPUs a thread may run on, and who goes first.

use std::io;
use std::mem::MaybeUninit;

/// The CPUs that the calling thread may run on, ascending.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    // SAFETY: a plain bit set for which all zeroes is a value.
    let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the kernel writes at most the size given into the set.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: `CPU_ISSET` reads one bit of the set; all numbers are below its size.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Lets the calling thread run on these CPUs alone.
pub(crate) fn run_on(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: as above.
    let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
    for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
        // SAFETY: sets one bit of the set; the number is below its size.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the kernel reads the set, which is as large as it is told.
    answer(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })
}

/// Lets the calling thread run before all ordinary ones, or be an ordinary one again.
pub(crate) fn real_time(on: bool) -> io::Result<()> {
    let (policy, sched_priority) = if on { (libc::SCHED_FIFO, 10) } else { (libc::SCHED_OTHER, 0) };
    let param = libc::sched_param { sched_priority };
    // Children do not inherit it: a sender starts none, and none shall spin by accident.
    // SAFETY: the kernel reads the parameter.
    answer(unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &raw const param) })
}

/// Lets the calling thread, as an ordinary one, have most of its CPU where that is allowed.
pub(crate) fn prefer() -> io::Result<()> {
    // SAFETY: sets one number of the calling thread.
    answer(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) })
}

fn answer(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
