//! What a person sees while it runs: a block redrawn on a terminal, plain lines elsewhere. On stderr.

use crate::block::Block;
use crate::live::{LiveWords, live_words};
use crate::{lines, output};
use dropline_failure::Failure;
use dropline_record::LoadUnit;
use dropline_record::record::trial_line;
use dropline_record::{BoundsLine, Purpose, TrialLine};
use dropline_search::{Outlook, Search};
use dropline_targets::Live;
use dropline_trial::{Rate, TrialInput};
use dropline_verbs::observer::Watcher;
use dropline_verbs::search::load_in;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

/// Characters of a range bar at most, and so many at least that it shows anything.
const RANGE: usize = 44;
const FEWEST: usize = 8;

/// Columns of the terminal that stderr is.
fn width() -> usize {
    console::Term::stderr().size_checked().map_or(80, |(_, columns)| columns.into())
}

/// Shows progress on stderr, and finished trials as JSON on stdout where asked.
pub(crate) struct Progress {
    /// What redraws the block on a terminal; `None` prints lines.
    block: Option<ProgressBar>,
    shown: Block,
    quiet: bool,
    /// How far the trial is.
    live: LiveWords,
    jsonl: bool,
    /// Why a line could not be printed.
    unprinted: Option<Failure>,
    /// What one of a load is.
    load_unit: LoadUnit,
    goals: Vec<String>,
    widths: Vec<f64>,
    range: Option<(f64, f64)>,
    spent: Duration,
    budget: Option<Duration>,
}

/// Does what takes seconds on a busy machine, and says meanwhile, on a terminal, what is done.
pub(crate) fn at_work<T>(quiet: bool, what: &'static str, work: impl FnOnce() -> T) -> T {
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner().with_message(what) };
    bar.enable_steady_tick(Duration::from_millis(100));
    let done = work();
    bar.finish_and_clear();
    done
}

impl Progress {
    pub(crate) fn new(quiet: bool, jsonl: bool) -> Self {
        let block = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self {
            block,
            shown: Block::default(),
            quiet,
            live: LiveWords::default(),
            jsonl,
            unprinted: None,
            load_unit: LoadUnit::Packets,
            goals: Vec::new(),
            widths: Vec::new(),
            range: None,
            spent: Duration::ZERO,
            budget: None,
        }
    }

    /// Tells what one of a load is; else it is a packet.
    pub(crate) fn counting(mut self, load_unit: LoadUnit) -> Self {
        self.load_unit = load_unit;
        self
    }

    /// Tells what is searched for, so that the intervals can be drawn.
    pub(crate) fn searching(&mut self, plan: &dropline_verbs::plan::SearchPlan) {
        self.load_unit = plan.target.load_unit();
        self.goals = plan.line().goals.iter().map(dropline_record::GoalLine::words).collect();
        self.widths = plan.goals.iter().map(|goal| goal.width.as_f64()).collect();
        self.range = Some((plan.range.min().as_pps(), plan.range.max().as_pps()));
        self.budget = plan.limits.budget;
        self.spent = Duration::ZERO;
        self.shown = Block::default();
    }

    /// Takes the block off the screen.
    pub(crate) fn clear(&mut self) {
        if let Some(block) = &self.block {
            block.finish_and_clear();
        }
    }

    /// Whether stdout took all lines.
    ///
    /// # Errors
    /// If it did not take the first of those that are missing.
    pub(crate) fn printed(self) -> Result<(), Failure> {
        self.unprinted.map_or(Ok(()), Err)
    }

    fn say(&self, text: &str) {
        let text = &*dropline_printable::printable(text);
        match &self.block {
            Some(block) => block.println(lines::told(text, width())),
            None if self.quiet => {}
            // A closed stderr is no reason to stop measuring.
            None => drop(writeln!(std::io::stderr(), "{text}")),
        }
    }

