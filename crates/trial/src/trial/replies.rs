//! What the replies of a service say in a trial.

use super::Trial;
use crate::replied::{ClassMeaning, Replied};
use crate::{Caveat, Extra};

/// Replies that say so are worth a doubt where they are more of a thousand than this.
const DOUBTED_OF_A_THOUSAND: u64 = 1;
/// A limit of answers shows in one of so many replies, and in one of so many requests.
const LIMITED_OF: u64 = 20;

impl Trial {
    /// Keeps what the replies said, by class, and how many bytes they had together. Where more than a few say that nobody got what he asked for, it is doubted that
    /// this was meant to be measured.
    pub fn say_replies<'a>(
        &mut self,
        said: impl IntoIterator<Item = (&'a str, ClassMeaning, u64)>,
        bytes: u64,
    ) {
        let said: Vec<_> = said.into_iter().filter(|(.., count)| *count > 0).collect();
        let replies = said.iter().map(|(.., count)| count).sum::<u64>();
        let doubted = |meaning| {
            let of = || said.iter().filter(move |(_, other, _)| *other == meaning);
            let count = of().map(|(.., count)| count).sum::<u64>();
            let (class, ..) = of().max_by_key(|(.., count)| *count)?;
            let is_much = count.saturating_mul(1000) > replies.saturating_mul(DOUBTED_OF_A_THOUSAND);
            is_much.then(|| ((*class).to_owned(), count))
        };
        if let Some((class, refused)) = doubted(ClassMeaning::Refused) {
            self.caveats.push(Caveat::RepliesRefuse { class, refused, replies });
        }
        if let Some((class, failed)) = doubted(ClassMeaning::Failed) {
            self.caveats.push(Caveat::RepliesFail { class, failed, replies });
        }
        let classes = said.into_iter().map(|(class, _, count)| (class.to_owned(), count)).collect();
        self.extra = Some(Extra::Replied(Replied { classes, bytes: Some(bytes) }));
    }

    /// The doubt about a trial of which a service refused a good part, and did not answer another: a rule of its own is why,
    /// and not how fast it is. It is known once the loss has its places.
    pub fn limited_answers(&self) -> Option<Caveat> {
        let (refused, replies) = self.caveats.iter().find_map(|caveat| match caveat {
            Caveat::RepliesRefuse { refused, replies, .. } => Some((*refused, *replies)),
            _ => None,
        })?;
        let silent = *self.lost_at.as_ref()?.get("unexplained")?;
        let is_part = |part: u64, all: u64| part.saturating_mul(LIMITED_OF) >= all;
        let is_limit = is_part(refused, replies)
            && is_part(silent, self.offered)
            && silent.saturating_mul(2) > self.lost();
        (is_limit && silent > 0).then_some(Caveat::AnswersLimited {
            refused,
            replies,
            silent,
            offered: self.offered,
        })
    }

    /// Keeps how many requests had a reply that did not answer them, by kind as [`say_differences`](Self::say_differences).
    /// `unasked` replies were to none of them.
    pub fn say_unlike(&mut self, otherwise: [u64; 3], replies: [u64; 3], unasked: u64) {
        let [truncated, extended, changed] = otherwise;
        self.reply_truncated = Some(truncated);
        self.reply_extended = Some(extended);
        self.reply_changed = Some(changed);
        let [truncated, extended, changed] = replies;
        if truncated + extended + changed + unasked > 0 {
            self.caveats.push(Caveat::RepliesUnlike { truncated, extended, changed, unasked });
        }
    }

    /// Replies that came beside those that are counted to a packet, right or wrong: they are not others' traffic.
    pub fn surplus_replies(&self) -> u64 {
        let sum = |caveat: &Caveat| match caveat {
            Caveat::RepliesUnlike { truncated, extended, changed, unasked } => {
                let counted = [self.reply_truncated, self.reply_extended, self.reply_changed];
                let counted: u64 = counted.into_iter().flatten().sum();
                (truncated + extended + changed + unasked).saturating_sub(counted)
            }
            Caveat::RepliesBeside { truncated, extended, changed } => truncated + extended + changed,
            _ => 0,
        };
        self.caveats.iter().map(sum).sum()
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

    #[test]
    fn wrong_replies_to_what_was_answered_before_are_known_and_are_not_others_packets() {
        let mut trial = said(0, 0);
        trial.say_unlike([5, 0, 2], [6, 0, 40], 1);
        assert_eq!(trial.surplus_replies(), 40);
        trial.caveats.clear();
        trial.say_differences([0, 0, 3], [0, 1, 5]);
        assert_eq!(trial.surplus_replies(), 3);
    }

    fn said(refused: u64, failed: u64) -> Trial {
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
        let mut trial = Trial::new(1, input, 7);
        let answered = 10_000 - refused - failed;
        trial.say_replies(
            [
                ("noerror", ClassMeaning::Answered, answered),
                ("truncated", ClassMeaning::Refused, refused),
                ("servfail", ClassMeaning::Failed, failed),
                ("formerr", ClassMeaning::Failed, 0),
            ],
            520_000,
        );
        trial
    }

    #[test]
    fn replies_are_kept_by_class_and_classes_without_any_are_left_out() {
        let replied = said(3, 0).replied().unwrap().classes.clone();
        assert_eq!(replied, BTreeMap::from([("noerror".into(), 9_997), ("truncated".into(), 3)]));
    }

    #[test]
    fn refusals_beside_silence_that_no_counter_explains_are_a_limit_of_answers() {
        let limited = |refused, lost_at: &[(&str, u64)]| {
            let mut trial = said(refused, 0);
            let lost: u64 = lost_at.iter().map(|(_, packets)| packets).sum();
            (trial.offered, trial.forwarded) = (10_000 + lost, 10_000);
            trial.lost_at =
                Some(lost_at.iter().map(|(place, packets)| ((*place).into(), *packets)).collect());
            trial.limited_answers()
        };
        let caveat =
            Caveat::AnswersLimited { refused: 6_000, replies: 10_000, silent: 5_000, offered: 15_000 };
        assert_eq!(limited(6_000, &[("unexplained", 5_000)]), Some(caveat));
        assert_eq!(limited(6_000, &[("unexplained", 0)]), None, "all were answered");
        assert_eq!(limited(10, &[("unexplained", 5_000)]), None, "next to none was refused");
        assert_eq!(
            limited(6_000, &[("receive_buffer", 5_000), ("unexplained", 900)]),
            None,
            "too slow as well"
        );
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
