//! What the searches come to: a table a question.

use super::searches::{Answer, BINARY_WARM_UP_S, Contender, Ended};
use super::{LEVEL, LEVELS, TREACHEROUS, counts_for_calibration, pooled};
use dropline_record::{Study, Table};
use dropline_sim::System;

const GOALS: [&str; 2] = ["no loss", "0.5 %"];

impl Contender {
    fn name(self) -> String {
        match self {
            Self::Credible { level } => format!("credible {} %", level / 10_000_000),
            Self::Mlr => "mlr, csit".into(),
            Self::Mdr => "mdr 30 s".into(),
            Self::Binary => "binary 30 s".into(),
            Self::Rival => "CSIT's library".into(),
        }
    }
}

pub(super) fn study(ended: &[Ended], systems: &[System], runs: u32, rival: bool) -> Study {
    let usual = Contender::Credible { level: LEVEL };
    let mut contenders = vec![usual, Contender::Mlr, Contender::Mdr, Contender::Binary];
    if rival {
        contenders.push(Contender::Rival);
    }
    let (held, of) = pooled(ended, LEVEL, &[0, 1]);
    let others = Cells { ended, systems, runs };
    let beside = if rival {
        "CSIT's library searches the same systems with CSIT's goals, a trial counted with its waits."
    } else {
        "CSIT's library is not installed here: experiments/mlrsearch-rival says how."
    };
    Study {
        charts: Vec::new(),
        name: "search-coverage".into(),
        title: format!(
            "Of intervals that state 95 %, {:.1} % hold the true value on {} systems whose trials are alike, easy ones left \
             out{}; bounds of other \
             searches hold it on quiet ones",
            percent(held as f64 / of.max(1) as f64),
            systems.iter().filter(|system| counts_for_calibration(system.name())).count(),
            left_out(ended, systems)
        ),
        paragraphs: vec![
            format!(
                "How often does an answer hold the true value? {runs} searches each, on simulated systems with a known \
                 true value; a trial costs 0.5 s beyond its duration, and each binary search {BINARY_WARM_UP_S:.0} s of \
                 warm-up. Both goals, no loss and 0.5 % loss, width 0.5 %. credible has 36 s and trials of 1 s, \
                 mlr the goals of CSIT, mdr and binary trials of 30 s; the true value is that of the trials' length."
            ),
            "RFC 9971 defines its result by the trials that were made and does not promise to estimate a true value. What \
             a reader does with the number is to treat it as one: hence this table."
                .into(),
            beside.into(),
        ],
        tables: [
            others.of(&contenders, "Answers that hold the true value, %", HOLDS, |answers, _| {
                share(answers.iter().filter(|answer| answer.holds).count(), answers.len())
            }),
            others.of(&contenders, "Mean width of the answer, %", "(upper − lower) ÷ upper", |answers, _| {
                average(answers.iter().filter_map(|answer| answer.width).map(percent)).map_or_else(none, two)
            }),
            others.times(&contenders),
            others.of(
                &contenders,
                "Repeatability of the headline number, %",
                "half the 16 to 84 % range of its error, over the seeds; the median of credible, the conditional \
                 throughput of mlr, the lower bound of the others",
                |answers, _| spread(answers).map_or_else(none, two),
            ),
            others.doubts(usual),
            calibration(ended, systems),
        ]
        .into_iter()
        .chain(rival.then(|| others.beside(usual)))
        .collect(),
        caveats: Vec::new(),
    }
}

/// What the number above leaves out: how few of the intervals hold the true value where trials are not alike.
fn left_out(ended: &[Ended], systems: &[System]) -> String {
    let shares = systems.iter().filter(|system| TREACHEROUS.contains(&system.name())).filter_map(|system| {
        let of = |one: &&Ended| {
            one.system == system.name() && one.contender == Contender::Credible { level: LEVEL }
        };
        let answers: Vec<bool> =
            ended.iter().filter(of).flat_map(|one| one.answers.iter().map(|answer| answer.holds)).collect();
        let held = answers.iter().filter(|holds| **holds).count();
        (!answers.is_empty()).then(|| percent(held as f64 / answers.len() as f64))
    });
    let shares: Vec<f64> = shares.collect();
    let ends =
        shares.iter().copied().min_by(f64::total_cmp).zip(shares.iter().copied().max_by(f64::total_cmp));
    ends.map_or_else(String::new, |(low, high)| {
        format!(", and {low:.0} to {high:.0} % on {} that are not, which carry caveats", shares.len())
    })
}

