//! Sending heartbeats when they are due.

use super::client::connect;
use super::wire::{Heartbeat, PACKET_BYTES};
use dropline_consent::{consent, guarded, not_connected};
use dropline_failure::Failure;
use dropline_stats::Histogram;
use dropline_traffic::datagrams::{MOST, Outbox, errno_name};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Heartbeats of some variables, each once in a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Sending {
    /// Where to.
    pub target: SocketAddr,
    /// Which variables, in order; at least one.
    pub variables: Vec<u8>,
    /// Who says so.
    pub from: u8,
    /// What they say.
    pub value: Value,
    /// Each variable is sent once in it.
    pub period: Duration,
    /// When, within the period.
    pub spread: Spread,
    /// When to end; `None`: when asked to.
    pub duration: Option<Duration>,
    /// Chance of random departures and values.
    pub seed: u64,
}

/// What heartbeats say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The number of the period, modulo 256.
    Count,
    /// Always the same.
    Fixed(u8),
    /// Any.
    Random,
}

/// When the variables of one period leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// At equal distances.
    Even,
    /// Each at a moment drawn anew in every period.
    Random,
    /// All at its beginning.
    Together,
}

/// What became of heartbeats that were due.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Heartbeats that were due.
    pub intended: u64,
    /// Heartbeats that left.
    pub offered: u64,
    /// Heartbeats that the system did not take, by errno; and what was reported of the last that left.
    pub refused: BTreeMap<String, u64>,
    /// How much later than due each left.
    pub lateness: Histogram,
}

/// What became of heartbeats that were due, as it is printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SentLine {
    /// Heartbeats that were due.
    pub intended: u64,
    /// Heartbeats that left.
    pub offered: u64,
    /// Heartbeats that the system did not take, by errno; and what was reported of the last that left.
    pub refused: BTreeMap<String, u64>,
    /// How much later than due they left.
    pub lateness_ns: LatenessLine,
}

/// How much later than due heartbeats left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LatenessLine {
    /// Heartbeats of which it is known.
    pub count: u64,
    /// The median, in ns; null where none left.
    pub p50: Option<u64>,
    /// The 99th percentile, in ns; null where none left.
    pub p99: Option<u64>,
    /// The latest, in ns; null where none left.
    pub max: Option<u64>,
}

impl From<&Sent> for SentLine {
    fn from(sent: &Sent) -> Self {
        let lateness = &sent.lateness;
        Self {
            intended: sent.intended,
            offered: sent.offered,
            refused: sent.refused.clone(),
            lateness_ns: LatenessLine {
                count: lateness.count(),
                p50: lateness.quantile(0.5),
                p99: lateness.quantile(0.99),
                max: lateness.max(),
            },
        }
    }
}

impl Sending {
    /// Sends until the time is over, or `stop` is set.
    ///
    /// # Errors
    /// If the target did not consent, or the system gives no socket, or forbids sending there.
    pub fn run(&self, stop: &AtomicBool) -> Result<Sent, Failure> {
        consent(self.target)?;
        let socket = connect(self.target).map_err(|why| not_connected(self.target, &why))?;
        socket.set_nonblocking(true).map_err(Failure::environment)?;
        let departures = Departures::new(self);
        let sent = guarded(self.target, &socket, |astray| {
            let is_over = || stop.load(Ordering::Relaxed) || astray.load(Ordering::Relaxed);
            offer(&socket, departures, None, is_over, |_, _| {})
        })?;
        let mut sent =
            sent.map_err(|why| Failure::environment(format!("cannot send to {}: {why}", self.target)))?;
        // What comes about the last of them is told to no heartbeat after it.
        std::thread::sleep(REPORTS_WITHIN);
        if let Ok(Some(why)) = socket.take_error() {
            *sent.refused.entry(errno_name(&why)).or_default() += 1;
        }
        Ok(sent)
    }
}

/// The departures of a [`Sending`], in order: when, in ns after its start, and what.
#[derive(Clone, Debug)]
pub struct Departures {
    sending: Sending,
    end_ns: u64,
    period: u64,
    /// What is left of the current period, last first.
    left: Vec<(u64, Heartbeat)>,
    chance: u64,
}

