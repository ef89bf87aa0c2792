//! The record's JSON Schema, made from its types.

pub use crate::header::CURRENT;
use crate::{
    AddedLine, Compared, ComparedBursts, ComparedSearches, DistributionLine, ExplainedLine, Fit, Header,
    Injected, LimitsLine, Listed, Pruned, Reindexed, ResultLine, Study, Trends, TrialLine,
};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};

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
    /// Where a search was resumed with other limits.
    Limits(LimitsLine),
    /// The last line.
    Result(Box<ResultLine>),
}

/// What `--json` prints where the answer is no record. The first word of each says which verb.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is wanted")]
enum Answer {
    /// `compare` of two measurements.
    Compared(Compared),
    /// `compare` of two searches.
    ComparedSearches(ComparedSearches),
    /// `compare` of two searches for the longest burst.
    ComparedBursts(ComparedBursts),
    /// `fit`; a list of these for a file that holds several distributions.
    Fit(Fit),
    /// `inject`.
    Injected(Injected),
    /// `explain`.
    Explained(ExplainedLine),
    /// `experiment`.
    Study(Study),
    /// `trend`.
    Trends(Trends),
    /// `history list`.
    Listed(Listed),
    /// `history add`: a list of these.
    Added(AddedLine),
    /// `history index`.
    Reindexed(Reindexed),
    /// `history prune`.
    Pruned(Pruned),
}

/// The JSON Schema of one line that can be read.
pub fn line_schema() -> String {
    schema_of::<Line>(SchemaSettings::draft2020_12())
}

/// That of a line as this version writes it: what is not required is left out where it has no value.
pub fn written_line_schema() -> String {
    schema_of::<Line>(SchemaSettings::draft2020_12().for_serialize())
}

/// That of answers that are no records, as they are written.
pub fn answer_schema() -> String {
    schema_of::<Answer>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> String {
    let schema = settings.into_generator().into_root_schema_for::<T>();
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
