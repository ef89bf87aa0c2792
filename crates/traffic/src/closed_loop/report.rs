//! What one client did, as bytes on its output.

use dropline_stats::Histogram;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What a client did. Times are of the machine's monotonic clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientReport {
    /// Each packet that left, in order.
    pub packets: Vec<ClientPacket>,
    /// Further copies of replies.
    pub duplicated: u64,
    /// What came to it and was no reply to one of its packets.
    pub foreign: u64,
    /// Packets that came back shorter than they were sent, longer, or with other bytes, and not as they were.
    pub otherwise: [u64; 3],
    /// All replies of these kinds: several of a packet too.
    pub different: [u64; 3],
    /// Replies that its own socket had no room for.
    pub dropped: u64,
    /// Replies that the kernel stamped.
    pub stamped: u64,
    /// How long after all were to begin it was ready to.
    pub late_ns: u64,
    /// How often the settable clock was set meanwhile, and by how much at most.
    pub clock_steps: [u64; 2],
    /// When the network first reported that the target is gone.
    pub gone_ns: Option<u64>,
    /// Such reports, by errno name.
    pub gone: BTreeMap<String, u64>,
    /// Sends that the system refused, by errno name.
    pub refused: BTreeMap<String, u64>,
    /// Of a sample of packets: from when each was due, or where nobody said from the call that sent it, to when
    /// it left by the kernel's stamp.
    pub sampled: Histogram,
}

/// A packet of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientPacket {
    /// How long the client was to sleep before it; `None` of a client that does not sleep for a length.
    pub asked_ns: Option<u64>,
    /// When it was due: the end of that sleep, a tick, or the schedule's word; `None` of clients that yield.
    pub due_ns: Option<u64>,
    /// Before the call that sent it.
    pub left_ns: u64,
    /// When its reply came: by the kernel's stamp, or when it was read.
    pub back_ns: Option<u64>,
}

/// Stands for `None`: no clock runs for 584 years.
const NEVER: u64 = u64::MAX;
/// Numbers of a packet.
const EACH: usize = 4;

impl ClientReport {
    /// Packets whose reply came.
    pub fn forwarded(&self) -> u64 {
        self.packets.iter().filter(|packet| packet.back_ns.is_some()).count() as u64
    }

    /// Numbers of eight bytes, then texts behind their lengths.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(8 * EACH * self.packets.len() + 512);
        let mut number = |value: u64| bytes.extend_from_slice(&value.to_le_bytes());
        let counts = [self.duplicated, self.foreign, self.dropped, self.stamped, self.late_ns];
        counts.into_iter().for_each(&mut number);
        let known = |time: Option<u64>| time.unwrap_or(NEVER);
        self.otherwise.into_iter().chain(self.different).for_each(&mut number);
        self.clock_steps.into_iter().chain([known(self.gone_ns)]).for_each(&mut number);
        number(self.packets.len() as u64);
        for packet in &self.packets {
            let ClientPacket { asked_ns, due_ns, left_ns, back_ns } = *packet;
            [known(asked_ns), known(due_ns), left_ns, known(back_ns)].into_iter().for_each(&mut number);
        }
        let sampled = if self.sampled.count() > 0 { self.sampled.to_v2_deflate() } else { String::new() };
        for text in [counts_in_words(&self.refused), counts_in_words(&self.gone), sampled] {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        out.write_all(&bytes)?;
        out.flush()
    }

    /// Reads what [`write`](Self::write) wrote; `None` of what was cut or is something else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut take = |length: usize| {
            let (taken, left) = rest.split_at_checked(length)?;
            rest = left;
            Some(taken)
        };
        let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
        let mut next = || number(take(8)?);
        let [duplicated, foreign] = [next()?, next()?];
        let [dropped, stamped, late_ns] = [next()?, next()?, next()?];
        let otherwise = [next()?, next()?, next()?];
        let different = [next()?, next()?, next()?];
        let clock_steps = [next()?, next()?];
        let gone_ns = Some(next()?).filter(|&time| time != NEVER);
        let count = usize::try_from(next()?).ok()?;
        let packet = |numbers: &[u8]| {
            let at = |place: usize| number(&numbers[8 * place..8 * place + 8]).unwrap_or(NEVER);
            let known = |place| Some(at(place)).filter(|&time| time != NEVER);
            ClientPacket { asked_ns: known(0), due_ns: known(1), left_ns: at(2), back_ns: known(3) }
        };
        let packets = take(count.checked_mul(8 * EACH)?)?.chunks_exact(8 * EACH).map(packet).collect();
        let mut text = || {
            let length = usize::try_from(number(take(8)?)?).ok()?;
            std::str::from_utf8(take(length)?).ok()
        };
        let (refused, gone) = (counts_of_words(text()?)?, counts_of_words(text()?)?);
        let sampled = match text()? {
            "" => Histogram::new(),
            text => Histogram::from_v2_deflate(text).ok()?,
        };
        Some(Self {
            packets,
            duplicated,
            foreign,
            otherwise,
            different,
            dropped,
            stamped,
            late_ns,
            clock_steps,
            gone_ns,
            gone,
            refused,
            sampled,
        })
    }
}

/// `EAGAIN=3;ENOBUFS=4`.
fn counts_in_words(counts: &BTreeMap<String, u64>) -> String {
    let words: Vec<String> = counts.iter().map(|(name, count)| format!("{name}={count}")).collect();
    words.join(";")
}

fn counts_of_words(words: &str) -> Option<BTreeMap<String, u64>> {
    let count = |part: &str| {
        let (name, count) = part.split_once('=')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    words.split(';').filter(|part| !part.is_empty()).map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_was_cut_is_none_and_a_whole_one_is_the_same() {
        let slept = ClientPacket { asked_ns: Some(3), due_ns: Some(4), left_ns: 5, back_ns: Some(9) };
        let lost = ClientPacket { left_ns: 7, ..ClientPacket::default() };
        let mut report = ClientReport {
            packets: vec![slept, lost],
            duplicated: 1,
            foreign: 2,
            otherwise: [4, 10, 5],
            different: [6, 11, 8],
            dropped: 3,
            stamped: 1,
            late_ns: 12,
            clock_steps: [1, 60_000],
            gone_ns: Some(8),
            ..ClientReport::default()
        };
        report.gone.insert("ECONNREFUSED".into(), 2);
        report.refused.insert("ENOBUFS".into(), 4);
        report.sampled.record(41_000);
        let mut bytes = Vec::new();
        report.write(&mut bytes).unwrap();
        assert_eq!((ClientReport::read(&bytes), report.forwarded()), (Some(report), 1));
        for cut in 0..bytes.len() {
            assert_eq!(ClientReport::read(&bytes[..cut]), None, "{cut}");
        }
    }
}
