//! LTTng as the recorder: a session of user space, made and ended by us. No kernel module, no root.

use crate::ProgramFile;
use dropline_archive::temporary::Scratch;
use dropline_failure::Failure;
use dropline_traffic::{Farewell, Signal, Started, start_with_us};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The provider's library beside our program.
const LIBRARY: &str = "libdropline_lttng.so";
/// Room of a processor: eight buffers of a mebibyte.
const CHANNEL: [&str; 3] = ["--subbuf-size=1M", "--num-subbuf=8", "--discard"];
/// A program waits so long for the daemon before its first event, in ms; a busy machine takes its time.
const REGISTER_MS: &str = "30000";

/// How our sessions are named, and the directories of their sockets.
const OURS: &str = "dropline-lttng-";
/// A daemon that does not answer for so long never will, nor does one end.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// A session that records `dropline:*` of every program that loads the provider.
pub struct LttngSession {
    name: String,
    /// Where LTTng keeps the sockets of a daemon that is not root's; goes with the session.
    home: Scratch,
    /// A daemon that we started; it ends with us.
    daemon: Option<Started>,
    provider: PathBuf,
    destroyed: bool,
}

impl LttngSession {
    /// Makes and starts a session whose trace goes to `directory`; the provider is looked for around `dropline`.
    ///
    /// # Errors
    /// If LTTng or the provider is missing, or refuses.
    pub fn begin(directory: &Path, dropline: &ProgramFile) -> Result<Self, Failure> {
        let provider = provider(dropline)?;
        // A session of a killed run goes on in a daemon that is not ours.
        let undo = |home: &Path| drop(lttng(home, &["--no-sessiond", "destroy", &name_of(home)]));
        let home = Scratch::among(&std::env::temp_dir(), OURS, undo).map_err(Failure::environment)?;
        let name = home.name();
        let mut session = Self { name, home, daemon: None, provider, destroyed: true };
        if session.lttng(&["--no-sessiond", "list"]).is_err() {
            session.start_daemon()?;
        }
        let name = session.name.clone();
        let output = format!("--output={}", directory.display());
        session.lttng(&["--no-sessiond", "create", &name, &output])?;
        session.destroyed = false;
        let channel =
            [&["enable-channel", "--userspace", "--session", &name][..], &CHANNEL, &["events"]].concat();
        session.lttng(&channel)?;
        session.lttng(&[
            "enable-event",
            "--userspace",
            "--session",
            &name,
            "--channel=events",
            "dropline:*",
        ])?;
        session.lttng(&["start", &name])?;
        Ok(session)
    }

    /// What the environment of a program must hold so that it records here.
    pub fn environment(&self) -> [(&'static str, OsString); 3] {
        [
            ("DROPLINE_LTTNG", self.provider.clone().into()),
            ("LTTNG_HOME", self.home.path().into()),
            ("LTTNG_UST_REGISTER_TIMEOUT", REGISTER_MS.into()),
        ]
    }

    /// Ends the session; the trace is whole then. Events that it discarded, by its own count.
    ///
    /// # Errors
    /// If LTTng refuses.
    pub fn end(mut self) -> Result<u64, Failure> {
        let name = self.name.clone();
        self.lttng(&["stop", &name])?;
        let listed = self.lttng(&["list", &name])?;
        self.destroyed = true;
        self.lttng(&["destroy", &name])?;
        Ok(discarded(&listed))
    }

    fn lttng(&self, words: &[&str]) -> Result<String, Failure> {
        lttng(self.home.path(), words)
    }

    fn start_daemon(&mut self) -> Result<(), Failure> {
        let mut command = Command::new("lttng-sessiond");
        command.arg("--no-kernel").env("LTTNG_HOME", self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = start_with_us(&mut command, Farewell::Asked)
            .map_err(|why| missing(format!("lttng-sessiond cannot be started: {why}")))?;
        let daemon = self.daemon.insert(daemon);
        let begun = Instant::now();
        while lttng(self.home.path(), &["--no-sessiond", "list"]).is_err() {
            if let Ok(Some(status)) = daemon.try_wait() {
                return Err(Failure::environment(format!("lttng-sessiond ended ({status})")));
            }
            if begun.elapsed() >= PATIENCE {
                let waited = PATIENCE.as_secs();
                return Err(Failure::environment(format!("lttng-sessiond did not answer for {waited} s")));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for LttngSession {
    fn drop(&mut self) {
        if !self.destroyed {
            let _ = self.lttng(&["destroy", &self.name]);
        }
        let Some(mut daemon) = self.daemon.take() else { return };
        // Asked, it takes its sockets with it.
        let _ = daemon.signal(Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && matches!(daemon.try_wait(), Ok(None)) {
            thread::sleep(LOOK);
        }
        daemon.end();
    }
}

/// The session of that directory.
fn name_of(home: &Path) -> String {
    home.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn lttng(home: &Path, words: &[&str]) -> Result<String, Failure> {
    let output = Command::new("lttng")
        .args(words)
        .env("LTTNG_HOME", home)
        .stdin(Stdio::null())
        .output()
        .map_err(|why| missing(format!("lttng cannot be started: {why}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| line.starts_with("Error")).unwrap_or("it does not say why");
    Err(Failure::environment(format!("lttng {} failed: {said}", words.join(" "))))
}

/// Whether LTTng and the provider are here.
///
/// # Errors
/// If one is missing, with what installs it.
pub fn lttng_is_here() -> Result<(), Failure> {
    provider(&ProgramFile::Own)?;
    let status = Command::new("lttng").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.map(drop).map_err(|why| missing(format!("lttng cannot be started: {why}")))
}

fn missing(what: String) -> Failure {
    Failure::environment(what)
        .advice("install it:  cargo xtask setup trace   (Debian: lttng-tools, liblttng-ust-dev)")
}

/// The provider's library: where the environment says, beside `dropline`, or where `setup trace` builds it.
fn provider(dropline: &ProgramFile) -> Result<PathBuf, Failure> {
    let named = std::env::var_os("DROPLINE_LTTNG").map(PathBuf::from);
    let around = dropline.around().into_iter();
    let beside =
        around.flat_map(|directory| [directory.join(LIBRARY), directory.join("trace").join(LIBRARY)]);
    named.into_iter().chain(beside).find(|path| path.is_file()).ok_or_else(|| {
        let program = dropline.find().unwrap_or_else(|_| "dropline".into());
        missing(format!("{LIBRARY} is neither beside {} nor where DROPLINE_LTTNG says", program.display()))
    })
}

/// Sum of the channels' discarded events in what `lttng list SESSION` prints.
pub fn discarded(listed: &str) -> u64 {
    let counts = listed.lines().filter_map(|line| line.trim().strip_prefix("Discarded events:"));
    counts.filter_map(|count| count.trim().parse().ok()).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discarded_events_of_all_channels_are_summed() {
        let listed =
            "- a: [enabled]\n    Discarded events: 3278\n\n- b: [enabled]\n    Discarded events: 5\n";
        assert_eq!((discarded(listed), discarded("Recording session")), (3283, 0));
    }

    #[test]
    fn counts_of_channels_that_add_up_beyond_64_bits_are_as_many_as_can_be_said() {
        let listed = format!("Discarded events: {}\nDiscarded events: 2\n", u64::MAX);
        assert_eq!(discarded(&listed), u64::MAX);
    }
}
