//! Files that others wrote.

use super::text;
use dropline_distributions::import::{Format, Hints};
use dropline_distributions::{csit, export};
use dropline_record::Record;
use dropline_stats::counted::MOST_EVENTS;

/// What is read has all of its events, and is stored and read again as it is.
pub fn check(bytes: &[u8]) {
    of_csit(bytes);
    let text = &*text(bytes);
    let looked_at = Format::of(text).unwrap_or(Format::Raw);
    for format in Format::all() {
        let Ok(imported) = format.parse(text, &Hints::default()) else { continue };
        assert!(!imported.is_empty(), "a file without a distribution is an error");
        for part in &imported {
            let cells: u64 = part.counted.cells().map(|(_, _, count)| count).sum();
            assert_eq!(cells + part.counted.above().map_or(0, |above| above.count), part.counted.count());
            assert_eq!(part.counted.binned().count(), part.counted.count());
            assert!(part.counted.count() <= MOST_EVENTS);
            let ends: Vec<i64> = part.counted.cells().flat_map(|(low, high, _)| [low, high]).collect();
            assert!(ends.chunks(2).all(|cell| cell[0] <= cell[1]), "a cell ends before it begins");
            assert!(ends[1.min(ends.len())..].chunks_exact(2).all(|gap| gap[0] < gap[1]), "cells overlap");
        }
        let stored = export::lines("fuzz", looked_at, &imported);
        assert_eq!(Format::Record.parse(&stored, &Hints::default()).as_ref(), Ok(&imported));
    }
}

/// Each test is a record that can be read, or is refused in words.
fn of_csit(bytes: &[u8]) {
    for test in csit::tests(bytes).into_iter().flatten() {
        match test.record.map(|text| Record::read(&text)) {
            Ok(Ok(record)) => assert!(record.is_finished() && record.answers().is_some()),
            Ok(Err(why)) => assert!(!why.to_string().is_empty()),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}
