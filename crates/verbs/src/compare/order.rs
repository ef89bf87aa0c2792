//! Whether the events of files follow one another alike, and the blocks that they are then compared in.

use super::side::{Neighbours, Pair, Side};
use dropline_distributions::import::Order;
use dropline_record::CaveatLine;
use dropline_stats::{Counted, order};
use dropline_trial::number_of;

/// The random seed of the other orders that the order of time is held against.
const SEED: u64 = 2004;

/// Looks at both sides, and cuts what is alike into blocks.
pub(super) fn arrange(pair: &mut Pair) {
    let left_out = begin_steady([&mut pair.a, &mut pair.b]);
    pair.doubts.extend(left_out);
    let sides = [&mut pair.a, &mut pair.b];
    let rows: Vec<&[i64]> = sides.iter().filter_map(|side| side.row()).collect();
    let in_stretches = sides.iter().any(|side| side.blocks.len() > 1 || !stretches(side).is_empty());
    if rows.is_empty() && !in_stretches {
        return;
    }
    let both_known = rows.len() == 2;
    let are_alike = order::are_dependent(&rows, SEED);
    if are_alike || in_stretches {
        sides.into_iter().for_each(cut);
    }
    pair.neighbours = match (are_alike, both_known) {
        (true, _) => Neighbours::Alike,
        (false, true) => Neighbours::Independent,
        (false, false) => Neighbours::Unknown,
    };
}

/// Leaves out as many events of both as the side that starts slower takes to be steady, and says how many.
fn begin_steady(mut sides: [&mut Side; 2]) -> Option<CaveatLine> {
    let of_each = sides.each_ref().map(|side| side.row().map_or(0, order::warm_up));
    let left_out = of_each[0].max(of_each[1]);
    // What cannot be cut alike is not cut.
    let shortest = sides.iter().map(|side| side.row().map_or(0, <[i64]>::len)).min().unwrap_or(0);
    if left_out == 0 || 2 * left_out >= shortest {
        return None;
    }
    let slower = sides[usize::from(of_each[1] > of_each[0])].name.clone();
    for side in &mut sides {
        let steady = match &side.order {
            Order::Events(events) => events[left_out..].to_vec(),
            Order::Unknown | Order::Stretches(_) => return None,
        };
        side.blocks = parts(side, std::iter::once(steady.as_slice()));
        side.order = Order::Events(steady);
    }
    Some(CaveatLine::said(
        "warm_up_left_out",
        format!(
            "{slower} is slower at its start than later: the first {} of each side are left out, and the rest is compared; where \
             the start matters, compare it by itself",
            number_of(left_out, "event")
        ),
    ))
}

fn stretches(side: &Side) -> &[Counted] {
    match &side.order {
        Order::Stretches(stretches) => stretches,
        Order::Unknown | Order::Events(_) => &[],
    }
}

fn cut(side: &mut Side) {
    match &side.order {
        Order::Unknown => {}
        Order::Stretches(stretches) => side.blocks.clone_from(stretches),
        Order::Events(events) => side.blocks = parts(side, order::blocks(events)),
    }
}

/// Parts of a side's events, each counted.
fn parts<'a>(side: &Side, parts: impl Iterator<Item = &'a [i64]>) -> Vec<Counted> {
    let counted = |events: &[i64]| Counted::ticks(side.meaning, events.iter().map(|&tick| (tick, 1)), None);
    // Each was counted among all of them before.
    parts.filter_map(|events| counted(events).ok()).collect()
}

impl Side {
    /// Its events in the order of time, where that is known of each.
    fn row(&self) -> Option<&[i64]> {
        match &self.order {
            Order::Events(events) => Some(events),
            Order::Unknown | Order::Stretches(_) => None,
        }
    }

