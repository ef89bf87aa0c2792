//! The form of netlink's messages, and of what asks for them.

/// A request under construction.
#[derive(Debug)]
pub struct Request {
    bytes: Vec<u8>,
    dump: bool,
}

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is.
    pub kind: u16,
    /// Which request it answers.
    pub number: u32,
    /// What it says, behind its header.
    pub body: &'a [u8],
}

/// Bytes before a message's body.
const HEADER: usize = 16;
/// Flags of requests.
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;

impl Request {
    /// For one thing; `fixed` is what every request of that kind begins with.
    pub fn one(kind: u16, fixed: &[u8]) -> Self {
        Self::new(kind, REQUEST, fixed, false)
    }

    /// For all there is.
    pub fn all(kind: u16, fixed: &[u8]) -> Self {
        Self::new(kind, REQUEST | DUMP, fixed, true)
    }

    fn new(kind: u16, flags: u16, fixed: &[u8], dump: bool) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        bytes.resize(aligned(bytes.len()), 0);
        Self { bytes, dump }
    }

    /// Whether it is for all there is: an answer has several messages, and an end.
    pub fn is_for_all(&self) -> bool {
        self.dump
    }

    /// The same with an attribute.
    pub fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.bytes.extend(attribute(kind, value));
        self
    }

    /// Its bytes, with a number by which its answer is known.
    pub fn numbered(&self, number: u32) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[..4].copy_from_slice(&(self.bytes.len() as u32).to_ne_bytes());
        bytes[8..12].copy_from_slice(&number.to_ne_bytes());
        bytes
    }
}

/// The bytes of an attribute.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((ATTRIBUTE + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(aligned(bytes.len()), 0);
    bytes
}

/// The messages of an answer; what is torn ends it.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Those in these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let length = word(self.rest, 0)? as usize;
        let kind = half(self.rest, 4)?;
        let number = word(self.rest, 8)?;
        let body = self.rest.get(HEADER..length)?;
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Some(Message { kind, number, body })
    }
}

/// The attributes in a part of a message: kind and value. What is torn ends them.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

/// Bytes before an attribute's value.
const ATTRIBUTE: usize = 4;
/// Bits of an attribute's kind that say how its value is written.
const KIND: u16 = 0x3fff;

impl<'a> Attributes<'a> {
    /// Those in `body`, behind the part that every message of its kind has.
    pub fn behind(body: &'a [u8], fixed: usize) -> Self {
        Self { rest: body.get(aligned(fixed)..).unwrap_or_default() }
    }

    /// The value of one.
    pub fn find(body: &'a [u8], fixed: usize, kind: u16) -> Option<&'a [u8]> {
        Self::behind(body, fixed).find(|(found, _)| *found == kind).map(|(_, value)| value)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let length = usize::from(half(self.rest, 0)?);
        let kind = half(self.rest, 2)? & KIND;
        let value = self.rest.get(ATTRIBUTE..length)?;
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    }
}

fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// The 16 bits at an offset.
pub fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

/// The 32 bits at an offset.
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The 64 bits at an offset.
pub fn double(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// Text up to its end mark.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_asked_is_read_back_as_it_was_meant() {
        let request = Request::one(18, &[1, 2, 3]).with(5, b"abc").with(6, &7_u32.to_ne_bytes());
        let bytes = request.numbered(9);
        let messages: Vec<Message<'_>> = Messages::new(&bytes).collect();
        assert_eq!((messages.len(), messages[0].kind, messages[0].number), (1, 18, 9));
        let attributes: Vec<_> = Attributes::behind(messages[0].body, 3).collect();
        assert_eq!(attributes, [(5, b"abc".as_slice()), (6, 7_u32.to_ne_bytes().as_slice())]);
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for message in Messages::new(&bytes) {
                prop_assert!(Attributes::behind(message.body, 16).count() <= bytes.len());
            }
        }
    }
}
