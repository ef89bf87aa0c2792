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
    busiest: Busiest,
}

/// What the threads of a process used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// Time on a CPU, in ns, of all threads.
    pub(crate) cpu_ns: u64,
    /// The same of the busiest thread, since it was first looked at.
    pub(crate) busiest_cpu_ns: u64,
    /// Time ready to run without a CPU, in ns, of the busiest thread, since it was first looked at: what the others waited
    /// meanwhile kept nobody waiting.
    pub(crate) waited_ns: u64,
    /// Times that a thread was put on a CPU.
    pub(crate) switches: u64,
}

/// What one thread used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ThreadUsed {
    cpu_ns: u64,
    waited_ns: u64,
    switches: u64,
}

/// Of the threads of a process, the one that ran most since they were first looked at.
#[derive(Debug, Default)]
struct Busiest {
    first: Vec<ThreadUsed>,
    last: Vec<ThreadUsed>,
    waited_ns: u64,
}

impl Busiest {
    /// Looks at all of them; how long the busiest ran, and waited, so far.
    fn look(&mut self, now: Vec<ThreadUsed>) -> (u64, u64) {
        if self.first.len() != now.len() {
            (self.first, self.last, self.waited_ns) = (now.clone(), now.clone(), 0);
        }
        let ran = |at: usize| now[at].cpu_ns.saturating_sub(self.first[at].cpu_ns);
        let Some(at) = (0..now.len()).max_by_key(|&at| ran(at)) else { return (0, 0) };
        let ran_ns = ran(at);
        self.waited_ns += now[at].waited_ns.saturating_sub(self.last[at].waited_ns);
        self.last = now;
        (ran_ns, self.waited_ns)
    }
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
        (!threads.is_empty()).then(|| Self { pid, name, threads, busiest: Busiest::default() })
    }

    /// The next look at its threads is the first one.
    pub(crate) fn begin_anew(&mut self) {
        self.busiest = Busiest::default();
    }

    /// What its threads used so far; `None` if all have ended.
    pub(crate) fn used(&mut self) -> Option<Used> {
        let each: Vec<Option<ThreadUsed>> =
            self.threads.iter().map(|file| ThreadUsed::read(&whole(file))).collect();
        if each.iter().all(Option::is_none) {
            return None;
        }
        // One that has ended used nothing more.
        let last = self.busiest.last.iter().copied().map(Some).chain(std::iter::repeat(None));
        let each: Vec<ThreadUsed> =
            each.into_iter().zip(last).map(|(now, last)| now.or(last).unwrap_or_default()).collect();
        let sum = |of: fn(&ThreadUsed) -> u64| each.iter().map(of).fold(0, u64::saturating_add);
        let (cpu_ns, switches) = (sum(|thread| thread.cpu_ns), sum(|thread| thread.switches));
        let (busiest_cpu_ns, waited_ns) = self.busiest.look(each);
        Some(Used { cpu_ns, busiest_cpu_ns, waited_ns, switches })
    }
}

impl ThreadUsed {
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
        let mut process = Process::with_socket(file.unwrap().ino()).unwrap();
        assert_eq!(process.pid, std::process::id());
        assert!(process.name.is_some() && process.used().is_some());
        assert!(Process::with_socket(u64::MAX).is_none() && Process::of(u32::MAX).is_none());
    }

    #[test]
    fn three_numbers_are_read_and_fewer_are_none() {
        assert_eq!(ThreadUsed::read("7 8 9\n"), Some(ThreadUsed { cpu_ns: 7, waited_ns: 8, switches: 9 }));
        assert_eq!(["", "7 8", "a b c"].map(ThreadUsed::read), [None; 3]);
    }

    #[test]
    fn the_wait_of_a_process_is_that_of_its_busiest_thread_and_not_the_sum_over_threads() {
        let used = |cpu_ns, waited_ns| ThreadUsed { cpu_ns, waited_ns, switches: 0 };
        let mut busiest = Busiest::default();
        // A reader that ran and waited before anybody looked, and a worker.
        assert_eq!(busiest.look(vec![used(9_000, 9_000), used(0, 0)]), (0, 0));
        assert_eq!(busiest.look(vec![used(9_010, 9_400), used(100, 100)]), (100, 100));
        assert_eq!(busiest.look(vec![used(9_020, 9_900), used(300, 450)]), (300, 450));
    }
}
