//! The events of a pipeline for other programs: as a CTF 1.8 trace, and as Chrome's trace events.

use super::Names;
use dropline_archive::record_file::read_record;
use dropline_ctf::{CtfError, Trace};
use dropline_failure::Failure;
use dropline_passage::{Correlator, CorrelatorSettings};
use dropline_trial::passages::Passage;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The events that are kept beside a record.
pub struct Events {
    directory: PathBuf,
    ratio: (u64, u64),
    /// What of the record is left out because it could not be read to its end, in words.
    pub left_out: Vec<String>,
}

impl Events {
    /// Those of a record's last trial.
    ///
    /// # Errors
    /// If the record cannot be read, is not of a pipeline, or its events are not there.
    pub fn of(record: &Path) -> Result<Self, Failure> {
        let read = read_record(record)?;
        let passages = read.trials.iter().rev().find_map(|trial| trial.passages.as_ref());
        let passages = passages.ok_or_else(|| {
            Failure::usage(format!("{} is not of a pipeline", record.display()))
                .advice("events are kept by  dropline trial flowgraph:exec:COMMAND")
        })?;
        let events = passages.events.as_ref().ok_or_else(|| {
            Failure::usage(format!("{} has no events beside it", record.display()))
                .advice("they are kept unless --no-packets or -o - says otherwise")
        })?;
        let directory = record.parent().unwrap_or(Path::new("")).join(&events.directory);
        if !directory.is_dir() {
            return Err(Failure::environment(format!(
                "{} is not there: the record's events",
                directory.display()
            ))
            .advice("keep it in the directory of its record"));
        }
        let ratio = (passages.ratio[0].0, passages.ratio[1].0);
        Ok(Self { directory, ratio, left_out: read.reading.into_iter().map(|doubt| doubt.text).collect() })
    }

    /// Writes them as a CTF trace of its own.
    ///
    /// # Errors
    /// If the directory exists, or cannot be written.
    pub fn ctf(&self, to: &Path) -> Result<(), Failure> {
        copy(&self.directory, to)
            .map_err(|why| Failure::environment(format!("{} cannot be written: {why}", to.display())))
    }

    /// Writes passages as nestable asynchronous events of the Trace Event Format, which Chrome's about:tracing and
    /// Perfetto read: one begins where a granule leaves and ends where it arrives; what a sampler saw is a counter.
    ///
    /// # Errors
    /// If they cannot be read, or not be written.
    pub fn chrome(&self, to: &mut dyn Write) -> Result<(), Failure> {
        let failure = |why: CtfError| Failure::environment(why);
        let broken =
            |why: std::io::Error| Failure::environment(format!("the events cannot be written: {why}"));
        let Names { provider, pipe, n } = Names::default();
        let [tx, rx, in_flight] = ["tx", "rx", "in_flight"].map(|event| format!("{provider}:{event}"));
        let wanted = [(&*tx, &*pipe, &*n), (&*rx, &*pipe, &*n), (&*in_flight, &*pipe, "samples")];
        let mut trace = Trace::open(&self.directory, &wanted).map_err(failure)?;
        let mut correlator =
            Correlator::new(CorrelatorSettings { ratio: self.ratio, ..CorrelatorSettings::default() });
        let mut seen = std::collections::BTreeSet::new();
        let head = r#"{"displayTimeUnit":"ns","traceEvents":["#;
        let name = r#"{"name":"process_name","ph":"M","ts":0,"pid":1,"tid":0,"args":{"name":"pipes"}}"#;
        write!(to, "{head}\n{name}").map_err(broken)?;
        while let Some(event) = trace.next_passage().map_err(failure)? {
            let pipe = u32::try_from(event.pipe).unwrap_or(u32::MAX);
            if seen.insert(pipe) {
                write!(
                    to,
                    ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"ts\":0,\"pid\":1,\"tid\":{pipe},\
                     \"args\":{{\"name\":\"pipe {pipe}\"}}}}"
                )
                .map_err(broken)?;
            }
            let passage = match event.which {
                0 => correlator.tx(pipe, event.n, event.at_ns),
                1 => correlator.rx(pipe, event.n, event.at_ns),
                _ => {
                    let (at, samples) = (microseconds(event.at_ns), event.n);
                    write!(
                        to,
                        ",\n{{\"name\":\"in flight, pipe {pipe}\",\"ph\":\"C\",\"ts\":{at},\"pid\":1,\"tid\":{pipe},\
                         \"args\":{{\"samples\":{samples}}}}}"
                    )
                    .map_err(broken)?;
                    None
                }
            };
            if let Some(Passage { pipe, n, tx_ns, rx_ns }) = passage {
                for (phase, at_ns) in [("b", tx_ns), ("e", rx_ns)] {
                    write!(
                        to,
                        ",\n{{\"name\":\"granule\",\"cat\":\"passage\",\"ph\":\"{phase}\",\"id\":\"{pipe}.{n}\",\
                         \"ts\":{},\"pid\":1,\"tid\":{pipe},\"args\":{{\"n\":{n}}}}}",
                        microseconds(at_ns)
                    )
                    .map_err(broken)?;
                }
            }
        }
        writeln!(to, "\n]}}").and_then(|()| to.flush()).map_err(broken)
    }
}

/// Nanoseconds as the format's microseconds, exactly.
fn microseconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// Files and directories; LTTng's traces have some of each.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
