//! Rules of a trend, each on a few histories that are made the same each time.

use super::*;
use crate::chance::seeded;
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

const WANTED: WantedEffect = WantedEffect { smallest_effect: 0.01, more_is_better: true };
/// Histories a rule is tried on.
const HISTORIES: u64 = 30;

fn normal(chance: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(chance)
}

/// A night each day, of logarithms with these deviations; errors say them.
fn nights(chance: &mut ChaCha8Rng, deviations: &[f64]) -> Vec<Night> {
    let night = |(day, deviation): (usize, &f64)| {
        let value = 8e6 * (deviation * normal(chance)).exp();
        Night { day: day as f64, value, error: Some(deviation * value), is_marked: false }
    };
    deviations.iter().enumerate().map(night).collect()
}

fn white(seed: u64, count: usize) -> Vec<Night> {
    nights(&mut seeded(seed), &vec![0.01; count])
}

/// Seven of ten nights are good.
fn mixed(seed: u64, count: usize) -> Vec<Night> {
    let mut chance = seeded(seed);
    let deviations: Vec<f64> =
        (0..count).map(|_| if chance.random_bool(0.7) { 0.003 } else { 0.025 }).collect();
    nights(&mut chance, &deviations)
}

fn stepped(mut nights: Vec<Night>, at: usize, size: f64) -> Vec<Night> {
    nights[at..].iter_mut().for_each(|night| night.value *= 1.0 + size);
    nights
}

fn trend(nights: &[Night]) -> Trend {
    Trend::of(nights, WANTED).expect("enough nights")
}

/// Changes in all of these histories.
fn changes(made: impl Fn(u64) -> Vec<Night>) -> usize {
    (0..HISTORIES).map(|seed| trend(&made(seed)).changes.len()).sum()
}

/// In how many of them a change is found within five nights of where it is.
fn found(at: usize, made: impl Fn(u64) -> Vec<Night>) -> usize {
    let is_found = |seed: &u64| trend(&made(*seed)).changes.iter().any(|change| change.at.abs_diff(at) <= 5);
    (0..HISTORIES).filter(is_found).count()
}

#[test]
fn a_step_is_found_with_its_night_its_size_and_a_verdict() {
    let found = trend(&stepped(white(3, 130), 100, -0.05));
    let [change] = found.changes[..] else { panic!("{:?}", found.changes) };
    assert!(change.at_low <= 100 && 100 <= change.at_high && change.at.abs_diff(100) <= 1, "{change:?}");
    let holds = |seed: &u64| {
        let found = trend(&stepped(white(*seed, 130), 100, -0.05));
        found.changes.len() == 1 && found.changes[0].size_low <= -0.05 && -0.05 <= found.changes[0].size_high
    };
    let held = (0..HISTORIES).filter(holds).count();
    assert!(held >= 25, "{held} of {HISTORIES}");
    assert!(change.size_high - change.size_low < 0.02 && change.by_chance < 1e-9, "{change:?}");
    assert_eq!((change.verdict, change.is_suspected), (Verdict::Regressed, false));
    let ends: Vec<(usize, usize)> = found.segments.iter().map(|one| (one.start, one.end)).collect();
    assert_eq!(ends, [(0, change.at), (change.at, 130)]);
    assert!((found.segments[0].level / 8e6 - 1.0).abs() < 0.01);
}

#[test]
fn which_way_is_better_is_asked_and_a_change_that_does_not_matter_is_equivalent() {
    let nights = stepped(white(3, 200), 100, -0.05);
    let of = |smallest_effect, more_is_better| {
        Trend::of(&nights, WantedEffect { smallest_effect, more_is_better }).unwrap().changes[0].verdict
    };
    assert_eq!(of(0.01, true), Verdict::Regressed);
    assert_eq!(of(0.01, false), Verdict::Improved);
    assert_eq!(of(0.2, true), Verdict::Equivalent);
    // The least ratio that matters is just what was found.
    let size = trend(&nights).changes[0].size;
    assert_eq!(of(-size / (1.0 + size), true), Verdict::NoEvidence);
}

