//! What leads packets elsewhere and comes during a trial, also where it is gone again at the end.

use crate::kernel::lookout::Lookout;
use crate::sockets::flows::Flows;
use crate::sockets::whereabouts::Way;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;

/// So often it is asked whether rules changed.
const EVERY: Duration = Duration::from_millis(20);

/// Does the work of a trial, while a thread of its own looks out for rules of this namespace that lead its packets elsewhere;
/// returns the first.
pub(super) fn while_looking<T>(packets: &[Flows], work: impl FnOnce() -> T) -> (T, Option<String>) {
    let mut lookout = Lookout::new();
    let ended = AtomicBool::new(false);
    let mut look_out = || {
        while !ended.load(Ordering::Acquire) {
            std::thread::park_timeout(EVERY);
            if lookout.is_new()
                && let Some(rule) = leading_away(packets)
            {
                return Some(rule);
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
pub(super) fn leading_away(packets: &[Flows]) -> Option<String> {
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
