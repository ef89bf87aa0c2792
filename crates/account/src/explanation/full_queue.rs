//! Whether the target's own queue was full when its program took packets and did not answer.

use super::agreement::found_more_waiting;
use super::backlog::{FULL, Moment, backlog_of_the_lost, backlogs};
use dropline_trial::PacketTimes;

/// A smaller queue is not told from losses that have nothing to do with what waits.
const SMALLEST: u64 = 4;

/// Whether packets were lost when a queue was full, and not otherwise: nine of ten lost ones found about as many waiting, none
/// that was served found many more, and the lost ones found more than the others, or it was full nearly all the time. A service
/// that drops packets at random, or each so many, has no such queue.
pub(super) fn is_full_queue(packets: &PacketTimes) -> bool {
    let Some(full) = backlog_of_the_lost(packets, FULL).filter(|full| *full >= SMALLEST) else {
        return false;
    };
    let moments = backlogs(packets);
    let at = |share: f64| backlog_of_the_lost(packets, share).unwrap_or(0);
    let is_tight = at(1.0 - FULL) * 4 >= full * 3;
    let waited = |moment: &&Moment| u64::from(moment.backlog).saturating_sub(1);
    let beyond = moments.iter().filter(|moment| !moment.lost && waited(moment) * 4 > full * 5 + 8).count();
    let served = moments.iter().filter(|moment| !moment.lost).count();
    // Nothing is lost on the way up to the first time that it was full.
    let first_full = moments.iter().position(|moment| waited(&moment) * 4 >= full * 3).unwrap_or(0);
    let before = moments[..first_full].iter().filter(|moment| moment.lost).count();
    is_tight && beyond * 100 <= served && before == 0 && (full >= 16 || found_more_waiting(&moments))
}
