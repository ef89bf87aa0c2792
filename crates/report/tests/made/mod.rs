//! Records to show: real searches on simulated systems, and on a made service that has delays.

#![allow(dead_code, reason = "each test shows some of it")]

use dropline_record::{
    AnswerLine, Chart, DelayAtLine, Environment, GoalLine, Header, MdrLine, ProfileLine, Purpose, Record,
    ResultLine, SearchLine, Study, Table, TrialLine, schema,
};
use dropline_search::{Algorithm, Binary, Goal, Limits, Mdr, Mlr, Preset, Search, mdr, mlr};
use dropline_sim::{Settings, Simulated, System};
use dropline_stats::Histogram;
use dropline_trial::{
    Arrival, Caveat, DelayKind, LoadRange, Measurer, Part, Rate, Ratio, Slice, Stamp, TrafficProfile, Trial,
    TrialInput,
};
use std::time::Duration;

/// A search to make.
pub(crate) struct Made {
    pub(crate) target: String,
    pub(crate) profile: TrafficProfile,
    pub(crate) goals: Vec<Goal>,
    pub(crate) range: (f64, f64),
    pub(crate) algorithm: &'static str,
    pub(crate) limits: Limits,
    pub(crate) delay_at: Vec<f64>,
}

impl Made {
    /// MDR on a simulated system, both of its goals.
    pub(crate) fn mdr(system: &str, seed: u64, trial_s: u64) -> Self {
        Self {
            target: format!("sim:{system}"),
            profile: TrafficProfile { seed, ..TrafficProfile::default() },
            goals: vec![goal(0.0, trial_s, 0.005), goal(0.005, trial_s, 0.005)],
            range: (10e3, 14_880_952.0),
            algorithm: "mdr",
            limits: Limits::default(),
            delay_at: Vec::new(),
        }
    }

    /// Bisection on a simulated system for one loss ratio.
    pub(crate) fn binary(system: &str, seed: u64, trial_s: u64, loss_ratio: f64) -> Self {
        Self {
            algorithm: "binary",
            goals: vec![goal(loss_ratio, trial_s, 0.005)],
            ..Self::mdr(system, seed, trial_s)
        }
    }

    /// RFC 9971 with CSIT's goals on a made UDP service, delays afterwards.
    pub(crate) fn service(arrival: Arrival, seed: u64) -> Self {
        Self {
            target: "udp://127.0.0.1:7007".into(),
            profile: TrafficProfile { seed, arrival, ..TrafficProfile::default() },
            goals: Preset::Csit.goals(),
            range: (1e3, 412e3),
            algorithm: "mlr",
            limits: Limits::default(),
            delay_at: vec![0.9, 0.5, 0.1],
        }
    }

    /// Makes the search to its end.
    pub(crate) fn search(self) -> Record {
        if let Some(name) = self.target.strip_prefix("sim:") {
            let system = System::named(name).expect("the name is known");
            let settings = Settings { capacity: None, overhead: Settings::OVERHEAD, seed: self.profile.seed };
            let simulated = Simulated::new(system, settings, self.profile.clone(), 1);
            self.search_on(simulated)
        } else {
            let service = Service { profile: self.profile.clone(), next: 1 };
            self.search_on(service)
        }
    }

    fn search_on<M: Measurer>(self, mut measurer: M) -> Record
    where
        M::Error: std::fmt::Debug,
    {
        let mut search = Search::new(self.algorithm(), self.goals.clone(), self.limits);
        let mut record = Record::begin(self.header());
        let mut at = Duration::ZERO;
        let line = |trial: &Trial, purpose, at| {
            TrialLine::new(trial, &self.target, &self.profile.arrival.to_string(), purpose, at)
        };
        while let Some(input) = search.next_trial() {
            let phase = search.phase();
            let trial = measurer.measure(input).expect("a made system answers");
            search.record(&trial);
            let line = line(&trial, Purpose::Search, at).in_search(phase, &search.bounds());
            record.trials.push(line);
            at += trial.elapsed;
        }
        let outcomes = search.outcome();
        let answers: Vec<AnswerLine> = self
            .goals
            .iter()
            .zip(&outcomes)
            .map(|(goal, outcome)| AnswerLine::new(GoalLine::from(goal), outcome))
            .collect();
        let mut delay_at = Vec::new();
        for (goal, answer) in answers.iter().enumerate().take(1) {
            for &share in &self.delay_at {
                let Some(Ok(load)) = answer.headline_pps().map(|load| Rate::pps(load * share)) else {
                    continue;
                };
                let input = TrialInput { load, duration: self.goals[goal].trial_duration };
                let trial = measurer.measure(input).expect("a made system answers");
                record.trials.push(line(&trial, Purpose::DelayAt, at));
                at += trial.elapsed;
                delay_at.push(DelayAtLine { goal: goal as u32, share, trial: trial.number });
            }
        }
        record.result = Some(ResultLine {
            ended_by: dropline_record::EndWord::Done,
            back_to_back: None,
            loss_curve: Vec::new(),
            goals: answers,
            trial_seconds: record.trials.iter().map(|trial| trial.duration_s).sum(),
            elapsed_s: at.as_secs_f64(),
            interrupted: false,
            delay_at,
            caveats: caveats(&record),
        });
        record
    }

