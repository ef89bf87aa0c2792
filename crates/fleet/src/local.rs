//! A fleet on this machine, started for one measurement: a server, and agents. All of it ends with this process.

use crate::bus::{Bus, Login};
use crate::keys;
use dropline_failure::Failure;
use dropline_traffic::{Farewell, Started, start_with_us};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// So long a server may take to listen.
const LISTENS: Duration = Duration::from_secs(10);

/// A server and agents on this machine.
pub struct Local {
    count: u32,
    url: String,
    login: Login,
    // Ended in this order.
    agents: Vec<Started>,
    server: Started,
    directory: TempDir,
    /// Locked as long as this process lives, however it ends.
    _held: fs::File,
}

/// How the directories of such fleets are named, and the file in each that its process holds.
const PREFIX: &str = "dropline-fleet-";
const HELD: &str = "held";

/// Removes what is left of fleets whose process was killed: nobody holds their directories.
fn sweep(place: &Path) {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let is_ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    for entry in entries.filter(is_ours) {
        // One that was just made has no such file yet, and one of somebody else cannot be opened.
        let Ok(held) = fs::OpenOptions::new().write(true).open(entry.path().join(HELD)) else { continue };
        if held.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Local {
    /// Starts a server at a free port of loopback, and `count` agents, which are `dropline`. Nobody else has their keys.
    ///
    /// # Errors
    /// If one of them cannot be started.
    pub fn start(count: u32, dropline: &Path, words: &[&str]) -> Result<Self, Failure> {
        let failed = |why: io::Error| {
            Failure::environment(format!("a fleet on this machine cannot be started: {why}"))
        };
        sweep(&std::env::temp_dir());
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir().map_err(failed)?;
        let held = fs::File::create(directory.path().join(HELD)).map_err(failed)?;
        held.lock().map_err(failed)?;
        let names: Vec<String> = (1..=count).map(|number| format!("local-{number}")).collect();
        keys::write_in(directory.path(), "127.0.0.1:-1", &names).map_err(failed)?;
        let config = directory.path().join("server.conf");
        let told = format!(
            "ports_file_dir: {:?}\nlog_file: {:?}\n",
            directory.path(),
            directory.path().join("server.log")
        );
        let mut file = fs::OpenOptions::new().append(true).open(&config).map_err(failed)?;
        io::Write::write_all(&mut file, told.as_bytes()).map_err(failed)?;
        let server =
            spawn(Command::new("nats-server").arg("-c").arg(&config), &directory.path().join("server.out"));
        let server = server.map_err(|why| no_server(&why))?;
        let mut local = Self {
            count,
            url: String::new(),
            login: Login::read(Some(&keys::key_of(directory.path(), keys::COORDINATOR)))?,
            agents: Vec::new(),
            server,
            directory,
            _held: held,
        };
        local.url = local.listening()?;
        for name in names {
            let key = keys::key_of(local.directory.path(), &name);
            let mut command = Command::new(dropline);
            command.args(["agent", "--join", &local.url, "--name", &name, "--creds"]).arg(&key).args(words);
            let log = local.directory.path().join(format!("{name}.log"));
            local.agents.push(spawn(&mut command, &log).map_err(failed)?);
        }
        Ok(local)
    }

    /// All have read their keys: nobody finds them on the disk, whatever becomes of this process.
    pub(crate) fn forget_keys(&self) {
        let keys = fs::read_dir(self.directory.path()).into_iter().flatten().flatten();
        let is_key = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "nk");
        for key in keys.map(|entry| entry.path()).filter(is_key) {
            let _ = fs::remove_file(key);
        }
    }

    /// How many agents there are.
    pub fn agents(&self) -> u32 {
        self.count
    }

    /// A connection to its server.
    ///
    /// # Errors
    /// If it does not admit us.
    pub fn bus(&self) -> Result<Bus, Failure> {
        Bus::connect(&self.url, &self.login, keys::COORDINATOR)
    }

    /// Where the server listens, once it does.
    fn listening(&mut self) -> Result<String, Failure> {
        let until = Instant::now() + LISTENS;
        while Instant::now() < until {
            if let Some(url) = ports_file(self.directory.path()).and_then(|text| first_url(&text)) {
                return Ok(url);
            }
            if let Ok(Some(status)) = self.server.try_wait() {
                let said = fs::read_to_string(self.directory.path().join("server.log")).unwrap_or_default();
                let said = said.lines().last().unwrap_or_default().to_owned();
                return Err(Failure::environment(format!("nats-server ended at once ({status}): {said}")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(Failure::environment("nats-server was started and does not listen"))
    }

    /// Not all agents that were started are there.
    pub(crate) fn missing(&self, there: usize) -> Failure {
        let said = (1..=self.count).find_map(|number| {
            let text = fs::read_to_string(self.directory.path().join(format!("local-{number}.log"))).ok()?;
            text.lines().find(|line| line.contains("error")).map(str::to_owned)
        });
        let said = said.map(|said| format!("; one says: {said}")).unwrap_or_default();
        Failure::environment(format!("of {} agents that were started here, {there} answer{said}", self.count))
    }
}

fn spawn(command: &mut Command, log: &Path) -> io::Result<Started> {
    let log = fs::File::create(log)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    start_with_us(command, Farewell::Killed)
}

fn no_server(why: &io::Error) -> Failure {
    Failure::environment(format!("nats-server cannot be started: {why}"))
        .advice("it carries what agents and coordinator say to one another:  apt-get install nats-server")
}

fn ports_file(directory: &Path) -> Option<String> {
    let is_it = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ports");
    let path = fs::read_dir(directory).ok()?.filter_map(|entry| Some(entry.ok()?.path())).find(is_it)?;
    fs::read_to_string(path).ok()
}

/// The address of a server in what it says of its ports.
fn first_url(text: &str) -> Option<String> {
    let ports: serde_json::Value = serde_json::from_str(text).ok()?;
    Some(ports.get("nats")?.get(0)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_swept_and_what_one_holds_is_not() {
        let place = tempfile::tempdir().unwrap();
        let fleet = |name: &str| {
            let directory = place.path().join(format!("{PREFIX}{name}"));
            fs::create_dir(&directory).unwrap();
            (fs::File::create(directory.join(HELD)).unwrap(), directory)
        };
        let ((held, kept), (left, swept)) = (fleet("held"), fleet("left"));
        held.lock().unwrap();
        drop(left);
        sweep(place.path());
        assert!(kept.exists() && !swept.exists());
    }

    #[test]
    fn the_port_of_a_server_is_read_from_what_it_writes() {
        let text = r#"{"nats":["nats://127.0.0.1:40523"],"monitoring":[]}"#;
        assert_eq!(first_url(text).unwrap(), "nats://127.0.0.1:40523");
        assert_eq!(first_url("{"), None);
        assert_eq!(first_url(r#"{"nats":[]}"#), None);
    }
}
