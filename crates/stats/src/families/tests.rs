//! Held against the tables of an independent implementation, within the tolerances that come with them.

use super::*;
use crate::references::{IDLE, IOZONE16, IOZONE32, IOZONE64, binned, ticks};
use crate::{Counted, Meaning, Rounding};

/// Tables of that implementation: a family a line, the best first.
const IDLE_ROWS: &str = include_str!("tests/idle.tsv");
const IOZONE64_ROWS: &str = include_str!("tests/iozone64.tsv");

/// A number a column, as found and as it may differ.
fn of(fitted: &Fitted) -> [(f64, f64); 8] {
    let distance = &fitted.distance;
    let near = |number: f64| (number, 1e-3 * number);
    [
        (fitted.log_likelihood, 1e-3),
        (fitted.aic, 2e-3),
        (fitted.bic, 2e-3),
        near(distance.kolmogorov),
        near(distance.total_variation),
        near(distance.chi_square),
        (distance.freedom, 0.0),
        near(distance.anderson_darling),
    ]
}

fn hold(data: &str, table: &str, saturated: f64) {
    let binned = binned(data);
    assert!((crate::likelihood::saturated(&binned) - saturated).abs() < 1e-4);
    let fitted = fit_all(&binned);
    let mut rows = table.lines().map(|row| row.split('\t').collect::<Vec<_>>());
    let heads = rows.next().unwrap();
    assert_eq!(fitted.len(), table.lines().count() - 1);
    let mut wrong = Vec::new();
    for (found, row) in fitted.iter().zip(rows) {
        assert_eq!(found.family.name(), row[0], "ranked by BIC");
        let mut near = |what: &str, found: f64, reference: &str, tolerance: f64| {
            if (found - reference.parse::<f64>().unwrap()).abs() > tolerance {
                wrong.push(format!("{} {what}: {found}, reference {reference}", row[0]));
            }
        };
        for (((number, tolerance), head), reference) in of(found).into_iter().zip(&heads[1..]).zip(&row[1..])
        {
            near(head, number, reference, tolerance);
        }
        let relative = if found.family.is_shifted() { 1e-3 } else { 1e-4 };
        let parameters = found.parameters();
        assert_eq!(parameters.len(), row[9].split(' ').count(), "{}", row[0]);
        for ((name, value), reference) in parameters.iter().zip(row[9].split(' ')) {
            let (expected, reference) = reference.split_once('=').unwrap();
            assert_eq!(*name, expected);
            near(name, *value, reference, relative * value.abs());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_twelve_families_of_the_idle_machine_are_those_of_the_reference() {
    hold(IDLE, IDLE_ROWS, -24_361.972_426);
}

#[test]
fn the_twelve_families_under_disk_load_are_those_of_the_reference() {
    hold(IOZONE64, IOZONE64_ROWS, -28_303.382_311);
}

#[test]
fn the_two_smaller_requests_are_nearest_to_extreme_values() {
    for (data, xi, elsewhere, gamma, below_saturated) in
        [(IOZONE32, 0.237, 0.231, 0.380, 1603.0), (IOZONE16, 0.306, 0.195, 0.297, 1281.0)]
    {
        let binned = binned(data);
        let fitted = fit_all(&binned);
        assert_eq!(fitted[0].family, Family::Gev);
        assert!((fitted[0].law.parameters()[2].1 - xi).abs() < 6e-4, "{:?}", fitted[0].law);
        assert!((fitted[0].distance.total_variation - elsewhere).abs() < 6e-4, "{:?}", fitted[0].distance);
        let distance = crate::likelihood::saturated(&binned) - fitted[0].log_likelihood;
        assert!((distance - below_saturated).abs() < 0.6, "{distance}");
        let of = |family: Family| fitted.iter().find(|fitted| fitted.family == family).unwrap();
        assert!((of(Family::Gamma).distance.total_variation - gamma).abs() < 6e-4);
    }
    let normal = Family::Normal.fit(&binned(IOZONE32)).unwrap();
    assert!((normal.log_likelihood + 35_121.896_957).abs() < 1e-3);
}

fn with(rounding: Rounding, shift: i64, times: u64, data: &str) -> Binned {
    let meaning = Meaning { rounding, ..Meaning::default() };
    let ticks = ticks(data).into_iter().map(|(tick, count)| (tick + shift, count * times));
    Counted::ticks(meaning, ticks, None).unwrap().binned()
}

#[test]
fn scale_families_know_cut_off_fractions_from_rounded_ones() {
    let tables = [
        (
            IDLE,
            [
                (Family::Gamma, -29_769.732_550),
                (Family::Erlang, -29_791.945_980),
                (Family::Lognormal, -28_984.853_680),
                (Family::Weibull, -30_992.726_640),
                (Family::Exponential, -34_913.937_230),
            ],
        ),
        (
            IOZONE64,
            [
                (Family::Gamma, -30_826.960_480),
                (Family::Erlang, -30_827.291_380),
                (Family::Lognormal, -30_019.917_490),
                (Family::Weibull, -33_299.966_950),
                (Family::Exponential, -37_768.680_500),
            ],
        ),
    ];
    for (data, rows) in tables {
        for (family, reference) in rows {
            let found = family.fit(&with(Rounding::Floor, 0, 1, data)).unwrap().log_likelihood;
            assert!((found - reference).abs() < 1e-3, "{family:?}: {found}, reference {reference}");
        }
    }
}

#[test]
fn a_shift_of_all_events_changes_nothing_but_the_location() {
    let families = [Family::Normal, Family::Gev, Family::GammaShifted, Family::WeibullShifted];
    let (here, there) = (with(Rounding::Round, 0, 1, IOZONE64), with(Rounding::Round, 1000, 1, IOZONE64));
    let floor = with(Rounding::Floor, 0, 1, IOZONE64);
    for family in families {
        let [here, there, floor] = [&here, &there, &floor].map(|binned| family.fit(binned).unwrap());
        assert!((here.log_likelihood - there.log_likelihood).abs() < 1e-4, "{family:?}");
        assert!((here.log_likelihood - floor.log_likelihood).abs() < 1e-4, "{family:?}");
        let location = |fitted: &Fitted| {
            fitted.parameters().iter().find(|(name, _)| ["mu", "loc"].contains(name)).unwrap().1
        };
        assert!((location(&there) - location(&here) - 1000.0).abs() < 0.02, "{family:?}");
        assert!((location(&floor) - location(&here) - 0.5).abs() < 0.02, "{family:?}");
    }
}

#[test]
fn twice_the_events_are_twice_as_unlikely_and_no_nearer() {
    let (once, twice) = (with(Rounding::Round, 0, 1, IDLE), with(Rounding::Round, 0, 2, IDLE));
    for family in [Family::Normal, Family::Gamma, Family::LognormalShifted] {
        let (once, twice) = (family.fit(&once).unwrap(), family.fit(&twice).unwrap());
        assert!((twice.log_likelihood - 2.0 * once.log_likelihood).abs() < 1e-3, "{family:?}");
        assert!((twice.distance.total_variation - once.distance.total_variation).abs() < 1e-4, "{family:?}");
    }
}

#[test]
fn a_billion_events_are_fitted_as_ten_thousand_are() {
    let many = with(Rounding::Round, 0, 100_000, IDLE);
    let few = with(Rounding::Round, 0, 1, IDLE);
    let (many, few) = (Family::GammaShifted.fit(&many).unwrap(), Family::GammaShifted.fit(&few).unwrap());
    assert!((many.distance.total_variation - few.distance.total_variation).abs() < 1e-4);
}

#[test]
fn what_does_not_determine_a_law_has_none() {
    let of = |ticks: &[(i64, u64)]| {
        fit_all(&Counted::ticks(Meaning::default(), ticks.iter().copied(), None).unwrap().binned())
    };
    assert!(of(&[]).is_empty() && of(&[(7, 1)]).is_empty() && of(&[(7, 1000)]).is_empty());
    let negative = of(&[(-9, 3), (-5, 10), (-2, 4), (1, 1)]);
    assert!(!negative.is_empty() && negative.iter().all(|fitted| fitted.log_likelihood.is_finite()));
    let families: Vec<Family> = negative.iter().map(|fitted| fitted.family).collect();
    assert!(families.contains(&Family::Normal) && !families.contains(&Family::Gamma), "{families:?}");
}

#[test]
fn events_of_unknown_length_are_not_missing_ones() {
    // An exponential law of scale 10, cut off at 20 ticks.
    let law = Law::Exponential { scale: 10.0, loc: -0.5 };
    let share = |low: f64, high: f64| (1e6 * law.tails(low).ln_until(law.tails(high)).exp()).round() as u64;
    let ticks = (0..20).map(|tick| (tick, share(tick as f64 - 0.5, tick as f64 + 0.5)));
    let beyond = (1e6 * law.tails(19.5).above.exp()).round() as u64;
    let above = Some(crate::Above { from: 20, count: beyond });
    let counted = Counted::ticks(Meaning::default(), ticks, above).unwrap();
    let found = Family::ExponentialShifted.fit(&counted.binned()).unwrap();
    let scale = found.parameters()[0].1;
    assert!((scale - 10.0).abs() < 0.05, "{scale}");
}
