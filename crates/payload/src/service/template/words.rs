//! Payloads in words: `hex:` with pairs of digits, `text:` with characters, fields in braces among either.

use super::field::{Field, Kind, Notation, Sum};
use super::{LONGEST, Piece};

/// Why there is no template.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TemplateError {
    /// A place in the words of a payload.
    #[error("payload, line {line}, column {column}: {why}")]
    Payload {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// A field of a payload does not hold what it should.
    #[error("payload, part {}: {why}", place + 1)]
    Field {
        /// Which of the payload's parts, from 0.
        place: usize,
        /// What is wrong there.
        why: String,
    },
    /// A place in the words of a reply.
    #[error("reply, line 1, column {column}: {why}")]
    Reply {
        /// From 1, in characters.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// Which reply is to which request could not be told.
    #[error(
        "reply {word:?}: the payload has no tag by which replies could be told from one another; put {{tag:4}} where the \
         service sends it back from, or count replies with reply=any"
    )]
    NoTag {
        /// What was asked for.
        word: String,
    },
    /// Nothing is sent.
    #[error("there is no payload to send")]
    Nothing,
    /// Nothing, or more than a datagram.
    #[error("a payload has 1 to {LONGEST} bytes, and this one would have {0}")]
    Length(usize),
}

impl TemplateError {
    /// The same with line and column of the field, in the words of the payload.
    pub(super) fn at_its_place(self, text: &str) -> Self {
        let Self::Field { place, why } = self else { return self };
        match starts(text) {
            Ok(starts) => wrong(text, starts.get(place).copied().unwrap_or(0), why),
            Err(other) => other,
        }
    }
}

/// Reads `hex:…` or `text:…`.
pub(super) fn payload(text: &str) -> Result<Vec<Piece>, TemplateError> {
    Ok(read(text)?.into_iter().map(|(_, piece)| piece).collect())
}

/// Where each part stands.
fn starts(text: &str) -> Result<Vec<usize>, TemplateError> {
    Ok(read(text)?.into_iter().map(|(start, _)| start).collect())
}

/// Each part, and where it stands.
fn read(text: &str) -> Result<Vec<(usize, Piece)>, TemplateError> {
    let (is_hex, rest) = match (text.strip_prefix("hex:"), text.strip_prefix("text:")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => {
            return Err(wrong(
                text,
                0,
                "a payload begins with hex: or text:, or is the name of a file".into(),
            ));
        }
    };
    let mut reading =
        Reading { text, at: text.len() - rest.len(), pieces: Vec::new(), bytes: Vec::new(), length: 0 };
    while let Some(next) = reading.next() {
        match next {
            '{' => reading.field()?,
            _ if is_hex && next.is_ascii_whitespace() => {}
            _ if is_hex => reading.pair(next)?,
            '\\' => reading.escape()?,
            '}' => {
                return Err(
                    reading.wrong(1, "a brace is closed that was not opened; a brace itself is \\}".into())
                );
            }
            _ => {
                let mut buffer = [0; 4];
                reading.bytes.extend(next.encode_utf8(&mut buffer).bytes());
            }
        }
    }
    reading.end();
    Ok(reading.pieces)
}

/// Bytes in pairs of hexadecimal digits; spaces between them mean nothing.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<char> = text.chars().filter(|digit| !digit.is_ascii_whitespace()).collect();
    let byte = |pair: &[char]| match pair {
        [high, low] => Some((high.to_digit(16)? << 4 | low.to_digit(16)?) as u8),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

fn wrong(text: &str, at: usize, why: String) -> TemplateError {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    TemplateError::Payload { line, column, why }
}

struct Reading<'a> {
    text: &'a str,
    at: usize,
    pieces: Vec<(usize, Piece)>,
    /// Since the last field.
    bytes: Vec<u8>,
    /// Bytes of the pieces.
    length: usize,
}

