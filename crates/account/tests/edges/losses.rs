//! When packets were lost, at the edges: what is a burst, what is all the time, how much chance spreads.

use super::MS;
use dropline_account::Stalls;
use dropline_account::losses::{Burst, Losses, Shape};

/// Losses of packets that are not neighbours.
fn apart(times: &[u64]) -> Vec<(u64, usize)> {
    times.iter().enumerate().map(|(n, &at)| (at, 2 * n)).collect()
}

fn of(lost: &[(u64, usize)], duration_ns: u64) -> Losses {
    Losses::of(lost, duration_ns, None).unwrap()
}

#[test]
fn losses_a_millisecond_apart_are_one_burst_and_a_nanosecond_more_makes_two() {
    assert_eq!(of(&apart(&[0, MS]), 100 * MS).bursts, 1);
    assert_eq!(of(&apart(&[0, MS + 1]), 100 * MS).bursts, 2);
    let next = [(0, 4), (MS + 1, 5)];
    assert_eq!((of(&next, 100 * MS).bursts, of(&next, 100 * MS).longest_run), (1, 2));
    assert_eq!(of(&apart(&[0, MS]), 100 * MS).longest_run, 1);
}

#[test]
fn the_longest_burst_is_the_one_that_lost_most_and_the_median_is_of_all() {
    let times = [0, 10 * MS, 10 * MS, 20 * MS, 20 * MS, 20 * MS, 50 * MS, 50 * MS, 50 * MS, 50 * MS, 51 * MS];
    let found = of(&apart(&times), 100 * MS);
    assert_eq!((found.lost, found.bursts, found.median_burst), (11, 4, 3));
    assert_eq!(found.longest, Burst { from_ns: 50 * MS, to_ns: 51 * MS, packets: 5 });
}

/// So many losses, spread evenly over the first windows of 10 ms, in a second.
fn in_windows(windows: u64, losses: u64) -> Shape {
    let mut times: Vec<u64> = (0..losses).map(|n| n % windows * 10 * MS + n / windows * 100_000).collect();
    times.sort_unstable();
    of(&apart(&times), 1000 * MS).shape
}

#[test]
fn losses_in_nine_of_ten_windows_ten_in_each_on_average_are_all_the_time() {
    assert_eq!(in_windows(90, 1000), Shape::AllTheTime);
    assert_ne!(in_windows(89, 1000), Shape::AllTheTime, "a window too few");
    assert_ne!(in_windows(90, 999), Shape::AllTheTime, "a packet too few");
    assert_eq!(in_windows(20, 2000), Shape::Bursts, "many, and most of the time none");
}

#[test]
fn chance_spreads_up_to_twice_the_mean() {
    // Two windows of 10 ms: of 6 and 2 losses the variance is twice the mean, of 7 and 2 more.
    let two = |first: u64, second: u64| {
        let times: Vec<u64> = (0..first).chain((0..second).map(|n| 10 * MS + n)).collect();
        let found = of(&apart(&times), 20 * MS);
        (found.dispersion[1], found.shape)
    };
    assert_eq!(two(6, 2), (Some(2.0), Shape::Spread));
    assert_eq!(two(7, 2), (Some(25.0 / 9.0), Shape::Bursts));
    assert_eq!(two(2, 0).1, Shape::Spread, "two losses are no burst");
    assert_eq!(two(3, 0), (Some(3.0), Shape::Bursts));
}

#[test]
fn windows_that_are_not_whole_say_nothing() {
    let lost = apart(&[1, 25 * MS]);
    let found = of(&lost, 29 * MS);
    assert_eq!(found.dispersion[1], Some(1.0), "two whole windows with one loss, and half a one");
    assert_eq!(found.dispersion[2], None);
    assert_eq!(of(&lost, 19_999_999).dispersion[1], None, "one window has no variance");
    assert_eq!(of(&apart(&[25 * MS]), 25 * MS).dispersion[1], None, "no loss in a whole window");
    assert_eq!(of(&apart(&[20 * MS]), 25 * MS).dispersion[1], None, "the third window is not whole");
}

#[test]
fn a_loss_a_millisecond_after_a_stall_is_its_and_one_before_is_not() {
    let stalls = Stalls::new(vec![(10 * MS, 20 * MS)]);
    let while_stalled = |at: u64| Losses::of(&[(at, 0)], 100 * MS, Some(&stalls)).unwrap().while_stalled;
    for (at, is) in [(10 * MS - 1, 0), (10 * MS, 1), (20 * MS - 1, 1), (21 * MS, 1), (21 * MS + 1, 0)] {
        assert_eq!(while_stalled(at), Some(is), "{at}");
    }
}

#[test]
fn ten_losses_of_which_nine_are_one_run_are_a_burst_if_the_others_are_together_too() {
    // In one window of 10 ms, of which there is no second.
    let shape = |run: usize, others: &[(u64, usize)]| {
        let mut lost: Vec<(u64, usize)> = (0..run).map(|n| (n as u64, n)).collect();
        lost.extend(others);
        of(&lost, 19 * MS).shape
    };
    assert_eq!((shape(10, &[]), shape(9, &[])), (Shape::Bursts, Shape::Spread));
    let beside = [(100, 50), (200, 60)];
    assert_eq!((shape(9, &beside[..1]), shape(8, &beside)), (Shape::Bursts, Shape::Spread));
    let apart = [(3 * MS, 50), (6 * MS, 60)];
    assert_eq!((shape(18, &[apart[0], (3 * MS, 60)]), shape(18, &apart)), (Shape::Bursts, Shape::Spread));
}

#[test]
fn fifty_losses_that_lie_more_evenly_than_a_fifth_of_what_chance_does_are_regular() {
    // One in each window of 10 ms, but two in some and none in as many; the last packet of all is lost.
    let shape = |losses: usize, uneven: usize, all: usize| {
        let window = |n: usize| if n < 2 * uneven { n / 2 * 2 } else { n } as u64;
        let mut lost: Vec<(u64, usize)> =
            (0..losses).map(|n| (window(n) * 10 * MS, n + n * (all - losses) / losses)).collect();
        lost.last_mut().unwrap().1 = all - 1;
        let found = of(&lost, losses as u64 * 10 * MS);
        assert_eq!(found.every, None);
        found.shape
    };
    assert_eq!((shape(50, 0, 500), shape(49, 0, 500)), (Shape::Regular, Shape::Spread));
    assert_eq!((shape(50, 0, 56), shape(50, 0, 55)), (Shape::Regular, Shape::Spread), "nearly all of them");
    // A dispersion of 4/49, and a fifth of the packets that are kept.
    assert_eq!((shape(50, 2, 85), shape(50, 2, 84)), (Shape::Regular, Shape::Spread));
}
