//! Searches that were made again because of a change, and what they say of it.

use super::nights::{CONFIRMS, Night, Nights};
use dropline_record::{ConfirmationLine, LeftOutLine, VerdictWord};
use dropline_stats::trend::{Against, Confirmed, Segment, Trend, WantedEffect};
use std::collections::BTreeSet;

/// The label that says of what it is a search.
pub(super) const SIDE: &str = "confirms_as";
/// Of what changed,
pub(super) const CHANGED: &str = "changed";
/// and of what was good before.
pub(super) const GOOD: &str = "good";

/// Searches that confirm a change together begin within so many seconds.
const TOGETHER: i64 = 86_400;

/// All of them: they are not nights of a history.
#[derive(Default)]
pub(super) struct Confirming {
    nights: Vec<Night>,
}

impl Confirming {
    /// Takes them out of nights.
    pub(super) fn out_of(nights: Vec<Night>) -> (Self, Vec<Night>) {
        let (fresh, nights) = nights.into_iter().partition(|night| night.labels.contains_key(CONFIRMS));
        (Self { nights: fresh }, nights)
    }

    /// What they say of the change with this id, between the level `before` and the nights that the new one lasts until.
    pub(super) fn of(
        &self,
        id: &str,
        history: &Nights,
        trend: &Trend,
        (before, until): (&Segment, usize),
        wanted: WantedEffect,
    ) -> Option<ConfirmationLine> {
        let of_history = &history.nights[0];
        let mut changed = self.on(CHANGED, id, of_history);
        changed.retain(|night| night.series == of_history.series);
        // Of those that were made at several times, the last ones.
        let newest = changed.iter().map(|night| night.seconds()).max()?;
        let is_of_then = |night: &&Night| newest - night.seconds() < TOGETHER;
        changed.retain(is_of_then);
        let mut good = self.on(GOOD, id, of_history);
        good.retain(|night| night.series.differs_in_target_alone(&of_history.series));
        good.retain(is_of_then);
        let values = |nights: &[&Night]| nights.iter().map(|night| night.value()).collect::<Vec<f64>>();
        let (fresh, beside) = (values(&changed), values(&good));
        let against = match beside.as_slice() {
            [] => Against::Before { level: before.level, nights: before.end - before.start },
            good => Against::Good(good),
        };
        let Confirmed { size, size_low, size_high, verdict } = Confirmed::of(&fresh, against, trend, wanted)?;
        let nights_since = history.after(newest, until) as u64;
        let sources = |nights: &[&Night]| nights.iter().map(|night| night.point().source).collect();
        Some(ConfirmationLine {
            fresh: sources(&changed),
            good: sources(&good),
            size,
            size_low,
            size_high,
            verdict: VerdictWord::from(verdict),
            nights_since,
        })
    }

    /// Those of one side that confirm a change, of the goal of its history.
    fn on(&self, side: &str, id: &str, of_history: &Night) -> Vec<&Night> {
        let is_meant = |night: &&Night| ids(night).any(|named| named == id) && night.goal == of_history.goal;
        let is_on = |night: &&Night| night.labels.get(SIDE).is_some_and(|word| word == side);
        self.nights.iter().filter(is_meant).filter(is_on).collect()
    }

    /// Those that confirm none of the changes that are told.
    pub(super) fn left_out(&self, told: &BTreeSet<String>) -> Vec<LeftOutLine> {
        let is_left = |night: &&Night| !ids(night).any(|id| told.contains(id));
        let why = |night: &Night| LeftOutLine {
            source: night.point().source,
            why: format!(
                "it was searched again because of the change {}, which is not told any more",
                ids(night).collect::<Vec<_>>().join(" and ")
            ),
        };
        self.nights.iter().filter(is_left).map(why).collect()
    }
}

fn ids(night: &Night) -> impl Iterator<Item = &str> {
    night.labels.get(CONFIRMS).into_iter().flat_map(|ids| ids.split(',')).map(str::trim)
}
