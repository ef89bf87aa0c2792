//! The four histograms of a mailing-list thread of 2004, asked again what its authors claimed of them.

use super::{Effort, Found};
use crate::Failure;
use crate::fitting::{FitPlan, fit};
use crate::import::{Imported, tsv};
use dropline_record::fit::FamilyLine;
use dropline_record::{Fit, Study, Table};
use dropline_stats::special::normal_quantile;
use dropline_stats::tail::{Mass, TailShape};
use dropline_stats::{Counted, Meaning, Modes, chance};
use std::sync::atomic::Ordering;

/// Name of each run, its file, and what was set.
const RUNS: [(&str, &str, &str); 4] = [
    ("idle", include_str!("../../../../experiments/audio-2004/idle.tsv"), "desktop, max_sectors_kb 64"),
    (
        "iozone64",
        include_str!("../../../../experiments/audio-2004/iozone64.tsv"),
        "disk load, max_sectors_kb 64",
    ),
    (
        "iozone32",
        include_str!("../../../../experiments/audio-2004/iozone32.tsv"),
        "disk load, max_sectors_kb 32",
    ),
    (
        "iozone16",
        include_str!("../../../../experiments/audio-2004/iozone16.tsv"),
        "disk load, max_sectors_kb 16",
    ),
];
/// The thread's threshold of the slow tail, in microseconds.
const SLOW: f64 = 42.0;
/// From where on the thread saw equal chances.
const FLAT_FROM: f64 = 47.0;
/// Cycles that the thread says were run, and how many of them one counted value stands for.
const CYCLES: f64 = 500_000.0;

/// Fits the four histograms and answers each claim.
///
/// # Errors
/// If the user wants to stop.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<Found, Failure> {
    let mut runs = Vec::new();
    for (name, text, _) in RUNS {
        if effort.stop.load(Ordering::Relaxed) {
            return Err(Failure::interrupted());
        }
        progress(&format!("{name}: laws, modes, mixtures, tail"));
        let imported =
            tsv::parse(text, None).map_err(|why| Failure::environment(format!("{name}: {why}")))?;
        let plan = FitPlan { above_ns: Some(SLOW * 1000.0), mixtures: !effort.small, ..FitPlan::default() };
        runs.push(Run { fit: fit(name, &imported, &plan), imported });
    }
    progress("a simulation of spikes as events grow");
    let blending = blending(if effort.small { 100_000 } else { 5_000_000 });
    Ok(Found { study: study(&runs, &blending), graphs: Vec::new(), calibrations: Vec::new() })
}

/// What is said of each histogram, for the plots.
pub fn distributions() -> Vec<Fit> {
    let plan = FitPlan { above_ns: Some(SLOW * 1000.0), ..FitPlan::default() };
    RUNS.iter().filter_map(|(name, text, _)| Some(fit(name, &tsv::parse(text, None).ok()?, &plan))).collect()
}

/// One histogram and what is said of it.
struct Run {
    fit: Fit,
    imported: Imported,
}

impl Run {
    fn family(&self, name: &str) -> Option<&FamilyLine> {
        self.fit.families.iter().find(|line| line.name == name)
    }

    /// Share of the events that would have to move for a family to hold.
    fn elsewhere(&self, name: &str) -> String {
        self.family(name).map_or_else(|| "\u{2013}".into(), |line| percent(line.total_variation))
    }

    fn percentile(&self, p: f64) -> f64 {
        self.fit.percentiles.iter().find(|line| line.p == p).and_then(|line| line.value).unwrap_or(f64::NAN)
    }

    fn slow(&self) -> u64 {
        self.fit.tail.as_ref().map_or(0, |tail| tail.count.0)
    }

