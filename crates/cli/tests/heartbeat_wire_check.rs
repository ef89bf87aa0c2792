//! A black-box check of what `dropline heartbeat serve` does on the wire, in fourteen groups, with a fresh
//! server and one socket. A report after each batch tells that all before it was handled.

mod command;
mod heartbeat_wire;

use command::Bench;
use heartbeat_wire::{Aggregator, Wire, adler32, encode};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{Ipv4Addr, SocketAddr};

/// Most packets between two reports: less than the receive buffer holds.
const BATCH: usize = 200;

/// Sends packets in batches with a report after each; at the end nothing was answered but requests, and
/// every packet is in the server's counts.
fn check(packets: impl IntoIterator<Item = Vec<u8>>) {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &["--no-limits"]);
    let mut wire = Wire::new(&server);
    let packets: Vec<Vec<u8>> = packets.into_iter().collect();
    for batch in packets.chunks(BATCH) {
        batch.iter().for_each(|packet| wire.send(packet));
        wire.report();
    }
    wire.is_silent();
    accounted(&wire, server);
}

/// Sent = stored + rejected + answered + dropped by the kernel, exactly.
fn accounted(wire: &Wire, server: Aggregator) {
    let counts = server.end();
    let count = |value: &serde_json::Value| value.as_u64().unwrap();
    let rejected: u64 = counts["rejected"].as_object().unwrap().values().map(count).sum();
    let requests: u64 = counts["requests"].as_object().unwrap().values().map(count).sum();
    let dropped = count(&counts["dropped_socket"]);
    assert_eq!(count(&counts["received"]), count(&counts["stored"]) + rejected + requests);
    assert_eq!(wire.sent, count(&counts["received"]) + dropped, "{counts}");
    assert_eq!(count(&counts["stored"]), wire.stored, "{counts}");
    assert_eq!(count(&counts["requests"]["answered"]), wire.requests, "{counts}");
}

/// SplitMix64 from a fixed seed.
struct Chance(u64);

impl Chance {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}

#[test]
fn group_1_vectors_are_stored_and_the_one_beyond_the_table_is_not() {
    check(
        [
            0x03c8_00f2_f100_0000u64,
            0x048d_016b_f100_4c2d,
            0x03ea_0104_f105_0607,
            0x056b_01ce_f13e_4b53,
            0x0782_032f_f13f_ffff,
            0x0488_0132_f140_0000,
        ]
        .map(|vector| vector.to_be_bytes().to_vec()),
    );
}

#[test]
fn group_2_each_variable_is_kept_by_itself() {
    check((0..64).map(|variable| encode(variable, variable + 1, 200 - variable).to_vec()));
}

#[test]
fn group_3_extreme_and_random_senders_and_values_are_kept() {
    let mut chance = Chance(3);
    let extremes = [0u8, 1, 127, 128, 254, 255];
    let all = extremes.iter().flat_map(|&from| extremes.map(|value| encode(9, from, value).to_vec()));
    let random = (0..2000).map(move |_| {
        let [variable, from, value, ..] = chance.word().to_le_bytes();
        encode(variable % 64, from, value).to_vec()
    });
    check(all.chain(random));
}

#[test]
fn group_4_lengths_other_than_eight_are_dropped_whatever_they_begin_with() {
    let beginnings = [encode(3, 4, 5), *b"AreyouOK"];
    check((0..=1472).filter(|&length| length != 8).flat_map(move |length| {
        beginnings.map(|beginning| beginning.iter().copied().cycle().take(length).collect::<Vec<u8>>())
    }));
}

#[test]
fn group_5_every_single_bit_flip_is_detected() {
    let mut packets = Vec::new();
    for (variable, from, value) in [(0, 0, 0), (5, 6, 7), (63, 255, 255), (62, 75, 83)] {
        let good = u64::from_be_bytes(encode(variable, from, value));
        packets.push(good.to_be_bytes().to_vec());
        packets.extend((0..64).map(|bit| (good ^ 1 << bit).to_be_bytes().to_vec()));
    }
    check(packets);
}

