//! Who coordinates trials: arms agents, says when they start, and makes one trial of what they count.

use crate::agent::FORGOTTEN;
use crate::bus::{Bus, ask, bytes_of};
use crate::clock::{self, Offset, Stamps};
use crate::grant::Signed;
use crate::local::Local;
use crate::path::{Looks, Observers};
use crate::refusal::{AgentRefusal, done};
use crate::selection::Selection;
use crate::wire::{self, Alive, Answer, Arm, Clock, Go, MovingLine, Open, Ready, Revoked, Told, Who};
use async_nats::Subscriber;
use dropline_archive::clock::now_utc;
use dropline_failure::Failure;
use dropline_record::ProfileLine;
use dropline_targets::{Elsewhere, Opened, Opening, Target};
use dropline_trial::trial::merged::Performed;
use dropline_trial::{
    AgentState, Caveat, CommonStart, GapLaw, Measurer, Rate, TrafficProfile, Trial, TrialInput,
};
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// So long agents are listened for.
const WHO_LASTS: Duration = Duration::from_millis(500);
/// So long a target may take to be made ready.
const OPEN_LASTS: Duration = Duration::from_secs(30);
/// So long an agent may take to be ready for a trial.
const ARM_LASTS: Duration = Duration::from_secs(8);
/// So long that is tried: an agent that was started again is there after a moment.
const ARMED_WITHIN: Duration = Duration::from_secs(10);
/// Exchanges by which a clock is known.
const EXCHANGES: usize = 8;
/// From one word to the next that we are there.
const RENEWED_EVERY: Duration = Duration::from_millis(100);
/// From one question for consent to the next: several before the last answer is over.
const CONSENTED_EVERY: Duration = Duration::from_millis(200);
/// From saying when a trial starts to its start.
const AHEAD: Duration = Duration::from_millis(80);
/// An agent that answers nothing for so long is not there any more.
const SILENT: Duration = Duration::from_secs(3);
/// How often it is asked whether it is.
const ASKED_EVERY: Duration = Duration::from_millis(500);
/// Beyond a trial's duration and its drain: reading counters, waiting for late answers, telling.
const BEYOND: Duration = Duration::from_secs(15);

/// The agents that perform trials, and the way to them.
pub struct Fleet {
    bus: Arc<Bus>,
    selection: Selection,
    /// What the agents may send.
    grants: Vec<Signed>,
    /// Names of agents that observe.
    observe: Vec<String>,
    /// Agents that were started for this.
    local: Option<Local>,
    /// Who measures, once that is known.
    on: Mutex<Option<String>>,
    /// Which of several targets' sessions the agents take part in.
    active: Arc<Mutex<Option<Active>>>,
}

/// A session that agents take part in.
struct Active {
    session: String,
    /// Their names, and those of agents that observe.
    names: Vec<String>,
}

impl Fleet {
    /// Those of the agents at a server that were chosen.
    pub fn at(bus: Bus, selection: Selection, grants: Vec<Signed>) -> Self {
        Self {
            bus: Arc::new(bus),
            selection,
            grants,
            observe: Vec::new(),
            local: None,
            on: Mutex::default(),
            active: Arc::default(),
        }
    }

    /// With agents that observe trials: these names, in the order of the way to the target.
    #[must_use]
    pub fn observed_by(self, observe: Vec<String>) -> Self {
        Self { observe, ..self }
    }

    /// Starts a server and so many agents on this machine.
    ///
    /// # Errors
    /// If one of them cannot be started.
    pub fn local(local: Local) -> Result<Self, Failure> {
        let bus = local.bus()?;
        let selection = Selection::Local(local.agents());
        Ok(Self {
            bus: Arc::new(bus),
            selection,
            grants: Vec::new(),
            observe: Vec::new(),
            local: Some(local),
            on: Mutex::default(),
            active: Arc::default(),
        })
    }

