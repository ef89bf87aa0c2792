//! A listener that reads requests and writes answers, each within bounds.

use crate::content::Content;
use crate::gate::{Gate, Headers};
use crate::request::Request;
use dropline_failure::Failure;
use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is answered to a request; `None`: there is nothing.
pub type Answers = dyn Fn(&Request) -> Option<Content> + Send + Sync;

/// A listener for pages.
#[derive(Debug)]
pub struct Http;

impl Http {
    /// Listens on loopback and answers those whom the gate lets pass, until stopped.
    ///
    /// # Errors
    /// If the address is not loopback, or cannot be listened at.
    pub fn start(listen: SocketAddr, gate: Gate, answers: Arc<Answers>) -> Result<RunningHttp, Failure> {
        if !listen.ip().is_loopback() {
            return Err(Failure::usage(format!(
                "{listen} is not a loopback address, and what is shown here is not encrypted and asks nobody for a password"
            ))
            .advice(format!(
                "to see it from elsewhere, listen at 127.0.0.1 and forward the port:  ssh -L {port}:127.0.0.1:{port} HOST",
                port = listen.port()
            )));
        }
        let failed = |why: io::Error| Failure::environment(format!("cannot listen at {listen}: {why}"));
        let listener = TcpListener::bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let root = gate.root();
        let thread = {
            let stop = Arc::clone(&stop);
            std::thread::Builder::new()
                .name("pages".into())
                .spawn(move || accept_all(&listener, &Arc::new(gate), &answers, &stop))
                .map_err(|why| Failure::thread(&why))?
        };
        Ok(RunningHttp { address, root, stop, thread: Some(thread) })
    }
}

