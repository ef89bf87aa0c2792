//! How replies are read: by what they are told from one another, and which bytes mean what.

use super::field::Field;
use super::words::{TemplateError, hex};
use super::{CLASSES, LONGEST};
use crate::service::Unlike;
use std::fmt;

/// How replies are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replies {
    pub(super) matching: Matching,
    /// The first whose bytes stand in a reply says what it means.
    rules: Vec<Rule>,
    pub(super) shortest: usize,
    pub(super) longest: usize,
}

/// Which request a reply is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matching {
    /// The one whose tag stands there.
    Tag { at: usize },
    /// The one that comes back as it was, its tag there.
    Echo { at: usize },
    /// The next of its stream.
    Order,
    /// There are no replies.
    Nothing,
}

/// Bytes that say what a reply means.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    class: usize,
    at: usize,
    bytes: Vec<u8>,
}

/// The same, where it is said.
struct Placed {
    rule: Rule,
    /// From 1.
    column: usize,
    word: String,
}

impl Rule {
    /// Which is asked first.
    fn order(&self) -> (bool, usize) {
        (self.class == 0, self.class)
    }

    /// Whether every reply that has these bytes has those of the other, too.
    fn implies(&self, other: &Self) -> bool {
        let within = other.at.checked_sub(self.at).and_then(|from| self.bytes.get(from..));
        within.is_some_and(|bytes| bytes.starts_with(&other.bytes))
    }
}

impl Replies {
    /// Reads `any`, `echo`, `none`, or what stands where in a reply, by commas; `tag` is that of the payload.
    pub(super) fn read(text: &str, tag: Option<Field>) -> Result<Self, TemplateError> {
        let mut replies =
            Self { matching: Matching::Order, rules: Vec::new(), shortest: 0, longest: LONGEST };
        let mut column = 1;
        let mut rules: Vec<Placed> = Vec::new();
        let mut tag_at_column = 1;
        let (mut told, mut ranges): (Option<&str>, u32) = (None, 0);
        for word in text.split(',') {
            let wrong = |why: &str| TemplateError::Reply { column, why: format!("{word:?} {why}") };
            let own_tag = || tag.ok_or_else(|| TemplateError::NoTag { word: word.into() });
            let (name, value) = word.trim().split_once('=').unwrap_or((word.trim(), ""));
            let (name, at) = match name.split_once('@') {
                None => (name, None),
                Some((name, at)) => {
                    let at = at.parse().ok().filter(|&at| at < LONGEST);
                    (name, Some(at.ok_or_else(|| wrong("has no number of bytes behind @"))?))
                }
            };
            // How a reply is told from others is said once; and of what does not come back, nothing more can be.
            let tells = value.is_empty() && ["any", "none", "echo", "tag"].contains(&name);
            if let Some(before) = told.filter(|before| tells || *before == "none") {
                return Err(wrong(&format!("contradicts {before:?}: leave one of them out")));
            }
            if tells && name == "none" && column > 1 {
                return Err(wrong("contradicts what is said before it: nothing comes back then"));
            }
            if tells {
                told = Some(word.trim());
                tag_at_column = column;
            }
            match (name, at, value) {
                ("any", None, "") => {}
                ("none", None, "") => replies.matching = Matching::Nothing,
                ("echo", None, "") => replies.matching = Matching::Echo { at: own_tag()?.at },
                ("tag", at, "") => replies.matching = Matching::Tag { at: at.unwrap_or(own_tag()?.at) },
                ("bytes", None, _) if ranges > 0 => {
                    return Err(wrong("says the bytes of a reply again: say them once"));
                }
                ("bytes", None, value) => {
                    ranges += 1;
                    let (low, high) = value.split_once("..").unwrap_or((value, value));
                    let number = |text: &str| text.parse().ok().filter(|&bytes| bytes <= LONGEST);
                    let ends = number(low).zip(number(high)).filter(|(low, high)| low <= high);
                    (replies.shortest, replies.longest) = ends.ok_or_else(|| {
                        wrong("is not a number of bytes, such as bytes=48, or a range, such as bytes=16..512")
                    })?;
                }
                (name, Some(at), value) => {
                    let known = CLASSES.iter().position(|class| class.name == name);
                    let class = known
                        .ok_or_else(|| wrong("is not known; there are answered, refused, error and tag"))?;
                    let bytes = hex(value).filter(|bytes| !bytes.is_empty());
                    let bytes = bytes
                        .ok_or_else(|| wrong("has no bytes behind =, in pairs of hexadecimal digits"))?;
                    let rule = Rule { class, at, bytes };
                    rules.push(Placed { rule, column, word: word.trim().to_owned() });
                }
                _ => {
                    return Err(wrong(
                        "is not known: a reply is any, echo, none, or by commas tag@4 (where the tag is), \
                         answered@0=81, refused@3=05, error@3=02 (which bytes mean that) and bytes=16..512",
                    ));
                }
            }
            column += word.chars().count() + 1;
        }
        replies.agree(&rules, tag, tag_at_column)?;
        replies.rules = rules.into_iter().map(|placed| placed.rule).collect();
        // A refusal is told before a failure, and that before an answer.
        replies.rules.sort_by_key(Rule::order);
        Ok(replies)
    }

