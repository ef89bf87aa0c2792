//! What the operating system does for traffic, with one signature for every system.
//!
//! `linux.rs` moves packets in batches and knows what a socket dropped; `portable.rs` uses the standard
//! library alone and is built and tested on Linux too (`--features portable`). The only unsafe code of
//! this crate is here.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[path = "linux.rs"]
#[expect(unsafe_code, reason = "the system calls that the standard library does not have")]
mod imp;

#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
#[path = "portable.rs"]
mod imp;

pub(crate) use imp::{
    InBatch, OutBatch, ReceiveBatch, SendBatch, addresses_elsewhere, errno_name, leads_off_this_machine,
    local_addresses, receive_drops, receive_memory, report_refusals, set_receive_buffer, sharpen_sleep,
    wait_readable,
};

/// Most packets that move in one system call: 32 to 64 reach the full rate, more gain nothing.
pub(crate) const BATCH: usize = 64;