#[test]
fn nights_without_a_change_have_none() {
    assert!(changes(|seed| white(seed, 250)) <= 1);
    assert!(changes(|seed| mixed(seed, 250)) <= 2);
}

#[test]
fn a_small_step_is_found_among_good_and_bad_nights_by_what_they_say_of_themselves() {
    let made = |seed| stepped(mixed(seed, 160), 100, -0.01);
    let without = |seed| {
        let mut nights = made(seed);
        nights.iter_mut().for_each(|night| night.error = None);
        nights
    };
    let (with, without) = (found(100, made), found(100, without));
    assert!(with >= 28 && without < with, "{with} {without} of {HISTORIES}");
    assert_eq!(trend(&made(1)).widths, Widths::Used);
}

#[test]
fn widths_that_do_not_fit_their_nights_are_not_used() {
    // Each night says what the one seven before it scattered.
    let shifted = |seed| {
        let mut nights = mixed(seed, 250);
        let errors: Vec<Option<f64>> = nights.iter().map(|night| night.error).collect();
        nights.iter_mut().enumerate().for_each(|(index, night)| night.error = errors[(index + 7) % 250]);
        nights
    };
    let used = (0..HISTORIES).filter(|seed| trend(&shifted(*seed)).widths == Widths::Used).count();
    assert!(used <= 1, "{used} of {HISTORIES}");
    assert!(changes(shifted) <= 4);
    assert_eq!(trend(&white(1, 50)).widths, Widths::Alike);
    // Good and bad nights in turns are told apart as well as those in any order.
    let in_turns = |seed| {
        let deviations: Vec<f64> = (0..60).map(|night| if night % 2 == 0 { 0.003 } else { 0.03 }).collect();
        nights(&mut seeded(seed), &deviations)
    };
    let used = (0..HISTORIES).filter(|seed| trend(&in_turns(*seed)).widths == Widths::Used).count();
    assert!(used >= 28, "{used} of {HISTORIES}");
    assert!(found(40, |seed| stepped(in_turns(seed), 40, -0.01)) >= 25);
    // A mistake in their scale is harmless.
    for times in [0.2, 5.0] {
        let mut nights = mixed(2, 250);
        nights.iter_mut().for_each(|night| night.error = night.error.map(|error| error * times));
        assert_eq!(trend(&nights).widths, Widths::Used);
    }
}

#[test]
fn a_spike_is_an_excursion_and_not_a_change() {
    let spiked = |seed| {
        let mut nights = white(seed, 120);
        nights[40].value *= 0.7;
        nights[90].value *= 0.9;
        nights
    };
    assert!(changes(spiked) == 0);
    assert_eq!(trend(&spiked(1)).excursions, [40, 90]);
}

#[test]
fn two_nights_at_the_end_do_not_make_a_change_and_three_are_suspected() {
    let ended = |nights: usize| move |seed| stepped(white(seed, 100), 100 - nights, -0.06);
    assert!(changes(ended(2)) <= 2, "{}", changes(ended(2)));
    let three = (0..HISTORIES).filter(|seed| {
        let found = trend(&ended(3)(*seed));
        found.changes.iter().any(|change| change.at == 97 && change.is_suspected)
    });
    assert!(three.count() >= 20);
    let eight = trend(&ended(8)(1)).changes;
    assert!(eight.len() == 1 && !eight[0].is_suspected, "{eight:?}");
}

#[test]
fn nights_that_came_and_went_are_excursions() {
    let mut nights = white(5, 120);
    nights[60..63].iter_mut().for_each(|night| night.value *= 0.85);
    let found = trend(&nights);
    assert_eq!((found.changes.len(), &found.excursions[..]), (0, &[60, 61, 62][..]));
}

/// Nights of which one is so much like the next.
fn wandering(seed: u64, count: usize, likeness: f64) -> Vec<Night> {
    let mut chance = seeded(seed);
    let mut value = 0.01 * normal(&mut chance);
    let mut nights = nights(&mut chance, &vec![1e-9; count]);
    for night in &mut nights {
        let fresh = (1.0 - likeness * likeness).sqrt() * 0.01 * normal(&mut chance);
        value = likeness * value + fresh;
        night.value = 8e6 * value.exp();
    }
    nights
}

