//! `compare`: two sets of delays, three questions; or two searches, one question a goal, or one of bursts.

pub mod bursts;
mod conditions;
pub mod order;
mod same;
pub mod searches;
pub mod side;
pub mod turns;

use bursts::Bursts;
use conditions::otherwise;
use dropline_archive::reading::Rereadable;
use dropline_archive::record_file;
use dropline_distributions::import::Hints;
use dropline_failure::Failure;
use dropline_record::VerdictWord;
use dropline_record::compared::{
    BlockLine, ComparedModeLine, LossLine, ModesLine, QuestionLine, ShiftLine, SideLine, SpreadLine,
    TailMassLine, WidthLine,
};
use dropline_record::fit::CellLine;
use dropline_record::{CaveatLine, Compared, Count, Header, Record};
use dropline_stats::compare::{Answer, Comparison, Design, Questions, Shift, WidthRatio, shifts};
use dropline_stats::modes::{Mode, Modes};
use dropline_stats::{Binned, Counted, Meaning};
use dropline_trial::number_of;
use same::is_same;
use searches::Searched;
use side::{Neighbours, Pair, Side};
use std::path::Path;

/// What the intervals are.
const ESTIMATOR: &str = "differences of grouped quantiles, with the spread of batch means along each curve (Woodruff) and \
     Student's t; ratio of counts by the exact conditional binomial on counts divided by their variance inflation; Holm \
     over the questions; lost events are longer than any other; difference of the shares of lost events by Wilson's \
     intervals (Newcombe), on counts divided by their variance inflation";
/// Where the shift function is read.
const QUANTILES: [f64; 13] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];
/// Chance of the bootstrap behind the number of modes.
const MODES_SEED: u64 = 2004;
/// Neighbouring batches more alike than this are said.
const ALIKE: f64 = 0.3;
/// Both sides are one measurement.
const SAME_DATA: &str = "same_data";
/// Blocks of a heat map, at most.
const DRAWN: usize = 100;

/// What two files hold that can be compared.
#[derive(Clone, Debug)]
pub enum Comparable {
    /// Delays: did events become slower?
    Delays(Box<Pair>),
    /// Searches: did the limits move?
    Searches(Box<[Searched; 2]>),
    /// Searches for the longest burst: did it change?
    Bursts(Box<[Bursts; 2]>),
}

/// Reads two files; what they do not say about themselves is said of both.
///
/// # Errors
/// If one cannot be read, is nothing that can be compared, or the two answer different questions.
pub fn read(a: &Path, b: &Path, hints: &Hints) -> Result<Comparable, Failure> {
    let (a, b) = (Rereadable::of(a)?, Rereadable::of(b)?);
    let (a, b) = (a.path(), b.path());
    let headers = [a, b].map(record_file::read_header);
    let is_of_bursts = |header: &Option<Header>| header.as_ref().is_some_and(|one| one.bursts.is_some());
    match headers.each_ref().map(is_of_bursts) {
        [true, true] => return Ok(Comparable::Bursts(Box::new([Bursts::read(a)?, Bursts::read(b)?]))),
        [false, false] => {}
        [a_is, _] => {
            let (bursts, other) = if a_is { (a, b) } else { (b, a) };
            return Err(Failure::usage(format!(
                "{} is a search for the longest burst and {} is not: they answer different questions",
                bursts.display(),
                other.display()
            ))
            .advice("compare two of  dropline search LINK --back-to-back"));
        }
    }
    let made_by = headers.map(|header| header.map(|header| header.verb));
    let is_search = |verb: &Option<String>| verb.as_deref() == Some("search");
    match made_by.each_ref().map(is_search) {
        [true, true] => Ok(Comparable::Searches(Box::new([Searched::read(a)?, Searched::read(b)?]))),
        [false, false] => {
            let mut pair = side::read(a, b, hints)?;
            order::arrange(&mut pair);
            Ok(Comparable::Delays(Box::new(pair)))
        }
        [a_is, _] => {
            let (search, other) = if a_is { (a, b) } else { (b, a) };
            let other_is = match made_by.iter().flatten().find(|verb| *verb != "search") {
                Some(verb) => format!("was made by dropline {verb}"),
                // What cannot be read holds nothing.
                None => side::side(other, hints).map(|_| "holds delays".to_owned())?,
            };
            Err(Failure::usage(format!(
                "{} is a search and {} {other_is}: they answer different questions",
                search.display(),
                other.display()
            ))
            .advice(
                "compare two searches (did a limit move?), or two sets of delays (did events become slower?)",
            ))
        }
    }
}

