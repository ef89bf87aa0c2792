//! What the senders and the receivers of one trial share while packets are under way.

use super::lease::Lease;
use super::stamps::Stamps;
use crate::progress::Progress;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One trial's packets under way.
pub(crate) struct TrialState<'a> {
    /// When the trial starts; all times are ns after it.
    epoch: Instant,
    pub(crate) stamps: &'a Stamps,
    pub(crate) stop: &'a AtomicBool,
    /// Set where packets leave beside their way: the trial is ended as if the user had.
    astray: Option<&'a AtomicBool>,
    /// Ended as if the user had, once this is over.
    lease: Option<&'a Lease>,
    pub(crate) progress: Option<&'a Progress>,
    /// How far each sender is.
    senders: Vec<Cell>,
    /// Senders that have not finished.
    sending: AtomicUsize,
    /// What the receivers counted.
    forwarded: Cell,
    /// When the sending time was over; [`RUNNING`] until then.
    finished_ns: AtomicU64,
    halted: AtomicBool,
    /// When nobody seemed to be there first, and by which error of the system; none yet: 0.
    nobody_ns: AtomicU64,
    nobody: AtomicI32,
    /// Bytes that waited at the target's socket when that was last looked at.
    held: AtomicU64,
    /// The settable clock is set, as a test has it.
    step: Option<ClockStep>,
}

/// Numbers of one thread, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell {
    /// Packets from this index on have not been handed to the system.
    next_index: AtomicU64,
    /// Packets offered or forwarded.
    packets: AtomicU64,
}

/// The settable clock jumps, as seen by a trial: for tests. The machine's clock stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// When, after the trial's start.
    pub at: Duration,
    /// By how much, in ns.
    pub by_ns: i64,
}

const RUNNING: u64 = u64::MAX;

impl<'a> TrialState<'a> {
    pub(crate) fn new(
        epoch: Instant,
        senders: usize,
        stamps: &'a Stamps,
        stop: &'a AtomicBool,
        progress: Option<&'a Progress>,
        step: Option<ClockStep>,
    ) -> Self {
        Self {
            epoch,
            stamps,
            stop,
            astray: None,
            lease: None,
            progress,
            senders: (0..senders).map(|_| Cell::default()).collect(),
            sending: AtomicUsize::new(senders),
            forwarded: Cell::default(),
            finished_ns: AtomicU64::new(RUNNING),
            halted: AtomicBool::new(false),
            nobody_ns: AtomicU64::new(0),
            nobody: AtomicI32::new(0),
            held: AtomicU64::new(0),
            step,
        }
    }

    /// Ends it as soon as this is set.
    pub(crate) fn until(self, astray: &'a AtomicBool) -> Self {
        Self { astray: Some(astray), ..self }
    }

    /// Ends it as soon as this is over, where there is one.
    pub(crate) fn leased(self, lease: Option<&'a Lease>) -> Self {
        Self { lease, ..self }
    }

    /// Now, in ns after the start; 0 before it.
    pub(crate) fn now_ns(&self) -> u64 {
        Instant::now().saturating_duration_since(self.epoch).as_nanos() as u64
    }

    /// What the clock that stamps packets says now.
    pub(crate) fn real_ns(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
        self.stepped(now, || self.now_ns())
    }

