//! How a sender waits for a deadline: asleep, then awake and giving way, then awake alone.

use super::schedule::Schedule;
use crate::packet::trial_state::TrialState;
use crate::placement::cpus::Rank;
use std::time::Duration;

/// How long before a deadline sleep ends and waiting awake begins: a wake-up takes about this long.
const AWAKE_NS: u64 = 40_000;
/// The same where nobody can be in the way of the wake-up: half the CPU time for the same result.
const AWAKE_FIRST_NS: u64 = 20_000;
/// The same where there is time for it: one wake-up in twenty takes longer than 20 us.
const AWAKE_EARLY_NS: u64 = 50_000;
/// There is time for it where a deadline is this far.
const LONG_NS: u64 = 80_000;
/// In a pause that is longer than this, sleep costs nothing.
const PAUSE_NS: u64 = 1_000_000;
/// How long before a deadline the CPU is no longer offered to others.
///
/// Until then whoever shares it, the target or our own receiver on a small machine, has its turn now and
/// not when the sender's time slice is used up, 3 ms later. With nobody there a turn costs 0.3 us.
const SPIN_NS: u64 = 4_000;
/// The longest sleep without a look at whether the user wants to stop.
pub(crate) const LONGEST_SLEEP: Duration = Duration::from_millis(50);
/// Departures are drawn ahead when there is this much time.
const SLACK_NS: u64 = 10_000;

/// Waits until `due` and returns the time it is then; returns early when the trial is halted. It was `now`
/// a moment ago.
pub(crate) fn wait_until(
    due: u64,
    mut now: u64,
    schedule: &mut Schedule,
    flight: &TrialState<'_>,
    rank: &mut Rank,
) -> u64 {
    let (begun, mut slept) = (now, 0);
    loop {
        let left = due.saturating_sub(now);
        if left == 0 || flight.is_halted() {
            rank.waited(now.saturating_sub(begun), slept);
            return now;
        }
        if left > SLACK_NS && schedule.draw_ahead() {
            now = flight.now_ns();
            continue;
        }
        let awake = match rank.first {
            true if left > LONG_NS => AWAKE_EARLY_NS,
            true => AWAKE_FIRST_NS,
            false => AWAKE_NS,
        };
        if left > awake && (left > PAUSE_NS || rank.rests()) {
            std::thread::sleep(Duration::from_nanos(left - awake).min(LONGEST_SLEEP));
            let woken = flight.now_ns();
            slept += woken.saturating_sub(now);
            now = woken;
            continue;
        }
        if left > SPIN_NS && !rank.first {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        now = flight.now_ns();
    }
}
