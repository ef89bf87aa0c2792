//! Doubts about a trial: what was ours, what the network reported, what the clocks did.

use crate::kernel::view::View;
use crate::receive::received::Received;
use crate::send::sent::Sent;
use crate::sockets::flows::Flows;
use dropline_netrules::visit::Visit;
use dropline_stats::Histogram;
use dropline_trial::{ArrivalFidelity, Caveat, Disturbance, Fidelity, Packet, Throttled, Trial, TrialInput};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Says so in the trial.
pub(crate) fn doubt(
    trial: &mut Trial,
    sent: &Sent,
    received: &Received,
    kept: &ArrivalFidelity,
    throttled: Option<Throttled>,
    target: IpAddr,
) {
    let gone = sent.unreachable.as_ref();
    let missing = sent.intended.saturating_sub(sent.offered + gone.map_or(0, |gone| gone.packets));
    if missing > 0 {
        let (intended, offered) = (sent.intended, sent.offered);
        let error = refused_most(&sent.refused, missing, gone.map(|gone| gone.error.as_str()));
        let interface = error.as_ref().and_then(|_| View::here().ok()?.interface_towards(target));
        // A rule in front of an interface refuses a packet with the same word as a full queue.
        let error = error.map(|error| match barred_by(target).filter(|_| error == "ENOBUFS") {
            Some(rule) => format!("{error} ({rule})"),
            None => error,
        });
        trial.caveats.push(Caveat::GeneratorLimited { intended, offered, error, interface });
    }
    trial.caveats.extend(arrivals_not_kept(trial.input, &sent.lateness, kept));
    let is_behind = !trial.caveats.is_empty();
    let starved = sent.waited.filter(|&waited| is_behind && waited > trial.input.duration / 50);
    let waited = starved.unwrap_or_default();
    trial.disturbance = Some(Disturbance { displaced: sent.displaced, waited });
    if is_behind {
        trial.caveats.extend(kept_from_running(trial.input, starved, throttled));
    }
    let reports = received.unreachable.as_ref();
    let firsts = gone
        .map(|gone| (gone.at_ns, &gone.error))
        .into_iter()
        .chain(reports.map(|reports| (reports.at_ns, &reports.error)));
    if let Some((at_ns, error)) = firsts.min() {
        trial.caveats.push(Caveat::TargetUnreachable {
            error: error.clone(),
            at_ns,
            refused: gone.map_or(0, |gone| gone.packets),
            reports: reports.map_or(0, |reports| reports.reports),
        });
    }
    if received.join.steps > 0 {
        let (steps, largest_ns) = (received.join.steps, received.join.largest_step_ns);
        trial.caveats.push(Caveat::ClockStepped { steps, largest_ns });
    }
}

/// Once it is known what the links did: what the system refused while one was down says nothing of queues, and that no route
/// led to the target nothing of the target.
pub(crate) fn blame_a_link_that_was_down(trial: &mut Trial) {
    let down = trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::LinkDown { interface } => Some(interface.clone()),
        _ => None,
    });
    let Some(interface) = down else { return };
    let is_of_a_link = |error: &String| OF_A_LINK.contains(&error.as_str());
    trial.caveats.retain(|caveat| {
        !matches!(caveat, Caveat::TargetUnreachable { error, reports: 0, .. } if is_of_a_link(error))
    });
    let of_a_link: u64 = OF_A_LINK.iter().filter_map(|error| trial.refused.get(*error)).sum();
    // The system has several words for it, none of which is said of most packets.
    let took_most =
        |intended: u64, offered| of_a_link > 0 && 2 * of_a_link >= intended.saturating_sub(offered);
    let mut is_told = false;
    for caveat in &mut trial.caveats {
        let Caveat::GeneratorLimited { intended, offered, error, .. } = caveat else { continue };
        is_told = true;
        if error.as_ref().map_or_else(|| took_most(*intended, *offered), is_of_a_link) {
            *error = Some("link_down".into());
        }
    }
    let (intended, offered) = (trial.intended.unwrap_or(trial.offered), trial.offered);
    if !is_told && intended > offered && took_most(intended, offered) {
        let (error, interface) = (Some("link_down".into()), Some(interface));
        trial.caveats.push(Caveat::GeneratorLimited { intended, offered, error, interface });
    }
}

/// The doubt about a trial of which so many answers came after its drain.
pub(crate) fn answers_after_drain(trial: &Trial, late: u64, drain_ns: u64) -> Option<Caveat> {
    let taken = trial.service_delay.histogram.as_ref();
    // Where none came in time, the fastest took longer.
    let fastest_ns = taken.and_then(Histogram::min).unwrap_or(drain_ns.saturating_add(1));
    let slowest_ns = taken.and_then(Histogram::max).unwrap_or(fastest_ns);
    (late > 0).then(|| Caveat::AnswersAfterDrain {
        lost: trial.lost(),
        late,
        drain_ns,
        fastest_ns,
        slowest_ns,
    })
}

