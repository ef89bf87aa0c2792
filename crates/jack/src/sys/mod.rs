//! libjack, loaded when it is needed. The only unsafe code of this crate is here.

#![expect(unsafe_code, reason = "a C library that is loaded at run time and calls back")]

use crate::cycles::Cycle;
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{io, mem};

/// `JackNoStartServer | JackServerName`.
const OPTIONS: c_uint = 0x01 | 0x04;
/// Xruns whose place is kept; more are counted.
const MOST_XRUNS: usize = 4096;

type RawClient = *mut c_void;

/// The functions of libjack that are used.
#[derive(Clone, Copy)]
struct Library {
    open: unsafe extern "C" fn(*const c_char, c_uint, *mut c_uint, ...) -> RawClient,
    close: unsafe extern "C" fn(RawClient) -> c_int,
    activate: unsafe extern "C" fn(RawClient) -> c_int,
    on_process:
        unsafe extern "C" fn(RawClient, extern "C" fn(c_uint, *mut c_void) -> c_int, *mut c_void) -> c_int,
    on_xrun: unsafe extern "C" fn(RawClient, extern "C" fn(*mut c_void) -> c_int, *mut c_void) -> c_int,
    on_shutdown: unsafe extern "C" fn(RawClient, extern "C" fn(*mut c_void), *mut c_void),
    rate: unsafe extern "C" fn(RawClient) -> c_uint,
    period: unsafe extern "C" fn(RawClient) -> c_uint,
    is_realtime: unsafe extern "C" fn(RawClient) -> c_int,
    last_frame_time: unsafe extern "C" fn(RawClient) -> c_uint,
}

impl Library {
    /// Loads libjack, once for the life of the program.
    fn load() -> Result<Self, String> {
        // SAFETY: the name is a C string; libjack's initialisers are those of a library that any JACK program loads.
        let handle = unsafe { libc::dlopen(c"libjack.so.0".as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            return Err(last_error());
        }
        let symbol = |name: &CStr| {
            // SAFETY: the handle is of a loaded library that is never unloaded, the name is a C string.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if found.is_null() { Err(last_error()) } else { Ok(found) }
        };
        let quiet = [symbol(c"jack_set_error_function")?, symbol(c"jack_set_info_function")?];
        for set in quiet {
            // SAFETY: both have this signature in jack/jack.h, and take a function that is called with a message.
            unsafe {
                let set: unsafe extern "C" fn(extern "C" fn(*const c_char)) = mem::transmute(set);
                set(be_quiet);
            }
        }
        // SAFETY: each symbol has the signature that jack/jack.h gives it, which is that of its field; libjack keeps
        // them (its ABI is that of libjack.so.0).
        unsafe {
            Ok(Self {
                open: mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*const c_char, c_uint, *mut c_uint, ...) -> RawClient,
                >(symbol(c"jack_client_open")?),
                close: mem::transmute::<*mut c_void, unsafe extern "C" fn(RawClient) -> c_int>(symbol(
                    c"jack_client_close",
                )?),
                activate: mem::transmute::<*mut c_void, unsafe extern "C" fn(RawClient) -> c_int>(symbol(
                    c"jack_activate",
                )?),
                on_process: mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(
                        RawClient,
                        extern "C" fn(c_uint, *mut c_void) -> c_int,
                        *mut c_void,
                    ) -> c_int,
                >(symbol(c"jack_set_process_callback")?),
                on_xrun: mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(
                        RawClient,
                        extern "C" fn(*mut c_void) -> c_int,
                        *mut c_void,
                    ) -> c_int,
                >(symbol(c"jack_set_xrun_callback")?),
                on_shutdown: mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(RawClient, extern "C" fn(*mut c_void), *mut c_void),
                >(symbol(c"jack_on_shutdown")?),
                rate: mem::transmute::<*mut c_void, unsafe extern "C" fn(RawClient) -> c_uint>(symbol(
                    c"jack_get_sample_rate",
                )?),
                period: mem::transmute::<*mut c_void, unsafe extern "C" fn(RawClient) -> c_uint>(symbol(
                    c"jack_get_buffer_size",
                )?),
                is_realtime: mem::transmute::<*mut c_void, unsafe extern "C" fn(RawClient) -> c_int>(symbol(
                    c"jack_is_realtime",
                )?),
                last_frame_time: mem::transmute::<*mut c_void, unsafe extern "C" fn(RawClient) -> c_uint>(
                    symbol(c"jack_last_frame_time")?,
                ),
            })
        }
    }
}

