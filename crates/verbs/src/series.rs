//! Which records are compared with one another.

use dropline_record::{IndexLine, IndexedGoal, LoadUnit, MeasuredLine, ProfileLine, Quantity};
use dropline_trial::Rate;

/// What may not differ within a series: `trend` compares its nights with one another, and `prune` counts them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub(crate) target: String,
    /// Of a search: the goal with all its attributes, the algorithm, the traffic profile but for its seed; of others, the verb,
    /// the quantity, the load and that profile.
    asked: String,
    pub(crate) machine: String,
    pub(crate) dropline: String,
}

impl Series {
    /// That of a goal of a search.
    pub(crate) fn of(line: &IndexLine, goal: &IndexedGoal) -> Self {
        let asked = serde_json::to_string(&(&line.algorithm, line.level, &goal.asked, &profile(line)));
        Self::asking(line, asked)
    }

    /// That of a number of trials or of a comparison.
    pub(crate) fn measuring(line: &IndexLine, quantity: Quantity) -> Self {
        let load = line.trial.as_ref().and_then(|trial| trial.load_pps);
        Self::asking(line, serde_json::to_string(&(&line.kind, quantity, load, &profile(line))))
    }

    fn asking(line: &IndexLine, asked: serde_json::Result<String>) -> Self {
        Self {
            target: line.target.clone(),
            asked: asked.expect("a goal and a profile are JSON"),
            machine: line.machine.clone(),
            dropline: line.dropline.clone(),
        }
    }

    /// All that a record belongs to, and whether it says there what was asked for: one that did not come to its end does not,
    /// nor does a search of which no limit stands.
    pub(crate) fn all(line: &IndexLine) -> Vec<(Self, bool)> {
        let of_goal = |goal| (Self::of(line, goal), line.finished && goal.followed_pps().is_some());
        match (line.goals.as_slice(), measured(line)) {
            ([], []) => {
                let asked = serde_json::to_string(&(&line.kind, &profile(line)));
                vec![(Self::asking(line, asked), line.finished)]
            }
            ([], measured) => {
                measured.iter().map(|found| (Self::measuring(line, found.quantity), line.finished)).collect()
            }
            (goals, _) => goals.iter().map(of_goal).collect(),
        }
    }

    /// The series in which a record has a number that stands, by what each follows.
    pub(crate) fn followed(line: &IndexLine) -> impl Iterator<Item = (String, Self)> {
        let goals = line.goals.iter().filter(|goal| goal.followed_pps().is_some());
        let limits = goals.map(|goal| (goal.goal.clone(), Self::of(line, goal)));
        let of_trials = measured(line)
            .iter()
            .map(|found| (words(line, found.quantity), Self::measuring(line, found.quantity)));
        limits.chain(of_trials)
    }

    /// Whether nothing but the target, if anything, keeps them apart.
    pub(crate) fn differs_in_target_alone(&self, other: &Self) -> bool {
        let others = |series: &Self| (series.asked.clone(), series.machine.clone(), series.dropline.clone());
        others(self) == others(other)
    }

    /// Its name.
    pub(crate) fn id(&self) -> String {
        name(&[&self.target, &self.asked, &self.machine, &self.dropline])
    }
}

/// What is followed of trials or of a comparison.
pub(crate) fn measured(line: &IndexLine) -> &[MeasuredLine] {
    line.trial.as_ref().map_or(&[], |trial| &trial.measured)
}

/// A quantity of a record in words: `p99 of delays at 100 kpps`.
pub(crate) fn words(line: &IndexLine, quantity: Quantity) -> String {
    let load = line.trial.as_ref().and_then(|trial| Rate::pps(trial.load_pps?).ok());
    let at = load.map_or(String::new(), |load| {
        let words = load.to_string();
        let units = LoadUnit::Packets.rates().into_iter().zip(line.load_unit.rates());
        let mut own = units.filter_map(|(unit, own)| {
            Some(format!("{} {own}", words.strip_suffix(unit)?.strip_suffix(' ')?))
        });
        format!(" at {}", own.next_back().unwrap_or(words.clone()))
    });
    match quantity {
        Quantity::Limit => "limit".into(),
        Quantity::Delivered => format!("share that came back{at}"),
        Quantity::Percentile(_) => format!("{quantity} of delays{at}"),
        Quantity::Core => format!("median of B ÷ A{at}"),
        Quantity::HighPercentile => format!("high percentile of B ÷ A{at}"),
    }
}

fn profile(line: &IndexLine) -> ProfileLine {
    ProfileLine { seed: 0, ..line.profile.clone() }
}

/// A name that is the same each time, on any machine: FNV-1a of the words.
pub(crate) fn name(words: &[&str]) -> String {
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
}
