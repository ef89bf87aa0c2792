//! Held against the tables of an independent implementation, within the tolerances that come with them.

use super::*;
use crate::references::{IDLE, IOZONE16, IOZONE32, IOZONE64, binned, ticks};
use crate::{Counted, Meaning, Rounding};

/// One line of a table.
struct Row {
    family: &'static str,
    parameters: &'static [(&'static str, f64)],
    log_likelihood: f64,
    aic: f64,
    bic: f64,
    kolmogorov: f64,
    total_variation: f64,
    chi_square: f64,
    freedom: f64,
    anderson_darling: f64,
}

const IDLE_ROWS: [Row; 12] = [
    Row {
        family: "gamma_shifted",
        parameters: &[("shape", 0.329451), ("scale", 11.168054), ("loc", 6.428066)],
        log_likelihood: -25264.034280,
        aic: 50534.0686,
        bic: 50555.8172,
        kolmogorov: 0.069315,
        total_variation: 0.124026,
        chi_square: 1828.177,
        freedom: 42.0,
        anderson_darling: 65.7967,
    },
    Row {
        family: "weibull_shifted",
        parameters: &[("shape", 0.578714), ("scale", 2.523324), ("loc", 6.293005)],
        log_likelihood: -25486.976330,
        aic: 50979.9527,
        bic: 51001.7013,
        kolmogorov: 0.074321,
        total_variation: 0.156938,
        chi_square: 2321.938,
        freedom: 48.0,
        anderson_darling: 94.2411,
    },
    Row {
        family: "lognormal_shifted",
        parameters: &[("mu_log", 0.516735), ("sigma_log", 1.475186), ("loc", 5.971073)],
        log_likelihood: -25785.798070,
        aic: 51577.5961,
        bic: 51599.3448,
        kolmogorov: 0.079552,
        total_variation: 0.174211,
        chi_square: 3056.844,
        freedom: 58.0,
        anderson_darling: 112.3915,
    },
    Row {
        family: "gev",
        parameters: &[("mu", 7.019684), ("sigma", 1.513552), ("xi", 0.848658)],
        log_likelihood: -26070.124760,
        aic: 52146.2495,
        bic: 52167.9982,
        kolmogorov: 0.083906,
        total_variation: 0.196436,
        chi_square: 3782.305,
        freedom: 62.0,
        anderson_darling: 128.6218,
    },
    Row {
        family: "exponential_shifted",
        parameters: &[("scale", 4.546011), ("loc", 5.500000)],
        log_likelihood: -26169.143460,
        aic: 52342.2869,
        bic: 52356.7860,
        kolmogorov: 0.169744,
        total_variation: 0.250122,
        chi_square: 3637.429,
        freedom: 28.0,
        anderson_darling: 390.1139,
    },
    Row {
        family: "erlang_shifted",
        parameters: &[("shape", 1.000000), ("scale", 4.546011), ("loc", 5.500000)],
        log_likelihood: -26169.143460,
        aic: 52344.2869,
        bic: 52366.0356,
        kolmogorov: 0.169744,
        total_variation: 0.250122,
        chi_square: 3637.429,
        freedom: 27.0,
        anderson_darling: 390.1139,
    },
    Row {
        family: "lognormal",
        parameters: &[("mu_log", 2.205749), ("sigma_log", 0.427303)],
        log_likelihood: -28867.545750,
        aic: 57739.0915,
        bic: 57753.5906,
        kolmogorov: 0.198101,
        total_variation: 0.396520,
        chi_square: 9056.390,
        freedom: 27.0,
        anderson_darling: 507.1653,
    },
    Row {
        family: "gamma",
        parameters: &[("shape", 5.012046), ("scale", 2.007700)],
        log_likelihood: -29672.374690,
        aic: 59348.7494,
        bic: 59363.2485,
        kolmogorov: 0.208079,
        total_variation: 0.412691,
        chi_square: 11411.453,
        freedom: 24.0,
        anderson_darling: 556.2940,
    },
    Row {
        family: "erlang",
        parameters: &[("shape", 5.000000), ("scale", 2.012533)],
        log_likelihood: -29672.390590,
        aic: 59348.7812,
        bic: 59363.2803,
        kolmogorov: 0.207742,
        total_variation: 0.412560,
        chi_square: 11406.366,
        freedom: 24.0,
        anderson_darling: 554.0106,
    },
    Row {
        family: "weibull",
        parameters: &[("shape", 2.029170), ("scale", 11.412799)],
        log_likelihood: -30823.112500,
        aic: 61650.2250,
        bic: 61664.7241,
        kolmogorov: 0.203357,
        total_variation: 0.413898,
        chi_square: 14589.496,
        freedom: 23.0,
        anderson_darling: 438.2260,
    },
    Row {
        family: "normal",
        parameters: &[("mu", 10.064348), ("sigma", 5.289658)],
        log_likelihood: -32096.081610,
        aic: 64196.1632,
        bic: 64210.6623,
        kolmogorov: 0.218592,
        total_variation: 0.451609,
        chi_square: 18715.629,
        freedom: 20.0,
        anderson_darling: 618.8468,
    },
    Row {
        family: "exponential",
        parameters: &[("scale", 10.056041)],
        log_likelihood: -34409.289420,
        aic: 68820.5789,
        bic: 68827.8284,
        kolmogorov: 0.421279,
        total_variation: 0.541047,
        chi_square: 25107.663,
        freedom: 55.0,
        anderson_darling: 1449.5800,
    },
];
const IOZONE64_ROWS: [Row; 12] = [
    Row {
        family: "lognormal_shifted",
        parameters: &[("mu_log", 1.809909), ("sigma_log", 0.655385), ("loc", 5.790804)],
        log_likelihood: -29271.215790,
        aic: 58548.4316,
        bic: 58570.1803,
        kolmogorov: 0.060008,
        total_variation: 0.173906,
        chi_square: 1749.667,
        freedom: 37.0,
        anderson_darling: 82.9168,
    },
    Row {
        family: "gev",
        parameters: &[("mu", 10.671325), ("sigma", 2.927860), ("xi", 0.283967)],
        log_likelihood: -29334.037130,
        aic: 58674.0742,
        bic: 58695.8229,
        kolmogorov: 0.063330,
        total_variation: 0.180577,
        chi_square: 1981.097,
        freedom: 45.0,
        anderson_darling: 102.5162,
    },
    Row {
        family: "gamma_shifted",
        parameters: &[("shape", 1.956329), ("scale", 3.580827), ("loc", 6.391626)],
        log_likelihood: -29583.877540,
        aic: 59173.7551,
        bic: 59195.5038,
        kolmogorov: 0.074258,
        total_variation: 0.175938,
        chi_square: 1972.712,
        freedom: 30.0,
        anderson_darling: 91.5279,
    },
    Row {
        family: "erlang_shifted",
        parameters: &[("shape", 2.000000), ("scale", 3.509402), ("loc", 6.378374)],
        log_likelihood: -29584.948580,
        aic: 59175.8972,
        bic: 59197.6459,
        kolmogorov: 0.077457,
        total_variation: 0.175807,
        chi_square: 1984.626,
        freedom: 30.0,
        anderson_darling: 94.3474,
    },
    Row {
        family: "weibull_shifted",
        parameters: &[("shape", 1.309085), ("scale", 7.567963), ("loc", 6.463427)],
        log_likelihood: -29948.259160,
        aic: 59902.5183,
        bic: 59924.2670,
        kolmogorov: 0.085442,
        total_variation: 0.187959,
        chi_square: 2297.069,
        freedom: 30.0,
        anderson_darling: 123.8633,
    },
    Row {
        family: "lognormal",
        parameters: &[("mu_log", 2.527529), ("sigma_log", 0.344113)],
        log_likelihood: -29966.653710,
        aic: 59937.3074,
        bic: 59951.8065,
        kolmogorov: 0.101218,
        total_variation: 0.204219,
        chi_square: 2905.314,
        freedom: 29.0,
        anderson_darling: 162.0710,
    },
    Row {
        family: "exponential_shifted",
        parameters: &[("scale", 6.901939), ("loc", 6.486049)],
        log_likelihood: -30589.535620,
        aic: 61183.0712,
        bic: 61197.5704,
        kolmogorov: 0.174328,
        total_variation: 0.254863,
        chi_square: 3588.835,
        freedom: 42.0,
        anderson_darling: 468.4583,
    },
    Row {
        family: "gamma",
        parameters: &[("shape", 7.553550), ("scale", 1.773749)],
        log_likelihood: -30769.993410,
        aic: 61543.9868,
        bic: 61558.4859,
        kolmogorov: 0.110278,
        total_variation: 0.217085,
        chi_square: 3845.791,
        freedom: 27.0,
        anderson_darling: 209.4389,
    },
    Row {
        family: "erlang",
        parameters: &[("shape", 8.000000), ("scale", 1.674808)],
        log_likelihood: -30779.043950,
        aic: 61562.0879,
        bic: 61576.5870,
        kolmogorov: 0.116200,
        total_variation: 0.216719,
        chi_square: 3986.963,
        freedom: 27.0,
        anderson_darling: 215.7954,
    },
    Row {
        family: "weibull",
        parameters: &[("shape", 2.029878), ("scale", 14.988477)],
        log_likelihood: -33126.338220,
        aic: 66256.6764,
        bic: 66271.1756,
        kolmogorov: 0.195959,
        total_variation: 0.281867,
        chi_square: 7090.386,
        freedom: 32.0,
        anderson_darling: 712.6290,
    },
    Row {
        family: "normal",
        parameters: &[("mu", 13.399074), ("sigma", 6.564647)],
        log_likelihood: -34335.988560,
        aic: 68675.9771,
        bic: 68690.4763,
        kolmogorov: 0.162891,
        total_variation: 0.283614,
        chi_square: 7942.946,
        freedom: 27.0,
        anderson_darling: 617.8096,
    },
    Row {
        family: "exponential",
        parameters: &[("scale", 13.392817)],
        log_likelihood: -37387.487990,
        aic: 74776.9760,
        bic: 74784.2256,
        kolmogorov: 0.407253,
        total_variation: 0.561584,
        chi_square: 18286.618,
        freedom: 71.0,
        anderson_darling: 3456.2904,
    },
];

