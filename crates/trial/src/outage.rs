//! An outage: a time in which next to nothing came back, within a trial in which else next to everything did.

use crate::{Caveat, Extra, Slice, Trial};
use dropline_stats::Recorded;

/// Fewer packets are no outage.
const LEAST: u64 = 10;

impl Trial {
    /// The longest run of slices in which more than half of the packets were missing, where most slices miss a tenth at
    /// most, and during which next to no reply came: overload is no outage, and neither is a full buffer, out of which replies
    /// go on coming. Timers, cycles and samples are no packets that could come back: what is missing of them is
    /// told by what they are.
    pub fn outage(&self) -> Option<Caveat> {
        if !self.is_of_packets() {
            return None;
        }
        let sent: Vec<&Slice> = self.slices.iter().filter(|slice| slice.offered > 0).collect();
        let clear = sent.iter().filter(|slice| missing(slice) * 10 <= slice.offered).count();
        if 2 * clear < sent.len() {
            return None;
        }
        let mut runs: Vec<Run> = Vec::new();
        let (mut at_ns, mut goes_on) = (0, false);
        for slice in &self.slices {
            let length_ns = slice.duration.as_nanos() as u64;
            let is_dark = missing(slice) * 2 > slice.offered;
            if is_dark {
                let share = missing(slice) as f64 / slice.offered as f64;
                if !goes_on {
                    // What is missing of the first slice is its end.
                    let before = (length_ns as f64 * (1.0 - share)) as u64;
                    runs.push(Run { at_ns: at_ns + before, ..Run::default() });
                }
                let run = runs.last_mut().expect("it was begun");
                // Of a slice that was dark for a part of its time, the packets of that part; should another follow, of all of it.
                run.for_ns += (length_ns as f64 * share) as u64;
                run.missing += missing(slice);
                run.offered = run.through + missing(slice);
                run.through += if goes_on { slice.offered } else { missing(slice) };
                run.until_ns = at_ns + length_ns;
            }
            // A slice without a packet says nothing.
            goes_on = is_dark || goes_on && slice.offered == 0;
            at_ns += length_ns;
        }
        runs.retain(|run| run.missing >= LEAST && self.came_during(run) * 10.0 <= run.missing as f64);
        // What left last was asked last: answers that came too late, or never again, are told as that.
        if self.is_silence_told() {
            runs.retain(|run| run.until_ns < at_ns);
        }
        let outages = runs.len() as u64;
        let Run { at_ns, for_ns, missing, offered, .. } = runs.into_iter().max_by_key(|run| run.for_ns)?;
        Some(Caveat::Outage { at_ns, for_ns, missing, offered, outages })
    }

    /// Replies that came while a run lasted, about: each slice's replies as if its packets had left evenly in the part of it that
    /// was not dark.
    fn came_during(&self, run: &Run) -> f64 {
        let (from, to) = (run.at_ns as f64, (run.at_ns + run.for_ns) as f64);
        let mut begins = 0.0;
        let mut came = 0.0;
        for slice in &self.slices {
            let ends = begins + slice.duration.as_nanos() as f64;
            let (mut left_from, mut left_to) = (begins, ends);
            if missing(slice) * 2 > slice.offered {
                match begins < from {
                    true => left_to = from.min(ends),
                    false if ends > to => left_from = to.max(begins),
                    false => {}
                }
            }
            let over = (left_to - left_from).max(1.0);
            for (low, high, packets) in slice.delay.iter().flat_map(Recorded::ranges) {
                let delay = (low as f64 + high as f64) / 2.0;
                let within = (left_to + delay).min(to) - (left_from + delay).max(from);
                came += packets as f64 * within.max(0.0) / over;
            }
            begins = ends;
        }
        came
    }

