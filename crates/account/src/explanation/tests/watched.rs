//! A target that was looked at while it lost packets, beside others or alone.

use super::*;

/// What a process does with each packet.
#[derive(Clone, Copy)]
struct Habits {
    /// It runs.
    runs_ns: u64,
    /// Then it sleeps.
    sleeps_ns: u64,
    /// It has no CPU for these.
    starved: &'static [(u64, u64)],
    /// It sleeps through these whatever waits.
    paused: &'static [(u64, u64)],
}

/// A one-way target with a buffer of 256 packets, that gives each place back at once, as looks each millisecond see it
/// under 3 s of this load; the kernel counts its waiting for a CPU when it gets one.
fn one_way(gap_ns: u64, habits: Habits) -> (PacketTimes, TargetActivity) {
    let starved = Stalls::new(habits.starved.to_vec());
    let off = Stalls::new([habits.starved, habits.paused].concat());
    let mut packets = PacketTimes::with_room((3_000_000_000 / gap_ns) as usize, false);
    let mut watched = TargetActivity { buffer_bytes: Some(256 * 832), ..TargetActivity::default() };
    let (mut waiting, mut drops, mut taken, mut free, mut next) = (0u64, 0u64, 0u64, 0u64, 0u64);
    for at_ns in (0..3_100_000_000).step_by(1_000_000) {
        loop {
            let arrives = Some(next * gap_ns).filter(|&at| at < 3_000_000_000).unwrap_or(u64::MAX);
            let reads = if waiting > 0 { off.running_from(free) } else { u64::MAX };
            if arrives.min(reads) > at_ns {
                break;
            }
            if reads <= arrives {
                (waiting, taken) = (waiting - 1, taken + 1);
                free = off.done(reads, habits.runs_ns) + habits.sleeps_ns;
            } else {
                packets.departures.push(arrives, Some(arrives), 0);
                free = free.max(arrives);
                next += 1;
                if waiting < 256 { waiting += 1 } else { drops += 1 }
            }
        }
        // A wait that has not ended is not counted yet.
        let until = if starved.runs_at(at_ns) { at_ns } else { 0 };
        let counted = watched.samples.last().map_or(0, |look: &dropline_trial::Look| look.waited_ns.unwrap());
        watched.samples.push(dropline_trial::Look {
            at_ns: at_ns as i64,
            queued_bytes: Some(waiting * 832),
            drops: Some(drops),
            cpu_ns: Some(taken * habits.runs_ns),
            waited_ns: Some(starved.within(0, until).max(counted)),
            switches: None,
        });
    }
    watched.packets = taken;
    watched.cpu_ns = Some(taken * habits.runs_ns);
    watched.busiest_cpu_ns = watched.cpu_ns;
    watched.waited_ns = watched.samples.last().and_then(|look| look.waited_ns);
    (packets, watched)
}

fn explained_one_way(gap_ns: u64, habits: Habits) -> Explanation {
    explained_in_quota(gap_ns, habits, None)
}

fn explained_in_quota(gap_ns: u64, habits: Habits, throttled: Option<Throttled>) -> Explanation {
    let (packets, watched) = one_way(gap_ns, habits);
    let watched = TargetActivity { throttled, ..watched };
    explained_of(&packets, &watched, watched.samples.last().unwrap().drops.unwrap())
}

/// Where so many of the packets were lost at the target's socket.
fn explained_of(packets: &PacketTimes, watched: &TargetActivity, lost: u64) -> Explanation {
    let lost_at: LostAt = BTreeMap::from([("receive_buffer".to_owned(), lost)]);
    explain(&Evidence {
        lost,
        lost_at: Some(&lost_at),
        watched: Some(watched),
        duration_ns: 3_000_000_000,
        ..evidence(packets)
    })
}

const SLEEPER: Habits = Habits { runs_ns: 60_000, sleeps_ns: 2_000_000, starved: &[], paused: &[] };
const SPINNER: Habits = Habits { runs_ns: 100_000, sleeps_ns: 0, ..SLEEPER };
const THREE_PAUSES: &[(u64, u64)] =
    &[(200_000_000, 500_000_000), (1_200_000_000, 1_500_000_000), (2_200_000_000, 2_500_000_000)];

