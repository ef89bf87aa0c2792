//! Frames from one interface of this machine to another: made in the kernel or by a raw socket, judged in the kernel.
//!
//! Owns [`LinkMeasurer`], which performs trials on what is between two interfaces, the [`KernelReflector`], and the BPF programs in `bpf/`. It never
//! chooses a load, and reads no counter of the kernel: whoever opens it hands in what does. Unsafe code is in `sys` alone.
//! Start reading at [`measurer`], then [`frame`] and `bpf/judge.c`.

mod engine;
mod error;
mod field;
pub mod frame;
mod instructions;
mod judge;
mod link_end;
mod maps;
pub mod measurer;
mod neighbours;
mod next_hop;
mod one_way;
mod options;
mod outcome;
mod performing;
mod reflector;
mod sys;
mod trial_watch;

pub use engine::Engine;
pub use error::LinkError;
pub use link_end::LinkEnd;
pub use measurer::{LinkMeasurer, Usages};
pub use next_hop::NextHop;
pub use options::{Astray, Counting, KnownUse, LinkOptions};
pub use reflector::KernelReflector;
