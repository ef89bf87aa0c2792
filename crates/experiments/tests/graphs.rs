//! Graphs of FutureSDR and GNU Radio that really run: every sample and every granule is accounted for.
//!
//! They need their programs, and LTTng: `make test-flowgraph` installs both and runs this.

use dropline_passage::LittleCheck;
use dropline_targets::{Opening, Target};
use dropline_trial::passages::Passages;
use dropline_trial::{Drain, Measurer as _, Rate, TrafficProfile, Trial, TrialInput};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Every framework and scheduler.
const SYSTEMS: [&str; 5] = [
    "futuresdr?scheduler=flow",
    "futuresdr?scheduler=smol1",
    "futuresdr?scheduler=smoln",
    "futuresdr?scheduler=tpb",
    "gnuradio?scheduler=tpb",
];

fn open(word: &str, load: Option<f64>, seconds: f64, keep: Option<&Path>) -> Trial {
    let target = Target::parse(word).unwrap();
    let target = if load.is_none() { target.at_own_pace() } else { target };
    // However late a thread runs, what waits still goes in.
    let drain = Drain { longest: Duration::from_secs(60), ..Drain::default() };
    let profile = TrafficProfile { drain, ..TrafficProfile::default() };
    let opening = Opening {
        patience: Duration::from_secs(60),
        keep_events: keep.map(Into::into),
        ..Opening::default()
    };
    let load = load.map_or(Rate::LOWEST, |load| Rate::pps(load).unwrap());
    let input = TrialInput { load, duration: Duration::from_secs_f64(seconds) };
    target.open(&profile, opening).unwrap().measurer.measure(input).unwrap()
}

/// A graph that takes what it can.
fn free(system: &str, parameters: &str) -> Trial {
    open(&format!("flowgraph:{system}&{parameters}"), None, 60.0, None)
}

fn passages(trial: &Trial) -> &Passages {
    trial.passages().expect("events were recorded")
}

/// rx = pipes × ⌊samples ÷ granularity⌋ less what the recorder counted as lost; each had left, none too early.
fn is_consistent(trial: &Trial, pipes: u64, samples: u64, granularity: u64, what: &str) {
    let found = passages(trial);
    assert_eq!(trial.forwarded, pipes * samples, "{what}");
    let rx: u64 = found.pipes.iter().map(|pipe| pipe.counts.rx).sum();
    let missing = found.recorder.missing();
    let granules = pipes * (samples / granularity);
    assert!(rx <= granules && rx + missing >= granules, "{what}: {rx} and {missing} of {granules}");
    for pipe in &found.pipes {
        let counts = &pipe.counts;
        assert_eq!((counts.duplicated_rx, counts.duplicated_tx), (0, 0), "{what}");
        assert_eq!(counts.clocks_disagree, 0, "{what}: a delay below -50 ns");
        if missing == 0 {
            let held = samples / granularity;
            assert_eq!((counts.rx, counts.without_tx, counts.without_rx), (held, 0, 0), "{what}");
        }
    }
}

#[test]
#[ignore = "needs FutureSDR and GNU Radio: make test-flowgraph"]
fn every_granule_arrives_once_on_every_scheduler_also_where_a_call_crosses_several_boundaries() {
    for system in SYSTEMS {
        // A buffer holds 16384 samples: four granules of the first kind, half a one of the second.
        for (granularity, samples) in [(4096, 1_000_003), (32_768, 2_000_000)] {
            let trial =
                free(system, &format!("pipes=2&stages=2&granularity={granularity}&samples={samples}"));
            is_consistent(&trial, 2, samples, granularity, system);
            let graph = trial.graph().unwrap();
            assert_eq!((graph.pipes, graph.stages, graph.buffer_bytes), (2, 2, 65_536));
            assert!(!graph.cpus.is_empty() && graph.cpu > Duration::ZERO, "{system}");
        }
        // Without a stage, and with a buffer that is smaller than a copy.
        let trial =
            free(system, "pipes=1&stages=0&buffer=4KiB&max-copy=5000&samples=300000&granularity=1000");
        is_consistent(&trial, 1, 300_000, 1000, system);
    }
}