/// Whether the two targets of a record of turns differ; `None` where it has no turns of both.
pub fn of_turns(record: &Record, name: &str) -> Option<Compared> {
    Some(compare(&side::turns(record, name).ok()?, &Questions::default()))
}

/// Compares B with A.
pub fn compare(pair: &Pair, questions: &Questions) -> Compared {
    let Pair { a, b, interleaved, seed, .. } = pair;
    let unit_ns = a.meaning.unit_ns;
    let blocks = |side: &Side| -> Vec<Binned> {
        let meaning = Meaning { unit_ns, ..side.meaning };
        side.blocks.iter().map(|block| block.clone().with_meaning(meaning).binned()).collect()
    };
    let (of_a, of_b) = (blocks(a), blocks(b));
    // Where one side does not say what it lost, that of the other cannot be held against it.
    let lost = a.lost.as_ref().zip(b.lost.as_ref());
    let with_lost = |blocks: &[Binned], lost: Option<&Vec<u64>>| -> Vec<Binned> {
        let lost = lost.into_iter().flatten().copied().chain(std::iter::repeat(0));
        blocks.iter().zip(lost).map(|(block, lost)| block.clone().with_lost(lost)).collect()
    };
    let all_a = with_lost(&of_a, lost.map(|(a, _)| a));
    let all_b = with_lost(&of_b, lost.map(|(_, b)| b));
    let design = if *interleaved { Design::Interleaved } else { Design::Apart };
    let found = Comparison::of(&all_a, &all_b, design, questions);
    let needed = [&found.core, &found.high_percentile, &found.tail_mass]
        .into_iter()
        .filter_map(|answer| answer.needed);
    let times = needed.reduce(f64::max);
    let seconds = a.seconds.zip(b.seconds).map(|(a, b)| a + b);
    let not_valid = not_valid(pair);
    let mut compared = Compared {
        verdict: if not_valid.is_some() { VerdictWord::NoEvidence } else { found.verdict.into() },
        not_valid,
        core: question(&found.core),
        high_percentile: question(&found.high_percentile),
        percentile: questions.percentile,
        tail_mass: TailMassLine {
            question: question(&found.tail_mass),
            threshold: found.threshold,
            above_a: Count(found.above.0 as u64),
            above_b: Count(found.above.1 as u64),
            farther: found.farther,
        },
        loss: lost.map(|_| loss(found.loss.as_ref(), [&all_a, &all_b])),
        p_b_slower: found.b_slower,
        spread: SpreadLine {
            quartiles: width(&found.quartiles),
            standard_deviation: width(&found.deviation),
        },
        shift: shifts(&all_a, &all_b, design, if pair.is_in_haste { &[] } else { &QUANTILES })
            .into_iter()
            .map(|Shift { p, estimate, low, high }| ShiftLine { p, estimate, low, high })
            .collect(),
        modes: if pair.is_in_haste { None } else { modes(&of_a, &of_b) },
        deff_limit: found.deff_limit,
        design: found.design.into(),
        level: 0.95,
        unit_ns,
        a: side_line(a, &of_a),
        b: side_line(b, &of_b),
        more_s: times.zip(seconds).map(|(times, seconds)| (times - 1.0) * seconds),
        seed: *seed,
        estimator: ESTIMATOR.into(),
        caveats: caveats(pair, &found, questions),
    };
    if is_same(pair) || is_dependent(pair, &found) || is_of_few_turns(pair, &found) {
        decide_nothing(&mut compared);
    }
    compared
}

/// Whether events are like those near them on one side, and the other has no order to say how much they vary.
fn is_dependent(pair: &Pair, found: &Comparison) -> bool {
    found.design == Design::Whole && pair.neighbours == Neighbours::Alike
}

/// Whether two targets were measured in too few turns to know how turns of one of them differ.
fn is_of_few_turns(pair: &Pair, found: &Comparison) -> bool {
    pair.interleaved && found.design == Design::Whole
}

fn decide_nothing(compared: &mut Compared) {
    let Compared { core, high_percentile, tail_mass, loss, .. } = compared;
    let loss = loss.as_mut().map(|loss| &mut loss.question);
    for question in [core, high_percentile, &mut tail_mass.question].into_iter().chain(loss) {
        question.verdict = VerdictWord::NoEvidence;
        (question.needed, question.by_chance, question.deff_limit) = (None, None, None);
    }
    compared.verdict = VerdictWord::NoEvidence;
    (compared.more_s, compared.deff_limit) = (None, None);
}

