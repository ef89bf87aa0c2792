//! What a program that runs a graph answers: the `exec:` protocol's fields, and those of graphs.

use super::text;
use dropline_targets::flowgraph::bench::answer::GraphAnswer;

/// A graph's answer is one of the `exec:` protocol too, and what its pipes say adds up without an overflow; what is
/// refused is refused in words of the protocol.
pub fn check(bytes: &[u8]) {
    let line = &*text(bytes);
    match GraphAnswer::read(line) {
        Ok(answer) => {
            assert!(dropline_targets::exec::Answer::read(line).is_ok());
            let ran = answer.flowgraph;
            assert!(ran.pipes.iter().all(|pipe| pipe.lost <= ran.lost()));
            for of_a_pipe in [0.0, 0.001, 1e6, f64::NAN] {
                let _ = ran.longest_wait(of_a_pipe);
            }
        }
        // A name that stands twice is quoted.
        Err(why) => {
            assert!(!why.is_empty());
            assert!(!why.contains("line 1 column") || line.contains("line 1 column"), "{why}");
        }
    }
}
