//! An audio server's cycle: how late a JACK client is called, and how often the server gave up on a period.
//!
//! Owns the [`JackMeasurer`], the servers that it starts, and how times of cycles become delays ([`cycles`]). It never
//! searches, prints or keeps a record; its unsafe code is in `sys` alone. libjack is loaded when it is needed: nothing
//! of JACK takes part in a build.
//! Start reading at [`measurer`], then [`cycles`].

pub mod cycles;
pub mod measurer;
mod server;
pub mod server_output;
mod sys;

pub use measurer::{JackError, JackMeasurer, JackSettings, Running, running};
