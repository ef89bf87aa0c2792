//! Traffic that is not ours: what is listened in on is told apart by place too, trains as their datagrams.

use super::*;
use dropline_traffic::{Glimpse, Overheard, Port};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Listens at the target's port while `send` goes on, until as many packets have arrived there as it says.
fn listened(target: &Namespace, send: impl FnOnce() -> u64) -> Overheard {
    let (stop, begun, sent) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(u64::MAX));
    std::thread::scope(|scope| {
        let listening = scope.spawn(|| {
            let listen = || {
                let port = Port::open(PORT, None, Duration::from_millis(5)).unwrap();
                let see = |glimpse: &Glimpse| {
                    begun.store(true, Ordering::Relaxed);
                    stop.fetch_or(glimpse.arrived >= Some(sent.load(Ordering::Relaxed)), Ordering::Relaxed);
                };
                port.listen(Some(Duration::from_secs(30)), &stop, see, |_| {})
            };
            target.run(listen).unwrap().unwrap()
        });
        while !begun.load(Ordering::Relaxed) && !listening.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        sent.store(send(), Ordering::Relaxed);
        listening.join().unwrap()
    })
}

#[test]
#[cfg_attr(feature = "portable", ignore = "it hears nobody else's traffic")]
fn a_firewall_and_a_full_buffer_are_told_apart_for_traffic_of_others() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let rule = format!("udp sport 40001 udp dport {PORT} drop;");
    lab.target
        .nft(&format!("table inet dropline {{ chain in {{ type filter hook input priority 0; {rule} }}; }}"))
        .unwrap();
    let scene = Scene::of_pair(&lab);
    let barred = bound(&lab.client, lab.client_address, 40_001);
    let heard =
        listened(&lab.target, || scene.send_from(&barred, 100, PAYLOAD).offered + scene.send(500).offered);
    let held = 212_992 / 832;
    assert_eq!((heard.arrived, heard.dropped, heard.missed), (Some(600), 500 - held, 0));
    assert_eq!(at(&heard.account), [("netfilter", 100), ("receive_buffer", 500 - held)]);
    assert_eq!(read_all(&target), held);
}

#[test]
#[cfg_attr(feature = "portable", ignore = "it looks into no other namespace")]
fn a_process_in_another_namespace_is_listened_in_on_there() {
    let Some(lab) = built(Pair::new()) else { return };
    let mut stranger = lab.target.command("sleep").arg("60").spawn().unwrap();
    let every = Duration::from_millis(5);
    let port = |pid| Port::open(PORT, pid, every).map(|port| port.address());
    let inside = || in_namespace(stranger.id());
    let until = Instant::now() + Duration::from_secs(10);
    while inside() == in_namespace(std::process::id()) {
        assert!(Instant::now() < until, "it enters the namespace before it becomes another program");
        std::thread::sleep(Duration::from_millis(1));
    }
    let bound_nowhere = port(Some(stranger.id())).unwrap_err();
    let target = bound(&lab.target, lab.target_address, PORT);
    let found = port(Some(stranger.id()));
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert_eq!(bound_nowhere.to_string(), format!("no UDP socket here is bound to port {PORT}"));
    assert_eq!(found.unwrap(), target.local_addr().unwrap());
    assert_eq!(
        port(Some(stranger.id())).unwrap_err().to_string(),
        format!("there is no process {}", stranger.id())
    );
}

/// The network namespace of a process.
fn in_namespace(pid: u32) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

#[test]
#[cfg_attr(feature = "portable", ignore = "it sends no trains")]
fn a_train_is_heard_as_its_datagrams() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let options = MeasurerOptions {
        means: Means { send: SendMeans::Gso, ..Means::default() },
        ..MeasurerOptions::default()
    };
    let one_way = UdpTarget { address: target.local_addr().unwrap(), reply: Reply::None };
    let mut offered = 0;
    let heard = listened(&lab.target, || {
        // A sender that gets no CPU in time offers nothing.
        while offered == 0 {
            offered = trials::trial_of(&lab.client, one_way, &options, 400_000.0, 4000).offered;
        }
        offered
    });
    let packets = heard.packets.as_ref().unwrap();
    // Count queries are shorter, and nobody answers them here.
    let of_trial = packets.iter().filter(|packet| packet.payload_bytes == Some(PAYLOAD as u16)).count();
    assert_eq!(of_trial as u64, offered);
    let places: u64 = heard.account.lost_at.values().sum();
    assert_eq!((heard.account.lost_at["receive_buffer"], places), (heard.dropped, heard.dropped));
}
