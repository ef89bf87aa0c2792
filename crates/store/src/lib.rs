//! Objects in a store that speaks S3.
//!
//! Owns what is asked of a store and how it is signed. An object is put where there is none, or in place of one that is known:
//! nobody overwrites another's. It knows no record and no history. Start reading at [`Bucket`].

mod answer;
mod bucket;
mod settings;
mod signature;

pub use answer::Object;
pub use bucket::{Bucket, Revision};
pub use signature::sha256;
