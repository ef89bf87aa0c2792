//! An agent: a process on a host that performs its share of trials, when it is told to and as long as it is told so.

mod observer;
mod performer;

use crate::bus::{Bus, Login, bytes_of};
use crate::clock;
use crate::grant::{self, Ceiling, Duty, Questions, Signed};
use crate::wire::{
    self, Agreed, Alive, Answer, Arm, Clock, Consents, Go, Look, Observe, Open, Question, Revoked, Who,
};
use async_nats::{Message, Subscriber};
use dropline_failure::{Failure, quoted_path};
use dropline_traffic::{Lease, Means, Starter};
use futures_util::StreamExt as _;
use observer::Observer;
use performer::{Performer, Task};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// So long packets leave without a word of the coordinator.
pub(crate) const LEASE: Duration = Duration::from_millis(500);
/// So long it may take from being armed to the first renewal.
const FIRST_LEASE: Duration = Duration::from_secs(2);
/// A start that is nearer than this when it is heard of is missed.
const TOO_LATE_NS: i64 = 5_000_000;
/// A session whose coordinator is silent for so long is over.
pub(crate) const FORGOTTEN: Duration = Duration::from_secs(5);
/// Questions for consent that are remembered: of those that several coordinators have asked.
const QUESTIONS: usize = 16;
/// How often that is looked at, and whether the agent shall end.
const LOOKS_EVERY: Duration = Duration::from_millis(200);

/// What an agent is told when it is started.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name in the fleet.
    pub name: String,
    /// Tells it from others of its name; random.
    id: String,
    /// Who it is to the server: its key signs what its host consents to.
    login: Login,
    /// Labels by which it is chosen too.
    pub labels: Vec<String>,
    /// Where its threads run.
    pub means: Means,
    /// What it allows by itself, and whose grants it obeys.
    pub ceiling: Ceiling,
    /// Where it remembers revocations.
    pub remembered: Option<PathBuf>,
    /// Whether it opens targets that start programs or read files of this host.
    pub programs: bool,
    /// Set when it is to end.
    pub stop: Arc<AtomicBool>,
}

impl Settings {
    /// Those of an agent.
    ///
    /// # Errors
    /// If its name, or a label, cannot be one.
    pub fn new(
        name: &str,
        login: Login,
        labels: Vec<String>,
        means: Means,
        ceiling: Ceiling,
        programs: bool,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let wrong = labels.iter().map(String::as_str).chain([name]).find(|name| !crate::name::is_name(name));
        if let Some(wrong) = wrong {
            return Err(Failure::usage(format!("{wrong:?} cannot be the name or a label of an agent"))
                .advice("it has at most 32 letters, digits, - and _; name the agent by  --name"));
        }
        Ok(Self {
            name: name.into(),
            id: crate::keys::id(),
            login,
            labels,
            means,
            ceiling,
            remembered: None,
            programs,
            stop,
        })
    }
}

impl Settings {
    /// With the revocations that a file remembers, and those that it will: one that its issuer signed a line.
    ///
    /// # Errors
    /// If it is there and cannot be read.
    pub fn remembering(mut self, file: PathBuf) -> Result<Self, Failure> {
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound => String::new(),
            Err(why) => {
                return Err(Failure::environment(format!("{} cannot be read: {why}", quoted_path(&file)))
                    .advice("it has the grants that hold no more: without it none is obeyed"));
            }
        };
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Signed>(line).ok());
        let revoked: Vec<String> =
            lines.filter_map(|signed| grant::revoked(&signed, &self.ceiling)).collect();
        self.ceiling.revoked.extend(revoked);
        self.remembered = Some(file);
        Ok(self)
    }

    /// Remembers one more, on the disk, before it is said to be heard.
    fn remember(&self, signed: &Signed) -> Result<(), String> {
        let Some(file) = &self.remembered else { return Err("it was started without --config".into()) };
        let line = serde_json::to_string(signed).expect("it is JSON") + "\n";
        let write = || {
            let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(file)?;
            file.write_all(line.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|why: io::Error| format!("{} cannot be written: {why}", quoted_path(file)))
    }
}

/// What the one who listens and the one who performs share.
pub(crate) struct Shared {
    pub(crate) lease: Arc<Lease>,
    heard: Mutex<Heard>,
    go: Condvar,
}

