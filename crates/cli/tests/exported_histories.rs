//! A history that is exported is read by programs of others.

mod command;
mod nights;
mod readers;

use command::Bench;
use nights::{add, changed, nights};
use readers::{Prometheus, must, python, reader};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Where the dashboard is.
const DASHBOARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/grafana-history.json");

/// A history of searches before and after a change, of one that was stopped, and of a trial.
fn history() -> Bench {
    let bench = Bench::new();
    let names = changed(&bench, 12, 12);
    let begun: String = bench.read("0.jsonl").lines().take(5).map(|line| format!("{line}\n")).collect();
    bench.write("begun.jsonl", &begun.replace("2026-03-01T00", "2026-02-28T00"));
    bench.done(&["trial", "sim:queue", "--load=1kpps", "--duration=1s", "-q", "-o", "trial.jsonl"]);
    let files: Vec<&str> = names.iter().map(String::as_str).chain(["begun.jsonl", "trial.jsonl"]).collect();
    assert_eq!(add(&bench, &[&["--unfinished"], files.as_slice()].concat()).code, Some(0));
    bench
}

#[test]
fn a_parquet_file_has_the_rows_and_columns_of_the_other_tables_with_their_types() {
    let bench = history();
    for more in [&["--goal=0.5%"][..], &[], &["--target=nothing"]] {
        for format in ["parquet", "jsonl"] {
            let words = ["history", "export", "nights", "--to", format, "-o", format];
            bench.done(&[&words[..], more].concat());
        }
        let columns =
            must(python().arg(reader("parquet.py")).args([bench.path("parquet"), bench.path("jsonl")]));
        for column in [
            "started timestamp[us, tz=UTC] TIMESTAMP WITH TIME ZONE",
            "target string VARCHAR",
            "finished bool BOOLEAN",
            "limit_pps double DOUBLE",
            "p99_ns int64 BIGINT",
        ] {
            assert!(columns.lines().any(|line| line == column), "{column} is not in\n{columns}");
        }
        let csv = bench.done(&[&["history", "export", "nights", "--to=csv"], more].concat()).text;
        let names: Vec<&str> = columns.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(csv.lines().next().unwrap(), names.join(","));
        for format in ["parquet", "jsonl"] {
            std::fs::remove_file(bench.path(format)).unwrap();
        }
    }
    // To a program that reads it, it is written as it is.
    let export = ["history", "export", "nights", "--to=parquet"];
    let printed = bench.command(&export).output().unwrap().stdout;
    bench.done(&[&export[..], &["-o", "file"]].concat());
    assert_eq!(printed, std::fs::read(bench.path("file")).unwrap());
}

/// The labels of each family and its samples by their second, as the reference parser reads them.
fn parsed(bench: &Bench, file: &str) -> Value {
    let script = "import json, sys\n\
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as f\n\
        print(json.dumps({m.name: [[s.labels, s.timestamp and float(s.timestamp), s.value] for s in m.samples]\n\
            for m in f(open(sys.argv[1]).read())}))";
    let read = must(Command::new("/usr/bin/python3").args(["-c", script]).arg(bench.path(file)));
    serde_json::from_str(&read).unwrap()
}

#[test]
fn openmetrics_of_a_history_have_each_bound_at_its_time_and_the_change() {
    let bench = history();
    bench.done(&["history", "export", "nights", "--to=openmetrics", "-o", "nights.om"]);
    let families = parsed(&bench, "nights.om");
    let listed = bench.done(&["history", "list", "nights", "--json"]).json();
    let searches: Vec<&Value> =
        listed["records"].as_array().unwrap().iter().filter(|line| line["kind"] == "search").collect();
    for bound in ["lower", "median", "upper", "limit"] {
        let samples = families[format!("dropline_history_{bound}_packets_per_second")].as_array().unwrap();
        let mut wanted: Vec<f64> =
            searches.iter().filter_map(|line| line["goals"][0][format!("{bound}_pps")].as_f64()).collect();
        let mut found: Vec<f64> = samples.iter().map(|sample| sample[2].as_f64().unwrap()).collect();
        wanted.sort_by(f64::total_cmp);
        found.sort_by(f64::total_cmp);
        assert_eq!(found, wanted, "{bound}: what is not there has no sample");
        assert!(samples.iter().all(|sample| sample[0]["target"] == "sim:noisy"), "{samples:?}");
    }
    let limits = families["dropline_history_limit_packets_per_second"].as_array().unwrap();
    assert_eq!((limits.len(), &limits[0][1]), (24, &Value::from(1_772_323_200.0)), "2026-03-01 in UTC");
    let results = families["dropline_history_result"].as_array().unwrap();
    assert!(results.iter().any(|sample| sample[0]["result"] == "wide"), "{results:?}");
    let trend = bench.done(&["trend", "nights", "--json"]).json();
    let change = &trend["series"][0]["changes"][0];
    let changes = families["dropline_history_change_ratio"].as_array().unwrap();
    assert_eq!((changes.len(), &changes[0][2]), (1, &change["size"]), "{changes:?}");
    let labels = &changes[0][0];
    assert_eq!([&labels["id"], &labels["verdict"]], [&change["id"], &change["verdict"]]);
    assert_eq!(labels["series"], trend["series"][0]["id"]);
    assert_eq!([&labels["acknowledged"], &labels["suspected"]], ["no", "no"]);
}

