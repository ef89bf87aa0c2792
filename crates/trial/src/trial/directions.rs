//! What became of a trial's packets in each of its directions, where they go both ways at once.

use crate::{Direction, Extra, Trial, TrialInput};
use std::borrow::Cow;
use std::time::Duration;

impl Direction {
    /// The part of a trial that is its own.
    pub fn of(name: &str, part: &Trial) -> Self {
        Self {
            name: name.into(),
            load: part.input.load,
            intended: part.intended.unwrap_or(0),
            offered: part.offered,
            forwarded: part.forwarded,
            duplicated: part.duplicated.unwrap_or(0),
            reordered: part.reordered.unwrap_or(0),
            generator_lost: part.generator_lost,
            displaced: part.disturbance.unwrap_or_default().displaced,
            delay: part.delay.clone(),
            service_delay: part.service_delay.clone(),
            lost_at: part.lost_at.clone().unwrap_or_default(),
        }
    }

    /// A trial of which it was the only direction, with its own load; everything else is as in the whole.
    pub fn alone(&self, whole: &Trial) -> Trial {
        let disturbance =
            whole.disturbance.map(|all| crate::Disturbance { displaced: self.displaced, ..all });
        Trial {
            input: TrialInput { load: self.load, ..whole.input },
            intended: Some(self.intended),
            offered: self.offered,
            forwarded: self.forwarded,
            duplicated: Some(self.duplicated),
            reordered: Some(self.reordered),
            generator_lost: self.generator_lost,
            disturbance,
            delay: self.delay.clone(),
            service_delay: self.service_delay.clone(),
            lost_at: Some(self.lost_at.clone()),
            slices: Vec::new(),
            extra: None,
            ..whole.clone()
        }
    }
}

impl Trial {
    /// The directions of a trial in both at once; none of any other.
    pub fn directions(&self) -> &[Direction] {
        if let Some(Extra::Directions(directions)) = &self.extra { directions } else { &[] }
    }

    /// The trial as a goal judges it: a load holds where every direction holds. So of several directions it is the one that lost the
    /// largest share, at the load of all.
    pub fn as_judged(&self) -> Cow<'_, Self> {
        let missing = |part: &Self| part.trial_loss_ratio().unwrap_or(1.0);
        let parts = self.directions().iter().map(|direction| direction.alone(self));
        let worst = parts.max_by(|a, b| missing(a).total_cmp(&missing(b)));
        worst.map_or(Cow::Borrowed(self), |worst| Cow::Owned(Self { input: self.input, ..worst }))
    }

    /// What [`forward_within`](Self::forward_within) does, in each direction.
    pub(crate) fn forward_within_in_each_direction(&mut self, bound: Duration) {
        let Some(Extra::Directions(mut directions)) = self.extra.take() else { return };
        for direction in &mut directions {
            let mut part = direction.alone(self);
            part.forward_within(bound);
            (direction.forwarded, direction.generator_lost) = (part.forwarded, part.generator_lost);
            direction.lost_at = part.lost_at.unwrap_or_default();
        }
        self.extra = Some(Extra::Directions(directions));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delay, Rate, Ratio};
    use dropline_stats::Histogram;

    fn direction(name: &str, forwarded: u64, delay_us: u64) -> Direction {
        let mut delays = Histogram::new();
        delays.record_n(delay_us * 1000, forwarded);
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
        let (intended, delay) = (Some(1000), Delay::of(delays));
        let part = Trial { intended, offered: 1000, forwarded, delay, ..Trial::new(1, input, 7) };
        Direction::of(name, &part)
    }

    fn trial(directions: Vec<Direction>) -> Trial {
        let input = TrialInput { load: Rate::from_millipps(2_000_000), duration: Duration::from_secs(1) };
        Trial {
            intended: Some(2000),
            offered: 2000,
            forwarded: directions.iter().map(|one| one.forwarded).sum(),
            extra: Some(Extra::Directions(directions)),
            ..Trial::new(1, input, 7)
        }
    }

    #[test]
    fn a_load_holds_where_every_direction_holds() {
        let half = Ratio::new(0.006).unwrap();
        let both = trial(vec![direction("west", 1000, 1), direction("east", 990, 1)]);
        assert!(!both.exceeds(half), "of both together it is half a per cent");
        let judged = both.as_judged();
        assert!(judged.exceeds(half) && judged.target_exceeds(half));
        assert_eq!((judged.input, judged.lost(), judged.offered), (both.input, 10, 1000));
        let alone = trial(Vec::new());
        assert_eq!(*alone.as_judged(), alone);
    }

    #[test]
    fn a_bound_on_the_delay_holds_in_each_direction() {
        let mut both = trial(vec![direction("west", 1000, 100), direction("east", 1000, 300)]);
        both.forward_within_in_each_direction(Duration::from_micros(200));
        let forwarded: Vec<u64> = both.directions().iter().map(|one| one.forwarded).collect();
        assert_eq!(forwarded, [1000, 0]);
        assert_eq!(both.directions()[1].lost_at["late"], 1000);
    }
}
