//! What a client of a closed loop hands over at its end.

use dropline_traffic::ClientReport;

/// What is read can be written, and is then read as the same.
pub fn check(bytes: &[u8]) {
    let Some(report) = ClientReport::read(bytes) else { return };
    assert!(report.forwarded() <= report.packets.len() as u64);
    let mut written = Vec::new();
    report.write(&mut written).expect("memory takes it");
    assert_eq!(ClientReport::read(&written), Some(report));
}
