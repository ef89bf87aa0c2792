//! What the thread claimed, and whether the histograms bear it out: each verdict follows from its figures by a rule.

use super::{Run, percent, simulated};
use dropline_record::Table;
use dropline_stats::tail::{Mass, TailShape};

/// Cycles that the thread says were run.
const CYCLES: f64 = 500_000.0;
/// A law holds below this share of events elsewhere, and does not above the other.
const HOLDS: f64 = 0.02;
const HOLDS_NOT: f64 = 0.05;
/// A skewness above this is a long tail, one below the other is none.
const SKEWED: f64 = 1.0;
const EVEN: f64 = 0.5;
/// A mixture is preferred by so much of BIC (Kass and Raftery 1995: very strong).
const PREFERRED: f64 = 10.0;

/// Whether a claim is borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Supported,
    Refuted,
    Undecidable,
}

impl Held {
    fn word(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Refuted => "refuted",
            Self::Undecidable => "undecidable",
        }
    }

    /// What is so on one condition, and not so on another.
    fn when(supported: bool, refuted: bool) -> Self {
        match (supported, refuted) {
            (true, _) => Self::Supported,
            (false, true) => Self::Refuted,
            (false, false) => Self::Undecidable,
        }
    }
}

/// A law of which this share of each run's events is elsewhere.
fn law(elsewhere: &[f64]) -> Held {
    let all = !elsewhere.is_empty() && elsewhere.iter().all(|share| *share < HOLDS);
    Held::when(all, elsewhere.iter().any(|share| *share >= HOLDS_NOT))
}

/// A long tail of runs with these skewnesses.
fn long_tail(skewness: &[f64]) -> Held {
    let all = !skewness.is_empty() && skewness.iter().all(|skewness| *skewness > SKEWED);
    Held::when(all, skewness.iter().any(|skewness| *skewness < EVEN))
}

/// A number that grew from one interval to another.
fn grew(from: (f64, f64), to: (f64, f64)) -> Held {
    Held::when(to.0 > from.1, to.1 < from.0)
}

/// A ratio above 1.
fn more(ratio: Option<(f64, f64)>) -> Held {
    ratio.map_or(Held::Undecidable, |(low, high)| Held::when(low > 1.0, high < 1.0))
}

/// Chances that are equal from a value on.
fn flat(shape: Option<TailShape>) -> Held {
    shape.map_or(Held::Undecidable, |shape| {
        Held::when(shape.uniform_p > 0.05 && shape.best() == "uniform", shape.uniform_p <= 0.05)
    })
}

/// All of several, or not one of them.
fn both(one: Held, other: Held) -> Held {
    match (one, other) {
        (Held::Supported, Held::Supported) => Held::Supported,
        (Held::Refuted, _) | (_, Held::Refuted) => Held::Refuted,
        _ => Held::Undecidable,
    }
}

/// Less latency: the median fell, and the slow tail did not grow.
fn less(median: Held, tail: Held) -> Held {
    match (median, tail) {
        (_, Held::Supported) | (Held::Supported, _) => Held::Refuted,
        (Held::Refuted, Held::Refuted) => Held::Supported,
        _ => Held::Undecidable,
    }
}

/// One cause of all slow events: their bump follows the setting, and without the load there are none.
fn only_cause(bumps: [(f64, f64); 2], without_load: u64) -> Held {
    let [(at, error), (then, other)] = bumps;
    let moved = (at - then).abs() > 2.0 * (error * error + other * other).sqrt();
    Held::when(moved && without_load == 0, at.is_finite() && then.is_finite() && !moved)
}

/// A bump at 70 to 80 us that counting made: it is there whatever is set.
fn made_by_counting(bumps: [f64; 2]) -> Held {
    let within = |at: &f64| (70.0..=80.0).contains(at);
    Held::when(bumps.iter().all(within), bumps.iter().any(within))
}

/// Fewer modes of more events.
fn blends(modes: &[usize]) -> Held {
    let most = modes.iter().copied().max().unwrap_or(0);
    let last = modes.last().copied().unwrap_or(0);
    Held::when(last < most, !modes.is_empty() && last == most)
}

