//! From counters to places: where the packets of one trial were lost.

use crate::claims::Hearing;
use crate::hops::HostPath;
use crate::{Account, Outcome, Snapshot};

/// Splits the loss of a trial into places. `grown` is how much each counter grew from before the first
/// departure to after the drain ([`Snapshot::since`]).
///
/// Where other programs may have lost packets in the same places, these places get only what cannot be theirs, unless what
/// was counted comes to the loss and not one packet more or less. That can be chance: `idle` is asked then, with how many
/// packets may be theirs, how much the counters grow while no packet of the trial is on its way.
pub fn account(outcome: &Outcome, grown: &Snapshot, idle: impl FnOnce(u64) -> Option<Snapshot>) -> Account {
    let trusting = Hearing::of(outcome, grown, false);
    if trusting.others == 0 {
        return trusting.judge();
    }
    let is_chance = |trusting: &Hearing<'_>| {
        let idle = idle(trusting.others)?;
        let any = Outcome { offered: u64::MAX, ..Outcome::default() };
        let lost = Hearing::of(&any, &idle, false);
        Some(lost.places().any(|place| trusting.places().any(|ours| ours == place)))
    };
    if trusting.fits() && is_chance(&trusting) != Some(true) {
        return trusting.judge();
    }
    Hearing::of(outcome, grown, true).judge()
}

/// Splits a loss into places of the hosts of a path and what lies between them. `grown` is how much the counters of each host
/// grew; the namespace of the host at `n` has the number `n`.
pub fn account_path(outcome: &Outcome, grown: &Snapshot, path: &HostPath) -> Account {
    let by_counters = || {
        let hearing = Hearing::on_path(outcome, grown, false, Some(path));
        let is_wary = hearing.others > 0 && !hearing.fits();
        if is_wary { Hearing::on_path(outcome, grown, true, Some(path)) } else { hearing }
    };
    let hearing = Hearing::of_flow(outcome, grown, path).unwrap_or_else(by_counters);
    let mut account = hearing.judge();
    // That nothing was lost between two hosts is known too, and says in which order they are passed.
    for link in path.links_out() {
        account.lost_at.entry(link).or_insert(0);
    }
    account
}
