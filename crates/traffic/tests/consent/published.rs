//! Rules that publish ports of containers, as Docker makes them: the host of the bridge has them, and packets on the bridge do
//! not meet them.

use super::*;

/// In the namespace of the bridge: at both ends of the way through it.
fn nat(rule: &str) -> String {
    format!("table ip nat {{ chain pre {{ type nat hook prerouting priority -100; {rule}; }}; }}")
}

/// As [`nat`], in the words of iptables.
fn older(host: &Namespace, program: &str, rules: &[&str]) -> bool {
    let done = |words: &str| {
        let run = || std::process::Command::new(program).args(words.split(' ')).output();
        host.run(run).unwrap().is_ok_and(|output| output.status.success())
    };
    rules.iter().all(|rule| done(&format!("-t nat {rule}")))
}

#[test]
fn a_published_port_of_the_target_or_of_another_container_refuses_nothing_where_packets_do_not_meet_it() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let _there = serve(&lab.target, lab.target_address);
    lab.bridge.ip(&["addr", "add", "10.9.0.254/24", "dev", "bridge"]).unwrap();
    let offered = |what: &str, is_refused: bool| {
        let before = got(&stranger);
        match offer(&lab.client, lab.target_address) {
            Ok(trial) => assert!(!is_refused && trial.lost() == 0, "{what}: {:?}", trial.lost_at),
            Err(why) => assert!(is_refused && why.to_string().contains("dnat"), "{what}: {why}"),
        }
        assert_eq!(got(&stranger), before, "{what}");
    };
    for (rule, is_refused) in [
        (
            format!("fib daddr type local iifname != \"bridge\" udp dport {PORT} dnat to 10.9.0.2:{PORT}"),
            false,
        ),
        (format!("fib daddr type local udp dport {PORT} dnat to 10.9.0.9"), false),
        (format!("iifname != \"bridge\" udp dport {PORT} dnat to 10.9.0.9"), false),
        (format!("iifname \"up0\" udp dport {PORT} dnat to 10.9.0.9:{PORT}"), false),
        (format!("udp dport {PORT} dnat to 10.9.0.2"), false),
        (format!("udp dport {PORT} dnat to 10.9.0.9"), true),
        (format!("iifname \"bridge\" udp dport {PORT} dnat to 10.9.0.9"), true),
        (format!("fib daddr type unicast udp dport {PORT} dnat to 10.9.0.9"), true),
    ] {
        lab.bridge.nft(&nat(&rule)).unwrap();
        offered(&rule, is_refused);
        lab.bridge.nft("flush ruleset").unwrap();
    }
    for program in ["iptables-nft", "iptables-legacy"] {
        let to = |address: &str| format!("-j DNAT --to-destination {address}:{PORT}");
        let port = format!("-p udp -m udp --dport {PORT}");
        let local = "-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER";
        for (rules, is_refused) in [
            (vec![local.to_owned(), format!("-A DOCKER ! -i bridge {port} {}", to("10.9.0.2"))], false),
            (vec![local.to_owned(), format!("-A DOCKER ! -i bridge {port} {}", to("10.9.0.9"))], false),
            (vec![format!("-A PREROUTING {port} -m addrtype --dst-type LOCAL {}", to("10.9.0.9"))], false),
            (vec![format!("-A PREROUTING {port} {}", to("10.9.0.9"))], true),
        ] {
            let all: Vec<&str> =
                std::iter::once("-N DOCKER").chain(rules.iter().map(String::as_str)).collect();
            if older(&lab.bridge, program, &all) {
                // The portable build asks the kernel for no older table.
                if !(cfg!(feature = "portable") && program == "iptables-legacy") {
                    offered(&format!("{program} {rules:?}"), is_refused);
                }
            } else {
                eprintln!("left out: {program} {rules:?}");
            }
            older(&lab.bridge, program, &["-F", "-X"]);
        }
    }
}
