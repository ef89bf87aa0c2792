//! `heartbeat://` targets: an aggregator that keeps the last heartbeat of each variable.
//!
//! What did not reach its socket's buffer is counted there, as of a one-way service; the report after every
//! trial is the check that what reached it was kept.

use super::udp::resolve;
use super::{Kind, Opened, Opening, Scheme};
use dropline_aggregator::address::host_and_port;
use dropline_aggregator::client::{Answer, ask, connect};
use dropline_aggregator::sender::{Sent, offer};
use dropline_aggregator::wire::{Heartbeat, VARIABLES};
use dropline_consent::{consent, not_connected, refused};
use dropline_failure::Failure;
use dropline_traffic::datagrams::MOST;
use dropline_traffic::{Guard, TargetSocket};
use dropline_trial::number_of;
use dropline_trial::{Caveat, Delay, Measurer, TrafficProfile, Trial, TrialInput};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Its row in the table of targets.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "heartbeat://",
    forms: &[("heartbeat://HOST:PORT", "a heartbeat aggregator; its report is the check of what it kept")],
    parse,
};

/// Reads `HOST:PORT`.
fn parse(word: &str) -> Result<Kind, Failure> {
    let wrong =
        || Failure::usage(format!("heartbeat://{word} is not an address; write heartbeat://127.0.0.1:9060"));
    let (host, port) = host_and_port(word).ok_or_else(wrong)?;
    Ok(Kind::Heartbeat { host: host.into(), port })
}

/// Resolves the name, asks whether we may, asks for a report.
pub(super) fn open(
    host: &str,
    port: u16,
    profile: &TrafficProfile,
    opening: Opening,
) -> Result<Opened, Failure> {
    let address = resolve(host, port, "heartbeat://")?;
    consent(address)?;
    if profile.streams.len() != 1 || profile.directions.len() != 1 {
        return Err(Failure::usage("an aggregator is sent one stream in one direction: leave out --streams"));
    }
    let answer = ask(address, PATIENCE)?;
    let socket = TargetSocket::find(address).ok_or_else(|| {
        Failure::environment(format!("the socket behind {address} cannot be seen, so it cannot be counted"))
            .advice("run dropline in the network namespace of the aggregator")
    })?;
    let us = answer.round_trip.as_micros();
    Ok(Opened {
        note: Some(format!("a heartbeat aggregator, sends a report in {us} us; counted at its socket")),
        generator: Some(format!("heartbeats of {VARIABLES} variables in turn, sendmmsg of up to {MOST}")),
        reply_buffer_bytes: None,
        measurer: Box::new(Heartbeats {
            address,
            socket,
            profile: profile.clone(),
            next: opening.first_trial,
            opening,
        }),
    })
}

/// How long a report is waited for, each of three times.
const PATIENCE: Duration = Duration::from_millis(500);

/// Performs trials on an aggregator.
struct Heartbeats {
    address: SocketAddr,
    socket: TargetSocket,
    profile: TrafficProfile,
    opening: Opening,
    next: u64,
}

impl Measurer for Heartbeats {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        let begun = Instant::now();
        let number = self.next;
        self.next += 1;
        let seed = self.profile.trial_seed(number);
        let socket = connect(self.address).map_err(|why| not_connected(self.address, &why))?;
        socket.set_nonblocking(true).map_err(Failure::environment)?;
        let before = self.look()?.drops;