    /// Who is there.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn who(&self) -> Result<Vec<Who>, Failure> {
        let awaited = self.local.as_ref().map(|local| local.agents() as usize);
        let there = who(&self.bus, awaited)?;
        if let Some(local) = self.local.as_ref().filter(|local| there.len() >= local.agents() as usize) {
            local.forget_keys();
        }
        Ok(there)
    }

    /// Says to all that a grant holds no more; returns what those say who heard.
    ///
    /// # Errors
    /// If nobody can be told.
    pub fn revoke(&self, signed: &Signed) -> Result<Vec<Revoked>, Failure> {
        let inbox = self.bus.client().new_inbox();
        let mut answers = self.bus.subscribe(inbox.clone())?;
        let mut heard = Vec::new();
        let tell = async {
            let _ = self.bus.client().publish_with_reply(wire::REVOKE, inbox, bytes_of(signed).into()).await;
            let until = Instant::now() + WHO_LASTS;
            while Instant::now() < until {
                if let Ok(Some(answer)) =
                    tokio::time::timeout(Duration::from_millis(50), answers.next()).await
                {
                    heard.extend(serde_json::from_slice::<Revoked>(&answer.payload));
                }
            }
        };
        self.bus.runtime().block_on(tell);
        Ok(heard)
    }

    /// The clock of each of these against ours, in ns: how far it is ahead, and by how much that may be wrong.
    pub fn clocks(&self, there: &[Who]) -> Vec<Option<(i64, u64)>> {
        let all = there.iter().map(|who| offset(&self.bus, &who.name, &who.id));
        let all = self.bus.runtime().block_on(join_all(all));
        all.into_iter().map(|offset| offset.map(|offset| (offset.ahead_ns, offset.bound_ns))).collect()
    }

    fn chosen(&self) -> Result<Vec<(Who, u32)>, Failure> {
        self.chosen_of(&self.who()?)
    }

    /// The agents that observe, as they are there.
    fn observers(&self, there: &[Who]) -> Result<Vec<(String, String)>, Failure> {
        let one = |(at, name): (usize, &String)| {
            if self.observe[..at].contains(name) {
                return Err(
                    Failure::usage(format!("--observe names {name} twice")).advice("name each host once")
                );
            }
            let all: Vec<&Who> = there.iter().filter(|who| who.name == *name).collect();
            alone(all.iter().copied())?;
            let spoken = all.first().filter(|who| wire::is_spoken(&who.schema));
            spoken.map(|who| (who.name.clone(), who.id.clone())).ok_or_else(|| {
                Failure::environment(format!("--observe: no agent of this version is called {name:?}"))
                    .advice("dropline fleet list  shows who is there, and which version each is")
            })
        };
        self.observe.iter().enumerate().map(one).collect()
    }

    fn chosen_of(&self, there: &[Who]) -> Result<Vec<(Who, u32)>, Failure> {
        let chosen = self.selection.of(there)?;
        if let Some(local) = &self.local
            && chosen.len() != local.agents() as usize
        {
            return Err(local.missing(chosen.len()));
        }
        alone(chosen.iter().map(|(who, _)| who))?;
        for (who, _) in &chosen {
            if !wire::is_spoken(&who.schema) {
                return Err(Failure::environment(format!(
                    "agent {} speaks {} (dropline {}), and this is {} (dropline {})",
                    who.name,
                    who.schema,
                    who.version,
                    wire::SCHEMA,
                    env!("CARGO_PKG_VERSION")
                ))
                .advice("install one version of dropline on all hosts of the fleet"));
            }
        }
        let on = self.selection.word(&chosen);
        *self.on.lock().unwrap_or_else(PoisonError::into_inner) = Some(on);
        Ok(chosen)
    }
}

/// Refuses two agents of one name: both would send, and one would be counted.
fn alone<'a>(chosen: impl Iterator<Item = &'a Who>) -> Result<(), Failure> {
    let mut of_name: BTreeMap<&str, Vec<&Who>> = BTreeMap::new();
    chosen.for_each(|who| of_name.entry(&who.name).or_default().push(who));
    let Some((name, several)) = of_name.into_iter().find(|(_, several)| several.len() > 1) else {
        return Ok(());
    };
    let each: Vec<String> = several.iter().map(|who| format!("{} on host {}", who.id, who.host)).collect();
    Err(Failure::environment(format!(
        "{} agents answer to the name {name}: {}; each would send the whole share of {name}, and one would be counted",
        several.len(),
        each.join(", ")
    ))
    .advice("end all but one of them, or give each a name and a key of its own (dropline agent --name); one that was just ended may \
             have answered still: then ask again"))
}