/// All strings below some keys.
fn strings<'a>(value: &'a Value, keys: &[&str], found: &mut Vec<&'a str>) {
    match value {
        Value::Object(all) => all.iter().for_each(|(key, value)| match value.as_str() {
            Some(text) if keys.contains(&key.as_str()) => found.push(text),
            _ => strings(value, keys, found),
        }),
        Value::Array(all) => all.iter().for_each(|value| strings(value, keys, found)),
        _ => {}
    }
}

fn dashboard() -> Value {
    serde_json::from_str(&std::fs::read_to_string(DASHBOARD).unwrap()).unwrap()
}

/// What it asks Prometheus.
fn expressions(dashboard: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    strings(dashboard, &["expr"], &mut found);
    found
}

#[test]
fn the_dashboard_asks_for_metrics_and_labels_that_an_export_has() {
    let bench = history();
    bench.done(&["history", "export", "nights", "--to=openmetrics", "-o", "nights.om"]);
    let families = parsed(&bench, "nights.om");
    let mut all = BTreeMap::new();
    for (name, samples) in families.as_object().unwrap() {
        let labels =
            samples.as_array().unwrap().iter().flat_map(|sample| sample[0].as_object().unwrap().keys());
        all.insert(name.as_str(), labels.map(String::as_str).collect::<BTreeSet<_>>());
    }
    let dashboard = dashboard();
    let mut asked = expressions(&dashboard);
    let mut variables = Vec::new();
    strings(&dashboard["templating"], &["query"], &mut variables);
    asked.extend(variables.iter().filter(|text| text.contains("label_values")));
    assert!(asked.len() >= 10, "{asked:?}");
    let mut used = BTreeSet::new();
    for text in asked {
        let mut metrics = text.match_indices("dropline_").peekable();
        assert!(metrics.peek().is_some(), "{text} names no metric");
        for (start, _) in metrics {
            let name =
                text[start..].split(|sign: char| !sign.is_alphanumeric() && sign != '_').next().unwrap();
            let labels = all.get(name).unwrap_or_else(|| panic!("{text}: an export has no {name}"));
            let matchers =
                text[start + name.len()..].strip_prefix('{').and_then(|rest| rest.split('}').next());
            let matched = matchers.into_iter().flat_map(|matchers| matchers.split(','));
            let matched = matched.filter_map(|one| one.split(['=', '!']).next()).map(str::trim);
            let by = text.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
            let grouped = by.flat_map(|by| by.split(',')).map(str::trim);
            let valued = text.strip_prefix("label_values").and_then(|rest| rest.rsplit(',').next());
            let valued = valued.map(|label| label.trim_end_matches(')').trim());
            for label in matched.chain(grouped).chain(valued) {
                assert!(labels.contains(label), "{text}: {name} has no label {label}: {labels:?}");
                used.insert(label);
            }
        }
    }
    assert!(used.contains("goal") && used.contains("result") && used.len() >= 5, "{used:?}");
    let mut shown = Vec::new();
    strings(&dashboard, &["legendFormat", "titleFormat", "textFormat", "tagKeys"], &mut shown);
    let known: BTreeSet<&str> = all.values().flatten().copied().collect();
    for label in
        shown.iter().flat_map(|text| text.split("{{").skip(1)).filter_map(|rest| rest.split("}}").next())
    {
        assert!(known.contains(label), "{label} is shown, and is in no metric");
    }
}

#[test]
fn each_expression_of_the_dashboard_finds_something_in_prometheus() {
    let bench = history();
    bench.done(&["history", "export", "nights", "--to=openmetrics", "-o", "nights.om"]);
    let data = bench.path("data");
    let words = ["tsdb", "create-blocks-from", "openmetrics"];
    must(Command::new("promtool").args(words).args([bench.path("nights.om"), data.clone()]));
    let prometheus = Prometheus::of(&data);
    let dashboard = dashboard();
    for expression in expressions(&dashboard) {
        let mut asked = expression.replace("$__range", "30d").replace("$__interval", "1h");
        for variable in ["target", "goal", "machine", "series"] {
            asked = asked.replace(&format!("${variable}"), ".*");
        }
        let found = prometheus.series(&asked, ["2026-03-01T00:00:00Z", "2026-03-03T00:00:00Z"]);
        assert!(found > 0, "{asked} finds nothing");
    }
}

#[test]
fn the_dashboard_is_one_to_grafanas_own_model() {
    must(python().arg(reader("dashboard.py")).arg(DASHBOARD));
}

#[test]
fn a_history_without_searches_has_no_metrics_and_says_so_by_their_absence() {
    let bench = Bench::new();
    bench.done(&["trial", "sim:queue", "--load=1kpps", "--duration=1s", "-q", "--history", "nights"]);
    assert_eq!(bench.done(&["history", "export", "nights", "--to=openmetrics"]).text, "# EOF\n");
    let names = nights(&bench, 1);
    assert_eq!(add(&bench, &[&names[0]]).code, Some(0));
    let text = bench.done(&["history", "export", "nights", "--to=openmetrics"]).text;
    assert!(text.contains("dropline_history_limit") && !text.contains("change_ratio"), "{text}");
}