        let mut kept = Expected { last: [None; VARIABLES] };
        let departures = self.profile.arrival.departures(input, seed).zip(0u64..);
        let departures = departures.map(|(due, index)| (due, Expected::heartbeat(number, index)));
        let give_up = input.duration + (input.duration / 100).max(Duration::from_millis(25));
        let (astray, stop) = (AtomicBool::new(false), &self.opening.stop);
        let is_over = || stop.load(Ordering::Relaxed) || astray.load(Ordering::Relaxed);
        let mut guard =
            Guard::over(&socket, self.address).map_err(|why| refused(&self.address.to_string(), &why))?;
        let (sent, came) = guard.during(&astray, || {
            offer(&socket, departures, Some(give_up), is_over, |_, heartbeat| kept.left(heartbeat))
        });
        let sent =
            sent.map_err(|why| Failure::environment(format!("cannot send to {}: {why}", self.address)))?;
        if let Some(rule) = came {
            // No report is asked for where it would come from another.
            let mut trial = Trial::new(number, input, seed);
            (trial.intended, trial.offered, trial.forwarded) =
                (Some(sent.intended), sent.offered, sent.offered);
            (trial.duration, trial.elapsed) = (begun.elapsed().min(input.duration), begun.elapsed());
            trial.caveats.push(Caveat::RuleAppeared { rule });
            return Ok(trial);
        }
        let (stopped, length) = (self.opening.stop.load(Ordering::Relaxed), begun.elapsed());
        let waiting = self.drain()?;
        let dropped = self.look()?.drops.saturating_sub(before);
        let answer = ask(self.address, PATIENCE)?;

        let mut trial = Trial::new(number, input, seed);
        if stopped {
            if sent.offered == 0 {
                return Err(Failure::interrupted());
            }
            trial.duration = length.min(input.duration);
            trial.caveats.push(Caveat::Interrupted);
        }
        self.count(&mut trial, sent, dropped, waiting, &kept, &answer);
        self.rest();
        trial.elapsed = begun.elapsed();
        Ok(trial)
    }
}

impl Heartbeats {
    /// What the trial says, of what left, what the socket dropped and what the report shows.
    fn count(
        &self,
        trial: &mut Trial,
        sent: Sent,
        dropped: u64,
        waiting: u64,
        kept: &Expected,
        answer: &Answer,
    ) {
        trial.intended = Some(sent.intended);
        trial.offered = sent.offered;
        if sent.offered < sent.intended {
            let (intended, offered) = (sent.intended, sent.offered);
            trial.caveats.push(Caveat::GeneratorLimited { intended, offered, error: None, interface: None });
        }
        let closed = sent.refused.contains_key("ECONNREFUSED");
        trial.refused = sent.refused;
        trial.lateness =
            Delay { histogram: (sent.lateness.count() > 0).then_some(sent.lateness), ..Delay::default() };
        let missing = kept.missing_in(answer);
        // A heartbeat that the report should show and does not was lost, wherever that was.
        let lost = (dropped + waiting).max(missing);
        trial.forwarded = sent.offered.saturating_sub(lost);
        trial.caveats.push(Caveat::Reported {
            code: "counted_at_socket".into(),
            text: format!(
                "the aggregator's socket dropped {} and {waiting} still wait there; of the last \
                 of each variable the report misses {missing}; what others sent to it is in these numbers too",
                number_of(dropped, "heartbeat")
            ),
        });
        if missing > dropped + waiting || closed {
            trial.caveats.push(Caveat::Reported {
                code: "not_stored".into(),
                text: format!(
                    "{} reached the aggregator's socket and is not in its report: it rejects that, or another sender \
                     sets the same variables",
                    number_of(missing, "heartbeat")
                ),
            });
        }
    }

