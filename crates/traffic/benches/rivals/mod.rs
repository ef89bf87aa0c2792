//! What the benches have in common: a namespace with loopback alone, rivals started in it, and paired ratios.

use dropline_lab::{Namespace, Start, StartedTarget};
use std::path::Path;
use std::time::Duration;

/// Each contender in turn: the machine's pauses and its changes of speed meet all.
pub(crate) const REPETITIONS: usize = 5;
/// CPU of what sends, and of what receives.
pub(crate) const SENDER: u32 = 0;
pub(crate) const RECEIVER: u32 = 1;
/// Bytes of payload.
pub(crate) const PAYLOAD: u32 = 64;

/// Whether a part of the bench is wanted: all are where none is named.
///
/// `cargo bench --bench traffic -- trains turns` names two.
pub(crate) fn is_wanted(part: &str) -> bool {
    let mut named = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    named.peek().is_none() || named.any(|word| word == part)
}

/// A network namespace of its own, so that its counters are of one contender alone.
///
/// # Panics
/// If this user cannot have one.
pub(crate) fn namespace() -> Namespace {
    Namespace::new("bench").expect("root can make a network namespace; run it with sudo")
}

/// Whether the program is there; where it is not, says how to have it.
pub(crate) fn is_there(program: &str) -> bool {
    let there = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|place| place.join(program).exists()));
    if !there {
        println!("{program} is not installed and left out: cargo xtask setup rivals");
    }
    there
}

/// Starts a rival in the namespace, on a CPU.
///
/// # Panics
/// If it cannot be started.
pub(crate) fn start(namespace: &Namespace, cpu: u32, words: &str) -> StartedTarget {
    start_as(namespace, cpu, dropline_lab::Scheduling::Inherited, words)
}

/// The same, scheduled otherwise.
///
/// # Panics
/// If it cannot be started.
pub(crate) fn start_as(
    namespace: &Namespace,
    cpu: u32,
    scheduling: dropline_lab::Scheduling,
    words: &str,
) -> StartedTarget {
    let start = Start { cpus: vec![cpu], scheduling, ..Start::new(words.split_whitespace()) };
    start.start(Some(namespace)).unwrap_or_else(|why| panic!("{words}: {why}"))
}

/// Waits until a port is listened at, TCP or UDP.
pub(crate) fn wait_for_port(namespace: &Namespace, table: &str, port: u16) {
    let path = Path::new("/proc/thread-self/net").join(table);
    let wanted = format!(":{port:04X} ");
    for _ in 0..100 {
        let text = namespace.run(|| std::fs::read_to_string(&path).unwrap_or_default()).unwrap_or_default();
        if text.contains(&wanted) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Datagrams that programs in the namespace have read, and ones that found no room at a socket, as the kernel counts.
///
/// # Panics
/// If the namespace is gone.
pub(crate) fn counted(namespace: &Namespace) -> (u64, u64) {
    let read = || std::fs::read_to_string("/proc/thread-self/net/snmp").expect("procfs is mounted");
    let text = namespace.run(read).expect("the namespace is there");
    let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
    let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let of = |name: &str| {
        let pair = names.split(' ').zip(values.split(' ')).find(|(known, _)| *known == name);
        pair.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
    };
    (of("InDatagrams"), of("RcvbufErrors"))
}

/// Waits until programs read datagrams: some rivals first learn how fast the machine's clock is, which takes two
/// seconds.
pub(crate) fn wait_for_traffic(namespace: &Namespace) {
    /// More than any rival needs to warm up.
    const BEGUN: u64 = 200;
    let before = counted(namespace).0;
    for _ in 0..500 {
        if counted(namespace).0 >= before + BEGUN {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Geometric mean of the paired ratios and its 95 % interval (Student's t on their logarithms).
///
/// # Panics
/// If there is no pair.
pub(crate) fn paired_ratio(ours: &[f64], theirs: &[f64]) -> (f64, f64, f64) {
    /// Of two sides, for 1 to 9 degrees of freedom.
    const T: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
    let logs: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| (ours / theirs).ln()).collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let square = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let half = T[logs.len().saturating_sub(2).min(8)] * (square / count).sqrt();
    (mean.exp(), (mean - half).exp(), (mean + half).exp())
}

/// Median.
///
/// # Panics
/// If there are no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    dropline_stats::sample::quantile(values, 0.5).expect("there were repetitions")
}
