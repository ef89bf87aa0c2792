//! The ring that a thread writes to.

use super::lttng::Provider;
use super::region::{REGION, Region};
use crate::Clock;
use crate::layout::Head;
use crate::{Kind, TraceEvent, Writer};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::cell::UnsafeCell;
use std::sync::{Once, OnceLock};

/// The flag that says whether tracepoints record: what a switched-off tracepoint looks at. It is one of the two
/// below, or the session's own.
static RECORDING: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const UNASKED).cast_mut());
/// The flag until the first tracepoint: it leads to where the environment is asked.
static UNASKED: AtomicU32 = AtomicU32::new(1);
/// The flag of a process without a session.
static OFF: AtomicU32 = AtomicU32::new(0);

/// The flag of a process that has LTTng's provider and no session of ours: LTTng itself knows whether it records.
static ASK_LTTNG: AtomicU32 = AtomicU32::new(1);

static PROVIDER: OnceLock<Provider> = OnceLock::new();

/// Whether there may be anything to record to: what a tracepoint of a program that nobody measures looks at.
static MAY_RECORD: AtomicBool = AtomicBool::new(true);

/// The variable that names a session's file.
pub(crate) const VARIABLE: &str = "DROPLINE_TRACE";

struct Local {
    writer: Writer<'static>,
    clock: Clock,
}

/// Where a thread stands.
enum ThreadRing {
    /// It wrote nothing yet.
    New,
    /// It has a ring.
    Home(Local),
    /// It has a ring, and LTTng gets its events too.
    Both(Local, Provider),
    /// LTTng alone gets its events.
    Away(Provider),
    /// There was no ring for it.
    Homeless(&'static Head),
}

thread_local! {
    static PLACE: UnsafeCell<ThreadRing> = const { UnsafeCell::new(ThreadRing::New) };
}

/// Whether a tracepoint has anything to do: one load where there is no session, two more where there is one.
#[inline]
pub(crate) fn is_on() -> bool {
    if !MAY_RECORD.load(Ordering::Relaxed) {
        return false;
    }
    // SAFETY: it points to one of the statics above or into a session's head, which is never unmapped.
    unsafe { &*RECORDING.load(Ordering::Relaxed) }.load(Ordering::Relaxed) != 0
}

/// Asks the environment, if nobody did; whether tracepoints record now.
pub(crate) fn join() -> bool {
    match (region(), PROVIDER.get()) {
        (None, Some(provider)) => provider.records(),
        _ => is_on(),
    }
}

/// Stamps and writes an event.
#[inline]
pub(crate) fn write(kind: Kind, pipe: u32, n: u64, extra: u64) {
    // A thread that is ending has given its ring back.
    let _ = PLACE.try_with(|place| {
        // SAFETY: the cell is this thread's, nothing below calls back into a tracepoint, and the reference ends
        // here: there is one at a time.
        let place = unsafe { &mut *place.get() };
        if let ThreadRing::Home(local) = place {
            let ticks = local.clock.ticks();
            local.writer.write(TraceEvent { ticks, kind, pipe, n, extra });
        } else {
            settle(place, kind, pipe, n, extra);
        }
    });
}

/// The session, after the environment was asked once.
pub(crate) fn region() -> Option<&'static Region> {
    static ASKED: Once = Once::new();
    ASKED.call_once(|| {
        let provider = Provider::from_environment().map(|provider| PROVIDER.set(provider));
        let path = std::env::var_os(VARIABLE);
        match path.and_then(|path| Region::open(path.as_ref()).ok()) {
            Some(region) => adopt(region),
            None if provider.is_some() => drop(look_at(&UNASKED, &ASK_LTTNG)),
            None => {
                let _ = look_at(&UNASKED, &OFF);
                MAY_RECORD.store(false, Ordering::Relaxed);
            }
        }
    });
    REGION.get()
}

