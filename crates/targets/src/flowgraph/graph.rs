//! `flowgraph:futuresdr` and `flowgraph:gnuradio`: pipes of source, head, copies and sink, as users ask for them.

pub mod topology;

pub use topology::Topology;

use crate::parameters::Parameter;
use dropline_failure::Failure;
use dropline_passage::correlator::MOST_PIPES;
use dropline_trace::Shape;
use dropline_trial::quantities;
use std::time::Duration;

/// Which graph, and how it is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// In which framework.
    pub framework: Framework,
    /// Pipes beside one another.
    pub pipes: u32,
    /// Copy blocks in each.
    pub stages: u32,
    /// Who runs the blocks, by the framework's name for it.
    pub scheduler: String,
    /// Bytes of a buffer between two blocks.
    pub buffer_bytes: u64,
    /// Most samples of one copy.
    pub max_copy: u64,
    /// Samples of each pipe where the graph takes what it can; `None`: as many as pass in the trial's duration.
    pub samples: Option<u64>,
    /// How long a due sample may wait in front of the graph.
    pub backlog: Duration,
    /// Which CPUs it may use.
    pub cpus: Cpus,
    /// Whether it is a graph without tracepoints.
    pub bare: bool,
    /// Whether its tracepoints record.
    pub recording: bool,
    /// Whether each copy block has one too.
    pub residence: bool,
    /// How often the samples under way are counted, where the graph takes what it can.
    pub in_flight_every: Option<Duration>,
    /// Whether samples come due at the trial's load; else the graph takes what it can.
    pub paced: bool,
}

/// In which framework a graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framework {
    /// FutureSDR.
    FutureSdr,
    /// GNU Radio.
    GnuRadio,
}

/// Which CPUs a graph may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// All that this program may use.
    All,
    /// These.
    Named(Vec<u32>),
    /// Three cores with all their CPUs, where the machine has more than three; else all.
    ThreeCores,
}

/// All parameters of a graph.
pub(crate) static PARAMETERS: [Parameter; 19] = [
    Parameter::new("pipes", "1 to 1024", "6", "pipes beside one another"),
    Parameter::new("stages", "0 to 1024", "6", "copies in each"),
    Parameter::new(
        "scheduler",
        "`flow`, `smol1`, `smol2` …, `smoln`, `tpb`",
        "flow",
        "`smoln` has a thread a CPU, `tpb` a thread a block; GNU Radio has `tpb` alone",
    ),
    Parameter::new("buffer", "4KiB to 1GiB", "64KiB", "size of each buffer between two blocks"),
    Parameter::new("max-copy", "1 or more", "512", "most samples of one copy"),
    Parameter::new("granularity", "1 or more", "32768", "samples of a granule: two events each"),
    Parameter::new(
        "ratio",
        "as `1/4`",
        "1",
        "samples at a sink for so many at its source; our graphs change no rate",
    ),
    Parameter::new("samples", "1 or more", "", "samples of each pipe; without it until `--duration`"),
    Parameter::new(
        "warm-up",
        "`auto`, or a number",
        "",
        "passages at the beginning of each pipe that are cut, as they went through empty buffers; without it none is",
    ),
    Parameter::new(
        "cpus",
        "`all`, or numbers, as `0,1`",
        "",
        "CPUs of the graph; without it three cores, where there are more",
    ),
    Parameter::new(
        "backlog",
        "a time",
        "100ms",
        "with `--load`: how long a due sample may wait in front of the graph",
    ),
    Parameter::new(
        "in-flight",
        "a time, or `off`",
        "1ms",
        "without a load: how often the samples under way are counted, for Little's law",
    ),
    Parameter::new("residence", "`on`, `off`", "off", "`on`: how long a granule is in each block"),
    Parameter::new("recorder", "`ring`, `lttng`, `both`", "ring", "what records the events"),
    Parameter::new("recording", "`on`, `off`", "on", "`off`: tracepoints that record nothing"),
    Parameter::new("probes", "`on`, `off`", "on", "`off`: a graph without tracepoints"),
    Parameter::new(
        "rings",
        "1 to 4096",
        "",
        "threads that can record; without it as many as the graph has, and some more",
    ),
    Parameter::new(
        "events",
        "a power of two, up to 268435456",
        "",
        "room of each ring; without it 65536, and 16384 where there are more than 32 rings",
    ),
    Parameter::new("keep", "`oldest`, `newest`", "oldest", "which events stay where a ring is full"),
];

