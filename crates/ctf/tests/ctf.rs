//! Traces of others are read, ours are written; damage is counted, never fatal.
//!
//! `tests/lttng` is a trace that LTTng-UST 2.13 recorded: 2001 events offered to two buffers of 4 KiB, of which
//! babeltrace2 reads 306 and warns of 1695.

use dropline_ctf::{CtfError, Passage, Trace, TraceCounts, TraceEntry, TraceWriter};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const NAMES: [(&str, &str, &str); 2] = [("dropline:tx", "pipe", "n"), ("dropline:rx", "pipe", "n")];

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lttng")
}

fn read(trace: Result<Trace, CtfError>) -> Result<(Vec<Passage>, TraceCounts), CtfError> {
    let mut trace = trace?;
    let mut passages = Vec::new();
    while let Some(passage) = trace.next_passage()? {
        passages.push(passage);
    }
    Ok((passages, trace.counts()))
}

/// A trace of LTTng's metadata and one stream.
fn of(metadata: &[u8], stream: Vec<u8>) -> Result<(Vec<Passage>, TraceCounts), CtfError> {
    let stream = (PathBuf::from("stream"), Box::new(std::io::Cursor::new(stream)) as _);
    read(Trace::of(metadata, vec![stream], &NAMES))
}

#[test]
fn a_trace_of_lttng_reads_as_babeltrace2_reads_it() {
    let trace = Trace::open(&recorded(), &NAMES).unwrap();
    let offset = trace.offset_ns().unwrap();
    let (passages, counts) = read(Ok(trace)).unwrap();
    assert_eq!(counts, TraceCounts { wanted: 306, discarded: 1695, ..TraceCounts::default() });
    // 14:11:57.574973965 on 21 November 2026, and the last one.
    let at = |passage: &Passage| offset + i128::from(passage.at_ns);
    let (first, last) = (passages[0], passages[305]);
    assert_eq!(at(&first), 1_795_270_317_574_973_965);
    assert_eq!((first.which, first.pipe, first.n, first.cpu), (0, 1, 1, Some(0)));
    assert_eq!(at(&last), 1_795_270_317_575_111_700);
    assert_eq!((last.which, last.pipe, last.n), (0, 4, 598));
    assert!(passages.is_sorted_by_key(|passage| passage.at_ns));
}

#[test]
fn a_directory_above_the_trace_will_do_and_one_without_is_an_error() {
    let above = recorded().parent().unwrap().to_owned();
    assert_eq!(read(Trace::open(&above, &NAMES)).unwrap().1.wanted, 306);
    let empty = std::env::temp_dir().join(format!("dropline-no-trace-{}", std::process::id()));
    std::fs::create_dir_all(&empty).unwrap();
    assert!(matches!(Trace::open(&empty, &NAMES), Err(CtfError::NoMetadata(_))));
    std::fs::remove_dir(&empty).unwrap();
}

#[test]
fn a_trace_of_ours_reads_back_with_its_discarded_events() {
    let directory = std::env::temp_dir().join(format!("dropline-trace-out-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let mut writer = TraceWriter::create(&directory).unwrap();
    // More than one packet holds, in two rings that take turns.
    for n in 1..=60_000 {
        writer.write(0, 1000 + 10 * n, TraceEntry::Tx { pipe: 9, n }).unwrap();
        writer.write(1, 1005 + 10 * n, TraceEntry::Rx { pipe: 9, n }).unwrap();
        if n % 1000 == 0 {
            let own = TraceEntry::Own { number: 3, which: 9, first: n, second: 5 };
            writer.write(1, 1005 + 10 * n, own).unwrap();
            writer.write(1, 1005 + 10 * n, TraceEntry::Crossing { probe: 9, delay_ticks: n }).unwrap();
        }
    }
    writer.finish(|ring| u64::from(ring) * 7).unwrap();
    let (passages, counts) = read(Trace::open(&directory, &NAMES)).unwrap();
    let expected = TraceCounts { wanted: 120_000, others: 120, discarded: 7, ..TraceCounts::default() };
    assert_eq!(counts, expected);
    for (index, passage) in passages.iter().enumerate() {
        let n = index as u64 / 2 + 1;
        let which = index % 2;
        let at_ns = 1000 + 10 * n + 5 * which as u64;
        assert_eq!(*passage, Passage { which, at_ns, pipe: 9, n, cpu: None });
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_stream_of_another_trace_is_counted_as_torn() {
    let metadata = std::fs::read(recorded().join("metadata")).unwrap();
    let (passages, counts) = of(&metadata, vec![0x55; 5000]).unwrap();
    assert_eq!((passages.len(), counts.torn), (0, 1));
}

#[test]
fn metadata_that_are_none_name_the_line() {
    let refused = |text: &str| of(text.as_bytes(), Vec::new()).unwrap_err().to_string();
    assert_eq!(
        refused("trace {\n  byte_order = le;\n} stream"),
        "metadata, line 3: \"stream\" cannot stand there"
    );
    assert_eq!(refused("trace {"), "the metadata ends in the middle");
    let deep = format!("{} x;", "struct {".repeat(100));
    assert!(refused(&deep).contains("nested"));
}

#[test]
fn a_count_of_discarded_events_that_went_back_is_another_beginning() {
    let metadata = std::fs::read(recorded().join("metadata")).unwrap();
    let mut stream = std::fs::read(recorded().join("ch_0")).unwrap();
    let (all, whole) = of(&metadata, stream.clone()).unwrap();
    // A bit of the first packet's count, which the second has not.
    stream[73] ^= 1 << 2;
    let (same, damaged) = of(&metadata, stream).unwrap();
    assert_eq!(same, all);
    assert_eq!(damaged.discarded, whole.discarded + (1 << 10));
}

proptest! {
    #[test]
    fn a_trace_cut_short_anywhere_gives_what_was_whole(length in 0usize..12288) {
        let metadata = std::fs::read(recorded().join("metadata")).unwrap();
        let mut stream = std::fs::read(recorded().join("ch_0")).unwrap();
        let (all, _) = of(&metadata, stream.clone()).unwrap();
        stream.truncate(length);
        let (some, counts) = of(&metadata, stream).unwrap();
        prop_assert_eq!(&some[..], &all[..some.len()], "what is there is as it was");
        prop_assert!(some.len() == all.len() || counts.torn > 0 || length % 4096 == 0);
    }

    #[test]
    fn damage_anywhere_is_survived(at in 0usize..12288, bit in 0u32..8, in_metadata: bool) {
        let mut metadata = std::fs::read(recorded().join("metadata")).unwrap();
        let mut stream = std::fs::read(recorded().join("ch_0")).unwrap();
        let damaged = if in_metadata { &mut metadata } else { &mut stream };
        let length = damaged.len();
        damaged[at % length] ^= 1 << bit;
        if let Ok((passages, counts)) = of(&metadata, stream) {
            prop_assert_eq!(passages.len() as u64, counts.wanted);
        }
    }
}