    /// Waits until nothing waits at the socket any more, as long as the drain may last; how many do.
    fn drain(&self) -> Result<u64, Failure> {
        /// What Linux charges a waiting heartbeat for, in bytes.
        const CHARGE: u64 = 768;
        let until = Instant::now() + self.profile.drain.longest;
        loop {
            let waiting = self.look()?.waiting_bytes;
            if waiting == 0 || Instant::now() >= until {
                return Ok(waiting.div_ceil(CHARGE));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sleeps, unless the user wants to stop.
    fn rest(&self) {
        let until = Instant::now() + self.profile.drain.rest;
        while Instant::now() < until && !self.opening.stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn look(&self) -> Result<dropline_traffic::AtSocket, Failure> {
        self.socket.look().ok_or_else(|| {
            Failure::environment(format!("the aggregator at {} is gone: its socket is closed", self.address))
        })
    }
}

/// What the report after a trial should show: the last heartbeat that left of every variable.
#[derive(Clone, Debug)]
struct Expected {
    last: [Option<(u8, u8)>; VARIABLES],
}

impl Expected {
    /// Heartbeat `index` of trial `number`: variables in turn, each with a number that counts its rounds.
    fn heartbeat(number: u64, index: u64) -> Heartbeat {
        let round = (index / VARIABLES as u64).wrapping_add(number << 13);
        let [from, value] = (round as u16).to_be_bytes();
        Heartbeat { variable: (index % VARIABLES as u64) as u8, from, value }
    }

    fn left(&mut self, heartbeat: Heartbeat) {
        self.last[usize::from(heartbeat.variable)] = Some((heartbeat.from, heartbeat.value));
    }

    /// Variables whose last heartbeat the report does not show.
    fn missing_in(&self, answer: &Answer) -> u64 {
        let pairs = self.last.iter().zip(&answer.report.entries);
        pairs.filter(|(last, entry)| last.is_some_and(|last| last != (entry.from, entry.value))).count()
            as u64
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use dropline_aggregator::server::Server;
    use dropline_trial::Rate;
    use std::sync::Arc;

    fn opening() -> Opening {
        Opening { patience: Duration::from_secs(1), ..Opening::default() }
    }

    #[test]
    fn an_address_is_read_and_others_refused() {
        assert_eq!(parse("[::1]:9060").unwrap(), Kind::Heartbeat { host: "::1".into(), port: 9060 });
        for wrong in ["", "localhost", ":1", "h:0", "h:70000"] {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }

    #[test]
    fn every_heartbeat_of_a_trial_is_stored_or_dropped_and_the_report_agrees() {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server { listen, ..Server::default() }.start().unwrap();
        let (host, port) = (server.address().ip().to_string(), server.address().port());
        let mut opened = open(&host, port, &TrafficProfile::default(), opening()).unwrap();
        let input = TrialInput { load: Rate::pps(20_000.0).unwrap(), duration: Duration::from_millis(500) };
        let trial = opened.measurer.measure(input).unwrap();
        let counts = server.stop();
        assert_eq!(trial.intended, Some(10_000));
        assert_eq!(trial.forwarded, counts.stored);
        assert_eq!(trial.offered, counts.stored + counts.dropped_socket.unwrap_or(0));
        assert_eq!(counts.requests["answered"], 2, "one report before, one after");
    }

    #[test]
    fn a_stopped_trial_says_what_was_stored_until_then() {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server { listen, ..Server::default() }.start().unwrap();
        let (host, port) = (server.address().ip().to_string(), server.address().port());
        let opening = opening();
        let stop = Arc::clone(&opening.stop);
        let mut opened = open(&host, port, &TrafficProfile::default(), opening).unwrap();
        let user = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_secs(600) };
        let trial = opened.measurer.measure(input).unwrap();
        user.join().unwrap();
        assert!(trial.is_interrupted() && trial.duration < input.duration);
        assert!(trial.offered > 0 && Some(trial.offered) <= trial.intended && trial.intended < Some(600_000));
        assert_eq!(trial.forwarded, server.stop().stored);
    }

    #[test]
    fn an_aggregator_that_answers_and_stores_nothing_is_found_out() {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let elsewhere = vec!["192.0.2.0/24".parse().unwrap()];
        let server = Server { listen, senders: Some(elsewhere), ..Server::default() }.start().unwrap();
        let (host, port) = (server.address().ip().to_string(), server.address().port());
        let mut opened = open(&host, port, &TrafficProfile::default(), opening()).unwrap();
        let input = TrialInput { load: Rate::pps(6_400.0).unwrap(), duration: Duration::from_millis(10) };
        let trial = opened.measurer.measure(input).unwrap();
        let says = |code: &str| trial.caveats.iter().any(|caveat| caveat.code() == code);
        // What did not leave in time on a busy machine is told as the generator's.
        assert!(trial.offered == 64 || trial.offered > 0 && says("generator_limited"), "{trial:?}");
        assert!(trial.forwarded == 0 && says("not_stored"), "{trial:?}");
    }

    #[test]
    fn an_aggregator_that_does_not_listen_says_what_to_start() {
        let refused = open("127.0.0.1", 9, &TrafficProfile::default(), opening()).err().unwrap();
        assert!(refused.to_string().contains("dropline heartbeat serve"), "{refused}");
    }
}
