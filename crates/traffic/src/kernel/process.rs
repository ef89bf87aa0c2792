//! The process behind a socket: its CPU time, its waiting for a CPU, its context switches.

use super::view::whole;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A process whose threads are looked at.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its number.
    pub(crate) pid: u32,
    /// Its name, as the kernel has it.
    pub(crate) name: Option<String>,
    /// `schedstat` of each thread.
    threads: Vec<File>,
}

/// What the threads of a process used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// Time on a CPU, in ns.
    pub(crate) cpu_ns: u64,
    /// Time ready to run without a CPU, in ns.
    pub(crate) waited_ns: u64,
    /// Times that a thread was put on a CPU.
    pub(crate) switches: u64,
}

impl Process {
    /// The process that holds the socket with this number; `None` if none does that this user may look at.
    pub(crate) fn with_socket(inode: u64) -> Option<Self> {
        let wanted = PathBuf::from(format!("socket:[{inode}]"));
        let pids = numbers(Path::new("/proc"));
        let holds = |pid: &u32| {
            let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            files.into_iter().any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to == wanted))
        };
        Self::of(pids.into_iter().find(holds)?)
    }

    /// The process with this number; `None` if it is gone.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let tasks = PathBuf::from(format!("/proc/{pid}/task"));
        let threads: Vec<File> = numbers(&tasks)
            .into_iter()
            .filter_map(|thread| File::open(tasks.join(thread.to_string()).join("schedstat")).ok())
            .collect();
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        let name = name.map(|name| name.trim_end().to_owned());
        (!threads.is_empty()).then_some(Self { pid, name, threads })
    }

    /// What its threads used so far; `None` if all have ended.
    pub(crate) fn used(&self) -> Option<Used> {
        let rows = self.threads.iter().filter_map(|file| Used::read(&whole(file)));
        rows.reduce(|a, b| Used {
            cpu_ns: a.cpu_ns.saturating_add(b.cpu_ns),
            waited_ns: a.waited_ns.saturating_add(b.waited_ns),
            switches: a.switches.saturating_add(b.switches),
        })
    }
}

impl Used {
    /// Reads `schedstat`: time on a CPU, time waited for one, times put on one.
    fn read(line: &str) -> Option<Self> {
        let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
        Some(Self { cpu_ns: numbers.next()??, waited_ns: numbers.next()??, switches: numbers.next()?? })
    }
}

fn numbers(directory: &Path) -> Vec<u32> {
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten();
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn a_socket_leads_to_its_process() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let file = std::fs::metadata(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&socket)));
        let process = Process::with_socket(file.unwrap().ino()).unwrap();
        assert_eq!(process.pid, std::process::id());
        assert!(process.name.is_some() && process.used().is_some());
        assert!(Process::with_socket(u64::MAX).is_none() && Process::of(u32::MAX).is_none());
    }

    #[test]
    fn three_numbers_are_read_and_fewer_are_none() {
        assert_eq!(Used::read("7 8 9\n"), Some(Used { cpu_ns: 7, waited_ns: 8, switches: 9 }));
        assert_eq!((Used::read(""), Used::read("7 8"), Used::read("a b c")), (None, None, None));
    }
}
