//! A JACK server of our own, with the dummy driver: no sound card, and the clock is this machine's.

use crate::sys::{self, Client};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Ended when it is dropped.
pub(crate) struct Server {
    child: Child,
    name: String,
}

/// A server that does not answer for so long never will.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

impl Server {
    /// Starts `jackd`.
    pub(crate) fn start(realtime: Option<u8>, rate: u32, period: u32) -> io::Result<Self> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let name = format!("dropline-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new("jackd");
        match realtime {
            Some(priority) => command.args(["-R", "-P", &priority.to_string()]),
            None => command.arg("-r"),
        };
        command
            .args(["-n", &name, "-d", "dummy", "-r", &rate.to_string(), "-p", &period.to_string()])
            .env("JACK_NO_AUDIO_RESERVATION", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self { child: sys::start_with_us(&mut command)?, name })
    }

    /// Its name, for clients.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Joins it as soon as it answers; `None` if it ended, or does not.
    pub(crate) fn join(&mut self, room: usize) -> Option<Client> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            if let Ok(client) = Client::join(&self.name, room) {
                return Some(client);
            }
            thread::sleep(LOOK);
        }
        None
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        sys::terminate(&self.child);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
