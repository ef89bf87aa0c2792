//! Rates, waiting times and intervals: what a chance for each packet means on a wire.

use super::check::accepted;
use super::payload::VARIABLES;
use std::time::Duration;

/// What eight uniform random bytes are taken for, as shares of all 2^64 packets.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct RandomPacket {
    /// A heartbeat with a right checksum.
    pub accepted: f64,
    /// A heartbeat that is stored.
    pub stored: f64,
    /// A request for a report.
    pub request: f64,
    /// The checksum alone, as if the magic byte were free: the original's figure.
    pub checksum_alone: f64,
}

impl RandomPacket {
    /// Counted from the definition.
    ///
    /// The checksum is a function of the four bytes behind it, so each choice of these has one of 2^32
    /// checksums; which of the 2^32 choices are looked at at all depends on magic byte and variable.
    pub fn count() -> Self {
        let mut looked_at = 0_u64;
        let mut in_range = 0_u64;
        for magic in 0..=255 {
            for variable in 0..=255 {
                let [c0, c1, c2, c3] = super::check::Check::Adler32.of([magic, variable, 0, 0]).to_be_bytes();
                if accepted([c0, c1, c2, c3, magic, variable, 0, 0]) {
                    looked_at += 1 << 16;
                    in_range += if u32::from(variable) < VARIABLES { 1 << 16 } else { 0 };
                }
            }
        }
        let all = 2_f64.powi(64);
        Self {
            accepted: looked_at as f64 / all,
            stored: in_range as f64 / all,
            request: 1.0 / all,
            checksum_alone: 2_f64.powi(32) / all,
        }
    }
}

/// Mean time between events that each of `rate` packets a second is with chance `chance`, in seconds.
pub fn between_s(rate: f64, chance: f64) -> f64 {
    1.0 / (rate * chance)
}

/// Chance of at least one such event within `seconds`.
pub fn at_least_one(rate: f64, chance: f64, seconds: f64) -> f64 {
    -f64::exp_m1(-rate * chance * seconds)
}

/// Largest chance that still lets `tried` packets go by without a hit as often as 1 − `level`.
/// `None` when none were tried.
pub fn none_in(tried: u64, level: f64) -> Option<f64> {
    (tried > 0).then(|| -f64::exp_m1(f64::ln_1p(-level) / tried as f64))
}

/// Packets to try without a hit to show that a chance is below `chance`.
pub fn tries_to_show(chance: f64, level: f64) -> f64 {
    f64::ln_1p(-level) / f64::ln_1p(-chance)
}

/// Wilson's interval for a chance of which `hits` of `tried` were seen. `None` when none were tried.
pub fn wilson(hits: u64, tried: u64) -> Option<(f64, f64)> {
    /// Normal quantile of 97.5 %.
    const Z: f64 = 1.959_963_984_540_054;
    if tried == 0 {
        return None;
    }
    let (hits, n) = (hits as f64, tried as f64);
    let middle = (hits + Z * Z / 2.0) / (n + Z * Z);
    let half = Z / (n + Z * Z) * (hits * (n - hits) / n + Z * Z / 4.0).sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

/// How heartbeats and polls follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polling {
    /// Time between two heartbeats of one variable.
    pub heartbeat: Duration,
    /// Time between two polls of the monitor.
    pub poll: Duration,
    /// Variables that some sender uses.
    pub used: u32,
}

impl Polling {
    /// Chance that a false value in a variable in use is still there at a poll: heartbeats every h, polls
    /// every T, at phases that know nothing of one another.
    ///
    /// The value lasts R, uniform in (0, h); a poll meets it with min(1, R/T).
    pub fn used_seen(self) -> f64 {
        let (h, t) = (self.heartbeat.as_secs_f64(), self.poll.as_secs_f64());
        if h <= t { h / (2.0 * t) } else { 1.0 - t / (2.0 * h) }
    }

    /// The same when heartbeats come at random, on average every h.
    pub fn used_seen_random(self) -> f64 {
        let ratio = self.heartbeat.as_secs_f64() / self.poll.as_secs_f64();
        -ratio * f64::exp_m1(-1.0 / ratio)
    }

    /// Chance that a false value is seen, wherever it was stored: an unused variable keeps it.
    pub fn seen(self) -> f64 {
        let used = f64::from(self.used) / f64::from(VARIABLES);
        used * self.used_seen() + (1.0 - used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YEAR_S: f64 = 365.25 * 86_400.0;

    #[test]
    fn a_random_packet_is_accepted_with_2_to_the_minus_40_and_stored_with_minus_42() {
        let random = RandomPacket::count();
        assert_eq!(random.accepted, 2_f64.powi(-40));
        assert_eq!(random.stored, 2_f64.powi(-42));
        assert_eq!(random.request, 2_f64.powi(-64));
        assert_eq!(random.checksum_alone, 2_f64.powi(-32));
    }

    #[test]
    fn four_thousand_frames_a_second_are_mistaken_once_in_8_71_years() {
        let random = RandomPacket::count();
        let years = |chance| format!("{:.2}", between_s(4000.0, chance) / YEAR_S);
        assert_eq!((years(random.accepted), years(random.stored)), ("8.71".into(), "34.84".into()));
        assert_eq!(format!("{:.1}", between_s(4000.0, random.checksum_alone) / 86_400.0), "12.4");
        let once = at_least_one(4000.0, random.accepted, between_s(4000.0, random.accepted));
        assert_eq!(format!("{once:.4}"), "0.6321");
    }

    #[test]
    fn no_hit_in_n_tries_shows_three_in_n_and_no_more() {
        let shown = |n| format!("{:.1e}", none_in(n, 0.95).unwrap());
        assert_eq!((shown(100_000), shown(3_000_000)), ("3.0e-5".into(), "1.0e-6".into()));
        assert_eq!((none_in(0, 0.95), none_in(1, 0.95).map(|p| (p * 100.0).round())), (None, Some(95.0)));
        let tries = |power| format!("{:.2e}", tries_to_show(2_f64.powi(power), 0.95));
        assert_eq!((tries(-32), tries(-40)), ("1.29e10".into(), "3.29e12".into()));
    }

    #[test]
    fn wilsons_interval_holds_what_was_seen_and_none_is_not_zero_wide() {
        assert_eq!(wilson(0, 0), None);
        let (low, high) = wilson(0, 100).unwrap();
        assert_eq!((low, format!("{high:.4}")), (0.0, "0.0370".into()));
        let (low, high) = wilson(50, 100).unwrap();
        assert_eq!(format!("{low:.4} {high:.4}"), "0.4038 0.5962");
    }

    #[test]
    fn a_false_value_is_seen_with_half_the_ratio_of_heartbeats_to_polls() {
        let polling = |heartbeat, poll, used| Polling {
            heartbeat: Duration::from_secs(heartbeat),
            poll: Duration::from_secs(poll),
            used,
        };
        assert_eq!(polling(6, 60, 64).used_seen(), 0.05);
        assert_eq!((polling(60, 60, 64).used_seen(), polling(120, 60, 64).used_seen()), (0.5, 0.75));
        assert_eq!((polling(6, 60, 0).seen(), polling(6, 60, 32).seen()), (1.0, 0.525));
        assert_eq!(format!("{:.5}", polling(60, 60, 64).used_seen_random()), "0.63212");
    }
}
