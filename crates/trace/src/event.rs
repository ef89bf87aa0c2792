//! What a tracepoint writes: 32 bytes.

/// One event, as a tracepoint wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When, in ticks of the session's clock.
    pub ticks: u64,
    /// What happened.
    pub kind: Kind,
    /// Which pipe, or which of the program's own things.
    pub pipe: u32,
    /// The granule that passed, from 1; samples in flight; of a program's own event, its first value.
    pub n: u64,
    /// A further value of a program's own event; of others 0.
    pub extra: u64,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A granule left a source.
    Tx,
    /// A granule reached a sink.
    Rx,
    /// A probe was crossed: `pipe` is the probe, `n` the delay in ticks that was really added there.
    Crossing,
    /// So many samples were in a pipe: `n` of them.
    InFlight,
    /// An event of the program's own, with its number below 2³².
    Own(u32),
}

impl Kind {
    /// Kinds below are ours; a program's own follow.
    const OWN: u64 = 16;

    pub(crate) const fn code(self) -> u64 {
        match self {
            Self::Tx => 1,
            Self::Rx => 2,
            Self::Crossing => 3,
            Self::InFlight => 4,
            // 2³² − 16 numbers at most, so that the code fits its half word.
            Self::Own(number) => (Self::OWN + number as u64) & 0xffff_ffff,
        }
    }

    const fn of_code(code: u64) -> Option<Self> {
        match code {
            1 => Some(Self::Tx),
            2 => Some(Self::Rx),
            3 => Some(Self::Crossing),
            4 => Some(Self::InFlight),
            own if own >= Self::OWN => Some(Self::Own((own - Self::OWN) as u32)),
            _ => None,
        }
    }
}

impl TraceEvent {
    /// Bytes that an event takes.
    pub const BYTES: usize = 32;

    /// As it lies in a ring: ticks; kind and pipe; n; extra.
    #[inline]
    pub const fn words(self) -> [u64; 4] {
        [self.ticks, self.kind.code() | (self.pipe as u64) << 32, self.n, self.extra]
    }

    /// What lies in a ring; `None` if no tracepoint writes such words.
    pub const fn of_words(words: [u64; 4]) -> Option<Self> {
        let Some(kind) = Kind::of_code(words[1] & 0xffff_ffff) else { return None };
        Some(Self { ticks: words[0], kind, pipe: (words[1] >> 32) as u32, n: words[2], extra: words[3] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = Kind> {
        prop_oneof![
            Just(Kind::Tx),
            Just(Kind::Rx),
            Just(Kind::Crossing),
            Just(Kind::InFlight),
            (0..=u32::MAX - 16).prop_map(Kind::Own)
        ]
    }

    proptest! {
        #[test]
        fn an_event_reads_back_as_it_was_written(
            ticks: u64, kind in kinds(), pipe: u32, n: u64, extra: u64
        ) {
            let event = TraceEvent { ticks, kind, pipe, n, extra };
            prop_assert_eq!(TraceEvent::of_words(event.words()), Some(event));
        }
    }

    #[test]
    fn words_that_no_tracepoint_writes_are_no_event() {
        for code in [0, 5, 15] {
            assert_eq!(TraceEvent::of_words([1, code, 1, 0]), None);
        }
    }
}