/// Those who answer, in the order of their names: as many as are `awaited`, or whoever does in half a second.
fn who(bus: &Bus, awaited: Option<usize>) -> Result<Vec<Who>, Failure> {
    let inbox = bus.client().new_inbox();
    let mut answers = bus.subscribe(inbox.clone())?;
    let patience = if awaited.is_some() { OPEN_LASTS } else { WHO_LASTS };
    let until = Instant::now() + patience;
    let mut there: BTreeMap<[String; 2], Who> = BTreeMap::new();
    let is_all = |there: &BTreeMap<[String; 2], Who>| awaited.is_some_and(|awaited| there.len() >= awaited);
    let listen = async {
        let mut asked: Option<Instant> = None;
        while Instant::now() < until && !is_all(&there) {
            // One that is being started did not hear the question.
            if asked.is_none_or(|asked| asked.elapsed() > Duration::from_millis(200)) {
                let ask = bus.client().publish_with_reply(wire::WHO, inbox.clone(), Vec::new().into());
                let _ = tokio::time::timeout(Duration::from_millis(200), ask).await;
                asked = Some(Instant::now());
            }
            if let Ok(Some(answer)) = tokio::time::timeout(Duration::from_millis(50), answers.next()).await
                && let Ok(who) = serde_json::from_slice::<Who>(&answer.payload)
            {
                there.insert([who.name.clone(), who.id.clone()], who);
            }
        }
    };
    bus.runtime().block_on(listen);
    Ok(there.into_values().collect())
}

/// How far an agent's clock is ahead of ours.
async fn offset(bus: &Bus, agent: &str, id: &str) -> Option<Offset> {
    let mut exchanges = Vec::with_capacity(EXCHANGES);
    for _ in 0..EXCHANGES {
        let asked_ns = clock::monotonic_ns();
        let clock: Clock =
            ask(bus.client(), wire::ask(agent, "clock"), id.into(), Duration::from_secs(1)).await?;
        exchanges.push(Stamps {
            asked_ns,
            heard_ns: clock.heard_ns,
            said_ns: clock.said_ns,
            answered_ns: clock::monotonic_ns(),
        });
    }
    Offset::of(&exchanges)
}

impl Elsewhere for Fleet {
    fn open(&self, target: &Target, profile: &TrafficProfile, opening: &Opening) -> Result<Opened, Failure> {
        let there = self.who()?;
        let chosen = self.chosen_of(&there)?;
        let session = crate::keys::id();
        let observers = Observers::new(self.observers(&there)?, &session, &target.to_string());
        let shares: Vec<u32> = chosen.iter().map(|(_, share)| *share).collect();
        let moving = moving(opening)?;
        let opens: Vec<Open> = (0..chosen.len())
            .map(|index| Open {
                id: chosen[index].0.id.clone(),
                schema: wire::SCHEMA.into(),
                version: env!("CARGO_PKG_VERSION").into(),
                session: session.clone(),
                target: target.to_string(),
                profile: ProfileLine::from(profile),
                slices: opening.slices,
                patience_s: opening.patience.as_secs_f64(),
                moving: moving.clone(),
                shares: shares.clone(),
                index,
                first_trial: opening.first_trial,
                grants: self.grants.clone(),
                consents: Vec::new(),
            })
            .collect();
        let results = self.bus.subscribe(wire::result(&session, "*"))?;
        let renewed = Arc::default();
        let renewing = [renewing(&self.bus, &session), consenting(&self.bus, &session, &renewed)];
        let ours = clock::whose();
        let agents = chosen.into_iter().zip(opens).map(|((who, _), open)| {
            let has_our_clock = ours.is_some() && who.clock == ours;
            AgentOf { name: who.name, open, has_our_clock }
        });
        let mut coordinator = Coordinator {
            bus: Arc::clone(&self.bus),
            active: Arc::clone(&self.active),
            session,
            agents: agents.collect(),
            next: opening.first_trial,
            next_turn: target.first_turn(shares.len() as u64, opening.asked_below),
            attempts: 0,
            profile: profile.clone(),
            is_counted_there: target.is_counted_there(),
            is_local: self.local.is_some(),
            is_ipv4: target.address()?.is_none_or(|address| address.ip().to_canonical().is_ipv4()),
            observers,
            starts_together: target.starts_together(),
            patience: if target.starts_together() { Duration::ZERO } else { opening.patience },
            opening: opening.clone(),
            results,
            renewed,
            renewing,
        };
        let ready = coordinator.opened()?;
        let names: Vec<&str> = coordinator.agents.iter().map(|agent| agent.name.as_str()).collect();
        let first = ready.into_iter().next().unwrap_or_default();
        let note = first.note.map(|note| format!("{note}; measured by {}", names.join(", ")));
        Ok(Opened {
            note: note.or_else(|| Some(format!("measured by {}", names.join(", ")))),
            generator: first.generator.map(|generator| format!("{} agents, each: {generator}", names.len())),
            reply_buffer_bytes: first.reply_buffer_bytes,
            measurer: Box::new(coordinator),
        })
    }

