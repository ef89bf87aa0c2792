//! The tracepoints as an LTTng-UST provider: a library that is loaded when the environment names it.

use crate::Kind;
use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The variable that names the provider's library.
pub(crate) const VARIABLE: &str = "DROPLINE_LTTNG";

/// The provider's functions; its library stays loaded.
#[derive(Clone, Copy)]
pub(crate) struct Provider {
    write: extern "C" fn(u64, u32, u64, u64),
    records: extern "C" fn() -> c_int,
}

// In the C library itself since glibc 2.34, and in musl; the stub of this name is still there.
#[link(name = "dl")]
unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// RTLD_NOW: what is missing is found out here and not in the middle of a tracepoint.
const NOW: c_int = 2;

impl Provider {
    /// Loads the library that the environment names; `None` where it names none, or one that cannot be loaded.
    pub(crate) fn from_environment() -> Option<Self> {
        let path = std::env::var_os(VARIABLE)?;
        Self::load(path.as_ref())
    }

    fn load(path: &Path) -> Option<Self> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: the path ends in a zero. The user named the library: running its constructors is what was asked for.
        let library = unsafe { dlopen(path.as_ptr(), NOW) };
        if library.is_null() {
            return None;
        }
        // SAFETY: the library is open and is never closed; the names end in zeros.
        let [write, records] = [c"dropline_lttng_write", c"dropline_lttng_records"]
            .map(|name| unsafe { dlsym(library, name.as_ptr()) });
        if write.is_null() || records.is_null() {
            return None;
        }
        // SAFETY: functions of these names have these signatures in c/trace/lttng/dropline_lttng.c, and pointers to
        // functions and to data have one size on every system with dlsym.
        unsafe {
            Some(Self {
                write: std::mem::transmute::<*mut c_void, extern "C" fn(u64, u32, u64, u64)>(write),
                records: std::mem::transmute::<*mut c_void, extern "C" fn() -> c_int>(records),
            })
        }
    }

    /// Hands an event to LTTng, which stamps it.
    pub(crate) fn write(self, kind: Kind, pipe: u32, n: u64, extra: u64) {
        (self.write)(kind.code(), pipe, n, extra);
    }

    /// Whether a session of LTTng records.
    pub(crate) fn records(self) -> bool {
        (self.records)() != 0
    }
}
