//! A reflector in the kernel, in front of a service.

use super::{Bench, Value, count};
use dropline_lab::Pair;
use dropline_payload::{Message, Tag, message};
use std::net::UdpSocket;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A service at the far end of a pair, with the reflector before it.
fn service(bench: &Bench, lab: &Pair) -> Child {
    let address = format!("{}:7007", lab.target_address);
    let words = ["serve", "--listen", &address, "--xdp", Pair::FAR, "--until-eof", "--json"];
    let mut command = bench.command(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = lab.target.run(|| command.spawn()).unwrap().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !shown(lab).contains("xdp") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn shown(lab: &Pair) -> String {
    lab.target.ip(&["link", "show", "dev", Pair::FAR]).unwrap()
}

/// What it says at its end.
fn ended(mut child: Child) -> Value {
    drop(child.stdin.take());
    let ended = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    let object = text.find('{').map(|at| &text[at..]).unwrap_or_else(|| panic!("{text}"));
    serde_json::from_str(object).unwrap_or_else(|why| panic!("{why}: {object}"))
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn what_wants_a_reply_comes_back_once_and_as_long_and_all_else_goes_on_to_the_service() {
    let bench = Bench::new();
    let lab = Pair::new().unwrap();
    let child = service(&bench, &lab);
    let socket = lab.client.run(|| UdpSocket::bind((lab.client_address, 40_000))).unwrap().unwrap();
    socket.connect((lab.target_address, 7007)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let tag = Tag(77);
    let mut answers = Vec::new();
    for (index, length) in [16, 17, 18, 99, 512, 1472].into_iter().enumerate() {
        let index = index as u64;
        let mut packet = Message::Packet { tag, index, reply_wanted: true }.header().to_vec();
        packet.resize(length, 0xa5);
        socket.send(&packet).unwrap();
        let mut reply = [0; 2048];
        let read = socket.recv(&mut reply).unwrap();
        assert_eq!(read, length);
        assert_eq!(message::decode(&reply[..read]).unwrap(), Message::Answered { tag, index });
        assert_eq!(reply[16..read], packet[16..]);
        answers.push(reply[..read].to_vec());
    }
    // Nothing answers an answer, or what wants none.
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    answers.push(Message::Packet { tag, index: 9, reply_wanted: false }.header().to_vec());
    for packet in &answers {
        socket.send(packet).unwrap();
    }
    assert!(socket.recv(&mut [0; 2048]).is_err());
    // What is not ours is the service's: it answers.
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.send(b"not a packet of ours").unwrap();
    assert_eq!(socket.recv(&mut [0; 2048]).unwrap(), 20);
    let served = ended(child);
    assert_eq!((count(&served, "reflected"), count(&served, "received")), (6, 8), "{served}");
    assert!(!shown(&lab).contains("xdp"), "{}", shown(&lab));
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_killed_reflector_is_gone_and_it_takes_an_address_of_its_interface() {
    let bench = Bench::new();
    let lab = Pair::new().unwrap();
    let mut child = service(&bench, &lab);
    assert!(shown(&lab).contains("xdp"));
    child.kill().unwrap();
    child.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while shown(&lab).contains("xdp") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!shown(&lab).contains("xdp"), "{}", shown(&lab));
    let elsewhere = bench.run(&["serve", "--xdp", "lo"]);
    assert!(elsewhere.code == Some(2) && elsewhere.errors.contains("--listen"), "{}", elsewhere.errors);
}
