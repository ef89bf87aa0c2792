//! An object file: its sections and symbols (ELF, little-endian, 32 and 64 bits).

/// What an object file brings and what it asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// The machine's number in the file (62 is amd64).
    pub machine: u16,
    /// Sections that are loaded.
    pub sections: Vec<Section>,
    /// Symbols that others can use.
    pub defined: Vec<String>,
    /// Symbols that others must bring.
    pub undefined: Vec<String>,
    /// Functions, those of the file itself included.
    pub functions: Vec<String>,
}

/// A section that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// As `.text.hb_handle`.
    pub name: String,
    /// In bytes.
    pub bytes: u64,
    /// Whether the program writes to it.
    pub writable: bool,
    /// Whether the file holds its content; `.bss` has none.
    pub filled: bool,
}

/// Why a file is no object that can be read.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ObjectError {
    /// Not ELF, or another byte order.
    #[error("it is not a little-endian ELF file")]
    Format,
    /// It ends before something that it names.
    #[error("the file is cut short")]
    Short,
}

impl Object {
    /// Reads a file's bytes.
    ///
    /// # Errors
    /// If they are no such file, or cut short.
    pub fn read(bytes: &[u8]) -> Result<Self, ObjectError> {
        let wide = match bytes {
            [0x7f, b'E', b'L', b'F', 1, 1, ..] => false,
            [0x7f, b'E', b'L', b'F', 2, 1, ..] => true,
            _ => return Err(ObjectError::Format),
        };
        let file = File { bytes, wide };
        let headers = file.headers()?;
        let names = headers.get(file.number(if wide { 0x3e } else { 0x32 }, 2)? as usize);
        let names = names.ok_or(ObjectError::Short)?;
        let mut object = Self { machine: file.number(0x12, 2)? as u16, ..Self::default() };
        for header in &headers {
            let name = file.text(sum(names.offset, header.name)?)?;
            if header.flags & ALLOCATED != 0 && header.bytes > 0 {
                object.sections.push(Section {
                    name,
                    bytes: header.bytes,
                    writable: header.flags & WRITABLE != 0,
                    filled: header.kind != NO_BITS,
                });
            }
            if header.kind == SYMBOLS {
                let strings = headers.get(header.link as usize).ok_or(ObjectError::Short)?;
                file.symbols(header, strings.offset, &mut object)?;
            }
        }
        object.undefined.sort_unstable();
        Ok(object)
    }

    /// Code and constants and initial values: what is kept in flash, tables for unwinding left out.
    pub fn flash(&self) -> u64 {
        self.sum(|section| section.filled && !section.unwinds() && !section.name.starts_with(".note"))
    }

    /// Variables of the code itself: what it takes of RAM beside what its caller gives it.
    pub fn ram(&self) -> u64 {
        self.sum(|section| section.writable)
    }

    /// Tables for unwinding.
    pub fn unwinding(&self) -> u64 {
        self.sum(Section::unwinds)
    }

    fn sum(&self, which: impl Fn(&Section) -> bool) -> u64 {
        let chosen = self.sections.iter().filter(|section| which(section));
        chosen.fold(0, |sum, section| sum.saturating_add(section.bytes))
    }
}

impl Section {
    fn unwinds(&self) -> bool {
        self.name.starts_with(".eh_frame") || self.name.starts_with(".ARM.ex")
    }
}

const WRITABLE: u64 = 1;
const ALLOCATED: u64 = 2;
const SYMBOLS: u64 = 2;
const NO_BITS: u64 = 8;
const FUNCTION: u64 = 2;

struct File<'a> {
    bytes: &'a [u8],
    wide: bool,
}

struct Header {
    name: u64,
    kind: u64,
    flags: u64,
    offset: u64,
    bytes: u64,
    link: u64,
}

impl File<'_> {
    /// The unsigned number of `width` bytes at `at`.
    fn number(&self, at: u64, width: usize) -> Result<u64, ObjectError> {
        let at = usize::try_from(at).map_err(|_| ObjectError::Short)?;
        let bytes =
            at.checked_add(width).and_then(|end| self.bytes.get(at..end)).ok_or(ObjectError::Short)?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn text(&self, at: u64) -> Result<String, ObjectError> {
        let rest = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..)).ok_or(ObjectError::Short)?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or(ObjectError::Short)?;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    fn headers(&self) -> Result<Vec<Header>, ObjectError> {
        let (table, entry, count) = if self.wide { (0x28, 0x3a, 0x3c) } else { (0x20, 0x2e, 0x30) };
        let word = if self.wide { 8 } else { 4 };
        let (table, entry, count) =
            (self.number(table, word)?, self.number(entry, 2)?, self.number(count, 2)?);
        let places: [u64; 4] = if self.wide { [8, 0x18, 0x20, 0x28] } else { [8, 0x10, 0x14, 0x18] };
        (0..count)
            .map(|index| {
                let at = index
                    .checked_mul(entry)
                    .and_then(|far| far.checked_add(table))
                    .ok_or(ObjectError::Short)?;
                let number = |place, width| self.number(sum(at, place)?, width);
                Ok(Header {
                    name: number(0, 4)?,
                    kind: number(4, 4)?,
                    flags: number(places[0], word)?,
                    offset: number(places[1], word)?,
                    bytes: number(places[2], word)?,
                    link: number(places[3], 4)?,
                })
            })
            .collect()
    }

    fn symbols(&self, table: &Header, strings: u64, object: &mut Object) -> Result<(), ObjectError> {
        let (entry, info, section) = if self.wide { (24, 4, 6) } else { (16, 12, 14) };
        for index in 0..table.bytes / entry {
            let at = sum(table.offset, index * entry)?;
            let name = self.text(sum(strings, self.number(at, 4)?)?)?;
            let info = self.number(sum(at, info)?, 1)?;
            let (global, function) = (info >> 4 != 0, info & 15 == FUNCTION);
            let here = self.number(sum(at, section)?, 2)? != 0;
            if here && function {
                object.functions.push(name.clone());
            }
            if global && !name.is_empty() {
                let found = if here { &mut object.defined } else { &mut object.undefined };
                found.push(name);
            }
        }
        Ok(())
    }
}

/// A place that the file names; none is beyond all files.
fn sum(a: u64, b: u64) -> Result<u64, ObjectError> {
    a.checked_add(b).ok_or(ObjectError::Short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_or_cut_short_is_said() {
        assert_eq!(Object::read(b"#include <stdint.h>"), Err(ObjectError::Format));
        assert_eq!(Object::read(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]), Err(ObjectError::Short));
        let mut far = [0xff; 64];
        far[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        assert_eq!(Object::read(&far), Err(ObjectError::Short));
        // A table of names at the very end of all addresses, and a name further on.
        let mut names = [0; 64 + 64];
        names[..6].copy_from_slice(&far[..6]);
        (names[0x28], names[0x3a], names[0x3c], names[64]) = (64, 64, 1, 1);
        names[64 + 0x18..64 + 0x20].fill(0xff);
        assert_eq!(Object::read(&names), Err(ObjectError::Short));
    }

    #[test]
    fn flash_is_what_is_filled_and_ram_what_is_written() {
        let section =
            |name: &str, bytes, writable, filled| Section { name: name.into(), bytes, writable, filled };
        let object = Object {
            sections: vec![
                section(".text", 100, false, true),
                section(".rodata.str1.1", 9, false, true),
                section(".data", 8, true, true),
                section(".bss", 260, true, false),
                section(".eh_frame", 88, false, true),
            ],
            ..Object::default()
        };
        assert_eq!((object.flash(), object.ram(), object.unwinding()), (117, 268, 88));
    }
}
