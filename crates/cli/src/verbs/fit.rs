//! `dropline fit`.

use super::{DONE, import, style};
use crate::args::FitArgs;
use crate::{output as out, plan};
use dropline_distributions::fit::{FitPlan, fit};
use dropline_failure::Failure;
use dropline_trial::quantities;

pub(crate) fn run(args: &FitArgs) -> Result<u8, Failure> {
    let above =
        args.above.as_deref().map(|text| plan::read("--above", quantities::duration(text))).transpose()?;
    let plan = FitPlan {
        level: plan::level(&args.level)?,
        above_ns: above.map(|above| above.as_nanos() as f64),
        mixtures: args.modes,
        seed: args.seed,
    };
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let fits: Vec<_> = import::read(&args.file, &args.source)?
        .1
        .iter()
        .map(|imported| fit(&name, imported, &plan))
        .collect();
    if let Some(path) = &args.html {
        out::draw(path, dropline_report::fit_html(&fits))?;
    }
    match fits.as_slice() {
        [one] if args.json => out::print_json(one)?,
        several if args.json => out::print_json(&several)?,
        several => {
            for fit in several {
                if several.len() > 1 {
                    out::print(&format!("\n{}", fit.source))?;
                }
                out::print_painted(&dropline_report::fit_text(fit, style()))?;
            }
        }
    }
    Ok(DONE)
}
