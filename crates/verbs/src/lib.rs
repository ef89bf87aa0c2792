//! The verbs, each in a file of the name that is typed, and beside them what several of them share.
//!
//! Owns the [`SearchPlan`](plan::SearchPlan) and what each verb does with a target and a record. It decides
//! neither which trial comes next nor how a packet moves, and prints nothing.
//! Start reading at [`search`], then [`trial`].
//!
//! A search around a function of your own has a record, a page and [`search::resume`] as around any other target:
//!
//! ```
//! use dropline_archive::record_file::Output;
//! use dropline_targets::Target;
//! use dropline_trial::{LoadRange, Rate, Trial, TrialInput, measuring};
//! use dropline_verbs::goals::WrittenGoal;
//! use dropline_verbs::observer::Unwatched;
//! use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
//! use dropline_verbs::search::{Conditions, search};
//!
//! // What performs the trials: it offers the load for the duration, and counts. This one bears 5 Mpps.
//! let bench = measuring(|input: TrialInput| {
//!     let offered = input.load.packets_in(input.duration);
//!     let forwarded = offered.min((5e6 * input.duration.as_secs_f64()) as u64);
//!     Ok(Trial { intended: Some(offered), offered, forwarded, ..Trial::new(1, input, 0) })
//! });
//! let algorithm = AlgorithmPlan::parse("credible")?;
//! let goals = vec![WrittenGoal::parse("0.5%")?.resolve(algorithm)?];
//! let range = LoadRange::new(Rate::pps(1e4)?, Rate::pps(14.88e6)?)?;
//! let plan = SearchPlan::of(Target::given("my bench", bench)?, algorithm, goals, range);
//!
//! let found = search(&plan, &Output::Nowhere, &Conditions::default(), &mut Unwatched)?;
//! let median = found.record.answers().expect("a search has answers")[0].median_pps.expect("an interval");
//! assert!((4.9e6..5.1e6).contains(&median));
//! let page = dropline_report::html(&[found.record]);
//! assert!(page.contains("measurer:my bench"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod algorithm;
pub mod arrival_argument;
pub mod back_to_back;
pub mod compare;
pub mod doctor;
pub mod explain;
pub mod fail_if;
pub mod goals;
pub mod history;
pub mod indexed;
pub mod inject;
mod measured;
pub mod observer;
mod pages;
pub mod plan;
pub mod replayed;
pub mod resume;
pub mod scenario;
pub mod search;
pub mod search_arguments;
mod series;
pub mod serve;
pub mod site;
pub mod trend;
pub mod trial;
mod unsound;
pub mod validity;
pub mod view;
pub mod watch;
