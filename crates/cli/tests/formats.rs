//! What is exported is read by the formats' own programs, and what other programs wrote is imported.

mod command;
mod readers;

use command::Bench;
use std::path::Path;
use std::process::{Command, Output};

/// Another program that performs the trial: of a million packets ten were lost. Its name is hard to quote.
const TRIAL: &str = r#"exec:sh -c 'read line; echo "{\"intended\":1000000,\"offered\":1000000,\"forwarded\":999990,\"duration_s\":1.0,\"delay_ns_histogram\":[[30000,500000],[60000,400000],[200000,90000],[900000,9990]]}"'"#;

/// What others wrote; where each is from stands beside the parser that it tests.
fn sample(name: &str) -> String {
    format!("{}/../distributions/tests/formats/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn run(command: &mut Command) -> Output {
    let program = command.get_program().to_owned();
    let missing =
        |why| panic!("{} is missing ({why}): cargo xtask setup test installs it", program.display());
    command.output().unwrap_or_else(missing)
}

fn must(command: &mut Command) -> String {
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{command:?}: {said}{text}");
    text
}

/// A trial, a search, one that was killed, wake-ups with slices, and imports whose events are not all of known length.
fn records(bench: &Bench) -> Vec<String> {
    bench.done(&["trial", TRIAL, "--load", "1Mpps", "--duration", "1s", "-q", "-o", "trial.jsonl"]);
    bench.done(&["search", "sim:soft", "--delay-at", "50%", "-q", "-o", "search.jsonl"]);
    bench.done(&["trial", "wakeup:", "--load", "1kHz", "--duration", "500ms", "-q", "-o", "woken.jsonl"]);
    let whole = bench.read("search.jsonl");
    let cut: Vec<&str> = whole.lines().filter(|line| !line.starts_with("{\"line\":\"result\"")).collect();
    bench.write("killed.jsonl", &(cut.join("\n") + "\n"));
    bench.write(
        "long.hist",
        "# Histogram\n000007 000010\n000150 000004\n# Total: 000000014\n# Min Latencies: 00007\n\
         # Histogram Overflows: 00034\n",
    );
    bench.done(&["import", "long.hist", "-o", "long.jsonl"]);
    bench.done(&["import", &sample("wrk2.txt"), "-o", "wrk2.jsonl"]);
    ["trial", "search", "woken", "killed", "long", "wrk2"].map(str::to_owned).to_vec()
}

#[test]
fn openmetrics_is_read_by_its_reference_parser_and_by_prometheus() {
    let bench = Bench::new();
    let names = records(&bench);
    for name in &names {
        let metrics = format!("{name}.om");
        bench.done(&["export", &format!("{name}.jsonl"), "--to", "openmetrics", "-o", &metrics]);
        let text = bench.read(&metrics);
        let checked = bench.path(&metrics);
        let mut lint = Command::new("promtool");
        must(lint.args(["check", "metrics"]).stdin(std::fs::File::open(checked).unwrap()));
        // Its own parser of OpenMetrics wants to know when, which a record's metrics leave to who scrapes them.
        let stamped: String = text
            .lines()
            .map(
                |line| {
                    if line.starts_with('#') { format!("{line}\n") } else { format!("{line} 1795253460\n") }
                },
            )
            .collect();
        bench.write("stamped.om", &stamped);
        let database = bench.path(&format!("{name}.tsdb"));
        let (metrics, database) = (bench.path("stamped.om"), database.as_path());
        must(
            Command::new("promtool")
                .args(["tsdb", "create-blocks-from", "openmetrics"])
                .args([&metrics, database]),
        );
        let buckets = text.lines().filter(|line| line.contains("_bucket{")).count();
        let histograms = text.lines().filter(|line| line.contains("le=\"+Inf\"")).count();
        assert!(buckets <= 16 * histograms, "{name}: {buckets} buckets of {histograms} histograms");
    }
    let parser = "import sys\nfrom prometheus_client.openmetrics.parser import text_string_to_metric_families as f\n\
                  for name in sys.argv[1:]: print(name, sum(len(m.samples) for m in f(open(name).read())))";
    let files: Vec<_> = names.iter().map(|name| bench.path(&format!("{name}.om"))).collect();
    let read = must(Command::new("/usr/bin/python3").args(["-c", parser]).args(files));
    assert_eq!(read.lines().count(), names.len(), "{read}");
}

#[test]
fn openmetrics_holds_load_loss_bounds_medians_and_few_buckets() {
    let bench = Bench::new();
    bench.done(&["trial", TRIAL, "--load", "1Mpps", "--duration", "1s", "-q", "-o", "trial.jsonl"]);
    bench.done(&["search", "sim:soft", "-q", "-o", "search.jsonl"]);
    let text = bench.done(&["export", "trial.jsonl", "--to", "openmetrics"]).text;
    for sample in [
        r#"",trial="1",purpose="trial"} 1000000"#,
        "dropline_offered_packets{",
        "dropline_lost_packets{",
        "dropline_loss_ratio{",
        r#"le="3e-05"} "#,
        r#"le="+Inf"} 999990"#,
        "dropline_delay_seconds_sum{",
        r#"quantile="0.5"} 0.00003"#,
    ] {
        assert!(text.contains(sample), "{sample} is not in\n{text}");
    }
    let text = bench.done(&["export", "search.jsonl", "--to", "openmetrics"]).text;
    let object = bench.done(&["report", "search.jsonl", "--json"]).json();
    for end in ["lower", "median", "upper"] {
        let value = object["goals"][0][format!("{end}_pps")].as_f64().unwrap();
        let sample = format!(
            "dropline_goal_{end}_packets_per_second{{target=\"sim:soft\",goal=\"1\",loss_ratio=\"0\"}} {value}\n"
        );
        assert!(text.contains(&sample), "{sample} is not in\n{text}");
    }
    assert!(text.contains("dropline_goal_result{") && !text.contains("_bucket"), "{text}");
    let timed = ["search", TRIAL, "--goal", "p99<1ms", "--max-trials", "1", "--min-load", "1Mpps"];
    bench.run(&[&timed[..], &["--max-load", "1Mpps", "-q", "-o", "timed.jsonl"]].concat());
    let text = bench.done(&["export", "timed.jsonl", "--to", "openmetrics"]).text;
    let goal = r#"goal="1",loss_ratio="0.01",within_seconds="0.001""#;
    assert!(text.contains(goal), "a goal of delay is another series than one of loss: {text}");
}

/// Percentile 50 and the number of events, as HdrHistogram's own program prints them.
fn processed(log: &Path) -> (f64, u64) {
    let text = must(
        Command::new("java")
            .args(["-cp", "/usr/share/java/hdrhistogram.jar", "org.HdrHistogram.HistogramLogProcessor"])
            .args(["-outputValueUnitRatio", "1.0", "-i"])
            .arg(log),
    );
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() >= 3 && row[0].parse::<f64>().is_ok());
    let half: Vec<_> = rows.filter(|row| row[1].parse::<f64>().is_ok_and(|at| at >= 0.5)).collect();
    let total = text.split("Total count").nth(1).unwrap_or_else(|| panic!("no events: {text}"));
    let total = total.trim_matches(|sign: char| !sign.is_ascii_digit()).split(']').next().unwrap();
    (half[0][0].parse().unwrap(), total.parse().unwrap())
}