/// A listener at work; dropping it stops it.
#[derive(Debug)]
pub struct RunningHttp {
    address: SocketAddr,
    root: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RunningHttp {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a browser is given.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.root)
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

/// Connections that are served at a time. For a further one the oldest is closed whose request has not come yet: who asks
/// sends it at once, and nobody who sends none keeps him out.
const AT_A_TIME: usize = 16;
/// So many at most until those that were closed have ended; further ones are closed.
const MOST: usize = 4 * AT_A_TIME;
/// Longest request that is read.
const LONGEST_REQUEST: usize = 8 << 10;
/// How long a request may take to arrive, and an answer to leave.
const PATIENCE: Duration = Duration::from_secs(5);

fn accept_all(listener: &TcpListener, gate: &Arc<Gate>, answers: &Arc<Answers>, stop: &AtomicBool) {
    let serving = Arc::new(AtomicUsize::new(0));
    let waiting = Arc::new(Waiting::default());
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let Ok((connection, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let now = serving.load(Ordering::Relaxed);
        if now >= MOST || (now >= AT_A_TIME && !waiting.close_oldest()) {
            continue;
        }
        number += 1;
        waiting.begin(number, &connection);
        serving.fetch_add(1, Ordering::Relaxed);
        let (gate, answers, done) = (Arc::clone(gate), Arc::clone(answers), Arc::clone(&serving));
        let of_this = Arc::clone(&waiting);
        let started = std::thread::Builder::new().name("page".into()).spawn(move || {
            // A reader that goes away is no failure of ours.
            let _ = serve(connection, &gate, &*answers, || of_this.end(number));
            of_this.end(number);
            done.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            waiting.end(number);
            serving.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Connections whose requests have not come yet, the oldest first.
#[derive(Debug, Default)]
struct Waiting(Mutex<VecDeque<(u64, TcpStream)>>);

impl Waiting {
    fn begin(&self, number: u64, connection: &TcpStream) {
        if let Ok(connection) = connection.try_clone() {
            self.all().push_back((number, connection));
        }
    }

    fn end(&self, number: u64) {
        self.all().retain(|(waiting, _)| *waiting != number);
    }

    /// Whether there was one.
    fn close_oldest(&self) -> bool {
        let Some((_, oldest)) = self.all().pop_front() else { return false };
        // One whose other end went away is closed too.
        let _ = oldest.shutdown(Shutdown::Both);
        true
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(mut connection: TcpStream, gate: &Gate, answers: &Answers, came: impl FnOnce()) -> io::Result<()> {
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
    came();
    let answer = answer(&String::from_utf8_lossy(&request), gate, answers);
    connection.write_all(answer.as_bytes())?;
    connection.flush()
}

/// The whole answer to a request.
pub fn answer(request: &str, gate: &Gate, answers: &Answers) -> String {
    let mut lines = request.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, address) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'));
    let headers = Headers(headers.map(|(name, value)| (name, value.trim())).collect());
    let address = match gate.pass(address, &headers) {
        Ok(address) => address,
        Err(refused) => return refused,
    };
    if method != "GET" {
        return Content::words("only GET\n").answer("405 Method Not Allowed");
    }
    match Request::of(address).and_then(|request| answers(&request)) {
        Some(content) if content.is_found => content.answer("200 OK"),
        Some(content) => content.answer("404 Not Found"),
        None => Content::words("there is nothing\n").answer("404 Not Found"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &str) -> String {
        let answers = |request: &Request| (request.path == "/a").then(|| Content::of("text/x", "körper"));
        let answer = answer(request, &Gate::Machine, &answers);
        answer.lines().next().unwrap().to_owned() + "|" + answer.split("\r\n\r\n").nth(1).unwrap()
    }

    #[test]
    fn a_path_is_answered_to_loopback_names_alone() {
        assert_eq!(ask("GET /a?x HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n"), "HTTP/1.1 200 OK|körper");
        assert_eq!(ask("GET /a HTTP/1.1\r\nhost: localhost\r\n\r\n"), "HTTP/1.1 200 OK|körper");
        assert!(ask("GET /a HTTP/1.1\r\nHost: evil.example:9\r\n\r\n").starts_with("HTTP/1.1 421"));
        assert!(ask("GET /a HTTP/1.1\r\n\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 421"));
        assert!(ask("GET /b HTTP/1.1\r\nHost: [::1]:9\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask("POST /a HTTP/1.1\r\nHost: [::1]:9\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(ask("").starts_with("HTTP/1.1 421"));
    }

    #[test]
    fn who_shall_ask_again_is_told_when() {
        let content = Content { again_s: Some(3), ..Content::page("") };
        assert!(content.answer("200 OK").contains("\r\nRefresh: 3\r\n"));
        assert!(!Content::page("").answer("200 OK").contains("Refresh"));
    }

    #[test]
    fn who_sends_no_request_keeps_nobody_out() {
        let answers: Arc<Answers> = Arc::new(|_: &Request| None);
        let running = Http::start("127.0.0.1:0".parse().unwrap(), Gate::Machine, answers).unwrap();
        let idle = |number: usize| {
            let mut connection = TcpStream::connect(running.address()).unwrap();
            let begun: &[u8] = if number.is_multiple_of(2) { b"GET / HT" } else { b"" };
            connection.write_all(begun).unwrap();
            connection
        };
        let mut all: Vec<TcpStream> = (0..2 * AT_A_TIME).map(idle).collect();
        let mut connection = TcpStream::connect(running.address()).unwrap();
        connection.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 404"), "{text}");
        // The oldest was closed for a later one.
        assert_eq!(all[0].read(&mut [0]).unwrap_or(0), 0);
    }

    #[test]
    fn pages_are_served_on_loopback_alone() {
        let answers: Arc<Answers> = Arc::new(|_: &Request| None);
        let refused =
            Http::start("0.0.0.0:0".parse().unwrap(), Gate::Machine, Arc::clone(&answers)).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        let running = Http::start("127.0.0.1:0".parse().unwrap(), Gate::Machine, answers).unwrap();
        let mut connection = TcpStream::connect(running.address()).unwrap();
        connection.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 404"), "{text}");
    }
}
