//! Events at both ends of a pipe to delays: granule n left the source, granule n reached the sink.
//!
//! Owns the [`Correlator`]: it is handed events in any order of threads, pairs them in constant memory, and says of every
//! event what became of it. It never sees a clock, a file or a recorder.
//! Start reading at [`correlator`], then [`window`].
//!
//! ```
//! use dropline_passage::{Correlator, CorrelatorSettings};
//! let mut correlator = Correlator::new(CorrelatorSettings::default());
//! correlator.tx(0, 1, 1_000);
//! let passage = correlator.rx(0, 1, 4_500).unwrap();
//! assert_eq!(passage.delay_ns(), 3_500);
//! let found = correlator.finish(None);
//! assert_eq!(found.pipes[0].counts.passed, 1);
//! ```

pub mod correlator;
mod littles_law;
mod pipe;
mod timeline;
mod warm_up;
pub mod window;

pub use correlator::{Correlator, CorrelatorSettings};
pub use littles_law::{LittleCheck, in_flight};
pub use warm_up::WarmUpCut;
