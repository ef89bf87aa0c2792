//! A trial under way: frames leave in each direction, and each is looked after.

use crate::engine::Times;
use crate::error::LinkError;
use crate::field::Field;
use crate::one_way::{OneWay, Prepared};
use crate::options::{Astray, Counting};
use crate::trial_watch::{Ended, LOOK_AT_ENDS, Lookout};
use dropline_trial::TrialInput;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What one direction is to send.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) one: &'a OneWay,
    pub(crate) prepared: &'a Prepared,
    pub(crate) input: TrialInput,
}

/// What was done in one direction while frames left.
pub(crate) struct Performed {
    /// Frames that the system refused, by the name of its error.
    pub(crate) refused: BTreeMap<String, u64>,
    /// The end of the trial where that is before its time.
    pub(crate) ended: Option<Ended>,
}

/// A look at how far the trial is.
pub(crate) const LOOK: Duration = Duration::from_millis(2);

/// Sends in all directions at once, and looks after them; what counts tells whether their way is what it was. Where one has to end, all
/// do.
pub(crate) fn perform(
    tasks: &[Task<'_>],
    stop: &AtomicBool,
    mut counting: Option<&mut (dyn Counting + 'static)>,
) -> Result<Vec<Performed>, LinkError> {
    let mut lookouts: Vec<Lookout<'_>> =
        tasks.iter().map(|task| Lookout::new(task.one, &task.prepared.maps, stop)).collect();
    std::thread::scope(|scope| {
        let sending = tasks.iter().map(|&Task { one, prepared, input }| {
            let end_ns = input.duration.as_nanos() as u64;
            let give_up = (input.duration / 100).max(Duration::from_millis(25));
            let times = Times { end_ns, give_up_ns: end_ns + give_up.as_nanos() as u64, load: input.load };
            let send = move || one.sender.send(&prepared.maps, &prepared.frame, &one.from, times);
            let thread = std::thread::Builder::new().name("sender".into());
            thread.spawn_scoped(scope, send).map_err(LinkError::Thread)
        });
        let sending = sending.collect::<Result<Vec<_>, _>>();
        if sending.is_err() {
            tasks.iter().for_each(|task| task.prepared.maps.set(Field::Stop, 1));
        }
        let sending = sending?;
        let mut ended: Vec<Option<Ended>> = vec![None; tasks.len()];
        let mut looked = Instant::now();
        while sending.iter().any(|one| !one.is_finished()) {
            if ended.iter().all(Option::is_none) {
                ended = lookouts.iter_mut().map(Lookout::look).collect();
                if looked.elapsed() >= LOOK_AT_ENDS
                    && let Some(counting) = &mut counting
                {
                    looked = Instant::now();
                    let Astray { forgot, astray } = counting.frame_path();
                    if forgot {
                        tasks.iter().for_each(|task| task.one.teach());
                    }
                    if let (Some(astray), Some(first)) = (astray, lookouts.first()) {
                        ended[0].get_or_insert(Ended { at_ns: first.passed_ns(), astray: Some(astray) });
                    }
                }
                end_all(&mut ended, &lookouts);
            }
            if ended.iter().any(Option::is_some) {
                tasks.iter().for_each(|task| task.prepared.maps.set(Field::Stop, 1));
            }
            std::thread::sleep(LOOK);
        }
        let sent: Vec<_> = sending
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        if ended.iter().all(Option::is_none) {
            ended = lookouts.iter_mut().map(Lookout::look_at_ends).collect();
            end_all(&mut ended, &lookouts);
        }
        let performed = ended.into_iter().zip(sent).map(|(ended, sent)| match ended {
            // What the system said of an interface that is not there any more is known by that.
            Some(ended) => Ok(Performed { refused: sent.unwrap_or_default(), ended: Some(ended) }),
            None => Ok(Performed { refused: sent?, ended: None }),
        });
        performed.collect()
    })
}

/// Where one direction has ended, the others end now, for the same reason.
fn end_all(ended: &mut [Option<Ended>], lookouts: &[Lookout<'_>]) {
    let Some(why) = ended.iter().flatten().next().map(|one| one.astray.clone()) else { return };
    for (ended, lookout) in ended.iter_mut().zip(lookouts) {
        ended.get_or_insert_with(|| Ended { at_ns: lookout.passed_ns(), astray: why.clone() });
    }
}