    fn on(&self) -> Result<String, Failure> {
        let known = || self.on.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known() {
            Some(on) => Ok(on),
            None => self.chosen().map(|_| known().unwrap_or_default()),
        }
    }

    fn limit(&self, profile: &TrafficProfile) -> Result<Rate, Failure> {
        let chosen = self.chosen()?;
        let line = ProfileLine::from(profile);
        let each = chosen.iter().map(|(who, _)| {
            let open = Open {
                id: who.id.clone(),
                schema: wire::SCHEMA.into(),
                version: env!("CARGO_PKG_VERSION").into(),
                session: String::new(),
                target: String::new(),
                profile: line.clone(),
                slices: None,
                patience_s: 0.0,
                moving: MovingLine::default(),
                shares: Vec::new(),
                index: 0,
                first_trial: 1,
                grants: Vec::new(),
                consents: Vec::new(),
            };
            let client = self.bus.client().clone();
            async move {
                let limit: Option<Answer<f64>> =
                    ask(&client, wire::ask(&who.name, "limit"), bytes_of(&open), OPEN_LASTS).await;
                done(limit, &who.name).map_err(Failure::from)
            }
        });
        let each: Vec<f64> =
            self.bus.runtime().block_on(join_all(each)).into_iter().collect::<Result<_, _>>()?;
        // Each sends its share: the one that can send least for it says what all can.
        let total: u32 = chosen.iter().map(|(_, share)| share).sum();
        let all =
            chosen.iter().zip(&each).map(|((_, share), pps)| pps * f64::from(total) / f64::from(*share));
        Rate::pps(all.fold(f64::INFINITY, f64::min)).map_err(Failure::environment)
    }
}

/// What is told of moving packets; the rest is each agent's own.
fn moving(opening: &Opening) -> Result<MovingLine, Failure> {
    let moving = &opening.moving;
    let (sources, targets) = (&moving.sources, &moving.targets);
    let is_plain = sources.addresses.is_empty() && sources.first_port.is_none();
    if !is_plain || !targets.addresses.is_empty() || targets.ports > 1 {
        return Err(Failure::usage(
            "--source-addresses, --source-port, --target-addresses and --target-ports are of one machine",
        )
        .advice("leave them out with --on"));
    }
    Ok(MovingLine {
        send: moving.means.send.name().into(),
        receive: moving.means.receive.name().into(),
        senders: moving.means.senders,
        receivers: moving.means.receivers,
        ordinary_priority: moving.means.priority == dropline_traffic::Priority::Ordinary,
    })
}

fn no_server(is_local: bool) -> Failure {
    Failure::environment(
        "the nats-server that connects the agents is gone, and did not come back within ten seconds",
    )
    .advice(match is_local {
        true => "it was started for this measurement, and something ended it: resume the search, which starts another, with  \
                 dropline search --resume FILE --on local:N",
        false => "start it again, and resume the search with  dropline search --resume FILE --on AGENTS",
    })
}

/// Says again and again that we are there, until it is aborted.
fn renewing(bus: &Arc<Bus>, session: &str) -> JoinHandle<()> {
    let (client, alive) = (bus.client().clone(), bytes_of(&Alive { session: session.to_owned() }));
    bus.runtime().spawn(async move {
        let mut every = tokio::time::interval(RENEWED_EVERY);
        loop {
            every.tick().await;
            let _ = client.publish(wire::LEASE, alive.clone().into()).await;
            let _ = client.flush().await;
        }
    })
}

/// Has the target's host say again and again that it consents, until it is aborted; each agent has a question of its own.
fn consenting(bus: &Arc<Bus>, session: &str, renewed: &Arc<Mutex<Renewed>>) -> JoinHandle<()> {
    let (client, renewed) = (bus.client().clone(), Arc::clone(renewed));
    let alive = bytes_of(&Alive { session: session.to_owned() });
    bus.runtime().spawn(async move {
        let mut every = tokio::time::interval(CONSENTED_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let (observers, agents) = {
                let renewed = renewed.lock().unwrap_or_else(PoisonError::into_inner);
                (renewed.observers.clone(), renewed.agents.clone())
            };
            if !observers.is_any() {
                continue;
            }
            let each = agents.iter().map(|[name, id]| observers.renew(&client, name, id));
            // Who does not answer may be there again before the last word is over; what leads elsewhere ends it at once.
            let led = join_all(each).await.into_iter().find_map(|one| one.err().filter(|why| !why.is_absent));
            if let Some(why) = led {
                renewed.lock().unwrap_or_else(PoisonError::into_inner).led = Some(why.failure);
                let _ = client.publish(wire::STOP, alive.clone().into()).await;
                return;
            }
        }
    })
}

