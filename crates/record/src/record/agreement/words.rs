//! Whether the words of a header are ones that this format has.

use super::same;
use crate::{Header, LoadUnit, SearchLine, TargetKind};
use dropline_search::mlr::EffectiveDuration;
use dropline_search::{ALGORITHMS, Preset};

/// The verbs that keep a record.
pub const VERBS: [&str; 5] = ["search", "trial", "watch", "compare", "import"];
/// What another program found, without the trials that it made: nothing in it can be followed.
pub(super) const IMPORT: &str = "import";

pub(super) fn of_header(header: &Header) -> Result<(), String> {
    one_of("verb", &header.verb, &VERBS)?;
    if header.verb != "compare" && TargetKind::of(&header.target).is_some_and(|kind| kind.intends_its_load) {
        same("itself", "load_unit", header.load_unit.word(), "its target", LoadUnit::Packets.word())?;
    }
    if let Some(bursts) = &header.bursts
        && (header.verb != "search" || header.search.is_some() || bursts.repetitions == 0)
    {
        return Err("itself: it is a search for bursts, and has another verb, goals, or no repetition".into());
    }
    match &header.search {
        None => Ok(()),
        Some(search) if header.verb == IMPORT => of_goals(search),
        Some(_) if header.verb != "search" => {
            Err(format!("itself: it has the goals of a search, and its verb is {:?}", header.verb))
        }
        Some(search) => of_search(search),
    }
}

fn of_search(search: &SearchLine) -> Result<(), String> {
    one_of("algorithm", &search.algorithm, &ALGORITHMS)?;
    let mut preset = None;
    if let Some(word) = &search.preset {
        one_of("preset", word, &Preset::ALL.map(Preset::name))?;
        preset = Preset::ALL.into_iter().find(|preset| preset.name() == word);
    }
    // No other flag asks for it.
    let effective = match preset.map(Preset::effective) {
        Some(EffectiveDuration::Elapsed) => "elapsed_s",
        _ => "duration_s",
    };
    same("itself", "effective_duration", search.effective_duration.as_str(), "its preset", effective)?;
    if let Some(level) = search.level.filter(|_| !search.has_level()) {
        return Err(format!(
            "itself: its level is {level}, and its algorithm is {}, which has none",
            search.algorithm
        ));
    }
    of_goals(search)
}

fn of_goals(search: &SearchLine) -> Result<(), String> {
    for (number, goal) in (1..).zip(&search.goals) {
        for (name, ratio) in
            [("loss_ratio", goal.loss_ratio), ("exceed_ratio", goal.exceed_ratio), ("width", goal.width)]
        {
            if !(0.0..=1.0).contains(&ratio) {
                return Err(format!("itself: {name} of goal {number} is {ratio}, which is not a share"));
            }
        }
        if let Some(bound) = goal.within_s.filter(|bound| !(*bound > 0.0 && bound.is_finite())) {
            return Err(format!(
                "itself: within_s of goal {number} is {bound}, which is not a length of time"
            ));
        }
        if goal.within_s != search.goals[0].within_s {
            return Err("itself: its goals have several bounds on the delay".into());
        }
    }
    Ok(())
}

fn one_of(place: &str, word: &str, known: &[&str]) -> Result<(), String> {
    if known.contains(&word) {
        return Ok(());
    }
    Err(format!("itself: {place} is {word:?}, and there are {}", known.join(", ")))
}
