//! `dropline search`.

mod gate;

use super::filing::Filing;
use super::{DONE, FAILED, conditions, not_valid, say_kept, style, style_of};
use crate::args::{FleetArgs, SearchArgs};
use crate::fleet::Performers;
use crate::progress::Progress;
use crate::{output as out, plan};
use dropline_archive::reading;
use dropline_archive::record_file::{Output, read_header, read_record};
use dropline_failure::{Failure, quoted_path};
use dropline_record::{AnswerLine, EndWord, Record, Study, Table};
use dropline_targets::Target;
use dropline_trial::Rate;
use dropline_verbs::back_to_back::BackToBackPlan;
use dropline_verbs::observer::Watcher as _;
use dropline_verbs::plan::SearchPlan;
use dropline_verbs::resume::{JOIN, going_on};
use dropline_verbs::search::{Conditions, Finished};
use dropline_verbs::validity;
use gate::{Gate, Held};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &SearchArgs, words: Vec<String>) -> Result<u8, Failure> {
    if let Some(path) = &args.resume {
        can_go_on(args, path)?;
    }
    if let Some(repetitions) = args.back_to_back {
        return bursts(args, repetitions, words);
    }
    if let Some(path) = &args.resume
        && let Some(header) = read_header(path)
        && let Some(plan) = BackToBackPlan::of_header(&header, path)?
    {
        return resumed_bursts(args, plan, path, words);
    }
    let gate = Gate::of(args)?;
    let mut filing = Filing::of(args.keep.output.as_deref(), &args.keep.filing)?;
    let mut progress = Progress::new(args.keep.quiet, args.jsonl);
    let mut conditions = conditions(&args.traffic, words)?;
    let (finished, paths) = match &args.resume {
        Some(path) => {
            let output = filing.resumed(path);
            let resumed = resume(args, path, &mut conditions, &mut progress);
            filing.file(&output, resumed.is_ok());
            (vec![resumed?], vec![path.clone()])
        }
        None => fresh(args, &mut filing, &mut conditions, &mut progress)?,
    };
    progress.clear();
    let (records, failures): (Vec<Record>, Vec<Option<Failure>>) =
        finished.into_iter().map(|finished| (finished.record, finished.failure)).unzip();
    let held: Vec<Held> = records.iter().map(|record| gate.hold(record)).collect::<Result<_, _>>()?;
    show(args, &records, &held)?;
    progress.printed()?;
    if !paths.is_empty() && !args.json_or_lines() {
        let is_broken = failures.last().is_some_and(Option::is_some);
        let rows = next_command(&args.fleet, &paths, &records, is_broken);
        out::print(&out::commands(&rows, style().width))?;
    }
    if let Some(failure) = failures.into_iter().flatten().next() {
        return Err(failure);
    }
    let failing = held.iter().filter(|held| held.fails()).count();
    Ok(match failing {
        // What is not known of the target cannot fail it.
        _ if records.iter().any(validity::is_generators) || held.iter().any(Held::is_invalid) => not_valid(),
        0 => DONE,
        _ => FAILED,
    })
}

/// Back-to-back frames, of each frame size.
fn bursts(args: &SearchArgs, repetitions: u32, words: Vec<String>) -> Result<u8, Failure> {
    let plans = plan::bursts(args, repetitions)?;
    let mut filing = Filing::of(args.keep.output.as_deref(), &args.keep.filing)?;
    let mut progress = Progress::new(args.keep.quiet, args.jsonl);
    let conditions = conditions(&args.traffic, words)?;
    let count = u32::try_from(plans.len()).unwrap_or(u32::MAX);
    for (index, plan) in (0..).zip(&plans) {
        let output = filing.output(&plan.target.to_string(), index, count)?;
        let done = dropline_verbs::back_to_back::back_to_back(plan, &output, &conditions, &mut progress);
        filing.file(&output, done.is_ok());
        progress.clear();
        told_bursts(args, done?, &output, &conditions)?;
    }
    Ok(DONE)
}

/// Goes on with a search for the longest burst.
fn resumed_bursts(
    args: &SearchArgs,
    mut plan: BackToBackPlan,
    path: &Path,
    words: Vec<String>,
) -> Result<u8, Failure> {
    if let Some(word) = &args.target {
        plan.target = Target::parse(word)?;
    }
    let mut filing = Filing::of(args.keep.output.as_deref(), &args.keep.filing)?;
    let mut progress = Progress::new(args.keep.quiet, args.jsonl);
    let conditions = conditions(&args.traffic, words)?;
    let output = filing.resumed(path);
    let done = dropline_verbs::back_to_back::resume(&plan, path, &conditions, &mut progress);
    filing.file(&output, done.is_ok());
    progress.clear();
    told_bursts(args, done?, &output, &conditions)?;
    Ok(DONE)
}

