//! What every reader of bytes and text must hold, whatever it is given.
//!
//! Each module has a `check` that reads the bytes in one way and panics if a promise is broken. The fuzzer
//! calls it with bytes it makes up (`make fuzz`); a test of `crates/cli` calls it with every file in
//! `corpus/`, so that what was found stays found.

pub mod acknowledged;
pub mod addresses;
pub mod answer;
pub mod client_report;
pub mod counters;
pub mod cycles;
pub mod dns_questions;
pub mod goal;
pub mod grant;
pub mod graph_answer;
pub mod head;
pub mod heartbeat;
pub mod heartbeat_report;
pub mod histogram;
pub mod http;
pub mod import;
pub mod index;
pub mod kernel;
pub mod message;
pub mod object;
pub mod own_payload;
pub mod packets;
pub mod quantity;
pub mod record;
pub mod recording;
pub mod ruleset;
pub mod said;
pub mod scenario;
pub mod search;
pub mod service_reply;
pub mod session;
pub mod target;
pub mod trace;
pub mod typed;

/// The bytes as text; damaged text is read with its damage marked, as from a file.
fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
