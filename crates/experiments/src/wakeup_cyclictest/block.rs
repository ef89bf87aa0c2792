//! One turn of one program: started, waited for, and what it counted.

use dropline_archive::temporary::Scratch;
use dropline_distributions::import::cyclictest_json;
use dropline_failure::Failure;
use dropline_record::CaveatLine;
use dropline_stats::{Above, Binned, Counted, Event, Histogram, Meaning, Rounding};
use dropline_traffic::{Farewell, start_with_us};
use dropline_trial::{Measurer as _, Rate, TrialInput};
use dropline_wakeup::{Policy, WakeupMeasurer, WakeupSettings};
use serde::{Deserialize, Serialize};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Wake-ups a second: a period of 1 ms, cyclictest's own.
const WAKE_UPS: u64 = 1000;
/// Above ours and below what Linux keeps for itself.
const PRIORITY: u8 = 80;
/// cyclictest's table ends here, in nanoseconds, and cannot be longer; later wake-ups are known by number alone.
const TABLE_NS: u64 = 1_000_000;
/// Between two looks whether cyclictest has ended; its own main thread wakes up more often.
const PAUSE: Duration = Duration::from_millis(50);

/// Who measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    Cyclictest,
    Dropline,
}

impl By {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cyclictest => "cyclictest",
            Self::Dropline => "wakeup:",
        }
    }
}

/// The same for both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    pub(super) cpu: usize,
    pub(super) length: Duration,
}

/// What was counted in one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Block {
    /// Four turns that belong together, from 0; and which of the four it is.
    pub(super) quartet: u32,
    pub(super) turn: u32,
    pub(super) by: By,
    /// Of cyclictest.
    pub(super) version: Option<String>,
    pub(super) cpu: usize,
    pub(super) length_s: f64,
    /// Periods that passed without a wake-up; cyclictest does not count them.
    pub(super) missed: Option<u64>,
    pub(super) longest_ns: u64,
    /// Wake-ups beyond the end of cyclictest's table: at least so late.
    pub(super) beyond_ns: u64,
    pub(super) beyond: u64,
    /// The others: HdrHistogram's V2 deflate format.
    pub(super) delays: String,
}

impl Conditions {
    /// The last CPU that we may use: the first ones serve most interrupts.
    pub(super) fn here(length: Duration) -> Result<Self, Failure> {
        let measurer = WakeupMeasurer::new(WakeupSettings::default(), None, 0, 1, Arc::default());
        let cpus = measurer.cpus().map_err(Failure::environment)?;
        let cpu = cpus.first().copied().ok_or_else(|| Failure::environment("no CPU may be used"))?;
        Ok(Self { cpu, length })
    }

    fn wake_ups(&self) -> u64 {
        (self.length.as_secs_f64() * WAKE_UPS as f64) as u64
    }
}

impl Block {
    /// Measures one turn.
    pub(super) fn measure(
        by: By,
        conditions: &Conditions,
        quartet: u32,
        turn: u32,
        stop: &Arc<AtomicBool>,
        caveats: &mut Vec<CaveatLine>,
    ) -> Result<Self, Failure> {
        let empty = Self {
            quartet,
            turn,
            by,
            version: None,
            cpu: conditions.cpu,
            length_s: conditions.length.as_secs_f64(),
            missed: None,
            longest_ns: 0,
            beyond_ns: TABLE_NS,
            beyond: 0,
            delays: String::new(),
        };
        match by {
            By::Cyclictest => empty.of_cyclictest(&cyclictest(conditions, stop)?),
            By::Dropline => empty.of_ours(conditions, stop, caveats),
        }
    }

