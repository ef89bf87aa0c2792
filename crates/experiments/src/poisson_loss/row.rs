//! The rows: who sends, over which buffer, on which CPUs.

use dropline_traffic::ClientPace;
use dropline_trial::{Arrival, Rate, Think};
use std::fmt;
use std::time::Duration;

/// One row of the experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) senders: Senders,
    pub(super) layout: Layout,
    /// Packets of 16 B that the server's socket holds.
    pub(super) room: u32,
    /// How long they send.
    pub(super) seconds: u32,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Senders {
    /// One that keeps a schedule, with constant gaps.
    Constant(u32),
    /// One that keeps a schedule, with exponential gaps.
    Poisson(u32),
    /// As many processes that send and let the others run: "constant" of the weblog of 2012.
    Yield(u32),
    /// As many processes that sleep for an exponential time of 200 us on today's timers: its "Poisson".
    Sleepers(u32),
    /// As many processes that wake up every so many ms, in so many groups apart.
    Ticks { clients: u32, period_ms: u32, groups: u32 },
}

/// Which CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Server and clients share one.
    One,
    /// The server has one of its own.
    Two,
}

/// How long clients of most rows send.
const USUAL_SECONDS: u32 = 2;
/// Mean of the weblog's exponential sleeps: `-log(1 - random()) / 5000` seconds.
const PUBLISHED_SLEEP: Duration = Duration::from_micros(200);

impl Row {
    const fn new(senders: Senders, layout: Layout, room: u32) -> Self {
        Self { senders, layout, room, seconds: USUAL_SECONDS }
    }

    /// The rows that answer the question in under ten minutes.
    pub(super) fn usual() -> Vec<Self> {
        use Layout::{One, Two};
        let ticks = |period_ms, groups| Senders::Ticks { clients: 128, period_ms, groups };
        let rows = [
            (Senders::Yield(64), One, 64),
            (Senders::Sleepers(128), One, 64),
            (ticks(20, 1), One, 64),
            (ticks(20, 1), One, 100),
            (ticks(20, 1), One, 128),
            (ticks(20, 2), One, 64),
            (ticks(20, 128), One, 64),
            (ticks(10, 1), One, 100),
            (ticks(10, 128), One, 64),
            (ticks(2, 1), One, 128),
            (ticks(1, 1), One, 128),
            (Senders::Poisson(6_400), One, 64),
            (Senders::Constant(6_400), One, 64),
            (Senders::Yield(64), Two, 64),
            (Senders::Sleepers(128), Two, 256),
            (ticks(20, 1), Two, 64),
            (ticks(20, 1), Two, 100),
            (ticks(20, 128), Two, 64),
            (ticks(10, 1), Two, 100),
            (ticks(2, 1), Two, 256),
            (Senders::Poisson(6_400), Two, 64),
            (Senders::Poisson(22_000), Two, 64),
            (Senders::Poisson(22_000), Two, 16),
            (Senders::Constant(6_400), Two, 64),
        ];
        rows.into_iter().map(|(senders, layout, room)| Self::new(senders, layout, room)).collect()
    }

    /// All periods and phases over all buffers, on one CPU and two; the weblog's two rows for a minute each.
    pub(super) fn full() -> Vec<Self> {
        let mut senders = vec![Senders::Yield(64), Senders::Sleepers(128)];
        for period_ms in [1, 2, 10, 20] {
            let groups = if period_ms == 20 { &[1, 2, 128][..] } else { &[1, 128] };
            senders.extend(groups.iter().map(|&groups| Senders::Ticks { clients: 128, period_ms, groups }));
        }
        senders.extend([6_400, 12_800, 22_000].map(Senders::Poisson));
        senders.push(Senders::Constant(6_400));
        let mut rows = Self::usual();
        for layout in [Layout::One, Layout::Two] {
            for &senders in &senders {
                rows.extend([64, 100, 128, 256].map(|room| Self::new(senders, layout, room)));
            }
        }
        rows.extend(
            rows.clone().into_iter().filter(Self::is_published).map(|row| Self { seconds: 60, ..row }),
        );
        let mut apart: Vec<Self> = Vec::new();
        rows.into_iter().for_each(|row| {
            if !apart.contains(&row) {
                apart.push(row);
            }
        });
        apart
    }

