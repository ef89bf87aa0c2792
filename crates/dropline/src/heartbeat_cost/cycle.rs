//! Cycles and stack on an AVR, in the simulator.

use super::harness::{Interface, Operation, cycle_source};
use super::program::{ProgramError, run};
use serde::Serialize;
use std::path::Path;

/// What one operation costs on an ATmega328P, its call included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cycles {
    /// Which.
    pub operation: Operation,
    /// Whether the table held 256 bytes 0xff; else zeros.
    pub full: bool,
    /// Clock cycles.
    pub cycles: u64,
    /// Stack, the return address included.
    pub stack_bytes: u64,
}

/// Counts all operations with a table of zeros and a full one.
///
/// # Errors
/// If compiler or simulator are not there, or print something else.
pub fn count(source: &Path, interface: Interface, bench: &Path) -> Result<Vec<Cycles>, ProgramError> {
    let failed = |why: String| ProgramError::Failed { program: "simavr".into(), why };
    std::fs::write(bench.join("cycle.c"), cycle_source(interface)).map_err(|why| failed(why.to_string()))?;
    let source = source.to_string_lossy();
    let words = ["-Os", "-std=gnu11", "-mmcu=atmega328p", "-o", "cycle.elf", "cycle.c", source.as_ref()];
    run(bench, "avr-gcc", &words)?;
    let printed = run(bench, "simavr", &["-m", "atmega328p", "-f", "16000000", "cycle.elf"])?;
    let cycles = lines(&format!("{}\n{}", printed.out, printed.errors));
    let counted = 2 * (Operation::ALL.len() - 1);
    if cycles.len() == counted {
        Ok(cycles)
    } else {
        Err(failed(format!("it printed {} of {counted} operations", cycles.len())))
    }
}

/// What the firmware printed: `#operation cycles stack`, among the simulator's own words and colours.
fn lines(text: &str) -> Vec<Cycles> {
    let one = |part: &str| {
        let end = part.find(|c: char| c != ' ' && !c.is_ascii_digit()).unwrap_or(part.len());
        let numbers: Vec<u64> = part[..end].split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [index, cycles, stack_bytes] = numbers[..] else { return None };
        let (index, full) = if index > 4 { (index - 4, true) } else { (index, false) };
        let operation = *Operation::ALL.get(usize::try_from(index).ok()?)?;
        Some(Cycles { operation, full, cycles, stack_bytes })
    };
    text.split('#').skip(1).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_firmwares_lines_are_found_among_the_simulators() {
        let text =
            "Loaded 512 .text\n\u{1b}[32m#1 181 6.\u{1b}[0m\n\u{1b}[32m#8 3656 6.\u{1b}[0m\nsleeping #x\n";
        let cycles = |operation, full, cycles| Cycles { operation, full, cycles, stack_bytes: 6 };
        let expected = [cycles(Operation::Heartbeat, false, 181), cycles(Operation::Report, true, 3656)];
        assert_eq!(lines(text), expected);
    }
}
