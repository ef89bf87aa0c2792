//! What the detectors' answers come to: a table a question.

use super::detectors::{Detector, Ended, SIZES};
use super::histories::{BEFORE, EVENTFUL, Kind, LATER, NIGHTS, QUIET, UNSEEN};
use super::rivals::Rivals;
use dropline_record::{Study, Table};
use dropline_stats::sample::{mean, median};
use std::time::Duration;

/// So long 10 000 nights may take.
const LONGEST: Duration = Duration::from_millis(50);

pub(super) fn study(ended: &[Ended], rivals: Option<&Rivals>, time: Option<Duration>) -> Study {
    let answers = Answers { ended };
    let bars = answers.bars(time);
    let met = bars.iter().filter(|bar| bar.is_met()).count();
    let first = ended.iter().map(|one| one.seed).min().unwrap_or(0);
    Study {
        charts: Vec::new(),
        name: "trend-power".into(),
        title: format!(
            "Where nothing changed, dropline trend tells {} changes in 1 000 white nights and {} in mixed ones; of steps of 2 % \
             on white nights it finds {} within a month",
            one_place(answers.alarms(Detector::Dropline, Kind::White)),
            one_place(answers.alarms(Detector::Dropline, Kind::Mixed)),
            percent(answers.power(Detector::Dropline, Kind::White, 20)),
        ),
        paragraphs: vec![
            format!(
                "Which changes does a detector find, and how many does it tell where there are none? Simulated histories of \
                 {NIGHTS} nights whose true changes are known, from seed {first} on; a night scatters by 1 % about its level where nothing \
                 else is said. ar.6: a night has 0.6 of the night before. mixed: seven nights of ten scatter by 0.3 %, the others by \
                 2.5 %, and the width of each says which; shuffled: the same with widths of other nights; unsaid: the same without \
                 widths. spikes: 2 % of nights are 6 to 30 % low. t3: heavy tails. three: steps of -2, +3 and -2 %. stepvar: a step \
                 of -3 % to nights that scatter twice as much. variance: three times as much, and no step."
            ),
            "Histories that had no part in making the detector: machines that change (a mark in the record), weekends 3 % lower, two \
             machines 5 % apart of which one or the other is used, weeks that are missing among nights that are alike, heavy tails \
             about a level that drifts by 5 %."
                .into(),
            "Written when the detector was finished: up to twenty searches a day at odd hours, with a rhythm of the day; scatter that wanders, \
             of which each night says a part; results on a grid of 1 % without widths; spells of one to four nights 3 to 15 % low; a kernel \
             update every 3 to 20 nights (a mark), half of them with another level by up to 3 %."
                .into(),
            beside(rivals),
        ],
        tables: std::iter::once(bar_table(&bars, met))
            .chain([
                answers.false_alarms("Changes told in 1 000 nights where nothing changed", &QUIET, ""),
                answers.false_alarms(
                    "Changes told in 1 000 nights where nothing changed that is not known, unseen kinds",
                    &UNSEEN,
                    " A drift that is told as one is right in the last column, and counts in the others.",
                ),
                answers.false_alarms(
                    "Changes told in 1 000 nights where nothing changed that is not known, kinds of after the detector",
                    &LATER,
                    "",
                ),
                answers.changes(),
            ])
            .chain(SIZES.map(|size| answers.steps(size)))
            .collect(),
        caveats: Vec::new(),
    }
}

fn beside(rivals: Option<&Rivals>) -> String {
    let left_out = "They see the values of the nights, as they are published with their defaults; Dropline's sees widths, dates and \
                    marks too.";
    let Some(rivals) = rivals else { return format!("The others: {left_out}") };
    let named = |detector: &Detector| {
        rivals.versions.get(detector.word()).map(|version| format!("{} {version}", detector.name()))
    };
    let there: Vec<String> = Detector::ALL.iter().filter_map(named).collect();
    let is_missing = |detector: &&Detector| **detector != Detector::Dropline && !rivals.has(**detector);
    let missing: Vec<&str> = Detector::ALL.iter().filter(is_missing).map(|one| one.name()).collect();
    let mut words = String::new();
    if !there.is_empty() {
        words = format!("Beside it {}. {left_out}", there.join(", "));
    }
    if !missing.is_empty() {
        words += &format!(
            " Not installed here, and left out: {}; experiments/trend-power says how to install them.",
            missing.join(", ")
        );
    }
    words.trim().to_owned()
}

