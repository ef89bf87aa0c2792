//! A session in shared memory, of which the program under test wrote over what it liked.

use dropline_trace::{Session, Shape, WhenFull};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sessions made so far.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Whatever stands there, no more events are read than there are slots, and what follows goes on.
pub fn check(bytes: &[u8]) {
    let Some(([first, at], rest)) = bytes.split_first_chunk() else { return };
    let when_full = if first & 1 == 0 { WhenFull::DiscardNewest } else { WhenFull::OverwriteOldest };
    let shape = Shape { rings: 2, capacity: 4, when_full };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("dropline-fuzz-{}-{number}", std::process::id()));
    let mut session = Session::create(&path, shape).expect("there is room for some pages");
    let file = OpenOptions::new().write(true).open(&path).expect("it was just made");
    // The head's counters; the probes; the counters and the slots of both rings.
    let places = [28, 4096, 8192, 8192 + 128, 8192 + 256, 12_288, 12_288 + 128];
    let room = 12_288 + 2 * 4 * 32;
    let from = places[usize::from(*at) % places.len()];
    let rest = &rest[..rest.len().min(room - from)];
    file.write_all_at(rest, from as u64).expect("shared memory can be written");
    for _ in 0..2 {
        let mut read = 0;
        let drained = session.drain(|ring, event| {
            assert!(ring < 2);
            let _ = event;
            read += 1;
        });
        assert!(drained == read && read <= 8);
    }
    let _ = (session.counts(), session.probes(), session.calibration());
}
