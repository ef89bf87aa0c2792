//! `dropline fleet`: who takes part, and what each may do.

use super::DONE;
use crate::args::ServerArgs;
use crate::{output as out, plan};
use clap::{Args, Subcommand};
use dropline_failure::Failure;
use dropline_fleet::answers::{AgentClock, AgentsLine, ClocksLine, FleetFindings};
use dropline_fleet::coordinator::Fleet;
use dropline_fleet::grant::{Grant, is_id};
use dropline_fleet::keys;
use dropline_fleet::selection::Selection;
use dropline_fleet::{Bus, Login, Who};
use dropline_trial::{quantities, time_of};
use std::path::PathBuf;

/// See who takes part in a fleet, how their clocks differ, and what each may do.
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs",
    after_help = "\
Examples:
  dropline fleet keys --listen 127.0.0.1:4222 \\
      keys west-1 west-2
  dropline fleet grant --key keys/issuer.nk \\
      --agent west-1 --target 192.0.2.0/24 \\
      --max-pps 100000 > west-1.grant"
)]
pub(crate) struct FleetVerbArgs {
    #[command(subcommand)]
    pub(crate) verb: FleetVerb,
}

/// What can be asked of a fleet.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetVerb {
    /// List the agents: name, labels, version, CPUs, and what each may do.
    #[command(after_help = "\
Example:
  dropline fleet list --join nats://10.0.0.1 \\
      --creds keys/coordinator.nk")]
    List(AtArgs),
    /// Measure how far each agent's clock is ahead of ours, and within which bound that is known.
    #[command(after_help = "\
Example:
  dropline fleet ping --join nats://10.0.0.1 \\
      --creds keys/coordinator.nk")]
    Ping(AtArgs),
    /// Make keys for a coordinator and agents, and the configuration of a server that lets each do its part and nothing else.
    #[command(after_help = "\
Example:
  dropline fleet keys --listen 10.0.0.1:4222 \\
      keys west-1 west-2")]
    Keys(KeysArgs),
    /// Write a signed grant: which agent may send how much to whom, and until when.
    Grant(GrantArgs),
    /// Revoke a grant: every connected agent is told, and others read it in their --config, under revoked.
    #[command(after_help = "\
Example:
  dropline fleet revoke DUAB3CQ5Z7WKXQ2L \\
      --key keys/issuer.nk --join nats://10.0.0.1 \\
      --creds keys/coordinator.nk")]
    Revoke(RevokeArgs),
    /// Say what would disturb a trial of all: versions that differ, clocks that are not known well, agents that are busy.
    #[command(after_help = "\
Example:
  dropline fleet doctor --join nats://10.0.0.1 \\
      --creds keys/coordinator.nk")]
    Doctor(AtArgs),
}

/// Where the fleet is.
#[derive(Args, Debug)]
pub(crate) struct AtArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Print the answer as JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Whose keys, and where.
#[derive(Args, Debug)]
pub(crate) struct KeysArgs {
    /// A new directory for the keys and the configuration.
    pub(crate) directory: PathBuf,
    /// Names of the agents.
    #[arg(required = true)]
    pub(crate) agents: Vec<String>,
    /// Where the server listens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4222")]
    pub(crate) listen: String,
}

/// What is granted.
#[derive(Args, Debug)]
#[command(
    override_usage = "dropline fleet grant --key FILE --agent NAME\n                     --target RANGE --max-pps N [OPTIONS]",
    after_help = "\
Examples:
  dropline fleet keys keys west-1
  dropline fleet grant --key keys/issuer.nk \\
      --agent west-1 --target 192.0.2.0/24 \\
      --max-pps 100000 --for 8h > west-1.grant"
)]
pub(crate) struct GrantArgs {
    /// The issuer's key, as dropline fleet keys writes it (issuer.nk).
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// The agent that may send.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: String,
    /// Where to: ADDRESS, ADDRESS/BITS, or either with :PORT; may be repeated.
    #[arg(long, value_name = "RANGE", required = true)]
    pub(crate) target: Vec<String>,
    /// Packets a second that this agent may send, at most, within any 100 ms.
    #[arg(long, value_name = "N")]
    pub(crate) max_pps: u64,
    /// Bits a second of Ethernet frames that it may send, at most, within any 100 ms [default: those of so many of the longest packets].
    #[arg(long, value_name = "N")]
    pub(crate) max_bps: Option<u64>,
    /// How long it holds, from now on.
    #[arg(long = "for", value_name = "TIME", default_value = "60min")]
    pub(crate) holds: String,
    /// The longest trial.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) trial_max: String,
}

