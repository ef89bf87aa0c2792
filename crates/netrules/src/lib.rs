//! What the kernel says of a network namespace, and what its rules do to a packet: bytes in, judgement out.
//!
//! Owns the readers of netlink's messages ([`message`]) and what they tell: interfaces, routes, rules of routing and
//! [`Ruleset`](ruleset::Ruleset)s; and [`Firewall`](firewall::Firewall), which says what a packet of a trial meets of them. It
//! never asks the kernel, knows no socket, no clock and no file: `traffic` asks, and hands in what was answered. What it does
//! not understand of a rule is met possibly, never not.
//! Start reading at [`ruleset`], then [`rule_match`] and [`firewall`].

pub mod bridging;
pub mod drop_reasons;
mod elements;
pub mod expressions;
mod fields;
pub mod firewall;
pub mod legacy_tables;
pub mod links;
pub mod message;
pub mod redirects;
pub mod registers;
pub mod routes;
pub mod routing_rule;
pub mod rule_match;
pub mod ruleset;
pub mod socket_state;
pub mod tracked;
pub mod transforms;
pub mod visit;
pub mod way;
