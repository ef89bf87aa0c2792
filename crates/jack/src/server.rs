//! A JACK server of our own, with the dummy driver: no sound card, and the clock is this machine's.

use crate::sys::{self, Client};
use dropline_printable::lines;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver {
    /// Its real-time priority; `None` for none.
    pub(crate) priority: Option<u8>,
    /// Frames a second.
    pub(crate) rate: u32,
    /// Frames.
    pub(crate) period: u32,
}

/// Ended when it is dropped.
pub(crate) struct Server {
    child: Child,
    name: String,
    /// The first of what it complains of.
    said: Option<JoinHandle<String>>,
}

/// Why there is none.
pub(crate) enum Refused {
    /// jackd is not installed.
    NotStarted(io::Error),
    /// It ended, or never answered: how, and what it said.
    Ended(String),
}

/// A server that does not answer for so long never will.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// Where each jackd of this machine enters itself.
const REGISTRY: &str = "/dev/shm/jack-shm-registry";
/// What jackd says when all eight places of it are taken.
const FULL: &str = "Too many servers already active";
/// How the names of servers of ours begin.
const OURS: &str = "dropline-";
/// Lines of a complaint that are kept.
const LINES: usize = 6;

impl Server {
    /// Starts `jackd` and joins it, with room for so many cycles.
    ///
    /// A jackd that is killed keeps its place in the registry until one of the same name starts. Where no place is left,
    /// ours starts under the name of a server of ours that is no more.
    pub(crate) fn start(driver: Driver, room: usize) -> Result<(Self, Client), Refused> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let name = format!("{OURS}{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let said = match Self::named(name, driver)?.joined(room) {
            Err(Refused::Ended(said)) if said.contains(FULL) => said,
            other => return other,
        };
        let registry = std::fs::read(REGISTRY).unwrap_or_default();
        let user = std::fs::metadata("/proc/self").map_or(0, |own| own.uid());
        let is_gone = |process: u32| !Path::new(&format!("/proc/{process}")).exists();
        // One that lives would be joined before ours is refused its name.
        for (_, name) in ours(&registry, user).into_iter().filter(|&(process, _)| is_gone(process)) {
            if let Ok(joined) = Self::named(name, driver)?.joined(room) {
                return Ok(joined);
            }
        }
        Err(Refused::Ended(format!(
            "{said} (end those that run; where none runs, those in {REGISTRY} were killed: remove that file)"
        )))
    }

    fn named(name: String, driver: Driver) -> Result<Self, Refused> {
        let mut command = Command::new("jackd");
        match driver.priority {
            Some(priority) => command.args(["-R", "-P", &priority.to_string()]),
            None => command.arg("-r"),
        };
        let (rate, period) = (driver.rate.to_string(), driver.period.to_string());
        command
            .args(["-n", &name, "-d", "dummy", "-r", &rate, "-p", &period])
            .env("JACK_NO_AUDIO_RESERVATION", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = sys::start_with_us(&mut command).map_err(Refused::NotStarted)?;
        let said = child.stderr.take().map(|stderr| thread::spawn(|| complaint(BufReader::new(stderr))));
        Ok(Self { child, name, said })
    }

    /// Its name, for clients.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Joins it as soon as it answers.
    fn joined(mut self, room: usize) -> Result<(Self, Client), Refused> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match self.child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => return Err(Refused::Ended(self.complaint(&status.to_string()))),
                Err(why) => return Err(Refused::NotStarted(why)),
            }
            if let Ok(client) = Client::join(&self.name, room) {
                return Ok((self, client));
            }
            thread::sleep(LOOK);
        }
        self.end();
        Err(Refused::Ended(self.complaint(&format!("it did not answer for {} s", PATIENCE.as_secs()))))
    }

    /// How it ended and what it said, after it ended.
    fn complaint(&mut self, how: &str) -> String {
        let mut whole = how.to_owned();
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        if !said.is_empty() {
            let _ = write!(whole, ": {said}");
        }
        whole
    }

    fn end(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        sys::terminate(&self.child);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The first lines that it writes. All are read, for one that writes into a full pipe stands still.
fn complaint(stderr: impl BufRead) -> String {
    let mut kept: Vec<String> = Vec::new();
    for line in lines(stderr) {
        let line = line.trim();
        if !line.is_empty() && kept.len() < LINES {
            kept.push(line.to_owned());
        }
    }
    kept.join("; ")
}

/// This user's servers in jackd's registry that are ours, by process and name: they stand there as the number of the
/// process and `jack-USER:NAME:`, which ends with a zero.
fn ours(registry: &[u8], user: u32) -> Vec<(u32, String)> {
    let before = format!("jack-{user}:").into_bytes();
    let entry = |at: usize| {
        let process: [u8; 4] = registry[at.checked_sub(4)?..at].try_into().ok()?;
        let name = registry[at + before.len()..].split(|byte| *byte == 0).next()?;
        let name = std::str::from_utf8(name).ok()?.strip_suffix(':')?;
        name.starts_with(OURS).then(|| (u32::from_ne_bytes(process), name.to_owned()))
    };
    let begins = |(at, window): (usize, &[u8])| (window == before).then_some(at);
    registry.windows(before.len()).enumerate().filter_map(begins).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An entry as jackd 1.9.21 writes it: the process, the name in 256 bytes, and what follows.
    fn entry(process: u32, name: &str) -> Vec<u8> {
        let mut bytes = process.to_ne_bytes().to_vec();
        bytes.extend(name.as_bytes());
        bytes.resize(268, 0);
        bytes
    }

    #[test]
    fn only_servers_of_ours_and_of_this_user_lose_their_place() {
        let registry = [
            b"KCAJ\0\0\0\0\x01\0\0\0X\x14\x01\0".to_vec(),
            entry(4254, "jack-0:dropline-3764-0:"),
            entry(27_150, "jack-0:default:"),
            entry(27_151, "jack-1000:dropline-9-0:"),
            // The last byte of a process's number may be a letter.
            entry(0x6a6a_6a6a, "jack-0:dropline-test:"),
            entry(0, ""),
        ]
        .concat();
        let of = |user| ours(&registry, user);
        assert_eq!(of(0), [(4254, "dropline-3764-0".into()), (0x6a6a_6a6a, "dropline-test".into())]);
        assert_eq!(of(1000), [(27_151, "dropline-9-0".into())]);
    }

    proptest! {
        #[test]
        fn any_bytes_give_only_names_that_stand_in_them(
            mut bytes: Vec<u8>,
            process: u32,
            name in "dropline-[a-z0-9-]{0,12}",
            at: prop::sample::Index,
        ) {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, entry(process, &format!("jack-7:{name}:")));
            let found = ours(&bytes, 7);
            prop_assert!(found.contains(&(process, name)));
            for (process, name) in found {
                let whole = [&process.to_ne_bytes()[..], format!("jack-7:{name}:").as_bytes()].concat();
                prop_assert!(bytes.windows(whole.len()).any(|window| window == whole));
            }
        }
    }
}