#[test]
#[ignore = "needs FutureSDR and GNU Radio: make test-flowgraph"]
fn littles_law_holds_pipe_by_pipe_where_one_thread_runs_all_blocks() {
    for (pipes, stages, samples) in [(2, 2, 20_000_000), (6, 6, 10_000_000)] {
        let parameters =
            format!("pipes={pipes}&stages={stages}&samples={samples}&granularity=4096&in-flight=200us");
        let trial = free("futuresdr?scheduler=smol1", &parameters);
        let found = passages(&trial);
        let mut ratios: Vec<f64> = found
            .pipes
            .iter()
            .map(|pipe| {
                LittleCheck::of(pipe, 4096).and_then(|law| law.ratio()).expect("both sides are known")
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        assert!((0.9..=1.1).contains(&median), "{pipes} x {stages}: {ratios:?}");
    }
}

#[test]
#[ignore = "needs FutureSDR and LTTng: make test-flowgraph"]
fn our_ring_and_lttng_say_the_same_of_one_run() {
    for system in ["futuresdr?scheduler=smol1", "gnuradio?scheduler=tpb"] {
        let directory = tempfile::tempdir().unwrap();
        let trace = directory.path().join("trace");
        let word =
            format!("flowgraph:{system}&pipes=2&stages=6&samples=8000000&granularity=4096&recorder=both");
        let ring = open(&word, None, 60.0, Some(&trace));
        is_consistent(&ring, 2, 8_000_000, 4096, system);
        let reread = format!("flowgraph:ctf?granularity=4096:{}", trace.display());
        let lttng = open(&reread, None, 1.0, None);
        let counted =
            |trial: &Trial| -> Vec<u64> { passages(trial).pipes.iter().map(|pipe| pipe.counts.rx).collect() };
        if passages(&ring).recorder.missing() + passages(&lttng).recorder.missing() == 0 {
            assert_eq!(counted(&ring), counted(&lttng), "{system}");
        }
        for q in [0.05, 0.5, 0.95] {
            let of = |trial: &Trial| trial.delay.histogram.as_ref().unwrap().quantile(q).unwrap() as f64;
            let (ours, theirs) = (of(&ring), of(&lttng));
            assert!((ours / theirs - 1.0).abs() <= 0.01, "{system}, {q}: {ours} against {theirs} ns");
        }
    }
}

#[test]
#[ignore = "needs FutureSDR and GNU Radio: make test-flowgraph"]
fn samples_that_come_due_go_through_or_are_lost_in_the_backlog_and_delays_count_from_due() {
    for system in SYSTEMS {
        // Room for all that can wait: however late a thread runs, nothing is lost.
        let word = format!("flowgraph:{system}&pipes=2&stages=2&granularity=4096&backlog=60s");
        let trial = open(&word, Some(2e6), 0.3, None);
        assert_eq!(trial.intended, Some(600_000), "{system}");
        assert_eq!((trial.offered, trial.forwarded, trial.lost()), (600_000, 600_000, 0), "{system}");
        let [due, left] = [&trial.delay, &trial.service_delay].map(|delay| delay.histogram.as_ref().unwrap());
        if passages(&trial).recorder.missing() == 0 {
            assert_eq!((due.count(), left.count()), (146, 146), "{system}: 2 x 300000 / 4096");
        }
        // Every granule was due before it left.
        for q in [0.05, 0.5, 0.95] {
            assert!(due.quantile(q) >= left.quantile(q), "{system}");
        }
        // No graph takes a million samples a microsecond.
        let word = format!("flowgraph:{system}&pipes=2&stages=2&granularity=4096&backlog=1us");
        let trial = open(&word, Some(1e12), 0.1, None);
        assert_eq!((trial.intended, trial.offered), (Some(100_000_000_000), 100_000_000_000), "{system}");
        assert!(trial.lost() > 0, "{system}");
        let lost_at = trial.lost_at.as_ref().unwrap();
        assert_eq!((lost_at["service_queue"], lost_at["unexplained"]), (trial.lost(), 0), "{system}");
        let by_pipe = &trial.graph().unwrap().lost;
        assert_eq!(by_pipe.iter().sum::<u64>(), trial.lost(), "{system}");
    }
}

#[test]
#[ignore = "needs FutureSDR and GNU Radio: make test-flowgraph"]
fn every_granule_was_in_every_block() {
    for system in ["futuresdr?scheduler=flow", "gnuradio?scheduler=tpb"] {
        let trial = free(system, "pipes=2&stages=3&samples=1000000&granularity=4096&residence=on");
        is_consistent(&trial, 2, 1_000_000, 4096, system);
        let residence = &trial.graph().unwrap().residence;
        let blocks: Vec<u32> = residence.iter().map(|of| of.block).collect();
        assert_eq!(blocks, [1, 2, 3, 4], "{system}: three stages and the sink");
        if passages(&trial).recorder.missing() == 0 {
            for of in residence {
                let passed =
                    of.delay.histogram.as_ref().map_or(0, |delays| delays.count()) + of.delay.negative;
                assert_eq!(passed, 2 * (1_000_000 / 4096), "{system}, block {}", of.block);
            }
        }
    }
}

#[test]
#[ignore = "needs FutureSDR and GNU Radio: make test-flowgraph"]
fn tracepoints_that_are_off_or_absent_change_no_count() {
    for parameters in ["recording=off", "probes=off&recording=off", "probes=off"] {
        for system in ["futuresdr?scheduler=smol1", "gnuradio?scheduler=tpb"] {
            let trial = free(system, &format!("pipes=2&stages=1&samples=500000&in-flight=off&{parameters}"));
            assert_eq!((trial.offered, trial.forwarded), (1_000_000, 1_000_000), "{system} {parameters}");
            assert_eq!(trial.delay.histogram, None);
        }
    }
}

#[test]
#[ignore = "needs FutureSDR: make test-flowgraph"]
fn the_experiment_runs_in_small_and_finds_no_run_inconsistent() {
    use dropline_experiments::{Effort, Experiment};
    let experiment = Experiment::named("flowgraph-latency").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let effort = Effort {
        runs: None,
        first_seed: None,
        small: true,
        full: false,
        only: Some("2 x ".into()),
        budget: None,
        keep: Some(directory.path().join("runs")),
        stop: Arc::default(),
    };
    let mut said = Vec::new();
    let found = experiment.run(&effort, &mut |at| said.push(at.to_owned())).unwrap();
    let doubts: Vec<&str> = found.study.caveats.iter().map(|caveat| caveat.text.as_str()).collect();
    assert_eq!(doubts, [""; 0]);
    assert_eq!((found.study.tables.len(), found.study.charts.len()), (3, 2));
    assert!(!said.is_empty());
    // A second time nothing is left to do.
    said.clear();
    let again = experiment.run(&effort, &mut |at| said.push(at.to_owned())).unwrap();
    assert_eq!((said.len(), &again.study.tables[0]), (0, &found.study.tables[0]));
}
