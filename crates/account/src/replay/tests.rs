use super::*;
use crate::queue::{md1k_loss, mm1k_loss};
use dropline_trial::{Arrival, Rate, TrialInput};
use proptest::prelude::*;
use std::time::Duration;

/// Serves one packet at a time, each for 1000 ns, without any cost beside.
fn server(room: Room) -> Server {
    Server {
        room,
        family: AddressFamily::V4,
        queue: None,
        workers: 1,
        batch: 1,
        wake_ns: 0,
        read_ns: 0,
        service: Service::Fixed(1000),
        stalls: Stalls::default(),
    }
}

fn small(times: impl IntoIterator<Item = u64>) -> Vec<Arriving> {
    times.into_iter().map(|at_ns| Arriving { at_ns, payload_bytes: 16 }).collect()
}

fn lost(times: &[Arriving], server: &Server) -> u64 {
    replay(times.iter().copied(), server, 7).lost()
}

/// Poisson arrivals at a load of `load` on a server that takes 1000 ns.
fn poisson(load: f64, seconds: f64, seed: u64) -> Vec<Arriving> {
    let input =
        TrialInput { load: Rate::pps(load * 1e6).unwrap(), duration: Duration::from_secs_f64(seconds) };
    small(Arrival::poisson().departures(input, seed))
}

#[test]
fn constant_arrivals_slower_than_the_service_find_nothing_waiting() {
    let found = replay(small((0..1000).map(|n| n * 1000)), &server(Room::Packets(1)), 7);
    assert_eq!((found.lost(), found.largest_backlog), (0, 0));
}

#[test]
fn constant_arrivals_twice_as_fast_as_the_service_lose_every_other_packet() {
    // One in service and four waiting once the start is over.
    let found = replay(small((0..1000).map(|n| n * 500)), &server(Room::Packets(4)), 7);
    assert_eq!((found.lost(), found.largest_backlog), (1000 - 500 - 5 + 1, 4));
    assert!(!found.seen[..9].iter().any(|seen| seen.lost));
    assert!(found.seen[20..].chunks(2).all(|pair| pair[0].lost != pair[1].lost));
}

#[test]
fn a_burst_into_a_full_buffer_loses_what_is_beyond_it() {
    // 128 clients woken by one tick, a server that is awake when all have sent, a buffer of 64 packets.
    let tick: Vec<u64> = (0..5u64).flat_map(|tick| vec![tick * 20_000_000; 128]).collect();
    let room = Room::Linux { buffer_bytes: 64 * 832 };
    let slept = |room: Room| Server { wake_ns: 30_000, ..server(room) };
    assert_eq!(lost(&small(tick.clone()), &slept(room)), 5 * (128 - 64));
    assert_eq!(lost(&small(tick.clone()), &server(room)), 5 * (128 - 65), "awake, it reads the first");
    assert_eq!(lost(&small(tick), &slept(Room::Linux { buffer_bytes: 128 * 832 })), 0);
}

#[test]
fn room_that_comes_in_quarters_loses_more_than_room_that_comes_singly() {
    // 80 packets at once, then one each service time: places are free, but not given back.
    let times: Vec<u64> = vec![0; 64].into_iter().chain((0..40).map(|n| 1500 + n * 1000)).collect();
    let in_quarters = lost(&small(times.clone()), &server(Room::Linux { buffer_bytes: 64 * 832 }));
    let singly = lost(&small(times), &server(Room::Packets(64)));
    assert!(singly == 0 && in_quarters > 10, "{singly} and {in_quarters}");
}

#[test]
fn a_stall_loses_what_arrives_beyond_the_buffer_meanwhile() {
    let stalled = Server { stalls: Stalls::new(vec![(100_000, 150_000)]), ..server(Room::Packets(10)) };
    let found = replay(small((0..100).map(|n| n * 2000)), &stalled, 7);
    // 25 arrive from 100 to 148 us; one is read at 150, ten wait.
    assert_eq!(found.lost(), 15);
    assert!(found.seen.iter().position(|seen| seen.lost) == Some(60));
}

#[test]
fn a_server_that_slept_takes_its_time_to_wake() {
    let sleepy = Server { wake_ns: 50_000, ..server(Room::Packets(10)) };
    assert_eq!(
        lost(&small((0..40).map(|n| n * 1000)), &sleepy),
        30,
        "all are there before it reads the first"
    );
}

#[test]
fn two_workers_serve_twice_as_much() {
    let times = small((0..1000).map(|n| n * 500));
    let two = Server { workers: 2, ..server(Room::Packets(1)) };
    assert_eq!(lost(&times, &two), 0);
}

#[test]
fn a_batch_pays_for_its_system_call_once() {
    let times = small((0..1000).map(|n| n * 1500));
    let one = Server { read_ns: 1000, ..server(Room::Packets(20)) };
    let many = Server { batch: 16, ..one.clone() };
    assert!(lost(&times, &one) > 200);
    assert_eq!(lost(&times, &many), 0);
}

