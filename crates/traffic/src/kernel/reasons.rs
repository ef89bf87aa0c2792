//! Why the kernel dropped packets, by its own word: the tracepoint `skb:kfree_skb`, counted in the kernel.
//!
//! It is of the whole machine, all namespaces mixed, so it only names what no counter of a namespace explains; and
//! each drop costs the kernel a comparison more for each place that is asked for. Hence only places are asked for
//! that have no counter of their own.

use crate::sys::count_tracepoint;
use dropline_account::Place;
use dropline_netrules::drop_reasons::Format;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};

/// Counts drops by place since it was opened.
#[derive(Debug)]
pub(crate) struct Reasons {
    /// A file a CPU for each place; it reads as a number of 64 bits.
    counted: Vec<(Place, Vec<File>)>,
}

/// Places without a counter of their own, and the names of the kernel's reasons (net/dropreason-core.h).
const ASKED: [(Place, &[&str]); 6] = [
    (Place::Ingress, &["TC_INGRESS", "XDP"]),
    (Place::LinkDown, &["DEV_READY"]),
    (
        Place::Neighbour,
        &["NEIGH_CREATEFAIL", "NEIGH_DEAD", "NEIGH_FAILED", "NEIGH_HH_FILLFAIL", "NEIGH_QUEUEFULL"],
    ),
    (Place::Netfilter, &["NETFILTER_DROP"]),
    (Place::Softnet, &["CPU_BACKLOG"]),
    (Place::Unread, &["QUEUE_PURGE", "SOCKET_CLOSE"]),
];

impl Reasons {
    /// Begins to count.
    ///
    /// # Errors
    /// If the kernel has no such tracepoint, or the privilege lacks: `CAP_PERFMON`, and tracefs, which root may read.
    pub(crate) fn open() -> io::Result<Self> {
        let format = Format::read(&description()?).ok_or(io::ErrorKind::InvalidData)?;
        let mut counted = Vec::new();
        for (place, names) in ASKED {
            if let Some(filter) = format.filter(names) {
                counted.push((place, on_all_cpus(|cpu| count_tracepoint(format.id, cpu, &filter))?));
            }
        }
        Ok(Self { counted })
    }

    /// Drops so far, of the places whose counts can be read.
    pub(crate) fn read(&self) -> BTreeMap<Place, u64> {
        let count = |mut file: &File| {
            let mut bytes = [0; 8];
            file.read_exact(&mut bytes).ok().map(|()| u64::from_ne_bytes(bytes))
        };
        let place = |(place, files): &(Place, Vec<File>)| {
            Some((*place, files.iter().map(count).sum::<Option<u64>>()?))
        };
        self.counted.iter().filter_map(place).collect()
    }
}

/// From where tracefs is mounted, or from a mount of our own that nobody else sees.
fn description() -> io::Result<String> {
    use rustix::fs::{Mode, OFlags, openat};
    use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
    const PATH: &str = "events/skb/kfree_skb/format";
    for tracefs in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
        if let Ok(text) = std::fs::read_to_string(format!("{tracefs}/{PATH}")) {
            return Ok(text);
        }
    }
    let tracefs = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&tracefs)?;
    let mount = fsmount(&tracefs, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    let mut file = File::from(openat(&mount, PATH, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// One for each CPU that is there.
fn on_all_cpus(open: impl Fn(u32) -> io::Result<File>) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for cpu in 0.. {
        match open(cpu) {
            Ok(file) => files.push(file),
            // Switched off.
            Err(why) if why.raw_os_error() == Some(libc::ENODEV) => {}
            // There are no more.
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) && cpu > 0 => break,
            Err(why) => return Err(why),
        }
    }
    Ok(files)
}
