//! What a register may be in a set: its elements, one by one or by intervals.

use crate::registers::{Certainty, Comparison, Register, Registers, Word, compared, within};
use crate::ruleset::{Element, Set};

/// Elements that a register may be, each with how certain.
pub(super) struct Meant<'a> {
    pub(super) elements: Vec<(Certainty, &'a Element)>,
    /// Whether there may be others.
    unknown: bool,
}

impl Meant<'_> {
    /// Whether it is in the set.
    pub(super) fn certainty(&self) -> Certainty {
        let least = if self.unknown { Certainty::Possibly } else { Certainty::Not };
        self.elements.iter().map(|(is_it, _)| *is_it).max().unwrap_or(least).max(least)
    }
}

impl Set {
    /// What it may be.
    pub(super) fn find(&self, registers: &Registers, from: Register) -> Meant<'_> {
        let Some(elements) = &self.elements else { return Meant { elements: Vec::new(), unknown: true } };
        let (others, keyed): (Vec<&Element>, Vec<&Element>) =
            elements.iter().partition(|element| element.key.is_empty());
        let length = keyed.first().map_or(0, |element| element.key.len());
        let words = registers.words(from, length);
        let mut found: Vec<(Certainty, &Element)> = if self.intervals && self.fields.len() < 2 {
            intervals(&keyed, words)
        } else {
            keyed.iter().map(|element| (self.is_key(words, element), *element)).collect()
        };
        for (is_it, element) in &mut found {
            if element.some {
                *is_it = (*is_it).min(Certainty::Possibly);
            }
        }
        found.retain(|(is_it, _)| *is_it > Certainty::Not);
        let rest = found.iter().map(|(is_it, _)| *is_it).max().map_or(Certainty::Certainly, |most| !most);
        found.extend(others.into_iter().filter(|_| rest > Certainty::Not).map(|other| (rest, other)));
        Meant { elements: found, unknown: self.changes }
    }

    /// Whether words are what an element stands for, part by part.
    fn is_key(&self, words: &[Word], element: &Element) -> Certainty {
        let last = element.last.as_ref().unwrap_or(&element.key);
        let whole = [element.key.len()];
        let fields = if self.fields.is_empty() { &whole[..] } else { &self.fields };
        let (mut is_it, mut at) = (Certainty::Certainly, 0_usize);
        for &length in fields {
            let end = at.saturating_add(length);
            let (Some(first), Some(last)) = (element.key.get(at..end), last.get(at..end)) else {
                return is_it.min(Certainty::Possibly);
            };
            is_it = is_it.min(within(words.get(at / 4..).unwrap_or_default(), first, last));
            at = end.next_multiple_of(4);
        }
        is_it
    }
}

/// Elements of a set of intervals: each begins one, up to the next, or none.
fn intervals<'a>(elements: &[&'a Element], words: &[Word]) -> Vec<(Certainty, &'a Element)> {
    let mut sorted = elements.to_vec();
    // Where one interval ends and another begins, it is the one that begins.
    sorted.sort_by(|a, b| (&a.key, !a.ends).cmp(&(&b.key, !b.ends)));
    let next = sorted.iter().skip(1).map(Some).chain([None]);
    let begins = sorted.iter().zip(next).filter(|(element, _)| !element.ends);
    let is_in = |(element, next): (&&'a Element, Option<&&'a Element>)| {
        let from = compared(words, Comparison::AtLeast, &element.key);
        let to = next.map_or(Certainty::Certainly, |next| compared(words, Comparison::Less, &next.key));
        (from.min(to), *element)
    };
    begins.map(is_in).collect()
}
