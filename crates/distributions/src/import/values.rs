//! Decimal values, counted as they were written.

use super::order::{OrderTaker, cell, width};
use super::{ImportError, Imported, guessed};
use dropline_stats::counted::LARGEST_TICK;
use dropline_stats::{CountError, Counted, Meaning};
use std::collections::BTreeMap;

/// What should stand where no number stands.
pub(super) const VALUE: &str = "a number such as 12, 12.5 or 1.25e+01";
/// More different values are kept in cells of a 1024th of their size.
const MOST_DISTINCT: usize = 100_000;
/// Further decimals are no measurement: they are rounded.
const MOST_DECIMALS: u32 = 9;
/// So many stay where large and small values meet; where they do not fit, it is an error.
const FEWEST_DECIMALS: u32 = 3;
/// A fraction of more significant digits is a printed double, which holds no more.
const SIGNIFICANT: usize = 15;

/// digits ÷ 10^decimals, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decimal {
    pub(super) digits: i64,
    pub(super) decimals: u32,
}

/// Why a value is none that can be counted.
pub(super) fn no_value(line: usize, found: &str) -> ImportError {
    if found.parse::<f64>().is_ok_and(|value| value.is_finite() && value.abs() > LARGEST_TICK as f64) {
        return ImportError::TooLarge { line, found: found.chars().take(40).collect() };
    }
    ImportError::line(line, found, VALUE)
}

impl Decimal {
    /// A number in plain or scientific notation; `None` of anything else, and of what 64 bits do not hold.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent.parse::<i32>().ok()?)),
            None => (text, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(unsigned) || !all_digits(fraction) || (unsigned.is_empty() && fraction.is_empty()) {
            return None;
        }
        let mut digits: String = format!("{unsigned}{fraction}").trim_start_matches('0').into();
        if digits.is_empty() {
            let decimals =
                if exponent.is_some() { 0 } else { fraction.len().min(MOST_DECIMALS as usize) as u32 };
            return Some(Self { digits: 0, decimals });
        }
        let mut decimals = i64::try_from(fraction.len()).ok()? - i64::from(exponent.unwrap_or(0));
        let spare = i64::try_from(digits.len()).ok()? - SIGNIFICANT as i64;
        let drop = spare.min(decimals).max(decimals - i64::from(MOST_DECIMALS)).max(0);
        if drop > 0 {
            round_off(&mut digits, usize::try_from(drop).ok()?);
            decimals -= drop;
        }
        // What a program padded is no accuracy; what a person wrote is.
        while (drop > 0 || exponent.is_some()) && decimals > 0 && digits.ends_with('0') {
            digits.pop();
            decimals -= 1;
        }
        let plain: i64 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        let larger = 10i64.checked_pow(u32::try_from(-decimals.min(0)).ok()?).filter(|_| plain != 0);
        let digits = if plain == 0 { 0 } else { plain.checked_mul(larger?)? };
        let decimals = u32::try_from(decimals.max(0)).ok()?;
        Some(Self { digits: if whole.starts_with('-') { -digits } else { digits }, decimals })
    }

    /// As a double.
    pub(super) fn value(self) -> f64 {
        self.digits as f64 / 10f64.powi(self.decimals as i32)
    }

    /// With no more decimals than that.
    fn rounded(self, decimals: u32) -> Self {
        let Some(drop) = self.decimals.checked_sub(decimals).filter(|drop| *drop > 0) else { return self };
        let unit = 10i64.pow(drop);
        Self { digits: rounded_quotient(self.digits, unit), decimals }
    }
}

/// Leaves the last digits away, and rounds what stays.
fn round_off(digits: &mut String, by: usize) {
    let kept = digits.len().saturating_sub(by);
    let up = by <= digits.len() && digits.as_bytes()[kept] >= b'5';
    digits.truncate(kept);
    if up {
        let larger = digits.parse::<u128>().unwrap_or(0) + 1;
        *digits = larger.to_string();
    }
}

fn rounded_quotient(digits: i64, unit: i64) -> i64 {
    let half = unit / 2;
    (digits + if digits < 0 { -half } else { half }) / unit
}

/// Values counted by tick; the tick is the finest decimal that was seen.
#[derive(Debug)]
pub(super) struct Values {
    decimals: u32,
    /// Values may have so many decimals.
    most_decimals: u32,
    ticks: BTreeMap<i64, u64>,
    /// Whether neighbours were put together.
    merged: bool,
    pub(super) count: u64,
    /// In the order in which they came; `None` once one came several times over.
    course: Option<OrderTaker>,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            decimals: 0,
            most_decimals: MOST_DECIMALS,
            ticks: BTreeMap::new(),
            merged: false,
            count: 0,
            course: Some(OrderTaker::default()),
        }
    }
}

impl Values {
    /// Counts a value so many times.
    pub(super) fn add(&mut self, value: Decimal, count: u64) -> Result<(), CountError> {
        let tick = loop {
            let value = value.rounded(self.most_decimals);
            let fits = if value.decimals > self.decimals { self.refine(value.decimals) } else { true };
            let tick = 10i64
                .checked_pow(self.decimals.saturating_sub(value.decimals))
                .and_then(|finer| value.digits.checked_mul(finer))
                .filter(|tick| tick.abs() <= LARGEST_TICK);
            match tick {
                Some(tick) if fits => break tick,
                _ if value.decimals.max(self.decimals) > FEWEST_DECIMALS => {
                    self.coarsen(value.decimals.max(self.decimals) - 1);
                }
                _ => return Err(CountError::TooLarge(value.digits)),
            }
        };
        self.count = self.count.checked_add(count).ok_or(CountError::TooMany)?;
        match &mut self.course {
            Some(course) if count == 1 => course.add(tick),
            course => *course = None,
        }
        *self.ticks.entry(if self.merged { cell(tick) } else { tick }).or_default() += count;
        if self.ticks.len() > MOST_DISTINCT && !self.merged {
            self.merged = true;
            self.move_to(cell);
        }
        Ok(())
    }

