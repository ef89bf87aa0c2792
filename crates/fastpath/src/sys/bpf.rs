//! bpf(2): maps, programs, their place at an interface, and running one. Nothing is pinned: all is gone with its file.

use super::{checked, owned};
use std::io;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd as _, OwnedFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const PROG_RUN: libc::c_int = 10;
const LINK_CREATE: libc::c_int = 28;
const LINK_UPDATE: libc::c_int = 29;

const MAP_TYPE_ARRAY: u32 = 2;
/// An array of interfaces: the kernel takes one out when it goes away, or into another namespace.
const MAP_TYPE_DEVICES: u32 = 14;
/// `BPF_F_MMAPABLE`.
const MAPPABLE: u32 = 1 << 10;
const PROG_TYPE_XDP: u32 = 6;
/// `BPF_XDP`.
const ATTACH_XDP: u32 = 37;
/// `BPF_F_TEST_XDP_LIVE_FRAMES`.
const LIVE_FRAMES: u32 = 1 << 1;
/// The kernel's clock is for programs whose licence is the kernel's.
const LICENCE: &[u8] = b"Dual MIT/GPL\0";

/// So often a program is loaded again at most that a signal kept from being looked at.
const MOST_LOADS: u32 = 100;

/// Asks the kernel with the part of `union bpf_attr` that a command reads.
fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_long> {
    // SAFETY: the kernel reads the attributes, of the length given; what they point to lives until it answers. Of no command here
    // does it write to what they point to.
    checked(unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of_val(attributes)) })
}

/// An array that programs and this process share, or one of interfaces.
#[derive(Debug)]
pub(crate) struct Map {
    pub(super) file: OwnedFd,
    pub(super) bytes: usize,
}

impl Map {
    /// `entries` values of `value_bytes`, a multiple of eight.
    ///
    /// # Errors
    /// If this user may not, or there is no memory.
    pub(crate) fn array(value_bytes: u32, entries: u32) -> io::Result<Self> {
        Self::of(MAP_TYPE_ARRAY, value_bytes, entries, MAPPABLE)
    }

    /// One that holds an interface of the namespace of the calling thread.
    ///
    /// # Errors
    /// If this user may not, or the interface is gone.
    pub(crate) fn device(interface: u32) -> io::Result<Self> {
        #[repr(C)]
        struct Update {
            map: u32,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let map = Self::of(MAP_TYPE_DEVICES, size_of_val(&interface) as u32, 1, 0)?;
        let first = 0_u32;
        let (key, value) = ((&raw const first) as u64, (&raw const interface) as u64);
        bpf(MAP_UPDATE, &Update { map: map.number(), padding: 0, key, value, flags: 0 })?;
        Ok(map)
    }

    fn of(kind: u32, value_bytes: u32, entries: u32, flags: u32) -> io::Result<Self> {
        #[repr(C)]
        struct Create {
            kind: u32,
            key_bytes: u32,
            value_bytes: u32,
            entries: u32,
            flags: u32,
        }
        let create = Create { kind, key_bytes: 4, value_bytes, entries, flags };
        let file = owned(bpf(MAP_CREATE, &create)?)?;
        Ok(Self { file, bytes: value_bytes as usize * entries as usize })
    }

    /// What an instruction names it by.
    pub(crate) fn number(&self) -> u32 {
        self.file.as_raw_fd() as u32
    }
}

/// A program that the kernel has found harmless.
#[derive(Debug)]
pub(crate) struct Program(OwnedFd);

impl Program {
    /// Loads instructions.
    ///
    /// # Errors
    /// If this user may not, or the kernel refuses them; then what it says of them is in the error.
    pub(crate) fn load(instructions: &[u64]) -> io::Result<Self> {
        #[repr(C)]
        struct Load {
            kind: u32,
            instructions: u32,
            code: u64,
            licence: u64,
            log_level: u32,
            log_bytes: u32,
            log: u64,
            kernel_version: u32,
            flags: u32,
            name: [u8; 16],
            interface: u32,
            attach: u32,
        }
        let load = |log: &mut [u8]| {
            bpf(
                PROG_LOAD,
                &Load {
                    kind: PROG_TYPE_XDP,
                    instructions: instructions.len() as u32,
                    code: instructions.as_ptr() as u64,
                    licence: LICENCE.as_ptr() as u64,
                    log_level: u32::from(!log.is_empty()),
                    log_bytes: log.len() as u32,
                    log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
                    kernel_version: 0,
                    flags: 0,
                    name: *b"dropline\0\0\0\0\0\0\0\0",
                    interface: 0,
                    attach: ATTACH_XDP,
                },
            )
        };
        // A signal ends the kernel's look at the instructions, and says nothing of them.
        let mut loaded = load(&mut []);
        for _ in 0..MOST_LOADS {
            match &loaded {
                Err(why) if why.raw_os_error() == Some(libc::EAGAIN) => loaded = load(&mut []),
                _ => break,
            }
        }
        match loaded {
            Err(why) if matches!(why.raw_os_error(), Some(libc::EINVAL | libc::EACCES)) => {
                let mut log = vec![0; 1 << 20];
                let _ = load(&mut log);
                let text = String::from_utf8_lossy(&log);
                let said = text.trim_end_matches('\0').trim_end().lines().rev().take(3).collect::<Vec<_>>();
                Err(io::Error::new(why.kind(), format!("{why} ({})", said.join(" | "))))
            }
            loaded => owned(loaded?).map(Self),
        }
    }

