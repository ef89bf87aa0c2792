//! Real namespaces: what was built works, and nothing of it is left.

use dropline_lab::{Bottleneck, Bridged, Namespace, Pair, Scheduling, Start, built_or_skipped as built};
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn what_leaves_one_namespace_arrives_in_the_other() {
    let Some(lab) = built(Bridged::new()) else { return };
    let target = lab.target.run(|| UdpSocket::bind((lab.target_address, 0)).unwrap()).unwrap();
    target.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let address = target.local_addr().unwrap();
    lab.client
        .run(|| {
            let client = UdpSocket::bind((lab.client_address, 0)).unwrap();
            client.send_to(b"over the bridge", address).unwrap();
        })
        .unwrap();
    let mut bytes = [0; 32];
    let (length, from) = target.recv_from(&mut bytes).unwrap();
    assert_eq!((&bytes[..length], from.ip()), (b"over the bridge".as_slice(), lab.client_address.into()));
}

/// What the kernel sends on its own account would be counted with the traffic of a trial.
#[test]
fn an_interface_sends_nothing_that_nobody_asked_for() {
    let Some(lab) = built(Bridged::new()) else { return };
    for (namespace, devices) in [
        (&lab.client, [Pair::NEAR].as_slice()),
        (&lab.bridge, &["bridge", Bridged::TO_CLIENT, Bridged::TO_TARGET]),
        (&lab.target, &[Pair::FAR]),
    ] {
        let spoken = namespace.run(|| std::fs::read_to_string("/proc/thread-self/net/if_inet6")).unwrap();
        let spoken = spoken.unwrap_or_default();
        for device in devices {
            assert!(!spoken.contains(device), "{device} speaks IPv6: {spoken}");
        }
    }
    let bridge = lab.bridge.ip(&["-d", "link", "show", "dev", "bridge"]).unwrap();
    assert!(bridge.contains("mcast_snooping 0"), "it asks for groups: {bridge}");
}

#[test]
fn a_bottleneck_lets_a_burst_and_its_limit_pass() {
    let Some(lab) = built(Bridged::new()) else { return };
    // So slow that nothing more leaves while the test runs: 1 500 at once, then 3 000 bytes wait.
    lab.shape(&Bottleneck { rate: "8bit", burst_bytes: 1_500, limit_bytes: 3_000 }).unwrap();
    let target = lab.target.run(|| UdpSocket::bind((lab.target_address, 7)).unwrap()).unwrap();
    lab.client
        .run(|| {
            let client = UdpSocket::bind((lab.client_address, 0)).unwrap();
            // Neighbours would be asked for over the bottleneck.
            let mac = |namespace: &Namespace, device: &str| {
                let link = namespace.ip(&["-o", "link", "show", "dev", device]).unwrap();
                link.split_once("link/ether ").unwrap().1.split(' ').next().unwrap().to_owned()
            };
            let to = lab.target_address.to_string();
            let far = mac(&lab.target, Pair::FAR);
            lab.client
                .ip(&["neigh", "replace", &to, "lladdr", &far, "dev", Pair::NEAR, "nud", "permanent"])
                .unwrap();
            for _ in 0..20 {
                client.send_to(&[0; 458], (lab.target_address, 7)).unwrap();
            }
        })
        .unwrap();
    let said = lab.bridge.tc(&["-s", "qdisc", "show", "dev", Bridged::TO_TARGET]).unwrap();
    assert!(said.contains("tbf") && !said.contains("dropped 0,"), "{said}");
    target.set_nonblocking(true).unwrap();
    assert!(target.recv(&mut [0; 512]).is_ok(), "some pass at once");
    lab.shape(&Bottleneck { rate: "8mbit", burst_bytes: 15_000, limit_bytes: 3_000 }).unwrap();
}

#[test]
fn a_started_program_has_its_cpu_its_class_and_its_namespace() {
    let Some(lab) = built(Namespace::new("alone")) else { return };
    let look = "taskset -cp $$; chrt -p $$; ip -o addr | wc -l; read wait";
    let start = Start { cpus: vec![0], scheduling: Scheduling::Fifo(3), ..Start::new(["sh", "-c", look]) };
    let started = start.start(Some(&lab)).unwrap();
    let within = Duration::from_secs(10);
    let id = started.pid();
    started
        .wait_for(within, |line| line.contains(&format!("pid {id}'s current affinity list: 0")).then_some(()))
        .unwrap();
    started.wait_for(within, |line| line.ends_with("SCHED_FIFO").then_some(())).unwrap();
    started.wait_for(within, |line| (line.trim() == "2").then_some(())).unwrap();
    assert_eq!(lab.processes().unwrap(), [id]);
    started.end(within);
    assert_eq!(lab.processes().unwrap(), [0_u32; 0], "it read to the end of its input and left");
}

