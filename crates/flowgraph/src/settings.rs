//! What the program is told when it is started.

use crate::scheduler::Choice;
use std::str::FromStr;
use std::time::Duration;

/// A graph: pipes × stages, and how it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Pipes beside one another.
    pub pipes: u32,
    /// Copy blocks in each.
    pub stages: u32,
    /// Who runs the blocks.
    pub scheduler: Choice,
    /// Bytes of a buffer between two blocks.
    pub buffer_bytes: u64,
    /// Most samples of one copy.
    pub max_copy: u64,
    /// Samples in a granule.
    pub granularity: u64,
    /// Samples of each pipe; `None`: as many as pass in the trial's duration.
    pub samples: Option<u64>,
    /// How long a sample may wait in front of the graph.
    pub backlog: Duration,
    /// How long what waits may still go in after the last sample was due.
    pub drain: Duration,
    /// Whether there are tracepoints at all.
    pub probes: bool,
    /// Whether each copy block has one too.
    pub residence: bool,
    /// How often the samples under way are counted, if at all.
    pub in_flight_every: Option<Duration>,
    /// CPUs that may be used; empty: all.
    pub cpus: Vec<usize>,
}

impl Default for Settings {
    /// The seed's graph with as many stages as pipes.
    fn default() -> Self {
        Self {
            pipes: 6,
            stages: 6,
            scheduler: Choice::Flow,
            buffer_bytes: 65_536,
            max_copy: 512,
            granularity: 32_768,
            samples: None,
            backlog: Duration::from_millis(100),
            drain: Duration::from_secs(2),
            probes: true,
            residence: false,
            in_flight_every: None,
            cpus: Vec::new(),
        }
    }
}

/// What `--help` prints.
pub const USAGE: &str = "\
dropline-futuresdr: a FutureSDR graph that performs trials

Reads one JSON object a line, as {\"intended_load_pps\":1e6,\"duration_s\":1,\"seed\":7}, runs the graph
and answers with one. A load of 0 offers as much as the graph takes.

  --pipes 6             pipes beside one another
  --stages 6            copy blocks in each pipe
  --scheduler flow      flow, smol1, smol2 ..., smoln (a thread a CPU), tpb (a thread a block)
  --buffer-bytes 65536  of each buffer between two blocks
  --max-copy 512        a copy block moves 1 to so many samples a call, at random
  --granularity 32768   samples between two tracepoints
  --samples N           of each pipe; without it the trial's duration counts
  --backlog-us 100000   how long a due sample may wait in front of the graph
  --drain-us 2000000    how long what waits may still go in after the last was due
  --probes on           off: a graph without tracepoints
  --residence off       on: a tracepoint behind each copy block too
  --in-flight-us 0      how often the samples under way are counted
  --cpus 0,1            use these CPUs only";

/// Why there are no settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(pub String);

impl Settings {
    /// From the words behind the program's name.
    ///
    /// # Errors
    /// If a flag is unknown or its value none.
    pub fn of_words(words: impl IntoIterator<Item = String>) -> Result<Self, Wrong> {
        let mut settings = Self::default();
        let mut words = words.into_iter();
        while let Some(flag) = words.next() {
            let value = words.next().ok_or_else(|| Wrong(format!("{flag} has no value")))?;
            let micros = |least: u64| number(&flag, &value, least).map(Duration::from_micros);
            match flag.as_str() {
                "--pipes" => settings.pipes = number(&flag, &value, 1)?,
                "--stages" => settings.stages = number(&flag, &value, 0)?,
                "--scheduler" => settings.scheduler = value.parse().map_err(Wrong)?,
                "--buffer-bytes" => settings.buffer_bytes = number(&flag, &value, 1)?,
                "--max-copy" => settings.max_copy = number(&flag, &value, 1)?,
                "--granularity" => settings.granularity = number(&flag, &value, 1)?,
                "--samples" => settings.samples = Some(number(&flag, &value, 1)?),
                "--backlog-us" => settings.backlog = micros(1)?,
                "--drain-us" => settings.drain = micros(0)?,
                "--probes" => settings.probes = switch(&flag, &value)?,
                "--residence" => settings.residence = switch(&flag, &value)?,
                "--in-flight-us" => {
                    settings.in_flight_every = Some(micros(0)?).filter(|period| !period.is_zero());
                }
                "--cpus" => {
                    let cpus = value.split(',').map(|cpu| number(&flag, cpu, 0));
                    settings.cpus = cpus.collect::<Result<_, _>>()?;
                }
                _ => return Err(Wrong(format!("there is no flag {flag}; see --help"))),
            }
        }
        Ok(settings)
    }
}

fn number<T: FromStr + PartialOrd + std::fmt::Display>(
    flag: &str,
    value: &str,
    least: T,
) -> Result<T, Wrong> {
    let number = value.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| Wrong(format!("{flag} {value:?}: a whole number, at least {least}")))
}

fn switch(flag: &str, value: &str) -> Result<bool, Wrong> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Wrong(format!("{flag} {value:?}: on or off"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Result<Settings, Wrong> {
        Settings::of_words(words.split_whitespace().map(String::from))
    }

    #[test]
    fn flags_are_read_and_what_is_no_flag_is_named() {
        let settings =
            of("--pipes 2 --stages 0 --scheduler smol1 --samples 1000 --cpus 0,1 --probes off").unwrap();
        assert_eq!((settings.pipes, settings.stages, settings.samples), (2, 0, Some(1000)));
        assert_eq!((settings.cpus, settings.probes), (vec![0, 1], false));
        for wrong in ["--pipes 0", "--pipes", "--pipe 2", "--cpus 0,", "--residence yes", "--scheduler x"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
