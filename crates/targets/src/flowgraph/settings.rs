//! `flowgraph:` targets as users write them.

use super::graph::{self, Framework, Graph};
use crate::parameters::names;
use dropline_failure::Failure;
use dropline_passage as passage;
use dropline_passage::WarmUpCut;
use dropline_trace::{Shape, WhenFull};
use std::path::{Path, PathBuf};

/// A `flowgraph:` target.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where events come from.
    pub source: Source,
    /// What they mean.
    pub meaning: passage::CorrelatorSettings,
    /// How much room they have.
    pub shape: Shape,
    /// Who records them.
    pub recording: Recording,
}

/// Who records the events of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// Our rings.
    #[default]
    Ring,
    /// LTTng-UST.
    Lttng,
    /// Both: the numbers are of our rings, the trace that is kept is LTTng's.
    Both,
}

/// Where events come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// One of our graphs.
    Graph(Graph),
    /// A program that is started, with its arguments.
    Program(Vec<String>),
    /// A trace that was recorded before: its directory.
    Trace(PathBuf, Names),
}

pub(crate) static PROGRAM: [&str; 7] =
    ["granularity", "ratio", "warm-up", "rings", "events", "keep", "recorder"];
pub(crate) static TRACE: [&str; 6] = ["granularity", "ratio", "warm-up", "provider", "pipe", "n"];
const FORM: &str = "flowgraph:exec:COMMAND, flowgraph:exec?granularity=32768&warm-up=auto:COMMAND, flowgraph:ctf:DIR, \
     flowgraph:futuresdr?pipes=6&stages=6 or flowgraph:gnuradio";

