//! A trial of an audio server's cycles: how late each was, and the periods that the server gave up.

use crate::cycles::{self, Read};
use crate::server::{Driver, Refused, Server};
use crate::sys::{Client, Logged};
use dropline_stats::special::{gamma_quantile, student_quantile};
use dropline_stats::{Cut, Histogram, Slices};
use dropline_trial::{
    Caveat, Cycles, Delay, DelayKind, Extra, Measurer, Slice, Stamp, Trial, TrialInput, seed,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Which server, and how it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JackSettings {
    /// A server that runs already; `None` starts one with the dummy driver for each trial.
    pub server: Option<String>,
    /// How the names of servers begin that are started: as nobody else's, and as one of a directory in `/dev/shm` that is
    /// there while whoever starts them lives.
    pub own: String,
    /// Frames a second of a server that is started.
    pub rate: u32,
    /// Its real-time priority; `None` for none.
    pub priority: Option<u8>,
}

impl Default for JackSettings {
    fn default() -> Self {
        Self { server: None, own: "dropline-jack-".into(), rate: 48_000, priority: Some(80) }
    }
}

/// Performs trials of cycles: a load is cycles a second.
#[derive(Debug)]
pub struct JackMeasurer {
    settings: JackSettings,
    slices: Option<u32>,
    seed: u64,
    number: u64,
    stop: Arc<AtomicBool>,
}

/// A server that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Frames a second.
    pub rate: u32,
    /// Frames of a period.
    pub period: u32,
    /// Whether it has a real-time policy.
    pub realtime: bool,
}

/// Why a trial of cycles could not be performed.
#[derive(Debug, thiserror::Error)]
pub enum JackError {
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// libjack or its server is not there.
    #[error("no JACK server {server:?} can be joined: {why}")]
    NoServer {
        /// Its name.
        server: String,
        /// What libjack, or the linker, said.
        why: String,
    },
    /// jackd is not installed.
    #[error("jackd cannot be started: {0}")]
    NotStarted(std::io::Error),
    /// The system did not start a thread.
    #[error("a thread could not be started: {0}")]
    Thread(std::io::Error),
    /// It ended by itself.
    #[error("jackd ended before it answered, with periods of {period} frames: {said}")]
    Ended {
        /// What it was started with.
        period: u32,
        /// How it ended, and what it said.
        said: String,
    },
    /// A running server has its own period.
    #[error("the server runs {running} frames a period at {rate} a second, which is {hz:.1} cycles a second")]
    OtherPeriod {
        /// Frames.
        running: u32,
        /// A second.
        rate: u32,
        /// Cycles a second.
        hz: f64,
    },
    /// No whole number of frames is that period.
    #[error("{hz} cycles a second are periods of {frames:.2} frames at {rate} a second; there are 1 to 8192")]
    Period {
        /// Cycles a second.
        hz: f64,
        /// Frames.
        frames: f64,
        /// A second.
        rate: u32,
    },
    /// The trial is too long, or too short for a cycle.
    #[error("{0} cycles are not a trial: it has 1 to 2^26")]
    Length(u64),
    /// The server ended, or stopped calling, during the trial.
    #[error("the server stopped after {called} of {due} cycles")]
    Stopped {
        /// Cycles that were served.
        called: usize,
        /// Cycles that were due.
        due: u64,
    },
}

/// Largest period.
const MOST_FRAMES: u32 = 8192;
/// Most cycles of a trial: a gigabyte of times.
const MOST_CYCLES: u64 = 1 << 26;
/// Cycles before the first that counts: code and data come near, and the server calms down.
const WARM_UP: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(10);
/// Beyond the trial's length; a server that is that late has stopped.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a running server does.
///
/// # Errors
/// If there is none, or no libjack.
pub fn running(server: &str) -> Result<Running, JackError> {
    let client = Client::join(server, 0).map_err(|why| JackError::NoServer { server: server.into(), why })?;
    Ok(Running { rate: client.rate(), period: client.period(), realtime: client.is_realtime() })
}

impl JackMeasurer {
    /// `seed` is that of the profile; trials are numbered from `first_trial`.
    pub fn new(
        settings: JackSettings,
        slices: Option<u32>,
        seed: u64,
        first_trial: u64,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self { settings, slices, seed, number: first_trial, stop }
    }

