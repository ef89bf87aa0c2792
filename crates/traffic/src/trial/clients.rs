//! A closed loop's packets: clients that pace themselves, each a process of its own.

use super::exchange::Exchange;
use super::setup::Setup;
use crate::closed_loop::client_processes::{ClientProcesses, ClientProgram};
use crate::closed_loop::outcome::WantedOutcome;
use crate::closed_loop::plan::{ClientPace, ClientReply};
use crate::error::UdpError;
use crate::losses::ledger::Ledger;
use crate::packet::attribution::Whose;
use crate::placement::affinity::Seat;
use crate::sys::monotonic_ns;
use crate::target::Reply;
use dropline_trial::{ClosedLoop, PacketTimes, TargetActivity, Trial};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Who sends in a closed loop.
pub(crate) struct Clients<'a> {
    closed: ClosedLoop,
    setup: &'a Setup,
    /// Whether the kernel stamps departures when it is asked to.
    stamped: bool,
    /// Whether replies are held against what was sent.
    same: bool,
}

impl<'a> Clients<'a> {
    /// Those that a measurer with this setup and these sockets has.
    pub(crate) fn of(closed: ClosedLoop, setup: &'a Setup, exchange: &Exchange) -> Self {
        Self { closed, setup, stamped: exchange.stamps_departures, same: exchange.content.compares() }
    }

    /// In words: who sends, and what is stamped.
    pub(crate) fn means(&self) -> String {
        let stamps = match self.stamped {
            true if !self.setup.is_answered() => "kernel stamps of a sample of departures",
            true => "kernel stamps of all arrivals and a sample of departures",
            false => "no kernel stamps",
        };
        format!(
            "{} clients, each a process of its own at normal priority on any CPU, a send for each packet; {stamps}",
            self.closed.clients
        )
    }

    /// Packets out, packets back, counted in the trial; returns the times of its packets, where they are kept, and
    /// what the target did meanwhile.
    pub(crate) fn run(
        &self,
        program: &ClientProgram,
        ledger: &mut Ledger,
        whose: Whose,
        astray: &AtomicBool,
        trial: &mut Trial,
    ) -> Result<(Option<PacketTimes>, Option<TargetActivity>), UdpError> {
        let Setup { target, profile, options, progress, .. } = self.setup;
        let are_to_stop = || self.setup.is_stopped() || astray.load(Ordering::Relaxed);
        let reply = match (target.reply, self.closed.waits) {
            (Reply::Service(_), _) => return Err(UdpError::NoClients),
            (Reply::None, _) => ClientReply::None,
            (Reply::Echo | Reply::Any, false) => ClientReply::Counted,
            (Reply::Echo | Reply::Any, true) => ClientReply::Awaited,
        };
        let crowd = ClientProcesses {
            target: target.address,
            tag: whose.tag().0,
            paces: vec![ClientPace::Think(self.closed.think); self.closed.clients as usize],
            reply,
            same: self.same,
            stamped: self.stamped,
            payload: profile.packet.payload_bytes(),
            seed: trial.seed,
            duration: trial.input.duration,
            seat: Seat::default(),
        };
        let running = crowd.start(program).map_err(UdpError::system("starting the clients"))?;
        let epoch = Instant::now() + Duration::from_nanos(running.from_ns().saturating_sub(monotonic_ns()));
        let (gathered, watched) =
            ledger.watch_while(progress.as_deref(), epoch, &|_| {}, || running.gather(are_to_stop));
        let gathered = gathered?;
        if gathered.is_stopped() && gathered.offered() == 0 {
            return Err(UdpError::Interrupted);
        }
        if let Some(progress) = progress {
            progress.set_offered(gathered.offered());
            progress.set_forwarded(gathered.forwarded());
        }
        let (slices, keep_packets) = (options.slices, options.keep_packets);
        let wanted =
            WantedOutcome { arrival: &profile.arrival, reply, same: self.same, slices, keep_packets };
        // Its clients are programs of their own, and not to be told from others.
        let watched = watched.map(|watched| TargetActivity { others_ns: None, ..watched });
        Ok((gathered.fill(trial, wanted), watched))
    }
}
