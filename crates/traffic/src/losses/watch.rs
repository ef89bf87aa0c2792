//! A target on this machine over time: how full its socket is, and whether its process runs.

use super::counters::Counters;
use crate::kernel::cpu_time::OthersTime;
use crate::kernel::diag::Diag;
use crate::kernel::process::Process;
use crate::kernel::quota::Quotas;
use crate::kernel::socket_table::AtSocket;
use crate::progress::Progress;
use dropline_netrules::socket_state::SocketState;
use dropline_trial::{Look, TargetActivity};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Looks at a target again and again.
#[derive(Debug)]
pub(crate) struct Watch {
    at: At,
    process: Option<Process>,
    every: Duration,
    keep: bool,
}

/// How its socket is looked at.
#[derive(Debug)]
enum At {
    /// It is one: asked for by its addresses.
    One(Diag),
    /// There are several, as workers share the port: all rows of the table.
    Several,
}

/// Looks that are kept at most, 48 bytes each.
const MOST_KEPT: usize = 8192;
/// Of looks that say nothing new, one in so many is kept.
const QUIET_KEPT: u64 = 16;
/// Reading the table of all sockets costs more: at most so often.
const TABLE_EVERY: Duration = Duration::from_millis(10);

impl Watch {
    /// Finds the target's sockets and process; `None` if its sockets are not to be seen. Without `keep` only
    /// what is said of all looks is kept.
    pub(crate) fn find(
        counters: &Counters,
        from: SocketAddr,
        pid: Option<u32>,
        every: Duration,
        keep: bool,
    ) -> Option<Self> {
        let view = counters.targets_view()?;
        let to = counters.target;
        let sockets = AtSocket::of_table(&view.sockets(), to)?;
        let one = (sockets.count == 1).then(|| {
            let open = || Diag::open(from, to).ok();
            let mut diag = if view.id == here()? { open()? } else { view.inside(open).ok()?? };
            diag.look().map(|_| diag)
        });
        let process = match pid {
            Some(pid) => Process::of(pid),
            None => Process::with_socket(sockets.inode),
        };
        // A target in this very process: its threads and ours are not to be told apart.
        let process = process.filter(|process| process.pid != std::process::id());
        match one.flatten() {
            Some(diag) => Some(Self { at: At::One(diag), process, every, keep }),
            None => Some(Self { at: At::Several, process, every: every.max(TABLE_EVERY), keep }),
        }
    }

    /// Before the first look.
    pub(crate) fn begin(&mut self) -> Seen {
        if let Some(process) = &mut self.process {
            process.begin_anew();
        }
        let process = self.process.as_ref();
        Seen {
            pid: process.map(|process| process.pid),
            name: process.and_then(|process| process.name.clone()),
            quotas_before: watched_quotas(process.map(|process| process.pid)),
            others: process.map(|process| OthersTime::begin(process.pid)),
            every: self.every,
            kept: self.keep.then_some(KeptLooks { looks: Vec::new(), last: None, quiet: 0 }),
            first: None,
            last: Look::default(),
            looks: 0,
            buffer_bytes: None,
            busiest_cpu_ns: None,
            largest_queued_bytes: None,
            costs: Vec::new(),
        }
    }

    /// Looks until `done`, and tells `progress` what it sees and `held` how many bytes wait; times run from `epoch`.
    pub(crate) fn run(
        &mut self,
        counters: &Counters,
        epoch: Instant,
        done: &AtomicBool,
        progress: Option<&Progress>,
        held: &(dyn Fn(u64) + Sync),
    ) -> TargetActivity {
        let seen = Mutex::new(self.begin());
        self.run_into(&seen, counters, epoch, done, progress, held)
    }

    /// The same, where somebody else asks meanwhile what was seen so far.
    pub(crate) fn run_into(
        &mut self,
        seen: &Mutex<Seen>,
        counters: &Counters,
        epoch: Instant,
        done: &AtomicBool,
        progress: Option<&Progress>,
        held: &(dyn Fn(u64) + Sync),
    ) -> TargetActivity {
        loop {
            // Before the look: the last one is after the last packet, however long this thread has to wait for a CPU.
            let is_last = done.load(Ordering::Acquire);
            let begun = Instant::now();
            let (look, buffer_bytes, busiest_cpu_ns) = self.look(counters, epoch, begun);
            held(look.queued_bytes.unwrap_or(0));
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.add(look, buffer_bytes, busiest_cpu_ns);
            if let (Some(progress), Some(drops)) = (progress, seen.grew(|look| look.drops)) {
                progress.set_at_target(drops, look.queued_bytes.unwrap_or(0));
            }
            if seen.costs.len() < MOST_KEPT {
                seen.costs.push(begun.elapsed());
            }
            if is_last {
                return seen.so_far();
            }
            drop(seen);
            std::thread::park_timeout(self.every.saturating_sub(begun.elapsed()));
        }
    }

