//! Programs of others that read what Dropline writes.

// Each test file is a crate of its own and uses its part of this.
#![allow(dead_code)]

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Runs to the end and must be done; what it printed.
pub(crate) fn must(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|why| missing(command, &why));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{command:?}: {said}{text}");
    text
}

pub(crate) fn missing(command: &Command, why: &std::io::Error) -> ! {
    panic!("{:?} is missing ({why}): cargo xtask setup test installs it", command.get_program())
}

/// Python with the packages of `tests/readers/requirements.txt`.
pub(crate) fn python() -> Command {
    Command::new(venv().join("python"))
}

/// Where its programs are.
pub(crate) fn venv() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_dropline")).ancestors().nth(2).unwrap();
    built.join("readers/venv/bin")
}

/// A script beside those requirements.
pub(crate) fn reader(name: &str) -> String {
    format!("{}/../../tests/readers/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A port of loopback that was free a moment ago.
pub(crate) fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A program that serves HTTP, stopped when it goes.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Served {
    /// Starts it at a free port, and waits until it answers `path`. Another port is tried where that was taken meanwhile.
    pub(crate) fn start(path: &str, command: impl Fn(SocketAddr) -> Command) -> Self {
        for _ in 0..3 {
            let address = free_port();
            let mut command = command(address);
            let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let mut served = Self { child: child.unwrap_or_else(|why| missing(&command, &why)), address };
            // A busy machine may take long to start it; one that ended is not waited for.
            for _ in 0..1200 {
                if served.child.try_wait().unwrap().is_some() {
                    break;
                }
                if served.get(path).is_some_and(|(status, _)| status == 200) {
                    return served;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        panic!("no server answers {path}");
    }

    /// The status and the body that it answers with.
    pub(crate) fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let status = text.split(' ').nth(1)?.parse().ok()?;
        Some((status, text.split_once("\r\n\r\n")?.1.to_owned()))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Prometheus server of stored samples, which collects none.
pub(crate) struct Prometheus {
    served: Served,
}

impl Prometheus {
    pub(crate) fn of(data: &Path) -> Self {
        let settings = data.with_extension("yml");
        std::fs::write(&settings, "").unwrap();
        let served = Served::start("/-/ready", |address| {
            let mut command = Command::new("prometheus");
            command.arg(format!("--config.file={}", settings.display()));
            command.arg(format!("--storage.tsdb.path={}", data.display()));
            command.arg("--storage.tsdb.retention.time=100y");
            command.arg(format!("--web.listen-address={address}"));
            command
        });
        Self { served }
    }

    /// How many series an expression has between two times.
    pub(crate) fn series(&self, expression: &str, [from, to]: [&str; 2]) -> usize {
        let escaped: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/api/v1/query_range?query={escaped}&start={from}&end={to}&step=3600");
        let (status, body) = self.served.get(&path).unwrap();
        assert_eq!(status, 200, "{expression}: {body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        answer["data"]["result"].as_array().unwrap().len()
    }
}

/// A server that speaks S3 on loopback, with a bucket, and checks who asks.
pub(crate) struct Store {
    served: Served,
    key: String,
    secret: String,
}

/// A history in its bucket.
pub(crate) const NIGHTS: &str = "s3://measurements/our/nights";

impl Store {
    pub(crate) fn new() -> Self {
        let served = Served::start("/moto-api/", |address| {
            let mut command = Command::new(venv().join("moto_server"));
            command.args(["-H", &address.ip().to_string(), "-p", &address.port().to_string()]);
            command
        });
        let endpoint = format!("http://{}", served.address);
        let keys = must(python().arg(reader("store.py")).args([&endpoint, "measurements"]));
        let (key, secret) = keys.trim().split_once(' ').unwrap();
        Self { key: key.to_owned(), secret: secret.to_owned(), served }
    }

    /// A command that knows the store.
    pub(crate) fn knows(&self, mut command: Command) -> Command {
        command.env("AWS_ACCESS_KEY_ID", &self.key).env("AWS_SECRET_ACCESS_KEY", &self.secret);
        command.env("AWS_ENDPOINT_URL", format!("http://{}", self.served.address));
        for name in
            ["AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ALLOW_HTTP"]
        {
            command.env_remove(name);
        }
        command
    }
}

/// A server on loopback that answers each request by its head, as long as the tests run; its address.
pub(crate) fn answering(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
                head.push(byte[0]);
            }
            let (status, body) = answer(&String::from_utf8_lossy(&head));
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status} -\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    };
    std::thread::Builder::new().spawn(serve).unwrap();
    address
}
