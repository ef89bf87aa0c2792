//! What the replies of a service say in a trial.

use super::Trial;
use crate::replied::{Meaning, Replied};
use crate::{Caveat, Extra};

/// Replies that say so are worth a doubt where they are more of a thousand than this.
const DOUBTED_OF_A_THOUSAND: u64 = 1;

impl Trial {
    /// Keeps what the replies said, by class. Where more than a few say that nobody got what he asked for, it is doubted that
    /// this was meant to be measured.
    pub fn say_replies<'a>(&mut self, said: impl IntoIterator<Item = (&'a str, Meaning, u64)>) {
        let said: Vec<_> = said.into_iter().filter(|(.., count)| *count > 0).collect();
        let replies = said.iter().map(|(.., count)| count).sum::<u64>();
        let doubted = |meaning| {
            let of = || said.iter().filter(move |(_, other, _)| *other == meaning);
            let count = of().map(|(.., count)| count).sum::<u64>();
            let (class, ..) = of().max_by_key(|(.., count)| *count)?;
            let is_much = count.saturating_mul(1000) > replies.saturating_mul(DOUBTED_OF_A_THOUSAND);
            is_much.then(|| ((*class).to_owned(), count))
        };
        if let Some((class, refused)) = doubted(Meaning::Refused) {
            self.caveats.push(Caveat::RepliesRefuse { class, refused, replies });
        }
        if let Some((class, failed)) = doubted(Meaning::Failed) {
            self.caveats.push(Caveat::RepliesFail { class, failed, replies });
        }
        let classes = said.into_iter().map(|(class, _, count)| (class.to_owned(), count)).collect();
        self.extra = Some(Extra::Replied(Replied { classes }));
    }

    /// Keeps how many requests had a reply that did not answer them, by kind as [`say_differences`](Self::say_differences).
    pub fn say_unlike(&mut self, otherwise: [u64; 3], replies: [u64; 3]) {
        let [truncated, extended, changed] = otherwise;
        self.reply_truncated = Some(truncated);
        self.reply_extended = Some(extended);
        self.reply_changed = Some(changed);
        let [truncated, _, changed] = replies;
        if truncated + changed > 0 {
            self.caveats.push(Caveat::RepliesUnlike { truncated, changed });
        }
    }

    /// What the replies of a service said; `None` of any other target.
    pub fn replied(&self) -> Option<&Replied> {
        if let Some(Extra::Replied(replied)) = &self.extra { Some(replied) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rate, TrialInput};
    use std::collections::BTreeMap;
    use std::time::Duration;

    fn said(refused: u64, failed: u64) -> Trial {
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
        let mut trial = Trial::new(1, input, 7);
        let answered = 10_000 - refused - failed;
        trial.say_replies([
            ("noerror", Meaning::Answered, answered),
            ("truncated", Meaning::Refused, refused),
            ("servfail", Meaning::Failed, failed),
            ("formerr", Meaning::Failed, 0),
        ]);
        trial
    }

    #[test]
    fn replies_are_kept_by_class_and_classes_without_any_are_left_out() {
        let replied = said(3, 0).replied().unwrap().classes.clone();
        assert_eq!(replied, BTreeMap::from([("noerror".into(), 9_997), ("truncated".into(), 3)]));
    }

    #[test]
    fn more_than_one_refusal_of_a_thousand_is_doubted_and_a_failure_apart() {
        let codes = |refused, failed| {
            said(refused, failed).caveats.iter().map(Caveat::code).map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(codes(10, 10).is_empty());
        assert_eq!(codes(11, 0), ["replies_refuse"]);
        assert_eq!(codes(0, 11), ["replies_fail"]);
        assert_eq!(codes(11, 10_000 - 11), ["replies_refuse", "replies_fail"]);
    }
}
