//! Packets of a trial that leave by an interface beside their way: what leads them there came after the trial began, for none
//! is sent where such a thing is seen before.
//!
//! Each interface that is not on the way to the target and back has a tap, in the namespaces of the way that this user may
//! enter, to which the kernel gives nothing but packets with the trial's own tag, or, of a service that knows no tag, with its
//! ports: what others send, and other trials, costs and says nothing. The interfaces of the way have none, so that it costs the trial's packets nothing either.

use super::tap::Tapped;
use crate::error::nothing_as_none;
use crate::kernel::path_passed::PathPassed;
use crate::kernel::view::View;
use crate::sockets::flows::Flows;
use crate::sockets::whereabouts::Way;
use crate::sys::{Mark, ReceiveBatch, open_tap_of_trial, tap_trial, wait_readable};
use dropline_payload::Tag;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The taps of one measurer's trials.
pub(crate) struct Beside {
    namespaces: Vec<Namespace>,
    sockets: Vec<UdpSocket>,
    /// Of each socket, what it hears and where, in words.
    taps: Vec<(Hears, String)>,
    batch: ReceiveBatch,
}

/// One that packets may pass.
struct Namespace {
    view: View,
    /// Interfaces of the way.
    on_way: BTreeSet<u32>,
    /// Where nothing of the trial should come in, for it is another's.
    ends: BTreeSet<u32>,
    tapped: BTreeSet<u32>,
}

/// What a tap is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hears {
    Leaving,
    Arriving,
}

/// Which packets are a trial's: what a target sends on to others may begin as they do.
pub(crate) struct Trials<'a> {
    pub(crate) told_by: ToldBy<'a>,
    /// The ports that they leave from; none where they are not known.
    pub(crate) ports: &'a BTreeSet<u16>,
    pub(crate) targets: &'a BTreeSet<SocketAddr>,
}

/// What tells a trial's packets from others, wherever they are.
#[derive(Clone, Copy)]
pub(crate) enum ToldBy<'a> {
    /// They carry it.
    Tag(Tag),
    /// They have none: the ports that they leave from, and one of these addresses of theirs, or the target's.
    Ports(&'a BTreeSet<IpAddr>),
}

/// Packets that left beside the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) packets: u64,
    /// By which interfaces.
    by: BTreeMap<String, u64>,
}

/// Interfaces that are tapped at most: each takes the kernel some milliseconds to let go of.
const MOST: usize = 32;
/// The longest wait without a look at whether the trial has ended.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// Between two looks for interfaces that are new.
const NEW_EVERY: Duration = Duration::from_millis(250);
/// Bytes that are looked at, as of any tap.
const LOOKED_AT: usize = 128;
/// Calls that take what waits, at most: who goes on sending is heard at the next look.
const MOST_WAITING: usize = 64;

impl Left {
    /// The interface that most of them left by.
    pub(crate) fn interface(&self) -> String {
        let most = self.by.iter().max_by_key(|(_, packets)| **packets);
        most.map(|(name, _)| name.clone()).unwrap_or_default()
    }
}

impl Trials<'_> {
    /// Whether these are the trial's, or replies to it, wherever a translation sends them.
    fn has(&self, tapped: &Tapped) -> bool {
        let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let (from, to) = (canonical(tapped.source), canonical(tapped.target));
        let has_port = self.ports.contains(&from.port()) || self.ports.contains(&to.port());
        match self.told_by {
            ToldBy::Tag(_) => has_port || self.targets.contains(&to),
            ToldBy::Ports(sources) => {
                let is_end = |end: &SocketAddr| sources.contains(&end.ip()) || self.targets.contains(end);
                has_port && (is_end(&from) || is_end(&to))
            }
        }
    }

    /// What the kernel gives of it.
    fn mark(&self) -> Mark<'_> {
        match self.told_by {
            ToldBy::Tag(tag) => Mark::Tag(tag.0),
            ToldBy::Ports(_) => Mark::Ports(self.ports),
        }
    }
}

impl Default for Beside {
    /// No tap.
    fn default() -> Self {
        let batch = ReceiveBatch::with_stamps(LOOKED_AT);
        Self { namespaces: Vec::new(), sockets: Vec::new(), taps: Vec::new(), batch }
    }
}