    /// Draws the block; of the trial that runs it says how far it is.
    fn draw(&self, number: u64, duration: Duration) {
        let Some(block) = &self.block else { return };
        let (shown, live) = (self.shown.clone(), self.live.source());
        let text = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let share = state.elapsed().as_secs_f64() / duration.as_secs_f64();
            let _ = write!(out, "{}", shown.text(share, &live_words(&live, number), width()));
        };
        let style = ProgressStyle::with_template("{block}").expect("a legal template");
        block.set_style(style.with_key("block", text));
    }

    /// A line a goal: the range searched, the bounds in it, the width there is and the width asked for.
    fn intervals(&self, bounds: &[BoundsLine]) -> Vec<String> {
        let Some(range) = self.range else { return Vec::new() };
        let goals = self.goals.iter().zip(bounds).zip(&self.widths);
        goals
            .map(|((goal, bounds), asked)| {
                let width = match (bounds.lower_pps, bounds.upper_pps) {
                    (Some(lower), Some(upper)) => {
                        format!("width {:.2} % → {} %", (upper - lower) / upper * 100.0, asked * 100.0)
                    }
                    _ => format!("asked {} %", asked * 100.0),
                };
                let words = format!("{}  {width}", self.load(interval(bounds)));
                // The goal's name, the bar's ends and what stands between.
                let room = self::width().saturating_sub(2 + 11 + 1 + 2 + 2 + words.chars().count());
                match room.min(RANGE) {
                    0..FEWEST => format!("  {goal:<11} {words}"),
                    cells => format!("  {goal:<11} {}  {words}", bar(range, bounds, cells)),
                }
            })
            .collect()
    }

    /// A load in words, in the unit of what is measured.
    fn load(&self, load: impl std::fmt::Display) -> String {
        load_in(load, self.load_unit)
    }

    fn time(&self, search: Option<&Search>) -> String {
        let left = search.and_then(|search| self.left(search)).unwrap_or_else(|| {
            let of =
                self.budget.map_or(String::new(), |budget| format!(" of at most {} s", budget.as_secs()));
            format!("{:.0} s{of} of trials", self.spent.as_secs_f64())
        });
        format!("  {left}     Ctrl-C keeps what is known")
    }

    /// Time until every interval is narrow or the budget is spent, and until the widest is half as wide.
    fn left(&self, search: &Search) -> Option<String> {
        let outlooks: Vec<Outlook> = search.belief()?.outlooks.into_iter().flatten().collect();
        let widest = outlooks.iter().max_by(|one, other| one.width.total_cmp(&other.width))?;
        let narrow_in = outlooks.iter().filter_map(|outlook| outlook.narrow_in).max().unwrap_or_default();
        let budget = self.budget.map_or(Duration::MAX, |budget| budget.saturating_sub(self.spent));
        Some(remaining(narrow_in, budget, widest.halved_in))
    }
}

impl Watcher for Progress {
    fn opened(&mut self, target: &str, note: Option<&str>) {
        self.say(&format!("target {target}{}", note.map_or(String::new(), |note| format!(" ({note})"))));
    }

    fn generator(&mut self, limit_pps: Option<f64>) {
        match limit_pps {
            None => self.say("measuring what this generator can offer, 1 s against our own reflector"),
            Some(pps) => {
                let limit = Rate::from_millipps((pps * 1000.0) as u64);
                self.say(&format!("generator's own limit {limit}: the highest load of this search"));
            }
        }
    }

    fn live(&self) -> Option<Arc<Live>> {
        Some(self.live.source())
    }

    fn begins(&mut self, number: u64, input: TrialInput, phase: &str) {
        let Some(block) = &self.block else {
            if !self.quiet {
                self.live.print_each_second(number);
            }
            return;
        };
        block.reset_elapsed();
        let load = self.load(input.load);
        self.shown.begins(phase, number, &load, input.duration.as_secs_f64());
        self.draw(number, input.duration);
    }

    fn ended(&mut self, line: &TrialLine, search: Option<&Search>) {
        self.live.stop();
        self.spent += Duration::from_secs_f64(line.elapsed_s);
        if self.jsonl {
            let text = trial_line(line);
            // Measuring goes on all the same, and ends with the error.
            if let (Err(why), None) = (output::print_lines(&text), &self.unprinted) {
                self.unprinted = Some(why);
            }
        }
        let lost = match line.loss_ratio {
            _ if line.agents.iter().any(|agent| agent.lost.is_none()) => "void: not every agent told".into(),
            Some(ratio) => format!("lost {} ({} %)", line.lost.0, percent(ratio)),
            None => "nothing was offered".into(),
        };
        let load = self.load(Rate::from_millipps((line.intended_load_pps * 1000.0).round() as u64));
        match &self.block {
            Some(_) => {
                let mut known = search.map_or_else(Vec::new, |_| self.intervals(&line.bounds));
                known.push(self.time(search));
                self.shown.ended(line.number, &load, &lost, known);
                self.draw(line.number, Duration::from_secs_f64(line.duration_s.max(1e-9)));
            }
            None => {
                let mut text = ended(line.number, &load, line.duration_s, &lost);
                if line.purpose == Purpose::Search {
                    for (goal, bounds) in self.goals.iter().zip(&line.bounds) {
                        let _ = write!(text, "  {goal} {}", self.load(interval(bounds)));
                    }
                    if let Some(left) = search.and_then(|search| self.left(search)) {
                        let _ = write!(text, "  {left}");
                    }
                }
                self.say(&text);
            }
        }
    }
}

/// `trial 5  205 kpps  1.93 s  lost 0 (0 %)`.
fn ended(number: u64, load: &str, duration_s: f64, lost: &str) -> String {
    let duration = dropline_report::seconds(duration_s).replace('\u{a0}', " ");
    format!("trial {number}  {load}  {duration}  {lost}")
}

/// `about 60 s left, half as wide in 40 s`.
fn remaining(narrow_in: Duration, budget: Duration, halved_in: Duration) -> String {
    let left = narrow_in.min(budget).as_secs_f64();
    if narrow_in <= budget || halved_in > budget {
        return format!("about {left:.0} s left");
    }
    format!("about {left:.0} s left, half as wide in {:.0} s", halved_in.as_secs_f64())
}

