//! Results of FD.io CSIT's tests (its unified test interface, version 1: `….info.json`, also compressed) as records.
//!
//! Each test whose result says where a limit is becomes a record that `trend` reads: a search by another program, of which
//! the answer is known and no trial.

use dropline_archive::clock;
use dropline_record::record::{header_line, result_line};
use dropline_record::{
    AnswerLine, EndWord, Environment, GoalLine, Header, LoadUnit, ProfileLine, ResultLine, ResultWord,
    SearchLine, schema,
};
use dropline_stats::sample::{mean, standard_error};
use dropline_stats::special::student_quantile;
use dropline_trial::{Packet, TrafficProfile};
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;

/// A compressed file that becomes longer is not one of theirs.
const LONGEST: u64 = 64 << 20;
/// How a compressed file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A search of theirs ends when its bounds are so near to one another.
const WIDTH: f64 = 0.005;
/// The level of an interval of a mean.
const LEVEL: f64 = 0.95;
/// Their critical rate has a standard deviation on either side.
const ONE_DEVIATION: f64 = 0.6827;
/// What stands for the version of Dropline: the numbers are the same whichever reads them.
const READ_BY: &str = "import/1";

/// Why a file, or a test of it, is not a night of a history.
#[derive(Debug, thiserror::Error)]
pub enum CsitError {
    /// Not what they write.
    #[error("it is not a result of CSIT: {0}")]
    NotJson(#[from] serde_json::Error),
    /// It cannot be decompressed.
    #[error("it cannot be decompressed: {0}")]
    NotGzip(std::io::Error),
    /// Of another version.
    #[error("its version is {0}, and results of version 1 are read")]
    Version(String),
    /// The test failed.
    #[error("the test did not pass")]
    DidNotPass,
    /// Its kind has no limit.
    #[error("a result of the kind {0} does not say where a limit is")]
    NoLimit(String),
    /// Loads are counted in something else.
    #[error("its loads are in {0}, and those in pps are read")]
    Unit(String),
    /// A pair of bounds that cannot be.
    #[error("{0} is above {1}, which it is below by what it is called")]
    Crossed(f64, f64),
    /// A limit that is not one.
    #[error("{0} is not a load")]
    NotALoad(f64),
    /// No date.
    #[error("{0:?} is not a date")]
    NotADate(String),
}

/// A test of theirs, as a record or as why there is none.
#[derive(Debug)]
pub struct Test {
    /// What they call it.
    pub name: String,
    /// The text of the record.
    pub record: Result<String, CsitError>,
}

/// The tests of a file: one, several after one another, or arrays of them.
///
/// # Errors
/// If it holds anything else.
pub fn tests(bytes: &[u8]) -> Result<Vec<Test>, CsitError> {
    let bytes = decompressed(bytes)?;
    let mut tests = Vec::new();
    for part in serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>() {
        match part? {
            Value::Array(several) => tests.extend(several),
            one => tests.push(one),
        }
    }
    Ok(tests.into_iter().map(Test::of).collect())
}

impl Test {
    fn of(value: Value) -> Self {
        let name = value["test_id"].as_str().unwrap_or("a test without a name").to_owned();
        let record = match value["version"].as_str() {
            Some(version) if !version.starts_with("1.") => Err(CsitError::Version(version.to_owned())),
            _ => {
                serde_json::from_value::<Case>(value).map_err(CsitError::from).and_then(|case| case.record())
            }
        };
        Self { name, record }
    }
}

fn decompressed(bytes: &[u8]) -> Result<Cow<'_, [u8]>, CsitError> {
    if !bytes.starts_with(&GZIP) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut text = Vec::new();
    let read = GzDecoder::new(bytes).take(LONGEST + 1).read_to_end(&mut text).map_err(CsitError::NotGzip)?;
    if read as u64 > LONGEST {
        return Err(CsitError::NotGzip(std::io::Error::other("it is longer than 64 MiB")));
    }
    Ok(Cow::Owned(text))
}

