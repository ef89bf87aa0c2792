//! Small networks on one machine: namespaces, links, bottlenecks, firewalls, and programs started in them.
//!
//! Owns the [`Namespace`] and what is built in it; all of it is gone when the value is dropped, and what a
//! killed program left behind is removed when the next one makes its first namespace. It never sends a
//! packet and knows nothing of trials. Start reading at [`namespace`], then [`link`] and [`started`].
//!
//! ```no_run
//! # fn main() -> Result<(), dropline_lab::LabError> {
//! use dropline_lab::{Bottleneck, Bridged};
//! let lab = Bridged::new()?;
//! lab.shape(&Bottleneck { rate: "8mbit", burst_bytes: 15_000, limit_bytes: 3_000 })?;
//! let bound = lab.client.run(|| std::net::UdpSocket::bind((lab.client_address, 0)).is_ok())?;
//! assert!(bound);
//! # Ok(()) }
//! ```

pub mod error;
pub mod link;
pub mod namespace;
mod program;
mod stale;
pub mod started;

pub use error::{LabError, built_or_skipped};
pub use link::{Bottleneck, Bridged, End, Pair, connect};
pub use namespace::Namespace;
pub use started::{Scheduling, Start, StartedTarget};