const HOLDS: &str = "where nothing is lost at any load, or much at all, an answer that says so; of the last five systems \
                     but one see also the doubts";

/// Searches to make tables of.
struct Cells<'a> {
    ended: &'a [Ended],
    systems: &'a [System],
    runs: u32,
}

impl Cells<'_> {
    fn searches(&self, system: System, contender: Contender) -> Vec<&Ended> {
        let of = |one: &&Ended| one.system == system.name() && one.contender == contender;
        self.ended.iter().filter(of).collect()
    }

    /// A row a system, a column a contender: both goals in a cell.
    fn of(
        &self,
        contenders: &[Contender],
        title: &str,
        note: &str,
        cell: impl Fn(&[Answer], usize) -> String,
    ) -> Table {
        let row = |&system: &System| {
            let cells = contenders.iter().map(|&contender| {
                let searches = self.searches(system, contender);
                let goal = |goal: usize| {
                    let answers: Vec<Answer> =
                        searches.iter().filter_map(|one| one.answers.get(goal).copied()).collect();
                    cell(&answers, goal)
                };
                format!("{} / {}", goal(0), goal(1))
            });
            std::iter::once(system.name().to_owned()).chain(cells).collect()
        };
        let note = format!("{} / {}; {note}. {} searches a cell.", GOALS[0], GOALS[1], self.runs);
        Table {
            title: title.into(),
            note,
            columns: columns(contenders),
            rows: self.systems.iter().map(row).collect(),
        }
    }

    fn times(&self, contenders: &[Contender]) -> Table {
        let row = |&system: &System| {
            let cells = contenders.iter().map(|&contender| {
                let times: Vec<f64> =
                    self.searches(system, contender).iter().map(|one| one.seconds).collect();
                let most = times.iter().copied().fold(0.0, f64::max);
                average(times.into_iter()).map_or_else(none, |mean| format!("{mean:.1} ({most:.1})"))
            });
            std::iter::once(system.name().to_owned()).chain(cells).collect()
        };
        Table {
            title: "Time of all trials, s".into(),
            note: "Mean and longest search for both goals.".into(),
            columns: columns(contenders),
            rows: self.systems.iter().map(row).collect(),
        }
    }

    /// What credible needs of the time of CSIT's library, and how far apart repeated answers of both are.
    fn beside(&self, contender: Contender) -> Table {
        let row = |&system: &System| {
            let [ours, theirs] = [contender, Contender::Rival].map(|one| self.searches(system, one));
            let time = |searches: &[&Ended]| average(searches.iter().map(|one| one.seconds));
            let apart = |searches: &[&Ended], goal: usize| {
                let answers: Vec<Answer> =
                    searches.iter().filter_map(|one| one.answers.get(goal).copied()).collect();
                spread(&answers).map_or_else(none, two)
            };
            let share = time(&ours).zip(time(&theirs)).map(|(ours, theirs)| ours / theirs);
            vec![
                system.name().to_owned(),
                share.map_or_else(none, two),
                format!("{} and {}", apart(&ours, 0), apart(&theirs, 0)),
                format!("{} and {}", apart(&ours, 1), apart(&theirs, 1)),
            ]
        };
        let heads = ["system", "time of credible ÷ time of CSIT's library", GOALS[0], GOALS[1]];
        Table {
            title: "credible beside CSIT's library".into(),
            note: "Means over the same seeds; then, of each goal, half the 16 to 84 % range of the headline number's \
                   error in %, of credible and of CSIT's library."
                .into(),
            columns: heads.iter().map(|head| (*head).to_owned()).collect(),
            rows: self.systems.iter().map(row).collect(),
        }
    }

    /// How often credible doubted its answer, and how often an answer held the true value or was doubted.
    fn doubts(&self, contender: Contender) -> Table {
        let row = |&system: &System| {
            let searches = self.searches(system, contender);
            let doubted = searches.iter().filter(|one| !one.caveats.is_empty()).count();
            let covered = |goal: usize| {
                let covered = |one: &&&Ended| one.answers[goal].holds || !one.caveats.is_empty();
                share(searches.iter().filter(covered).count(), searches.len())
            };
            let mut codes: Vec<&str> =
                searches.iter().flat_map(|one| &one.caveats).map(String::as_str).collect();
            codes.sort_unstable();
            let count = |code: &&str| codes.iter().filter(|other| *other == code).count();
            let mut named = codes.clone();
            named.dedup();
            let named: Vec<String> = named.iter().map(|code| format!("{code} {}", count(code))).collect();
            let kind = if TREACHEROUS.contains(&system.name()) { "not alike" } else { "alike" };
            vec![
                system.name().to_owned(),
                kind.into(),
                share(doubted, searches.len()),
                format!("{} / {}", covered(0), covered(1)),
                named.join(", "),
            ]
        };
        let heads = ["system", "trials are", "doubted, %", "held or doubted, %", "how often which"];
        Table {
            title: "Doubts of credible".into(),
            note: "A doubt about a system whose trials are alike is a false one.".into(),
            columns: heads.iter().map(|head| (*head).to_owned()).collect(),
            rows: self.systems.iter().map(row).collect(),
        }
    }
}

