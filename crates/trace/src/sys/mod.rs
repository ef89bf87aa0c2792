//! Memory shared between programs, the cheapest honest clock, the thread's own ring, LTTng's library: the crate's unsafe
//! code.
#![expect(
    unsafe_code,
    reason = "shared memory, the processor's counter, a thread's own ring, a loaded library"
)]

pub(crate) mod clock;
#[cfg(feature = "std")]
pub(crate) mod local;
#[cfg(feature = "std")]
pub(crate) mod lttng;
#[cfg(feature = "std")]
pub(crate) mod region;
