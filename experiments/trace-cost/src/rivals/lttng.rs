//! A session of LTTng that overwrites: nobody drains while events are timed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub struct Session {
    name: String,
    provider: PathBuf,
    /// A daemon that was started for it.
    daemon: Option<String>,
}

impl Session {
    pub fn begin() -> Result<Self, String> {
        let provider = provider().ok_or("no provider: cargo xtask setup trace builds it")?;
        let mut session = Self { name: format!("trace-cost-{}", std::process::id()), provider, daemon: None };
        let name = session.name.clone();
        let name = name.as_str();
        if lttng(&["--no-sessiond", "list"]).is_err() {
            let pid_file = std::env::temp_dir().join(format!("{name}.pid"));
            let _ = Command::new("lttng-sessiond")
                .args(["--daemonize", "--no-kernel", "--pidfile"])
                .arg(&pid_file)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            session.daemon = std::fs::read_to_string(&pid_file).ok().map(|text| text.trim().to_owned());
        }
        lttng(&["create", name, "--snapshot"])?;
        lttng(&[
            "enable-channel",
            "--userspace",
            "--session",
            name,
            "--subbuf-size=1M",
            "--num-subbuf=4",
            "events",
        ])?;
        lttng(&["enable-event", "--userspace", "--session", name, "--channel=events", "dropline:*"])?;
        lttng(&["start", name])?;
        Ok(session)
    }

    pub fn environment(&self) -> [(&'static str, OsString); 1] {
        [("DROPLINE_LTTNG", self.provider.clone().into())]
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = lttng(&["destroy", &self.name]);
        if let Some(daemon) = &self.daemon {
            let _ = Command::new("kill").arg(daemon).status();
        }
    }
}

fn lttng(words: &[&str]) -> Result<(), String> {
    let output = Command::new("lttng").args(words).output().map_err(|why| format!("lttng: {why}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

fn provider() -> Option<PathBuf> {
    let named = std::env::var_os("DROPLINE_LTTNG").map(PathBuf::from);
    named.filter(|path| path.is_file())
}
