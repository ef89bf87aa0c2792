//! Pages on loopback: as little of HTTP/1.1 (RFC 9112) as a browser and a scraper need.

use dropline_failure::Failure;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The page that shows a [`super::WatchState`]; it asks for `state.json` every second.
pub const PAGE: &str = include_str!("page.html");

/// What is answered to a path; `None`: there is nothing.
pub type Answers = dyn Fn(&str) -> Option<Content> + Send + Sync;

/// What a path holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its media type.
    pub kind: &'static str,
    /// Its text.
    pub text: String,
}

/// A listener for pages.
#[derive(Debug)]
pub struct Http;

impl Http {
    /// Listens on loopback and answers until stopped.
    ///
    /// # Errors
    /// If the address is not loopback, or cannot be listened at.
    pub fn start(listen: SocketAddr, answers: Arc<Answers>) -> Result<RunningHttp, Failure> {
        if !listen.ip().is_loopback() {
            return Err(Failure::usage(format!(
                "{listen} is not a loopback address, and the page asks nobody for a password"
            ))
            .advice("to see it from elsewhere, forward a port:  ssh -L 9061:127.0.0.1:9061 HOST"));
        }
        let failed = |why: io::Error| Failure::environment(format!("cannot listen at {listen}: {why}"));
        let listener = TcpListener::bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let stop = Arc::clone(&stop);
            std::thread::Builder::new()
                .name("pages".into())
                .spawn(move || accept_all(&listener, &answers, &stop))
                .map_err(|why| Failure::thread(&why))?
        };
        Ok(RunningHttp { address, stop, thread: Some(thread) })
    }
}

/// A listener at work; dropping it stops it.
#[derive(Debug)]
pub struct RunningHttp {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RunningHttp {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for RunningHttp {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread from waiting for a connection.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(200));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Connections that are served at a time; further ones are closed.
const AT_A_TIME: usize = 16;
/// Longest request that is read.
const LONGEST_REQUEST: usize = 8 << 10;
/// How long a request may take to arrive, and an answer to leave.
const PATIENCE: Duration = Duration::from_secs(5);

fn accept_all(listener: &TcpListener, answers: &Arc<Answers>, stop: &AtomicBool) {
    let serving = Arc::new(AtomicUsize::new(0));
    while !stop.load(Ordering::Relaxed) {
        let Ok((connection, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        if serving.load(Ordering::Relaxed) >= AT_A_TIME {
            continue;
        }
        serving.fetch_add(1, Ordering::Relaxed);
        let (answers, done) = (Arc::clone(answers), Arc::clone(&serving));
        let started = std::thread::Builder::new().name("page".into()).spawn(move || {
            // A reader that goes away is no failure of ours.
            let _ = serve(connection, &*answers);
            done.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            serving.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn serve(mut connection: TcpStream, answers: &Answers) -> io::Result<()> {
    connection.set_write_timeout(Some(PATIENCE))?;
    let until = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || request.len() > LONGEST_REQUEST {
            return Ok(());
        }
        connection.set_read_timeout(Some(left))?;
        match connection.read(&mut piece)? {
            0 => return Ok(()),
            length => request.extend_from_slice(&piece[..length]),
        }
    }
    let answer = answer(&String::from_utf8_lossy(&request), answers);
    connection.write_all(answer.as_bytes())?;
    connection.flush()
}

/// The whole answer to a request.
pub fn answer(request: &str, answers: &Answers) -> String {
    let mut lines = request.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let plain = |text: &str| Content { kind: "text/plain; charset=utf-8", text: text.into() };
    let path = path.split('?').next().unwrap_or_default();
    let (status, content) = if method != "GET" {
        ("405 Method Not Allowed", plain("only GET\n"))
    } else if !host.is_some_and(is_loopback_name) {
        // A page of somebody else whose name leads here must not read this one.
        ("421 Misdirected Request", plain("this is for loopback names alone\n"))
    } else {
        answers(path).map_or(("404 Not Found", plain("there is nothing\n")), |content| ("200 OK", content))
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:\r\n\
         Connection: close\r\n\r\n{}",
        content.kind,
        content.text.len(),
        content.text
    )
}

/// Whether `Host` names this machine's loopback: `localhost`, `127.0.0.1:9061`, `[::1]:9061`.
fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &str) -> String {
        let answers = |path: &str| (path == "/a").then(|| Content { kind: "text/x", text: "körper".into() });
        let answer = answer(request, &answers);
        answer.lines().next().unwrap().to_owned() + "|" + answer.split("\r\n\r\n").nth(1).unwrap()
    }

    #[test]
    fn a_path_is_answered_to_loopback_names_alone() {
        assert_eq!(ask("GET /a?x HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n"), "HTTP/1.1 200 OK|körper");
        assert_eq!(ask("GET /a HTTP/1.1\r\nhost: localhost\r\n\r\n"), "HTTP/1.1 200 OK|körper");
        assert!(ask("GET /a HTTP/1.1\r\nHost: evil.example:9\r\n\r\n").starts_with("HTTP/1.1 421"));
        assert!(ask("GET /a HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 421"));
        assert!(ask("GET /b HTTP/1.1\r\nHost: [::1]:9\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask("POST /a HTTP/1.1\r\nHost: [::1]:9\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(ask("").starts_with("HTTP/1.1 405"));
    }

    #[test]
    fn pages_are_served_on_loopback_alone() {
        let answers: Arc<Answers> = Arc::new(|_: &str| None);
        let refused = Http::start("0.0.0.0:0".parse().unwrap(), Arc::clone(&answers)).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        let running = Http::start("127.0.0.1:0".parse().unwrap(), answers).unwrap();
        let mut connection = TcpStream::connect(running.address()).unwrap();
        connection.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 404"), "{text}");
    }
}