    /// The longest period that is no longer than asked.
    fn frames(&self, input: TrialInput) -> Result<u32, JackError> {
        let (rate, hz) = (self.settings.rate, input.load.as_pps());
        let frames = u128::from(rate) * 1000 / u128::from(input.load.as_millipps());
        u32::try_from(frames)
            .ok()
            .filter(|frames| (1..=MOST_FRAMES).contains(frames))
            .ok_or(JackError::Period { hz, frames: f64::from(rate) / hz, rate })
    }

    /// The server where it is ours, why it is not real-time where it should be, and a client, which is to leave first.
    fn join(
        &self,
        input: TrialInput,
        room: usize,
    ) -> Result<(Option<Server>, Option<String>, Client), JackError> {
        let Some(name) = &self.settings.server else {
            let period = self.frames(input)?;
            let mut refused = None;
            let mut said = String::new();
            for priority in [self.settings.priority, None] {
                let driver = Driver { priority, rate: self.settings.rate, period };
                match Server::start(&self.settings.own, driver, room) {
                    Ok((server, client)) => return Ok((Some(server), refused, client)),
                    Err(Refused::NotStarted(why)) => return Err(JackError::NotStarted(why)),
                    Err(Refused::NoThread(why)) => return Err(JackError::Thread(why)),
                    Err(Refused::Ended(why)) => said = why,
                }
                if priority.is_none() {
                    break;
                }
                refused = Some(format!("jackd does not start with a real-time policy: {said}"));
            }
            return match Client::join("", 0) {
                Err(why) if why.contains("libjack.so") => {
                    Err(JackError::NoServer { server: "of our own".into(), why })
                }
                _ => Err(JackError::Ended { period, said }),
            };
        };
        let client =
            Client::join(name, room).map_err(|why| JackError::NoServer { server: name.clone(), why })?;
        let (running, rate) = (client.period(), client.rate());
        let hz = f64::from(rate) / f64::from(running.max(1));
        if (input.load.as_pps() / hz - 1.0).abs() > 1e-3 {
            return Err(JackError::OtherPeriod { running, rate, hz });
        }
        Ok((None, None, client))
    }
}

impl Measurer for JackMeasurer {
    type Error = JackError;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, JackError> {
        let begun = Instant::now();
        let highest = input.load.packets_in(input.duration + WARM_UP).saturating_mul(2).saturating_add(1024);
        if highest > 2 * MOST_CYCLES {
            return Err(JackError::Length(highest / 2));
        }
        let (server, refused, client) = self.join(input, highest as usize)?;
        let ours = server.as_ref().map(|server| server.name().to_owned());
        let (rate, period) = (client.rate(), client.period());
        let period_ns = f64::from(period) * 1e9 / f64::from(rate.max(1));
        let due = (input.duration.as_nanos() as f64 / period_ns + 1e-6).floor() as u64;
        let warm_up = (WARM_UP.as_nanos() as f64 / period_ns).ceil() as u64 + 1;
        if due == 0 {
            return Err(JackError::Length(due));
        }
        let realtime = client.is_realtime();
        client.activate().map_err(|why| JackError::NoServer { server: "that was joined".into(), why })?;
        let longest = input.duration + WARM_UP + PATIENCE;
        let active = Instant::now();
        while (client.called() as u64) < warm_up + due && active.elapsed() < longest && !client.is_gone() {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            thread::sleep(LOOK);
        }
        let stopped = self.stop.load(Ordering::Relaxed);
        let gone = client.is_gone();
        let logged = client.leave();
        drop(server);
        let due = if stopped { due.min((logged.cycles.len() as u64).saturating_sub(warm_up)) } else { due };
        if due == 0 {
            return Err(JackError::Interrupted);
        }
        if gone || (logged.cycles.len() as u64) < warm_up.min(2) {
            return Err(JackError::Stopped { called: logged.cycles.len(), due });
        }
        let mut trial = Trial::new(self.number, input, seed::of_trial(self.seed, self.number));
        self.number += 1;
        let server = match (ours, &self.settings.server) {
            (None, Some(name)) => format!("server {name}"),
            _ => "jackd with the dummy driver".into(),
        };
        let run = Run { server, rate, period, realtime, warm_up: warm_up as usize, due };
        fill(&mut trial, &run, logged, self.slices);
        if let Some(why) = refused.or_else(|| (!realtime).then(|| "the server has none".to_owned())) {
            trial.caveats.push(Caveat::NotRealTime { why });
        }
        if stopped {
            trial.caveats.push(Caveat::Interrupted);
        }
        trial.elapsed = begun.elapsed();
        Ok(trial)
    }
}

