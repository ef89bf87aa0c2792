//! The machine that measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a sceptic asks about the machine (RFC 9971 R33; RFC 2544 §26). Unknown is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Version of Dropline.
    pub dropline: String,
    /// The command as it was typed, in words.
    pub command_line: Vec<String>,
    /// Kernel name and release.
    pub kernel: Option<String>,
    /// Distribution.
    pub os: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Processors that this program may use.
    pub cpus: Option<u32>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Turbo or boost, `on` or `off`.
    pub turbo: Option<String>,
    /// Simultaneous multithreading, `on` or `off`.
    pub smt: Option<String>,
    /// Hypervisor, where the machine is virtual.
    pub virtualization: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Largest receive buffer a program may ask for (net.core.rmem_max), in bytes.
    pub rmem_max_bytes: Option<u64>,
    /// Receive buffer a socket starts with (net.core.rmem_default), in bytes.
    pub rmem_default_bytes: Option<u64>,
    /// Receive buffer that our reply socket really got, in bytes.
    pub reply_buffer_bytes: Option<u64>,
    /// Load average over the last minute when the measurement began.
    pub load_average: Option<f64>,
    /// Whether the program ran as root.
    pub root: Option<bool>,
    /// What the build service said that started it: `commit`, `branch`, `build`; in a search that was made again, which change it
    /// `confirms`, and whether it is of what `changed` or of what was `good`; in what came from elsewhere, what is known of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl Environment {
    /// The machine in words: measurements of two machines are not compared with one another.
    pub fn machine(&self) -> String {
        let cpus = self.cpus.map_or_else(|| UNKNOWN.into(), |cpus| cpus.to_string());
        let virtualization = self.virtualization.as_ref().map(|name| format!(", {name}"));
        let cpu = self.cpu.as_deref().unwrap_or(UNKNOWN);
        format!("{cpu}, {cpus} CPUs{}", virtualization.unwrap_or_default())
    }
}

const UNKNOWN: &str = "unknown";
