//! HdrHistogram's V2 deflate format, read cell by cell: what a file claims costs no memory.
//!
//! All big endian: a cookie and a length, then deflated a cookie, a length, a normalizing offset, the digits, the
//! lowest and the highest value, a ratio, and numbers of up to nine bytes. A number below zero skips that many
//! cells, any other is the count of the next one.

use super::HistogramError;
use flate2::read::ZlibDecoder;
use std::io::{self, BufReader, Read, Take};

const DEFLATED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;
/// Most significant digits that the format has.
const MOST_DIGITS: u32 = 5;

/// The occupied cells of a stored histogram, ascending: (lowest value of the cell, highest, count).
pub(super) struct Cells<'a> {
    numbers: BufReader<Take<ZlibDecoder<&'a [u8]>>>,
    layout: Layout,
    /// The next cell.
    index: u64,
}

impl<'a> Cells<'a> {
    /// Reads what stands before the cells.
    pub(super) fn of(mut stored: &'a [u8]) -> Result<Self, HistogramError> {
        if u32::from_be_bytes(field(&mut stored)?) != DEFLATED {
            return Err(wrong("it does not begin as one"));
        }
        let length = u32::from_be_bytes(field(&mut stored)?) as usize;
        let deflated = stored.get(..length).ok_or_else(|| wrong("it is cut off"))?;
        let mut plain = ZlibDecoder::new(deflated);
        if u32::from_be_bytes(field(&mut plain)?) != PLAIN {
            return Err(wrong("what is compressed in it is something else"));
        }
        let length = u32::from_be_bytes(field(&mut plain)?);
        let offset = u32::from_be_bytes(field(&mut plain)?);
        let digits = u32::from_be_bytes(field(&mut plain)?);
        let lowest = u64::from_be_bytes(field(&mut plain)?);
        let _highest: [u8; 8] = field(&mut plain)?;
        let ratio = f64::from_be_bytes(field(&mut plain)?);
        if offset != 0 || ratio != 1.0 {
            return Err(wrong("its cells are shifted or scaled"));
        }
        let layout = Layout::new(lowest, digits).ok_or_else(|| wrong("no histogram has such cells"))?;
        Ok(Self { numbers: BufReader::new(plain.take(length.into())), layout, index: 0 })
    }

    fn cell(&mut self) -> Result<Option<(u64, u64, u64)>, HistogramError> {
        let beyond = || wrong("it has cells beyond all values");
        while let Some(number) = self.number()? {
            let index = self.index;
            let step = if number < 0 { number.unsigned_abs() } else { 1 };
            self.index = index.checked_add(step).ok_or_else(beyond)?;
            if number > 0 {
                let highest = self.layout.highest(index).ok_or_else(beyond)?;
                let lowest = index
                    .checked_sub(1)
                    .and_then(|before| self.layout.highest(before))
                    .map_or(0, |end| end + 1);
                return Ok(Some((lowest, highest, number.unsigned_abs())));
            }
            if self.index > Layout::MOST_CELLS {
                return Err(beyond());
            }
        }
        Ok(None)
    }

    /// The next number: seven bits a byte, the lowest first, eight in the ninth; then the sign in the lowest bit.
    fn number(&mut self) -> Result<Option<i64>, HistogramError> {
        let mut bits = 0;
        for place in 0..9 {
            let byte = match self.numbers.by_ref().bytes().next() {
                Some(byte) => u64::from(byte.map_err(|why| unreadable(&why))?),
                None if place == 0 && self.numbers.get_ref().limit() == 0 => return Ok(None),
                None => return Err(wrong("it is cut off")),
            };
            if place == 8 {
                bits |= byte << 56;
                break;
            }
            bits |= (byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                break;
            }
        }
        Ok(Some((bits >> 1) as i64 ^ -((bits & 1) as i64)))
    }
}

impl Iterator for Cells<'_> {
    type Item = Result<(u64, u64, u64), HistogramError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cell().transpose()
    }
}

/// Which values a cell holds: its width doubles every `half` cells, after the first two halves.
#[derive(Clone, Copy)]
struct Layout {
    /// Binary logarithm of the narrowest cell's width.
    unit: u32,
    /// Binary logarithm of the number of cells of one width.
    half: u32,
}

