//! Which law, how many peaks, what tail: the second half of `fit`.

use super::FitPlan;
use dropline_record::ShapeWord;
use dropline_record::fit::{
    ComponentLine, FamilyLine, GpdLine, HoldsLine, MixtureTriedLine, ModeLine, ModesTriedLine, NormalityLine,
    PpccLine, StabilityLine, StraightLine, TailLine, TailShapeLine,
};
use dropline_record::{CaveatLine, Count, Fit};
use dropline_stats::mixture::{self, Kind, mixtures};
use dropline_stats::normality::{self, goodness};
use dropline_stats::ppcc::{self, Plot, Shape, critical};
use dropline_stats::tail::{self, Excess, Mass, TailShape, stability};
use dropline_stats::{Binned, Fitted, LawVerdict, Modes, Normality, families, order};

/// Fewer events bear no statement about a law.
const FEWEST: u64 = 30;

/// Adds laws, modes and tail to what is known.
///
/// Laws are fitted to at most `most` cells; `events` are all of them in the order of time, where that is known.
pub(super) fn add(fit: &mut Fit, fine: &Binned, events: &[f64], most: usize, plan: &FitPlan) {
    let binned = &fine.coarse(most);
    let threshold = threshold(fine, fit, plan);
    fit.tail = threshold.and_then(|threshold| tail_line(fine, threshold, plan));
    let modes = Modes::of(fine, plan.seed);
    fit.modes = modes
        .modes
        .iter()
        .map(|mode| ModeLine { low: mode.low, high: mode.high, peak: mode.peak, mass: Count(mode.mass) })
        .collect();
    let ranges: Vec<(f64, f64)> = modes.modes.iter().map(|mode| (mode.low, mode.high)).collect();
    if order::are_stretches(events, &ranges) {
        let text = "the modes are stretches of time, one after the other: it changed while it was measured, and was not now on \
                    one code path and now on another; measure each stretch by itself";
        fit.caveats.push(CaveatLine::said("modes_in_time", text));
    }
    fit.modes_tried = modes
        .tried
        .iter()
        .map(|tried| ModesTriedLine {
            modes: tried.modes as u64,
            log_likelihood: tried.log_likelihood,
            gain: tried.gain,
            p: tried.p,
        })
        .collect();
    if plan.mixtures {
        add_mixture(fit, binned, plan);
    }
    if binned.count() >= FEWEST {
        add_laws(fit, binned, plan);
        fit.ppcc = Plot::of(binned).map(|plot| ppcc_line(&plot, binned, threshold, plan));
    } else {
        fit.caveats.push(CaveatLine::said(
            "few_events",
            format!(
                "a statement about a law, modes or a tail takes {FEWEST} events, and here are {}",
                binned.count()
            ),
        ));
    }
    let names = [
        ("families", families::ESTIMATOR),
        ("percentiles", &fit.estimator),
        ("normality", normality::ESTIMATOR),
        ("ppcc", ppcc::ESTIMATOR),
        ("modes", dropline_stats::modes::ESTIMATOR),
        ("mixture", mixture::ESTIMATOR),
        ("tail", tail::ESTIMATOR),
    ];
    fit.estimators = names.iter().map(|(name, words)| ((*name).to_owned(), (*words).to_owned())).collect();
}

fn add_laws(fit: &mut Fit, binned: &Binned, plan: &FitPlan) {
    let mut fitted = families::fit_all(binned);
    fitted.retain(|fitted| {
        let distance = fitted.distance;
        let numbers = [fitted.bic, distance.chi_square, distance.anderson_darling, distance.total_variation];
        numbers
            .iter()
            .chain(fitted.parameters().iter().map(|(_, value)| value))
            .all(|number| number.is_finite())
    });
    fit.families = fitted.iter().map(family_line).collect();
    fit.normality = Normality::of(binned, plan.seed).map(|found| NormalityLine {
        verdict: found.verdict.into(),
        p: found.p,
        total_variation: found.fitted.distance.total_variation,
        skewness_z: found.skewness_z,
        kurtosis_z: found.kurtosis_z,
        k_squared: found.k_squared.map(|found| found.0),
        k_squared_p: found.k_squared.map(|found| found.1),
        jarque_bera: found.jarque_bera.map(|found| found.0),
        jarque_bera_p: found.jarque_bera.map(|found| found.1),
    });
    let Some(best) = fitted.first() else {
        fit.caveats
            .push(CaveatLine::said("no_law", "the events fill too few cells for the parameters of a law"));
        return;
    };
    let p = goodness(binned, best, plan.seed);
    let verdict = LawVerdict::of(best.distance.total_variation, p);
    fit.best = Some(best.family.name().into());
    fit.best_holds = Some(HoldsLine { p, verdict: verdict.into() });
    let (word, words) = verdict_of(fit, best, verdict, fitted.len());
    fit.verdict = Some(word);
    fit.verdict_text = Some(words);
}