/// `[177, 189] kpps`, with a question mark behind a bound that its trials do not bear out.
fn interval(bounds: &BoundsLine) -> String {
    let scale = match bounds.upper_pps.or(bounds.lower_pps) {
        Some(pps) if pps >= 1e6 => (1e6, "Mpps"),
        Some(pps) if pps >= 1e3 => (1e3, "kpps"),
        _ => (1.0, "pps"),
    };
    let decimals =
        decimals(bounds.lower_pps.map(|pps| pps / scale.0), bounds.upper_pps.map(|pps| pps / scale.0));
    // Outwards, as the answer will state them.
    let end = |pps: Option<f64>, valid: bool, outwards: fn(f64) -> f64| match pps {
        Some(pps) => {
            let load = dropline_report::rounded(pps / scale.0, decimals, outwards);
            format!("{load:.decimals$}{}", if valid { "" } else { "?" })
        }
        None => "…".into(),
    };
    let lower = end(bounds.lower_pps, bounds.lower_valid, f64::floor);
    let upper = end(bounds.upper_pps, bounds.upper_valid, f64::ceil);
    if bounds.lower_pps.or(bounds.upper_pps).is_none() {
        return format!("[{lower}, {upper}]");
    }
    format!("[{lower}, {upper}] {}", scale.1)
}

/// Digits behind the point that leave three, and ten units of the last one between two ends.
fn decimals(lower: Option<f64>, upper: Option<f64>) -> usize {
    let behind = |step: f64| (-step.log10()).ceil().clamp(0.0, 4.0) as usize;
    let coarse = upper.or(lower).map_or(0, |load| behind(load / 300.0));
    let apart = lower.zip(upper).map(|(lower, upper)| upper - lower).filter(|apart| *apart > 0.0);
    coarse.max(apart.map_or(0, |apart| behind(apart / 10.0)))
}

/// The range searched on a log scale, and the bounds in it.
fn bar((min, max): (f64, f64), bounds: &BoundsLine, cells: usize) -> String {
    let place = |pps: f64| {
        let share = (pps / min).ln() / (max / min).ln();
        if share.is_finite() { (share.clamp(0.0, 1.0) * (cells - 1) as f64).round() as usize } else { 0 }
    };
    let (lower, upper) = (bounds.lower_pps.map(place), bounds.upper_pps.map(place));
    let inner: String = (0..cells)
        .map(|at| match at {
            _ if Some(at) == lower && Some(at) == upper => '▓',
            _ if Some(at) == lower => '[',
            _ if Some(at) == upper => ']',
            _ if lower.is_some_and(|lower| at > lower) && upper.is_some_and(|upper| at < upper) => '▒',
            _ => '─',
        })
        .collect();
    format!("├{inner}┤")
}

/// A ratio in per cent with two significant digits.
fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    match percent {
        _ if percent == 0.0 => "0".into(),
        _ if percent >= 10.0 => format!("{percent:.1}"),
        _ if percent >= 1.0 => format!("{percent:.2}"),
        _ => {
            let digits = (1.0 - percent.log10().floor()) as usize;
            format!("{percent:.digits$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_losses_keep_two_digits() {
        assert_eq!([0.0, 0.00022, 0.0333, 0.5].map(percent), ["0", "0.022", "3.33", "50.0"]);
    }

    #[test]
    fn how_long_a_trial_took_has_no_more_digits_than_in_a_report() {
        let line = |seconds| ended(1, "5 kpps", seconds, "lost 0 (0 %)");
        assert_eq!(line(1.933_166_771_999_999_9), "trial 1  5 kpps  1.93 s  lost 0 (0 %)");
        assert_eq!(line(30.0), "trial 1  5 kpps  30 s  lost 0 (0 %)");
    }

    #[test]
    fn what_is_left_is_the_budget_or_the_way_to_a_narrow_answer() {
        let seconds = Duration::from_secs;
        assert_eq!(remaining(seconds(14), seconds(30), seconds(9)), "about 14 s left");
        assert_eq!(
            remaining(seconds(290), seconds(80), seconds(72)),
            "about 80 s left, half as wide in 72 s"
        );
        assert_eq!(
            remaining(seconds(290), seconds(12), seconds(72)),
            "about 12 s left",
            "it ends before that"
        );
    }

    #[test]
    fn bounds_stand_in_the_range_that_is_searched() {
        let bounds = BoundsLine {
            lower_pps: Some(1e3),
            lower_valid: true,
            upper_pps: Some(1e6),
            upper_valid: false,
            median_pps: None,
        };
        assert!(
            bar((1e3, 1e6), &bounds, RANGE).starts_with("├[▒")
                && bar((1e3, 1e6), &bounds, 8).ends_with("▒]┤")
        );
        assert_eq!(interval(&bounds), "[0.001, 1.000?] Mpps");
        let near = BoundsLine { lower_pps: Some(8.3986e6), upper_pps: Some(8.4222e6), ..bounds };
        assert_eq!(interval(&near), "[8.398, 8.423?] Mpps", "each end outwards");
        assert_eq!(interval(&BoundsLine::default()), "[…, …]");
    }
}
