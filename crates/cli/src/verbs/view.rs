//! `dropline view`.

use super::DONE;
use super::filing::directory;
use crate::args::DirectoryArgs;
use crate::signals::told_to_stop;
use crate::{output as out, plan};
use clap::Args;
use dropline_failure::Failure;
use dropline_verbs::view::view;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Browse a history in a web browser: list, records, limits over time, two records beside each other.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:noisy --history nights
  dropline view nights
  dropline view nights --listen 127.0.0.1:8080

It prints the address to open, and serves until Ctrl-C. The address holds a random token: who does not know it is not \
answered. A search that files its record in the history is followed while it runs.

For pages that any web server can serve:  dropline report nights --site DIR")]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
    /// Loopback address to listen on; port 0 takes any free port.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
}

/// How often it is looked whether it shall end.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &ViewArgs) -> Result<u8, Failure> {
    let listen = plan::address("--listen", &args.listen, "an ADDR:PORT")?;
    let directory = directory(args.directory.directory.as_deref())?;
    let running = view(&directory, listen)?;
    let stop = told_to_stop()?;
    out::print(&format!("open {}", running.url()))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOKS_EVERY);
    }
    Ok(DONE)
}