    fn of_ours(
        self,
        conditions: &Conditions,
        stop: &Arc<AtomicBool>,
        caveats: &mut Vec<CaveatLine>,
    ) -> Result<Self, Failure> {
        let settings = WakeupSettings {
            policy: Policy::Fifo(PRIORITY),
            cpus: Some(vec![conditions.cpu]),
            ..WakeupSettings::default()
        };
        let input = TrialInput { load: Rate::from_millipps(WAKE_UPS * 1000), duration: conditions.length };
        let trial = WakeupMeasurer::new(settings, None, 0, 1, Arc::clone(stop))
            .measure(input)
            .map_err(Failure::environment)
            .and_then(dropline_targets::whole)?;
        let said: Vec<CaveatLine> = trial.caveats.iter().map(CaveatLine::from).collect();
        caveats.extend(
            said.into_iter()
                .filter(|line| caveats.iter().all(|known| known.code != line.code))
                .collect::<Vec<_>>(),
        );
        let delays = trial.delay.histogram.unwrap_or_default();
        Ok(Self {
            missed: Some(trial.offered - trial.forwarded),
            longest_ns: delays.max().unwrap_or(0),
            delays: delays.to_v2_deflate(),
            ..self
        })
    }

    fn of_cyclictest(self, json: &str) -> Result<Self, Failure> {
        let wrong = |why: &dyn std::fmt::Display| Failure::environment(format!("cyclictest's result: {why}"));
        let found = cyclictest_json::parse(json, None).map_err(|why| wrong(&why))?;
        let whole: serde_json::Value = serde_json::from_str(json).map_err(|why| wrong(&why))?;
        let counted = &found[0].counted;
        let binned = counted.binned();
        let mut delays = Histogram::new();
        binned.cells().iter().for_each(|cell| delays.record_n(cell.value as u64, cell.count));
        Ok(Self {
            version: whole["rt_test_version:"].as_str().map(str::to_owned),
            longest_ns: whole["thread"]["0"]["max"].as_u64().unwrap_or(0),
            beyond: binned.above().map_or(0, |(_, count)| count),
            delays: delays.to_v2_deflate(),
            ..self
        })
    }

    /// Whether it was measured under these conditions.
    pub(super) fn is_of(&self, conditions: &Conditions) -> bool {
        self.cpu == conditions.cpu && self.length_s == conditions.length.as_secs_f64()
    }

    /// Its wake-ups, in nanoseconds, as `compare` takes them.
    pub(super) fn binned(&self) -> Result<Binned, Failure> {
        let delays = Histogram::from_v2_deflate(&self.delays)
            .map_err(|why| Failure::environment(format!("a kept block: {why}")))?;
        let meaning = Meaning { unit_ns: 1, quantum_ns: 1.0, rounding: Rounding::Round, event: Event::Each };
        let ranges = delays.ranges().map(|(low, high, count)| (low as i64, high as i64, count));
        let above = (self.beyond > 0).then_some(Above { from: self.beyond_ns as i64, count: self.beyond });
        let counted = Counted::ranges(meaning, ranges, above)
            .map_err(|why| Failure::environment(format!("a kept block: {why}")))?;
        Ok(counted.binned())
    }
}

/// cyclictest's JSON, in nanoseconds.
fn cyclictest(conditions: &Conditions, stop: &AtomicBool) -> Result<String, Failure> {
    let directory = Scratch::new().map_err(Failure::environment)?;
    let file = directory.path().join("histogram");
    let path = file.display();
    let words = format!(
        "--nsecs --mlockall --policy=fifo --priority={PRIORITY} --affinity={} --threads=1 --interval={} --loops={} \
         --histogram={TABLE_NS} --quiet --json={path}",
        conditions.cpu,
        1_000_000 / WAKE_UPS,
        conditions.wake_ups()
    );
    let install = "install Debian's rt-tests:  cargo xtask setup rivals  or  apt-get install rt-tests";
    let mut program = Command::new("cyclictest");
    program.args(words.split(' ')).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = start_with_us(&mut program, Farewell::Killed)
        .map_err(|why| Failure::environment(format!("cannot start cyclictest: {why}")).advice(install))?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(Failure::environment)? {
            break status;
        }
        if stop.load(Ordering::Relaxed) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Failure::interrupted());
        }
        thread::sleep(PAUSE);
    };
    if !status.success() {
        return Err(Failure::environment(format!("cyclictest ended with {status}"))
            .advice("it needs real-time priority and locked memory: run this as root"));
    }
    std::fs::read_to_string(&file).map_err(Failure::environment)
}
