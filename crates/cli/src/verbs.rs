//! A file a verb: what it does with its flags, its result on stdout, its exit code.

#[cfg(feature = "fleet")]
pub(crate) mod agent;
pub(crate) mod client;
pub(crate) mod compare;
pub(crate) mod doctor;
#[cfg(feature = "studies")]
pub(crate) mod experiment;
pub(crate) mod explain;
pub(crate) mod export;
mod filing;
pub(crate) mod fit;
#[cfg(feature = "fleet")]
pub(crate) mod fleet;
pub(crate) mod heartbeat;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod inject;
pub(crate) mod manual;
pub(crate) mod measure;
mod picture;
pub(crate) mod report;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod trend;
pub(crate) mod trial;
pub(crate) mod view;
pub(crate) mod watch;

use crate::args::{
    CompareArgs, FitArgs, HistoryArgs, ImportArgs, InjectArgs, KeepArgs, SearchArgs, ToldArgs, TrafficArgs,
    TrendArgs, TrialArgs, WatchArgs,
};
use crate::signals::stop_on_signals;
use crate::{output as out, plan};
use clap::{Command, Subcommand};
use dropline_archive::record_file::Output;
use dropline_failure::{Failure, quoted_path};
use dropline_record::Record;
use dropline_report::{Color, Style, object as object_of};
use dropline_targets::ProgramFile;
use dropline_verbs::fail_if::{AskedSearch, CheckedCondition, FailIf};
use dropline_verbs::search::Conditions;
use heartbeat::HeartbeatArgs;
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What can be asked for, in the order in which the help lists it.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Search(Box<SearchArgs>),
    Trial(Box<TrialArgs>),
    Explain(explain::ExplainArgs),
    Compare(Box<CompareArgs>),
    Trend(TrendArgs),
    History(HistoryArgs),
    View(view::ViewArgs),
    Serve(serve::ServeArgs),
    Watch(WatchArgs),
    Report(report::ReportArgs),
    Fit(FitArgs),
    Inject(Box<InjectArgs>),
    Import(ImportArgs),
    Export(export::ExportArgs),
    Measure(Box<measure::MeasureArgs>),
    Heartbeat(HeartbeatArgs),
    #[cfg(feature = "studies")]
    Experiment(experiment::ExperimentArgs),
    Doctor(doctor::DoctorArgs),
    #[cfg(feature = "fleet")]
    Agent(agent::AgentArgs),
    #[cfg(feature = "fleet")]
    Fleet(fleet::FleetVerbArgs),
    #[command(hide = true)]
    Client(client::ClientArgs),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

impl Verb {
    /// Does it; `words` are the command line as a record keeps it, `all` is what it is parsed by.
    pub(crate) fn run(self, words: Vec<String>, all: Command) -> Result<u8, Failure> {
        let code = match self {
            Self::Search(args) => search::run(&args, words),
            Self::Trial(args) => trial::run(&args, words),
            Self::Serve(args) => serve::run(&args),
            Self::Fit(args) => fit::run(&args),
            Self::Explain(args) => explain::run(&args),
            Self::Watch(args) => watch::run(&args, words),
            Self::Import(args) => import::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Compare(args) => compare::run(&args, words),
            Self::Trend(args) => trend::run(&args, words),
            Self::History(args) => history::run(&args),
            Self::View(args) => view::run(&args),
            Self::Inject(args) => inject::run(&args, words),
            Self::Export(args) => export::run(&args),
            Self::Measure(args) => measure::run(&args),
            Self::Heartbeat(args) => heartbeat::run(&args),
            #[cfg(feature = "studies")]
            Self::Experiment(args) => experiment::run(&args),
            Self::Doctor(args) => doctor::run(&args),
            #[cfg(feature = "fleet")]
            Self::Agent(args) => agent::run(&args),
            #[cfg(feature = "fleet")]
            Self::Fleet(args) => fleet::run(&args),
            Self::Client(args) => client::run(&args),
            Self::Completions(args) => manual::completions(&args, all),
            Self::Man(args) => manual::man(&args, all),
        };
        code.map(filing::ended)
    }
}

/// Done as asked.
const DONE: u8 = 0;
/// A `--fail-if` or `--require` holds.
const FAILED: u8 = 1;
/// Measured, but not valid: the caveats say why.
const INVALID: u8 = 3;
/// What is said with it.
const NOT_VALID: &str = "not valid: this says more about the generator, or the path, than about the target; the caveats say \
                         why, and what would help (exit code 3)";
/// Says that it is not valid: that comes before any verdict on the target.
fn not_valid() -> u8 {
    note!("{NOT_VALID}");
    INVALID
}

/// Whether its trial was stopped before its time.
fn is_interrupted(record: &Record) -> bool {
    record.trials.iter().flat_map(|line| &line.caveats).any(|caveat| caveat.code == "interrupted")
}