/// Samples of a granule where nobody says.
pub(super) const GRANULARITY: u64 = 32_768;

impl Framework {
    /// As it stands in a target.
    pub fn word(self) -> &'static str {
        match self {
            Self::FutureSdr => "futuresdr",
            Self::GnuRadio => "gnuradio",
        }
    }

    fn default_scheduler(self) -> &'static str {
        match self {
            Self::FutureSdr => "flow",
            Self::GnuRadio => "tpb",
        }
    }

    fn has_scheduler(self, name: &str) -> bool {
        let smol = |threads: &str| threads.parse().is_ok_and(|threads| (1..=1024).contains(&threads));
        match self {
            Self::FutureSdr => {
                ["flow", "smoln", "tpb"].contains(&name) || name.strip_prefix("smol").is_some_and(smol)
            }
            Self::GnuRadio => name == "tpb",
        }
    }
}

impl Graph {
    /// Six pipes of six stages, buffers of 64 KiB, copies of at most 512 samples.
    pub fn new(framework: Framework) -> Self {
        Self {
            framework,
            pipes: 6,
            stages: 6,
            scheduler: framework.default_scheduler().into(),
            buffer_bytes: 65_536,
            max_copy: 512,
            samples: None,
            backlog: Duration::from_millis(100),
            cpus: Cpus::ThreeCores,
            bare: false,
            recording: true,
            residence: false,
            in_flight_every: Some(Duration::from_millis(1)),
            paced: true,
        }
    }

