//! Which CPUs the sender and the receiver have, and who goes first there.

use super::interruptions::Interruptions;
use crate::kernel::quota::no_real_time_here;
use crate::sys::{allowed_cpus, prefer, real_time, run_on};
use std::fmt;
use std::str::FromStr;
use std::thread::Builder;

/// Where the threads of a measurer run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cpus {
    /// Where the sender has priority it has the last CPU of those that this program may use, and the receiver
    /// has the others; else the system decides, which can move a sender out of the way of others.
    #[default]
    Auto,
    /// Wherever the system puts them.
    Free,
    /// These: the senders in turn have one of the first each, the receivers one of the second each.
    Fixed {
        /// At least one.
        senders: Vec<usize>,
        /// At least one.
        receivers: Vec<usize>,
    },
}

/// Words that say no placement.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is not a placement of threads on CPUs; write auto, free, or CPUs of senders and receivers as 0/1 or 0,2/1,3-5"
)]
pub struct CpusError(String);

impl FromStr for Cpus {
    type Err = CpusError;

    fn from_str(word: &str) -> Result<Self, CpusError> {
        match word {
            "auto" => return Ok(Self::Auto),
            "free" => return Ok(Self::Free),
            _ => {}
        }
        word.split_once('/')
            .and_then(|(senders, receivers)| {
                Some(Self::Fixed { senders: list(senders)?, receivers: list(receivers)? })
            })
            .ok_or_else(|| CpusError(word.into()))
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |cpus: &[usize]| cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Free => f.write_str("free"),
            Self::Fixed { senders, receivers } => write!(f, "{}/{}", list(senders), list(receivers)),
        }
    }
}

/// `0,2-4`: as the kernel writes lists of CPUs.
fn list(words: &str) -> Option<Vec<usize>> {
    const MOST: usize = 4096;
    let mut cpus = Vec::new();
    for word in words.split(',') {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Who goes first on the sender's CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Real time where that is allowed.
    #[default]
    Auto,
    /// As any other program.
    Ordinary,
}

/// A placement that was made for the machine at hand.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    senders: Vec<usize>,
    receivers: Vec<usize>,
    /// A receiver has all of its CPUs, not one.
    receivers_share: bool,
    /// Whether senders may go first.
    pub(crate) real_time: bool,
    /// Whether each sender has a CPU that the target and the receiver can do without.
    alone: bool,
    why: &'static str,
}

impl Placement {
    /// Where threads go, by choice or as told.
    pub(crate) fn new(cpus: &Cpus, priority: Priority, senders: usize) -> Self {
        Self::of_machine(cpus, priority, senders, &allowed_cpus(), may_go_first)
    }

    fn of_machine(
        cpus: &Cpus,
        priority: Priority,
        senders: usize,
        allowed: &[usize],
        may_go_first: impl Fn() -> bool,
    ) -> Self {
        let (real_time, why) = match priority {
            Priority::Ordinary => (false, "as told"),
            // It would keep the receiver, and a target on this machine, from their only CPU.
            Priority::Auto if allowed.len() <= senders => (false, "no CPU to spare for it"),
            Priority::Auto if may_go_first() => (true, ""),
            Priority::Auto if no_real_time_here() => {
                (false, "real time is not allowed: our control group has none (its cpu.rt_runtime_us is 0)")
            }
            Priority::Auto => (false, "real time is not allowed: CAP_SYS_NICE, or a limit of rtprio above 0"),
        };
        let alone = allowed.len() > senders + 1;
        let free = Self { senders: vec![], receivers: vec![], receivers_share: true, real_time, alone, why };
        match cpus {
            Cpus::Free => free,
            Cpus::Fixed { senders, receivers } => Self {
                senders: senders.clone(),
                receivers: receivers.clone(),
                receivers_share: false,
                alone: true,
                ..free
            },
            Cpus::Auto if !real_time => free,
            Cpus::Auto => {
                let (others, last) = allowed.split_at(allowed.len() - senders);
                Self { senders: last.to_vec(), receivers: others.to_vec(), ..free }
            }
        }
    }

    /// CPUs of sender `number`; empty: wherever the system puts it.
    fn of_sender(&self, number: usize) -> &[usize] {
        one_of(&self.senders, number)
    }

    fn of_receiver(&self, number: usize) -> &[usize] {
        if self.receivers_share { &self.receivers } else { one_of(&self.receivers, number) }
    }

    /// Puts the calling thread where sender `number` belongs. What the system does not allow is left.
    pub(crate) fn settle_sender(&self, number: usize) -> Rank {
        settle(self.of_sender(number));
        if !self.real_time {
            return Rank::default();
        }
        // Where it cannot go first for want of pauses, it is preferred at least.
        let _ = prefer();
        let first = real_time(true).is_ok();
        Rank { first, allowed: first, alone: self.alone, ..Rank::default() }
    }