#[test]
fn the_log_of_a_single_trial_is_untagged_and_its_time_and_median_are_the_records() {
    let bench = Bench::new();
    bench.done(&["trial", TRIAL, "--load", "1Mpps", "--duration", "1s", "-q", "-o", "trial.jsonl"]);
    bench.done(&["export", "trial.jsonl", "--to", "hlog", "-o", "trial.hlog"]);
    let object = bench.done(&["report", "trial.jsonl", "--json"]).json();
    let (median, events) = processed(&bench.path("trial.hlog"));
    assert_eq!((median, events), (object["delay_ns"]["p50"].as_f64().unwrap(), 999_990));
    let log = bench.read("trial.hlog");
    assert!(log.lines().last().unwrap().starts_with("0.000,1.000,0.9"), "{log}");
    let started: Vec<&str> = log.lines().filter(|line| line.starts_with("#[StartTime: 1")).collect();
    assert_eq!(started.len(), 1, "the log begins when the record does: {log}");
    // What is written is read again, whole and by time.
    bench.done(&["trial", "wakeup:", "--load", "1kHz", "--duration", "500ms", "-q", "-o", "woken.jsonl"]);
    bench.done(&["export", "woken.jsonl", "--to", "hlog", "--slices", "-o", "sliced.hlog"]);
    let (_, events) = processed(&bench.path("sliced.hlog"));
    let object = bench.done(&["report", "woken.jsonl", "--json"]).json();
    assert_eq!(events, object["delay_ns"]["count"].as_u64().unwrap(), "slices hold every event");
    bench.done(&["import", "sliced.hlog", "-o", "sliced.jsonl"]);
    assert!(bench.read("sliced.jsonl").contains("\"slices\":[{"));
}

