//! What leads packets elsewhere and comes during a trial, also where it is gone again at the end: it ends the trial.

use crate::kernel::lookout::{Change, Lookout};
use crate::sockets::flows::Flows;
use crate::sockets::leash::Leash;
use crate::sockets::whereabouts::Way;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;

/// So often it is asked whether anything changed.
const EVERY: Duration = Duration::from_millis(20);

/// Does the work of a trial, while a thread of its own looks out for what comes to lead its packets, held so, elsewhere; sets
/// `astray` at the first, and returns it.
pub(super) fn while_looking<T>(
    packets: &[Flows],
    leashes: &[Leash],
    astray: &AtomicBool,
    work: impl FnOnce() -> T,
) -> (T, Option<String>) {
    let mut lookout = Lookout::new();
    for mut passed in leashes.iter().filter_map(Leash::passed) {
        lookout.add(&mut passed);
    }
    let ended = AtomicBool::new(false);
    let mut look_out = || {
        while !ended.load(Ordering::Acquire) {
            std::thread::park_timeout(EVERY);
            let found = match lookout.change() {
                Change::None => None,
                Change::Some => leading_away(packets),
                Change::Astray(what) => Some(what),
            };
            if found.is_some() {
                astray.store(true, Ordering::Release);
                return found;
            }
        }
        None
    };
    std::thread::scope(|scope| {
        // Where no thread can be had, rules are looked at after the trial alone.
        let looking = Builder::new().name("lookout".into()).spawn_scoped(scope, &mut look_out).ok();
        let ends = Ends(&ended, looking.as_ref().map(|looking| looking.thread().clone()));
        let done = work();
        drop(ends);
        let found = looking.and_then(|looking| looking.join().ok().flatten());
        (done, found)
    })
}

/// What leads them elsewhere now; `None` where nothing does, or nothing is left to look with.
fn leading_away(packets: &[Flows]) -> Option<String> {
    packets.iter().find_map(|flows| Way::to(flows).err()?.leads())
}

/// Ends the looking, whatever ends the work.
struct Ends<'a>(&'a AtomicBool, Option<std::thread::Thread>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        if let Some(looking) = &self.1 {
            looking.unpark();
        }
    }
}
