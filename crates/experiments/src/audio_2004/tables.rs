//! Tables of the four histograms.

use super::{RUNS, Run, percent};
use dropline_record::Table;
use dropline_stats::compare::{Design, Shift, shifts};

/// Where the shift function is read.
const QUANTILES: [f64; 11] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999];

/// By how much each quantile moved between two runs (Doksum 1974).
pub(super) fn shift(runs: &[Run]) -> Table {
    let [idle, busy, half, quarter] = runs else { return Table::default() };
    let pairs = [(idle, busy), (busy, half), (busy, quarter)];
    let found: Vec<Vec<Shift>> = pairs
        .iter()
        .map(|(a, b)| {
            let of = |run: &Run| [run.imported.counted.binned()];
            shifts(&of(a), &of(b), Design::Whole, &QUANTILES)
        })
        .collect();
    let end = |end: Option<f64>| end.map_or_else(|| "\u{2013}".into(), |end| format!("{end:+.2}"));
    let rows = QUANTILES.iter().map(|p| {
        let cells = found.iter().map(|shifts| match shifts.iter().find(|shift| shift.p == *p) {
            Some(shift) => format!("{:+.2} [{}, {}]", shift.estimate, end(shift.low), end(shift.high)),
            None => "too few events".into(),
        });
        std::iter::once(format!("p{}", (p * 1e4).round() / 100.0)).chain(cells).collect()
    });
    let columns = pairs.iter().map(|(a, b)| format!("{} to {}", a.fit.source, b.fit.source));
    Table {
        title: "Shift function: by how many microseconds each quantile moved".into(),
        note: "95 % intervals of each by itself, of events taken as independent; below 0 is faster. One law that was \
               shifted would move all alike."
            .into(),
        columns: std::iter::once("quantile".to_owned()).chain(columns).collect(),
        rows: rows.collect(),
    }
}

pub(super) fn histograms(runs: &[Run]) -> Table {
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
        note: "A mode is a peak that the k-mode test confirms, with its range and its events.".into(),
        columns: ["run", "events", "mean", "deviation", "p50", "p99", "p99.9", "max", "modes"]
            .map(String::from)
            .into(),
        rows: rows.collect(),
    }
}

pub(super) fn families(runs: &[Run]) -> Table {
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

pub(super) fn tails(runs: &[Run]) -> Table {
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

pub(super) fn blends(blending: &[(u64, usize)]) -> Table {
    Table {
        title: "Do spikes blend as n grows?".into(),
        note: "Draws from three code paths at 20, 40 and 75 us. More events of the same system show its modes better; what \
               blends them is another mixture, a change during the run, or a longer interval per event."
            .into(),
        columns: ["events", "modes found"].map(String::from).into(),
        rows: blending.iter().map(|(n, modes)| vec![n.to_string(), modes.to_string()]).collect(),
    }
}
