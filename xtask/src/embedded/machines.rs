//! Where the library runs: instructions under callgrind, cycles in simavr, the rules on all of them.

use super::targets::{FLAGS, tool, version};
use super::{Bench, output, printed, tell};
use crate::Done;

/// Instructions of one call on amd64 at -Os, about 7 of them the loop around it: heartbeat, bad checksum, junk, report.
const INSTRUCTIONS: [(&str, &str, &str, [u64; 4]); 4] = [
    ("gcc", "12.2", "0", [79, 70, 62, 2_133]),
    ("gcc", "12.2", "1", [47, 39, 30, u64::MAX]),
    ("clang", "14.0", "0", [85, 74, 62, 2_389]),
    ("clang", "14.0", "1", [53, 46, 41, 1_229]),
];

const KINDS: [&str; 4] = ["heartbeat", "bad checksum", "junk", "report"];

pub(super) fn instructions(bench: &mut Bench) -> Done {
    // As many digits: reading the count costs the same, and the difference is the calls alone.
    println!("\ninstructions of a call, amd64 -Os, slope between 1,100 and 2,100 calls");
    if !bench.has("valgrind", "instructions") {
        return Ok(());
    }
    for (compiler, debian, fast, budgets) in INSTRUCTIONS {
        if !bench.has(compiler, "instructions") {
            continue;
        }
        let gates = cfg!(target_arch = "x86_64") && version(compiler)?.starts_with(debian);
        let object = bench.built("called.o");
        let program = bench.built("calls");
        let fast_flag = format!("-DHB_FAST={fast}");
        let (source, calls) = (bench.source("heartbeat.c"), bench.source("test/calls.c"));
        let only = ["-Os", "-fcf-protection=none", &fast_flag, "-c", &source, "-o", &object];
        output(compiler, &[&FLAGS[..], &only].concat())?;
        output("gcc", &["-O2", &calls, &object, "-o", &program])?;
        let form = if fast == "1" { "fast" } else { "small" };
        let mut line = format!("{:<22}", format!("{compiler} {form}"));
        for (kind, budget) in KINDS.into_iter().zip(budgets) {
            let cost = (executed(&program, kind, 2_100)? - executed(&program, kind, 1_100)?).div_ceil(1_000);
            let shown = match budget {
                u64::MAX => format!("{cost:>5}"),
                _ => bench.judge(&format!("instructions, {compiler} {form}, {kind}"), cost, budget, gates),
            };
            line += &format!("  {kind} {shown}");
        }
        println!("{line}");
    }
    Ok(())
}

/// Instructions that a whole program executes.
fn executed(program: &str, kind: &str, calls: u32) -> Result<u64, String> {
    let words = ["--tool=callgrind", "--callgrind-out-file=/dev/null", program, kind, &calls.to_string()];
    let said = String::from_utf8_lossy(&output("valgrind", &words)?.stderr).into_owned();
    said.lines()
        .find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
        .ok_or_else(|| format!("callgrind counted nothing: {said}"))
}

/// Cycles of one call on AVR at -Os, the call included, then bytes of stack, the return address included.
const CYCLES: [u64; 5] = [181, 145, 141, 3_528, 3_656];
const CALLS: [&str; 5] = ["heartbeat", "bad checksum", "junk", "report, zeros", "report, 0xff"];
const AVR_STACK: u64 = 6;

