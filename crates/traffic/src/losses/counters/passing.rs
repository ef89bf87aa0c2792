//! Packets of the trial's own flow that pass a host, counted at its interfaces: what other programs send is not among them.

use crate::sys::{counted, open_count};
use dropline_account::{Flow, Way};
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};

/// What counts them.
#[derive(Debug)]
pub(super) struct Passing {
    counts: Vec<Count>,
    all: Flow,
}

/// One number of a flow.
type Field = fn(&mut Flow) -> &mut u64;

/// One count, and which of a flow's it is.
#[derive(Debug)]
struct Count {
    of: Field,
    socket: UdpSocket,
}

impl Passing {
    /// Of packets to a target and back, at these interfaces, by which they leave on the way that each has; the target's host has
    /// none but those by which replies leave. `None` where the system does not let us count, or nothing is known of interfaces.
    pub(super) fn of(target: SocketAddr, leaves: &BTreeMap<u32, Way>) -> Option<Self> {
        let target = SocketAddr::new(target.ip().to_canonical(), target.port());
        let mut counts = Vec::new();
        for (&interface, &way) in leaves {
            let each: [(Field, bool, bool); 2] = match way {
                Way::Out => {
                    [(|flow| &mut flow.left_out, false, false), (|flow| &mut flow.came_back, true, true)]
                }
                Way::Back => {
                    [(|flow| &mut flow.came_out, false, true), (|flow| &mut flow.left_back, true, false)]
                }
            };
            for (of, from, arriving) in each {
                counts.push(Count { of, socket: open_count(interface, target, from, arriving).ok()? });
            }
        }
        (!counts.is_empty()).then_some(Self { counts, all: Flow::default() })
    }

    /// All that were counted since it was made.
    pub(super) fn read(&mut self) -> Option<Flow> {
        for Count { of, socket } in &self.counts {
            *of(&mut self.all) += counted(socket).ok()?;
        }
        Some(self.all)
    }
}