#[test]
fn a_one_way_target_that_sleeps_over_each_packet_waits_and_is_not_starved() {
    let found = explained_one_way(1_000_000, SLEEPER);
    let server = found.server.as_ref().unwrap();
    assert_eq!((server.service_from, server.stalls), (ServiceFrom::Queue, 0), "{server:?}");
    assert!((server.service_ns - 2_060_000.0).abs() < 20_000.0, "{server:?}");
    let serving = server.serving.unwrap();
    assert!(serving.share(serving.waiting_ns).unwrap() > 0.95, "{serving:?}");
    assert!(found.model.unwrap().error().unwrap().abs() < 0.05, "{:?}", found.model);
    assert_eq!(found.cause, Some(Cause::Overload));
    assert_eq!(verdict(&found, Change::Worker), Verdict::Helps, "{:?}", found.remedies);
    assert_eq!(verdict(&found, Change::OwnCpu), Verdict::DoesNot, "{:?}", found.remedies);
}

#[test]
fn a_one_way_target_that_pauses_is_not_cured_by_a_cpu_of_its_own() {
    let paused = Habits { runs_ns: 20_000, sleeps_ns: 0, paused: THREE_PAUSES, ..SLEEPER };
    let found = explained_one_way(333_000, paused);
    let server = found.server.as_ref().unwrap();
    assert_eq!((found.cause, server.stalls), (Some(Cause::Stalls), 3), "{server:?}");
    assert!(server.paused_ns.unwrap() * 10 > server.stalled_ns * 9, "{server:?}");
    assert_eq!(verdict(&found, Change::OwnCpu), Verdict::DoesNot, "{:?}", found.remedies);
    assert_eq!(verdict(&found, Change::Worker), Verdict::MayHelp, "another may go on, or stop as well");
}

#[test]
fn a_one_way_target_that_is_kept_from_its_cpu_is_cured_by_one_of_its_own() {
    let found = explained_one_way(333_000, Habits { starved: THREE_PAUSES, ..SPINNER });
    let server = found.server.as_ref().unwrap();
    assert_eq!((found.cause, server.stalls), (Some(Cause::NoCpu), 3), "{server:?}");
    assert!(server.not_scheduled_ns.unwrap() * 10 > server.stalled_ns * 9, "{server:?}");
    assert_eq!(verdict(&found, Change::OwnCpu), Verdict::Helps, "{:?}", found.remedies);
}

#[test]
fn a_target_that_its_quota_stops_is_cured_by_another_quota_and_not_by_a_cpu_of_its_own() {
    let starved = Habits { starved: THREE_PAUSES, ..SPINNER };
    let stopped =
        |ms: u64| Throttled { runtime_us: 20_000, period_us: 100_000, times: 9, stopped_ns: ms * 1_000_000 };
    let found = explained_in_quota(333_000, starved, Some(stopped(890)));
    assert_eq!((found.cause, found.throttled), (Some(Cause::Quota), Some(stopped(890))));
    assert_eq!(verdict(&found, Change::NoQuota), Verdict::Helps, "{:?}", found.remedies);
    assert!(found.with(|change| change == Change::OwnCpu).is_none(), "{:?}", found.remedies);
    let hardly = explained_in_quota(333_000, starved, Some(stopped(5)));
    assert_eq!(hardly.cause, Some(Cause::NoCpu), "others had its CPU");
}