#[test]
fn a_server_with_a_queue_of_its_own_loses_there() {
    let burst = small(vec![0; 100]);
    let queued = Server { queue: Some(10), batch: 64, ..server(Room::Unlimited) };
    let found = replay(burst, &queued, 7);
    assert_eq!((found.lost_at_socket, found.lost_at_queue), (0, 89), "one is served, ten wait");
    assert_eq!(found.seen.iter().filter(|seen| seen.lost).count(), 89);
    assert!(!found.seen[10].lost && found.seen[11].lost);
}

#[test]
fn poisson_arrivals_lose_what_the_exact_queue_says() {
    for (load, room) in [(0.905, 16u32), (0.7, 4), (1.0, 10), (1.5, 6)] {
        let exact = md1k_loss(load, room + 1).unwrap();
        let losses: Vec<f64> = (0..20)
            .map(|seed| {
                let arrivals = poisson(load, 0.05, seed);
                replay(arrivals, &server(Room::Packets(u64::from(room))), 7).loss_ratio().unwrap()
            })
            .collect();
        let mean = dropline_stats::sample::mean(&losses).unwrap();
        let error = dropline_stats::sample::standard_error(&losses).unwrap();
        assert!((mean - exact).abs() < 4.0 * error, "{load} {room}: {mean} ± {error}, exactly {exact}");
    }
}

#[test]
fn a_course_of_services_is_followed_in_time() {
    // 1000 ns until 50 us, then 3000: arrivals each 1000 ns lose two in three from there on.
    let slower = Service::Course([(0, 1000), (50_000, 3000)].into());
    let found =
        replay(small((0..110).map(|n| n * 1000)), &Server { service: slower, ..server(Room::Packets(1)) }, 7);
    assert!(!found.seen[..51].iter().any(|seen| seen.lost));
    assert_eq!(found.seen[53..110].iter().filter(|seen| seen.lost).count(), 38);
}

#[test]
fn drawn_exponential_services_lose_what_the_exact_queue_says() {
    let services: Vec<u64> = {
        let input = TrialInput { load: Rate::pps(1e6).unwrap(), duration: Duration::from_millis(200) };
        let times: Vec<u64> = Arrival::poisson().departures(input, 99).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    let exact = mm1k_loss(0.8, 6).unwrap();
    let drawn = Server { service: Service::Drawn(services.into()), ..server(Room::Packets(5)) };
    let losses: Vec<f64> =
        (0..20).map(|seed| replay(poisson(0.8, 0.05, seed), &drawn, seed).loss_ratio().unwrap()).collect();
    let mean = dropline_stats::sample::mean(&losses).unwrap();
    let error = dropline_stats::sample::standard_error(&losses).unwrap();
    assert!((mean - exact).abs() < 4.0 * error, "{mean} ± {error}, exactly {exact}");
}

/// The same server once more, stepped through nanosecond by nanosecond.
fn stepped(arrivals: &[Arriving], room: u64, service: u64, workers: usize) -> u64 {
    let serve = |busy: &mut [u64], waiting: &mut u64| {
        for left in busy {
            if *left == 0 && *waiting > 0 {
                *waiting -= 1;
                *left = service;
            }
        }
    };
    let (mut waiting, mut lost) = (0, 0);
    let mut busy = vec![0u64; workers];
    let end = arrivals.last().map_or(0, |packet| packet.at_ns);
    for now in 0..=end {
        busy.iter_mut().for_each(|left| *left = left.saturating_sub(1));
        serve(&mut busy, &mut waiting);
        for _ in arrivals.iter().filter(|packet| packet.at_ns == now) {
            if waiting < room {
                waiting += 1;
            } else {
                lost += 1;
            }
            serve(&mut busy, &mut waiting);
        }
    }
    lost
}

proptest! {
    #[test]
    fn a_replay_agrees_with_a_clock_that_ticks_every_nanosecond(
        mut times in proptest::collection::vec(0..200u64, 0..60), room in 1..6u64, service in 1..20u64, workers in 1..4usize
    ) {
        times.sort_unstable();
        let arrivals = small(times);
        let server = Server {
            service: Service::Fixed(service),
            workers: workers as u32,
            ..server(Room::Packets(room))
        };
        prop_assert_eq!(lost(&arrivals, &server), stepped(&arrivals, room, service, workers));
    }

    #[test]
    fn nothing_is_lost_without_end_of_room(mut times in proptest::collection::vec(0..100_000u64, 0..100)) {
        times.sort_unstable();
        prop_assert_eq!(lost(&small(times), &server(Room::Unlimited)), 0);
    }

    #[test]
    fn more_room_never_loses_more(mut times in proptest::collection::vec(0..100_000u64, 0..200)) {
        times.sort_unstable();
        let times = small(times);
        let losses: Vec<u64> = (1..30).map(|room| lost(&times, &server(Room::Packets(room)))).collect();
        prop_assert!(losses.is_sorted_by(|more, less| more >= less), "{:?}", losses);
        let linux = lost(&times, &server(Room::Linux { buffer_bytes: 64 * 832 }));
        prop_assert!(linux >= lost(&times, &server(Room::Packets(64))));
        prop_assert!(linux <= lost(&times, &server(Room::Packets(47))));
    }
}
