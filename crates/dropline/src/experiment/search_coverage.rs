//! How often does an answer hold the truth? All algorithms on all simulated systems, whose truth is known.
//!
//! Time is virtual, a trial costs half a second beyond its duration. Each search is asked for no loss and for
//! 0.5 % loss; of each goal the truth is the load up to which one more of its trials exceeds its loss ratio with
//! a probability of at most one half.

mod rival;
mod tables;

use super::{Effort, Found};
use crate::{AlgorithmPlan, Failure, SearchPlan, Target};
use dropline_record::CaveatLine;
use dropline_report::{Calibration, CalibrationLine};
use dropline_search::mlr::EffectiveDuration;
use dropline_search::{Goal, GoalOutcome, GoalResult, Limits, Preset};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_trial::{Measurer as _, Rate, Ratio, TrafficProfile};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Searches a system and algorithm when nothing is said.
const RUNS: u32 = 10;
/// Levels that are stated for the calibration plot, beside the 95 % of all other searches, and with one seed in how
/// many.
const LEVELS: [(u64, u64); 4] = [(500_000_000, 4), (800_000_000, 1), (900_000_000, 4), (990_000_000, 4)];
const LEVEL: u64 = 950_000_000;
/// Systems whose trials are not alike, or that lose packets below their knee: a caveat is an answer too.
const TREACHEROUS: [&str; 5] = ["two-state", "drift", "floor", "band", "cold-start"];
/// Systems on which any level is reached, or that have no truth.
const EASY: [&str; 4] = ["hard", "lossless", "dead", "bucket"];
/// Warm-up of each binary search, in seconds.
const BINARY_WARM_UP_S: f64 = 5.0;

/// Who searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contender {
    Credible {
        level: u64,
    },
    Mlr,
    Mdr,
    /// A search for each goal.
    Binary,
    /// FD.io CSIT's library, where it is installed.
    Rival,
}

/// One search, or with `Binary` one for each goal.
#[derive(Clone, Copy, Debug)]
struct Job {
    system: System,
    contender: Contender,
    seed: u64,
}

/// How a search ended.
#[derive(Clone, Debug)]
struct Ended {
    system: System,
    contender: Contender,
    seconds: f64,
    caveats: Vec<String>,
    answers: Vec<Answer>,
}

/// The answer to one goal, as shares of the truth.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// Whether the truth is within the stated ends.
    holds: bool,
    /// (upper − lower) ÷ upper.
    width: Option<f64>,
    /// Headline number ÷ truth − 1.
    error: Option<f64>,
}

/// Runs the whole matrix on all cores.
///
/// # Errors
/// If the user wants to stop before every search was made with the first seed. Later the seeds that are complete are
/// what was found.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<Found, Failure> {
    let runs = effort.runs.unwrap_or(RUNS).max(1);
    let jobs = jobs(runs);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    progress(&format!("{} searches of {} systems on {cores} cores", jobs.len(), System::all().count()));
    let ended = on_all_cores(&jobs, cores, effort, progress);
    // An interrupted study is one of fewer seeds.
    let missing = (0..jobs.len()).find(|index| ended.get(*index).is_none_or(|(done, _)| done != index));
    let complete = missing.map_or(runs, |index| u32::try_from(jobs[index].seed - 1).unwrap_or(runs));
    if complete == 0 {
        return Err(Failure::interrupted());
    }
    let rivals = rival::run(complete, progress);
    let installed = rivals.is_some();
    let whole = ended.into_iter().filter(|(index, _)| jobs[*index].seed <= u64::from(complete));
    let all: Vec<Ended> = whole.map(|(_, one)| one).chain(rivals.unwrap_or_default()).collect();
    let mut study = tables::study(&all, complete, installed);
    if complete < runs {
        study.caveats.push(CaveatLine {
            code: "interrupted".into(),
            text: format!("interrupted: {complete} searches each, and not {runs}"),
            numbers: serde_json::Map::new(),
        });
    }
    Ok(Found { study, graphs: Vec::new(), calibrations: vec![calibration(&all)] })
}

