//! The cost as tables, with what others measured beside it.

use super::build::BUILDS;
use super::cycle::PARTS;
use super::harness::Operation;
use super::machine::MACHINES;
use super::published::{
    NOTES_SIZES, ORIGINAL_CYCLES, ORIGINAL_INSTRUCTIONS, ORIGINAL_NANOSECONDS, ORIGINAL_SIZES, SENTENCES,
};
use super::{Cost, Subject};
use dropline_record::{Study, Table};
use std::collections::BTreeSet;

impl Cost {
    /// What was measured, for people.
    pub fn study(&self) -> Study {
        let mut tables = Vec::new();
        for subject in &self.subjects {
            tables.extend(subject.size_table());
            tables.push(subject.instruction_table());
            tables.push(subject.cycle_table());
        }
        tables.push(self.time_table());
        tables.retain(|table| !table.rows.is_empty());
        Study {
            charts: Vec::new(),
            name: "heartbeat cost".into(),
            title: self.title(),
            paragraphs: self.words(),
            tables,
            caveats: Vec::new(),
        }
    }

    /// The notes' sentences about cost as a table, for a page.
    pub fn sentences_table(&self) -> Table {
        Table {
            title: NOTES.into(),
            note: String::new(),
            columns: heads(&["sentence", "verdict", "why"]),
            rows: SENTENCES
                .iter()
                .map(|(quoted, verdict, why)| vec![format!("“{quoted}”"), (*verdict).into(), (*why).into()])
                .collect(),
        }
    }

    /// The same as paragraphs, for a terminal.
    pub fn sentences_study(&self) -> Study {
        let paragraphs =
            SENTENCES.iter().map(|(quoted, verdict, why)| format!("“{quoted}”: {verdict}; {why}.")).collect();
        Study { title: NOTES.into(), paragraphs, ..Study::default() }
    }

    fn title(&self) -> String {
        let smallest = self.subjects.iter().find_map(|subject| {
            let least =
                subject.sizes.iter().filter_map(|size| Some((size.flash_bytes?, size.machine))).min()?;
            Some(format!("{} takes {} bytes on {}", subject.name, least.0, least.1))
        });
        let server = || {
            let cost = self.server.as_ref()?;
            Some(format!("The server takes {:.2} us of CPU for each datagram", cost.cpu_ns_each / 1000.0))
        };
        smallest.or_else(server).unwrap_or_else(|| "No size could be counted".into())
    }

    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if !self.subjects.is_empty() {
            words.push(
                "Sizes are code, constants and initial values at -Os; linked adds what the compiler's and the C \
                 library bring. Instructions are the slope over 100, 600 and 1100 operations, so neither the \
                 program's start nor a first call is in them. Nanoseconds are CPU time, all builds in turn; they \
                 judge nothing but ratios of one run."
                    .to_owned(),
            );
        }
        let mut missing: Vec<(String, BTreeSet<String>)> = Vec::new();
        let mut note = |what: String, why: &str| match missing.iter_mut().find(|(known, _)| known == why) {
            Some((_, whats)) => drop(whats.insert(what)),
            None => missing.push((why.into(), BTreeSet::from([what]))),
        };
        for subject in &self.subjects {
            for size in &subject.sizes {
                if let Some(why) = &size.why_not {
                    note(format!("{} on {}", subject.name, size.machine), why);
                }
            }
            subject.why_not.iter().for_each(|why| note(subject.name.clone(), why));
        }
        words.extend(missing.into_iter().map(|(why, whats)| {
            format!("Not measured: {}. {why}", whats.into_iter().collect::<Vec<_>>().join(", "))
        }));
        if let Some(server) = &self.server {
            words.push(format!(
                "The running server took {:.2} us of CPU for each of {} datagrams, wake-ups included; the \
                 original's server 2.9 to 3.9 us on a Zen 4, 6.3 us on an N3700.",
                server.cpu_ns_each / 1000.0,
                server.heartbeats + server.requests
            ));
        }
        words
    }

    fn time_table(&self) -> Table {
        let mut rows = Vec::new();
        for timed in &self.nanoseconds {
            let place = usize::from(timed.operation == Operation::Report);
            let original = ORIGINAL_NANOSECONDS.iter().find(|(build, _)| *build == timed.build);
            rows.push(vec![
                format!("{}, {}, {}", timed.source, timed.build, timed.operation.name()),
                format!("{:.2}", timed.each_ns),
                format!("{:.2} to {:.2}", timed.least_ns, timed.most_ns),
                original.map_or(NONE.into(), |(_, ns)| ns[place].to_string()),
            ]);
        }
        Table {
            title: "Nanoseconds".into(),
            note:
                "CPU time for each, the loop included. The original's are from another machine (Zen 4): to \
                   compare, name its source too. In its notes 28 ns at -Os and 16 ns at -O5 on an N3700."
                    .into(),
            columns: heads(&["source, build, operation", "median ns", "from to", "original"]),
            rows,
        }
    }
}

