//! Which trial of which program a packet belongs to.

use std::fmt;

/// The trial a packet belongs to, unlike that of every other trial of every other program in reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// The tags of one program: consecutive from a place that chance chose, so that an earlier trial of the
/// same program is recognised without remembering any.
///
/// Two programs with ten thousand trials each share a tag once in two hundred thousand pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    base: u32,
}

impl Tags {
    /// The tags of a search with `seed` in a program with `salt`, which must differ from process to
    /// process: a search that is measured twice at once has one seed.
    pub fn new(seed: u64, salt: u64) -> Self {
        // The finaliser of MurmurHash3.
        let mut value = seed ^ salt.rotate_left(32);
        value = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        value = (value ^ (value >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        Self { base: (value >> 32) as u32 ^ value as u32 }
    }

    /// The tag of trial `number`.
    pub fn of_trial(self, number: u64) -> Tag {
        Tag(self.base.wrapping_add(number as u32))
    }

    /// How many trials before `number` this tag was in use; `None` if it is not of the trials from
    /// `first` to `number`.
    pub fn age(self, tag: Tag, first: u64, number: u64) -> Option<u64> {
        let age = u64::from(self.of_trial(number).0.wrapping_sub(tag.0));
        (age <= number.saturating_sub(first)).then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn programs_with_one_seed_and_searches_with_one_salt_have_tags_of_their_own() {
        let firsts: BTreeSet<Tag> = (0..64)
            .flat_map(|seed| (0..64).map(move |salt| Tags::new(seed, salt << 40).of_trial(1)))
            .collect();
        assert_eq!(firsts.len(), 64 * 64);
    }

    proptest! {
        #[test]
        fn a_tag_tells_how_many_trials_ago_it_was_in_use(
            seed: u64, salt: u64, first in 1u64..1 << 40, length in 0u64..1000, asked in 0u64..1000,
        ) {
            let tags = Tags::new(seed, salt);
            let number = first + length;
            // The twin: look for the tag among all trials of the program.
            let tag = tags.of_trial(first + asked);
            let twin = (first..=number).rev().position(|trial| tags.of_trial(trial) == tag);
            prop_assert_eq!(tags.age(tag, first, number), twin.map(|age| age as u64));
        }
    }
}
