//! How long the index of a history of 10 000 records takes to be read, and held against the files that are there.
//!
//! `cargo run --release -p dropline-archive --example history-index -- RECORD [COUNT]`

use dropline_archive::history::History;
use dropline_archive::record_file::read_record;
use dropline_record::{IndexLine, IndexedGoal, Record};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let record = read_record(Path::new(&words.next().ok_or("name a record of a search")?))?;
    let count: usize = words.next().map_or(Ok(10_000), |word| word.parse())?;
    let directory = tempfile::tempdir()?;
    let mut index = String::new();
    for number in 0..count {
        let day = format!("2026/{:02}/{:02}", 1 + number / 28 % 12, 1 + number % 28);
        let line = IndexLine {
            file: format!("{day}/{number}.jsonl"),
            bytes: number as u64,
            header_sha256: format!("{number:064x}"),
            sha256: format!("{number:064x}"),
            ..describe(&record)
        };
        std::fs::create_dir_all(directory.path().join(&day))?;
        std::fs::File::create(directory.path().join(&line.file))?.set_len(line.bytes)?;
        index += &(serde_json::to_string(&line)? + "\n");
    }
    std::fs::write(directory.path().join("index.jsonl"), &index)?;
    let history = History::open(directory.path(), describe)?;
    for _ in 0..5 {
        let began = Instant::now();
        let found = history.contents()?.records.len();
        let took = began.elapsed().as_secs_f64() * 1e3;
        println!("{found} records, {} bytes of index: {took:.0} ms", index.len());
    }
    Ok(())
}

/// What an index says of a record, as far as its length goes.
fn describe(record: &Record) -> IndexLine {
    let header = &record.header;
    let goals = record.answers().unwrap_or_default().into_iter().map(|answer| IndexedGoal {
        goal: answer.goal.words(),
        lower_pps: answer.lower_pps,
        median_pps: answer.median_pps,
        upper_pps: answer.upper_pps,
        result: answer.result,
        standing: None,
        level: answer.level,
        limit_pps: answer.median_pps,
        bound_pps: None,
        why_not: None,
        asked: answer.goal,
    });
    IndexLine {
        started: header.started.clone(),
        kind: header.verb.clone(),
        target: header.target.clone(),
        finished: true,
        load_unit: header.load_unit,
        algorithm: header.search.as_ref().map(|search| search.algorithm.clone()),
        level: header.search.as_ref().and_then(|search| search.level),
        goals: goals.collect(),
        trial: None,
        profile: header.profile.clone(),
        machine: header.environment.machine(),
        kernel: header.environment.kernel.clone(),
        governor: None,
        turbo: None,
        smt: None,
        dropline: header.environment.dropline.clone(),
        labels: header.environment.labels.clone(),
        file: String::new(),
        bytes: 0,
        header_sha256: String::new(),
        sha256: String::new(),
    }
}