/// What is granted no more.
#[derive(Args, Debug)]
pub(crate) struct RevokeArgs {
    /// The id of the grant.
    pub(crate) id: String,
    /// The issuer's key.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    #[command(flatten)]
    pub(crate) at: AtArgs,
}

fn grant(args: &GrantArgs) -> Result<u8, Failure> {
    let seconds = |flag: &str, text: &str| {
        plan::read(flag, quantities::positive_duration(text)).map(|time| time.as_secs().max(1))
    };
    let now = dropline_archive::clock::now_s();
    let key = keys::read(&args.key)?;
    let grant = Grant {
        id: keys::id(),
        issuer: key.public_key(),
        agent: args.agent.clone(),
        targets: args.target.clone(),
        max_pps: args.max_pps,
        max_bps: args.max_bps.unwrap_or_else(|| args.max_pps.saturating_mul(8 * 65_575)),
        trial_max_s: seconds("--trial-max", &args.trial_max)?,
        not_before: now,
        not_after: now.saturating_add(i64::try_from(seconds("--for", &args.holds)?).unwrap_or(i64::MAX)),
    };
    grant.check()?;
    let signed = serde_json::to_string(&grant.sign(&key)?).expect("a grant is JSON");
    out::print(&format!("{signed}\n"))?;
    Ok(DONE)
}

fn revoke(args: &RevokeArgs) -> Result<u8, Failure> {
    if !is_id(&args.id) {
        return Err(Failure::usage(format!("{:?} is not the id of a grant", args.id))
            .advice("it has 16 capital letters and digits: \"id\" in what  dropline fleet grant  wrote"));
    }
    let signed = dropline_fleet::grant::revoke(&args.id, &keys::read(&args.key)?)?;
    let heard = meet(&args.at)?.revoke(&signed)?;
    if heard.is_empty() {
        return Err(Failure::environment("no agent obeys this issuer, or none answered"));
    }
    if args.at.json {
        return json(&heard);
    }
    let names: Vec<&str> = heard.iter().map(|one| one.name.as_str()).collect();
    let mut text = format!("{} holds no more, as these heard: {}\n", args.id, names.join(", "));
    if heard.iter().all(|one| !one.was_known) {
        text += "none of them was shown a grant of this id since it was started: compare it with the id in the grant\n";
    }
    for one in &heard {
        if let Some(why) = &one.forgets {
            text += &format!("{} does not know it any more when it is started again: {why}\n", one.name);
        }
    }
    out::print(&text)?;
    Ok(DONE)
}

fn json(what: &impl serde::Serialize) -> Result<u8, Failure> {
    out::print_json(what)?;
    Ok(DONE)
}

pub(crate) fn run(args: &FleetVerbArgs) -> Result<u8, Failure> {
    match &args.verb {
        FleetVerb::List(at) => list(&meet(at)?, at.json),
        FleetVerb::Ping(at) => ping(&meet(at)?, at.json),
        FleetVerb::Keys(args) => make_keys(args),
        FleetVerb::Grant(args) => grant(args),
        FleetVerb::Revoke(args) => revoke(args),
        FleetVerb::Doctor(at) => doctor(&meet(at)?, at.json),
    }
}

fn make_keys(args: &KeysArgs) -> Result<u8, Failure> {
    let files = keys::write(&args.directory, &args.listen, &args.agents)?;
    let lines = files.iter().map(|file| format!("{}\n", file.display()));
    out::print(&lines.collect::<String>())?;
    Ok(DONE)
}

fn meet(at: &AtArgs) -> Result<Fleet, Failure> {
    let url = at.server.join.as_deref().ok_or_else(|| {
        Failure::usage("--join is missing: at which server is the fleet?").advice("write  --join nats://HOST")
    })?;
    let login = Login::read(at.server.creds.as_deref())?;
    Ok(Fleet::at(Bus::connect(url, &login, "coordinator")?, Selection::Named(Vec::new()), Vec::new()))
}