    fn algorithm(&self) -> Box<dyn Algorithm> {
        let range = self.load_range();
        let goals = self.goals.clone();
        match self.algorithm {
            "mdr" => Box::new(Mdr::new(mdr::Config::new(goals, range)).expect("legal goals")),
            "binary" => Box::new(Binary::new(&goals, range).expect("legal goals")),
            _ => {
                let effective = mlr::EffectiveDuration::Elapsed;
                Box::new(Mlr::new(mlr::Config { goals, range, effective }).expect("legal goals"))
            }
        }
    }

    fn load_range(&self) -> LoadRange {
        let rate = |pps| Rate::pps(pps).expect("a legal load");
        LoadRange::new(rate(self.range.0), rate(self.range.1)).expect("a legal range")
    }

    fn header(&self) -> Header {
        let service = self.target.starts_with("udp:");
        Header {
            schema: schema::CURRENT.into(),
            verb: "search".into(),
            started: "2026-11-21T09:31:00Z".into(),
            target: self.target.clone(),
            target_note: service.then(|| "echo, answers in 34 us".into()),
            asked_digest: None,
            load_unit: dropline_record::LoadUnit::Packets,
            load_is: "the load of one interface".into(),
            profile: ProfileLine::from(&self.profile),
            search: Some(SearchLine {
                algorithm: self.algorithm.into(),
                preset: (self.algorithm == "mlr").then(|| "csit".into()),
                goals: self.goals.iter().map(GoalLine::from).collect(),
                min_load_pps: self.range.0,
                max_load_pps: self.range.1,
                budget_s: None,
                max_trials: self.limits.max_trials,
                effective_duration: if self.algorithm == "mlr" { "elapsed_s" } else { "duration_s" }.into(),
                warm_up_s: if self.algorithm == "binary" { 5.0 } else { 0.0 },
                delay_at: self.delay_at.clone(),
                level: None,
                certify: false,
                repetition: None,
                mdr: (self.algorithm == "mdr").then(|| MdrLine {
                    version: "current".into(),
                    intermediate_phases: 2,
                    doublings: 1,
                }),
            }),
            generator: service.then(|| "sendmmsg x32 on cpu 0, spinning receive on cpu 1".into()),
            on: None,
            bursts: None,
            generator_limit_pps: service.then_some(412e3),
            environment: environment(),
        }
    }
}

/// A goal of MDR or bisection.
pub(crate) fn goal(loss_ratio: f64, trial_s: u64, width: f64) -> Goal {
    let trial = Duration::from_secs(trial_s);
    Goal {
        loss_ratio: Ratio::new(loss_ratio).expect("a ratio"),
        exceed_ratio: Ratio::ZERO,
        width: Ratio::new(width).expect("a ratio"),
        trial_duration: trial,
        initial_trial_duration: Duration::from_secs(1),
        duration_sum: trial,
    }
}

/// A single trial of the made service, as the verb `trial` records it.
pub(crate) fn trial(load_pps: f64, seconds: u64) -> Record {
    let profile = TrafficProfile { arrival: Arrival::poisson(), ..TrafficProfile::default() };
    let made = Made { profile: profile.clone(), ..Made::service(Arrival::poisson(), 7) };
    let header = Header { verb: "trial".into(), search: None, ..made.header() };
    let input = TrialInput {
        load: Rate::pps(load_pps).expect("a legal load"),
        duration: Duration::from_secs(seconds),
    };
    let mut trial = Service { profile, next: 1 }.measure(input).expect("it answers");
    let slices = 40;
    let each = trial.offered / slices;
    trial.slices = (0..slices)
        .map(|slice| Slice {
            duration: input.duration / slices as u32,
            offered: each,
            forwarded: each - if slice == 17 || slice == 31 { trial.lost().min(each) / 2 } else { 0 },
            delay: None,
        })
        .collect();
    let line = TrialLine::new(&trial, "udp://127.0.0.1:7007", "poisson", Purpose::Trial, Duration::ZERO);
    Record { trials: vec![line], ..Record::begin(header) }
}