/// How a trial was run.
struct Run {
    server: String,
    rate: u32,
    period: u32,
    realtime: bool,
    /// Calls before the first that counts.
    warm_up: usize,
    /// Cycles that count.
    due: u64,
}

fn fill(trial: &mut Trial, run: &Run, logged: Logged, slices: Option<u32>) {
    let Logged { cycles, xruns, told } = logged;
    // An xrun while it warmed up is not this trial's.
    let early = xruns.iter().take_while(|at| **at < run.warm_up).count();
    let told = (told - early) as u64;
    let xruns: Vec<usize> = xruns[early..].iter().map(|at| at - run.warm_up).collect();
    let counted = cycles.get(run.warm_up..).unwrap_or_default();
    let Read { late, period_ns, schedules } = cycles::read(counted, &xruns, run.period, run.rate);
    let nominal_ns = f64::from(run.period) * 1e9 / f64::from(run.rate.max(1));
    let length_ns = (run.due as f64 * nominal_ns) as u64;
    let cut = Cut::of(length_ns, slices);
    let mut recorded = Slices::new(cut);
    let mut all = Histogram::new();
    let mut parts = vec![(0u64, 0u64); cut.slices()];
    let due_ns = |cycle: u64| (cycle as f64 * nominal_ns) as u64;
    (0..run.due).for_each(|cycle| parts[cut.slice_of(due_ns(cycle))].0 += 1);
    let mut found = Cycles {
        server: run.server.clone(),
        realtime: run.realtime,
        rate: run.rate,
        period_frames: run.period,
        period_ns,
        schedules,
        xruns: told,
        ..Cycles::default()
    };
    // A server that is behind may call twice before it counts on: a cycle is served once.
    let each = late.chunk_by(|one, other| one.cycle == other.cycle).filter_map(<[_]>::first);
    for late in each.filter(|late| late.cycle < run.due) {
        let at = due_ns(late.cycle);
        recorded.record(at, i64::try_from(late.late_ns).unwrap_or(i64::MAX));
        all.record(late.late_ns);
        parts[cut.slice_of(at)].1 += 1;
        let window = match late.late_ns as f64 / period_ns {
            share if share < 0.5 => &mut found.below_half,
            share if share <= 1.0 => &mut found.to_period,
            _ => &mut found.beyond,
        };
        *window += 1;
    }
    let served = all.count();
    let lost = told.max(run.due - served).min(run.due);
    trial.duration = Duration::from_nanos(length_ns);
    trial.intended = Some(run.due);
    trial.offered = run.due;
    trial.forwarded = run.due - lost;
    trial.stamp = Some(Stamp::App);
    trial.delay_kind = Some(DelayKind::Lateness);
    trial.delay = Delay { histogram: (served > 0).then_some(all), ..Delay::default() };
    trial.slices = parts
        .iter()
        .zip(recorded.iter())
        .enumerate()
        .map(|(at, (&(offered, forwarded), recorder))| Slice {
            duration: Duration::from_nanos(cut.length_ns(at)),
            offered,
            forwarded,
            delay: Some(recorder.recorded()),
        })
        .collect();
    let hours = length_ns as f64 / 3.6e12;
    found.xruns_per_hour = poisson(told).map(|(low, high)| (low / hours, told as f64 / hours, high / hours));
    found.mean_ns = mean(&recorded);
    trial.caveats.extend(cut.fewer().map(|(slices, wanted)| Caveat::FewSlices { slices, wanted }));
    trial.extra = Some(Extra::Cycles(found));
}

