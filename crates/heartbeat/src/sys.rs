//! The C library's functions. The only unsafe code of this crate is here.
#![expect(unsafe_code, reason = "the aggregator is C")]

use crate::{PACKET_BYTES, REPORT_BYTES};

/// The C library's `hb_table`. All zero is the empty table.
#[repr(C)]
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) report: [u8; REPORT_BYTES],
}

pub(crate) const IGNORED: u8 = 0;
pub(crate) const STORED: u8 = 1;
pub(crate) const REPORT_READY: u8 = 2;

unsafe extern "C" {
    fn hb_handle(table: *mut Table, now: u16, packet: *const u8, packet_len: usize) -> u8;
    fn hb_handle_copy(
        table: *mut Table,
        now: u16,
        packet: *const u8,
        packet_len: usize,
        reply: *mut u8,
    ) -> u8;
}

pub(crate) fn handle(table: &mut Table, now: u16, packet: &[u8]) -> u8 {
    // SAFETY: the table and the packet are valid for the call and do not overlap, since one is borrowed mutably; the
    // callee reads `packet.len()` bytes at most, writes the table only and keeps no pointer.
    unsafe { hb_handle(table, now, packet.as_ptr(), packet.len()) }
}

pub(crate) fn handle_copy(table: &mut Table, now: u16, packet: &[u8], reply: &mut [u8; REPORT_BYTES]) -> u8 {
    // SAFETY: as above; `reply` has the REPORT_BYTES bytes that the callee writes and overlaps neither other, since it
    // is borrowed mutably.
    unsafe { hb_handle_copy(table, now, packet.as_ptr(), packet.len(), reply.as_mut_ptr()) }
}

const _: () = assert!(size_of::<Table>() == REPORT_BYTES && align_of::<Table>() == 1 && PACKET_BYTES == 8);
