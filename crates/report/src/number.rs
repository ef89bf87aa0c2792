//! Numbers as a person reads them: three significant digits, units behind a no-break space, thousands
//! apart by a thin one, a true minus.

use dropline_record::{AnswerLine, LoadUnit};

/// Between number and unit.
pub(crate) const JOIN: char = '\u{a0}';
/// Between groups of three digits.
const THIN: char = '\u{202f}';
/// Below this, all numbers of a kind are zero.
const SMALLEST: f64 = 1e-12;

/// A count with its thousands apart: `1 000 204`.
pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A number with this many decimals.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if value < 0.0 && !zero { "\u{2212}" } else { "" };
    format!("{sign}{}{fraction}", grouped(whole))
}

/// A number with three significant digits, trailing zeros behind the point left out: `0.051`, `38`.
pub(crate) fn three(value: f64) -> String {
    digits(value, 3)
}

/// The same with this many.
pub(crate) fn digits(value: f64, digits: i32) -> String {
    if value.abs() < SMALLEST || !value.is_finite() {
        return "0".into();
    }
    let text = fixed(value, decimals_of(value, digits));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// The lower end of an interval in three digits: rounded downwards, so that no more is said than is known.
pub(crate) fn low(value: f64) -> String {
    three(in_three(value, f64::floor))
}

/// The upper end, rounded upwards.
pub(crate) fn high(value: f64) -> String {
    three(in_three(value, f64::ceil))
}

/// To three digits, in one direction.
pub(crate) fn in_three(value: f64, round: fn(f64) -> f64) -> f64 {
    rounded(value, decimals_of(value, 3), round)
}

/// Both ends in words that have three digits, a dash for one that is not there.
pub(crate) fn ends(low: Option<f64>, high: Option<f64>, words: impl Fn(f64) -> String) -> [String; 2] {
    [(low, f64::floor as fn(f64) -> f64), (high, f64::ceil)]
        .map(|(end, round)| end.map_or_else(|| "\u{2013}".into(), |end| words(in_three(end, round))))
}

/// To so many decimals, in one direction (`f64::floor`, `f64::ceil`). What was typed in these digits stays itself.
pub fn rounded(value: f64, decimals: usize, round: fn(f64) -> f64) -> f64 {
    let steps = value * 10f64.powi(decimals as i32);
    let near = steps.round();
    let is_near = (steps - near).abs() < (1e-6 * near.abs().max(1.0)).min(0.02);
    let steps = if is_near { near } else { round(steps) };
    steps / 10f64.powi(decimals as i32)
}

/// Two values that are said to differ, in three digits, or as many more as make them look different.
pub(crate) fn apart(of: [f64; 2], words: impl Fn(f64, i32) -> String) -> [String; 2] {
    let told = |digits| of.map(|value| words(value, digits));
    let enough = (3..=9).find(|&digits| of[0] == of[1] || told(digits)[0] != told(digits)[1]);
    told(enough.unwrap_or(3))
}

/// A ratio in per cent: `0.051 %`.
pub(crate) fn percent(ratio: f64) -> String {
    percent_of(ratio, 3)
}

/// The same in so many digits.
pub(crate) fn percent_of(ratio: f64, digits: i32) -> String {
    format!("{}{JOIN}%", self::digits(ratio * 100.0, digits))
}

/// A time in seconds: `34.9 s`, `0.5 s`, `1 200 s`.
pub fn seconds(value: f64) -> String {
    format!("{}{JOIN}s", if value.abs() >= 100.0 { fixed(value, 0) } else { three(value) })
}

/// A time given in nanoseconds, in the unit that suits it: `38 us`, `1.9 ms`.
pub fn nanoseconds(value: u64) -> String {
    nanoseconds_of(value as f64, 3)
}

/// The same in so many digits.
pub(crate) fn nanoseconds_of(value: f64, digits: i32) -> String {
    let (scale, unit) = scale_of_time(value);
    format!("{}{JOIN}{unit}", self::digits(value / scale, digits))
}

/// The unit that suits a time in nanoseconds.
fn scale_of_time(value: f64) -> (f64, &'static str) {
    match value {
        _ if value < 1e3 => (1.0, "ns"),
        _ if value < 1e6 => (1e3, "us"),
        _ if value < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// Bytes, exactly: `212 992 B`.
pub(crate) fn bytes(value: u64) -> String {
    format!("{}{JOIN}B", count(value))
}

/// Several words in a row: `a, b and c`.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1 trial`, `2 trials`.
pub(crate) fn plural(number: u64, one: &str) -> String {
    format!("{}{JOIN}{one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// How all loads of a page are written: one unit, one number of decimals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Loads {
    scale: f64,
    /// `kpps`, `Mpps`, `kHz`.
    pub(crate) unit: &'static str,
    /// Behind the point, so that an interval still has a width.
    pub(crate) decimals: usize,
}

impl Loads {
    /// The unit of the highest answer, the decimals of the narrowest interval.
    pub(crate) fn of<'a>(
        load_unit: LoadUnit,
        answers: impl IntoIterator<Item = &'a AnswerLine>,
        highest_trial: f64,
    ) -> Self {
        let mut highest = 0.0f64;
        // Of answers that have two ends; of one alone where no answer has both.
        let [mut finest, mut one_sided] = [f64::INFINITY; 2];
        for answer in answers {
            let loads = [answer.headline_pps(), answer.lower_pps, answer.upper_pps];
            highest = loads.into_iter().flatten().filter(|load| load.is_finite()).fold(highest, f64::max);
            match (answer.lower_pps, answer.upper_pps) {
                (Some(lower), Some(upper)) if upper > lower => finest = finest.min(upper - lower),
                (lower, upper) => {
                    let asked = lower.or(upper).unwrap_or(0.0) * answer.goal.width;
                    one_sided = if asked > 0.0 { one_sided.min(asked) } else { one_sided };
                }
            }
        }
        let finest = if finest.is_finite() { finest } else { one_sided };
        if highest <= 0.0 {
            highest = if highest_trial.is_finite() { highest_trial.max(1.0) } else { 1.0 };
        }
        let step = match highest {
            _ if highest >= 1e9 => 3,
            _ if highest >= 1e6 => 2,
            _ if highest >= 1e3 => 1,
            _ => 0,
        };
        let scale = [1.0, 1e3, 1e6, 1e9][step];
        let unit = load_unit.rates()[step];
        let coarse = decimals_of(highest / scale, 3);
        // Five units of the last digit at least from end to end.
        let fine = if finest.is_finite() { (-(finest / scale / 5.0).log10()).ceil().max(0.0) } else { 0.0 };
        Self { scale, unit, decimals: coarse.max((fine as usize).min(coarse + 3)) }
    }

    /// The same unit, with as many decimals, two more at most, as tell so small a step.
    pub(crate) fn as_fine_as_step(self, step: f64) -> Self {
        let fine = if step > 0.0 { -(step / self.scale).log10().floor() } else { 0.0 };
        Self { decimals: self.decimals.max((fine.max(0.0) as usize).min(self.decimals + 1)), ..self }
    }

    /// The same unit, with as many decimals, three more at most, as make loads that differ look different.
    pub(crate) fn telling(self, loads: impl IntoIterator<Item = f64>) -> Self {
        let mut loads: Vec<f64> = loads.into_iter().filter(|load| load.is_finite()).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        let finer = |more: usize| Self { decimals: self.decimals + more, ..self };
        let tells =
            |loads_as: &Self| loads.windows(2).all(|pair| loads_as.bare(pair[0]) != loads_as.bare(pair[1]));
        (0..3).map(finer).find(tells).unwrap_or_else(|| finer(3))
    }

    /// Times in nanoseconds, of which this is the highest.
    pub(crate) fn of_times(highest: f64) -> Self {
        let (scale, unit) = scale_of_time(highest);
        Self { scale, unit, decimals: decimals_of(highest.max(1.0) / scale, 3) }
    }

    /// Shares up to 1 in per cent, of which this is the lowest: as fine as what it lacks.
    pub(crate) fn of_shares(lowest: f64) -> Self {
        let lack = ((1.0 - lowest) * 100.0).max(1e-4);
        Self { scale: 0.01, unit: "%", decimals: decimals_of(lack.min(10.0), 2) }
    }

    /// Ratios without a unit.
    pub(crate) fn of_ratios(highest: f64) -> Self {
        Self { scale: 1.0, unit: "", decimals: decimals_of(highest.max(1e-3), 4) }
    }

    /// The same unit, with the decimals of this answer alone; of one that is nearly nothing in it, its own unit.
    pub(crate) fn as_fine_as(self, load_unit: LoadUnit, answer: &AnswerLine) -> Self {
        match Self::of(load_unit, [answer], 0.0) {
            own if own.scale == self.scale || self.is_dwarfed(answer) => own,
            _ => self,
        }
    }

    /// The same; of an answer that is nearly nothing in this unit, its own unit.
    pub(crate) fn suiting(self, load_unit: LoadUnit, answer: &AnswerLine) -> Self {
        if self.is_dwarfed(answer) { Self::of(load_unit, [answer], 0.0) } else { self }
    }

    fn is_dwarfed(self, answer: &AnswerLine) -> bool {
        const NEARLY_NOTHING: f64 = 0.01;
        let loads = [answer.headline_pps(), answer.lower_pps, answer.upper_pps];
        let most = loads.into_iter().flatten().fold(0.0, f64::max);
        most > 0.0 && self.scaled(most) < NEARLY_NOTHING
    }

    /// The same unit, with as many decimals as tell both ends of an interval apart.
    pub(crate) fn apart(self, lower: Option<f64>, upper: Option<f64>) -> Self {
        let Some((lower, upper)) = lower.zip(upper).filter(|(lower, upper)| lower < upper) else {
            return self;
        };
        let fine = (-((upper - lower) / self.scale / 5.0).log10()).ceil().max(0.0) as usize;
        Self { decimals: self.decimals.max(fine.min(self.decimals + 3)), ..self }
    }

    /// The bare number: `186.5`.
    pub(crate) fn bare(self, pps: f64) -> String {
        let scaled = self.scaled(pps);
        fixed(scaled, self.decimals_for(scaled))
    }

    /// What is above 0 does not look like 0.
    fn decimals_for(self, scaled: f64) -> usize {
        let least = 0.1f64.powi(self.decimals as i32);
        let is_small = scaled > SMALLEST && scaled < least * (1.0 - 1e-9);
        if is_small { decimals_of(scaled, 2) } else { self.decimals }
    }

    /// With its unit: `186.5 kpps`.
    pub(crate) fn with_unit(self, pps: f64) -> String {
        match self.unit {
            "" => self.bare(pps),
            unit => format!("{}{JOIN}{unit}", self.bare(pps)),
        }
    }

    /// What is stated as a lower bound: rounded downwards, so that no more is said than is known.
    pub(crate) fn floor(self, pps: f64) -> f64 {
        self.rounded(pps, f64::floor)
    }

    /// What is stated as an upper bound: rounded upwards.
    pub(crate) fn ceil(self, pps: f64) -> f64 {
        self.rounded(pps, f64::ceil)
    }

    fn rounded(self, pps: f64, round: fn(f64) -> f64) -> f64 {
        let scaled = self.scaled(pps);
        rounded(scaled, self.decimals_for(scaled), round) * self.scale
    }

    /// As few digits as a tick or a label needs: `412`.
    pub(crate) fn short(self, pps: f64) -> String {
        three(self.scaled(pps))
    }

    /// In units of the page.
    pub(crate) fn scaled(self, pps: f64) -> f64 {
        pps / self.scale
    }

    /// `[185.5, 187.6]`, each end rounded outwards, with a dash for one that does not exist.
    pub(crate) fn interval(self, lower: Option<f64>, upper: Option<f64>) -> String {
        let end = |load: Option<f64>| load.map_or_else(|| "\u{2013}".into(), |load| self.bare(load));
        format!("[{}, {}]", end(lower.map(|load| self.floor(load))), end(upper.map(|load| self.ceil(load))))
    }

    /// `185.5 and 187.6 kpps`: between which loads something lies, rounded outwards.
    pub(crate) fn between(self, low: f64, word: &str, high: f64) -> String {
        format!("{} {word} {}", self.bare(self.floor(low)), self.with_unit(self.ceil(high)))
    }
}

/// Decimals that leave this many significant digits.
pub(crate) fn decimals_of(value: f64, digits: i32) -> usize {
    let magnitude = value.abs().max(SMALLEST).log10().floor() as i32;
    // 9.996 has three digits as 10.0, not as 10.00.
    let rounded = value.abs() * 10f64.powi(digits - 1 - magnitude);
    let magnitude = if rounded.round() >= 10f64.powi(digits) { magnitude + 1 } else { magnitude };
    usize::try_from(digits - 1 - magnitude).unwrap_or(0)
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(THIN);
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Special spaces shown as what they stand for.
    fn plain(text: &str) -> String {
        text.replace(THIN, "_").replace(JOIN, "~")
    }

    #[test]
    fn three_digits_say_enough() {
        let three = |value| plain(&three(value));
        assert_eq!(three(0.05128), "0.0513");
        assert_eq!(three(9.996), "10");
        assert_eq!(three(412.4), "412");
        assert_eq!(three(-1.33), "\u{2212}1.33");
        assert_eq!(three(215_073.0), "215_073");
        assert_eq!((three(0.0), three(f64::NAN)), ("0".into(), "0".into()));
    }

    #[test]
    fn a_lower_bound_is_never_stated_higher_than_it_is_and_an_upper_one_never_lower() {
        let loads = Loads { scale: 1e3, unit: "kpps", decimals: 1 };
        assert_eq!(loads.bare(loads.floor(9_152.146)), "9.1");
        assert_eq!(loads.bare(loads.ceil(9_112.0)), "9.2");
        for typed in [9_200.0, 100.0, 0.0, 14_880_900.0] {
            assert_eq!(loads.bare(loads.floor(typed)), loads.bare(typed));
            assert_eq!(loads.bare(loads.ceil(typed)), loads.bare(typed));
        }
        // One number has one rounding, whether it stands behind a sign or in brackets.
        assert_eq!(loads.interval(Some(9_152.146), None), "[9.1, \u{2013}]");
        assert_eq!(loads.interval(None, Some(9_112.0)), "[\u{2013}, 9.2]");
        assert_eq!(loads.interval(Some(9_152.146), Some(9_312.0)), "[9.1, 9.4]");
        assert_eq!(loads.between(9_152.146, "to", 9_312.0).replace(JOIN, " "), "9.1 to 9.4 kpps");
        // What is less than the last digit has digits of its own, rounded as any other.
        let coarse = Loads { scale: 1e6, unit: "Mpps", decimals: 2 };
        assert_eq!(coarse.interval(Some(5_217.0), Some(1_227.234)), "[0.0052, 0.0013]");
        assert_eq!(
            [low(2.9749), high(2.9711), low(-2.9711), high(-2.9749)].map(|end| plain(&end)),
            ["2.97", "2.98", "\u{2212}2.98", "\u{2212}2.97"]
        );
        assert_eq!(ends(Some(0.7712), Some(1.0949), three), ["0.771", "1.1"]);
        assert_eq!(ends(None, Some(-2.9749), three).map(|end| plain(&end)), ["\u{2013}", "\u{2212}2.97"]);
        // Of many digits half a unit of the last one is not near.
        assert_eq!([rounded(50.026_686, 4, f64::floor), rounded(1.0005, 4, f64::floor)], [50.0266, 1.0005]);
    }

    #[test]
    fn two_values_that_differ_look_different() {
        let told = |of| apart(of, nanoseconds_of).map(|words| plain(&words));
        assert_eq!(told([1.000_586e9, 1.000_612e9]), ["1.00059~s", "1.00061~s"]);
        assert_eq!(told([12_100.0, 14_000.0]), ["12.1~us", "14~us"]);
        assert_eq!(told([5.0, 5.0]), ["5~ns", "5~ns"]);
        assert_eq!(apart([0.01001, 0.01003], percent_of).map(|words| plain(&words)), ["1.001~%", "1.003~%"]);
    }

    #[test]
    fn units_follow_a_no_break_space_and_thousands_a_thin_one() {
        assert_eq!(plain(&count(1_000_204)), "1_000_204");
        assert_eq!(plain(&nanoseconds(1_380_000)), "1.38~ms");
        assert_eq!(plain(&nanoseconds(999)), "999~ns");
        assert_eq!(plain(&seconds(1200.4)), "1_200~s");
        assert_eq!(plain(&percent(0.005)), "0.5~%");
        assert_eq!(fixed(-0.01, 1), "0.0", "nothing is below zero by rounding");
    }
}
