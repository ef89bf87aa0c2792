//! What a heartbeat aggregator's code costs: bytes, instructions, cycles, nanoseconds.
//!
//! Owns how any C source is measured: by the compilers of nine machines, by callgrind, by simavr, by loops in
//! turn, and for a running server by the scheduler's account. What is not there is named, not an error.
//! Start reading at [`measure`], then [`size`], [`instruction`], [`cycle`], [`build`].

pub mod build;
pub mod cycle;
pub mod harness;
pub mod instruction;
pub mod machine;
pub mod object;
pub mod program;
pub mod published;
pub mod server;
pub mod size;
mod table;

use build::{BUILDS, Bench, Timed, is_object};
use cycle::Cycles;
use dropline_archive::reading;
use dropline_archive::temporary::Scratch;
use dropline_failure::Failure;
use harness::{Interface, Operation};
use instruction::Instructions;
use serde::Serialize;
use server::ServerCost;
use size::{Size, sizes};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is measured, and how much of it.
#[derive(Clone, Debug)]
pub struct CostPlan {
    /// C sources, or objects for this machine.
    pub sources: Vec<PathBuf>,
    /// Rounds of the loops in turn; 0 leaves nanoseconds out.
    pub rounds: usize,
    /// A running server and its process.
    pub server: Option<(SocketAddr, u32)>,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
}

/// All costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// One for each source.
    pub subjects: Vec<Subject>,
    /// Of all sources and builds, timed in turn.
    pub nanoseconds: Vec<Timed>,
    /// Of a running server; null if none was named.
    pub server: Option<ServerCost>,
}

/// The costs of one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    /// The file.
    pub name: String,
    /// How it is called; null if it defines neither interface that is known, and only its size is.
    pub interface: Option<Interface>,
    /// On each machine, for a source.
    pub sizes: Vec<Size>,
    /// Bytes of code and constants, for an object as it came.
    pub object_flash_bytes: Option<u64>,
    /// By build and operation.
    pub instructions: Vec<(&'static str, Instructions)>,
    /// On AVRs.
    pub cycles: Vec<Cycles>,
    /// Why something was not measured.
    pub why_not: Vec<String>,
}

/// The repository's own source, from this directory or one above it.
pub fn default_source() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|directory| directory.join("c/heartbeat/heartbeat.c")).find(|path| path.is_file())
}

/// Measures everything that can be; `progress` is told what it is at.
///
/// # Errors
/// If a source cannot be read, the server does not answer, or the user wants to stop.
pub fn measure(plan: &CostPlan, progress: &mut dyn FnMut(&str)) -> Result<Cost, Failure> {
    let directory = Scratch::new()
        .map_err(|why| Failure::environment(format!("cannot make a directory to build in: {why}")))?;
    let mut benches = Vec::new();
    let mut subjects = Vec::new();
    for (index, source) in plan.sources.iter().enumerate() {
        let source = source
            .canonicalize()
            .map_err(|why| Failure::usage(format!("cannot read {}: {why}", source.display())))?;
        let room = Room { directory: directory.path().join(index.to_string()), plan, progress };
        subjects.push(room.subject(&source, &mut benches)?);
    }
    progress("nanoseconds");
    let nanoseconds = build::time(&benches, plan.rounds).map_err(Failure::environment)?;
    let server = match plan.server {
        Some((address, process)) => {
            progress("the running server");
            dropline_consent::consent(address)?;
            Some(server::measure(address, process).map_err(Failure::environment)?)
        }
        None => None,
    };
    Ok(Cost { subjects, nanoseconds, server })
}

/// Where one source is measured.
struct Room<'a> {
    directory: PathBuf,
    plan: &'a CostPlan,
    progress: &'a mut dyn FnMut(&str),
}

impl Room<'_> {
    fn subject(mut self, source: &Path, benches: &mut Vec<Bench>) -> Result<Subject, Failure> {
        let name = source.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let mut subject = Subject {
            name,
            interface: None,
            sizes: Vec::new(),
            object_flash_bytes: None,
            instructions: Vec::new(),
            cycles: Vec::new(),
            why_not: Vec::new(),
        };
        if is_object(source) {
            let bytes = reading::bytes(source, reading::MOST_BYTES).map_err(|why| why.of(source))?;
            let object = object::Object::read(&bytes)
                .map_err(|why| Failure::usage(format!("{}: {why}", source.display())))?;
            subject.object_flash_bytes = Some(object.flash());
        } else {
            let bench = self.bench("size")?;
            subject.sizes = sizes(source, &bench, self.progress);
        }
        let builds = if is_object(source) { &BUILDS[..1] } else { &BUILDS[..] };
        for (index, build) in builds.iter().enumerate() {
            self.build(source, index, build, &mut subject, benches)?;
        }
        match subject.interface {
            Some(interface) if !is_object(source) => {
                for part in cycle::PARTS {
                    let bench = self.bench(part)?;
                    (self.progress)(&format!("cycles on an {part}"));
                    match cycle::count(source, interface, part, &bench) {
                        Ok(cycles) => subject.cycles.extend(cycles),
                        Err(why) => subject.why_not.push(why.to_string()),
                    }
                }
            }
            Some(_) => {}
            None => subject.why_not.push(format!(
                "{} defines neither hb_handle nor dumpulse_process_packet: operations",
                subject.name
            )),
        }
        subject.why_not.dedup();
        Ok(subject)
    }

    /// Builds a loop around the source and counts its instructions.
    fn build(
        &mut self,
        source: &Path,
        index: usize,
        build: &build::Build,
        subject: &mut Subject,
        benches: &mut Vec<Bench>,
    ) -> Result<(), Failure> {
        let directory = self.bench(&index.to_string())?;
        match build.make(source, &directory) {
            Ok(None) => {}
            Ok(interface) => {
                subject.interface = interface;
                if build.counted {
                    self.count(&directory, build.name, subject)?;
                }
                benches.push(Bench { source: subject.name.clone(), build: *build, directory });
            }
            Err(why) => subject.why_not.push(why.to_string()),
        }
        Ok(())
    }

    fn count(&mut self, directory: &Path, build: &'static str, subject: &mut Subject) -> Result<(), Failure> {
        for operation in Operation::ALL {
            if self.plan.stop.load(Ordering::Relaxed) {
                return Err(Failure::interrupted());
            }
            (self.progress)(&format!("instructions, {build}, {}", operation.name()));
            match instruction::count(directory, operation) {
                Ok(found) => subject.instructions.push((build, found)),
                Err(why) => {
                    subject.why_not.push(why.to_string());
                    break;
                }
            }
        }
        Ok(())
    }

    fn bench(&self, name: &str) -> Result<PathBuf, Failure> {
        let directory = self.directory.join(name);
        std::fs::create_dir_all(&directory).map_err(Failure::environment)?;
        Ok(directory)
    }
}
