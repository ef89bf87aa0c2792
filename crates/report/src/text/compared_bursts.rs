//! Two searches for the longest burst on a terminal: the verdict first.

use super::layout::Page;
use crate::back_to_back::mean_words;
use crate::number::percent;
use crate::style::{Ink, Style};
use crate::verdict;
use dropline_record::{BurstsSideLine, ComparedBursts, VerdictWord};

/// The answer of `compare` to two searches for the longest burst as text. Ends with a newline.
pub fn compared_bursts_text(compared: &ComparedBursts, style: Style) -> String {
    let mut page = Page::new(style);
    let first = verdict::told(compared.verdict, None, &compared.caveats, ": ", || story(compared));
    page.paragraph(Ink::Strong, &first);
    page.caveats(&compared.caveats);
    page.gap();
    page.fact("A", &side(&compared.a));
    page.fact("B", &side(&compared.b));
    if page.style.verbose {
        page.fact("matters", &format!("a change by {} or more", percent(compared.smallest_effect)));
        page.fact("method", &compared.estimator);
    }
    page.into_text()
}

fn story(compared: &ComparedBursts) -> String {
    let interval = match (compared.low, compared.high) {
        (Some(low), Some(high)) => format!(", {low:.3} to {high:.3} with 95 % confidence"),
        _ => String::new(),
    };
    match (compared.ratio, compared.verdict) {
        (None, _) => "a longest burst is not known".into(),
        (Some(ratio), VerdictWord::NoEvidence) => format!(
            "the longest burst of B is {ratio:.3} times that of A{interval}, which does not decide whether it changed by {} or more",
            percent(compared.smallest_effect)
        ),
        (Some(ratio), _) => format!("the longest burst of B is {ratio:.3} times that of A{interval}"),
    }
}

fn side(side: &BurstsSideLine) -> String {
    let mean = mean_words(&side.back_to_back).unwrap_or_else(|| "the longest burst is not known".into());
    format!("{} ({}): {mean}, of {} B", side.source, side.target, side.frame_bytes)
}