    /// Reads a parameter that only graphs have; `false` if there is none of this name.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<bool, Failure> {
        let wrong = |what: &str| Failure::usage(format!("{name}={value} in the target: {what}"));
        let quantity = |why: quantities::QuantityError| wrong(&why.to_string());
        match name {
            "pipes" => {
                self.pipes = number(value, 1, 1024).ok_or_else(|| wrong("1 to 1024 pipes"))?;
            }
            "stages" => {
                self.stages = number(value, 0, 1024).ok_or_else(|| wrong("0 to 1024 stages"))?;
            }
            "scheduler" => {
                if !self.framework.has_scheduler(value) {
                    return Err(wrong(match self.framework {
                        Framework::FutureSdr => {
                            "there are flow, smol1, smol2 …, smoln (a thread a CPU), tpb (a thread a block)"
                        }
                        Framework::GnuRadio => "GNU Radio has tpb, a thread a block",
                    }));
                }
                self.scheduler = value.into();
            }
            "buffer" => {
                let bytes = quantities::bytes(value).map_err(quantity)?;
                let fits = (4096..=1 << 30).contains(&bytes);
                self.buffer_bytes = Some(bytes).filter(|_| fits).ok_or_else(|| wrong("4KiB to 1GiB"))?;
            }
            "max-copy" => {
                self.max_copy = number(value, 1, 1 << 30).ok_or_else(|| wrong("1 or more samples"))?;
            }
            "samples" => {
                let samples =
                    number(value, 1, 1 << 50).ok_or_else(|| wrong("samples of each pipe, as 20000000"))?;
                self.samples = Some(samples);
            }
            "backlog" => self.backlog = quantities::positive_duration(value).map_err(quantity)?,
            "cpus" => {
                self.cpus = match value {
                    "all" => Cpus::All,
                    _ => {
                        let cpus: Option<Vec<u32>> =
                            value.split(',').map(|cpu| number(cpu, 0, 1023)).collect();
                        Cpus::Named(cpus.ok_or_else(|| wrong("all, or numbers of CPUs, as 0,1"))?)
                    }
                }
            }
            "probes" => {
                self.bare = !switch(value).ok_or_else(|| wrong("on, or off: a graph without tracepoints"))?
            }
            "recording" => {
                self.recording =
                    switch(value).ok_or_else(|| wrong("on, or off: tracepoints that record nothing"))?;
            }
            "residence" => self.residence = switch(value).ok_or_else(|| wrong("on or off"))?,
            "in-flight" => {
                self.in_flight_every = match value {
                    "off" => None,
                    _ => Some(quantities::positive_duration(value).map_err(quantity)?),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// # Errors
    /// If there are more blocks than can be followed one by one.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let blocks = self.pipes as usize * (self.stages as usize + 1);
        if self.residence && blocks > MOST_PIPES {
            return Err(Failure::usage(format!(
                "residence=on in the target: {blocks} blocks are more than the {MOST_PIPES} that can be followed"
            )));
        }
        Ok(())
    }

    /// Room for the events of all threads that record.
    pub(super) fn shape(&self) -> Shape {
        let ends = 2 * self.pipes;
        let blocks = if self.residence { self.pipes * (self.stages + 3) } else { ends };
        let threads = if self.scheduler == "tpb" { blocks } else { blocks.min(64) };
        // The sampler and what the framework may start beside.
        let rings = (threads + 8).clamp(16, 4096);
        let capacity = if rings <= 32 { 1 << 16 } else { 1 << 14 };
        Shape { rings, capacity, ..Shape::default() }
    }
}

fn number<T: std::str::FromStr + PartialOrd>(value: &str, least: T, most: T) -> Option<T> {
    value.parse().ok().filter(|number| (least..=most).contains(number))
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flowgraph::{Settings, Source};

    fn graph(word: &str) -> Graph {
        match Settings::parse(word).unwrap().source {
            Source::Graph(graph) => graph,
            other => panic!("{other:?} is no graph"),
        }
    }

    #[test]
    fn a_graph_is_six_by_six_unless_its_target_says_otherwise() {
        assert_eq!(graph("futuresdr"), Graph::new(Framework::FutureSdr));
        let small = graph(
            "futuresdr?pipes=2&stages=0&scheduler=smol3&buffer=16KiB&max-copy=64&samples=1000&backlog=5ms&cpus=0,2&\
             residence=on&in-flight=off&granularity=100&warm-up=8",
        );
        assert_eq!((small.pipes, small.stages, small.buffer_bytes, small.max_copy), (2, 0, 16_384, 64));
        assert_eq!((small.scheduler.as_str(), small.samples), ("smol3", Some(1000)));
        assert_eq!((small.backlog, small.in_flight_every), (Duration::from_millis(5), None));
        assert_eq!((small.cpus, small.residence, small.paced), (Cpus::Named(vec![0, 2]), true, true));
        assert_eq!(graph("gnuradio?cpus=all").scheduler, "tpb");
    }

    #[test]
    fn what_no_graph_has_is_refused() {
        for bad in [
            "futuresdr?pipes=0",
            "futuresdr?stages=-1",
            "futuresdr?scheduler=wasm",
            "futuresdr?scheduler=smol0",
            "gnuradio?scheduler=flow",
            "futuresdr?buffer=1KiB",
            "futuresdr?buffer=65536",
            "futuresdr?samples=0",
            "futuresdr?backlog=100",
            "futuresdr?cpus=a",
            "futuresdr?residence=yes",
            "futuresdr?residence=on&pipes=64&stages=6",
            "futuresdr?provider=x",
            "futuresdr:./graph",
            "futuresdr?pipe=2",
        ] {
            assert_eq!(Settings::parse(bad).unwrap_err().exit_code(), 2, "{bad}");
        }
        let why = Settings::parse("futuresdr?pipe=2").unwrap_err().to_string();
        assert!(why.contains("pipes"), "{why}");
    }

    #[test]
    fn every_thread_that_records_has_a_ring() {
        let threads = |word: &str| graph(word).shape().rings;
        assert!(threads("futuresdr?scheduler=flow") >= 16);
        assert!(threads("gnuradio?pipes=6&stages=24") > 12);
        assert!(threads("gnuradio?pipes=6&stages=24&residence=on") > 6 * 27);
    }
}