#[test]
fn what_neighbours_have_in_common_is_noise() {
    let of = |likeness: f64| changes(|seed| wandering(seed, 250, likeness));
    assert!(of(0.6) <= 4, "{}", of(0.6));
    assert!(of(0.9) <= 12, "{}", of(0.9));
    assert!(trend(&wandering(1, 250, 0.9)).likeness > 0.6);
}

#[test]
fn the_nights_of_a_month_or_two_that_are_alike_raise_few_alarms() {
    // Six in 1000 nights are allowed: in these rows they would be 54 and 108.
    for (count, most) in [(30, 54), (60, 108)] {
        let alarms: usize =
            (0..300).map(|seed| trend(&wandering(9000 + seed, count, 0.9)).changes.len()).sum();
        assert!(alarms <= most, "{count} nights: {alarms}");
    }
    // And a step is told for all that.
    assert!(found(30, |seed| stepped(white(seed, 60), 30, -0.03)) >= 29);
    assert!(found(20, |seed| stepped(white(seed, 25), 20, -0.05)) >= 28);
}

#[test]
fn two_states_that_alternate_are_scatter() {
    let alternating = |seed| {
        let mut chance = seeded(seed);
        let mut nights = white(seed + 100, 200);
        nights.iter_mut().for_each(|night| night.value *= if chance.random_bool(0.5) { 0.9 } else { 1.0 });
        nights
    };
    assert_eq!(changes(alternating), 0);
    assert!(trend(&alternating(1)).scatter > 0.03);
}

#[test]
fn a_ramp_is_a_drift() {
    let ramp = |seed| {
        let mut nights = white(seed, 250);
        let share = |day: f64| ((day - 100.0) / 60.0).clamp(0.0, 1.0);
        nights.iter_mut().for_each(|night| night.value *= 1.0 - 0.06 * share(night.day));
        nights
    };
    let drifting = (0..HISTORIES).filter(|seed| {
        let found = trend(&ramp(*seed));
        found.changes.is_empty()
            && matches!(&found.drifts[..], [drift] if drift.verdict == Verdict::Regressed)
    });
    assert!(drifting.count() >= 24);
    let found = trend(&ramp(1));
    let [before, after] = found.segments[..] else { panic!("{:?}", found.segments) };
    assert!((before.level / 8e6 - 1.0).abs() < 0.01 && (after.level / 8e6 - 0.94).abs() < 0.01);
}

#[test]
fn a_mark_is_not_a_change() {
    let marked = |seed| {
        let mut nights = stepped(white(seed, 150), 70, -0.2);
        nights[70].is_marked = true;
        nights
    };
    assert_eq!(changes(marked), 0);
    assert_eq!(trend(&marked(1)).segments.len(), 2);
    assert_eq!(found(110, |seed| stepped(marked(seed), 110, -0.05)), HISTORIES as usize);
}

#[test]
fn a_missing_week_is_a_gap_in_time() {
    // What neighbours have in common is forgotten in the gap: the same nights in a row would be more alike.
    let mut nights = stepped(white(7, 120), 60, -0.04);
    nights[60..].iter_mut().for_each(|night| night.day += 21.0);
    let found = trend(&nights);
    let [change] = found.changes[..] else { panic!("{:?}", found.changes) };
    assert!(change.at.abs_diff(60) <= 2 && change.verdict == Verdict::Regressed, "{change:?}");
}

#[test]
fn few_nights_and_equal_nights_say_nothing() {
    assert_eq!(Trend::of(&white(1, FEWEST_NIGHTS - 1), WANTED), None);
    let mut equal = white(1, 60);
    equal.iter_mut().for_each(|night| *night = Night { value: 5.0, error: None, ..*night });
    let found = trend(&equal);
    assert_eq!((found.changes.len(), found.excursions.len(), found.segments.len()), (0, 0, 1));
    assert_eq!(changes(|seed| white(seed, FEWEST_NIGHTS)), 0);
}