/// What is read of a test; the rest is theirs.
#[derive(Deserialize)]
struct Case {
    passed: bool,
    test_id: String,
    start_time: String,
    dut_type: String,
    dut_version: String,
    #[serde(default)]
    tg_type: String,
    #[serde(default)]
    tg_version: String,
    hosts: Vec<String>,
    tags: Vec<String>,
    result: Found,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Found {
    Mrr {
        receive_rate: Rates,
    },
    Ndrpdr {
        ndr: Bounds,
        pdr: Bounds,
    },
    Soak {
        critical_rate: Bounds,
    },
    Hoststack {
        rate: Option<Rate>,
    },
    Reconf {},
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Rates {
    rate: Values,
}

#[derive(Deserialize)]
struct Values {
    values: Vec<f64>,
    #[serde(default)]
    unit: Option<String>,
}

#[derive(Deserialize)]
struct Bounds {
    lower: Bound,
    upper: Option<Bound>,
}

#[derive(Deserialize)]
struct Bound {
    rate: Rate,
}

#[derive(Deserialize)]
struct Rate {
    value: f64,
    #[serde(default)]
    unit: Option<String>,
}

impl Rate {
    fn pps(&self) -> Result<f64, CsitError> {
        in_packets(self.unit.as_deref()).map(|()| self.value)
    }
}

fn in_packets(unit: Option<&str>) -> Result<(), CsitError> {
    match unit {
        None | Some("pps") => Ok(()),
        Some(other) => Err(CsitError::Unit(other.to_owned())),
    }
}

impl Bounds {
    /// The lower bound, and the upper one where there is one.
    fn pps(&self) -> Result<(f64, Option<f64>), CsitError> {
        let lower = self.lower.rate.pps()?;
        let upper = self.upper.as_ref().map(|upper| upper.rate.pps()).transpose()?;
        match upper {
            Some(upper) if lower > upper => Err(CsitError::Crossed(lower, upper)),
            _ => Ok((lower, upper)),
        }
    }
}

/// Where a limit is said to be.
struct Limit {
    loss_ratio: f64,
    lower: f64,
    value: f64,
    upper: f64,
}

impl Case {
    fn record(self) -> Result<String, CsitError> {
        if !self.passed {
            return Err(CsitError::DidNotPass);
        }
        if clock::unix_s(&self.start_time).is_none() {
            return Err(CsitError::NotADate(self.start_time));
        }
        let (algorithm, level, limits) = self.result.limits()?;
        let numbers = || limits.iter().flat_map(|limit| [limit.lower, limit.value, limit.upper]);
        if let Some(wrong) = numbers().find(|load| !(*load > 0.0 && load.is_finite())) {
            return Err(CsitError::NotALoad(wrong));
        }
        let goals: Vec<GoalLine> = limits.iter().map(|limit| goal(limit, level)).collect();
        let header = self.header(SearchLine {
            algorithm: algorithm.into(),
            preset: None,
            goals: goals.clone(),
            min_load_pps: 0.0,
            max_load_pps: numbers().fold(0.0, f64::max),
            budget_s: None,
            max_trials: None,
            effective_duration: "duration_s".into(),
            warm_up_s: 0.0,
            delay_at: Vec::new(),
            repetition: None,
            level,
            certify: false,
            mdr: None,
        });
        let answers = goals.into_iter().zip(&limits).map(|(goal, limit)| answer(goal, limit, level));
        let result = ResultLine {
            goals: answers.collect(),
            trial_seconds: 0.0,
            elapsed_s: 0.0,
            interrupted: false,
            ended_by: EndWord::Done,
            delay_at: Vec::new(),
            back_to_back: None,
            loss_curve: Vec::new(),
            caveats: Vec::new(),
        };
        Ok(header_line(&header) + &result_line(&result))
    }

    fn header(&self, search: SearchLine) -> Header {
        let tagged = |prefix: &str| self.tags.iter().find_map(|tag| tag.strip_prefix(prefix));
        let frame = self.tags.iter().find_map(|tag| tag.strip_suffix('B')?.parse::<u32>().ok());
        let payload = frame.and_then(|bytes| bytes.checked_sub(Packet::FRAME_OVERHEAD));
        let packet = payload.and_then(|bytes| Packet::of_payload(bytes).ok());
        let usual = TrafficProfile::default();
        let profile = TrafficProfile { packet: packet.unwrap_or(usual.packet), ..usual };
        let nic = tagged("NIC_").map(|nic| format!(", {nic}")).unwrap_or_default();
        let mut labels = BTreeMap::from([
            ("version".to_owned(), self.dut_version.clone()),
            ("sut".to_owned(), self.dut_type.clone()),
        ]);
        labels.extend(commit(&self.dut_version).map(|commit| ("commit".to_owned(), commit.to_owned())));
        Header {
            schema: schema::CURRENT.into(),
            verb: "import".into(),
            started: self.start_time.clone(),
            target: format!("csit:{}", self.test_id),
            target_note: Some(format!("{} {}, measured by FD.io CSIT", self.dut_type, self.dut_version)),
            asked_digest: None,
            load_unit: LoadUnit::Packets,
            load_is: "the sum over all directions".into(),
            profile: ProfileLine::from(&profile),
            search: Some(search),
            generator: Some(format!("{} {}", self.tg_type, self.tg_version).trim().to_owned()),
            on: None,
            bursts: None,
            generator_limit_pps: None,
            environment: Environment {
                dropline: READ_BY.into(),
                cpu: Some(format!("CSIT testbed {}{nic}", self.hosts.join(" and "))),
                labels,
                ..Environment::default()
            },
        }
    }
}

impl Found {
    /// Its algorithm, the level of its intervals, and its limits.
    fn limits(&self) -> Result<(&'static str, Option<f64>, Vec<Limit>), CsitError> {
        let searched = |loss_ratio: f64, bounds: &Bounds| -> Result<Limit, CsitError> {
            let (lower, upper) = bounds.pps()?;
            // Where they publish a conditional throughput alone, the search ended at this width.
            let upper = upper.filter(|upper| *upper > lower).unwrap_or(lower / (1.0 - WIDTH));
            Ok(Limit { loss_ratio, lower, value: lower, upper })
        };
        match self {
            Self::Ndrpdr { ndr, pdr } => {
                let (ndr, pdr) = (searched(0.0, ndr)?, searched(0.005, pdr)?);
                match ndr.lower > pdr.lower {
                    true => Err(CsitError::Crossed(ndr.lower, pdr.lower)),
                    false => Ok(("mlr", None, vec![ndr, pdr])),
                }
            }
            Self::Soak { critical_rate } => {
                let (lower, upper) = critical_rate.pps()?;
                let upper = upper.unwrap_or(lower);
                let value = f64::midpoint(lower, upper);
                Ok(("plrsearch", Some(ONE_DEVIATION), vec![Limit { loss_ratio: 1e-7, lower, value, upper }]))
            }
            Self::Mrr { receive_rate } => {
                let values = &receive_rate.rate.values;
                in_packets(receive_rate.rate.unit.as_deref())?;
                let scatter = mean(values).zip(standard_error(values)).filter(|_| values.len() > 1);
                let (value, error) =
                    scatter.ok_or_else(|| CsitError::NoLimit("mrr with fewer than two trials".into()))?;
                let freedom = values.len().saturating_sub(1).max(1) as f64;
                let half = error * student_quantile(freedom, f64::midpoint(1.0, LEVEL));
                let lower = (value - half).max(value * 1e-3);
                Ok(("mrr", Some(LEVEL), vec![Limit { loss_ratio: 1.0, lower, value, upper: value + half }]))
            }
            Self::Hoststack { rate: Some(rate) } => {
                let value = rate.pps()?;
                let limit = Limit { loss_ratio: 1.0, lower: value, value, upper: value };
                Ok(("hoststack", None, vec![limit]))
            }
            Self::Hoststack { rate: None } => Err(CsitError::NoLimit("hoststack in bits a second".into())),
            Self::Reconf {} => Err(CsitError::NoLimit("reconf".into())),
            Self::Unknown => Err(CsitError::NoLimit("unknown".into())),
        }
    }
}

/// The commit in a version such as `25.06-rc0~128-g5a3f1c2`.
fn commit(version: &str) -> Option<&str> {
    let named = version.split(['-', '~', '+', '.']).rev().find_map(|part| part.strip_prefix('g'))?;
    (named.len() >= 7 && named.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(named)
}

fn goal(limit: &Limit, level: Option<f64>) -> GoalLine {
    GoalLine {
        loss_ratio: limit.loss_ratio,
        within_s: None,
        exceed_ratio: 0.5,
        trial_duration_s: 1.0,
        initial_trial_duration_s: 1.0,
        duration_sum_s: 21.0,
        // Of an interval nobody asked that it be narrow.
        width: if level.is_some() { 1.0 } else { WIDTH },
    }
}

fn answer(goal: GoalLine, limit: &Limit, level: Option<f64>) -> AnswerLine {
    AnswerLine {
        goal,
        lower_pps: Some(limit.lower),
        upper_pps: Some(limit.upper),
        median_pps: level.map(|_| limit.value),
        level,
        conditional_throughput_pps: level.is_none().then_some(limit.value),
        result: match level {
            Some(_) => ResultWord::Narrow,
            // A search of theirs that ended with its bounds farther apart.
            None if 1.0 - limit.lower / limit.upper > WIDTH * 1.001 => ResultWord::Wide,
            None => ResultWord::Regular,
        },
        why: None,
        outlook: None,
        certified: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_record::Record;
    use serde_json::json;

    fn case(kind: &str, mut result: Value) -> Value {
        result["type"] = kind.into();
        let mut case = json!({
            "version": "1.5.1", "passed": true, "message": "", "duration": 42.5,
            "test_id": format!("tests.vpp.perf.ip4.64b-1c-ethip4-ip4base-{kind}"),
            "start_time": "2026-11-02T03:04:05.678901Z", "end_time": "2026-11-02T03:05:05.678901Z",
            "dut_type": "vpp", "dut_version": "26.02-rc0~128-g5a3f1c2de",
            "tg_type": "trex", "tg_version": "v3.06", "hosts": ["192.0.2.1", "192.0.2.2"],
            "tags": ["64B", "1C", "NIC_Intel-E810CQ"], "telemetry": [],
        });
        case["result"] = result;
        case
    }

    fn bound(value: f64) -> Value {
        json!({ "rate": { "value": value, "unit": "pps" } })
    }

    fn record(case: &Value) -> Record {
        let mut tests = tests(case.to_string().as_bytes()).unwrap();
        Record::read(&tests.remove(0).record.unwrap()).unwrap()
    }

    fn refused(case: &Value) -> String {
        tests(case.to_string().as_bytes()).unwrap().remove(0).record.unwrap_err().to_string()
    }

    #[test]
    fn what_no_loss_and_half_a_percent_bear_are_two_goals_of_one_search() {
        let found = json!({ "ndr": { "lower": bound(9e6) }, "pdr": { "lower": bound(1e7) } });
        let record = record(&case("ndrpdr", found));
        let answers = record.answers().unwrap();
        let ratios: Vec<f64> = answers.iter().map(|answer| answer.goal.loss_ratio).collect();
        assert_eq!(ratios, [0.0, 0.005]);
        assert_eq!(answers[0].headline_pps(), Some(9e6));
        let header = &record.header;
        assert_eq!(header.target, "csit:tests.vpp.perf.ip4.64b-1c-ethip4-ip4base-ndrpdr");
        assert_eq!((header.profile.frame_bytes, header.verb.as_str()), (64, "import"));
        assert_eq!(header.environment.labels["commit"], "5a3f1c2de");
        assert!(header.environment.machine().contains("192.0.2.1 and 192.0.2.2, Intel-E810CQ"));
        assert!(record.is_finished());
    }

    #[test]
    fn bounds_that_are_farther_apart_than_their_goals_ask_are_not_yet_precise() {
        let found = json!({
            "ndr": { "lower": bound(1e6), "upper": bound(2e6) }, "pdr": { "lower": bound(1e6), "upper": bound(1.004e6) },
        });
        let results: Vec<ResultWord> =
            record(&case("ndrpdr", found)).answers().unwrap().iter().map(|answer| answer.result).collect();
        assert_eq!(results, [ResultWord::Wide, ResultWord::Regular]);
    }

    #[test]
    fn trials_at_the_highest_rate_have_a_mean_with_an_interval() {
        let values = [2.0e7, 2.1e7, 2.2e7];
        let record = record(&case("mrr", json!({ "receive_rate": { "rate": { "values": values } } })));
        let answer = &record.answers().unwrap()[0];
        assert_eq!((answer.median_pps, answer.level), (Some(2.1e7), Some(LEVEL)));
        // 4.303 standard errors of 577 350.
        assert!((answer.lower_pps.unwrap() - 1.8516e7).abs() < 1e4, "{answer:?}");
    }

    #[test]
    fn a_critical_rate_keeps_its_bounds() {
        let found = json!({ "critical_rate": { "lower": bound(1e6), "upper": bound(1.2e6) } });
        let answer = record(&case("soak", found)).answers().unwrap().remove(0);
        assert_eq!([answer.lower_pps, answer.median_pps, answer.upper_pps], [1e6, 1.1e6, 1.2e6].map(Some));
    }

    #[test]
    fn what_says_no_limit_is_left_out_with_its_reason() {
        let mut failed =
            case("ndrpdr", json!({ "ndr": { "lower": bound(9e6) }, "pdr": { "lower": bound(9e6) } }));
        failed["passed"] = false.into();
        assert_eq!(refused(&failed), "the test did not pass");
        failed["version"] = "0.1.0".into();
        assert!(refused(&failed).contains("0.1.0"));
        assert!(refused(&case("device", json!({}))).contains("does not say where a limit is"));
        assert!(
            refused(&case("hoststack", json!({ "bandwidth": { "value": 1e9, "unit": "bps" } })))
                .contains("bits")
        );
        let connections = json!({ "receive_rate": { "rate": { "values": [1e4, 2e4], "unit": "cps" } } });
        assert_eq!(refused(&case("mrr", connections)), "its loads are in cps, and those in pps are read");
        let alone = json!({ "receive_rate": { "rate": { "values": [1e4] } } });
        assert!(
            refused(&case("mrr", alone)).contains("fewer than two trials"),
            "of one trial no scatter is known"
        );
        let crossed = json!({ "critical_rate": { "lower": bound(2e6), "upper": bound(1e6) } });
        assert!(refused(&case("soak", crossed)).starts_with("2000000 is above 1000000"));
        let nothing = json!({ "receive_rate": { "rate": { "values": [0.0, 0.0] } } });
        assert_eq!(refused(&case("mrr", nothing)), "0 is not a load");
        assert!(tests(b"no JSON").is_err());
    }

    #[test]
    fn a_compressed_file_and_several_tests_are_read() {
        use std::io::Write as _;
        let one = case("mrr", json!({ "receive_rate": { "rate": { "values": [1e6, 1.1e6] } } }));
        let text = format!("{one}\n[{one}, {one}]\n");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let read = tests(&gzip.finish().unwrap()).unwrap();
        assert_eq!((read.len(), read.iter().filter(|test| test.record.is_ok()).count()), (3, 3));
        assert!(tests(&GZIP).is_err());
    }

    #[test]
    fn the_commit_is_read_from_a_version_that_has_one() {
        assert_eq!(commit("26.02-rc0~128-g5a3f1c2de"), Some("5a3f1c2de"));
        assert_eq!(commit("25.10-release"), None);
        assert_eq!(commit("26.02-git"), None);
    }
}
