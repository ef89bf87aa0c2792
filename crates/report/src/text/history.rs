//! A history on a terminal: what it holds, and what was done with it.

use super::layout::{Columns, Page, Row, Side};
use crate::number::{JOIN, Loads, bytes, plural};
use crate::prose::date;
use crate::style::{Ink, Style};
use dropline_record::{
    AddedLine, AddedWord, IndexLine, IndexedGoal, LeftOutLine, Listed, Pruned, PrunedLine, Reindexed,
    ResultWord,
};

/// What `history list` says. Ends with a newline.
pub fn listed_text(listed: &Listed, style: Style) -> String {
    let mut page = Page::new(style);
    let count = listed.records.len() as u64;
    page.paragraph(
        Ink::Strong,
        &match (count, listed.others) {
            (0, 0) => "the history has no record yet".into(),
            (0, others) => format!("none of {} is what was asked for", plural(others, "record")),
            (_, 0) => plural(count, "record"),
            (_, others) => format!("{} of {}", plural(count, "record"), count + others),
        },
    );
    if count > 0 {
        page.gap();
        page.columns(&records(&listed.records));
    }
    left_out(&mut page, &listed.left_out);
    page.into_text()
}

fn records(records: &[IndexLine]) -> Columns {
    let left = |word: &str| (word.to_owned(), Side::Left);
    let right = |word: &str| (word.to_owned(), Side::Right);
    let rows = records.iter().flat_map(|line| {
        let first = std::iter::once(row(line, line.goals.first()));
        first.chain(line.goals.iter().skip(1).map(|goal| {
            let mut further = row(line, Some(goal));
            // What all goals of a record have in common is said once.
            for column in [0, 1, 2, 7, 8] {
                further.cells[column].0.clear();
            }
            further
        }))
    });
    Columns {
        heads: vec![
            left("began"),
            left("kind"),
            left("target"),
            left("goal"),
            right("limit"),
            left("bounds"),
            left("how sure"),
            left("labels"),
            left("file"),
        ],
        rows: rows.collect(),
    }
}

fn row(line: &IndexLine, goal: Option<&IndexedGoal>) -> Row {
    let stated = goal.and_then(|goal| goal.limit_pps.or(goal.median_pps).or(goal.lower_pps));
    let loads = Loads::of(line.load_unit, [], stated.or(goal.and_then(|goal| goal.upper_pps)).unwrap_or(0.0));
    let loads = goal.map_or(loads, |goal| loads.apart(goal.lower_pps, goal.upper_pps));
    let result = match goal {
        _ if !line.finished => "unfinished".to_owned(),
        Some(goal) => how_sure(goal),
        None => String::new(),
    };
    let labels: Vec<String> =
        line.labels.iter().map(|(name, value)| format!("{name}={}", short(value))).collect();
    let plain = |text: String| (text, Ink::Plain);
    Row {
        cells: vec![
            plain(date(&line.started)),
            plain(line.kind.clone()),
            (line.target.clone(), Ink::Strong),
            plain(goal.map(|goal| goal.goal.clone()).unwrap_or_default()),
            (
                goal.and_then(|goal| goal.limit_pps).map(|limit| loads.with_unit(limit)).unwrap_or_default(),
                Ink::Strong,
            ),
            plain(goal.map(|goal| bounds(loads, goal)).unwrap_or_default()),
            plain(result),
            plain(labels.join(" ")),
            (line.file.clone(), Ink::Faint),
        ],
        note: goal.filter(|_| line.finished).and_then(why_not).map(str::to_owned),
        said: line.trial.as_ref().map(|trial| trial.answer.clone()),
    }
}

/// How sure it is, in the words of a report of the record.
pub(crate) fn how_sure(goal: &IndexedGoal) -> String {
    let is_doubted = goal.why_not.is_some() && goal.bound_pps.is_none();
    let of_before = || match goal.result {
        ResultWord::Regular | ResultWord::Narrow | ResultWord::Wide if is_doubted => "doubted",
        ResultWord::Regular => "tested",
        ResultWord::Narrow => "precise enough",
        ResultWord::Wide => "not yet precise",
        ResultWord::AtMaximum => "limit not reached",
        ResultWord::BelowMinimum => "drops at the lowest load",
        ResultWord::Irregular => "irregular",
    };
    goal.standing.clone().unwrap_or_else(|| of_before().to_owned())
}

