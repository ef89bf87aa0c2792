//! What is said of histories, the same in text and on a page.

use crate::compared_searches;
use crate::number::{Loads, percent, plural};
use crate::prose::date;
use dropline_record::{
    ChangeLine, ConfirmationLine, DriftingLine, News, PointLine, Quantity, SILENT, SeriesLine, Trends,
    VerdictWord,
};
use std::collections::BTreeSet;

/// The answer in a sentence.
pub(crate) fn first_line(trends: &Trends) -> String {
    let news: Vec<(&SeriesLine, News<'_>)> =
        trends.series.iter().flat_map(|series| series.news().map(move |news| (series, news))).collect();
    let sure = |verdict| news.iter().filter(move |(_, news)| news.verdict == verdict && !news.suspected);
    let farthest = |one: &&(&SeriesLine, News<'_>), other: &&(&SeriesLine, News<'_>)| {
        one.1.size.abs().total_cmp(&other.1.size.abs())
    };
    let what = noun(trends);
    if let Some((series, worst)) = sure(VerdictWord::Regressed).max_by(farthest) {
        let of_it = |one: &&(&SeriesLine, News<'_>)| one.0.id == series.id;
        // What is behind a fall is told with it.
        let behind = |news: &News<'_>| series.drifts.iter().any(|line| line.behind && line.to == news.at);
        let again = sure(VerdictWord::Regressed).filter(|one| of_it(one) && one.1 != *worst);
        let again = match again.filter(|one| one.1.since.is_none() || !behind(&one.1)).count() {
            0 => "",
            1 => ", and got worse at another time too",
            _ => ", and got worse at other times too",
        };
        let others: BTreeSet<&str> =
            sure(VerdictWord::Regressed).filter(|one| !of_it(one)).map(|one| one.0.id.as_str()).collect();
        let others = match others.len() {
            0 => String::new(),
            1 => format!(", and another {what} got worse"),
            more => format!(", and {more} other {what}s got worse"),
        };
        return format!(
            "REGRESSED: {} {}{}{again}{others}",
            subject(series),
            moved(worst),
            back(series, worst, trends)
        );
    }
    if let Some((series, news)) = news.iter().find(|(_, news)| news.suspected) {
        return format!(
            "SUSPECTED: {} seems to have moved by {} at {}: measure again now",
            subject(series),
            change(news.size),
            date(news.at)
        );
    }
    if let Some(series) = trends.series.iter().find(|series| series.silent >= SILENT) {
        return format!(
            "NOT KNOWN: the newest {} searches of {} for {} say no limit",
            series.silent, series.target, series.goal
        );
    }
    if let Some((series, best)) = sure(VerdictWord::Improved).max_by(farthest) {
        return format!("IMPROVED: {} {}", subject(series), moved(best));
    }
    if let Some((series, open)) = sure(VerdictWord::NoEvidence).max_by(farthest) {
        return format!(
            "UNDECIDED: {} {}, and whether that is more than {} is not known yet",
            subject(series),
            moved(open),
            percent(trends.smallest_effect)
        );
    }
    let told = trends.series.iter().filter(|series| series.scatter.is_some()).count();
    match told {
        0 => format!("TOO FEW NIGHTS: no history has the 8 that tell whether a {what} moved"),
        _ => {
            let of = of_histories(trends, told);
            let far = far_off(trends);
            match with_marks(trends) {
                Some(moved) => {
                    format!("NOTHING NEW: {moved}; no other {what} moved that is not known, in {of}{far}")
                }
                None if trends.series.iter().any(SeriesLine::has_changed) => {
                    format!("NOTHING NEW: no {what} moved that matters and is not known, in {of}{far}")
                }
                None => format!("STEADY: no {what} moved, in {of}{far}"),
            }
        }
    }
}

/// The level that moved farthest with something that was changed on purpose, or is that of another machine or version since: whether that
/// moved it is not known.
fn with_marks(trends: &Trends) -> Option<String> {
    let mut moved: Vec<(f64, &SeriesLine, String)> = Vec::new();
    for series in &trends.series {
        for pair in series.segments.windows(2) {
            if let Some(mark) = series.marks.iter().find(|mark| mark.at == pair[1].from) {
                let with = format!("with {} at {}", mark.text, date(&mark.at));
                moved.push((pair[1].level / pair[0].level, series, with));
            }
        }
        if let Some((before, level)) = before(series, &trends.series) {
            let of = [
                (before.machine != series.machine).then(|| format!("machine {}", series.machine)),
                (before.dropline != series.dropline).then(|| format!("dropline {}", series.dropline)),
            ];
            let of = of.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let at = series.points.first().map_or("", |first| first.at.as_str());
            moved.push((level, series, format!("with {of} at {}", date(at))));
        }
    }
    let matters =
        |(ratio, ..): &(f64, &SeriesLine, String)| ratio.ln().abs() > trends.smallest_effect.ln_1p();
    let farthest = moved.into_iter().filter(matters);
    let (ratio, series, with) =
        farthest.max_by(|one, other| one.0.ln().abs().total_cmp(&other.0.ln().abs()))?;
    let way = if ratio < 1.0 { "fell" } else { "rose" };
    Some(format!("{} {way} by {} {with}", subject(series), percent((ratio - 1.0).abs())))
}

/// The history of the same that ended where this one begins, on another machine or by another version, and the ratio of their levels.
fn before<'a>(series: &SeriesLine, all: &'a [SeriesLine]) -> Option<(&'a SeriesLine, f64)> {
    let first = series.points.first()?;
    let is_before = |other: &&SeriesLine| {
        (&other.target, other.quantity, &other.goal) == (&series.target, series.quantity, &series.goal)
            && (other.machine != series.machine || other.dropline != series.dropline)
            && other.points.last().is_some_and(|last| last.at < first.at)
    };
    let found = all.iter().filter(is_before).max_by_key(|other| other.points.last().map(|last| &last.at))?;
    let middle = |points: &[PointLine]| {
        let mut values: Vec<f64> = points.iter().map(|point| point.value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let end = found.segments.last().map(|last| last.level).or_else(|| middle(&found.points))?;
    let begin = series.segments.first().map(|first| first.level).or_else(|| middle(&series.points))?;
    Some((found, begin / end))
}

/// That the newest night is no change, and not like its level.
fn far_off(trends: &Trends) -> String {
    let is_far = |series: &&SeriesLine| {
        series.spikes.last().is_some_and(|at| series.points.last().is_some_and(|last| last.at == *at))
    };
    let found = trends.series.iter().find(is_far);
    found.map_or_else(String::new, |series| {
        format!("; the newest night of {} for {} is far from its level", series.target, series.goal)
    })
}

/// What moves or does not: all of them are limits, or any number.
fn noun(trends: &Trends) -> &'static str {
    let are_limits = trends.series.iter().all(|series| series.quantity == Quantity::Limit);
    if are_limits { "limit" } else { "number" }
}

/// `the limit of sim:hard for no loss`, `the p99 of delays at 100 kpps of sim:queue`.
fn subject(series: &SeriesLine) -> String {
    match series.quantity {
        Quantity::Limit => format!("the limit of {} for {}", series.target, series.goal),
        _ => format!("the {} of {}", series.goal, series.target),
    }
}

/// That a level which moved is as it was before, or how far it is from that.
fn back(series: &SeriesLine, news: &News<'_>, trends: &Trends) -> String {
    let is_behind = |line: &&DriftingLine| line.behind && *line.from < *news.at && *news.at < *line.to;
    if let Some(line) = series.drifts.iter().find(is_behind).filter(|_| news.since.is_none()) {
        let way = if line.size < 0.0 { "lower" } else { "higher" };
        return format!(
            ", and since {} is {} {way} than before that",
            date(&line.to),
            percent(line.size.abs())
        );
    }
    let since = news.since.unwrap_or(news.at);
    let before =
        series.segments.iter().rfind(|segment| segment.to.as_str() <= since && segment.to.as_str() < news.at);
    let is_back = before.zip(series.segments.last()).is_some_and(|(before, last)| {
        last.from.as_str() > news.at && (last.level / before.level - 1.0).abs() < trends.smallest_effect
    });
    if is_back { ", and is back where it was".into() } else { String::new() }
}

fn moved(news: &News<'_>) -> String {
    let way = if news.size < 0.0 { "fell" } else { "rose" };
    let size = percent(news.size.abs());
    match news.since {
        Some(since) => format!("{way} by {size} from {} to {}", date(since), date(news.at)),
        None => format!("{way} by {size} at {}", date(news.at)),
    }
}

fn plural_histories(count: usize) -> String {
    if count == 1 { "1 history".into() } else { format!("{count} histories") }
}

/// Of how many histories it is told, and how many cannot tell.
fn of_histories(trends: &Trends, told: usize) -> String {
    match trends.series.len() - told {
        0 => plural_histories(told),
        1 => format!("{}; 1 other has too few nights to tell", plural_histories(told)),
        others => format!("{}; {others} others have too few nights to tell", plural_histories(told)),
    }
}

/// The level of the last nights, and between which loads they lie.
pub(crate) fn level(series: &SeriesLine) -> Option<String> {
    let last = series.segments.last()?;
    let of_level = |point: &&PointLine| point.at >= last.from && point.at <= last.to;
    let nights = || series.points.iter().filter(of_level).map(|point| point.value);
    let count =
        |of: fn(&PointLine) -> bool| series.points.iter().filter(of_level).filter(|point| of(point)).count();
    let all = count(|_| true);
    let end = match () {
        () if 2 * count(|point| point.low.is_some() && point.high.is_none()) > all => "at least ",
        () if 2 * count(|point| point.high.is_some() && point.low.is_none()) > all => "at most ",
        () => "",
    };
    let (low, high) = (nights().reduce(f64::min)?, nights().reduce(f64::max)?);
    let loads = loads_of(series, low, high);
    let words = format!("{end}{}", loads.with_unit(last.level));
    // What differs from night to night is more than any night is unsure of: then a level is in few of their intervals.
    let ends = |point: &PointLine| point.low.zip(point.high);
    let intervals: Vec<(f64, f64)> = series.points.iter().filter(of_level).filter_map(ends).collect();
    let holding = intervals.iter().filter(|(low, high)| (*low..=*high).contains(&last.level)).count();
    let apart = match intervals.len() {
        0 => String::new(),
        all if 2 * holding >= all => String::new(),
        all => {
            format!("; {holding} of their {all} intervals hold it: nights differ by more than each is unsure")
        }
    };
    let behind = series.drifts.iter().rfind(|line| line.behind && line.to >= last.from);
    let before = series.segments.iter().rev().nth(1).map(|segment| segment.level);
    let first = behind.and_then(|line| series.segments.iter().rfind(|segment| segment.to <= line.from));
    let before: String = before
        .into_iter()
        .chain(first.map(|segment| segment.level))
        .map(|level| {
            // As fine as the step between both.
            let [low, high] = [level.min(last.level), level.max(last.level)];
            let loads = loads_of(series, high - (high - low) / 10.0, high);
            format!("; before that {}", loads.with_unit(level))
        })
        .collect();
    let nights = match all {
        0 | 1 => String::new(),
        _ if loads.bare(low) == loads.bare(high) => String::new(),
        _ => format!(", its nights from {} to {}", loads.bare(low), loads.bare(high)),
    };
    Some(format!("{words}{nights}{apart}{before}"))
}

/// What stands beside a history: the target that was measured with it and is taken out.
pub(crate) fn reference(series: &SeriesLine) -> Option<String> {
    let reference = series.reference.as_ref()?;
    Some(format!(
        "{reference} is taken out: each night is divided by what that of its night was above its median"
    ))
}

/// `−9.1 %`.
pub(crate) fn change(size: f64) -> String {
    compared_searches::change(Some(1.0 + size))
}

/// `[−9.2 %, −8.9 %]`: the ends of a change, rounded outwards.
pub(crate) fn change_between(low: f64, high: f64) -> String {
    let [low, high] = [(low, f64::floor as fn(f64) -> f64), (high, f64::ceil)]
        .map(|(size, round)| compared_searches::in_three(1.0 + size, round));
    format!("[{low}, {high}]")
}

/// What a change came to.
pub(crate) fn verdict(line: &ChangeLine) -> String {
    let words = line.verdict.words();
    let words = match &line.confirmation {
        Some(fresh) if line.verdict.is_change() && fresh.verdict == line.verdict => {
            format!("{words}, confirmed")
        }
        Some(_) => format!("{words}, not confirmed"),
        None => words,
    };
    match (line.suspected, line.acknowledged) {
        (_, true) => format!("{words}, acknowledged"),
        (true, _) => format!("{words}, suspected: measure again now"),
        _ => words,
    }
}

/// What came of measuring again.
pub(crate) fn confirmation(line: &ConfirmationLine) -> String {
    let against = match line.good.len() as u64 {
        0 => "the level before".to_owned(),
        1 => "1 search of what was good".to_owned(),
        count => format!("{count} searches of what was good, in turns with them"),
    };
    format!(
        "measured again: {} against {against}: {} {}",
        searches(line.fresh.len()),
        change(line.size),
        change_between(line.size_low, line.size_high),
    )
}

fn searches(count: usize) -> String {
    if count == 1 { "1 fresh search".into() } else { format!("{count} fresh searches") }
}

/// The nights between which it lies, and the commits.
pub(crate) fn nights(line: &ChangeLine) -> String {
    let nights = match line.at_low == line.at_high {
        true => format!("since {}", date(&line.at_low)),
        false => format!("between {} and {}", date(&line.at_low), date(&line.at_high)),
    };
    let short = |commit: &str| commit.chars().take(12).collect::<String>();
    match &line.commits {
        [Some(before), Some(after)] if before == after => {
            format!("{nights}, both of commit {}: it was not the code", short(before))
        }
        [Some(before), Some(after)] => format!("{nights}, commits {}..{}", short(before), short(after)),
        [None, Some(after)] => format!("{nights}, up to commit {}", short(after)),
        _ => nights,
    }
}

pub(crate) fn drift(line: &DriftingLine) -> String {
    format!(
        "{}from {} to {}: {} {}, {}{}, id {}",
        match (line.together, line.behind) {
            (true, _) => "changes that do not matter alone, together, ",
            (_, true) => "the level since, against that before it got worse, ",
            _ => "",
        },
        date(&line.from),
        date(&line.to),
        change(line.size),
        change_between(line.size_low, line.size_high),
        line.verdict.words(),
        match (line.acknowledged, line.acknowledged_size) {
            (true, _) => ", acknowledged".to_owned(),
            (false, Some(known)) => format!(", of which {} is acknowledged: it went on", change(known)),
            (false, None) => String::new(),
        },
        line.id
    )
}

/// The level of the last nights, in its own unit.
pub(crate) fn level_now(series: &SeriesLine) -> Option<String> {
    let level = series.segments.last()?.level;
    Some(loads_of(series, level, level).with_unit(level))
}

/// How many nights, between when.
pub(crate) fn span(series: &SeriesLine) -> String {
    let number = series.points.len() as u64;
    let nights = plural(number, "night");
    let day = |point: &PointLine| point.at.get(..10).map(str::to_owned);
    match (series.points.first(), series.points.last()) {
        (Some(only), Some(_)) if number == 1 => format!("{nights}, {}", date(&only.at)),
        (Some(first), Some(last)) if day(first) == day(last) => {
            format!("{}, {} to {}", plural(number, "measurement"), date(&first.at), date(&last.at))
        }
        (Some(first), Some(last)) => format!("{nights}, {} to {}", date(&first.at), date(&last.at)),
        _ => nights,
    }
}

/// When single nights stood apart.
pub(crate) fn spikes(series: &SeriesLine) -> String {
    series.spikes.iter().map(|at| date(at)).collect::<Vec<_>>().join(", ")
}

/// That the newest searches say nothing.
pub(crate) fn silent(series: &SeriesLine) -> Option<String> {
    let searches = match series.silent {
        0 => return None,
        1 => "the newest search says no limit".to_owned(),
        count => format!("the newest {count} searches say no limit"),
    };
    Some(format!("{searches}, so what it is now is not known; why is said of each under \"left out\""))
}

/// By what nights count, where it is not as they say.
pub(crate) fn weights(series: &SeriesLine) -> Option<&'static str> {
    let is_told = series.scatter.is_some() && series.widths == "not_fitting";
    is_told.then_some("all nights alike, for their intervals do not say which of them scatter more")
}

/// That a history is too short to say anything.
pub(crate) fn too_few(series: &SeriesLine) -> Option<&'static str> {
    series.scatter.is_none().then_some("these are too few nights to tell a change: at least 8 are needed")
}

