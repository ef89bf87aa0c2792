//! `dropline report`.

use super::filing::directory;
use super::{DONE, picture, style_of};
use crate::args::ToldArgs;
use crate::output as out;
use clap::Args;
use dropline_archive::record_file::read_record;
use dropline_failure::Failure;
use dropline_record::Record;
use dropline_trial::number_of;
use dropline_verbs::compare::of_turns;
use dropline_verbs::explain::explanation_of;
use dropline_verbs::site::site;
use std::path::{Path, PathBuf};

/// Show records as text, JSON, a web page or plots.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:soft -o before.jsonl
  dropline search 'sim:soft?seed=8' -o after.jsonl
  dropline report before.jsonl
  dropline report before.jsonl --line
  dropline report before.jsonl after.jsonl --markdown
  dropline report before.jsonl after.jsonl --html both.html
  dropline report before.jsonl --svg plots/
  dropline search sim:noisy --history nights
  dropline report nights --site public")]
pub(crate) struct ReportArgs {
    /// Records; several are shown on common axes. With --site a history [default: $DROPLINE_HISTORY].
    #[arg(required_unless_present = "site")]
    pub(crate) files: Vec<PathBuf>,
    /// Write one self-contained web page [default name: the record's with .html; of several A-and-B.html].
    #[arg(long, value_name = "OUT", num_args = 0..=1, help_heading = "Output")]
    pub(crate) html: Option<Option<PathBuf>>,
    /// Write each plot as an SVG file into this directory.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    /// Write each plot as a PNG picture into this directory, with the program rsvg-convert.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) png: Option<PathBuf>,
    /// Write the pages of a history into this directory, for any web server: its list, its records, its limits over time.
    #[arg(long, value_name = "DIR", help_heading = "Output", conflicts_with_all = ["html", "svg", "png", "json", "line", "markdown"])]
    pub(crate) site: Option<PathBuf>,
    /// Print one JSON object, or an array of several records.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print one line for each record, for a chat: the answer, how sure it is, the target, the date.
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    pub(crate) line: bool,
    /// Print Markdown for a pull request: the answer, its table, the caveats, the command that repeats it.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "line"])]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) told: ToldArgs,
}

pub(crate) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    if let Some(out) = &args.site {
        return draw_site(&args.files, out);
    }
    let mut records: Vec<Record> =
        args.files.iter().map(|path| read_record(path)).collect::<Result<_, _>>()?;
    let explanation = match records.as_mut_slice() {
        [record] => explanation_of(&args.files[0], record),
        _ => None,
    };
    let mut written = false;
    if let Some(path) = &args.html {
        let path = path.clone().unwrap_or_else(|| page_of(&args.files));
        let page = match &explanation {
            Some(found) => dropline_report::explained_html(&records[0], found),
            None => dropline_report::html(&records),
        };
        out::draw(&path, &page)?;
        out::print(&format!("page  {}", path.display()))?;
        written = true;
    }
    if let Some(directory) = &args.svg {
        let explained = explanation.iter().flat_map(dropline_report::explained_svgs);
        draw_plots(directory, dropline_report::svgs(&records).into_iter().chain(explained), Kind::Svg)?;
        written = true;
    }
    if let Some(directory) = &args.png {
        let explained = explanation.iter().flat_map(dropline_report::explained_svgs);
        draw_plots(directory, dropline_report::svgs(&records).into_iter().chain(explained), Kind::Png)?;
        written = true;
    }
    match records.as_slice() {
        [record] if args.json => out::print_json(&dropline_report::object(record))?,
        records if args.json => {
            out::print_json(&records.iter().map(dropline_report::object).collect::<Vec<_>>())?
        }
        records if args.line => {
            let lines: Vec<String> = records.iter().map(dropline_report::line).collect();
            out::print(&lines.join("\n"))?
        }
        records if args.markdown => out::print(&in_markdown(&args.files, records))?,
        _ if written => {}
        [record] => out::print_painted(&dropline_report::text(record, style_of(args.told)))?,
        records => out::print_painted(&dropline_report::text_many(records, style_of(args.told)))?,
    }
    Ok(DONE)
}

/// Records as Markdown; of one that has turns of two targets, with whether these differ.
fn in_markdown(files: &[PathBuf], records: &[Record]) -> String {
    let turns = match records {
        [record] => of_turns(record, &files[0].to_string_lossy()).zip(Some(record)),
        _ => None,
    };
    match turns {
        Some((compared, record)) => dropline_report::markdown_of_turns(record, &compared),
        None => dropline_report::markdown(records),
    }
}

/// Draws the pages of one history.
fn draw_site(files: &[PathBuf], to: &Path) -> Result<u8, Failure> {
    let history = match files {
        [] => directory(None)?,
        [one] => directory(Some(one))?,
        _ => return Err(Failure::usage("--site draws one history: name its directory, and nothing else")),
    };
    let sited = site(&history, to, &mut |at| note!("{at}"))?;
    out::print(&format!("pages  {}", to.join("index.html").display()))?;
    let drawn = number_of(sited.drawn, "page");
    note!("{drawn} drawn, {} as before", sited.kept);
    if sited.without > 0 {
        note!("! {} not drawn: the page of each says why", number_of(sited.without, "record"));
    }
    Ok(DONE)
}

/// The page of records for which nobody named one, beside the first: `A.html`, of two `A-and-B.html`, of more
/// `A-and-2-more.html`. So the page of several is never that of one of them.
fn page_of(files: &[PathBuf]) -> PathBuf {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let first = files[0].with_extension("html");
    match files {
        [] | [_] => first,
        [a, b] => first.with_file_name(format!("{}-and-{}.html", stem(a), stem(b))),
        [a, more @ ..] => first.with_file_name(format!("{}-and-{}-more.html", stem(a), more.len())),
    }
}

/// What a plot is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Svg,
    Png,
}

/// Draws plots into a directory, which is made where it is missing, and is not left behind without one.
fn draw_plots(
    directory: &Path,
    svgs: impl Iterator<Item = (String, String)>,
    kind: Kind,
) -> Result<(), Failure> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|path| !path.exists()).collect();
    let made = std::fs::create_dir_all(directory)
        .map_err(|why| Failure::environment(format!("cannot create {}: {why}", directory.display())));
    let drawn = made.and_then(|()| {
        let mut svgs = svgs.peekable();
        if svgs.peek().is_none() {
            return Err(Failure::environment(
                "there is nothing to draw: the trials hold no packets, delays or losses",
            ));
        }
        for (name, svg) in svgs {
            let path = match kind {
                Kind::Svg => directory.join(name),
                Kind::Png => directory.join(name).with_extension("png"),
            };
            match kind {
                Kind::Svg => out::draw(&path, &svg)?,
                Kind::Png => out::draw(&path, picture::png(&svg)?)?,
            }
            out::print(&format!("plot  {}", path.display()))?;
        }
        Ok(())
    });
    drawn.inspect_err(|_| {
        // One in which a plot is stays.
        missing.iter().for_each(|path| drop(std::fs::remove_dir(path)));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_several_records_has_a_name_of_its_own() {
        let page = |files: &[&str]| page_of(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(page(&["runs/a.jsonl"]), Path::new("runs/a.html"));
        assert_eq!(page(&["runs/a.jsonl", "b.v2.jsonl"]), Path::new("runs/a-and-b.v2.html"));
        assert_eq!(page(&["a.jsonl", "b.jsonl", "c.jsonl"]), Path::new("a-and-2-more.html"));
    }
}
