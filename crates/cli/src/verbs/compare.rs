//! `dropline compare`.

use super::filing::Filing;
use super::import::{hints, no_hints};
use super::{DONE, FAILED, conditions, not_valid, say_kept, style_of};
use crate::args::CompareArgs;
use crate::fleet::Performers;
use crate::progress::{Progress, at_work};
use crate::{output as out, plan};
use dropline_failure::{Failure, quoted_path};
use dropline_verbs::compare;
use dropline_verbs::compare::bursts::{self, Bursts};
use dropline_verbs::compare::searches::{Searched, compare};
use dropline_verbs::compare::turns::{OneSided, Taken};
use dropline_verbs::compare::{Comparable, side};

pub(crate) fn run(args: &CompareArgs, words: Vec<String>) -> Result<u8, Failure> {
    if !args.abba && args.fleet.on.is_some() {
        return Err(Failure::usage("--on is for what is measured, and these are records").advice(
            "leave it out, or measure two targets in turns:  compare --abba TARGET_A TARGET_B --on AGENTS",
        ));
    }
    if args.abba || args.b.is_none() {
        no_hints(&args.source, "what is measured in turns")?;
    }
    let (pair, failure) = match (args.abba, &args.a, &args.b) {
        (true, _, Some(_)) => match measured(args, words)?.pair() {
            Ok(measured) => measured,
            Err(one_sided) => return told(args, *one_sided),
        },
        (false, a, Some(b)) => match compare::read(a.as_ref(), b.as_ref(), &hints(&args.source))? {
            Comparable::Delays(pair) => (*pair, None),
            Comparable::Searches(searches) => return limits(args, &searches),
            Comparable::Bursts(bursts) => return longest(args, &bursts),
        },
        (false, turns, None) => (side::read_turns(turns.as_ref())?, None),
        (true, _, None) => {
            return Err(Failure::usage(
                "--abba needs two targets: compare --abba TARGET_A TARGET_B --duration 10min",
            ));
        }
    };
    let questions = plan::questions(args, pair.a.meaning.unit_ns)?;
    let compared = at_work(args.quiet, "comparing", || compare::compare(&pair, &questions));
    if let Some(path) = &args.html {
        out::draw(path, dropline_report::compared_html(&compared))?;
        note!("page  {}", path.display());
    }
    if args.json {
        out::print_json(&compared)?;
    } else {
        out::print_painted(&dropline_report::compared_text(&compared, style_of(args.told)))?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    Ok(match compared.is_worse() {
        _ if compared.not_valid.is_some() => not_valid(),
        true => FAILED,
        false => DONE,
    })
}

/// Two searches: did the limits move?
fn limits(args: &CompareArgs, [a, b]: &[Searched; 2]) -> Result<u8, Failure> {
    no_hints(&args.source, "a search")?;
    if args.above.is_some() {
        return Err(Failure::usage("--above is about delays, and these are two searches: leave it out"));
    }
    let compared = compare(a, b, plan::smallest_effect(args.smallest_effect.as_deref())?)?;
    if let Some(path) = &args.html {
        out::draw(path, dropline_report::compared_searches_html(&compared, [a.record(), b.record()]))?;
        note!("page  {}", path.display());
    }
    if args.json {
        out::print_json(&compared)?;
    } else {
        out::print_painted(&dropline_report::compared_searches_text(&compared, style_of(args.told)))?;
    }
    Ok(match compared.is_worse() {
        _ if compared.not_valid.is_some() => not_valid(),
        true => FAILED,
        false => DONE,
    })
}

/// Two searches for the longest burst: did it change?
fn longest(args: &CompareArgs, [a, b]: &[Bursts; 2]) -> Result<u8, Failure> {
    no_hints(&args.source, "a search for the longest burst")?;
    if let Some(flag) =
        [("--above", args.above.is_some()), ("--html", args.html.is_some())].iter().find(|(_, given)| *given)
    {
        return Err(Failure::usage(format!("{} is not for searches for the longest burst", flag.0))
            .advice("leave it out; dropline report A B --html draws both"));
    }
    let compared = bursts::compare(a, b, plan::smallest_effect(args.smallest_effect.as_deref())?)?;
    if args.json {
        out::print_json(&compared)?;
    } else {
        out::print_painted(&dropline_report::compared_bursts_text(&compared, style_of(args.told)))?;
    }
    Ok(if compared.is_worse() { FAILED } else { DONE })
}

/// Measures both in turns.
fn measured(args: &CompareArgs, words: Vec<String>) -> Result<Taken, Failure> {
    let performers = Performers::of(&args.fleet)?;
    let mut turns = plan::turns(args)?;
    let [a, b] = turns.targets;
    turns.targets = [performers.measure(a)?, performers.measure(b)?];
    let mut filing = Filing::of(args.output.as_deref(), &args.filing)?;
    let output = filing.output(&turns.targets[0].to_string(), 0, 1)?;
    let mut progress = Progress::new(args.quiet, false).counting(turns.targets[0].load_unit());
    let conditions = conditions(&args.traffic, words)?;
    let taken = turns.take(&output, &conditions, &mut progress);
    progress.clear();
    filing.file(&output, taken.is_ok());
    say_kept(&conditions.stop, &output, args.quiet);
    if let Some(path) = output.path().filter(|path| !args.quiet && path.is_file()) {
        note!("record  {}", quoted_path(path));
    }
    taken
}

/// What was measured and cannot be compared.
fn told(args: &CompareArgs, OneSided { record, failure }: OneSided) -> Result<u8, Failure> {
    match &record.trials[..] {
        [] => {}
        _ if args.json => out::print_json(&dropline_report::object(&record))?,
        _ => out::print_painted(&dropline_report::text(&record, style_of(args.told)))?,
    }
    Err(failure)
}