/// Why no limit stands, where one end of it does not say so already.
pub(crate) fn why_not(goal: &IndexedGoal) -> Option<&str> {
    goal.why_not.as_deref().filter(|_| goal.bound_pps.is_none())
}

/// Both ends, with a unit where no limit stands that has it; an end that is known alone as what it says.
pub(crate) fn bounds(loads: Loads, goal: &IndexedGoal) -> String {
    match (goal.limit_pps, goal.lower_pps, goal.upper_pps) {
        (Some(_), ..) => loads.interval(goal.lower_pps, goal.upper_pps),
        (None, Some(low), None) => format!("\u{2265}{JOIN}{}", loads.with_unit(loads.floor(low))),
        (None, None, Some(high)) => format!("<{JOIN}{}", loads.with_unit(loads.ceil(high))),
        (None, None, None) => String::new(),
        (None, low, high) => format!("{}{JOIN}{}", loads.interval(low, high), loads.unit),
    }
}

/// As much of a commit as people write.
pub(crate) fn short(value: &str) -> String {
    let is_sum = value.len() > 20 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_sum { value[..12].to_owned() } else { value.to_owned() }
}

fn left_out(page: &mut Page, left_out: &[LeftOutLine]) {
    if !left_out.is_empty() {
        page.gap();
    }
    for left in left_out {
        page.fact("left out", &format!("{}: {}", left.source, left.why));
    }
}

/// What `history add` says. Ends with a newline.
pub fn added_text(added: &[AddedLine], style: Style) -> String {
    let mut page = Page::new(style);
    for line in added {
        let file = line.file.as_deref().unwrap_or_default();
        let why = line.why.as_deref().unwrap_or_default();
        let named =
            if why.contains(&line.source) { why.to_owned() } else { format!("{}: {why}", line.source) };
        match line.added {
            AddedWord::New => page.fact("added", file),
            AddedWord::Known => page.fact("known", &format!("{}: it is there already, {file}", line.source)),
            AddedWord::Completed => page.fact("completed", &format!("{file}: it has more than before")),
            AddedWord::Refused => named.lines().enumerate().for_each(|(index, line)| match index {
                0 => page.fact_in("refused", Ink::Lost, line),
                _ => page.fact("", line.trim()),
            }),
        }
    }
    page.into_text()
}

/// What `history index` says; `checked` says that nothing was written. Ends with a newline.
pub fn reindexed_text(told: &Reindexed, checked: bool, style: Style) -> String {
    let mut page = Page::new(style);
    let records = plural(told.records, "record");
    page.paragraph(
        Ink::Strong,
        &match (told.is_as_it_was(), checked) {
            (true, _) => format!("the index says what the records say: {records}"),
            (false, true) => format!("the index does not say what the records say: {records}"),
            (false, false) => format!("the index was made again: {records}"),
        },
    );
    for (name, files) in [("new", &told.added), ("changed", &told.changed), ("gone", &told.gone)] {
        files.iter().for_each(|file| page.fact(name, file));
    }
    left_out(&mut page, &told.left_out);
    page.into_text()
}

/// What `history prune` says. Ends with a newline.
pub fn pruned_text(pruned: &Pruned, style: Style) -> String {
    let mut page = Page::new(style);
    let size = bytes(pruned.removed.iter().map(|line| line.bytes).sum());
    let copies = pruned.removed.iter().filter(|line| line.copy).count() as u64;
    let removed = plural(pruned.removed.len() as u64 - copies, "record");
    let removed = match copies {
        0 => removed,
        1 => format!("{removed} and one copy"),
        copies => format!("{removed} and {copies} copies"),
    };
    page.paragraph(
        Ink::Strong,
        &match (pruned.removed.len(), pruned.done) {
            (0, _) => format!("nothing is removed: the history has {}", plural(pruned.left, "record")),
            (_, true) => format!("{removed} removed, {size}; {} left", plural(pruned.left, "record")),
            (_, false) => format!(
                "{removed} would be removed, {size}, and {} would be left; --yes does it",
                plural(pruned.left, "record")
            ),
        },
    );
    let told = |line: &PrunedLine| format!("{}, {}, {}", line.file, date(&line.started), line.target);
    for line in &pruned.removed {
        page.fact(if pruned.done { "removed" } else { "would go" }, &told(line));
    }
    for line in &pruned.kept {
        page.fact("stays", &format!("{}: {}", told(line), line.why.as_deref().unwrap_or_default()));
    }
    page.into_text()
}
