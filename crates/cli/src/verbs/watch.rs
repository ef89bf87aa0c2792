//! `dropline watch`.

use super::filing::Filing;
use super::{DONE, is_interrupted, print_where_it_is, say_kept, style_of};
use crate::args::WatchArgs;
use crate::signals::{INTERRUPTED, stop_on_signals};
use crate::{output as out, plan};
use console::Term;
use dropline_failure::Failure;
use dropline_trial::quantities;
use dropline_verbs::search::Finished;
use dropline_verbs::watch::{Glimpse, WatchPlan, watch};
use std::time::Duration;

pub(crate) fn run(args: &WatchArgs, words: Vec<String>) -> Result<u8, Failure> {
    let duration = args
        .duration
        .as_deref()
        .map(|text| plan::read("--duration", quantities::positive_duration(text)))
        .transpose()?;
    let wait = args
        .wait
        .as_deref()
        .map(|text| plan::read("--wait", quantities::positive_duration(text)))
        .transpose()?;
    let plan = WatchPlan {
        wait: wait.unwrap_or_default(),
        port: args.port,
        pid: args.pid,
        duration,
        every: plan::read("--every", quantities::positive_duration(&args.every))?,
        command_line: words,
    };
    let mut filing = Filing::of(args.output.as_deref(), &args.filing)?;
    let output = filing.output(&format!("port {}", args.port), 0, 1)?;
    let stop = stop_on_signals()?;
    let mut shown = Shown { term: (!args.quiet).then(Term::stderr), lines: 0 };
    if !args.quiet && duration.is_none() {
        note!("Ctrl-C ends it and keeps what was heard");
    }
    let done = watch(&plan, &output, &stop, |glimpse| shown.show(glimpse));
    shown.clear();
    filing.file(&output, done.is_ok());
    say_kept(&stop, &output, args.quiet);
    let Finished { record, failure } = done?;
    if args.json {
        out::print_json(&dropline_report::object(&record))?;
    } else {
        out::print_painted(&dropline_report::text(&record, style_of(args.told)))?;
        print_where_it_is(&record, &output, style_of(args.told).width)?;
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