/// Of a trial in which something came that leads packets elsewhere: a counter that says where they were lost may have counted
/// those that it led away.
pub(crate) fn doubt_places(trial: &mut Trial) {
    let places =
        trial.lost_at.iter().flatten().filter(|(place, packets)| **packets > 0 && *place != "unexplained");
    let places: Vec<(String, u64)> =
        places.map(|(place, packets)| (place.replace('_', " "), *packets)).collect();
    let is_inferred = |caveats: &[Caveat], at: &str| {
        caveats.iter().any(|caveat| matches!(caveat, Caveat::PlaceInferred { place, .. } if place == at))
    };
    for (place, packets) in places {
        if !is_inferred(&trial.caveats, &place) {
            let because = "what came during the trial may have given them to another host there".into();
            trial.caveats.push(Caveat::PlaceInferred { place, packets, because });
        }
    }
}

/// The doubt about packets that are longer than something on their way carries in one piece, by name and bytes.
pub(crate) fn too_long(packet: Packet, target: IpAddr, carries: Option<(String, u32)>) -> Option<Caveat> {
    let packet_bytes = ip_bytes(packet.payload_bytes(), target);
    let (interface, mtu) = carries.filter(|(_, mtu)| packet_bytes > *mtu)?;
    Some(Caveat::PacketTooLong { packet_bytes, mtu, interface })
}

/// Bytes of a packet with so much UDP payload, its IP header included.
pub(crate) fn ip_bytes(payload: u32, target: IpAddr) -> u32 {
    payload + 8 + if target.to_canonical().is_ipv6() { 40 } else { 20 }
}

/// What the system says of packets to a link that is down, or that a link that is down keeps in its queue.
const OF_A_LINK: [&str; 5] = ["EAGAIN", "ENOBUFS", "ENETDOWN", "ENETUNREACH", "EHOSTUNREACH"];

/// The chain of a rule in front of the interface towards a target that may drop what goes there.
pub(super) fn barred_by(target: IpAddr) -> Option<String> {
    let mut here = View::here().ok()?;
    let route = here.route(target)?;
    let by = here.by(route.through?);
    let packets = Flows::from(target).tuples(route.source, &[target]);
    let firewall = here.firewall().ok()?;
    packets.into_iter().find_map(|packet| firewall.bars(&(packet, Visit::leaving(&by, true))))
}

/// The error with which the system refused half of the missing packets or more, beside the one that says that the target
/// was gone.
fn refused_most(refused: &BTreeMap<String, u64>, missing: u64, gone: Option<&str>) -> Option<String> {
    let others = refused.iter().filter(|(error, _)| gone != Some(error.as_str()));
    let (error, packets) = others.max_by_key(|(_, packets)| **packets)?;
    (2 * packets >= missing).then(|| error.clone())
}

/// Why the generator did not run when it should have: its quota, where that stopped it for a tenth of what it waited or more, and that it
/// had no CPU, where the quota explains less than half of that.
pub fn kept_from_running(
    input: TrialInput,
    waited: Option<Duration>,
    throttled: Option<Throttled>,
) -> Vec<Caveat> {
    let waited_ns = waited.map(|waited| waited.as_nanos() as u64);
    let least_ns = waited_ns.map_or(input.duration.as_nanos() as u64 / 50, |waited_ns| waited_ns / 10);
    let by_quota = throttled.filter(|throttled| throttled.stopped_ns >= least_ns);
    let explained_ns = by_quota.map_or(0, |throttled| throttled.stopped_ns.saturating_mul(2));
    let starved = waited_ns.filter(|waited_ns| explained_ns < *waited_ns);
    let by_quota = by_quota.map(|Throttled { runtime_us, period_us, times, stopped_ns }| {
        Caveat::GeneratorThrottled { stopped_ns, times, runtime_us, period_us }
    });
    let starved = starved.map(|waited_ns| Caveat::GeneratorStarved { waited_ns });
    by_quota.into_iter().chain(starved).collect()
}