#[test]
fn every_text_format_is_written_where_o_says_and_nothing_is_overwritten() {
    let bench = Bench::new();
    bench.done(&["trial", TRIAL, "--load", "1Mpps", "--duration", "1s", "-q", "-o", "trial.jsonl"]);
    for format in ["csv", "hlog", "openmetrics", "schema"] {
        let words = ["export", "trial.jsonl", "--to", format];
        let printed = bench.done(&words).text;
        let words = [&words[..], &["-o", format]].concat();
        assert_eq!(bench.done(&words).text, "");
        assert_eq!(bench.read(format), printed, "{format}");
        let again = bench.run(&words);
        assert_eq!(
            (again.code, again.errors.contains("exists already")),
            (Some(2), true),
            "{}",
            again.errors
        );
    }
}

/// Each value of the Parquet file of a record, as the CSV has it.
const SAME: &str = "import csv, sys, pyarrow.parquet\n\
    table = pyarrow.parquet.read_table(sys.argv[1])\n\
    rows = list(csv.reader(open(sys.argv[2], newline='')))\n\
    assert rows[0] == table.column_names, (rows[0], table.column_names)\n\
    read = {'int64': int, 'double': float, 'string': str, 'bool': lambda cell: cell == 'true'}\n\
    kinds = [read[str(kind)] for kind in table.schema.types]\n\
    wanted = [[kind(cell) if cell else None for kind, cell in zip(kinds, row)] for row in rows[1:]]\n\
    found = [[value or (value if value != '' else None) for value in row.values()] for row in table.to_pylist()]\n\
    assert found == wanted, (found, wanted)\n\
    print(len(found), len({str(kind) for kind in table.schema.types}))";

#[test]
fn a_parquet_file_of_a_record_has_each_value_of_its_csv_in_its_type() {
    let bench = Bench::new();
    bench.done(&[
        "search",
        "sim:queue",
        "--seed=1",
        "--max-trials=5",
        "--goal=p99<5ms",
        "-q",
        "-o",
        "trials.jsonl",
    ]);
    bench.done(&["import", &sample("wrk2.txt"), "-o", "cells.jsonl"]);
    for (record, kinds) in [("trials.jsonl", 4), ("cells.jsonl", 3)] {
        for format in ["csv", "parquet"] {
            bench.done(&["export", record, "--to", format, "-o", format]);
        }
        let said = readers::must(
            readers::python().args(["-c", SAME]).args([bench.path("parquet"), bench.path("csv")]),
        );
        let [rows, types] =
            said.split_whitespace().map(|word| word.parse().unwrap()).collect::<Vec<u64>>()[..]
        else {
            panic!("{said}")
        };
        assert!(rows >= 5 && types == kinds, "{record}: {said}");
        let printed = bench.command(&["export", record, "--to", "parquet"]).output().unwrap().stdout;
        assert_eq!(printed, std::fs::read(bench.path("parquet")).unwrap());
        for format in ["csv", "parquet"] {
            std::fs::remove_file(bench.path(format)).unwrap();
        }
    }
}

