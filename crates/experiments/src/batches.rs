//! Jobs on all cores: each once, in any order.

use dropline_failure::Failure;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Performs them until all are done, one fails, or `stop` says so; a twentieth of them later `tell` hears how many have begun.
pub(crate) fn on_all_cores<Job: Sync>(
    jobs: &[Job],
    stop: &AtomicBool,
    perform: impl Fn(&Job) -> Result<(), Failure> + Sync,
    tell: &mut dyn FnMut(usize),
) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), Failure> {
        while !stop.load(Ordering::Relaxed) {
            let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            perform(job)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work);
        let workers: Vec<_> =
            (0..cores).map(start).collect::<Result<_, _>>().map_err(|why| Failure::thread(&why))?;
        let mut told = 0;
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(200));
            let begun = next.load(Ordering::Relaxed).min(jobs.len());
            if begun * 20 / jobs.len().max(1) > told {
                told = begun * 20 / jobs.len().max(1);
                tell(begun);
            }
        }
        workers.into_iter().try_for_each(|worker| worker.join().expect("no job panics"))
    })
}
