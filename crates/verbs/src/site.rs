//! `report --site`: the pages of a history as files, for any server of files.

use crate::pages::Pages;
use dropline_archive::whole_file;
use dropline_failure::Failure;
use dropline_record::IndexLine;
use dropline_report::{AskedRecords, MARK, TRENDS, list_page, record_page, says_it_is_of, trend_page};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A page says what it was drawn from within so many bytes.
const HEAD: u64 = 64 << 10;

/// How it goes is told each so many records.
const TOLD: usize = 250;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sited {
    /// Pages that were drawn.
    pub drawn: usize,
    /// Pages of records that are as they were.
    pub kept: usize,
    /// Records that cannot be shown: their pages say why.
    pub without: usize,
}

/// Draws the pages of a history into a directory: each beside its place and renamed, over a page that was drawn before and over
/// nothing else.
///
/// # Errors
/// If the history cannot be read, a page cannot be written, or another file is in its place.
pub fn site(directory: &Path, out: &Path, progress: &mut dyn FnMut(&str)) -> Result<Sited, Failure> {
    let pages = Pages::of(directory, false)?;
    whole_file::create_directories(out)
        .map_err(|why| Failure::environment(format!("cannot make {}: {why}", out.display())))?;
    // Before anything is drawn.
    let lists = (1..=pages.lists()).map(list_page);
    let records = pages.records().iter().map(|line| record_page(&line.file));
    for page in lists.chain([TRENDS.to_owned()]).chain(records) {
        let place = place_of(out, &page)?;
        // Directories of pages are made with their first.
        if place.exists() || place.parent() == Some(out) {
            whole_file::may_draw(&place, MARK)?;
        }
    }
    let mut sited = Sited::default();
    let all = pages.records().len();
    for (number, line) in pages.records().iter().enumerate() {
        if number > 0 && number.is_multiple_of(TOLD) {
            progress(&format!("{number} of all {all} pages of records are drawn; their list comes last"));
        }
        let place = out.join(record_page(&line.file));
        let of = drawn_of(&pages, line);
        if is_of(&place, &of) {
            sited.kept += 1;
            continue;
        }
        match pages.record(line, &of, true) {
            Ok(shown) => draw(out, &record_page(&line.file), &shown.text, &mut sited)?,
            Err(why) => {
                draw(out, &record_page(&line.file), &pages.said(&record_page(&line.file), &why), &mut sited)?;
                sited.without += 1;
            }
        }
    }
    for (id, page) in pages.all_trends()? {
        draw(out, &trend_page(&id), &page, &mut sited)?;
    }
    draw(out, TRENDS, &pages.trend_list()?, &mut sited)?;
    // What leads to all others comes last.
    for number in (1..=pages.lists()).rev() {
        draw(out, &list_page(number), &pages.list(number, &AskedRecords::default()), &mut sited)?;
    }
    Ok(sited)
}

fn draw(out: &Path, page: &str, text: &str, sited: &mut Sited) -> Result<(), Failure> {
    let place = place_of(out, page)?;
    let directory = place.parent().unwrap_or(out);
    whole_file::create_directories(directory)
        .map_err(|why| Failure::environment(format!("cannot make {}: {why}", directory.display())))?;
    whole_file::draw(&place, text.as_bytes(), MARK)?;
    sited.drawn += 1;
    Ok(())
}

/// Where a page lies. A link on the way there would lead out of the directory.
fn place_of(out: &Path, page: &str) -> Result<PathBuf, Failure> {
    let mut place = out.to_owned();
    for part in Path::new(page) {
        place.push(part);
        if place.is_symlink() {
            let said =
                format!("{} is a link: pages are written into their own directory alone", place.display());
            return Err(Failure::environment(said).advice("remove it, or name another directory"));
        }
    }
    Ok(place)
}

/// By what it is known that the page of a record would be the same: its content, what lies beside it, and who draws it.
fn drawn_of(pages: &Pages, line: &IndexLine) -> String {
    format!("{} {} {}", line.sha256, pages.size(line), env!("CARGO_PKG_VERSION"))
}

/// Whether a page was drawn from this.
fn is_of(place: &Path, of: &str) -> bool {
    let mut head = Vec::new();
    let read = File::open(place).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let says = says_it_is_of(of);
    read.is_ok() && String::from_utf8_lossy(&head).contains(&says)
}
