//! `dropline completions` and `dropline man`: made from the same definition as the flags.

use super::DONE;
use crate::{help, output as out};
use clap::{Args, Command, ValueEnum as _};
use dropline_failure::{Failure, nearest};

/// Print a shell's completion script.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  dropline completions bash > \\
      ~/.local/share/bash-completion/completions/dropline")]
pub(crate) struct CompletionsArgs {
    #[arg(hide_possible_values = true, help = shells())]
    pub(crate) shell: clap_complete::Shell,
}

/// Print the man page of the program, or of one verb.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  dropline man | man -l -\n  dropline man heartbeat serve | man -l -")]
pub(crate) struct ManArgs {
    /// Verb to describe, such as search, or name of a page [default: the whole program].
    pub(crate) verb: Vec<String>,
}

fn shells() -> String {
    let shells = clap_complete::Shell::value_variants().iter().map(ToString::to_string);
    format!("Shell to complete in, one of {}", shells.collect::<Vec<_>>().join(", "))
}

pub(crate) fn completions(args: &CompletionsArgs, mut all: Command) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut all, "dropline", &mut script);
    out::print_data(&help::printed(&String::from_utf8_lossy(&script)))?;
    Ok(DONE)
}

pub(crate) fn man(args: &ManArgs, mut all: Command) -> Result<u8, Failure> {
    all.build();
    let verb = args.verb.join(" ");
    let name = verb.split_whitespace().collect::<Vec<_>>().join("-");
    let name = name.strip_prefix("dropline").map_or(name.as_str(), |rest| rest.trim_start_matches('-'));
    let page = verb_of_page(&all, name)
        .ok_or_else(|| {
            let verbs: Vec<&str> =
                all.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name).collect();
            Failure::usage(format!("there is no verb {verb:?}{}", nearest(&verb, &verbs)))
                .advice("all verbs:  dropline --help")
        })?
        .clone();
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .source(format!("dropline {}", env!("CARGO_PKG_VERSION")))
        .render(&mut text)
        .map_err(|why| Failure::environment(format!("cannot make the man page: {why}")))?;
    out::print_data(&help::printed(&String::from_utf8_lossy(&text)))?;
    Ok(DONE)
}

/// The verb whose words, with hyphens between them, are its page's name; the program itself has none.
fn verb_of_page<'a>(all: &'a Command, name: &str) -> Option<&'a Command> {
    if name.is_empty() {
        return Some(all);
    }
    all.get_subcommands().find_map(|verb| match name.strip_prefix(verb.get_name())? {
        "" => Some(verb),
        rest => verb_of_page(verb, rest.strip_prefix('-')?),
    })
}