    /// From when on nothing came back any more, of a trial in which something did before: no queue does that. Where it is known
    /// that the target died, or that its answers still came, that is told instead.
    pub fn silence(&self) -> Option<Caveat> {
        let is_told = |caveat: &Caveat| {
            matches!(
                caveat,
                Caveat::TargetUnreachable { .. } | Caveat::AnswersAfterDrain { .. } | Caveat::LinkDown { .. }
            )
        };
        if !self.is_of_packets() || self.caveats.iter().any(is_told) || self.late.is_some_and(|late| late > 0)
        {
            return None;
        }
        let last = self.slices.iter().rposition(|slice| slice.forwarded > 0)?;
        let (before, silent) = self.slices.split_at(last + 1);
        let offered: u64 = silent.iter().map(|slice| slice.offered).sum();
        if offered < LEAST {
            return None;
        }
        // What is missing of the last slice that answered is its end.
        let ends_ns: u64 = before.iter().map(|slice| slice.duration.as_nanos() as u64).sum();
        let slice = &before[last];
        let share = missing(slice) as f64 / slice.offered.max(1) as f64;
        let at_ns = ends_ns - (slice.duration.as_nanos() as f64 * share) as u64;
        // A full buffer makes room a quarter at a time, and takes nothing for so long; its packets wait four times as long.
        let all_ns: u64 = self.slices.iter().map(|slice| slice.duration.as_nanos() as u64).sum();
        let longest_ns = [&self.delay, &self.service_delay]
            .into_iter()
            .filter_map(|delay| delay.histogram.as_ref()?.max())
            .max();
        if self.is_interrupted() || longest_ns.is_some_and(|longest_ns| all_ns - at_ns <= longest_ns) {
            return None;
        }
        Some(Caveat::FellSilent { at_ns, offered: offered + missing(slice) })
    }

    /// Whether what is missing are packets that could have come back: those of a service too.
    fn is_of_packets(&self) -> bool {
        matches!(self.extra, None | Some(Extra::Replied(_)))
    }

