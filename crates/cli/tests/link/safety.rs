//! Where frames may not go, and that nothing stays.

use super::{Bench, Value, bridge, codes, count, sent, signal, trial_of};
use dropline_lab::{Bottleneck, Bridged, Namespace, Pair};
use std::process::Child;
use std::time::{Duration, Instant};

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn where_nothing_comes_out_nothing_but_a_few_frames_is_sent() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    lab.bridge.ip(&["link", "set", "dev", Bridged::TO_TARGET, "nomaster"]).unwrap();
    let ended = bench.run(&["trial", &target, "--load=10kpps", "--duration=1s", "-q", "-o", "-"]);
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
    assert!(ended.errors.contains("none came out at"), "{}", ended.errors);
    let left = sent(&lab.client, Pair::NEAR);
    assert!(left <= 8, "{left} left");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn an_interface_that_others_use_is_refused_unless_they_do_not_mind() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    lab.client.ip(&["addr", "add", "10.9.0.1/24", "dev", Pair::NEAR]).unwrap();
    lab.client.ip(&["route", "add", "default", "via", "10.9.0.2"]).unwrap();
    let words = ["--load=1kpps", "--duration=100ms", "-q", "-o", "-"];
    let refused = bench.run(&[&["trial", &target], &words[..]].concat());
    assert_eq!(refused.code, Some(4), "{}", refused.errors);
    assert!(refused.errors.contains("carries a default route"), "{}", refused.errors);
    let used = bench.run(&[&["trial", &format!("{target}?used=yes")], &words[..]].concat());
    assert!(matches!(used.code, Some(0 | 3)), "{}", used.errors);
    lab.client.ip(&["route", "del", "default"]).unwrap();
    // By whatever name: it is the namespace in which the program runs.
    let named = [&["trial", &target], &words[..]].concat();
    let inside = lab.client.run(|| bench.command(&named).output()).unwrap().unwrap();
    let errors = String::from_utf8_lossy(&inside.stderr);
    assert!(inside.status.code() == Some(4) && errors.contains("has an address"), "{errors}");
    lab.target.set(&format!("net.ipv4.conf.{}.forwarding", Pair::FAR), "1").unwrap();
    lab.target.ip(&["link", "add", "uplink", "type", "veth", "peer", "name", "beyond"]).unwrap();
    lab.target.ip(&["addr", "add", "10.9.7.1/24", "dev", "uplink"]).unwrap();
    lab.target.ip(&["link", "set", "dev", "uplink", "up"]).unwrap();
    lab.target.ip(&["link", "set", "dev", "beyond", "up"]).unwrap();
    lab.target.ip(&["route", "add", "default", "via", "10.9.7.2"]).unwrap();
    let passing = bench.run(&named);
    assert!(passing.code == Some(4) && passing.errors.contains("passes on to others"), "{}", passing.errors);
    let own = bench.run(&[&["trial", "link:lo,lo"], &words[..]].concat());
    assert_eq!(own.code, Some(2), "{}", own.errors);
}

