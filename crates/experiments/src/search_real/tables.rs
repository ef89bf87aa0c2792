//! The answer: how often intervals agree with the truth, or with a long search.

use super::observed::{Answer, Observed};
use super::scene::Scene;
use dropline_record::{CaveatLine, Study, Table};
use dropline_stats::sample::{mean, quantile};
use std::collections::BTreeMap;

/// All that was seen.
pub(super) fn study(scenes: &[Scene], seen: &[Observed], caveats: Vec<CaveatLine>) -> Study {
    let (mut held, mut asked) = (0, 0);
    for of in
        scenes.iter().flat_map(|scene| goals(seen).into_iter().map(|goal| Compared::of(*scene, goal, seen)))
    {
        held += of.held();
        asked += of.answers.len();
    }
    Study {
        name: "search-real".into(),
        title: format!("Of {asked} intervals of real systems, {held} hold the true value or the middle of a long search"),
        paragraphs: vec![
            "Each search starts its system afresh and looks for no loss and for 0.5 % loss with trials of a second. The \
             true value of the bucket is arithmetic: what it holds, what may wait behind it, and its rate for a second. The \
             others have a reference, the middle of a search with four times the time, which is itself known only to \
             within its own interval; and what is true of them changes with whatever else this machine does."
                .into(),
        ],
        tables: vec![agreement(scenes, seen), searches(scenes, seen)],
        charts: Vec::new(),
        caveats,
    }
}

/// Searches of one system for one goal, beside what they should have found.
struct Compared {
    truth_pps: Option<f64>,
    reference: Option<Answer>,
    answers: Vec<Answer>,
}

impl Compared {
    fn of(scene: Scene, goal: usize, seen: &[Observed]) -> Self {
        let mine = || seen.iter().filter(|seen| seen.scene == scene.name());
        let answer = |seen: &Observed| seen.answers.get(goal).copied();
        let answers: Vec<Answer> = mine().filter(|seen| seen.run > 0).filter_map(answer).collect();
        let reference = mine().find(|seen| seen.run == 0).and_then(answer);
        let truth_pps = answers.first().and_then(|answer| scene.truth_pps(answer.loss_ratio));
        Self { truth_pps, reference, answers }
    }

    /// What an interval should hold.
    fn wanted_pps(&self) -> Option<f64> {
        self.truth_pps.or(self.reference.and_then(|reference| reference.median_pps))
    }

    fn held(&self) -> usize {
        let holds = |answer: &&Answer| self.wanted_pps().is_some_and(|wanted| answer.holds(wanted));
        self.answers.iter().filter(holds).count()
    }
}

/// Indices of the goals.
fn goals(seen: &[Observed]) -> Vec<usize> {
    (0..seen.first().map_or(0, |seen| seen.answers.len())).collect()
}

fn agreement(scenes: &[Scene], seen: &[Observed]) -> Table {
    let row = |scene: Scene, goal: usize| {
        let compared = Compared::of(scene, goal, seen);
        let answers = &compared.answers;
        let loss = answers.first().map_or(0.0, |answer| answer.loss_ratio);
        let wanted = match (compared.truth_pps, compared.reference) {
            (Some(truth), _) => format!("{truth:.0}"),
            (None, Some(Answer { lower_pps, median_pps, upper_pps, .. })) => {
                format!("{} [{}, {}]", pps(median_pps), pps(lower_pps), pps(upper_pps))
            }
            (None, None) => none(),
        };
        let meet = compared.reference.map_or_else(none, |reference| {
            count(answers.iter().filter(|one| one.meets(&reference)).count(), answers.len())
        });
        let before = answers.windows(2).filter(|pair| pair[0].meets(&pair[1])).count();
        let mut medians: Vec<f64> = answers.iter().filter_map(|answer| answer.median_pps).collect();
        medians.sort_by(f64::total_cmp);
        let at = |share: f64| quantile(&medians, share);
        let spread =
            at(0.84).zip(at(0.16)).zip(at(0.5)).map(|((high, low), middle)| 50.0 * (high - low) / middle);
        let widths: Vec<f64> = answers.iter().filter_map(Answer::width).collect();
        let name = if goal == 0 { scene.name().to_owned() } else { String::new() };
        vec![
            name,
            if loss == 0.0 { "no loss".into() } else { format!("{} %", 100.0 * loss) },
            wanted,
            count(compared.held(), answers.len()),
            meet,
            count(before, answers.len().saturating_sub(1)),
            pps(at(0.5)),
            spread.map_or_else(none, |spread| format!("{spread:.2}")),
            mean(&widths).map_or_else(none, |width| format!("{:.2}", 100.0 * width)),
            count(answers.iter().filter(|answer| answer.narrow).count(), answers.len()),
        ]
    };
    let heads = [
        "system",
        "goal",
        "true value or reference, pps",
        "hold it",
        "meet the reference",
        "meet the one before",
        "median, pps",
        "half 16-84 %, %",
        "mean width, %",
        "narrow",
    ];
    Table {
        title: "Agreement".into(),
        note: "A reference is its middle and, in brackets, its interval; two intervals meet when they have a load in \
               common. Those that miss a reference and meet the one before are of a system that changes. Half the 16 to \
               84 % range of the middles is relative to their median."
            .into(),
        columns: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows: scenes.iter().flat_map(|&scene| goals(seen).into_iter().map(move |goal| row(scene, goal))).collect(),
    }
}

