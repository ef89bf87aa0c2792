//! What the kernel hands over as bytes: control messages, and frames with their headers.

use dropline_traffic::control::{Control, Extended, HEADER, controls, software_stamp, write};
use dropline_traffic::tap::Tapped;

/// Control messages that are read lie within the bytes, and are read again as they were written; a frame that
/// is read as a datagram has at least one.
pub fn check(bytes: &[u8]) {
    let mut held = 0;
    let mut room = vec![0; bytes.len() + 64];
    for control in controls(bytes) {
        held += HEADER + control.data.len();
        assert!(held <= bytes.len(), "no byte is in two messages");
        let _ = (software_stamp(control.data), Extended::read(control.data));
        let written = write(&mut room, control);
        let again: Vec<Control<'_>> = controls(&room[..written]).collect();
        assert_eq!(again, [control]);
    }
    for link_bytes in [0, 14] {
        if let Some(tapped) = Tapped::read(bytes, link_bytes) {
            assert!(tapped.datagrams > 0 || tapped.payload_bytes == 0);
        }
    }
}
