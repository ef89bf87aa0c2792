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

    /// All of it, when this share of the trial that runs has passed and it tells these words of itself.
    pub(crate) fn text(&self, share: f64, words: &str) -> String {
        let full = (share.clamp(0.0, 1.0) * BAR as f64) as usize;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
        let running = match (self.running.as_str(), words) {
            ("", _) => String::new(),
            (running, "") => format!("{running}   {bar}"),
            (running, words) => format!("{running}   {bar}\n  {words}"),
        };
        let lines = [&running, &self.before].into_iter().chain(&self.known);
        lines.filter(|line| !line.is_empty()).cloned().collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_stands_beside_the_loss_of_its_own_trial_alone() {
        let mut block = Block::default();
        let load = |trial: u64| format!("{}.5 kpps", 200 + trial);
        for trial in 1..=6 {
            block.begins("weigh", trial, &load(trial), 1.0);
            let running = block.text(0.5, "");
            if trial > 1 {
                let lost = format!("lost {}", trial - 1);
                let of_the_last = running.lines().find(|line| line.contains(&lost)).expect("it is said");
                assert!(of_the_last.contains(&load(trial - 1)) && !of_the_last.contains(&load(trial)));
                assert!(of_the_last.contains(&format!("trial {}", trial - 1)));
            }
            assert!(running.lines().next().is_some_and(|line| line.contains(&load(trial))));
            assert!(!running.lines().next().is_some_and(|line| line.contains("lost")), "{running}");
            block.ended(trial, &load(trial), &format!("lost {trial} of 100"), vec!["no loss [1, 2]".into()]);
            let ended = block.text(1.0, "");
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
        let said = block.text(0.25, "offered 25 000");
        assert_eq!(said, "trial, trial 1   100 kpps for 10.000 s   ████░░░░░░░░░░░░\n  offered 25 000");
        assert!(block.text(7.0, "").ends_with("████████████████"));
    }
}