/// A session under way.
struct Coordinator {
    bus: Arc<Bus>,
    active: Arc<Mutex<Option<Active>>>,
    session: String,
    agents: Vec<AgentOf>,
    /// Number of the next trial.
    next: u64,
    /// The turn of its first request.
    next_turn: u64,
    /// How often agents were armed.
    attempts: u64,
    profile: TrafficProfile,
    /// Whether what comes to the target is counted there.
    is_counted_there: bool,
    is_ipv4: bool,
    /// Whether its server and its agents were started for this.
    is_local: bool,
    /// Who sees what hosts of the way count.
    observers: Observers,
    /// Whether time is real: a simulation's trial says itself what it took.
    starts_together: bool,
    /// How much longer than its duration a trial may take beside its waits.
    patience: Duration,
    opening: Opening,
    results: Subscriber,
    /// Whose consent is renewed, for whom.
    renewed: Arc<Mutex<Renewed>>,
    renewing: [JoinHandle<()>; 2],
}

/// Who observes, who sends, by names and ids, and what led packets elsewhere.
#[derive(Default)]
struct Renewed {
    observers: Observers,
    agents: Vec<[String; 2]>,
    led: Option<Failure>,
}

/// An agent of a session.
struct AgentOf {
    name: String,
    open: Open,
    /// Whether its clock is ours.
    has_our_clock: bool,
}

impl Coordinator {
    async fn open_each(&mut self, first_trial: u64) -> Result<Vec<Ready>, AgentRefusal> {
        if self.observers.is_any() {
            self.observers.observe(&self.bus, &[]).await?;
            let (observers, client) = (&self.observers, self.bus.client());
            let each =
                self.agents.iter().map(|agent| observers.consents(client, &agent.name, &agent.open.id));
            let consents: Vec<_> = join_all(each).await.into_iter().collect::<Result<_, AgentRefusal>>()?;
            self.agents.iter_mut().zip(consents).for_each(|(agent, consents)| agent.open.consents = consents);
            let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
            let agents = self.agents.iter().map(|agent| [agent.name.clone(), agent.open.id.clone()]);
            (renewed.observers, renewed.agents) = (self.observers.clone(), agents.collect());
        }
        let each = self.agents.iter().map(|agent| self.open(agent, first_trial));
        let ready: Vec<Ready> = join_all(each).await.into_iter().collect::<Result<_, AgentRefusal>>()?;
        if self.observers.is_any() {
            let mut sources: Vec<IpAddr> = ready.iter().filter_map(|ready| ready.source).collect();
            sources.sort_unstable();
            sources.dedup();
            self.observers.observe(&self.bus, &sources).await?;
        }
        Ok(ready)
    }

    /// Has all open the target. Agents whose coordinator was killed are free when they have not heard of it for long enough.
    fn opened(&mut self) -> Result<Vec<Ready>, Failure> {
        self.take_over();
        let until = Instant::now() + FORGOTTEN + Duration::from_secs(1);
        loop {
            let (bus, next) = (Arc::clone(&self.bus), self.next);
            match bus.runtime().block_on(self.open_each(next)) {
                Err(why) if why.is_absent && Instant::now() < until && !self.is_stopped() => {
                    std::thread::sleep(Duration::from_millis(500));
                }
                done => return done.map_err(Failure::from),
            }
        }
    }

    async fn open(&self, agent: &AgentOf, first_trial: u64) -> Result<Ready, AgentRefusal> {
        let open = Open { first_trial, ..agent.open.clone() };
        let answer =
            ask(self.bus.client(), wire::ask(&agent.name, "open"), bytes_of(&open), OPEN_LASTS).await;
        done(answer, &agent.name)
    }

