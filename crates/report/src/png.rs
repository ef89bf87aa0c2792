//! PNG pictures of plots: other programs paint them; here they get the mark by which a file is known that may be drawn
//! anew.

use crate::MARK;
use flate2::Crc;

/// What every PNG begins with.
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The first chunk, which every PNG has: length, name, 13 bytes, checksum.
const HEADER: usize = 4 + 4 + 13 + 4;

/// The picture with our mark as its comment, behind its header; `None` if it is not a PNG.
pub fn marked_png(png: &[u8]) -> Option<Vec<u8>> {
    let at = SIGNATURE.len() + HEADER;
    if !png.starts_with(SIGNATURE) || png.len() < at || &png[12..16] != b"IHDR" {
        return None;
    }
    let chunk = [b"tEXtComment\0", MARK.as_bytes()].concat();
    let mut checksum = Crc::new();
    checksum.update(&chunk);
    let length = u32::try_from(chunk.len() - 4).ok()?;
    Some(
        [&png[..at], &length.to_be_bytes()[..], &chunk, &checksum.sum().to_be_bytes()[..], &png[at..]]
            .concat(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_keeps_all_that_it_has_and_gets_a_comment_that_its_readers_accept() {
        let mut png = SIGNATURE.to_vec();
        png.extend(b"\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90\x77\x53\xde");
        png.extend(b"\0\0\0\0IEND\xae\x42\x60\x82");
        let marked = marked_png(&png).expect("it is one");
        let (head, rest) = marked.split_at(33);
        assert_eq!(head, &png[..33]);
        assert!(rest.ends_with(&png[33..]));
        let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        assert_eq!(&rest[4..16], b"tEXtComment\0");
        assert_eq!(&rest[16..8 + length], MARK.as_bytes());
        let mut checksum = Crc::new();
        checksum.update(&rest[4..8 + length]);
        assert_eq!(rest[8 + length..12 + length], checksum.sum().to_be_bytes());
        assert_eq!(marked_png(b"<svg/>"), None);
        assert_eq!(marked_png(&png[..20]), None);
    }
}