pub(super) fn cycles(bench: &mut Bench) -> Done {
    println!("\ncycles of a call, AVR -Os, in simavr");
    if !simavr(bench)? {
        return Ok(());
    }
    let gates = version("avr-gcc")?.starts_with("5.4");
    for part in ["atmega328p", "attiny85"] {
        let said = simulated(bench, part, "1", &[])?;
        let counted: Vec<(u64, u64)> = said
            .lines()
            .filter_map(|line| {
                let (cycles, stack) = line.split_once(' ')?;
                Some((cycles.parse().ok()?, stack.parse().ok()?))
            })
            .collect();
        if counted.len() != CALLS.len() {
            return Err(format!("{part}: {} calls were counted, not {}: {said}", counted.len(), CALLS.len()));
        }
        let mut line = format!("{part:<22}");
        for ((call, budget), (cycles, _)) in CALLS.into_iter().zip(CYCLES).zip(&counted) {
            let shown = bench.judge(&format!("cycles on {part}, {call}"), *cycles, budget, gates);
            line += &format!("  {call} {shown}");
        }
        let stack = counted.iter().map(|(_, stack)| *stack).max().unwrap_or_default();
        let shown = bench.judge(&format!("stack on {part}"), stack, AVR_STACK, gates);
        println!("{line}  stack {shown}");
    }
    Ok(())
}

/// Builds the program around simavr; false if something for it is missing.
fn simavr(bench: &mut Bench) -> Result<bool, String> {
    if !bench.has("avr-gcc", "AVR in simavr") {
        return Ok(false);
    }
    if !std::path::Path::new("/usr/include/simavr/sim_avr.h").exists() {
        bench.skipped.push("AVR in simavr: libsimavr-dev is missing".into());
        return Ok(false);
    }
    let (source, program) = (bench.source("test/simulate.c"), bench.built("simulate"));
    output("gcc", &["-O2", &source, "-o", &program, "-lsimavr", "-lelf"])?;
    Ok(true)
}

/// What the simulated program says of its calls; an error if it comes to another end than success.
fn simulated(bench: &Bench, part: &str, phase: &str, more: &[&str]) -> Result<String, String> {
    let elf = bench.built("avr.elf");
    let (part_flag, phase_flag) = (format!("-mmcu={part}"), format!("-DPHASE={phase}"));
    let sources = ["heartbeat.c", "test/avr.c"].map(|name| bench.source(name));
    let mut words =
        vec!["-Os", &part_flag, &phase_flag, "-ffunction-sections", "-Wl,--gc-sections", "-o", &elf];
    words.extend(sources.iter().map(String::as_str));
    words.extend(more);
    output("avr-gcc", &words)?;
    let names = printed(&tool("avr-gcc", "nm"), &[&elf])?;
    let address = |wanted: &str| {
        names
            .lines()
            .find_map(|line| line.split_once(' ').filter(|(_, rest)| rest[2..] == *wanted).map(|(at, _)| at))
            .ok_or_else(|| format!("{wanted} is not in the program for {part}"))
    };
    printed(&bench.built("simulate"), &[part, &elf, address("hb_handle")?, address("outcome")?])
}

/// A machine that runs the rules without an operating system's library.
struct Machine {
    name: &'static str,
    emulator: Option<&'static str>,
    compiler: &'static str,
    flags: &'static [&'static str],
    library: &'static [&'static str],
}

const MACHINES: [Machine; 7] = [
    Machine {
        name: "big-endian ARM, small",
        emulator: Some("qemu-armeb"),
        compiler: "arm-none-eabi-gcc",
        flags: &["-mbig-endian", "-mcpu=cortex-a15"],
        library: &[],
    },
    Machine {
        name: "big-endian ARM, fast",
        emulator: Some("qemu-armeb"),
        compiler: "arm-none-eabi-gcc",
        flags: &["-mbig-endian", "-mcpu=cortex-a15", "-DHB_FAST=1"],
        library: &[],
    },
    Machine {
        name: "Cortex-M0",
        emulator: Some("qemu-arm"),
        compiler: "arm-none-eabi-gcc",
        flags: &["-mcpu=cortex-m0", "-mthumb"],
        library: &["-lgcc"],
    },
    Machine {
        name: "Cortex-M4",
        emulator: Some("qemu-arm"),
        compiler: "arm-none-eabi-gcc",
        flags: &["-mcpu=cortex-m4", "-mthumb"],
        library: &["-lgcc"],
    },
    Machine {
        name: "rv32imac",
        emulator: Some("qemu-riscv32"),
        compiler: "riscv64-unknown-elf-gcc",
        flags: &["-march=rv32imac", "-mabi=ilp32", "-Wl,--no-relax"],
        library: &["-lgcc"],
    },
    Machine {
        name: "rv32ec",
        emulator: Some("qemu-riscv32"),
        compiler: "riscv64-unknown-elf-gcc",
        flags: &["-march=rv32ec", "-mabi=ilp32e", "-Wl,--no-relax"],
        library: &["-lgcc"],
    },
    Machine {
        name: "i386",
        emulator: None,
        compiler: "gcc",
        flags: &["-m32", "-fno-pie", "-no-pie", "-fno-stack-protector"],
        library: &[],
    },
];