    /// A little of everything.
    pub(super) fn small() -> Vec<Self> {
        let ticks = Senders::Ticks { clients: 128, period_ms: 20, groups: 1 };
        [Senders::Yield(8), ticks, Senders::Poisson(6_400)]
            .map(|senders| Self { seconds: 1, ..Self::new(senders, Layout::Two, 64) })
            .to_vec()
    }

    /// Whether it stands for one of the weblog's two tables.
    pub(super) fn is_published(&self) -> bool {
        self.layout == Layout::One
            && match self.senders {
                Senders::Yield(64) => self.room == 64,
                Senders::Ticks { clients: 128, period_ms: 20, groups: 1 } => self.room == 100,
                _ => false,
            }
    }

    /// What a run of it is called where it is kept.
    pub(super) fn key(&self) -> String {
        format!("{}, K {}, {} s", self, self.room, self.seconds)
    }

    /// What it is called where people read it: its length where that is not the usual.
    pub(super) fn label(&self) -> String {
        match self.seconds {
            USUAL_SECONDS => format!("{self}, K {}", self.room),
            _ => self.key(),
        }
    }

    /// When each client sends.
    pub(super) fn paces(&self) -> Vec<ClientPace> {
        let schedule = |arrival, pps: u32| {
            vec![ClientPace::Schedule(arrival, Rate::from_millipps(u64::from(pps) * 1000))]
        };
        let all = |clients: u32, think| vec![ClientPace::Think(think); clients as usize];
        match self.senders {
            Senders::Constant(pps) => schedule(Arrival::constant(), pps),
            Senders::Poisson(pps) => schedule(Arrival::poisson(), pps),
            Senders::Yield(clients) => all(clients, Think::Yield),
            Senders::Sleepers(clients) => all(clients, Think::Exponential(PUBLISHED_SLEEP)),
            Senders::Ticks { clients, period_ms, groups } => {
                let period = Duration::from_millis(period_ms.into());
                let offset = |client| period * (client % groups) / groups;
                (0..clients).map(|client| ClientPace::TickAfter { period, offset: offset(client) }).collect()
            }
        }
    }

    /// SO_RCVBUF that holds `room` packets: the kernel doubles it and charges each 832 B.
    pub(super) fn buffer_bytes(&self) -> u64 {
        u64::from(self.room) * 832 / 2
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layout {
            Layout::One => f.write_str("one CPU: ")?,
            Layout::Two => f.write_str("two CPUs: ")?,
        }
        fmt::Display::fmt(&self.senders, f)
    }
}

impl fmt::Display for Senders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(pps) => write!(f, "constant {pps}/s"),
            Self::Poisson(pps) => write!(f, "Poisson {pps}/s"),
            Self::Yield(clients) => write!(f, "yield x{clients}"),
            Self::Sleepers(clients) => write!(f, "exponential sleeps x{clients}"),
            Self::Ticks { clients, period_ms, groups: 1 } => {
                write!(f, "ticks of {period_ms} ms x{clients}")
            }
            Self::Ticks { clients, period_ms, groups } if groups == clients => {
                write!(f, "ticks of {period_ms} ms x{clients}, out of phase")
            }
            Self::Ticks { clients, period_ms, groups } => {
                write!(f, "ticks of {period_ms} ms x{clients}, {groups} groups")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_apart_by_their_keys_and_the_seeds_are_among_them() {
        for rows in [Row::usual(), Row::full()] {
            let keys: std::collections::BTreeSet<String> = rows.iter().map(Row::key).collect();
            assert_eq!(keys.len(), rows.len());
            assert!(rows.iter().filter(|row| row.is_published()).count() >= 2);
        }
        // Five runs of a row, each a second more than it sends.
        assert!(Row::usual().iter().map(|row| 5 * (row.seconds + 2)).sum::<u32>() < 600);
    }

    #[test]
    fn groups_are_spread_over_a_period() {
        let senders = Senders::Ticks { clients: 4, period_ms: 20, groups: 2 };
        let row = Row::new(senders, Layout::One, 64);
        let offsets: Vec<u128> = row
            .paces()
            .iter()
            .map(|pace| match pace {
                ClientPace::TickAfter { offset, .. } => offset.as_millis(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(offsets, [0, 10, 0, 10]);
        assert_eq!(row.buffer_bytes(), 26_624);
    }
}