/// The file that holds the record, and what to do with it next: where packets were lost and their times are kept, why.
fn print_where_it_is(record: &Record, output: &Output, width: usize) -> Result<(), Failure> {
    let Some(path) = output.path().filter(|path| path.is_file()) else { return Ok(()) };
    let path = quoted_path(path);
    let next = match record.trials.iter().any(|line| line.packets.is_some() && line.lost.0 > 0) {
        true => ("why", format!("dropline explain {path}")),
        false => ("page", format!("dropline report {path} --html")),
    };
    out::print(&out::commands(&[("record", path), next], width))
}

/// Says what a signal left: the record, and where it is.
fn say_kept(stop: &AtomicBool, output: &Output, quiet: bool) {
    if quiet || !stop.load(Ordering::SeqCst) {
        return;
    }
    note!("{}", kept_words(output.path().filter(|path| path.is_file())));
}

fn kept_words(record: Option<&Path>) -> String {
    match record {
        Some(path) => {
            format!("stopped: all that was measured until then is kept in {}", quoted_path(path))
        }
        None => "stopped: what was measured until then is shown, and kept in no file".into(),
    }
}

/// What a measurement is given beside its plan.
fn conditions(traffic: &TrafficArgs, command_line: Vec<String>) -> Result<Conditions, Failure> {
    Ok(Conditions {
        command_line,
        stop: stop_on_signals()?,
        patience: plan::patience(traffic)?,
        slices: traffic.measured.slices,
        generator_limit: None,
        moving: plan::moving(traffic)?,
        labels: BTreeMap::new(),
        program: ProgramFile::Own,
    })
}

/// The same with how it was measured, where that is asked for.
fn style_of(told: ToldArgs) -> Style {
    Style { verbose: told.verbose, ..style() }
}

/// How text is laid out on this stdout: plain when piped or with NO_COLOR.
fn style() -> Style {
    let out = std::io::stdout();
    let width = crate::output::terminal_width().unwrap_or(Style::default().width);
    let plain = !out.is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let said = |name: &str| std::env::var(name).unwrap_or_default();
    let ground = std::env::var("COLORFGBG").ok();
    let color = if plain { Color::None } else { color(&said("TERM"), &said("COLORTERM"), ground.as_deref()) };
    Style { width, color, ..Style::default() }
}

/// The colours of a terminal by what it says of itself: how many it has, and of its ground.
fn color(term: &str, colorterm: &str, ground: Option<&str>) -> Color {
    let has_many = term.contains("256") || term.contains("direct") || !colorterm.is_empty();
    match (term, has_many, ground.map(light_ground)) {
        ("dumb", _, _) => Color::None,
        (_, true, Some(true)) => Color::Ansi256Light,
        (_, true, Some(false)) => Color::Ansi256Dark,
        (_, true, None) => Color::Ansi256,
        (_, false, Some(true)) => Color::Ansi16Light,
        (_, false, Some(false)) => Color::Ansi16Dark,
        // A console has a dark ground.
        ("linux", false, None) => Color::Ansi16Dark,
        (_, false, None) => Color::Ansi16,
    }
}

/// Whether `COLORFGBG` (as `0;15`) says that the terminal's ground is light.
fn light_ground(colors: &str) -> bool {
    matches!(colors.rsplit(';').next(), Some("7" | "15"))
}

/// The conditions of `--fail-if`, of what is asked of a search or of a trial.
fn conditions_to_fail(keep: &KeepArgs, asked: Option<&AskedSearch>) -> Result<Vec<FailIf>, Failure> {
    let read = |text: &String| {
        let condition = FailIf::parse(text)?;
        condition.check(asked).map(|()| condition)
    };
    keep.fail_if.iter().map(read).collect()
}

/// A record as one object, with how it stands to the conditions where there are some.
fn object(record: &Record, checked: &[CheckedCondition]) -> serde_json::Value {
    let mut object = object_of(record);
    if !checked.is_empty() {
        object["fail_if"] = serde_json::to_value(checked).expect("conditions are JSON");
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_signal_stopped_says_where_it_is_kept_and_is_not_called_an_error() {
        let kept = kept_words(Some(Path::new("two words.jsonl")));
        assert!(kept.ends_with("is kept in 'two words.jsonl'") && !kept.contains("error"), "{kept}");
        assert!(kept_words(None).ends_with("kept in no file"));
    }

    #[test]
    fn a_terminal_has_no_more_colours_than_it_says() {
        assert_eq!(color("xterm-256color", "", Some("0;15")), Color::Ansi256Light);
        assert_eq!(color("xterm-256color", "", None), Color::Ansi256);
        assert_eq!(color("xterm", "truecolor", Some("15;0")), Color::Ansi256Dark);
        assert_eq!(color("xterm", "", Some("0;7")), Color::Ansi16Light);
        assert_eq!((color("linux", "", None), color("vt100", "", None)), (Color::Ansi16Dark, Color::Ansi16));
        assert_eq!(color("dumb", "truecolor", None), Color::None);
    }
}
