//! Shares as they are typed: which of a ratio and a percentage is meant has to be plain.

/// A goal; a bare number that is a tenth or more is more likely a percentage whose sign was forgotten.
pub(super) fn goal(word: &str) -> Result<String, String> {
    let number = word.split(',').next().unwrap_or_default().trim();
    match number.parse::<f64>() {
        Ok(ratio) if (0.1..1.0).contains(&ratio) => {
            let percent = (ratio * 1e11).round() / 1e9;
            Err(format!("that is {percent} % of all packets lost: write {number}% or {percent}%"))
        }
        _ => Ok(word.to_owned()),
    }
}

/// A share, or several; a bare number of one or more is a percentage without its sign.
pub(super) fn share(word: &str) -> Result<String, String> {
    let is_bare = |part: &str| part.parse::<f64>().is_ok_and(|number| (1.0..=100.0).contains(&number));
    match word.split(',').map(str::trim).find(|part| is_bare(part)) {
        Some(part) => Err(format!("a share is below 1, such as 0.5, or has a sign: write {part}%")),
        None => Ok(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_may_be_a_percentage_is_not_taken_for_a_ratio_in_silence() {
        assert!(goal("0.5").unwrap_err().contains("50 % of all packets lost: write 0.5% or 50%"));
        assert!(goal("0.5,width=1%").is_err());
        for word in ["0", "0.005", "0.5%", "50%", "p99<200us", "1", "-0.5"] {
            assert_eq!(goal(word).as_deref(), Ok(word));
        }
        assert!(share("95").unwrap_err().contains("write 95%"));
        assert!(share("0.9,50,10%").unwrap_err().contains("write 50%"));
        for word in ["95%", "0.95", "90%,50%", "x", "0"] {
            assert_eq!(share(word).as_deref(), Ok(word));
        }
    }
}
