//! From rounds to verdicts: what moved by the delay, how surely, and what stands in the way of saying so.

use dropline_record::PathWord;
use dropline_record::{BetweenLine, CaveatLine, Count, Injected, InjectedModeLine};
use dropline_stats::delay_injection::{Evidence, Path, Why};
use dropline_stats::{Between, Binned, Crossings, Mode, Modes, crossings};
use std::time::Duration;

/// Events of one round.
pub(super) struct Round {
    /// Without a delay, before.
    pub(super) first: Binned,
    /// With it.
    pub(super) once: Binned,
    /// With twice as much, where that was measured.
    pub(super) twice: Option<Binned>,
    /// Without a delay, after.
    pub(super) last: Option<Binned>,
}

/// Which events of a round.
#[derive(Clone, Copy)]
enum Which {
    First,
    Last,
    /// Both of them.
    None,
    Once,
    Twice,
}

impl Round {
    fn events(&self, of: Which) -> impl Iterator<Item = &Binned> {
        let events = match of {
            Which::First => [Some(&self.first), None],
            Which::Last => [self.last.as_ref(), None],
            Which::None => [Some(&self.first), self.last.as_ref()],
            Which::Once => [Some(&self.once), None],
            Which::Twice => [self.twice.as_ref(), None],
        };
        events.into_iter().flatten()
    }
}

/// Delays that were added, in microseconds, with how often; as the program's clock had them, or as asked.
pub(super) struct Added {
    delays: Vec<(f64, f64)>,
    pub(super) crossings: u64,
}

impl Added {
    pub(super) fn asked(delay: Duration) -> Self {
        Self { delays: vec![(delay.as_nanos() as f64 / 1000.0, 1.0)], crossings: 0 }
    }

    /// From the ticks of each; as asked where nothing crossed.
    pub(super) fn of(ticks: &[u64], ns_per_tick: f64, asked: Duration) -> Self {
        if ticks.is_empty() {
            return Self::asked(asked);
        }
        let mut us: Vec<f64> = ticks.iter().map(|&ticks| ticks as f64 * ns_per_tick / 1000.0).collect();
        us.sort_by(f64::total_cmp);
        // Sixty-four delays in order, each for as many: their distribution without its noise.
        let parts = us.len().min(64);
        let delays = (0..parts)
            .map(|part| {
                let of = &us[part * us.len() / parts..(part + 1) * us.len() / parts];
                (of.iter().sum::<f64>() / of.len() as f64, of.len() as f64)
            })
            .collect();
        Self { delays, crossings: ticks.len() as u64 }
    }

    pub(super) fn realised_us(&self) -> Option<f64> {
        let weight: f64 = self.delays.iter().map(|(_, weight)| weight).sum();
        (self.crossings > 0)
            .then(|| self.delays.iter().map(|(delay, weight)| delay * weight).sum::<f64>() / weight)
    }
}

/// Chance of the bootstrap behind the number of modes.
const MODES_SEED: u64 = 2004;
/// More of the events than this are not where the model has them: said.
const MODEL_OFF: f64 = 0.03;

/// A mode of fewer events belongs to the one before it: a share of all, and a number.
const SMALLEST: f64 = 0.01;
const FEWEST: u64 = 30;
/// Peaks nearer than this part of the delay are not told apart by it.
const NEAREST: f64 = 0.5;

/// Modes that a delay can tell apart: neighbours too near for it, and ones of too few events, are put together.
fn told_apart(modes: Vec<Mode>, delay: f64, events: u64) -> Vec<Mode> {
    let fewest = ((events as f64 * SMALLEST) as u64).max(FEWEST);
    let mut apart: Vec<Mode> = Vec::new();
    let mut last_peak = f64::NEG_INFINITY;
    for mode in modes {
        let near = mode.peak - last_peak < delay * NEAREST;
        if mode.mass >= fewest {
            last_peak = mode.peak;
        }
        match apart.last_mut() {
            Some(before) if near || mode.mass < fewest || before.mass < fewest => {
                before.high = mode.high;
                // The peak is that of the larger part.
                before.peak = if mode.mass > before.mass { mode.peak } else { before.peak };
                before.mass += mode.mass;
            }
            _ => apart.push(mode),
        }
    }
    apart
}

/// Which modes are asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Those that the delay tells apart: it was chosen, and another one can be.
    ToldApart,
    /// Those that `fit` finds: what was stored has the delay that it has.
    Fitted,
}

