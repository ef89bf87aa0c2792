//! From samples to granules: which boundaries a call of a source or a sink has crossed.

use core::ops::Range;

/// Counts the samples that pass one end of a pipe, and numbers its granules from 1.
///
/// A call of a source or a sink moves any number of samples: it may cross no boundary, one, or several, and each is
/// an event of its own.
///
/// ```
/// let mut granules = dropline_trace::Granules::of(1000);
/// assert!(granules.pass(999).is_empty());
/// assert_eq!(granules.pass(2001), 1..4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granules {
    /// Samples of a granule; above zero.
    size: u64,
    /// Samples up to the next boundary: 1 to `size`.
    left: u64,
    /// The last granule that is complete.
    n: u64,
}

impl Granules {
    /// Granules of `size` samples.
    ///
    /// # Panics
    /// If that is none.
    pub const fn of(size: u64) -> Self {
        assert!(size > 0, "a granule has samples");
        Self { size, left: size, n: 0 }
    }

    /// Counts `samples` more; returns the granules that they complete. Two operations where that is none.
    #[inline]
    pub fn pass(&mut self, samples: u64) -> Range<u64> {
        if samples < self.left {
            self.left -= samples;
            return 0..0;
        }
        self.cross(samples)
    }

    #[cold]
    fn cross(&mut self, samples: u64) -> Range<u64> {
        let beyond = samples - self.left;
        let first = self.n.wrapping_add(1);
        self.n = self.n.wrapping_add(1 + beyond / self.size);
        self.left = self.size - beyond % self.size;
        first..self.n.wrapping_add(1)
    }

    /// `samples` leave the source of `pipe`: one event for each boundary. Call it before they are handed on.
    #[cfg(feature = "std")]
    #[inline]
    pub fn tx(&mut self, pipe: u32, samples: u64) {
        for n in self.pass(samples) {
            crate::tx(pipe, n);
        }
    }

    /// `samples` have reached the sink of `pipe`: one event for each boundary.
    #[cfg(feature = "std")]
    #[inline]
    pub fn rx(&mut self, pipe: u32, samples: u64) {
        for n in self.pass(samples) {
            crate::rx(pipe, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_boundary_is_one_granule_however_many_a_call_crosses(
            size in 1u64..50, calls in prop::collection::vec(0u64..200, 0..60)
        ) {
            let mut granules = Granules::of(size);
            let (mut seen, mut found) = (0, Vec::new());
            for samples in calls {
                seen += samples;
                found.extend(granules.pass(samples));
                prop_assert_eq!(found.len() as u64, seen / size);
            }
            prop_assert!(found.iter().copied().eq(1..=seen / size));
        }
    }
}
