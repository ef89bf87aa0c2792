//! What do real services bear, and what do their users' own generators say of them?
//!
//! Each service is started from its Debian package in the foreground, below a directory of ours and on a free port of loopback, and
//! ended before the next one. It is searched with constant and with Poisson arrivals, offered more than it bears, and asked by the
//! generator that its users have. Last, knot is searched five times, and at the rate that each generator states without loss an open
//! load says what is really lost there.

mod observed;
mod server;
mod stated;
mod tables;

use super::{Effort, Experiment, FoundStudy, run_log};
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Study};
use observed::Observed;
use server::{SERVICES, Service};
use stated::Rival;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time for each search when the user says nothing.
pub const BUDGET: Duration = Duration::from_secs(8);
/// The same where everything is done only a little.
const SMALL_BUDGET: Duration = Duration::from_secs(2);
/// Searches of the service that is held against itself, and rounds of the generators beside it.
const REPEATS: u32 = 5;
const ROUNDS: u32 = 3;

/// What the step is called that has the most answers of a service.
const MOST_ANSWERS: &str = "ours, most answers";

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "services",
    about: "thirteen real services (knot, bind9, memcached, chrony, nginx and more), beside the generators of their users; 15 minutes",
    runs: None,
    flags: &["small", "only", "budget", "keep"],
    run,
    distributions: Vec::new,
    of_kept: Some(of_kept),
};

/// What is done with a service, in this order.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A search with these arrivals.
    Search(&'static str),
    /// A search for the load up to which answers come promptly.
    Knee,
    /// A trial at a multiple of what it bears.
    Above,
    /// The most answers that can be had of it.
    Most,
    /// What another generator says.
    Rival(&'static Rival),
    /// An open load at the rate that this one states without loss.
    AtStated(&'static Rival),
}

impl Step {
    fn name(self) -> String {
        match self {
            Self::Search(arrivals) => arrivals.to_owned(),
            Self::Knee => "knee".to_owned(),
            Self::Above => "above".to_owned(),
            Self::Most => MOST_ANSWERS.to_owned(),
            Self::Rival(rival) => rival.name.to_owned(),
            Self::AtStated(rival) => format!("at what {} states", rival.name),
        }
    }

    /// All of one service: rounds of steps.
    fn all(service: &Service, small: bool) -> Vec<(u32, Self)> {
        let arrivals: &[&str] = if service.is_http { &["constant"] } else { &["constant", "poisson"] };
        let mut all: Vec<(u32, Self)> = arrivals.iter().map(|of| (1, Self::Search(of))).collect();
        if service.has_delays() {
            all.push((1, Self::Knee));
        }
        all.push((1, Self::Above));
        let (repeats, rounds) = match (service.is_held, small) {
            (true, false) => (REPEATS, ROUNDS),
            _ => (1, 1),
        };
        all.extend((2..=repeats).map(|round| (round, Self::Search("constant"))));
        for round in 1..=rounds {
            if service.is_held {
                all.push((round, Self::Most));
            }
            for rival in service.rivals {
                all.push((round, Self::Rival(rival)));
                if service.is_held {
                    all.push((round, Self::AtStated(rival)));
                }
            }
        }
        all
    }
}

/// Does what is not yet in the file of runs.
///
/// # Errors
/// If no service of that name is there, or the file cannot be read or written. A service that is not installed, or does not
/// start, is a row that says so. A user who wants to stop gets what was measured until then.
fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let wanted = |service: &&Service| effort.only.as_ref().is_none_or(|only| service.name.contains(only));
    let services: Vec<&Service> = SERVICES.iter().filter(wanted).collect();
    if services.is_empty() {
        let names = SERVICES.iter().map(|service| service.name).collect::<Vec<_>>().join(", ");
        return Err(
            Failure::usage("--only: no service is named like that").advice(format!("there are {names}"))
        );
    }
    let budget = effort.budget.unwrap_or(if effort.small { SMALL_BUDGET } else { BUDGET });
    let mut seen: Vec<Observed> = effort.keep.as_deref().map(run_log::read).transpose()?.unwrap_or_default();
    let mut caveats = Vec::new();
    for service in services {
        let is_done = |seen: &[Observed], round: u32, step: Step| {
            seen.iter().any(|one| one.is_of(service.name, &step.name(), round))
        };
        let mut left = Step::all(service, effort.small);
        left.retain(|(round, step)| !is_done(&seen, *round, *step));
        if left.is_empty() || effort.stop.load(Ordering::Relaxed) {
            continue;
        }
        progress(&format!("{}: {}", service.name, service.about));
        let running = match service.start(&effort.stop) {
            Ok(running) => running,
            Err(why) if why.exit_code() == 130 => break,
            Err(why) => {
                caveats.push(CaveatLine::said(
                    "not_measured",
                    format!("{} was not measured: {why}", service.name),
                ));
                continue;
            }
        };
        for (round, step) in left {
            progress(&format!("{}, {}, round {round}", service.name, step.name()));
            let found = match step {
                Step::Search(arrivals) => running.search(arrivals, round, budget, &effort.stop),
                Step::Knee => running.knee(budget, &effort.stop),
                Step::Most => running.most_answers(&effort.stop),
                Step::Above => running.above(tables::bears(&seen, service.name), &effort.stop),
                Step::Rival(rival) => running.ask(rival, &effort.stop),
                Step::AtStated(rival) => {
                    running.at_stated(tables::stated(&seen, service.name, rival.name, round), &effort.stop)
                }
            };
            if effort.stop.load(Ordering::Relaxed) {
                break;
            }
            let observed = Observed::of(service.name, &step.name(), round, found);
            effort.keep.as_deref().map(|path| run_log::append(path, &observed)).transpose()?;
            seen.push(observed);
        }
    }
    if effort.stop.load(Ordering::Relaxed) {
        if seen.is_empty() {
            return Err(Failure::interrupted());
        }
        caveats
            .push(CaveatLine::said("interrupted", "interrupted: what was not measured is not in the tables"));
    }
    Ok(FoundStudy { study: tables::study(&seen, caveats), graphs: Vec::new(), calibrations: Vec::new() })
}

/// What the runs say that were kept.
///
/// # Errors
/// If a line is none, or there is none.
fn of_kept(text: &str) -> Result<Study, Failure> {
    Ok(tables::study(&run_log::some::<Observed>(text)?, Vec::new()))
}
