//! What a comparison came to, as its first line says it.

use dropline_record::{CaveatLine, VerdictWord};

/// The verdict in capitals and its story; a comparison that says nothing of its targets says that first.
pub(crate) fn told(
    verdict: VerdictWord,
    not_valid: Option<&str>,
    caveats: &[CaveatLine],
    join: &str,
    story: impl Fn() -> String,
) -> String {
    let is_same = caveats.iter().any(|caveat| caveat.code == "same_data");
    match not_valid {
        Some(why) => format!("NOT VALID{join}{why}"),
        None if is_same => format!("SAME DATA{join}A and B are one measurement, and nothing was compared"),
        None => format!("{}{join}{}", verdict.words().to_uppercase(), story()),
    }
}
