//! Pages on loopback: as little of HTTP/1.1 (RFC 9112) as a browser and a scraper need, and who may read them.
//!
//! [`Http`] listens and reads requests within bounds, [`Gate`] says whom it answers, [`Request`] is what was asked, [`Content`]
//! what is answered. It knows no page.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod content;
mod gate;
mod request;
mod server;

pub use content::Content;
pub use gate::Gate;
pub use request::Request;
pub use server::{Answers, Http, RunningHttp, answer};
