//! A goal as people write it.

use super::text;
use dropline_search::Limits;
use dropline_targets::Target;
use dropline_trial::{LoadRange, Rate, TrafficProfile};
use dropline_verbs::goals::{WrittenGoal, within};
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use std::time::Duration;

/// A goal that is accepted for an algorithm can be searched for with it.
pub fn check(bytes: &[u8]) {
    let Ok(written) = WrittenGoal::parse(&text(bytes)) else { return };
    for name in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        let algorithm = AlgorithmPlan::parse(name).expect("a name of an algorithm");
        let Ok(goal) = written.resolve(algorithm) else { continue };
        assert_eq!(goal.checked(), Ok(goal));
        let plan = SearchPlan {
            target: Target::parse("sim:soft").expect("a simulated system"),
            profile: TrafficProfile::default(),
            algorithm,
            preset: None,
            goals: vec![goal],
            within: within(&[written]).expect("one bound"),
            range: LoadRange::new(Rate::from_millipps(1_000_000), Rate::HIGHEST).expect("legal"),
            limits: Limits::default(),
            warm_up: Duration::ZERO,
            delay_at: Vec::new(),
            repetition: None,
        };
        plan.search().expect(name);
        assert!(plan.within.is_none_or(|bound| !bound.is_zero()));
    }
}
