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

impl Replies {
    /// Reads `any`, `echo`, `none`, or what stands where in a reply, by commas; `tag` is that of the payload.
    pub(super) fn read(text: &str, tag: Option<Field>) -> Result<Self, TemplateError> {
        let mut replies =
            Self { matching: Matching::Order, rules: Vec::new(), shortest: 0, longest: LONGEST };
        let mut column = 1;
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
                    replies.rules.push(Rule { class, at, bytes });
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
        // A refusal is told before a failure, and that before an answer.
        replies.rules.sort_by_key(|rule| (rule.class == 0, rule.class));
        Ok(replies)
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
