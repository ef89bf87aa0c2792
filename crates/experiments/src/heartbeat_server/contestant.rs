//! A server as a process of its own: started, sent to, stood still, looked at, ended.

use super::Account;
use crate::heartbeat_cost::program;
use crate::heartbeat_cost::server::cpu_ns;
use dropline_aggregator::wire::PACKET_BYTES;
use dropline_archive::temporary::Scratch;
use dropline_failure::Failure;
use dropline_traffic::datagrams::Outbox;
use dropline_traffic::{Farewell, Signal, Started, TargetSocket, start_with_us};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Receive buffer that our server asks for.
pub(super) const BUFFER_BYTES: u64 = 4 << 20;
/// How long a server may take for anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the rival is built.
pub(super) struct Workshop {
    directory: Scratch,
    dropline: PathBuf,
}

impl Workshop {
    /// Builds the rival with the flags of the original's notes.
    ///
    /// # Errors
    /// If there is no compiler.
    pub(super) fn open() -> Result<Self, Failure> {
        const RIVAL: &str = include_str!("../../../../experiments/heartbeat-server/original_like.c");
        let directory = Scratch::new()
            .map_err(|why| Failure::environment(format!("cannot make a directory to build in: {why}")))?;
        std::fs::write(directory.path().join("rival.c"), RIVAL).map_err(Failure::environment)?;
        program::run(directory.path(), "gcc", &["-Os", "-std=gnu11", "-o", "rival", "rival.c"])
            .map_err(Failure::environment)?;
        let dropline = std::env::current_exe().map_err(Failure::environment)?;
        Ok(Self { directory, dropline })
    }

    /// The server with the original's habits.
    pub(super) fn original(&self) -> Result<Contestant, Failure> {
        Contestant::start(Command::new(self.directory.path().join("rival")), Path::new("the rival"))
    }

    /// `dropline heartbeat serve`, without limits.
    pub(super) fn ours(&self, more: &[&str]) -> Result<Contestant, Failure> {
        let mut command = Command::new(&self.dropline);
        command.args(["heartbeat", "serve", "--listen", "127.0.0.1:0", "--no-limits", "--json"]);
        command.args(["--buffer", &format!("{BUFFER_BYTES}B")]).args(more);
        Contestant::start(command, &self.dropline)
    }
}

/// A server at work; dropping it ends it.
pub(super) struct Contestant {
    child: Started,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
    /// Connected to it.
    pub(super) socket: UdpSocket,
    at_socket: TargetSocket,
    /// Datagrams sent to it so far.
    pub(super) sent: u64,
}

impl Contestant {
    fn start(mut command: Command, name: &Path) -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::environment(format!("cannot start {}: {why}", name.display()))
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = start_with_us(&mut command, Farewell::Killed).map_err(|why| failed(&why))?;
        let mut output = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let mut line = String::new();
        let address = output
            .read_line(&mut line)
            .ok()
            .and_then(|_| line.trim().strip_prefix("listening udp ")?.parse::<SocketAddr>().ok());
        let Some((address, at_socket)) = address.and_then(|found| Some((found, TargetSocket::find(found)?)))
        else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(&format!("it says {line:?}")));
        };
        let socket = dropline_aggregator::client::connect(address).map_err(|why| failed(&why))?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(|why| failed(&why))?;
        Ok(Self { child, output, address, socket, at_socket, sent: 0 })
    }

    /// Sends one datagram.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.socket.send(bytes).map_err(|why| self.lost(&why))?;
        self.sent += 1;
        Ok(())
    }

    /// Sends the packets that were collected, all of them.
    pub(super) fn send_all(&mut self, outbox: &mut Outbox<PACKET_BYTES>) -> Result<(), Failure> {
        let mut first = 0;
        while first < outbox.len() {
            first += outbox.send(&self.socket, first).map_err(|why| self.lost(&why))?;
        }
        self.sent += outbox.len() as u64;
        outbox.clear();
        Ok(())
    }

    /// Packets that found its buffer full so far.
    pub(super) fn drops(&self) -> Result<u64, Failure> {
        self.look().map(|seen| seen.drops)
    }

    fn look(&self) -> Result<dropline_traffic::AtSocket, Failure> {
        self.at_socket.look().ok_or_else(|| self.lost(&"its socket is gone"))
    }

    /// Stops it until [`go_on`](Self::go_on).
    pub(super) fn stand_still(&self) -> Result<(), Failure> {
        self.signal(Signal::STOP)?;
        self.wait_until("it does not stand still", || Ok(self.state()? == "T"))
    }

    /// Lets it go on.
    pub(super) fn go_on(&self) -> Result<(), Failure> {
        self.signal(Signal::CONT)
    }

    /// Waits until nothing waits at its socket and it sleeps.
    pub(super) fn drained(&self) -> Result<(), Failure> {
        self.wait_until("it does not read what was sent", || Ok(self.look()?.waiting_bytes == 0))?;
        self.wait_until("it does not come to rest", || Ok(self.state()? == "S"))
    }

    /// CPU time of its threads so far, in ns.
    pub(super) fn cpu_ns(&self) -> Result<u64, Failure> {
        cpu_ns(self.child.id()).map_err(Failure::environment)
    }

    /// The state that all its threads are in; empty if they differ.
    fn state(&self) -> Result<String, Failure> {
        let tasks =
            std::fs::read_dir(format!("/proc/{}/task", self.child.id())).map_err(|why| self.lost(&why))?;
        let mut all: Option<String> = None;
        for task in tasks {
            let stat = task.and_then(|task| std::fs::read_to_string(task.path().join("stat")));
            let stat = stat.map_err(|why| self.lost(&why))?;
            let state = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').next()).unwrap_or_default();
            match &all {
                Some(other) if other != state => return Ok(String::new()),
                _ => all = Some(state.to_owned()),
            }
        }
        Ok(all.unwrap_or_default())
    }

    fn wait_until(&self, else_: &str, done: impl Fn() -> Result<bool, Failure>) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        while !done()? {
            if Instant::now() > until {
                return Err(self.lost(&else_));
            }
            std::thread::sleep(Duration::from_micros(300));
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        self.child.signal(signal).map_err(|why| self.lost(&why))
    }

    /// Ends ours as Ctrl-C does, and reads its counts.
    pub(super) fn end(&mut self) -> Result<Account, Failure> {
        self.drained()?;
        self.signal(Signal::INT)?;
        let mut text = String::new();
        self.output.read_to_string(&mut text).map_err(|why| self.lost(&why))?;
        let counts: Value = serde_json::from_str(&text).map_err(|why| self.lost(&why))?;
        let sum =
            |key: &str| counts[key].as_object().into_iter().flatten().filter_map(|(_, n)| n.as_u64()).sum();
        let count =
            |key: &str| counts[key].as_u64().ok_or_else(|| self.lost(&format!("it does not say {key}")));
        Ok(Account {
            sent: self.sent,
            stored: count("stored")?,
            rejected: sum("rejected"),
            requests: sum("requests"),
            dropped: count("dropped_socket")?,
            buffer_bytes: count("receive_buffer_bytes")?,
        })
    }

    fn lost(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::environment(format!("the server at {}: {why}", self.address))
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
