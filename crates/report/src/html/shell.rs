//! Head and frame of every page.

use crate::{MARK, plot};
use dropline_printable::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Allows this script and no other; a test says what it must be.
const SCRIPT_HASH: &str = "sha256-xFR/LS0tyH5EN5mJatlIDQtp+4lMicQKDD1MpKARzQ8=";

/// A whole page around its content; what would turn its text round or hide it is replaced.
pub(super) fn shell(title: &str, content: &Markup) -> String {
    let policy = format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; base-uri 'none'; \
         form-action 'none'"
    );
    let page = html! {
        (DOCTYPE) (PreEscaped(MARK))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(plot::STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                main { (content) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    printable(&page.into_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_policy_allows_this_very_script() {
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT));
        assert_eq!(SCRIPT_HASH, format!("sha256-{hash}"));
    }

    #[test]
    fn nothing_in_style_or_script_ends_its_element_or_asks_the_network() {
        for text in [STYLE, SCRIPT, plot::STYLE] {
            assert!(!text.contains("</") && !text.contains("http") && !text.contains("url("), "{text}");
        }
    }
}
