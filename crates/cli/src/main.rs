//! The binary: flags in, exit code out. It decides nothing.

// They panic when nobody reads any more: results go by `output::print`, words by `note!`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod output;

mod args;
mod block;
mod command;
mod fleet;
mod help;
mod lines;
mod live;
mod plan;
mod progress;
mod signals;
mod verbs;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command, FromArgMatches as _};
use command::Cli;
use dropline_failure::{Failure, excerpt};
use dropline_verbs::scenario;
use dropline_verbs::scenario::{Flag, Kind};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// What was typed is no command.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    dropline_archive::reading::tell_waiting_by(output::note);
    let typed: Vec<OsString> = std::env::args_os().collect();
    if let Some(list) = help::list_of(&typed, args::targets) {
        return output::print_painted(&list).map_or_else(|failure| end(&failure), |()| ExitCode::SUCCESS);
    }
    let typed = help::asked_for(typed);
    let cli = match signals::end_at_once().map_err(Stop::Failure).and_then(|()| parse(&typed)) {
        Ok(cli) => cli,
        Err(Stop::Clap(why)) => return said(&why),
        Err(Stop::Failure(failure)) => return end(&failure),
    };
    // As a record keeps them.
    let words = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let done = cli.verb.run(words, Cli::as_typed());
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => end(&failure),
    }
}

/// Why no verb is run.
enum Stop {
    /// Help was asked for, or the words are not those of a command.
    Clap(clap::Error),
    Failure(Failure),
}

impl From<clap::Error> for Stop {
    fn from(mut why: clap::Error) -> Self {
        // What no help lists is recommended to nobody.
        if let Some(ContextValue::Strings(mut verbs)) = why.remove(ContextKind::SuggestedSubcommand) {
            let all = Cli::as_typed();
            verbs.retain(|verb| !all.find_subcommand(verb).is_some_and(Command::is_hide_set));
            if !verbs.is_empty() {
                why.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(verbs));
            }
        }
        Self::Clap(why)
    }
}

/// What was typed, with the flags of a scenario file added.
fn parse(words: &[OsString]) -> Result<Cli, Stop> {
    let matches = Cli::as_typed().try_get_matches_from(words)?;
    let Some((name, typed)) = matches.subcommand() else { return checked(&matches) };
    let named = typed.ids().any(|id| id == "scenario");
    let Some(path) = named.then(|| typed.get_one::<PathBuf>("scenario")).flatten() else {
        return checked(&matches);
    };
    let command = Cli::as_typed();
    let verb = command.find_subcommand(name).expect("the verb was parsed");
    let mut words = words.to_vec();
    let flags = scenario::flags(path, &known(verb, typed)).map_err(Stop::Failure)?;
    words.extend(flags.into_iter().map(OsString::from));
    checked(&Cli::as_typed().try_get_matches_from(words)?)
}

/// What shall be done, where no file of the user's would be written over.
fn checked(matches: &ArgMatches) -> Result<Cli, Stop> {
    let cli = Cli::from_arg_matches(matches)?;
    let verb = std::iter::successors(Some(matches), |at| at.subcommand().map(|(_, deeper)| deeper)).last();
    output::may_write(verb.unwrap_or(matches)).map_err(Stop::Failure)?;
    Ok(cli)
}

/// What a scenario may say: every flag of the verb.
fn known(verb: &Command, typed: &ArgMatches) -> Vec<Flag> {
    let flags =
        verb.get_arguments().filter(|arg| !["help", "version", "scenario"].contains(&arg.get_id().as_str()));
    let file = clap::builder::ValueParser::path_buf().type_id();
    let flag = |arg: &clap::Arg| Flag {
        name: arg.get_long().unwrap_or(arg.get_id().as_str()).into(),
        kind: match (arg.get_long(), arg.get_action()) {
            (None, _) => Kind::Positional,
            (Some(_), ArgAction::SetTrue) => Kind::Switch,
            (Some(_), _) if arg.get_value_parser().type_id() == file => Kind::File,
            (Some(_), _) => Kind::Named,
        },
        repeats: matches!(arg.get_action(), ArgAction::Append) && arg.get_value_delimiter().is_none(),
        typed: typed.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine),
    };
    flags.map(flag).collect()
}

/// What the standard library says of a number that is none, and what it means.
const PLAIN: [(&str, &str); 3] = [
    ("invalid digit found in string", "it must be a whole number, without a sign or a unit"),
    ("cannot parse integer from empty string", "it must be a whole number"),
    ("number too large to fit in target type", "the number is too large"),
];

/// Help on stdout; what is wrong with the words on stderr.
fn said(why: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, MissingSubcommand};
    let bare = matches!(why.kind(), DisplayHelpOnMissingArgumentOrSubcommand | MissingSubcommand);
    if bare && std::env::args_os().len() == 1 {
        note!("{}", help::first(&Cli::as_typed()).trim_end());
        return ExitCode::from(USAGE);
    }
    let words = why.render();
    if why.use_stderr() {
        let colored = console::colors_enabled_stderr();
        // What is quoted at length is not painted: its middle is left out.
        let mut words = match excerpt(&words.to_string()) {
            Cow::Borrowed(_) if colored => words.ansi().to_string(),
            plain => plain.into_owned(),
        };
        for (of_the_library, plain) in PLAIN {
            words = words.replace(of_the_library, plain);
        }
        let words = lines::told(&help::printed(&words), output::columns());
        output::say(&output::colored(words.trim_end_matches('\n')));
        return ExitCode::from(USAGE);
    }
    let words = if console::colors_enabled() { words.ansi().to_string() } else { words.to_string() };
    output::print_painted(&lines::folded(&help::printed(&words), output::columns()))
        .map_or_else(|failure| end(&failure), |()| ExitCode::SUCCESS)
}

fn end(failure: &Failure) -> ExitCode {
    note!("error: {failure}");
    ExitCode::from(failure.exit_code())
}
