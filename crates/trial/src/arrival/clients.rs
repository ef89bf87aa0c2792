//! Clients that think before each packet: a closed loop.

use super::parameters::{ArrivalError, choice, count, duration, written};
use super::{Draw, Kind, Pace, Process};
use crate::TrialInput;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(super) const KIND: Kind = Kind {
    name: "clients",
    written: "clients:n=64,think=exp(10ms)[,wait=reply|none]",
    about: "n processes that each send, wait for the reply, think (10ms, exp(10ms) or tick(20ms)) and begin again; takes no --load",
    read: |parameters| {
        let clients = parameters.need("n", count)?;
        if clients > ClosedLoop::MOST {
            let most = ClosedLoop::MOST;
            return Err(ArrivalError::new(format!("clients: n: at most {most} processes, not {clients}")));
        }
        let think = parameters.need("think", think)?;
        let waits = parameters.take("wait", choice(&[("reply", true), ("none", false)]))?.unwrap_or(true);
        Ok(Arc::new(Clients(ClosedLoop { clients, think, waits })))
    },
};

/// Clients that pace themselves. How often they send is what the machine makes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedLoop {
    /// Processes.
    pub clients: u32,
    /// What each does before a packet.
    pub think: Think,
    /// Whether it waits for the reply to its last packet first.
    pub waits: bool,
}

impl ClosedLoop {
    /// More processes are not started.
    pub const MOST: u32 = 1024;
}

/// What a client does between two packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// Sleeps for an exponential time of this mean.
    Exponential(Duration),
    /// Sleeps as long.
    Fixed(Duration),
    /// Sleeps until the next multiple of this on the system's clock, as all its fellows do.
    Tick(Duration),
    /// Gives the CPU to whoever else is ready, as `sleep(0)` does.
    Yield,
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: &Duration| written(time.as_nanos() as u64);
        match self {
            Self::Exponential(mean) => write!(f, "exp({})", time(mean)),
            Self::Fixed(length) => f.write_str(&time(length)),
            Self::Tick(period) => write!(f, "tick({})", time(period)),
            Self::Yield => f.write_str("yield"),
        }
    }
}

impl std::str::FromStr for Think {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word == "yield" { Ok(Self::Yield) } else { think(word) }
    }
}

/// `10ms`, `exp(10ms)`, `tick(20ms)`.
fn think(word: &str) -> Result<Think, String> {
    let inner = |name: &str| word.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let read = |text: &str| duration(text).map_err(|why| why.to_string());
    if let Some(mean) = inner("exp") {
        read(mean).map(Think::Exponential)
    } else if let Some(period) = inner("tick") {
        read(period).map(Think::Tick)
    } else if word.contains('(') {
        Err(format!("{word:?}: there are 10ms, exp(10ms) and tick(20ms)"))
    } else {
        read(word).map(Think::Fixed)
    }
}

#[derive(Debug)]
struct Clients(ClosedLoop);

impl Process for Clients {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn pace(&self) -> Pace {
        Pace::Closed(self.0)
    }

    fn draw(&self, _input: TrialInput, _seed: u64) -> Box<dyn Draw> {
        Box::new(Nothing)
    }
}

impl fmt::Display for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClosedLoop { clients, think, waits } = &self.0;
        write!(f, "{}:n={clients},think={think}{}", KIND.name, if *waits { "" } else { ",wait=none" })
    }
}

/// What a closed loop has of a schedule.
#[derive(Debug)]
pub(super) struct Nothing;

impl Draw for Nothing {
    fn next(&mut self) -> Option<u64> {
        None
    }

    fn left(&self) -> Option<u64> {
        Some(0)
    }
}