/// Estimates, intervals, verdicts.
pub(super) fn fill(found: &mut Injected, rounds: &[Round], added: &[Added; 2], asked: Asked) {
    let pooled = |of: Which, without: Option<usize>| -> Binned {
        let kept = rounds.iter().enumerate().filter(|(index, _)| Some(*index) != without);
        let parts: Vec<Binned> = kept.flat_map(|(_, round)| round.events(of)).cloned().collect();
        Binned::together(&parts)
    };
    let before = pooled(Which::None, None);
    found.rounds = rounds.len() as u64;
    let events = [&before, &pooled(Which::Once, None), &pooled(Which::Twice, None)]
        .map(|events| Count(events.count()));
    found.events = events;
    let delay = found.realised_us.unwrap_or(found.delay_us);
    let modes = match asked {
        Asked::ToldApart => told_apart(Modes::of(&before, MODES_SEED).modes, delay, before.count()),
        Asked::Fitted => {
            let seen = before.stepped();
            told_apart(Modes::of(seen.as_ref().unwrap_or(&before), MODES_SEED).modes, 0.0, before.count())
        }
    };
    let ranges: Vec<(f64, f64)> = modes.iter().map(|mode| (mode.low, mode.high)).collect();
    let estimate = |with: Which, added: &Added, without| {
        crossings(&pooled(Which::None, without), &pooled(with, without), &ranges, &added.delays)
    };
    let Some(whole) = estimate(Which::Once, &added[0], None) else {
        say(found, "no_modes", "the events without a delay are too few to have modes: measure longer".into());
        return;
    };
    let doubled = estimate(Which::Twice, &added[1], None);
    let floor = crossings(&pooled(Which::First, None), &pooled(Which::Last, None), &ranges, &added[0].delays);
    let each = |with: Which, added: &Added| -> Vec<Crossings> {
        (0..rounds.len()).filter_map(|out| estimate(with, added, Some(out))).collect()
    };
    let (once_without, twice_without) = (each(Which::Once, &added[0]), each(Which::Twice, &added[1]));
    let interval = |all: &Crossings, without: &[Crossings], mode: usize| {
        let of: Option<Vec<f64>> = without.iter().map(|one| one.modes[mode].mean).collect();
        Between::jackknife(all.modes[mode].mean?, &of?)
    };
    let confounded = confounded(&modes, &before, delay);
    for (index, mode) in modes.iter().enumerate() {
        let crossed = whole.modes[index];
        let by_itself = floor.as_ref().map(|floor| floor.modes[index]);
        let once = interval(&whole, &once_without, index);
        let twice = doubled.as_ref().and_then(|doubled| interval(doubled, &twice_without, index));
        let evidence = once.map(|once| Evidence {
            once,
            twice,
            floor: by_itself.and_then(|floor| floor.mean).unwrap_or(0.0),
            moved: crossed.after - crossed.before,
            moved_by_itself: by_itself.map_or(0.0, |floor| floor.after - floor.before),
            width: width(&before, mode),
            delay,
        });
        let alike = confounded.iter().any(|pair| pair.modes.contains(&index));
        let (verdict, times, why) = match evidence.map(|evidence| evidence.path()) {
            Some(Path::OnPath(_) | Path::Partly | Path::Not) if alike => (
                PathWord::Undecided,
                None,
                Some("another mode lies where this one would move to: take another delay".into()),
            ),
            Some(Path::OnPath(times)) => (PathWord::OnPath, Some(times), None),
            Some(Path::Partly) => (PathWord::Partly, None, None),
            Some(Path::Not) => (PathWord::Not, None, None),
            Some(Path::Undecided(why)) => (PathWord::Undecided, None, Some(words(why, &before, mode))),
            None => {
                (PathWord::Undecided, None, Some("fewer than three rounds say how much they differ".into()))
            }
        };
        let line =
            |between: Between| BetweenLine { value: between.value, low: between.low, high: between.high };
        let plain =
            |crossed: Option<f64>| crossed.map(|value| BetweenLine { value, low: value, high: value });
        found.modes.push(InjectedModeLine {
            low: mode.low,
            high: mode.high,
            peak: mode.peak,
            share: crossed.before,
            share_with: crossed.after,
            once: once.map(line).or_else(|| plain(crossed.mean).filter(|_| rounds.len() < 3)),
            twice: twice.map(line),
            floor: by_itself.and_then(|floor| floor.mean),
            verdict,
            times,
            why,
        });
    }
    found.total_variation = whole.total_variation;
    doubts(found, &modes, &confounded, whole.noise);
}

fn words(why: Why, before: &Binned, mode: &Mode) -> String {
    match why {
        Why::TooShort => {
            format!("the mode is wider than the delay: take at least {:.3} us", width(before, mode) * 1.5)
        }
        Why::DoseDiffers => "X and 2X disagree: the delay changes how the program works".into(),
        Why::MassMoved => {
            "the delay changed how often the mode occurs: queueing, or a load that answers it".into()
        }
        Why::TooFew => "the interval holds several answers: measure longer".into(),
    }
}

