//! `dropline agent`: this host takes part in a fleet.

use super::DONE;
use crate::args::ServerArgs;
use crate::plan;
use crate::signals::told_to_stop;
use clap::Args;
use dropline_failure::{Failure, quoted_path};
use dropline_fleet::agent::{self, Settings};
use dropline_fleet::grant::Ceiling;
use dropline_fleet::{Bus, Login};
use dropline_traffic::{Means, Priority};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Let this host take part in a fleet: perform its share of trials when a coordinator says so.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline agent --join nats://127.0.0.1 \\
      --creds agent.nk --name west-1 --label west

An agent connects to the server and listens at no port. It sends no packet without a coordinator that says, several times a second, \
that it is still there.")]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Its name in the fleet [default: the name of this host].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A label by which it is chosen too, with others; may be repeated.
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Vec<String>,
    /// File that says whose grants it obeys, and what it never exceeds (TOML: issuers, targets, max_pps, max_bps, trial_max_s,
    /// revoked), what it does (may) and what its host consents to (consents, consenters) [default: it sends to loopback alone].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Also open targets that start a program, read a file or take interfaces of this host.
    #[arg(long)]
    pub(crate) allow_programs: bool,
    /// CPUs of senders and receivers, as in dropline trial.
    #[arg(long, value_name = "CPUS", default_value = "auto")]
    pub(crate) cpus: String,
    /// Do not use real-time priority (SCHED_FIFO) for the sender.
    #[arg(long)]
    pub(crate) ordinary_priority: bool,
}

pub(crate) fn run(args: &AgentArgs) -> Result<u8, Failure> {
    let url = args.server.join.as_deref().ok_or_else(|| {
        Failure::usage("--join is missing: at which server are the others?")
            .advice("write  --join nats://HOST")
    })?;
    let means = Means {
        cpus: plan::read("--cpus", args.cpus.parse())?,
        priority: if args.ordinary_priority { Priority::Ordinary } else { Priority::Auto },
        ..Means::default()
    };
    let name = args.name.clone().unwrap_or_else(host_name);
    let login = Login::read(args.server.creds.as_deref())?;
    let stop = told_to_stop()?;
    let settings = Settings::new(
        &name,
        login.clone(),
        args.label.clone(),
        means,
        ceiling(args.config.as_deref())?,
        args.allow_programs,
        stop,
    )?;
    // Beside the file that says whom it obeys is what those say to hold no more.
    let settings = match &args.config {
        Some(config) => settings.remembering(config.with_extension("revoked"))?,
        None => settings,
    };
    let bus = Arc::new(Bus::connect(url, &login, &name)?);
    agent::run(&bus, &settings, || note!("agent {name} is at {url}, and waits for trials"))?;
    Ok(DONE)
}

/// What its file says.
fn ceiling(config: Option<&Path>) -> Result<Ceiling, Failure> {
    let Some(path) = config else { return Ok(Ceiling::default()) };
    let named = quoted_path(path);
    let text = std::fs::read_to_string(path)
        .map_err(|why| Failure::environment(format!("--config: {named} cannot be read: {why}")))?;
    let ceiling: Ceiling =
        toml::from_str(&text).map_err(|why| Failure::usage(format!("--config: {named}: {why}")))?;
    match ceiling.wrong_range() {
        Some(wrong) => Err(Failure::usage(format!("--config: {named}: {wrong:?} is not ADDRESS/BITS:PORT"))),
        None => Ok(ceiling),
    }
}

fn host_name() -> String {
    let legal = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '-' };
    agent::host().chars().map(legal).take(32).collect()
}
