//! Agents that perform trials: the words of `--on`, and the fleet behind them.

use crate::args::FleetArgs;
use dropline_failure::Failure;
use dropline_targets::{Elsewhere, Target};
use std::cell::OnceCell;
use std::sync::Arc;

/// Who performs trials: this process, or a fleet that is met when it is first needed.
pub(crate) struct Performers<'a> {
    args: &'a FleetArgs,
    fleet: OnceCell<Option<Arc<dyn Elsewhere>>>,
}

impl<'a> Performers<'a> {
    /// Those that were asked for.
    ///
    /// # Errors
    /// If that is not to be understood.
    pub(crate) fn of(args: &'a FleetArgs) -> Result<Self, Failure> {
        check(args)?;
        Ok(Self { args, fleet: OnceCell::new() })
    }

    /// The fleet, where one was asked for.
    ///
    /// # Errors
    /// If it is not there.
    pub(crate) fn fleet(&self) -> Result<Option<&Arc<dyn Elsewhere>>, Failure> {
        if self.fleet.get().is_none() {
            let fleet = self.args.on.as_deref().map(|on| meet(on, self.args)).transpose()?;
            let _ = self.fleet.set(fleet);
        }
        Ok(self.fleet.get().and_then(Option::as_ref))
    }

    /// The target, measured by them.
    ///
    /// # Errors
    /// As [`fleet`](Self::fleet).
    pub(crate) fn measure(&self, target: Target) -> Result<Target, Failure> {
        Ok(match self.fleet()? {
            Some(fleet) => target.performed_by(Arc::clone(fleet)),
            None => target,
        })
    }
}

#[cfg(feature = "fleet")]
fn check(args: &FleetArgs) -> Result<(), Failure> {
    use dropline_fleet::selection::Selection;
    let Some(on) = &args.on else {
        return match args.server.join.is_some() || args.server.creds.is_some() || !args.observe.is_empty() {
            true => {
                Err(Failure::usage("--join, --creds and --observe are of agents, and none were asked for")
                    .advice("name them by  --on AGENT,AGENT"))
            }
            false => Ok(()),
        };
    };
    if matches!(Selection::parse(on)?, Selection::Local(_)) && !args.observe.is_empty() {
        return Err(Failure::usage(format!(
            "--on {on} starts agents of this machine, which see what it loses by themselves"
        ))
        .advice("leave --observe out, or name agents of other hosts by --on too"));
    }
    match (Selection::parse(on)?, &args.server.join) {
        (Selection::Named(_), None) => Err(Failure::usage(format!("--on {on}: where are these agents?"))
            .advice("name the NATS server that they joined by  --join nats://HOST, or start some here by  --on local:2")),
        (Selection::Local(_), Some(_)) => Err(Failure::usage(format!("--on {on} starts a server of its own: leave --join out"))),
        _ => Ok(()),
    }
}

#[cfg(feature = "fleet")]
fn meet(on: &str, args: &FleetArgs) -> Result<Arc<dyn Elsewhere>, Failure> {
    use dropline_fleet::coordinator::Fleet;
    use dropline_fleet::local::Local;
    use dropline_fleet::selection::Selection;
    use dropline_fleet::{Bus, Login};
    let fleet = match Selection::parse(on)? {
        Selection::Local(count) => {
            let program = dropline_targets::ProgramFile::Own.find()?;
            let cpus = std::thread::available_parallelism().map_or(1, usize::from);
            // Senders that go first on the same CPU would wait for one another.
            let crowded: &[&str] = &["--allow-programs", "--cpus", "free", "--ordinary-priority"];
            let words = if count as usize >= cpus { crowded } else { &crowded[..1] };
            Fleet::local(Local::start(count, &program, words)?)?
        }
        named @ Selection::Named(_) => {
            let url = args.server.join.as_deref().unwrap_or_default();
            let login = Login::read(args.server.creds.as_deref())?;
            Fleet::at(Bus::connect(url, &login, "coordinator")?, named, grants(&args.grant)?)
                .observed_by(args.observe.clone())
        }
    };
    Ok(Arc::new(fleet))
}

/// What was granted, a grant a line of each file.
#[cfg(feature = "fleet")]
fn grants(files: &[std::path::PathBuf]) -> Result<Vec<dropline_fleet::grant::Signed>, Failure> {
    let mut all = Vec::new();
    for file in files {
        let named = dropline_failure::quoted_path(file);
        let text = std::fs::read_to_string(file)
            .map_err(|why| Failure::environment(format!("--grant: {named} cannot be read: {why}")))?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            all.push(
                serde_json::from_str(line)
                    .map_err(|why| Failure::usage(format!("--grant: {named} is not a grant: {why}")))?,
            );
        }
    }
    Ok(all)
}

#[cfg(not(feature = "fleet"))]
fn check(args: &FleetArgs) -> Result<(), Failure> {
    let asked = args.on.is_some() || args.server.join.is_some() || args.server.creds.is_some();
    match asked {
        true => Err(Failure::environment("this dropline was built without the fleet")
            .advice("build it with its default features:  cargo install --locked --path crates/cli")),
        false => Ok(()),
    }
}

#[cfg(not(feature = "fleet"))]
fn meet(_on: &str, args: &FleetArgs) -> Result<Arc<dyn Elsewhere>, Failure> {
    check(args).map(|()| unreachable!("it was refused"))
}
