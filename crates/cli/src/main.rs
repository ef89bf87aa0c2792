//! The binary: flags in, exit code out. It decides nothing.

// They panic when nobody reads any more: results go by `output::print`, words by `note!`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod output;

mod args;
mod block;
mod live;
mod plan;
mod progress;
mod scenario;
mod verbs;

use args::{Cli, Verb};
use clap::FromArgMatches as _;
use dropline::Failure;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let cli = match parse(&typed) {
        Ok(cli) => cli,
        Err(failure) => return end(&failure),
    };
    // As a record keeps them.
    let words = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let done = match cli.verb {
        Verb::Search(args) => verbs::search::run(&args, words),
        Verb::Trial(args) => verbs::trial::run(&args, words),
        Verb::Serve(args) => verbs::serve::run(&args),
        Verb::Fit(args) => verbs::fit::run(&args),
        Verb::Explain(args) => verbs::explain::run(&args),
        Verb::Watch(args) => verbs::watch::run(&args, words),
        Verb::Import(args) => verbs::import::run(&args),
        Verb::Report(args) => verbs::report::run(&args),
        Verb::Compare(args) => verbs::compare::run(&args, words),
        Verb::Inject(args) => verbs::inject::run(&args, words),
        Verb::Export(args) => verbs::export::run(&args),
        Verb::Measure(args) => verbs::measure::run(&args),
        Verb::Heartbeat(args) => verbs::heartbeat::run(&args),
        Verb::Experiment(args) => verbs::experiment::run(&args),
        Verb::Doctor(args) => verbs::doctor::run(&args),
        Verb::Client(args) => verbs::client::run(&args),
        Verb::Completions(args) => verbs::manual::completions(&args),
        Verb::Man(args) => verbs::manual::man(&args),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => end(&failure),
    }
}

/// What was typed, with the flags of a scenario file added.
fn parse(words: &[OsString]) -> Result<Cli, Failure> {
    let matches = Cli::as_typed().get_matches_from(words);
    let Some((name, typed)) = matches.subcommand() else { return Ok(read(&matches)) };
    let named = typed.ids().any(|id| id == "scenario");
    let Some(path) = named.then(|| typed.get_one::<std::path::PathBuf>("scenario")).flatten() else {
        return Ok(read(&matches));
    };
    let command = Cli::as_typed();
    let verb = command.find_subcommand(name).expect("the verb was parsed");
    let mut words = words.to_vec();
    words.extend(scenario::flags(path, verb, typed)?.into_iter().map(OsString::from));
    Ok(read(&Cli::as_typed().get_matches_from(words)))
}

fn read(matches: &clap::ArgMatches) -> Cli {
    Cli::from_arg_matches(matches).unwrap_or_else(|why| why.exit())
}

fn end(failure: &Failure) -> ExitCode {
    note!("error: {}", dropline::record::printable(&failure.to_string()));
    ExitCode::from(failure.exit_code())
}
