//! What is gathered around a trial to say where its packets were lost: counters before and after, what the
//! target itself counted, what it did meanwhile.

use super::counters::Counters;
use super::counting::{Counted, Stops, ask_times};
use super::watch::Watch;
use crate::packet::attribution::Whose;
use crate::progress::Progress;
use crate::sockets::connection::connect;
use crate::target::UdpTarget;
use dropline_account::{AddressFamily, Outcome, Snapshot, TargetCounts, account, truesize};
use dropline_payload::Counts;
use dropline_trial::{Packet, TargetActivity, Trial};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Thread};
use std::time::{Duration, Instant};

/// The evidence of one measurer's trials.
pub(crate) struct Evidence {
    counters: Counters,
    query: Query,
    watch: Option<Watch>,
    /// Which sockets are watched.
    watched_identity: u64,
    source: SocketAddr,
    target: UdpTarget,
    packet: Packet,
    options: Watching,
}

/// Whether the target answers count queries. Only a loss is worth asking about: a query is one more packet
/// to a target that does not understand it.
enum Query {
    /// It was never asked.
    Untried,
    /// It does, to this socket.
    Answers(UdpSocket),
    /// It does not.
    Silent,
}

/// How a target on this machine is watched.
#[derive(Clone, Copy, Debug)]
pub struct Watching {
    /// Time between two looks; `None` does not look at all.
    pub every: Option<Duration>,
    /// Whether the looks are kept in the trial, or only what is said of all.
    pub keep: bool,
    /// The process that is the target, where that is known; else the one that holds its socket.
    pub pid: Option<u32>,
}

impl Default for Watching {
    /// A hundred looks a second, not kept.
    fn default() -> Self {
        Self { every: Some(Duration::from_millis(10)), keep: false, pid: None }
    }
}

/// Evidence from before a trial, and from after it.
pub(crate) struct Around {
    before: Snapshot,
    after: Snapshot,
    watched: Option<TargetActivity>,
}

/// What the generator knows of a trial's packets beside its counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// Packets that came back after the drain.
    pub(crate) late: u64,
    /// Packets that were answered from elsewhere.
    pub(crate) elsewhere: u64,
    /// Such answers for which there was no room.
    pub(crate) elsewhere_dropped: u64,
    /// Packets that left in a train behind its first.
    pub(crate) in_trains: u64,
    /// Times that a packet was refused and then sent again.
    pub(crate) resent: u64,
}

/// Lets the watcher take its last look, whatever ends the trial.
struct LastLook<'a> {
    ended: &'a AtomicBool,
    watcher: Option<Thread>,
}

impl Drop for LastLook<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        if let Some(watcher) = &self.watcher {
            watcher.unpark();
        }
    }
}

/// Queries until a target is taken for one that does not answer them, and until the answer is waited for no
/// longer.
const FIRST_QUERIES: u64 = 1;
/// Packets of other programs that are waited for after a trial, where it is to be known whether they lose any.
const A_FEW: u32 = 8;
/// For so long at least, and at most.
const SHORTEST_IDLE: Duration = Duration::from_millis(50);
const LONGEST_IDLE: Duration = Duration::from_millis(500);
const QUERIES: u64 = 5;

impl Evidence {
    /// Finds what there is to see of packets from `source` to `target`.
    pub(crate) fn open(source: SocketAddr, target: UdpTarget, packet: Packet, options: Watching) -> Self {
        Self {
            counters: Counters::open(source.ip(), target.address),
            query: Query::Untried,
            watch: None,
            watched_identity: 0,
            source,
            target,
            packet,
            options,
        }
    }

    /// Packets go to further addresses or ports, whose sockets are not looked at.
    pub(crate) fn of_several_targets(&mut self) {
        self.counters.leave_out_sockets();
        self.options.every = None;
    }

    /// Before the first packet leaves.
    pub(crate) fn before(&mut self) -> Snapshot {
        if let Some(every) = self.options.every {
            let identity = self.counters.target_sockets().map_or(0, |sockets| sockets.identity);
            if identity != self.watched_identity || self.watch.is_none() {
                let Watching { pid, keep, .. } = self.options;
                self.watch = Watch::find(&self.counters, self.source, pid, every, keep);
                self.watched_identity = identity;
            }
        }
        self.counters.read()
    }

