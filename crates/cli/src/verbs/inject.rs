//! `dropline inject`.

use super::{DONE, conditions, style};
use crate::args::InjectArgs;
use crate::progress::Progress;
use crate::{output as out, plan};
use dropline::background::Background;
use dropline::injecting::{self, study};
use dropline::{Failure, report};

pub(crate) fn run(args: &InjectArgs, words: Vec<String>) -> Result<u8, Failure> {
    let found = match args.stored.as_slice() {
        [before, after] => injecting::stored(before, after, plan::delay(args)?)?,
        _ => {
            let injection = plan::injection(args)?;
            let background = Background::start(&args.background)?;
            let mut progress = Progress::new(args.quiet, false);
            let found = injecting::inject(&injection, &conditions(&args.traffic, words)?, &mut progress);
            progress.clear();
            drop(background);
            found?
        }
    };
    let study = study(&found);
    if let Some(path) = &args.html {
        out::write(path, &report::study_page(&study, &[], &[], &[]))?;
        note!("page  {}", path.display());
    }
    if args.json {
        out::print_json(&found)?;
    } else {
        out::print(&report::study_text(&study, style()))?;
    }
    Ok(DONE)
}
