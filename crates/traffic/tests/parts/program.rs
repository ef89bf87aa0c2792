//! Targets that tests start in a namespace: which one, and its address. They end with their input.

#![allow(clippy::disallowed_methods)]

use dropline_traffic::Responder;
use std::io::Read as _;
use std::net::{SocketAddr, UdpSocket};

fn main() {
    let mut words = std::env::args().skip(1);
    let part = words.next().unwrap();
    let listen: SocketAddr = words.next().unwrap().parse().unwrap();
    let until_its_input_ends = || std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    match part.as_str() {
        "serves" => {
            let responder = Responder { listen, ..Responder::default() }.start().unwrap();
            println!("listening at {}", responder.address());
            until_its_input_ends();
        }
        "listens" => {
            let socket = UdpSocket::bind(listen).unwrap();
            println!("listening at {}", socket.local_addr().unwrap());
            std::thread::spawn(move || while socket.recv(&mut [0; 100]).is_ok() {});
            until_its_input_ends();
        }
        other => panic!("{other} is not a part"),
    }
}