/// What is demanded of Dropline's detector.
struct Bar {
    what: String,
    wanted: f64,
    found: Option<f64>,
    /// Whether more is better.
    at_least: bool,
    unit: &'static str,
}

impl Bar {
    fn is_met(&self) -> bool {
        self.found
            .is_some_and(|found| if self.at_least { found >= self.wanted } else { found <= self.wanted })
    }
}

fn bar_table(bars: &[Bar], met: usize) -> Table {
    let row = |bar: &Bar| {
        let word = if bar.at_least { "at least" } else { "at most" };
        vec![
            bar.what.clone(),
            format!("{word} {} {}", bar.wanted, bar.unit),
            bar.found.map_or_else(none, |found| format!("{found:.2}")),
            if bar.is_met() { "met" } else { "not met" }.into(),
        ]
    };
    Table {
        title: format!("What is demanded of dropline trend: {met} of {} are met", bars.len()),
        note: "A time is the shortest of three, on this machine and with whatever else runs on it.".into(),
        columns: ["demand", "bar", "found", "met"].map(String::from).to_vec(),
        rows: bars.iter().map(row).collect(),
    }
}

/// Answers to make tables of.
struct Answers<'a> {
    ended: &'a [Ended],
}

impl Answers<'_> {
    fn of(&self, detector: Detector, kind: Kind, step: Option<u32>) -> impl Iterator<Item = &Ended> {
        let is_it = move |one: &&Ended| {
            one.detector == detector && one.question.kind == kind && one.question.step == step
        };
        self.ended.iter().filter(is_it)
    }

    /// Changes in 1 000 nights without one.
    fn alarms(&self, detector: Detector, kind: Kind) -> Option<f64> {
        let told =
            |one: &Ended| (one.changes + if kind == Kind::DriftingTails { 0 } else { one.drifts }) as f64;
        let each: Vec<f64> = self.of(detector, kind, None).map(told).collect();
        Some(mean(&each)? * 1000.0 / NIGHTS as f64)
    }

    /// The share of steps that are found in whole histories.
    fn share_found(&self, detector: Detector, kind: Kind) -> Option<f64> {
        let steps = kind.history(1).steps.len();
        let each: Vec<f64> =
            self.of(detector, kind, None).map(|one| one.found as f64 / steps as f64).collect();
        mean(&each).filter(|_| steps > 0)
    }

    /// The share of steps that are found soon.
    fn power(&self, detector: Detector, kind: Kind, step: u32) -> Option<f64> {
        mean(&self.of(detector, kind, Some(step)).map(|one| one.found as f64).collect::<Vec<_>>())
    }

    fn bars(&self, time: Option<Duration>) -> Vec<Bar> {
        let own = Detector::Dropline;
        let most = |kind: Kind, wanted: f64| Bar {
            what: format!("changes told in 1 000 nights where nothing changed, {}", kind.name()),
            wanted,
            found: self.alarms(own, kind),
            at_least: false,
            unit: "",
        };
        let least = |what: String, wanted: f64, found: Option<f64>| Bar {
            what,
            wanted,
            found: found.map(|share| 100.0 * share),
            at_least: true,
            unit: "%",
        };
        let steps =
            |kind: Kind| least(format!("steps found in {}", kind.name()), 95.0, self.share_found(own, kind));
        let power = |kind: Kind, step: u32, wanted: f64| {
            let what = format!("steps of {} % found within 30 nights, {}", size(step), kind.name());
            least(what, wanted, self.power(own, kind, step))
        };
        let quiet = [
            (Kind::White, 0.5),
            (Kind::Mixed, 0.5),
            (Kind::Spikes, 0.5),
            (Kind::T3, 0.5),
            (Kind::Ar6, 2.0),
            (Kind::Ar9, 6.0),
        ];
        let mut bars: Vec<Bar> = quiet.into_iter().map(|(kind, wanted)| most(kind, wanted)).collect();
        // Widths that say nothing cost no more than a change in four histories of a thousand nights.
        let unsaid = self.alarms(own, Kind::Unsaid).unwrap_or(0.0);
        bars.push(Bar {
            what: "the same, widths shuffled, against no widths".into(),
            ..most(Kind::Shuffled, unsaid + 0.25)
        });
        bars.extend([
            steps(Kind::Three),
            steps(Kind::StepVariance),
            power(Kind::White, 20, 95.0),
            power(Kind::Mixed, 5, 90.0),
        ]);
        bars.extend(UNSEEN.into_iter().chain(LATER).map(|kind| most(kind, 3.0)));
        bars.extend(time.map(|time| Bar {
            what: "10 000 nights".into(),
            wanted: LONGEST.as_secs_f64() * 1e3,
            found: Some(time.as_secs_f64() * 1e3),
            at_least: false,
            unit: "ms",
        }));
        bars
    }

    /// A row a detector that was asked, a column a kind.
    fn table(
        &self,
        title: String,
        note: &str,
        kinds: &[Kind],
        cell: impl Fn(Detector, Kind) -> String,
    ) -> Table {
        let was_asked = |detector: &Detector| self.ended.iter().any(|one| one.detector == *detector);
        let row = |detector: Detector| {
            let cells = kinds.iter().map(|&kind| cell(detector, kind));
            std::iter::once(detector.name().to_owned()).chain(cells).collect()
        };
        let counted = |detector: Detector| {
            format!("{} {}", detector.name(), self.of(detector, Kind::White, None).count())
        };
        let asked: Vec<Detector> = Detector::ALL.into_iter().filter(was_asked).collect();
        let counts: Vec<String> = asked.iter().map(|&detector| counted(detector)).collect();
        Table {
            title,
            note: format!("{note} Histories of each kind: {}.", counts.join(", ")).trim().to_owned(),
            columns: std::iter::once("detector")
                .chain(kinds.iter().map(|kind| kind.name()))
                .map(String::from)
                .collect(),
            rows: asked.into_iter().map(row).collect(),
        }
    }

    fn false_alarms(&self, title: &str, kinds: &[Kind], note: &str) -> Table {
        let note = format!("Each is a false alarm.{note}");
        self.table(title.into(), &note, kinds, |detector, kind| one_place(self.alarms(detector, kind)))
    }

    fn changes(&self) -> Table {
        let cell = |detector: Detector, kind: Kind| {
            let each: Vec<f64> = self.of(detector, kind, None).map(|one| one.changes as f64).collect();
            let Some(told) = mean(&each) else { return none() };
            match self.share_found(detector, kind) {
                Some(found) => format!("{told:.2} ({:.0} %)", 100.0 * found),
                None => format!("{told:.2}"),
            }
        };
        let note = "Mean number of changes in a history; in brackets the share of the true ones that were found within five nights. A \
                    ramp that is told as a drift is not a change.";
        let title = "Changes told in a history in which something happens";
        self.table(title.into(), note, &EVENTFUL, cell)
    }

    fn steps(&self, step: u32) -> Table {
        let cell = |detector: Detector, kind: Kind| {
            let Some(share) = self.power(detector, kind, step) else { return none() };
            let after: Vec<f64> = self
                .of(detector, kind, Some(step))
                .filter_map(|one| one.after)
                .map(|nights| nights as f64)
                .collect();
            match median(&after) {
                Some(nights) => format!("{:.0} ({nights:.0})", 100.0 * share),
                None => format!("{:.0}", 100.0 * share),
            }
        };
        let note = format!(
            "A step down after {BEFORE} nights, asked for after 2, 3, 5, 8, 13, 20 and 30 more; in brackets the median number of nights \
             until it was found. What a detector with many false alarms finds is luck in part."
        );
        self.table(format!("Steps of {} % found within 30 nights, %", size(step)), &note, &QUIET, cell)
    }
}

/// Thousandths in per cent.
fn size(step: u32) -> f64 {
    f64::from(step) / 10.0
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(none, |share| format!("{:.0} %", 100.0 * share))
}

fn one_place(value: Option<f64>) -> String {
    value.map_or_else(none, |value| format!("{value:.1}"))
}

fn none() -> String {
    "none".into()
}
