//! `dropline history`, a function a verb below it.

use super::filing::directory;
use super::{DONE, FAILED, style};
use crate::args::{
    HistoryAddArgs, HistoryArgs, HistoryExportArgs, HistoryIndexArgs, HistoryListArgs, HistoryPruneArgs,
    HistorySource, HistoryVerb, VARIABLE, WantedArgs,
};
use crate::output as out;
use dropline_archive::whole_file;
use dropline_failure::Failure;
use dropline_record::AddedWord;
use dropline_trial::number_of;
use dropline_verbs::history::{self, HistoryFormat, Keeping, WantedRecords};

pub(crate) fn run(args: &HistoryArgs) -> Result<u8, Failure> {
    match &args.verb {
        HistoryVerb::Add(args) => add(args),
        HistoryVerb::Index(args) => index(args),
        HistoryVerb::List(args) => list(args),
        HistoryVerb::Prune(args) => prune(args),
        HistoryVerb::Export(args) => export(args),
    }
}

fn add(args: &HistoryAddArgs) -> Result<u8, Failure> {
    let named = directory(args.history.as_deref()).map_err(|_| {
        let first = args.files.first().map(|file| file.display().to_string()).unwrap_or_default();
        Failure::usage(format!("no history is named, and {first} is taken for a record"))
            .advice(format!("name its directory by --history DIR, or set {VARIABLE} to it"))
    })?;
    let added = match args.from {
        None => history::add(&named, &args.files, args.unfinished)?,
        Some(HistorySource::Csit) => history::add_of_csit(&named, &args.files)?,
    };
    if args.json {
        out::print_json(&added)?;
    } else {
        out::print_painted(&dropline_report::added_text(&added, style()))?;
    }
    match added.iter().filter(|line| line.added == AddedWord::Refused).count() {
        0 => Ok(DONE),
        refused => {
            let all = number_of(added.len(), "file");
            Err(Failure::environment(match added.len() {
                1 => "the file was not added".to_owned(),
                _ => format!("{refused} of {all} {} not added", if refused == 1 { "was" } else { "were" }),
            }))
        }
    }
}

fn index(args: &HistoryIndexArgs) -> Result<u8, Failure> {
    let told = history::index(&directory(args.directory.directory.as_deref())?, args.check)?;
    if args.json {
        out::print_json(&told)?;
    } else {
        out::print_painted(&dropline_report::reindexed_text(&told, args.check, style()))?;
    }
    Ok(if args.check && !told.is_as_it_was() { FAILED } else { DONE })
}

fn list(args: &HistoryListArgs) -> Result<u8, Failure> {
    let listed = history::list(&directory(args.directory.directory.as_deref())?, &wanted(&args.wanted)?)?;
    if args.json {
        out::print_json(&listed)?;
    } else {
        out::print_painted(&dropline_report::listed_text(&listed, style()))?;
    }
    Ok(DONE)
}

fn prune(args: &HistoryPruneArgs) -> Result<u8, Failure> {
    let keeping = Keeping::of(args.keep_days, args.keep, args.older_than.as_deref())?;
    let pruned = history::prune(&directory(args.directory.directory.as_deref())?, &keeping, args.yes)?;
    if args.json {
        out::print_json(&pruned)?;
    } else {
        out::print_painted(&dropline_report::pruned_text(&pruned, style()))?;
    }
    Ok(DONE)
}

fn export(args: &HistoryExportArgs) -> Result<u8, Failure> {
    let directory = directory(args.directory.directory.as_deref())?;
    let exported = history::export(&directory, &wanted(&args.wanted)?, args.to)?;
    for left in &exported.left_out {
        note!("! left out: {}: {}", left.source, left.why);
    }
    match &args.output {
        Some(path) => whole_file::create_of(path, &exported.bytes)?,
        None if args.to == HistoryFormat::Parquet => out::print_bytes(&exported.bytes)?,
        None => out::print_data(&String::from_utf8_lossy(&exported.bytes))?,
    }
    Ok(DONE)
}

fn wanted(args: &WantedArgs) -> Result<WantedRecords, Failure> {
    let wanted = WantedRecords::default().since(args.since.as_deref())?.until(args.until.as_deref())?;
    let mut wanted = wanted.labelled(&args.label)?.goal(args.goal.as_deref())?;
    wanted.target.clone_from(&args.target);
    wanted.kind.clone_from(&args.kind);
    Ok(wanted)
}
