//! What the kernel says beside a datagram: control messages (cmsg(3)) read from bytes.

use std::mem::size_of;

/// One control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control<'a> {
    /// Whose it is, such as `SOL_SOCKET`.
    pub level: i32,
    /// What it is, as its level numbers it.
    pub kind: i32,
    /// What it says.
    pub data: &'a [u8],
}

/// Bytes before the data: a length as wide as a pointer, level and kind.
pub const HEADER: usize = size_of::<usize>() + 8;

/// The control messages in `bytes`, up to the first that is cut off or too short to be one.
pub fn controls(bytes: &[u8]) -> impl Iterator<Item = Control<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from_ne_bytes(rest.get(..size_of::<usize>())?.try_into().ok()?);
        let message = rest.get(..length).filter(|message| message.len() >= HEADER)?;
        rest = rest.get(aligned(length)..).unwrap_or(&[]);
        let word = |at: usize| Some(i32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?));
        Some(Control {
            level: word(HEADER - 8)?,
            kind: word(HEADER - 4)?,
            data: message.get(HEADER..).unwrap_or(&[]),
        })
    })
}

/// Writes one control message at the start of `room`; how many bytes it takes there, padding included.
///
/// # Panics
/// If there is no room for it.
pub fn write(room: &mut [u8], control: Control<'_>) -> usize {
    let length = HEADER + control.data.len();
    room[..size_of::<usize>()].copy_from_slice(&length.to_ne_bytes());
    room[HEADER - 8..HEADER - 4].copy_from_slice(&control.level.to_ne_bytes());
    room[HEADER - 4..HEADER].copy_from_slice(&control.kind.to_ne_bytes());
    room[HEADER..length].copy_from_slice(control.data);
    aligned(length)
}

fn aligned(length: usize) -> usize {
    length.saturating_add(size_of::<usize>() - 1) & !(size_of::<usize>() - 1)
}

/// The software stamp in the data of a `SCM_TIMESTAMPING` message: the first of three `timespec`s, in
/// nanoseconds of the clock that can be set (`CLOCK_REALTIME`). `None` if there is none.
pub fn software_stamp(data: &[u8]) -> Option<i64> {
    const WORD: usize = size_of::<libc::c_long>();
    let word = |at: usize| {
        let bytes = data.get(at * WORD..(at + 1) * WORD)?;
        #[allow(clippy::unnecessary_cast, reason = "a C long is shorter on some machines")]
        Some(libc::c_long::from_ne_bytes(bytes.try_into().ok()?) as i64)
    };
    let stamp = word(0)?.checked_mul(1_000_000_000)?.checked_add(word(1)?)?;
    (stamp != 0).then_some(stamp)
}

/// What waits in a socket's error queue (`struct sock_extended_err`, linux/errqueue.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    /// Number of the error; `ENOMSG` for stamps.
    pub errno: u32,
    /// Who says it: 4 for the stamps of packets that left.
    pub origin: u8,
    /// Of a stamp: at which point it was taken.
    pub info: u32,
    /// Of a stamp: which packet it is of.
    pub data: u32,
}

impl Extended {
    /// The kernel's stamp of a packet that left (`SO_EE_ORIGIN_TIMESTAMPING`).
    pub const ORIGIN_TIMESTAMPING: u8 = 4;

    /// Reads it; `None` if it is cut off.
    pub fn read(data: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?));
        Some(Self { errno: word(0)?, origin: *data.get(4)?, info: word(8)?, data: word(12)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for control in controls(&bytes) {
                let _ = software_stamp(control.data);
                let _ = Extended::read(control.data);
            }
        }

        #[test]
        fn what_was_written_is_read(
            messages in prop::collection::vec(
                (any::<i32>(), any::<i32>(), prop::collection::vec(any::<u8>(), 0..40)), 0..5),
        ) {
            let mut room = vec![0; 1000];
            let mut used = 0;
            for (level, kind, data) in &messages {
                used += write(&mut room[used..], Control { level: *level, kind: *kind, data });
            }
            let read: Vec<_> = controls(&room[..used])
                .map(|control| (control.level, control.kind, control.data.to_vec()))
                .collect();
            prop_assert_eq!(read, messages);
        }
    }

    #[test]
    fn a_length_that_goes_nowhere_ends_the_list() {
        for length in [0, 1, HEADER - 1, 1000, usize::MAX] {
            let mut bytes = vec![0; 64];
            bytes[..size_of::<usize>()].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(controls(&bytes).count(), 0, "{length}");
        }
    }

    #[test]
    fn a_stamp_of_zero_is_none() {
        let mut data = [0; 48];
        assert_eq!(software_stamp(&data), None);
        data[..size_of::<libc::c_long>()].copy_from_slice(&(7 as libc::c_long).to_ne_bytes());
        assert_eq!(software_stamp(&data), Some(7_000_000_000));
        assert_eq!(software_stamp(&data[..4]), None);
    }
}
