//! The block that is redrawn on a terminal: the trial that runs, the one before it, what is known.

/// Characters of a trial's bar.
const BAR: usize = 16;

/// What the block says, beside what the trial that runs tells of itself. Of each trial it speaks on a line of its own:
/// a load never stands beside another trial's loss.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// `weigh, trial 6   262 kpps for 1 s`; empty between trials.
    running: String,
    /// `trial 5   205 kpps   lost 0 (0 %)`; empty before the first has ended.
    before: String,
    /// What is known after it: a line each.
    known: Vec<String>,
}

impl Block {
    /// A trial begins; `load` is in words.
    pub(crate) fn begins(&mut self, phase: &str, number: u64, load: &str, seconds: f64) {
        self.running = format!("{phase}, trial {number}   {load} for {seconds:.3} s");
    }

    /// The trial that ran has ended.
    pub(crate) fn ended(&mut self, number: u64, load: &str, lost: &str, known: Vec<String>) {
        self.running.clear();
        self.before = format!("trial {number}   {load}   {lost}");
        self.known = known;
    }

    /// All of it, when this share of the trial that runs has passed and it tells these words of itself; no line is wider
    /// than the terminal.
    pub(crate) fn text(&self, share: f64, words: &str, width: usize) -> String {
        let full = (share.clamp(0.0, 1.0) * BAR as f64) as usize;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
        let running = match self.running.as_str() {
            "" => String::new(),
            running => format!("{running}   {bar}"),
        };
        let words = if running.is_empty() || words.is_empty() { String::new() } else { format!("  {words}") };
        let lines = [&running, &words, &self.before].into_iter().chain(&self.known);
        lines.filter(|line| !line.is_empty()).map(|line| wrapped(line, width)).collect::<Vec<_>>().join("\n")
    }
}

/// A line in as many as it takes: its words, and what is between them, stay as they are where they have room.
fn wrapped(line: &str, width: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let length = word.trim_end_matches(' ').chars().count();
        if used > 0 && length > 0 && used + length > width && !out.trim_end_matches(' ').ends_with('\n') {
            out.truncate(out.trim_end_matches(' ').len());
            out.push_str("\n    ");
            used = 4;
        }
        out.push_str(word);
        used += word.chars().count();
    }
    out.trim_end_matches(' ').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_the_block_is_wider_than_the_terminal() {
        let mut block = Block::default();
        block.ended(
            1,
            "262 kpps",
            "lost 41 (0.022 %)",
            vec!["  no loss     [174.2, 380.4] kpps  width 54 % → 0.5 %".into()],
        );
        block.begins("weigh", 2, "186 kpps", 1.0);
        for width in [40, 60, 80, 200] {
            let shown =
                block.text(0.5, "offered 51 200, forwarded 51 163, lost or under way 37 (0.07 %)", width);
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{width}:\n{shown}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let wide =
                block.text(0.5, "offered 51 200, forwarded 51 163, lost or under way 37 (0.07 %)", 400);
            assert_eq!(words(&shown), words(&wide));
        }
    }

    #[test]
    fn a_load_stands_beside_the_loss_of_its_own_trial_alone() {
        let mut block = Block::default();
        let load = |trial: u64| format!("{}.5 kpps", 200 + trial);
        for trial in 1..=6 {
            block.begins("weigh", trial, &load(trial), 1.0);
            let running = block.text(0.5, "", 80);
            if trial > 1 {
                let lost = format!("lost {}", trial - 1);
                let of_the_last = running.lines().find(|line| line.contains(&lost)).expect("it is said");
                assert!(of_the_last.contains(&load(trial - 1)) && !of_the_last.contains(&load(trial)));
                assert!(of_the_last.contains(&format!("trial {}", trial - 1)));
            }
            assert!(running.lines().next().is_some_and(|line| line.contains(&load(trial))));
            assert!(!running.lines().next().is_some_and(|line| line.contains("lost")), "{running}");
            block.ended(trial, &load(trial), &format!("lost {trial} of 100"), vec!["no loss [1, 2]".into()]);
            let ended = block.text(1.0, "", 80);
            assert_eq!(
                ended,
                format!("trial {trial}   {}   lost {trial} of 100\nno loss [1, 2]", load(trial))
            );
        }
    }

    #[test]
    fn what_the_running_trial_tells_stands_below_its_load() {
        let mut block = Block::default();
        block.begins("trial", 1, "100 kpps", 10.0);
        let said = block.text(0.25, "offered 25 000", 80);
        assert_eq!(said, "trial, trial 1   100 kpps for 10.000 s   ████░░░░░░░░░░░░\n  offered 25 000");
        assert!(block.text(7.0, "", 80).ends_with("████████████████"));
    }
}