#[test]
fn group_6_wrong_checksums_are_dropped() {
    let mut packets = Vec::new();
    for variable in 0..64 {
        let good = encode(variable, 17, 99);
        let sum = u32::from_be_bytes(good[..4].try_into().unwrap());
        let near =
            [1, 0xffff_ffff, 0x1_0000, 0xffff_0000, 15, 15 << 16, 65_521].map(|off| sum.wrapping_add(off));
        for wrong in [near.as_slice(), &[0, sum.swap_bytes(), !sum, sum.rotate_left(16)]].concat() {
            packets.push([&wrong.to_be_bytes(), &good[4..]].concat());
        }
    }
    check(packets);
}

#[test]
fn group_7_variables_beyond_the_table_are_dropped() {
    check(
        (64..=255).flat_map(|variable| [encode(variable, 0, 0).to_vec(), encode(variable, 9, 255).to_vec()]),
    );
}

#[test]
fn group_8_near_misses_of_a_request_are_dropped() {
    let request = *b"AreyouOK";
    let flips = (0..64).map(|bit| (u64::from_be_bytes(request) ^ 1 << bit).to_be_bytes().to_vec());
    let words =
        ["AREYOUOK", "areyouok", "AreyouNO", "AreyouOK\n", " AreyouOK", "AreyouO", "KOuoyerA", "OKAreyou"];
    check(flips.chain(words.map(|word| word.as_bytes().to_vec())));
}

#[test]
fn group_9_its_own_reports_sent_back_are_dropped() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &["--no-limits"]);
    let mut wire = Wire::new(&server);
    for round in 0..20 {
        wire.send(&encode(round, 1, 2));
        let report = wire.report();
        wire.send(&report);
        // Also one that begins like a request.
        wire.send(&[b"AreyouOK".as_slice(), &report[8..]].concat());
        wire.report();
    }
    wire.is_silent();
    accounted(&wire, server);
}

/// A datagram whose source is a lie, by a raw socket; whether this user may send one.
fn spoof(source: SocketAddr, target: SocketAddr, payload: &[u8]) -> bool {
    let (SocketAddr::V4(source), SocketAddr::V4(target)) = (source, target) else { unreachable!("IPv4") };
    let Ok(socket) = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))) else { return false };
    let length = (28 + payload.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend(source.ip().octets());
    packet.extend(target.ip().octets());
    packet.extend(source.port().to_be_bytes());
    packet.extend(target.port().to_be_bytes());
    packet.extend((length - 20).to_be_bytes());
    // No UDP checksum, which IPv4 allows.
    packet.extend([0, 0]);
    packet.extend(payload);
    socket.send_to(&packet, &SocketAddr::from(target).into()).is_ok()
}

#[test]
fn group_10_a_request_in_its_own_name_or_from_nowhere_is_not_answered() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &["--no-limits"]);
    let mut wire = Wire::new(&server);
    let own = server.address();
    let port_0 = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let spoofed = spoof(own, own, b"AreyouOK") && spoof(port_0, own, b"AreyouOK");
    wire.report();
    wire.is_silent();
    let counts = server.end();
    if !spoofed {
        eprintln!("this user may not send in the name of others: the gate's own tests stand alone");
        return;
    }
    assert_eq!(counts["requests"]["own_address"], 1, "{counts}");
    assert_eq!(counts["requests"]["no_place"], 1, "{counts}");
    assert_eq!(counts["requests"]["answered"], 1, "{counts}");
    assert_eq!(counts["received"], 3, "no answer came back as a packet");
}

#[test]
fn a_reflector_and_an_aggregator_are_not_set_at_each_other_by_a_forged_request() {
    let bench = Bench::new();
    let (server, service) = (Aggregator::start(&bench, &["--no-limits"]), bench.serve(&["--json"]));
    let (aggregator, reflector) = (server.address(), service.address.parse().unwrap());
    let spoofed = spoof(reflector, aggregator, b"AreyouOK") && spoof(aggregator, reflector, b"AreyouOK");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let (counts, served) = (server.end(), service.interrupt());
    let served: serde_json::Value = serde_json::from_str(&served).unwrap();
    if spoofed {
        let packets = [&counts["received"], &served["received"]].map(|count| count.as_u64().unwrap());
        assert!(packets.iter().all(|packets| (1..=50).contains(packets)), "{counts} {served}");
    }
}

