//! Agents that observe: what their hosts counted of a trial's packets, and where on the way each lost one was lost.

use crate::bus::{Bus, ask, bytes_of};
use crate::grant::Signed;
use crate::refusal::{AgentRefusal, done};
use crate::wire::{self, Agreed, Consenting, Consents, Look, Observe, Observing, Question};
use async_nats::Client;
use dropline_account::{
    AddressFamily, Flow, HostPath, Outcome, Place, Site, Snapshot, Way, account_path, truesize,
};
use dropline_failure::Failure;
use dropline_trial::direction::host_and_place;
use dropline_trial::trial::merged::Performed;
use dropline_trial::{Caveat, LostAt, Packet, Trial, number_of};
use futures_util::future::join_all;
use std::net::IpAddr;
use std::time::Duration;

/// Of so few packets nothing is said of a host that saw none.
const A_FEW: u64 = 20;
/// So long it may take to say whether a host consents.
const CONSENT_LASTS: Duration = Duration::from_millis(300);
/// So long a host may take to read its counters.
const LOOK_LASTS: Duration = Duration::from_secs(5);

/// An agent that observes.
#[derive(Clone, Debug)]
pub(crate) struct NamedObserver {
    pub(crate) name: String,
    pub(crate) id: String,
    /// Whether the target's address is its host's.
    has_target: bool,
}

/// Those that observe a session, in the order of the way to the target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observers {
    each: Vec<NamedObserver>,
    session: String,
    target: String,
}

/// What each had counted, in their order.
pub(crate) type Looks = Vec<Option<Snapshot>>;

impl Observers {
    /// Those with these names and ids.
    pub(crate) fn new(who: Vec<(String, String)>, session: &str, target: &str) -> Self {
        let each = who.into_iter().map(|(name, id)| NamedObserver { name, id, has_target: false });
        Self { each: each.collect(), session: session.into(), target: target.into() }
    }

    pub(crate) fn each(&mut self) -> &mut [NamedObserver] {
        &mut self.each
    }

    pub(crate) fn is_any(&self) -> bool {
        !self.each.is_empty()
    }

    /// Has all see what their hosts count of packets from these addresses.
    pub(crate) async fn observe(&mut self, bus: &Bus, sources: &[IpAddr]) -> Result<(), AgentRefusal> {
        let asked = self.each.iter().map(|observer| {
            let NamedObserver { name, id, .. } = observer;
            let (id, session, target) = (id.clone(), self.session.clone(), self.target.clone());
            let observe = Observe { id, session, target, sources: sources.to_vec() };
            let subject = wire::ask(name, "observe");
            async move { done(ask(bus.client(), subject, bytes_of(&observe), LOOK_LASTS).await, name) }
        });
        let seen: Vec<Observing> = join_all(asked).await.into_iter().collect::<Result<_, AgentRefusal>>()?;
        for (observer, seen) in self.each.iter_mut().zip(&seen) {
            observer.has_target = seen.has_target;
        }
        // The target is behind all others, however they were named.
        self.each.sort_by_key(|observer| observer.has_target);
        let at_target: Vec<&str> =
            self.each.iter().filter(|one| one.has_target).map(|one| &*one.name).collect();
        match at_target.as_slice() {
            [_, _, ..] => Err(AgentRefusal {
                failure: Failure::usage(format!(
                    "--observe: {} have the target's address",
                    at_target.join(" and ")
                ))
                .advice("name one agent for each host"),
                is_absent: false,
            }),
            _ => Ok(()),
        }
    }

