//! A trace in a directory: its streams' events, merged in the order of their stamps.

use crate::CtfError;
use crate::metadata::{EventClass, Metadata};
use crate::stream::Stream;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A trace that somebody recorded, open for reading. Memory holds one packet of each stream.
///
/// ```
/// use dropline_ctf::Trace;
/// use std::path::Path;
///
/// let names = [("dropline:tx", "pipe", "n"), ("dropline:rx", "pipe", "n")];
/// let mut trace = Trace::open(Path::new("tests/lttng"), &names)?;
/// let mut left = 0;
/// while let Some(passage) = trace.next_passage()? {
///     left += u64::from(names[passage.which].0 == "dropline:tx");
/// }
/// assert_eq!((left, trace.counts().wanted, trace.counts().discarded), (153, 306, 1695));
/// # Ok::<(), dropline_ctf::CtfError>(())
/// ```
pub struct Trace {
    metadata: Metadata,
    streams: Vec<Stream>,
    wanted: BTreeMap<(u64, u64), Wanted>,
    counts: TraceCounts,
}

/// Which event is wanted, and where its two integers are.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    which: usize,
    pipe: usize,
    n: usize,
}

/// One wanted event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its place in the names that were asked for.
    pub which: usize,
    /// In ns of the trace's clock, without its offset from 1970.
    pub at_ns: u64,
    /// The first integer that was asked for.
    pub pipe: u64,
    /// The second.
    pub n: u64,
    /// The processor, where the trace says it.
    pub cpu: Option<u32>,
}

/// What a trace says about itself, and what reading found. Events are never dropped in silence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// Events that were wanted.
    pub wanted: u64,
    /// Other events.
    pub others: u64,
    /// Events that the recorder had no room for, by its own count.
    pub discarded: u64,
    /// Packets missing by their numbers.
    pub lost_packets: u64,
    /// Packets that end in the middle, or are not what the metadata says.
    pub torn: u64,
    /// Packets left at an event that the metadata does not know.
    pub unknown: u64,
}

impl Trace {
    /// Opens the trace in `path`, or in the one directory below it that has a `metadata`.
    ///
    /// `names` are the events that are wanted, each with the names of the two integer fields: for example
    /// `("dropline:tx", "pipe", "n")`. A leading underscore in the trace's field names does not matter.
    ///
    /// # Errors
    /// If there is no trace, or its metadata cannot be read.
    pub fn open(path: &Path, names: &[(&str, &str, &str)]) -> Result<Self, CtfError> {
        let directory = directory(path)?;
        let metadata = read_metadata(&directory.join("metadata"))?;
        let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
            .map_err(|why| CtfError::System(directory.clone(), why))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.is_file() && is_stream(path))
            .collect();
        files.sort();
        let open = |path: PathBuf| match File::open(&path) {
            Ok(file) => Ok((path, Box::new(file) as Box<dyn Read>)),
            Err(why) => Err(CtfError::System(path, why)),
        };
        Self::of(&metadata, files.into_iter().map(open).collect::<Result<_, _>>()?, names)
    }

    /// A trace of these metadata and streams; the paths are for errors.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of(
        metadata: &[u8],
        streams: Vec<(PathBuf, Box<dyn Read>)>,
        names: &[(&str, &str, &str)],
    ) -> Result<Self, CtfError> {
        let metadata = Metadata::parse(&text(metadata)?)?;
        let streams = streams
            .into_iter()
            .map(|(path, file)| Stream::open(path, file, &metadata))
            .collect::<Result<_, _>>()?;
        let wanted = wanted(&metadata, names);
        Ok(Self { metadata, streams, wanted, counts: TraceCounts::default() })
    }

    /// The next wanted event in the order of stamps; `None` at the end.
    ///
    /// # Errors
    /// If a file cannot be read on.
    pub fn next_passage(&mut self) -> Result<Option<Passage>, CtfError> {
        loop {
            let earliest = self.streams.iter_mut().filter(|stream| stream.next.is_some());
            let Some(stream) = earliest.min_by_key(|stream| stream.next.map(|next| next.clock)) else {
                return Ok(None);
            };
            let Some(next) = stream.next else { return Ok(None) };
            let class = &self.metadata.streams[&next.stream];
            let Some(event) = class.events.get(&next.event) else {
                stream.skip_packet();
                stream.advance(&self.metadata)?;
                continue;
            };
            let wanted = self.wanted.get(&(next.stream, next.event)).copied();
            let (mut pipe, mut n) = (0, 0);
            let whole = stream.fields(class, event, |place, value| {
                if let Some(wanted) = wanted {
                    if place == wanted.pipe {
                        pipe = value as u64;
                    }
                    if place == wanted.n {
                        n = value as u64;
                    }
                }
            });
            let cpu = stream.cpu;
            stream.advance(&self.metadata)?;
            match wanted {
                _ if !whole => {}
                None => self.counts.others += 1,
                Some(Wanted { which, .. }) => {
                    self.counts.wanted += 1;
                    return Ok(Some(Passage { which, at_ns: self.ns(next.clock), pipe, n, cpu }));
                }
            }
        }
    }

    /// What was found so far.
    pub fn counts(&self) -> TraceCounts {
        let mut counts = self.counts;
        for stream in &self.streams {
            counts.discarded = counts.discarded.saturating_add(stream.counts.discarded);
            counts.lost_packets = counts.lost_packets.saturating_add(stream.counts.lost_packets);
            counts.torn += stream.counts.torn;
            counts.unknown += stream.counts.unknown;
        }
        counts
    }

    /// Ticks of the trace's clock in ns. A trace has one clock, or several of the same rate.
    fn ns(&self, ticks: u64) -> u64 {
        let hertz = self.metadata.clocks.values().next().map_or(1_000_000_000, |clock| clock.hertz);
        if hertz == 1_000_000_000 {
            return ticks;
        }
        u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(hertz)).unwrap_or(u64::MAX)
    }

    /// Name of its clock; `None` without one.
    pub fn clock(&self) -> Option<&str> {
        self.metadata.clocks.keys().next().map(String::as_str)
    }

    /// Nanoseconds between 1970 and the zero of [`Passage::at_ns`]; `None` without a clock.
    pub fn offset_ns(&self) -> Option<i128> {
        self.metadata.clocks.values().next().map(|clock| clock.offset_ns)
    }
}

