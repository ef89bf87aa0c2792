//! What the original's notes say in numbers, and what the definition says to it.

use super::found::{Reliability, Sentence, Verdict};

/// Every quantitative sentence about reliability, judged.
pub(super) fn sentences(found: &Reliability) -> Vec<Sentence> {
    let Reliability { random, waiting, stored, all, .. } = found;
    let log2 = |p: f64| format!("2^{:.1}", p.log2()).replace(".0", "");
    let share = |place: usize, value: u8| format!("{:.1} %", 100.0 * all.share(place, value));
    let used = found.polls.used_seen;
    vec![
        Sentence {
            quoted: "the Adler-32 and magic number in the heartbeat message provide a probability of a random or \
                     corrupted 8-byte packet being incorrectly accepted of 2⁻³²",
            verdict: Verdict::Wrong,
            why: format!(
                "random: {} are accepted, {} stored, since the magic byte is fixed beside the checksum; {} is the \
                 checksum alone. Corrupted: a payload replaced by chance under its old checksum passes with {}",
                log2(random.accepted),
                log2(random.stored),
                log2(random.checksum_alone),
                log2(stored.kept_checksum_fits),
            ),
        },
        Sentence {
            quoted: "for either of the two 32-bit halves of the message you can calculate an other half (I think \
                     unique) that would make it a valid heartbeat message",
            verdict: Verdict::Wrong,
            why: format!(
                "a second half has one checksum, if its first byte is the magic one; of the 2^32 first halves only \
                 {} belong to any message, and up to {} messages share one",
                all.distinct_checksums, all.most_sharing
            ),
        },
        Sentence {
            quoted: "the Adler-32 output is biased toward low-valued bytes such as 1, 2, 3, 4, 5, 6, 7, and 8, \
                     though the bias toward 0 bytes is very slight",
            verdict: Verdict::Depends,
            why: format!(
                "true of its bytes 0 ({:.1} bits of entropy) and 2 ({:.1}); bytes 1 and 3 are flat ({:.2}, {:.2}). \
                 Byte 0 is never 0, byte 2 is 0 in {} % of messages",
                all.entropy_bits[0],
                all.entropy_bits[2],
                all.entropy_bits[1],
                all.entropy_bits[3],
                number(100.0 * all.share(2, 0))
            ),
        },
        Sentence {
            quoted: "the byte 2 (^B) occurs about ⅔ of the time, and the byte 6 (^F) occurs about ⅓ of the time",
            verdict: Verdict::Holds,
            why: format!(
                "2 as the checksum's third byte in {}, 6 as its first in {} of all messages (of those that are \
                 stored {:.1} % and {:.1} %)",
                share(2, 2),
                share(0, 6),
                100.0 * stored.share(2, 2),
                100.0 * stored.share(0, 6)
            ),
        },
        Sentence {
            quoted: "4000 frames per second, we should expect to see a non-heartbeat frame randomly misrecognized as \
                     a heartbeat frame about once every million seconds, about once every 12 days",
            verdict: Verdict::Wrong,
            why: format!(
                "2^32 frames take {}, as it says; accepted once in {}, stored once in {}, if the frames are uniform \
                 noise. Frames with the magic byte in place and small bytes in front meet 16 bits of check",
                time(waiting.seed_checksum_alone_s),
                time(waiting.seed_accepted_s),
                time(waiting.seed_stored_s)
            ),
        },
        Sentence {
            quoted: "in ¾ of those cases, the variable won’t be in the valid range of 0–63",
            verdict: Verdict::Holds,
            why: format!("stored ÷ accepted is {}", random.stored / random.accepted),
        },
        Sentence {
            quoted: "it will almost certainly be overwritten by a valid heartbeat before the remote monitoring \
                     process requests a health report",
            verdict: Verdict::Depends,
            why: format!(
                "a false value in a variable in use is seen with {}: heartbeat over twice the poll interval, while \
                 that is below one half. In a silent or unused variable it is always seen",
                number(used)
            ),
        },
        Sentence {
            quoted: "This test could happen upon a valid packet by chance, but so far it hasn’t",
            verdict: Verdict::Holds,
            why: format!(
                "and it shows little: {} packets without a hit show a probability below {} at {} %; to show 2^-32 takes \
                 {} packets, 2^-40 {}",
                found.trying.tried,
                found.trying.at_most.map_or("1".into(), number),
                100.0 * found.trying.level,
                number(found.trying.tries_for_2_to_minus_32),
                number(found.trying.tries_for_2_to_minus_40)
            ),
        },
        Sentence {
            quoted: "Because its fifth byte is “o” and not 0xf1, it will never be confused with a heartbeat message",
            verdict: Verdict::Holds,
            why: format!("and random bytes are a request with {}", log2(random.request)),
        },
    ]
}

/// A small or large number in three digits.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if (0.001..1e5).contains(&size) => {
            let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
            let text = format!("{value:.decimals$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
        }
        _ => format!("{value:.2e}"),
    }
}

/// A time in the unit that fits.
pub(super) fn time(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(365.25 * 86_400.0, "years"), (86_400.0, "days"), (3600.0, "h"), (1.0, "s")];
    let (size, unit) = UNITS.into_iter().find(|(size, _)| seconds >= *size).unwrap_or(UNITS[3]);
    format!("{} {unit}", number(seconds / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_have_three_digits() {
        assert_eq!([0.0, 0.05, 12.4284, 5.0, 1.15e-8].map(number), ["0", "0.05", "12.4", "5", "1.15e-8"]);
        assert_eq!(time(2_f64.powi(40) / 4000.0), "8.71 years");
        assert_eq!((time(0.25), time(86_400.0)), ("0.25 s".into(), "1 days".into()));
    }
}
