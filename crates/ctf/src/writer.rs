//! Events of a session as a trace that babeltrace2 and others read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// One event of ours, as a trace has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEntry {
    /// A granule left a source.
    Tx {
        /// Which pipe.
        pipe: u32,
        /// The granule, from 1.
        n: u64,
    },
    /// A granule reached a sink.
    Rx {
        /// Which pipe.
        pipe: u32,
        /// The granule, from 1.
        n: u64,
    },
    /// A probe was crossed.
    Crossing {
        /// Which probe.
        probe: u32,
        /// The delay that was added there, in ticks of the session's clock.
        delay_ticks: u64,
    },
    /// An event of the program's own.
    Own {
        /// Which event.
        number: u32,
        /// Of which of the program's things.
        which: u32,
        /// Its first value.
        first: u64,
        /// Its second value.
        second: u64,
    },
    /// So many samples were in a pipe.
    InFlight {
        /// Which pipe.
        pipe: u32,
        /// How many.
        samples: u64,
    },
}

/// Writes a trace: one stream a ring, packets of up to 1 MiB, stamps in ns of CLOCK_MONOTONIC.
pub struct TraceWriter {
    directory: PathBuf,
    streams: BTreeMap<u32, Stream>,
}

struct Stream {
    file: BufWriter<File>,
    events: Vec<u8>,
    first_ns: u64,
    last_ns: u64,
    packets: u64,
    discarded: u64,
}

const MAGIC: u32 = 0xC1FC_1FC1;
/// Magic and stream 8, four stamps and lengths 32, number and discarded 16, ring 4.
const ENVELOPE: usize = 60;
/// Code 2, stamp 8, values of 4, 8 and 8 at most.
const LARGEST_EVENT: usize = 30;
const PACKET: usize = 1 << 20;

const METADATA: &str = r#"/* CTF 1.8 */

typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;

trace {
	major = 1;
	minor = 8;
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint32_t stream_id;
	};
};

env {
	domain = "ust";
	tracer_name = "dropline";
};

clock {
	name = "monotonic";
	description = "CLOCK_MONOTONIC";
	freq = 1000000000;
	offset = 0;
};

typealias integer {
	size = 64; align = 8; signed = false;
	map = clock.monotonic.value;
} := stamp_t;

stream {
	id = 0;
	packet.context := struct {
		stamp_t timestamp_begin;
		stamp_t timestamp_end;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t packet_seq_num;
		uint64_t events_discarded;
		uint32_t ring;
	};
	event.header := struct {
		uint16_t id;
		stamp_t timestamp;
	};
};

event { name = "dropline:tx"; id = 1; stream_id = 0; fields := struct { uint32_t pipe; uint64_t n; }; };
event { name = "dropline:rx"; id = 2; stream_id = 0; fields := struct { uint32_t pipe; uint64_t n; }; };
event { name = "dropline:crossing"; id = 3; stream_id = 0;
	fields := struct { uint32_t probe; uint64_t delay_ticks; }; };
event { name = "dropline:own"; id = 4; stream_id = 0;
	fields := struct { uint32_t number; uint32_t which; uint64_t first; uint64_t second; }; };
event { name = "dropline:in_flight"; id = 5; stream_id = 0;
	fields := struct { uint32_t pipe; uint64_t samples; }; };
"#;

impl TraceWriter {
    /// Makes the directory and writes the metadata.
    ///
    /// # Errors
    /// If the directory exists or cannot be written.
    pub fn create(directory: &Path) -> io::Result<Self> {
        std::fs::create_dir(directory)?;
        std::fs::write(directory.join("metadata"), METADATA)?;
        Ok(Self { directory: directory.into(), streams: BTreeMap::new() })
    }

    /// Writes an event of a ring, with its moment in nanoseconds; events of a ring come in the order of their stamps.
    ///
    /// # Errors
    /// If a packet cannot be written.
    pub fn write(&mut self, ring: u32, ns: u64, entry: TraceEntry) -> io::Result<()> {
        let stream = self.stream(ring)?;
        if stream.events.len() + LARGEST_EVENT > PACKET - ENVELOPE {
            stream.flush(ring)?;
        }
        if stream.events.is_empty() {
            stream.first_ns = ns;
        }
        stream.last_ns = ns;
        let code: u16 = match entry {
            TraceEntry::Tx { .. } => 1,
            TraceEntry::Rx { .. } => 2,
            TraceEntry::Crossing { .. } => 3,
            TraceEntry::Own { .. } => 4,
            TraceEntry::InFlight { .. } => 5,
        };
        stream.events.extend(code.to_le_bytes());
        stream.events.extend(ns.to_le_bytes());
        if let TraceEntry::Own { number, .. } = entry {
            stream.events.extend(number.to_le_bytes());
        }
        let (which, value) = match entry {
            TraceEntry::Tx { pipe, n } | TraceEntry::Rx { pipe, n } => (pipe, n),
            TraceEntry::Crossing { probe, delay_ticks } => (probe, delay_ticks),
            TraceEntry::Own { which, first, .. } => (which, first),
            TraceEntry::InFlight { pipe, samples } => (pipe, samples),
        };
        stream.events.extend(which.to_le_bytes());
        stream.events.extend(value.to_le_bytes());
        if let TraceEntry::Own { second, .. } = entry {
            stream.events.extend(second.to_le_bytes());
        }
        Ok(())
    }

    /// Ends the trace. `discarded` are the events that a ring had no room for, as readers shall warn of.
    ///
    /// # Errors
    /// If a packet cannot be written.
    pub fn finish(mut self, discarded: impl Fn(u32) -> u64) -> io::Result<()> {
        for (&ring, stream) in &mut self.streams {
            stream.discarded = discarded(ring);
            stream.flush(ring)?;
            stream.file.flush()?;
        }
        Ok(())
    }

    fn stream(&mut self, ring: u32) -> io::Result<&mut Stream> {
        match self.streams.entry(ring) {
            std::collections::btree_map::Entry::Occupied(there) => Ok(there.into_mut()),
            std::collections::btree_map::Entry::Vacant(free) => {
                let file = File::create_new(self.directory.join(format!("ring_{ring}")))?;
                Ok(free.insert(Stream {
                    file: BufWriter::new(file),
                    events: Vec::with_capacity(PACKET),
                    first_ns: 0,
                    last_ns: 0,
                    packets: 0,
                    discarded: 0,
                }))
            }
        }
    }
}

impl Stream {
    fn flush(&mut self, ring: u32) -> io::Result<()> {
        let bits = 8 * (ENVELOPE + self.events.len()) as u64;
        self.file.write_all(&MAGIC.to_le_bytes())?;
        self.file.write_all(&0u32.to_le_bytes())?;
        for word in [self.first_ns, self.last_ns, bits, bits, self.packets, self.discarded] {
            self.file.write_all(&word.to_le_bytes())?;
        }
        self.file.write_all(&ring.to_le_bytes())?;
        self.file.write_all(&self.events)?;
        self.packets += 1;
        self.first_ns = self.last_ns;
        self.events.clear();
        Ok(())
    }
}
