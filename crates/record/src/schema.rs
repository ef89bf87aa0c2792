//! The record's JSON Schema, made from its types.

use crate::{DistributionLine, Header, LimitsLine, ResultLine, TrialLine};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};

/// Name of the format that this version writes.
pub const CURRENT: &str = "dropline/1";

/// One line of a record: `line` says which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// A distribution that was imported; such a file has no header.
    Distribution(Box<DistributionLine>),
    /// One line a trial.
    Trial(Box<TrialLine>),
    /// Where a search went on with other limits.
    Limits(LimitsLine),
    /// The last line.
    Result(Box<ResultLine>),
}

/// The JSON Schema of one line.
pub fn line_schema() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Line>();
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_schema_is_that_of_the_types() {
        let shipped = include_str!("../../../schema/dropline-1.json");
        assert!(
            shipped == line_schema(),
            "schema/dropline-1.json is out of date: cargo run -p dropline-record --example schema > schema/dropline-1.json"
        );
    }
}
