//! Flags of the verbs that look at many records.

use super::measuring::smallest_effect;
use super::shares;
use crate::help::one_of;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use dropline_record::{Quantity, VERBS};
use dropline_verbs::history::HistoryFormat;
use std::path::PathBuf;

/// Find out when a limit, a delay or a loss moved in the records of many nights, by how much, and whether that matters.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mkdir nights
  for night in 1 2 3 4 5 6 7 8 9 10; do \\
     dropline search 'sim:noisy?capacity=9Mpps' \\
     --seed $night --max-trials 60 -q \\
     -o nights/$night.jsonl; \\
     done > nights.txt
  dropline trend nights
  dropline trend nights --fail-if regressed --html page.html
  dropline trend nights --confirm --fail-if regressed

Searches of one target, goal, profile, machine and version of Dropline are a history; so are trials of one target, load, profile, \
machine and version, for the share that came back and for percentiles of their delays, and comparisons in turns, for B \
against A. A change that comes with another kernel, governor, turbo or SMT is marked, and is not a regression.")]
pub(crate) struct TrendArgs {
    /// Records, and directories of them [default: $DROPLINE_HISTORY].
    #[arg(value_name = "DIR|RECORD")]
    pub(crate) records: Vec<PathBuf>,
    #[arg(long, value_name = "RATIO", value_parser = shares::share, help = smallest_effect("the level before"))]
    pub(crate) smallest_effect: Option<String>,
    #[arg(long, value_name = "QUANTITY", value_parser = quantity, help = quantities())]
    pub(crate) of: Vec<Quantity>,
    /// The target that is measured beside the others, such as a speed test of the machine: its changes are subtracted from theirs.
    #[arg(long, value_name = "TARGET")]
    pub(crate) reference: Option<String>,
    /// Exit with code 1 if something got worse, five nights confirm it, and it is not acknowledged.
    #[arg(long, value_name = "WHAT")]
    pub(crate) fail_if: Option<TrendCondition>,
    /// Before a change is told, perform the newest search behind it again, twice; what that says is the verdict.
    #[arg(long, help_heading = "Confirming")]
    pub(crate) confirm: bool,
    /// The target of that search: where it starts a program, asks for a name or reads a file elsewhere, a record is not enough.
    #[arg(long, value_name = "TARGET", requires = "confirm", help_heading = "Confirming")]
    pub(crate) target: Option<String>,
    /// Search what was good before the change too, in turns with it.
    #[arg(long, value_name = "GOOD_TARGET", requires = "confirm", help_heading = "Confirming")]
    pub(crate) abba: Option<String>,
    /// Note in acknowledged.json beside the records that the change with this id is known.
    #[arg(long, value_name = "ID")]
    pub(crate) acknowledge: Vec<String>,
    /// Also write the result as a web page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

fn quantities() -> String {
    format!(
        "Follow only this: limit, delivered, a percentile of delays as p99.9, core (the median) or high_percentile of comparisons; may be repeated \
         [default: {}]",
        dropline_verbs::trend::kept().into_iter().map(Quantity::word).collect::<Vec<_>>().join(", ")
    )
}

fn quantity(word: &str) -> Result<Quantity, String> {
    Quantity::parse(word).ok_or_else(|| {
        "write limit, delivered, core, high_percentile, or a percentile of delays as p50 or p99.9".into()
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrendCondition {
    /// A limit, a delay or a loss got worse.
    Regressed,
}

/// Keep records by date in a directory or a store, with an index: add, list, remove and export them.
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true, subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
#[command(after_help = "\
Examples:
  dropline search sim:noisy --history nights
  dropline history list nights
  dropline trend nights

The index is made from the records: one that was copied into the directory is listed too. \
Where no directory is named, DROPLINE_HISTORY says it. s3://BUCKET/PREFIX is a history in a store that speaks S3; \
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL say who asks and which store.")]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) verb: HistoryVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryVerb {
    Add(HistoryAddArgs),
    Index(HistoryIndexArgs),
    List(HistoryListArgs),
    Prune(HistoryPruneArgs),
    Export(HistoryExportArgs),
}

/// Add records to a history, each once.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:noisy -o night.jsonl
  dropline history add night.jsonl --history nights
  cat night.jsonl | dropline history add - --history nights

A record that is there already is not added again. A search that was resumed elsewhere takes the place of its own \
beginning. The file that is added stays where it is, and the times of packets beside it (FILE.packets) are added too.")]
pub(crate) struct HistoryAddArgs {
    /// Records to add; - reads one from standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Directory of the history, made if it is not there, or s3://BUCKET/PREFIX [default: $DROPLINE_HISTORY].
    #[arg(long, value_name = "DIR")]
    pub(crate) history: Option<PathBuf>,
    /// Make records of another program's results, and add these.
    #[arg(long, value_name = "PROGRAM", conflicts_with = "unfinished")]
    pub(crate) from: Option<HistorySource>,
    /// Also add records that did not come to their end.
    #[arg(long)]
    pub(crate) unfinished: bool,
    /// Print one JSON array.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistorySource {
    /// FD.io CSIT: the files ending in .info.json or .info.json.gz that its tests leave.
    Csit,
}

/// Rebuild the index of a history from its records, and list what was wrong in it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:noisy --history nights
  dropline history index nights
  dropline history index nights --check")]
pub(crate) struct HistoryIndexArgs {
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
    /// Change nothing, and exit with code 1 if the index does not say what the records say.
    #[arg(long)]
    pub(crate) check: bool,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// List the records of a history with what they found.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:noisy --history nights
  dropline history list nights
  dropline history list nights --goal 0.5%
  dropline history list nights --since 2026-11-01")]
pub(crate) struct HistoryListArgs {
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
    #[command(flatten)]
    pub(crate) wanted: WantedArgs,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Remove old records from a history: it says which would go, and with --yes they do.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:noisy --history nights
  dropline history prune nights --keep-days 90
  dropline history prune nights --keep 30 --yes

A record goes if none of the flags keeps it, with its copies. Whatever its age, the newest record of a series (target, goal, \
algorithm, profile, machine and version of Dropline, as in trend) stays, and so do the nights of a change that was \
acknowledged, with the night before it, and the nights of a change that nobody acknowledged yet. A record that did not come to its end, or states no limit, does not count before one \
that does.")]
pub(crate) struct HistoryPruneArgs {
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
    /// Keep what began in the last N days.
    #[arg(long, value_name = "N")]
    pub(crate) keep_days: Option<u32>,
    /// Keep the N newest records of each series.
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Remove what began before this day, such as 2026-11-01.
    #[arg(long, value_name = "DATE")]
    pub(crate) older_than: Option<String>,
    /// Remove them; without it, nothing is changed.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Write a history for other programs: as a table with a row for each goal of each record, or as metrics.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:noisy --history nights
  dropline history export nights --to csv -o nights.csv
  dropline history export nights --to jsonl --goal 0
  dropline history export nights --to parquet -o all.parquet
  dropline history export nights --to openmetrics -o all.om")]
pub(crate) struct HistoryExportArgs {
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
    #[command(flatten)]
    pub(crate) wanted: WantedArgs,
    /// Format to write.
    #[arg(long, value_name = "FORMAT", default_value = "csv", help_heading = "Output", value_parser = one_of(HistoryFormat::ALL, HistoryFormat::word, HistoryFormat::about))]
    pub(crate) to: HistoryFormat,
    /// New file [default: stdout].
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

/// Which history is meant.
#[derive(Args, Debug)]
pub(crate) struct DirectoryArgs {
    /// Directory of the history, or s3://BUCKET/PREFIX [default: $DROPLINE_HISTORY].
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

/// Which of its records are wanted.
#[derive(Args, Debug)]
#[command(next_help_heading = "Records")]
pub(crate) struct WantedArgs {
    /// Only records whose target has this in its name.
    #[arg(long, value_name = "WORD")]
    pub(crate) target: Option<String>,
    /// Only records that this verb made; import are results of other programs (history add --from).
    #[arg(long, value_name = "VERB", value_parser = PossibleValuesParser::new(VERBS))]
    pub(crate) kind: Option<String>,
    /// Only records that began on this day or later, such as 2026-11-01 or 2026-11-01T22:00:00Z.
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<String>,
    /// Only records that began on this day or earlier.
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<String>,
    /// Only records with this label, such as commit=1a2b3c; the beginning of a value is enough, and it may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) label: Vec<String>,
    /// Only searches for this goal, such as 0.5% or 'p99<200us', and of these only this goal.
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<String>,
}
