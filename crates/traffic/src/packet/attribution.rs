//! Which packets are a trial's.

use dropline_payload::{Tag, Tags, Verdict};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// Numbers the trials of one measurer, each with packets of its own.
pub(crate) struct Numbering {
    tags: Tags,
    first: u64,
    next: u64,
}

impl Numbering {
    /// The next trial is this one.
    pub(crate) fn from(first: u64, seed: u64) -> Self {
        // What answers a packet of before the first is late, as any of an earlier trial.
        Self { tags: Tags::new(seed, salt()), first: first.saturating_sub(1), next: first }
    }

    /// What belongs to no trial.
    pub(crate) fn before_the_first(&self) -> Whose {
        Whose { tags: self.tags, first: self.first, number: self.first }
    }

    /// The next trial.
    pub(crate) fn next_trial(&mut self) -> Whose {
        let number = self.next;
        self.next += 1;
        Whose { tags: self.tags, first: self.first, number }
    }
}

/// Which packets are this trial's.
#[derive(Clone, Copy)]
pub(crate) struct Whose {
    pub(crate) tags: Tags,
    /// The first trial of this program, or what was before it.
    pub(crate) first: u64,
    /// This trial.
    pub(crate) number: u64,
}

impl Whose {
    /// What these bytes are to this trial.
    pub(crate) fn judge(self, bytes: &[u8]) -> Verdict {
        Verdict::of(bytes, self.tags, self.first, self.number)
    }

    /// The tag of this trial.
    pub(crate) fn tag(self) -> Tag {
        self.tags.of_trial(self.number)
    }
}

/// Differs from process to process, and from measurer to measurer.
pub(crate) fn salt() -> u64 {
    RandomState::new().build_hasher().finish()
}
