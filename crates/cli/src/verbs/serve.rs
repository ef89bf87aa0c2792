//! `dropline serve`.

use super::DONE;
use crate::args::ServeArgs;
use crate::signals::stop_on_signals;
use crate::{output as out, plan};
use dropline_archive::whole_file;
use dropline_failure::Failure;
use dropline_trial::quantities;
use dropline_verbs::serve::{Seat, Served, Service, serve, take};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(crate) fn run(args: &ServeArgs) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let listen = plan::address("--listen", &args.listen, "an ADDR:PORT")?;
    let buffer =
        args.buffer.as_deref().map(|text| plan::read("--buffer", quantities::bytes(text))).transpose()?;
    if args.times.is_some() && args.queue > 0 {
        return Err(Failure::usage("--times needs --queue 0: workers that read from the socket themselves"));
    }
    take(Seat { cpu: args.cpu, fifo: args.fifo })?;
    let running = serve(Service {
        listen,
        service_time: plan::read("--service-time", quantities::duration(&args.service_time))?,
        sleep: args.sleep,
        queue: args.queue,
        buffer,
        workers: args.workers,
        keep_times: if args.times.is_some() { MOST_TIMES } else { 0 },
        receive: args.receive,
        answer_all: args.answer_all,
        cpu: None,
    })?;
    out::print(&format!("listening udp {}", running.address()))?;
    if !listen.ip().is_loopback() {
        note!("others can send to {}: it echoes what they send, never more", running.address());
    }
    if args.until_eof {
        let stop = Arc::clone(&stop);
        let read = move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            stop.store(true, Ordering::Relaxed);
        };
        std::thread::Builder::new().spawn(read).map_err(|why| Failure::thread(&why))?;
    }
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
    if let Some(path) = &args.times {
        let lines: Vec<String> =
            running.times().iter().map(|[read, served]| format!("{read} {served}")).collect();
        whole_file::create_of(path, (lines.join("\n") + "\n").as_bytes())?;
    }
    let served = Served::from(running.stop());
    if args.json {
        out::print_json(&served)?
    } else {
        out::print(&text(&served))?
    }
    Ok(DONE)
}

/// Packets whose times `--times` keeps: 32 MB.
const MOST_TIMES: usize = 2 << 20;

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
    if served.stood_still_ns > 0 {
        let ms = served.stood_still_ns as f64 / 1e6;
        lines.push(format!(
            "stood      still for {ms:.1} ms with packets to serve: the machine gave it no CPU"
        ));
    }
    lines.join("\n")
}