    /// As many parts in the order of time, where there are no blocks already.
    pub fn in_parts(&self, count: usize) -> Vec<Counted> {
        match &self.order {
            Order::Events(events) if self.blocks.len() < 2 && events.len() >= count => {
                let part = |at: usize| &events[at * events.len() / count..(at + 1) * events.len() / count];
                parts(self, (0..count).map(part))
            }
            Order::Stretches(stretches) if self.blocks.len() < 2 => stretches.clone(),
            _ => self.blocks.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{compare, side};
    use super::*;
    use dropline_distributions::import::Hints;
    use dropline_record::VerdictWord;
    use dropline_stats::compare::Questions;

    /// What two files of these texts are compared as.
    fn compared(texts: [&str; 2], hints: &Hints) -> Result<dropline_record::Compared, String> {
        let directory = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
        std::fs::write(&a, texts[0]).unwrap();
        std::fs::write(&b, texts[1]).unwrap();
        let mut pair = side::read(&a, &b, hints).map_err(|why| why.to_string())?;
        arrange(&mut pair);
        let questions = Questions { percentile: 0.99, above: None, smallest_effect: None, more_loss: 0.0 };
        Ok(compare(&pair, &questions))
    }

    /// Events whose level goes its own way, as many.
    fn wandering(count: u64, mut state: u64) -> Vec<String> {
        let mut level = 0.0;
        (0..count + 50)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                level = 0.95 * level + (state >> 40) as f64 / f64::from(1 << 24) - 0.5;
                format!("{:.1}", 1000.0 + 100.0 * level)
            })
            .skip(50)
            .collect()
    }

    fn codes(compared: &dropline_record::Compared) -> Vec<&str> {
        compared.caveats.iter().map(|caveat| caveat.code.as_str()).collect()
    }

    #[test]
    fn events_that_follow_one_another_are_no_evidence_in_whichever_format_they_stand() {
        let lines = |events: &[String]| events.join("\n") + "\n";
        let array = |events: &[String]| format!("[{}]", events.join(", "));
        let table = |events: &[String]| {
            format!("code,delay\n{}", events.iter().map(|it| format!("ok,{it}\n")).collect::<String>())
        };
        let hyperfine = |events: &[String]| {
            let times: Vec<String> = events.iter().map(|event| format!("{event}e-6")).collect();
            format!(r#"{{"results":[{{"command":"x","times":[{}]}}]}}"#, times.join(","))
        };
        type Format<'a> = &'a dyn Fn(&[String]) -> String;
        let formats: [Format<'_>; 4] = [&lines, &array, &table, &hyperfine];
        for (number, text) in formats.into_iter().enumerate() {
            for seed in 0..8 {
                let [a, b] = [2 * seed + 1, 2 * seed + 2].map(|seed| text(&wandering(80, seed * 77_777)));
                let found = compared([&a, &b], &Hints::default()).unwrap();
                assert!(codes(&found).contains(&"dependent_events"), "{number} {seed}: {:?}", codes(&found));
                assert_eq!(found.verdict, VerdictWord::NoEvidence, "{number} {seed}");
            }
        }
    }

    #[test]
    fn a_side_that_starts_slower_is_compared_from_where_it_is_steady_and_that_is_said() {
        let side = |warm: u64, seed: u64| -> String {
            let event = |at: u64| {
                1000 + (at * 7919 + seed) % 101
                    + (at * 104_729 + seed) % 89
                    + if at < warm { 1100 } else { 0 }
            };
            (0..400).map(|at| format!("{}\n", event(at))).collect()
        };
        let found = compared([&side(0, 3), &side(40, 57)], &Hints::default()).unwrap();
        let said = found.caveats.iter().find(|caveat| caveat.code == "warm_up_left_out").unwrap();
        assert!(
            said.text.contains("b is slower at its start")
                && ["40 events", "41 events"].iter().any(|it| said.text.contains(it)),
            "{}",
            said.text
        );
        assert!(
            found.a.count == found.b.count && (355..=360).contains(&found.a.count.0),
            "{}",
            found.a.count.0
        );
        assert_ne!(found.verdict, VerdictWord::Regressed);
        assert!(
            !codes(&compared([&side(0, 3), &side(0, 57)], &Hints::default()).unwrap())
                .contains(&"warm_up_left_out")
        );
    }

    #[test]
    fn a_file_that_names_its_unit_is_not_compared_with_a_guess_of_the_other() {
        let events = |name: &str| {
            format!("{name}\n{}", (0..100).map(|at| format!("{}\n", 10 + at * 7 % 31)).collect::<String>())
        };
        for (a, b) in [("delay_ms", "delay"), ("delay", "delay_ns"), ("delay_us", "delay")] {
            let why = compared([&events(a), &events(b)], &Hints::default()).unwrap_err();
            assert!(why.contains("names no unit") && why.contains("--unit"), "{why}");
        }
        assert!(
            compared([&events("delay_ms"), &events("delay_ns")], &Hints::default()).is_ok(),
            "both say it"
        );
        assert!(
            compared([&events("delay"), &events("delay")], &Hints::default()).is_ok(),
            "a guess for both"
        );
        let said = Hints { unit_ns: Some(1000), ..Hints::default() };
        assert!(compared([&events("delay_us"), &events("delay")], &said).is_ok());
    }
}
