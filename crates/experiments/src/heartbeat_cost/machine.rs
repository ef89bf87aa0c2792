//! The machines that a size is counted on, and how their compilers are called.

/// A machine and its compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// As in the tables.
    pub name: &'static str,
    /// The compiler.
    pub compiler: &'static str,
    /// Its flags beside those of all.
    pub flags: &'static [&'static str],
    /// What takes its code apart.
    pub objdump: &'static str,
    /// What brings the functions of its library into a joined object; empty where that is a shared library.
    pub library: &'static [&'static str],
}

/// Flags of every size: freestanding, no protection, no tables for unwinding.
pub const FLAGS: [&str; 5] = [
    "-std=c11",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
];

const LIBRARY: &[&str] = &["-Wl,--start-group", "-lc", "-lgcc", "-Wl,--end-group"];
const PICOLIBC: &[&str] = &["--specs=picolibc.specs", "-Wl,--start-group", "-lc", "-lgcc", "-Wl,--end-group"];

const fn arm(name: &'static str, flags: &'static [&'static str]) -> Machine {
    Machine { name, compiler: "arm-none-eabi-gcc", flags, objdump: "arm-none-eabi-objdump", library: LIBRARY }
}

const fn avr(name: &'static str, flags: &'static [&'static str]) -> Machine {
    Machine { name, compiler: "avr-gcc", flags, objdump: "avr-objdump", library: LIBRARY }
}

const fn riscv(name: &'static str, flags: &'static [&'static str]) -> Machine {
    Machine {
        name,
        compiler: "riscv64-unknown-elf-gcc",
        flags,
        objdump: "riscv64-unknown-elf-objdump",
        library: PICOLIBC,
    }
}

const fn host(name: &'static str, compiler: &'static str, flags: &'static [&'static str]) -> Machine {
    Machine { name, compiler, flags, objdump: "objdump", library: &[] }
}

/// The nine.
pub const MACHINES: [Machine; 9] = [
    host("amd64 gcc", "gcc", &["-fcf-protection=none"]),
    host("amd64 clang", "clang", &["-fcf-protection=none"]),
    host("i386 gcc", "gcc", &["-fcf-protection=none", "-m32", "-fno-pie"]),
    avr("ATtiny88", &["-mmcu=attiny88"]),
    avr("ATmega328", &["-mmcu=atmega328"]),
    arm("Cortex-M0", &["-mcpu=cortex-m0", "-mthumb"]),
    arm("Cortex-M4", &["-mcpu=cortex-m4", "-mthumb"]),
    riscv("rv32imac", &["-march=rv32imac", "-mabi=ilp32"]),
    riscv("rv32ec", &["-march=rv32ec", "-mabi=ilp32e"]),
];