fn calibration(ended: &[Ended], systems: &[System]) -> Table {
    let mut levels: Vec<u64> = LEVELS.into_iter().map(|(level, _)| level).chain([LEVEL]).collect();
    levels.sort_unstable();
    let systems: Vec<&System> =
        systems.iter().filter(|system| counts_for_calibration(system.name())).collect();
    let row = |&level: &u64| {
        let (held, of) = pooled(ended, level, &[0, 1]);
        let of_system = |system: &&System| {
            let searches = ended
                .iter()
                .filter(|one| one.system == system.name() && one.contender == Contender::Credible { level });
            let holds: Vec<bool> =
                searches.flat_map(|one| one.answers.iter().map(|answer| answer.holds)).collect();
            share(holds.iter().filter(|holds| **holds).count(), holds.len())
        };
        [two(level as f64 / 1e7), share(held as usize, of as usize)]
            .into_iter()
            .chain(systems.iter().map(of_system))
            .collect()
    };
    let heads = ["stated, %".to_owned(), "all, %".to_owned()];
    Table {
        title: "Stated level and achieved share".into(),
        note: "Both goals together, systems whose trials are alike; hard, bucket, lossless and dead left out. Levels \
               but 80 and 95 % with one seed in four.".into(),
        columns: heads.into_iter().chain(systems.iter().map(|system| system.name().to_owned())).collect(),
        rows: levels.iter().map(row).collect(),
    }
}

fn columns(contenders: &[Contender]) -> Vec<String> {
    std::iter::once("system".to_owned()).chain(contenders.iter().map(|contender| contender.name())).collect()
}

/// Half the 16 to 84 % range of the errors, in per cent.
fn spread(answers: &[Answer]) -> Option<f64> {
    let mut errors: Vec<f64> = answers.iter().filter_map(|answer| answer.error).collect();
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors.get(((errors.len().max(1) - 1) as f64 * share).round() as usize).copied();
    Some(percent(0.5 * (at(0.84)? - at(0.16)?)))
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    dropline_stats::sample::mean(&values)
}

fn share(part: usize, whole: usize) -> String {
    if whole == 0 { none() } else { format!("{:.1}", percent(part as f64 / whole as f64)) }
}

fn percent(ratio: f64) -> f64 {
    100.0 * ratio
}

fn two(value: f64) -> String {
    format!("{value:.2}")
}

fn none() -> String {
    "none".into()
}