#[test]
fn a_program_that_ends_early_is_said_to_have_ended() {
    let Some(lab) = built(Namespace::new("alone")) else { return };
    let started = Start::new(["true"]).start(Some(&lab)).unwrap();
    let why = started.wait_for(Duration::from_secs(10), |_| Some(())).unwrap_err();
    assert_eq!(why.to_string(), "true did not say that it was ready: it ended");
}

#[test]
fn a_rule_and_a_switch_are_of_one_namespace_only() {
    let Some(lab) = built(Namespace::new("ruled")) else { return };
    lab.nft("table inet dropline { chain out { type filter hook output priority 0; udp dport 9 drop; }; }")
        .unwrap();
    lab.set("net.ipv4.ip_default_ttl", "33").unwrap();
    let read = || std::fs::read_to_string("/proc/sys/net/ipv4/ip_default_ttl").unwrap();
    assert_eq!(lab.run(read).unwrap().trim(), "33");
    assert_ne!(read().trim(), "33");
    let send = || UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"x", "127.0.0.1:9").map(|_| ());
    assert_eq!(lab.run(send).unwrap().unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    assert!(lab.set("net.ipv4.no_such_switch", "1").is_err());
    assert!(lab.nft("no ruleset at all").unwrap_err().to_string().contains("nft"));
}

#[test]
fn a_namespace_is_gone_when_it_is_dropped() {
    let Some(lab) = built(Pair::new()) else { return };
    let paths = [lab.client.path(), lab.target.path()];
    assert!(paths.iter().all(|path| path.exists()));
    let started = Start::new(["sleep", "60"]).start(Some(&lab.target)).unwrap();
    let process = format!("/proc/{}", started.pid());
    drop(lab);
    assert!(paths.iter().all(|path| !path.exists()));
    drop(started);
    assert!(!Path::new(&process).exists());
}

#[test]
fn what_a_killed_program_left_is_removed_at_the_next_start() {
    let Some(_) = built(Namespace::new("first")) else { return };
    let said = of_a_killed_program();
    let (path, pid) = said.split_once(' ').unwrap();
    assert!(Path::new(path).exists(), "a killed program cannot clean up");
    // A program of its own: this one has looked for what is left already.
    assert!(again("leaves").wait().unwrap().success());
    assert!(!Path::new(path).exists());
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "what ran inside is ended: {state}");
}

#[test]
fn a_living_programs_namespace_is_left_alone_also_by_a_program_of_another_container() {
    let Some(lab) = built(Namespace::new("living")) else { return };
    let container = in_a_container();
    assert!(container.success());
    assert!(lab.path().exists() && lab.run(|| ()).is_ok(), "it was removed");
}

#[test]
fn what_a_killed_program_left_keeps_its_name_until_somebody_comes_who_can_end_what_runs_in_it() {
    let Some(_) = built(Namespace::new("first")) else { return };
    let said = of_a_killed_program();
    let (path, pid) = said.split_once(' ').unwrap();
    let inside = format!("/proc/{pid}");
    assert!(in_a_container().success());
    assert!(Path::new(path).exists() || !Path::new(&inside).exists(), "its name is gone and it runs on");
}

/// The path of a laboratory that a program made which was then killed, and the number of what runs in it.
fn of_a_killed_program() -> String {
    let mut other = again("waits");
    let mut said = BufReader::new(other.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = said.find_map(|line| line.split_once("built ").map(|(_, said)| said.to_owned())).unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    said
}

const PARTS: &str = env!("CARGO_BIN_EXE_dropline-lab-parts");

/// Starts a program that looks for what is left, where the number of this process is another's, or nobody's.
fn in_a_container() -> std::process::ExitStatus {
    let mut container = Command::new("unshare");
    container.args(["--pid", "--fork", "--mount-proc", PARTS, "leaves"]).status().unwrap()
}

fn again(part: &str) -> std::process::Child {
    Command::new(PARTS).arg(part).stdout(Stdio::piped()).spawn().unwrap()
}
