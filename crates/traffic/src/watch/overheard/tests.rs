use super::*;
use std::net::UdpSocket;
use std::sync::atomic::AtomicU64;

#[test]
fn a_rate_is_told_only_of_a_time_that_has_passed() {
    assert_eq!(rate_pps(100, Duration::from_micros(50)), None, "not two million a second");
    assert_eq!(rate_pps(0, Duration::ZERO), None);
    assert_eq!(rate_pps(100, GLIMPSE), Some(400.0));
}

/// Listens while `work` goes on, from when it has begun until so many packets have arrived; `None` without the
/// privilege.
fn heard(port: Port, packets: u64, work: impl FnOnce()) -> Option<Overheard> {
    let (stop, begun) = (AtomicBool::new(false), AtomicBool::new(false));
    let heard = std::thread::scope(|scope| {
        let listening = scope.spawn(|| {
            let see = |glimpse: &Glimpse| {
                begun.store(true, Ordering::Relaxed);
                if glimpse.arrived.is_none_or(|arrived| arrived >= packets) {
                    stop.store(true, Ordering::Relaxed);
                }
            };
            port.listen(Some(Duration::from_secs(30)), &stop, see, |_| {})
        });
        while !begun.load(Ordering::Relaxed) && !listening.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        work();
        listening.join().unwrap().unwrap()
    });
    heard.untapped.is_none().then_some(heard)
}

#[test]
fn packets_for_somebody_elses_socket_are_heard_and_its_drops_counted() {
    let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (target, other, sender) = (bind(), bind(), bind());
    let port = Port::open(target.local_addr().unwrap().port(), None, Duration::from_millis(5)).unwrap();
    let heard = heard(port, 1000, || {
        for _ in 0..1000 {
            sender.send_to(&[0; 100], target.local_addr().unwrap()).unwrap();
            sender.send_to(&[0; 50], other.local_addr().unwrap()).unwrap();
        }
    });
    // Without the privilege there is nothing to hear.
    let Some(heard) = heard else { return };
    let packets = heard.packets.unwrap();
    assert_eq!((heard.arrived, packets.len()), (Some(1000), 1000));
    assert!(packets.iter().all(|packet| packet.payload_bytes == Some(100)));
    let held = heard.watched.buffer_bytes.unwrap() / 832;
    assert_eq!((heard.dropped, heard.missed), (1000 - held, 0));
}

#[test]
fn packets_that_came_after_the_service_had_ended_are_lost_for_want_of_a_socket() {
    // The kernel gives away no such port: no other test gets it once it is free.
    let target = (20_000..30_000).find_map(|port| UdpSocket::bind(("127.0.0.1", port)).ok()).unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = target.local_addr().unwrap();
    let port = Port::open(at.port(), None, Duration::from_millis(5)).unwrap();
    let send = |packets| (0..packets).for_each(|_| drop(sender.send_to(&[0; 100], at)));
    let (stop, glimpses) = (AtomicBool::new(false), AtomicU64::new(0));
    let after_glimpses = |more: u64| {
        let seen = glimpses.load(Ordering::Relaxed);
        while glimpses.load(Ordering::Relaxed) < seen + more {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let heard = std::thread::scope(|scope| {
        let listening = scope.spawn(|| {
            let see = |_: &Glimpse| _ = glimpses.fetch_add(1, Ordering::Relaxed);
            port.listen(Some(Duration::from_secs(60)), &stop, see, |_| {})
        });
        after_glimpses(1);
        send(100);
        (0..70).for_each(|_| _ = target.recv(&mut [0; 200]).unwrap());
        // The socket was looked at behind these.
        after_glimpses(2);
        drop(target);
        send(1000);
        listening.join().unwrap().unwrap()
    });
    if heard.untapped.is_some() {
        return;
    }
    assert_eq!(heard.arrived, Some(1100));
    assert!(matches!(heard.ended, Some(OverhearError::Closed(_))));
    assert_eq!((heard.without_socket, heard.unread), (1000, 30));
    assert_eq!(heard.account.lost_at["no_listener"], 1000);
    assert_eq!(heard.account.lost_at["unread"], 30);
    assert_eq!(heard.account.lost_at.values().sum::<u64>(), 1030);
}

#[test]
fn what_programs_read_of_others_hides_a_loss_and_invents_none() {
    use dropline_account::{Bars, Space, Stack, TargetSockets};
    let grown = |udp_read, drops, waiting_bytes| Snapshot {
        spaces: vec![Space {
            id: 1,
            role: Role::Both,
            stack: Stack { udp_read, ..Stack::default() },
            devices: None,
            hooked: None,
            ruled: None,
            ruled_way: None,
            drops_arriving: Bars::Unseen,
            drops_leaving: Bars::Unseen,
            source_is_own: false,
            neighbour_found: None,
            flow: None,
        }],
        target: Some(TargetSockets { identity: 1, drops, waiting_bytes }),
        ..Snapshot::default()
    };
    let told = |grown: Snapshot, arrived| {
        let mut presence =
            Presence::begin(TargetSockets { identity: 1, ..TargetSockets::default() }, AddressFamily::V4);
        presence.look(1, grown.target);
        let (outcome, _) = outcome(&grown, arrived, &presence, None);
        (outcome.offered, outcome.forwarded)
    };
    assert_eq!(told(grown(900, 40, 10 * 832), Some(1000)), (1000, 910), "40 at the socket, 50 before it");
    assert_eq!(told(grown(5000, 40, 0), Some(1000)), (1000, 960), "others read too");
    assert_eq!(told(grown(900, 40, 0), None), (940, 900), "not tapped");
}

#[test]
fn a_port_that_nobody_has_is_no_port_to_hear() {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let refused = Port::open(free, None, Duration::from_millis(5)).unwrap_err();
    assert!(matches!(refused, OverhearError::NoSocket(port) if port == free));
}
