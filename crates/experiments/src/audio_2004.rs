//! The four histograms of a mailing-list thread of 2004, asked again what its authors claimed of them.

mod claims;
mod simulated;
mod tables;

use super::{Effort, Experiment, FoundStudy};
use dropline_distributions::fit::{FitPlan, fit};
use dropline_distributions::import::{Hints, ImportError, Imported, table};
use dropline_failure::Failure;
use dropline_record::fit::FamilyLine;
use dropline_record::{Fit, Study};
use dropline_stats::tail::TailShape;
use std::sync::atomic::Ordering;

/// Name of each run, its file, and what was set.
const RUNS: [(&str, &str, &str); 4] = [
    ("idle", include_str!("../../../experiments/audio-2004/idle.tsv"), "desktop, max_sectors_kb 64"),
    (
        "iozone64",
        include_str!("../../../experiments/audio-2004/iozone64.tsv"),
        "disk load, max_sectors_kb 64",
    ),
    (
        "iozone32",
        include_str!("../../../experiments/audio-2004/iozone32.tsv"),
        "disk load, max_sectors_kb 32",
    ),
    (
        "iozone16",
        include_str!("../../../experiments/audio-2004/iozone16.tsv"),
        "disk load, max_sectors_kb 16",
    ),
];
/// The thread's threshold of the slow tail, in microseconds.
const SLOW: f64 = 42.0;
/// From where on the thread saw equal chances.
const FLAT_FROM: f64 = 47.0;

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "audio-2004",
    about: "Delays of a thread measured in 2004: normal, gamma, or several code paths?",
    runs: None,
    flags: &["small"],
    run,
    distributions,
    of_kept: None,
};

/// Fits the four histograms and answers each claim.
///
/// # Errors
/// If the user wants to stop.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let mut runs = Vec::new();
    for (name, text, _) in RUNS {
        if effort.stop.load(Ordering::Relaxed) {
            return Err(Failure::interrupted());
        }
        progress(&format!("{name}: laws, modes, mixtures, tail"));
        let imported = read(text).map_err(|why| Failure::environment(format!("{name}: {why}")))?;
        let plan = FitPlan { above_ns: Some(SLOW * 1000.0), mixtures: !effort.small, ..FitPlan::default() };
        runs.push(Run { fit: fit(name, &imported, &plan), imported });
    }
    progress("a simulation of spikes as events grow");
    let blending = simulated::blending(if effort.small { 100_000 } else { 5_000_000 });
    Ok(FoundStudy { study: study(&runs, &blending), graphs: Vec::new(), calibrations: Vec::new() })
}

/// What is said of each histogram, for the plots.
pub fn distributions() -> Vec<Fit> {
    let plan = FitPlan { above_ns: Some(SLOW * 1000.0), ..FitPlan::default() };
    RUNS.iter().filter_map(|(name, text, _)| Some(fit(name, &read(text).ok()?, &plan))).collect()
}

fn read(text: &str) -> Result<Imported, ImportError> {
    table::parse(text, table::Apart::Blanks, &Hints::default())
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

    /// The interval of a percentile.
    fn between(&self, p: f64) -> (f64, f64) {
        let line = self.fit.percentiles.iter().find(|line| line.p == p);
        line.and_then(|line| line.low.zip(line.high)).unwrap_or((f64::NAN, f64::NAN))
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
            "A recorded microsecond d means [d \u{2212} \u{bd}, d + \u{bd}). \u{201c}Elsewhere\u{201d} is the share of the events \
             that would have to move for a law to hold. No series was published: every interval takes the events as \
             independent."
                .into(),
        ],
        tables: vec![
            claims::table(runs, blending, counted),
            tables::histograms(runs),
            tables::families(runs),
            tables::tails(runs),
            tables::shift(runs),
            tables::blends(blending),
        ],
        caveats: runs.first().map(|run| run.fit.caveats.clone()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::Binned;
    use std::sync::Arc;

    /// Of the run with max_sectors_kb 64.
    pub(super) fn busy() -> Binned {
        read(RUNS[1].1).unwrap().counted.binned()
    }

    #[test]
    fn each_claim_of_the_thread_is_answered_from_its_figures() {
        let effort = Effort {
            runs: None,
            first_seed: None,
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
}
