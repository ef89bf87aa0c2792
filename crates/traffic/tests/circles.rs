//! One datagram with a forged source sets no two services at each other for good. Sent in a namespace that the
//! test made; needs root: without it the tests are skipped, and fail where `CI` is `true`.
#![allow(clippy::disallowed_methods)]
#![cfg(target_os = "linux")]

use dropline_lab::{Namespace, built_or_skipped};
use dropline_payload::{Message, Tag};
use dropline_traffic::{Responder, RunningResponder};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Packets after which a circle must have ended.
const MOST: u64 = 100;
/// Packets of sixty circles.
const FEW_EACH: u64 = 199;

fn namespace() -> Option<Namespace> {
    built_or_skipped(Namespace::new("circle"))
}

/// Sends `bytes` to `to` as if `from` had.
fn forge(namespace: &Namespace, from: SocketAddrV4, to: SocketAddrV4, bytes: &[u8]) {
    let length = 28 + bytes.len();
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
    packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    packet.extend(from.ip().octets().iter().chain(&to.ip().octets()));
    for half in [from.port(), to.port(), 8 + bytes.len() as u16, 0] {
        packet.extend(half.to_be_bytes());
    }
    packet.extend(bytes);
    let raw = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255)));
    let socket = namespace.run(raw).unwrap().unwrap();
    socket.send_to(&packet, &SocketAddr::from(to).into()).unwrap();
}

/// Datagrams that could make a circle, of each kind one.
fn starters() -> [Vec<u8>; 4] {
    let (tag, index) = (Tag(7), 77);
    [
        b"hello".to_vec(),
        Vec::new(),
        Message::Packet { tag, index, reply_wanted: true }.encode(),
        Message::CountQuery { tag, number: index }.encode(),
    ]
}

fn v4(address: SocketAddr) -> SocketAddrV4 {
    let SocketAddr::V4(address) = address else { panic!("IPv4") };
    address
}

/// Waits until `packets` has not grown for a while.
fn assert_ends(what: &str, most: u64, packets: impl Fn() -> u64) {
    let until = Instant::now() + Duration::from_secs(20);
    let mut before = 0;
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let now = packets();
        assert!(now <= most, "{what}: {now} packets so far");
        if now == before && now > 0 {
            return;
        }
        before = now;
        assert!(Instant::now() < until, "{what}: nothing was received");
    }
}

fn serve(namespace: &Namespace, listen: &str, service_time: Duration) -> RunningResponder {
    let listen = listen.parse().unwrap();
    namespace.run(|| Responder { listen, service_time, ..Responder::default() }.start()).unwrap().unwrap()
}

#[test]
fn two_reflectors_that_one_forged_datagram_sets_at_each_other_end_within_a_hundred_packets() {
    let Some(lab) = namespace() else { return };
    // The same port and another, answered at once and by workers.
    for (first, second) in [("127.0.0.1:7007", "127.0.0.2:7007"), ("127.0.0.1:7008", "127.0.0.1:7009")] {
        for service_time in [Duration::ZERO, Duration::from_micros(1)] {
            // A count that is asked for from a port of the same number is not even counted.
            let alike = first.ends_with("7007");
            for starter in starters().into_iter().take(if alike { 3 } else { 4 }) {
                let both = [serve(&lab, first, service_time), serve(&lab, second, service_time)];
                forge(&lab, v4(both[1].address()), v4(both[0].address()), &starter);
                let packets = || both.iter().map(|one| one.counts().received + one.counts().queries).sum();
                assert_ends(&format!("{first} and {second}, {} B", starter.len()), MOST, packets);
            }
        }
    }
}

#[test]
fn sixty_forged_datagrams_cause_a_few_packets_each() {
    let Some(lab) = namespace() else { return };
    let starters: [fn(u8) -> Vec<u8>; 4] = [
        |number| vec![number; 20],
        |number| Message::Packet { tag: Tag(7), index: number.into(), reply_wanted: true }.encode(),
        |number| Message::CountQuery { tag: Tag(7), number: number.into() }.encode(),
        // A packet that came to harm is answered too.
        |number| [0xd7, 1, 0x21, 0].into_iter().chain([number; 40]).collect(),
    ];
    for service_time in [Duration::ZERO, Duration::from_micros(1)] {
        for starter in starters {
            let both = ["127.0.0.1:7008", "127.0.0.1:7009"].map(|listen| serve(&lab, listen, service_time));
            let packets = || both.iter().map(|one| one.counts().received + one.counts().queries).sum();
            for number in 0..60 {
                forge(&lab, v4(both[1].address()), v4(both[0].address()), &starter(number));
                // Each has its circle before the next comes.
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_ends(&format!("60 datagrams of {} B", starter(0).len()), FEW_EACH, packets);
        }
    }
}

#[test]
fn a_service_that_echoes_is_answered_a_few_times_and_one_below_port_1024_never() {
    let Some(lab) = namespace() else { return };
    for (port, most) in [(7, 1), (5007, MOST)] {
        for starter in starters() {
            let echo = Arc::new(lab.run(|| UdpSocket::bind(("127.0.0.1", port))).unwrap().unwrap());
            echo.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            let echoed = Arc::new(AtomicU64::new(0));
            let (socket, count) = (Arc::clone(&echo), Arc::clone(&echoed));
            let echoing = std::thread::spawn(move || {
                let mut bytes = [0; 2000];
                while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                    count.fetch_add(1, Ordering::Relaxed);
                    let _ = socket.send_to(&bytes[..length], from);
                }
            });
            let ours = serve(&lab, "127.0.0.1:7010", Duration::ZERO);
            forge(&lab, v4(ours.address()), v4(echo.local_addr().unwrap()), &starter);
            assert_ends(&format!("with port {port}"), MOST, || echoed.load(Ordering::Relaxed));
            drop(ours);
            echoing.join().unwrap();
            assert!(echoed.load(Ordering::Relaxed) <= most, "port {port}: {echoed:?}");
        }
    }
}