#[test]
fn a_log_of_a_record_without_delays_says_what_else_there_is() {
    let bench = Bench::new();
    bench.done(&["trial", "sim:hard", "--load", "1Mpps", "--duration", "1s", "-q", "-o", "trial.jsonl"]);
    let ended = bench.run(&["export", "trial.jsonl", "--to", "hlog"]);
    assert_eq!(ended.code, Some(4));
    assert!(
        ended.errors.contains("measured delays") && ended.errors.contains("--to csv"),
        "{}",
        ended.errors
    );
    assert!(!ended.errors.contains("import"), "{}", ended.errors);
}

#[test]
fn what_other_programs_wrote_is_imported_without_a_hint() {
    let bench = Bench::new();
    bench.write("savetxt.txt", "3.559000000000000000e+03\n1.230000000000000071e+01\n");
    bench.write("array.json", "[12.5, 13, 1.4e1]\n");
    bench.write("requests.csv", "path,latency_ms\n/a,12.5\n\"/b,c\",13\n");
    let samples = [sample("fio.json"), sample("hyperfine.json"), sample("wrk2.txt")];
    for (file, events) in [
        (samples[0].as_str(), &["small read clat: 29 events", "small write lat: 35 events"][..]),
        (&samples[1], &["true: 20 events", "sleep 0.01: 20 events"]),
        (&samples[2], &["Recorded Latency: 395 events", "Uncorrected Latency: 395 events"]),
        ("savetxt.txt", &["2 events"]),
        ("array.json", &["3 events"]),
        ("requests.csv", &["2 events"]),
    ] {
        let _ = std::fs::remove_file(bench.path("read.jsonl"));
        let read = bench.done(&["import", file, "-o", "read.jsonl"]);
        assert!(events.iter().all(|events| read.text.contains(events)), "{file}: {}", read.text);
    }
}

