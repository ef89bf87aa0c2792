//! Load classes and conditional throughputs that the definitions of RFC 9971 give.

use dropline_search::mlr::{Class, Config, EffectiveDuration};
use dropline_search::{Algorithm as _, Goal, Mlr};
use dropline_trial::{LoadRange, Rate, Ratio, Trial, TrialInput};
use std::time::Duration;

const MPPS: u64 = 1_000_000;

fn goal(trial_s: u64, sum_s: u64, loss: f64, exceed: f64) -> Goal {
    Goal {
        loss_ratio: Ratio::new(loss).unwrap(),
        exceed_ratio: Ratio::new(exceed).unwrap(),
        width: Ratio::new(0.005).unwrap(),
        trial_duration: Duration::from_secs(trial_s),
        initial_trial_duration: Duration::from_secs(1),
        duration_sum: Duration::from_secs(sum_s),
    }
}

/// RFC 2544, TST009, CSIT NDR, CSIT PDR, then the goals of the RFC's worked example and a goal of our own.
fn goals() -> Vec<Goal> {
    vec![
        goal(60, 60, 0.0, 0.0),
        goal(60, 120, 0.0, 0.5),
        goal(1, 21, 0.0, 0.5),
        goal(1, 21, 0.005, 0.5),
        goal(60, 60, 0.005, 0.2),
        goal(2, 10, 0.005, 0.25),
    ]
}

/// `count` trials of `seconds` at one Mpps that lose `lost` packets of a million.
#[derive(Clone, Copy)]
struct Trials {
    count: u64,
    seconds: u64,
    lost: u64,
    effective: Duration,
}

fn trials(count: u64, seconds: u64, lost: u64) -> Trials {
    Trials { count, seconds, lost, effective: Duration::from_secs(seconds) }
}

/// What a search for all goals says of one Mpps after these trials: `L` and the conditional throughput in
/// packets a second, `U`, or `?`.
fn classes(all: &[Trials]) -> String {
    let load = Rate::pps(MPPS as f64).unwrap();
    let range = LoadRange::new(load, load).unwrap();
    let mut search = Mlr::new(Config { goals: goals(), range, effective: EffectiveDuration::Trial }).unwrap();
    for group in all {
        for _ in 0..group.count {
            let input = TrialInput { load, duration: Duration::from_secs(group.seconds) };
            let intended = MPPS * group.seconds;
            search.record(&Trial {
                intended: Some(intended),
                offered: intended,
                forwarded: intended - group.lost * group.seconds,
                duration: group.effective,
                ..Trial::new(1, input, 7)
            });
        }
    }
    let class = |goal| match search.class(goal, load) {
        Class::LowerBound => format!("L{}", search.conditional_throughput_pps(goal, load).unwrap()),
        Class::UpperBound => "U".into(),
        Class::Undecided => "?".into(),
    };
    (0..goals().len()).map(class).collect::<Vec<_>>().join(" ")
}

#[test]
fn loads_are_classified_as_the_definition_says() {
    let thirteen = [trials(60, 1, 0), trials(60, 1, 10_000), trials(1, 60, 1000)];
    let [quiet, lossy, long] = thirteen;
    let vectors: [(&[Trials], &str); 14] = [
        (&[], "? ? ? ? ? ?"),
        (&[trials(10, 1, 0)], "? ? ? ? ? ?"),
        (&[trials(11, 1, 0)], "? ? L1000000 L1000000 ? ?"),
        (&[trials(59, 1, 0), trials(1, 1, 10_000)], "U ? L1000000 L1000000 ? ?"),
        (&[trials(10, 1, 0), trials(11, 1, 1)], "U ? U L999999 ? ?"),
        (&[trials(11, 1, 0), trials(10, 1, 6000)], "U ? L1000000 L1000000 ? U"),
        (&[trials(11, 1, 4000)], "U ? U L996000 ? ?"),
        (
            &[Trials { effective: Duration::from_millis(1500), ..trials(7, 1, 0) }],
            "? ? L1000000 L1000000 ? ?",
        ),
        (&[trials(1, 60, 1)], "U ? U L999999 L999999 L999999"),
        (&[trials(1, 60, 1), trials(1, 60, 0)], "U L1000000 L1000000 L1000000 L999999 L999999"),
        (&[trials(3, 1, 10_000)], "U ? ? ? ? U"),
        (&[trials(3, 2, 0), trials(1, 2, 4000)], "U ? ? ? ? L996000"),
        (&thirteen, "U ? U L999000 U U"),
        (&[quiet, lossy, long, trials(1, 60, 0)], "U L1000000 L1000000 L1000000 U L999000"),
    ];
    for (number, (trials, expected)) in (1..).zip(vectors) {
        assert_eq!(classes(trials), expected, "vector {number}");
    }
}
