//! Datagrams that reach a monitor that asked for a report.

use dropline_aggregator::client::Answer;
use dropline_aggregator::report::Reading;
use dropline_aggregator::wire::{Checksum, REPORT_BYTES, Report, ReportError, UNSET};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// What is no report says why; what is one is read whole, whatever it holds.
pub fn check(bytes: &[u8]) {
    match Report::decode(bytes) {
        Ok(report) => read(bytes, report),
        Err(why) => {
            let wrong_length = matches!(why, ReportError::Length(length) if length == bytes.len());
            assert_eq!(bytes.len() != REPORT_BYTES, wrong_length, "{why}");
        }
    }
    // None would have a right checksum by chance: the same with one, wrong as some aggregators send it.
    if let [missed, entries @ ..] = bytes {
        let mut whole = [0; REPORT_BYTES];
        let length = entries.len().min(REPORT_BYTES - 4);
        whole[4..4 + length].copy_from_slice(&entries[..length]);
        let right = adler32(&whole[4..]);
        let high = (right >> 16).wrapping_sub(15 * u32::from(*missed)) << 16;
        whole[..4].copy_from_slice(&(high | right & 0xffff).to_be_bytes());
        match Report::decode(&whole) {
            Ok(report) => {
                let expected =
                    if *missed == 0 { Checksum::Right } else { Checksum::Dumpulse { missed: *missed } };
                assert_eq!(report.checksum, expected);
                read(&whole, report);
            }
            Err(why) => assert!(*missed > 112, "{why}"),
        }
    }
}

fn read(bytes: &[u8], report: Report) {
    let set = report.entries.iter().filter(|entry| **entry != UNSET).count();
    let named = report.checksum != Checksum::Right;
    let now = u64::from_be_bytes([0, 0, 0, 0, bytes[0], bytes[1], bytes[2], bytes[3]]);
    let answer = Answer { report, arrived_unix_s: now, round_trip: Duration::from_micros(30), junk: 0 };
    for clock_shared in [false, true] {
        let reading = Reading::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 9060)), &answer, clock_shared);
        assert_eq!((reading.variables.len(), reading.unset.len()), (set, 64 - set));
        assert_eq!(reading.checksum_missed.is_some(), named, "a wrong checksum is named");
        for variable in &reading.variables {
            assert_eq!(variable.age_s.is_some(), clock_shared, "{variable:?}");
            assert!(variable.age_s.is_none_or(|age| age < 65_536) && !variable.age.is_empty());
        }
    }
}

fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}
