//! The reader of traces: any metadata, any stream.

use dropline_ctf::Trace;
use std::io::Cursor;
use std::path::PathBuf;

/// Two bytes of length, the metadata, then a stream.
pub fn check(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (metadata, stream) = rest.split_at(length);
    let names = [("dropline:tx", "pipe", "n"), ("dropline:rx", "pipe", "n")];
    let stream = (PathBuf::from("stream"), Box::new(Cursor::new(stream.to_vec())) as _);
    let Ok(mut trace) = Trace::of(metadata, vec![stream], &names) else { return };
    let mut passages = 0;
    while let Ok(Some(passage)) = trace.next_passage() {
        assert!(passage.which < 2);
        passages += 1;
        if passages == 10_000 {
            return;
        }
    }
    assert_eq!(trace.counts().wanted, passages);
}
