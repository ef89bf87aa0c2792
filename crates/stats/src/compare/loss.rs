//! By how much more of B is lost than of A.

use super::Design;
use super::judgement::Pivot;
use super::sides::{KNOWN, Side, Sides, differences, spread, spread_apart};

/// A difference of two shares of lost events and what is needed for its interval at any level.
///
/// Each share has the score interval of Wilson (1927), for as many events as are worth one that is independent; that of
/// the difference follows from both (Newcombe 1998, method 10): it is one also where nothing was lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    shares: (f64, f64),
    /// Events that are worth an independent one, of each side.
    worth: (f64, f64),
    freedom: f64,
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
        let (variance, freedom) = match sides.design {
            Design::Whole => (independent, KNOWN),
            Design::Interleaved => {
                let found = spread(&differences(&residuals(a), &residuals(b)));
                (found.variance, found.freedom)
            }
            Design::Apart => {
                let apart = |side: &Side| spread_apart(&residuals(side), alone(side), sides.memory);
                let (of_a, of_b) = (apart(a), apart(b));
                (of_a.variance + of_b.variance, of_a.freedom.min(of_b.freedom))
            }
        };
        let inflation = if independent > 0.0 { (variance / independent).max(1.0) } else { 1.0 };
        let worth = (a.whole.count() / inflation, b.whole.count() / inflation);
        Self { shares: (share(a), share(b)), worth, freedom }
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
        (Some(low), Some(high))
    }

    fn freedom(&self) -> f64 {
        self.freedom
    }

    fn scaled(&self, value: f64) -> f64 {
        value
    }

    fn unscaled(&self, value: f64) -> f64 {
        value
    }
}

/// The score interval of a share of so many independent events.
fn wilson(share: f64, count: f64, reach: f64) -> (f64, f64) {
    let square = reach * reach / count;
    let middle = (share + square / 2.0) / (1.0 + square);
    let half = (share * (1.0 - share) * square + square * square / 4.0).sqrt() / (1.0 + square);
    ((middle - half).max(0.0), (middle + half).min(1.0))
}
