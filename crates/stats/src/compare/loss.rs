//! By how much more of B is lost than of A.

use super::Design;
use super::judgement::Pivot;
use super::sides::{KNOWN, Side, Sides, differences, spread, spread_apart, spread_without_memory};

/// A difference of two shares of lost events and what is needed for its interval at any level.
///
/// Each share has the score interval of Wilson (1927), for as many events as are worth one that is independent; that of
/// the difference follows from both (Newcombe 1998, method 10): it is one also where nothing was lost.
///
/// Of batches that remember, few are left, and Student's t of so few reaches over all that a share can be. Where each batch of
/// one side lost a larger share than each of the other, and they lie farther apart than either side wandered or one side lost
/// nothing at all, the memory of a side does not explain it: the interval then is that of batches without memory, and holds
/// the differences of all pairs of batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    shares: (f64, f64),
    /// Events that are worth an independent one, of each side.
    worth: (f64, f64),
    freedom: f64,
    /// The least and the largest difference of two batches, of sides that lie apart.
    apart: Option<(f64, f64)>,
}

/// Fewer batches do not show how far a side wanders.
const ENOUGH: usize = 10;

/// The least and the largest difference of a batch of B and one of A, where the sides lie farther apart than each wandered, or
/// one lost nothing.
fn apart(sides: &Sides) -> Option<(f64, f64)> {
    if sides.design != Design::Apart || sides.a.batches.len().min(sides.b.batches.len()) < ENOUGH {
        return None;
    }
    let of = |side: &Side| {
        let shares = side.batches.iter().map(|batch| batch.lost() / batch.count());
        shares.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), it| (least.min(it), most.max(it)))
    };
    let (a, b) = (of(&sides.a), of(&sides.b));
    let gap = (b.0 - a.1).max(a.0 - b.1);
    let lies_apart = gap > (a.1 - a.0).max(b.1 - b.0) || gap > 0.0 && a.1.min(b.1) == 0.0;
    lies_apart.then_some((b.0 - a.1, b.1 - a.0))
}

impl Loss {
    pub(super) fn of(sides: &Sides) -> Self {
        let (a, b) = (&sides.a, &sides.b);
        let share = |side: &Side| side.whole.lost() / side.whole.count();
        let alone = |side: &Side| share(side) * (1.0 - share(side)) / side.whole.count();
        let residuals = |side: &Side| -> Vec<f64> {
            let beyond = side.batches.iter().map(|batch| batch.lost() - share(side) * batch.count());
            beyond.map(|beyond| beyond / side.whole.count()).collect()
        };
        let independent = alone(a) + alone(b);
        let lie_apart = apart(sides);
        let memory = if lie_apart.is_some() { None } else { Some(sides.memory) };
        let (variance, freedom) = match sides.design {
            Design::Whole => (independent, KNOWN),
            Design::Interleaved => {
                let found = spread(&differences(&residuals(a), &residuals(b)));
                (found.variance, found.freedom)
            }
            Design::Apart => {
                let apart = |side: &Side| match memory {
                    Some(memory) => spread_apart(&residuals(side), alone(side), memory),
                    None => spread_without_memory(&residuals(side)),
                };
                let (of_a, of_b) = (apart(a), apart(b));
                (of_a.variance + of_b.variance, of_a.freedom.min(of_b.freedom))
            }
        };
        let inflation = if independent > 0.0 { (variance / independent).max(1.0) } else { 1.0 };
        let worth = (a.whole.count() / inflation, b.whole.count() / inflation);
        Self { shares: (share(a), share(b)), worth, freedom, apart: lie_apart }
    }

    /// Share of A that was lost, of B.
    pub(super) fn shares(&self) -> (f64, f64) {
        self.shares
    }
}

impl Pivot for Loss {
    fn estimate(&self) -> Option<f64> {
        Some(self.shares.1 - self.shares.0).filter(|difference| difference.is_finite())
    }

    fn ends(&self, reach: f64) -> (Option<f64>, Option<f64>) {
        let Some(difference) = self.estimate() else { return (None, None) };
        let (of_a, of_b) =
            (wilson(self.shares.0, self.worth.0, reach), wilson(self.shares.1, self.worth.1, reach));
        let low = difference - (self.shares.1 - of_b.0).hypot(of_a.1 - self.shares.0);
        let high = difference + (of_b.1 - self.shares.1).hypot(self.shares.0 - of_a.0);
        let (least, most) = self.apart.unwrap_or((low, high));
        (Some(low.min(least)), Some(high.max(most)))
    }

    fn freedom(&self) -> f64 {
        self.freedom
    }
}

