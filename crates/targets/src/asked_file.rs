//! The file that says what a service is asked: whether it is the one that a record was made with.

use super::{Kind, Target};
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
        // FNV-1a of 64 bits: a file that was changed by mistake is told, not one that was made to have it.
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
        Ok(Some(format!("{hash:016x}-{}", bytes.len())))
    }

    /// Whether bytes of a file are sent to it as they are.
    pub fn sends_a_file(&self) -> bool {
        matches!(&self.kind, Kind::Service(named) if named.sends_a_file())
    }
}
