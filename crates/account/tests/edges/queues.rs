//! Where the exact queues end, and how the parts of a replay add up.

use dropline_account::{AddressFamily, Arriving, Replayed, Room, Server, Service, Stalls, md1k_loss, replay};

#[test]
fn a_queue_is_computed_up_to_its_largest_room_and_load_and_not_beyond() {
    assert!(md1k_loss(500.0, 3).is_some_and(|loss| (0.99..1.0).contains(&loss)));
    assert_eq!(md1k_loss(500.000_001, 3), None);
    assert!(md1k_loss(0.01, 100_000).is_some_and(|loss| (0.0..1e-300).contains(&loss)));
    assert_eq!(md1k_loss(0.01, 100_001), None);
}

fn server(room: Room, service: Service) -> Server {
    Server {
        room,
        family: AddressFamily::V4,
        queue: None,
        workers: 1,
        batch: 1,
        wake_ns: 0,
        read_ns: 0,
        service,
        stalls: Stalls::default(),
    }
}

fn found(times: impl IntoIterator<Item = u64>, server: &Server) -> Replayed {
    replay(times.into_iter().map(|at_ns| Arriving { at_ns, payload_bytes: 16 }), server, 7)
}

#[test]
fn an_arrival_finds_what_waits_at_the_socket_and_in_the_servers_own_queue() {
    // It wakes in 10 ns, reads four packets at most, and keeps two beside the one that it serves.
    let queued =
        Server { queue: Some(2), batch: 4, wake_ns: 10, ..server(Room::Unlimited, Service::Fixed(1000)) };
    let found = found([0, 0, 0, 0, 5, 100, 105], &queued);
    let backlogs: Vec<u32> = found.seen.iter().map(|seen| seen.backlog).collect();
    assert_eq!(backlogs, [0, 1, 2, 3, 4, 1, 2], "at the end one at the socket and one in the queue");
    assert_eq!((found.lost_at_socket, found.lost_at_queue, found.largest_backlog), (0, 4, 4));
}

#[test]
fn a_replay_of_nothing_has_no_loss_ratio_and_any_other_has() {
    let server = server(Room::Packets(1), Service::Fixed(1000));
    assert_eq!(found([], &server).loss_ratio(), None);
    assert_eq!(found([0], &server).loss_ratio(), Some(0.0));
    assert_eq!(found([0, 0, 0, 0], &server).loss_ratio(), Some(0.5), "one is served and one waits");
}

#[test]
fn services_that_are_drawn_again_come_in_runs_of_32_neighbours() {
    // Seventy packets at once, then one a microsecond that sees how many were begun.
    let services: Vec<u64> = (1..=64).map(|n| n * 1000).collect();
    let drawn = server(Room::Unlimited, Service::Drawn(services.into()));
    let found = found(std::iter::repeat_n(0, 70).chain((0..5000).map(|n| n * 1000 + 500)), &drawn);
    let begun = |index: usize| index - found.seen[index].backlog as usize;
    let begins: Vec<usize> = (1..=65).map(|n| (70..5070).find(|&at| begun(at) >= n).unwrap()).collect();
    let took: Vec<usize> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for run in took.chunks(32) {
        assert!(run.windows(2).all(|pair| pair[1] == pair[0] % 64 + 1), "{run:?}");
    }
    assert_ne!(took[32], took[31] % 64 + 1, "the next run begins elsewhere");
}

#[test]
fn services_of_which_none_was_measured_take_no_time() {
    for service in [Service::Drawn([].into()), Service::Course([].into())] {
        assert_eq!(found([0, 1, 2], &server(Room::Packets(1), service)).lost(), 0);
    }
}
