//! What a trace says of itself: clocks, streams, events and how their bits lie (CTF 1.8 §7).

mod declared;
mod parser;

use crate::CtfError;
use crate::words::words;
use parser::Parser;
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

impl Metadata {
    pub(super) fn parse(text: &str) -> Result<Self, CtfError> {
        let words = words(text)?;
        let (slots, mut found) = Parser::of(&words).trace()?;
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
