//! Head and frame of every page.

use crate::prose::sentence_case;
use crate::{MARK, plot};
use dropline_printable::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");
/// What lists, forms and the links between pages of a history look like: a page that stands alone has none of them.
const HISTORY_STYLE: &str = include_str!("history.css");
const SCRIPT: &str = include_str!("page.js");
/// Allows this script and no other; a test says what it must be.
const SCRIPT_HASH: &str = "sha256-fJzUtFk8GFbQYP8J2tnmTY4K7RJwQv8MKgNQdKS2A4g=";

/// A whole page around its content: its title and description are its answer, so that a link to it tells that; what
/// would turn its text round or hide it is replaced.
pub(super) fn shell(answer: &str, description: &str, content: &Markup) -> String {
    page(answer, description, content, Forms::None)
}

/// A page of a history, which may ask its reader.
pub(super) fn history_shell(answer: &str, description: &str, content: &Markup, forms: Forms) -> String {
    in_history(&page(answer, description, content, forms))
}

/// A page with what a page of a history looks like.
pub(super) fn in_history(page: &str) -> String {
    page.replacen("</style>", &format!("{HISTORY_STYLE}</style>"), 1)
}

/// Where the forms of a page lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forms {
    /// It has none.
    None,
    /// To the server that it came from.
    Own,
}

/// As much of an answer as a tab or a list of tabs has room for: whole sentences, or what stands before a colon or semicolon.
fn begun(answer: &str) -> &str {
    const ROOM: usize = 140;
    let Some((room, _)) = answer.char_indices().nth(ROOM) else { return answer };
    let ends = [". ", "; ", ": "].into_iter().filter_map(|end| answer[..room].rfind(end));
    ends.max().map_or(answer, |end| &answer[..end])
}

fn page(answer: &str, description: &str, content: &Markup, forms: Forms) -> String {
    let forms = if forms == Forms::Own { "self" } else { "none" };
    let policy = format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; base-uri 'none'; \
         form-action '{forms}'"
    );
    let answer = answer.trim_end_matches('.');
    let page = html! {
        (DOCTYPE) (PreEscaped(MARK))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (begun(answer)) }
                meta name="description" content=(description);
                meta property="og:type" content="article";
                meta property="og:title" content=(answer);
                meta property="og:description" content=(description);
                style { (PreEscaped(plot::STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                main { (hinted(&anchored(&content.0))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // What is wider than a narrow window is moved with the keys too.
    let page = page.into_string().replace("<div class=\"scroll\">", "<div class=\"scroll\" tabindex=\"0\">");
    printable(&page).into_owned()
}

/// How a page's intervals came about: for who knows the words, and folded for all others.
pub(super) fn method(estimator: &str) -> Markup {
    html! {
        details { summary { "How this was computed" } p.about { (sentence_case(estimator)) "." } }
    }
}

/// What is said once, above the first plot, to who has a script.
fn hinted(content: &str) -> PreEscaped<String> {
    const FIGURES: &str = "<div class=\"figures";
    // Where it stands once, its trials can be marked in the others.
    const OVER_TIME: &str = "data-plot=\"search-time\"";
    let Some((before, after)) = content.split_once(FIGURES) else { return PreEscaped(content.to_owned()) };
    let hint = html! {
        p.about.hint hidden {
            "To read values: point at a plot, tap it, or step through it with the arrow keys."
            @if content.matches(OVER_TIME).count() == 1 {
                " Drag across the plot over search time, or hold Shift, to mark the same trials in the other plots."
            }
        }
    };
    PreEscaped(format!("{before}{}{FIGURES}{after}", hint.0))
}

/// Where a plot or a section begins in what was made here; text is escaped, so a record cannot say this.
const STARTS: [&str; 2] = ["<figure data-plot=\"", "<section><h2>"];

/// Each plot and each section with a name that a link can end in, and that link.
fn anchored(content: &str) -> String {
    let mut named: Vec<String> = Vec::new();
    let mut out = String::with_capacity(content.len());
    let mut rest = content;
    while let Some((at, start)) =
        STARTS.iter().filter_map(|start| Some((rest.find(start)?, *start))).min_by_key(|(at, _)| *at)
    {
        let (before, after) = rest.split_at(at);
        let after = &after[start.len()..];
        let end = if start.starts_with("<figure") { '"' } else { '<' };
        let name = unique(&slug(after.split(end).next().unwrap_or_default()), &mut named);
        let link =
            format!("<a class=\"here\" href=\"#{name}\" aria-label=\"Link to this part: {name}\">#</a>");
        out.push_str(before);
        rest = match start.strip_suffix("><h2>") {
            Some(section) => {
                out.push_str(&format!("{section} id=\"{name}\">{link}<h2>"));
                after
            }
            None => {
                let (plot, after) = after.split_once("\">").unwrap_or((after, ""));
                out.push_str(&format!("{start}{plot}\" id=\"{name}\">{link}"));
                after
            }
        };
    }
    out + rest
}

/// `every-trial` of `Every trial`.
fn slug(words: &str) -> String {
    let letters: String = words
        .chars()
        .map(|sign| if sign.is_ascii_alphanumeric() { sign.to_ascii_lowercase() } else { ' ' })
        .collect();
    letters.split_whitespace().take(8).collect::<Vec<_>>().join("-")
}

/// The name, with a number where it is taken.
fn unique(name: &str, named: &mut Vec<String>) -> String {
    let name = if name.is_empty() { "part" } else { name };
    let all = std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}-{number}")));
    let free = all.into_iter().find(|one| !named.contains(one)).expect("numbers do not end");
    named.push(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_is_a_title_up_to_the_end_of_a_sentence_in_it() {
        let sentence = "715 of 795 packets were lost; no counter says where";
        assert_eq!(begun(sentence), sentence);
        let long = format!("{sentence}. {}", "word ".repeat(40));
        assert_eq!(begun(&long), sentence);
        let none = "word ".repeat(40);
        assert_eq!(begun(&none), none);
    }
    use base64::Engine as _;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_policy_allows_this_very_script() {
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT));
        assert_eq!(SCRIPT_HASH, format!("sha256-{hash}"));
    }

    #[test]
    fn nothing_in_style_or_script_ends_its_element_or_asks_the_network() {
        for text in [STYLE, HISTORY_STYLE, SCRIPT, plot::STYLE] {
            assert!(!text.contains("</") && !text.contains("http") && !text.contains("url("), "{text}");
        }
    }

    #[test]
    fn each_plot_and_section_has_a_name_of_its_own() {
        let content = "<section><h2>Every trial</h2></section><figure data-plot=\"loss\"><h2>a</h2></figure>\
                       <figure data-plot=\"loss\"></figure><section><h2>Every trial</h2></section>";
        let named = anchored(content);
        for id in ["every-trial", "loss", "loss-2", "every-trial-2"] {
            assert_eq!(named.matches(&format!("id=\"{id}\"")).count(), 1, "{named}");
            assert_eq!(named.matches(&format!("href=\"#{id}\"")).count(), 1, "{named}");
        }
        assert_eq!(named.matches("<h2>").count(), 3, "{named}");
    }
}
