//! What was collected of a pipeline, as a trial.

use super::Collected;
use dropline_stats::Histogram;
use dropline_trial::passages::{Passages, Pipe};
use dropline_trial::{Caveat, Delay, DelayKind, Extra, Rate, Stamp, Trial};
use std::time::Duration;

/// A drift of the stamps' clock above this is said: NTP slews by 500 ppm at most, a good counter by none.
const DRIFT_SAID_PPM: f64 = 100.0;
/// A pipe that is silent for this share of its trial, with granules in it, has stalled.
const SILENT_SHARE: u64 = 4;
/// And for so many times as long as it took between two arrivals.
const SILENT_ARRIVALS: u64 = 20;

/// How a trial came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The program was through.
    ByItself,
    /// Its time was over.
    TimeOver,
    /// The user stopped it.
    Interrupted,
}

/// Fills a trial that nothing was offered to from outside: the program paces itself.
///
/// Counts are samples where the granularity is known, else granules. What was in a pipe when the recording began or
/// ended is neither offered nor lost; what the recorder lost is ours, not the pipeline's.
pub fn trial(
    mut trial: Trial,
    collected: Collected,
    ending: Ending,
    failed: Option<String>,
    elapsed: Duration,
) -> Trial {
    let Collected { passages, span, drift_ppm } = collected;
    let mut caveats = caveats(&passages, span, drift_ppm);
    caveats.extend(failed.map(|status| Caveat::ProgramFailed { status }));
    if ending == Ending::Interrupted {
        caveats.push(Caveat::Interrupted);
    }
    let sum = |count: fn(&Pipe) -> u64| passages.pipes.iter().map(count).sum::<u64>();
    let arrived = sum(|pipe| pipe.counts.passed + pipe.counts.without_tx + pipe.counts.crowded_rx);
    let gone = sum(|pipe| pipe.counts.without_rx + pipe.counts.crowded_tx);
    let samples = passages.granularity.unwrap_or(1) * passages.ratio.1;
    trial.intended = None;
    trial.offered = (arrived + gone) * samples;
    trial.forwarded = arrived * samples;
    trial.generator_lost = gone.min(passages.recorder.missing()) * samples;
    trial.duplicated = Some(sum(|pipe| pipe.counts.duplicated_rx) * samples);
    trial.duration = span.max(Duration::from_nanos(1));
    trial.elapsed = elapsed;
    // What a program that paces itself comes to is known afterwards.
    let load = trial.forwarded as f64 / trial.duration.as_secs_f64();
    trial.input.load = Rate::pps(load).unwrap_or(Rate::LOWEST);
    trial.stamp = Some(Stamp::App);
    trial.delay_kind = Some(DelayKind::Passage);
    trial.delay = together(&passages.pipes);
    trial.caveats.extend(caveats);
    trial.extra = Some(Extra::Passages(passages));
    trial
}

/// Delays of all these pipes.
pub(super) fn together<'a>(pipes: impl IntoIterator<Item = &'a Pipe>) -> Delay {
    let mut all = Histogram::new();
    let mut delay = Delay::default();
    for pipe in pipes {
        if let Some(histogram) = &pipe.delay.histogram {
            all.merge(histogram);
        }
        delay.negative += pipe.delay.negative;
        delay.negative_min_ns =
            [delay.negative_min_ns, pipe.delay.negative_min_ns].into_iter().flatten().min();
    }
    delay.histogram = (all.count() + delay.negative > 0).then_some(all);
    delay
}

fn caveats(passages: &Passages, span: Duration, drift_ppm: f64) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let recorder = &passages.recorder;
    let missing = recorder.missing();
    if missing > 0 {
        caveats.push(Caveat::EventsMissing { recorded: recorder.recorded, missing });
    }
    if recorder.unreadable > 0 {
        caveats.push(Caveat::TraceDamaged { packets: recorder.unreadable });
    }
    let sum = |count: fn(&Pipe) -> u64| passages.pipes.iter().map(count).sum::<u64>();
    let unmatched = sum(|pipe| pipe.counts.without_tx + pipe.counts.crowded_rx);
    if unmatched > 0 && missing == 0 {
        caveats.push(Caveat::PassagesUnmatched { passages: unmatched });
    }
    let early = sum(|pipe| pipe.counts.clocks_disagree);
    if early > 0 {
        let least = passages.pipes.iter().filter_map(|pipe| pipe.delay.negative_min_ns).min();
        caveats.push(Caveat::StampsDisagree { passages: early, least_ns: least.unwrap_or_default() });
    }
    if drift_ppm.abs() > DRIFT_SAID_PPM && span > Duration::from_millis(100) {
        caveats.push(Caveat::StampsDrift { ppm: drift_ppm });
    }
    let stalled = passages.pipes.iter().filter_map(|pipe| stalled(pipe, span));
    caveats.extend(stalled);
    let beginning: u64 = passages
        .pipes
        .iter()
        .map(|pipe| pipe.warm_up.found.unwrap_or(0).saturating_sub(pipe.warm_up.cut))
        .sum();
    if beginning > 0 {
        caveats.push(Caveat::BeginningCounted { passages: beginning });
    }
    if let Some(kept) = passages.kept.as_ref().filter(|kept| kept.left_out > 0) {
        caveats.push(Caveat::EventsLeftOut { kept: kept.events, left_out: kept.left_out });
    }
    caveats
}

