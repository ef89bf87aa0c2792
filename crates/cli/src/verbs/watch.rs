//! `dropline watch`.

use super::{DONE, is_interrupted, output_to, style};
use crate::signals::{INTERRUPTED, stop_on_signals};
use crate::{output as out, plan};
use clap::Args;
use console::Term;
use dropline_failure::{Failure, quoted_path};
use dropline_trial::quantities;
use dropline_verbs::search::Finished;
use dropline_verbs::watch::{Glimpse, WatchPlan, watch};
use std::path::PathBuf;
use std::time::Duration;

/// Watch the traffic of a running service without sending anything: arrivals, drops, pauses.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline serve &
  dropline watch --port 7007 --duration 10s -o seen.jsonl
  dropline explain seen.jsonl

Packets are seen with CAP_NET_RAW (root); without it, only the socket and its process are.")]
pub(crate) struct WatchArgs {
    /// UDP port of the service, in this network namespace or in that of --pid.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Process of the service, which may be in another network namespace [default: the one that holds the socket].
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// How long to watch [default: until Ctrl-C].
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Time between two looks at the socket.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub(crate) every: String,
    /// Keep the record in this file; - keeps none [default: dropline-DATE.jsonl].
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object instead of the report.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Show no progress on stderr.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

pub(crate) fn run(args: &WatchArgs, words: Vec<String>) -> Result<u8, Failure> {
    let duration = args
        .duration
        .as_deref()
        .map(|text| plan::read("--duration", quantities::positive_duration(text)))
        .transpose()?;
    let plan = WatchPlan {
        port: args.port,
        pid: args.pid,
        duration,
        every: plan::read("--every", quantities::positive_duration(&args.every))?,
        command_line: words,
    };
    let output = output_to(args.output.as_deref(), 0, 1);
    let stop = stop_on_signals()?;
    let mut shown = Shown { term: (!args.quiet).then(Term::stderr), lines: 0 };
    if !args.quiet && duration.is_none() {
        note!("Ctrl-C ends it and keeps what was heard");
    }
    let done = watch(&plan, &output, &stop, |glimpse| shown.show(glimpse));
    shown.clear();
    let Finished { record, failure } = done?;
    if args.json {
        out::print_json(&dropline_report::object(&record))?;
    } else {
        out::print_painted(&dropline_report::text(&record, style()))?;
        if let Some(path) = output.path().filter(|path| path.is_file()) {
            out::print(&format!("record     {0}\nwhy        dropline explain {0}", quoted_path(path)))?;
        }
    }
    failure.map_or(Ok(if is_interrupted(&record) { INTERRUPTED } else { DONE }), Err)
}

/// One line on stderr: redrawn on a terminal, now and then a new one elsewhere.
struct Shown {
    /// `None` shows nothing.
    term: Option<Term>,
    lines: u64,
}

/// Of glimpses that are not redrawn, one in so many is a line.
const ONE_IN: u64 = 8;

impl Shown {
    fn show(&mut self, glimpse: &Glimpse) {
        let Some(term) = &self.term else { return };
        let words = words(glimpse);
        if term.is_term() {
            let _ = term.clear_line().and_then(|()| term.write_str(&words));
        } else if self.lines.is_multiple_of(ONE_IN) {
            let _ = term.write_line(&words);
        }
        self.lines += 1;
    }

    fn clear(&self) {
        if let Some(term) = &self.term
            && term.is_term()
        {
            let _ = term.clear_line();
        }
    }
}

fn words(glimpse: &Glimpse) -> String {
    let index = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.2}"));
    let arrivals = match glimpse.rate_pps {
        Some(rate) => {
            let [one, ten, hundred] = glimpse.dispersion.map(index);
            format!("{rate:.0} pps, dispersion {one} / {ten} / {hundred}, ")
        }
        None => String::new(),
    };
    format!(
        "{:>6.1} s   {arrivals}{} B wait, {} dropped",
        Duration::as_secs_f64(&glimpse.elapsed),
        glimpse.waiting_bytes,
        glimpse.dropped
    )
}
