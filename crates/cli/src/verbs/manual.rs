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
    let text = roff(page).map_err(|why| Failure::environment(format!("cannot make the man page: {why}")))?;
    out::print_data(&text)?;
    Ok(DONE)
}

fn roff(page: Command) -> std::io::Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .source(format!("dropline {}", env!("CARGO_PKG_VERSION")))
        .render(&mut text)?;
    Ok(help::printed(&String::from_utf8_lossy(&text)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Cli;

    /// roff fills a line without an indent onto the one before, also where that is a command.
    #[test]
    fn no_man_page_runs_a_command_and_a_sentence_together() {
        let mut all = Cli::as_typed();
        all.build();
        let mut left = vec![all];
        let mut pages = 0;
        while let Some(page) = left.pop() {
            left.extend(page.get_subcommands().cloned());
            let name = page.get_display_name().unwrap_or_else(|| page.get_name()).to_owned();
            let text = roff(page).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2) {
                let is_filled =
                    pair[0].starts_with(' ') && !pair[1].is_empty() && !pair[1].starts_with([' ', '.']);
                assert!(!is_filled, "{name}: {pair:?}: an empty line between them");
            }
            pages += 1;
        }
        assert!(pages > 30, "{pages} pages");
    }
}
