//! The examples: all compile without a warning, and the one that can run here answers.

use super::{Bench, output};
use crate::Done;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Compiler, file, flags.
const EXAMPLES: [(&str, &str, &[&str]); 5] = [
    ("avr-gcc", "examples/avr.c", &["-mmcu=atmega328p", "-DF_CPU=16000000", "-std=gnu11"]),
    (
        "arm-none-eabi-gcc",
        "examples/cortex_m.c",
        &["-mcpu=cortex-m0", "-mthumb", "-std=c11", "-ffreestanding"],
    ),
    (
        "riscv64-unknown-elf-gcc",
        "examples/riscv.c",
        &["-march=rv32ec", "-mabi=ilp32e", "-std=c11", "-ffreestanding"],
    ),
    ("gcc", "examples/linux.c", &["-std=c11"]),
    ("clang++", "examples/Aggregator/Aggregator.ino", &["-std=c++11", "-include", "Arduino.h", "-x", "c++"]),
];

pub(super) fn compile_and_answer(bench: &mut Bench) -> Done {
    println!("\nexamples");
    let object = bench.built("example.o");
    let arduino = format!("-I{}", bench.source("test/arduino"));
    let library = format!("-I{}", bench.source.display());
    for (compiler, file, flags) in EXAMPLES {
        if !bench.has(compiler, file) {
            continue;
        }
        let source = bench.source(file);
        let warnings = ["-Os", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", &arduino, &library];
        match output(compiler, &[&warnings[..], flags, &["-c", &source, "-o", &object]].concat()) {
            Ok(_) => println!("  compiles {file}"),
            Err(why) => bench.faults.push(why),
        }
    }
    if let Err(why) = linux(bench) {
        bench.faults.push(format!("examples/linux.c: {why}"));
    }
    Ok(())
}

/// A running example, ended with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A heartbeat is stored, longer datagrams are not, and a request is answered with the report.
fn linux(bench: &Bench) -> Done {
    let program = bench.built("linux");
    output("gcc", &["-O2", &bench.source("examples/linux.c"), &bench.source("heartbeat.c"), "-o", &program])?;
    let mut child = Command::new(&program)
        .arg("0")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|why| format!("cannot be started: {why}"))?;
    let said = child.stdout.take().ok_or("says nothing")?;
    let _running = Running(child);
    let talk = || -> std::io::Result<Vec<u8>> {
        let mut first = String::new();
        BufReader::new(said).read_line(&mut first)?;
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(first.trim().trim_start_matches("listening udp "))?;
        socket.set_read_timeout(Some(Duration::from_secs(10)))?;
        socket.send(b"\x04\x8d\x01\x6b\xf1\x00\x4c\x2d")?;
        socket.send(b"\x03\xea\x01\x04\xf1\x05\x06\x07and more")?;
        socket.send(b"AreyouOK, aggregator")?;
        socket.send(b"AreyouOK")?;
        let mut report = vec![0; 2048];
        let length = socket.recv(&mut report)?;
        report.truncate(length);
        Ok(report)
    };
    let report = talk().map_err(|why| why.to_string())?;
    if report.len() != 260 || report[6..8] != [76, 45] || report[8..].iter().any(|&byte| byte != 0) {
        return Err(format!("answered {report:02x?}"));
    }
    println!("  answers  examples/linux.c");
    Ok(())
}
