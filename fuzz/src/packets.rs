//! The file of each packet's times.

use dropline_record::PacketFile;

/// Bytes are read as a file, and once more as the packets of a block under a head and checksums that are
/// right, which no fuzzer guesses. What was read is written and read again as it was.
pub fn check(bytes: &[u8]) {
    keeps_its_packets(bytes);
    if let Some((&first, rest)) = bytes.split_first() {
        keeps_its_packets(&sealed(first & 7, first >> 3, rest));
    }
}

fn keeps_its_packets(bytes: &[u8]) {
    let Ok(file) = PacketFile::read(bytes) else { return };
    // A packet takes a byte for its due time and one for its leaving, at least.
    assert!(2 * file.times.len() <= bytes.len());
    let written = PacketFile::to_bytes(file.trial, file.seed, &file.times);
    let again = PacketFile::read(&written).expect("what was written can be read");
    assert_eq!(again, PacketFile { missing: 0, ..file });
}

/// A file of one block with these bytes as its packets.
fn sealed(columns: u8, count: u8, packets: &[u8]) -> Vec<u8> {
    let mut file = b"dlpkts\n\x01".to_vec();
    for number in [1u64, 7, u64::from(count), 0] {
        file.extend(number.to_le_bytes());
    }
    file.extend([columns, 0, 1, 0]);
    file.extend(crc32fast::hash(&file).to_le_bytes());
    let mut summed = u32::from(count).to_le_bytes().to_vec();
    summed.extend((packets.len() as u32).to_le_bytes());
    file.extend(&summed);
    summed.extend(packets);
    file.extend(crc32fast::hash(&summed).to_le_bytes());
    file.extend(packets);
    file
}