    async fn arm(&self, agent: &AgentOf, arm: &Arm) -> Result<(), AgentRefusal> {
        let arm = Arm { id: agent.open.id.clone(), ..arm.clone() };
        let answer = ask(self.bus.client(), wire::ask(&agent.name, "arm"), bytes_of(&arm), ARM_LASTS);
        done(answer.await, &agent.name)
    }

    /// Meets those who have our agents' names now: one that was started again has another id.
    fn meet_again(&mut self) -> Result<(), Failure> {
        let there = who(&self.bus, None)?;
        let observers: Vec<String> = self.observers.each().iter().map(|one| one.name.clone()).collect();
        let is_ours = |who: &&Who| {
            self.agents.iter().any(|agent| agent.name == who.name) || observers.contains(&who.name)
        };
        alone(there.iter().filter(is_ours))?;
        for observer in self.observers.each() {
            if let Some(who) = there.iter().find(|who| who.name == observer.name) {
                observer.id.clone_from(&who.id);
            }
        }
        for agent in &mut self.agents {
            if let Some(who) = there.iter().find(|who| who.name == agent.name) {
                agent.open.id.clone_from(&who.id);
            }
        }
        Ok(())
    }

    async fn arm_all(&self, arm: &Arm) -> Result<(), AgentRefusal> {
        join_all(self.agents.iter().map(|agent| self.arm(agent, arm))).await.into_iter().collect()
    }

    async fn offset_of(&self, agent: &AgentOf) -> Result<Offset, AgentRefusal> {
        match agent.has_our_clock {
            true => Ok(Offset::default()),
            false => offset(&self.bus, &agent.name, &agent.open.id)
                .await
                .map_or_else(|| done(None, &agent.name), Ok),
        }
    }

    fn is_stopped(&self) -> bool {
        self.opening.stop.load(Ordering::Relaxed)
    }

    /// Has all ready for a trial, however often one of them has to be asked.
    fn armed(&mut self, arm: &mut Arm) -> Result<(Vec<Offset>, Looks), Failure> {
        let until = Instant::now() + ARMED_WITHIN;
        let mut is_open = !self.take_over();
        loop {
            self.attempts += 1;
            let bus = Arc::clone(&self.bus);
            arm.attempt = self.attempts;
            let ready = async {
                if !is_open {
                    self.open_each(arm.trial).await?;
                }
                self.arm_all(arm).await?;
                let offsets = join_all(self.agents.iter().map(|agent| self.offset_of(agent))).await;
                Ok((
                    offsets.into_iter().collect::<Result<_, AgentRefusal>>()?,
                    self.observers.look(&self.bus).await?,
                ))
            };
            match bus.runtime().block_on(ready) {
                Ok(ready) => return Ok(ready),
                Err(why) => {
                    let why: AgentRefusal = why;
                    self.stop_all();
                    if self.is_stopped() {
                        return Err(Failure::interrupted());
                    }
                    if Instant::now() > until || !why.is_absent {
                        let is_there = self.bus.is_connected();
                        return Err(if is_there { why.into() } else { no_server(self.is_local) });
                    }
                    self.meet_again()?;
                    is_open = false;
                }
            }
        }
    }

    /// Ends the session of another target of this measurement, where one is under way: agents take part in one at a time. Whether ours
    /// is to be opened again.
    fn take_over(&mut self) -> bool {
        let names = self.names();
        let ours = Active { session: self.session.clone(), names };
        let before = self.active.lock().unwrap_or_else(PoisonError::into_inner).replace(ours);
        let other = before.filter(|before| before.session != self.session);
        other.as_ref().inspect(|other| self.close(other)).is_some()
    }

    /// All that take part.
    fn names(&mut self) -> Vec<String> {
        let observers = self.observers.each().iter().map(|observer| observer.name.clone());
        let mut names: Vec<String> = observers.collect();
        names.extend(self.agents.iter().map(|agent| agent.name.clone()));
        names
    }

    fn close(&self, Active { session, names }: &Active) {
        let alive = bytes_of(&Alive { session: session.clone() });
        let close = names.iter().map(|name| {
            let patience = Duration::from_secs(2);
            ask::<Answer<()>>(self.bus.client(), wire::ask(name, "close"), alive.clone(), patience)
        });
        self.bus.runtime().block_on(join_all(close));
    }

    fn stop_all(&self) {
        let _ = self.bus.say(wire::STOP, &Alive { session: self.session.clone() });
    }

