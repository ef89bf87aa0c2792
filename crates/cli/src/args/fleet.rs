//! Flags about agents: which perform the trials, and where they are met.

use clap::Args;
use dropline_failure::quoted;
use std::path::{Path, PathBuf};

/// Who performs the trials.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetArgs {
    /// Let agents offer the load together: local:4 starts four on this machine, west=2,east names agents or labels of them with
    /// their shares [default: this process alone].
    #[arg(long, value_name = "AGENTS")]
    pub(crate) on: Option<String>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Let agents count what their hosts lose of each trial: names, in the order of the path from the agents to the target; the
    /// target's host last, which consents where its own file says so.
    #[arg(long, value_name = "AGENTS", value_delimiter = ',')]
    pub(crate) observe: Vec<String>,
    /// File with what the agents may send beyond loopback, as dropline fleet grant writes it; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) grant: Vec<PathBuf>,
}

impl FleetArgs {
    /// The words that lead to the agents again.
    pub(crate) fn joined(&self) -> String {
        let file = |flag: &str, path: &Path| format!("{flag} {}", quoted(&path.to_string_lossy()));
        let join = self.server.join.iter().map(|url| format!("--join {}", quoted(url)));
        let creds = self.server.creds.iter().map(|path| file("--creds", path));
        let observe = (!self.observe.is_empty()).then(|| format!("--observe {}", self.observe.join(",")));
        let grants = self.grant.iter().map(|path| file("--grant", path));
        join.chain(creds).chain(observe).chain(grants).collect::<Vec<_>>().join(" ")
    }
}

/// Where agents are met.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct ServerArgs {
    /// The NATS server at which the agents are, such as nats://10.0.0.1 or tls://fleet.example.
    #[arg(long, value_name = "URL")]
    pub(crate) join: Option<String>,
    /// File with the key for that server: the seed of an nkey, or credentials as nsc writes them.
    #[arg(long, value_name = "FILE")]
    pub(crate) creds: Option<PathBuf>,
}