impl Beside {
    /// What is beside the ways of these packets. What this user may not see or tap is left out.
    pub(crate) fn of(packets: &[Flows]) -> Self {
        let mut found = Self::default();
        for passed in packets.iter().filter_map(|flows| Way::to(flows).ok()?.passed) {
            found.add(passed);
        }
        found.tap_new(Mark::Tag(0));
        found
    }

    fn add(&mut self, passed: PathPassed) {
        let PathPassed { views, interfaces, ends, holder: (holder, _) } = passed;
        for (at, ((view, on_way), ends)) in views.into_iter().zip(interfaces).zip(ends).enumerate() {
            // Nothing but the way to it is to be watched of what is behind another port of a bridge.
            if on_way.is_empty() {
                continue;
            }
            let ends = if at == 0 || at == holder { BTreeSet::new() } else { ends };
            match self.namespaces.iter_mut().find(|known| known.view.id == view.id) {
                Some(known) => {
                    known.on_way.extend(on_way);
                    // What is not for it by one way may be by another.
                    known.ends.retain(|end| ends.contains(end));
                }
                None => self.namespaces.push(Namespace { view, on_way, ends, tapped: BTreeSet::new() }),
            }
        }
    }

    /// Taps interfaces that were not there before.
    fn tap_new(&mut self, mark: Mark<'_>) {
        for Namespace { view, on_way, ends, tapped } in &mut self.namespaces {
            let mut links = view.links().unwrap_or_default();
            // Ports of a bridge last: what is routed there leaves by the bridge first.
            links.sort_by_key(|link| (link.master.is_some(), link.index));
            // Above an interface of the way, what passes it is shown once more.
            let above: BTreeSet<u32> = links
                .iter()
                .filter(|link| on_way.contains(&link.index))
                .filter_map(|link| link.master)
                .collect();
            for link in &links {
                // A device that only queues hands packets on where they were.
                let is_beside = !on_way.contains(&link.index)
                    && !above.contains(&link.index)
                    && !link.is_loopback()
                    && link.kind != "ifb";
                let hears = match (is_beside, ends.contains(&link.index)) {
                    (true, _) => Hears::Leaving,
                    (false, true) => Hears::Arriving,
                    (false, false) => continue,
                };
                if !link.up || tapped.contains(&link.index) || self.sockets.len() >= MOST {
                    continue;
                }
                let open = || open_tap_of_trial(link.index, mark, hears == Hears::Arriving);
                if let Ok(Ok(socket)) = view.inside(open) {
                    self.sockets.push(socket);
                    self.taps.push((hears, format!("interface {} of {}", link.name, view.name)));
                }
                tapped.insert(link.index);
            }
        }
    }

    /// What carries least of the way to an address, in words, and how many bytes in one piece.
    pub(crate) fn carries_least(&mut self, address: IpAddr) -> Option<(String, u32)> {
        let each = self.namespaces.iter_mut().enumerate();
        let least = each.filter_map(|(at, Namespace { view, on_way, .. })| {
            view.carries_least(on_way, Some(address).filter(|_| at == 0))
        });
        least.min_by_key(|(_, mtu)| *mtu)
    }