#[test]
fn a_young_level_is_where_its_nights_are() {
    for size in [-0.9, -0.5, -0.2, 1.0] {
        let found = trend(&stepped(white(4, 60), 57, size));
        let [change] = found.changes[..] else { panic!("{size}: {:?}", found.changes) };
        assert!(change.is_suspected && change.size_low < size && size < change.size_high, "{change:?}");
        let level = found.segments.last().unwrap().level;
        assert!((level / (8e6 * (1.0 + size)) - 1.0).abs() < 0.03, "{size}: {level}");
    }
}

#[test]
fn the_first_nights_are_a_level_too() {
    for before in [3, 4] {
        let found = trend(&stepped(white(6, 40), before, -0.5));
        let [change] = found.changes[..] else { panic!("{before}: {:?}", found.changes) };
        assert!(change.at == before && change.verdict == Verdict::Regressed, "{change:?}");
    }
}

#[test]
fn a_step_near_a_mark_is_a_change_where_both_sides_of_the_mark_agree() {
    let marked = |distance: i64| {
        move |seed| {
            let mut nights = stepped(white(seed, 120), (60 + distance) as usize, -0.1);
            nights[60].is_marked = true;
            nights
        }
    };
    for distance in [-4, -3, -2, 2, 3, 4] {
        let at = (60 + distance) as usize;
        assert!(found(at, marked(distance)) >= 28, "{distance}: {}", found(at, marked(distance)));
    }
    assert_eq!(changes(marked(0)), 0);
}

#[test]
fn where_every_night_is_marked_and_differs_nothing_can_be_told() {
    let mut nights = white(2, 60);
    for (index, night) in nights.iter_mut().enumerate() {
        night.is_marked = true;
        night.value *= 1.3f64.powi(index as i32 % 7);
    }
    assert_eq!(Trend::of(&nights, WANTED), None);
}

#[test]
fn a_level_behind_an_outage_is_held_against_the_one_before_it() {
    let outage = |after: f64| {
        move |seed| {
            let mut nights = white(seed, 90);
            nights[40..48].iter_mut().for_each(|night| night.value *= 0.7);
            nights[48..].iter_mut().for_each(|night| night.value *= after);
            nights
        }
    };
    let worse = |after| {
        let is_worse = |seed: &u64| {
            let found = trend(&outage(after)(*seed));
            found.behind.iter().any(|behind| behind.verdict == Verdict::Regressed)
        };
        (0..HISTORIES).filter(is_worse).count()
    };
    assert_eq!(worse(0.95), HISTORIES as usize);
    assert_eq!(worse(1.0), 0, "it is back");
    assert_eq!(worse(1.1), 0, "it is better");
    let found = trend(&outage(0.9)(1));
    let [behind] = found.behind[..] else { panic!("{:?}", found.behind) };
    assert_eq!((behind.before, behind.after), ((0, 40), (48, 90)));
    assert!(behind.size_low < -0.1 && -0.1 < behind.size_high && behind.size_high < -0.08, "{behind:?}");
    let mut young = outage(0.9)(1);
    young.truncate(52);
    assert!(trend(&young).behind.is_empty(), "four nights are too few to be held against others");
    let mut marked = outage(0.9)(1);
    marked[44].is_marked = true;
    marked[44..48].iter_mut().for_each(|night| night.value *= 0.8);
    assert!(trend(&marked).behind.is_empty(), "what came with a mark is no news");
}

/// A step of a twentieth at any night, among marks each of which is one of some nights.
fn among_marks(every: usize) -> impl Fn(u64) -> (usize, Vec<Night>) {
    move |seed| {
        let at = 40 + (seed as usize * 7) % 80;
        let mut nights = stepped(white(seed, 150), at, -0.05);
        nights.iter_mut().step_by(every).for_each(|night| night.is_marked = true);
        (at, nights)
    }
}