    /// What the target's host answers one agent that asks whether it consents; nothing where it does not, or anything leads packets
    /// elsewhere at one of the hosts.
    ///
    /// # Errors
    /// If something does, in words, or one of them does not answer.
    pub(crate) async fn consents(
        &self,
        bus: &Client,
        agent: &str,
        id: &str,
    ) -> Result<Vec<Signed>, AgentRefusal> {
        let look = Look { id: id.into(), session: self.session.clone() };
        let question: Question =
            done(ask(bus, wire::ask(agent, "asks"), bytes_of(&look), CONSENT_LASTS).await, agent)?;
        let answers = self.each.iter().map(|NamedObserver { name, id, .. }| {
            let (session, question) = (self.session.clone(), question.clone());
            let asks = Consents { id: id.clone(), session, agent: agent.into(), question };
            let subject = wire::ask(name, "consent");
            async move {
                let answer: Consenting = done(ask(bus, subject, bytes_of(&asks), CONSENT_LASTS).await, name)?;
                match answer.led {
                    None => Ok(answer.consent),
                    Some(what) => Err(led_elsewhere(name, &what)),
                }
            }
        });
        let answers: Vec<Option<Signed>> =
            join_all(answers).await.into_iter().collect::<Result<_, AgentRefusal>>()?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// Tells an agent that sends what the target's host says now.
    ///
    /// # Errors
    /// As of [`consents`](Self::consents).
    pub(crate) async fn renew(&self, bus: &Client, agent: &str, id: &str) -> Result<(), AgentRefusal> {
        let consents = self.consents(bus, agent, id).await?;
        let agreed = Agreed { id: id.into(), session: self.session.clone(), consents };
        done(ask(bus, wire::ask(agent, "agreed"), bytes_of(&agreed), CONSENT_LASTS).await, agent)
    }

    /// What each has counted until now; nothing of one that does not answer.
    pub(crate) async fn look(&self, bus: &Bus) -> Result<Looks, AgentRefusal> {
        let asked = self.each.iter().map(|NamedObserver { name, id, .. }| {
            let look = Look { id: id.clone(), session: self.session.clone() };
            let subject = wire::ask(name, "look");
            async move {
                let seen: Snapshot =
                    done(ask(bus.client(), subject, bytes_of(&look), LOOK_LASTS).await, name)?;
                is_possible(&seen).then_some(Some(seen)).ok_or_else(|| impossible(name))
            }
        });
        join_all(asked).await.into_iter().collect()
    }

    /// The same after a trial, which is there whoever is gone.
    pub(crate) async fn look_after(&self, bus: &Bus) -> Looks {
        let asked = self.each.iter().map(|NamedObserver { name, id, .. }| {
            let look = Look { id: id.clone(), session: self.session.clone() };
            let subject = wire::ask(name, "look");
            async move {
                done(ask(bus.client(), subject, bytes_of(&look), LOOK_LASTS).await, name)
                    .ok()
                    .filter(is_possible)
            }
        });
        join_all(asked).await
    }

    /// The host that has the target's address, where one of them does.
    fn target_host(&self) -> Option<&str> {
        self.each.iter().find(|one| one.has_target).map(|one| one.name.as_str())
    }

    /// Says of what each agent itself saw to be lost on which host that was.
    pub(crate) fn name_places(&self, performed: &mut [Performed]) {
        for one in performed {
            let Some(places) = one.trial.as_mut().and_then(|trial| trial.lost_at.as_mut()) else { continue };
            *places = std::mem::take(places)
                .into_iter()
                .map(|(key, packets)| {
                    let host = match Site::of_key(&key) {
                        Some(Site { place, .. }) if place.is_told_by_generator() => None,
                        Some(Site { place: Place::ServiceQueue | Place::Unread, .. }) => self.target_host(),
                        _ => Some(one.name.as_str()),
                    };
                    (host.map_or_else(|| key.clone(), |host| format!("{host}/{key}")), packets)
                })
                .collect();
        }
    }

    /// Gives what no agent placed to the hosts of the way, and to what lies between them.
    ///
    /// # Errors
    /// If the target's host saw none of the packets: they went to another one.
    pub(crate) fn account(
        &self,
        trial: &mut Trial,
        before: Looks,
        after: Looks,
        one_way: bool,
        packet: Packet,
        is_ipv4: bool,
    ) -> Result<(), Failure> {
        let none = Flow::default();
        let mut hosts = Vec::new();
        let both = before.into_iter().zip(after);
        let seen = self.each.iter().zip(both).map(|(observer, (before, after))| {
            let grown = before.zip(after).map(|(before, after)| (after.since(&before), before, after));
            (observer, grown)
        });
        for (observer, seen) in seen {
            let flow = seen.as_ref().and_then(|(grown, ..)| grown.spaces.first()?.flow);
            if flow != Some(none) || trial.offered < A_FEW {
                hosts.push((observer, seen));
            } else if observer.has_target {
                let offered = trial.offered;
                let why = format!("{} left for it, and none came", number_of(offered, "packet"));
                return Err(led_elsewhere(&observer.name, &why).failure);
            } else {
                trial.caveats.push(Caveat::PlacesUnseen {
                    what: format!("where on the path the host of agent {} is", observer.name),
                    need: "none of the packets passed its host: leave it out of --observe, or name agents on the path".into(),
                });
            }
        }
        let Some(places) = trial.lost_at.as_mut() else { return Ok(()) };
        let mut spaces = Vec::new();
        let (mut together, mut unread, mut closed) = (Snapshot::default(), 0, false);
        let mut backlog = None;
        let names: Vec<String> = hosts.iter().map(|(observer, _)| observer.name.clone()).collect();
        for (at, (observer, seen)) in hosts.into_iter().enumerate() {
            let Some((mut grown, before, after)) = seen else {
                trial.caveats.push(Caveat::PlacesUnseen {
                    what: format!("what the host of {} counted", observer.name),
                    need: "its agent did not answer after the trial".into(),
                });
                continue;
            };
            if observer.has_target {
                let family = if is_ipv4 { AddressFamily::V4 } else { AddressFamily::V6 };
                let charge = u64::from(truesize(packet.payload_bytes(), family));
                unread = after.target.map_or(0, |sockets| sockets.waiting_bytes).div_ceil(charge);
                closed = before
                    .target
                    .is_some_and(|then| after.target.is_none_or(|now| now.identity != then.identity));
                together.target = grown.target;
            }
            grown.spaces.iter_mut().for_each(|space| space.id = at as u64);
            spaces.append(&mut grown.spaces);
            backlog = grown.backlog_drops.map(|drops| drops + backlog.unwrap_or(0)).or(backlog);
        }
        together.spaces = spaces;
        together.backlog_drops = backlog;
        let left = places.remove(&Site::UNEXPLAINED.key()).unwrap_or(0);
        let near = |way: Way| near(places, way);
        let path = HostPath {
            senders: match trial.agents.as_slice() {
                [one] => one.name.clone(),
                _ => "agents".into(),
            },
            left: Some(trial.offered.saturating_sub(near(Way::Out))),
            came: [Some(trial.generator_lost), Some(near(Way::Back)), trial.late, trial.duplicated]
                .into_iter()
                .flatten()
                .fold(trial.forwarded, u64::saturating_add),
            hosts: names,
        };
        let outcome = Outcome {
            offered: trial.offered,
            forwarded: trial.offered.saturating_sub(left).saturating_sub(trial.generator_lost),
            generator_lost: trial.generator_lost,
            one_way,
            unread,
            closed,
            ..Outcome::default()
        };
        let found = account_path(&outcome, &together, &path);
        add(places, found.lost_at);
        trial.caveats.extend(found.caveats);
        trial.doubt_anew();
        Ok(())
    }
}

/// Packets that the agents themselves saw to be lost on a way.
fn near(places: &LostAt, way: Way) -> u64 {
    let is_near = |key: &str| {
        host_and_place(key).0.is_some()
            && Site::of_key(key).is_some_and(|site| site.way == way && !is_of_target(site))
    };
    places.iter().filter(|(key, _)| is_near(key)).map(|(_, packets)| packets).sum()
}

fn is_of_target(site: Site) -> bool {
    matches!(site.place, Place::ServiceQueue | Place::Unread)
}

fn add(places: &mut LostAt, more: LostAt) {
    for (key, packets) in more {
        *places.entry(key).or_default() += packets;
    }
}

/// Whether no counter has more than any interface counts in a century: sums of these are numbers still.
fn is_possible(seen: &Snapshot) -> bool {
    fn is_small(value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::Number(number) => number.as_u64().is_none_or(|number| number < 1 << 56),
            serde_json::Value::Array(all) => all.iter().all(is_small),
            serde_json::Value::Object(all) => all.values().all(is_small),
            _ => true,
        }
    }
    serde_json::to_value(seen).is_ok_and(|value| is_small(&value))
}

fn led_elsewhere(name: &str, what: &str) -> AgentRefusal {
    let failure = Failure::environment(format!(
        "refused: on the host of agent {name}, what is sent to the target may be led elsewhere: {what}"
    ));
    AgentRefusal {
        failure: failure.advice(
            "nothing is sent to a host that did not consent: remove that, or measure where packets go to the target alone",
        ),
        is_absent: false,
    }
}

fn impossible(name: &str) -> AgentRefusal {
    let failure =
        Failure::environment(format!("agent {name} says that its host counted more than any host can"));
    AgentRefusal {
        failure: failure.advice("name observers that are yours, of this version"),
        is_absent: false,
    }
}
