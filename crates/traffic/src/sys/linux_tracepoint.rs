//! Linux: how often a tracepoint was passed (perf_event_open(2)).

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// The first part of linux/perf_event.h's `perf_event_attr`, which kernels take for the whole.
#[derive(Default)]
#[repr(C)]
struct Wanted {
    kind: u32,
    size: u32,
    config: u64,
    unused: [u64; 6],
}

const TRACEPOINT: u32 = 2;
const CLOSE_ON_EXEC: libc::c_ulong = 8;
/// `_IOW('$', 6, char *)`.
const SET_FILTER: libc::Ioctl = 0x4008_2406;

/// A file that reads as the number of times, in 64 bits, that anybody on CPU `cpu` passed the tracepoint since now, as
/// far as `filter` has it.
///
/// # Errors
/// `EACCES` without `CAP_PERFMON`, `EINVAL` or `ENODEV` where there is no such CPU.
pub(crate) fn count_tracepoint(id: u64, cpu: u32, filter: &str) -> io::Result<File> {
    let wanted =
        Wanted { kind: TRACEPOINT, size: size_of::<Wanted>() as u32, config: id, ..Wanted::default() };
    let filter = CString::new(filter).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the kernel reads the structure, of the size that it states; the number is checked before it is owned.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const wanted,
            -1 as libc::pid_t,
            cpu as libc::c_int,
            -1 as libc::c_int,
            CLOSE_ON_EXEC,
        )
    };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a file descriptor that was just made and belongs to nobody else.
    let event = unsafe { OwnedFd::from_raw_fd(event as libc::c_int) };
    // SAFETY: the kernel reads a string that ends with a zero byte.
    let filtered = unsafe { libc::ioctl(event.as_raw_fd(), SET_FILTER, filter.as_ptr()) };
    if filtered < 0 { Err(io::Error::last_os_error()) } else { Ok(File::from(event)) }
}
