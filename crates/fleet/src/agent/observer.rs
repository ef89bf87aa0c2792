//! The thread of an agent that reads what its host counts of packets that others send. It sends none.

use super::Settings;
use super::performer::answer;
use crate::bus::bytes_of;
use crate::grant::{self, Duty};
use crate::wire::{Answer, Look, Observe, Observing};
use dropline_failure::Failure;
use dropline_targets::Target;
use dropline_traffic::{Counters, Hop};
use nkeys::KeyPair;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use tokio::sync::oneshot;

/// What the thread is asked, and where it answers.
pub(super) enum Task {
    Observe(Observe, oneshot::Sender<Vec<u8>>),
    Look(Look, oneshot::Sender<Vec<u8>>),
    Close(String),
}

/// Sessions that are observed at once, at most: what is forgotten is opened again by whoever asks.
const MOST: usize = 16;

pub(super) struct Observer {
    settings: Settings,
    key: Option<KeyPair>,
    /// Of each session, the counters that it is about.
    seen: VecDeque<(String, Counters)>,
}

impl Observer {
    pub(super) fn new(settings: Settings) -> Self {
        let key = settings.login.key();
        Self { settings, key, seen: VecDeque::new() }
    }

    pub(super) fn run(mut self, to_do: &Receiver<Task>) {
        while let Ok(task) = to_do.recv() {
            match task {
                Task::Observe(observe, tell) => answer(tell, self.observe(&observe)),
                Task::Look(look, tell) => {
                    let seen = self.seen.iter_mut().find(|(session, _)| *session == look.session);
                    match seen {
                        Some((_, counters)) => answer(tell, Ok(counters.read())),
                        None => drop(tell.send(bytes_of(&Answer::<()>::Unknown))),
                    }
                }
                Task::Close(session) => self.seen.retain(|(other, _)| *other != session),
            }
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
        self.seen.retain(|(session, _)| *session != observe.session);
        self.seen.truncate(MOST - 1);
        self.seen.push_front((observe.session.clone(), counters));
        let has_target = hop == Hop::Target;
        let Settings { ceiling, .. } = &self.settings;
        let now = dropline_archive::clock::now_s();
        let consent = has_target
            .then(|| grant::consent(target, &observe.session, ceiling, self.key.as_ref(), now))
            .flatten();
        Ok(Observing { has_target, consent })
    }
}

/// The address that packets to a target have.
fn address(word: &str) -> Result<SocketAddr, Failure> {
    Target::parse(word)?
        .address()?
        .ok_or_else(|| Failure::usage(format!("{word}: no packets go there that a host between could count")))
}
