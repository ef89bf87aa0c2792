//! What is kept of a measurement: versioned data, and no more computing than a line must agree with (ratios, schedules, seeds, intervals).
//!
//! Owns the [`Record`], JSON Lines of a [`Header`], a [`TrialLine`] a trial and a [`ResultLine`], and
//! its [`schema`]. It never opens a file, measures or draws.
//! Start reading at [`record`], then [`packets`], [`header`], [`trial_line`], [`result_line`].

mod agent_line;
pub mod arrivals_line;
pub mod bursts_line;
pub mod caveat_line;
pub mod compared;
pub mod compared_searches;
pub mod count;
pub mod cycles_line;
pub mod delay_line;
pub mod direction_line;
pub mod distribution;
pub mod drift;
pub mod environment;
pub mod explained;
pub mod fit;
pub mod graph_line;
pub mod header;
pub mod indexed;
pub mod injected;
pub mod packets;
pub mod passages_line;
mod place_words;
mod quantity;
pub mod record;
pub mod result_line;
pub mod schema;
pub mod slice_line;
pub mod study;
mod target_kind;
pub mod trends;
pub mod trial_line;
pub mod wakeups_line;
pub mod watched_line;
mod words;

pub use dropline_account::{Explanation, Site, explanation, losses, remedy};
pub use dropline_stats::{Histogram, sample, special};
pub use dropline_trial::{AgentState, CommonStart, Fidelity, Part};

pub use agent_line::AgentLine;
pub use arrivals_line::{ArrivalsLine, SpacedLine, ThoughtLine};
pub use bursts_line::{BackToBackLine, BurstsSideLine, ComparedBursts};
pub use caveat_line::CaveatLine;
pub use compared::Compared;
pub use compared_searches::{ComparedSearches, MovedLine, OpenLine, SearchedLine};
pub use count::{Count, Sum};
pub use cycles_line::{BetweenLine, CyclesLine};
pub use delay_line::{DelayLine, NegativeLine};
pub use direction_line::DirectionLine;
pub use distribution::{DistributionLine, DistributionSlice, below_zero};
pub use drift::DriftLine;
pub use environment::Environment;
pub use explained::ExplainedLine;
pub use fit::Fit;
pub use graph_line::GraphLine;
pub use header::{BurstsLine, GoalLine, Header, LimitsLine, MdrLine, ProfileLine, SearchLine, measured_by};
pub use indexed::{
    AddedLine, AddedWord, IndexLine, IndexedGoal, IndexedTrial, Listed, MeasuredLine, Pruned, PrunedLine,
    Reindexed,
};
pub use injected::{Injected, InjectedModeLine};
pub use packets::{PacketFile, PacketFileError};
pub use passages_line::PassagesLine;
pub use place_words::{path_words, place_words};
pub use quantity::Quantity;
pub use record::{BROKEN, ReadError, Record, VERBS};
pub use result_line::{
    AnswerLine, CertifiedLine, CurveLine, DelayAtLine, EndWord, OutlookLine, ResultLine, ResultWord,
};
pub use slice_line::{SliceDelayLine, SliceLine};
pub use study::{Chart, Series, Study, Table};
pub use target_kind::{TARGET_KINDS, TargetKind};
pub use trends::{
    ChangeLine, ConfirmationLine, DriftingLine, LeftOutLine, MarkLine, News, PointLine, SILENT, SegmentLine,
    SeriesLine, Trends,
};
pub use trial_line::{BURST, BoundsLine, DisturbanceLine, PacketsLine, Purpose, TrialLine, TurnsLine};
pub use wakeups_line::WakeupsLine;
pub use watched_line::WatchedLine;
pub use words::{
    CourseWord, DesignWord, LawWord, LoadUnit, PathWord, ReasonWord, ShapeWord, VerdictWord, word_of,
};
