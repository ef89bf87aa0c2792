//! What a responder saw of each trial, for senders that wait for no reply.

use dropline_payload::{Counts, Tag};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Counts of the latest trials by tag. Bounded: whoever sends made-up tags makes it forget, not grow.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The newest at the end.
    trials: VecDeque<(Tag, Known)>,
}

/// What is known of a trial.
#[derive(Debug, Default)]
struct Known {
    counts: Counts,
    /// What came last and from whom, and how often in a row.
    last: Option<(SocketAddr, u64)>,
    in_a_row: u32,
}

const TRIALS: usize = 64;
/// How often the same is answered in a row: a network may double a packet, a circle repeats it for ever.
const IN_A_ROW: u32 = 4;

impl Tally {
    /// The counts of a trial, new if need be.
    pub(crate) fn of(&mut self, tag: Tag) -> &mut Counts {
        &mut self.entry(tag).counts
    }

    /// The counts of a trial, if it is remembered.
    pub(crate) fn known(&mut self, tag: Tag) -> Option<&mut Counts> {
        self.place(tag).map(|at| &mut self.trials[at].1.counts)
    }

    /// Notes that a packet or query with this number came; whether it may be answered. A trial numbers them: one that
    /// comes again and again with none between is what a program makes of each of our answers.
    pub(crate) fn admit(&mut self, tag: Tag, number: u64, source: SocketAddr) -> bool {
        let known = self.entry(tag);
        let again = known.last == Some((source, number));
        known.last = Some((source, number));
        known.in_a_row = if again { IN_A_ROW.min(known.in_a_row + 1) } else { 0 };
        known.in_a_row < IN_A_ROW
    }

    fn entry(&mut self, tag: Tag) -> &mut Known {
        let at = self.place(tag).unwrap_or_else(|| {
            if self.trials.len() == TRIALS {
                self.trials.pop_front();
            }
            self.trials.push_back((tag, Known::default()));
            self.trials.len() - 1
        });
        &mut self.trials[at].1
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

    #[test]
    fn the_same_is_answered_a_few_times_in_a_row_and_whatever_is_numbered_always() {
        let mut tally = Tally::default();
        let (source, other) = ("127.0.0.1:5000".parse().unwrap(), "127.0.0.1:5001".parse().unwrap());
        assert!((0..1000).all(|number| tally.admit(Tag(1), number, source)));
        assert!((0..1000).all(|number| tally.admit(Tag(1), number / 2, source)), "doubled on the path");
        assert!((0..1000).all(|number| tally.admit(Tag(1), 7, if number % 2 == 0 { source } else { other })));
        let mut again = || (0..1000).filter(|_| tally.admit(Tag(2), 7, source)).count();
        assert_eq!(again(), IN_A_ROW as usize);
        assert_eq!(again(), 0);
        assert!(tally.admit(Tag(2), 8, source));
    }
}
