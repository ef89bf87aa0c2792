//! The machines whose size and stack are held to a budget.

use super::{Bench, output, printed, text};
use crate::Done;
use std::path::Path;

/// A machine, its compiler, and what `hb_handle` may cost there.
struct Target {
    name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
    /// How the compiler of Debian 12 names its version: only with that one a budget is a gate.
    version: &'static str,
    /// Bytes of code and constants.
    flash: u64,
    /// Bytes of stack, as the compiler counts them.
    stack: u64,
}

const TARGETS: [Target; 9] = [
    target("amd64 gcc", "gcc", &["-fcf-protection=none"], "12.2", [195, 16]),
    target("amd64 clang", "clang", &["-fcf-protection=none"], "14.0", [199, 16]),
    target("i386 gcc", "gcc", &["-m32", "-fno-pie", "-fcf-protection=none"], "12.2", [225, 36]),
    target("ATtiny88", "avr-gcc", &["-mmcu=attiny88"], "5.4", [240, 6]),
    target("ATmega328", "avr-gcc", &["-mmcu=atmega328p"], "5.4", [230, 6]),
    target("Cortex-M0", "arm-none-eabi-gcc", &["-mcpu=cortex-m0", "-mthumb"], "12.2", [188, 32]),
    target("Cortex-M4", "arm-none-eabi-gcc", &["-mcpu=cortex-m4", "-mthumb"], "12.2", [164, 20]),
    target("rv32imac", "riscv64-unknown-elf-gcc", &["-march=rv32imac", "-mabi=ilp32"], "12.2", [264, 0]),
    target("rv32ec", "riscv64-unknown-elf-gcc", &["-march=rv32ec", "-mabi=ilp32e"], "12.2", [270, 12]),
];

const fn target(
    name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
    version: &'static str,
    [flash, stack]: [u64; 2],
) -> Target {
    Target { name, compiler, flags, version, flash, stack }
}

/// Freestanding, nothing but the code, and no warning.
pub(super) const FLAGS: [&str; 12] = [
    "-std=c11",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-ffunction-sections",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
];

/// Sections that take flash beside the code; RISC-V has small data apart.
const CONSTANTS: [&str; 5] = [".rodata", ".srodata", ".data", ".sdata", ".progmem"];

/// Bytes of RAM: the table.
const RAM: u64 = 260;

pub(super) fn sizes(bench: &mut Bench) -> Done {
    println!("hb_handle at -Os        flash, bytes             stack, bytes             RAM   compiler");
    for target in &TARGETS {
        if !bench.has(target.compiler, target.name) {
            continue;
        }
        let object = bench.built("size.o");
        if let Err(why) = compile(bench, target, &["-Os", "-fstack-usage"], &object) {
            bench.faults.push(why);
            continue;
        }
        let version = version(target.compiler)?;
        let gates = version.starts_with(target.version);
        let sections = sections(target.compiler, &object)?;
        let sum = |kept: &dyn Fn(&str) -> bool| -> u64 {
            sections.iter().filter(|(name, _)| kept(name)).map(|(_, bytes)| bytes).sum()
        };
        let flash = sum(&|name| {
            name == ".text"
                || name == ".text.hb_handle"
                || CONSTANTS.iter().any(|section| name.starts_with(section))
        });
        let ram = RAM
            + sum(&|name| {
                [".data", ".sdata", ".bss", ".sbss"].iter().any(|section| name.starts_with(section))
            });
        let stack = stack(&Path::new(&object).with_extension("su"))?;
        let size = bench.judge(&format!("flash on {}", target.name), flash, target.flash, gates);
        let frame = bench.judge(&format!("stack on {}", target.name), stack, target.stack, gates);
        bench.judge(&format!("RAM on {}", target.name), ram, RAM, true);
        println!("{:<22}  {size:<23}  {frame:<23}  {ram}   {} {version}", target.name, target.compiler);
        complete(bench, target);
    }
    if bench.has("clang++", "C++") {
        let source = bench.source("heartbeat.c");
        let words = [
            "-x",
            "c++",
            "-std=c++11",
            "-fsyntax-only",
            "-ffreestanding",
            "-Wall",
            "-Wextra",
            "-Werror",
            &source,
        ];
        if let Err(why) = output("clang++", &words) {
            bench.faults.push(why);
        }
    }
    Ok(())
}

/// At every optimisation and in every form, the target's compiler warns of nothing and needs no library.
fn complete(bench: &mut Bench, target: &Target) {
    let object = bench.built("whole.o");
    let forms: [&[&str]; 10] = [
        &["-Os"],
        &["-O2"],
        &["-O3"],
        &["-Os", "-std=c99"],
        &["-Os", "-DHB_FAST=1"],
        &["-O2", "-DHB_FAST=0"],
        &["-O3", "-DHB_FAST=0"],
        &["-O3", "-DHB_FAST=0", "-DHB_WORDS=0"],
        &["-Os", "-DHB_VARIABLES=1"],
        &["-Os", "-DHB_VARIABLES=63"],
    ];
    for form in forms {
        let undefined = compile(bench, target, form, &object)
            .and_then(|()| printed(&tool(target.compiler, "nm"), &["-u", &object]));
        match undefined {
            Ok(symbols) if symbols.trim().is_empty() => {}
            Ok(symbols) => {
                let symbols: Vec<&str> = symbols.split_whitespace().collect();
                bench.faults.push(format!(
                    "{} {}: undefined {}",
                    target.name,
                    form.join(" "),
                    symbols.join(" ")
                ));
            }
            Err(why) => bench.faults.push(why),
        }
    }
}

fn compile(bench: &Bench, target: &Target, form: &[&str], object: &str) -> Done {
    let source = bench.source("heartbeat.c");
    output(target.compiler, &[target.flags, &FLAGS, form, &["-c", &source, "-o", object]].concat())
        .map(|_| ())
}

/// A compiler's version number, the last word of its first line that looks like one.
pub(super) fn version(compiler: &str) -> Result<String, String> {
    let said = printed(compiler, &["--version"])?;
    let first = said.lines().next().unwrap_or_default();
    let number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    Ok(first.split_whitespace().rfind(number).unwrap_or("of unknown version").to_owned())
}

/// The binutils program that belongs to a compiler.
pub(super) fn tool(compiler: &str, program: &str) -> String {
    match compiler.strip_suffix("gcc") {
        Some(prefix) => format!("{prefix}{program}"),
        None => program.to_owned(),
    }
}

/// Names and sizes of an object's sections.
fn sections(compiler: &str, object: &str) -> Result<Vec<(String, u64)>, String> {
    let table = printed(&tool(compiler, "objdump"), &["-h", object])?;
    let section = |line: &str| {
        let mut words = line.split_whitespace();
        let number = words.next()?;
        let name = words.next()?;
        number.parse::<u32>().ok()?;
        Some((name.to_owned(), u64::from_str_radix(words.next()?, 16).ok()?))
    };
    Ok(table.lines().filter_map(section).collect())
}

/// What the compiler says that `hb_handle` takes of the stack.
fn stack(usage: &Path) -> Result<u64, String> {
    let usage = text(usage)?;
    usage
        .lines()
        .find_map(|line| {
            let mut fields = line.split('\t');
            fields.next()?.ends_with(":hb_handle").then(|| fields.next()?.parse().ok())?
        })
        .ok_or_else(|| format!("no stack usage of hb_handle in {usage:?}"))
}
