//! The file that says what a service is asked: whether it is the one that a record was made with.

use super::{Kind, Target};
use dropline_archive::history::sha256;
use dropline_archive::reading;
use dropline_failure::Failure;

impl Target {
    /// What stands for the bytes of the file that says what it is asked: other bytes, another digest. `None` where no file
    /// says it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn asked_digest(&self) -> Result<Option<String>, Failure> {
        let Kind::Service(named) = &self.kind else { return Ok(None) };
        let Some(path) = named.file() else { return Ok(None) };
        let bytes = reading::bytes(path, reading::MOST_BYTES).map_err(|why| why.of(path))?;
        Ok(Some(sha256(&bytes)))
    }

    /// Whether bytes of a file are sent to it as they are.
    pub fn sends_a_file(&self) -> bool {
        matches!(&self.kind, Kind::Service(named) if named.sends_a_file())
    }
}
