//! `dropline client`: one of the processes of a closed loop.

use super::DONE;
use crate::signals::told_to_stop;
use clap::Args;
use dropline_failure::Failure;
use dropline_verbs::serve;

/// Be one client of a closed loop; trials start it.
#[derive(Args, Debug)]
pub(crate) struct ClientArgs {
    /// Plan of the trial.
    pub(crate) words: Vec<String>,
}

pub(crate) fn run(args: &ClientArgs) -> Result<u8, Failure> {
    let stop = told_to_stop()?;
    serve::client(&args.words, &mut std::io::stdout().lock(), &stop).map(|()| DONE)
}