/// Says what was found, or why it ended early.
fn told_bursts(
    args: &SearchArgs,
    Finished { record, failure }: Finished,
    output: &Output,
    conditions: &Conditions,
) -> Result<(), Failure> {
    if args.keep.json {
        out::print_json(&record.to_object())?;
    } else if !args.jsonl {
        out::print_painted(&dropline_report::text(&record, style_of(args.keep.told)))?;
    }
    let Some(failure) = failure else { return Ok(()) };
    say_kept(&conditions.stop, output, args.keep.quiet);
    Err(failure)
}

/// The searches, and the file that each is kept in; no file where nothing is kept.
type All = (Vec<Finished>, Vec<PathBuf>);

fn fresh(
    args: &SearchArgs,
    filing: &mut Filing,
    conditions: &mut Conditions,
    progress: &mut Progress,
) -> Result<All, Failure> {
    if !args.keep.quiet && plan::replayed(args).is_some() {
        note!(
            "what the command line does not say of goals, algorithm, limits and random seed is taken from the record"
        );
    }
    let performers = Performers::of(&args.fleet)?;
    let mut limit: Option<Rate> = None;
    let plans = plan::searches(args, &mut |profile| match limit {
        Some(known) => Ok(known),
        None => {
            progress.generator(None);
            let measured = match performers.fleet()? {
                Some(fleet) => fleet.limit(profile)?,
                None => dropline_targets::generator_limit(profile, &conditions.stop)?,
            };
            progress.generator(Some(measured.as_pps()));
            limit = Some(measured);
            Ok(measured)
        }
    })?;
    conditions.generator_limit = limit;
    let repeat = args.repeat;
    let count = u32::try_from(plans.len()).unwrap_or(u32::MAX).saturating_mul(repeat);
    let mut finished = Vec::new();
    let mut paths = Vec::new();
    let searches = plans.iter().flat_map(|plan| (1..=repeat).map(move |number| (plan, number)));
    for (index, (plan, number)) in (0..).zip(searches) {
        let mut plan = plan.repetition(number, repeat);
        plan.target = performers.measure(plan.target)?;
        let output = filing.output(&plan.target.to_string(), index, count)?;
        progress.searching(&plan);
        let one = dropline_verbs::search::search(&plan, &output, conditions, progress);
        filing.file(&output, one.is_ok());
        let one = one?;
        if one.record.result.as_ref().is_some_and(|result| result.interrupted) {
            progress.clear();
            say_kept(&conditions.stop, &output, args.keep.quiet);
        }
        if let Output::File(file) = output {
            paths.push(file);
        }
        let stop = one.failure.is_some();
        finished.push(one);
        if stop {
            break;
        }
    }
    Ok((finished, paths))
}

/// A search is resumed in the file that holds it, and nowhere else.
fn can_go_on(args: &SearchArgs, path: &Path) -> Result<(), Failure> {
    let named = quoted_path(path);
    if args.keep.output.is_some() {
        return Err(Failure::usage(format!(
            "--output: a search that is resumed is kept in its own record, {}",
            path.display()
        ))
        .advice(format!(
            "leave --output out; to leave that record as it is, resume a copy:  cp {named} NEW && dropline search \
             --resume NEW"
        )));
    }
    // A record on standard input has no place for what is added.
    let is_stdin = path.as_os_str() == reading::STDIN;
    match std::fs::metadata(path) {
        _ if is_stdin => Err(Failure::usage(
            "--resume -: a search is resumed in the file that holds its record, and standard input is none",
        )
        .advice("keep the record in a file first:  cat >FILE && dropline search --resume FILE")),
        Ok(found) if !found.is_file() => Err(Failure::usage(format!(
            "--resume: {} is not a file, and a search is resumed in the file that holds it",
            path.display()
        ))
        .advice("keep the record in a file first")),
        _ => Ok(()),
    }
}

/// Resumes a record: its plan, other limits where they are given, and the target where it is typed again.
fn resume(
    args: &SearchArgs,
    path: &Path,
    conditions: &mut Conditions,
    progress: &mut Progress,
) -> Result<Finished, Failure> {
    let mut plan = SearchPlan::of_record(&read_record(path)?, path)?;
    if let Some(word) = &args.target {
        plan.target = Target::parse(word)?;
    }
    plan.target = Performers::of(&args.fleet)?.measure(plan.target)?;
    plan::limit(args, &mut plan.limits)?;
    progress.searching(&plan);
    dropline_verbs::search::resume(&plan, path, conditions, progress)
}

