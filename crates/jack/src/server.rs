//! A JACK server of our own, with the dummy driver: no sound card, and the clock is this machine's.

use crate::server_output::{complaint, ours};
use crate::sys::{self, Client};
use std::fmt::Write as _;
use std::io::{self, BufReader};
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
    /// The system did not start a thread for what it says.
    NoThread(io::Error),
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

impl Server {
    /// Starts `jackd` and joins it, with room for so many cycles. Its name begins with `own`.
    ///
    /// A jackd that is killed keeps its place in the registry until one of the same name starts. Where no place is left,
    /// ours starts under the name of a server of ours that is no more.
    pub(crate) fn start(own: &str, driver: Driver, room: usize) -> Result<(Self, Client), Refused> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let name = format!("{own}-{}", STARTED.fetch_add(1, Ordering::Relaxed));
        let said = match Self::named(name, driver)?.joined(room) {
            Err(Refused::Ended(said)) if said.contains(FULL) => said,
            other => return other,
        };
        let registry = std::fs::read(REGISTRY).unwrap_or_default();
        let user = std::fs::metadata("/proc/self").map_or(0, |own| own.uid());
        // Of another container's process there is no number here, but the directory of who started it.
        let is_held = |name: &str| {
            name.rsplit_once('-').is_some_and(|(own, _)| Path::new("/dev/shm").join(own).exists())
        };
        let is_gone =
            |process: u32, name: &str| !Path::new(&format!("/proc/{process}")).exists() && !is_held(name);
        // One that lives would be joined before ours is refused its name.
        for (_, name) in ours(&registry, user).into_iter().filter(|(process, name)| is_gone(*process, name)) {
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
        let stderr = child.stderr.take();
        let mut server = Self { child, name, said: None };
        let listen = |stderr| thread::Builder::new().spawn(|| complaint(BufReader::new(stderr)));
        server.said = stderr.map(listen).transpose().map_err(Refused::NoThread)?;
        Ok(server)
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
