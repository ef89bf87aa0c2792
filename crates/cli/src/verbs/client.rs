//! `dropline client`: one of the processes of a closed loop.

use super::DONE;
use crate::args::ClientArgs;
use dropline_failure::Failure;
use dropline_verbs::serve;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &ClientArgs) -> Result<u8, Failure> {
    // However often it is asked to stop, it says what it did.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Failure::environment)?;
    }
    serve::client(&args.words, &mut std::io::stdout().lock(), &stop).map(|()| DONE)
}