/// What several peaks may be: the distribution alone does not say which.
const MODES: &str = "modes (code paths, a queue, or pauses)";

fn verdict_of(fit: &Fit, best: &Fitted, verdict: LawVerdict, families: usize) -> (ShapeWord, String) {
    let name = words(best.family.name());
    let share = |ratio: f64| format!("{} %", significant(ratio * 100.0));
    let elsewhere = share(best.distance.total_variation);
    match verdict {
        LawVerdict::Fits => (
            ShapeWord::OneFamily,
            format!("one {name} law: {elsewhere} of the events elsewhere, no more than random scatter"),
        ),
        LawVerdict::Close => (
            ShapeWord::Close,
            format!(
                "close to a {name} law, which leaves {elsewhere} of the events elsewhere: more than random scatter does"
            ),
        ),
        LawVerdict::Undecided => (
            ShapeWord::Undecided,
            format!(
                "undecided: the nearest of {families} families ({name}) leaves {elsewhere} of the events elsewhere (so \
                 many would have to move to follow it), as is likely of so few events; more events would decide it"
            ),
        ),
        LawVerdict::DoesNotFit => {
            let in_time = fit.caveats.iter().any(|caveat| caveat.code == "modes_in_time");
            let paths = match (fit.mixture.len(), fit.modes.len()) {
                _ if in_time => {
                    "no single family fits, and the modes are a step in time rather than code paths"
                        .to_owned()
                }
                (0, 0 | 1) => "not one code path".to_owned(),
                (0, modes) => format!("no single family fits, it has {modes} {MODES}"),
                (1, _) => "no single family fits".to_owned(),
                // A mode that leans takes several laws, and is one code path.
                (laws, modes) if laws > modes.max(1) => format!(
                    "no single family fits, it has {}, for which it takes a mixture of {laws} laws",
                    if modes > 1 { format!("{modes} {MODES}") } else { "one mode".into() }
                ),
                (laws, _) => format!("no single family fits, it has {laws} {MODES}"),
            };
            (
                ShapeWord::NotOnePath,
                format!(
                    "{paths}: the nearest of {families} families ({name}) leaves {elsewhere} of the events elsewhere"
                ),
            )
        }
    }
}

/// `gamma_shifted` as a person says it.
fn words(family: &str) -> String {
    match family.strip_suffix("_shifted") {
        Some(name) => format!("shifted {}", words(name)),
        None if family == "gev" => "GEV".into(),
        None if family == "erlang" => "Erlang".into(),
        None if family == "weibull" => "Weibull".into(),
        None => family.into(),
    }
}

