//! `dropline serve`.

use super::{DONE, stop_on_signals};
use crate::args::ServeArgs;
use crate::{output as out, plan};
use dropline::Failure;
use dropline::measured::written;
use dropline::serving::{Served, Service, serve};
use std::net::ToSocketAddrs as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(crate) fn run(args: &ServeArgs) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let listen = args
        .listen
        .to_socket_addrs()
        .ok()
        .and_then(|mut found| found.next())
        .ok_or_else(|| Failure::usage(format!("--listen {:?} is no ADDR:PORT", args.listen)))?;
    let buffer =
        args.buffer.as_deref().map(|text| plan::read("--buffer", written::bytes(text))).transpose()?;
    let running = serve(Service {
        listen,
        service_time: plan::read("--service-time", written::duration(&args.service_time))?,
        sleep: args.sleep,
        queue: args.queue,
        buffer,
        workers: args.workers,
    })?;
    out::print(&format!("listening udp {}", running.address()))?;
    if !listen.ip().is_loopback() {
        eprintln!("others can send to {}: it echoes what they send, never more", running.address());
    }
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let served = Served::from(running.stop());
    if args.json {
        out::print_json(&served)?
    } else {
        out::print(&text(&served))?
    }
    Ok(DONE)
}

fn text(served: &Served) -> String {
    let mut lines =
        vec![format!("received   {}", served.received), format!("answered   {}", served.answered)];
    let mut some = |count: u64, what: &str| {
        if count > 0 {
            lines.push(format!("{what:<10} {count}"));
        }
    };
    some(served.unanswered, "one-way");
    some(served.refused, "refused");
    some(served.waiting, "waiting");
    let socket = served.dropped_socket.map_or("not known".into(), |count| count.to_string());
    lines.push(format!("dropped    {} at the queue, {socket} at the socket's buffer", served.dropped_queue));
    lines.join("\n")
}
