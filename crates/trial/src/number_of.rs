//! A number with its noun, and a time with its unit, as a person reads them.

/// `1 packet`, `2 packets`, `1 reply`, `2 replies`.
pub fn number_of(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    match (number, one.strip_suffix("ply")) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{number} {stem}plies"),
        _ => format!("{number} {one}s"),
    }
}

/// A time in three digits and the unit that fits.
pub fn time_of(ns: u64) -> String {
    let (scale, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1e3, "us"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let value = ns as f64 / scale;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_no_plural_and_none_is() {
        let all = [number_of(0u64, "packet"), number_of(1usize, "packet"), number_of(2u32, "packet")];
        assert_eq!(all, ["0 packets", "1 packet", "2 packets"]);
        assert_eq!([number_of(1u64, "reply"), number_of(7u64, "reply")], ["1 reply", "7 replies"]);
    }
}
