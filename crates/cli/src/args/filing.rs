//! The flag that says in which history a record is filed.

use clap::Args;
use std::path::PathBuf;

/// The environment's name of the history that is meant where none is named.
pub(crate) const VARIABLE: &str = "DROPLINE_HISTORY";

/// In which history a record is filed.
#[derive(Args, Clone, Debug)]
pub(crate) struct FilingArgs {
    /// File the record by its date in this directory, instead of in the current one; with -o in both. As s3://BUCKET/PREFIX,
    /// put it into that store when it is finished, and keep the file too [default: $DROPLINE_HISTORY].
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) history: Option<PathBuf>,
}
