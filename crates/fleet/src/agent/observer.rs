//! The thread of an agent that reads what its host counts of packets that others send. It sends none.

use super::Settings;
use super::performer::answer;
use crate::bus::bytes_of;
use crate::grant::{self, Duty};
use crate::wire::{Answer, Consenting, Consents, Look, Observe, Observing, Question};
use dropline_failure::Failure;
use dropline_targets::Target;
use dropline_traffic::{Counters, Hop};
use dropline_trial::number_of;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
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
    arrivals: Arrivals,
}

/// What came of what was sent, by the agents that sent it.
#[derive(Debug, Default)]
struct Arrivals(BTreeMap<String, Sending>);

/// An agent that sends.
#[derive(Debug)]
struct Sending {
    /// Datagrams that had left when it asked last.
    sent: u64,
    /// Datagrams that had come here by then, whoever sent them.
    came: u64,
    /// When it asked last.
    asked: Instant,
    /// When last it had sent nothing more or something had come, and how many it had sent then.
    quiet: (Instant, u64),
}

/// So many datagrams are more than chance or a moment's fault takes.
const FEW: u64 = 20;
/// So long it may be that none of them comes.
const NONE_COMES: Duration = Duration::from_secs(1);

impl Arrivals {
    /// That nothing came of what an agent sent, for long, in words.
    fn none(&mut self, agent: &str, sent: u64, came: u64, now: Instant) -> Option<String> {
        let sending =
            self.0.entry(agent.into()).or_insert(Sending { sent, came, asked: now, quiet: (now, sent) });
        // Who did not ask meanwhile may have sent it all just now.
        let is_anew = now.duration_since(sending.asked) > NONE_COMES;
        if is_anew || came > sending.came || sent <= sending.sent {
            sending.quiet = (now, sent);
        }
        (sending.sent, sending.came, sending.asked) = (sent, came, now);
        let sent = sent.saturating_sub(sending.quiet.1);
        (sent >= FEW && now.duration_since(sending.quiet.0) > NONE_COMES)
            .then(|| format!("{} left for it one after the other, and none came", number_of(sent, "packet")))
    }
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
                    self.of(&asks.session, tell, |seen, settings| seen.consent(&asks, settings));
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
        self.seen.push_front(Seen {
            session: observe.session.clone(),
            target,
            hop,
            counters,
            arrivals: Arrivals::default(),
        });
        Ok(Observing { has_target: hop == Hop::Target })
    }
}

impl Seen {
    /// Whether this host consents now, and what leads packets elsewhere here: then it does not.
    fn consent(&mut self, asks: &Consents, settings: &Settings) -> Result<Consenting, Failure> {
        let led = self.counters.leads_elsewhere().map_err(|why| {
            Failure::environment(format!("whether packets are led elsewhere here cannot be looked at: {why}"))
        })?;
        let passed = self.counters.passed().filter(|_| self.hop == Hop::Target);
        let Question { asked, sent } = &asks.question;
        let now = Instant::now();
        let none = passed.and_then(|passed| self.arrivals.none(&asks.agent, *sent, passed.came_out, now));
        let led = led.or(none);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_to_which_nothing_comes_for_a_second_of_what_is_sent_says_so_and_one_that_nobody_sends_to_does_not()
     {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.none("west", 0, 0, at(0)), None);
        assert_eq!(arrivals.none("west", 500, 500, at(200)), None);
        assert_eq!(arrivals.none("west", 500, 500, at(9000)), None, "nothing is sent between two trials");
        assert_eq!(arrivals.none("west", 700, 500, at(9200)), None, "they are on their way");
        assert_eq!(arrivals.none("west", 900, 500, at(9900)), None, "a moment's fault");
        assert!(arrivals.none("west", 1100, 500, at(10_100)).is_some());
        assert_eq!(arrivals.none("west", 1300, 510, at(10_200)), None, "something comes again");
        assert_eq!(arrivals.none("east", 5, 510, at(20_000)), None);
        assert_eq!(arrivals.none("east", 8, 510, at(21_500)), None, "few");
        assert_eq!(arrivals.none("west", 1400, 510, at(21_600)), None);
        assert_eq!(arrivals.none("west", 1400, 510, at(23_000)), None, "the last of a trial were lost");
    }
}