    /// Whether what is said of replies can be so of one.
    fn agree(&self, rules: &[Placed], tag: Option<Field>, tag_column: usize) -> Result<(), TemplateError> {
        let tag = match self.matching {
            Matching::Tag { at } | Matching::Echo { at } => tag.map(|tag| at..at + tag.width),
            Matching::Order | Matching::Nothing => None,
        };
        let is_echo = matches!(self.matching, Matching::Echo { .. });
        if let Some(tag) = tag.clone().filter(|tag| tag.end > self.longest) {
            let why =
                format!("the tag ends with byte {}, and a reply has at most {} bytes", tag.end, self.longest);
            return Err(TemplateError::Reply { column: tag_column, why });
        }
        for (number, Placed { rule, column, word }) in rules.iter().enumerate() {
            let wrong =
                |why: String| Err(TemplateError::Reply { column: *column, why: format!("{word:?} {why}") });
            if is_echo {
                return wrong(
                    "contradicts \"echo\": such a reply is its request as it was, and says nothing else"
                        .into(),
                );
            }
            let bytes = rule.at..rule.at + rule.bytes.len();
            if bytes.end > self.longest {
                return wrong(format!(
                    "is about byte {}, and a reply has at most {} bytes",
                    bytes.end, self.longest
                ));
            }
            if let Some(tag) = tag.clone().filter(|tag| tag.start < bytes.end && bytes.start < tag.end) {
                return wrong(format!(
                    "is about bytes of the tag (from {} on), which are other ones with each request",
                    tag.start
                ));
            }
            for before in &rules[..number] {
                let (first, last) = if rule.order() < before.rule.order() {
                    (rule, &before.rule)
                } else {
                    (&before.rule, rule)
                };
                let says_less = first.class == last.class && first.implies(last);
                if !(last.implies(first) || says_less) {
                    continue;
                }
                let before = &before.word;
                return match first.class == last.class {
                    true => wrong(format!("says what {before:?} says: leave one of them out")),
                    false => wrong(format!("contradicts {before:?}: the same bytes would mean both")),
                };
            }
        }
        Ok(())
    }

    /// What a datagram is in which no tag of a request can be read.
    pub(super) fn without_tag(&self, reply: &[u8], tag: Option<Field>) -> Option<Unlike> {
        let (Matching::Tag { at } | Matching::Echo { at }) = self.matching else { return None };
        let shortest = self.shortest.max(at + tag?.width);
        match reply.len() {
            length if length < shortest => Some(Unlike::Truncated),
            length if length > self.longest => Some(Unlike::Extended),
            _ => None,
        }
    }

    /// What a reply says.
    pub(super) fn judge(&self, reply: &[u8]) -> Result<usize, Unlike> {
        if reply.len() < self.shortest {
            return Err(Unlike::Truncated);
        }
        if reply.len() > self.longest {
            return Err(Unlike::Extended);
        }
        let stands = |rule: &&Rule| reply.get(rule.at..).is_some_and(|there| there.starts_with(&rule.bytes));
        match self.rules.iter().find(stands) {
            Some(rule) => Ok(rule.class),
            // Where it is said what an answer has, anything else is none.
            None if self.rules.iter().any(|rule| rule.class == 0) => Err(Unlike::Changed),
            None => Ok(0),
        }
    }
}

impl fmt::Display for Replies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.matching {
            Matching::Tag { at } => write!(f, "a reply has its request's tag at byte {at}"),
            Matching::Echo { .. } => f.write_str("a reply is its request as it was"),
            Matching::Order => {
                f.write_str("replies are counted, and taken for those of requests in their order")
            }
            Matching::Nothing => f.write_str("nothing comes back"),
        }
    }
}
