//! A history in a store that speaks S3.

use super::storage::Storage;
use super::{Files, INDEX, missing};
use crate::reading::{self, MOST_BYTES, MOST_PACKETS};
use crate::record_file::packets_beside;
use crate::temporary::Scratch;
use crate::whole_file;
use dropline_failure::{Failure, quoted_path};
use dropline_store::Bucket;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often a file is changed anew because another came between, and what is waited before that.
const CHANGES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// A part of a bucket.
#[derive(Debug)]
pub(super) struct Remote {
    named: PathBuf,
    bucket: Bucket,
    /// What was fetched of it.
    fetched: Mutex<Option<Scratch>>,
}

impl Remote {
    /// The one of an address, with what the environment says of its store.
    pub(super) fn of(named: &Path) -> Result<Self, Failure> {
        let bucket = Bucket::of(&named.to_string_lossy(), |name| std::env::var(name).ok())?;
        Ok(Self { named: named.to_owned(), bucket, fetched: Mutex::new(None) })
    }
}

/// The times of the packets of a record, from where it lies.
fn packets_of(file: &str) -> String {
    packets_beside(Path::new(file)).to_string_lossy().into_owned()
}

impl Storage for Remote {
    fn named(&self) -> &Path {
        &self.named
    }

    fn files(&self) -> Result<Files, Failure> {
        let mut files = Files::default();
        for object in self.bucket.list()? {
            files.take(&object.name, object.bytes);
        }
        files.leave_out_larger_than(MOST_BYTES);
        Ok(files)
    }

    fn has(&self, file: &str) -> Result<bool, Failure> {
        Ok(self.bucket.read(file, MOST_BYTES)?.is_some())
    }

    fn read(&self, file: &str, most: u64) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.bucket.read(file, most)?.map(|(bytes, _)| bytes))
    }

    fn fails_as_one(&self) -> bool {
        true
    }

    fn named_there(&self, file: &str) -> Result<String, Failure> {
        Ok(file.to_owned())
    }

    fn put(&self, file: &str, bytes: &[u8], packets: &Path, old: Option<&[u8]>) -> Result<(), Failure> {
        if packets.is_file() {
            let times = reading::file_bytes(packets, MOST_PACKETS).map_err(|why| why.of(packets))?;
            // Without their record they are nobody's: a program that was killed left them.
            if old.is_some() || !self.has(file)? {
                self.bucket.put_over(&packets_of(file), &times)?;
            }
        }
        let is_put = match old {
            None => self.bucket.put_new(file, bytes)?,
            Some(old) => match self.bucket.read(file, MOST_BYTES)? {
                Some((there, tag)) if there == old => self.bucket.replace(file, bytes, &tag)?,
                _ => false,
            },
        };
        // An answer that was lost on its way: it was put before it was asked for again.
        if is_put || self.bucket.read(file, MOST_BYTES)?.is_some_and(|(there, _)| there == bytes) {
            return Ok(());
        }
        let named = self.named.join(file);
        Err(Failure::environment(format!(
            "{} was put there by another program in the meantime",
            named.display()
        ))
        .advice(format!(
            "nothing was overwritten; see what it is:  dropline history list {}",
            quoted_path(&self.named)
        )))
    }

    fn change(
        &self,
        file: &str,
        change: &mut dyn FnMut() -> Result<Vec<u8>, Failure>,
    ) -> Result<(), Failure> {
        for number in 1..=CHANGES {
            let found = self.bucket.read(file, MOST_BYTES)?;
            let bytes = change()?;
            let is_put = match found {
                Some((there, _)) if there == bytes => true,
                Some((_, tag)) => self.bucket.replace(file, &bytes, &tag)?,
                None => self.bucket.put_new(file, &bytes)?,
            };
            if is_put {
                return Ok(());
            }
            // Each waits another time, as its process has another number.
            std::thread::sleep(PAUSE * number * (1 + std::process::id() % 5));
        }
        // The index is made from the records: whoever reads it makes good what it lacks.
        if file == INDEX {
            return Ok(());
        }
        let named = self.named.join(file);
        Err(Failure::environment(format!("{} is changed by other programs all the time", named.display()))
            .advice("do it again later"))
    }

    fn remove(&self, file: &str) -> Result<bool, Failure> {
        self.bucket.remove(file)?;
        self.bucket.remove(&packets_of(file))?;
        Ok(true)
    }

    fn local(&self, file: &str, bytes: u64) -> Result<PathBuf, Failure> {
        let cannot = |why: std::io::Error| {
            Failure::environment(format!("cannot keep {} here: {why}", self.named.join(file).display()))
        };
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = match fetched.take() {
            Some(scratch) => scratch,
            None => Scratch::new().map_err(cannot)?,
        };
        let path = fetched.insert(scratch).path().join(file);
        if std::fs::metadata(&path).is_ok_and(|there| there.len() == bytes) {
            return Ok(path);
        }
        let record = self.read(file, MOST_BYTES)?.ok_or_else(|| missing(&self.named.join(file)))?;
        whole_file::create_directories(path.parent().unwrap_or(&path)).map_err(cannot)?;
        if let Some((times, _)) = self.bucket.read(&packets_of(file), MOST_PACKETS)? {
            whole_file::replace(&packets_beside(&path), &times).map_err(cannot)?;
        }
        whole_file::replace(&path, &record).map_err(cannot)?;
        Ok(path)
    }
}
