//! How far the trial is that runs, in words: offered, forwarded, lost so far, and where as far as is seen.

use dropline_targets::Live;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Says how far a trial is; as lines of its own where nothing is redrawn.
#[derive(Default)]
pub(crate) struct LiveWords {
    live: Arc<Live>,
    printing: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Between two lines.
const EVERY: Duration = Duration::from_secs(1);

impl LiveWords {
    /// What a measurer tells.
    pub(crate) fn source(&self) -> Arc<Live> {
        Arc::clone(&self.live)
    }

    /// Prints a line a second until the trial has ended.
    pub(crate) fn print_each_second(&mut self, number: u64) {
        self.stop();
        let live = self.source();
        let (stop, stopped) = channel();
        let print = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                let words = live_words(&live, number);
                if !words.is_empty() {
                    // A closed stderr is no reason to stop measuring.
                    drop(writeln!(std::io::stderr(), "trial {number}  {words}"));
                }
            }
        };
        // Without a thread the trial goes on in silence.
        self.printing = std::thread::Builder::new()
            .name("progress".into())
            .spawn(print)
            .ok()
            .map(|thread| (stop, thread));
    }

    /// The trial has ended.
    pub(crate) fn stop(&mut self) {
        if let Some((stop, thread)) = self.printing.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

impl Drop for LiveWords {
    fn drop(&mut self) {
        self.stop();
    }
}

/// `offered 51 200, forwarded 51 163; at the target's socket: 12 dropped, 41 kB waiting`. What is offered and not
/// forwarded may still be under way. Clients of a closed loop say at their end what they offered; empty before anything
/// is known, and while what is known is of another trial.
pub(crate) fn live_words(live: &Live, number: u64) -> String {
    if live.trial() != number {
        return String::new();
    }
    let (offered, forwarded) = (live.offered(), live.forwarded());
    let mut words = match offered {
        0 => String::new(),
        offered => format!("offered {}", grouped(offered)),
    };
    if forwarded > 0 {
        let away = offered.saturating_sub(forwarded);
        words.push_str(&format!(
            ", forwarded {}, lost or under way {} ({:.2}\u{a0}%)",
            grouped(forwarded),
            grouped(away),
            away as f64 / offered.max(1) as f64 * 100.0
        ));
    }
    if let Some(delay) = live.delay_ns() {
        words.push_str(&format!(", the last reply took {}", dropline_report::nanoseconds(delay)));
    }
    if let Some((dropped, waiting_bytes)) = live.at_target() {
        words.push_str(if words.is_empty() { "" } else { "; " });
        words.push_str(&format!(
            "at the target's socket {} dropped, {} kB waiting",
            grouped(dropped),
            waiting_bytes.div_ceil(1000)
        ));
    }
    words
}

/// `3 000`: digits in groups of three, kept together.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_packet_there_is_nothing_to_say() {
        assert_eq!(live_words(&Live::default(), 0), "");
        assert_eq!((grouped(7), grouped(51_200)), ("7".into(), "51\u{a0}200".into()));
    }

    #[test]
    fn lines_end_with_the_trial() {
        let mut words = LiveWords::default();
        words.print_each_second(1);
        words.stop();
        assert!(words.printing.is_none());
    }
}
