//! Where packets vanish, made one place at a time in networks of our own. Which test is of which place, and in which
//! class, is a table of docs/explanation/loss.md.

#![allow(clippy::disallowed_methods)]

use dropline_account::{Account, Outcome, account};
use dropline_lab::{Bottleneck, Bridged, End, LabError, Namespace, Pair, built_or_skipped as built, connect};
use dropline_traffic::{
    Counters, Means, MeasurerOptions, Reply, Responder, SendMeans, UdpMeasurer, UdpTarget, Watching,
};
use dropline_trial::{Drain, Measurer as _, Packet, Rate, TrafficProfile, Trial, TrialInput};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[path = "places/at_bridges.rs"]
mod at_bridges;

#[path = "places/listened.rs"]
mod listened;

#[path = "places/made.rs"]
mod made;

#[path = "places/refused.rs"]
mod refused;

#[path = "places/remainders.rs"]
mod remainders;

#[path = "places/trials.rs"]
mod trials;

/// The table of places in docs/explanation/loss.md.
const TABLE: &str = "## Each place, made";
/// Where the tests that it names are.
const TESTS: [&str; 7] = [
    include_str!("places/listened.rs"),
    include_str!("places/made.rs"),
    include_str!("places/refused.rs"),
    include_str!("places/remainders.rs"),
    include_str!("places/trials.rs"),
    include_str!("namespaces.rs"),
    include_str!("../../account/tests/accounts/main.rs"),
];

#[test]
fn each_of_the_23_places_has_a_class_and_a_test() {
    let (_, table) = include_str!("../../../docs/explanation/loss.md").split_once(TABLE).unwrap();
    let rows = table.split("\n#").next().unwrap().lines().filter(|line| line.starts_with("| "));
    let mut numbers = std::collections::BTreeSet::new();
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        numbers.extend(cells[1].parse::<u32>());
        assert!(["exact", "refused", "remainder"].iter().any(|class| cells[3].starts_with(class)), "{row}");
        let named: Vec<&str> = cells[4].split('`').filter(|word| word.contains("_")).collect();
        let is_there = |test: &&str| TESTS.iter().any(|file| file.contains(&format!("fn {test}()")));
        assert!(named.iter().any(is_there), "{row}");
        assert!(named.iter().all(|name| is_there(name) || name.contains('.')), "{row}");
    }
    assert!(numbers.into_iter().eq(1..=23));
}

const PORT: u16 = 7007;
/// Charged 832 B each; a default buffer of 212 992 B holds 256.
const PAYLOAD: usize = 64;
/// How often counters are read before something is believed to be missing.
const LOOKS: u32 = 10;

fn bound(namespace: &Namespace, address: Ipv4Addr, port: u16) -> UdpSocket {
    let socket = namespace.run(|| UdpSocket::bind((address, port)).unwrap()).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

/// One client, one target, and what lies between them.
struct Scene<'a> {
    client: &'a Namespace,
    source: IpAddr,
    target: SocketAddr,
    counters: Counters,
}

impl<'a> Scene<'a> {
    /// Both sides know each other's hardware address before anything is counted.
    fn new(client: &'a Namespace, source: Ipv4Addr, target: Ipv4Addr) -> Self {
        let scene = Self::of_strangers(client, source, target);
        let socket = bound(client, source, 0);
        socket.connect((target, 9)).unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        // Nobody listens there: the answer that says so has gone both ways.
        while socket.send(&[0; 8]).map_err(|why| why.kind()) != Err(io::ErrorKind::ConnectionRefused) {
            assert!(Instant::now() < until, "{target} cannot be reached");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(20));
        scene
    }

    fn of_strangers(client: &'a Namespace, source: Ipv4Addr, target: Ipv4Addr) -> Self {
        let target = SocketAddr::from((target, PORT));
        let counters = client.run(|| Counters::open(source.into(), target)).unwrap();
        Self { client, source: source.into(), target, counters }
    }

