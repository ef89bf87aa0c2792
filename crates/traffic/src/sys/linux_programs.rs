//! Linux: how many programs stand at an interface (bpf(2)).

use std::io;
use std::mem::size_of_val;

/// linux/bpf.h: asking for what is attached somewhere, and where: on both sides of traffic control.
const QUERY: libc::c_long = 16;
/// Where the answer stands in what was asked.
const HOW_MANY: usize = 6;
const TCX: [u32; 2] = [46, 47];

/// Programs of traffic control (tcx) at an interface of the calling thread's namespace.
///
/// # Errors
/// If this user may not ask, or this kernel has no such programs.
pub(crate) fn programs_at(interface: u32) -> io::Result<u32> {
    let mut programs = 0;
    for side in TCX {
        // No flags, and no room for their numbers.
        let mut asked = [0_u32; 16];
        (asked[0], asked[1]) = (interface, side);
        // SAFETY: the kernel reads and writes the structure alone, of the size that is stated; it has no pointers.
        let told = unsafe { libc::syscall(libc::SYS_bpf, QUERY, asked.as_mut_ptr(), size_of_val(&asked)) };
        if told < 0 {
            return Err(io::Error::last_os_error());
        }
        programs += asked[HOW_MANY];
    }
    Ok(programs)
}
