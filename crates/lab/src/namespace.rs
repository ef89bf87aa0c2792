//! One network namespace: an own set of interfaces, addresses, rules and counters.

use crate::{LabError, program, stale};
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// A network namespace of this program, with its loopback interface up; dropping it ends what was started in
/// it and removes it.
///
/// Interfaces live inside: nothing is added to the namespace that this program runs in. They speak IPv4, and
/// only when spoken to or through.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    /// Held while it is somebody's: see `stale`.
    _lock: File,
}

impl Namespace {
    /// Makes one; `role` is the readable part of its name. The first one of a program also removes what
    /// killed programs left.
    ///
    /// # Errors
    /// If iproute2 is missing or this user may not.
    pub fn new(role: &str) -> Result<Self, LabError> {
        static SWEPT: Once = Once::new();
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        SWEPT.call_once(stale::sweep);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name =
            stale::name(std::process::id(), number, role).map_err(LabError::system("reading /proc"))?;
        let lock = stale::lock(&name).map_err(LabError::system("locking a namespace"))?;
        program::run("ip", &["netns", "add", &name]).inspect_err(|_| stale::remove(&name))?;
        let namespace = Self { name, _lock: lock };
        namespace.hush()?;
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// No IPv6 on the interfaces that it will get: a new one asks on its own whether its address is taken and
    /// where the routers are, and what a queue drops of that is in the counters of the traffic measured.
    fn hush(&self) -> Result<(), LabError> {
        match self.set("net.ipv6.conf.default.disable_ipv6", "1") {
            // A kernel without IPv6 is silent already.
            Err(LabError::System { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Its name, as `ip netns` lists it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that stands for it; opened, it can be entered.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(stale::NAMES).join(&self.name)
    }

    /// Runs `ip` inside and returns what it printed: `["addr", "add", "10.9.0.1/24", "dev", "near"]`.
    ///
    /// # Errors
    /// If it refuses.
    pub fn ip(&self, words: &[&str]) -> Result<String, LabError> {
        program::run("ip", &[&["-n", &self.name], words].concat())
    }

    /// Runs `tc` inside: `["qdisc", "add", "dev", "near", "root", "pfifo", "limit", "10"]`.
    ///
    /// # Errors
    /// If it refuses.
    pub fn tc(&self, words: &[&str]) -> Result<String, LabError> {
        program::run("tc", &[&["-n", &self.name], words].concat())
    }

    /// Gives `nft` inside a ruleset to add.
    ///
    /// # Errors
    /// If it is missing or refuses.
    pub fn nft(&self, ruleset: &str) -> Result<String, LabError> {
        program::run_with_input("ip", &["netns", "exec", &self.name, "nft", "-f", "-"], ruleset).map_err(
            |why| match why {
                LabError::Refused { said, .. } if said.contains("exec of \"nft\" failed") => {
                    LabError::Missing { program: "nft".into(), package: "nftables" }
                }
                other => other,
            },
        )
    }

    /// Sets a switch of its network: `("net.ipv4.conf.all.rp_filter", "1")`.
    ///
    /// # Errors
    /// If there is no such switch, or it may not be set.
    pub fn set(&self, switch: &str, value: &str) -> Result<(), LabError> {
        let path = PathBuf::from("/proc/sys").join(switch.replace('.', "/"));
        self.run(|| std::fs::write(&path, value))?.map_err(LabError::system(format!("setting {switch}")))
    }

    /// Does `work` on a thread inside; threads that it starts and sockets that it opens are inside too.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        let doing = || format!("entering the namespace {}", self.name);
        let file = File::open(self.path()).map_err(LabError::system(doing()))?;
        std::thread::scope(|scope| {
            let look = || {
                let kind = rustix::thread::LinkNameSpaceType::Network;
                rustix::thread::move_into_link_name_space(file.as_fd(), Some(kind))
                    .map_err(|why| LabError::System { doing: doing(), source: why.into() })?;
                Ok(work())
            };
            let inside =
                std::thread::Builder::new().spawn_scoped(scope, look).map_err(LabError::system(doing()))?;
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// A command that will run inside, ready for its words.
    pub fn command(&self, program: &str) -> Command {
        let mut command = program::command("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Ids of the processes inside.
    ///
    /// # Errors
    /// If they may not be seen.
    pub fn processes(&self) -> Result<Vec<u32>, LabError> {
        stale::processes(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        stale::remove(&self.name);
    }
}
