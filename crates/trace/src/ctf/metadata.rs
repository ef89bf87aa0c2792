//! What a trace says of itself: clocks, streams, events and how their bits lie (CTF 1.8 §7).

use super::CtfError;
use super::words::{Is, Word, words};
use std::collections::BTreeMap;

/// How a value lies in a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Int(Int),
    Enum(Int, Labels),
    Float {
        bits: u32,
        align: u32,
    },
    Text,
    Struct(Struct),
    /// One of several, by the label of an enumeration that was read before.
    Variant {
        tag: String,
        slot: usize,
        choices: Vec<(Labels, Type)>,
    },
    Array(Box<Type>, u64),
    /// As many as an integer that was read before says.
    Sequence {
        of: Box<Type>,
        length: String,
        slot: usize,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Int {
    pub(super) bits: u32,
    pub(super) align: u32,
    pub(super) signed: bool,
    pub(super) big_endian: bool,
    /// It is a reading of this clock.
    pub(super) clock: Option<String>,
    /// Where its value is kept for what depends on it.
    pub(super) keep: Option<usize>,
}

/// Labels of an enumeration, each with the values from and to which it holds.
pub(super) type Labels = Vec<(String, i128, i128)>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Struct {
    pub(super) fields: Vec<(String, Type)>,
    pub(super) align: u32,
}

/// A clock of the trace.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClockClass {
    pub(super) hertz: u64,
    /// What its readings are later than, in ns since 1970.
    pub(super) offset_ns: i128,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StreamClass {
    pub(super) packet_context: Option<Type>,
    pub(super) event_header: Option<Type>,
    pub(super) event_context: Option<Type>,
    pub(super) events: BTreeMap<u64, EventClass>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventClass {
    pub(super) name: String,
    pub(super) context: Option<Type>,
    pub(super) fields: Struct,
}

/// All that a reader must know.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Metadata {
    pub(super) packet_header: Option<Type>,
    pub(super) clocks: BTreeMap<String, ClockClass>,
    pub(super) streams: BTreeMap<u64, StreamClass>,
    /// Values that others depend on.
    pub(super) slots: usize,
}

/// Deeper nesting is no trace that anybody writes.
const DEEPEST: usize = 32;
/// More dependent names neither.
const MOST_SLOTS: usize = 256;

impl Metadata {
    pub(super) fn parse(text: &str) -> Result<Self, CtfError> {
        let words = words(text)?;
        let mut parser = Parser {
            words: &words,
            at: 0,
            depth: 0,
            big_endian: false,
            aliases: BTreeMap::new(),
            structs: BTreeMap::new(),
            enums: BTreeMap::new(),
            variants: BTreeMap::new(),
            slots: BTreeMap::new(),
            labels: BTreeMap::new(),
            found: Self::default(),
        };
        parser.trace()?;
        let Parser { slots, mut found, .. } = parser;
        found.slots = slots.len();
        found.each_type(&mut |found| keep(found, &slots));
        Ok(found)
    }

    fn each_type(&mut self, each: &mut impl FnMut(&mut Type)) {
        self.packet_header.iter_mut().for_each(&mut *each);
        for stream in self.streams.values_mut() {
            stream.packet_context.iter_mut().for_each(&mut *each);
            stream.event_header.iter_mut().for_each(&mut *each);
            stream.event_context.iter_mut().for_each(&mut *each);
            for event in stream.events.values_mut() {
                event.context.iter_mut().for_each(&mut *each);
                let mut fields = Type::Struct(std::mem::take(&mut event.fields));
                each(&mut fields);
                if let Type::Struct(fields) = fields {
                    event.fields = fields;
                }
            }
        }
    }
}

/// Marks the integers that something depends on.
fn keep(found: &mut Type, slots: &BTreeMap<String, usize>) {
    match found {
        Type::Struct(fields) => {
            for (name, field) in &mut fields.fields {
                if let (Some(&slot), Type::Int(int) | Type::Enum(int, _)) = (slots.get(name), &mut *field) {
                    int.keep = Some(slot);
                }
                keep(field, slots);
            }
        }
        Type::Variant { choices, .. } => choices.iter_mut().for_each(|(_, choice)| keep(choice, slots)),
        Type::Array(of, _) | Type::Sequence { of, .. } => keep(of, slots),
        Type::Int(_) | Type::Enum(..) | Type::Float { .. } | Type::Text => {}
    }
}

/// A type that is not so large that types of such types would fill memory.
fn bounded(of: &Type) -> Result<&Type, CtfError> {
    const MOST: usize = 4096;
    if of.parts() < MOST { Ok(of) } else { Err(CtfError::TooDeep) }
}

struct Parser<'a> {
    words: &'a [Word],
    at: usize,
    depth: usize,
    big_endian: bool,
    aliases: BTreeMap<String, Type>,
    structs: BTreeMap<String, Type>,
    enums: BTreeMap<String, Type>,
    variants: BTreeMap<String, Type>,
    /// Names that lengths and tags refer to.
    slots: BTreeMap<String, usize>,
    /// Enumerations by the name of the field that was declared last.
    labels: BTreeMap<String, Labels>,
    found: Metadata,
}

