//! Why a record is not read or written, and what to do.

use crate::reading;
use dropline_failure::{Failure, quoted, quoted_path};
use dropline_record::Header;
use std::io::{self, ErrorKind};
use std::path::Path;

/// `resumable`: a search is to be kept where another one is.
pub(super) fn exists_already(path: &Path, header: &Header, resumable: bool) -> Failure {
    let failure = Failure::usage(format!("{} exists already", path.display()));
    match std::fs::metadata(path) {
        Ok(data) if !data.is_file() => {
            Failure::usage(format!("{} is not a file that a record can be kept in", path.display()))
                .advice("name a new file: -o FILE   or keep no record: -o -")
        }
        _ if resumable => failure.advice(format!(
            "resume it:  dropline search --resume {} {}   or name another: -o FILE",
            quoted_path(path),
            quoted(&header.target)
        )),
        _ => failure.advice("it is not written over: name another file: -o FILE"),
    }
}

/// Times of packets stand where those of a new record would.
pub(super) fn of_another_record(packets: &Path) -> Failure {
    Failure::usage(format!("{} exists already", packets.display()))
        .advice("it holds the packets of another record: move it away, or name another record: -o FILE")
}

/// Nothing more can be added.
pub(super) fn full(path: &Path) -> Failure {
    Failure::environment(format!(
        "{} would become longer than {} MiB, and a longer record is not read: this line was not added",
        path.display(),
        reading::MOST_BYTES >> 20
    ))
    .advice(
        "all that is in it can be read. What fills it are histograms, slices and caveats of trials: let there be \
         fewer, or search again into another file: -o FILE",
    )
}

pub(super) fn cannot_read(path: &Path, why: &io::Error) -> Failure {
    Failure::environment(format!("cannot read {}: {why}", path.display()))
}

/// A search is resumed in the file that holds it.
pub(super) fn cannot_go_on(path: &Path, why: &io::Error) -> Failure {
    let named = quoted_path(path);
    Failure::environment(format!("cannot write {}: {why}", path.display())).advice(format!(
        "a search that is resumed adds its trials to its record: let it be written to, or resume a copy:  cp {named} \
         NEW && dropline search --resume NEW"
    ))
}

/// Nothing was measured yet, and nothing is left of the file.
pub(super) fn cannot_begin(why: Failure) -> Failure {
    why.advice(
        "nothing was measured, and no file is left: make room for it (free some space; ulimit -f unlimited), or name a file \
         elsewhere: -o FILE",
    )
}

pub(super) fn cannot_write(path: &Path, why: &io::Error) -> Failure {
    let failure = Failure::environment(format!("cannot write {}: {why}", path.display()));
    match (room(why.kind()), why.kind()) {
        (Some(room), _) => failure.advice(format!("{room}, or name a file elsewhere: -o FILE")),
        (None, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            failure.advice("name a file elsewhere: -o FILE")
        }
        _ => failure,
    }
}

/// The same of a search, which can be resumed in its file and in no other one.
pub(super) fn cannot_write_on(path: &Path, why: &io::Error) -> Failure {
    let failure = cannot_write(path, why);
    match room(why.kind()) {
        Some(room) => failure
            .advice(format!("what was written before is kept: {room}, then resume the search by --resume")),
        None => failure,
    }
}

/// What makes room, where there was none.
fn room(why: ErrorKind) -> Option<&'static str> {
    match why {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some("free some space"),
        ErrorKind::FileTooLarge => Some("let files grow (ulimit -f unlimited)"),
        _ => None,
    }
}
