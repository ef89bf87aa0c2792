//! What a program behind `exec:` answers.

use dropline_record::{Purpose, TrialLine};
use dropline_targets::exec::{Answer, Question};
use dropline_trial::{Rate, Ratio, TrialInput};
use std::time::Duration;

/// An answer that is accepted is a trial whose counts and times can be, and whose line can be kept.
pub fn check(bytes: &[u8]) {
    let Ok(answer) = Answer::read(&String::from_utf8_lossy(bytes)) else { return };
    let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
    // Any number may be intended: what contradicts itself is looked for here.
    let drain = Duration::from_secs(2);
    let costs_at_most = Duration::MAX;
    let question = Question { trial: 1, input, seed: 7, intends: None, drain, costs_at_most, stopped: false };
    let Ok(trial) = answer.trial(&question) else { return };
    assert!(!trial.duration.is_zero() && trial.duration <= trial.elapsed);
    assert!(Some(trial.offered) <= trial.intended && trial.lost() <= trial.offered);
    assert!(trial.offered > 0 || trial.forwarded == 0);
    assert!(trial.exceeds(Ratio::ZERO) || trial.lost() == 0);
    if let Some(delays) = &trial.delay.histogram {
        assert!(delays.count() <= trial.forwarded);
    }
    let sum = |count: fn(&dropline_trial::Slice) -> u64| trial.slices.iter().map(count).sum::<u64>();
    assert!(sum(|slice| slice.offered) <= trial.offered && sum(|slice| slice.forwarded) <= trial.forwarded);
    let line = TrialLine::new(&trial, "exec:x", "constant", Purpose::Trial, Duration::ZERO);
    let kept = serde_json::to_string(&line).expect("a line is JSON");
    let read: TrialLine = serde_json::from_str(&kept).expect("what was written can be read");
    assert_eq!(read, line);
    let again = read.trial().expect("a kept histogram can be read");
    assert_eq!((again.intended, again.offered), (trial.intended, trial.offered));
    assert_eq!((again.forwarded, again.slices.len()), (trial.forwarded, trial.slices.len()));
}
