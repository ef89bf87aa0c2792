//! Writes sample pages with their records into a directory, for looking at and for the browser's check.

#![expect(clippy::disallowed_methods, reason = "the crate is pure, this program around it is not")]

#[path = "../tests/made/mod.rs"]
mod made;

use dropline_record::Record;
use dropline_report::{Graph, Style, csv, html, study_page, study_text, svgs, text, text_many};
use dropline_trial::Arrival;
use made::Made;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args().nth(1).ok_or_else(|| io::Error::other("usage: sample DIR"))?;
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;
    let write = |name: &str, text: String| fs::write(directory.join(name), text);
    let page = |name: &str, records: &[Record]| {
        write(&format!("{name}.html"), html(records))?;
        let text = if let [only] = records {
            text(only, Style::default())
        } else {
            text_many(records, Style::default())
        };
        write(&format!("{name}.txt"), text)?;
        for (index, record) in records.iter().enumerate() {
            let number = if records.len() > 1 { format!("-{}", index + 1) } else { String::new() };
            write(&format!("{name}{number}.jsonl"), record.to_lines())?;
            write(&format!("{name}{number}.csv"), csv(record))?;
        }
        svgs(records).into_iter().try_for_each(|(file, svg)| write(&format!("{name}-{file}"), svg))
    };

    page("search", &[Made::service(Arrival::constant(), 7).search()])?;
    page("mdr", &[Made::mdr("inconsistent", 3, 30).search()])?;
    page("irregular", &[Made::mdr("lossless", 3, 30).search()])?;
    page("trial", &[made::trial(139_000.0, 10)])?;
    let arrivals =
        [Arrival::constant(), Arrival::poisson()].map(|arrival| Made::service(arrival, 7).search());
    page("arrivals", &arrivals)?;
    let repeated: Vec<Record> = (1..=5).map(|seed| Made::mdr("noisy", seed, 10).search()).collect();
    page("repeated", &repeated)?;

    let graphs = [
        ("MDR, 10 s trials, search 1", Made::mdr("inconsistent", 1, 10), 0),
        ("MDR, 10 s trials, search 2", Made::mdr("inconsistent", 2, 10), 0),
        ("MDR, 10 s trials, search 3", Made::mdr("inconsistent", 3, 10), 0),
        ("MDR, 60 s trials", Made::mdr("inconsistent", 1, 60), 1),
        ("No loss, binary, 60 s trials", Made::binary("inconsistent", 1, 60, 0.0), 2),
        ("0.5 % loss, binary, 60 s trials", Made::binary("inconsistent", 1, 60, 0.005), 3),
    ]
    .map(|(caption, made, time_axis)| Graph {
        caption: caption.into(),
        record: made.search(),
        time_axis,
    });
    for (index, graph) in graphs.iter().enumerate() {
        write(&format!("study-{}.jsonl", index + 1), graph.record.to_lines())?;
    }
    write("study.html", study_page(&made::study(), &graphs, &[], &[]))?;
    write("study.txt", study_text(&made::study(), Style::default()))
}
