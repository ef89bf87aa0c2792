//! `dropline heartbeat send`.

use super::variables;
use crate::signals::stop_on_signals;
use crate::verbs::{DONE, INVALID};
use crate::{output as out, plan};
use clap::{Args, ValueEnum};
use dropline_aggregator::client::resolve;
use dropline_aggregator::sender::{Sending, Sent, SentLine, Spread, Value};
use dropline_failure::Failure;
use dropline_trial::{Packet, quantities};
use std::time::Duration;

/// Send heartbeats to an aggregator.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline heartbeat serve &
  dropline heartbeat send 127.0.0.1:9060 --once \\
      --variables 3 --value 45
  dropline heartbeat send 127.0.0.1:9060 \\
      --variables 0-63 --every 1s --spread random
  dropline heartbeat send 127.0.0.1:9060 \\
      --rate 4kpps --duration 10s --json

Nothing is sent to a host that did not consent: run this on the host of the aggregator.")]
pub(crate) struct HeartbeatSendArgs {
    /// Address of the aggregator, HOST:PORT.
    target: String,
    /// Variables to send, such as 0-63 or 3,5-7.
    #[arg(long, value_name = "LIST", default_value = "0-63")]
    variables: String,
    /// Time in which each variable is sent once.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    every: String,
    /// Heartbeats per second of all variables together, instead of --every.
    #[arg(long, value_name = "RATE", conflicts_with = "every")]
    rate: Option<String>,
    /// How the variables are spread over that time.
    #[arg(long, value_name = "HOW", default_value = "even")]
    spread: SpreadWord,
    /// Sender that the heartbeats name, 0 to 255.
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: u8,
    /// Value that they carry: 0 to 255, count (one more each time) or random.
    #[arg(long, value_name = "VALUE", default_value = "count")]
    value: String,
    /// How long to send [default: until Ctrl-C].
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// Send each variable once, at once.
    #[arg(long, conflicts_with_all = ["every", "rate", "spread", "duration"])]
    once: bool,
    /// Random seed of departures and values.
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Print the counts as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SpreadWord {
    /// At equal distances.
    Even,
    /// Each at a random moment.
    Random,
    /// All at once.
    Together,
}

pub(crate) fn run(args: &HeartbeatSendArgs) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let sending = sending(args)?;
    let sent = sending.run(&stop)?;
    if args.json {
        out::print_json(&SentLine::from(&sent))?;
    } else {
        out::print(&text(&sent))?;
    }
    Ok(if sent.offered == sent.intended && sent.refused.is_empty() { DONE } else { INVALID })
}

fn sending(args: &HeartbeatSendArgs) -> Result<Sending, Failure> {
    let variables = variables(&args.variables)?;
    let every = plan::read("--every", quantities::positive_duration(&args.every))?;
    let period = match &args.rate {
        None => every,
        Some(word) => {
            let packet = Packet::of_payload(Packet::SHORTEST).map_err(Failure::usage)?;
            let rate = plan::read("--rate", quantities::load(word))?.with(packet).map_err(Failure::usage)?;
            Duration::from_secs_f64(variables.len() as f64 / rate.as_pps())
        }
    };
    let duration =
        args.duration.as_deref().map(|word| plan::read("--duration", quantities::positive_duration(word)));
    Ok(Sending {
        target: resolve(&args.target)?,
        variables,
        from: args.from,
        value: match args.value.as_str() {
            "count" => Value::Count,
            "random" => Value::Random,
            number => Value::Fixed(number.parse().map_err(|_| {
                Failure::usage(format!("--value {number:?}: it is 0 to 255, count or random"))
            })?),
        },
        period,
        spread: match (args.once, args.spread) {
            (true, _) | (_, SpreadWord::Together) => Spread::Together,
            (_, SpreadWord::Even) => Spread::Even,
            (_, SpreadWord::Random) => Spread::Random,
        },
        // Once: all that is due at the beginning.
        duration: if args.once { Some(Duration::from_nanos(1)) } else { duration.transpose()? },
        seed: args.seed,
    })
}

fn text(sent: &Sent) -> String {
    let mut lines = vec![format!("offered    {} of {} intended", sent.offered, sent.intended)];
    let us = |ns: u64| format!("{:.1} us", ns as f64 / 1000.0);
    if let (Some(median), Some(longest)) = (sent.lateness.quantile(0.5), sent.lateness.max()) {
        let p99 = sent.lateness.quantile(0.99).map_or(String::new(), |p99| format!("  p99 {}", us(p99)));
        lines.push(format!("lateness   p50 {}{p99}  max {}", us(median), us(longest)));
    }
    for (errno, count) in &sent.refused {
        let why = if errno == "ECONNREFUSED" { ": nothing listens there" } else { "" };
        lines.push(format!("refused    {count} {errno}{why}"));
    }
    lines.join("\n")
}