#[test]
fn a_loss_that_the_replay_exceeds_has_no_cause_and_no_remedy() {
    let (packets, mut watched) = one_way(50_000, SPINNER);
    let drops = watched.samples.last().unwrap().drops.unwrap();
    for look in &mut watched.samples {
        // Nothing tells how full its socket was: its CPU time is all there is.
        (look.queued_bytes, look.drops) = (None, None);
    }
    let with = |lost: u64| explained_of(&packets, &watched, lost);
    let agrees = with(drops);
    assert_eq!(agrees.cause, Some(Cause::Overload), "{:?}", agrees.model);
    for lost in [drops / 2, drops * 17 / 10] {
        let found = with(lost);
        assert!(found.lacks.contains(&Lack::NotReplayed), "{:?}", found.model);
        assert!(found.cause.is_none() && found.remedies.is_empty(), "{:?}", found.cause);
    }
}

/// Others have the CPU for the second half of each of these, for 3 s.
fn shared_cpu(each_ns: u64) -> &'static [(u64, u64)] {
    let halves = (0..3_100_000_000 / each_ns).map(|n| (n * each_ns + each_ns / 2, (n + 1) * each_ns));
    Box::leak(halves.collect())
}

/// What the same target loses of the same load on a CPU of its own.
fn lost_alone(gap_ns: u64, habits: Habits) -> u64 {
    let (_, watched) = one_way(gap_ns, Habits { starved: &[], ..habits });
    watched.samples.last().unwrap().drops.unwrap()
}

#[test]
fn a_target_that_is_too_slow_for_the_load_is_overloaded_also_on_a_busy_machine() {
    // It takes 2.5 kpps alone, half of that beside others, and gets 5.
    for each_ns in [1_600_000, 20_000_000] {
        let habits = Habits { runs_ns: 400_000, starved: shared_cpu(each_ns), ..SPINNER };
        let found = explained_one_way(200_000, habits);
        let own_cpu = found.with(|change| change == Change::OwnCpu).unwrap();
        let alone = lost_alone(200_000, habits);
        assert_eq!(found.cause, Some(Cause::Overload), "{each_ns}: {:?} {:?}", found.model, found.server);
        assert!((own_cpu.low..=own_cpu.high).contains(&alone), "{each_ns}: {alone} of {own_cpu:?}");
    }
}

#[test]
fn a_target_that_would_keep_up_alone_is_never_said_to_be_overloaded_for_sure() {
    // It takes 2.5 kpps alone, half of that beside others, and gets 2.
    for each_ns in [8_000_000, 200_000_000] {
        let habits = Habits { runs_ns: 400_000, starved: shared_cpu(each_ns), ..SPINNER };
        let found = explained_one_way(500_000, habits);
        let own_cpu = found.with(|change| change == Change::OwnCpu).unwrap();
        let alone = lost_alone(500_000, habits);
        let causes = [Some(Cause::NoCpu), Some(Cause::NoCpuOrLoad)];
        assert!(causes.contains(&found.cause), "{each_ns}: {:?} {:?}", found.cause, found.server);
        assert!((own_cpu.low..=own_cpu.high).contains(&alone), "{each_ns}: {alone} of {own_cpu:?}");
    }
}

#[test]
fn beside_packets_of_others_that_the_replay_does_not_know_nothing_is_blamed() {
    let (packets, watched) = one_way(50_000, SPINNER);
    let drops = watched.samples.last().unwrap().drops.unwrap();
    let lost_at: LostAt = BTreeMap::from([("receive_buffer".to_owned(), drops)]);
    let found = |others: u64| {
        explain(&Evidence {
            lost: drops,
            lost_at: Some(&lost_at),
            doubts: Doubts { others, ..Doubts::default() },
            watched: Some(&watched),
            duration_ns: 3_000_000_000,
            ..evidence(&packets)
        })
    };
    let overload = found(0);
    assert_eq!(overload.cause, Some(Cause::Overload));
    // What a CPU of its own would lose all the same is not lost for want of one.
    let same = overload.with(Change::is_a_cpu).expect("it was tried").low;
    assert!(same > 0 && overload.for_want_of_a_cpu() == Some(overload.lost - same), "{same}");
    let beside = found(500);
    assert!(beside.cause.is_none() && beside.remedies.is_empty(), "{:?}", beside.cause);
    assert!(beside.lacks.contains(&Lack::OthersCame), "{:?}", beside.lacks);
}