/// An experiment's tables in the form of a published comparison.
pub(crate) fn study() -> Study {
    let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
    Study {
        charts: vec![Chart {
            title: "Backlog against K".into(),
            x: "time, ms".into(),
            y: "packets that wait".into(),
            bars: vec![[0.0, 1.0, 12.0], [1.0, 2.0, 128.0]],
            line: Some(64.0), series: Vec::new() }],
        name: "search-cost".into(),
        title: "MDR finds both rates in about two fifths of the time of one bisection".into(),
        paragraphs: vec![
            "Each search ran six times on each simulated system, at final trials of 10, 30 and 60 s.".into(),
            "The graphs show the inconsistent system; bounds are steps, because they change when a trial ends.".into(),
        ],
        tables: vec![Table {
            title: "Search time, mean ± avgdev in seconds".into(),
            note: "avgdev is the standard error of the mean.".into(),
            columns: row(&["", "consistent 10 s", "consistent 30 s", "consistent 60 s", "inconsistent 10 s"]),
            rows: vec![
                row(&["MDR (both goals)", "50.8 ± 1.2", "109.0 ± 10.0", "202.8 ± 11.7", "80.5 ± 9.0"]),
                row(&["no loss, binary", "98.9 ± 0.1", "278.6 ± 0.1", "548.8 ± 0.1", "119.8 ± 0.1"]),
                row(&["0.5 % loss, binary", "98.9 ± 0.1", "278.6 ± 0.1", "548.8 ± 0.1", "119.7 ± 0.1"]),
            ],
        }],
        caveats: vec![dropline_record::CaveatLine {
            code: "few_runs".into(),
            text: "six runs each: differences below one avgdev are chance".into(),
            numbers: serde_json::Map::new(),
        }],
    }
}

fn caveats(record: &Record) -> Vec<dropline_record::CaveatLine> {
    let late = record.trials.iter().flat_map(|trial| &trial.caveats).next();
    late.cloned().into_iter().collect()
}

fn environment() -> Environment {
    Environment {
        dropline: "0.1.0".into(),
        command_line: vec!["dropline".into(), "search".into(), "TARGET".into()],
        kernel: Some("Linux 6.18".into()),
        os: Some("Debian GNU/Linux 12".into()),
        cpus: Some(2),
        virtualization: Some("kvm".into()),
        reply_buffer_bytes: Some(425_984),
        ..Environment::default()
    }
}

/// A UDP service that never was: loss sets in softly, delays grow with the load.
struct Service {
    profile: TrafficProfile,
    next: u64,
}

impl Measurer for Service {
    type Error = std::convert::Infallible;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Self::Error> {
        let number = self.next;
        self.next += 1;
        let seed = self.profile.trial_seed(number);
        let chance = (seed >> 11) as f64 / (1u64 << 53) as f64;
        let capacity = if self.profile.arrival == Arrival::poisson() { 141e3 } else { 186e3 };
        let load = input.load.as_pps();
        let offered = input.load.packets_in(input.duration);
        let over = (load / capacity - 1.0).max(0.0);
        let soft = ((load / capacity - 1.02) * 110.0).exp() * 2e-4 * (2.5 * chance).exp();
        let ratio = (over * 0.35 + soft).min(0.6);
        let lost = (offered as f64 * ratio + chance).floor() as u64;
        let busy = (load / capacity).min(0.985);
        let delays = |from: f64, spread: f64| {
            let mut histogram = Histogram::new();
            // Quantiles at even steps of log(1 - p): as smooth far out as in the middle.
            let beyond = |step: u32| 10f64.powf(-f64::from(step) / 40.0);
            for step in 0..280 {
                let depth = -((beyond(step) + beyond(step + 1)) / 2.0).ln();
                let value = from * (1.0 + spread * depth + spread * (depth / 7.0).powi(6));
                let counted = |share: f64| ((offered - lost) as f64 * share) as u64;
                let count = counted(1.0 - beyond(step + 1)) - counted(1.0 - beyond(step));
                histogram.record_n(value as u64, count);
            }
            histogram
        };
        let mut trial = Trial {
            intended: Some(offered),
            offered,
            forwarded: offered - lost,
            duplicated: Some(0),
            reordered: Some(0),
            late: Some(0),
            elapsed: input.duration + Duration::from_millis(57),
            stamp: Some(Stamp::App),
            delay_kind: Some(DelayKind::RoundTrip),
            ..Trial::new(number, input, seed)
        };
        trial.delay.histogram = Some(delays(31_000.0, 0.2 + 1.4 * busy / (1.02 - busy)));
        trial.service_delay.histogram = Some(delays(30_000.0, 0.18 + 1.2 * busy / (1.02 - busy)));
        trial.lateness.histogram = Some(delays(900.0, 0.9));
        if number == 3 {
            trial.caveats.push(Caveat::ArrivalsNotKept { lateness_p99_ns: 14_200, intended_idt_ns: 5_300 });
        }
        Ok(trial)
    }
}

