//! The blocks of metadata: trace, clocks, streams, events, and the words that they are made of.

use super::{ClockClass, CtfError, EventClass, Labels, Metadata, StreamClass, Struct, Type};
use crate::words::{Is, Word};
use std::collections::BTreeMap;

/// Reads a trace's words from the first to the last.
pub(super) struct Parser<'a> {
    pub(super) words: &'a [Word],
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) big_endian: bool,
    pub(super) aliases: BTreeMap<String, Type>,
    pub(super) structs: BTreeMap<String, Type>,
    pub(super) enums: BTreeMap<String, Type>,
    pub(super) variants: BTreeMap<String, Type>,
    /// Names that lengths and tags refer to.
    pub(super) slots: BTreeMap<String, usize>,
    /// Enumerations by the name of the field that was declared last.
    pub(super) labels: BTreeMap<String, Labels>,
    pub(super) found: Metadata,
}

impl<'a> Parser<'a> {
    pub(super) fn of(words: &'a [Word]) -> Self {
        Self {
            words,
            at: 0,
            depth: 0,
            big_endian: false,
            aliases: BTreeMap::new(),
            structs: BTreeMap::new(),
            enums: BTreeMap::new(),
            variants: BTreeMap::new(),
            slots: BTreeMap::new(),
            labels: BTreeMap::new(),
            found: Metadata::default(),
        }
    }
}