/// How the numbers of a history are written.
pub(crate) fn loads(series: &SeriesLine) -> Loads {
    let values = || series.points.iter().map(|point| point.value);
    let highest = values().fold(0.0, f64::max);
    match series.quantity {
        Quantity::Limit => Loads::of(series.load_unit, [], highest),
        Quantity::Delivered => Loads::of_shares(values().fold(1.0, f64::min)),
        Quantity::Percentile(_) => Loads::of_times(highest),
        Quantity::Core | Quantity::HighPercentile => Loads::of_ratios(highest),
    }
}

/// How the numbers of one level are written: in the unit of that level, as fine as its nights differ.
fn loads_of(series: &SeriesLine, low: f64, high: f64) -> Loads {
    match series.quantity {
        Quantity::Limit => Loads::of(series.load_unit, [], high).as_fine_as_step((high - low) / 5.0),
        _ => loads(series),
    }
}

/// The name of an axis: `limit, Mpps`.
pub(crate) fn axis(series: &SeriesLine) -> String {
    let what = match series.quantity {
        Quantity::Limit => "limit".to_owned(),
        Quantity::Delivered => "came back".into(),
        Quantity::Percentile(_) => series.quantity.word(),
        Quantity::Core | Quantity::HighPercentile => "B ÷ A".into(),
    };
    match loads(series).unit {
        "" => what,
        unit => format!("{what}, {unit}"),
    }
}