/// Arrivals were not as asked when their gaps are distributed otherwise, where a send is cheap enough for them
/// to be right; and when one packet in a hundred left later than is [forgiven](Disturbance::forgiven).
fn arrivals_not_kept(input: TrialInput, lateness: &Histogram, kept: &ArrivalFidelity) -> Option<Caveat> {
    let intended_idt_ns = 1_000_000_000_000 / input.load.as_millipps();
    let lateness_p99_ns = lateness.quantile(0.99)?;
    let could_be_right = kept.send_cost_ns.is_some_and(|cost| cost.saturating_mul(10) < intended_idt_ns);
    let is_late = u128::from(lateness_p99_ns) > Disturbance::forgiven(input).as_nanos();
    (is_late || could_be_right && kept.fidelity() == Some(Fidelity::NotAsAsked))
        .then_some(Caveat::ArrivalsNotKept { lateness_p99_ns, intended_idt_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::Rate;

    fn lateness(late: u64, lateness_ns: u64) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000, 1000 - late);
        histogram.record_n(lateness_ns, late);
        histogram
    }

    #[test]
    fn what_the_system_refused_is_named_where_it_is_most_of_what_is_missing() {
        let refused = [("ENOBUFS".to_owned(), 60), ("ECONNREFUSED".to_owned(), 90)].into();
        let most = |missing, gone| refused_most(&refused, missing, gone);
        assert_eq!(most(100, Some("ECONNREFUSED")).as_deref(), Some("ENOBUFS"));
        assert_eq!((most(121, Some("ECONNREFUSED")), most(181, None)), (None, None));
        assert_eq!(refused_most(&BTreeMap::new(), 1, None), None);
    }

    #[test]
    fn what_a_link_that_was_down_refused_is_its_doing_however_many_words_the_system_has_for_it() {
        let input = TrialInput { load: Rate::pps(1e3).unwrap(), duration: Duration::from_secs(1) };
        let blamed = |error: Option<&str>, refused: &[(&str, u64)]| {
            let mut trial = Trial::new(1, input, 1);
            trial.refused = refused.iter().map(|(error, count)| ((*error).to_owned(), *count)).collect();
            let (error, interface) = (error.map(str::to_owned), None);
            trial.caveats.push(Caveat::GeneratorLimited { intended: 1000, offered: 800, error, interface });
            trial.caveats.push(Caveat::LinkDown { interface: "near".into() });
            blame_a_link_that_was_down(&mut trial);
            match trial.caveats.swap_remove(0) {
                Caveat::GeneratorLimited { error, .. } => error.as_deref() == Some("link_down"),
                other => panic!("{other:?}"),
            }
        };
        assert!(blamed(None, &[("EAGAIN", 70), ("ENOBUFS", 70), ("ENETDOWN", 60)]));
        assert!(blamed(Some("ENOBUFS"), &[("ENOBUFS", 200)]));
        assert!(!blamed(None, &[("ENOBUFS", 99)]) && !blamed(None, &[]) && !blamed(Some("EPERM"), &[]));
    }

    #[test]
    fn a_route_that_a_link_took_with_it_is_no_target_that_went_away() {
        let input = TrialInput { load: Rate::pps(1e3).unwrap(), duration: Duration::from_secs(1) };
        let codes = |error: &str, falls: bool| {
            let mut trial = Trial { intended: Some(1000), offered: 800, ..Trial::new(1, input, 1) };
            trial.refused = [(error.to_owned(), 200)].into();
            let error = error.to_owned();
            trial.caveats.push(Caveat::TargetUnreachable { error, at_ns: 1, refused: 200, reports: 0 });
            if falls {
                trial.caveats.push(Caveat::LinkDown { interface: "lo".into() });
            }
            blame_a_link_that_was_down(&mut trial);
            let mut codes: Vec<String> = trial.caveats.iter().map(|one| one.code().to_owned()).collect();
            codes.sort();
            (codes.join(" "), trial.is_invalid())
        };
        assert_eq!(codes("ENETUNREACH", true), ("generator_limited link_down".to_owned(), true));
        assert_eq!(codes("ENETUNREACH", false), ("target_unreachable".to_owned(), false));
        assert_eq!(codes("ECONNREFUSED", true).0, "link_down target_unreachable");
    }

    #[test]
    fn a_generator_that_its_quota_stopped_was_not_merely_kept_from_its_cpu() {
        let input = TrialInput { load: Rate::pps(1e4).unwrap(), duration: Duration::from_secs(1) };
        let ms = Duration::from_millis;
        let stopped = |ms: u64| Throttled {
            runtime_us: 20_000,
            period_us: 100_000,
            times: 9,
            stopped_ns: ms * 1_000_000,
        };
        let code = |waited, throttled| {
            let caveats = kept_from_running(input, waited, throttled);
            caveats.iter().map(|caveat| caveat.code().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(code(Some(ms(700)), Some(stopped(690))), "generator_throttled");
        assert_eq!(code(None, Some(stopped(690))), "generator_throttled");
        assert_eq!(code(Some(ms(700)), Some(stopped(200))), "generator_throttled generator_starved", "both");
        assert_eq!(code(Some(ms(700)), Some(stopped(30))), "generator_starved");
        assert_eq!(code(Some(ms(700)), None), "generator_starved");
        assert_eq!((code(None, None), code(None, Some(stopped(1)))), (String::new(), String::new()));
    }

    #[test]
    fn a_rare_pause_of_the_machine_is_no_fault_and_a_common_one_is() {
        let at = |pps| TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_secs(1) };
        let judged =
            |pps, lateness: Histogram| arrivals_not_kept(at(pps), &lateness, &ArrivalFidelity::default());
        assert_eq!(judged(1e5, lateness(10, 4_000_000)), None, "1 % exactly is not p99");
        assert!(judged(1e5, lateness(11, 4_000_000)).is_some());
        assert_eq!(judged(1e3, lateness(500, 4_000_000)), None, "four packets' time");
        assert_eq!(judged(1e6, lateness(500, 400_000)), None);
    }
}
