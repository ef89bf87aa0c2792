//! Ctrl-C, SIGTERM, a terminal that is gone and SIGQUIT: what was measured is told and kept; before anything was, they end
//! the program at once.

use dropline_archive::reading;
use dropline_failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Exit code of what a signal ended.
pub(crate) const INTERRUPTED: u8 = 130;
/// Signals that follow the first one within this time mean what it meant: a trial that was stopped, also one of another
/// program, waits for no longer, and then tells what it counted. A later one ends the program at once.
const SAME_WISH: Duration = Duration::from_secs(6);

/// How often it is looked, once a signal came, whether the program waits for what may never come.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// Signals by which a user, a terminal or a service manager says that it is enough. Who started the program so that it
/// outlives its terminal (`nohup`), or beside a script (`&`), had it ignore the later two: they stay ignored.
static WISHES: LazyLock<Vec<i32>> = LazyLock::new(|| {
    let ignored = ignored();
    let heard = [SIGHUP, SIGQUIT].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    [SIGINT, SIGTERM].into_iter().chain(heard).collect()
});

/// Whether a signal ends the program as it comes.
static AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// From now on a signal ends the program with its exit code, also where it waits for what has no end. A file that may
/// not grow is no reason to end: who writes it is told so, as of a full disk. That signal is caught and not ignored, so
/// that programs which this one starts have it as ever.
pub(crate) fn end_at_once() -> Result<(), Failure> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(|why| cannot_listen(&why))?;
    for &signal in WISHES.iter() {
        let code = INTERRUPTED.into();
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&AT_ONCE))
            .map_err(|why| cannot_listen(&why))?;
    }
    Ok(())
}

/// From now on something is measured: a flag that a signal sets. While what a user named is waited for, and nothing
/// was measured yet, it still ends the program.
pub(crate) fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new(WISHES.iter()).map_err(|why| cannot_listen(&why))?;
    AT_ONCE.store(false, Ordering::SeqCst);
    let asked = Arc::clone(&stop);
    let listen = move || {
        let first = signals.forever().next();
        asked.store(first.is_some(), Ordering::SeqCst);
        let since = Instant::now();
        loop {
            let again = signals.pending().next().is_some();
            if reading::is_waiting() || again && since.elapsed() > SAME_WISH {
                std::process::exit(INTERRUPTED.into());
            }
            thread::sleep(LOOKS_EVERY);
        }
    };
    thread::Builder::new().name("signals".into()).spawn(listen).map_err(|why| Failure::thread(&why))?;
    Ok(stop)
}

/// From now on a signal sets a flag, however often it comes: who is asked to stop says what it did.
pub(crate) fn told_to_stop() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for &signal in WISHES.iter() {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|why| cannot_listen(&why))?;
    }
    AT_ONCE.store(false, Ordering::SeqCst);
    Ok(stop)
}

/// A bit for each signal that the program ignores; where the system does not say so, each might be.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(u64::MAX)
}

fn cannot_listen(why: &io::Error) -> Failure {
    Failure::environment(format!("cannot listen for Ctrl-C: {why}"))
}
