//! What can be found at all: a test that knows how its estimate scatters.

/// What is found where nothing is.
const LEVEL: f64 = 0.05;

/// How often an estimate is beyond all but 5 % of those that nothing made, to either side; `None` of too few.
pub(super) fn power(of_nothing: &[f64], of_change: &[f64]) -> Option<f64> {
    let mut sizes: Vec<f64> = of_nothing.iter().map(|estimate| estimate.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let rank = ((1.0 - LEVEL) * sizes.len() as f64).ceil() as usize;
    let limit = *sizes.get(rank)?;
    let found = of_change.iter().filter(|estimate| **estimate > limit).count();
    (!of_change.is_empty()).then(|| found as f64 / of_change.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oracle_finds_what_is_beyond_chance_and_its_level_of_nothing() {
        let nothing: Vec<f64> = (-500..500).map(f64::from).collect();
        // One side of the two: what is slower.
        let of_nothing = power(&nothing, &nothing).unwrap();
        assert!((of_nothing - 0.025).abs() < 0.003, "{of_nothing}");
        let moved: Vec<f64> = nothing.iter().map(|value| value + 475.0).collect();
        assert!((power(&nothing, &moved).unwrap() - 0.5).abs() < 0.01);
        assert_eq!((power(&[1.0], &[2.0]), power(&nothing, &[])), (None, None));
    }
}
