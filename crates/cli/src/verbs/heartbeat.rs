//! `dropline heartbeat`: an aggregator, who sends to it, and who watches it. A file a verb.

#[cfg(feature = "studies")]
mod cost;
#[cfg(feature = "studies")]
mod reliability;
mod report;
mod send;
mod serve;
#[cfg(feature = "studies")]
mod study;
mod watch;

use clap::{Args, Subcommand};
use dropline_aggregator::wire::VARIABLES;
use dropline_failure::Failure;

/// Serve, send, read and watch heartbeats of 64 variables.
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true, subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
#[command(after_help = "\
Examples:
  dropline heartbeat serve &
  dropline heartbeat send 127.0.0.1:9060 --once
  dropline heartbeat report 127.0.0.1:9060")]
pub(crate) struct HeartbeatArgs {
    #[command(subcommand)]
    verb: HeartbeatVerb,
}

#[derive(Debug, Subcommand)]
enum HeartbeatVerb {
    Serve(serve::HeartbeatServeArgs),
    Send(send::HeartbeatSendArgs),
    Report(report::HeartbeatReportArgs),
    Watch(watch::HeartbeatWatchArgs),
    #[cfg(feature = "studies")]
    Cost(cost::HeartbeatCostArgs),
    #[cfg(feature = "studies")]
    Reliability(reliability::HeartbeatReliabilityArgs),
}

pub(crate) fn run(args: &HeartbeatArgs) -> Result<u8, Failure> {
    match &args.verb {
        HeartbeatVerb::Serve(args) => serve::run(args),
        HeartbeatVerb::Send(args) => send::run(args),
        HeartbeatVerb::Report(args) => report::run(args),
        HeartbeatVerb::Watch(args) => watch::run(args),
        #[cfg(feature = "studies")]
        HeartbeatVerb::Cost(args) => cost::run(args),
        #[cfg(feature = "studies")]
        HeartbeatVerb::Reliability(args) => reliability::run(args),
    }
}

/// Reads `0-63`, `3`, `3,5-7`: variables in order, each once.
fn variables(word: &str) -> Result<Vec<u8>, Failure> {
    let wrong = |part: &str| {
        Failure::usage(format!("{part:?} names no variables; write 0-{} or 3,5-7", VARIABLES - 1))
    };
    let number = |text: &str| {
        text.parse::<u8>()
            .ok()
            .filter(|&variable| usize::from(variable) < VARIABLES)
            .ok_or_else(|| wrong(text))
    };
    let mut found = Vec::new();
    for part in word.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong(part));
        }
        found.extend(first..=last);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_written_as_numbers_and_ranges() {
        assert_eq!(variables("0-63").unwrap().len(), 64);
        assert_eq!(variables("5-7,3,6").unwrap(), [3, 5, 6, 7]);
        for wrong in ["", "64", "7-5", "a", "1,", "-3"] {
            assert!(variables(wrong).is_err(), "{wrong:?}");
        }
    }
}