    /// Whether what went unanswered at the end has a caveat of its own.
    fn is_silence_told(&self) -> bool {
        let is_late =
            |caveat: &Caveat| matches!(caveat, Caveat::AnswersAfterDrain { .. } | Caveat::FellSilent { .. });
        self.silence().is_some() || self.caveats.iter().any(is_late)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    at_ns: u64,
    for_ns: u64,
    missing: u64,
    /// Packets that left in its time.
    offered: u64,
    /// The same, should it go on beyond its last slice.
    through: u64,
    until_ns: u64,
}

fn missing(slice: &Slice) -> u64 {
    slice.offered.saturating_sub(slice.forwarded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rate, TrialInput};
    use std::time::Duration;

    /// Slices of a quarter of a second with a hundred packets each; so many of each came back.
    fn trial(forwarded: &[u64]) -> Trial {
        let input = TrialInput { load: Rate::from_millipps(400_000), duration: Duration::from_secs(10) };
        let slice = |&forwarded: &u64| Slice {
            duration: Duration::from_millis(250),
            offered: 100,
            forwarded,
            delay: None,
        };
        Trial { slices: forwarded.iter().map(slice).collect(), ..Trial::new(1, input, 7) }
    }

    fn of(forwarded: &[u64]) -> Option<Caveat> {
        trial(forwarded).outage()
    }

    #[test]
    fn a_second_in_which_nothing_came_back_is_told_with_its_time_and_length() {
        let mut forwarded = [100; 40];
        forwarded[12..16].fill(0);
        let expected = |at_ms: u64, for_ms: u64, missing, offered, outages| {
            Some(Caveat::Outage {
                at_ns: at_ms * 1_000_000,
                for_ns: for_ms * 1_000_000,
                missing,
                offered,
                outages,
            })
        };
        assert_eq!(of(&forwarded), expected(3000, 1000, 400, 400, 1));
        forwarded[12] = 40;
        assert_eq!(of(&forwarded), expected(3100, 900, 360, 360, 1), "the end of its first slice");
        forwarded[30] = 20;
        assert_eq!(of(&forwarded), expected(3100, 900, 360, 360, 2), "the longest of two");
        // It came back in the middle of the last slice: what left in its time is what is missing.
        forwarded[15] = 30;
        assert_eq!(of(&forwarded), expected(3100, 825, 330, 330, 2));
    }

    /// The same trial, whose packets took so long each.
    fn taking(forwarded: &[u64], delay_ms: impl Fn(usize) -> u64) -> Trial {
        let mut trial = trial(forwarded);
        for (at, slice) in trial.slices.iter_mut().enumerate() {
            let mut recorder = dropline_stats::Recorder::new();
            (0..slice.forwarded).for_each(|_| recorder.record(delay_ms(at) * 1_000_000));
            slice.delay = Some(recorder.recorded());
        }
        trial
    }

    #[test]
    fn a_full_buffer_out_of_which_replies_go_on_coming_is_no_outage() {
        // What waits takes 800 ms: while all that comes finds no room for half a second, replies come as before.
        let mut forwarded = [100; 40];
        forwarded[30..32].fill(0);
        assert_eq!(taking(&forwarded, |_| 800).outage(), None);
        assert!(taking(&forwarded, |_| 1).outage().is_some(), "nothing came in it");
        // A target that was stopped answers what waited when it goes on.
        let stopped = taking(&forwarded, |at| if at == 29 { 750 } else { 1 });
        assert!(stopped.outage().is_some());
    }

    #[test]
    fn missed_wake_ups_are_no_packets_that_did_not_come_back() {
        let mut forwarded = [100; 40];
        forwarded[12..16].fill(0);
        forwarded[36..].fill(0);
        let woken = Some(crate::Extra::Wakeups(crate::Wakeups::default()));
        let trial = Trial { extra: woken, ..trial(&forwarded) };
        assert_eq!((trial.outage(), trial.silence()), (None, None));
    }

    #[test]
    fn a_target_that_falls_silent_is_told_with_the_time_and_not_as_an_outage() {
        let mut forwarded = [100; 40];
        forwarded[30..].fill(0);
        forwarded[29] = 40;
        let told = |trial: &Trial| (trial.silence(), trial.outage());
        let silent = Caveat::FellSilent { at_ns: 7_350_000_000, offered: 1060 };
        assert_eq!(told(&trial(&forwarded)), (Some(silent), None));
        // Also where it answered for a tenth of the trial.
        let mut early = [0; 40];
        early[..4].fill(100);
        let silent = Caveat::FellSilent { at_ns: 1_000_000_000, offered: 3600 };
        assert_eq!(told(&trial(&early)), (Some(silent), None));
        // A service falls silent as an echo does.
        let replied = Some(Extra::Replied(crate::Replied::default()));
        let service = Trial { extra: replied, ..trial(&early) };
        assert_eq!(told(&service), (Some(Caveat::FellSilent { at_ns: 1_000_000_000, offered: 3600 }), None));
        // It came back: that is an outage. It never answered: nobody knows when it fell silent.
        forwarded[39] = 100;
        assert!(trial(&forwarded).silence().is_none() && trial(&forwarded).outage().is_some());
        assert_eq!(told(&trial(&[0; 40])), (None, None));
        let dead =
            Caveat::TargetUnreachable { error: "ECONNREFUSED".into(), at_ns: 1, refused: 1, reports: 1 };
        assert_eq!(Trial { caveats: vec![dead], ..trial(&early) }.silence(), None, "that is known better");
    }

    #[test]
    fn answers_that_came_after_the_drain_are_no_outage_and_where_none_could_come_in_time_no_loss_of_the_target()
     {
        let mut forwarded = [100; 40];
        forwarded[38..].fill(0);
        let of = |fastest_ms: u64| {
            let caveat = Caveat::AnswersAfterDrain {
                lost: 200,
                late: 190,
                drain_ns: 100_000_000,
                fastest_ns: fastest_ms * 1_000_000,
                slowest_ns: 560_000_000,
            };
            Trial {
                offered: 4000,
                forwarded: 3800,
                late: Some(190),
                caveats: vec![caveat],
                ..trial(&forwarded)
            }
        };
        assert_eq!((of(500).outage(), of(500).silence()), (None, None));
        assert!(of(500).is_invalid() && of(500).lost_by_us() == 200, "no answer could come in time");
        assert!(!of(2).is_invalid() && of(2).lost_by_us() == 0, "its queue was long when the trial ended");
        let said = of(500).caveats[0].to_string();
        assert!(said.contains("190 of 200 lost packets") && said.contains("--drain 2s"), "{said}");
    }

    #[test]
    fn overload_and_chance_are_no_outage() {
        assert_eq!(of(&[40; 40]), None, "all slices miss as much");
        assert_eq!(of(&[80, 85, 70, 40, 90, 80]), None, "most miss more than a tenth");
        assert_eq!(of(&[100; 40]), None);
        assert_eq!(of(&[]), None);
    }
}
