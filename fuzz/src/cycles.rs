//! An audio server's cycles: when each began, and how many frames had been served.

use dropline_jack::cycles::{Cycle, read};

/// Each cycle has a place in its schedule, in order, and none is earlier than the earliest.
pub fn check(bytes: &[u8]) {
    let Some(([period, rate, xruns], rest)) = bytes.split_first_chunk() else { return };
    let cycles: Vec<Cycle> = rest
        .chunks_exact(12)
        .map(|chunk| Cycle {
            // No monotonic clock is below zero.
            at_ns: i64::from_le_bytes(chunk[..8].try_into().expect("eight bytes")) & i64::MAX,
            frame: u32::from_le_bytes(chunk[8..].try_into().expect("four bytes")),
        })
        .collect();
    let told: Vec<usize> = (0..usize::from(*xruns)).collect();
    let found = read(&cycles, &told, u32::from(*period), 200 * u32::from(*rate));
    assert_eq!(found.late.len(), cycles.len());
    assert!(found.late.is_sorted_by_key(|late| late.cycle));
    assert!(cycles.is_empty() || (1..=cycles.len() as u64).contains(&found.schedules));
}
