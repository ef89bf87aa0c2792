//! Answers of several datagrams: whole when all of them came and they have as many bytes as the first one said.

use super::Unlike;
use std::collections::{BTreeMap, BTreeSet};

/// One datagram of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 0.
    pub number: u16,
    /// Of so many.
    pub of: u16,
    /// Bytes of the answer in it.
    pub bytes: usize,
    /// What the first one says of the whole: its class, and its bytes.
    pub whole: Option<(usize, usize)>,
}

/// Answers of which some datagrams came.
#[derive(Debug, Default)]
pub struct Parts {
    under_way: BTreeMap<u64, Answer>,
}

#[derive(Debug, Default)]
struct Answer {
    came: BTreeSet<u16>,
    bytes: usize,
    whole: Option<(usize, usize)>,
}

impl Parts {
    /// A datagram of the answer to a packet; its class once it is whole.
    ///
    /// # Errors
    /// If all came and are not what the first one said.
    pub fn take(&mut self, packet: u64, part: Part) -> Result<Option<usize>, Unlike> {
        let answer = self.under_way.entry(packet).or_default();
        if answer.came.insert(part.number) {
            answer.bytes += part.bytes;
            answer.whole = answer.whole.or(part.whole);
        }
        if answer.came.len() < usize::from(part.of) {
            return Ok(None);
        }
        let answer = self.under_way.remove(&packet).unwrap_or_default();
        match answer.whole {
            Some((class, bytes)) if bytes == answer.bytes => Ok(Some(class)),
            _ => Err(Unlike::Changed),
        }
    }

    /// The packets whose answers never were whole.
    pub fn unfinished(&self) -> impl Iterator<Item = u64> + '_ {
        self.under_way.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u16, bytes: usize) -> Part {
        Part { number, of: 3, bytes, whole: (number == 0).then_some((2, 30)) }
    }

    #[test]
    fn an_answer_is_whole_with_its_last_datagram_in_whatever_order_they_come() {
        let mut parts = Parts::default();
        assert_eq!(parts.take(7, part(2, 5)), Ok(None));
        assert_eq!(parts.take(8, part(0, 10)), Ok(None), "another packet's");
        assert_eq!(parts.take(7, part(0, 15)), Ok(None));
        assert_eq!(parts.take(7, part(0, 15)), Ok(None), "the same once more");
        assert_eq!(parts.unfinished().collect::<Vec<_>>(), [7, 8]);
        assert_eq!(parts.take(7, part(1, 10)), Ok(Some(2)));
        assert_eq!(parts.unfinished().collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn datagrams_that_are_not_the_bytes_that_the_first_one_said_are_not_an_answer() {
        let mut parts = Parts::default();
        let came = [part(0, 15), part(1, 10), part(2, 6)].map(|part| parts.take(7, part));
        assert_eq!(came, [Ok(None), Ok(None), Err(Unlike::Changed)]);
    }
}