impl Subject {
    fn size_table(&self) -> Option<Table> {
        let mut rows = Vec::new();
        for (size, (original, notes)) in self.sizes.iter().zip(ORIGINAL_SIZES.iter().zip(NOTES_SIZES)) {
            rows.push(vec![
                size.machine.into(),
                number(size.flash_bytes),
                number(size.linked_flash_bytes),
                number(size.pic_flash_bytes),
                number(size.all_flash_bytes),
                number(size.instructions),
                number(size.ram_bytes),
                number(size.frame_bytes),
                original.flash_bytes.to_string(),
                number(original.linked_flash_bytes),
                original.instructions.to_string(),
                number(notes),
                if size.left_to_user.is_empty() { NONE.into() } else { size.left_to_user.join(" ") },
            ]);
        }
        (!rows.is_empty()).then(|| Table {
            title: format!("Size of {}", self.name),
            note: "Bytes at -Os of the function that handles a packet and what it calls; all is every function of \
                   the file, code the number of instructions. RAM is beside the caller's table of 260 bytes; \
                   frame is the largest of one function; undefined is what its user must bring. The original's by \
                   the same compilers of Debian 12; the notes' own with gcc 5.4, on amd64 and i386 with some 88 bytes for unwinding."
                .into(),
            columns: heads(&[
                "machine",
                "flash",
                "linked",
                "-fPIC",
                "all",
                "code",
                "RAM",
                "frame",
                "original",
                "linked",
                "code",
                "notes",
                "undefined",
            ]),
            rows,
        })
    }

    fn instruction_table(&self) -> Table {
        let mut rows = Vec::new();
        for build in BUILDS.iter().filter(|build| build.counted) {
            let of = |operation| {
                self.instructions
                    .iter()
                    .find(|(name, found)| *name == build.name && found.operation == operation)
            };
            let original = ORIGINAL_INSTRUCTIONS.iter().find(|(name, _)| *name == build.name);
            for operation in Operation::ALL {
                let Some((_, found)) = of(operation) else { continue };
                let beside = operation.index().checked_sub(1).zip(original);
                rows.push(vec![
                    format!("{}, {}", build.name, operation.name()),
                    format!("{:.1}", found.each),
                    found.start.to_string(),
                    format!("{:.0}", found.first_extra),
                    format!("{:.1}", found.off_line),
                    beside.map_or(NONE.into(), |(place, (_, counts))| counts[place].to_string()),
                ]);
            }
            if let (Some((_, heartbeat)), Some((_, report))) =
                (of(Operation::Heartbeat), of(Operation::Report))
            {
                rows.push(vec![
                    format!("{}, report ÷ heartbeat", build.name),
                    format!("{:.1}", report.each / heartbeat.each),
                    NONE.into(),
                    NONE.into(),
                    NONE.into(),
                    original.map_or(NONE.into(), |(_, counts)| {
                        format!("{:.1}", counts[3] as f64 / counts[0] as f64)
                    }),
                ]);
            }
        }
        Table {
            title: format!("Instructions of {} on amd64", self.name),
            note: "Each includes the loop around it; the original's with a loop of about eight. Start is the program without any operation; first extra what \
                   the first call costs beyond the others; off line the worst distance from the slope. The notes \
                   have 122 (128) a heartbeat and 4317 (5227) a report for a whole server."
                .into(),
            columns: heads(&["build, operation", "each", "start", "first extra", "off line", "original"]),
            rows,
        }
    }

    fn cycle_table(&self) -> Table {
        let mut rows = Vec::new();
        for found in &self.cycles {
            let (originals, stack) = PARTS
                .iter()
                .zip(ORIGINAL_CYCLES)
                .find_map(|(part, counts)| (*part == found.part).then_some(counts))
                .expect("each part has its original");
            let (place, table) = match (found.operation, found.full) {
                (Operation::Report, true) => (4, " of 0xff"),
                (Operation::Report, false) => (3, " of zeros"),
                (Operation::Empty, _) | (_, true) => continue,
                (operation, false) => (operation.index() - 1, ""),
            };
            rows.push(vec![
                format!("{}, {}{table}", found.part, found.operation.name()),
                found.cycles.to_string(),
                found.stack_bytes.to_string(),
                originals[place].to_string(),
                stack.to_string(),
            ]);
        }
        Table {
            title: format!("Cycles of {} on AVRs at -Os", self.name),
            note: "Counted in simavr from the call to the return, instruction by instruction; the deepest stack with \
                   the return address. The ATtiny88 is not in simavr, the ATtiny85 has its core. The notes have none."
                .into(),
            columns: heads(&["part, operation", "cycles", "stack", "original", "its stack"]),
            rows,
        }
    }
}

const NOTES: &str = "What the original's notes say";
/// No data.
const NONE: &str = "–";

fn number(value: Option<u64>) -> String {
    value.map_or(NONE.into(), |value| value.to_string())
}

fn heads(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

const _: () = assert!(ORIGINAL_SIZES.len() == MACHINES.len() && NOTES_SIZES.len() == MACHINES.len());
