//! The aggregator in C against the most obvious one in Rust, on crowded tables and on packets aimed at its limits.

use dropline_heartbeat::{
    Entry, Handled, Heartbeat, HeartbeatMessage, HeartbeatOutcome, HeartbeatTable, PACKET_BYTES,
    REPORT_BYTES, REQUEST, Refusal, Report, ReportError,
};
use proptest::array::uniform4;
use proptest::collection::vec;
use proptest::prelude::*;

/// A table as its definition has it.
struct Model([[u8; 4]; 64]);

impl Model {
    fn handle(&mut self, now: u16, packet: &[u8]) -> Option<Vec<u8>> {
        if packet == b"AreyouOK" {
            let entries = self.0.concat();
            return Some([&adler(&entries).to_be_bytes(), entries.as_slice()].concat());
        }
        if packet.len() == 8
            && packet[4] == 0xf1
            && packet[5] < 64
            && packet[..4] == adler(&packet[4..]).to_be_bytes()
        {
            let [high, low] = now.to_be_bytes();
            self.0[usize::from(packet[5])] = [high, low, packet[6], packet[7]];
        }
        None
    }
}

fn adler(bytes: &[u8]) -> u32 {
    adler2::adler32_slice(bytes)
}

/// Whole heartbeats, damaged ones, requests, near misses, wrong lengths, noise.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    let heartbeat = (0u8..66, any::<u8>(), any::<u8>())
        .prop_map(|(variable, from, value)| Heartbeat { variable, from, value }.encode().to_vec());
    let damaged = (heartbeat.clone(), 0..8usize, any::<u8>()).prop_map(|(mut packet, at, with)| {
        packet[at] ^= with;
        packet
    });
    let request = Just(REQUEST.to_vec());
    let near = (0..8usize, 0..8u8).prop_map(|(at, bit)| {
        let mut packet = REQUEST.to_vec();
        packet[at] ^= 1 << bit;
        packet
    });
    let longer = (prop_oneof![heartbeat.clone(), request.clone()], vec(any::<u8>(), 1..1465))
        .prop_map(|(packet, more)| [packet, more].concat());
    let shorter = (prop_oneof![heartbeat.clone(), request.clone()], 0..8usize)
        .prop_map(|(packet, length)| packet[..length].to_vec());
    prop_oneof![
        8 => heartbeat, 4 => damaged, 2 => request, 1 => near, 1 => longer, 1 => shorter, 1 => vec(any::<u8>(), 8)
    ]
}

/// A table with these entries, set by heartbeats.
fn table_of(entries: &[[u8; 4]]) -> HeartbeatTable {
    let mut table = HeartbeatTable::new();
    for (variable, &[high, low, from, value]) in entries.iter().enumerate() {
        let packet = Heartbeat { variable: variable as u8, from, value }.encode();
        assert_eq!(table.handle(u16::from_be_bytes([high, low]), &packet), HeartbeatOutcome::Stored);
    }
    table
}

fn report_of(table: &mut HeartbeatTable) -> [u8; REPORT_BYTES] {
    match table.handle(0, &REQUEST) {
        HeartbeatOutcome::Report(report) => *report,
        other => panic!("{other:?} for a request"),
    }
}

proptest! {
    #[test]
    fn a_history_of_packets_gives_the_reports_of_the_model(
        history in vec((any::<u16>(), packets()), 0..400)
    ) {
        let mut model = Model([[0; 4]; 64]);
        let mut table = HeartbeatTable::new();
        for (now, packet) in &history {
            let expected = model.handle(*now, packet);
            match table.handle(*now, packet) {
                HeartbeatOutcome::Report(report) => prop_assert_eq!(Some(report.to_vec()), expected),
                _ => prop_assert_eq!(None, expected),
            }
        }
        let report = model.handle(0, &REQUEST).unwrap();
        prop_assert_eq!(report_of(&mut table).to_vec(), report);
    }

    #[test]
    fn the_checksum_of_a_full_table_is_adler_32(
        entries in vec(uniform4(prop_oneof![any::<u8>(), Just(255)]), 64)
    ) {
        let report = report_of(&mut table_of(&entries));
        prop_assert_eq!(report[..4].to_vec(), adler(&report[4..]).to_be_bytes());
        prop_assert_eq!(report[4..].to_vec(), entries.concat());
        let read: Vec<[u8; 4]> = Report::decode(&report).unwrap().entries().map(|entry| {
            let [high, low] = entry.seconds.to_be_bytes();
            [high, low, entry.from, entry.value]
        }).collect();
        prop_assert_eq!(read, entries);
    }

    #[test]
    fn a_copied_report_is_the_sealed_one(entries in vec(any::<[u8; 4]>(), 64)) {
        let mut table = table_of(&entries);
        let mut reply = [0; REPORT_BYTES];
        prop_assert_eq!(table.handle_copy(0, &REQUEST, &mut reply), Handled::ReportReady);
        prop_assert_eq!(reply, report_of(&mut table));
    }

    #[test]
    fn what_is_decoded_is_what_the_aggregator_does(packet in packets()) {
        let mut table = HeartbeatTable::new();
        let outcome = table.handle(7, &packet);
        match HeartbeatMessage::decode(&packet) {
            Ok(HeartbeatMessage::Request) => prop_assert!(matches!(outcome, HeartbeatOutcome::Report(_))),
            Ok(HeartbeatMessage::Heartbeat(Heartbeat { variable, from, value })) => {
                prop_assert_eq!(outcome, HeartbeatOutcome::Stored);
                prop_assert_eq!(table.entry(variable), Some(Entry { seconds: 7, from, value }));
            }
            Err(_) => prop_assert_eq!(outcome, HeartbeatOutcome::Ignored),
        }
    }

    #[test]
    fn a_report_with_a_changed_byte_is_not_accepted(
        entries in vec(any::<[u8; 4]>(), 64), at in 4..REPORT_BYTES, with in 1u8..
    ) {
        let mut report = report_of(&mut table_of(&entries));
        report[at] ^= with;
        let told = matches!(Report::decode_forgiving(&report), Err(ReportError::Checksum { .. }));
        prop_assert!(told);
    }
}