fn hold(data: &str, rows: &[Row], saturated: f64) {
    let binned = binned(data);
    assert!((crate::likelihood::saturated(&binned) - saturated).abs() < 1e-4);
    let fitted = fit_all(&binned);
    let order: Vec<&str> = fitted.iter().map(|fitted| fitted.family.name()).collect();
    let expected: Vec<&str> = rows.iter().map(|row| row.family).collect();
    assert_eq!(order, expected, "ranked by BIC");
    let mut wrong = Vec::new();
    for (found, row) in fitted.iter().zip(rows) {
        let mut near = |what: &str, found: f64, reference: f64, tolerance: f64| {
            if (found - reference).abs() > tolerance {
                wrong.push(format!("{} {what}: {found}, reference {reference}", row.family));
            }
        };
        near("log likelihood", found.log_likelihood, row.log_likelihood, 1e-3);
        near("aic", found.aic, row.aic, 2e-3);
        near("bic", found.bic, row.bic, 2e-3);
        let relative = if found.family.is_shifted() { 1e-3 } else { 1e-4 };
        for ((name, value), (expected, reference)) in found.parameters().iter().zip(row.parameters) {
            assert_eq!(name, expected);
            near(name, *value, *reference, relative * reference.abs());
        }
        let distance = found.distance;
        near("kolmogorov", distance.kolmogorov, row.kolmogorov, 1e-3 * row.kolmogorov);
        near("total variation", distance.total_variation, row.total_variation, 1e-3 * row.total_variation);
        near("chi square", distance.chi_square, row.chi_square, 1e-3 * row.chi_square);
        near("freedom", distance.freedom, row.freedom, 0.0);
        near(
            "anderson darling",
            distance.anderson_darling,
            row.anderson_darling,
            1e-3 * row.anderson_darling,
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_twelve_families_of_the_idle_machine_are_those_of_the_reference() {
    hold(IDLE, &IDLE_ROWS, -24_361.972_426);
}

#[test]
fn the_twelve_families_under_disk_load_are_those_of_the_reference() {
    hold(IOZONE64, &IOZONE64_ROWS, -28_303.382_311);
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