/// Two modes as far apart as an event of the first would move by the delay.
struct Confounded {
    modes: [usize; 2],
    /// Delays between them.
    times: u32,
    /// A delay that tells them apart.
    other: Option<f64>,
}

fn confounded(modes: &[Mode], before: &Binned, delay: f64) -> Vec<Confounded> {
    let mut found = Vec::new();
    for (index, low) in modes.iter().enumerate() {
        if width(before, low) >= delay {
            // Undecided for that, wherever the others are.
            continue;
        }
        for (second, high) in modes.iter().enumerate().skip(index + 1) {
            let apart = high.peak - low.peak;
            let slack = width(before, low).max(width(before, high));
            let near = |times: u32, delay: f64| (apart - f64::from(times) * delay).abs() < slack;
            let Some(times) = (1..=3).find(|&times| near(times, delay)) else { continue };
            let longer = (1..40).map(|step| delay * (1.0 + f64::from(step) * 0.1));
            let other = longer.into_iter().find(|&other| !(1..=3).any(|times| near(times, other)));
            found.push(Confounded { modes: [index, second], times, other });
        }
    }
    found
}

/// So few events lie elsewhere by the chance of counts alone: a share of `noise`.
fn doubts(found: &mut Injected, modes: &[Mode], confounded: &[Confounded], noise: f64) {
    if found.total_variation > MODEL_OFF + noise {
        let off = found.total_variation * 100.0;
        say(
            found,
            "model_off",
            format!(
                "{off:.1} % of the events with the delay lie where no mode moved to: read the verdicts with care"
            ),
        );
    }
    for Confounded { modes: [low, high], times, other } in confounded {
        let advice = other.map_or("another delay".to_owned(), |other| format!("{other:.2} us"));
        let times = if *times == 1 { "one delay".to_owned() } else { format!("{times} delays") };
        say(
            found,
            "confounded",
            format!(
                "the peaks at {:.1} and {:.1} us are {times} apart: what moved there may have been there; take {advice}",
                modes[*low].peak, modes[*high].peak
            ),
        );
    }
    if found.rounds < 3 {
        let text = match found.is_of_files() {
            true => {
                "how surely is not known: give files that keep the order of events or records with slices, or let \
                 dropline inject measure in turns"
            }
            false => "fewer than three rounds: how surely is not known; measure longer",
        };
        say(found, "no_rounds", text.into());
    }
}

fn say(found: &mut Injected, code: &str, text: String) {
    found.caveats.push(CaveatLine::said(code, text));
}