/// What makes the first interface, `near`, one that others use: commands of ip in its namespace, and what is said then.
const USES: [(&[&str], &str); 8] = [
    (
        &["route add 0.0.0.0/2 via 10.9.0.2 dev near", "route add 64.0.0.0/2 via 10.9.0.2 dev near"],
        "near carries a default route",
    ),
    (&["route add default via 10.9.0.2 dev near table 77"], "near carries a default route"),
    (
        &[
            "link add ubr type bridge mcast_snooping 0",
            "link set near master ubr",
            "link set ubr up",
            "addr add 10.8.0.1/24 dev ubr",
        ],
        { "near is a port of ubr, which has an address" },
    ),
    (
        &[
            "link add ubr type bridge mcast_snooping 0",
            "link set near master ubr",
            "link set ubr up",
            "link set other master ubr",
        ],
        { "near is a port of ubr, of which other is another port" },
    ),
    (&["link add mv link near type macvlan mode bridge", "link set mv up", "addr add 10.8.0.1/24 dev mv"], {
        "near is below mv, which has an address"
    }),
    (&["link add iv link near type ipvlan", "link set iv up", "route add default dev iv table 78"], {
        "near is below iv, which carries a default route"
    }),
    (&["link add vl link near type vlan id 5", "link set vl up", "addr add 10.8.0.1/24 dev vl"], {
        "near is below vl, which has an address"
    }),
    (
        &[
            "link add vx type vxlan id 7 dev near dstport 4789",
            "link set vx up",
            "addr add 10.8.0.1/24 dev vx",
        ],
        { "near is below vx, which has an address" },
    ),
];

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn an_interface_that_carries_what_others_use_is_refused() {
    let bench = Bench::new();
    let mut seen = 0;
    for (commands, said) in USES {
        let (lab, target) = bridge();
        lab.client.ip(&["addr", "add", "10.9.0.1/24", "dev", Pair::NEAR]).unwrap();
        let ip = |command: &str| lab.client.ip(&command.split(' ').collect::<Vec<_>>());
        for command in
            ["link add other type veth peer name another", "link set another up", "link set other up"]
        {
            ip(command).unwrap();
        }
        if let Err(why) = ip(commands[0]) {
            eprintln!("skipped, as this kernel has it not: {why}");
            continue;
        }
        commands[1..].iter().for_each(|command| drop(ip(command).unwrap()));
        seen += 1;
        let before = sent(&lab.client, Pair::NEAR);
        let ended = bench.run(&["trial", &target, "--load=1kpps", "--duration=100ms", "-q", "-o", "-"]);
        assert_eq!(ended.code, Some(4), "{said}: {}", ended.errors);
        assert!(ended.errors.contains(said), "{said}: {}", ended.errors);
        // None of those that are tried; what is on it may say something when it is switched on.
        assert!(sent(&lab.client, Pair::NEAR) - before < 3, "{said}");
    }
    assert!(seen >= 4, "{seen} ways were seen");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn an_interface_on_one_that_others_use_is_refused() {
    let bench = Bench::new();
    let (lab, _) = bridge();
    let holder = Namespace::new("holder").unwrap();
    lab.client.ip(&["addr", "add", "10.9.0.1/24", "dev", Pair::NEAR]).unwrap();
    let made = [
        "link",
        "add",
        "mv",
        "link",
        Pair::NEAR,
        "netns",
        holder.name(),
        "type",
        "macvlan",
        "mode",
        "bridge",
    ];
    lab.client.ip(&made).unwrap();
    holder.ip(&["link", "set", "dev", "mv", "up"]).unwrap();
    let target = format!("link:{}/mv,{}/{}", holder.name(), lab.target.name(), Pair::FAR);
    let ended = bench.run(&["trial", &target, "--load=1kpps", "--duration=100ms", "-q", "-o", "-"]);
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
    assert!(ended.errors.contains("is on near of network namespace"), "{}", ended.errors);
}

/// A trial that was begun, of which so many frames have left the first interface.
fn begun(bench: &Bench, lab: &Bridged, target: &str, frames: u64) -> Child {
    let words = ["trial", target, "--load=10kpps", "--duration=300s", "-q", "-o", "r.jsonl"];
    let child = bench.command(&words).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while sent(&lab.client, Pair::NEAR) < frames && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_trial_that_had_to_end_keeps_what_it_counted_until_then() {
    // What is deleted is switched off before it goes away: either may be seen.
    for (engine, how, said) in [
        ("xdp", "deleted", "near w"),
        ("packet", "deleted", "near w"),
        ("xdp", "off", "was switched off"),
        ("packet", "off", "was switched off"),
        ("xdp", "silent", "none came out at"),
        ("packet", "silent", "none came out at"),
        ("xdp", "far", "far w"),
        ("packet", "far", "far w"),
    ] {
        let bench = Bench::new();
        let (lab, target) = bridge();
        let child = begun(&bench, &lab, &format!("{target}?engine={engine}"), 1_000);
        match how {
            "deleted" => lab.client.ip(&["link", "del", "dev", Pair::NEAR]).unwrap(),
            "off" => lab.client.ip(&["link", "set", "dev", Pair::NEAR, "down"]).unwrap(),
            "far" => lab.target.ip(&["link", "del", "dev", Pair::FAR]).unwrap(),
            _ => lab.bridge.ip(&["link", "set", "dev", Bridged::TO_TARGET, "nomaster"]).unwrap(),
        };
        let ended = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(3), "{engine} {how}: {errors}");
        let trial = trial_of(&bench.read("r.jsonl"));
        let caveats = trial["caveats"].to_string();
        assert!(
            codes(&trial).contains(&"rule_appeared") && caveats.contains(said),
            "{engine} {how}: {trial}"
        );
        let (offered, forwarded) = (count(&trial, "offered"), count(&trial, "forwarded"));
        assert!((900..1_500_000).contains(&offered) && forwarded >= 900, "{engine} {how}: {trial}");
        match how {
            // What was under way, in a ring of 256, went with the interface.
            "deleted" | "off" => assert!(offered - forwarded <= 256, "{engine} {how}: {trial}"),
            _ => assert!(offered > forwarded, "{engine} {how}: {trial}"),
        }
        if how == "far" {
            // All that left, though nothing came out any more; and those that were tried.
            let left = sent(&lab.client, Pair::NEAR);
            assert!((offered..=offered + 70).contains(&left), "{left} left: {trial}");
        }
        if how != "deleted" {
            assert!(offered <= sent(&lab.client, Pair::NEAR), "what did not leave is not offered: {trial}");
        }
    }
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn no_frame_leaves_by_an_interface_that_takes_the_number_of_the_first() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    let index: Value =
        serde_json::from_str(&lab.client.ip(&["-j", "link", "show", "dev", Pair::NEAR]).unwrap()).unwrap();
    let index = index[0]["ifindex"].to_string();
    lab.client.ip(&["link", "add", "other", "type", "veth", "peer", "name", "beyond"]).unwrap();
    lab.client.ip(&["link", "del", "dev", "other"]).unwrap();
    // In one process: what looks now and then sees no moment without it.
    let batch = format!(
        "link del dev near\nlink add dev other index {index} type veth peer name beyond\nlink set beyond up\nlink set other up\n"
    );
    std::fs::write(bench.path("batch"), batch).unwrap();
    let child = begun(&bench, &lab, &format!("{target}?engine=xdp"), 1_000);
    let swapped = lab.client.command("ip").arg("-batch").arg(bench.path("batch")).status().unwrap();
    assert!(swapped.success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(sent(&lab.client, "other"), 0);
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_bridge_that_forgets_does_not_send_frames_to_others() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    lab.bridge.ip(&["link", "set", "dev", "bridge", "type", "bridge", "ageing_time", "200"]).unwrap();
    lab.bridge.ip(&["link", "add", "third", "type", "veth", "peer", "name", "spy"]).unwrap();
    for set in [&["spy", "up"][..], &["third", "master", "bridge"], &["third", "up"]] {
        lab.bridge.ip(&[&["link", "set", "dev"], set].concat()).unwrap();
    }
    let ended = bench.run(&["trial", &target, "--load=1kpps", "--duration=6s", "-q", "-o", "r.jsonl"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.errors);
    let trial = trial_of(&bench.read("r.jsonl"));
    let (offered, flooded) = (count(&trial, "offered"), sent(&lab.bridge, "third"));
    assert!(offered > 5_000 && flooded < 100, "{flooded} of {offered}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_killed_trial_leaves_no_program_behind() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    let shown = || lab.target.ip(&["link", "show", "dev", Pair::FAR]).unwrap();
    let becomes = |there: bool| {
        let until = Instant::now() + Duration::from_secs(60);
        while shown().contains("xdp") != there && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(shown().contains("xdp"), there, "{}", shown());
    };
    for engine in ["xdp", "packet"] {
        let target = format!("{target}?engine={engine}");
        let words = ["trial", &target, "--load=10kpps", "--duration=600s", "-q", "-o", "-"];
        let mut command = bench.command(&words);
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        becomes(true);
        child.kill().unwrap();
        child.wait().unwrap();
        becomes(false);
    }
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn an_interface_that_others_begin_to_use_during_a_trial_spoils_it() {
    for (commands, said) in [
        (
            &[
                "link add mv link far type macvlan mode bridge",
                "addr add 10.8.0.1/24 dev mv",
                "link set mv up",
            ][..],
            { "far is below mv, which has an address" },
        ),
        (&["addr add 10.9.0.2/24 dev far", "route add default via 10.9.0.1 dev far"], {
            "far carries a default route"
        }),
    ] {
        let bench = Bench::new();
        let (lab, target) = bridge();
        let words = ["trial", &target, "--load=1kpps", "--duration=4s", "-q", "-o", "r.jsonl"];
        let child = bench.command(&words).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while sent(&lab.client, Pair::NEAR) < 100 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        for command in commands {
            lab.target.ip(&command.split(' ').collect::<Vec<_>>()).unwrap();
        }
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stderr));
        let trial = trial_of(&bench.read("r.jsonl"));
        assert!(
            codes(&trial).contains(&"rule_appeared") && trial["caveats"].to_string().contains(said),
            "{trial}"
        );
    }
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn frames_that_come_late_are_taken_as_long_as_any_come() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    lab.shape(&Bottleneck { rate: "16kbit", burst_bytes: 220, limit_bytes: 4_000 }).unwrap();
    lab.target
        .nft("table ip dropline { counter late { }; chain c { type filter hook prerouting priority 0; udp dport 9 counter name late; }; }")
        .unwrap();
    let words = [
        "trial",
        &target,
        "--load=100pps",
        "--duration=300ms",
        "--drain=100ms",
        "--frame=64B",
        "-q",
        "-o",
        "r.jsonl",
    ];
    let ended = bench.run(&words);
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.errors);
    let trial = trial_of(&bench.read("r.jsonl"));
    assert!(count(&trial, "forwarded") < count(&trial, "offered"), "{trial}");
    std::thread::sleep(Duration::from_secs(3));
    let passed =
        lab.target.command("nft").args(["list", "counter", "ip", "dropline", "late"]).output().unwrap();
    let passed = String::from_utf8_lossy(&passed.stdout);
    assert!(passed.contains("packets 0"), "{passed}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_program_that_is_stopped_and_goes_on_while_it_begins_ends_as_any_other() {
    let bench = Bench::new();
    let (_lab, target) = bridge();
    let words = ["trial", &target, "--load=1kpps", "--duration=1s", "-q", "-o", "-"];
    let mut command = bench.command(&words);
    let mut child =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    for _ in 0..30 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        for name in ["STOP", "CONT"] {
            signal(&child, name);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let ended = child.wait_with_output().unwrap();
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&ended.stderr));
}