/// Lets this process record into `region`, unless it has a session; the first one stays.
pub(crate) fn attach(region: Region) {
    // Whoever asks the environment is through with it now, and cannot switch off what is switched on here.
    self::region();
    adopt(region);
}

fn adopt(region: Region) {
    if REGION.set(region).is_ok() {
        region.head().attached.fetch_add(1, Ordering::Relaxed);
        let _ =
            look_at(&UNASKED, &region.head().recording).or_else(|()| look_at(&OFF, &region.head().recording));
        MAY_RECORD.store(true, Ordering::Relaxed);
    }
}

/// Changes the flag that tracepoints look at, if it was `from`.
fn look_at(from: &'static AtomicU32, to: &'static AtomicU32) -> Result<(), ()> {
    let [from, to] = [from, to].map(|flag| std::ptr::from_ref(flag).cast_mut());
    RECORDING.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).map(drop).map_err(drop)
}

/// An event of a thread that has not a ring alone; its first one finds it a place.
#[cold]
fn settle(place: &mut ThreadRing, kind: Kind, pipe: u32, n: u64, extra: u64) {
    if let ThreadRing::New = place {
        let Some(found) = place_of_a_thread() else { return };
        *place = found;
    }
    match place {
        ThreadRing::Home(local) | ThreadRing::Both(local, _) => {
            local.writer.write(TraceEvent { ticks: local.clock.ticks(), kind, pipe, n, extra });
        }
        ThreadRing::Homeless(head) => drop(head.homeless.fetch_add(1, Ordering::Relaxed)),
        ThreadRing::Away(_) => {}
        ThreadRing::New => unreachable!("it has just been given a place"),
    }
    let lttng = match place {
        ThreadRing::Both(_, provider) | ThreadRing::Away(provider) => Some(&*provider),
        ThreadRing::Homeless(_) => PROVIDER.get(),
        ThreadRing::Home(_) | ThreadRing::New => None,
    };
    if let Some(provider) = lttng {
        provider.write(kind, pipe, n, extra);
    }
}

/// A ring that nobody writes to, or none; `None` while nothing records.
fn place_of_a_thread() -> Option<ThreadRing> {
    let region = region();
    let provider = PROVIDER.get().copied();
    let Some(region) = region else { return provider.map(ThreadRing::Away) };
    let head = region.head();
    if head.recording.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let Some(ring) = take_ring(region) else { return Some(ThreadRing::Homeless(head)) };
    LEASE.with(|lease| lease.0.set(Some(ring)));
    let local = Local { writer: region.ring(ring).writer(), clock: region.clock() };
    Some(match provider {
        Some(provider) => ThreadRing::Both(local, provider),
        None => ThreadRing::Home(local),
    })
}

fn take_ring(region: &Region) -> Option<u32> {
    (0..region.shape().rings).find(|&ring| {
        let counters = region.counters(ring);
        let free = counters.taken.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if free {
            counters.thread.store(thread_number(), Ordering::Relaxed);
        }
        free
    })
}

/// Gives the ring back when its thread ends; what it wrote stays there.
struct Lease(std::cell::Cell<Option<u32>>);

thread_local! {
    static LEASE: Lease = const { Lease(std::cell::Cell::new(None)) };
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (Some(ring), Some(region)) = (self.0.get(), REGION.get()) else { return };
        let _ = PLACE.try_with(|place| {
            // SAFETY: as in `write`; a tracepoint in a later destructor finds no ring and takes none.
            unsafe { *place.get() = ThreadRing::Homeless(region.head()) };
        });
        region.counters(ring).taken.store(0, Ordering::Release);
    }
}

#[cfg(target_os = "linux")]
fn thread_number() -> u32 {
    unsafe extern "C" {
        fn gettid() -> i32;
    }
    // SAFETY: it has no arguments and cannot fail.
    unsafe { gettid() as u32 }
}

#[cfg(not(target_os = "linux"))]
fn thread_number() -> u32 {
    0
}
