//! What the operating system does for traffic, with one signature for every system.
//!
//! `linux.rs` and the files beside it move packets in batches, trains and frames, know what a socket dropped
//! and when the kernel met a packet; `portable.rs` uses the standard library alone and is built and tested on
//! Linux too (`--features portable`). The only unsafe code of this crate is here.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[path = "linux.rs"]
#[expect(unsafe_code, reason = "the system calls that the standard library does not have")]
mod imp;

#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
#[path = "portable.rs"]
mod imp;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[path = "linux_process.rs"]
#[expect(unsafe_code, reason = "the system calls that the standard library does not have")]
mod process;

#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
#[path = "portable_process.rs"]
mod process;

#[cfg(test)]
#[expect(unsafe_code, reason = "an allocator that counts")]
pub(crate) mod allocations;

#[cfg(all(test, target_os = "linux"))]
#[expect(unsafe_code, reason = "a program for the kernel, which no library here attaches")]
pub(crate) mod led_by_program;

pub(crate) use imp::{
    FrameSocket, InBatch, OutBatch, ReceiveBatch, SendBatch, allowed_cpus, can_stamp_departures, coarse_now,
    count_tracepoint, counted, errno_name, hear_queued, keep_trains, let_wait, link_to, neighbour,
    older_rules, open_count, open_tap, open_tap_of_trial, prefer, programs_at, real_time, receive_drops,
    receive_memory, report_refusals, run_on, set_receive_buffer, sharpen_sleep, stamp_packets, tap_trial,
    wait_and_hear, wait_for_stamps, wait_readable,
};

pub(crate) use process::{
    Tether, ask_to_end, end_with_parent, go_first, monotonic_ns, sleep_for, sleep_until_ns, start_with_us,
};

use std::collections::BTreeSet;
use std::io;
use std::net::UdpSocket;

/// Most packets that move in one system call: 32 to 64 reach the full rate, more gain nothing.
pub(crate) const BATCH: usize = 64;

/// Most packets that leave as one train.
pub(crate) const TRAIN: usize = 128;

/// Which IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpVersion {
    V4,
    V6,
}

/// What waited in a socket's error queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "portable"),
    expect(dead_code, reason = "nothing waits there")
)]
pub(crate) enum Queued {
    /// The packet of this number left at this time of the settable clock.
    Left { number: u32, stamp_ns: i64 },
    /// What the network reported: its error is in `SO_ERROR` too.
    Error,
}

/// Where a tapped frame came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entrance {
    /// The interface's number.
    pub(crate) interface: u32,
    /// Bytes of the link's header before that of IP.
    pub(crate) header_bytes: usize,
}

/// How a program ends whose starter was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    /// It is asked to, and may tidy up (`SIGTERM`).
    Asked,
    /// It is ended (`SIGKILL`).
    Killed,
}

/// What a trial's packets are told by, of all that pass an interface.
#[derive(Clone, Copy)]
pub(crate) enum Mark<'a> {
    /// The tag that they carry.
    Tag(u32),
    /// A port of theirs, at either end.
    Ports(&'a BTreeSet<u16>),
}

/// How packets leave.
pub(crate) enum Exit<'a> {
    /// One system call each.
    Each(&'a UdpSocket),
    /// Many in one system call.
    Many(&'a UdpSocket),
    /// Those that are due together as one long packet, which the kernel cuts up.
    Train(&'a UdpSocket),
    /// As Ethernet frames of our own.
    Frames(&'a FrameSocket),
    /// Not at all: what a sender costs without the system.
    Nowhere,
}

/// Packets that the system did not take.
#[derive(Debug)]
pub(crate) struct Refused {
    /// Why not.
    pub(crate) error: io::Error,
    /// How many, from the first that was to be sent.
    pub(crate) packets: usize,
}