    /// When the CPU of the first sender does something else; `None` where it has none that nobody else needs. Who
    /// listens does not go first: others of its kind may be under way.
    pub(crate) fn listen(&self) -> Option<Interruptions> {
        if self.of_sender(0).is_empty() || !self.real_time || !self.alone {
            return None;
        }
        let listen = || {
            settle(self.of_sender(0));
            Interruptions::listen(Interruptions::LISTENING)
        };
        std::thread::scope(|scope| Builder::new().spawn_scoped(scope, listen).ok()?.join().ok())
    }

    /// Puts the calling thread where receiver `number` belongs.
    pub(crate) fn settle_receiver(&self, number: usize) -> Unsettled {
        let before = allowed_cpus();
        settle(self.of_receiver(number));
        Unsettled(before)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |cpus: &[usize]| match cpus {
            [] => "any CPU".to_owned(),
            [one] => format!("CPU {one}"),
            [first, .., last] if last - first + 1 == cpus.len() => format!("CPUs {first}-{last}"),
            many => format!("CPUs {}", many.iter().map(usize::to_string).collect::<Vec<_>>().join(",")),
        };
        write!(f, "sender on {}", list(&self.senders))?;
        match self.real_time {
            true => f.write_str(" under SCHED_FIFO while it has pauses")?,
            false => write!(f, " without priority ({})", self.why)?,
        }
        write!(f, ", receiver on {}", list(&self.receivers))
    }
}

/// The calling thread's CPUs are its own again when this is dropped.
pub(crate) struct Unsettled(Vec<usize>);

impl Drop for Unsettled {
    fn drop(&mut self) {
        settle(&self.0);
    }
}

fn settle(cpus: &[usize]) {
    if !cpus.is_empty() {
        // A CPU that is not there leaves the thread where it was.
        let _ = run_on(cpus);
    }
}

fn one_of(cpus: &[usize], number: usize) -> &[usize] {
    match cpus.len() {
        0 => &[],
        count => std::slice::from_ref(&cpus[number % count]),
    }
}

/// Whether this user may have real time, found by asking for it in a thread that ends.
fn may_go_first() -> bool {
    let asking = Builder::new().spawn(|| real_time(true).is_ok());
    asking.ok().and_then(|asking| asking.join().ok()).unwrap_or(false)
}

/// Whether a sender goes first, given its pauses.
///
/// A thread that goes first and never sleeps is taken from its CPU for 50 ms of each second, so that the others
/// live. Where others need its CPU it goes first only while it sleeps enough by itself for them. On a CPU of its own it
/// goes first while it has pauses, awake or not, and is an ordinary thread for as much of the time as it takes.
#[derive(Debug, Default)]
pub(crate) struct Rank {
    pub(crate) first: bool,
    allowed: bool,
    alone: bool,
    looked_ns: u64,
    slept_ns: u64,
    waited_ns: u64,
}

impl Rank {
    /// Between two looks.
    const EVERY_NS: u64 = 100_000_000;
    /// Of that, the shortest pauses to go first, and to begin to again.
    const LEAST_NS: u64 = Self::EVERY_NS / 16;
    const AGAIN_NS: u64 = Self::EVERY_NS / 5;
    /// Of that, what a sender with a CPU of its own leaves to others, asleep or as one of them.
    const ENOUGH_NS: u64 = Self::EVERY_NS / 12;

    /// Whether it sleeps in a short gap too.
    ///
    /// A CPU that slept wakes late, and each late packet spoils two gaps: nobody sleeps there on a CPU that no other
    /// needs.
    pub(crate) fn rests(&self) -> bool {
        !self.alone
    }

    /// It waited for so long, and slept for a part of that.
    pub(crate) fn waited(&mut self, ns: u64, slept_ns: u64) {
        self.waited_ns += ns;
        self.slept_ns += slept_ns;
    }

    /// Steps back, or forward again, when it is time to.
    pub(crate) fn look(&mut self, now_ns: u64) {
        let first = self.goes_first(now_ns);
        if first != self.first {
            self.first = real_time(first).is_ok() == first;
        }
    }