    /// What was counted; in microseconds where no unit is named.
    pub(super) fn imported(self, unit_ns: Option<u64>) -> Result<Imported, ImportError> {
        let unit = unit_ns.unwrap_or(1000);
        let quantum_ns = unit as f64 / 10f64.powi(self.decimals as i32);
        let meaning = Meaning { unit_ns: unit, quantum_ns, ..Meaning::default() };
        let mut notes = Vec::new();
        if unit_ns.is_none() {
            notes.push(guessed("microseconds"));
        }
        if self.most_decimals < MOST_DECIMALS {
            notes.push(format!("values are kept to {} decimals: more do not fit", self.most_decimals));
        }
        let counted = if self.merged {
            notes.push("more than 100 000 different values: they are kept to a 1024th".into());
            let ranges = self.ticks.into_iter().map(|(low, count)| (low, low + width(low) - 1, count));
            Counted::ranges(meaning, ranges, None)?
        } else {
            Counted::ticks(meaning, self.ticks, None)?
        };
        let order = self.course.map(|course| course.finish(meaning)).transpose()?.unwrap_or_default();
        Ok(Imported { order, ..Imported::whole(counted, String::new(), notes) })
    }

    /// Goes over to a finer tick; `false`, and nothing done, where a value is too large for it.
    fn refine(&mut self, decimals: u32) -> bool {
        let finer = 10i64.pow(decimals - self.decimals);
        let ends = [self.ticks.first_key_value(), self.ticks.last_key_value()];
        let fits = |tick: i64| tick.checked_mul(finer).is_some_and(|tick| tick.abs() <= LARGEST_TICK);
        if !ends.into_iter().flatten().all(|(tick, _)| fits(*tick)) {
            return false;
        }
        self.decimals = decimals;
        self.move_to(|tick| tick * finer);
        self.course.iter_mut().for_each(|course| course.move_to(|tick| tick * finer));
        true
    }

    /// No value has more decimals than these from now on.
    fn coarsen(&mut self, decimals: u32) {
        self.most_decimals = decimals;
        if let Some(drop) = self.decimals.checked_sub(decimals) {
            let unit = 10i64.pow(drop);
            self.decimals = decimals;
            self.move_to(|tick| rounded_quotient(tick, unit));
            self.course.iter_mut().for_each(|course| course.move_to(|tick| rounded_quotient(tick, unit)));
        }
    }

    fn move_to(&mut self, place: impl Fn(i64) -> i64) {
        for (tick, count) in std::mem::take(&mut self.ticks) {
            *self.ticks.entry(place(tick)).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Option<(i64, u32)> {
        Decimal::parse(text).map(|value| (value.digits, value.decimals))
    }

    #[test]
    fn scientific_notation_is_the_number_that_it_says() {
        for (text, digits, decimals) in [
            ("3.559e+03", 3559, 0),
            ("3.559000000000000000e+03", 3559, 0),
            ("1.230000000000000071e+01", 123, 1),
            ("-1.25E1", -125, 1),
            ("1e3", 1000, 0),
            ("12e-1", 12, 1),
            ("0.000e+00", 0, 0),
            ("1e-30", 0, 9),
            ("0.0006383080000000001", 638_308, 9),
            ("1234567890123456", 1_234_567_890_123_456, 0),
            ("999999999999999.96", 1_000_000_000_000_000, 0),
            ("12.340", 12_340, 3),
        ] {
            assert_eq!(decimal(text), Some((digits, decimals)), "{text}");
        }
        for bad in ["e3", "1e", "1e1.5", "1e99", "1e+", "1ee3", "nan", "inf", "1e9999999999", ".e1"] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
    }

    #[test]
    fn large_and_small_values_meet_at_decimals_that_both_have_room_for() {
        let mut values = Values::default();
        for text in ["333.333333333333314", "46000000.25", "0.000000001"] {
            values.add(Decimal::parse(text).unwrap(), 1).unwrap();
        }
        let read = values.imported(Some(1000)).unwrap();
        assert_eq!(read.notes, ["values are kept to 7 decimals: more do not fit"]);
        let cells: Vec<_> = read.counted.cells().map(|(low, ..)| low).collect();
        assert_eq!(cells, [0, 3_333_333_333, 460_000_002_500_000]);
    }

    #[test]
    fn very_many_values_are_kept_in_little_memory() {
        let mut values = Values::default();
        for tick in 0..300_000i64 {
            values.add(Decimal { digits: tick * 7919 % 40_000_000, decimals: 0 }, 1).unwrap();
        }
        assert!(values.ticks.len() < 30_000, "{}", values.ticks.len());
        let read = values.imported(Some(1)).unwrap();
        assert_eq!((read.counted.count(), read.notes.len()), (300_000, 1));
        assert!(read.counted.cells().all(|(low, high, _)| high - low <= low.abs() / 1024 + 1));
    }
}
