//! What a comparison says as a whole.

use super::*;
use crate::references::{IDLE, IOZONE32, IOZONE64, binned};

fn compared(a: &str, b: &str) -> Comparison {
    let questions = Questions { percentile: 0.99, above: Some(42.0), smallest_effect: None, more_loss: 0.0 };
    Comparison::of(&[binned(a)], &[binned(b)], Design::Whole, &questions)
}

/// To four digits.
#[track_caller]
pub(super) fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-4 * expected.abs().max(1.0), "{found} {expected}");
}

#[track_caller]
fn near(found: Option<f64>, reference: f64, tolerance: f64) {
    let found = found.unwrap();
    assert!((found - reference).abs() <= tolerance, "{found} {reference}");
}

#[test]
fn lowering_the_sectors_is_mixed_as_in_the_reference() {
    let found = compared(IOZONE64, IOZONE32);
    near(found.core.estimate, -1.327417, 1e-6);
    near(found.core.low, -1.487, 0.02);
    near(found.core.high, -1.206, 0.02);
    assert_eq!(found.core.verdict, Verdict::Improved);
    near(found.high_percentile.estimate, 0.461, 0.001);
    near(found.high_percentile.low, -1.494, 0.1);
    near(found.high_percentile.high, 7.603, 0.25);
    assert_eq!(found.high_percentile.verdict, Verdict::NoEvidence);
    near(found.tail_mass.estimate, 2.516129, 1e-6);
    near(found.tail_mass.low, 1.640050, 1e-5);
    near(found.tail_mass.high, 3.947876, 1e-5);
    assert_eq!((found.tail_mass.verdict, found.above), (Verdict::Regressed, (31.0, 78.0)));
    near(found.tail_mass.deff_limit, 4.9, 0.05);
    near(found.b_slower, 1.0 - 0.629695, 1e-6);
    assert_eq!((found.verdict, found.verdict.is_worse()), (Overall::Mixed, true));
    near(found.core.relative, found.core.estimate.unwrap() / found.core.of_a.unwrap(), 1e-9);
    near(found.tail_mass.relative, 1.516129, 1e-6);
    assert_eq!(found.core.smallest_effect, 1.0, "two per cent of A are less than a tick");
    assert_eq!((found.design, found.batches, found.loss), (Design::Whole, (0, 0), None));
    near(found.deff_limit, 4.9, 0.05);
}

#[test]
fn disk_load_regresses_all_three() {
    let found = compared(IDLE, IOZONE64);
    near(found.core.estimate, 4.123631, 1e-6);
    near(found.core.low, 4.001, 0.02);
    near(found.core.high, 4.283, 0.02);
    near(found.high_percentile.estimate, 2.187, 0.001);
    near(found.tail_mass.estimate, 3.444444, 1e-6);
    near(found.tail_mass.low, 1.600701, 1e-5);
    near(found.tail_mass.high, 8.225378, 1e-5);
    near(found.b_slower, 1.0 - 0.251202, 1e-6);
    assert_eq!(found.verdict, Overall::Regressed);
}

#[test]
fn a_set_compared_with_itself_has_no_difference_and_the_reverse_of_a_change_is_its_reverse() {
    let same = compared(IDLE, IDLE);
    assert_eq!((same.core.estimate, same.core.verdict), (Some(0.0), Verdict::Equivalent));
    assert_ne!(same.verdict, Overall::Regressed);
    let there = compared(IOZONE64, IOZONE32);
    let back = compared(IOZONE32, IOZONE64);
    near(back.core.low, -there.core.high.unwrap(), 1e-9);
    near(back.tail_mass.low, 1.0 / there.tail_mass.high.unwrap(), 1e-9);
    near(back.deviation.low, 1.0 / there.deviation.high.unwrap(), 1e-9);
}

const ALL: Questions = Questions { percentile: 0.99, above: None, smallest_effect: None, more_loss: 0.0 };

/// Blocks of 1000 events between 1000 and 1100, of each of which the slow ones are lost.
fn lossy(lost: impl Fn(usize) -> u64) -> Vec<Binned> {
    let block = |number: usize| {
        let kept = 1000 - lost(number);
        let ticks = (0..kept as i64).map(|event| (1000 + event / 10 + (event * 7 + number as i64) % 3, 1));
        crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned().with_lost(1000 - kept)
    };
    (0..20).map(block).collect()
}

