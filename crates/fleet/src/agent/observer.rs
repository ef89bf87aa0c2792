//! The thread of an agent that reads what its host counts of packets that others send. It sends none.

use super::Settings;
use super::performer::answer;
use crate::bus::bytes_of;
use crate::grant::{self, Duty};
use crate::wire::{Answer, Consenting, Consents, Look, Observe, Observing};
use dropline_failure::Failure;
use dropline_targets::Target;
use dropline_traffic::{Counters, Hop};
use serde::Serialize;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use tokio::sync::oneshot;

/// What the thread is asked, and where it answers.
pub(super) enum Task {
    Observe(Observe, oneshot::Sender<Vec<u8>>),
    Consent(Consents, oneshot::Sender<Vec<u8>>),
    Look(Look, oneshot::Sender<Vec<u8>>),
    Close(String),
}

/// Sessions that are observed at once, at most: what is forgotten is opened again by whoever asks.
const MOST: usize = 16;

pub(super) struct Observer {
    settings: Settings,
    seen: VecDeque<Seen>,
}

/// A session that is observed.
struct Seen {
    session: String,
    target: SocketAddr,
    hop: Hop,
    counters: Counters,
}

impl Observer {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, seen: VecDeque::new() }
    }

    pub(super) fn run(mut self, to_do: &Receiver<Task>) {
        while let Ok(task) = to_do.recv() {
            match task {
                Task::Observe(observe, tell) => answer(tell, self.observe(&observe)),
                Task::Look(look, tell) => {
                    self.of(&look.session, tell, |seen, _| Ok(seen.counters.read()));
                }
                Task::Consent(asks, tell) => {
                    self.of(&asks.session, tell, |seen, settings| seen.consent(&asks.asked, settings));
                }
                Task::Close(session) => self.seen.retain(|seen| seen.session != session),
            }
        }
    }

    /// Answers with what is known of a session.
    fn of<T: Serialize>(
        &mut self,
        session: &str,
        tell: oneshot::Sender<Vec<u8>>,
        what: impl FnOnce(&mut Seen, &Settings) -> Result<T, Failure>,
    ) {
        match self.seen.iter_mut().find(|seen| seen.session == session) {
            Some(seen) => answer(tell, what(seen, &self.settings)),
            None => drop(tell.send(bytes_of(&Answer::<()>::Unknown))),
        }
    }

    fn observe(&mut self, observe: &Observe) -> Result<Observing, Failure> {
        if !self.settings.ceiling.has(Duty::Observe) {
            return Err(Failure::environment("refused: it does not observe")
                .advice("write  may = [\"observe\"]  into the file that it is started with (--config)"));
        }
        let target = address(&observe.target)?;
        let (counters, hop) = Counters::at_hop(&observe.sources, target)
            .map_err(|why| Failure::environment(format!("what is counted here cannot be read: {why}")))?;
        self.seen.retain(|seen| seen.session != observe.session);
        self.seen.truncate(MOST - 1);
        self.seen.push_front(Seen { session: observe.session.clone(), target, hop, counters });
        Ok(Observing { has_target: hop == Hop::Target })
    }
}

impl Seen {
    /// Whether this host consents now, and what leads packets elsewhere here: then it does not.
    fn consent(&mut self, asked: &str, settings: &Settings) -> Result<Consenting, Failure> {
        let led = self.counters.leads_elsewhere().map_err(|why| {
            Failure::environment(format!("whether packets are led elsewhere here cannot be looked at: {why}"))
        })?;
        let key = settings.login.key().filter(|_| led.is_none() && self.hop == Hop::Target);
        let consent = grant::consent(self.target, &self.session, asked, &settings.ceiling, key.as_ref());
        Ok(Consenting { consent, led })
    }
}

/// The address that packets to a target have.
fn address(word: &str) -> Result<SocketAddr, Failure> {
    Target::parse(word)?
        .address()?
        .ok_or_else(|| Failure::usage(format!("{word}: no packets go there that a host between could count")))
}