/// The exact 95 % interval of a Poisson mean (Garwood 1936).
fn poisson(count: u64) -> Option<(f64, f64)> {
    let low = if count == 0 { 0.0 } else { gamma_quantile(count as f64, 0.025) };
    let high = gamma_quantile(count as f64 + 1.0, 0.975);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// The mean of all delays and its 95 % interval: by batch means over the slices.
fn mean(slices: &Slices) -> Option<(f64, f64, f64)> {
    let each: Vec<(f64, f64)> = slices
        .iter()
        .map(|slice| (slice.totals().sum_ns as f64, slice.totals().count as f64))
        .filter(|(_, count)| *count > 0.0)
        .collect();
    let (sum, count) = each.iter().fold((0.0, 0.0), |(s, c), (sum, count)| (s + sum, c + count));
    let batches = each.len() as f64;
    if batches < 2.0 {
        return None;
    }
    let mean = sum / count;
    let squares: f64 = each.iter().map(|(sum, count)| (sum - mean * count).powi(2)).sum();
    let error = (squares * batches / (batches - 1.0)).sqrt() / count;
    let reach = error * student_quantile(batches - 1.0, 0.975);
    Some((mean - reach, mean, mean + reach))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::Cycle;
    use dropline_trial::Rate;

    fn trial(late_us: impl IntoIterator<Item = i64>, xruns: Vec<usize>, due: u64) -> Trial {
        let cycles = late_us.into_iter().enumerate().map(|(n, late)| Cycle {
            at_ns: (n as f64 * 2e6 / 3.0) as i64 + late * 1000,
            frame: 32 * n as u32,
        });
        of(cycles.collect(), xruns, due)
    }

    fn of(cycles: Vec<Cycle>, xruns: Vec<usize>, due: u64) -> Trial {
        let run = Run {
            server: "jackd with the dummy driver".into(),
            rate: 48_000,
            period: 32,
            realtime: true,
            warm_up: 10,
            due,
        };
        let input = TrialInput { load: Rate::from_millipps(1_500_000), duration: Duration::from_secs(2) };
        let mut trial = Trial::new(1, input, 7);
        let told = xruns.len();
        fill(&mut trial, &run, Logged { cycles, xruns, told }, None);
        trial
    }

    #[test]
    fn a_cycle_that_was_called_twice_is_served_once() {
        let cycle = |n: u32| Cycle { at_ns: (f64::from(n) * 2e6 / 3.0) as i64, frame: 32 * n };
        let cycles = (0..110).flat_map(|n| std::iter::repeat_n(cycle(n), if n == 50 { 2 } else { 1 }));
        let trial = of(cycles.collect(), vec![], 100);
        assert_eq!((trial.intended, trial.forwarded, trial.lost()), (Some(100), 100, 0));
        assert_eq!(trial.delay.histogram.unwrap().count(), 100);
    }

    #[test]
    fn each_cycle_is_in_one_window_and_the_windows_are_the_seeds() {
        let trial = trial(
            (0..3010).map(|n| match n {
                500 => 340,
                900 => 660,
                1000 => 700,
                n => n % 2 * 10,
            }),
            vec![3, 1010],
            3000,
        );
        let cycles = trial.cycles().unwrap();
        assert_eq!((cycles.below_half, cycles.to_period, cycles.beyond), (2997, 2, 1));
        assert_eq!((cycles.xruns, trial.lost()), (1, 1), "the one while it warmed up does not count");
        assert_eq!((trial.intended, trial.offered), (Some(3000), 3000));
        let (low, rate, high) = cycles.xruns_per_hour.unwrap();
        assert!((rate - 1800.0).abs() < 1e-6 && (low - 0.025_318 * 1800.0).abs() < 0.1);
        assert!((high - 5.571_643 * 1800.0).abs() < 0.1, "{high}");
        let (low, mean, high) = cycles.mean_ns.unwrap();
        assert!(low < mean && mean < high && (5_000.0..6_000.0).contains(&mean), "{low} {mean} {high}");
        assert_eq!(trial.slices.iter().map(|slice| slice.offered).sum::<u64>(), 3000);
        assert_eq!(trial.slices.len(), 40);
    }

    #[test]
    fn a_server_that_stopped_early_lost_what_was_left() {
        let short = trial((0..1510).map(|_| 5), vec![], 3000);
        assert_eq!((short.forwarded, short.lost()), (1500, 1500));
    }

    #[test]
    fn a_period_is_the_longest_that_is_not_longer_than_asked() {
        let measurer = JackMeasurer::new(JackSettings::default(), None, 7, 1, Arc::default());
        let frames = |millipps| {
            let input = TrialInput { load: Rate::from_millipps(millipps), duration: Duration::from_secs(1) };
            measurer.frames(input)
        };
        assert_eq!((frames(1_500_000).unwrap(), frames(1_480_000).unwrap()), (32, 32));
        assert_eq!(frames(1_500_001).unwrap(), 31);
        assert!(matches!(frames(1_000), Err(JackError::Period { .. })));
        assert!(matches!(frames(48_000_001), Err(JackError::Period { .. })));
    }

    #[test]
    fn no_xrun_in_an_hour_still_has_an_upper_end() {
        let (low, high) = poisson(0).unwrap();
        assert!(low == 0.0 && (high - 3.688_879).abs() < 1e-5, "{high}");
    }
}