#[test]
fn how_many_steps_marks_hide_is_known() {
    let found = |every| {
        let made = among_marks(every);
        let is_found = |seed: &u64| {
            let (at, nights) = made(*seed);
            trend(&nights).changes.iter().any(|change| change.at.abs_diff(at) <= 5)
        };
        (0..300).filter(is_found).count()
    };
    let (weekly, every_fourth) = (found(7), found(4));
    println!("{weekly} {every_fourth}");
    assert!(weekly >= 130 && every_fourth >= 80, "{weekly} {every_fourth} of 300");
}

#[test]
fn a_night_that_is_back_is_none_that_tells_of_the_low_level() {
    for before in [23, 60, 150] {
        for low in [3, 4] {
            for back in 1..5 {
                let dip = |seed: u64| {
                    let mut nights = white(seed, before + low + back);
                    nights[before..before + low].iter_mut().for_each(|night| night.value *= 0.85);
                    nights
                };
                let is_told =
                    |seed: &u64| trend(&dip(*seed)).changes.iter().any(|change| !change.is_suspected);
                let told = (0..HISTORIES).filter(is_told).count();
                assert!(
                    told <= 1,
                    "{low} low nights after {before}, and {back} back: told in {told} of {HISTORIES}"
                );
            }
        }
    }
    let told =
        |seed: &u64| trend(&stepped(white(*seed, 65), 60, -0.15)).changes.iter().any(|one| !one.is_suspected);
    assert_eq!((0..HISTORIES).filter(told).count(), HISTORIES as usize, "five low nights are a level");
}

/// Nights of which each is so much of the one before it, behind some steady ones; they scatter by 0.4 %.
fn falling(seed: u64, steady: usize, count: usize, by: f64) -> Vec<Night> {
    let mut nights = nights(&mut seeded(seed), &vec![0.004; steady + count]);
    for (index, night) in nights.iter_mut().enumerate() {
        night.value *= 1.0 - by * (index + 1).saturating_sub(steady) as f64;
    }
    nights
}

#[test]
fn a_limit_that_falls_every_night_is_no_level() {
    for (steady, count, by) in
        [(0, 16, 0.01), (0, 24, 0.01), (0, 45, 0.008), (0, 30, 0.003), (8, 16, 0.01), (20, 15, 0.01)]
    {
        let is_told = |seed: &u64| {
            let found = trend(&falling(*seed, steady, count, by));
            let of_drifts = found.drifts.iter().any(|drift| drift.verdict == Verdict::Regressed);
            of_drifts || found.changes.iter().any(|change| change.verdict == Verdict::Regressed)
        };
        let told = (0..HISTORIES).filter(is_told).count();
        println!("falling {steady} {count} {by}: {told}");
        assert!(told >= 27, "{steady} steady nights, {count} that fall by {by}: {told} of {HISTORIES}");
    }
}

/// An autoregression about one level.
fn alike(seed: u64, count: usize, rho: f64) -> Vec<Night> {
    let mut chance = seeded(seed ^ 0x5eed);
    let mut state = 0.01 * normal(&mut chance);
    let mut night = |index: usize| {
        let value = 8e6 * state.exp();
        state = rho * state + 0.01 * (1.0 - rho * rho).sqrt() * normal(&mut chance);
        Night { day: index as f64, value, error: None, is_marked: false }
    };
    (0..count).map(&mut night).collect()
}

#[test]
fn nights_that_are_alike_are_hardly_ever_a_drift() {
    for (rho, most) in [(0.0, 2.0), (0.3, 2.0), (0.6, 3.0), (0.9, 6.0)] {
        for count in [12, 24, 60, 120] {
            const ROWS: u64 = 200;
            let drifts: usize = (0..ROWS).map(|seed| trend(&alike(seed, count, rho)).drifts.len()).sum();
            let share = drifts as f64 * 1000.0 / (ROWS as usize * count) as f64;
            println!("alike {rho} {count}: {share:.2} in 1000 nights");
            assert!(share <= most, "{rho}, rows of {count}: {share:.2} in 1000 nights");
        }
    }
}
