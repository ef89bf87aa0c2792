//! What a killed program left behind, known by the name: whose it was, and when that one began.

use crate::{LabError, program};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Where the names of namespaces are.
pub(crate) const NAMES: &str = "/run/netns";
/// First part of every name.
const OURS: &str = "dropline";

/// The name of a namespace of process `pid`. The start of the process is in it, as ids come again.
pub(crate) fn name(pid: u32, number: u32, role: &str) -> io::Result<String> {
    let began = began(pid).ok_or(io::ErrorKind::NotFound)?;
    Ok(format!("{OURS}-{pid}-{began}-{number}-{role}"))
}

/// Where the lock of each namespace is. Not its name under `/run/netns`: a process with mounts of its own sees another
/// file there.
const LOCKS: &str = "/run/dropline-lab";

/// Locks a name before there is a namespace of it. The kernel takes the lock back when its holder ends, however it ends:
/// processes of another container have numbers of their own, and are alive all the same.
pub(crate) fn lock(name: &str) -> io::Result<File> {
    std::fs::create_dir_all(LOCKS)?;
    let mut lock = File::create(Path::new(LOCKS).join(name))?;
    lock.try_lock()?;
    lock.write_all(numbering()?.as_bytes())?;
    Ok(lock)
}

/// The namespace in which this process has its number.
fn numbering() -> io::Result<String> {
    Ok(std::fs::read_link("/proc/self/ns/pid")?.to_string_lossy().into_owned())
}

/// The first of them, which sees the processes of all.
const FIRST_NUMBERING: &str = "pid:[4026531836]";

/// Whether this process sees what runs in a namespace of that name: another container's sees none of it, and would take
/// the name away from under it.
fn is_in_sight(name: &str) -> bool {
    let Ok(own) = numbering() else { return false };
    let of_maker = std::fs::read_to_string(Path::new(LOCKS).join(name));
    own == FIRST_NUMBERING || of_maker.is_ok_and(|maker| maker == own)
}

/// Whether somebody holds the lock of a name.
fn is_held(name: &str) -> bool {
    File::open(Path::new(LOCKS).join(name)).is_ok_and(|lock| lock.try_lock().is_err())
}

/// Removes the namespaces whose makers are no more, with what still runs in them.
pub(crate) fn sweep() {
    for name in std::fs::read_dir(NAMES).into_iter().flatten().flatten() {
        let name = name.file_name();
        if let Some(name) = name.to_str()
            && let Some((pid, then)) = maker(name)
            && began(pid) != Some(then)
            && !is_held(name)
            && is_in_sight(name)
        {
            remove(name);
        }
    }
}

/// How often what runs in a namespace is ended, as it may have started others meanwhile, and takes a moment to be gone.
const TRIES: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(10);

/// Ends what runs in a namespace and removes its name; the kernel removes its interfaces with it.
pub(crate) fn remove(name: &str) {
    for _ in 0..TRIES {
        match processes(name) {
            Ok(inside) if inside.is_empty() => break,
            Ok(inside) => inside.iter().for_each(|pid| {
                let _ = program::run("kill", &["-KILL", &pid.to_string()]);
            }),
            // What runs in it is not known: that is not nothing.
            Err(_) => {}
        }
        std::thread::sleep(BETWEEN);
    }
    let _ = program::run("ip", &["netns", "del", name]);
    let _ = std::fs::remove_file(Path::new(LOCKS).join(name));
}

pub(crate) fn processes(name: &str) -> Result<Vec<u32>, LabError> {
    let listed = program::run("ip", &["netns", "pids", name])?;
    // Threads of this very program may be inside; it does not end itself.
    Ok(listed
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .filter(|&pid| pid != std::process::id())
        .collect())
}

/// Who made the namespace of that name, and when that process began.
fn maker(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(OURS)?.strip_prefix('-')?.splitn(4, '-');
    let (pid, began, number) = (parts.next()?, parts.next()?, parts.next()?);
    number.parse::<u32>().ok()?;
    Some((pid.parse().ok()?, began.parse().ok()?))
}

/// When a process began, in clock ticks since the machine did (field 22 of its `stat`); `None` if it is gone.
fn began(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is its name, which may hold anything, brackets included.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_whose_it_is() {
        let mine = name(std::process::id(), 3, "client-a").unwrap();
        assert_eq!(maker(&mine), Some((std::process::id(), began(std::process::id()).unwrap())));
    }

    #[test]
    fn names_of_others_are_nobodys() {
        for name in ["", "dropline", "dropline-1", "dropline-1-2", "dropline77-1", "blue", "dropline-a-2-3-x"]
        {
            assert_eq!(maker(name), None, "{name}");
        }
    }

    #[test]
    fn a_process_that_is_gone_began_never() {
        assert!(began(std::process::id()).is_some());
        assert_eq!(began(u32::MAX), None);
    }
}
