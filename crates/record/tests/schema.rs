//! Records of real searches and trials are what the shipped schema says.

use boon::{Compiler, SchemaIndex, Schemas};
use dropline_record::{
    AnswerLine, Environment, GoalLine, Header, ProfileLine, Purpose, Record, ResultLine, SearchLine,
    TrialLine,
};
use dropline_search::{Binary, Limits, Preset, Search};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_trial::{Caveat, Measurer as _, TrafficProfile, Trial};
use serde_json::{Value, json};
use std::time::Duration;

/// The shipped schema.
struct Schema {
    schemas: Schemas,
    line: SchemaIndex,
}

impl Schema {
    fn shipped() -> Self {
        let text = include_str!("../../../schema/dropline-1.json");
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource("dropline-1.json", serde_json::from_str(text).unwrap()).unwrap();
        let line = compiler.compile("dropline-1.json", &mut schemas).unwrap();
        Self { schemas, line }
    }

    fn refusal(&self, line: &Value) -> Option<String> {
        self.schemas.validate(line, self.line).err().map(|why| format!("{why:#}"))
    }
}

/// A whole search of a simulated system, as it is kept.
fn searched(system: &str) -> Record {
    let profile = TrafficProfile::default();
    let goals = Preset::Csit.goals();
    let algorithm = Box::new(Binary::new(&goals, default_range()).unwrap());
    let mut search = Search::new(algorithm, goals, Limits::default());
    let system = System::named(system).unwrap();
    let mut measurer = Simulated::new(system, Settings::default(), profile.clone(), 1);
    let mut record = Record::begin(header("search", &profile, search.goals()));
    let mut at = Duration::ZERO;
    while let Some(input) = search.next_trial() {
        let phase = search.phase();
        let Ok(trial) = measurer.measure(input);
        search.record(&trial);
        let line = TrialLine::new(&trial, "sim:x", "constant", Purpose::Search, at);
        record.trials.push(line.in_search(phase, &search.bounds()));
        at += trial.elapsed;
    }
    let outcomes = search.outcome();
    let answers = search.goals().iter().zip(&outcomes);
    record.result = Some(ResultLine {
        ended_by: dropline_record::EndWord::Done,
        back_to_back: None,
        loss_curve: Vec::new(),
        goals: answers.map(|(goal, outcome)| AnswerLine::new(GoalLine::from(goal), outcome)).collect(),
        trial_seconds: record.trials.iter().map(|line| line.duration_s).sum(),
        elapsed_s: at.as_secs_f64(),
        interrupted: false,
        delay_at: Vec::new(),
        caveats: Vec::new(),
    });
    record
}

fn header(verb: &str, profile: &TrafficProfile, goals: &[dropline_search::Goal]) -> Header {
    let range = default_range();
    // As a file says it: what is added later has a default.
    let search: SearchLine = serde_json::from_value(json!({
        "algorithm": "binary",
        "preset": "csit",
        "goals": goals.iter().map(GoalLine::from).collect::<Vec<_>>(),
        "min_load_pps": range.min().as_pps(),
        "max_load_pps": range.max().as_pps(),
        "budget_s": null,
        "max_trials": null,
        "effective_duration": "duration_s",
        "warm_up_s": 0.0,
        "delay_at": [],
        "repetition": [1, 2],
    }))
    .unwrap();
    Header {
        schema: dropline_record::schema::CURRENT.into(),
        verb: verb.into(),
        started: "2026-11-21T09:31:00Z".into(),
        target: "sim:x".into(),
        target_note: None,
        asked_digest: None,
        load_unit: dropline_record::LoadUnit::Packets,
        load_is: "the load of one interface".into(),
        profile: ProfileLine::from(profile),
        search: (!goals.is_empty()).then_some(search),
        generator: None,
        on: None,
        bursts: None,
        generator_limit_pps: None,
        environment: Environment::default(),
    }
}

fn lines(record: &Record) -> Vec<Value> {
    record.to_lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_line_of_a_search_is_what_the_schema_says() {
    let schema = Schema::shipped();
    for system in ["consistent", "inconsistent", "soft", "noisy"] {
        let lines = lines(&searched(system));
        assert!(lines.len() > 10, "{system} was hardly searched");
        for line in &lines {
            assert_eq!(schema.refusal(line), None, "{line}");
        }
    }
}

#[test]
fn counts_beyond_all_integers_delays_and_doubts_are_what_the_schema_says() {
    let profile = TrafficProfile::default();
    let mut record = searched("consistent");
    let mut trial: Trial = record.trials[0].trial().unwrap();
    trial.intended = None;
    trial.offered = u64::MAX;
    trial.refused = [("ENOBUFS".into(), u64::MAX)].into();
    trial.lost_at = Some([("unexplained".into(), 1 << 60)].into());
    trial.delay.negative = 3;
    trial.delay.negative_min_ns = Some(i64::MIN);
    let mut histogram = dropline_stats::Histogram::new();
    histogram.record_n(34_000, u64::MAX);
    trial.lateness.histogram = Some(histogram);
    trial.caveats.push(Caveat::GeneratorLost { dropped: u64::MAX });
    record.header = header("trial", &profile, &[]);
    record.trials = vec![TrialLine::new(&trial, "sim:x", "constant", Purpose::Trial, Duration::ZERO)];
    let schema = Schema::shipped();
    for line in lines(&record) {
        assert_eq!(schema.refusal(&line), None, "{line}");
    }
}

#[test]
fn a_line_that_lacks_or_bends_a_promised_field_is_refused() {
    let schema = Schema::shipped();
    let trial = lines(&searched("consistent"))[1].clone();
    for (field, value) in [
        ("offered", Value::Null),
        ("forwarded", json!(-1)),
        ("seed", json!("x")),
        ("purpose", json!("lunch")),
        ("line", json!("trail")),
        ("caveats", json!({})),
    ] {
        let mut bent = trial.clone();
        bent[field] = value;
        assert!(schema.refusal(&bent).is_some(), "{field} may be {}", bent[field]);
    }
    let mut cut = trial;
    cut.as_object_mut().unwrap().remove("forwarding_rate_pps");
    assert!(schema.refusal(&cut).is_some(), "a promised field may be missing");
}
