//! The builds that are counted and timed on this machine.

use super::harness::{Interface, Operation, loop_source};
use super::object::Object;
use super::program::{ProgramError, run};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A compiler and its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Build {
    /// As in the tables.
    pub name: &'static str,
    /// The compiler.
    pub compiler: &'static str,
    /// Flags of optimisation.
    pub flags: &'static [&'static str],
    /// Whether callgrind knows all its instructions.
    pub counted: bool,
}

/// All of them.
pub const BUILDS: [Build; 5] = [
    Build { name: "gcc -Os", compiler: "gcc", flags: &["-Os"], counted: true },
    Build { name: "clang -Os", compiler: "clang", flags: &["-Os"], counted: true },
    Build { name: "gcc -O2", compiler: "gcc", flags: &["-O2"], counted: true },
    Build { name: "gcc -O3", compiler: "gcc", flags: &["-O3"], counted: true },
    Build {
        name: "gcc -O3 -march=native",
        compiler: "gcc",
        flags: &["-O3", "-march=native"],
        counted: false,
    },
];

impl Build {
    /// Compiles the source, says how it is called, and builds the loop around it as `bench` in `directory`.
    /// `None` if it has no interface that is known.
    ///
    /// # Errors
    /// If the compiler is not there or refuses.
    pub fn make(&self, source: &Path, directory: &Path) -> Result<Option<Interface>, ProgramError> {
        let failed = |why: &dyn std::fmt::Display| ProgramError::Failed {
            program: self.compiler.into(),
            why: why.to_string(),
        };
        let path = source.to_string_lossy();
        let object = if is_object(source) {
            source.to_owned()
        } else {
            let words =
                [self.flags, &["-std=c11", "-fcf-protection=none", "-c", "-o", "source.o", path.as_ref()]]
                    .concat();
            run(directory, self.compiler, &words)?;
            directory.join("source.o")
        };
        let bytes = std::fs::read(&object).map_err(|why| failed(&why))?;
        let Some(interface) = Interface::of(&Object::read(&bytes).map_err(|why| failed(&why))?) else {
            return Ok(None);
        };
        std::fs::write(directory.join("bench.c"), loop_source(interface)).map_err(|why| failed(&why))?;
        let object = object.to_string_lossy();
        // The loop is the same whatever is measured: its price stands in the tables beside each build's.
        run(directory, LOOP[0], &[&LOOP[1..], &["-o", "bench", "bench.c", object.as_ref()]].concat())?;
        Ok(Some(interface))
    }
}

/// The compiler of the loop, and how it is asked.
const LOOP: [&str; 4] = ["gcc", "-O2", "-std=c11", "-fcf-protection=none"];

/// Whether this is compiled already.
pub fn is_object(source: &Path) -> bool {
    source.extension().is_some_and(|extension| extension == "o")
}

/// Nanoseconds of CPU time for each operation of one build of one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timed {
    /// The source.
    pub source: String,
    /// The build.
    pub build: &'static str,
    /// Which operation.
    pub operation: Operation,
    /// Median over the rounds.
    pub each_ns: f64,
    /// Fastest round.
    pub least_ns: f64,
    /// Slowest round.
    pub most_ns: f64,
}

/// A loop that was built, and where.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The source.
    pub source: String,
    /// The build.
    pub build: Build,
    /// Where `bench` is.
    pub directory: PathBuf,
}

/// Times all benches in turn, round after round, so that what disturbs the machine disturbs all of them.
///
/// # Errors
/// If one does not run.
pub fn time(benches: &[Bench], rounds: usize) -> Result<Vec<Timed>, ProgramError> {
    let mut timed = Vec::new();
    for (operation, count) in [(Operation::Heartbeat, 1_000_000), (Operation::Report, 50_000)] {
        let mut rows: Vec<Vec<f64>> = vec![Vec::new(); benches.len()];
        for _ in 0..rounds {
            for (bench, row) in benches.iter().zip(&mut rows) {
                row.push(once(&bench.directory, operation, count)?);
            }
        }
        for (bench, mut row) in benches.iter().zip(rows) {
            row.sort_by(f64::total_cmp);
            let (Some(least), Some(most)) = (row.first(), row.last()) else { continue };
            timed.push(Timed {
                source: bench.source.clone(),
                build: bench.build.name,
                operation,
                each_ns: row[row.len() / 2],
                least_ns: *least,
                most_ns: *most,
            });
        }
    }
    Ok(timed)
}

fn once(directory: &Path, operation: Operation, count: u64) -> Result<f64, ProgramError> {
    let printed =
        run(directory, "./bench", &[operation.index().to_string(), count.to_string(), "time".into()])?;
    let ns: f64 = printed.out.trim().parse().map_err(|_| ProgramError::Failed {
        program: "bench".into(),
        why: format!("it printed {:?}", printed.out),
    })?;
    Ok(ns / count as f64)
}
