//! The cells of a log-linear histogram of whole nanoseconds.
//!
//! 2⁷ cells a factor of two: a cell is at most 1/128 wide of its value, and values below 256 ns are exact. All of the
//! 64 bits have their cell, so nothing is out of range.

/// Binary logarithm of the number of cells a factor of two.
const PRECISION: u32 = 7;
/// Cells of all 64-bit values.
pub(crate) const CELLS: usize = ((64 - PRECISION as usize) << PRECISION) + (1 << PRECISION);

/// The cell of a value: exact below 2⁸, then the first eight bits.
#[inline]
pub(crate) fn cell_of(value: u64) -> usize {
    let above = (63 - PRECISION) as i32 - (value | 1 << PRECISION).leading_zeros() as i32;
    let shift = above as u32;
    ((shift as usize) << PRECISION) + (value >> shift) as usize
}

/// Lowest and highest value of a cell.
pub(crate) fn bounds(cell: usize) -> (u64, u64) {
    let shift = (cell >> PRECISION).saturating_sub(1) as u32;
    let head = (cell - ((shift as usize) << PRECISION)) as u64;
    let low = head << shift;
    (low, low + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_cell_that_holds_it() {
        for value in (0..100_000)
            .chain((6..64).flat_map(|k| [(1u64 << k) - 1, 1 << k, (1 << k) + 1]))
            .chain([u64::MAX])
        {
            let (low, high) = bounds(cell_of(value));
            assert!((low..=high).contains(&value), "{value} in {low}..={high}");
            assert!(high - low <= value / 128, "{value}: {low}..={high}");
        }
        assert_eq!(cell_of(u64::MAX), CELLS - 1);
        assert_eq!((0..CELLS - 1).find(|&cell| bounds(cell).1 + 1 != bounds(cell + 1).0), None);
    }
}
