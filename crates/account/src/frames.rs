//! Where frames from one interface to another were lost: what a device between two ports of a tester dropped, by its counters.

use crate::{Account, Device, Ledger, Place, Role, Site, Snapshot, Space, Way};
use dropline_trial::Caveat;

/// What the measurer knows of a trial's frames without any counter of the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frames {
    /// Given to the interface where they leave.
    pub offered: u64,
    /// Came out at the other, each counted once.
    pub forwarded: u64,
    /// Came out shorter.
    pub truncated: u64,
    /// Came out longer.
    pub extended: u64,
    /// Came out with other bytes.
    pub changed: u64,
    /// Refused by the interface where they leave: not offered, but counted there.
    pub refused: u64,
    /// Others of our own that went the same way, and of which nobody knows whether they came out.
    pub beside: u64,
}

/// The kernel's reasons for which frames vanish where no counter of an interface tells.
const BY_REASON: [Place; 3] = [Place::Netfilter, Place::Ingress, Place::LinkDown];

/// Splits the loss of a trial into what our own end had no room for and places; what still waits in a queue of the way is late. `grown` is how much each counter grew from before
/// the first frame to after the drain; `last` is the interface (namespace, number) from which frames arrive at our own end: its full
/// ring is ours. `way` is the one that these frames go: `Back` is from the second interface to the first, and what stands in front of
/// interfaces that lead the other way is of frames that go there. Of the kernel's reasons, in which both are mixed, what is claimed is
/// taken out.
///
/// What an interface of a pair drops on arrival is what its other end dropped instead of sending, and is not counted again.
pub fn account_frames(
    frames: &Frames,
    grown: &mut Snapshot,
    last: Option<(u64, u32)>,
    way: Way,
) -> (u64, Account) {
    let lost = frames.offered.saturating_sub(frames.forwarded);
    let [begin, end] = if way == Way::Out { [Role::Near, Role::Far] } else { [Role::Far, Role::Near] };
    let sends = |device: &Device| device.leaves.is_none_or(|leaves| leaves == way);
    let receives = |device: &Device| device.leaves.is_none_or(|leaves| leaves != way);
    let is_last = |space: &Space, device: &Device| last == Some((space.id, device.index));
    let mut reasons = grown.reasons.take();
    let on_path = || grown.spaces.iter().flat_map(|space| space.devices().map(move |device| (space, device)));
    let no_room: u64 = match last {
        Some(_) => on_path()
            .filter(|(space, device)| is_last(space, device))
            .map(|(_, one)| one.transmit_drops)
            .sum(),
        None => {
            let at_end = on_path().filter(|(space, one)| space.role == end && receives(one));
            at_end.map(|(_, one)| one.receive_drops).sum()
        }
    };
    let generator_lost = no_room.min(lost);
    let mut ledger = Ledger::new(lost - generator_lost);
    for (place, packets) in [
        (Place::ReplyTruncated, frames.truncated),
        (Place::ReplyExtended, frames.extended),
        (Place::ReplyChanged, frames.changed),
    ] {
        ledger.claim(Site::back(place), packets);
    }
    let mut over = no_room - generator_lost;
    for (space, device) in on_path() {
        // A queue that is full refuses, and so does a full ring without one.
        let refused = if space.role == begin { frames.refused } else { 0 };
        let only = |is_so: bool, packets: u64| if is_so { packets } else { 0 };
        let queued = only(sends(device), device.queue_drops.unwrap_or(0));
        let ring = only(sends(device) && !is_last(space, device), device.transmit_drops);
        let arriving = only(receives(device), device.ingress_drops);
        for (place, packets) in [
            (Place::Qdisc, queued.saturating_sub(refused)),
            (Place::Ring, ring.saturating_sub(refused.saturating_sub(queued))),
            (Place::Ingress, arriving.saturating_add(device.filter_drops)),
        ] {
            over += packets - ledger.claim(Site::out(place), packets);
        }
    }
    let waiting = on_path().filter(|(_, device)| sends(device)).map(|(_, device)| device.queue_waiting).sum();
    let waiting = ledger.claim(Site::out(Place::Late), waiting);
    let mut caveats = Vec::new();
    let over = over.saturating_sub(frames.beside);
    if lost > 0 && over > 0 {
        caveats.push(Caveat::CountersShared { beyond: over, unplaced: 0 });
    }
    let fallen = on_path().filter(|(_, device)| device.carrier_changes > 0);
    caveats.extend(fallen.map(|(_, device)| Caveat::LinkDown { interface: device.name.clone() }));
    for place in BY_REASON.into_iter().filter(|&place| may_vanish(grown, place)) {
        let said = reasons.as_ref().and_then(|reasons| reasons.get(&place)).copied().unwrap_or(0);
        let claimed = ledger.places().get(&Site::out(place)).copied().unwrap_or(0);
        let packets = ledger.claim(Site::out(place), said.saturating_sub(claimed));
        if let Some(left) = reasons.as_mut().and_then(|reasons| reasons.get_mut(&place)) {
            *left -= packets;
        }
        if packets > 0 {
            let because = "the kernel's tracepoint names it, in which the drops of all programs and namespaces are mixed";
            let place = Site::out(place).to_string();
            caveats.push(Caveat::PlaceInferred { place, packets, because: because.into() });
        }
    }
    if waiting > 0 {
        caveats.push(Caveat::StillQueued { lost, queued: waiting });
    }
    grown.reasons = reasons;
    (generator_lost, Account { lost_at: ledger.close(), caveats })
}

/// Whether frames can vanish at a place of the way, uncounted.
fn may_vanish(grown: &Snapshot, place: Place) -> bool {
    grown.spaces.iter().any(|space| match place {
        Place::Netfilter => space.ruled != Some(false),
        Place::Ingress => space.hooked != Some(false),
        _ => space.devices.is_none() || space.devices().any(|device| !device.up),
    })
}
