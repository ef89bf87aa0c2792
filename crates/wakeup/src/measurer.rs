//! A trial of wake-ups: threads sleep to a common schedule, the machine is looked at beside them.

use crate::machine::{self, AwakeCpus, CpuTime};
use crate::settings::{Policy, WakeupSettings};
use crate::sleeper::{Orders, Part, Sleeper};
use crate::sys;
use dropline_stats::{Cut, Histogram, Recorder};
use dropline_trial::wakeups::{Spike, WakeupSlice, WakeupThread};
use dropline_trial::{
    Caveat, Delay, DelayKind, Extra, Measurer, Slice, Stamp, Trial, TrialInput, Wakeups, seed,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Recorders of all threads together; a slice of a thread has one, and one takes 60 000 bytes.
const MOST_RECORDERS: u32 = 1280;
/// From making the threads to the first wake-up.
const LEAD_NS: i64 = 20_000_000;
/// A timer slack above this is said: it is in every delay.
const SLACK_SAID_NS: u64 = 1_000;

/// Performs trials of wake-ups.
#[derive(Debug)]
pub struct WakeupMeasurer {
    settings: WakeupSettings,
    slices: Option<u32>,
    seed: u64,
    number: u64,
    stop: Arc<AtomicBool>,
}

/// Why a trial of wake-ups could not be performed.
#[derive(Debug, thiserror::Error)]
pub enum WakeupError {
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// A CPU that was asked for is not there, or not for us.
    #[error("CPU {cpu} is not among those that this program may use: {allowed:?}")]
    NoCpu {
        /// Asked for.
        cpu: usize,
        /// There are.
        allowed: Vec<usize>,
    },
    /// Not one wake-up is due in the time.
    #[error("not one wake-up is due in {0:?}: ask for a higher load or a longer trial")]
    NoWakeup(Duration),
    /// The system did not start a thread.
    #[error("a thread could not be started: {0}")]
    Thread(std::io::Error),
    /// The system does not say which CPUs there are.
    #[error("the system refused: {0}")]
    System(#[from] std::io::Error),
}

impl WakeupMeasurer {
    /// `seed` is that of the profile; trials are numbered from `first_trial`.
    pub fn new(
        settings: WakeupSettings,
        slices: Option<u32>,
        seed: u64,
        first_trial: u64,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self { settings, slices, seed, number: first_trial, stop }
    }

    /// CPUs that threads are pinned to, in turn.
    ///
    /// # Errors
    /// If one that was asked for may not be used.
    pub fn cpus(&self) -> Result<Vec<usize>, WakeupError> {
        let allowed = sys::allowed_cpus()?;
        match &self.settings.cpus {
            // The last first: the first ones serve most interrupts.
            None => Ok(allowed.into_iter().rev().collect()),
            Some(asked) => match asked.iter().find(|cpu| !allowed.contains(cpu)) {
                Some(&cpu) => Err(WakeupError::NoCpu { cpu, allowed }),
                None => Ok(asked.clone()),
            },
        }
    }

    fn orders(&self, input: TrialInput, cpus: &[usize]) -> Result<Vec<Orders>, WakeupError> {
        let threads = u64::from(self.settings.threads.max(1));
        let length_ns = u64::try_from(input.duration.as_nanos()).unwrap_or(u64::MAX);
        let all = u128::from(input.load.as_millipps()) * u128::from(length_ns) / 1_000_000_000_000;
        let count = u64::try_from(all).unwrap_or(u64::MAX) / threads;
        if count == 0 {
            return Err(WakeupError::NoWakeup(input.duration));
        }
        let most = (MOST_RECORDERS / self.settings.threads.max(1)).max(1);
        let most = most.min(u32::try_from(count).unwrap_or(u32::MAX));
        let cut = Cut::of(length_ns, self.slices).at_most(most);
        let epoch_ns = sys::now_ns() + LEAD_NS;
        Ok((0..threads as usize)
            .map(|thread| Orders {
                policy: self.settings.policy,
                cpu: cpus[thread % cpus.len()],
                timer_slack_ns: (self.settings.timer_slack.as_nanos() as u64).max(1),
                epoch_ns,
                count,
                length_ns,
                cut,
                stop_above_ns: self.settings.stop_above.map(|limit| limit.as_nanos() as i64),
            })
            .collect())
    }
}

impl Measurer for WakeupMeasurer {
    type Error = WakeupError;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, WakeupError> {
        let begun = Instant::now();
        let cpus = self.cpus()?;
        let used: Vec<usize> = cpus.iter().copied().take(self.settings.threads.max(1) as usize).collect();
        let awake = AwakeCpus::hold();
        let locked = sys::lock_memory().is_ok();
        let orders = self.orders(input, &cpus)?;
        let sleepers: Vec<Sleeper> = orders.iter().map(Sleeper::new).collect();
        let spiked = AtomicBool::new(false);
        let (seen, times) = thread::scope(|scope| {
            let threads: Vec<_> = orders
                .iter()
                .zip(sleepers)
                .map(|(orders, sleeper)| {
                    let (stop, spiked) = (&self.stop, &spiked);
                    thread::Builder::new()
                        .name("wakeup".into())
                        .spawn_scoped(scope, move || sleeper.sleep(orders, stop, spiked))
                })
                .collect::<Result<_, _>>()
                // Those that did start end.
                .inspect_err(|_| spiked.store(true, Ordering::Relaxed))
                .map_err(WakeupError::Thread)?;
            let times = look(&orders[0], &used, &self.stop, &spiked);
            let seen =
                threads.into_iter().map(|thread| thread.join().expect("a sleeper does not panic")).collect();
            Ok::<(Vec<Sleeper>, _), WakeupError>((seen, times))
        })
        .inspect_err(|_| sys::unlock_memory())?;
        sys::unlock_memory();
        let stopped = self.stop.load(Ordering::Relaxed);
        let woken = seen.iter().map(|sleeper| sleeper.due).max().unwrap_or(0);
        if stopped && woken == 0 {
            return Err(WakeupError::Interrupted);
        }
        let mut trial = Trial::new(self.number, input, seed::of_trial(self.seed, self.number));
        self.number += 1;
        let setup = Setup { locked, awake: awake.is_some(), policy: self.settings.policy };
        fill(&mut trial, &orders[0], seen, &times, &setup);
        if stopped {
            trial.duration = trial.duration.min(Duration::from_nanos(orders[0].offset_ns(woken)));
            let mut left = trial.duration;
            for slice in &mut trial.slices {
                slice.duration = slice.duration.min(left);
                left -= slice.duration;
            }
            trial.caveats.push(Caveat::Interrupted);
        }
        trial.elapsed = begun.elapsed();
        Ok(trial)
    }
}

/// What was prepared for the threads.
struct Setup {
    locked: bool,
    awake: bool,
    policy: Policy,
}

/// Looks at the CPUs' time at the end of each slice, from the epoch on.
fn look(orders: &Orders, cpus: &[usize], stop: &AtomicBool, spiked: &AtomicBool) -> Vec<Option<CpuTime>> {
    let slices = orders.cut.slices();
    let mut times = Vec::with_capacity(slices + 1);
    for slice in 0..=slices {
        let at = orders.epoch_ns + orders.cut.begin_ns(slice) as i64;
        while sys::now_ns() < at && !stop.load(Ordering::Relaxed) && !spiked.load(Ordering::Relaxed) {
            sys::sleep_until(at.min(sys::now_ns() + 50_000_000));
        }
        times.push(CpuTime::of(cpus));
        if stop.load(Ordering::Relaxed) || spiked.load(Ordering::Relaxed) {
            break;
        }
    }
    times
}

fn fill(trial: &mut Trial, orders: &Orders, seen: Vec<Sleeper>, times: &[Option<CpuTime>], setup: &Setup) {
    let due: u64 = seen.iter().map(|sleeper| sleeper.due).sum();
    let mut all = Histogram::new();
    let mut delay = Delay::default();
    for sleeper in &seen {
        if let Some(histogram) = &sleeper.delay.histogram {
            all.merge(histogram);
        }
        delay.negative += sleeper.delay.negative;
        delay.negative_min_ns =
            [delay.negative_min_ns, sleeper.delay.negative_min_ns].into_iter().flatten().min();
    }
    let woken = all.count() + delay.negative;
    delay.histogram = Some(all);
    let first_spike = seen
        .iter()
        .filter_map(|sleeper| sleeper.spike.map(|spike| (sleeper.cpu, spike)))
        .min_by_key(|(_, (n, _))| *n);
    if let Some((_, (n, _))) = first_spike {
        let length = u128::from(orders.length_ns) * u128::from(n + 1) / u128::from(orders.count);
        trial.duration = Duration::from_nanos(length as u64);
    }
    trial.intended = Some(due);
    trial.offered = due;
    trial.forwarded = woken;
    trial.stamp = Some(Stamp::App);
    trial.delay_kind = Some(DelayKind::Lateness);
    trial.delay = delay;
    // After a spike nothing is due.
    let last = seen.iter().filter_map(|sleeper| sleeper.parts.iter().rposition(|part| part.due > 0)).max();
    let cut = orders.cut;
    let parts: Vec<Part> = (0..last.map_or(0, |last| last + 1)).map(|slice| together(&seen, slice)).collect();
    trial.slices = parts
        .iter()
        .enumerate()
        .map(|(at, part)| Slice {
            duration: Duration::from_nanos(cut.length_ns(at)),
            offered: part.due,
            forwarded: part.woken,
            delay: Some(recorded(&seen, at).recorded()),
        })
        .collect();
    trial.caveats.extend(cut.fewer().map(|(slices, wanted)| Caveat::FewSlices { slices, wanted }));
    let slices = parts
        .iter()
        .enumerate()
        .map(|(slice, part)| {
            let spent = times.get(slice).copied().flatten().zip(times.get(slice + 1).copied().flatten());
            let spent = spent.map(|(before, after)| after.since(before));
            WakeupSlice {
                woken: part.woken,
                missed: part.due - part.woken,
                latest_ns: part.latest_ns,
                irq: spent.map(|spent| spent.irq),
                softirq: spent.map(|spent| spent.softirq),
                steal: spent.map(|spent| spent.steal),
            }
        })
        .collect();
    let refused = seen.iter().find_map(|sleeper| sleeper.refused.as_ref().map(ToString::to_string));
    let slack = seen.iter().filter_map(|sleeper| sleeper.timer_slack_ns).max();
    let real_time = matches!(setup.policy, Policy::Fifo(_)) && refused.is_none();
    let woken = Wakeups {
        policy: match setup.policy {
            Policy::Fifo(priority) if real_time => format!("SCHED_FIFO {priority}"),
            _ => "SCHED_OTHER".into(),
        },
        memory_locked: setup.locked,
        cpus_kept_awake: setup.awake,
        timer_slack_ns: slack,
        preempt_rt: machine::preempt_rt(),
        throttling: machine::throttling(),
        hypervisor: machine::hypervisor(),
        spike: first_spike.map(|(cpu, (number, late_ns))| Spike { cpu: cpu as u32, number, late_ns }),
        threads: seen
            .into_iter()
            .map(|sleeper| WakeupThread {
                cpu: sleeper.pinned.then_some(sleeper.cpu as u32),
                missed: sleeper.due - sleeper.parts.iter().map(|part| part.woken).sum::<u64>(),
                delay: sleeper.delay,
            })
            .collect(),
        slices,
    };
    trial.caveats.extend(caveats(&woken, refused, real_time));
    trial.extra = Some(Extra::Wakeups(woken));
}

/// All threads in one slice.
fn together(seen: &[Sleeper], slice: usize) -> Part {
    let parts = seen.iter().filter_map(|sleeper| sleeper.parts.get(slice));
    parts.fold(Part::default(), |sum, part| Part {
        due: sum.due + part.due,
        woken: sum.woken + part.woken,
        latest_ns: sum.latest_ns.max(part.latest_ns),
    })
}

/// What all threads recorded in one slice.
fn recorded(seen: &[Sleeper], slice: usize) -> Recorder {
    let mut all = Recorder::new();
    seen.iter().filter_map(|sleeper| sleeper.slices.iter().nth(slice)).for_each(|one| all.merge(one));
    all
}

fn caveats(woken: &Wakeups, refused: Option<String>, real_time: bool) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if let Some(why) = refused {
        caveats.push(Caveat::NotRealTime { why });
    }
    if let Some(ns) = woken.timer_slack_ns.filter(|ns| !real_time && *ns > SLACK_SAID_NS) {
        caveats.push(Caveat::TimerSlack { ns });
    }
    if let Some((runtime, period)) = woken.throttling.filter(|_| real_time) {
        caveats.push(Caveat::RealTimeThrottled {
            runtime_us: runtime.as_micros() as u64,
            period_us: period.as_micros() as u64,
        });
    }
    if let Some(by) = &woken.hypervisor {
        caveats.push(Caveat::Virtualized { by: by.clone() });
    }
    if !woken.memory_locked {
        caveats.push(Caveat::MemoryNotLocked);
    }
    if !woken.cpus_kept_awake {
        caveats.push(Caveat::CpusMaySleep);
    }
    if let Some(spike) = woken.spike {
        caveats.push(Caveat::StoppedAtSpike { late_ns: spike.late_ns, number: spike.number, cpu: spike.cpu });
    }
    caveats
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use dropline_trial::Rate;

    fn measurer(settings: WakeupSettings) -> WakeupMeasurer {
        WakeupMeasurer::new(settings, Some(4), 7, 1, Arc::default())
    }

    fn input(millipps: u64, ms: u64) -> TrialInput {
        TrialInput { load: Rate::from_millipps(millipps), duration: Duration::from_millis(ms) }
    }

    #[test]
    fn every_wake_up_is_served_or_missed_whatever_the_policy() {
        for policy in [Policy::Fifo(10), Policy::Other] {
            let settings = WakeupSettings { threads: 2, policy, ..WakeupSettings::default() };
            let trial = measurer(settings).measure(input(400_000, 100)).unwrap();
            assert_eq!((trial.intended, trial.offered), (Some(40), 40));
            let woken = trial.woken().unwrap();
            let missed: u64 = woken.threads.iter().map(|thread| thread.missed).sum();
            assert_eq!(trial.forwarded + missed, 40);
            assert_eq!(trial.lost(), missed);
            let counted = trial.delay.histogram.as_ref().unwrap().count() + trial.delay.negative;
            assert_eq!(counted, trial.forwarded);
            assert_eq!(trial.slices.iter().map(|slice| slice.offered).sum::<u64>(), 40);
            assert_eq!((trial.slices.len(), woken.slices.len(), woken.threads.len()), (4, 4, 2));
        }
    }

    #[test]
    fn a_spike_ends_the_trial_and_is_named() {
        // Every wake-up is later than this.
        let settings = WakeupSettings {
            stop_above: Some(Duration::from_nanos(1)),
            policy: Policy::Other,
            ..WakeupSettings::default()
        };
        let trial = measurer(settings).measure(input(1_000_000, 60_000)).unwrap();
        let spike = trial.woken().unwrap().spike.unwrap();
        assert!(spike.late_ns > 1 && trial.forwarded >= 1 && trial.forwarded < 60_000);
        assert!(trial.caveats.iter().any(|caveat| caveat.code() == "stopped_at_spike"));
    }

    #[test]
    fn a_stopped_trial_has_what_woke_until_then() {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let user = thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            stopping.store(true, Ordering::Relaxed);
        });
        let settings = WakeupSettings { policy: Policy::Other, ..WakeupSettings::default() };
        let mut measurer = WakeupMeasurer::new(settings, None, 7, 1, stop);
        let trial = measurer.measure(input(1_000_000, 600_000));
        user.join().unwrap();
        // Where no thread ran for all that time there is nothing to tell.
        let Ok(trial) = trial else { return };
        assert!(trial.is_interrupted() && trial.offered > 0 && trial.offered < 600_000);
        assert!(trial.duration < Duration::from_secs(600) && trial.forwarded <= trial.offered);
        assert!(matches!(measurer.measure(input(1_000_000, 20)), Err(WakeupError::Interrupted)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let elsewhere = WakeupSettings { cpus: Some(vec![100_000]), ..WakeupSettings::default() };
        assert!(matches!(
            measurer(elsewhere).measure(input(1_000_000, 20)),
            Err(WakeupError::NoCpu { cpu: 100_000, .. })
        ));
        assert!(matches!(
            measurer(WakeupSettings::default()).measure(input(1_000, 20)),
            Err(WakeupError::NoWakeup(_))
        ));
        let stopped =
            WakeupMeasurer::new(WakeupSettings::default(), None, 7, 1, Arc::new(AtomicBool::new(true)));
        let mut stopped = stopped;
        assert!(matches!(stopped.measure(input(1_000_000, 20)), Err(WakeupError::Interrupted)));
    }
}
