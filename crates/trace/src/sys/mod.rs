//! Memory shared between programs, the cheapest honest clock, and the thread's own ring: the crate's unsafe
//! code.
#![expect(unsafe_code, reason = "shared memory, the processor's counter, and a thread's own ring")]

pub(crate) mod clock;
#[cfg(feature = "std")]
pub(crate) mod local;
#[cfg(feature = "std")]
pub(crate) mod region;