/// Forms of the library that the host runs under the address and undefined-behaviour sanitizers.
const FORMS: [&[&str]; 8] = [
    &["-DHB_FAST=1"],
    &["-DHB_FAST=0", "-DHB_WORDS=1"],
    &["-DHB_FAST=0", "-DHB_WORDS=0"],
    &["-DHB_NARROW=1"],
    &["-DHB_VARIABLES=1"],
    &["-DHB_VARIABLES=63", "-DHB_FAST=0"],
    &["-DHB_VARIABLES=63", "-DHB_NARROW=1"],
    &["-DHB_VARIABLES=7", "-DHB_FAST=0", "-DHB_WORDS=0"],
];

pub(super) fn rules(bench: &mut Bench) -> Done {
    println!("\nrules");
    for compiler in ["gcc", "clang"] {
        if !bench.has(compiler, "rules on the host") {
            continue;
        }
        for form in FORMS {
            // Debian's clang keeps its sanitizers in another package.
            let sanitizers: &[&str] = match compiler {
                "gcc" => &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
                _ => &[],
            };
            let program =
                build_host(bench, &bench.source("heartbeat.c"), compiler, &[sanitizers, form].concat())?;
            let kept = printed(&program, &[]);
            tell(bench, &format!("host, {compiler} {}", [form, sanitizers].concat().join(" ")), kept);
        }
    }
    for machine in &MACHINES {
        if !bench.has(machine.compiler, machine.name) {
            continue;
        }
        if let Some(emulator) = machine.emulator
            && !bench.has(emulator, machine.name)
        {
            continue;
        }
        let program = bench.built("bare");
        let sources = ["heartbeat.c", "test/checks.c", "test/bare.c"].map(|name| bench.source(name));
        let mut words = vec!["-Os", "-std=c11", "-ffreestanding", "-nostdlib", "-static", "-Wl,-e,begin"];
        words.extend(machine.flags);
        words.extend(sources.iter().map(String::as_str));
        words.extend(["-o", &program]);
        words.extend(machine.library);
        output(machine.compiler, &words)?;
        let kept = match machine.emulator {
            Some(emulator) => printed(emulator, &[&program]),
            None => printed(&program, &[]),
        };
        tell(bench, machine.name, kept);
    }
    if simavr(bench)? {
        let checks = bench.source("test/checks.c");
        let kept = simulated(bench, "atmega328p", "0", &[&checks]);
        tell(bench, "ATmega328 in simavr", kept);
    }
    Ok(())
}

/// The program that runs the rules on this machine, and names those that are broken.
pub(super) fn build_host(
    bench: &Bench,
    library: &str,
    compiler: &str,
    form: &[&str],
) -> Result<String, String> {
    let program = bench.built("host");
    let sources = ["test/checks.c", "test/host.c"].map(|name| bench.source(name));
    let include = format!("-I{}", bench.source.display());
    let words = ["-O1", "-g", "-std=c99", &include, library, &sources[0], &sources[1], "-o", &program];
    output(compiler, &[form, &words].concat())?;
    Ok(program)
}