/// The score interval of a share of so many independent events.
pub fn wilson(share: f64, count: f64, reach: f64) -> (f64, f64) {
    let square = reach * reach / count;
    let middle = (share + square / 2.0) / (1.0 + square);
    let half = (share * (1.0 - share) * square + square * square / 4.0).sqrt() / (1.0 + square);
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Verdict;
    use crate::compare::tests::close;

    #[test]
    fn intervals_of_shares_and_of_their_difference_are_the_published_ones() {
        let (low, high) = wilson(0.1, 10.0, 1.959_964);
        close(low, 0.0179);
        close(high, 0.4042);
        let (low, high) = wilson(0.0, 10.0, 1.959_964);
        close(low, 0.0);
        close(high, 0.2775);
        // Newcombe 1998, method 10: 56/70 less 48/80, and 9/10 less 3/10.
        for (shares, worth, ends) in
            [((0.6, 0.8), (80.0, 70.0), (0.0524, 0.3339)), ((0.3, 0.9), (10.0, 10.0), (0.1705, 0.8090))]
        {
            let (low, high) = Loss { shares, worth, freedom: KNOWN, apart: None }.ends(1.959_964);
            close(low.unwrap(), ends.0);
            close(high.unwrap(), ends.1);
        }
    }

    /// Blocks of a hundred like events, of which some are lost.
    fn blocks(lost: impl Fn(usize) -> u64) -> Vec<crate::Binned> {
        let block = |number: usize| {
            let ticks = [(7, 100 - lost(number))];
            let counted = crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap();
            counted.binned().with_lost(lost(number))
        };
        (0..20).map(block).collect()
    }

    #[test]
    fn a_side_that_lost_in_each_block_lost_more_than_one_that_lost_none_however_its_blocks_wander() {
        let questions = crate::compare::Questions {
            percentile: 0.99,
            above: None,
            smallest_effect: None,
            more_loss: 0.0,
        };
        // A memory of blocks that is all that is left of them: half is lost at first, and nearly all later.
        let wanders = |number: usize| 50 + 49 * number as u64 / 20;
        let (none, most) = (blocks(|_| 0), blocks(wanders));
        let of = |a: &[crate::Binned], b: &[crate::Binned]| {
            crate::compare::Comparison::of(a, b, Design::Apart, &questions).loss.unwrap()
        };
        let (worse, better) = (of(&none, &most), of(&most, &none));
        assert_eq!((worse.verdict, better.verdict), (Verdict::Regressed, Verdict::Improved), "{worse:?}");
        let mean = worse.of_b.unwrap();
        let (low, high) = (worse.low.unwrap(), worse.high.unwrap());
        assert!((0.4..=0.5).contains(&low) && mean < high && high <= 1.0, "{worse:?}");
        assert!(better.high.unwrap() < 0.0 && better.low.unwrap() >= -mean, "{better:?}");
    }

    #[test]
    fn no_share_of_lost_events_changes_by_more_than_there_was_or_could_be() {
        let questions = crate::compare::Questions {
            percentile: 0.99,
            above: None,
            smallest_effect: None,
            more_loss: 0.0,
        };
        let sides: [fn(usize) -> u64; 5] =
            [|_| 0, |_| 1, |number| if number == 7 { 90 } else { 0 }, |number| 5 * number as u64, |_| 100];
        for (a, b) in sides.iter().flat_map(|a| sides.iter().map(move |b| (a, b))) {
            for design in [Design::Apart, Design::Interleaved, Design::Whole] {
                let found = crate::compare::Comparison::of(&blocks(a), &blocks(b), design, &questions);
                let Some(loss) = found.loss else { continue };
                let (of_a, low, high) = (loss.of_a.unwrap(), loss.low.unwrap(), loss.high.unwrap());
                assert!(low >= -of_a && high <= 1.0 - of_a, "{design:?}: {loss:?}");
                let difference = loss.estimate.unwrap();
                assert!(low <= difference && difference <= high, "{design:?}: {loss:?}");
            }
        }
    }

    #[test]
    fn loss_in_spells_is_worth_fewer_events_and_loss_that_both_sides_share_is_not() {
        let spells = |number: usize| if number.is_multiple_of(4) { 40 } else { 0 };
        let of = |a: &[crate::Binned], b: &[crate::Binned], design| Loss::of(&Sides::of(a, b, design));
        let (none, some) = (blocks(|_| 0), blocks(spells));
        let whole = of(&none, &some, Design::Whole);
        assert_eq!((whole.shares(), whole.worth, whole.freedom), ((0.0, 0.1), (2000.0, 2000.0), KNOWN));
        close(whole.estimate().unwrap(), 0.1);
        let even = of(&none, &blocks(|_| 10), Design::Apart);
        assert_eq!(even.worth, (2000.0, 2000.0));
        // Five residuals of 30/2000 and fifteen of -10/2000, beside 0.1 * 0.9/2000 of independent events.
        let inflation = (5.0 * 900.0 + 15.0 * 100.0) / 4e6 * 20.0 / 19.0 / (0.09 / 2000.0);
        for design in [Design::Apart, Design::Interleaved] {
            let found = of(&none, &some, design);
            if design == Design::Apart {
                close(found.worth.1, 2000.0 / inflation);
                close(found.freedom, 19.0);
            } else {
                // Two pairs are a batch: five residuals of 30 - 10 and of -10 - 10.
                close(found.worth.1, 2000.0 / (10.0 * 400.0 / 4e6 * 10.0 / 9.0 / (0.09 / 2000.0)));
                close(found.freedom, 9.0);
            }
            close(found.worth.0, found.worth.1);
        }
        assert_eq!(of(&some, &some, Design::Interleaved).worth, (2000.0, 2000.0));
    }
}