    fn of_pair(lab: &'a Pair) -> Self {
        Self::new(&lab.client, lab.client_address, lab.target_address)
    }

    fn socket(&self) -> UdpSocket {
        let IpAddr::V4(source) = self.source else { panic!("IPv4") };
        bound(self.client, source, 0)
    }

    /// Sends, reads what arrived, and accounts for the rest. Packets that are still on their way, because the
    /// machine is busy, get a second to arrive or to be counted.
    fn account(&mut self, receiver: Option<&UdpSocket>, send: impl FnOnce(&Self) -> Outcome) -> Account {
        let before = self.counters.read();
        let mut outcome = send(self);
        let until = Instant::now() + Duration::from_secs(1);
        // However long one look took.
        for look in 1.. {
            std::thread::sleep(Duration::from_millis(60));
            let after = self.counters.read();
            outcome.forwarded += receiver.map_or(0, read_all);
            let account = account(&outcome, &after.since(&before), |_| None);
            let all_is_counted = account.lost_at["unexplained"] == 0 && account.caveats.is_empty();
            if all_is_counted || (look >= LOOKS && Instant::now() > until) {
                return account;
            }
        }
        unreachable!("it looks until it has looked often enough")
    }

    /// So many packets from a socket that is told of nothing.
    fn send(&self, packets: u64) -> Outcome {
        let socket = self.socket();
        self.send_from(&socket, packets, PAYLOAD)
    }

    fn send_from(&self, socket: &UdpSocket, packets: u64, payload: usize) -> Outcome {
        let bytes = vec![0; payload];
        let mut outcome = Outcome { one_way: true, ..Outcome::default() };
        for _ in 0..packets {
            match socket.send_to(&bytes, self.target) {
                Ok(_) => outcome.offered += 1,
                Err(_) => outcome.refused += 1,
            }
        }
        outcome
    }
}

fn read_all(socket: &UdpSocket) -> u64 {
    let mut bytes = [0; 9000];
    std::iter::from_fn(|| socket.recv(&mut bytes).ok()).count() as u64
}

/// The places that got packets.
fn at(account: &Account) -> Vec<(&str, u64)> {
    places(&account.lost_at)
}

fn places(lost_at: &dropline_trial::LostAt) -> Vec<(&str, u64)> {
    lost_at
        .iter()
        .filter(|(_, packets)| **packets > 0)
        .map(|(place, packets)| (place.as_str(), *packets))
        .collect()
}

fn codes(account: &Account) -> Vec<&str> {
    account.caveats.iter().map(|caveat| caveat.code()).collect()
}

/// All of `packets` were lost at one place, exactly and without a doubt.
fn assert_all_at(account: &Account, place: &str, packets: u64) {
    assert_eq!((at(account), codes(account)), (vec![(place, packets)], vec![]));
}

/// A router between client and target: `near` – `left`, `right` – `far`.
struct Routed {
    client: Namespace,
    router: Namespace,
    target: Namespace,
}

impl Routed {
    const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 9, 1, 1);
    const TARGET: Ipv4Addr = Ipv4Addr::new(10, 9, 2, 1);

    fn new() -> Result<Self, LabError> {
        let (client, router) = (Namespace::new("client")?, Namespace::new("router")?);
        let target = Namespace::new("target")?;
        for (end, device, address, port, gateway) in [
            (&client, Pair::NEAR, "10.9.1.1/24", ("left", "10.9.1.254/24"), "10.9.1.254"),
            (&target, Pair::FAR, "10.9.2.1/24", ("right", "10.9.2.254/24"), "10.9.2.254"),
        ] {
            connect(
                End { namespace: end, device, address: Some(address) },
                End { namespace: &router, device: port.0, address: Some(port.1) },
            )?;
            end.ip(&["route", "add", "default", "via", gateway])?;
        }
        router.set("net.ipv4.ip_forward", "1")?;
        Ok(Self { client, router, target })
    }

    fn scene(&self) -> Scene<'_> {
        Scene::new(&self.client, Self::CLIENT, Self::TARGET)
    }
}