/// Two digits.
fn significant(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn family_line(fitted: &Fitted) -> FamilyLine {
    FamilyLine {
        name: fitted.family.name().into(),
        parameters: fitted.parameters().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        log_likelihood: fitted.log_likelihood,
        aic: fitted.aic,
        bic: fitted.bic,
        total_variation: fitted.distance.total_variation,
        total_variation_by_chance: fitted.distance.by_chance,
        kolmogorov: fitted.distance.kolmogorov,
        chi_square: fitted.distance.chi_square,
        degrees_of_freedom: fitted.distance.freedom,
        anderson_darling: fitted.distance.anderson_darling,
    }
}

fn add_mixture(fit: &mut Fit, binned: &Binned, plan: &FitPlan) {
    let lognormal = mixtures(binned, Kind::Lognormal, plan.seed);
    let found = if lognormal.is_empty() { mixtures(binned, Kind::Normal, plan.seed) } else { lognormal };
    let kind = |kind| if kind == Kind::Lognormal { "lognormal" } else { "normal" };
    fit.mixtures_tried = found
        .iter()
        .map(|mixture| MixtureTriedLine {
            kind: kind(mixture.kind).into(),
            components: mixture.components.len() as u64,
            log_likelihood: mixture.log_likelihood,
            bic: mixture.bic,
        })
        .collect();
    if let Some(best) = found.iter().min_by(|a, b| a.bic.total_cmp(&b.bic)) {
        fit.mixture = best
            .components
            .iter()
            .map(|component| ComponentLine {
                kind: kind(best.kind).into(),
                weight: component.weight,
                median: component.median(best.kind),
                sigma: component.sigma,
            })
            .collect();
    }
}

fn ppcc_line(plot: &Plot, binned: &Binned, threshold: Option<f64>, plan: &FitPlan) -> PpccLine {
    let mut families: Vec<StraightLine> = Shape::ALL
        .iter()
        .map(|&shape| {
            let found = plot.straightest(shape);
            StraightLine {
                name: shape.name().into(),
                parameter: found.parameter,
                r: found.r,
                loc: found.loc,
                scale: found.scale,
                critical: matches!(shape, Shape::Normal | Shape::Tukey | Shape::Gamma)
                    .then(|| critical(&found, binned.count(), binned.quantum(), plan.seed)),
            }
        })
        .collect();
    // A family whose quantiles leave the doubles has no plot.
    families.retain(|line| [line.r, line.loc, line.scale].iter().all(|number| number.is_finite()));
    families.sort_by(|a, b| b.r.total_cmp(&a.r));
    let core = threshold.and_then(|threshold| Plot::of(&binned.up_to(threshold)));
    PpccLine {
        families,
        over_lambda: plot.over_lambda().into_iter().filter(|(_, r)| r.is_finite()).collect(),
        core_lambda: core
            .map(|core| core.straightest(Shape::Tukey))
            .filter(|line| line.r.is_finite())
            .and_then(|line| line.parameter),
    }
}

/// What the user asked for, or the highest percentile that the events bear.
fn threshold(binned: &Binned, fit: &Fit, plan: &FitPlan) -> Option<f64> {
    match plan.above_ns {
        Some(above) => Some(above / fit.unit_ns as f64),
        None => {
            let borne = fit.percentiles.iter().rev().find(|line| line.p >= 0.9 && line.value.is_some());
            borne.and_then(|line| line.value).filter(|_| binned.above().is_none())
        }
    }
}

fn tail_line(binned: &Binned, threshold: f64, plan: &FitPlan) -> Option<TailLine> {
    if binned.above().is_some_and(|(from, _)| threshold > from) {
        return None;
    }
    let mass = Mass::of(binned.count_above(threshold), binned.count(), plan.level)?;
    let borne = mass.count >= tail::FEWEST;
    let excess = borne.then(|| Excess::of(binned, threshold)).flatten().filter(is_finite);
    let from = binned.cells().iter().map(|cell| cell.value).find(|&value| value > threshold);
    let shape = from.filter(|_| borne).and_then(|from| Some((from, TailShape::of(binned, from, plan.seed)?)));
    Some(TailLine {
        threshold,
        count: Count(mass.count),
        ratio: mass.ratio,
        low: mass.low,
        high: mass.high,
        gpd: excess.map(|found| GpdLine {
            sigma: found.sigma,
            xi: found.xi,
            xi_low: found.xi_low,
            xi_high: found.xi_high,
            log_likelihood: found.log_likelihood,
            log_likelihood_exponential: found.exponential,
            p_exponential: found.against_exponential().1,
            end: found.end,
            end_low: found.end_low,
            end_high: found.end_high,
            mean_excess: found.mean_excess,
            hill: found.hill,
        }),
        stability: if binned.above().is_some() { Vec::new() } else { stability(binned) }
            .into_iter()
            .filter(|at| is_finite(&at.excess))
            .map(|at| StabilityLine {
                threshold: at.threshold,
                count: Count(at.count),
                xi: at.excess.xi,
                xi_low: at.excess.xi_low,
                xi_high: at.excess.xi_high,
            })
            .collect(),
        shape: shape.map(|(from, found)| TailShapeLine {
            from,
            best: found.best().into(),
            uniform: found.uniform,
            geometric: found.geometric,
            bump: found.bump,
            bump_mean: found.bump_at.0,
            bump_deviation: found.bump_at.1,
            uniform_distance: found.uniform_distance,
            uniform_p: found.uniform_p,
        }),
    })
}

/// Whether a law of the excess is one of numbers.
fn is_finite(excess: &Excess) -> bool {
    let numbers = [excess.sigma, excess.xi, excess.xi_low, excess.xi_high, excess.exponential, excess.hill];
    numbers.iter().all(|number| number.is_finite()) && excess.end.is_none_or(f64::is_finite)
}
