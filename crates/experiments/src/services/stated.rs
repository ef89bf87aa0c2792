//! Generators that users of these services have, and what they state.

use super::observed::Numbers;

/// Reads what a generator printed: its rate, and the share that it says was lost where it says one.
type Read = fn(&str) -> Option<(f64, Option<f64>)>;

/// A generator.
#[derive(Debug)]
pub(super) struct Rival {
    pub(super) name: &'static str,
    /// With `{port}` and `{names}` for what they are.
    pub(super) words: &'static str,
    /// What it says: the rate, and how many of a hundred it counts as lost.
    pub(super) read: Read,
    /// What kind of load it is.
    pub(super) about: &'static str,
}

pub(super) const DNSPERF: Rival = Rival {
    name: "dnsperf -q 20000",
    words: "dnsperf -s 127.0.0.1 -p {port} -d {names} -q 20000 -c 4 -l 3",
    read: |said| {
        Some((number_behind(said, "Queries per second:")?, Some(share_behind(said, "Queries lost:")?)))
    },
    about: "waits for answers while 20 000 are out",
};

/// As most users start it.
pub(super) const DNSPERF_PLAIN: Rival = Rival {
    name: "dnsperf",
    words: "dnsperf -s 127.0.0.1 -p {port} -d {names} -l 3",
    about: "waits for answers while 100 are out",
    ..DNSPERF
};

pub(super) const RESPERF: Rival = Rival {
    name: "resperf -F 0",
    words: "resperf -s 127.0.0.1 -p {port} -d {names} -R -F 0 -m 400000 -r 6 -t 2",
    read: |said| {
        Some((number_behind(said, "Maximum throughput:")?, Some(number_behind(said, "Lost at that point:")?)))
    },
    about: "a ramp to 400 kqps in 6 s",
};

pub(super) const CALIDNS: Rival = Rival {
    name: "calidns",
    words: "calidns --increment 1.25 --minimum-success-rate 99.5 --quiet {names} 127.0.0.1:{port} 1000 100",
    read: |said| Some((said.split_whitespace().last()?.parse().ok()?, None)),
    about: "steps of a quarter from 1 kqps, until fewer than 99.5 % are answered",
};

pub(super) const MEMCASLAP: Rival = Rival {
    name: "memcaslap -U",
    words: "memcaslap -s 127.0.0.1:{port} -U -T 1 -c 16 -t 3s",
    read: |said| Some((number_behind(said, "TPS:")?, None)),
    about: "16 clients that wait for each answer, a tenth of them stores",
};

pub(super) const WRK: Rival = Rival {
    name: "wrk",
    words: "wrk -t 1 -c 64 -d 3s http://127.0.0.1:{port}/",
    read: |said| Some((number_behind(said, "Requests/sec:")?, None)),
    about: "64 connections that wait for each answer",
};

impl Rival {
    /// What its output states.
    pub(super) fn stated(&self, said: &str) -> Option<Numbers> {
        let (rate, lost) = (self.read)(said)?;
        let lost = lost.map(|lost| ("lost_percent".to_owned(), lost));
        let figures = [("rate".to_owned(), rate)].into_iter().chain(lost).collect();
        Some(Numbers { figures, ..Numbers::default() })
    }
}

/// The first number behind these words.
fn number_behind(said: &str, words: &str) -> Option<f64> {
    let rest = said.split_once(words)?.1.trim_start();
    let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The number in the parentheses behind these words.
fn share_behind(said: &str, words: &str) -> Option<f64> {
    number_behind(said.split_once(words)?.1, "(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_prints_is_read() {
        let dnsperf = "  Queries sent:         74216\n  Queries lost:         19805 (26.69%)\n\n  Queries per second:   27114.463190\n";
        assert_eq!((DNSPERF.read)(dnsperf), Some((27_114.463_19, Some(26.69))));
        let resperf = "  Maximum throughput:   25011.000000 qps\n  Lost at that point:   1.40%\n";
        assert_eq!((RESPERF.read)(resperf), Some((25_011.0, Some(1.4))));
        assert_eq!((CALIDNS.read)("37252\n"), Some((37_252.0, None)));
        let memcaslap = "udp_timeout: 0\n\nRun time: 2.0s Ops: 109506 TPS: 54747 Net_rate: 62.1M/s\n";
        assert_eq!((MEMCASLAP.read)(memcaslap), Some((54_747.0, None)));
        assert_eq!((WRK.read)("Requests/sec:  41230.11\n"), Some((41_230.11, None)));
        assert_eq!((DNSPERF.read)("Error: no"), None);
    }
}
