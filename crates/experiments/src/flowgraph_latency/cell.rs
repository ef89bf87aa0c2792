//! What is run: a graph on a scheduler, and who records.

use dropline_targets::flowgraph::graph::Framework;

/// One configuration of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) part: Part,
    pub(super) system: System,
    pub(super) stages: u32,
    pub(super) buffer_kib: u64,
    pub(super) variant: Variant,
    pub(super) size: Size,
}

/// Which question a cell is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Stages,
    Buffer,
    Overhead,
}

/// A framework and who runs its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct System {
    pub(super) framework: Framework,
    pub(super) scheduler: &'static str,
    /// As tables call it.
    pub(super) name: &'static str,
}

/// What the tracepoints do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// There are none.
    None,
    /// They record nothing.
    Off,
    Ring,
    Lttng,
}

/// How much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) pipes: u32,
    /// Of each pipe.
    pub(super) samples: u64,
    /// In so many turns with others.
    pub(super) turns: u32,
}

const FLOW: System = System { framework: Framework::FutureSdr, scheduler: "flow", name: "flow" };
const SMOL1: System = System { framework: Framework::FutureSdr, scheduler: "smol1", name: "smol1" };
const SMOLN: System = System { framework: Framework::FutureSdr, scheduler: "smoln", name: "smoln" };
const TPB: System = System { framework: Framework::FutureSdr, scheduler: "tpb", name: "thread per block" };
const GNU_RADIO: System = System { framework: Framework::GnuRadio, scheduler: "tpb", name: "GNU Radio" };

/// Whose latency is measured.
pub(super) const SYSTEMS: [System; 5] = [FLOW, GNU_RADIO, SMOLN, SMOL1, TPB];
/// Whose overhead.
pub(super) const WEIGHED: [System; 2] = [FLOW, SMOL1];
/// The first is what the others are held against.
pub(super) const VARIANTS: [Variant; 4] = [Variant::None, Variant::Off, Variant::Ring, Variant::Lttng];
/// Buffers of the second part.
const BUFFERS_KIB: [u64; 5] = [16, 32, 64, 128, 256];
/// Stages of a graph where others vary, and its buffers.
const STAGES: u32 = 6;
const BUFFER_KIB: u64 = 64;
/// Pipes, as the weblog of 2021 had.
const PIPES: u32 = 6;

impl Variant {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "no tracepoints",
            Self::Off => "switched off",
            Self::Ring => "recording, our ring",
            Self::Lttng => "recording, LTTng",
        }
    }

    fn parameters(self) -> &'static str {
        match self {
            Self::None => "&probes=off&recording=off",
            Self::Off => "&recording=off",
            Self::Ring => "",
            Self::Lttng => "&recorder=lttng",
        }
    }
}

impl Cell {
    /// Latency over stages and over buffers.
    pub(super) fn latency(small: bool, full: bool) -> Vec<Self> {
        let (stages, buffers): (Vec<u32>, &[u64]) = match (small, full) {
            (true, _) => (vec![2, 6], &[16, 64]),
            (_, true) => ((1..24).step_by(2).collect(), &BUFFERS_KIB),
            _ => (vec![1, 3, 7, 11, 17, 23], &BUFFERS_KIB),
        };
        let size = match (small, full) {
            (true, _) => Size { pipes: 2, samples: 2_000_000, turns: 1 },
            (_, true) => Size { pipes: PIPES, samples: 200_000_000, turns: 1 },
            _ => Size { pipes: PIPES, samples: 10_000_000, turns: 1 },
        };
        let cell = |part, system, stages, buffer_kib| Self {
            part,
            system,
            stages,
            buffer_kib,
            variant: Variant::Ring,
            size,
        };
        let by_stages = stages
            .into_iter()
            .flat_map(|stages| SYSTEMS.map(|system| cell(Part::Stages, system, stages, BUFFER_KIB)));
        let by_buffer = buffers
            .iter()
            .flat_map(|&kib| [FLOW, GNU_RADIO].map(|system| cell(Part::Buffer, system, STAGES, kib)));
        by_stages.chain(by_buffer).collect()
    }

    /// The variants of one system that are held against one another.
    pub(super) fn weighed(system: System, small: bool, full: bool) -> [Self; 4] {
        let size = match (small, full) {
            (true, _) => Size { pipes: 2, samples: 2_000_000, turns: 4 },
            (_, true) => Size { pipes: PIPES, samples: 200_000_000, turns: 100 },
            _ => Size { pipes: PIPES, samples: 50_000_000, turns: 100 },
        };
        VARIANTS.map(|variant| Self {
            part: Part::Overhead,
            system,
            stages: STAGES,
            buffer_kib: BUFFER_KIB,
            variant,
            size,
        })
    }

    /// What names it in a file of runs.
    pub(super) fn key(&self) -> String {
        let Size { pipes, samples, turns } = self.size;
        let part = match self.part {
            Part::Stages => "stages",
            Part::Buffer => "buffer",
            Part::Overhead => "overhead",
        };
        let turns = if turns > 1 { format!(" in {turns} turns") } else { String::new() };
        format!(
            "{part}: {}, {pipes} x {}, {} KiB, {samples} samples{turns}, {}",
            self.system.name,
            self.stages,
            self.buffer_kib,
            self.variant.name()
        )
    }

    /// Passages at the beginning that go through empty buffers: eight, or as many as all buffers hold.
    fn warm_up(&self) -> u64 {
        let items = u64::from(self.stages + 2) * self.buffer_kib * 1024 / 4;
        (items / 32_768 + 1).max(8)
    }

    /// The target that it is.
    pub(super) fn target(&self) -> String {
        // A sampler beside the graph would be weighed too.
        let in_flight = if self.part == Part::Overhead { "off" } else { "1ms" };
        format!(
            "flowgraph:{}?pipes={}&stages={}&scheduler={}&buffer={}KiB&samples={}&warm-up={}&in-flight={in_flight}{}",
            self.system.framework.word(),
            self.size.pipes,
            self.stages,
            self.system.scheduler,
            self.buffer_kib,
            self.samples(),
            self.warm_up(),
            self.variant.parameters()
        )
    }

    /// Samples of each pipe in one turn.
    pub(super) fn samples(&self) -> u64 {
        self.size.samples / u64::from(self.size.turns)
    }

    /// Granules that reach the sinks in one turn.
    pub(super) fn granules(&self) -> u64 {
        u64::from(self.size.pipes) * (self.samples() / 32_768)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_targets::Target;

    #[test]
    fn every_cell_is_a_target_and_has_a_name_of_its_own() {
        for (small, full) in [(true, false), (false, false), (false, true)] {
            let weighed = WEIGHED.into_iter().flat_map(|system| Cell::weighed(system, small, full));
            let cells: Vec<Cell> = Cell::latency(small, full).into_iter().chain(weighed).collect();
            for cell in &cells {
                assert!(Target::parse(&cell.target()).is_ok(), "{}", cell.target());
                assert_eq!(cells.iter().filter(|other| other.key() == cell.key()).count(), 1);
            }
        }
    }
}