#[test]
fn the_fullest_table_has_the_checksum_of_the_vector() {
    assert_eq!(report_of(&mut table_of(&[[255; 4]; 64]))[..4], [0x08, 0x00, 0xff, 0x01]);
}

#[test]
fn a_checksum_that_lacks_reductions_is_named_and_only_on_demand_accepted() {
    let mut report = report_of(&mut table_of(&[[255; 4]; 64]));
    for missed in 0..=120u32 {
        let right: u32 = 0x0800_ff01;
        let sent = (right >> 16).wrapping_sub(15 * missed) << 16 | right & 0xffff;
        report[..4].copy_from_slice(&sent.to_be_bytes());
        let strict = Report::decode(&report);
        match missed {
            0 => assert!(strict.is_ok()),
            1..=112 => assert_eq!(strict, Err(ReportError::ReductionsMissed(missed as u8))),
            _ => assert_eq!(strict, Err(ReportError::Checksum { sent, right })),
        }
        assert_eq!(
            Report::decode_forgiving(&report).ok().map(|(_, n)| u32::from(n)),
            (missed <= 112).then_some(missed)
        );
    }
    assert_eq!(Report::decode(&report[..259]), Err(ReportError::Length(259)));
}

#[test]
fn the_vectors_of_the_specification_hold() {
    let vectors = include_str!("../../../c/heartbeat/vectors.txt");
    let mut seen = [0; 4];
    for line in vectors.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers =
            || words[2..].chunks_exact(4).map(|four| [0, 1, 2, 3].map(|at| four[at].parse::<u16>().unwrap()));
        let mut table = HeartbeatTable::new();
        let kind = match words[0] {
            "heartbeat" => {
                let [variable, from, value] = [1, 2, 3].map(|at| words[at].parse().unwrap());
                let heartbeat = Heartbeat { variable, from, value };
                assert_eq!(heartbeat.encode().to_vec(), bytes(words[4]), "{line}");
                assert_eq!(table.handle(1, &bytes(words[4])), HeartbeatOutcome::Stored, "{line}");
                0
            }
            "ignored" => {
                assert!(HeartbeatMessage::decode(&bytes(words[1])).is_err(), "{line}");
                assert_eq!(table.handle(1, &bytes(words[1])), HeartbeatOutcome::Ignored, "{line}");
                1
            }
            "request" => {
                assert_eq!(bytes(words[1]), REQUEST);
                2
            }
            "report" => {
                for [variable, seconds, from, value] in numbers() {
                    let packet =
                        Heartbeat { variable: variable as u8, from: from as u8, value: value as u8 }.encode();
                    assert_eq!(table.handle(seconds, &packet), HeartbeatOutcome::Stored);
                }
                assert_eq!(report_of(&mut table)[..4].to_vec(), bytes(words[1]), "{line}");
                3
            }
            _ => panic!("{line}"),
        };
        seen[kind] += 1;
    }
    assert!(seen.iter().all(|&lines| lines > 0), "{seen:?}");
}

#[test]
fn a_refused_packet_says_why() {
    let heartbeat = |variable| Heartbeat { variable, from: 1, value: 2 }.encode();
    assert_eq!(HeartbeatMessage::decode(&[0; 9]), Err(Refusal::Length(9)));
    assert_eq!(HeartbeatMessage::decode(&[0; PACKET_BYTES]), Err(Refusal::Unknown));
    let mut damaged = heartbeat(3);
    damaged[7] ^= 1;
    assert_eq!(HeartbeatMessage::decode(&damaged), Err(Refusal::Checksum));
    assert_eq!(HeartbeatMessage::decode(&heartbeat(64)), Err(Refusal::Variable(64)));
    assert!(HeartbeatMessage::decode(&heartbeat(63)).is_ok());
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
