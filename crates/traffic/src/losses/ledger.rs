//! What is known of a trial's packets beside its replies: counters before and after, and what the target counted.

use super::counting::{Asker, Before, Counted, Counting, Stops};
use super::evidence::{Around, Evidence, Known, Watching};
use crate::error::UdpError;
use crate::packet::attribution::Whose;
use crate::progress::Progress;
use crate::target::{Reply, UdpTarget};
use dropline_account::Snapshot;
use dropline_trial::{Caveat, Packet, TargetActivity, Trial};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What left is counted to the end, also when the user wants to stop: that takes a second or two at most.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

/// Whose packets are accounted for, trial after trial.
#[derive(Clone, Copy)]
pub(crate) struct Account {
    pub(crate) source: SocketAddr,
    pub(crate) target: UdpTarget,
    pub(crate) packet: Packet,
    pub(crate) watching: Watching,
    /// Packets go to further addresses or ports, whose sockets are not looked at.
    pub(crate) several_targets: bool,
    /// How long a busy target that sends nothing back may take to be through.
    pub(crate) longest: Duration,
}

/// The accounts of one measurer's trials.
pub(crate) struct Ledger {
    of: Account,
    /// What says where packets were lost, from the first trial on.
    evidence: Option<Evidence>,
    /// How a one-way target is counted, once that is known.
    counting: Option<Counting>,
}

/// From before a trial.
pub(crate) struct Opening {
    counters: Snapshot,
    /// Of a one-way target.
    target: Option<Before>,
}

/// From after it.
pub(crate) struct Closing {
    around: Around,
    /// What the target said.
    counted: Counted,
}

impl Ledger {
    /// Nothing is opened or asked yet.
    pub(crate) fn new(of: Account) -> Self {
        Self { of, evidence: None, counting: None }
    }

    /// Before the first packet leaves, by this socket among others.
    ///
    /// # Errors
    /// If what arrives at a one-way target cannot be counted, or the user wants to stop.
    pub(crate) fn open(
        &mut self,
        socket: &UdpSocket,
        whose: Whose,
        stops: Stops<'_>,
    ) -> Result<Opening, UdpError> {
        let target = match self.of.target.reply.is_answered() {
            false => Some(self.asker(socket, whose, stops)?.before()?),
            true => None,
        };
        Ok(Opening { counters: self.evidence().before(), target })
    }

    /// Does the trial's work while the target is looked at, as [`Evidence::watch_while`].
    pub(crate) fn watch_while<T>(
        &mut self,
        progress: Option<&Progress>,
        epoch: Instant,
        held: &(dyn Fn(u64) + Sync),
        work: impl FnOnce() -> T,
    ) -> (T, Option<TargetActivity>) {
        self.evidence().watch_while(progress, epoch, held, work)
    }

    /// As soon as the drain has ended: what a one-way target served becomes what was forwarded. It is not asked where that
    /// would go elsewhere, which is set in `astray`.
    ///
    /// # Errors
    /// If it is gone.
    pub(crate) fn close(
        &mut self,
        opening: Opening,
        socket: &UdpSocket,
        whose: Whose,
        watched: Option<TargetActivity>,
        astray: &AtomicBool,
        trial: &mut Trial,
    ) -> Result<Closing, UdpError> {
        let counted = match &opening.target {
            Some(before) => self.count_one_way(socket, before, whose, astray, trial)?,
            None => Counted::default(),
        };
        let around = self.evidence().after(opening.counters, watched);
        if opening.target.is_some() && counted.counts.is_none() {
            // What never came to the socket of a target that does not count by itself was not read there.
            let read = self.evidence().read_by_programs(&around);
            trial.forwarded = trial.forwarded.min(read.unwrap_or(u64::MAX));
        }
        Ok(Closing { around, counted })
    }

    /// Asks the target what it saw of a trial whose packets did not all come back, unless that would go elsewhere.
    /// A service would not understand it.
    pub(crate) fn ask(&mut self, closing: &mut Closing, whose: Whose, astray: &AtomicBool) {
        if matches!(self.of.target.reply, Reply::Service(_)) {
            return;
        }
        closing.counted.counts = self.evidence().ask(whose, &[astray]);
    }

    /// Says in a trial, whose counts are complete, where its packets were lost.
    pub(crate) fn account(&mut self, closing: Closing, known: Known, trial: &mut Trial) {
        self.evidence().account(closing.around, closing.counted, known, trial);
    }

    /// What a one-way target says that it served; `None` if it was looked at from outside, or died meanwhile: then
    /// what programs read is the most that it can have served.
    fn count_one_way(
        &mut self,
        socket: &UdpSocket,
        before: &Before,
        whose: Whose,
        astray: &AtomicBool,
        trial: &mut Trial,
    ) -> Result<Counted, UdpError> {
        let stops = [astray];
        match self.asker(socket, whose, &stops)?.count(before, trial) {
            // What leads packets elsewhere is said by whoever found it.
            Err(UdpError::Interrupted) => {
                trial.forwarded = trial.offered;
                Ok(Counted::default())
            }
            Err(UdpError::Closed { .. } | UdpError::NotCounted { .. }) if trial.offered > 0 => {
                let refused = trial.refused.values().sum();
                if !trial.caveats.iter().any(|caveat| matches!(caveat, Caveat::TargetUnreachable { .. })) {
                    let (error, at_ns) = ("ECONNREFUSED".into(), trial.duration.as_nanos() as u64);
                    trial.caveats.push(Caveat::TargetUnreachable { error, at_ns, refused, reports: 1 });
                }
                trial.caveats.push(Caveat::Reported {
                    code: "counted_at_socket".into(),
                    text: "the target died before it could be asked what it served: forwarded is what programs of \
                           its namespace read in that time, at most what it served"
                        .into(),
                });
                trial.forwarded = trial.offered;
                Ok(Counted::default())
            }
            counted => counted,
        }
    }

    fn evidence(&mut self) -> &mut Evidence {
        let Account { source, target, packet, watching, several_targets, .. } = self.of;
        self.evidence.get_or_insert_with(|| {
            let mut evidence = Evidence::open(source, target, packet, watching);
            if several_targets {
                evidence.of_several_targets();
            }
            evidence
        })
    }

    fn asker<'a>(
        &'a mut self,
        socket: &'a UdpSocket,
        whose: Whose,
        stops: Stops<'a>,
    ) -> Result<Asker<'a>, UdpError> {
        let Account { target, packet, longest, .. } = self.of;
        let counting = match self.counting.take() {
            Some(known) => known,
            None => Counting::find(socket, target, whose, stops)?,
        };
        let counting = self.counting.insert(counting);
        Ok(Asker { counting, socket, target, whose, stops, longest, packet })
    }
}
