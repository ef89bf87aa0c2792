//! `dropline inject`.

use super::import::{hints, no_hints};
use super::{DONE, conditions, style};
use crate::args::InjectArgs;
use crate::progress::Progress;
use crate::{output as out, plan};
use dropline_failure::Failure;
use dropline_targets::background::Background;
use dropline_verbs::inject;
use dropline_verbs::inject::study;

pub(crate) fn run(args: &InjectArgs, words: Vec<String>) -> Result<u8, Failure> {
    let found = match args.stored.as_slice() {
        [before, after] => inject::stored(before, after, &hints(&args.source), plan::delay(args)?)?,
        _ => {
            no_hints(&args.source, "a target")?;
            let injection = plan::injection(args)?;
            let background = Background::start(&args.background)?;
            let mut progress = Progress::new(args.quiet, false);
            let found = inject::inject(&injection, &conditions(&args.traffic, words)?, &mut progress);
            progress.clear();
            drop(background);
            found?
        }
    };
    let study = study(&found);
    if let Some(path) = &args.html {
        out::draw(path, dropline_report::study_page(&study, &[], &[], &[]))?;
        note!("page  {}", path.display());
    }
    if args.json {
        out::print_json(&found)?;
    } else {
        out::print_painted(&dropline_report::study_text(&study, style()))?;
    }
    Ok(DONE)
}