    /// A look, the memory that its socket may hold, and what its busiest thread ran since the first look.
    fn look(
        &mut self,
        counters: &Counters,
        epoch: Instant,
        now: Instant,
    ) -> (Look, Option<u64>, Option<u64>) {
        let used = self.process.as_mut().and_then(Process::used);
        let (queued_bytes, drops, buffer_bytes) = match &mut self.at {
            At::One(diag) => match diag.look() {
                Some(SocketState { waiting_bytes, drops, buffer_bytes, .. }) => {
                    (Some(waiting_bytes), Some(drops), Some(buffer_bytes))
                }
                None => (None, None, None),
            },
            At::Several => {
                let at = counters.target_sockets();
                (at.map(|at| at.waiting_bytes), at.map(|at| at.drops), None)
            }
        };
        let at_ns = match now.checked_duration_since(epoch) {
            Some(after) => after.as_nanos() as i64,
            None => -(epoch.duration_since(now).as_nanos() as i64),
        };
        let look = Look {
            at_ns,
            queued_bytes,
            drops,
            cpu_ns: used.map(|used| used.cpu_ns),
            waited_ns: used.map(|used| used.waited_ns),
            switches: used.map(|used| used.switches),
        };
        (look, buffer_bytes, used.map(|used| used.busiest_cpu_ns))
    }
}

/// What the looks so far have seen.
#[derive(Debug)]
pub(crate) struct Seen {
    pid: Option<u32>,
    name: Option<String>,
    every: Duration,
    quotas_before: Quotas,
    others: Option<OthersTime>,
    /// Looks worth keeping; `None` where none is to be kept.
    kept: Option<KeptLooks>,
    first: Option<Look>,
    last: Look,
    looks: u64,
    buffer_bytes: Option<u64>,
    busiest_cpu_ns: Option<u64>,
    largest_queued_bytes: Option<u64>,
    costs: Vec<Duration>,
}

impl Seen {
    fn add(&mut self, look: Look, buffer_bytes: Option<u64>, busiest_cpu_ns: Option<u64>) {
        self.busiest_cpu_ns = busiest_cpu_ns.or(self.busiest_cpu_ns);
        self.buffer_bytes = self.buffer_bytes.or(buffer_bytes);
        self.largest_queued_bytes = self.largest_queued_bytes.max(look.queued_bytes);
        self.looks += 1;
        self.first.get_or_insert(look);
        self.last = look;
        if let Some(kept) = &mut self.kept {
            kept.add(look, self.every);
        }
    }

    /// By how much it grew from the first look to the last.
    fn grew(&self, of: fn(&Look) -> Option<u64>) -> Option<u64> {
        Some(of(&self.last)?.saturating_sub(of(&self.first?)?))
    }

    /// What is known until now; nobody counted packets yet.
    pub(crate) fn so_far(&self) -> TargetActivity {
        let mut costs = self.costs.clone();
        costs.sort_unstable();
        TargetActivity {
            pid: self.pid,
            name: self.name.clone(),
            buffer_bytes: self.buffer_bytes,
            every: self.every,
            look_cost: costs.get(costs.len() / 2).copied().unwrap_or_default(),
            looks: self.looks,
            largest_queued_bytes: self.largest_queued_bytes,
            cpu_ns: self.grew(|look| look.cpu_ns),
            busiest_cpu_ns: self.busiest_cpu_ns,
            waited_ns: self.grew(|look| look.waited_ns),
            others_ns: self.others.as_ref().and_then(OthersTime::so_far),
            packets: 0,
            throttled: watched_quotas(self.pid).throttled_since(&self.quotas_before),
            samples: self.kept.as_ref().map(KeptLooks::all).unwrap_or_default(),
        }
    }
}

fn watched_quotas(pid: Option<u32>) -> Quotas {
    pid.map(Quotas::of_process).unwrap_or_default()
}

