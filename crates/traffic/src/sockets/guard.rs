//! What packets are sent under: a look at their way before the first, and another whenever anything on it changes, which ends the
//! sending where they would go elsewhere from then on.

use super::flows::Flows;
use super::leash::Leash;
use crate::error::NoLeash;
use crate::kernel::path_changes::Lookout;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Over the way of what some sockets send.
#[derive(Debug, Default)]
pub struct Guard {
    held: Vec<Held>,
    lookout: Lookout,
    /// The one whose entry of connection tracking is looked for next.
    next: usize,
}

/// Sockets that send to one address.
#[derive(Debug)]
struct Held {
    packets: Flows,
    /// What held the first of them.
    first: Leash,
    /// What holds them by the latest look.
    latest: Leash,
    /// Both ends of each; where there are very many, of some.
    ends: Vec<(SocketAddr, SocketAddr)>,
}

/// So often it is asked whether anything changed.
const EVERY: Duration = Duration::from_millis(10);
/// Of the time at most one part in so many is spent with looking.
const AT_MOST: u32 = 4;
/// Flows whose entries of connection tracking are asked for each time: a new one is told by no generation.
const TRACKED_EACH: usize = 4;
/// Sockets to one address that are looked at again at most: each was when it was opened.
const MOST: usize = 256;

impl Guard {
    /// Over a socket that was held and connected to an address.
    ///
    /// # Errors
    /// If packets to it do not stay on this machine for certain.
    pub fn over(socket: &UdpSocket, target: SocketAddr) -> Result<Self, NoLeash> {
        let mut guard = Self::default();
        guard.add(target.into(), Leash::towards(target)?, std::slice::from_ref(socket));
        guard.look().map(|()| guard)
    }

    /// Over these sockets too, which send such packets and were held by that.
    pub(crate) fn add(&mut self, packets: Flows, first: Leash, sockets: &[UdpSocket]) {
        let canonical = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
        let ends = |socket: &UdpSocket| {
            Some((canonical(socket.local_addr().ok()?), canonical(socket.peer_addr().ok()?)))
        };
        let ends: Vec<_> = sockets
            .iter()
            .filter_map(ends)
            .filter(|(_, to)| to.ip() == packets.address.to_canonical())
            .collect();
        let apart = ends.len().div_ceil(MOST).max(1);
        let ends = ends.into_iter().step_by(apart).collect();
        let latest = first.clone();
        self.held.push(Held { packets, first, latest, ends });
    }

    /// Looks at their ways as before the first packet, and looks out over these from now on.
    ///
    /// # Errors
    /// If packets, or replies, may go elsewhere, or come to another than in the beginning.
    pub(crate) fn look(&mut self) -> Result<(), NoLeash> {
        loop {
            // What changed until now is seen by this look.
            self.hear();
            let mut is_new = false;
            for held in &mut self.held {
                held.look()?;
                let added = held.latest.passed().map(|mut passed| self.lookout.add(&mut passed));
                let address = held.packets.address;
                let not_looked = |why: io::Error| NoLeash::NotLooked { address, why: why.to_string() };
                is_new |= added.transpose().map_err(not_looked)?.unwrap_or(false);
            }
            if !is_new {
                return Ok(());
            }
        }
    }

    /// Takes what changed, without a look; no thread that opens sockets goes into other namespaces.
    fn hear(&mut self) {
        std::thread::scope(|scope| {
            let lookout = &mut self.lookout;
            let _ = Builder::new().spawn_scoped(scope, || lookout.change());
        });
    }

    /// The same in mid-trial: what leads packets elsewhere, in words. Where nothing was left to look with, `Err`.
    fn leading(&mut self) -> Result<Option<String>, ()> {
        match self.look() {
            Ok(()) => Ok(None),
            // What cannot leave goes nowhere, and the way may be there again with the link.
            Err(why) if why.finds_nobody() && self.held.iter().any(|held| held.first.is_down()) => Err(()),
            Err(why) => {
                // Where nothing on the way is named, an interface that is not where it was is the reason.
                let is_named = matches!(
                    why,
                    NoLeash::LedAway { .. } | NoLeash::Diverted { .. } | NoLeash::NotLooked { .. }
                );
                self.hear();
                let moved = self.lookout.moved().map(str::to_owned).filter(|_| !is_named);
                moved.or(why.leads()).map(Some).ok_or(())
            }
        }
    }