fn is_stream(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name != "metadata" && !name.starts_with('.') && !name.ends_with(".idx")
}

/// The metadata's bytes; what has no end is none.
fn read_metadata(path: &Path) -> Result<Vec<u8>, CtfError> {
    const MOST: u64 = 64 << 20;
    let cannot = |why| CtfError::System(path.into(), why);
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes)).map_err(cannot)?;
    match bytes.len() as u64 > MOST {
        true => Err(cannot(io::Error::other("it has more than 64 MiB, and no trace's metadata has"))),
        false => Ok(bytes),
    }
}

/// The directory that has the metadata.
fn directory(path: &Path) -> Result<PathBuf, CtfError> {
    const DEEPEST: usize = 8;
    let mut here = vec![path.to_owned()];
    for _ in 0..DEEPEST {
        if let Some(found) = here.iter().find(|path| path.join("metadata").is_file()) {
            return Ok(found.clone());
        }
        let below = |path: &PathBuf| {
            let entries = std::fs::read_dir(path).ok().into_iter().flatten();
            entries
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .filter(|path| path.is_dir())
                .collect::<Vec<_>>()
        };
        here = here.iter().flat_map(below).collect();
        here.sort();
    }
    Err(CtfError::NoMetadata(path.into()))
}

/// The metadata's text: plain, or in packets (CTF 1.8 §7.1).
fn text(bytes: &[u8]) -> Result<String, CtfError> {
    const MAGIC: u32 = 0x75D1_1D57;
    const HEADER: usize = 37;
    let word = |at: usize, big_endian: bool| {
        let word: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    };
    let Some(big_endian) = [false, true].into_iter().find(|&big| word(0, big) == Some(MAGIC)) else {
        return String::from_utf8(bytes.to_vec()).map_err(|_| CtfError::NotMetadata);
    };
    let (mut text, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let read = |offset| word(at + offset, big_endian).ok_or(CtfError::NotMetadata);
        // Magic 4, identity 16, checksum 4, then both lengths in bits.
        let (content, packet) = (read(24)? as usize / 8, read(28)? as usize / 8);
        if read(0)? != MAGIC || content < HEADER || packet < content {
            return Err(CtfError::NotMetadata);
        }
        text.extend(bytes.get(at + HEADER..at + content).ok_or(CtfError::NotMetadata)?);
        at += packet;
    }
    String::from_utf8(text).map_err(|_| CtfError::NotMetadata)
}

fn wanted(metadata: &Metadata, names: &[(&str, &str, &str)]) -> BTreeMap<(u64, u64), Wanted> {
    let place = |event: &EventClass, name: &str| {
        event
            .fields
            .fields
            .iter()
            .position(|(field, _)| field == name || field.strip_prefix('_') == Some(name))
    };
    let mut wanted = BTreeMap::new();
    for (&stream, class) in &metadata.streams {
        for (&id, event) in &class.events {
            let asked = names.iter().enumerate().find(|(_, (name, ..))| *name == event.name);
            if let Some((which, (_, pipe, n))) = asked
                && let (Some(pipe), Some(n)) = (place(event, pipe), place(event, n))
            {
                wanted.insert((stream, id), Wanted { which, pipe, n });
            }
        }
    }
    wanted
}