    /// Does a trial's work; `astray` is set as soon as a packet of it leaves beside the way. What left, if any did.
    pub(crate) fn watch_while<T>(
        &mut self,
        trials: &Trials<'_>,
        astray: &AtomicBool,
        work: impl FnOnce() -> T,
    ) -> (T, Option<Left>) {
        self.tap_new(trials.mark());
        for (socket, (hears, _)) in self.sockets.iter().zip(&self.taps) {
            // One whose interface is gone hears nothing more.
            let _ = tap_trial(socket, trials.mark(), *hears == Hears::Arriving);
        }
        // What waits was of the trial before.
        self.take(&mut |_, _| {});
        let (mut left, ended) = (Left::default(), AtomicBool::new(false));
        let done = std::thread::scope(|scope| {
            let watch = || self.watch(trials, astray, &ended, &mut left);
            let watching = Builder::new().name("beside".into()).spawn_scoped(scope, watch);
            let ends = Ends { ended: &ended };
            let done = work();
            drop(ends);
            if let Ok(watching) = watching {
                watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
            done
        });
        (done, (left.packets > 0).then_some(left))
    }

    /// Until the trial has ended, and once more.
    fn watch(&mut self, trials: &Trials<'_>, astray: &AtomicBool, ended: &AtomicBool, left: &mut Left) {
        let mut looked = Instant::now();
        loop {
            let is_last = ended.load(Ordering::Acquire);
            if looked.elapsed() >= NEW_EVERY {
                self.tap_new(trials.mark());
                looked = Instant::now();
            }
            self.take(&mut |place, tapped| {
                if trials.has(tapped) {
                    left.packets += u64::from(tapped.datagrams);
                    *left.by.entry(place.to_owned()).or_default() += u64::from(tapped.datagrams);
                    astray.store(true, Ordering::Release);
                }
            });
            if is_last {
                return;
            }
            match self.sockets.is_empty() {
                true => std::thread::sleep(LONGEST_WAIT),
                false => drop(wait_readable(&self.sockets, LONGEST_WAIT)),
            }
        }
    }

    /// Takes what waits at all taps.
    fn take(&mut self, each: &mut dyn FnMut(&str, &Tapped)) {
        let Self { sockets, taps, batch, .. } = self;
        for (socket, (_, place)) in sockets.iter().zip(taps) {
            for _ in 0..MOST_WAITING {
                // An error is of an interface that went down or away.
                let count = nothing_as_none(batch.receive(socket)).ok().flatten().unwrap_or(0);
                for at in 0..count {
                    let entrance = batch.entrance(at);
                    let read = |bytes| Tapped::read(batch.packet(at), bytes);
                    if let Some(tapped) = entrance.and_then(|entrance| read(entrance.header_bytes)) {
                        each(place, &tapped);
                    }
                }
                if count == 0 {
                    break;
                }
            }
        }
    }
}

/// Lets the watcher take its last look, whatever ends the trial.
struct Ends<'a> {
    ended: &'a AtomicBool,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_sends_on_with_the_trials_bytes_is_not_the_trials() {
        let (ports, targets) = ([4000].into(), ["10.9.0.2:7007".parse().unwrap()].into());
        let trials = Trials { told_by: ToldBy::Tag(Tag(7)), ports: &ports, targets: &targets };
        let has = |source: &str, target: &str| {
            let (source, target) = (source.parse().unwrap(), target.parse().unwrap());
            trials.has(&Tapped { stamp_ns: None, source, target, payload_bytes: 64, datagrams: 1 })
        };
        assert!(has("10.9.0.1:4000", "10.9.0.2:7007"), "a copy");
        assert!(has("10.9.0.1:4000", "10.8.0.9:53") && has("10.7.0.1:4000", "10.8.0.9:53"), "translated");
        assert!(has("10.9.0.2:7007", "10.9.0.1:4000"), "a reply");
        assert!(!has("10.9.0.2:7007", "10.8.0.9:53") && !has("10.9.0.2:5555", "10.8.0.9:7007"), "a proxy's");
    }

    #[test]
    fn without_a_tag_a_port_and_an_end_tell_the_trials_packets_from_what_the_service_asks_others() {
        let (ports, targets) = ([4000].into(), ["10.9.0.2:53".parse().unwrap()].into());
        let sources = ["10.9.0.1".parse().unwrap()].into();
        let trials = Trials { told_by: ToldBy::Ports(&sources), ports: &ports, targets: &targets };
        let has = |source: &str, target: &str| {
            let (source, target) = (source.parse().unwrap(), target.parse().unwrap());
            trials.has(&Tapped { stamp_ns: None, source, target, payload_bytes: 36, datagrams: 1 })
        };
        assert!(
            has("10.9.0.1:4000", "10.9.0.2:53") && has("10.9.0.2:53", "10.9.0.1:4000"),
            "a copy, a reply"
        );
        assert!(has("10.9.0.1:4000", "10.8.0.9:5353") && has("10.7.0.1:4000", "10.9.0.2:53"), "translated");
        assert!(!has("10.9.0.2:4000", "10.8.0.9:53"), "a resolver asks another, from a port as ours");
        assert!(!has("10.9.0.1:4001", "10.9.0.2:53"), "another client");
    }
}
