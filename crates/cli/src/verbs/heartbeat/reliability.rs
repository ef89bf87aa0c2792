//! `dropline heartbeat reliability`.

use super::study::Findings;
use crate::plan;
use crate::verbs::{DONE, INVALID};
use clap::Args;
use dropline_experiments::heartbeat_reliability::chance::Polling;
use dropline_experiments::heartbeat_reliability::payload::VARIABLES;
use dropline_experiments::heartbeat_reliability::{Question, Reliability};
use dropline_failure::Failure;
use dropline_trial::quantities;
use dropline_trial::quantities::WrittenLoad;
use std::path::PathBuf;

/// Compute how far a heartbeat can be trusted: random frames, bit errors, swaps, polls.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline heartbeat reliability
  dropline heartbeat reliability --frame-rate 4kpps \\
      --heartbeat 1s --poll 1min --used 12
  dropline heartbeat reliability --json \\
      --bit-error-rate 1e-5
  dropline heartbeat reliability --html reliability.html

Everything is computed from the definition of a heartbeat: 8 bytes, of which four are the Adler-32 of the others, one is \
fixed, and three are variable, sender and value. Exit code 3 says that a simulation disagrees with its formula.")]
pub(super) struct HeartbeatReliabilityArgs {
    /// Frames per second on the bus that are not heartbeats.
    #[arg(long, value_name = "RATE", default_value = "4kpps")]
    frame_rate: String,
    /// Probability that a bit arrives wrong; may be repeated [default: 1e-3 1e-4 1e-5 1e-6].
    #[arg(long, value_name = "PROBABILITY")]
    bit_error_rate: Vec<f64>,
    /// Time between two heartbeats of a variable.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    heartbeat: String,
    /// Time between two polls of the monitor.
    #[arg(long, value_name = "TIME", default_value = "1min")]
    poll: String,
    /// Number of variables in use.
    #[arg(long, value_name = "N", default_value_t = VARIABLES,
          value_parser = clap::value_parser!(u32).range(0..=i64::from(VARIABLES)))]
    used: u32,
    /// Number of random packets that a test tried without seeing one accepted.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    tried: u64,
    /// Confidence level of the interval for that.
    #[arg(long, value_name = "RATIO", default_value = "95%")]
    level: String,
    /// Number of draws of each simulation; 0 leaves simulations out.
    #[arg(long, value_name = "N", default_value_t = 4_000_000)]
    draws: u64,
    /// Random seed of the simulations.
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Also write the result as a web page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &HeartbeatReliabilityArgs) -> Result<u8, Failure> {
    let asked = question(args)?;
    let found = asked.answer();
    let findings = Findings {
        data: &found,
        study: found.study(&asked),
        sentences_table: found.sentences_table(),
        sentences: found.sentences_study(),
        curves: &[found.plot()],
    };
    findings.tell(args.html.as_deref(), args.json)?;
    Ok(verdict(&found))
}

fn question(args: &HeartbeatReliabilityArgs) -> Result<Question, Failure> {
    let WrittenLoad::Packets(frame_rate) = plan::read("--frame-rate", quantities::load(&args.frame_rate))?
    else {
        return Err(Failure::usage(format!(
            "--frame-rate {}: write frames a second, as 4kpps",
            args.frame_rate
        )));
    };
    let interval = |flag: &str, word: &str| {
        let time = plan::read(flag, quantities::duration(word))?;
        if time.is_zero() { Err(Failure::usage(format!("{flag} must be a time above 0"))) } else { Ok(time) }
    };
    let level = plan::read("--level", quantities::ratio(&args.level))?.as_f64();
    if level <= 0.0 {
        return Err(Failure::usage("--level must be above 0 and below 100%"));
    }
    let mut asked = Question {
        frame_rate,
        polling: Polling {
            heartbeat: interval("--heartbeat", &args.heartbeat)?,
            poll: interval("--poll", &args.poll)?,
            used: args.used,
        },
        tried: args.tried,
        level,
        draws: args.draws,
        seed: args.seed,
        ..Question::default()
    };
    if !args.bit_error_rate.is_empty() {
        asked.bit_error_rates.clone_from(&args.bit_error_rate);
    }
    match asked.bit_error_rates.iter().find(|p| !(**p > 0.0 && **p < 0.5)) {
        Some(p) => Err(Failure::usage(format!("--bit-error-rate {p} must be above 0 and below 0.5"))),
        None => Ok(asked),
    }
}

/// Whether every simulation bears its formula out.
fn verdict(found: &Reliability) -> u8 {
    let mut tried = found.splitting.parts.iter().chain(&found.simulations);
    if tried.all(|simulation| simulation.agrees()) { DONE } else { INVALID }
}