#[test]
fn a_side_that_loses_its_slow_events_is_not_faster() {
    let (whole, half) = (lossy(|_| 0), lossy(|number| 600 + number as u64 % 3));
    for design in [Design::Whole, Design::Apart, Design::Interleaved] {
        let found = Comparison::of(&whole, &half, design, &ALL);
        let loss = found.loss.unwrap();
        assert!(loss.low.unwrap() > 0.59 && loss.high.unwrap() < 0.62, "{loss:?}");
        assert_eq!((loss.verdict, found.verdict), (Verdict::Regressed, Overall::Regressed), "{design:?}");
        assert_eq!(
            (found.core.lost, found.core.of_b, found.core.verdict),
            ((false, true), None, Verdict::Regressed)
        );
        assert!(found.verdict.is_worse() && found.b_slower.unwrap() > 0.6, "{:?}", found.b_slower);
        let back = Comparison::of(&half, &whole, design, &ALL);
        assert_eq!(back.verdict, Overall::Improved, "the reverse is the reverse");
    }
}

#[test]
fn delays_that_fell_while_loss_grew_are_traded_and_not_improved() {
    let faster = |blocks: Vec<Binned>| -> Vec<Binned> {
        let earlier = |block: Binned| {
            let ticks: Vec<(i64, u64)> =
                block.cells().iter().map(|cell| (cell.value as i64 - 300, cell.count)).collect();
            let moved = crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned();
            moved.with_lost(block.lost())
        };
        blocks.into_iter().map(earlier).collect()
    };
    let of = |lost: u64, questions: &Questions| {
        Comparison::of(&lossy(|_| 0), &faster(lossy(move |_| lost)), Design::Apart, questions)
    };
    let traded = of(5, &ALL);
    assert_eq!((traded.core.verdict, traded.verdict), (Verdict::Improved, Overall::Traded));
    assert!(traded.verdict.is_worse());
    assert_eq!(
        of(5, &Questions { more_loss: 0.01, ..ALL }).verdict,
        Overall::Improved,
        "so much loss was allowed"
    );
    assert_eq!(of(0, &ALL).verdict, Overall::Improved);
}

#[test]
fn loss_of_one_spell_is_no_evidence_that_more_is_lost() {
    let spell = lossy(|number| if number == 7 { 40 } else { 0 });
    let found = Comparison::of(&lossy(|_| 0), &spell, Design::Apart, &ALL);
    assert_ne!(found.loss.unwrap().verdict, Verdict::Regressed, "{:?}", found.loss);
    let even = Comparison::of(&lossy(|_| 0), &lossy(|_| 2), Design::Apart, &ALL);
    assert_eq!(even.loss.unwrap().verdict, Verdict::Regressed, "as many, in every block");
    let both = Comparison::of(&lossy(|_| 20), &lossy(|_| 20), Design::Apart, &ALL);
    assert_eq!((both.loss.unwrap().verdict, both.high_percentile.lost), (Verdict::Equivalent, (true, true)));
    assert!(!both.verdict.is_worse());
}

/// A machine that becomes slower and faster by the minute is no reason to miss what B adds to each minute.
#[test]
fn what_neighbouring_blocks_share_does_not_hide_a_difference() {
    let blocks = |more: i64| -> Vec<Binned> {
        let block = |number: i64| {
            let wander = 60 * (number % 20 - 10).abs() + more;
            let events = (0..200).map(|event| (1000 + wander + event * (3 + number % 3) % 301, 1));
            crate::Counted::ticks(crate::Meaning::default(), events, None).unwrap().binned()
        };
        (0..40).map(block).collect()
    };
    let questions = Questions { percentile: 0.99, above: None, smallest_effect: Some(0.0), more_loss: 0.0 };
    let of = |design| Comparison::of(&blocks(0), &blocks(40), design, &questions).core;
    let (turns, apart) = (of(Design::Interleaved), of(Design::Apart));
    assert_eq!((turns.verdict, apart.verdict), (Verdict::Regressed, Verdict::NoEvidence));
    assert!(turns.low.unwrap() > 0.0 && apart.low.is_none_or(|low| low < -40.0), "{turns:?} {apart:?}");
}