    fn goes_first(&mut self, now_ns: u64) -> bool {
        let passed = now_ns.saturating_sub(self.looked_ns);
        if passed < Self::EVERY_NS {
            let enough = !self.alone || passed < Self::EVERY_NS - Self::ENOUGH_NS + self.slept_ns;
            return self.first && enough;
        }
        self.looked_ns = now_ns;
        let (slept, waited) = (std::mem::take(&mut self.slept_ns), std::mem::take(&mut self.waited_ns));
        let least = if self.first { Self::LEAST_NS } else { Self::AGAIN_NS };
        self.allowed && least <= if self.alone { waited } else { slept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_is_read_as_it_is_written() {
        for word in ["auto", "free", "0/1", "0,2/1,3"] {
            assert_eq!(word.parse::<Cpus>().unwrap().to_string(), word);
        }
        let fixed = Cpus::Fixed { senders: vec![0], receivers: vec![1, 2, 3] };
        assert_eq!("0/1-3".parse(), Ok(fixed));
        for wrong in ["", "0", "0/", "/1", "1-0/2", "a/b", "0/99999999999"] {
            assert!(wrong.parse::<Cpus>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_sender_with_priority_has_a_cpu_of_its_own() {
        let auto = |allowed: &[usize], allowed_to| {
            Placement::of_machine(&Cpus::Auto, Priority::Auto, 1, allowed, || allowed_to)
        };
        let four = auto(&[0, 1, 2, 3], true);
        assert_eq!((four.of_sender(0), four.of_receiver(0)), (&[3][..], &[0, 1, 2][..]));
        assert_eq!(
            four.to_string(),
            "sender on CPU 3 under SCHED_FIFO while it has pauses, receiver on CPUs 0-2"
        );
        let ordinary = auto(&[0, 1], false);
        assert_eq!((ordinary.of_sender(0), ordinary.of_receiver(0)), (&[][..], &[][..]));
        assert!(ordinary.to_string().contains("CAP_SYS_NICE"));
        assert!(!auto(&[5], true).real_time, "the only CPU is everybody's");
    }

    #[test]
    fn senders_and_receivers_have_the_cpus_they_were_given_in_turn() {
        let cpus = "0,2/1,3".parse().unwrap();
        let told = Placement::of_machine(&cpus, Priority::Ordinary, 3, &[0, 1, 2, 3], || true);
        let of = |number| (told.of_sender(number)[0], told.of_receiver(number)[0]);
        assert_eq!((of(0), of(1), of(2)), ((0, 1), (2, 3), (0, 1)));
        assert!(!told.real_time);
    }

    #[test]
    fn who_has_its_own_cpu_goes_first_for_eleven_twelfths_of_the_time_and_never_sleeps() {
        let mut rank = Rank { first: true, allowed: true, alone: true, ..Rank::default() };
        assert!(!rank.rests());
        for window in 0..3 {
            let mut went_first = 0;
            for now in (0..Rank::EVERY_NS).step_by(100_000) {
                rank.waited(90_000, 0);
                rank.first = rank.goes_first(window * Rank::EVERY_NS + now);
                went_first += 100_000 * u64::from(rank.first);
            }
            let due = Rank::EVERY_NS - Rank::ENOUGH_NS;
            assert!(went_first.abs_diff(due) <= 100_000, "{went_first} of {due}");
        }
        rank.first = rank.goes_first(3 * Rank::EVERY_NS);
        rank.waited(Rank::EVERY_NS / 2, Rank::EVERY_NS / 2);
        assert!(rank.goes_first(4 * Rank::EVERY_NS - 1), "others had their time while it slept");
        rank.goes_first(4 * Rank::EVERY_NS);
        assert!(!rank.goes_first(5 * Rank::EVERY_NS), "it had no pause");
    }

    #[test]
    fn who_shares_its_cpu_sleeps_in_every_gap() {
        assert!(Rank { first: true, allowed: true, ..Rank::default() }.rests() && Rank::default().rests());
    }

    #[test]
    fn a_cpu_is_the_senders_own_when_it_was_given_or_enough_are_left() {
        let alone = |cpus: &str, allowed: &[usize]| {
            Placement::of_machine(&cpus.parse().unwrap(), Priority::Auto, 1, allowed, || true).alone
        };
        assert!(alone("auto", &[0, 1, 2]) && alone("1/0", &[0, 1]));
        assert!(!alone("auto", &[0, 1]) && !alone("free", &[0, 1]));
    }

    #[test]
    fn who_shares_its_cpu_and_never_sleeps_does_not_go_first() {
        let mut rank = Rank { first: true, allowed: true, ..Rank::default() };
        rank.waited(50_000_000, 50_000_000);
        assert!(rank.goes_first(Rank::EVERY_NS));
        assert!(rank.goes_first(Rank::EVERY_NS + 1), "not yet");
        rank.first = rank.goes_first(2 * Rank::EVERY_NS);
        assert!(!rank.first);
        rank.waited(Rank::LEAST_NS, Rank::LEAST_NS);
        assert!(!rank.goes_first(3 * Rank::EVERY_NS), "it takes more to begin again");
        rank.waited(Rank::AGAIN_NS, Rank::AGAIN_NS);
        assert!(rank.goes_first(4 * Rank::EVERY_NS));
    }

    #[test]
    fn who_may_not_go_first_never_does() {
        let mut rank = Rank::default();
        rank.waited(Rank::EVERY_NS, Rank::EVERY_NS);
        assert!(!rank.goes_first(Rank::EVERY_NS));
    }
}
