//! What a page carries with it: the record and its trials as CSV, compressed, as links that save a file.

use crate::csv::csv;
use crate::number;
use base64::Engine as _;
use dropline_record::Record;
use flate2::{Compression, write::GzEncoder};
use maud::{Markup, html};
use std::io::Write as _;

/// A record that takes more room than this, and more for each of its trials, is left out of its page.
const ROOM: usize = 100_000;
const ROOM_OF_A_TRIAL: usize = 90;

/// Links to the record and to its CSV, or where the former is.
pub(super) fn downloads(records: &[Record]) -> Markup {
    html! {
        section {
            h2 { "Take it along" }
            @for (index, record) in records.iter().enumerate() {
                p.about {
                    @if records.len() > 1 { (index + 1) ": " }
                    (links(record, records.len()))
                }
            }
        }
    }
}

fn links(record: &Record, records: usize) -> Markup {
    let lines = packed(&record.to_lines());
    let room = ROOM / records.max(1) + ROOM_OF_A_TRIAL * record.trials.len();
    html! {
        @if lines.len() <= room { (link(record, "jsonl", "The record", &lines)) ", all that was measured; " }
        @else { "The record is too large to be carried along: it is in the file that this page was drawn from; " }
        (link(record, "csv", "the trials as CSV", &packed(&csv(record)))) ", exact numbers for a spreadsheet."
    }
}

/// A link that saves; with a script as plain text, without one compressed.
fn link(record: &Record, kind: &str, words: &str, packed: &str) -> Markup {
    let name = format!("{}.{kind}", name(record));
    html! {
        a download=(format!("{name}.gz")) data-plain=(name) href=(format!("data:application/gzip;base64,{packed}")) { (words) }
        " (" (number::plural(record.trials.len() as u64, "trial")) ")"
    }
}

/// `dropline-20261121T093100Z`: of when it was begun.
fn name(record: &Record) -> String {
    let when: String = record.header.started.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
    format!("dropline-{when}")
}

/// Compressed, in letters that an address may have.
fn packed(text: &str) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    let packed = packer.write_all(text.as_bytes()).and_then(|()| packer.finish());
    base64::engine::general_purpose::STANDARD.encode(packed.expect("memory takes all that is written"))
}