/// Seed after seed; of each the slow searches first, so that no core waits at the end.
fn jobs(runs: u32) -> Vec<Job> {
    let usual = [Contender::Credible { level: LEVEL }, Contender::Mlr, Contender::Mdr, Contender::Binary];
    let of_seed = |seed: u64| {
        let searches = move |contender, system| Job { system, contender, seed };
        let all = usual
            .into_iter()
            .flat_map(move |contender| System::all().map(move |system| searches(contender, system)));
        let levels = LEVELS.into_iter().filter(move |(_, one_in)| seed.is_multiple_of(*one_in));
        let calibrating = levels.flat_map(move |(level, _)| {
            let systems = System::all().filter(|system| counts_for_calibration(*system));
            systems.map(move |system| searches(Contender::Credible { level }, system))
        });
        all.chain(calibrating)
    };
    (1..=u64::from(runs)).flat_map(of_seed).collect()
}

fn counts_for_calibration(system: System) -> bool {
    !EASY.contains(&system.name()) && !TREACHEROUS.contains(&system.name())
}

/// The searches that were made, by their places among the jobs.
fn on_all_cores(
    jobs: &[Job],
    cores: usize,
    effort: &Effort,
    progress: &mut dyn FnMut(&str),
) -> Vec<(usize, Ended)> {
    let next = AtomicUsize::new(0);
    let ended: Mutex<Vec<(usize, Ended)>> = Mutex::new(Vec::new());
    let work = || {
        while !effort.stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(&job) = jobs.get(index) else { break };
            let one = perform(job);
            ended.lock().expect("no search panics").push((index, one));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut told = 0;
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(200));
            let done = ended.lock().expect("no search panics").len();
            if done * 20 / jobs.len() > told {
                told = done * 20 / jobs.len();
                progress(&format!("{done} of {} searches", jobs.len()));
            }
        }
    });
    let mut ended = ended.into_inner().expect("no search panics");
    ended.sort_by_key(|(index, _)| *index);
    ended
}

fn perform(job: Job) -> Ended {
    let Job { system, contender, seed } = job;
    let goals = goals(contender);
    let searches: Vec<Vec<Goal>> = match contender {
        Contender::Binary => goals.into_iter().map(|goal| vec![goal]).collect(),
        _ => vec![goals],
    };
    let mut ended = Ended { system, contender, seconds: 0.0, caveats: Vec::new(), answers: Vec::new() };
    for goals in searches {
        let mut target = simulated(system, seed);
        let plan = plan(contender, goals.clone(), seed);
        let mut search = plan.search().expect("the experiment's goals are legal");
        while let Some(input) = search.next_trial() {
            let Ok(trial) = target.measure(input);
            search.record(&trial);
        }
        ended.seconds += search.spent().as_secs_f64();
        if contender == Contender::Binary {
            ended.seconds += BINARY_WARM_UP_S;
        }
        ended.caveats.extend(search.caveats().iter().map(|caveat| caveat.code().to_owned()));
        for (goal, outcome) in goals.iter().zip(search.outcome()) {
            let truth = target.truth(goal.loss_ratio, goal.trial_duration, goal.exceed_ratio);
            ended.answers.push(answer(&outcome, truth));
        }
    }
    ended
}

fn simulated(system: System, seed: u64) -> Simulated {
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    Simulated::new(system, Settings { seed, ..Settings::default() }, profile, 1)
}

fn goals(contender: Contender) -> Vec<Goal> {
    let long = |goal: Goal| Goal {
        trial_duration: Duration::from_secs(30),
        initial_trial_duration: Duration::from_secs(if contender == Contender::Binary { 30 } else { 1 }),
        duration_sum: Duration::from_secs(30),
        ..goal
    };
    let goals = Preset::Csit.goals();
    match contender {
        Contender::Mdr | Contender::Binary => goals.into_iter().map(long).collect(),
        _ => goals,
    }
}

fn plan(contender: Contender, goals: Vec<Goal>, seed: u64) -> SearchPlan {
    let named = |name| AlgorithmPlan::parse(name).expect("a name of ours");
    let algorithm = match contender {
        Contender::Credible { level } => {
            let level = Ratio::from_billionths(level).expect("a level is below 1");
            AlgorithmPlan::Credible { level, certify: false }
        }
        Contender::Mlr | Contender::Rival => AlgorithmPlan::Mlr { effective: EffectiveDuration::Elapsed },
        Contender::Mdr => named("mdr"),
        Contender::Binary => named("binary"),
    };
    let budget = match contender {
        Contender::Credible { .. } => algorithm.default_budget(),
        _ => None,
    };
    SearchPlan {
        target: Target::parse("sim:hard").expect("a simulated system"),
        profile: TrafficProfile { seed, ..TrafficProfile::default() },
        algorithm,
        preset: None,
        goals,
        range: default_range(),
        // An adversary could make MDR go on for ever; these systems never need as many.
        limits: Limits { budget, max_trials: Some(2000) },
        warm_up: Duration::ZERO,
        delay_at: Vec::new(),
        repetition: None,
    }
}

