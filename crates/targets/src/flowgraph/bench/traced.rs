//! What graphs record beside tx and rx: when a granule was due, and when it left each block.

use crate::flowgraph::graph::Graph;
use crate::flowgraph::summary::together;
use dropline_passage::{Correlator, CorrelatorSettings, WarmUpCut};
use dropline_trace::{Kind, TraceEvent};
use dropline_trial::Delay;
use dropline_trial::graph::Residence;

/// Number of the program's event that says for how long a granule had been due: pipe, granule, ns.
const DUE: Kind = Kind::Own(1);
/// Number of the one that says that it left a copy block: pipe, granule, stage.
const STAGE: Kind = Kind::Own(2);

/// Follows granules from when they were due, and from block to block.
pub(super) struct Traced {
    due: Option<Correlator>,
    blocks: Option<Correlator>,
    /// Blocks of a pipe that are told apart: its stages and its sink.
    per_pipe: u32,
}

impl Traced {
    pub(super) fn new(graph: &Graph, cut: WarmUpCut) -> Self {
        let correlator = || Correlator::new(CorrelatorSettings { cut, ..CorrelatorSettings::default() });
        Self {
            due: graph.paced.then(correlator),
            blocks: graph.residence.then(correlator),
            per_pipe: graph.stages + 1,
        }
    }

    /// An event of any thread, and when it happened.
    pub(super) fn see(&mut self, event: TraceEvent, at_ns: u64) {
        if let Some(due) = &mut self.due {
            match event.kind {
                DUE => drop(due.tx(event.pipe, event.n, at_ns.saturating_sub(event.extra))),
                Kind::Rx => drop(due.rx(event.pipe, event.n, at_ns)),
                _ => {}
            }
        }
        if let Some(blocks) = &mut self.blocks {
            // Blocks are numbered from 0 here: leaving one is entering the next.
            let first = event.pipe.saturating_mul(self.per_pipe);
            let left = match event.kind {
                Kind::Tx => 0,
                STAGE => u32::try_from(event.extra).unwrap_or(u32::MAX).min(self.per_pipe - 1),
                Kind::Rx => self.per_pipe,
                _ => return,
            };
            if let Some(before) = left.checked_sub(1) {
                blocks.rx(first + before, event.n, at_ns);
            }
            if left < self.per_pipe {
                blocks.tx(first + left, event.n, at_ns);
            }
        }
    }

    /// From when granules were due, where there is a load; how long they were in each block, where that was asked for.
    pub(super) fn finish(self) -> (Option<Delay>, Vec<Residence>) {
        let due = self.due.map(|due| together(&due.finish(None).pipes));
        let blocks = self.blocks.map(|blocks| blocks.finish(None).pipes).unwrap_or_default();
        let of = |block: u32| Residence {
            block: block + 1,
            delay: together(blocks.iter().filter(|pipe| pipe.number % self.per_pipe == block)),
        };
        let residence = if blocks.is_empty() { Vec::new() } else { (0..self.per_pipe).map(of).collect() };
        (due, residence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flowgraph::graph::Framework;

    fn event(kind: Kind, pipe: u32, n: u64, extra: u64) -> TraceEvent {
        TraceEvent { ticks: 0, kind, pipe, n, extra }
    }

    #[test]
    fn delays_count_from_when_a_granule_was_due_and_from_block_to_block() {
        let graph = Graph { stages: 2, residence: true, ..Graph::new(Framework::FutureSdr) };
        let mut traced = Traced::new(&graph, WarmUpCut::default());
        for n in 1..=10 {
            let at = n * 1_000_000;
            for pipe in [0, 1] {
                // Due 500 ns before it left; then 100, 200 and 300 ns in the three blocks.
                traced.see(event(DUE, pipe, n, 500), at);
                traced.see(event(Kind::Tx, pipe, n, 0), at);
                traced.see(event(STAGE, pipe, n, 1), at + 100);
                traced.see(event(STAGE, pipe, n, 2), at + 300);
                traced.see(event(Kind::Rx, pipe, n, 0), at + 600);
            }
        }
        let (due, residence) = traced.finish();
        let only = |delay: &Delay| {
            let cells: Vec<_> = delay.histogram.as_ref().unwrap().cells().collect();
            assert_eq!(cells.len(), 1);
            cells[0]
        };
        let (value, count) = only(&due.unwrap());
        assert!((1095..=1105).contains(&value) && count == 20, "{value} {count}");
        let found: Vec<_> = residence.iter().map(|of| (of.block, only(&of.delay))).collect();
        assert_eq!(found, [(1, (100, 20)), (2, (200, 20)), (3, (300, 20))]);
    }
}