    fn flatness(&self) -> Option<TailShape> {
        TailShape::of(&self.imported.counted.binned(), FLAT_FROM, 7)
    }
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

fn study(runs: &[Run], blending: &[(u64, usize)]) -> Study {
    let counted: u64 = runs.iter().map(|run| run.fit.count.0).sum::<u64>() / runs.len() as u64;
    Study {
        charts: Vec::new(),
        name: "audio-2004".into(),
        title: "The delays of 2004 are neither normal nor gamma: they are several code paths".into(),
        paragraphs: vec![
            "A thread on the Linux kernel's mailing list of July and August 2004 (Statistical methods for latency \
             profiling) asked what the scheduling delays of an audio server say, and gave four histograms. Its claims are \
             quoted here, and each is held against those histograms."
                .into(),
            "A recorded microsecond d stands for [d \u{2212} \u{bd}, d + \u{bd}). \u{201c}Elsewhere\u{201d} is the share of the events \
             that would have to move for a law to hold. No series was published: every interval takes the events as \
             independent."
                .into(),
        ],
        tables: vec![claims(runs, blending, counted), histograms(runs), families(runs), tails(runs), blends(blending)],
        caveats: runs.first().map(|run| run.fit.caveats.clone()).unwrap_or_default(),
    }
}

fn claims(runs: &[Run], blending: &[(u64, usize)], counted: u64) -> Table {
    let [idle, busy, half, quarter] = runs else { return Table::default() };
    let each = |said: &dyn Fn(&Run) -> String| runs.iter().map(said).collect::<Vec<_>>().join(", ");
    let tail = |a: &Run, b: &Run| ratio(a.slow(), b.slow());
    let flat = |run: &Run| {
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
    };
    let bump = |run: &Run| run.flatness().map_or(f64::NAN, |shape| shape.bump_at.0);
    let paths = each(&|run| {
        let best = run.fit.families.first().map_or(f64::NAN, |line| line.bic);
        let mixture = run.fit.mixtures_tried.iter().map(|tried| tried.bic).fold(f64::INFINITY, f64::min);
        if mixture.is_finite() {
            format!(
                "{} {} components, BIC lower by {:.0}",
                run.fit.source,
                run.fit.mixture.len(),
                best - mixture
            )
        } else {
            format!("{} {} modes", run.fit.source, run.fit.modes.len())
        }
    });
    let (skewness, maxima) = maxima_of_normals(48);
    let blend = blending.iter().map(|(n, modes)| format!("{modes} at {n}")).collect::<Vec<_>>().join(", ");
    let rows = [
        (
            "\u{201c}the distribution of maximum latencies \u{2026} is fairly normally distributed\u{201d}",
            "refuted",
            format!("elsewhere: {}", each(&|run| format!("{} {}", run.fit.source, run.elsewhere("normal")))),
        ),
        (
            "\u{201c}something like a gamma distribution\u{201d}",
            "refuted",
            format!(
                "gamma elsewhere: {}; the nearest family: {}",
                each(&|run| format!("{} {}", run.fit.source, run.elsewhere("gamma"))),
                each(&|run| format!(
                    "{} {}",
                    run.fit.best.clone().unwrap_or_default(),
                    run.elsewhere(run.fit.best.as_deref().unwrap_or_default())
                ))
            ),
        ),
        (
            "\u{201c}everything clustered down close to zero, but with a very long tail\u{201d}",
            "supported",
            format!("skewness {}", each(&|run| format!("{:.1}", run.fit.moments.skewness.unwrap_or(f64::NAN)))),
        ),
        (
            "\u{201c}if the underlying distribution is normal then the distribution of the maximums will be as well\u{201d}",
            "refuted",
            format!(
                "the largest of 48 normal values has skewness {skewness:.2}, and {} of it is not where the nearest \
                 normal law is",
                percent(maxima)
            ),
        ),
        (
            "\u{201c}stressing the filesystem moves the center to the right a bit, from 6-7 to 9-10\u{201d}",
            "supported",
            format!(
                "the peak moves from {} to {} us, the median from {} to {} us",
                idle.fit.modes.first().map_or(f64::NAN, |mode| mode.peak),
                busy.fit.modes.first().map_or(f64::NAN, |mode| mode.peak),
                idle.percentile(0.5),
                busy.percentile(0.5)
            ),
        ),
        (
            "\u{201c}and drastically lengthens the tail\u{201d}",
            "supported",
            format!("beyond 42 us {} events become {}: {}", idle.slow(), busy.slow(), tail(idle, busy)),
        ),
        (
            "\u{201c}latencies from 47 usecs and up \u{2026} are so uniformly distributed\u{201d} (max_sectors_kb 64)",
            "supported",
            flat(busy),
        ),
        (
            "the same after max_sectors_kb was lowered",
            "refuted",
            format!("{}; {}", flat(half), flat(quarter)),
        ),
        (
            "lowering max_sectors_kb from 64 to 32 shows less latency",
            "refuted",
            format!(
                "the median falls from {} to {} us, but the slow tail is {}",
                busy.percentile(0.5),
                half.percentile(0.5),
                tail(busy, half)
            ),
        ),
        (
            "\u{201c}the ide sg completion code as the only thing \u{2026} over ~42 usecs\u{201d}",
            "undecidable",
            format!(
                "the bump follows the setting, from {:.0} us at 32 to {:.0} us at 16: one path is that; idle has {} slow \
                 events without the load",
                bump(half),
                bump(quarter),
                idle.slow()
            ),
        ),
        (
            "\u{201c}the spike at 70-80 usecs is a bug in my code, from updating the histogram every 1024 cycles\u{201d}",
            "undecidable",
            "that spike is not in these four; the bump that is moves with max_sectors_kb, which no bug in counting does"
                .into(),
        ),
        (
            "\u{201c}500000 cycles\u{201d}",
            "refuted",
            format!("each histogram holds {counted} events: one for {:.1} cycles", CYCLES / counted as f64),
        ),
        (
            "\u{201c}distinct spikes with 1M samples, that blend into smooth Erlang/gamma type distribution at 5M\u{201d}",
            "refuted",
            format!("as an effect of n: modes found in a mixture of code paths: {blend}"),
        ),
        (
            "\u{201c}each codepath has a typical latency distribution, and \u{2026} the latencies get intermixed almost linearly\u{201d}",
            "supported",
            paths,
        ),
    ];
    Table {
        title: "The claims".into(),
        note: "supported: the data would look like this, and not like the contrary; undecidable: they cannot tell.".into(),
        columns: ["claim", "verdict", "figures"].map(String::from).into(),
        rows: rows.map(|(claim, verdict, figures)| vec![claim.to_owned(), verdict.to_owned(), figures]).into(),
    }
}

/// Rate ratio of two counts of as many events each, with its exact conditional interval.
fn ratio(a: u64, b: u64) -> String {
    match Mass::of(b, a + b, 0.95) {
        Some(mass) if a > 0 => {
            let odds = |share: f64| share / (1.0 - share);
            format!("\u{d7}{:.2} [{:.2}, {:.2}]", b as f64 / a as f64, odds(mass.low), odds(mass.high))
        }
        _ => "no ratio".into(),
    }
}

fn histograms(runs: &[Run]) -> Table {
    let rows = runs.iter().zip(RUNS).map(|(run, (name, _, setting))| {
        let modes =
            run.fit.modes.iter().map(|mode| format!("{}\u{2013}{} ({})", mode.low, mode.high, mode.mass.0));
        let mean = run.fit.moments.mean.unwrap_or(f64::NAN);
        vec![
            format!("{name} ({setting})"),
            run.fit.count.0.to_string(),
            format!("{mean:.3}"),
            format!("{:.3}", run.fit.moments.standard_deviation_sheppard.unwrap_or(f64::NAN)),
            run.percentile(0.5).to_string(),
            run.percentile(0.99).to_string(),
            run.percentile(0.999).to_string(),
            run.fit.max.unwrap_or(f64::NAN).to_string(),
            modes.collect::<Vec<_>>().join(", "),
        ]
    });
    Table {
        title: "The histograms, in microseconds".into(),
        note: "A mode is a peak that the k-mode test bears out, with its range and its events.".into(),
        columns: ["run", "events", "mean", "deviation", "p50", "p99", "p99.9", "max", "modes"]
            .map(String::from)
            .into(),
        rows: rows.collect(),
    }
}

fn families(runs: &[Run]) -> Table {
    let mut names: Vec<&str> = runs
        .first()
        .map(|run| run.fit.families.iter().map(|line| line.name.as_str()).collect())
        .unwrap_or_default();
    names.sort_unstable();
    let rows = names.iter().map(|name| {
        let cells = runs.iter().map(|run| match run.family(name) {
            Some(line) => format!("{:.1} ({})", line.bic, percent(line.total_variation)),
            None => "\u{2013}".into(),
        });
        std::iter::once((*name).to_owned()).chain(cells).collect()
    });
    let columns = std::iter::once("family").chain(RUNS.map(|(name, _, _)| name));
    Table {
        title: "BIC of the twelve families, and the share of events elsewhere".into(),
        note: "Interval-censored maximum likelihood; the lowest BIC of a column is the nearest family, and none fits.".into(),
        columns: columns.map(String::from).collect(),
        rows: rows.collect(),
    }
}

fn tails(runs: &[Run]) -> Table {
    let rows = runs.iter().filter_map(|run| {
        let tail = run.fit.tail.as_ref()?;
        let stability: Vec<String> =
            tail.stability.iter().map(|at| format!("{:.2} above {}", at.xi, at.threshold)).collect();
        Some(vec![
            run.fit.source.clone(),
            tail.count.0.to_string(),
            format!("{:.3} % [{:.3}, {:.3}]", tail.ratio * 100.0, tail.low * 100.0, tail.high * 100.0),
            tail.gpd.map_or_else(
                || "too few events".into(),
                |gpd| format!("{:.2} [{:.2}, {:.2}]", gpd.xi, gpd.xi_low, gpd.xi_high),
            ),
            stability.join(", "),
        ])
    });
    Table {
        title: "Beyond 42 us".into(),
        note: "\u{3be} of the generalised Pareto law: 0 exponential, \u{2212}1 flat, above 0 heavy. One law would keep its \u{3be} at \
               every threshold; a mixture does not."
            .into(),
        columns: ["run", "events", "share", "\u{3be}", "\u{3be} by threshold"].map(String::from).into(),
        rows: rows.collect(),
    }
}

/// Skewness of the largest of `k` standard normal values, and how much of it is not where a normal law with the
/// same mean and deviation is.
fn maxima_of_normals(k: u32) -> (f64, f64) {
    const POINTS: usize = 20_000;
    let at = |index: usize| normal_quantile(((index as f64 + 0.5) / POINTS as f64).powf(1.0 / f64::from(k)));
    let values: Vec<f64> = (0..POINTS).map(at).collect();
    let n = POINTS as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
    let deviation = moment(2).sqrt();
    // Total variation over the cells of a histogram, as fine as the points bear.
    let cells = 200;
    let mut counts = vec![0.0; cells];
    let place =
        |value: f64| ((value - mean) / deviation * 20.0 + cells as f64 / 2.0).clamp(0.0, cells as f64 - 1.0);
    values.iter().for_each(|value| counts[place(*value) as usize] += 1.0 / n);
    let below = |cell: usize| {
        dropline_stats::special::normal_tails((cell as f64 - cells as f64 / 2.0) / 20.0).probability()
    };
    let elsewhere =
        counts.iter().enumerate().map(|(cell, share)| (share - (below(cell + 1) - below(cell))).max(0.0));
    (moment(3) / deviation.powi(3), elsewhere.sum())
}

/// Modes found in a mixture of three code paths as more and more events are drawn from it.
fn blending(most: u64) -> Vec<(u64, usize)> {
    let paths = [(0.6, 20.0, 3.0), (0.3, 40.0, 4.0), (0.1, 75.0, 6.0)];
    let chance_of = |tick: i64| {
        let inside = |&(weight, mean, deviation): &(f64, f64, f64)| {
            let at = |x: f64| dropline_stats::special::normal_tails((x - mean) / deviation);
            weight * at(tick as f64 - 0.5).ln_until(at(tick as f64 + 0.5)).exp()
        };
        paths.iter().map(inside).sum::<f64>()
    };
    let chances: Vec<f64> = (0..120).map(chance_of).collect();
    [most / 500, most / 50, most / 5, most]
        .into_iter()
        .map(|n| {
            let counts = chance::drawn(7, n, &chances);
            let counted = Counted::ticks(Meaning::default(), (0..).zip(counts), None);
            (n, counted.map_or(0, |counted| Modes::of(&counted.binned(), 7).modes.len()))
        })
        .collect()
}

fn blends(blending: &[(u64, usize)]) -> Table {
    Table {
        title: "Do spikes blend as n grows?".into(),
        note: "Draws from three code paths at 20, 40 and 75 us. More events of the same system show its modes better; what \
               blends them is another mixture, a change during the run, or a longer interval per event."
            .into(),
        columns: ["events", "modes found"].map(String::from).into(),
        rows: blending.iter().map(|(n, modes)| vec![n.to_string(), modes.to_string()]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn each_claim_of_the_thread_is_answered_from_its_figures() {
        let effort = Effort {
            runs: None,
            small: true,
            full: false,
            only: None,
            budget: None,
            keep: None,
            stop: Arc::default(),
        };
        let study = run(&effort, &mut |_| {}).unwrap().study;
        let row = |begin: &str| {
            study.tables[0]
                .rows
                .iter()
                .find(|row| row[0].contains(begin))
                .unwrap_or_else(|| panic!("no {begin}"))
                .clone()
        };
        assert_eq!(row("fairly normally")[1], "refuted");
        assert!(
            row("fairly normally")[2].contains("idle 45.2 %")
                && row("fairly normally")[2].contains("iozone32 54.3 %")
        );
        assert!(row("drastically")[2].contains("\u{d7}3.44 [1.60, 8.23]"), "{:?}", row("drastically"));
        assert!(row("from 64 to 32")[2].contains("\u{d7}2.52 [1.64, 3.95]"), "{:?}", row("from 64 to 32"));
        assert!(row("47 usecs")[2].starts_with("iozone64 uniform"), "{:?}", row("47 usecs"));
        assert!(row("was lowered")[2].starts_with("iozone32 bump"), "{:?}", row("was lowered"));
        assert!(row("500000")[2].contains("10400 events: one for 48.1 cycles"));
        assert!(
            study.tables[0]
                .rows
                .iter()
                .all(|row| ["supported", "refuted", "undecidable"].contains(&row[1].as_str()))
        );
    }

    #[test]
    fn more_events_do_not_blend_modes() {
        let found = blending(100_000);
        assert_eq!(found.last(), Some(&(100_000, 3)));
        assert!(found.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{found:?}");
    }

    #[test]
    fn maxima_of_normal_values_are_skewed() {
        let (skewness, elsewhere) = maxima_of_normals(48);
        assert!((0.5..0.8).contains(&skewness) && elsewhere > 0.03, "{skewness} {elsewhere}");
        assert!(maxima_of_normals(1).0.abs() < 1e-6);
    }
}