impl Reading<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.text[self.at..].chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// What is wrong so many bytes before here.
    fn wrong(&self, back: usize, why: String) -> TemplateError {
        wrong(self.text, self.at - back, why)
    }

    fn end(&mut self) {
        if !self.bytes.is_empty() {
            self.length += self.bytes.len();
            self.pieces.push((self.at, Piece::Bytes(std::mem::take(&mut self.bytes))));
        }
    }

    fn pair(&mut self, high: char) -> Result<(), TemplateError> {
        let start = self.at - high.len_utf8();
        let digits = (high.to_digit(16), self.next().and_then(|low| low.to_digit(16)));
        let (Some(high), Some(low)) = digits else {
            let why = "hexadecimal digits come in pairs, such as c0 de; text among them is a payload that begins with text:";
            return Err(wrong(self.text, start, why.into()));
        };
        self.bytes.push((high << 4 | low) as u8);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), TemplateError> {
        let start = self.at - 1;
        let byte = match self.next() {
            Some('n') => Some(b'\n'),
            Some('r') => Some(b'\r'),
            Some('t') => Some(b'\t'),
            Some('0') => Some(0),
            Some(same @ ('\\' | '{' | '}')) => Some(same as u8),
            Some('x') => {
                let digits = (
                    self.next().and_then(|one| one.to_digit(16)),
                    self.next().and_then(|one| one.to_digit(16)),
                );
                digits.0.zip(digits.1).map(|(high, low)| (high << 4 | low) as u8)
            }
            _ => None,
        };
        let why = "a backslash is followed by n, r, t, 0, \\, {, } or by x and two hexadecimal digits";
        self.bytes.push(byte.ok_or_else(|| wrong(self.text, start, why.into()))?);
        Ok(())
    }

    /// Reads what stands in braces, such as `tag:4` or `length:2le-8`.
    fn field(&mut self) -> Result<(), TemplateError> {
        let start = self.at;
        let Some(length) = self.text[start..].find('}') else {
            return Err(self.wrong(1, "this brace is not closed; a brace itself is \\{ in a text:".into()));
        };
        let inside = &self.text[start..start + length];
        self.at += length + 1;
        self.end();
        let (kind, notation, width) = field(inside).map_err(|why| wrong(self.text, start, why))?;
        let again = |(_, piece): &(usize, Piece)| piece.field().is_some_and(|field| field.kind == Kind::Tag);
        if kind == Kind::Tag && self.pieces.iter().any(again) {
            return Err(wrong(self.text, start, "a payload has one tag, and this is the second".into()));
        }
        self.pieces.push((start, Piece::Field(Field { kind, notation, width, at: self.length })));
        self.length += width;
        Ok(())
    }
}

/// Bytes of a number at most, by how it is written.
const LONGEST_NUMBER: [(Notation, usize); 4] =
    [(Notation::Big, 8), (Notation::Little, 8), (Notation::Decimal, 20), (Notation::Hex, 16)];
/// Of a random field.
const LONGEST_RANDOM: usize = 9000;

fn field(inside: &str) -> Result<(Kind, Notation, usize), String> {
    let (name, rest) = inside.split_once(':').unwrap_or((inside, ""));
    if name == "checksum" {
        let known = Sum::ALL.iter().find(|(name, ..)| rest.starts_with(name));
        let &(name, sum, width) = known.ok_or_else(|| {
            format!("{{{inside}}} names no checksum: there are inet, crc32, sum8 and xor8, such as {{checksum:crc32}}")
        })?;
        let notation = notation(&rest[name.len()..]).filter(|notation| *notation != Notation::Decimal);
        let notation = notation.ok_or_else(|| format!("behind {name} may stand le or x: {{{inside}}}"))?;
        return Ok((
            Kind::Checksum(sum),
            notation,
            if notation == Notation::Hex { 2 * width } else { width },
        ));
    }
    let kind = match name {
        "tag" => Kind::Tag,
        "counter" => Kind::Counter,
        "random" => Kind::Random,
        "timestamp" => Kind::Timestamp,
        "length" => Kind::Length { less: 0 },
        _ => {
            return Err(format!(
                "{{{inside}}} is not a field: there are {{tag:4}}, {{counter:8}}, {{random:16}}, {{timestamp:8}}, \
                 {{length:2}} and {{checksum:crc32}}"
            ));
        }
    };
    let (rest, less) = match (kind, rest.split_once('-')) {
        (Kind::Length { .. }, Some((rest, less))) => (rest, less.parse().ok()),
        _ => (rest, Some(0)),
    };
    let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let width = rest[..digits].parse::<usize>().ok();
    let (Some(width), Some(notation), Some(less)) = (width, notation(&rest[digits..]), less) else {
        return Err(format!(
            "{{{inside}}} does not say how it is written: {name} is followed by its bytes, and by le for the lowest first, or \
             by characters with d (decimal digits) or x (hexadecimal ones), such as {{{name}:4}}, {{{name}:4le}}, {{{name}:8x}}"
        ));
    };
    if kind == Kind::Tag && notation == Notation::Decimal {
        return Err(format!("{{{inside}}}: a tag is bytes, or hexadecimal digits, such as {{tag:8x}}"));
    }
    let most = LONGEST_NUMBER.iter().find(|(known, _)| *known == notation).map_or(0, |(_, most)| *most);
    let most = if kind == Kind::Random { LONGEST_RANDOM } else { most };
    if !(1..=most).contains(&width) {
        return Err(format!("{{{inside}}}: such a {name} has 1 to {most} bytes"));
    }
    let kind = if let Kind::Length { .. } = kind { Kind::Length { less } } else { kind };
    Ok((kind, notation, width))
}

fn notation(text: &str) -> Option<Notation> {
    match text {
        "" => Some(Notation::Big),
        "le" => Some(Notation::Little),
        "d" => Some(Notation::Decimal),
        "x" => Some(Notation::Hex),
        _ => None,
    }
}