    /// A stamp that was read at `now_ns`, as the clock that the test has would have made it.
    pub(crate) fn stamped(&self, stamp_ns: i64) -> i64 {
        let taken = || {
            let ago = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i64)
                - stamp_ns;
            self.now_ns().saturating_sub(ago.max(0) as u64)
        };
        self.stepped(stamp_ns, taken)
    }

    fn stepped(&self, real_ns: i64, at_ns: impl FnOnce() -> u64) -> i64 {
        match self.step {
            Some(step) if u128::from(at_ns()) >= step.at.as_nanos() => real_ns + step.by_ns,
            _ => real_ns,
        }
    }

    /// So many bytes wait at the target's socket.
    pub(crate) fn set_held(&self, bytes: u64) {
        self.held.store(bytes, Ordering::Relaxed);
    }

    /// Whether packets waited at the target's socket when that was last looked at: they may be answered yet.
    pub(crate) fn target_holds(&self) -> bool {
        self.held.load(Ordering::Relaxed) > 0
    }

    /// How long it is until the start.
    pub(crate) fn until_start(&self) -> Duration {
        self.epoch.saturating_duration_since(Instant::now())
    }

    /// Whether it starts together with others'.
    pub(crate) fn is_together(&self) -> bool {
        self.lease.is_some()
    }

    /// How many of `wanted` packets a sender may send now: what a lease bounds, as after a pause.
    pub(crate) fn may_leave(&self, sender: usize, wanted: usize) -> usize {
        self.lease.map_or(wanted, |lease| lease.take(sender, wanted))
    }

    /// That so many of them left.
    pub(crate) fn have_left(&self, sender: usize, packets: u64) {
        if let Some(lease) = self.lease {
            lease.gone(sender, packets);
        }
    }

    /// Whether one side met an error, or the user wants to stop: nothing more is sent.
    pub(crate) fn is_halted(&self) -> bool {
        self.is_broken() || self.is_stopped()
    }

    /// Whether one side met an error: nothing more is received either.
    pub(crate) fn is_broken(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    /// Whether the user wants to stop, packets leave beside their way, or nobody coordinates the trial any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.astray.is_some_and(|astray| astray.load(Ordering::Relaxed))
            || self.lease.is_some_and(Lease::is_over)
    }

    /// Notes that an error says that nobody is there, of whom nothing came back; whether that has been so for long. A first answer
    /// may take its time, and a rule may reject packets meanwhile.
    pub(crate) fn is_nobody_there(&self, error: &io::Error) -> bool {
        const LONG_NS: u64 = 1_000_000_000;
        // Where no link or no route is left nothing was sent: the caller waits for it and begins again.
        if matches!(error.kind(), io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown) {
            return true;
        }
        let now = self.now_ns().max(1);
        let noted = self.nobody_ns.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        self.nobody.store(error.raw_os_error().unwrap_or(0), Ordering::Relaxed);
        now.saturating_sub(noted.err().unwrap_or(now)) >= LONG_NS
    }

    /// What says so, where nothing came back by the end of the trial either.
    pub(crate) fn nobody(&self) -> Option<io::Error> {
        let code = self.nobody.load(Ordering::Relaxed);
        (code != 0).then(|| io::Error::from_raw_os_error(code))
    }

    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::Relaxed);
    }

    /// This sender's packets below `index` are about to be handed to the system.
    pub(crate) fn publish(&self, sender: usize, index: u64) {
        self.senders[sender].next_index.store(index, Ordering::Release);
    }

    /// Whether this sender's packet with this index can have come back.
    pub(crate) fn next_index(&self, sender: usize) -> u64 {
        self.senders[sender].next_index.load(Ordering::Acquire)
    }

    /// No packet from this index on was handed to the system by anyone.
    pub(crate) fn last_index(&self) -> u64 {
        (0..self.senders.len()).map(|sender| self.next_index(sender)).max().unwrap_or(0)
    }

    pub(crate) fn set_offered(&self, sender: usize, packets: u64) {
        self.senders[sender].packets.store(packets, Ordering::Release);
        if let Some(progress) = self.progress {
            progress.set_offered(if self.senders.len() == 1 { packets } else { self.offered() });
        }
    }

    pub(crate) fn offered(&self) -> u64 {
        self.senders.iter().map(|sender| sender.packets.load(Ordering::Acquire)).sum()
    }

    /// More packets came back, the last of them after so long.
    pub(crate) fn add_forwarded(&self, packets: u64, delay_ns: u64) {
        let all = self.forwarded.packets.fetch_add(packets, Ordering::Relaxed) + packets;
        if let Some(progress) = self.progress {
            progress.set_forwarded(all);
            progress.set_delay(delay_ns);
        }
    }

    /// Packets that came back.
    pub(crate) fn forwarded(&self) -> u64 {
        self.forwarded.packets.load(Ordering::Relaxed)
    }

    /// A sender's last packet left, and the sending time is over.
    pub(crate) fn finish(&self) {
        if self.sending.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.finished_ns.store(self.now_ns(), Ordering::Release);
        }
    }

    /// When the sending time was over, if it is; [`offered`](Self::offered) is final then.
    pub(crate) fn finished_ns(&self) -> Option<u64> {
        let finished = self.finished_ns.load(Ordering::Acquire);
        (finished != RUNNING).then_some(finished)
    }
}
