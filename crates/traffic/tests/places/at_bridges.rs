//! Rules at interfaces where a bridge is on the way, or at the target.

use super::*;
use trials::{echo, lost, trial_of};

/// Where a rule stands: the namespace, the hook, and the places that its drops may be told at.
type Row<'a> = (&'a Namespace, &'a str, &'a str, &'a [&'a str]);

/// Half of the packets, or of the replies, are dropped by each of these rules; nothing else drops any.
fn assert_told(client: &Namespace, target: &Namespace, address: Ipv4Addr, rows: &[Row<'_>]) {
    for &(namespace, hook, which, places) in rows {
        let listen = SocketAddr::from((address, PORT));
        let served = target.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap();
        let rule = format!(
            "table netdev dropline {{ chain it {{ type filter hook {hook} priority 0; udp {which} {PORT} numgen inc mod 2 == 0 drop; }}; }}"
        );
        if let Err(why) = namespace.nft(&rule) {
            eprintln!("left out: {why}");
            continue;
        }
        let trial = trial_of(client, echo(address), &MeasurerOptions::default(), 500.0, 1_000);
        drop(served);
        namespace.nft("flush ruleset").unwrap();
        assert!(trial.lost() > 50, "{hook}: {:?}", trial.lost_at);
        let said = lost(&trial);
        let is_right = |(place, _): &(&str, u64)| places.contains(place) || *place == "unexplained";
        assert!(said.iter().all(is_right), "{hook} in {}: {said:?} {:?}", namespace.name(), trial.caveats);
    }
}

#[test]
fn a_rule_at_an_interface_of_a_bridge_is_told_where_it_stands_or_not_at_all() {
    let Some(lab) = built(Bridged::new()) else { return };
    let [back, out] = [&["return_netfilter"][..], &["netfilter", "ingress"]];
    let arriving_back = &["return_ingress", "return_netfilter"];
    let rows: &[Row<'_>] = &[
        (&lab.target, "egress device far", "sport", back),
        (&lab.target, "ingress device far", "dport", out),
        (&lab.bridge, "egress device to-target", "dport", out),
        (&lab.bridge, "egress device to-client", "sport", back),
        (&lab.bridge, "ingress device to-client", "dport", out),
        (&lab.bridge, "ingress device to-target", "sport", arriving_back),
        (&lab.client, "ingress device near", "sport", arriving_back),
    ];
    assert_told(&lab.client, &lab.target, lab.target_address, rows);
}

#[test]
fn a_rule_at_a_bridge_of_the_targets_own_is_told_where_it_stands_or_not_at_all() {
    let Some(lab) = built(Pair::new()) else { return };
    for words in [
        &["link", "add", "dev", "own", "type", "bridge", "mcast_snooping", "0"][..],
        &["link", "set", "dev", "own", "up"],
        &["addr", "flush", "dev", Pair::FAR],
        &["link", "set", "dev", Pair::FAR, "master", "own"],
        &["addr", "add", "10.9.0.2/24", "dev", "own"],
    ] {
        lab.target.ip(words).unwrap();
    }
    let [back, out] = [&["return_netfilter"][..], &["netfilter", "ingress"]];
    let rows: &[Row<'_>] = &[
        (&lab.target, "egress device far", "sport", back),
        (&lab.target, "egress device own", "sport", back),
        (&lab.target, "ingress device far", "dport", out),
        (&lab.target, "ingress device own", "dport", out),
    ];
    assert_told(&lab.client, &lab.target, lab.target_address, rows);
}
