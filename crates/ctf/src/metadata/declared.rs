//! Types as metadata declares them: integers, structures, enumerations, variants, lengths.

use super::parser::Parser;
use super::{CtfError, Int, Struct, Type};
use crate::words::Is;
use std::collections::BTreeMap;

/// Deeper nesting is no trace that anybody writes.
const DEEPEST: usize = 32;
/// More dependent names neither.
const MOST_SLOTS: usize = 256;

impl Parser<'_> {
    /// A type, by its own words or by its name.
    pub(super) fn declared(&mut self) -> Result<Type, CtfError> {
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
    pub(super) fn lengths(&mut self, mut of: Type) -> Result<Type, CtfError> {
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
}

/// A type that is not so large that types of such types would fill memory.
fn bounded(of: &Type) -> Result<&Type, CtfError> {
    const MOST: usize = 4096;
    if of.parts() < MOST { Ok(of) } else { Err(CtfError::TooDeep) }
}