#[test]
fn no_events_and_equal_events_give_no_number_that_is_none() {
    let questions = Questions { percentile: 0.99, above: None, smallest_effect: None, more_loss: 0.0 };
    let of = |cells: &[(i64, u64)]| {
        crate::Counted::ticks(crate::Meaning::default(), cells.iter().copied(), None).unwrap().binned()
    };
    for (a, b) in [(of(&[]), of(&[])), (of(&[]), of(&[(7, 5)])), (of(&[(7, 1)]), of(&[(7, 1)]))] {
        let found = Comparison::of(&[a], &[b], Design::Whole, &questions);
        assert_eq!(found.core.estimate, None);
        assert_eq!(found.verdict, Overall::NoEvidence);
        for answer in [&found.core, &found.high_percentile, &found.tail_mass] {
            let numbers = [answer.estimate, answer.low, answer.high, answer.detectable, answer.needed];
            assert!(numbers.into_iter().flatten().all(f64::is_finite), "{answer:?}");
        }
    }
    let equal = Comparison::of(&[of(&[(7, 900)])], &[of(&[(7, 800)])], Design::Whole, &questions);
    assert_eq!(equal.core.verdict, Verdict::Equivalent);
    assert_eq!((equal.quartiles.estimate, equal.deviation.of_a.is_some()), (None, false));
    let few = [of(&[(1000, 1), (1100, 1), (1200, 1)])];
    let found = Comparison::of(&[of(&[(7, 100), (8, 50)])], &few, Design::Whole, &questions);
    assert_eq!(
        (found.deviation.low, found.deviation.high),
        (None, None),
        "three events say nothing of spread"
    );
}

#[test]
fn what_matters_is_two_per_cent_or_what_was_said_and_no_relative_change_is_said_of_nothing() {
    let of = |low: i64, effect: Option<f64>| {
        let side = |more: i64| {
            let ticks = (0..1000).map(|event| (low + event + more, 1));
            [crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()]
        };
        let questions = Questions { smallest_effect: effect, ..ALL };
        Comparison::of(&side(0), &side(100), Design::Whole, &questions).core
    };
    let far = of(9500, None);
    near(Some(far.smallest_effect), 0.02 * far.of_a.unwrap(), 1e-9);
    near(far.relative, 100.0 / far.of_a.unwrap(), 1e-9);
    near(Some(of(9500, Some(0.001)).smallest_effect), 0.001 * far.of_a.unwrap(), 1e-9);
    let below = of(-1000, None);
    assert!(below.of_a.unwrap() < 0.0 && below.relative.is_none(), "{below:?}");
    near(Some(below.smallest_effect), 0.02 * -below.of_a.unwrap(), 1e-9);
}

#[test]
fn where_no_threshold_is_given_a_hundredth_of_a_is_long() {
    let found = Comparison::of(&lossy(|_| 0), &lossy(|_| 0), Design::Apart, &ALL);
    assert_eq!((found.batches, found.threshold.is_some()), ((20, 20), true));
    assert!((found.above.0 / 20_000.0 - 0.01).abs() < 0.005 && found.above.0 == found.above.1, "{found:?}");
    assert_eq!((found.tail_mass.estimate, found.b_slower), (Some(1.0), Some(0.5)));
    let given = Questions { above: Some(1099.0), ..ALL };
    let given = Comparison::of(&lossy(|_| 0), &lossy(|_| 0), Design::Apart, &given);
    assert_eq!((given.threshold, given.farther), (Some(1099.0), None));
}

#[test]
fn one_worse_question_beside_better_ones_is_mixed_and_none_is_no_evidence() {
    use Verdict::{Equivalent, Improved, NoEvidence, Regressed};
    assert_eq!(Overall::of(&[Improved, Equivalent, Regressed]), Overall::Mixed);
    assert_eq!(Overall::of(&[Improved, NoEvidence]), Overall::Improved);
    assert_eq!(Overall::of(&[Regressed, NoEvidence]), Overall::Regressed);
    assert_eq!(Overall::of(&[Equivalent, NoEvidence]), Overall::NoEvidence);
    assert_eq!(Overall::of(&[Equivalent, Equivalent]), Overall::Equivalent);
    assert_eq!(Overall::of(&[]), Overall::NoEvidence);
}

#[test]
fn the_shift_of_each_quantile_is_that_of_a_side_that_was_moved() {
    let of = |more: i64| {
        let ticks = (0..2000).map(|event| (10_000 + 5 * event + more, 1));
        [crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()]
    };
    let found = shifts(&of(0), &of(700), Design::Whole, &[0.1, 0.5, 0.9, 0.9999]);
    assert_eq!(found.iter().map(|shift| shift.p).collect::<Vec<_>>(), [0.1, 0.5, 0.9]);
    for shift in found {
        near(Some(shift.estimate), 700.0, 1e-6);
        assert!(shift.low.unwrap() < 700.0 && shift.high.unwrap() > 700.0, "{shift:?}");
    }
}

