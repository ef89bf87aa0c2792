//! What a CPU of its own, or another quota, would change for a target that was looked at.

use super::{MS, Seen, US, busy, times};
use dropline_account::Explanation;
use dropline_account::explanation::{Cause, Throttled};
use dropline_account::remedy::{Change, Verdict};
use dropline_trial::{Look, PacketTimes, TargetActivity};

/// A one-way target with a buffer of 64 packets that gives each place back at once, as looks each millisecond see it: so
/// many packets come in each, and it takes as many of them as these say, and has the CPU and waits for it as long.
fn explained(come: u64, steps: &[(u64, u64, u64)], throttled: Option<Throttled>) -> Explanation {
    let mut packets = PacketTimes::with_room(come as usize * steps.len(), false);
    let mut look = Look {
        at_ns: 0,
        queued_bytes: Some(0),
        drops: Some(0),
        cpu_ns: Some(0),
        waited_ns: Some(0),
        switches: None,
    };
    let mut samples = vec![look];
    let (mut waiting, mut lost) = (0, 0);
    for (at_ns, &(takes, cpu_ns, waited_ns)) in (0..).step_by(MS as usize).zip(steps) {
        (1..=come).for_each(|n| {
            let left = at_ns + n * MS / come;
            packets.departures.push(left, Some(left), 0);
        });
        waiting = (waiting + come).saturating_sub(takes);
        lost += waiting.saturating_sub(64);
        waiting = waiting.min(64);
        look = Look {
            at_ns: (at_ns + MS) as i64,
            queued_bytes: Some(waiting * 832),
            drops: Some(lost),
            cpu_ns: look.cpu_ns.map(|so_far| so_far + cpu_ns),
            waited_ns: look.waited_ns.map(|so_far| so_far + waited_ns),
            switches: None,
        };
        samples.push(look);
    }
    let of_all = |of: fn(&(u64, u64, u64)) -> u64| Some(steps.iter().map(of).sum());
    let watched = TargetActivity {
        buffer_bytes: Some(64 * 832),
        busiest_cpu_ns: of_all(|step| step.1),
        waited_ns: of_all(|step| step.2),
        samples,
        throttled,
        ..TargetActivity::default()
    };
    let seen = Seen::of(packets).watched(watched).lost_at(&[("receive_buffer", lost)]);
    Seen { duration_ns: steps.len() as u64 * MS, ..seen }.explained()
}

fn verdict(found: &Explanation, change: Change) -> Option<Verdict> {
    let remedy = found.remedies.iter().find(|remedy| remedy.change == change)?;
    Some(found.verdict(remedy))
}

#[test]
fn a_cpu_of_its_own_spares_a_target_the_share_of_its_service_in_which_it_had_none() {
    // It takes 10 of 12 in each millisecond, and has no CPU for six tenths of that, or sleeps.
    for (waited_ns, helps) in [(600 * US, Verdict::MayHelp), (0, Verdict::DoesNot)] {
        let found = explained(12, &[(10, 400 * US, waited_ns); 300], None);
        let cause = if waited_ns > 0 { Cause::NoCpuOrLoad } else { Cause::Overload };
        assert_eq!(found.cause, Some(cause), "{:?}", found.model);
        assert_eq!(verdict(&found, Change::OwnCpu), Some(helps), "{waited_ns}: {:?}", found.remedies);
    }
}

#[test]
fn a_quota_is_to_blame_for_a_tenth_of_the_time_without_a_cpu() {
    let of = |waited_ns, stopped_ns| {
        let throttled = Throttled { runtime_us: 1, period_us: 2, times: 3, stopped_ns };
        explained(12, &[(10, 400 * US, waited_ns); 300], Some(throttled))
    };
    let without_ns = of(600 * US, 0).server.unwrap().serving.unwrap().not_scheduled_ns;
    for (stopped_ns, is_quota) in [(without_ns.div_ceil(10), true), (without_ns.div_ceil(10) - 1, false)] {
        let found = of(600 * US, stopped_ns);
        assert_eq!(verdict(&found, Change::NoQuota).is_some(), is_quota, "{:?}", found.remedies);
        assert_eq!(verdict(&found, Change::OwnCpu).is_none(), is_quota, "the one or the other");
    }
    let slept = of(0, 50 * MS);
    assert_eq!(verdict(&slept, Change::NoQuota), None, "it always had a CPU");
}

#[test]
fn a_stall_is_the_schedulers_if_it_had_no_cpu_for_half_of_it() {
    let of = |waited_ns| {
        let mut steps = [(12, 500 * US, 0); 300];
        steps[100..115].fill((0, 0, 0));
        steps[114].2 = waited_ns;
        explained(8, &steps, None)
    };
    let stalled_ns = of(0).server.unwrap().stalled_ns;
    for (waited_ns, cause, verdict_of_own_cpu) in [
        (stalled_ns.div_ceil(2), Cause::NoCpu, Verdict::Helps),
        (stalled_ns.div_ceil(2) - 1, Cause::NoCpuOrLoad, Verdict::MayHelp),
    ] {
        let found = of(waited_ns);
        assert_eq!(found.cause, Some(cause), "{:?}", found.model);
        assert_eq!(verdict(&found, Change::OwnCpu), Some(verdict_of_own_cpu), "{:?}", found.server);
    }
}

#[test]
fn a_longer_queue_is_so_many_times_as_long() {
    // Forty wait and one is served when 24 more come.
    let mut packets = busy(40, 40 * US);
    packets.extend((0..24).map(|n| (MS + 1 + n, None)));
    let found = Seen::of(times(&packets)).lost_at(&[("service_queue", 24)]).explained();
    assert!(
        found.buffer.is_some_and(|buffer| buffer.own_queue && buffer.packets == 40),
        "{:?}",
        found.buffer
    );
    assert!(
        found.with(|change| change == Change::Queue { times: 2, packets: 80 }).is_some(),
        "{:?}",
        found.remedies
    );
}
