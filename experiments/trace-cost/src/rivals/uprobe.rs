//! Places in this program where the kernel counts who passes: a function's entry, and a USDT probe.

use object::{Object as _, ObjectSection as _, ObjectSegment as _};
use perf_event::events::{Event, EventData};
use perf_event::{Builder, Counter};
use perf_event_open_sys::bindings::perf_event_attr;
use std::ffi::CString;
use std::hint::black_box;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::Arc;

/// Counters that the kernel keeps, a breakpoint each; gone when dropped.
pub struct Attached(Vec<Counter>);

/// What is probed at its entry. It calls something, so it begins with a push, as most functions do; an instruction that
/// the kernel cannot play itself is stepped over, which takes many times as long.
#[inline(never)]
pub fn traced(n: u64) {
    work(n);
    black_box(());
}

#[inline(never)]
fn work(n: u64) {
    black_box(n);
}

impl Attached {
    /// Attaches to the entry of [`traced`].
    pub fn to_function() -> Result<Self, String> {
        let offset = offset_in_file(traced as fn(u64) as usize).ok_or("the function is in no file")?;
        Self::at(&[offset as u64])
    }

    /// Attaches wherever this program has the USDT probe.
    pub fn to_usdt(provider: &str, name: &str) -> Result<Self, String> {
        let program = std::env::current_exe().and_then(std::fs::read).map_err(|why| why.to_string())?;
        let offsets = usdt_offsets(&program, provider, name).ok_or("this program's notes cannot be read")?;
        Self::at(&offsets)
    }

    fn at(offsets: &[u64]) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|why| why.to_string())?;
        let program =
            Arc::new(CString::new(program.into_os_string().into_vec()).map_err(|why| why.to_string())?);
        let kind = std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type");
        let kind = kind.ok().and_then(|text| text.trim().parse().ok());
        let kind = kind.ok_or("this kernel has no uprobes: CONFIG_UPROBE_EVENTS is off")?;
        let attach = |&offset: &u64| {
            let place = Place { kind, program: Arc::clone(&program), offset };
            let mut counter = Builder::new(place).build()?;
            counter.enable()?;
            Ok(counter)
        };
        let attached: std::io::Result<_> = offsets.iter().map(attach).collect();
        attached.map(Self).map_err(|why| format!("uprobes are not allowed (root, or CAP_PERFMON): {why}"))
    }

    /// How often the kernel saw somebody pass.
    pub fn seen(&mut self) -> u64 {
        self.0.iter_mut().filter_map(|counter| counter.read().ok()).sum()
    }
}

/// A place in a file, as the kernel's event source for uprobes wants it.
struct Place {
    kind: u32,
    program: Arc<CString>,
    offset: u64,
}

impl Event for Place {
    fn update_attrs(self, attr: &mut perf_event_attr) {
        attr.type_ = self.kind;
        attr.kprobe_func = self.program.as_ptr() as usize as u64;
        attr.probe_offset = self.offset;
    }

    fn update_attrs_with_data(self, attr: &mut perf_event_attr) -> Option<Arc<dyn EventData>> {
        // The kernel reads the path when the counter is made.
        let path = Arc::clone(&self.program);
        self.update_attrs(attr);
        Some(path)
    }
}

fn offset_in_file(address: usize) -> Option<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let hex = |text| usize::from_str_radix(text, 16).ok();
        let (from, to) = (hex(from)?, hex(to)?);
        let offset = hex(words.nth(1)?)?;
        (from..to).contains(&address).then(|| address - from + offset)
    })
}

/// Where in the file the places of a USDT probe are: each has a note (SystemTap's, type 3) that begins with its address.
fn usdt_offsets(program: &[u8], provider: &str, name: &str) -> Option<Vec<u64>> {
    let file = object::File::parse(program).ok()?;
    let mut notes = file.section_by_name(".note.stapsdt")?.data().ok()?;
    let word = |bytes: &[u8], at: usize| -> Option<u64> {
        Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    };
    let wanted = [provider.as_bytes(), b"\0", name.as_bytes(), b"\0"].concat();
    let mut addresses = Vec::new();
    while notes.len() > 12 {
        let sizes = word(notes, 0)?;
        let (name_bytes, bytes) = ((sizes as u32).next_multiple_of(4) as usize, (sizes >> 32) as usize);
        let note = notes.get(12 + name_bytes..12 + name_bytes + bytes)?;
        // The address, one that the linker may move both by, a semaphore; then provider, name and arguments.
        if note.get(24..)?.starts_with(&wanted) {
            let moved = file.section_by_name(".stapsdt.base").map_or(0, |base| base.address());
            addresses.push(word(note, 0)?.wrapping_add(moved).wrapping_sub(word(note, 8)?));
        }
        notes = notes.get(12 + name_bytes + bytes.next_multiple_of(4)..).unwrap_or_default();
    }
    let in_file = |address: &u64| {
        let segment =
            file.segments().find(|part| (part.address()..part.address() + part.size()).contains(address))?;
        Some(address - segment.address() + segment.file_range().0)
    };
    addresses.iter().map(in_file).collect()
}
