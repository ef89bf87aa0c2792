//! Where the pages of a history lie, from its first page on, and how one leads to another: as files, or as a server has them.

use super::shell::in_history;
use dropline_printable::printable;
use maud::{Markup, html};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The page of all its limits over time.
pub const TRENDS: &str = "trends.html";
/// The page that sets two records beside each other: a server has it alone.
pub const COMPARED: &str = "compare.html";

/// A page of the list; the first one is a directory's own.
pub fn list_page(number: usize) -> String {
    if number <= 1 { "index.html".into() } else { format!("index-{number}.html") }
}

/// The page of a record, by its file.
pub fn record_page(file: &str) -> String {
    format!("record/{}.html", file.strip_suffix(".jsonl").unwrap_or(file))
}

/// The page of one limit over time, by the name of its history.
pub fn trend_page(id: &str) -> String {
    format!("trend/{id}.html")
}

/// A page among others, from which links lead to them.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// Its place.
    pub page: &'a str,
    /// Whether a server answers, which can be asked; files can not.
    pub is_served: bool,
}

impl Here<'_> {
    /// The address of another page from here on; `asked` stands behind its question mark.
    pub(super) fn to(self, page: &str, asked: &[(&str, &str)]) -> String {
        let up = "../".repeat(self.page.matches('/').count());
        let page = if self.is_served && page == list_page(1) { "" } else { page };
        let mut address = match (up.as_str(), page) {
            ("", "") => "./".into(),
            _ => format!("{up}{}", encoded(page, b"/")),
        };
        for (index, (name, value)) in asked.iter().enumerate() {
            let sign = if index == 0 { '?' } else { '&' };
            write!(address, "{sign}{name}={}", encoded(value, b"")).expect("a string takes it");
        }
        address
    }
}

/// The text as a part of an address (RFC 3986 §2.1): a name may hold anything.
fn encoded(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || kept.contains(&byte) {
            true => out.push(byte as char),
            false => write!(out, "%{byte:02X}").expect("a string takes it"),
        }
    }
    out
}

/// The name of a file as the value of a form: as it is, but encoded where a page would show another character for one of it.
pub fn value_of(file: &str) -> Cow<'_, str> {
    match printable(file) == file {
        true => Cow::Borrowed(file),
        false => Cow::Owned(encoded(file, b"/")),
    }
}

/// What stands above a page of a history.
#[derive(Clone, Debug, Default)]
pub struct PageHead {
    /// Further pages, each with the words of its link.
    links: Vec<(String, String)>,
    /// A sentence about the page, and a link behind it.
    note: Option<(String, String, &'static str)>,
    /// By what it is known whether the page must be drawn anew.
    of: String,
}

impl PageHead {
    /// Links to the list, and to the page of all limits.
    pub fn of(here: Here<'_>) -> Self {
        let links = [(list_page(1), "All records"), (TRENDS.to_owned(), "All limits over time")];
        let links = links.into_iter().map(|(page, words)| (here.to(&page, &[]), words.to_owned()));
        Self { links: links.collect(), ..Self::default() }
    }

    /// With a link to one more page.
    #[must_use]
    pub fn and(mut self, here: Here<'_>, page: &str, asked: &[(&str, &str)], words: &str) -> Self {
        self.links.push((here.to(page, asked), words.to_owned()));
        self
    }

    /// With what is to be said of a page that changes; the link leads to the same page, asked so.
    #[must_use]
    pub fn saying(mut self, here: Here<'_>, note: &str, asked: &[(&str, &str)], words: &'static str) -> Self {
        self.note = Some((note.to_owned(), here.to(here.page, asked), words));
        self
    }

    /// With what the page was drawn from.
    #[must_use]
    pub fn drawn_of(mut self, of: String) -> Self {
        self.of = of;
        self
    }

    fn markup(&self) -> Markup {
        html! {
            header data-of=[(!self.of.is_empty()).then_some(&self.of)] {
                nav.about aria-label="Pages of the history" {
                    @for (index, (address, words)) in self.links.iter().enumerate() {
                        @if index > 0 { "  ·  " }
                        a href=(address) { (words) }
                    }
                }
                @if let Some((note, address, words)) = &self.note {
                    p.live role="status" { (note) " " a href=(address) { (words) } "." }
                }
            }
        }
    }
}

/// How a page says what it was drawn from, for who looks at its beginning.
pub fn says_it_is_of(of: &str) -> String {
    format!("data-of=\"{of}\"")
}

/// A page with what stands above it; all that a record says is escaped in it, so nothing else begins so.
pub fn within(page: &str, above: &PageHead) -> String {
    in_history(page).replacen("<main>", &format!("{}<main>", above.markup().0), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_to_another_from_wherever_it_lies() {
        let file = "2026/03/01/a b?#%\"é.jsonl";
        let page = record_page(file);
        assert_eq!(page, "record/2026/03/01/a b?#%\"é.html");
        let [first, deep] =
            [Here { page: "index.html", is_served: false }, Here { page: &page, is_served: false }];
        assert_eq!(first.to(&page, &[]), "record/2026/03/01/a%20b%3F%23%25%22%C3%A9.html");
        assert_eq!(deep.to(TRENDS, &[]), "../../../../trends.html");
        assert_eq!(
            (first.to(&list_page(1), &[]), deep.to(&list_page(1), &[])),
            ("index.html".into(), "../../../../index.html".into())
        );
        let [first, deep] = [first, deep].map(|here| Here { is_served: true, ..here });
        assert_eq!(
            (first.to(&list_page(1), &[]), deep.to(&list_page(1), &[])),
            ("./".into(), "../../../../".into())
        );
        assert_eq!(
            first.to(COMPARED, &[("a", file), ("b", "c")]),
            "compare.html?a=2026%2F03%2F01%2Fa%20b%3F%23%25%22%C3%A9.jsonl&b=c"
        );
        assert_eq!(first.to(&list_page(1), &[("page", "2")]), "./?page=2");
    }
}
