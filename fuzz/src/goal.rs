//! A goal as people write it.

use super::text;
use dropline::goals::WrittenGoal;
use dropline::plan::AlgorithmPlan;
use dropline_search::mlr::{self, EffectiveDuration};
use dropline_search::{Binary, Mdr, Mlr, mdr};
use dropline_trial::{LoadRange, Rate};

/// A goal that is accepted for an algorithm can be searched for with it.
pub fn check(bytes: &[u8]) {
    let Ok(written) = WrittenGoal::parse(&text(bytes)) else { return };
    let range = LoadRange::new(Rate::from_millipps(1_000_000), Rate::HIGHEST).expect("legal");
    for name in AlgorithmPlan::NAMES {
        let plan = AlgorithmPlan::parse(name).expect("a name of an algorithm");
        let Ok(goal) = written.resolve(plan) else { continue };
        assert_eq!(goal.checked(), Ok(goal));
        let goals = vec![goal];
        match plan {
            AlgorithmPlan::Binary => drop(Binary::new(&goals, range).expect(name)),
            AlgorithmPlan::Mdr { .. } => drop(Mdr::new(mdr::Config::new(goals, range)).expect(name)),
            AlgorithmPlan::Mlr { .. } => {
                let effective = EffectiveDuration::Trial;
                drop(Mlr::new(mlr::Config { goals, range, effective }).expect(name));
            }
        }
    }
}
