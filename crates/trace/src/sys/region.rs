//! A session's memory: a file that programs map and share.

use crate::Clock;
use crate::layout::{Head, MAGIC, PAGE, PROBES, ProbeEntry, Shape};
use crate::session_error::SessionError;
use crate::{Ring, RingCounters, Slot, WhenFull};
use core::mem::size_of;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// The session into which this process records, once it does.
pub(super) static REGION: OnceLock<Region> = OnceLock::new();

/// A mapped session. In a program that records it stays mapped for as long as the process lives: one of its threads may be
/// writing. A collector's goes with its [`Mapping`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(super) base: NonNull<u8>,
    shape: Shape,
    clock: Clock,
}

// SAFETY: after creation everything that is written is an atomic, and the mapping outlives who uses it.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

unsafe extern "C" {
    fn mmap(addr: *mut u8, length: usize, protection: i32, flags: i32, fd: i32, offset: i64) -> *mut u8;
    fn munmap(addr: *mut u8, length: usize) -> i32;
}

const READ_AND_WRITE: i32 = 1 | 2;
const SHARED: i32 = 1;
/// MAP_POPULATE: page faults are taken when a program attaches and not in its first events.
const POPULATE: i32 = if cfg!(target_os = "linux") { 0x8000 } else { 0 };

impl Region {
    /// Makes the session in a new, empty file and maps it.
    pub(crate) fn create(file: &File, shape: Shape, clock: Clock) -> Result<Self, SessionError> {
        let bytes = shape.bytes().ok_or(SessionError::Shape(shape))?;
        file.set_len(bytes as u64)?;
        let base = map(file, bytes)?;
        let head = base.cast::<Head>();
        // SAFETY: the mapping is a page at least, page-aligned, all zeros, and nobody else has it yet: the magic
        // by which others know a session is written last.
        unsafe {
            let head = head.as_ptr();
            (&raw mut (*head).rings).write(shape.rings);
            (&raw mut (*head).when_full).write(u32::from(shape.when_full == WhenFull::OverwriteOldest));
            (&raw mut (*head).capacity).write(shape.capacity);
            (&raw mut (*head).clock).write(clock.code());
            core::sync::atomic::fence(core::sync::atomic::Ordering::Release);
            (&raw mut (*head).magic).write_volatile(MAGIC);
        }
        Ok(Self { base, shape, clock })
    }

    /// Maps a session that somebody made. Everything that its head says is checked against the file's length
    /// before it is believed.
    pub(crate) fn open(path: &Path) -> Result<Self, SessionError> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut head = [0; Shape::HEAD_BYTES];
        file.read_exact(&mut head).or(Err(SessionError::Foreign))?;
        let length = file.metadata()?.len();
        let (shape, clock) = Shape::of_head(&head, length).ok_or(SessionError::Foreign)?;
        let bytes = usize::try_from(length).or(Err(SessionError::Foreign))?;
        Ok(Self { base: map(&file, bytes)?, shape, clock })
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn head(&self) -> &'static Head {
        // SAFETY: the mapping begins with a head, is page-aligned and outlives who uses it; of a head only atomics are
        // written after its creation.
        unsafe { self.base.cast().as_ref() }
    }

    pub(crate) fn probes(&self) -> &'static [ProbeEntry] {
        // SAFETY: the second page on holds this many entries of atomics.
        unsafe { std::slice::from_raw_parts(self.base.add(PAGE).cast().as_ptr(), PROBES) }
    }

    pub(crate) fn counters(&self, ring: u32) -> &'static RingCounters {
        assert!(ring < self.shape.rings, "ring {ring} of {}", self.shape.rings);
        let at = Shape::COUNTERS_AT + ring as usize * size_of::<RingCounters>();
        // SAFETY: the mapping holds counters of atomics for each ring there, aligned to 128 within a page.
        unsafe { self.base.add(at).cast().as_ref() }
    }

    pub(crate) fn ring(&self, ring: u32) -> Ring<'static> {
        let counters = self.counters(ring);
        let capacity = self.shape.capacity as usize;
        let at = self.shape.slots_at() + ring as usize * capacity * size_of::<Slot>();
        // SAFETY: `bytes` of the shape, which the mapping has, reach to the end of the last ring's slots; slots are
        // atomics, aligned to 32 within a page.
        let slots =
            unsafe { std::slice::from_raw_parts(self.base.add(at).cast::<Slot>().as_ptr(), capacity) };
        Ring::new(counters, slots, self.shape.when_full)
    }
}

/// The collecting end's claim to a region: the last of it to be dropped. The memory goes with it, unless this process records
/// into it itself.
#[derive(Debug)]
pub(crate) struct Mapping(pub(crate) Region);

impl Drop for Mapping {
    fn drop(&mut self) {
        let Region { base, shape, .. } = self.0;
        let (false, Some(bytes)) = (records_into(base), shape.bytes()) else { return };
        // SAFETY: it was mapped with this length. Readers and heads of it are a session's own, which drops this last, and
        // no tracepoint of this process writes there.
        unsafe { munmap(base.as_ptr(), bytes) };
    }
}

/// Whether this process records into the session that is mapped there.
fn records_into(base: NonNull<u8>) -> bool {
    REGION.get().is_some_and(|region| region.base == base)
}

fn map(file: &File, bytes: usize) -> Result<NonNull<u8>, SessionError> {
    // SAFETY: a new shared mapping of an open file at an address of the kernel's choice disturbs nothing; its
    // length is the file's. A file that somebody cuts short later raises SIGBUS, as with every shared mapping.
    let base =
        unsafe { mmap(std::ptr::null_mut(), bytes, READ_AND_WRITE, SHARED | POPULATE, file.as_raw_fd(), 0) };
    if base as isize == -1 {
        return Err(io::Error::last_os_error().into());
    }
    NonNull::new(base).ok_or(SessionError::Foreign)
}