impl Departures {
    /// From the start.
    pub fn new(sending: &Sending) -> Self {
        let end = sending.duration.map_or(u64::MAX, nanoseconds);
        Self { sending: sending.clone(), end_ns: end, period: 0, left: Vec::new(), chance: sending.seed }
    }

    /// Draws the next period.
    fn begin_period(&mut self) {
        let period_ns = nanoseconds(self.sending.period);
        let count = self.sending.variables.len() as u64;
        let begins = self.period.saturating_mul(period_ns);
        for at in 0..count {
            let offset = match self.sending.spread {
                Spread::Even => (u128::from(period_ns) * u128::from(at) / u128::from(count)) as u64,
                Spread::Random => self.draw() % period_ns.max(1),
                Spread::Together => 0,
            };
            let value = match self.sending.value {
                Value::Count => self.period as u8,
                Value::Fixed(value) => value,
                Value::Random => self.draw() as u8,
            };
            let variable = self.sending.variables[at as usize];
            let heartbeat = Heartbeat { variable, from: self.sending.from, value };
            self.left.push((begins.saturating_add(offset), heartbeat));
        }
        self.left.sort_by_key(|(due, _)| *due);
        self.left.reverse();
        self.period += 1;
    }

    /// SplitMix64.
    fn draw(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.chance;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}

impl Iterator for Departures {
    type Item = (u64, Heartbeat);

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            self.begin_period();
        }
        self.left.pop().filter(|(due, _)| *due < self.end_ns)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A host of this machine or its namespaces has reported by then that nothing listens.
const REPORTS_WITHIN: Duration = Duration::from_millis(20);
/// How long before a deadline sleep ends and waiting awake begins.
const AWAKE: Duration = Duration::from_micros(60);
/// The longest sleep without a look at whether the user wants to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);
/// In a row, so many refusals end the sending.
const REFUSALS_IN_A_ROW: u64 = 10_000;

/// Sends heartbeats over a connected socket, each when it is due or as soon after as can be; what is due
/// leaves together, until it `is_over`. What has not left `give_up` after the start does not leave any more. `left` is told
/// of every heartbeat that left, with its index.
///
/// # Errors
/// If the system forbids sending there, or never takes anything again.
pub fn offer(
    socket: &UdpSocket,
    departures: impl Iterator<Item = (u64, Heartbeat)>,
    give_up: Option<Duration>,
    is_over: impl Fn() -> bool,
    mut left: impl FnMut(u64, Heartbeat),
) -> io::Result<Sent> {
    let mut sent = Sent { intended: 0, offered: 0, refused: BTreeMap::new(), lateness: Histogram::new() };
    let mut departures = departures.peekable();
    let mut outbox = Outbox::<PACKET_BYTES>::new();
    let mut due_together: Vec<(u64, Heartbeat)> = Vec::with_capacity(MOST);
    let mut in_a_row = 0;
    let begun = Instant::now();
    'periods: while let Some(&(due, _)) = departures.peek() {
        let now = loop {
            if is_over() {
                break 'periods;
            }
            let now = begun.elapsed();
            let wait = Duration::from_nanos(due).saturating_sub(now);
            if wait.is_zero() {
                break now;
            } else if wait > AWAKE {
                std::thread::sleep((wait - AWAKE).min(LONGEST_SLEEP));
            } else {
                std::thread::yield_now();
            }
        };
        if give_up.is_some_and(|end| now > end) {
            break;
        }
        let now_ns = nanoseconds(now);
        outbox.clear();
        due_together.clear();
        while due_together.len() < MOST
            && let Some((due, heartbeat)) = departures.next_if(|(due, _)| *due <= now_ns)
        {
            outbox.push(heartbeat.encode());
            due_together.push((due, heartbeat));
        }
        let first_index = sent.intended;
        sent.intended += due_together.len() as u64;
        let mut first = 0;
        while first < due_together.len() {
            match outbox.send(socket, first) {
                Ok(count) => {
                    for (at, (due, heartbeat)) in due_together[first..first + count].iter().enumerate() {
                        sent.lateness.record(now_ns - due);
                        left(first_index + (first + at) as u64, *heartbeat);
                    }
                    sent.offered += count as u64;
                    first += count;
                    in_a_row = 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    in_a_row += 1;
                    let forbidden = error.kind() == io::ErrorKind::PermissionDenied && sent.offered == 0;
                    if forbidden || in_a_row > REFUSALS_IN_A_ROW {
                        return Err(error);
                    }
                    *sent.refused.entry(errno_name(&error)).or_default() += 1;
                    first += 1;
                }
            }
        }
    }
    if give_up.is_some() {
        // What was not due yet when the user stopped it was not asked for.
        let until = if is_over() { nanoseconds(begun.elapsed()) } else { u64::MAX };
        sent.intended += departures.take_while(|(due, _)| *due < until).count() as u64;
    }
    Ok(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sending(spread: Spread, value: Value) -> Sending {
        Sending {
            target: SocketAddr::from(([127, 0, 0, 1], 9)),
            variables: vec![3, 5, 9, 60],
            from: 7,
            value,
            period: Duration::from_secs(1),
            spread,
            duration: Some(Duration::from_secs(3)),
            seed: 7,
        }
    }

    fn departures(spread: Spread, value: Value) -> Vec<(u64, Heartbeat)> {
        Departures::new(&sending(spread, value)).collect()
    }

    #[test]
    fn evenly_spread_heartbeats_leave_at_equal_distances() {
        let all = departures(Spread::Even, Value::Count);
        let due: Vec<u64> = all.iter().map(|(due, _)| due / 1_000_000).collect();
        assert_eq!(due, (0..12).map(|at| at * 250).collect::<Vec<u64>>());
        assert_eq!(all[7].1, Heartbeat { variable: 60, from: 7, value: 1 });
    }

    #[test]
    fn together_they_leave_when_the_period_begins() {
        let all = departures(Spread::Together, Value::Fixed(9));
        assert!(all.iter().enumerate().all(|(at, (due, _))| *due == at as u64 / 4 * 1_000_000_000));
        assert!(all.iter().all(|(_, heartbeat)| heartbeat.value == 9));
    }

    #[test]
    fn however_they_are_spread_every_variable_leaves_once_in_a_period_and_in_order() {
        let all = departures(Spread::Random, Value::Random);
        assert_eq!(all.len(), 12);
        assert!(all.is_sorted_by_key(|(due, _)| *due));
        for (period, once) in all.chunks(4).enumerate() {
            let mut variables: Vec<u8> = once.iter().map(|(_, heartbeat)| heartbeat.variable).collect();
            variables.sort_unstable();
            assert_eq!(variables, [3, 5, 9, 60]);
            assert!(once.iter().all(|(due, _)| due / 1_000_000_000 == period as u64));
        }
        assert_ne!(
            all,
            Departures::new(&Sending { seed: 8, ..sending(Spread::Random, Value::Random) })
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn where_nobody_listens_even_the_only_heartbeat_is_said_to_be_refused() {
        let mut sending = sending(Spread::Together, Value::Count);
        sending.target = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        (sending.variables, sending.duration) = (vec![3], Some(Duration::from_nanos(1)));
        let sent = sending.run(&AtomicBool::new(false)).unwrap();
        assert_eq!((sent.intended, sent.offered), (1, 1), "it left");
        assert_eq!(sent.refused, BTreeMap::from([("ECONNREFUSED".to_owned(), 1)]));
    }

    #[test]
    fn what_left_is_what_arrives_on_loopback() {
        let inside = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut sending = sending(Spread::Even, Value::Count);
        sending.target = inside.local_addr().unwrap();
        sending.period = Duration::from_millis(4);
        sending.duration = Some(Duration::from_millis(40));
        let sent = sending.run(&AtomicBool::new(false)).unwrap();
        assert_eq!((sent.intended, sent.offered, sent.lateness.count()), (40, 40, 40));
        assert!(sent.refused.is_empty());
        let mut bytes = [0; 16];
        for (_, expected) in Departures::new(&sending) {
            let length = inside.recv(&mut bytes).unwrap();
            assert_eq!(bytes[..length], expected.encode());
        }
    }
}
