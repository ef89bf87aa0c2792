//! Which rules of a firewall a packet of a trial meets, on rulesets as a kernel lists them (`rulesets`): nothing is sent, and
//! no privilege is needed.
#![cfg(target_os = "linux")]

use dropline_netrules::expressions::Does;
use dropline_netrules::message::Messages;
use dropline_netrules::registers::Certainty::{self, Certainly, Possibly};
use dropline_netrules::rule_match::MetRule;
use dropline_netrules::ruleset::Ruleset;
use dropline_netrules::visit::{By, Passes, Tuple, Visit};
use std::net::IpAddr;
use std::ops::RangeInclusive;

const MANY: &[u8] = include_bytes!("rulesets/many.netlink");
const DOCKER: &[u8] = include_bytes!("rulesets/docker.netlink");

fn ruleset(bytes: &[u8]) -> Ruleset {
    let mut rules = Ruleset::default();
    Messages::new(bytes).for_each(|message| rules.add(message));
    rules
}

fn udp(from: (&str, RangeInclusive<u16>), to: (&str, RangeInclusive<u16>)) -> Tuple {
    let address = |word: &str| word.parse::<IpAddr>().unwrap();
    Tuple {
        source: Some(address(from.0)),
        destination: Some(address(to.0)),
        source_ports: from.1,
        destination_ports: to.1,
        ..Tuple::any(address(to.0).is_ipv4())
    }
}

fn by(name: &str) -> By {
    let only = Passes::These(vec![(name.to_owned(), 1)]);
    By { packets: only.clone(), frames: only }
}

const ANY: RangeInclusive<u16> = 1..=u16::MAX;
const HERE: &str = "127.0.0.1";

/// What of the table of that name is met by what leaves.
fn of(table: &str, packet: &Tuple, device: &str) -> Vec<(Does, Certainty)> {
    let met = ruleset(MANY).met(packet, &Visit::leaving(&by(device), true));
    let is_of = |met: &MetRule| met.chain.ends_with(&format!(" {table}"));
    met.into_iter().filter(is_of).map(|met| (met.does, met.certainty)).collect()
}

const DUP: Does = Does::Hands("dup");

#[test]
fn a_rule_for_tcp_other_ports_other_addresses_or_absent_interfaces_is_not_met() {
    let packet = udp((HERE, ANY), (HERE, 7007..=7007));
    let met = of("ports", &packet, "lo");
    // One writes the kind of service, which leads nowhere; one looks at the port that packets come from, which may be any.
    assert!(
        matches!(met[..2], [(Does::Writes(1, 0, 2), Certainly), (Does::Writes(1, 16, 4), Possibly)]),
        "{met:?}"
    );
    let from_another = udp((HERE, 4000..=4007), (HERE, 7007..=7007));
    assert_eq!(of("ports", &from_another, "lo").len(), 1);
}

#[test]
fn a_rule_for_one_of_several_ports_is_met_possibly_and_for_all_of_them_certainly() {
    let to = |ports| of("ports", &udp((HERE, 10..=20), (HERE, ports)), "lo");
    assert_eq!(to(7008..=7008), [(DUP, Certainly), (DUP, Certainly)]);
    assert_eq!(to(7007..=7008)[..2], [(DUP, Possibly), (DUP, Possibly)]);
    let time =
        |ports| to(ports).into_iter().filter(|(does, _)| matches!(does, Does::Writes(1, 8, 2))).count();
    assert_eq!([123..=123, 54..=122, 4000..=4999, 5500..=5500, 5999..=7000].map(time), [1, 0, 0, 1, 1]);
    let service = |ports| to(ports).iter().any(|(does, _)| matches!(does, Does::Writes(1, 0, 2)));
    assert_eq!([999..=999, 1500..=1500, 2001..=2001, 1..=1000].map(service), [false, true, false, true]);
}

#[test]
fn addresses_and_interfaces_tell_packets_apart_and_what_a_packet_never_had_is_not_met() {
    let packet = |to| udp((HERE, 10..=20), (to, 7007..=7007));
    let time = |to, device| {
        let met = of("ports", &packet(to), device);
        met.into_iter().filter(|(does, _)| matches!(does, Does::Writes(1, 8, 2))).count()
    };
    assert_eq!([time(HERE, "lo"), time("10.1.2.3", "lo"), time(HERE, "veth7")], [0, 1, 1]);
    // No rule gives these packets the mark that one asks for.
    assert!(of("ports", &packet(HERE), "lo").iter().all(|(does, _)| !matches!(does, Does::Writes(1, 16, 4))));
    let marked = Tuple { mark: Some(7), ..packet(HERE) };
    assert!(of("ports", &marked, "lo").iter().any(|(does, _)| matches!(does, Does::Writes(1, 16, 4))));
}