#[test]
fn of_several_trials_with_delays_it_is_said_which_are_read_and_any_can_be_named() {
    let bench = Bench::new();
    bench.done(&["trial", TRIAL, "--load", "1Mpps", "--duration", "1s", "-q", "-o", "one.jsonl"]);
    let one = bench.read("one.jsonl");
    let (header, trial) = one.trim_end().split_once('\n').unwrap();
    let first: serde_json::Value = serde_json::from_str(header).unwrap();
    let seed = first["profile"]["seed"].as_u64().unwrap();
    let trial = |number: u64, purpose: &str| {
        let mut line: serde_json::Value = serde_json::from_str(trial).unwrap();
        (line["number"], line["purpose"]) = (number.into(), purpose.into());
        line["at_s"] = (number as f64 - 1.0).into();
        line["seed"] = dropline_trial::seed::of_trial(seed, number).into();
        format!("{line}\n")
    };
    let record = |purposes: &[&str]| {
        let trials = (1..).zip(purposes).map(|(number, purpose)| trial(number, purpose));
        format!("{header}\n{}", trials.collect::<String>())
    };
    bench.write("search.jsonl", &record(&["search", "search", "search"]));
    bench.write("asked.jsonl", &record(&["search", "delay_at", "delay_at"]));
    let export = |words: &[&str]| bench.done(&[&["export", "--to", "hlog"], words].concat());
    let intervals = |text: &str| text.lines().filter(|line| line.contains("HISTFAAA")).count();
    for (file, read, says) in [
        ("one.jsonl", 1, None),
        ("search.jsonl", 1, Some("of 3 trials with delays, the last one (--trial N names another)")),
        ("asked.jsonl", 2, Some("of 3 trials with delays, those at a load that was asked for")),
    ] {
        let log = export(&[file]);
        assert_eq!(intervals(&log.text), read, "{file}: {}", log.text);
        let fit = bench.done(&["fit", file]);
        assert_eq!(fit.text.matches("\nn   ").count() + usize::from(fit.text.starts_with("n   ")), read);
        for words in [&log.errors, &fit.text.split_whitespace().collect::<Vec<_>>().join(" ")] {
            assert_eq!(words.contains("of 3 trials"), says.is_some(), "{file}: {words}");
            assert!(says.is_none_or(|says| words.contains(says)), "{file}: {words}");
        }
        let named = export(&[file, "--trial", "1"]);
        assert_eq!((intervals(&named.text), named.errors.contains("of 3")), (1, false), "{}", named.errors);
        let fit = bench.done(&["fit", file, "--trial", "1", "--json"]);
        assert!(fit.text.contains("trial 1 at") && !fit.text.contains("of 3"), "{}", fit.text);
    }
    let refused = bench.run(&["export", "--to", "hlog", "search.jsonl", "--trial", "4"]);
    assert_eq!((refused.code, refused.errors.contains("there are 1, 2, 3")), (Some(2), true));
    let refused = bench.run(&["fit", "search.jsonl", "--trial", "4"]);
    assert!(refused.code != Some(0) && refused.errors.contains("there are 1, 2, 3"), "{}", refused.errors);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file_and_a_dash_is_the_standard_input() {
    let bench = Bench::new();
    bench.write("marked.csv", "\u{feff}latency_ms\r\n12.5\r\n13\r\n");
    bench.write("marked.txt", "\u{feff}12.5\n13\n");
    for (file, notes) in [("marked.csv", 0), ("marked.txt", 1)] {
        let stdin = std::fs::File::open(bench.path(file)).unwrap();
        let read = bench.command(&["import", "-", "-o", "read.jsonl"]).stdin(stdin).output().unwrap();
        let (said, errors) = (String::from_utf8_lossy(&read.stdout), String::from_utf8_lossy(&read.stderr));
        assert!(said.starts_with("2 events"), "{said}{errors}");
        assert_eq!(errors.lines().count(), notes, "{errors}");
        std::fs::remove_file(bench.path("read.jsonl")).unwrap();
        bench.done(&["import", file, "-o", "read.jsonl"]);
        std::fs::remove_file(bench.path("read.jsonl")).unwrap();
    }
}

#[test]
fn a_unit_that_a_file_has_is_replaced_by_no_other() {
    let bench = Bench::new();
    bench.write("a.csv", "latency_ms\n12.5\n");
    for (file, code) in [("a.csv", 4), (&sample("wrk2.txt"), 4), (&sample("fio.json"), 2)] {
        let refused = bench.run(&["import", file, "--unit", "us", "-o", "read.jsonl"]);
        assert_eq!(
            (refused.code, refused.errors.contains("--unit")),
            (Some(code), true),
            "{}",
            refused.errors
        );
        assert!(!bench.path("read.jsonl").exists());
    }
    bench.done(&["import", "a.csv", "--unit", "ms", "-o", "read.jsonl"]);
}

#[test]
fn a_percentile_file_that_was_cut_off_is_refused_with_its_line() {
    let bench = Bench::new();
    let whole = std::fs::read_to_string(sample("wrk2.txt")).unwrap();
    for lines in [20, 40, 64] {
        let cut: String = whole.split_inclusive('\n').take(lines).collect();
        bench.write("cut.txt", &cut);
        let refused = bench.run(&["import", "cut.txt", "-o", "cut.jsonl"]);
        assert_eq!(refused.code, Some(4), "{lines} lines: {}", refused.text);
        let says = format!("line {lines}: the table of percentiles ends here");
        assert!(refused.errors.contains(&says), "{}", refused.errors);
        assert!(!bench.path("cut.jsonl").exists());
    }
}

#[test]
fn one_of_several_distributions_is_named_and_compared() {
    let bench = Bench::new();
    let both = sample("hyperfine.json");
    let refused = bench.run(&["compare", &both, &both]);
    assert!(
        refused.code == Some(2) && refused.errors.contains("import FILE --only NAME"),
        "{}",
        refused.errors
    );
    for (only, file) in [("true", "a.jsonl"), ("2", "b.jsonl")] {
        bench.done(&["import", &both, "--only", only, "-o", file]);
    }
    let compared = bench.run(&["compare", "a.jsonl", "b.jsonl"]);
    assert!(compared.code == Some(1) && compared.text.contains("typical slower"), "{}", compared.text);
    let compared = bench.done(&["compare", &both, "a.jsonl", "--only", "1"]);
    assert!(compared.text.contains("20 events"), "{}", compared.text);
    let unknown = bench.run(&["fit", &both, "--only", "false"]);
    let says = "1 \"true\", 2 \"sleep 0.01\"";
    assert!(unknown.code == Some(2) && unknown.errors.contains(says), "{}", unknown.errors);
    bench.write("twice.json", r#"{"results":[{"command":"x","times":[0.1]},{"command":"x","times":[0.2]}]}"#);
    let twice = bench.run(&["fit", "twice.json", "--only", "x"]);
    assert!(twice.errors.contains("more than one") && twice.errors.contains("2 \"x\""), "{}", twice.errors);
    bench.done(&["fit", "twice.json", "--only", "2"]);
}

#[test]
fn whatever_an_error_advises_for_a_file_is_a_flag_of_the_verb_that_read_it() {
    let bench = Bench::new();
    bench.write("two.csv", "at,latency\n1,12\n2,13\n");
    for words in [
        &["compare", "two.csv", "two.csv"][..],
        &["fit", "two.csv"],
        &["inject", "--stored", "two.csv", "two.csv", "--delay", "3us"],
    ] {
        let refused = bench.run(words);
        for flag in ["--column", "--from"] {
            assert!(refused.errors.contains(flag), "{words:?}: {}", refused.errors);
        }
        let told = [words, &["--column", "latency", "--from", "csv", "--unit", "us"]].concat();
        assert!(bench.run(&told).code != Some(2), "{told:?}: {}", bench.run(&told).errors);
    }
    for words in [
        &["compare", "--abba", "sim:hard", "sim:soft", "--load", "1kpps"][..],
        &["inject", "exec:true", "--delay", "3us", "--probe", "x"],
    ] {
        let refused = bench.run(&[words, &["--column", "2"]].concat());
        assert!(refused.code == Some(2) && refused.errors.contains("leave them out"), "{}", refused.errors);
    }
    bench.done(&["trial", TRIAL, "--load", "1Mpps", "--duration", "1s", "-q", "-o", "t.jsonl"]);
    let refused = bench.run(&["compare", "t.jsonl", "t.jsonl", "--unit", "ms"]);
    assert!(refused.code == Some(2) && refused.errors.contains("import FILE"), "{}", refused.errors);
}

#[test]
fn what_cannot_be_imported_is_said_and_not_guessed() {
    let bench = Bench::new();
    bench.write("iperf3.json", "{\"start\": {}, \"intervals\": []}\n");
    bench.write("two.csv", "at,latency_ms\n1,12\n2,13\n");
    let refused = |words: &[&str], code: i32, says: &str| {
        let ended = bench.run(&[words, &["-o", "read.jsonl"]].concat());
        assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.errors);
        assert!(ended.errors.contains(says), "{words:?} should say {says:?}: {}", ended.errors);
        assert!(!bench.path("read.jsonl").exists(), "nothing of it is kept");
    };
    bench.write("empty", "");
    refused(&["import", "empty"], 4, "empty is empty");
    refused(&["import", "iperf3.json"], 4, "not known");
    refused(&["import", "two.csv"], 4, "at, latency_ms");
    refused(&["import", "two.csv", "--column", "p99"], 4, "there is no column \"p99\"");
    refused(&["import", "two.csv", "--from", "raw", "--column", "2"], 2, "--column");
    bench.done(&["import", "two.csv", "--column", "latency_ms", "-o", "read.jsonl"]);
}

#[test]
fn a_name_in_an_imported_file_steers_no_terminal_and_makes_no_line_of_its_own() {
    let bench = Bench::new();
    let results = r#"{"results":[{"command":"\u001b[8mx\n! all is well","times":[0.1,0.2,0.3]}]}"#;
    bench.write("h.json", results);
    let imported = bench.done(&["import", "h.json", "-o", "h.jsonl"]);
    assert!(!imported.text.contains('\u{1b}') && imported.text.lines().count() == 1, "{:?}", imported.text);
}