impl Layout {
    /// No layout has more: 2¹⁷ cells of each width.
    const MOST_CELLS: u64 = 65 << 17;

    /// `None` if there is no such histogram.
    fn new(lowest: u64, digits: u32) -> Option<Self> {
        let one_by_one = 2 * 10u64.pow((digits <= MOST_DIGITS).then_some(digits)?);
        let half = one_by_one.next_power_of_two().ilog2().max(1) - 1;
        Some(Self { unit: lowest.checked_ilog2()?, half })
    }

    /// The highest value of a cell; `None` if that has more than 64 bits.
    fn highest(self, index: u64) -> Option<u64> {
        let cells = 1 << self.half;
        let doublings = u32::try_from((index / cells).saturating_sub(1)).ok()?;
        let within = index - u64::from(doublings) * cells;
        let width = doublings.checked_add(self.unit).filter(|&width| width < u64::BITS)?;
        u64::try_from((u128::from(within + 1) << width) - 1).ok()
    }
}

fn field<const N: usize>(source: &mut impl Read) -> Result<[u8; N], HistogramError> {
    let mut bytes = [0; N];
    source.read_exact(&mut bytes).map_err(|why| unreadable(&why))?;
    Ok(bytes)
}

fn unreadable(why: &io::Error) -> HistogramError {
    match why.kind() {
        io::ErrorKind::UnexpectedEof => wrong("it is cut off"),
        _ => wrong("it cannot be decompressed"),
    }
}

fn wrong(why: &'static str) -> HistogramError {
    HistogramError::NotV2Deflate(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
    use proptest::prelude::*;
    use std::io::Write as _;

    /// Stores numbers as a histogram of three digits that claims `length` bytes for them.
    fn stored(length: Option<u32>, numbers: &[u8]) -> Vec<u8> {
        let length = length.unwrap_or(numbers.len() as u32);
        let mut plain = [PLAIN, length, 0, 3].map(u32::to_be_bytes).concat();
        plain.extend([1, u64::MAX, 1f64.to_bits()].map(u64::to_be_bytes).concat());
        plain.extend(numbers);
        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflated.write_all(&plain).unwrap();
        let deflated = deflated.finish().unwrap();
        let mut stored = [DEFLATED, deflated.len() as u32].map(u32::to_be_bytes).concat();
        stored.extend(deflated);
        stored
    }

    fn read(stored: &[u8]) -> Result<Vec<(u64, u64, u64)>, HistogramError> {
        Cells::of(stored)?.collect()
    }

    #[test]
    fn what_a_histogram_claims_and_has_not_costs_nothing() {
        assert_eq!(read(&stored(None, &[2])), Ok(vec![(0, 0, 1)]));
        assert_eq!(read(&stored(Some(u32::MAX), &[2])), Err(wrong("it is cut off")), "4 GiB of cells");
        let back = [0xff; 9];
        let beyond = Err(wrong("it has cells beyond all values"));
        assert_eq!(read(&stored(None, &back)), beyond, "it skips 2^63 cells");
        assert_eq!(read(&stored(None, &[0xff, 0xff, 0x7f, 2])), beyond, "a value of more than 64 bits");
        assert_eq!(read(&stored(None, &vec![0; 1 << 24])), beyond, "16 MiB of zeroes in a few bytes");
    }

    proptest! {
        #[test]
        fn histograms_of_every_layout_are_read_as_their_own_library_reads_them(
            low in 1u64..1 << 20, span in 2u64..1 << 40, digits in 0u8..=5,
            values in prop::collection::vec((any::<u64>(), 1u64..1 << 40), 0..40),
        ) {
            let high = low.saturating_mul(span);
            let mut twin = hdrhistogram::Histogram::<u64>::new_with_bounds(low, high, digits).unwrap();
            values.into_iter().for_each(|(value, count)| twin.saturating_record_n(value % high, count));
            let mut stored = Vec::new();
            V2DeflateSerializer::new().serialize(&twin, &mut stored).unwrap();
            let read: Result<Vec<_>, _> = Cells::of(&stored).unwrap().collect();
            let cells: Vec<_> =
                twin.iter_recorded()
                    .map(|cell| cell.value_iterated_to())
                    .map(|value| (twin.lowest_equivalent(value), value, twin.count_at(value)))
                    .collect();
            prop_assert_eq!(read.unwrap(), cells);
        }
    }
}
