//! Cycles and stack on AVRs, in the simulator, instruction by instruction.

use super::harness::{Interface, Operation, cycle_source};
use super::program::{ProgramError, run};
use serde::Serialize;
use std::path::Path;

/// Parts with flash for it, in simavr: the ATtiny88 is not, the ATtiny85 has its core.
pub const PARTS: [&str; 2] = ["atmega328p", "attiny85"];

/// What one operation costs on an AVR, its call included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cycles {
    /// Which part.
    pub part: &'static str,
    /// Which operation.
    pub operation: Operation,
    /// Whether the table held 256 bytes 0xff; else zeros.
    pub full: bool,
    /// Clock cycles, from the call to the return.
    pub cycles: u64,
    /// Deepest stack, the return address included.
    pub stack_bytes: u64,
}

/// The program around the simulator, the same that holds the library to its budgets.
const SIMULATE: &str = include_str!("../../../../c/heartbeat/test/simulate.c");

/// Counts all operations with a table of zeros and a full one.
///
/// # Errors
/// If compiler or simulator are not there, or print something else.
pub fn count(
    source: &Path,
    interface: Interface,
    part: &'static str,
    bench: &Path,
) -> Result<Vec<Cycles>, ProgramError> {
    let failed = |why: String| ProgramError::Failed { program: "simavr".into(), why };
    for (name, text) in [("simulate.c", SIMULATE), ("cycle.c", &cycle_source(interface))] {
        std::fs::write(bench.join(name), text).map_err(|why| failed(why.to_string()))?;
    }
    let source = source.to_string_lossy();
    let machine = format!("-mmcu={part}");
    run(bench, "avr-gcc", &["-Os", "-std=gnu11", &machine, "-o", "cycle.elf", "cycle.c", source.as_ref()])?;
    run(bench, "gcc", &["-O2", "-o", "simulate", "simulate.c", "-lsimavr", "-lelf"])?;
    let symbols = run(bench, "avr-nm", &["cycle.elf"])?.out;
    let address = |name: &str| {
        let found = symbols.lines().find_map(|line| line.strip_suffix(name)?.split_once(' '));
        found.map(|(address, _)| address.to_owned()).ok_or_else(|| failed(format!("{name} is not linked")))
    };
    let words = [part, "cycle.elf", &address(&format!(" {}", interface.entry()))?, &address(" outcome")?];
    let cycles = lines(part, &run(bench, "./simulate", &words)?.out);
    let counted = 2 * (Operation::ALL.len() - 1);
    if cycles.len() == counted {
        Ok(cycles)
    } else {
        Err(failed(format!("{} of {counted} operations were seen", cycles.len())))
    }
}

/// What was simulated: a line a call, `cycles stack`, first with the table of zeros, then with the full one.
fn lines(part: &'static str, text: &str) -> Vec<Cycles> {
    let calls = [false, true].map(|full| Operation::ALL[1..].iter().map(move |operation| (*operation, full)));
    let numbers = text.lines().filter_map(|line| {
        let (cycles, stack) = line.split_once(' ')?;
        Some((cycles.parse().ok()?, stack.parse().ok()?))
    });
    calls
        .into_iter()
        .flatten()
        .zip(numbers)
        .map(|((operation, full), (cycles, stack_bytes))| Cycles {
            part,
            operation,
            full,
            cycles,
            stack_bytes,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_in_the_order_in_which_the_firmware_makes_them() {
        let text: String = (1..=8).map(|call| format!("{} 5\n", 100 * call)).collect();
        let found = lines("attiny85", &text);
        let of = |at: usize| (found[at].operation, found[at].full, found[at].cycles, found[at].stack_bytes);
        assert_eq!(found.len(), 8);
        assert_eq!(of(0), (Operation::Heartbeat, false, 100, 5));
        assert_eq!(of(3), (Operation::Report, false, 400, 5));
        assert_eq!(of(7), (Operation::Report, true, 800, 5));
        assert_eq!(lines("attiny85", "no numbers\n"), []);
    }
}
