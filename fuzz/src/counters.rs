//! What the kernel says of its counters: tables of text, messages of netlink.

use super::text;
use dropline_netrules::drop_reasons::Format;
use dropline_netrules::links::{Link, Qdisc};
use dropline_netrules::message::{Attributes, Messages};
use dropline_netrules::routes::{Neighbour, Route};
use dropline_netrules::routing_rule::Rule;
use dropline_netrules::socket_state::SocketState;
use dropline_netrules::transforms::transforms;
use dropline_traffic::kernel::tables::{Tables, Version, backlog_drops};

/// Any text has counters, which are 0 where it has none; any bytes have an end.
pub fn check(bytes: &[u8]) {
    let text = text(bytes).into_owned();
    let _ = (backlog_drops(&text), Format::read(&text));
    let tables = Tables { snmp: text.clone(), netstat: text.clone(), snmp6: text.clone(), sockstat: text };
    for version in [Version::V4, Version::V6] {
        let stack = tables.stack(version);
        assert_eq!(stack.since(&stack).vanished_inside(), 0, "nothing happened, nothing vanished");
    }
    for message in Messages::new(bytes) {
        assert!(message.body.len() < bytes.len());
        assert!(Attributes::behind(message.body, 0).all(|(_, value)| value.len() < message.body.len()));
        let _ = Link::read(message).map(|link| link.stands_alone());
        let _ = (Qdisc::read(message), Route::read(message), SocketState::read(message));
        let _ = (Neighbour::read(message), Rule::read(message).map(|rule| rule.words()));
        let _ = transforms(message, [127, 0, 0, 1].into());
    }
}