#[test]
fn an_aggregator_and_a_program_that_makes_a_request_of_each_report_end_within_a_hundred_packets() {
    type Alteration = fn(&[u8]) -> Vec<u8>;
    let alterations: [Alteration; 4] = [
        |_| b"AreyouOK".to_vec(),
        <[u8]>::to_ascii_uppercase,
        |report| [b"AreyouOK", report].concat(),
        |report| report[..8].to_vec(),
    ];
    for alter in alterations {
        let bench = Bench::new();
        let server = Aggregator::start(&bench, &[]);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(server.address()).unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
        let (mut packets, mut bytes) = (1, [0; 2000]);
        socket.send(b"AreyouOK").unwrap();
        while let Ok(length) = socket.recv(&mut bytes) {
            socket.send(&alter(&bytes[..length])).unwrap();
            packets += 2;
            assert!(packets <= 100);
        }
        assert!(packets > 1, "the request itself is answered");
    }
}

#[test]
fn group_11_a_hundred_thousand_random_packets_store_what_the_description_says() {
    let mut chance = Chance(11);
    // Random bits alone would pass once in 2^42: these aim near.
    check((0..100_000).map(move |_| {
        let word = chance.word();
        let mut packet = word.to_le_bytes();
        let aim = chance.word();
        if !aim.is_multiple_of(4) {
            packet[4] = 0xf1;
        }
        if !(aim >> 8).is_multiple_of(3) {
            packet[5] %= 66;
        }
        if !(aim >> 16).is_multiple_of(3) {
            let near =
                adler32(&packet[4..]).wrapping_add([0, 0, 0, 1, 15, 0x1_0000][(aim >> 24) as usize % 6]);
            packet[..4].copy_from_slice(&near.to_be_bytes());
        }
        packet.to_vec()
    }));
}

#[test]
fn group_12_full_tables_are_summed_up_right() {
    let full = |from, value| (0..64).map(move |variable| encode(variable, from, value).to_vec());
    let mut chance = Chance(12);
    let random = (0..50 * 64u32).map(move |at| {
        let [from, value, ..] = chance.word().to_le_bytes();
        encode((at % 64) as u8, from, value).to_vec()
    });
    check(full(255, 255).chain(random));
}

#[test]
fn group_13_a_stamp_is_the_second_in_which_the_heartbeat_came() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &["--no-limits"]);
    let mut wire = Wire::new(&server);
    // By the clock of the server, which is up to a tick behind the finer one.
    let second = || dropline_traffic::datagrams::coarse_now().as_secs() as u16;
    for variable in 0..8 {
        let before = second();
        wire.send(&encode(variable, 1, 1));
        let report = wire.report();
        let at = 4 + 4 * usize::from(variable);
        let stamp = u16::from_be_bytes([report[at], report[at + 1]]);
        let after = second();
        assert!(stamp.wrapping_sub(before) <= after.wrapping_sub(before), "{before} {stamp} {after}");
        if variable == 3 {
            std::thread::sleep(std::time::Duration::from_millis(1100));
            let later = wire.report();
            assert_eq!(later[at..at + 4], report[at..at + 4], "asking does not touch it");
        }
    }
    accounted(&wire, server);
}

#[test]
fn group_14_nothing_but_a_request_is_ever_answered() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &["--no-limits"]);
    let mut wire = Wire::new(&server);
    for packet in [&encode(1, 2, 3)[..], b"", b"AreyouOK!", &[0; 260], &[0xf1; 8], &encode(99, 1, 1)] {
        wire.send(packet);
    }
    wire.report();
    wire.is_silent();
    accounted(&wire, server);
}
