//! What is known of a trial whose losses are to be explained.

use super::full_queue::is_full_queue;
use crate::{AddressFamily, Arriving, Place, Site};
use dropline_trial::direction::host_and_place;
use dropline_trial::{LostAt, PacketTimes, TargetActivity};

/// What is known of a trial whose losses are to be explained.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Its packets.
    pub packets: &'a PacketTimes,
    /// UDP payload of those that have no length of their own.
    pub payload_bytes: u32,
    /// What they came under.
    pub family: AddressFamily,
    /// Packets that left.
    pub offered: u64,
    /// Packets that the target lost.
    pub lost: u64,
    /// Where, if that was accounted for.
    pub lost_at: Option<&'a LostAt>,
    /// What speaks against these numbers.
    pub doubts: Doubts,
    /// Whether a part of the way was not to be seen.
    pub unseen: bool,
    /// What the target did meanwhile, if it was watched.
    pub watched: Option<&'a TargetActivity>,
    /// How long packets were sent.
    pub duration_ns: u64,
    /// How long replies were waited for behind that, at most.
    pub drain_ns: u64,
    /// Chance of the replays.
    pub seed: u64,
}

/// What speaks against the numbers of a loss, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doubts {
    /// Of the lost ones, so many at most may not be the target's doing.
    pub not_the_targets: u64,
    /// So many that were counted at places beyond the loss: any of them may be another program's.
    pub beyond: u64,
    /// So many that were counted at a place and given to none, as they may be another program's.
    pub unplaced: u64,
    /// Packets of others that came to the target's socket, or may have: the replay does not know them.
    pub others: u64,
    /// Whether a limit of the service's answers is why requests had none.
    pub limited: bool,
}

impl Evidence<'_> {
    /// Packets as they arrived at the target, in order of time.
    pub(super) fn arrivals(&self) -> Vec<Arriving> {
        let arriving = self.packets.iter().filter_map(|packet| {
            let payload_bytes = packet.payload_bytes.map_or(self.payload_bytes, u32::from);
            Some(Arriving { at_ns: packet.left_ns?, payload_bytes })
        });
        let mut arrivals: Vec<Arriving> = arriving.collect();
        arrivals.sort_by_key(|packet| packet.at_ns);
        arrivals
    }

    /// Lost where packets wait, which is what the models are of; all of the loss where no place is known.
    pub(super) fn measured_by_model(&self) -> u64 {
        match self.lost_at {
            None => self.lost,
            Some(_) => self.at(Site::out(Place::ReceiveBuffer)) + self.own(),
        }
    }

    /// The same with its doubts: at least, and at most.
    pub(super) fn measured_between(&self) -> [u64; 2] {
        let Doubts { not_the_targets, beyond, unplaced, .. } = self.doubts;
        let measured = self.measured_by_model();
        let least = measured.saturating_sub(not_the_targets.saturating_add(beyond));
        [least, measured.saturating_add(unplaced).min(self.lost).max(measured)]
    }

    /// Whether most of the loss is where packets wait: only there would another server have lost fewer.
    pub(super) fn is_of_waiting(&self) -> bool {
        self.measured_by_model() * 2 > self.lost
    }

    pub(super) fn at(&self, site: Site) -> u64 {
        let (key, places) = (site.key(), self.lost_at.into_iter().flatten());
        places.filter(|(place, _)| host_and_place(place).1 == key).map(|(_, packets)| packets).sum()
    }

    /// Lost in the target's own queue: by its own count, or where its program took packets and did not answer them while as
    /// many waited as a queue holds. A buffer that was seen to be full is the one that was full.
    pub(super) fn own(&self) -> u64 {
        let counted = self.at(Site::out(Place::ServiceQueue));
        let unanswered = self.unanswered();
        let may_be = counted == 0 && self.at(Site::out(Place::ReceiveBuffer)) == 0;
        counted + if may_be && is_full_queue(self.packets) { unanswered } else { 0 }
    }

    /// Whether most of the loss is what its program took and did not answer, and no queue explains it.
    pub(super) fn is_by_its_program(&self) -> bool {
        self.unanswered() * 2 > self.lost && self.own() == 0
    }

    /// What a target that echoes took and did not answer.
    pub(super) fn unanswered(&self) -> u64 {
        let looks = self.watched.map_or(&[][..], |watched| &watched.samples);
        let ends = [looks.first(), looks.last()];
        let is_seen = ends.iter().flatten().filter(|look| look.drops.is_some()).count();
        match self.packets.returns.is_some() && !self.unseen && is_seen == 2 {
            true => self.at(Site::out(Place::Unexplained)),
            false => 0,
        }
    }

    /// Packets that the target served: what came back, and what was lost behind it.
    pub(super) fn served(&self) -> u64 {
        let behind = |key: &str| {
            ["return_", "reply_", Place::Late.name()]
                .iter()
                .any(|beginning| host_and_place(key).1.starts_with(beginning))
        };
        let places = self.lost_at.into_iter().flatten();
        let lost_behind: u64 = places.filter(|(key, _)| behind(key)).map(|(_, packets)| packets).sum();
        (self.offered.saturating_sub(self.lost)).saturating_add(lost_behind)
    }

    /// When nobody waits for a packet any more.
    pub(super) fn end_ns(&self) -> u64 {
        self.duration_ns.saturating_add(self.drain_ns)
    }

    /// Median payload.
    pub(super) fn usual_payload(&self) -> u32 {
        let mut lengths: Vec<u16> = self.packets.iter().filter_map(|packet| packet.payload_bytes).collect();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).map_or(self.payload_bytes, |&length| u32::from(length))
    }
}
