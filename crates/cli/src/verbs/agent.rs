//! `dropline agent`: this host takes part in a fleet.

use super::DONE;
use crate::args::ServerArgs;
use crate::signals::told_to_stop;
use crate::plan;
use clap::Args;
use dropline_failure::Failure;
use dropline_fleet::agent::{self, Settings};
use dropline_fleet::{Bus, Login};
use dropline_traffic::{Means, Priority};
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
    /// Also open targets that start a program or read a file of this host.
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
        Failure::usage("--join is missing: at which server are the others?").advice("write  --join nats://HOST")
    })?;
    let means = Means {
        cpus: plan::read("--cpus", args.cpus.parse())?,
        priority: if args.ordinary_priority { Priority::Ordinary } else { Priority::Auto },
        ..Means::default()
    };
    let name = args.name.clone().unwrap_or_else(host_name);
    let login = Login::read(args.server.creds.as_deref())?;
    let stop = told_to_stop()?;
    let settings =
        Settings::new(&name, args.label.clone(), means, args.allow_programs, stop)?;
    let bus = Arc::new(Bus::connect(url, &login, &name)?);
    note!("agent {name} is at {url}, and waits for trials");
    agent::run(&bus, &settings)?;
    Ok(DONE)
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let legal = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '-' };
    name.trim().chars().map(legal).take(32).collect()
}
