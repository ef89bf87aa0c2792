//! Whether replies came as far apart as they did for the server's sake, or for that of a queue on the way.

use super::backlog::backlogs;
use super::{Evidence, Explanation, Lack, ServiceFrom};
use crate::{Place, Site, Way};

/// CPU time that is this part of the pace explains it: the rest is the kernel's, and waking up.
const ITS_OWN: f64 = 1.5;
/// CPU time that is this part of the pace or less does not.
const FAR_BELOW: f64 = 4.0;
/// Fewer packets may be those of one read.
const FEWEST: u64 = 32;
/// What waited was to be seen by so many looks.
const LOOKS: f64 = 5.0;

/// What speaks against the pace of the replies as the server's service time; `None` if nothing does.
pub(super) fn doubt(found: &Explanation, evidence: &Evidence<'_>, charged: u32) -> Option<Lack> {
    let server = found.server.as_ref().filter(|server| server.service_from == ServiceFrom::Replies)?;
    let pace_ns = server.service_ns;
    let cpu_ns = evidence.watched.and_then(|watched| watched.cpu_ns_a_packet()).filter(|ns| *ns > 0.0);
    let is_below = |part: f64| cpu_ns.is_none_or(|cpu_ns| cpu_ns * part < pace_ns);
    let model = found.model.filter(|model| model.measured == 0 && model.replay.low > 0);
    if let Some(way) = full_queue(evidence).filter(|_| is_below(ITS_OWN)) {
        return Some(match way {
            Way::Out => Lack::PacedByQueue,
            Way::Back => Lack::PacedByReturnQueue,
        });
    }
    // A server as slow as that would have lost packets in front of it.
    if found.lost > 0 && model.is_some() {
        return Some(Lack::PacedElsewhere);
    }
    // What the target's program took and dropped waits there.
    let is_own = found.unanswered > 0 && found.model.is_some_and(|model| model.fits());
    let waits_elsewhere =
        !is_own && cpu_ns.is_some() && is_below(FAR_BELOW) && waited_elsewhere(evidence, charged, pace_ns);
    waits_elsewhere.then_some(Lack::PaceNotKnown)
}

/// The way on which more was lost in a queue than where packets wait for the server. A full send buffer is such a queue's too.
fn full_queue(evidence: &Evidence<'_>) -> Option<Way> {
    let at = |site: Site| evidence.at(site);
    let out = at(Site::out(Place::Qdisc));
    let back = at(Site::back(Place::Qdisc)) + at(Site::back(Place::SendBuffer));
    let at_server = at(Site::out(Place::ReceiveBuffer)) + at(Site::out(Place::ServiceQueue));
    (out + back > at_server).then_some(if out > back { Way::Out } else { Way::Back })
}

/// Whether far more packets were on their way, for long enough to be looked at, than ever waited at the target's socket.
fn waited_elsewhere(evidence: &Evidence<'_>, charged: u32, pace_ns: f64) -> bool {
    let Some(watched) = evidence.watched else { return false };
    let Some(queued_bytes) = watched.largest_queued_bytes else { return false };
    let most = backlogs(evidence.packets).iter().map(|moment| u64::from(moment.backlog)).max().unwrap_or(0);
    let at_socket = queued_bytes / u64::from(charged.max(1));
    let lasted_ns = most as f64 * pace_ns;
    most >= FEWEST && most > 4 * at_socket && lasted_ns > LOOKS * watched.every.as_nanos() as f64
}
