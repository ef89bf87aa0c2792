//! A program that builds a laboratory, for tests of what is left when it is killed.

use dropline_lab::{Namespace, Start};
use std::time::Duration;

fn main() {
    let lab = Namespace::new("killed").unwrap();
    match std::env::args().nth(1).as_deref() {
        Some("leaves") => return,
        Some("waits") => {}
        other => panic!("{other:?} is not a part"),
    }
    let started = Start::new(["sleep", "60"]).start(Some(&lab)).unwrap();
    // `ip` is started first, and enters the namespace a moment later: before that nobody can see that it will.
    while !lab.processes().unwrap().contains(&started.pid()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("built {} {}", lab.path().display(), started.pid());
    std::thread::sleep(Duration::from_secs(60));
}