    /// Why nothing more is sent, where `what` came to lead packets elsewhere: it may be gone by now, and is said all the same.
    pub(crate) fn refusing(&mut self, address: IpAddr, what: String) -> NoLeash {
        self.look().err().unwrap_or(NoLeash::NotLooked { address, why: what })
    }

    /// What leads packets elsewhere now, where that is to be seen.
    pub(crate) fn leads(&mut self) -> Option<String> {
        self.leading().ok().flatten()
    }

    /// Does work that sends, while a thread looks out for what comes to lead packets elsewhere; sets `astray` at the first, which
    /// the work has to heed, and returns it.
    pub fn during<T>(&mut self, astray: &AtomicBool, work: impl FnOnce() -> T) -> (T, Option<String>) {
        let ended = AtomicBool::new(false);
        let look_out = || {
            let found = self.look_out(&ended);
            astray.fetch_or(found.is_some(), Ordering::Release);
            found
        };
        std::thread::scope(|scope| {
            let looking = Builder::new().name("lookout".into()).spawn_scoped(scope, look_out).ok();
            // Where no thread is to be had, nothing is sent that nobody looks after.
            astray.fetch_or(looking.is_none(), Ordering::Release);
            let ends = Ends(&ended, looking.as_ref().map(|looking| looking.thread().clone()));
            let done = work();
            drop(ends);
            let none = || Some("the system had no thread left to look whether anything did".into());
            let found = looking.map_or_else(none, |looking| looking.join().ok().flatten());
            (done, found)
        })
    }

    /// Until the work has ended, or anything leads packets elsewhere.
    fn look_out(&mut self, ended: &AtomicBool) -> Option<String> {
        // What was so before the first packet led none astray.
        self.lookout.astray();
        let mut is_due = false;
        let mut rest = EVERY;
        while !ended.load(Ordering::Acquire) {
            std::thread::park_timeout(rest);
            let begun = Instant::now();
            if self.lookout.change() || self.is_tracked_elsewhere() || is_due {
                match self.leading() {
                    // What it did is undone by the next frame from there, and some went astray before.
                    Ok(None) => match self.lookout.astray() {
                        None => is_due = false,
                        astray => return astray,
                    },
                    Ok(found) => return found,
                    Err(()) => is_due = true,
                }
            }
            rest = EVERY.max(begun.elapsed() * AT_MOST);
        }
        None
    }

    /// Whether connection tracking has come to have an entry that leads one of the next flows elsewhere.
    fn is_tracked_elsewhere(&mut self) -> bool {
        let all = self.held.iter().flat_map(|held| held.ends.iter().map(|ends| (&held.latest, *ends)));
        let count = all.clone().count();
        let first = self.next % count.max(1);
        self.next = first + TRACKED_EACH;
        let is_led = |(leash, (own, led)): (&Leash, (SocketAddr, SocketAddr))| {
            leash
                .passed()
                .is_some_and(|mut passed| passed.tracked_elsewhere(own, led).is_ok_and(|led| led.is_some()))
        };
        all.skip(first).take(TRACKED_EACH).any(is_led)
    }
}

impl Held {
    fn look(&mut self) -> Result<(), NoLeash> {
        let leash = Leash::towards(self.packets.clone())?;
        leash.leads_where(&self.first, self.packets.address)?;
        for &ends in &self.ends {
            leash.follow(ends)?;
        }
        self.latest = leash;
        Ok(())
    }
}

/// Ends the looking, whatever ends the work.
struct Ends<'a>(&'a AtomicBool, Option<std::thread::Thread>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        if let Some(looking) = &self.1 {
            looking.unpark();
        }
    }
}