/// Those who answer; that there are none is an error.
fn there(fleet: &Fleet) -> Result<Vec<Who>, Failure> {
    let there = fleet.who()?;
    match there.is_empty() {
        true => Err(Failure::environment("no agent answered")
            .advice("start one on each host:  dropline agent --join nats://HOST --creds FILE")),
        false => Ok(there),
    }
}

fn list(fleet: &Fleet, as_json: bool) -> Result<u8, Failure> {
    if as_json {
        return json(&AgentsLine { agents: there(fleet)? });
    }
    let mut rows =
        vec![["agent", "id", "host", "labels", "dropline", "CPUs", "now", "may send to"].map(str::to_owned)];
    for who in there(fleet)? {
        let now = if who.session.is_some() { "measures" } else { "waits" };
        rows.push([
            who.name,
            who.id,
            who.host,
            who.labels.join(","),
            who.version,
            who.cpus.to_string(),
            now.to_owned(),
            who.may,
        ]);
    }
    out::print(&table(&rows))?;
    Ok(DONE)
}

fn ping(fleet: &Fleet, as_json: bool) -> Result<u8, Failure> {
    let there = there(fleet)?;
    if as_json {
        let clocks = fleet.clocks(&there);
        let agents = there.into_iter().zip(clocks).map(|(who, clock)| AgentClock {
            name: who.name,
            id: who.id,
            ahead_ns: clock.map(|(ahead, _)| ahead),
            bound_ns: clock.map(|(_, bound)| bound),
        });
        return json(&ClocksLine { agents: agents.collect() });
    }
    let mut rows = vec![["agent", "clock ahead by", "at most wrong by", "round trip"].map(str::to_owned)];
    for (who, clock) in there.iter().zip(fleet.clocks(&there)) {
        let (ahead, bound, trip) = match clock {
            Some((ahead, bound)) => (signed(ahead), time_of(bound), time_of(2 * bound)),
            None => ("did not answer".into(), String::new(), String::new()),
        };
        rows.push([who.name.clone(), ahead, bound, trip]);
    }
    out::print(&table(&rows))?;
    Ok(DONE)
}

/// A clock that is known worse than this starts a trial at another moment than the others.
const WELL_KNOWN_NS: u64 = 1_000_000;

fn doctor(fleet: &Fleet, as_json: bool) -> Result<u8, Failure> {
    let there = there(fleet)?;
    let mut said = Vec::new();
    let mut text = String::new();
    for (who, clock) in there.iter().zip(fleet.clocks(&there)) {
        let name = &who.name;
        if who.version != env!("CARGO_PKG_VERSION") {
            said.push(format!(
                "{name} is dropline {}, and this is {}: install one version on all hosts",
                who.version,
                env!("CARGO_PKG_VERSION")
            ));
        }
        match clock {
            None => said.push(format!("{name} did not answer when it was asked what its clock says: is its host busy?")),
            Some((_, bound)) if bound > WELL_KNOWN_NS => said.push(format!(
                "the clock of {name} is known to {} only: its network is slow or busy, and it starts as much earlier or later",
                time_of(bound)
            )),
            Some(_) => {}
        }
        if who.cpus < 2 {
            said.push(format!("{name} has one CPU: its sender and its receiver wait for one another"));
        }
        if there.iter().filter(|other| other.name == who.name).count() > 1 {
            said.push(format!(
                "{name} ({} on host {}) is not the only one of that name: a measurement refuses it",
                who.id, who.host
            ));
        }
        if who.session.is_some() {
            said.push(format!("{name} takes part in a measurement now, and refuses another one"));
        }
    }
    if as_json {
        let answered = there.into_iter().map(|who| who.name).collect();
        return json(&FleetFindings { answered, found: said });
    }
    text += &format!("{} answered: {}\n", there.len(), names(&there));
    match said.is_empty() {
        true => text += "nothing was found that would disturb a trial of all\n",
        false => said.iter().for_each(|line| text += &format!("- {line}\n")),
    }
    out::print(&text)?;
    Ok(DONE)
}

fn names(there: &[Who]) -> String {
    there.iter().map(|who| who.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", time_of(ns.unsigned_abs()))
}

/// Columns as wide as their longest cell.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