fn searches(scenes: &[Scene], seen: &[Observed]) -> Table {
    let row = |scene: &Scene| {
        let mine: Vec<&Observed> =
            seen.iter().filter(|seen| seen.scene == scene.name() && seen.run > 0).collect();
        let average = |of: &dyn Fn(&Observed) -> f64| {
            let values: Vec<f64> = mine.iter().map(|seen| of(seen)).collect();
            mean(&values).map_or_else(none, |mean| format!("{mean:.1}"))
        };
        let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
        for code in mine.iter().flat_map(|seen| &seen.caveats) {
            *codes.entry(code).or_default() += 1;
        }
        let words: Vec<String> = codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
        vec![
            scene.name().into(),
            scene.about().into(),
            mine.len().to_string(),
            average(&|seen| seen.elapsed_s),
            average(&|seen| seen.trials as f64),
            words.join(", "),
        ]
    };
    let heads = ["system", "what it is", "searches", "mean time, s", "mean trials", "caveats"];
    Table {
        title: "Searches".into(),
        note: "Time of all trials with their waits.".into(),
        columns: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows: scenes.iter().map(row).collect(),
    }
}

fn count(part: usize, whole: usize) -> String {
    format!("{part} of {whole}")
}

fn pps(value: Option<f64>) -> String {
    value.map_or_else(none, |value| format!("{value:.0}"))
}

fn none() -> String {
    "none".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(scene: Scene, run: u32, ends: [f64; 3]) -> Observed {
        let [lower, median, upper] = ends.map(Some);
        let answer =
            Answer { loss_ratio: 0.0, lower_pps: lower, upper_pps: upper, median_pps: median, narrow: true };
        Observed {
            scene: scene.name().into(),
            run,
            started: String::new(),
            elapsed_s: 9.0,
            trials: 12,
            answers: vec![answer],
            caveats: vec!["drift".into()],
        }
    }

    #[test]
    fn a_bucket_is_held_against_arithmetic_and_a_service_against_its_reference() {
        let seen = [
            observed(Scene::Bucket, 1, [9590.0, 9600.0, 9610.0]),
            observed(Scene::Bucket, 2, [9610.0, 9620.0, 9630.0]),
            observed(Scene::Scattered, 0, [4900.0, 5000.0, 5100.0]),
            observed(Scene::Scattered, 1, [5050.0, 5100.0, 5150.0]),
            observed(Scene::Scattered, 2, [4000.0, 5000.0, 5200.0]),
        ];
        let study = study(&[Scene::Bucket, Scene::Scattered], &seen, Vec::new());
        assert!(study.title.starts_with("Of 4 intervals of real systems, 2 hold"), "{}", study.title);
        let [bucket, scattered] = &study.tables[0].rows[..] else { panic!("{:?}", study.tables[0].rows) };
        assert_eq!(bucket[2..6], ["9604", "1 of 2", "none", "1 of 1"]);
        assert_eq!(scattered[2..6], ["5000 [4900, 5100]", "1 of 2", "2 of 2", "1 of 1"]);
        assert_eq!(study.tables[1].rows[0][2..], ["2", "9.0", "12.0", "drift 2"]);
    }
}