    /// What each agent tells of a trial, as long as it is there.
    fn collect(&mut self, attempt: u64, input: TrialInput) -> Result<Vec<Performed>, Failure> {
        let agents: Vec<String> = self.agents.iter().map(|agent| agent.name.clone()).collect();
        let ids: BTreeMap<String, String> =
            self.agents.iter().map(|agent| (agent.name.clone(), agent.open.id.clone())).collect();
        let drain = self.profile.drain;
        let until = Instant::now() + input.duration + drain.longest + drain.rest + self.patience + BEYOND;
        let mut told: BTreeMap<String, Told> = BTreeMap::new();
        let mut seen: BTreeMap<String, Instant> =
            agents.iter().map(|name| (name.clone(), Instant::now())).collect();
        let (mut asked, mut stopped) = (Instant::now(), None);
        let (asks, mut answers) = tokio::sync::mpsc::unbounded_channel::<String>();
        loop {
            let is_awaited = |name: &String| {
                !told.contains_key(name) && seen.get(name).is_some_and(|seen| seen.elapsed() < SILENT)
            };
            let is_late = Instant::now() > until || stopped.is_some_and(|at: Instant| at.elapsed() > SILENT);
            if is_late || !agents.iter().any(is_awaited) {
                break;
            }
            if asked.elapsed() > ASKED_EVERY {
                asked = Instant::now();
                for name in agents.iter().filter(|name| !told.contains_key(*name)) {
                    let (client, name, asks) = (self.bus.client().clone(), name.clone(), asks.clone());
                    let id = ids[&name].clone();
                    self.bus.runtime().spawn(async move {
                        let there: Option<Clock> =
                            ask(&client, wire::ask(&name, "clock"), id.into(), SILENT).await;
                        if there.is_some() {
                            let _ = asks.send(name);
                        }
                    });
                }
            }
            while let Ok(name) = answers.try_recv() {
                seen.insert(name, Instant::now());
            }
            if self.is_stopped() && stopped.is_none() {
                stopped = Some(Instant::now());
                self.stop_all();
            }
            let results = &mut self.results;
            let next = async { tokio::time::timeout(Duration::from_millis(20), results.next()).await };
            let Ok(Some(message)) = self.bus.runtime().block_on(next) else { continue };
            // Whatever it is of, it need not be told again.
            if let Some(reply) = message.reply.clone() {
                let heard = self.bus.client().publish(reply, "true".into());
                let heard = async { tokio::time::timeout(SILENT, heard).await };
                let _ = self.bus.runtime().block_on(heard);
            }
            let name = message.subject.rsplit('.').next().unwrap_or_default().to_owned();
            let Ok(of_it) = serde_json::from_slice::<Told>(&message.payload) else { continue };
            // What is late of an earlier trial is merged into none.
            if of_it.attempt == attempt && agents.contains(&name) {
                told.entry(name).or_insert(of_it);
            }
        }
        agents.into_iter().map(|name| performed(told.remove(&name), name)).collect()
    }
}

/// What an agent told, as its part of the trial.
fn performed(told: Option<Told>, name: String) -> Result<Performed, Failure> {
    let Some(told) = told else {
        return Ok(Performed { name, state: AgentState::Silent, trial: None, late_ns: None });
    };
    if let Some(failed) = told.failed {
        return Err(failed.of(&name));
    }
    let trial = told.line.map(|line| line.trial()).transpose().map_err(|why| {
        Failure::environment(format!("agent {name} told a histogram that cannot be read: {why}"))
    })?;
    Ok(Performed { name, state: told.state, trial, late_ns: told.late_ns })
}