/// A profile of two directions with unequal loads.
pub(crate) fn two_directions() -> TrafficProfile {
    TrafficProfile {
        directions: vec![Part { name: "up".into(), share: 1 }, Part { name: "down".into(), share: 3 }],
        ..TrafficProfile::default()
    }
}

/// 128 packets together each 20 ms at a server of 40 us with room for 64.
pub(crate) fn explained() -> (Record, dropline_record::Explanation) {
    use dropline_record::explanation::{Evidence, explain};
    use dropline_trial::PacketTimes;
    let mut packets = PacketTimes::with_room(2560, true);
    for n in 0..2560u64 {
        let (tick, place) = (n / 128 * 20_000_000, n % 128);
        packets.departures.push(tick + place * 10, Some(tick + place * 100), 0);
        if place < 64 {
            packets.returns.as_mut().unwrap().note(n, tick + 34_000 + (place + 1) * 40_000);
        }
    }
    let lost_at = [("receive_buffer".to_owned(), 1280u64)].into();
    let evidence = Evidence {
        packets: &packets,
        payload_bytes: 64,
        family: dropline_record::explanation::AddressFamily::V4,
        offered: 2560,
        lost: 1280,
        lost_at: Some(&lost_at),
        doubts: dropline_record::explanation::Doubts::default(),
        unseen: false,
        watched: None,
        duration_ns: 400_000_000,
        drain_ns: 100_000_000,
        seed: 7,
    };
    let mut record = Made::service(Arrival::constant(), 7).search();
    record.header.verb = "trial".into();
    record.header.search = None;
    record.result = None;
    (record, explain(&evidence))
}

/// As `explain` prints it.
pub(crate) fn explained_line(found: &dropline_record::Explanation) -> dropline_record::ExplainedLine {
    dropline_record::ExplainedLine {
        explanation: found.clone(),
        trial: 1,
        chosen: None,
        target: "udp://127.0.0.1:7007".into(),
        caveats: Vec::new(),
    }
}

/// Two searches, of which the limits of the second are lower.
pub(crate) fn moved() -> dropline_record::ComparedSearches {
    let answers = Made::mdr("hard", 1, 10).search().answers().expect("a search");
    let goals = answers.iter().map(|answer| dropline_record::MovedLine {
        loss_ratio: answer.goal.loss_ratio,
        ratio: Some(0.91),
        low: Some(0.88),
        high: Some(0.94),
        verdict: dropline_record::VerdictWord::Regressed,
        level: Some(0.95),
        needed: None,
        doubted: None,
        open_a: None,
        open_b: None,
        of_a: answer.clone(),
        of_b: answer.clone(),
    });
    let side = |source: &str| dropline_record::SearchedLine {
        source: source.into(),
        target: "sim:hard".into(),
        algorithm: "mdr".into(),
        started: "2026-11-21T09:31:00Z".into(),
        trials: 8,
        elapsed_s: 43.3,
    };
    dropline_record::ComparedSearches {
        verdict: dropline_record::VerdictWord::Regressed,
        not_valid: None,
        goals: goals.collect(),
        smallest_effect: 0.02,
        load_unit: dropline_record::LoadUnit::Packets,
        a: side("before.jsonl"),
        b: side("after.jsonl"),
        estimator: "bounds of both".into(),
        caveats: Vec::new(),
    }
}
