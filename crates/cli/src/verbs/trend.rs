//! `dropline trend`.

use super::filing::{Filing, directory, tell_damage};
use super::{DONE, FAILED, INVALID, say_kept, style};
use crate::args::{FilingArgs, TrendArgs};
use crate::progress::Progress;
use crate::signals::stop_on_signals;
use crate::{output as out, plan};
use dropline_failure::Failure;
use dropline_printable::printable;
use dropline_verbs::history;
use dropline_verbs::search::{Conditions, search};
use dropline_verbs::trend::confirm::{self, Again, Confirmation};
use dropline_verbs::trend::{Followed, acknowledge, trend};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

pub(crate) fn run(args: &TrendArgs, words: Vec<String>) -> Result<u8, Failure> {
    let mut records = match args.records.as_slice() {
        [] => vec![directory(None)?],
        named => named.to_vec(),
    };
    args.records.iter().for_each(|path| tell_damage(path));
    let followed = Followed {
        smallest_effect: plan::smallest_effect(args.smallest_effect.as_deref())?,
        quantities: args.of.clone(),
        reference: args.reference.clone(),
    };
    let trends = |records: &[PathBuf]| trend(records, &followed);
    let mut found = trends(&records)?;
    if !args.acknowledge.is_empty() {
        let place = acknowledge(&records, &found, &args.acknowledge)?;
        note!("acknowledged in {}", place.display());
        found = trends(&records)?;
    }
    if args.confirm {
        let again = Again { target: args.target.clone(), good: args.abba.clone() };
        let due = confirm::confirmations(&found, &records, &again)?;
        due.elsewhere.iter().for_each(|why| note!("! not confirmed: {why}"));
        if !due.here.is_empty() {
            records.extend(confirmed(&due.here, words)?);
            found = trends(&records)?;
        } else {
            note!("{}", printable(&confirm::why_none(&found)));
        }
    }
    if let Some(path) = &args.html {
        out::draw(path, dropline_report::trends_html(&found))?;
        note!("page  {}", path.display());
    }
    if args.json {
        out::print_json(&found)?;
    } else {
        out::print_painted(&dropline_report::trends_text(&found, style()))?;
    }
    Ok(match args.fail_if {
        Some(_) if found.has_regressed() => FAILED,
        Some(_) if found.is_silent() => {
            note!("whether a limit regressed is not known: the newest searches of one say none");
            INVALID
        }
        _ => DONE,
    })
}

/// Measures again; the records that lie here.
fn confirmed(due: &[Confirmation], words: Vec<String>) -> Result<Vec<PathBuf>, Failure> {
    let conditions = Conditions { command_line: words, stop: stop_on_signals()?, ..Conditions::default() };
    let mut progress = Progress::new(false, false);
    let mut records = Vec::new();
    for (number, one) in (1..).zip(due) {
        note!("measures again, {number} of {}: {}", due.len(), printable(&one.plan.target.to_string()));
        let beside = one.beside();
        let mut filing = Filing::of(beside.as_deref(), &FilingArgs { history: one.history.clone() })?;
        let output = filing.output(&one.plan.target.to_string(), 0, 1)?;
        let conditions = Conditions { labels: one.labels.clone(), ..conditions.clone() };
        progress.searching(&one.plan);
        let finished = search(&one.plan, &output, &conditions, &mut progress);
        progress.clear();
        filing.file(&output, finished.is_ok());
        let finished = finished?;
        if let Some(failure) = finished.failure {
            return Err(failure);
        }
        say_kept(&conditions.stop, &output, false);
        if conditions.stop.load(Ordering::SeqCst) {
            return Err(Failure::interrupted());
        }
        if let Some(path) = output.path() {
            note!("record  {}", path.display());
            records
                .extend((!one.history.as_deref().is_some_and(history::is_remote)).then(|| path.to_owned()));
        }
    }
    Ok(records)
}
