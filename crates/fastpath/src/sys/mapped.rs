//! The memory of a map, as this process sees it.

use super::Map;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// A map's values as words of 64 bits, which programs in the kernel read and write meanwhile.
#[derive(Debug)]
pub(crate) struct Mapped {
    place: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: what is shared is words that are read and written as atomic ones alone.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// # Errors
    /// If there is no room for it.
    pub(crate) fn of(map: &Map) -> io::Result<Self> {
        // SAFETY: a new mapping, where the kernel has room, of a map that was made to be mapped and has so many bytes.
        let place = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                map.bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.file.as_raw_fd(),
                0,
            )
        };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let place = NonNull::new(place.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { place, bytes: map.bytes })
    }

    /// All of it.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page, has so many bytes, and lives as long as this value. Nothing in this process reads or
        // writes it but as these atomic words.
        unsafe { std::slice::from_raw_parts(self.place.as_ptr(), self.bytes / size_of::<u64>()) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `of`, has so many bytes, and nothing borrows from it any more.
        unsafe { libc::munmap(self.place.as_ptr().cast(), self.bytes) };
    }
}
