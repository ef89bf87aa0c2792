//! Clients that send as often as they get the CPU: a closed loop.

use super::clients::{ClosedLoop, Nothing, Think};
use super::parameters::{ArrivalError, count};
use super::{Draw, Kind, Pace, Process};
use crate::TrialInput;
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "yield",
    written: "yield:n=64",
    about: "n processes that each send, let the others run as sleep(0) does, and begin again; takes no --load",
    read: |parameters| {
        let clients = parameters.need("n", count)?;
        if clients > ClosedLoop::MOST {
            let most = ClosedLoop::MOST;
            return Err(ArrivalError::new(format!("yield: n: at most {most} processes, not {clients}")));
        }
        Ok(Arc::new(Yield { clients }))
    },
};

#[derive(Debug)]
struct Yield {
    clients: u32,
}

impl Process for Yield {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn pace(&self) -> Pace {
        Pace::Closed(ClosedLoop { clients: self.clients, think: Think::Yield, waits: false })
    }

    fn draw(&self, _input: TrialInput, _seed: u64) -> Box<dyn Draw> {
        Box::new(Nothing)
    }
}

impl fmt::Display for Yield {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:n={}", KIND.name, self.clients)
    }
}