fn show(args: &SearchArgs, records: &[Record], held: &[Held]) -> Result<(), Failure> {
    if let Some(path) = &args.html {
        out::draw(path, dropline_report::html(records))?;
    }
    let texts: String = held.iter().filter_map(Held::text).collect();
    match records {
        _ if args.jsonl => {
            if !texts.is_empty() {
                out::say(&out::colored(texts.trim_end()));
            }
            Ok(())
        }
        records if args.keep.json => {
            let mut objects: Vec<Value> =
                records.iter().zip(held).map(|(record, held)| held.object(record)).collect();
            match objects.as_slice() {
                [_] => out::print_json(&objects.remove(0)),
                _ => out::print_json(&objects),
            }
        }
        [record] => out::print_painted(&(dropline_report::text(record, style_of(args.keep.told)) + &texts)),
        records if differs_in_frame(records) => {
            out::print_painted(&dropline_report::study_text(&frame_table(records), style()))
        }
        records => out::print_painted(&dropline_report::text_many(records, style_of(args.keep.told))),
    }
}

fn differs_in_frame(records: &[Record]) -> bool {
    records.iter().any(|record| record.header.profile.frame_bytes != records[0].header.profile.frame_bytes)
}

/// RFC 2544 §26.1: the results as a table of frame sizes.
fn frame_table(records: &[Record]) -> Study {
    let goals = records[0].result.as_ref().map(|result| result.goals.clone()).unwrap_or_default();
    let mut columns = vec!["frame, B".to_owned(), "payload, B".to_owned()];
    for answer in &goals {
        columns.push(format!("{}, pps", answer.goal.words()));
        columns.push("Mbit/s".into());
        columns.push("how sure".into());
    }
    let row = |record: &Record| {
        let profile = &record.header.profile;
        let mut row = vec![profile.frame_bytes.to_string(), profile.packet_bytes.to_string()];
        for answer in record.result.iter().flat_map(|result| &result.goals) {
            let megabits = |pps: f64| pps * f64::from(profile.frame_bytes) * 8.0 / 1e6;
            row.push(known(record, answer, |pps| format!("{pps:.0}")));
            row.push(known(record, answer, |pps| format!("{:.1}", megabits(pps))));
            row.push(dropline_report::standing(record, answer));
        }
        row
    };
    Study {
        charts: Vec::new(),
        name: "frame-sizes".into(),
        title: format!("{} by frame size", records[0].header.target),
        paragraphs: Vec::new(),
        tables: vec![Table {
            title: "Load by frame size (RFC 2544 §26.1)".into(),
            note: "bit/s counts frames without preamble".into(),
            columns,
            rows: records.iter().map(row).collect(),
        }],
        caveats: records.iter().flat_map(Record::caveats).collect(),
    }
}

/// What stands of an answer: a load between its ends, or the end that is known; of a doubted one what is open.
fn known(record: &Record, answer: &AnswerLine, words: impl Fn(f64) -> String) -> String {
    if let Some(denied) = dropline_report::denied(record, answer) {
        return match (denied.low_pps, denied.high_pps) {
            (Some(low), Some(high)) => format!("{} to {}", words(low), words(high)),
            (Some(low), None) => format!("\u{2265} {}", words(low)),
            (None, Some(high)) => format!("\u{2264} {}", words(high)),
            (None, None) => "none".into(),
        };
    }
    match (answer.headline_pps(), answer.lower_pps, answer.upper_pps) {
        (Some(load), Some(_), None) => format!("\u{2265} {}", words(load)),
        (Some(load), Some(lower), Some(upper)) => {
            format!("{} [{}, {}]", words(load), words(lower), words(upper))
        }
        (_, _, Some(upper)) => format!("\u{2264} {}", words(upper)),
        _ => "none".into(),
    }
}

/// What to do with the records, a label and a command each; `is_broken` says that the last of them lacks something, if
/// only its last line.
fn next_command(
    fleet: &FleetArgs,
    paths: &[PathBuf],
    records: &[Record],
    is_broken: bool,
) -> Vec<(&'static str, String)> {
    let path = quoted_path(&paths[0]);
    let last = paths.last().filter(|_| is_broken);
    let has_more = |record: &Record| record.ended_by() != Some(EndWord::EndingFailed);
    let cut_off = paths
        .iter()
        .zip(records)
        .find(|(path, record)| (!record.is_finished() || last == Some(*path)) && has_more(record));
    let go_on = cut_off.map(|(path, record)| {
        going_on(&path.to_string_lossy(), &record.header).replace(JOIN, &fleet.joined())
    });
    let all = || ("records", format!("{path} and {} more", records.len() - 1));
    match (records, go_on) {
        ([_], Some(command)) => vec![("record", path), ("resume", command)],
        ([_], None) => {
            let page = format!("dropline report {path} --html");
            vec![("record", path), ("page", page)]
        }
        (_, Some(command)) => vec![all(), ("resume the last", command)],
        (_, None) => vec![all()],
    }
}

impl SearchArgs {
    fn json_or_lines(&self) -> bool {
        self.keep.json || self.jsonl
    }
}
