//! One run: a server and its clients, each a process, in their seats.

use super::observed::{Observed, PAYLOAD};
use super::row::{Layout, Row};
use dropline_archive::temporary::Scratch;
use dropline_failure::Failure;
use dropline_traffic::{ClientProcesses, ClientReply, Seat};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Priority of server and clients where they go before normal processes.
const FIFO: u8 = 10;
/// The server's own work for each packet.
const SERVICE: &str = "40us";

/// Performs one run. `fifo` as far as it is allowed.
///
/// # Errors
/// If the processes cannot be started, or the user wants to stop.
pub(super) fn perform(row: &Row, run: u32, fifo: bool, stop: &AtomicBool) -> Result<Observed, Failure> {
    let directory = Scratch::new().map_err(|why| failed("making a directory", &why))?;
    let times_file = directory.path().join("times");
    let priority = fifo.then_some(FIFO);
    let (server_cpu, clients_cpu) = match row.layout {
        Layout::One => (0, 0),
        Layout::Two => (1, 0),
    };
    let mut server = Server::start(row, server_cpu, priority, &times_file)?;
    let program = dropline_targets::udp::client_program(&dropline_targets::ProgramFile::Own)?;
    let crowd = ClientProcesses {
        target: server.address,
        tag: run,
        paces: row.paces(),
        reply: ClientReply::None,
        same: false,
        stamped: false,
        payload: PAYLOAD,
        seed: u64::from(run),
        duration: Duration::from_secs(row.seconds.into()),
        seat: Seat { cpu: Some(clients_cpu), fifo: priority },
    };
    let running = crowd.start(&program).map_err(|why| failed("starting the clients", &why))?;
    let gathered = running
        .gather(|| stop.load(Ordering::Relaxed))
        .map_err(|why| dropline_targets::udp::failure(&why))?;
    if gathered.is_stopped() {
        return Err(Failure::interrupted());
    }
    // What still waits is served: 256 packets take 11 ms.
    std::thread::sleep(Duration::from_millis(100));
    let dropped = server.end()?;
    let times = read_times(&times_file)?;
    Observed::of(row, run, fifo, &gathered.left_ns(), &times, dropped)
        .ok_or_else(|| Failure::environment(format!("{}: the server read next to nothing", row.key())))
}

/// Whether processes may go before normal ones here: asked by starting one.
pub(super) fn may_go_first() -> bool {
    let row = &Row::small()[0];
    Scratch::new().is_ok_and(|directory| {
        Server::start(row, 0, Some(FIFO), &directory.path().join("times"))
            .and_then(|mut server| server.end())
            .is_ok()
    })
}

/// `dropline serve`, as its own process; it ends with its standard input.
struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Server {
    fn start(row: &Row, cpu: u32, fifo: Option<u8>, times: &Path) -> Result<Self, Failure> {
        let path = std::env::current_exe().map_err(|why| failed("finding this program", &why))?;
        let mut command = Command::new(path);
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--service-time",
            SERVICE,
            "--queue",
            "0",
            "--json",
        ]);
        command.args(["--until-eof", "--buffer", &format!("{}B", row.buffer_bytes())]);
        command.args(["--cpu", &cpu.to_string()]).arg("--times").arg(times);
        if let Some(priority) = fifo {
            command.args(["--fifo", &priority.to_string()]);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| failed("starting the server", &why))?;
        let mut output = BufReader::new(child.stdout.take().expect("is piped"));
        let mut line = String::new();
        output.read_line(&mut line).map_err(|why| failed("reading from the server", &why))?;
        let address = line.trim().strip_prefix("listening udp ").and_then(|address| address.parse().ok());
        match address {
            Some(address) => Ok(Self { child, output, address }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(Failure::environment("the server did not start on its CPU"))
            }
        }
    }

    /// Ends it; what its socket dropped.
    fn end(&mut self) -> Result<u64, Failure> {
        drop(self.child.stdin.take());
        let said: serde_json::Value = serde_json::from_reader(&mut self.output).map_err(|why| {
            Failure::environment(format!("what the server printed when it ended cannot be read: {why}"))
        })?;
        let _ = self.child.wait();
        said["dropped_socket"]
            .as_u64()
            .ok_or_else(|| Failure::environment("this system does not say what a socket dropped"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is only waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line a packet: when it was read, when it was served.
fn read_times(path: &Path) -> Result<Vec<[u64; 2]>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|why| failed("reading the server's times", &why))?;
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (read, done) = line.split_once(' ')?;
            Some([read.parse().ok()?, done.parse().ok()?])
        })
        .collect::<Option<_>>()
        .ok_or_else(|| Failure::environment("the server's times are not numbers"))
}

fn failed(doing: &str, why: &std::io::Error) -> Failure {
    Failure::environment(format!("{doing} failed: {why}"))
}
