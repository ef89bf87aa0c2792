//! The verbs, each in a file of the name that is typed, and beside them what several of them share.
//!
//! Owns the [`SearchPlan`](plan::SearchPlan) and what each verb does with a target and a record. It decides
//! neither which trial comes next nor how a packet moves, and prints nothing.
//! Start reading at [`search`], then [`trial`].

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod algorithm;
pub mod arrival_argument;
pub mod compare;
pub mod doctor;
pub mod explain;
pub mod fail_if;
pub mod goals;
pub mod history;
pub mod indexed;
pub mod inject;
pub mod observer;
mod pages;
pub mod plan;
pub mod replay;
pub mod resume;
pub mod scenario;
pub mod search;
mod series;
pub mod serve;
pub mod site;
pub mod trend;
pub mod trial;
mod unsound;
pub mod validity;
pub mod view;
pub mod watch;
