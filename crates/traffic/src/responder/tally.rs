//! What a responder saw of each trial, for senders that wait for no reply.

use dropline_payload::{Counts, Tag};
use std::collections::VecDeque;

/// Counts of the latest trials by tag. Bounded: whoever sends made-up tags makes it forget, not grow.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The newest at the end.
    trials: VecDeque<(Tag, Counts)>,
}

const TRIALS: usize = 64;

impl Tally {
    /// The counts of a trial, new if need be.
    pub(crate) fn of(&mut self, tag: Tag) -> &mut Counts {
        let at = self.place(tag).unwrap_or_else(|| {
            if self.trials.len() == TRIALS {
                self.trials.pop_front();
            }
            self.trials.push_back((tag, Counts::default()));
            self.trials.len() - 1
        });
        &mut self.trials[at].1
    }

    /// The counts of a trial, if it is remembered.
    pub(crate) fn known(&mut self, tag: Tag) -> Option<&mut Counts> {
        self.place(tag).map(|at| &mut self.trials[at].1)
    }

    fn place(&self, tag: Tag) -> Option<usize> {
        self.trials.iter().rposition(|(known, _)| *known == tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_tags_make_it_forget_the_oldest_and_never_grow() {
        let mut tally = Tally::default();
        for tag in 0..1000 {
            tally.of(Tag(tag)).received += 1;
            tally.of(Tag(tag)).received += 1;
        }
        assert_eq!(tally.trials.len(), TRIALS);
        assert_eq!(tally.known(Tag(1000 - TRIALS as u32 - 1)), None);
        assert_eq!(tally.known(Tag(1000 - TRIALS as u32)).map(|counts| counts.received), Some(2));
    }
}
