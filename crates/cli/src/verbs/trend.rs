//! `dropline trend`.

use super::filing::{directory, tell_damage};
use super::{DONE, FAILED, style};
use crate::args::TrendArgs;
use crate::{output as out, plan};
use dropline_failure::Failure;
use dropline_verbs::trend::{acknowledge, trend};

pub(crate) fn run(args: &TrendArgs) -> Result<u8, Failure> {
    let records = match args.records.as_slice() {
        [] => vec![directory(None)?],
        named => named.to_vec(),
    };
    args.records.iter().for_each(|path| tell_damage(path));
    let trends = || trend(&records, plan::smallest_effect(args.smallest_effect.as_deref())?);
    let mut found = trends()?;
    if !args.acknowledge.is_empty() {
        let place = acknowledge(&records, &found, &args.acknowledge)?;
        note!("acknowledged in {}", place.display());
        found = trends()?;
    }
    if let Some(path) = &args.html {
        out::draw(path, dropline_report::trends_html(&found))?;
        note!("page  {}", path.display());
    }
    if args.json {
        out::print_json(&found)?;
    } else {
        out::print_painted(&dropline_report::trends_text(&found, style()))?;
    }
    Ok(if args.fail_if.is_some() && found.has_regressed() { FAILED } else { DONE })
}