    /// Runs it `times` times on copies of a frame, in the namespace of the calling thread; what it redirects leaves. The kernel lets
    /// others run after each `batch`, and returns early on a signal.
    ///
    /// # Errors
    /// If this user or this kernel may not.
    pub(crate) fn run_live(&self, frame: &[u8], times: u32, batch: u32) -> io::Result<()> {
        #[repr(C)]
        struct Context {
            data: u32,
            data_end: u32,
            rest: [u32; 4],
        }
        #[repr(C)]
        struct Run {
            program: u32,
            returned: u32,
            data_bytes: u32,
            out_bytes: u32,
            data: u64,
            out: u64,
            times: u32,
            took: u32,
            context_bytes: u32,
            context_out_bytes: u32,
            context: u64,
            context_out: u64,
            flags: u32,
            cpu: u32,
            batch: u32,
            padding: u32,
        }
        let context = Context { data: 0, data_end: frame.len() as u32, rest: [0; 4] };
        let run = Run {
            program: self.0.as_raw_fd() as u32,
            returned: 0,
            data_bytes: frame.len() as u32,
            out_bytes: 0,
            data: frame.as_ptr() as u64,
            out: 0,
            times,
            took: 0,
            context_bytes: size_of::<Context>() as u32,
            context_out_bytes: 0,
            context: (&raw const context) as u64,
            context_out: 0,
            flags: LIVE_FRAMES,
            cpu: 0,
            batch,
            padding: 0,
        };
        bpf(PROG_RUN, &run).map(|_| ())
    }
}

/// How a program stands at an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// In the driver.
    Native,
    /// Behind it, where every driver has it.
    Generic,
}

/// A program at an interface, until this is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Attached(OwnedFd);

impl Attached {
    /// Puts one there; the interface is of the namespace of the calling thread.
    ///
    /// # Errors
    /// If this user may not, another one stands there, or the driver does not take it.
    pub(crate) fn at(program: &Program, interface: u32, mode: Mode) -> io::Result<Self> {
        #[repr(C)]
        struct Create {
            program: u32,
            interface: u32,
            attach: u32,
            flags: u32,
        }
        let flags = match mode {
            Mode::Generic => 1 << 1,
            Mode::Native => 1 << 2,
        };
        let program = program.0.as_raw_fd() as u32;
        owned(bpf(LINK_CREATE, &Create { program, interface, attach: ATTACH_XDP, flags })?).map(Self)
    }

    /// Puts another program in its place, without a gap.
    ///
    /// # Errors
    /// If the interface is gone.
    pub(crate) fn replace(&self, program: &Program) -> io::Result<()> {
        #[repr(C)]
        struct Update {
            link: u32,
            program: u32,
            flags: u32,
            old: u32,
        }
        let (link, program) = (self.0.as_raw_fd() as u32, program.0.as_raw_fd() as u32);
        bpf(LINK_UPDATE, &Update { link, program, flags: 0, old: 0 }).map(|_| ())
    }
}
