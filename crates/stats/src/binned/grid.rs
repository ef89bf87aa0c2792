//! A grid over events: cells whose edges no single event decides, for estimators that look at empty places too.

use crate::Cell;

/// Cells of a grid are no finer than this share of their value.
const FINEST: f64 = 0.001;
/// Near zero, a share of the whole range takes the place of the value.
const NEAR_ZERO: f64 = 0.01;
/// Each try is coarser by this.
const COARSER: f64 = 1.3;

/// Edges of at most so many cells, about as wide as one share of their value each, from the lowest event to the
/// highest. No cell of events is cut.
pub(crate) fn edges(cells: &[Cell], most: usize) -> Vec<f64> {
    let mut share = FINEST;
    loop {
        let edges = with_share(cells, share);
        if edges.len() <= most + 1 {
            return edges;
        }
        share *= COARSER;
    }
}

/// The events of each cell of a grid; one without events is `None`.
pub(crate) fn filled(cells: &[Cell], edges: &[f64]) -> Vec<Option<Cell>> {
    let mut left = cells.iter().peekable();
    edges
        .windows(2)
        .map(|edge| {
            let mut filled: Option<Cell> = None;
            while let Some(cell) = left.next_if(|cell| cell.low < edge[1]) {
                let count = filled.map_or(0, |filled| filled.count) + cell.count;
                filled = Some(Cell { value: cell.value, low: edge[0], high: edge[1], count });
            }
            filled
        })
        .collect()
}

fn with_share(cells: &[Cell], share: f64) -> Vec<f64> {
    let (Some(first), Some(last)) = (cells.first(), cells.last()) else { return Vec::new() };
    let spread = last.high - first.low;
    let mut edges = vec![first.low];
    let mut edge = first.low;
    while edge < last.high {
        let wanted = edge + share * edge.abs().min(spread).max(NEAR_ZERO * spread);
        let next = &cells[cells.partition_point(|cell| cell.high <= wanted).min(cells.len() - 1)];
        let is_cut = next.low < wanted && wanted < next.high;
        edge = if is_cut || wanted <= edge { next.high } else { wanted.min(last.high) };
        edges.push(edge);
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counted, Meaning};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_grid_holds_every_event_once_and_cuts_no_cell(
            ticks in prop::collection::btree_map(-3000i64..1_000_000, 1u64..50, 1..300), most in 2usize..300,
        ) {
            let binned = Counted::ticks(Meaning::default(), ticks, None).unwrap().binned();
            let edges = edges(binned.cells(), most);
            prop_assert!(edges.len() <= most + 1 && edges.windows(2).all(|edge| edge[0] < edge[1]));
            prop_assert!(edges[0] == binned.cells()[0].low);
            prop_assert!(*edges.last().unwrap() == binned.cells().last().unwrap().high);
            let filled = filled(binned.cells(), &edges);
            prop_assert_eq!(filled.iter().flatten().map(|cell| cell.count).sum::<u64>(), binned.count());
            for cell in binned.cells() {
                prop_assert!(edges.iter().all(|edge| *edge <= cell.low || *edge >= cell.high));
            }
        }
    }
}
