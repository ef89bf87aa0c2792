//! Trials of closed loops: clients that pace themselves, each a process of its own.

use super::{NEVER, UdpMeasurer};
use crate::closed_loop::crowd::Crowd;
use crate::closed_loop::gathered::Wanted;
use crate::closed_loop::plan::{ClientPace, ClientReply};
use crate::error::UdpError;
use crate::packet::attribution::Whose;
use crate::placement::seat::Seat;
use crate::sys::monotonic_ns;
use crate::target::Reply;
use dropline_trial::{ClosedLoop, Trial, TrialInput};
use std::sync::Arc;
use std::time::{Duration, Instant};

impl UdpMeasurer {
    /// In words: who sends in a closed loop, and what is stamped.
    pub(crate) fn means_of_clients(&self, closed: ClosedLoop) -> String {
        let stamps = match self.stamps_departures {
            true if self.target.reply == Reply::None => "kernel stamps of a sample of departures",
            true => "kernel stamps of all arrivals and a sample of departures",
            false => "no kernel stamps",
        };
        format!(
            "{} clients, each a process of its own at normal priority on any CPU, a send for each packet; {stamps}",
            closed.clients
        )
    }

    /// What schedules have as [`measure`](dropline_trial::Measurer::measure).
    pub(crate) fn measure_clients(
        &mut self,
        closed: ClosedLoop,
        input: TrialInput,
        seed: u64,
        whose: Whose,
    ) -> Result<Trial, UdpError> {
        let mut trial = Trial::new(whose.number, input, seed);
        let before = match self.target.reply {
            Reply::Echo | Reply::Any => None,
            Reply::None => Some(self.counting(whose, &Arc::clone(&self.stop))?.before()?),
        };
        let counters = self.evidence()?.before();
        let program = self.clients.clone().ok_or(UdpError::NoClients)?;
        let reply = match (self.target.reply, closed.waits) {
            (Reply::None, _) => ClientReply::None,
            (Reply::Echo | Reply::Any, false) => ClientReply::Counted,
            (Reply::Echo | Reply::Any, true) => ClientReply::Awaited,
        };
        let crowd = Crowd {
            target: self.target.address,
            tag: whose.tag().0,
            paces: vec![ClientPace::Think(closed.think); closed.clients as usize],
            reply,
            same: self.content.compares(),
            stamped: self.stamps_departures,
            payload: self.profile.packet.payload_bytes(),
            seed,
            duration: input.duration,
            seat: Seat::default(),
        };
        let (stop, progress) = (Arc::clone(&self.stop), self.progress.clone());
        let running = crowd.start(&program).map_err(UdpError::system("starting the clients"))?;
        let epoch = Instant::now() + Duration::from_nanos(running.from_ns().saturating_sub(monotonic_ns()));
        let gather = || running.gather(&stop);
        let (gathered, watched) = self.evidence()?.watch_while(progress.as_deref(), epoch, gather);
        let gathered = gathered?;
        if gathered.is_stopped() && gathered.offered() == 0 {
            return Err(UdpError::Interrupted);
        }
        if let Some(progress) = &progress {
            progress.set_offered(gathered.offered());
            progress.set_forwarded(gathered.forwarded());
        }
        let (slices, keep_packets) = (self.options.slices, self.options.keep_packets);
        let same = self.content.compares();
        let wanted = Wanted { arrival: &self.profile.arrival, reply, same, slices, keep_packets };
        self.packets = gathered.fill(&mut trial, wanted);
        let counted = match &before {
            Some(before) => self.count_one_way(before, whose, &mut trial)?,
            None => {
                self.check_that_it_answers(&trial)?;
                if trial.lost() > 0 { self.evidence()?.ask(whose, &NEVER) } else { None }
            }
        };
        let gathered = self.evidence()?.after(counters, watched);
        if before.is_some() && counted.is_none() {
            self.count_what_was_read(&gathered, &mut trial)?;
        }
        self.rest();
        self.evidence()?.account(gathered, counted, 0, false, &mut trial);
        Ok(trial)
    }
}