fn answer(outcome: &GoalOutcome, truth: Option<Rate>) -> Answer {
    let GoalOutcome { lower, upper, .. } = *outcome;
    let holds = match truth {
        Some(truth) => {
            (lower.is_some() || upper.is_some())
                && lower.is_none_or(|lower| lower <= truth)
                && upper.is_none_or(|upper| truth <= upper)
        }
        None => is_at_an_end(outcome),
    };
    let headline = outcome
        .result
        .median()
        .map(Rate::as_pps)
        .or(outcome.conditional_throughput_pps)
        .or(lower.map(Rate::as_pps));
    Answer {
        holds,
        width: lower.zip(upper).map(|(lower, upper)| 1.0 - lower.as_pps() / upper.as_pps()),
        error: headline.zip(truth).map(|(headline, truth)| headline / truth.as_pps() - 1.0),
    }
}

fn is_at_an_end(outcome: &GoalOutcome) -> bool {
    use dropline_search::Irregular;
    matches!(
        outcome.result,
        GoalResult::AtMaximum { .. }
            | GoalResult::BelowMinimum { .. }
            | GoalResult::Irregular(Irregular::AtMaximum | Irregular::BelowMinimum)
    )
}

/// Stated level against achieved, on the systems whose trials are alike.
fn calibration(ended: &[Ended]) -> Calibration {
    let mut levels: Vec<u64> = LEVELS.into_iter().map(|(level, _)| level).chain([LEVEL]).collect();
    levels.sort_unstable();
    let line = |name: &str, goals: &[usize]| CalibrationLine {
        name: name.into(),
        points: levels
            .iter()
            .map(|&level| {
                let (held, of) = pooled(ended, level, goals);
                (level as f64 / 1e9, held, of)
            })
            .collect(),
    };
    let (held, of) = pooled(ended, LEVEL, &[0, 1]);
    Calibration {
        title: format!("Of intervals that state 95 %, {:.1} % hold the truth", 100.0 * held as f64 / of.max(1) as f64),
        caption: "Searches of the algorithm credible on systems whose trials are alike, hard knees left out; on the \
                  diagonal an interval holds the truth exactly as often as it says, above it more often."
            .into(),
        lines: vec![line("no loss", &[0]), line("0.5 % loss", &[1])],
    }
}

/// How many intervals hold the truth, and of how many.
fn pooled(ended: &[Ended], level: u64, goals: &[usize]) -> (u64, u64) {
    let searches = ended
        .iter()
        .filter(|one| one.contender == Contender::Credible { level } && counts_for_calibration(one.system));
    let answers: Vec<bool> =
        searches.flat_map(|one| goals.iter().map(|&goal| one.answers[goal].holds)).collect();
    (answers.iter().filter(|holds| **holds).count() as u64, answers.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_algorithm_ends_on_every_system_and_an_answer_is_held_against_its_truth() {
        for system in System::all() {
            for contender in [Contender::Mlr, Contender::Mdr, Contender::Binary] {
                let ended = perform(Job { system, contender, seed: 3 });
                assert_eq!(ended.answers.len(), 2, "{} {contender:?}", system.name());
            }
        }
        let system = System::named("hard").unwrap();
        let ended = perform(Job { system, contender: Contender::Credible { level: LEVEL }, seed: 3 });
        assert!(ended.answers.iter().all(|answer| answer.holds && answer.width < Some(0.005)), "{ended:?}");
        assert!(ended.answers.iter().all(|answer| answer.error.unwrap().abs() < 0.002));
    }

    #[test]
    fn a_stopped_experiment_says_so() {
        let stopped = Effort {
            runs: Some(1),
            small: false,
            full: false,
            only: None,
            budget: None,
            keep: None,
            stop: Arc::new(AtomicBool::new(true)),
        };
        assert_eq!(run(&stopped, &mut |_| {}).unwrap_err().exit_code(), 130);
    }
}