/// What the dynamic linker said last.
fn last_error() -> String {
    // SAFETY: dlerror returns a C string that lives until the next call in this thread, or null.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "unknown".into() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

/// Nothing of libjack's own reaches the terminal: what matters is in its answers.
extern "C" fn be_quiet(_: *const c_char) {}

/// A client of a running server.
pub(crate) struct Client {
    library: Library,
    raw: RawClient,
    log: Box<Log>,
}

/// What the callbacks write. Calls come from one thread, xruns from another; the reader looks when the client is closed.
struct Log {
    library: Library,
    raw: RawClient,
    cycles: Box<[UnsafeCell<Cycle>]>,
    called: AtomicUsize,
    xruns: Box<[AtomicUsize]>,
    told: AtomicUsize,
    gone: AtomicBool,
}

/// What was written.
pub(crate) struct Logged {
    pub(crate) cycles: Vec<Cycle>,
    /// How many calls there were when each xrun was told; the first of them.
    pub(crate) xruns: Vec<usize>,
    /// All of them.
    pub(crate) told: usize,
}

impl Client {
    /// Joins a server, with room for so many calls; all memory is taken now.
    pub(crate) fn join(server: &str, room: usize) -> Result<Self, String> {
        let library = Library::load()?;
        let name = CString::new(server).map_err(|_| "a server's name has no zero byte".to_owned())?;
        let mut status = 0;
        // SAFETY: with JackServerName the one variadic argument is the server's name, a C string that lives here.
        let raw = unsafe { (library.open)(c"dropline".as_ptr(), OPTIONS, &raw mut status, name.as_ptr()) };
        if raw.is_null() {
            return Err(format!("libjack says status {status:#x}"));
        }
        let log = Box::new(Log {
            library,
            raw,
            cycles: vec![Cycle { at_ns: 1, frame: 1 }; room].into_iter().map(UnsafeCell::new).collect(),
            called: AtomicUsize::new(0),
            xruns: (0..MOST_XRUNS).map(|_| AtomicUsize::new(0)).collect(),
            told: AtomicUsize::new(0),
            gone: AtomicBool::new(false),
        });
        Ok(Self { library, raw, log })
    }

    /// Begins to be called.
    pub(crate) fn activate(&self) -> Result<(), String> {
        let log: *const Log = &raw const *self.log;
        let log = log.cast_mut().cast::<c_void>();
        // SAFETY: the client is open and not active; the log lives in a box until after the client is closed, and the
        // callbacks only read it through a shared reference.
        let done = unsafe {
            (self.library.on_shutdown)(self.raw, shut_down, log);
            (self.library.on_process)(self.raw, process, log) == 0
                && (self.library.on_xrun)(self.raw, xrun, log) == 0
                && (self.library.activate)(self.raw) == 0
        };
        if done { Ok(()) } else { Err("the server does not take this client".into()) }
    }

    /// Frames a second.
    pub(crate) fn rate(&self) -> u32 {
        // SAFETY: the client is open.
        unsafe { (self.library.rate)(self.raw) }
    }

    /// Frames of a period.
    pub(crate) fn period(&self) -> u32 {
        // SAFETY: the client is open.
        unsafe { (self.library.period)(self.raw) }
    }

    /// Whether the server runs with a real-time policy.
    pub(crate) fn is_realtime(&self) -> bool {
        // SAFETY: the client is open.
        unsafe { (self.library.is_realtime)(self.raw) != 0 }
    }

    /// How often it was called.
    pub(crate) fn called(&self) -> usize {
        self.log.called.load(Ordering::Acquire).min(self.log.cycles.len())
    }

    /// Whether the server has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.log.gone.load(Ordering::Acquire)
    }

    /// Leaves the server; nothing is called after that.
    pub(crate) fn leave(self) -> Logged {
        // SAFETY: the client is open, and closed once: the drop below is forgotten. No callback runs after it returns.
        unsafe { (self.library.close)(self.raw) };
        // SAFETY: all fields are taken out of a value that is never dropped, each once.
        let log = unsafe { std::ptr::read(&raw const self.log) };
        mem::forget(self);
        let (called, told) = (log.called.load(Ordering::Acquire), log.told.load(Ordering::Acquire));
        let cycles = Vec::from(log.cycles).into_iter().take(called).map(UnsafeCell::into_inner).collect();
        let xruns = log.xruns.iter().take(told).map(|at| at.load(Ordering::Acquire)).collect();
        Logged { cycles, xruns, told }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: the client is open; no callback runs after it returns, and the log is dropped after this.
        unsafe { (self.library.close)(self.raw) };
    }
}

extern "C" fn process(_: c_uint, log: *mut c_void) -> c_int {
    // SAFETY: the pointer is that of `activate`, to a log that lives until the client is closed.
    let log = unsafe { &*log.cast::<Log>() };
    let at_ns = now_ns();
    let at = log.called.load(Ordering::Relaxed);
    if let Some(cell) = log.cycles.get(at) {
        // SAFETY: the client is open while it is called, and this call may be made from its process thread.
        let frame = unsafe { (log.library.last_frame_time)(log.raw) };
        // SAFETY: only the process thread writes, only below `called`'s next value, which nobody reads yet.
        unsafe { *cell.get() = Cycle { at_ns, frame } };
        log.called.store(at + 1, Ordering::Release);
    }
    0
}

extern "C" fn xrun(log: *mut c_void) -> c_int {
    // SAFETY: as in `process`.
    let log = unsafe { &*log.cast::<Log>() };
    let number = log.told.fetch_add(1, Ordering::AcqRel);
    if let Some(at) = log.xruns.get(number) {
        at.store(log.called.load(Ordering::Acquire), Ordering::Release);
    }
    0
}

extern "C" fn shut_down(log: *mut c_void) {
    // SAFETY: as in `process`.
    let log = unsafe { &*log.cast::<Log>() };
    log.gone.store(true, Ordering::Release);
}

/// CLOCK_MONOTONIC in nanoseconds.
fn now_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a timespec where it is told, which lives here.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Starts a program that is told to end when this one does, however that ends.
pub(crate) fn start_with_us(command: &mut Command) -> io::Result<Child> {
    // SAFETY: what runs between fork and exec is one system call with plain numbers.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
    command.spawn()
}

/// Asks a program of ours to end.
pub(crate) fn terminate(child: &Child) {
    // SAFETY: a system call with plain numbers; the child has not been waited for, so its number is still its own.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_run_is_said_and_not_started() {
        // Without libjack the words are the linker's, with it they are libjack's.
        let why = Client::join("dropline-no-such-server", 4).err().unwrap();
        assert!(why.contains("libjack"), "{why}");
    }
}