/// Several code paths, by how much BIC prefers a mixture, or by modes where none was fitted.
fn several_paths(preferred: &[f64], modes: &[usize]) -> Held {
    match preferred.iter().all(|by| by.is_finite()) && !preferred.is_empty() {
        true => Held::when(
            preferred.iter().all(|by| *by > PREFERRED),
            preferred.iter().all(|by| *by < -PREFERRED),
        ),
        false => Held::when(modes.iter().any(|modes| *modes > 1), false),
    }
}

/// A claim, what became of it, and the figures.
type Answer = (&'static str, Held, String);

pub(super) fn table(runs: &[Run], blending: &[(u64, usize)], counted: u64) -> Table {
    let answers = answers(runs, blending, counted);
    Table {
        title: "The claims".into(),
        note: format!(
            "Supported, refuted, or undecidable from these data, each by a rule: a law holds with less than {:.0} % of \
             each run elsewhere and does not with {:.0} % of any; what grew has intervals that do not touch; equal chances \
             have the best AIC and p above 0.05; a mixture is preferred by a BIC lower by {PREFERRED}.",
            HOLDS * 100.0,
            HOLDS_NOT * 100.0
        ),
        columns: ["claim", "verdict", "figures"].map(String::from).into(),
        rows: answers
            .into_iter()
            .map(|(claim, held, figures)| vec![claim.to_owned(), held.word().to_owned(), figures])
            .collect(),
    }
}

fn answers(runs: &[Run], blending: &[(u64, usize)], counted: u64) -> Vec<Answer> {
    let [idle, busy, half, quarter] = runs else { return Vec::new() };
    let mut answers = shapes(runs);
    answers.extend(load(idle, busy));
    answers.extend(setting(idle, busy, half, quarter));
    answers.extend(counting(runs, blending, counted, [half, quarter]));
    answers
}

fn each(runs: &[Run], said: &dyn Fn(&Run) -> String) -> String {
    runs.iter().map(said).collect::<Vec<_>>().join(", ")
}

/// Which law it is.
fn shapes(runs: &[Run]) -> Vec<Answer> {
    let elsewhere = |name: &str| -> Vec<f64> {
        runs.iter().filter_map(|run| run.family(name)).map(|line| line.total_variation).collect()
    };
    let skewness: Vec<f64> = runs.iter().filter_map(|run| run.fit.moments.skewness).collect();
    let (skewed, maxima) = simulated::maxima_of_normals(48);
    vec![
        (
            "\u{201c}the distribution of maximum latencies \u{2026} is fairly normally distributed\u{201d}",
            law(&elsewhere("normal")),
            format!(
                "elsewhere: {}",
                each(runs, &|run| format!("{} {}", run.fit.source, run.elsewhere("normal")))
            ),
        ),
        (
            "\u{201c}something like a gamma distribution\u{201d}",
            law(&elsewhere("gamma")),
            format!(
                "gamma elsewhere: {}; the nearest family: {}",
                each(runs, &|run| format!("{} {}", run.fit.source, run.elsewhere("gamma"))),
                each(runs, &|run| format!(
                    "{} {}",
                    run.fit.best.clone().unwrap_or_default(),
                    run.elsewhere(run.fit.best.as_deref().unwrap_or_default())
                ))
            ),
        ),
        (
            "\u{201c}everything clustered down close to zero, but with a very long tail\u{201d}",
            long_tail(&skewness),
            format!(
                "skewness {}",
                each(runs, &|run| format!("{:.1}", run.fit.moments.skewness.unwrap_or(f64::NAN)))
            ),
        ),
        (
            "\u{201c}if the underlying distribution is normal then the distribution of the maximums will be as well\u{201d}",
            law(&[maxima]),
            format!(
                "the largest of 48 normal values has skewness {skewed:.2}, and {} of it is not where the nearest normal \
                 law is",
                percent(maxima)
            ),
        ),
    ]
}

/// What the disk's load did.
fn load(idle: &Run, busy: &Run) -> Vec<Answer> {
    let peak = |run: &Run| run.fit.modes.first().map_or(f64::NAN, |mode| mode.peak);
    vec![
        (
            "\u{201c}stressing the filesystem moves the center to the right a bit, from 6-7 to 9-10\u{201d}",
            grew(idle.between(0.5), busy.between(0.5)),
            format!(
                "the peak moves from {} to {} us, the median from {} to {} us",
                peak(idle),
                peak(busy),
                idle.percentile(0.5),
                busy.percentile(0.5)
            ),
        ),
        (
            "\u{201c}and drastically lengthens the tail\u{201d}",
            more(between(idle.slow(), busy.slow())),
            format!(
                "beyond 42 us {} events become {}: {}",
                idle.slow(),
                busy.slow(),
                ratio(idle.slow(), busy.slow())
            ),
        ),
        (
            "\u{201c}latencies from 47 usecs and up \u{2026} are so uniformly distributed\u{201d} (max_sectors_kb 64)",
            flat(busy.flatness()),
            shape(busy),
        ),
    ]
}

/// What the setting did.
fn setting(idle: &Run, busy: &Run, half: &Run, quarter: &Run) -> Vec<Answer> {
    let bump = |run: &Run| {
        run.flatness().map_or((f64::NAN, f64::NAN), |shape| {
            (shape.bump_at.0, shape.bump_at.1 / (run.slow().max(1) as f64).sqrt())
        })
    };
    vec![
        (
            "the same after max_sectors_kb was lowered",
            both(flat(half.flatness()), flat(quarter.flatness())),
            format!("{}; {}", shape(half), shape(quarter)),
        ),
        (
            "lowering max_sectors_kb from 64 to 32 shows less latency",
            less(grew(busy.between(0.5), half.between(0.5)), more(between(busy.slow(), half.slow()))),
            format!(
                "the median falls from {} to {} us, but the slow tail is {}",
                busy.percentile(0.5),
                half.percentile(0.5),
                ratio(busy.slow(), half.slow())
            ),
        ),
        (
            "\u{201c}the ide sg completion code as the only thing \u{2026} over ~42 usecs\u{201d}",
            only_cause([bump(half), bump(quarter)], idle.slow()),
            format!(
                "the bump follows the setting, from {:.0} us at 32 to {:.0} us at 16: one path is that; idle has {} slow \
                 events without the load",
                bump(half).0,
                bump(quarter).0,
                idle.slow()
            ),
        ),
    ]
}

/// How events were counted, and how many paths they are of.
fn counting(runs: &[Run], blending: &[(u64, usize)], counted: u64, lowered: [&Run; 2]) -> Vec<Answer> {
    let bumps = lowered.map(|run| run.flatness().map_or(f64::NAN, |shape| shape.bump_at.0));
    let preferred = |run: &Run| {
        let best = run.fit.families.first().map_or(f64::NAN, |line| line.bic);
        best - run.fit.mixtures_tried.iter().map(|tried| tried.bic).fold(f64::INFINITY, f64::min)
    };
    let modes: Vec<usize> = blending.iter().map(|(_, modes)| *modes).collect();
    let blend = blending.iter().map(|(n, modes)| format!("{modes} at {n}")).collect::<Vec<_>>().join(", ");
    vec![
        (
            "\u{201c}the spike at 70-80 usecs is a bug in my code, from updating the histogram every 1024 cycles\u{201d}",
            made_by_counting(bumps),
            format!(
                "the bumps of these four are at {:.0} and {:.0} us: that spike is not among them, and what is moves with \
                 max_sectors_kb, which no bug in counting does",
                bumps[0], bumps[1]
            ),
        ),
        (
            "\u{201c}500000 cycles\u{201d}",
            Held::when((counted as f64 - CYCLES).abs() < 1.0, true),
            format!("each histogram holds {counted} events: one for {:.1} cycles", CYCLES / counted as f64),
        ),
        (
            "\u{201c}distinct spikes with 1M samples, that blend into smooth Erlang/gamma type distribution at 5M\u{201d}",
            blends(&modes),
            format!("as an effect of n: modes found in a mixture of code paths: {blend}"),
        ),
        (
            "\u{201c}each codepath has a typical latency distribution, and \u{2026} the latencies get intermixed almost linearly\u{201d}",
            several_paths(
                &runs.iter().map(preferred).collect::<Vec<_>>(),
                &runs.iter().map(|run| run.fit.modes.len()).collect::<Vec<_>>(),
            ),
            each(runs, &|run| match preferred(run) {
                by if by.is_finite() => {
                    format!("{} {} components, BIC lower by {by:.0}", run.fit.source, run.fit.mixture.len())
                }
                _ => format!("{} {} modes", run.fit.source, run.fit.modes.len()),
            }),
        ),
    ]
}

fn shape(run: &Run) -> String {
    run.flatness().map_or_else(String::new, |shape| {
        format!(
            "{} {} (p of flat {:.3}; AIC flat {:.1}, falling {:.1}, bump {:.1})",
            run.fit.source,
            shape.best(),
            shape.uniform_p,
            shape.uniform,
            shape.geometric,
            shape.bump
        )
    })
}

/// Exact conditional interval of the rate ratio of two counts of as many events each.
fn between(a: u64, b: u64) -> Option<(f64, f64)> {
    let mass = Mass::of(b, a + b, 0.95).filter(|_| a > 0)?;
    let odds = |share: f64| share / (1.0 - share);
    Some((odds(mass.low), odds(mass.high)))
}

/// The ratio with it.
fn ratio(a: u64, b: u64) -> String {
    between(a, b).map_or_else(
        || "no ratio".into(),
        |(low, high)| format!("\u{d7}{:.2} [{low:.2}, {high:.2}]", b as f64 / a as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_flips_when_the_figures_say_otherwise() {
        use Held::{Refuted, Supported, Undecidable};
        assert_eq!(
            [law(&[0.45, 0.01]), law(&[0.01, 0.019]), law(&[0.01, 0.03]), law(&[])],
            [Refuted, Supported, Undecidable, Undecidable]
        );
        assert_eq!(
            [long_tail(&[2.4, 8.5]), long_tail(&[0.1, 8.5]), long_tail(&[0.7])],
            [Supported, Refuted, Undecidable]
        );
        assert_eq!(
            [grew((6.0, 7.0), (9.0, 10.0)), grew((9.0, 10.0), (6.0, 7.0)), grew((6.0, 8.0), (7.0, 9.0))],
            [Supported, Refuted, Undecidable]
        );
        assert_eq!(
            [more(between(9, 31)), more(between(31, 9)), more(between(10, 11)), more(between(0, 5))],
            [Supported, Refuted, Undecidable, Undecidable]
        );
        assert_eq!(
            [less(Refuted, Refuted), less(Refuted, Supported), less(Refuted, Undecidable)],
            [Supported, Refuted, Undecidable]
        );
        let moved = [(84.0, 2.0), (68.0, 2.0)];
        assert_eq!(
            [only_cause(moved, 9), only_cause(moved, 0), only_cause([(84.0, 2.0), (83.0, 2.0)], 9)],
            [Undecidable, Supported, Refuted]
        );
        assert_eq!(
            [made_by_counting([84.0, 68.0]), made_by_counting([75.0, 76.0]), made_by_counting([75.0, 60.0])],
            [Undecidable, Supported, Refuted]
        );
        assert_eq!([blends(&[1, 3, 3]), blends(&[1, 3, 1]), blends(&[])], [Refuted, Supported, Undecidable]);
        assert_eq!(
            [
                several_paths(&[900.0, 1600.0], &[1, 1]),
                several_paths(&[-50.0, -20.0], &[1, 1]),
                several_paths(&[f64::INFINITY], &[1, 2]),
                several_paths(&[], &[1])
            ],
            [Supported, Refuted, Supported, Undecidable]
        );
    }

    #[test]
    fn equal_chances_need_both_the_test_and_the_criterion() {
        let shape = |uniform_p, uniform| TailShape {
            uniform_p,
            uniform,
            geometric: 275.0,
            bump: 274.0,
            ..TailShape::of(&crate::audio_2004::tests::busy(), 47.0, 7).unwrap()
        };
        assert_eq!(flat(Some(shape(0.19, 268.0))), Held::Supported);
        assert_eq!(flat(Some(shape(0.01, 268.0))), Held::Refuted);
        assert_eq!(flat(Some(shape(0.19, 280.0))), Held::Undecidable);
        assert_eq!(flat(None), Held::Undecidable);
    }
}
