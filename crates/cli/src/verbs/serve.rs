//! `dropline serve`.

use super::DONE;
use crate::help::one_of;
use crate::signals::stop_on_signals;
use crate::{output as out, plan};
use clap::Args;
use dropline_archive::whole_file;
use dropline_failure::Failure;
use dropline_traffic::{ReceiveMeans, Reflector};
use dropline_trial::{quantities, time_of};
use dropline_verbs::serve::{KernelReflector, Seat, Served, Service, reflect, serve, take};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Run a UDP service to measure: it answers each packet after a service time.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline serve --service-time 20us --queue 256
  dropline serve --listen 127.0.0.1:9000 --sleep \\
      --service-time 500us --queue 16 --workers 2
  dropline serve --service-time 40us --queue 0 \\
      --buffer 26624B
  dropline serve --listen 127.0.0.1:8620 --stamp=stateful

It prints `listening udp ADDR:PORT`, echoes each packet (never more than it got), and on Ctrl-C prints what it \
received, answered and dropped, and where.")]
pub(crate) struct ServeArgs {
    /// Address to listen on; with any other than loopback, other hosts can send to it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7007")]
    pub(crate) listen: String,
    /// Time that a worker takes for each packet, system calls included; 0 answers at once, without queue and
    /// workers.
    #[arg(long, value_name = "TIME", default_value = "0us")]
    pub(crate) service_time: String,
    /// Sleep through the service time instead of keeping the CPU busy.
    #[arg(long)]
    pub(crate) sleep: bool,
    /// Number of packets that can wait for a worker; with 0 they wait in the socket's buffer.
    #[arg(long, value_name = "PACKETS", default_value_t = 256)]
    pub(crate) queue: usize,
    /// Size of the socket's receive buffer [default: the system's].
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<String>,
    /// Number of workers that serve packets in parallel.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) workers: usize,
    /// Stop when the standard input ends too; for programs that start this one.
    #[arg(long)]
    pub(crate) until_eof: bool,
    /// Run on this CPU alone.
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// Use real-time priority (SCHED_FIFO) at this level; needs root or CAP_SYS_NICE.
    #[arg(long, value_name = "PRIORITY")]
    pub(crate) fifo: Option<u8>,
    /// Write to this file when each packet was read and served, in ns of the monotonic clock (needs --queue 0).
    #[arg(long, value_name = "FILE")]
    pub(crate) times: Option<PathBuf>,
    /// How packets are taken from the socket.
    #[arg(long, value_name = "MEANS", default_value = "block",
          value_parser = one_of(ReceiveMeans::ALL, ReceiveMeans::name, ReceiveMeans::about))]
    pub(crate) receive: ReceiveMeans,
    /// Answer every packet; without it, ports below 1024 and other load generators get a few answers only, for a forged
    /// packet could start an endless exchange.
    #[arg(long)]
    pub(crate) answer_all: bool,
    /// Reflect STAMP packets (RFC 8762), and answer nothing else.
    #[arg(long, value_name = "KIND", num_args = 0..=1, require_equals = true, default_missing_value = "stateless",
          conflicts_with_all = ["answer_all", "times"],
          value_parser = one_of(Reflector::ALL, Reflector::name, Reflector::about))]
    pub(crate) stamp: Option<Reflector>,
    /// Answer packets of Dropline's own for the address of --listen in the kernel, at this interface (XDP). Needs root, and ends with
    /// this program.
    #[arg(long, value_name = "IF", conflicts_with_all = ["stamp", "times"])]
    pub(crate) xdp: Option<String>,
    /// Print the counts as one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &ServeArgs) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let listen = plan::address("--listen", &args.listen, "an ADDR:PORT, such as 127.0.0.1:7007")?;
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
        stamp: args.stamp,
        cpu: None,
    })?;
    let reflector = args.xdp.as_deref().map(|interface| reflect(interface, running.address())).transpose()?;
    out::print(&format!("listening udp {}", running.address()))?;
    if let (Some(interface), Some(reflector)) = (&args.xdp, &reflector) {
        note!("sent back at {interface}, {}", reflector.words());
    }
    if !listen.ip().is_loopback() {
        note!("others can send to {}: it sends back as much as they send, never more", running.address());
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
    let reflected = reflector.as_ref().map(KernelReflector::reflected);
    drop(reflector);
    let served = Served { reflected, ..Served::from(running.stop()) };
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
        lines.push(format!(
            "stood      still for {} with packets to serve: the machine gave it no CPU",
            time_of(served.stood_still_ns)
        ));
    }
    if let Some(reflected) = served.reflected {
        lines.push(format!("reflected  {reflected} in the kernel, beside those received"));
    }
    lines.join("\n")
}
