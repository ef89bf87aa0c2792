//! How packets are sent and received: as told, or as fits.

use std::fmt;
use std::str::FromStr;

/// How packets leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendMeans {
    /// As fits the load and the way to the target.
    #[default]
    Auto,
    /// One system call a packet.
    Send,
    /// All that are due in one system call, one after the other.
    Sendmmsg,
    /// All that are due as one train, which the kernel cuts into packets behind all queues (`UDP_SEGMENT`).
    Gso,
    /// As Ethernet frames of our own, past the queueing discipline (`AF_PACKET`).
    Packet,
}

/// How packets are received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiveMeans {
    /// As fits the CPUs at hand.
    #[default]
    Auto,
    /// Sleeping until packets are there.
    Block,
    /// Asking again and again, which keeps a CPU busy and spares whoever sends the wake-up.
    Spin,
    /// Spinning, and trains stay together until they are counted (`UDP_GRO`).
    Gro,
}

/// A word that is no means.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{word:?} is not one of the means: {known}")]
pub struct MeansError {
    word: String,
    known: String,
}

impl SendMeans {
    /// All, for help texts and errors.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Send, Self::Sendmmsg, Self::Gso, Self::Packet];

    /// The word a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Send => "send",
            Self::Sendmmsg => "sendmmsg",
            Self::Gso => "gso",
            Self::Packet => "packet",
        }
    }

    /// What it is, for help texts.
    pub fn about(self) -> &'static str {
        match self {
            Self::Auto => "as fits the load and the path",
            Self::Send => "one system call for each packet",
            Self::Sendmmsg => "one system call for all packets that are due",
            Self::Gso => "all packets that are due in one buffer, which the kernel splits (UDP GSO)",
            Self::Packet => "Ethernet frames that bypass the queueing discipline (needs CAP_NET_RAW)",
        }
    }
}

impl ReceiveMeans {
    /// All, for help texts and errors.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Block, Self::Spin, Self::Gro];

    /// The word a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Block => "block",
            Self::Spin => "spin",
            Self::Gro => "gro",
        }
    }

    /// What it is, for help texts.
    pub fn about(self) -> &'static str {
        match self {
            Self::Auto => "as fits the number of CPUs",
            Self::Block => "sleep until packets are there",
            Self::Spin => "poll all the time, which keeps a CPU busy",
            Self::Gro => "poll, and let the kernel merge packets (UDP GRO)",
        }
    }

    /// What fits `cpus` that are this program's own.
    pub(crate) fn or_for(self, cpus: usize) -> Self {
        /// For the sender, the receiver and somebody else.
        const ENOUGH: usize = 3;
        match self {
            Self::Auto if cpus >= ENOUGH => Self::Spin,
            Self::Auto => Self::Block,
            told => told,
        }
    }

    /// Whether it never sleeps.
    pub(crate) fn spins(self) -> bool {
        matches!(self, Self::Spin | Self::Gro)
    }
}

impl fmt::Display for SendMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ReceiveMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SendMeans {
    type Err = MeansError;

    fn from_str(word: &str) -> Result<Self, MeansError> {
        let all = Self::ALL;
        all.into_iter().find(|means| means.name() == word).ok_or_else(|| unknown(word, &all.map(Self::name)))
    }
}

impl FromStr for ReceiveMeans {
    type Err = MeansError;

    fn from_str(word: &str) -> Result<Self, MeansError> {
        let all = Self::ALL;
        all.into_iter().find(|means| means.name() == word).ok_or_else(|| unknown(word, &all.map(Self::name)))
    }
}

fn unknown(word: &str, known: &[&str]) -> MeansError {
    MeansError { word: word.into(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_spins_where_a_cpu_is_left_for_others() {
        assert_eq!(ReceiveMeans::Auto.or_for(2), ReceiveMeans::Block);
        assert_eq!(ReceiveMeans::Auto.or_for(3), ReceiveMeans::Spin);
        assert_eq!(ReceiveMeans::Gro.or_for(1), ReceiveMeans::Gro, "as told");
    }

    #[test]
    fn means_are_read_as_they_are_written() {
        for means in SendMeans::ALL {
            assert_eq!(means.to_string().parse(), Ok(means));
        }
        for means in ReceiveMeans::ALL {
            assert_eq!(means.to_string().parse(), Ok(means));
        }
        let error = "fast".parse::<SendMeans>().unwrap_err().to_string();
        assert_eq!(error, "\"fast\" is not one of the means: auto, send, sendmmsg, gso, packet");
    }
}
