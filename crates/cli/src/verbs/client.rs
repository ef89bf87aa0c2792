//! `dropline client`: one of the processes of a closed loop.

use super::DONE;
use crate::args::ClientArgs;
use dropline::{Failure, serving};

pub(crate) fn run(args: &ClientArgs) -> Result<u8, Failure> {
    serving::client(&args.words, &mut std::io::stdout().lock()).map(|()| DONE)
}