/// Bytes that another service makes of what it was sent; the number is that of its answer.
type Alteration = fn(u64, &[u8]) -> Vec<u8>;

/// Each loses the mark of our reflectors, or every trace of what was sent.
fn alterations() -> [(&'static str, Alteration); 12] {
    fn repeated(message: Message) -> Vec<u8> {
        [message.encode(), vec![0; 40]].concat()
    }
    [
        ("upper case", |_, bytes| bytes.to_ascii_uppercase()),
        ("one byte before it", |_, bytes| [b">", bytes].concat()),
        ("a number before it", |number, bytes| [&number.to_be_bytes(), bytes].concat()),
        ("a number behind it", |number, bytes| [bytes, &number.to_be_bytes()].concat()),
        ("its first ten bytes", |_, bytes| bytes[..bytes.len().min(10)].to_vec()),
        ("all bits turned", |_, bytes| bytes.iter().map(|byte| !byte).collect()),
        ("a number alone", |number, _| number.to_string().into_bytes()),
        ("no flags", |number, bytes| {
            let mut bytes = [bytes, &[0; 20]].concat();
            bytes[3] = 0;
            bytes[15] = number as u8;
            bytes
        }),
        ("a harmed packet", |number, _| {
            [vec![0xd7, 1, 0x21, 0, 9, 9], number.to_be_bytes().repeat(3)].concat()
        }),
        ("always one packet", |_, _| repeated(Message::Packet { tag: Tag(3), index: 9, reply_wanted: true })),
        ("always one query", |_, _| repeated(Message::CountQuery { tag: Tag(3), number: 9 })),
        ("nothing", |_, _| Vec::new()),
    ]
}

#[test]
fn a_service_that_alters_what_it_answers_ends_within_a_hundred_packets_whatever_it_makes_of_it() {
    let Some(lab) = namespace() else { return };
    // As fast as it can, and slower than any budget in time would forgive.
    for (name, alter) in alterations() {
        for (pause, starters) in
            [(Duration::ZERO, &starters()[..]), (Duration::from_millis(15), &starters()[..1])]
        {
            for starter in starters {
                let echo = lab.run(|| UdpSocket::bind(("127.0.0.1", 5007))).unwrap().unwrap();
                let (from, packets) = (v4(echo.local_addr().unwrap()), Arc::new(AtomicU64::new(0)));
                echo.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
                let count = Arc::clone(&packets);
                let altering = std::thread::spawn(move || {
                    let mut bytes = [0; 4000];
                    while let Ok((length, from)) = echo.recv_from(&mut bytes) {
                        let number = count.fetch_add(2, Ordering::Relaxed);
                        std::thread::sleep(pause);
                        let _ = echo.send_to(&alter(number, &bytes[..length]), from);
                    }
                });
                let ours = serve(&lab, "127.0.0.1:7010", Duration::ZERO);
                // Ours is asked first, and the other.
                forge(&lab, from, v4(ours.address()), starter);
                let what = format!("{name}, {pause:?}, {} B", starter.len());
                assert_ends(&what, MOST, || packets.load(Ordering::Relaxed) + ours.counts().received.min(1));
                drop(ours);
                altering.join().unwrap();
                assert!(packets.load(Ordering::Relaxed) < MOST, "{what}: {packets:?}");
            }
        }
    }
}

#[test]
fn a_load_is_answered_packet_for_packet_beside_a_circle() {
    let Some(lab) = namespace() else { return };
    let ours = serve(&lab, "127.0.0.1:7010", Duration::ZERO);
    let socket = lab.run(|| UdpSocket::bind("127.0.0.1:0")).unwrap().unwrap();
    socket.connect(ours.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let ask = |bytes: &[u8]| {
        socket.send(bytes).unwrap();
        socket.recv(&mut [0; 100]).is_ok()
    };
    for index in 0..2000_u64 {
        if index < 32 {
            assert!(ask(&[b"other", &index.to_be_bytes()[..]].concat()));
        }
        assert!(ask(&Message::Packet { tag: Tag(5), index, reply_wanted: true }.encode()), "{index}");
        // Doubled on the way.
        assert!(ask(&Message::Packet { tag: Tag(5), index, reply_wanted: true }.encode()), "{index}");
        let mut harmed = Message::Packet { tag: Tag(5), index, reply_wanted: true }.encode();
        harmed[9] ^= 1;
        assert!(ask(&harmed), "{index}");
    }
}