/// Two sides of so many events in order, each like the one before it by so much; B's so many times as long.
fn remembering(share: f64, count: usize, times: f64, seed: u64) -> Comparison {
    use rand::SeedableRng as _;
    use rand_distr::{Distribution as _, StandardNormal};
    let mut chance = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut side = |times: f64| -> Vec<i64> {
        let mut level: f64 = StandardNormal.sample(&mut chance);
        let mut next = |_| {
            let news: f64 = StandardNormal.sample(&mut chance);
            level = share * level + (1.0 - share * share).sqrt() * news;
            (times * 100_000.0 * (0.35 * level).exp()) as i64
        };
        (0..count).map(&mut next).collect()
    };
    let (a, b) = (side(1.0), side(times));
    let counted = |events: &[i64]| {
        let ticks = events.iter().map(|&tick| (tick, 1));
        crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()
    };
    let blocks = |events: &[i64]| crate::order::blocks(events).map(counted).collect::<Vec<_>>();
    if crate::order::are_dependent(&[&a, &b], seed) {
        Comparison::of(&blocks(&a), &blocks(&b), Design::Apart, &ALL)
    } else {
        Comparison::of(&[counted(&a)], &[counted(&b)], Design::Whole, &ALL)
    }
}

#[test]
fn sides_of_one_thing_that_remembers_are_seldom_called_different_however_few_their_events() {
    const PAIRS: u64 = 60;
    for (share, count) in [(0.5, 20), (0.9, 20), (0.99, 20), (0.9, 60), (0.99, 100), (0.9, 300), (0.99, 300)]
    {
        let is_wrong = |seed: &u64| {
            let verdict = remembering(share, count, 1.0, *seed).verdict;
            !matches!(verdict, Overall::NoEvidence | Overall::Equivalent)
        };
        let wrong = (0..PAIRS).filter(is_wrong).count();
        assert!(wrong <= 6, "{share} {count}: {wrong} of {PAIRS}");
    }
}

#[test]
fn twenty_times_as_slow_is_told_beside_events_that_remember() {
    // Of few events it is told less often: of 100 that remember by nine tenths, which are as five that do not, by half.
    for (share, count, least) in [(0.5, 20, 15), (0.9, 100, 10), (0.9, 300, 18), (0.5, 300, 18)] {
        let told =
            (0..20).filter(|&seed| remembering(share, count, 20.0, seed).core.verdict == Verdict::Regressed);
        let told = told.count();
        assert!(told >= least, "{share} {count}: {told} of 20");
    }
}

#[test]
fn a_percentile_that_so_few_events_have_is_no_tail_unless_it_is_said_what_is_long() {
    let side = |more: i64| {
        let ticks = (0..150).map(|event| (1000 + event + more, 1));
        [crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()]
    };
    let asked = |above: Option<f64>| {
        Comparison::of(&side(0), &side(100), Design::Whole, &Questions { above, ..ALL }).tail_mass.estimate
    };
    assert!(asked(None).is_none() && asked(Some(1100.0)).is_some());
}

#[test]
fn no_interval_reaches_to_negative_delays_or_to_more_than_all_of_b() {
    // Blocks that wander from level to level: few are left of them, and Student's t of so few reaches far.
    let side = |levels: &dyn Fn(i64) -> i64, sign: i64| -> Vec<Binned> {
        let block = |number: i64| {
            let ticks = (0..100).map(|event| (sign * (levels(number) + event), 1));
            crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()
        };
        (0..40).map(block).collect()
    };
    let levels: [&dyn Fn(i64) -> i64; 4] = [
        &|number| if number < 20 { 20 } else { 400 },
        &|number| 20 + 10 * number,
        &|number| if number == 30 { 5_000 } else { 50 },
        &|_| 60,
    ];
    let questions = Questions { percentile: 0.99, above: Some(100.0), smallest_effect: None, more_loss: 0.0 };
    for (a, b) in levels.iter().flat_map(|a| levels.iter().map(move |b| (a, b))) {
        for design in [Design::Apart, Design::Interleaved, Design::Whole] {
            let found = Comparison::of(&side(a, 1), &side(b, 1), design, &questions);
            for quantile in [found.core, found.high_percentile] {
                let Some((low, of_a)) = quantile.low.zip(quantile.of_a) else { continue };
                assert!(low >= -of_a - 1.0, "{design:?}: {quantile:?}");
            }
            let ratio = found.tail_mass;
            let Some((high, of_a)) = ratio.high.zip(ratio.of_a) else { continue };
            assert!(high <= 1.0 / of_a && ratio.low.unwrap() >= 0.0, "{design:?}: {ratio:?}");
        }
    }
    // What is below none itself may fall farther.
    let below = Comparison::of(&side(levels[0], -1), &side(levels[1], -1), Design::Apart, &questions).core;
    assert!(below.low.unwrap() < -100.0, "{below:?}");
}
