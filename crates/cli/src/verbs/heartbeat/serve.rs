//! `dropline heartbeat serve`.

use crate::signals::stop_on_signals;
use crate::verbs::DONE;
use crate::{output as out, plan};
use clap::Args;
use dropline_aggregator::access::{Bucket, Limits, Network};
use dropline_aggregator::metrics;
use dropline_aggregator::server::{Server, ServerCounts};
use dropline_failure::Failure;
use dropline_http::{Answers, Content, Gate, Http, Request};
use dropline_trial::number_of;
use dropline_trial::quantities;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Run an aggregator: it keeps the last heartbeat of each variable and answers with reports.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline heartbeat serve
  dropline heartbeat serve --listen 0.0.0.0:9060 \\
      --allow 10.0.0.0/8 --from 10.0.7.0/24
  dropline heartbeat serve --metrics 127.0.0.1:9062

It prints `listening udp ADDR:PORT`, answers only valid requests, and on Ctrl-C prints what it stored, rejected, \
answered and refused, and why.

Heartbeats and reports are not authenticated: whoever can send to this port can set every variable.")]
pub(crate) struct HeartbeatServeArgs {
    /// Address to listen on; with any other than loopback, other hosts can send to it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9060")]
    listen: String,
    /// Network that may ask for reports, such as 10.0.0.0/8; may be repeated [default: this machine].
    #[arg(long, value_name = "NETWORK")]
    allow: Vec<Network>,
    /// Network whose heartbeats are kept; may be repeated [default: all].
    #[arg(long, value_name = "NETWORK")]
    from: Vec<Network>,
    /// Reports per second for one monitor; all monitors together get ten times as many.
    #[arg(long, value_name = "N", default_value_t = 10)]
    reports: u32,
    /// Answer every request of an allowed monitor, for tests.
    #[arg(long, conflicts_with = "reports")]
    no_limits: bool,
    /// Size of the socket's receive buffer, which holds packets while the server is not running.
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    buffer: String,
    /// Number of packets taken from the socket at once.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    batch: u16,
    /// Serve counts and values as OpenMetrics text at http://ADDR:PORT/metrics, on loopback only.
    #[arg(long, value_name = "ADDR:PORT")]
    metrics: Option<SocketAddr>,
    /// Print the counts as one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &HeartbeatServeArgs) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let listen = plan::address("--listen", &args.listen, "an ADDR:PORT")?;
    let buffer = plan::read("--buffer", quantities::bytes(&args.buffer))?;
    let monitors = if args.allow.is_empty() { Network::LOOPBACK.to_vec() } else { args.allow.clone() };
    let server = Server {
        listen,
        monitors,
        senders: (!args.from.is_empty()).then(|| args.from.clone()),
        limits: if args.no_limits { None } else { Some(limits(args.reports)?) },
        buffer,
        batch: usize::from(args.batch),
    }
    .listen()?;
    out::print(&format!("listening udp {}", server.address()))?;
    let view = server.view();
    let metrics = args.metrics.map(|listen| {
        let answers: Arc<Answers> = Arc::new(move |request: &Request| {
            (request.path == "/metrics")
                .then(|| Content::of(metrics::CONTENT_TYPE, metrics::of_server(&view.counts(), &view.kept())))
        });
        Http::start(listen, Gate::Machine, answers)
    });
    let metrics = metrics.transpose()?;
    if let Some(metrics) = &metrics {
        note!("metrics at http://{}/metrics", metrics.address());
    }
    let reserved = server.view().counts().receive_buffer_bytes;
    // The kernel doubles what is asked for, and counts its own overhead against it.
    let less = if reserved < 2 * buffer { ", less than was asked for (net.core.rmem_max)" } else { "" };
    note!(
        "receive buffer {} B{less}, room for about {}",
        reserved / 2,
        number_of(reserved / CHARGE, "heartbeat")
    );
    if !listen.ip().is_loopback() {
        note!(
            "whoever can send to {} can set its variables: heartbeats are not authenticated (--from NETWORK limits who is heard)",
            server.address()
        );
    }
    let served = server.serve(&stop);
    let counts = server.view().counts();
    if args.json {
        out::print_json(&counts)?;
    } else {
        out::print(&text(&counts))?;
    }
    served.map(|()| DONE)
}

/// What Linux charges a waiting heartbeat for, in bytes.
const CHARGE: u64 = 768;

/// `reports` a second for one monitor, ten times that for all.
fn limits(reports: u32) -> Result<Limits, Failure> {
    if reports == 0 {
        return Err(Failure::usage(
            "--reports 0: nobody could get a report; allow reports to loopback alone instead (--allow 127.0.0.0/8)",
        ));
    }
    let bucket = |rate: u32| Bucket { interval: Duration::from_secs(1) / rate, burst: 2 * rate };
    Ok(Limits { monitor: bucket(reports.min(1_000_000)), all: bucket(reports.min(1_000_000) * 10) })
}

fn text(counts: &ServerCounts) -> String {
    let listed = |counts: &std::collections::BTreeMap<&'static str, u64>| {
        let some = counts.iter().filter(|(what, count)| **count > 0 && **what != "answered");
        let some: Vec<String> =
            some.map(|(what, count)| format!("{count} {}", what.replace('_', " "))).collect();
        if some.is_empty() { String::new() } else { format!("  ({})", some.join(", ")) }
    };
    let rejected: u64 = counts.rejected.values().sum();
    let requests: u64 = counts.requests.values().sum();
    let answered = counts.requests.get("answered").copied().unwrap_or(0);
    let dropped = counts.dropped_socket.map_or("not known".into(), |count| count.to_string());
    let mut lines = vec![
        format!("received   {}", counts.received),
        format!("stored     {}", counts.stored),
        format!("rejected   {rejected}{}", listed(&counts.rejected)),
        format!("answered   {answered} of {requests} requests{}", listed(&counts.requests)),
        format!(
            "dropped    {dropped} by the kernel, at a receive buffer of {} B",
            counts.receive_buffer_bytes
        ),
    ];
    if counts.receive_errors > 0 {
        lines.push(format!("errors     {} of reading the socket", counts.receive_errors));
    }
    for (errno, count) in &counts.send_errors {
        lines.push(format!("not sent   {count} reports, {errno}"));
    }
    lines.join("\n")
}