/// What was heard of the coordinator.
#[derive(Default)]
struct Heard {
    session: Option<String>,
    /// When it said last that it is there.
    alive: Option<Instant>,
    /// Which time it is that it was armed.
    attempt: u64,
    /// Is told that all is ready.
    armed: Option<oneshot::Sender<Vec<u8>>>,
    /// When the armed trial starts, by our clock.
    starts_ns: Option<i64>,
    /// That this was heard of too late.
    missed: bool,
    /// How much later than due the first packet left.
    late: Option<Duration>,
    /// The grants by which the session sends.
    grants: Vec<String>,
    /// Grants that were shown since the start, whether they were good or not.
    shown: BTreeSet<String>,
    /// Grants that hold no more, as was heard since the start.
    revoked: Vec<String>,
    /// What consent was asked with.
    questions: Questions,
    /// Where the session sends to, where that is another host's.
    far: Option<SocketAddr>,
    /// Ends what the session has under way.
    stop: Arc<AtomicBool>,
}

impl Shared {
    fn new() -> Self {
        Self { lease: Arc::new(Lease::over()), heard: Mutex::default(), go: Condvar::new() }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Starter for Shared {
    fn ready(&self) -> Option<Instant> {
        let mut heard = self.heard();
        if let Some(armed) = heard.armed.take() {
            let _ = armed.send(bytes_of(&Answer::Done(())));
        }
        let starts_ns = loop {
            if let Some(starts_ns) = heard.starts_ns {
                break starts_ns;
            }
            if self.lease.is_over() || heard.stop.load(Ordering::Relaxed) {
                return None;
            }
            let waited = self.go.wait_timeout(heard, Duration::from_millis(20));
            heard = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        heard.missed = clock::monotonic_ns() > starts_ns - TOO_LATE_NS;
        (!heard.missed).then(|| clock::instant_of(starts_ns))
    }

    fn left(&self, late: Duration) {
        self.heard().late = Some(late);
    }
}

/// Takes part in a fleet until it is told to end; says by `is_there` when it hears what is for it.
///
/// # Errors
/// If the fleet cannot be listened to.
pub fn run(bus: &Arc<Bus>, settings: &Settings, is_there: impl FnOnce()) -> Result<(), Failure> {
    let shared = Arc::new(Shared::new());
    let (tasks, to_do) = mpsc::channel();
    let (told, its_bus, its_shared) = (settings.clone(), Arc::clone(bus), Arc::clone(&shared));
    let working = std::thread::Builder::new().name("performer".into());
    let working = working.spawn(move || Performer::new(told, its_bus, its_shared).run(&to_do));
    let working = working.map_err(|why| Failure::thread(&why))?;
    let (looks, to_see) = mpsc::channel();
    let told = settings.clone();
    let observing = std::thread::Builder::new().name("observer".into());
    let observing = observing.spawn(move || Observer::new(told).run(&to_see));
    let observing = observing.map_err(|why| Failure::thread(&why))?;
    let of_all = bus.subscribe("fleet.>".into())?;
    let mine = bus.subscribe(wire::ask(&settings.name, ">"))?;
    if let Some(why) = bus.forbidden() {
        return Err(Failure::environment(format!(
            "the server does not let this key hear what is for agent {}: {why}",
            settings.name
        ))
        .advice("a key is of one name: start it with the --name that its key was made for, or with the key of that name (--creds)"));
    }
    is_there();
    let listener = Listener { settings, bus, shared: &shared, tasks: &tasks, looks: &looks };
    bus.runtime().block_on(listener.listen(of_all, mine));
    shared.heard().stop.store(true, Ordering::SeqCst);
    shared.lease.end();
    drop((tasks, looks));
    let _ = working.join();
    let _ = observing.join();
    Ok(())
}

/// Hears what is asked. It never waits for a trial.
struct Listener<'a> {
    settings: &'a Settings,
    bus: &'a Bus,
    shared: &'a Arc<Shared>,
    tasks: &'a Sender<Task>,
    looks: &'a Sender<observer::Task>,
}

impl Listener<'_> {
    async fn listen(&self, mut of_all: Subscriber, mut mine: Subscriber) {
        let mut looks = tokio::time::interval(LOOKS_EVERY);
        while !self.settings.stop.load(Ordering::SeqCst) {
            tokio::select! {
                biased;
                Some(message) = mine.next() => self.asked(message).await,
                Some(message) = of_all.next() => self.told(&message).await,
                _ = looks.tick() => self.look(),
            }
        }
    }

    /// A coordinator that is silent has left.
    fn look(&self) {
        let mut heard = self.shared.heard();
        let is_forgotten = heard.alive.is_some_and(|alive| alive.elapsed() > FORGOTTEN);
        if is_forgotten && let Some(session) = heard.session.take() {
            let _ = self.tasks.send(Task::Close(session, None));
        }
    }

    async fn told(&self, message: &Message) {
        match message.subject.as_str() {
            wire::WHO => self.answer(message, bytes_of(&self.who())).await,
            wire::LEASE => {
                let Some(Alive { session }) = read(message) else { return };
                let mut heard = self.shared.heard();
                if heard.session.as_ref() == Some(&session) {
                    heard.alive = Some(Instant::now());
                    self.shared.lease.renew(LEASE);
                }
            }
            wire::GO => {
                let Some(go) = read::<Go>(message) else { return };
                let mut heard = self.shared.heard();
                if heard.session.as_ref() == Some(&go.session) && heard.attempt == go.attempt {
                    heard.starts_ns = heard.starts_ns.or(go.at.get(&self.settings.id).copied());
                    self.shared.go.notify_all();
                }
            }
            wire::REVOKE => {
                let Some(signed) = read::<Signed>(message) else { return };
                let Some(id) = grant::revoked(&signed, &self.settings.ceiling) else { return };
                let was_known = self.revoked(id);
                let forgets = self.settings.remember(&signed).err();
                let heard = Revoked { name: self.settings.name.clone(), was_known, forgets };
                self.answer(message, bytes_of(&heard)).await;
            }
            wire::STOP => {
                let Some(Alive { session }) = read(message) else { return };
                let heard = self.shared.heard();
                if heard.session.as_ref() == Some(&session) {
                    heard.stop.store(true, Ordering::SeqCst);
                    self.shared.lease.end();
                    self.shared.go.notify_all();
                }
            }
            _ => {}
        }
    }

    async fn asked(&self, message: Message) {
        let heard_ns = clock::monotonic_ns();
        let what = message.subject.rsplit('.').next().unwrap_or_default().to_owned();
        if what == "clock" {
            let is_meant = message.payload == self.settings.id.as_bytes();
            if !is_meant {
                return;
            }
            return self
                .answer(&message, bytes_of(&Clock { heard_ns, said_ns: clock::monotonic_ns() }))
                .await;
        }
        let (tell, told) = oneshot::channel();
        // Two agents of one name hear the same: each does what is asked of itself alone.
        let meant = match what.as_str() {
            "open" | "limit" => read::<Open>(&message).map(|open| open.id),
            "arm" => read::<Arm>(&message).map(|arm| arm.id),
            "observe" => read::<Observe>(&message).map(|observe| observe.id),
            "look" | "asks" => read::<Look>(&message).map(|look| look.id),
            "consent" => read::<Consents>(&message).map(|asks| asks.id),
            "agreed" => read::<Agreed>(&message).map(|agreed| agreed.id),
            _ => None,
        };
        if meant.is_some_and(|id| id != self.settings.id) {
            return self.answer(&message, bytes_of(&Answer::<()>::Unknown)).await;
        }
        let task = match what.as_str() {
            "open" => read::<Open>(&message).map(|open| self.open(open, tell)),
            "arm" => read::<Arm>(&message).map(|arm| Some(Task::Arm(arm, tell))),
            "limit" => read::<Open>(&message).map(|open| Some(Task::Limit(Box::new(open), tell))),
            "observe" => read::<Observe>(&message).map(|observe| {
                let _ = self.looks.send(observer::Task::Observe(observe, tell));
                None
            }),
            "look" => read::<Look>(&message).map(|look| {
                let _ = self.looks.send(observer::Task::Look(look, tell));
                None
            }),
            "consent" => read::<Consents>(&message).map(|asks| {
                let _ = self.looks.send(observer::Task::Consent(asks, tell));
                None
            }),
            "asks" => {
                let _ = tell.send(bytes_of(&Answer::Done(self.question())));
                Some(None)
            }
            "agreed" => read::<Agreed>(&message).map(|agreed| {
                self.agreed(&agreed);
                let _ = tell.send(bytes_of(&Answer::Done(())));
                None
            }),
            "close" => read::<Alive>(&message).map(|alive| {
                let _ = self.looks.send(observer::Task::Close(alive.session.clone()));
                let mut heard = self.shared.heard();
                heard.session.take_if(|session| *session == alive.session);
                heard.stop.store(true, Ordering::SeqCst);
                Some(Task::Close(alive.session, Some(tell)))
            }),
            _ => None,
        };
        if let Some(Some(task)) = task {
            let _ = self.tasks.send(task);
        }
        let client = self.bus.client().clone();
        let Some(reply) = message.reply else { return };
        tokio::spawn(async move {
            if let Ok(answer) = told.await {
                let _ = client.publish(reply, answer.into()).await;
            }
        });
    }

    /// A session begins, if none is under way.
    fn open(&self, open: Open, tell: oneshot::Sender<Vec<u8>>) -> Option<Task> {
        let mut heard = self.shared.heard();
        let is_on = heard.alive.is_some_and(|alive| alive.elapsed() < FORGOTTEN);
        if is_on && heard.session.as_ref().is_some_and(|session| *session != open.session) {
            let _ = tell.send(bytes_of(&Answer::<()>::Busy));
            return None;
        }
        let before = std::mem::take(&mut *heard);
        let Heard { revoked, shown, questions, .. } = before;
        let (session, alive) = (Some(open.session.clone()), Some(Instant::now()));
        *heard = Heard { session, alive, revoked, shown, questions, ..Heard::default() };
        Some(Task::Open(Box::new(open), Arc::clone(&heard.stop), tell))
    }

    /// What consent is asked with now.
    fn question(&self) -> Question {
        let asked = crate::keys::id();
        let questions = &mut self.shared.heard().questions;
        questions.truncate(QUESTIONS - 1);
        questions.push_front((asked.clone(), Instant::now()));
        Question { asked, sent: self.shared.lease.sent() }
    }

    /// The target's host consents for longer, where it does.
    fn agreed(&self, agreed: &Agreed) {
        let heard = self.shared.heard();
        let Some(far) = heard.far.filter(|_| heard.session.as_ref() == Some(&agreed.session)) else { return };
        let ceiling = &self.settings.ceiling;
        if let Ok(until) = grant::consented(&agreed.consents, far, &agreed.session, ceiling, &heard.questions)
        {
            self.shared.lease.still_agree(until);
        }
    }

    fn who(&self) -> Who {
        Who {
            name: self.settings.name.clone(),
            id: self.settings.id.clone(),
            host: host(),
            labels: self.settings.labels.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            schema: wire::SCHEMA.into(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            clock: clock::whose(),
            session: self.shared.heard().session.clone(),
            may: self.may(),
        }
    }

    /// A grant holds no more: what is sent by it ends. Whether it was ever shown here.
    fn revoked(&self, id: String) -> bool {
        let mut heard = self.shared.heard();
        let was_known = heard.shown.contains(&id);
        if heard.grants.contains(&id) {
            heard.stop.store(true, Ordering::SeqCst);
            self.shared.lease.end();
            self.shared.go.notify_all();
        }
        heard.revoked.push(id);
        was_known
    }

    /// What it may send, in words.
    fn may(&self) -> String {
        let Ceiling { issuers, max_pps, .. } = &self.settings.ceiling;
        let most = max_pps.map(|most| format!(", at most {most} pps")).unwrap_or_default();
        let observes = if self.settings.ceiling.has(Duty::Observe) { "; observes" } else { "" };
        match (self.settings.ceiling.has(Duty::Perform), issuers.is_empty()) {
            (false, _) => format!("nothing{observes}"),
            (true, true) => format!("loopback{most}{observes}"),
            (true, false) => format!("loopback, and what a grant says{most}{observes}"),
        }
    }

    async fn answer(&self, message: &Message, answer: Vec<u8>) {
        if let Some(reply) = message.reply.clone() {
            let _ = self.bus.client().publish(reply, answer.into()).await;
        }
    }
}

/// The name of this host.
pub fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

fn read<T: DeserializeOwned>(message: &Message) -> Option<T> {
    serde_json::from_slice(&message.payload).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent that is armed, and hears of a start that is so far ahead.
    fn told(ahead_ns: i64) -> (Shared, Option<Instant>) {
        let shared = Shared::new();
        shared.lease.begin(FIRST_LEASE, None);
        shared.heard().starts_ns = Some(clock::monotonic_ns() + ahead_ns);
        let starts = shared.ready();
        (shared, starts)
    }

    #[test]
    fn a_start_that_is_heard_of_too_late_is_missed_and_said_so() {
        let (shared, starts) = told(1_000_000_000);
        assert!(starts.is_some_and(|starts| starts > Instant::now()) && !shared.heard().missed);
        for late in [4_000_000, 0, -1_000_000_000] {
            let (shared, starts) = told(late);
            assert!(starts.is_none() && shared.heard().missed, "{late}");
        }
    }

    #[test]
    fn an_agent_that_is_armed_and_hears_no_more_gives_up_with_its_lease() {
        let shared = Shared::new();
        shared.lease.begin(Duration::from_millis(30), None);
        assert_eq!(shared.ready(), None);
        assert!(!shared.heard().missed);
    }
}