/// Why nothing can be said of the targets: the trials of a side are about its generator, or the way.
fn not_valid(pair: &Pair) -> Option<String> {
    let side = [&pair.a, &pair.b].into_iter().find(|side| side.is_invalid)?;
    Some(format!(
        "the trials of {} say more about the generator, or the path, than about the target: whether anything changed is not \
         known",
        side.name
    ))
}

/// Peaks of both sides; `None` where either has too few events.
fn modes(a: &[Binned], b: &[Binned]) -> Option<ModesLine> {
    let of = |blocks: &[Binned]| {
        let whole = Binned::together(blocks);
        let found = Modes::of(&whole, MODES_SEED).modes;
        let line = |mode: &Mode| ComparedModeLine {
            low: mode.low,
            high: mode.high,
            peak: mode.peak,
            mass: mode.mass as f64 / whole.count() as f64,
        };
        (!found.is_empty()).then(|| found.iter().map(line).collect::<Vec<_>>())
    };
    Some(ModesLine { a: of(a)?, b: of(b)? })
}

/// Of the blocks of A and of B. Where neither lost any, that is all there is to say.
fn loss(answer: Option<&Answer>, sides: [&[Binned]; 2]) -> LossLine {
    let [lost_a, lost_b] = sides.map(|side| Count(side.iter().map(Binned::lost).sum()));
    let [offered_a, offered_b] = sides.map(|side| Count(side.iter().map(Binned::count).sum()));
    let neither = || QuestionLine {
        of_a: Some(0.0),
        of_b: Some(0.0),
        verdict: VerdictWord::Equivalent,
        ..QuestionLine::default()
    };
    LossLine { question: answer.map_or_else(neither, question), lost_a, lost_b, offered_a, offered_b }
}

fn question(answer: &Answer) -> QuestionLine {
    QuestionLine {
        estimate: answer.estimate,
        low: answer.low,
        high: answer.high,
        relative: answer.relative,
        smallest_effect: answer.smallest_effect,
        verdict: answer.verdict.into(),
        detectable: answer.detectable,
        of_a: answer.of_a,
        of_b: answer.of_b,
        by_chance: answer.by_chance,
        deff_limit: answer.deff_limit,
        needed: answer.needed,
        lost_of_a: answer.lost.0,
        lost_of_b: answer.lost.1,
    }
}

fn width(ratio: &WidthRatio) -> WidthLine {
    let WidthRatio { of_a, of_b, estimate, low, high } = *ratio;
    WidthLine { of_a, of_b, estimate, low, high }
}

fn side_line(side: &Side, blocks: &[Binned]) -> SideLine {
    let mut cells: Vec<CellLine> = blocks
        .iter()
        .flat_map(Binned::cells)
        .map(|cell| CellLine { low: cell.low, high: cell.high, count: Count(cell.count) })
        .collect();
    cells.sort_by(|x, y| x.low.total_cmp(&y.low).then(x.high.total_cmp(&y.high)));
    cells.dedup_by(|next, kept| {
        let same = next.low == kept.low && next.high == kept.high;
        if same {
            kept.count.0 += next.count.0;
        }
        same
    });
    let index = |low: f64| cells.partition_point(|cell| cell.low < low) as u64;
    let together = blocks.len().div_ceil(DRAWN);
    let over_time = blocks.chunks(together.max(1)).filter(|_| blocks.len() > 1).map(|part| {
        let mut counts = std::collections::BTreeMap::<u64, u64>::new();
        for cell in part.iter().flat_map(Binned::cells) {
            *counts.entry(index(cell.low)).or_default() += cell.count;
        }
        BlockLine {
            count: Count(counts.values().sum()),
            cells: counts.into_iter().map(|(index, count)| (index, Count(count))).collect(),
        }
    });
    SideLine {
        source: side.name.clone(),
        count: Count(blocks.iter().map(Binned::count).sum()),
        blocks: blocks.len() as u64,
        duration_s: side.seconds,
        over_time: over_time.collect(),
        histogram: cells,
    }
}

