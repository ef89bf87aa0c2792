//! What one client shall do, written as words on its command line.

use crate::error::NoLeash;
use crate::placement::affinity::{AffinityError, Seat};
use dropline_trial::{Arrival, Rate, Think};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

/// What one client shall do; written as words on its command line.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientPlan {
    /// Where it sends.
    pub target: SocketAddr,
    /// Tag of the trial.
    pub tag: u32,
    /// Its number, from 0: its packets have the indices number, number + clients, ….
    pub number: u32,
    /// How many there are.
    pub clients: u32,
    /// UDP payload in bytes.
    pub payload: u32,
    /// When it sends.
    pub pace: ClientPace,
    /// What comes back to it.
    pub reply: ClientReply,
    /// Whether what comes back must be what was sent.
    pub same: bool,
    /// Whether it asks the kernel for stamps of its replies and of a sample of its packets.
    pub stamped: bool,
    /// Chance of the trial.
    pub seed: u64,
    /// When it begins, by the machine's monotonic clock.
    pub from_ns: u64,
    /// When it ends.
    pub until_ns: u64,
    /// Where it runs.
    pub seat: Seat,
}

/// When a client sends.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientPace {
    /// Before each packet it does this.
    Think(Think),
    /// As [`Think::Tick`], this much later: clients that are out of phase.
    TickAfter {
        /// Time between its wake-ups.
        period: Duration,
        /// From the tick to its wake-up.
        offset: Duration,
    },
    /// By the schedule of this process at this load, alone.
    Schedule(Arrival, Rate),
}

/// What comes back to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientReply {
    /// Nothing: replies are not asked for.
    None,
    /// Echoes, which are counted when it has a moment.
    Counted,
    /// Echoes, each of which it waits for.
    Awaited,
}

/// Why a client could not run.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Its command line was not written by this program.
    #[error("{0:?} is not a plan of a client")]
    Plan(String),
    /// It did not get its CPU or priority.
    #[error(transparent)]
    Seat(#[from] AffinityError),
    /// What it would send would leave this machine, or nobody can tell.
    #[error(transparent)]
    NoLeash(#[from] NoLeash),
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ClientPlan {
    /// The plan as words of a command line.
    pub fn to_words(&self) -> Vec<String> {
        let (pace, offset) = match &self.pace {
            ClientPace::Think(think) => (format!("think={think}"), 0),
            ClientPace::TickAfter { period, offset } => {
                (format!("think={}", Think::Tick(*period)), offset.as_nanos())
            }
            ClientPace::Schedule(arrival, load) => (format!("schedule={}@{arrival}", load.as_millipps()), 0),
        };
        let reply = match self.reply {
            ClientReply::None => "none",
            ClientReply::Counted => "counted",
            ClientReply::Awaited => "awaited",
        };
        let mut words = vec![
            format!("target={}", self.target),
            format!("tag={}", self.tag),
            format!("number={}", self.number),
            format!("clients={}", self.clients),
            format!("payload={}", self.payload),
            pace,
            format!("offset={offset}"),
            format!("reply={reply}"),
            format!("same={}", self.same),
            format!("stamped={}", self.stamped),
            format!("seed={}", self.seed),
            format!("from={}", self.from_ns),
            format!("until={}", self.until_ns),
        ];
        words.extend(self.seat.cpu.map(|cpu| format!("cpu={cpu}")));
        words.extend(self.seat.fifo.map(|fifo| format!("fifo={fifo}")));
        words
    }

    /// Reads what [`to_words`](Self::to_words) wrote.
    ///
    /// # Errors
    /// If it is something else.
    pub fn from_words(words: &[String]) -> Result<Self, ClientError> {
        let values: BTreeMap<&str, &str> = words.iter().filter_map(|word| word.split_once('=')).collect();
        Self::of_values(&values).ok_or_else(|| ClientError::Plan(words.join(" ")))
    }

    fn of_values(values: &BTreeMap<&str, &str>) -> Option<Self> {
        fn value<T: FromStr>(values: &BTreeMap<&str, &str>, name: &str) -> Option<T> {
            values.get(name)?.parse().ok()
        }
        let offset = Duration::from_nanos(value(values, "offset")?);
        let pace = match values.get("schedule") {
            Some(schedule) => {
                let (load, arrival) = schedule.split_once('@')?;
                ClientPace::Schedule(arrival.parse().ok()?, Rate::from_millipps(load.parse().ok()?))
            }
            None => match value(values, "think")? {
                Think::Tick(period) if !offset.is_zero() => ClientPace::TickAfter { period, offset },
                think => ClientPace::Think(think),
            },
        };
        let reply = match *values.get("reply")? {
            "none" => ClientReply::None,
            "counted" => ClientReply::Counted,
            "awaited" => ClientReply::Awaited,
            _ => return None,
        };
        Some(Self {
            target: value(values, "target")?,
            tag: value(values, "tag")?,
            number: value(values, "number")?,
            clients: value(values, "clients").filter(|&clients: &u32| clients > 0)?,
            payload: value(values, "payload").filter(|&payload: &u32| payload <= 65_507)?,
            pace,
            reply,
            same: value(values, "same")?,
            stamped: value(values, "stamped")?,
            seed: value(values, "seed")?,
            from_ns: value(values, "from")?,
            until_ns: value(values, "until")?,
            seat: Seat { cpu: value(values, "cpu"), fifo: value(values, "fifo") },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(pace: ClientPace) -> ClientPlan {
        ClientPlan {
            target: "127.0.0.1:7007".parse().unwrap(),
            tag: 77,
            number: 3,
            clients: 64,
            payload: 16,
            pace,
            reply: ClientReply::Counted,
            same: true,
            stamped: true,
            seed: u64::MAX,
            from_ns: 1_000,
            until_ns: 2_000,
            seat: Seat { cpu: Some(1), fifo: None },
        }
    }

    #[test]
    fn a_plan_survives_its_command_line() {
        let ms = Duration::from_millis;
        for pace in [
            ClientPace::Think(Think::Yield),
            ClientPace::Think(Think::Exponential(Duration::from_micros(200))),
            ClientPace::Think(Think::Tick(ms(20))),
            ClientPace::TickAfter { period: ms(20), offset: Duration::from_nanos(156_250) },
            ClientPace::Schedule(Arrival::poisson(), Rate::from_millipps(6_400_000)),
        ] {
            let plan = plan(pace);
            assert_eq!(ClientPlan::from_words(&plan.to_words()).unwrap(), plan);
        }
        assert!(ClientPlan::from_words(&["target=nowhere".into()]).is_err());
    }
}