impl Measurer for Coordinator {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        if self.is_stopped() {
            return Err(Failure::interrupted());
        }
        let begun = Instant::now();
        let number = self.next;
        let mut arm = Arm {
            id: String::new(),
            session: self.session.clone(),
            trial: number,
            attempt: 0,
            load_millipps: input.load.as_millipps(),
            duration_ns: u64::try_from(input.duration.as_nanos()).unwrap_or(u64::MAX),
            first_turn: self.next_turn,
        };
        let (offsets, before) = self.armed(&mut arm)?;
        let ahead = AHEAD + Duration::from_micros(200) * u32::try_from(self.agents.len()).unwrap_or(0);
        let starts_ns = clock::monotonic_ns() + i64::try_from(ahead.as_nanos()).unwrap_or(0);
        let at = self.agents.iter().zip(&offsets);
        let at = at.map(|(agent, offset)| (agent.open.id.clone(), starts_ns + offset.ahead_ns)).collect();
        self.bus.say(wire::GO, &Go { session: self.session.clone(), attempt: arm.attempt, at })?;
        let said = now_utc();
        self.next += 1;
        // Whatever becomes of it, it asked for no more than that.
        self.next_turn = arm.first_turn.saturating_add(at_most(input));
        let mut performed = self.collect(arm.attempt, input)?;
        if let Some(led) = self.renewed.lock().unwrap_or_else(PoisonError::into_inner).led.take() {
            return Err(led);
        }
        if self.observers.is_any() {
            self.observers.name_places(&mut performed);
        }
        let mut trial = Trial::merged(number, input, self.profile.trial_seed(number), &performed);
        let is_whole = |one: &Performed| one.state == AgentState::Whole && one.trial.is_some();
        if performed.iter().all(is_whole) {
            self.next_turn = trial.turns.map_or(arm.first_turn, |turns| turns.last.saturating_add(1));
        }
        if self.observers.is_any() {
            let after = self.bus.runtime().block_on(self.observers.look_after(&self.bus));
            let is_ipv4 = self.is_ipv4;
            let (one_way, packet) = (self.is_counted_there, self.profile.packet);
            self.observers.account(&mut trial, before, after, one_way, packet, is_ipv4)?;
        }
        if self.starts_together {
            trial.elapsed = begun.elapsed();
        }
        if trial.tells_nothing() {
            // What those who are missing were to send was intended too.
            let whole = self.profile.arrival.departures(input, trial.seed).remaining();
            trial.intended = Some(whole.max(trial.offered));
            // It ended when it was clear that nobody tells.
            trial.duration = trial.duration.min(trial.elapsed);
        }
        if self.is_stopped() {
            // Whoever stopped it knows why agents are not whole.
            trial.caveats.retain(|caveat| !matches!(caveat, Caveat::AgentsLost { .. }));
            trial.caveats.push(Caveat::Interrupted);
        }
        self.say_start(&mut trial, &performed, &offsets, said);
        Ok(trial)
    }
}

/// More turns than a trial has, however its packets fall on agents by chance.
fn at_most(input: TrialInput) -> u64 {
    (2.0 * input.load.as_pps() * input.duration.as_secs_f64()) as u64 + 1000
}

impl Coordinator {
    /// How well all started together, and whether that matters.
    fn say_start(&self, trial: &mut Trial, performed: &[Performed], offsets: &[Offset], at: String) {
        let late: Vec<i64> = performed.iter().filter_map(|one| one.late_ns).collect();
        let skew_ns = (late.len() > 1).then(|| late.iter().max().zip(late.iter().min())).flatten();
        let skew_ns = skew_ns.map(|(last, first)| last.abs_diff(*first));
        let bound_ns = offsets.iter().map(|offset| offset.bound_ns).max();
        trial.start = Some(CommonStart { at, skew_ns, bound_ns });
        let Some(skew_ns) = skew_ns else { return };
        let duration_ns = u64::try_from(trial.input.duration.as_nanos()).unwrap_or(u64::MAX);
        trial.caveats.extend(Caveat::of_start(skew_ns, duration_ns));
        let unknown_ns = skew_ns.saturating_add(2 * bound_ns.unwrap_or(0));
        let is_exact = matches!(self.profile.arrival.gap_law(trial.input.load), GapLaw::Exponential { .. });
        let gap_ns = 1_000_000_000_000 / trial.input.load.as_millipps().max(1);
        if !is_exact && unknown_ns > gap_ns / 10 {
            let agents = performed.len() as u64;
            trial.caveats.push(Caveat::SuperposedConstant { agents, skew_ns: unknown_ns, gap_ns });
        }
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.renewing.iter().for_each(JoinHandle::abort);
        let ours = Active { session: self.session.clone(), names: self.names() };
        self.active.lock().unwrap_or_else(PoisonError::into_inner).take_if(|one| one.session == ours.session);
        self.close(&ours);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Failed;

    #[test]
    fn a_failure_of_an_agent_names_it_and_ends_the_program_as_it_would_have_there() {
        for failure in [Failure::usage("no"), Failure::environment("no"), Failure::not_valid("no")] {
            let there: Failed = (&failure).into();
            let here = there.of("west-1");
            assert_eq!(here.exit_code(), failure.exit_code());
            assert!(here.to_string().starts_with("agent west-1: no"), "{here}");
        }
    }
}
