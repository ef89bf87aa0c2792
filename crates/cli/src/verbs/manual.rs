//! `dropline completions` and `dropline man`: made from the same definition as the flags.

use super::DONE;
use crate::args::{CompletionsArgs, ManArgs};
use crate::{help, output as out};
use clap::Command;
use dropline_failure::Failure;

pub(crate) fn completions(args: &CompletionsArgs, mut all: Command) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut all, "dropline", &mut script);
    out::print_data(&help::printed(&String::from_utf8_lossy(&script)))?;
    Ok(DONE)
}

pub(crate) fn man(args: &ManArgs, mut all: Command) -> Result<u8, Failure> {
    all.build();
    let page = match &args.verb {
        None => all,
        Some(verb) => verb
            .split_whitespace()
            .try_fold(&all, |at, word| at.find_subcommand(word))
            .ok_or_else(|| Failure::usage(format!("there is no verb {verb:?}; see dropline --help")))?
            .clone(),
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|why| Failure::environment(format!("cannot make the man page: {why}")))?;
    out::print_data(&help::printed(&String::from_utf8_lossy(&text)))?;
    Ok(DONE)
}