    /// Does the trial's work, while a thread of its own looks at the target: from before the first packet until
    /// after the last. `None` where it is not to be seen; times run from `epoch`, and `held` is told how many bytes wait.
    pub(crate) fn watch_while<T>(
        &mut self,
        progress: Option<&Progress>,
        epoch: Instant,
        held: &(dyn Fn(u64) + Sync),
        work: impl FnOnce() -> T,
    ) -> (T, Option<TargetActivity>) {
        let Some(watch) = self.watch.as_mut() else { return (work(), None) };
        let (counters, ended) = (&self.counters, AtomicBool::new(false));
        std::thread::scope(|scope| {
            let looks = || watch.run(counters, epoch, &ended, progress, held);
            let watching = Builder::new().name("watcher".into()).spawn_scoped(scope, looks).ok();
            let watcher = watching.as_ref().map(|watching| watching.thread().clone());
            let last_look = LastLook { ended: &ended, watcher };
            let done = work();
            drop(last_look);
            let watched = watching
                .map(|watching| watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            (done, watched)
        })
    }

    /// As soon as the drain has ended.
    pub(crate) fn after(&mut self, before: Snapshot, watched: Option<TargetActivity>) -> Around {
        Around { before, after: self.counters.read(), watched }
    }

    /// Asks the target what it saw of a trial; `None` if it does not answer such queries.
    pub(crate) fn ask(&mut self, whose: Whose, stops: Stops<'_>) -> Option<Counts> {
        let ask = |queries, socket: &UdpSocket| ask_times(queries, socket, self.target, whose, stops).ok()?;
        match &self.query {
            Query::Answers(socket) => ask(QUERIES, socket),
            Query::Silent => None,
            Query::Untried => {
                let socket = connect(self.target.address, self.packet.payload_bytes()).ok()?;
                let counts = ask(FIRST_QUERIES, &socket);
                self.query = if counts.is_some() { Query::Answers(socket) } else { Query::Silent };
                counts
            }
        }
    }

    /// What programs of the target's namespace read, whichever they are; `None` if that is not to be seen.
    pub(crate) fn read_by_programs(&self, around: &Around) -> Option<u64> {
        use dropline_account::Role;
        let grown = around.after.since(&around.before);
        let space = grown.spaces.iter().find(|space| matches!(space.role, Role::Far | Role::Both))?;
        Some(space.stack.udp_read)
    }

    /// Says in a trial, whose counts are complete, where its packets were lost. `counted` is what the target
    /// said of it.
    pub(crate) fn account(&mut self, around: Around, counted: Counted, known: Known, trial: &mut Trial) {
        let Counted { counts: counted, queries } = counted;
        let Known { late, elsewhere, elsewhere_dropped, in_trains, resent } = known;
        let refused = |name: &str| trial.refused.get(name).copied().unwrap_or(0);
        let (then, now) = (around.before.target, around.after.target);
        let waiting_bytes = now.map_or(0, |sockets| sockets.waiting_bytes);
        let outcome = Outcome {
            offered: trial.offered,
            forwarded: trial.forwarded,
            one_way: !self.target.reply.is_answered(),
            generator_lost: trial.generator_lost,
            late,
            elsewhere,
            elsewhere_dropped,
            reply_truncated: trial.reply_truncated.unwrap_or(0),
            reply_extended: trial.reply_extended.unwrap_or(0),
            reply_changed: trial.reply_changed.unwrap_or(0),
            duplicated: trial.duplicated.unwrap_or(0).saturating_add(trial.surplus_replies()),
            refused: trial.refused.values().sum(),
            refused_by_queue: refused("ENOBUFS") + resent,
            refused_without_route: refused("ENETUNREACH"),
            target: counted.map(|counts| TargetCounts {
                received: counts.received,
                served: counts.served,
                dropped_queue: counts.dropped_queue,
            }),
            unread: waiting_bytes.div_ceil(self.charge().into()),
            without_socket: 0,
            closed: then.is_some_and(|then| now.is_none_or(|now| now.identity != then.identity)),
            in_trains,
            queries,
        };
        let idle = |others| self.idle(others, trial.duration);
        let accounted = account(&outcome, &around.after.since(&around.before), idle);
        trial.caveats.extend(accounted.caveats);
        if accounted.lost_at.get("unexplained").is_some_and(|&packets| packets > 0) {
            trial.caveats.extend(self.counters.unseen().iter().cloned());
        }
        trial.lost_at = Some(accounted.lost_at);
        trial.watched = around.watched.map(|watched| TargetActivity {
            packets: counted.map_or(trial.forwarded, |counts| counts.received),
            ..watched
        });
    }

    /// How much the counters grow while no packet of the trial is on its way, for as long as other programs need to lose a
    /// few packets if they lost so many in so long.
    fn idle(&mut self, others: u64, during: Duration) -> Option<Snapshot> {
        let apart = during.div_f64(others.max(1) as f64);
        let before = self.counters.read();
        std::thread::sleep((apart * A_FEW).clamp(SHORTEST_IDLE, LONGEST_IDLE));
        Some(self.counters.read().since(&before))
    }

    /// What the kernel charges a waiting packet for.
    fn charge(&self) -> u32 {
        let family = if self.target.address.is_ipv4() { AddressFamily::V4 } else { AddressFamily::V6 };
        truesize(self.packet.payload_bytes(), family)
    }
}