impl Parser<'_> {
    /// All blocks; the names that lengths and tags refer to, and what was found.
    pub(super) fn trace(mut self) -> Result<(BTreeMap<String, usize>, Metadata), CtfError> {
        self.blocks()?;
        Ok((self.slots, self.found))
    }

    fn blocks(&mut self) -> Result<(), CtfError> {
        while self.at < self.words.len() {
            match self.name()?.as_str() {
                "typealias" => self.alias()?,
                "trace" => self.block(|parser, key| match key {
                    "byte_order" => {
                        let order = parser.name()?;
                        parser.big_endian = matches!(order.as_str(), "be" | "network");
                        Ok(())
                    }
                    "packet.header" => {
                        parser.found.packet_header = Some(parser.declared()?);
                        Ok(())
                    }
                    _ => parser.skip_value(),
                })?,
                "clock" => self.clock()?,
                "stream" => self.stream()?,
                "event" => self.event()?,
                "env" | "callsite" => self.block(|parser, _| parser.skip_value())?,
                "struct" | "enum" | "variant" | "typedef" | "integer" | "floating_point" | "string" => {
                    self.at -= 1;
                    if self.take_name("typedef") {
                        let of = self.declared()?;
                        let name = self.name()?;
                        let of = self.lengths(of)?;
                        self.aliases.insert(name, of);
                    } else {
                        self.declared()?;
                    }
                }
                _ => return Err(self.unexpected(1)),
            }
            self.sign(";")?;
        }
        Ok(())
    }

    pub(super) fn alias(&mut self) -> Result<(), CtfError> {
        let of = self.declared()?;
        self.sign(":=")?;
        let mut name = self.name()?;
        while let Some(Is::Name(more)) = self.peek() {
            name = format!("{name} {more}");
            self.at += 1;
        }
        self.aliases.insert(name, of);
        Ok(())
    }

    fn clock(&mut self) -> Result<(), CtfError> {
        let (mut name, mut hertz, mut seconds, mut ticks) = (String::new(), 1_000_000_000, 0, 0);
        self.block(|parser, key| match key {
            "name" => {
                name = parser.word_or_text()?;
                Ok(())
            }
            "freq" => {
                hertz = parser.natural()?;
                Ok(())
            }
            "offset_s" => {
                seconds = parser.number()?;
                Ok(())
            }
            "offset" => {
                ticks = parser.number()?;
                Ok(())
            }
            _ => parser.skip_value(),
        })?;
        if hertz == 0 {
            return Err(self.unexpected(1));
        }
        let offset_ns = seconds.saturating_mul(1_000_000_000).saturating_add(
            ticks.checked_mul(1_000_000_000).map_or(i128::MAX / 4, |scaled| scaled / i128::from(hertz)),
        );
        self.found.clocks.insert(name, ClockClass { hertz, offset_ns });
        Ok(())
    }

    fn stream(&mut self) -> Result<(), CtfError> {
        let (mut id, mut class) = (0, StreamClass::default());
        self.block(|parser, key| {
            match key {
                "id" => id = parser.natural()?,
                "packet.context" => class.packet_context = Some(parser.declared()?),
                "event.header" => class.event_header = Some(parser.declared()?),
                "event.context" => class.event_context = Some(parser.declared()?),
                _ => parser.skip_value()?,
            }
            Ok(())
        })?;
        let events = self.found.streams.remove(&id).map(|early| early.events).unwrap_or_default();
        self.found.streams.insert(id, StreamClass { events, ..class });
        Ok(())
    }

    fn event(&mut self) -> Result<(), CtfError> {
        let (mut id, mut stream, mut name) = (0, 0, String::new());
        let (mut context, mut fields) = (None, None);
        self.block(|parser, key| {
            match key {
                "id" => id = parser.natural()?,
                "stream_id" => stream = parser.natural()?,
                "name" => name = parser.word_or_text()?,
                "context" => context = Some(parser.declared()?),
                "fields" => fields = Some(parser.declared()?),
                _ => parser.skip_value()?,
            }
            Ok(())
        })?;
        let fields = match fields {
            Some(Type::Struct(fields)) => fields,
            None => Struct { fields: Vec::new(), align: 1 },
            Some(_) => return Err(self.unexpected(1)),
        };
        let class = EventClass { name, context, fields };
        self.found.streams.entry(stream).or_default().events.insert(id, class);
        Ok(())
    }

    /// `{ key = value; key := type; … }`; `each` reads what follows the sign.
    pub(super) fn block(
        &mut self,
        mut each: impl FnMut(&mut Self, &str) -> Result<(), CtfError>,
    ) -> Result<(), CtfError> {
        self.sign("{")?;
        while !self.take_sign("}") {
            if matches!(self.peek_name(), Some("typealias")) {
                self.at += 1;
                self.alias()?;
            } else {
                let mut key = self.name()?;
                while self.take_sign(".") {
                    key = format!("{key}.{}", self.name()?);
                }
                if !self.take_sign(":=") {
                    self.sign("=")?;
                }
                each(self, &key)?;
            }
            self.sign(";")?;
        }
        Ok(())
    }

    pub(super) fn skip_value(&mut self) -> Result<(), CtfError> {
        while !matches!(self.peek(), Some(Is::Sign(";"))) {
            self.next()?;
        }
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<&Is> {
        self.words.get(self.at).map(|word| &word.is)
    }

    pub(super) fn peek_name(&self) -> Option<&str> {
        match self.peek()? {
            Is::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn next(&mut self) -> Result<Word, CtfError> {
        let word = self.words.get(self.at).cloned().ok_or(CtfError::Ends)?;
        self.at += 1;
        Ok(word)
    }

    pub(super) fn name(&mut self) -> Result<String, CtfError> {
        match self.next()?.is {
            Is::Name(name) => Ok(name),
            _ => Err(self.unexpected(1)),
        }
    }

    pub(super) fn word_or_text(&mut self) -> Result<String, CtfError> {
        match self.next()?.is {
            Is::Name(word) | Is::Text(word) => Ok(word),
            _ => Err(self.unexpected(1)),
        }
    }

    pub(super) fn number(&mut self) -> Result<i128, CtfError> {
        match self.next()?.is {
            Is::Number(number) => Ok(number),
            _ => Err(self.unexpected(1)),
        }
    }

    pub(super) fn natural(&mut self) -> Result<u64, CtfError> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| self.unexpected(1))
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let there = matches!(self.peek(), Some(Is::Sign(found)) if *found == sign);
        self.at += usize::from(there);
        there
    }

    pub(super) fn take_name(&mut self, name: &str) -> bool {
        let there = self.peek_name() == Some(name);
        self.at += usize::from(there);
        there
    }

    pub(super) fn sign(&mut self, sign: &str) -> Result<(), CtfError> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.unexpected(0)) }
    }

    /// The word `back` words ago was not what must stand there.
    pub(super) fn unexpected(&self, back: usize) -> CtfError {
        match self.words.get(self.at.saturating_sub(back)) {
            None => CtfError::Ends,
            Some(word) => CtfError::Syntax {
                line: word.line,
                found: match &word.is {
                    Is::Name(text) | Is::Text(text) => text.chars().take(40).collect(),
                    Is::Number(number) => number.to_string(),
                    Is::Sign(sign) => (*sign).into(),
                },
            },
        }
    }
}