fn stalled(pipe: &Pipe, span: Duration) -> Option<Caveat> {
    let silent_ns = pipe.silent_ns?;
    let (first, last) = pipe.span_ns?;
    let apart_ns = (last - first) / pipe.counts.passed.max(1);
    let long = silent_ns > span.as_nanos() as u64 / SILENT_SHARE && silent_ns > SILENT_ARRIVALS * apart_ns;
    let in_flight = pipe.counts.in_flight;
    (long && in_flight > 0).then_some(Caveat::Stalled { pipe: pipe.number, silent_ns, in_flight })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_passage::{Correlator, CorrelatorSettings};
    use dropline_trial::TrialInput;

    const MS: u64 = 1_000_000;

    fn of(correlator: Correlator, ended_ns: Option<u64>, discarded: u64) -> Trial {
        let mut passages = correlator.finish(ended_ns);
        passages.recorder.discarded = discarded;
        let collected = Collected { passages, span: Duration::from_millis(100), drift_ppm: 0.0 };
        let input = TrialInput { load: Rate::LOWEST, duration: Duration::from_secs(1) };
        trial(Trial::new(1, input, 7), collected, Ending::TimeOver, None, Duration::from_secs(1))
    }

    fn codes(trial: &Trial) -> Vec<&str> {
        trial.caveats.iter().map(Caveat::code).collect()
    }

    /// Pipe 0 stands still after half of the time, pipe 1 goes on.
    fn half_stalled() -> Correlator {
        let mut correlator =
            Correlator::new(CorrelatorSettings { granularity: Some(100), ..CorrelatorSettings::default() });
        for n in 1..=100 {
            correlator.tx(1, n, n * MS);
            correlator.rx(1, n, n * MS + 5000);
            correlator.tx(0, n.min(53), n.min(53) * MS);
            if n <= 50 {
                correlator.rx(0, n, n * MS + 5000);
            }
        }
        correlator
    }

    #[test]
    fn a_pipe_that_stands_still_with_granules_in_it_is_said() {
        let trial = of(half_stalled(), Some(101 * MS), 0);
        let stalled: Vec<&Caveat> =
            trial.caveats.iter().filter(|caveat| caveat.code() == "stalled").collect();
        assert_eq!(stalled, [&Caveat::Stalled { pipe: 0, silent_ns: 51 * MS - 5000, in_flight: 3 }]);
        assert!(
            !codes(&of(half_stalled(), None, 0)).contains(&"stalled"),
            "it is not known how long it was silent"
        );
    }

    #[test]
    fn what_is_on_its_way_is_neither_offered_nor_lost() {
        let trial = of(half_stalled(), None, 0);
        assert_eq!((trial.offered, trial.forwarded, trial.lost()), (15_000, 15_000, 0));
        assert_eq!(trial.input.load, Rate::pps(150_000.0).unwrap());
    }

    #[test]
    fn what_the_recorder_lost_is_not_the_pipelines_loss() {
        let gaps = || {
            let mut correlator = Correlator::new(CorrelatorSettings::default());
            for n in 1..=100 {
                correlator.tx(0, n, n * MS);
                if n % 10 != 5 {
                    correlator.rx(0, n, n * MS + 5000);
                }
            }
            correlator
        };
        let lossy = of(gaps(), None, 0);
        assert_eq!((lossy.offered, lossy.lost(), lossy.generator_lost), (100, 10, 0));
        let full = of(gaps(), None, 4);
        assert_eq!((full.offered, full.lost(), full.generator_lost), (100, 6, 4));
        assert!(codes(&full).contains(&"events_missing") && !codes(&lossy).contains(&"events_missing"));
    }
}