impl Parser<'_> {
    fn trace(&mut self) -> Result<(), CtfError> {
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

    fn alias(&mut self) -> Result<(), CtfError> {
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
    fn block(
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

    fn skip_value(&mut self) -> Result<(), CtfError> {
        while !matches!(self.peek(), Some(Is::Sign(";"))) {
            self.next()?;
        }
        Ok(())
    }

    /// A type, by its own words or by its name.
    fn declared(&mut self) -> Result<Type, CtfError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(CtfError::TooDeep);
        }
        let declared = self.declared_within();
        self.depth -= 1;
        declared
    }

    fn declared_within(&mut self) -> Result<Type, CtfError> {
        let name = self.name()?;
        match name.as_str() {
            "integer" => self.integer().map(Type::Int),
            "floating_point" => self.floating(),
            "string" => {
                if matches!(self.peek(), Some(Is::Sign("{"))) {
                    self.block(|parser, _| parser.skip_value())?;
                }
                Ok(Type::Text)
            }
            "struct" => {
                let name = self.optional_name();
                if !matches!(self.peek(), Some(Is::Sign("{"))) {
                    return self.known(&self.structs, name);
                }
                let declared = Type::Struct(self.structure()?);
                self.structs.extend(name.map(|name| (name, declared.clone())));
                Ok(declared)
            }
            "enum" => {
                let name = self.optional_name();
                if !matches!(self.peek(), Some(Is::Sign(":" | "{"))) {
                    return self.known(&self.enums, name);
                }
                let declared = self.enumeration()?;
                self.enums.extend(name.map(|name| (name, declared.clone())));
                Ok(declared)
            }
            "variant" => self.variant(),
            _ => {
                let mut name = name;
                // Names of several words, as `unsigned long`: the longest that is known.
                while !self.aliases.contains_key(&name) {
                    let Some(Is::Name(more)) = self.peek() else { return Err(self.unexpected(1)) };
                    name = format!("{name} {more}");
                    self.at += 1;
                }
                while let Some(Is::Name(more)) = self.peek() {
                    let longer = format!("{name} {more}");
                    if !self.aliases.contains_key(&longer) {
                        break;
                    }
                    name = longer;
                    self.at += 1;
                }
                bounded(&self.aliases[&name]).cloned()
            }
        }
    }

    fn known(&self, among: &BTreeMap<String, Type>, name: Option<String>) -> Result<Type, CtfError> {
        let found = name.and_then(|name| among.get(&name)).ok_or_else(|| self.unexpected(1))?;
        bounded(found).cloned()
    }

    fn optional_name(&mut self) -> Option<String> {
        let name = self.peek_name()?.to_owned();
        self.at += 1;
        Some(name)
    }

    fn integer(&mut self) -> Result<Int, CtfError> {
        let mut int =
            Int { bits: 0, align: 0, signed: false, big_endian: self.big_endian, clock: None, keep: None };
        self.block(|parser, key| {
            match key {
                "size" => int.bits = u32::try_from(parser.natural()?).unwrap_or(u32::MAX),
                "align" => int.align = parser.alignment()?,
                "signed" => {
                    int.signed = match parser.next()?.is {
                        Is::Name(word) => matches!(word.as_str(), "true" | "TRUE"),
                        Is::Number(number) => number != 0,
                        _ => return Err(parser.unexpected(1)),
                    };
                }
                "byte_order" => {
                    let order = parser.name()?;
                    match order.as_str() {
                        "be" | "network" => int.big_endian = true,
                        "le" => int.big_endian = false,
                        _ => {}
                    }
                }
                "map" => {
                    // clock.NAME.value
                    let mut path = vec![parser.name()?];
                    while parser.take_sign(".") {
                        path.push(parser.name()?);
                    }
                    int.clock = path.into_iter().nth(1);
                }
                _ => parser.skip_value()?,
            }
            Ok(())
        })?;
        if int.bits == 0 || int.bits > 64 {
            return Err(self.unexpected(1));
        }
        if int.align == 0 {
            int.align = if int.bits.is_multiple_of(8) { 8 } else { 1 };
        }
        Ok(int)
    }

    fn floating(&mut self) -> Result<Type, CtfError> {
        let (mut bits, mut align) = (0, 8);
        self.block(|parser, key| {
            match key {
                "exp_dig" | "mant_dig" => bits += parser.natural()?.min(1024),
                "align" => align = parser.alignment()?,
                _ => parser.skip_value()?,
            }
            Ok(())
        })?;
        Ok(Type::Float { bits: bits as u32, align })
    }

    fn alignment(&mut self) -> Result<u32, CtfError> {
        let align = self.natural()?;
        if align.is_power_of_two() && align <= 4096 { Ok(align as u32) } else { Err(self.unexpected(1)) }
    }

    fn structure(&mut self) -> Result<Struct, CtfError> {
        let mut fields = Vec::new();
        self.sign("{")?;
        while !self.take_sign("}") {
            if self.take_name("typealias") {
                self.alias()?;
                self.sign(";")?;
                continue;
            }
            let of = self.declared()?;
            let name = self.name()?;
            let of = self.lengths(of)?;
            self.sign(";")?;
            if let Type::Enum(_, labels) = &of {
                self.labels.insert(name.clone(), labels.clone());
            }
            fields.push((name, of));
        }
        let mut align = fields.iter().map(|(_, field)| field.align()).max().unwrap_or(1);
        if self.take_name("align") {
            self.sign("(")?;
            align = align.max(self.alignment()?);
            self.sign(")")?;
        }
        Ok(Struct { fields, align })
    }

    /// `[8]` and `[length]` behind a field's name.
    fn lengths(&mut self, mut of: Type) -> Result<Type, CtfError> {
        while self.take_sign("[") {
            of = match self.peek() {
                Some(Is::Number(_)) => Type::Array(Box::new(of), self.natural()?),
                _ => {
                    let length = self.path()?;
                    let slot = self.slot(&length)?;
                    Type::Sequence { of: Box::new(of), length, slot }
                }
            };
            self.sign("]")?;
        }
        Ok(of)
    }

    /// The last name of a path: `stream.event.header.id` is `id`.
    fn path(&mut self) -> Result<String, CtfError> {
        let mut name = self.name()?;
        while self.take_sign(".") {
            name = self.name()?;
        }
        Ok(name)
    }

    fn slot(&mut self, name: &str) -> Result<usize, CtfError> {
        let next = self.slots.len();
        if next == MOST_SLOTS {
            return Err(CtfError::TooDeep);
        }
        Ok(*self.slots.entry(name.into()).or_insert(next))
    }

    fn enumeration(&mut self) -> Result<Type, CtfError> {
        let int = if self.take_sign(":") {
            match self.declared()? {
                Type::Int(int) => int,
                _ => return Err(self.unexpected(1)),
            }
        } else {
            match self.aliases.get("int") {
                Some(Type::Int(int)) => int.clone(),
                _ => return Err(self.unexpected(0)),
            }
        };
        self.sign("{")?;
        let (mut labels, mut next) = (Vec::new(), 0i128);
        while !self.take_sign("}") {
            let label = self.word_or_text()?;
            let (mut low, mut high) = (next, next);
            if self.take_sign("=") {
                low = self.number()?;
                high = if self.take_sign("...") { self.number()? } else { low };
            }
            next = high.saturating_add(1);
            labels.push((label, low, high));
            if !self.take_sign(",") {
                self.sign("}")?;
                break;
            }
        }
        Ok(Type::Enum(int, labels))
    }

    fn variant(&mut self) -> Result<Type, CtfError> {
        let name = self.optional_name();
        let tag = if self.take_sign("<") {
            let tag = self.path()?;
            self.sign(">")?;
            Some(tag)
        } else {
            None
        };
        if !matches!(self.peek(), Some(Is::Sign("{"))) {
            let Type::Variant { choices, .. } = self.known(&self.variants, name)? else {
                return Err(self.unexpected(1));
            };
            let choices =
                choices.into_iter().filter_map(|(labels, of)| Some((labels.first()?.0.clone(), of)));
            return self.choose(tag.ok_or_else(|| self.unexpected(0))?, choices.collect());
        }
        let choices = self.structure()?.fields;
        if let Some(name) = name {
            let untagged =
                choices.iter().map(|(label, of)| (vec![(label.clone(), 0, 0)], of.clone())).collect();
            self.variants.insert(name, Type::Variant { tag: String::new(), slot: 0, choices: untagged });
        }
        match tag {
            Some(tag) => self.choose(tag, choices),
            None => Ok(Type::Struct(Struct { fields: Vec::new(), align: 1 })),
        }
    }

    /// Each choice with the tag's values that lead to it.
    fn choose(&mut self, tag: String, choices: Vec<(String, Type)>) -> Result<Type, CtfError> {
        let slot = self.slot(&tag)?;
        let labels = self.labels.get(&tag).ok_or_else(|| self.unexpected(1))?;
        let plain = |label: &str| label.trim_start_matches('_').to_owned();
        let choices = choices.into_iter().map(|(label, of)| {
            let values =
                labels.iter().filter(|(known, ..)| *known == label || plain(known) == plain(&label)).cloned();
            (values.collect(), of)
        });
        Ok(Type::Variant { slot, choices: choices.collect(), tag })
    }

    fn peek(&self) -> Option<&Is> {
        self.words.get(self.at).map(|word| &word.is)
    }

    fn peek_name(&self) -> Option<&str> {
        match self.peek()? {
            Is::Name(name) => Some(name),
            _ => None,
        }
    }

    fn next(&mut self) -> Result<Word, CtfError> {
        let word = self.words.get(self.at).cloned().ok_or(CtfError::Ends)?;
        self.at += 1;
        Ok(word)
    }

    fn name(&mut self) -> Result<String, CtfError> {
        match self.next()?.is {
            Is::Name(name) => Ok(name),
            _ => Err(self.unexpected(1)),
        }
    }

    fn word_or_text(&mut self) -> Result<String, CtfError> {
        match self.next()?.is {
            Is::Name(word) | Is::Text(word) => Ok(word),
            _ => Err(self.unexpected(1)),
        }
    }

    fn number(&mut self) -> Result<i128, CtfError> {
        match self.next()?.is {
            Is::Number(number) => Ok(number),
            _ => Err(self.unexpected(1)),
        }
    }

    fn natural(&mut self) -> Result<u64, CtfError> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| self.unexpected(1))
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let there = matches!(self.peek(), Some(Is::Sign(found)) if *found == sign);
        self.at += usize::from(there);
        there
    }

    fn take_name(&mut self, name: &str) -> bool {
        let there = self.peek_name() == Some(name);
        self.at += usize::from(there);
        there
    }

    fn sign(&mut self, sign: &str) -> Result<(), CtfError> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.unexpected(0)) }
    }

    /// The word `back` words ago was not what must stand there.
    fn unexpected(&self, back: usize) -> CtfError {
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

impl Type {
    /// How many types it is made of, itself included.
    fn parts(&self) -> usize {
        1 + match self {
            Self::Struct(fields) => fields.fields.iter().map(|(_, field)| field.parts()).sum(),
            Self::Variant { choices, .. } => {
                choices.iter().map(|(labels, of)| labels.len() + of.parts()).sum()
            }
            Self::Array(of, _) | Self::Sequence { of, .. } => of.parts(),
            Self::Enum(_, labels) => labels.len(),
            Self::Int(_) | Self::Float { .. } | Self::Text => 0,
        }
    }

    /// In bits.
    pub(super) fn align(&self) -> u32 {
        match self {
            Self::Int(int) | Self::Enum(int, _) => int.align,
            Self::Float { align, .. } => *align,
            Self::Text => 8,
            Self::Struct(fields) => fields.align,
            Self::Variant { .. } => 1,
            Self::Array(of, _) | Self::Sequence { of, .. } => of.align(),
        }
    }
}