/// Looks worth keeping, in order.
#[derive(Debug)]
struct KeptLooks {
    looks: Vec<Look>,
    /// The latest look, if it was not kept.
    last: Option<Look>,
    quiet: u64,
}

impl KeptLooks {
    /// Keeps a look that says something, the one before it, and now and then one that does not.
    fn add(&mut self, look: Look, every: Duration) {
        let before = self.last.or(self.looks.last().copied());
        let says = before.is_none_or(|before| says_something(&before, &look, every));
        self.quiet = if says { 0 } else { self.quiet + 1 };
        if says || self.quiet.is_multiple_of(QUIET_KEPT) {
            if says && let Some(last) = self.last.take() {
                self.push(last);
            }
            self.push(look);
            self.last = None;
        } else {
            self.last = Some(look);
        }
    }

    fn push(&mut self, look: Look) {
        if self.looks.len() < MOST_KEPT {
            self.looks.push(look);
        }
    }

    fn all(&self) -> Vec<Look> {
        self.looks.iter().copied().chain(self.last).collect()
    }
}

/// Whether a packet waits, was dropped, or the process went without a CPU for a good part of the time.
fn says_something(before: &Look, now: &Look, every: Duration) -> bool {
    let waited = now.waited_ns.zip(before.waited_ns).map_or(0, |(now, then)| now.saturating_sub(then));
    now.queued_bytes != before.queued_bytes
        || now.queued_bytes.is_some_and(|bytes| bytes > 0)
        || now.drops != before.drops
        || u128::from(waited) > every.as_nanos() / 4
}

fn here() -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Some(std::fs::metadata("/proc/thread-self/ns/net").ok()?.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at_ns: i64, queued_bytes: u64) -> Look {
        Look { at_ns, queued_bytes: Some(queued_bytes), drops: Some(0), ..Look::default() }
    }

    #[test]
    fn looks_that_say_nothing_are_thinned_and_what_happened_keeps_its_edges() {
        let mut kept = KeptLooks { looks: Vec::new(), last: None, quiet: 0 };
        let every = Duration::from_millis(1);
        (0..100).for_each(|at| kept.add(look(at, 0), every));
        kept.add(look(100, 832), every);
        kept.add(look(101, 0), every);
        (102..110).for_each(|at| kept.add(look(at, 0), every));
        let times: Vec<i64> = kept.all().iter().map(|look| look.at_ns).collect();
        assert_eq!(times, [0, 16, 32, 48, 64, 80, 96, 99, 100, 101, 109]);
    }

    /// A target that does not read, watched, and who sends to it.
    struct Watched {
        target: std::net::UdpSocket,
        sender: std::net::UdpSocket,
        to: SocketAddr,
        counters: Counters,
        watch: Watch,
    }

    fn watched() -> Watched {
        let target = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let (from, to) = (sender.local_addr().unwrap(), target.local_addr().unwrap());
        let counters = Counters::open(from.ip(), to);
        let watch = Watch::find(&counters, from, None, Duration::from_millis(1), true);
        Watched { target, sender, to, counters, watch: watch.expect("is on this machine") }
    }

    /// The thread that looks may wait for a CPU between its look and whether that was the last one.
    #[test]
    fn the_last_look_is_after_the_last_packet_whenever_it_is_told_to_end() {
        let Watched { target: _target, sender, to, counters, mut watch } = watched();
        let done = AtomicBool::new(false);
        let meanwhile = |_| {
            if !done.swap(true, Ordering::AcqRel) {
                (0..10).for_each(|_| _ = sender.send_to(&[0; 64], to).unwrap());
            }
        };
        let watched = watch.run(&counters, Instant::now(), &done, None, &meanwhile);
        assert_eq!((watched.looks, watched.samples.last().unwrap().queued_bytes), (2, Some(10 * 832)));
    }

    #[test]
    fn a_target_that_does_not_read_is_seen_to_fill() {
        let Watched { target: _target, sender, to, counters, mut watch } = watched();
        for _ in 0..1000 {
            sender.send_to(&[0; 64], to).unwrap();
        }
        let watched = watch.run(&counters, Instant::now(), &AtomicBool::new(true), None, &|_| {});
        assert_eq!(
            (watched.looks, watched.pid),
            (1, None),
            "threads of this process are not the target's alone"
        );
        let last = watched.samples[0];
        let held = watched.buffer_bytes.unwrap() / 832;
        assert_eq!((last.queued_bytes, last.drops), (Some(held * 832), Some(1000 - held)));
    }
}
