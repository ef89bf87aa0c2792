//! Several generators' trials as the one that they performed together.
//!
//! Counts add, losses follow from the sums, and histograms add cell by cell: a percentile of all is that of one who had
//! counted everything. Percentiles are never averaged.

use super::{Slice, Trial};
use crate::trial::disturbance::Disturbance;
use crate::{
    Agent, AgentCounts, AgentState, AskedTurns, Caveat, Delay, Extra, Replied, TargetActivity, TrialInput,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// What one of several generators brings.
#[derive(Clone, Debug, PartialEq)]
pub struct Performed {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub state: AgentState,
    /// What it counted; `None` where it told nothing.
    pub trial: Option<Trial>,
    /// When its first packet left, from when it was to leave, in nanoseconds of the coordinator's clock.
    pub late_ns: Option<i64>,
}

/// Values that can be added where all have one.
fn all<T: Copy + std::iter::Sum>(parts: &[&Trial], of: impl Fn(&Trial) -> Option<T>) -> Option<T> {
    parts.iter().map(|part| of(part)).sum()
}

/// What all have in common.
fn common<T: PartialEq>(parts: &[&Trial], of: impl Fn(&Trial) -> Option<T>) -> Option<T> {
    let mut each = parts.iter().map(|part| of(part));
    let first = each.next()??;
    each.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

impl Trial {
    /// The trial that these performed together, each its share of `input`. Where one of them is not whole, the trial is void:
    /// what the others counted is there, and is no evidence of what the target loses at this load.
    pub fn merged(number: u64, input: TrialInput, seed: u64, performed: &[Performed]) -> Self {
        let parts: Vec<&Self> = performed.iter().filter_map(|one| one.trial.as_ref()).collect();
        let agents = performed.iter().map(agent).collect();
        let is_whole = performed.iter().all(|one| one.state == AgentState::Whole && one.trial.is_some());
        if parts.is_empty() {
            let caveats = agents_lost(performed).filter(|_| !is_whole).into_iter().collect();
            return Self { agents, caveats, ..Self::new(number, input, seed) };
        }
        let sum = |of: fn(&Self) -> u64| parts.iter().map(|part| of(part)).sum::<u64>();
        let mut refused = BTreeMap::new();
        for (errno, count) in parts.iter().flat_map(|part| &part.refused) {
            *refused.entry(errno.clone()).or_default() += count;
        }
        // Every field by its name: a new one is asked for here, and is not silently none of all fleets.
        let mut trial = Self {
            number,
            input,
            seed,
            intended: all(&parts, |part| part.intended),
            offered: sum(|part| part.offered),
            turns: parts.iter().filter_map(|part| part.turns).reduce(AskedTurns::and),
            forwarded: sum(|part| part.forwarded),
            duplicated: all(&parts, |part| part.duplicated),
            reordered: all(&parts, |part| part.reordered),
            late: all(&parts, |part| part.late),
            reply_truncated: all(&parts, |part| part.reply_truncated),
            reply_extended: all(&parts, |part| part.reply_extended),
            reply_changed: all(&parts, |part| part.reply_changed),
            generator_lost: sum(|part| part.generator_lost),
            refused,
            duration: parts.iter().map(|part| part.duration).max().unwrap_or(input.duration),
            elapsed: parts.iter().map(|part| part.elapsed).max().unwrap_or(input.duration),
            stamp: common(&parts, |part| part.stamp),
            delay_kind: common(&parts, |part| part.delay_kind),
            delay: delay(&parts, |part| &part.delay),
            service_delay: delay(&parts, |part| &part.service_delay),
            lateness: delay(&parts, |part| &part.lateness),
            // Gaps are of one generator's packets.
            kept: None,
            disturbance: disturbance(&parts),
            slices: slices(&parts),
            lost_at: None,
            watched: watched(&parts),
            extra: replied(&parts),
            agents,
            // Whoever coordinates knows when they began.
            start: None,
            caveats: Vec::new(),
        };
        trial.lost_at = places(&parts, trial.lost());
        trial.caveats = caveats(&trial, &parts);
        trial.caveats.extend(agents_lost(performed).filter(|_| !is_whole));
        trial.doubt_anew();
        trial
    }

    /// Doubts that follow from counts and places, of these as they are now.
    pub fn doubt_anew(&mut self) {
        let follows = ["answers_limited", "target_starved", "loss_doubted", "delays_doubted"];
        self.caveats.retain(|caveat| !follows.contains(&caveat.code()));
        let found =
            [self.limited_answers(), self.starved_target(), self.doubted_loss(), self.doubted_delays()];
        self.caveats.extend(found.into_iter().flatten());
    }
}

fn agent(performed: &Performed) -> Agent {
    let counted = performed.trial.as_ref().map(|trial| AgentCounts {
        offered: trial.offered,
        forwarded: trial.forwarded,
        generator_lost: trial.generator_lost,
    });
    // One that never started sent nothing; what another sent that tells nothing is not known.
    let nothing = || (performed.state == AgentState::NotStarted).then(AgentCounts::default);
    Agent { name: performed.name.clone(), state: performed.state, counts: counted.or_else(nothing) }
}

fn agents_lost(performed: &[Performed]) -> Option<Caveat> {
    let lost = performed.iter().filter(|one| one.state != AgentState::Whole || one.trial.is_none());
    let lost: Vec<String> = lost.map(|one| format!("{} ({})", one.name, one.state.words())).collect();
    (!lost.is_empty()).then(|| Caveat::AgentsLost {
        agents: lost.join(", "),
        lost: lost.len() as u64,
        of: performed.len() as u64,
    })
}

fn delay(parts: &[&Trial], of: impl Fn(&Trial) -> &Delay) -> Delay {
    let mut together = Delay::default();
    for one in parts.iter().map(|part| of(part)) {
        match (&mut together.histogram, &one.histogram) {
            (Some(histogram), Some(more)) => histogram.merge(more),
            (none @ None, Some(first)) => *none = Some(first.clone()),
            (_, None) => {}
        }
        together.negative += one.negative;
        together.negative_min_ns =
            [together.negative_min_ns, one.negative_min_ns].into_iter().flatten().min();
    }
    together
}

/// Packets in lumps add up; who waited longest for a CPU says how long others had the CPUs.
fn disturbance(parts: &[&Trial]) -> Option<Disturbance> {
    let each: Option<Vec<Disturbance>> = parts.iter().map(|part| part.disturbance).collect();
    Some(each?.into_iter().fold(Disturbance::default(), |sum, one| Disturbance {
        displaced: sum.displaced + one.displaced,
        waited: sum.waited.max(one.waited),
    }))
}

/// Parts of the trial on one grid; none where agents cut it otherwise.
fn slices(parts: &[&Trial]) -> Vec<Slice> {
    let grid = |trial: &Trial| trial.slices.iter().map(|slice| slice.duration).collect::<Vec<Duration>>();
    let mut together = parts[0].slices.clone();
    for part in &parts[1..] {
        if grid(part) != grid(parts[0]) {
            return Vec::new();
        }
        for (slice, more) in together.iter_mut().zip(&part.slices) {
            slice.offered += more.offered;
            slice.forwarded += more.forwarded;
            slice.delay = match (slice.delay.take(), &more.delay) {
                (Some(mut delay), Some(more)) => {
                    delay.merge(more);
                    Some(delay)
                }
                _ => None,
            };
        }
    }
    together
}

/// Where packets were lost: each agent says of its own. What the sums forgive, as an answer that came twice here for one that
/// was lost there, is no loss any more.
fn places(parts: &[&Trial], lost: u64) -> Option<BTreeMap<String, u64>> {
    let mut together = BTreeMap::new();
    for part in parts {
        for (place, packets) in part.lost_at.as_ref()? {
            *together.entry(place.clone()).or_insert(0) += packets;
        }
    }
    let mut beyond = together.values().sum::<u64>().saturating_sub(lost);
    for packets in together.values_mut() {
        let less = beyond.min(*packets);
        *packets -= less;
        beyond -= less;
    }
    Some(together)
}

/// What the target did, as the agent on its machine saw that which saw most of its CPU time.
fn watched(parts: &[&Trial]) -> Option<TargetActivity> {
    let best = parts.iter().filter_map(|part| part.watched.as_ref()).max_by_key(|seen| seen.cpu_ns)?;
    let packets = parts.iter().filter_map(|part| part.watched.as_ref()).map(|seen| seen.packets).sum();
    Some(TargetActivity { packets, ..best.clone() })
}

fn replied(parts: &[&Trial]) -> Option<Extra> {
    let mut classes = BTreeMap::new();
    for part in parts {
        for (class, count) in &part.replied()?.classes {
            *classes.entry(class.clone()).or_insert(0) += count;
        }
    }
    let bytes = parts.iter().map(|part| part.replied()?.bytes).sum();
    Some(Extra::Replied(Replied { classes, bytes }))
}

/// Doubts that follow from counts are found anew from the sums; of the others each is said once.
fn caveats(trial: &Trial, parts: &[&Trial]) -> Vec<Caveat> {
    let mut together: Vec<Caveat> = Vec::new();
    let (mut limited, mut dropped) = (None, 0);
    let each = parts.iter().flat_map(|part| part.caveats.iter().map(move |caveat| (*part, caveat)));
    for (part, caveat) in each {
        match caveat {
            // What one agent's counters show of others may be what the other agents sent and lost.
            Caveat::CountersShared { beyond, unplaced } => {
                let beyond = beyond.saturating_sub(trial.lost().saturating_sub(part.lost()));
                match together.iter_mut().find_map(shared) {
                    Some(said) => *said = (*said).max(beyond),
                    None if beyond > 0 => {
                        together.push(Caveat::CountersShared { beyond, unplaced: *unplaced })
                    }
                    None => {}
                }
            }
            Caveat::OthersCame { dropped, came } => {
                let dropped = dropped.saturating_sub(trial.lost().saturating_sub(part.lost()));
                // Their replies come to programs too.
                let moved = |trial: &Trial| trial.offered.saturating_add(trial.forwarded);
                let came = came.saturating_sub(moved(trial).saturating_sub(moved(part)));
                let is_said = together.iter().any(|said| said.code() == caveat.code());
                if !is_said && (dropped > 0 || came > 0) {
                    together.push(Caveat::OthersCame { dropped, came });
                }
            }
            Caveat::GeneratorLimited { error, interface, .. } => {
                limited.get_or_insert((error.clone(), interface.clone()));
            }
            Caveat::GeneratorLost { dropped: more } => dropped += more,
            Caveat::LossDoubted { .. }
            | Caveat::TargetStarved { .. }
            | Caveat::DelaysDoubted { .. }
            | Caveat::AnswersLimited { .. }
            | Caveat::Interrupted => {}
            other if together.iter().any(|said| said.code() == other.code()) => {}
            other => together.push(other.clone()),
        }
    }
    if let Some((error, interface)) = limited {
        let (intended, offered) = (trial.intended.unwrap_or(0), trial.offered);
        together.push(Caveat::GeneratorLimited { intended, offered, error, interface });
    }
    if dropped > 0 {
        together.push(Caveat::GeneratorLost { dropped });
    }
    together
}

fn shared(caveat: &mut Caveat) -> Option<&mut u64> {
    if let Caveat::CountersShared { beyond, .. } = caveat { Some(beyond) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rate, Ratio};
    use dropline_stats::{Histogram, Recorder};
    use proptest::prelude::*;

    fn input() -> TrialInput {
        TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) }
    }

    fn part(name: &str, offered: u64, forwarded: u64) -> Performed {
        let trial = Trial { intended: Some(offered), offered, forwarded, ..Trial::new(1, input(), 7) };
        Performed { name: name.into(), state: AgentState::Whole, trial: Some(trial), late_ns: Some(0) }
    }

    #[test]
    fn lost_follows_from_the_sums_and_not_from_the_losses() {
        // One packet more came back to A than it sent: B's loss is less by it.
        let trial = Trial::merged(1, input(), 7, &[part("a", 500, 501), part("b", 500, 490)]);
        assert_eq!(
            (trial.intended, trial.offered, trial.forwarded, trial.lost()),
            (Some(1000), 1000, 991, 9)
        );
        assert_eq!(trial.agents.iter().map(|one| one.counts.unwrap().lost()).collect::<Vec<_>>(), [0, 10]);
        assert!(trial.caveats.is_empty(), "{:?}", trial.caveats);
    }

    #[test]
    fn a_trial_without_one_agents_result_is_void_at_every_goal() {
        let silent = Performed { state: AgentState::Silent, trial: None, ..part("b", 0, 0) };
        let trial = Trial::merged(1, input(), 7, &[part("a", 500, 500), silent]);
        assert!(trial.is_void_at(Ratio::ZERO) && trial.is_void_at(Ratio::new(0.5).unwrap()), "{trial:?}");
        assert!(trial.caveats.iter().any(Caveat::invalidates));
        assert_eq!(trial.caveats[0].code(), "agents_lost");
        assert!(trial.caveats[0].to_string().contains("b (not heard of again)"), "{}", trial.caveats[0]);
        assert!(trial.agents[0].counts.is_some());
        assert_eq!(trial.agents[1].counts, None, "what it sent is not known, and not 0");
    }

    #[test]
    fn what_is_not_known_of_one_is_not_known_of_all() {
        let mut known = part("a", 500, 400);
        known.trial.as_mut().unwrap().lost_at = Some([("receive_buffer".to_owned(), 100)].into());
        let both = [known.clone(), part("b", 500, 500)];
        assert_eq!(Trial::merged(1, input(), 7, &both).lost_at, None);
        let mut other = part("b", 500, 450);
        other.trial.as_mut().unwrap().lost_at =
            Some([("receive_buffer".to_owned(), 20), ("late".to_owned(), 30)].into());
        let places = Trial::merged(1, input(), 7, &[known, other]).lost_at.unwrap();
        assert_eq!(places, [("late".to_owned(), 30), ("receive_buffer".to_owned(), 120)].into());
    }

    #[test]
    fn what_one_agents_counters_show_of_the_others_is_not_other_programs() {
        let [mut a, mut b] = [part("a", 500, 495), part("b", 500, 411)];
        a.trial.as_mut().unwrap().caveats = vec![
            Caveat::CountersShared { beyond: 89, unplaced: 0 },
            Caveat::OthersCame { dropped: 89, came: 911 },
        ];
        b.trial.as_mut().unwrap().caveats = vec![Caveat::CountersShared { beyond: 5, unplaced: 0 }];
        assert_eq!(Trial::merged(1, input(), 7, &[a.clone(), b.clone()]).caveats, []);
        b.trial.as_mut().unwrap().caveats = vec![Caveat::CountersShared { beyond: 7, unplaced: 0 }];
        let caveats = Trial::merged(1, input(), 7, &[a, b]).caveats;
        assert_eq!(caveats, [Caveat::CountersShared { beyond: 2, unplaced: 0 }]);
    }

    proptest! {
        #[test]
        fn delays_of_all_are_those_of_one_who_had_counted_everything(
            parts in prop::collection::vec(prop::collection::vec(0u64..4_000_000_000, 0..60), 1..6),
        ) {
            let (mut whole, mut recorder) = (Histogram::new(), Recorder::new());
            let performed: Vec<Performed> = parts.iter().map(|values| {
                let (mut mine, mut sliced) = (Histogram::new(), Recorder::new());
                for &value in values {
                    mine.record(value);
                    whole.record(value);
                    sliced.record(value);
                    recorder.record(value);
                }
                let mut one = part("a", 10, 10);
                let trial = one.trial.as_mut().unwrap();
                trial.delay = Delay::of(mine);
                trial.slices = vec![Slice { duration: Duration::from_secs(1), offered: 1, forwarded: 1, delay: Some(sliced.recorded()) }];
                one
            }).collect();
            let trial = Trial::merged(1, input(), 7, &performed);
            prop_assert_eq!(trial.delay, Delay::of(whole));
            prop_assert_eq!(trial.slices[0].delay.as_ref(), Some(&recorder.recorded()));
            prop_assert_eq!(trial.slices[0].offered, parts.len() as u64);
        }
    }
}
