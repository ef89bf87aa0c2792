//! A stored histogram.

use super::text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dropline_stats::Histogram;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write as _;

/// Bytes are read as stored text, and once more behind the base64 and deflate that a stored histogram is
/// wrapped in, which no fuzzer guesses. What was read keeps its counts when it is stored again.
pub fn check(bytes: &[u8]) {
    keeps_its_counts(text(bytes).trim());
    keeps_its_counts(&wrapped(bytes));
}

fn keeps_its_counts(text: &str) {
    let Ok(histogram) = Histogram::from_v2_deflate(text) else { return };
    let cells: Vec<(u64, u64)> = histogram.cells().collect();
    let sum: u64 = cells.iter().map(|(_, count)| count).sum();
    assert_eq!(sum, histogram.count());
    assert!(cells.is_sorted_by(|(low, _), (high, _)| low < high), "{cells:?}");
    let quantiles = [0.0, 0.5, 0.99, 1.0].map(|q| histogram.quantile(q));
    assert!(quantiles.into_iter().flatten().is_sorted(), "{quantiles:?}");
    let again = Histogram::from_v2_deflate(&histogram.to_v2_deflate()).expect("what was stored can be read");
    assert_eq!(again.cells().collect::<Vec<_>>(), cells);
    let mut twice = histogram.clone();
    twice.merge(&again);
    assert_eq!(twice.cells().count(), cells.len());
    let _ = twice.to_v2_deflate();
}

/// The bytes as what a compressed histogram holds.
fn wrapped(bytes: &[u8]) -> String {
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
    deflated.write_all(bytes).expect("writing to memory does not fail");
    let deflated = deflated.finish().expect("writing to memory does not fail");
    let mut stored = 0x1c84_9314u32.to_be_bytes().to_vec();
    stored.extend((deflated.len() as u32).to_be_bytes());
    stored.extend(deflated);
    STANDARD.encode(stored)
}
