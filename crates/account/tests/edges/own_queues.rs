//! When what a program took and did not answer was lost in a queue of its own that was full.

use super::{MS, Seen, US, times};
use dropline_account::Explanation;
use dropline_account::explanation::Lack;
use dropline_trial::{Look, TargetActivity};

/// Packets that come one after the other, so many that are answered and then so many that are not; then all answers.
type Round = (usize, usize);

fn rounds(rounds: &[Round]) -> Vec<(u64, Option<u64>)> {
    let mut packets = Vec::new();
    for (round, &(served, lost)) in (1..).zip(rounds) {
        let (begin, back) = (round * 1_000_000, round * 1_000_000 + 500_000);
        packets.extend((0..served as u64).map(|n| (begin + n, Some(back + n))));
        packets.extend((served..served + lost).map(|n| (begin + n as u64, None)));
    }
    packets
}

/// What is said of packets that were taken and not answered, at a socket that was looked at first and last.
fn explained(packets: &[(u64, Option<u64>)]) -> Explanation {
    let seen = Seen::of(times(packets));
    let lost = seen.lost;
    let look = |at_ns| Look { at_ns, drops: Some(0), ..Look::default() };
    let samples = vec![look(0), look(1_000_000_000)];
    let watched = TargetActivity { samples, ..TargetActivity::default() };
    let found = seen.watched(watched).lost_at(&[("unexplained", lost)]).explained();
    assert_eq!(found.unanswered, lost);
    found
}

/// Whether they are laid to a queue of the program's own.
fn is_of_a_queue(packets: &[(u64, Option<u64>)]) -> bool {
    explained(packets).buffer.is_some_and(|buffer| buffer.own_queue)
}

fn is_full(of: &[Round]) -> bool {
    is_of_a_queue(&rounds(of))
}

#[test]
fn a_queue_of_four_is_told_from_losses_of_any_other_kind_and_one_of_three_is_not() {
    assert_eq!([is_full(&[(5, 2); 40]), is_full(&[(4, 2); 40])], [true, false]);
}

#[test]
fn nine_of_ten_lost_packets_found_three_quarters_or_more_of_what_fits() {
    let found = |least: usize| is_full(&[[(21, 1); 5].as_slice(), &[(least + 1, 1)], &[(21, 1); 4]].concat());
    assert_eq!([found(15), found(14)], [true, false], "of 20");
    let others = |others: usize| {
        is_full(&[[(21, 1); 5].as_slice(), &[(5, 1)].repeat(others), &[(21, 1)].repeat(7 - others)].concat())
    };
    assert_eq!([others(1), others(2)], [true, false], "of twelve one may have found next to none");
}

#[test]
fn one_served_packet_in_a_hundred_may_find_a_quarter_and_two_more_than_fit() {
    // Of 20 that fit, one more would be 28: the last of 30 that are served finds so many.
    let full = [(21, 5); 3];
    let found = |beside: &[Round]| is_full(&[&full, beside].concat());
    assert_eq!(
        [found(&[(30, 0), (7, 0)]), found(&[(30, 0), (6, 0)])],
        [true, false],
        "one of a hundred, of 99"
    );
    assert!(found(&[(29, 0)]), "27 are not far more");
}

#[test]
fn nothing_is_lost_before_a_queue_is_full_for_the_first_time() {
    // One in ten may be lost at any other time.
    let full = [(21, 5); 4];
    let (early, late) = ([[(15, 1)].as_slice(), &full].concat(), [&full, [(15, 1)].as_slice()].concat());
    assert_eq!([is_full(&early), is_full(&late)], [false, true]);
    assert!(is_full(&[[(16, 1)].as_slice(), &full].concat()), "three quarters are full");
}

/// A queue of so many that is never empty: each 40 us an answer, with two packets a little before the one or after the other,
/// of which this is lost.
fn always_full(waiting: u64, served_ns: i64, lost_ns: i64) -> Vec<(u64, Option<u64>)> {
    let first = (0..=waiting).map(|n| (n, Some(MS + 40 * US * n)));
    let turns = (0..100).flat_map(|n| {
        let answer = MS + 40 * US * n;
        let beside = |ns: i64| answer.checked_add_signed(ns).unwrap();
        [(beside(served_ns), Some(answer + 40 * US * (waiting + 1))), (beside(lost_ns), None)]
    });
    first.chain(turns).collect()
}

#[test]
fn a_queue_that_is_full_nearly_all_the_time_loses_whichever_packet_comes_and_is_known_by_sixteen_that_wait() {
    assert_eq!([16, 15].map(|waiting| is_of_a_queue(&always_full(waiting, -1000, 1000))), [true, false]);
}

#[test]
fn a_program_that_loses_other_packets_than_a_full_queue_does_may_drop_them_by_itself() {
    let found = |served_ns, lost_ns| {
        let found = explained(&always_full(16, served_ns, lost_ns));
        assert!(found.model.is_some_and(|model| model.measured == 100 && model.fits()), "{:?}", found.model);
        (found.lacks.contains(&Lack::CountAlone), found.remedies.is_empty())
    };
    // Of each two the second finds no room in a queue; this one takes the second.
    assert_eq!((found(-20_000, -10_000), found(-10_000, -20_000)), ((false, false), (true, true)));
}
