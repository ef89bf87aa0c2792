//! What the kernel says that programs have read.

use dropline_lab::Namespace;
use std::time::{Duration, Instant};

/// What the kernel counted of UDP in the namespace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Datagrams that programs have read.
    pub(crate) read: u64,
    /// Datagrams that found no room at a socket.
    pub(crate) dropped: u64,
}

impl Counted {
    /// As it stands, with the time of reading.
    ///
    /// # Panics
    /// If the namespace is gone.
    pub(crate) fn now(namespace: &Namespace) -> (Instant, Self) {
        let read = || (Instant::now(), std::fs::read_to_string("/proc/thread-self/net/snmp"));
        let (at, text) = namespace.run(read).expect("the namespace is there");
        (at, Self::of_snmp(&text.expect("procfs is mounted")))
    }

    fn of_snmp(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
        let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        let of = |name: &str| {
            let pair = names.split(' ').zip(values.split(' ')).find(|(known, _)| *known == name);
            pair.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
        };
        Self { read: of("InDatagrams"), dropped: of("RcvbufErrors") }
    }
}

/// Datagrams a second that programs read, and that were dropped at sockets, after `lead` for `length`.
pub(crate) fn rates(namespace: &Namespace, lead: Duration, length: Duration) -> (f64, f64) {
    std::thread::sleep(lead);
    let (began, before) = Counted::now(namespace);
    std::thread::sleep(length);
    let (ended, after) = Counted::now(namespace);
    let seconds = (ended - began).as_secs_f64();
    let rate = |after: u64, before: u64| (after - before) as f64 / seconds;
    (rate(after.read, before.read), rate(after.dropped, before.dropped))
}
