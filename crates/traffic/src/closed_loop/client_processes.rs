//! Many clients that pace themselves, each a process of its own.

use super::outcome::ClosedLoopOutcome;
use super::plan::{ClientPace, ClientPlan, ClientReply};
use super::report::ClientReport;
use crate::error::UdpError;
use crate::placement::affinity::Seat;
use crate::sys::{ask_to_end, monotonic_ns};
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The program that is a client when it is started with these words and then those of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientProgram {
    /// The program.
    pub path: PathBuf,
    /// Its first words.
    pub words: Vec<OsString>,
}

/// What all clients of a trial share.
#[derive(Clone, Debug)]
pub struct ClientProcesses {
    /// Where they send.
    pub target: SocketAddr,
    /// Tag of the trial.
    pub tag: u32,
    /// When each sends, by its number.
    pub paces: Vec<ClientPace>,
    /// What comes back.
    pub reply: ClientReply,
    /// Whether what comes back must be what was sent.
    pub same: bool,
    /// Whether the kernel is asked for stamps of replies and of a sample of packets.
    pub stamped: bool,
    /// UDP payload in bytes.
    pub payload: u32,
    /// Chance of the trial.
    pub seed: u64,
    /// How long they send.
    pub duration: Duration,
    /// Where they run.
    pub seat: Seat,
}

/// Clients at work; dropping them ends them.
#[derive(Debug)]
pub struct RunningClients {
    children: Vec<Child>,
    from_ns: u64,
    until_ns: u64,
}

/// From the start of the first client to its first packet, and more for each further client: a process is
/// started in about a millisecond, several on a busy machine.
const LEAD: Duration = Duration::from_millis(400);
const LEAD_EACH: Duration = Duration::from_millis(8);
/// Exit code of a client that was asked to end before it sent anything; what a signal ends has none.
const UNHEARD: i32 = 130;
/// How long after its end a client may take to say what it did.
const GRACE: Duration = Duration::from_secs(20);
/// The same of clients that were asked to end; a reply is waited for half a second.
const STOPPED: Duration = Duration::from_secs(5);

impl ClientProcesses {
    /// Starts all clients. They begin together, when the last one has had time to start.
    ///
    /// # Errors
    /// If the system does not start them.
    pub fn start(&self, program: &ClientProgram) -> io::Result<RunningClients> {
        let clients = u32::try_from(self.paces.len()).unwrap_or(u32::MAX);
        let from_ns = monotonic_ns() + (LEAD + LEAD_EACH * clients).as_nanos() as u64;
        let until_ns = from_ns + self.duration.as_nanos() as u64;
        let mut running =
            RunningClients { children: Vec::with_capacity(self.paces.len()), from_ns, until_ns };
        for (pace, number) in self.paces.iter().zip(0..) {
            let plan = ClientPlan {
                target: self.target,
                tag: self.tag,
                number,
                clients,
                payload: self.payload,
                pace: pace.clone(),
                reply: self.reply,
                same: self.same,
                stamped: self.stamped,
                seed: self.seed,
                from_ns,
                until_ns,
                seat: self.seat,
            };
            let mut command = Command::new(&program.path);
            command.args(&program.words).args(plan.to_words());
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
            running.children.push(command.spawn()?);
        }
        Ok(running)
    }
}

impl RunningClients {
    /// When they begin to send, by the machine's monotonic clock.
    pub fn from_ns(&self) -> u64 {
        self.from_ns
    }

    /// Waits for their end and adds up what they did. When they are to stop, they are asked to end at once.
    ///
    /// # Errors
    /// If a client did not say what it did.
    pub fn gather(mut self, are_to_stop: impl Fn() -> bool) -> Result<ClosedLoopOutcome, UdpError> {
        let mut stopped_ns = None;
        while monotonic_ns() < self.until_ns {
            if are_to_stop() {
                stopped_ns = Some(monotonic_ns().saturating_sub(self.from_ns));
                self.children.iter().for_each(ask_to_end);
                break;
            }
            let left = Duration::from_nanos(self.until_ns.saturating_sub(monotonic_ns()));
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        let pipes = self.children.iter_mut().filter_map(|child| child.stdout.take());
        let readers: Vec<_> = pipes.map(read_all).collect::<Result<_, _>>().map_err(UdpError::Thread)?;
        let grace = if stopped_ns.is_some() { STOPPED } else { GRACE };
        let deadline = monotonic_ns() + grace.as_nanos() as u64;
        let mut gathered = ClosedLoopOutcome::from(self.from_ns, stopped_ns);
        for (client, reader) in readers.into_iter().enumerate() {
            while !reader.is_finished() {
                if monotonic_ns() > deadline {
                    return Err(if stopped_ns.is_some() { UdpError::Interrupted } else { no_report() });
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            let bytes = reader.join().unwrap_or_default();
            let ended = self.children[client].wait();
            // Asked to end before it could listen for that, and so before its first packet.
            if stopped_ns.is_some() && bytes.is_empty() && ended.is_ok_and(is_unheard) {
                continue;
            }
            let report = ClientReport::read(&bytes).ok_or_else(no_report)?;
            gathered.add(client, report);
        }
        Ok(gathered.in_order())
    }
}

impl Drop for RunningClients {
    fn drop(&mut self) {
        for child in &mut self.children {
            // One that ended already is only waited for.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether a client was ended before it listened.
fn is_unheard(status: ExitStatus) -> bool {
    matches!(status.code(), None | Some(UNHEARD))
}

fn read_all(mut pipe: std::process::ChildStdout) -> io::Result<std::thread::JoinHandle<Vec<u8>>> {
    std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        // What was cut is seen when it is read.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn no_report() -> UdpError {
    UdpError::System {
        doing: "running the clients",
        source: io::Error::other("a client process ended without saying what it did"),
    }
}

// The portable way asks no process to end.
#[cfg(all(test, target_os = "linux", not(feature = "portable")))]
mod tests {
    use super::*;
    use dropline_trial::Think;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn clients_that_were_stopped_before_they_could_listen_for_it_did_nothing() {
        let ended = |script: &str| {
            let program = ClientProgram { path: "/bin/sh".into(), words: vec!["-c".into(), script.into()] };
            crowd().start(&program).unwrap().gather(|| true)
        };
        let gathered = ended("exec sleep 60").unwrap();
        assert_eq!((gathered.is_stopped(), gathered.offered()), (true, 0));
        // One that breaks may have sent, and nobody knows what.
        let exited = |code: i32| ExitStatus::from_raw(code << 8);
        assert!(is_unheard(exited(UNHEARD)) && !is_unheard(exited(101)) && !is_unheard(exited(0)));
    }

    fn crowd() -> ClientProcesses {
        ClientProcesses {
            target: "127.0.0.1:9".parse().unwrap(),
            tag: 1,
            paces: vec![ClientPace::Think(Think::Yield); 2],
            reply: ClientReply::Awaited,
            same: true,
            stamped: false,
            payload: 64,
            seed: 1,
            duration: Duration::from_secs(60),
            seat: Seat::default(),
        }
    }
}
