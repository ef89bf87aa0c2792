//! `dropline fit`.

use super::{DONE, style};
use crate::args::FitArgs;
use crate::output as out;
use crate::plan;
use dropline::fitting::{FitPlan, fit};
use dropline::{Failure, import, report};

pub(crate) fn run(args: &FitArgs) -> Result<u8, Failure> {
    let level = plan::level(&args.level)?;
    let plan = FitPlan { level };
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let fits: Vec<_> = import::read(&args.file)?.iter().map(|imported| fit(&name, imported, &plan)).collect();
    match fits.as_slice() {
        [one] if args.json => out::print_json(one)?,
        several if args.json => out::print_json(&several)?,
        several => {
            for fit in several {
                out::print(&report::fit_text(fit, style()))?;
            }
        }
    }
    Ok(DONE)
}
