//! Records that are added to a history.

use super::History;
use super::index::{line, sum_of_header};
use super::named;
use crate::reading::{MOST_BYTES, Rereadable, STDIN};
use crate::record_file::{packets_beside, parse, read_bytes, text_of};
use dropline_failure::Failure;
use dropline_record::{AddedLine, AddedWord, IndexLine, Record};
use dropline_store::sha256;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file that shall be added, and what it is called.
#[derive(Debug)]
pub struct Offered {
    named: PathBuf,
    read: Result<Rereadable, Failure>,
}

impl Offered {
    /// What the user named. A pipe is read now, so that nobody has to wait for it.
    pub fn of(named: &Path) -> Self {
        Self { named: named.to_owned(), read: Rereadable::of(named) }
    }

    /// A record that was made of what the user named.
    pub fn made(named: &Path, text: &str) -> Self {
        let kept = Rereadable::kept(std::ffi::OsStr::new("record.jsonl"), text.as_bytes());
        let read =
            kept.map_err(|why| Failure::environment(format!("cannot keep {}: {why}", named.display())));
        Self { named: named.to_owned(), read }
    }
}

impl Offered {
    /// As it was named.
    fn name(&self) -> String {
        if self.named.as_os_str() == STDIN {
            "standard input".into()
        } else {
            self.named.display().to_string()
        }
    }

    /// An error that speaks of what was named, and not of where it was kept meanwhile.
    fn in_its_name(&self, why: &Failure) -> String {
        match &self.read {
            Ok(file) => why.to_string().replace(&file.path().display().to_string(), &self.name()),
            Err(_) => why.to_string(),
        }
    }
}

/// How two records of one measurement stand to one another.
#[derive(PartialEq, Eq)]
enum Than {
    /// The other one is its beginning.
    More,
    /// It is the other one, or its beginning.
    NoMore,
    /// They share their first line alone.
    Other,
}

impl History {
    /// Adds records, each once: one that is there is not added again, and takes the place of its own beginning. One that did
    /// not come to its end is added only if `unfinished` says so.
    ///
    /// # Errors
    /// If the index cannot be written. What was refused is said in its line.
    pub fn add(&self, offered: &[Offered], unfinished: bool) -> Result<Vec<AddedLine>, Failure> {
        let mut told = Vec::new();
        let written = self.change(|records| {
            for one in offered {
                let added = match &one.read {
                    Ok(file) => self.add_one(records, file.path(), unfinished),
                    Err(why) => Err(Failure::environment(why.to_string())),
                };
                let (added, file, why) = match added {
                    Ok((added, file)) => (added, Some(file), None),
                    Err(why) => (AddedWord::Refused, None, Some(one.in_its_name(&why))),
                };
                told.push(AddedLine { source: one.name(), file, added, why });
            }
            Ok(())
        });
        let is_added = |line: &AddedLine| matches!(line.added, AddedWord::New | AddedWord::Completed);
        let is_refused = |line: &AddedLine| line.added == AddedWord::Refused;
        match written {
            // What was refused, or that nothing was added, says more than that the index could not be written: it is made again at will.
            Err(_) if told.iter().any(is_refused) || !told.is_empty() && !told.iter().any(is_added) => {
                Ok(told)
            }
            Err(why) => Err(why),
            Ok(()) => Ok(told),
        }
    }

    fn add_one(
        &self,
        records: &mut BTreeMap<String, IndexLine>,
        source: &Path,
        unfinished: bool,
    ) -> Result<(AddedWord, String), Failure> {
        let bytes = read_bytes(source)?;
        let record = parse(&text_of(&bytes, source)?, source)?;
        let described = (self.describe)(&record);
        if !described.finished && !unfinished {
            return Err(Failure::usage(format!("{} did not come to its end", source.display())).advice(
                "resume it first (dropline search --resume FILE), or add it as it is by --unfinished",
            ));
        }
        let (header, sum) = (sum_of_header(&bytes), sha256(&bytes));
        let of_header: Vec<String> = records
            .values()
            .filter(|known| known.header_sha256 == header)
            .map(|known| known.file.clone())
            .collect();
        // In a store another program may have put it there since the index was read; of a directory it waits.
        let own = named::of(&record.header.started, &record.header.target, &header);
        let own = own.filter(|_| self.place.fails_as_one());
        let unknown = own.clone().filter(|own| !of_header.contains(own));
        let mut beginning = None;
        for file in of_header.into_iter().chain(unknown) {
            let Some(there) = self.place.read(&file, MOST_BYTES)? else { continue };
            if sum_of_header(&there) != header {
                continue;
            }
            match self.than(&file, &there, &record, &bytes)? {
                Than::NoMore => return Ok((AddedWord::Known, file)),
                Than::More => beginning = Some((file, there)),
                Than::Other => {}
            }
        }
        let packets = packets_beside(source);
        let (added, file) = match beginning {
            Some((file, there)) => {
                self.place.put(&file, &bytes, &packets, Some(&there))?;
                (AddedWord::Completed, file)
            }
            None => {
                let name = self.free_name(&record, [&header, &sum], source)?;
                // Another program was quicker with the same file.
                let first = own.filter(|own| *own != name);
                let there =
                    first.as_ref().map(|first| self.place.read(first, MOST_BYTES)).transpose()?.flatten();
                if let Some(first) = first.filter(|_| there.is_some_and(|there| there == bytes)) {
                    return Ok((AddedWord::Known, first));
                }
                let file = self.place.named_there(&name)?;
                self.place.put(&file, &bytes, &packets, None)?;
                (AddedWord::New, file)
            }
        };
        records.insert(file.clone(), line(described, &file, &bytes));
        Ok((added, file))
    }

    /// What `record` is to one of the history with the same first line.
    fn than(&self, file: &str, there: &[u8], record: &Record, bytes: &[u8]) -> Result<Than, Failure> {
        let path = self.path(file);
        if there == bytes {
            return Ok(Than::NoMore);
        }
        let there = parse(&text_of(there, &path)?, &path)?;
        let common = there.trials.len().min(record.trials.len());
        if there.trials[..common] != record.trials[..common] {
            return Ok(Than::Other);
        }
        let far = |record: &Record| {
            (record.trials.len(), record.is_finished(), record.result.is_some(), record.reading.is_empty())
        };
        Ok(match far(record).cmp(&far(&there)) {
            std::cmp::Ordering::Greater => Than::More,
            std::cmp::Ordering::Less => Than::NoMore,
            std::cmp::Ordering::Equal if there.result == record.result => Than::NoMore,
            std::cmp::Ordering::Equal => Than::Other,
        })
    }

    /// A name that no other record has: by the sum of its first line, or of all of it.
    fn free_name(&self, record: &Record, sums: [&str; 2], source: &Path) -> Result<String, Failure> {
        let header = &record.header;
        let names = sums.map(|sum| named::of(&header.started, &header.target, sum));
        let [Some(first), Some(second)] = names else {
            return Err(Failure::environment(format!(
                "{} does not say when it began: {:?} is not a date",
                source.display(),
                header.started
            ))
            .advice("a record in a history lies by its date"));
        };
        Ok(if self.place.has(&first)? { second } else { first })
    }
}
