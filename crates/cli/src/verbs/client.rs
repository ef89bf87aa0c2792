//! `dropline client`: one of the processes of a closed loop.

use super::DONE;
use crate::args::ClientArgs;
use crate::signals::told_to_stop;
use dropline_failure::Failure;
use dropline_verbs::serve;

pub(crate) fn run(args: &ClientArgs) -> Result<u8, Failure> {
    let stop = told_to_stop()?;
    serve::client(&args.words, &mut std::io::stdout().lock(), &stop).map(|()| DONE)
}