#[test]
fn jumps_gotos_maps_and_keys_of_several_parts_are_followed() {
    let from = |ports, to: &str, port: u16| of("led", &udp((HERE, ports), (to, port..=port)), "lo");
    let time = Does::Writes(1, 8, 2);
    assert_eq!(from(4000..=4007, "127.0.0.9", 7007), [(time, Certainly)], "what goes to does not come back");
    assert_eq!(from(5000..=5007, "127.0.0.9", 7007), [(Does::Drops, Possibly)], "one of nine");
    assert_eq!(from(4000..=5000, "127.0.0.9", 7007), [(time, Possibly), (Does::Drops, Possibly)]);
    assert_eq!(from(4000..=4007, "127.0.0.9", 7006), []);
    assert_eq!(from(4000..=4007, "10.0.0.1", 53), [(Does::Drops, Certainly)]);
    assert_eq!(from(4000..=4007, "11.0.0.1", 53), []);
    assert_eq!(
        (from(1..=9, "11.0.0.1", 1), from(1..=9, "11.0.0.1", 7)),
        (vec![(Does::Drops, Certainly)], vec![])
    );
}

#[test]
fn a_translation_is_met_by_the_first_packet_of_a_flow_alone_and_its_address_is_known() {
    let met = |packet: &Tuple, begins| {
        let met = ruleset(MANY).met(packet, &Visit::leaving(&by("lo"), begins));
        let is_of = |met: &MetRule| met.chain.ends_with(" translated");
        met.into_iter().filter(is_of).map(|met| (met.address, met.certainty)).collect::<Vec<_>>()
    };
    let to = |port: u16| udp(("192.0.2.7", 4000..=4007), ("127.0.0.7", port..=port));
    let address = |word: &str| Some(word.parse::<IpAddr>().unwrap());
    assert_eq!(met(&to(7), true), [(address("192.0.2.6"), Certainly), (address("192.0.2.8"), Possibly)]);
    assert_eq!(met(&to(9), true)[0], (address("127.0.0.1"), Certainly));
    assert_eq!(met(&to(6), true), [(address("192.0.2.8"), Certainly)]);
    assert_eq!((met(&to(7), false), met(&udp((HERE, 4000..=4007), (HERE, 7..=7)), true)), (vec![], vec![]));
}

#[test]
fn a_policy_drops_what_no_rule_accepts() {
    let drops = |ports| {
        let met = ruleset(MANY).met(&udp((HERE, ANY), (HERE, ports)), &Visit::arriving(&by("lo"), true));
        let is_of = |met: &MetRule| met.chain == "chain in of table ip barred";
        met.into_iter().filter(is_of).map(|met| (met.does, met.certainty)).collect::<Vec<_>>()
    };
    assert_eq!(drops(7007..=7007), []);
    assert_eq!(drops(7008..=7008), [(Does::Drops, Possibly)], "of a flow that is known");
}

#[test]
fn a_rule_at_an_interface_is_met_there_alone() {
    let early = |device: &str, port: u16| {
        let met =
            ruleset(MANY).met(&udp((HERE, ANY), (HERE, port..=port)), &Visit::arriving(&by(device), true));
        met.iter().any(|met| met.chain == "chain in of table netdev early" && met.is_of_frames)
    };
    assert_eq!([early("lo", 9), early("lo", 8), early("far", 9)], [true, false, false]);
}

#[test]
fn the_other_version_of_ip_is_not_met() {
    let met = ruleset(MANY).met(&udp(("::1", ANY), ("::1", 7007..=7007)), &Visit::leaving(&by("lo"), true));
    assert_eq!(met.iter().map(|met| met.does).collect::<Vec<_>>(), [Does::Writes(1, 7, 1)], "of inet alone");
}

/// As Docker publishes ports, by iptables-nft.
#[test]
fn the_rules_of_containers_refuse_nothing_but_the_ports_that_they_publish() {
    let docker = ruleset(DOCKER);
    let leads = |to: u16| {
        let packet = Tuple { is_own: Some(true), ..udp(("10.0.0.1", ANY), ("10.0.0.1", to..=to)) };
        let met = docker.met(&packet, &Visit::leaving(&by("lo"), true));
        met.into_iter().map(|met| met.does).collect::<Vec<_>>()
    };
    assert_eq!((leads(7007), leads(80)), (vec![], vec![]), "one is of tcp");
    assert!(matches!(leads(5353)[0], Does::Destination(_)));
    let arrives = |to: u16| {
        let met =
            docker.met(&udp(("10.0.0.1", ANY), ("10.0.0.2", to..=to)), &Visit::arriving(&by("eth0"), true));
        met.into_iter().map(|met| (met.does, met.certainty)).collect::<Vec<_>>()
    };
    let time = Does::Lives("TTL");
    assert_eq!([7007, 7150].map(arrives), [vec![(time, Certainly)], vec![(time, Certainly)]]);
    assert_eq!(arrives(7201), []);
}