/// A mode's standard deviation, from its quartiles: what is far out is no width of it.
fn width(binned: &Binned, mode: &Mode) -> f64 {
    let within: Vec<(f64, u64)> = binned
        .cells()
        .iter()
        .filter(|cell| cell.value >= mode.low && cell.value <= mode.high)
        .map(|cell| (cell.value, cell.count))
        .collect();
    let all: u64 = within.iter().map(|(_, count)| count).sum();
    let at = |share: f64| {
        let mut below = 0;
        within
            .iter()
            .find(|(_, count)| {
                below += count;
                below as f64 >= share * all as f64
            })
            .map_or(0.0, |(value, _)| *value)
    };
    (at(0.75) - at(0.25)) / 1.349
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::{Counted, Meaning};

    /// Two paths at 5 and 12.1 us with a triangle about each, a tenth of a microsecond a cell; the first moved so far.
    fn events(moved_us: f64, seed: u64) -> Binned {
        let ticks = (0..4000u64).map(|n| {
            let noise = ((n * 7919 + seed * 131) % 97 + (n * 104_729 + seed * 17) % 89) as f64 / 93.0 - 1.0;
            let at = if n % 5 == 0 { 12.1 } else { 5.0 + moved_us };
            (((at + noise * 0.6) * 10.0).round() as i64, 1)
        });
        let meaning = Meaning { unit_ns: 1000, quantum_ns: 100.0, ..Meaning::default() };
        Counted::ticks(meaning, ticks, None).unwrap().binned()
    }

    fn rounds(moved: f64) -> Vec<Round> {
        (0..6)
            .map(|round| Round {
                first: events(0.0, 4 * round),
                once: events(moved, 4 * round + 1),
                twice: Some(events(2.0 * moved, 4 * round + 2)),
                last: Some(events(0.0, 4 * round + 3)),
            })
            .collect()
    }

    fn injected(rounds: &[Round], delay_us: u64) -> Injected {
        let delay = Duration::from_micros(delay_us);
        let mut found = Injected { delay_us: delay_us as f64, ..Injected::default() };
        fill(&mut found, rounds, &[Added::asked(delay), Added::asked(delay * 2)], Asked::ToldApart);
        found
    }

    #[test]
    fn the_path_that_moved_is_on_the_probes_path_and_the_other_is_not() {
        let found = injected(&rounds(2.0), 2);
        let verdicts: Vec<PathWord> = found.modes.iter().map(|mode| mode.verdict).collect();
        assert_eq!(verdicts, [PathWord::OnPath, PathWord::Not], "{found:#?}");
        assert_eq!(found.modes[0].times, Some(1));
        assert_eq!(found.events.map(|count| count.0), [48_000, 24_000, 24_000]);
    }

    #[test]
    fn a_delay_that_reaches_from_one_peak_to_the_next_is_warned_of() {
        let codes =
            |found: &Injected| found.caveats.iter().map(|caveat| caveat.code.clone()).collect::<Vec<_>>();
        let confounded = injected(&rounds(7.0), 7);
        assert!(codes(&confounded).contains(&"confounded".to_owned()));
        assert!(confounded.modes.iter().all(|mode| mode.verdict == PathWord::Undecided), "{confounded:#?}");
        assert!(!codes(&injected(&rounds(1.5), 1)).contains(&"no_rounds".to_owned()));
    }

    #[test]
    fn stored_events_are_asked_by_the_modes_that_fit_finds_and_a_delay_is_found_in_the_one_that_has_it() {
        // Peaks at 10, 22 and 60 us, and the second takes 100 us more: fewer than half of that lie between the first two.
        let events = |more: f64, seed: u64| {
            let ticks = (0..4000u64).map(|n| {
                let noise =
                    ((n * 7919 + seed * 131) % 97 + (n * 104_729 + seed * 17) % 89) as f64 / 93.0 - 1.0;
                let at = [10.0, 22.0 + more, 60.0][(n % 3) as usize];
                (((at + noise * 2.0) * 10.0).round() as i64, 1)
            });
            let meaning = Meaning { unit_ns: 1000, quantum_ns: 100.0, ..Meaning::default() };
            Counted::ticks(meaning, ticks, None).unwrap().binned()
        };
        let round =
            |at: u64| Round { first: events(0.0, at), once: events(100.0, 50 + at), twice: None, last: None };
        let rounds: Vec<Round> = (0..10).map(round).collect();
        let delay = Duration::from_micros(100);
        let mut found = Injected { delay_us: 100.0, ..Injected::default() };
        fill(&mut found, &rounds, &[Added::asked(delay), Added::asked(delay * 2)], Asked::Fitted);
        let (moved, others): (Vec<_>, Vec<_>) =
            found.modes.iter().partition(|mode| (18.0..26.0).contains(&mode.peak));
        assert_eq!((moved.len(), moved[0].verdict), (1, PathWord::OnPath), "{found:#?}");
        assert!(others.len() >= 2 && others.iter().all(|mode| mode.verdict == PathWord::Not), "{found:#?}");
        let once = moved[0].once.unwrap();
        assert!(once.low <= 1.0 && once.high >= 1.0 && once.high - once.low < 0.1, "{once:?}");
    }

    #[test]
    fn modes_that_the_delay_cannot_tell_apart_are_one() {
        let mode = |low: f64, mass| Mode { low, high: low + 4.0, peak: low + 1.0, mass };
        let modes =
            vec![mode(10.0, 2000), mode(20.0, 7000), mode(90.0, 900), mode(400.0, 60), mode(900.0, 40)];
        let ranges = |delay| -> Vec<(f64, f64)> {
            told_apart(modes.clone(), delay, 10_000).iter().map(|mode| (mode.low, mode.high)).collect()
        };
        assert_eq!(ranges(300.0), [(10.0, 904.0)]);
        assert_eq!(ranges(50.0), [(10.0, 24.0), (90.0, 904.0)]);
        assert_eq!(ranges(5.0), [(10.0, 14.0), (20.0, 24.0), (90.0, 904.0)]);
        assert_eq!(told_apart(modes, 50.0, 10_000)[0].peak, 21.0);
    }

    #[test]
    fn a_pair_without_rounds_has_estimates_and_no_verdict() {
        let pair = [Round { first: events(0.0, 1), once: events(2.0, 2), twice: None, last: None }];
        let found = injected(&pair, 2);
        assert!((found.modes[0].once.unwrap().value - 1.0).abs() < 0.1);
        assert_eq!((found.modes[0].verdict, found.modes[0].twice), (PathWord::Undecided, None));
        assert!(found.caveats.iter().any(|caveat| caveat.code == "no_rounds"));
    }

    #[test]
    fn realised_delays_keep_their_mean() {
        let added =
            Added::of(&(0..1000).map(|n| 6000 + n % 10).collect::<Vec<_>>(), 0.5, Duration::from_micros(3));
        assert!((added.realised_us().unwrap() - 3.002_25).abs() < 1e-9);
        assert_eq!((added.delays.len(), added.crossings), (64, 1000));
        assert_eq!(Added::of(&[], 0.5, Duration::from_micros(3)).realised_us(), None);
    }
}