fn caveats(pair: &Pair, found: &Comparison, questions: &Questions) -> Vec<CaveatLine> {
    let mut caveats: Vec<CaveatLine> = Vec::new();
    let mut say = |code: &str, text: String| {
        caveats.push(CaveatLine::said(code, text));
    };
    if is_same(pair) {
        say(
            SAME_DATA,
            format!(
                "{} and {} hold the same events, number for number: a file and its copy, or a simulation repeated with its \
                 seed; that says nothing about whether anything changed: measure again",
                pair.a.name, pair.b.name
            ),
        );
    }
    pair.doubts.iter().for_each(|doubt| say(&doubt.code, doubt.text.clone()));
    for side in [&pair.a, &pair.b] {
        side.notes.iter().for_each(|note| say("import", format!("{}: {note}", side.name)));
    }
    // What both sides have in common is said once. A target's name may end as its scheme does.
    let of = |side: &Side| side.name.trim_end_matches(':').to_owned();
    let is_shared = |doubt: &&CaveatLine| pair.b.doubts.contains(doubt);
    for doubt in pair.a.doubts.iter().filter(is_shared) {
        say(&doubt.code, format!("A and B: {}", doubt.text));
    }
    for (side, other) in [(&pair.a, &pair.b), (&pair.b, &pair.a)] {
        for doubt in side.doubts.iter().filter(|doubt| !other.doubts.contains(doubt)) {
            say(&doubt.code, format!("{}: {}", of(side), doubt.text));
        }
    }
    for (side, other) in [(&pair.a, &pair.b), (&pair.b, &pair.a)] {
        if other.lost.is_none() && side.lost() > 0 {
            say(
                "loss_left_out",
                format!(
                    "{} does not say how many events were lost, so the {} that {} lost are left out: delays of what came \
                     back alone flatter a side that loses its slow ones",
                    other.name,
                    side.lost(),
                    side.name
                ),
            );
        }
    }
    if !pair.interleaved {
        let said = otherwise(pair.a.conditions.clone(), pair.b.conditions.clone());
        said.iter().for_each(|caveat| say(&caveat.code, caveat.text.clone()));
    }
    if !pair.interleaved && !is_same(pair) {
        say(
            "not_interleaved",
            "not interleaved: the two were recorded apart; what differs between sessions is not in these intervals"
                .into(),
        );
    }
    if is_of_few_turns(pair, found) {
        say(
            "few_turns",
            format!(
                "{} of each side: how much turns of one side differ is not known from so few, and nothing can \
                 be decided; measure longer, for ten of each",
                number_of(pair.a.blocks.len(), "turn")
            ),
        );
    } else if found.design == Design::Whole {
        let limit = found.deff_limit.map_or(String::new(), |limit| match limit < 10.0 {
            true => format!(": the verdict holds as long as they vary less than {limit:.1} times as much"),
            false => ": the verdict holds even if they vary ten times as much".to_owned(),
        });
        let why = match pair.neighbours {
            Neighbours::Independent => "events are as alike with their neighbours as in another order",
            Neighbours::Unknown | Neighbours::Alike => "no time slices",
        };
        say("independence_assumed", format!("{why}: intervals take the events as independent{limit}"));
    }
    let alike = found.likeness.filter(|alike| *alike > ALIKE);
    if pair.neighbours == Neighbours::Alike {
        say("dependent_events", dependent(pair, found));
    } else if let Some(alike) = alike {
        say(
            "alike_slices",
            format!(
                "neighbouring batches are alike (correlation {alike:.2}): they were put together and their intervals \
                 widened; measure longer"
            ),
        );
    }
    let disagree =
        found.farther.zip(found.tail_mass.estimate).filter(|(far, near)| (far - 1.0) * (near - 1.0) < 0.0);
    if let Some((far, near)) = disagree {
        say(
            "tail_disagrees",
            format!(
                "the tail depends on where it begins: x{near:.2} above A's 99th percentile, x{far:.2} above its 99.9th; \
                 say what matters with --above"
            ),
        );
    } else if questions.above.is_none() && found.threshold.is_some() {
        say(
            "threshold_chosen",
            "nobody said what is long: events above A's 99th percentile are taken for it; say it with --above".into(),
        );
    }
    caveats
}

/// What events that are like those near them mean.
fn dependent(pair: &Pair, found: &Comparison) -> String {
    if is_dependent(pair, found) {
        return "each event is like those near it, and of one side the order is not known: how much they vary is not known, and \
                nothing can be decided. Keep the events of both in the order of time, or measure in time slices, or in turns"
            .into();
    }
    let open = [&found.core, &found.high_percentile, &found.tail_mass];
    let times = open.into_iter().filter_map(|answer| answer.needed).reduce(f64::max);
    let count = |side: &Side| side.blocks.iter().map(Counted::count).sum::<u64>();
    let events = count(&pair.a).max(count(&pair.b));
    let more = times.map_or(String::new(), |times| {
        let more = ((times - 1.0) * events as f64).ceil().max(1.0);
        format!("; what is open takes about {more:.0} events more of each side")
    });
    format!("each event is like those near it: intervals are by how much stretches of them differ{more}")
}