impl Settings {
    /// Reads what follows `flowgraph:`, as `exec?granularity=32768:COMMAND`.
    ///
    /// # Errors
    /// If it names no kind of flowgraph, or a part of it is wrong.
    pub fn parse(word: &str) -> Result<Self, Failure> {
        let end = word.find([':', '?']).unwrap_or(word.len());
        let (kind, rest) = word.split_at(end);
        let (query, rest) = match rest.strip_prefix('?') {
            Some(query) => query.split_once(':').unwrap_or((query, "")),
            None => ("", rest.strip_prefix(':').unwrap_or_default()),
        };
        let source = match kind {
            "exec" => Source::Program(
                crate::command::command(rest).map_err(|why| why.advice(format!("write {FORM}")))?,
            ),
            "futuresdr" => Source::Graph(Graph::new(Framework::FutureSdr)),
            "gnuradio" => Source::Graph(Graph::new(Framework::GnuRadio)),
            "ctf" if !rest.is_empty() => Source::Trace(rest.into(), Names::default()),
            _ => {
                return Err(Failure::usage(format!("flowgraph:{kind} is not a kind of flowgraph"))
                    .advice(format!("write {FORM}")));
            }
        };
        let mut settings = Self {
            source,
            meaning: passage::CorrelatorSettings::default(),
            shape: Shape::default(),
            recording: Recording::default(),
        };
        let parameters = crate::parameters::query(query)?;
        if let Source::Graph(graph) = &mut settings.source {
            if !rest.is_empty() {
                return Err(Failure::usage(format!("flowgraph:{kind} takes no command: {rest:?}")));
            }
            for (name, value) in &parameters {
                graph.set(name, value)?;
            }
            graph.check()?;
            // What it needs by itself; a parameter may say otherwise.
            settings.shape = graph.shape();
            settings.meaning.granularity = Some(graph::GRANULARITY);
        }
        for (name, value) in parameters {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    /// Whether it decides itself how much it does.
    pub fn paces_itself(&self) -> bool {
        match &self.source {
            Source::Graph(graph) => !graph.paced,
            Source::Program(_) | Source::Trace(..) => true,
        }
    }

    /// Whether a program is started: not for a trace. What runs a graph is found by the environment and its search
    /// path.
    pub fn starts_a_program(&self) -> bool {
        !matches!(self.source, Source::Trace(..))
    }

    /// The trace that is read, where it is one.
    pub fn trace(&self) -> Option<&Path> {
        match &self.source {
            Source::Trace(path, _) => Some(path),
            Source::Program(_) | Source::Graph(_) => None,
        }
    }

    /// Nothing comes due: a graph of ours takes what it can.
    pub fn free(&mut self) {
        if let Source::Graph(graph) = &mut self.source {
            graph.paced = false;
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        if let Source::Trace(_, names) = &mut self.source {
            let named = match name {
                "provider" => Some(&mut names.provider),
                "pipe" => Some(&mut names.pipe),
                "n" => Some(&mut names.n),
                _ => None,
            };
            if let Some(named) = named {
                *named = value.into();
                return Ok(());
            }
        }
        let of_graphs;
        let known: &[&str] = match &self.source {
            Source::Graph(_) => {
                of_graphs = names(&graph::PARAMETERS);
                // Those that only graphs have are read.
                if of_graphs.contains(&name) && !PROGRAM.contains(&name) {
                    return Ok(());
                }
                &of_graphs
            }
            Source::Program(_) => &PROGRAM,
            Source::Trace(..) => &TRACE,
        };
        if !known.contains(&name) {
            return Err(crate::parameters::unknown("this flowgraph:", name, known));
        }
        let wrong = |what: &str| Failure::usage(format!("{name}={value} in the target: {what}"));
        match name {
            "granularity" => {
                let samples = value.parse().ok().filter(|samples| *samples > 0);
                self.meaning.granularity =
                    Some(samples.ok_or_else(|| wrong("samples of a granule, as 32768"))?);
            }
            "ratio" => self.meaning.ratio = ratio(value).ok_or_else(|| wrong("sink to source, as 1/4"))?,
            "warm-up" => {
                self.meaning.cut = match value {
                    "auto" => WarmUpCut::Found,
                    _ => WarmUpCut::Passages(
                        value
                            .parse()
                            .map_err(|_| wrong("auto, or how many passages of each pipe are cut"))?,
                    ),
                }
            }
            "rings" => {
                let rings = value.parse().ok().filter(|rings| (1..=4096).contains(rings));
                self.shape.rings =
                    rings.ok_or_else(|| wrong("1 to 4096, one for each thread that records"))?;
            }
            "events" => {
                let events =
                    value.parse().ok().filter(|events: &u64| events.is_power_of_two() && *events <= 1 << 28);
                self.shape.capacity =
                    events.ok_or_else(|| wrong("room of a ring, a power of two up to 268435456"))?;
            }
            "keep" => {
                self.shape.when_full = match value {
                    "oldest" => WhenFull::DiscardNewest,
                    "newest" => WhenFull::OverwriteOldest,
                    _ => return Err(wrong("oldest, or newest: what stays when a ring is full")),
                }
            }
            _ => {
                self.recording = match value {
                    "ring" => Recording::Ring,
                    "lttng" => Recording::Lttng,
                    "both" => Recording::Both,
                    _ => return Err(wrong("ring, lttng or both")),
                }
            }
        }
        Ok(())
    }
}

/// `1/4`, `3/2`, `1`.
fn ratio(text: &str) -> Option<(u64, u64)> {
    let (sink, source) = text.split_once('/').unwrap_or((text, "1"));
    let positive = |text: &str| text.parse().ok().filter(|part: &u64| *part > 0);
    Some((positive(sink)?, positive(source)?))
}

/// How a trace calls what we call tx, rx, pipe and n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Of the events, before the colon.
    pub provider: String,
    /// The field with the number of the pipe.
    pub pipe: String,
    /// The field with the number of the granule.
    pub n: String,
}

impl Default for Names {
    fn default() -> Self {
        Self { provider: "dropline".into(), pipe: "pipe".into(), n: "n".into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stand_before_the_command_which_may_hold_anything() {
        let word = "exec?granularity=32768&ratio=1/4&warm-up=auto&rings=4&events=1024&keep=newest:./graph 'a?b=c:d' x:y";
        let settings = Settings::parse(word).unwrap();
        assert_eq!(
            settings.source,
            Source::Program(["./graph", "a?b=c:d", "x:y"].map(String::from).to_vec())
        );
        let meaning =
            passage::CorrelatorSettings { granularity: Some(32768), ratio: (1, 4), cut: WarmUpCut::Found };
        assert_eq!(settings.meaning, meaning);
        let shape = Shape { rings: 4, capacity: 1024, when_full: WhenFull::OverwriteOldest };
        assert_eq!(settings.shape, shape);
        let plain = Settings::parse("exec:./graph --pipes 6?").unwrap();
        assert_eq!(plain.source, Source::Program(["./graph", "--pipes", "6?"].map(String::from).to_vec()));
        assert_eq!(Settings::parse("exec?warm-up=8:x").unwrap().meaning.cut, WarmUpCut::Passages(8));
        assert_eq!(Settings::parse("exec?recorder=both:x").unwrap().recording, Recording::Both);
        let names = Names { provider: "futuresdr".into(), pipe: "block".into(), n: "items".into() };
        assert_eq!(
            Settings::parse("ctf?provider=futuresdr&pipe=block&n=items:/tmp/a:b").unwrap().source,
            Source::Trace("/tmp/a:b".into(), names)
        );
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for bad in [
            "",
            "exec",
            "exec:",
            "exec:'open",
            "jack:x",
            "exec?granularity=0:x",
            "exec?ratio=1/0:x",
            "exec?events=100:x",
            "exec?rings=0:x",
            "exec?keep=all:x",
            "exec?warm-up=soon:x",
            "exec?granluarity=1:x",
            "exec?events:x",
            "ctf",
            "ctf:",
            "ctf?rings=1:x",
            "exec?recorder=tape:x",
            "exec?provider=x:y",
        ] {
            assert_eq!(Settings::parse(bad).unwrap_err().exit_code(), 2, "{bad}");
        }
        let why = Settings::parse("exec?granluarity=1:x").unwrap_err().to_string();
        assert!(why.contains("granularity"), "{why}");
    }
}
