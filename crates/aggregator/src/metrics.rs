//! Counts as OpenMetrics text, for whoever scrapes them.

use super::server::{Kept, ServerCounts};
use dropline_openmetrics::Exposition;
use std::fmt::Display;

/// The media type of [`of_server`]'s text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a server did and holds.
pub fn of_server(counts: &ServerCounts, kept: &[Option<Kept>]) -> String {
    let mut text = Exposition::default();
    text.family("dropline_heartbeat_received", "counter", "Packets read from the socket.");
    text.sample("dropline_heartbeat_received_total", &[], counts.received);
    text.family("dropline_heartbeat_stored", "counter", "Heartbeats kept, by variable.");
    for (variable, kept) in set(kept) {
        text.sample("dropline_heartbeat_stored_total", &[("variable", &variable)], kept.stored);
    }
    text.family("dropline_heartbeat_rejected", "counter", "Packets dropped, by why.");
    for (why, count) in &counts.rejected {
        text.sample("dropline_heartbeat_rejected_total", &[("why", why)], count);
    }
    text.family("dropline_heartbeat_requests", "counter", "Valid requests, by what became of them.");
    for (outcome, count) in &counts.requests {
        text.sample("dropline_heartbeat_requests_total", &[("outcome", outcome)], count);
    }
    if let Some(dropped) = counts.dropped_socket {
        text.family("dropline_heartbeat_socket_dropped", "counter", "Packets that found the buffer full.");
        text.sample("dropline_heartbeat_socket_dropped_total", &[], dropped);
    }
    text.family("dropline_heartbeat_receive_errors", "counter", "Errors of reading the socket.");
    text.sample("dropline_heartbeat_receive_errors_total", &[], counts.receive_errors);
    text.unit_family("dropline_heartbeat_receive_buffer_bytes", "bytes", "Receive buffer really reserved.");
    text.sample("dropline_heartbeat_receive_buffer_bytes", &[], counts.receive_buffer_bytes);
    text.family("dropline_heartbeat_value", "gauge", "What the last heartbeat of a variable said.");
    for (variable, kept) in set(kept) {
        let labels: [(&str, &dyn Display); 2] = [("variable", &variable), ("from", &kept.from)];
        text.sample("dropline_heartbeat_value", &labels, kept.value);
    }
    text.unit_family("dropline_heartbeat_arrived_seconds", "seconds", "When it came, since 1970.");
    for (variable, kept) in set(kept) {
        text.sample("dropline_heartbeat_arrived_seconds", &[("variable", &variable)], kept.arrived_unix_s);
    }
    text.finish()
}

fn set(kept: &[Option<Kept>]) -> impl Iterator<Item = (usize, &Kept)> {
    kept.iter().enumerate().filter_map(|(variable, kept)| Some((variable, kept.as_ref()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_a_server_are_openmetrics_text() {
        let counts = ServerCounts {
            received: 12,
            stored: 9,
            rejected: [("wrong_length", 2)].into(),
            requests: [("answered", 1)].into(),
            dropped_socket: None,
            receive_buffer_bytes: 8192,
            ..ServerCounts::default()
        };
        let kept = [None, Some(Kept { arrived_unix_s: 1_795_253_460, from: 7, value: 42, stored: 9 })];
        assert_eq!(
            of_server(&counts, &kept),
            "# TYPE dropline_heartbeat_received counter
# HELP dropline_heartbeat_received Packets read from the socket.
dropline_heartbeat_received_total 12
# TYPE dropline_heartbeat_stored counter
# HELP dropline_heartbeat_stored Heartbeats kept, by variable.
dropline_heartbeat_stored_total{variable=\"1\"} 9
# TYPE dropline_heartbeat_rejected counter
# HELP dropline_heartbeat_rejected Packets dropped, by why.
dropline_heartbeat_rejected_total{why=\"wrong_length\"} 2
# TYPE dropline_heartbeat_requests counter
# HELP dropline_heartbeat_requests Valid requests, by what became of them.
dropline_heartbeat_requests_total{outcome=\"answered\"} 1
# TYPE dropline_heartbeat_receive_errors counter
# HELP dropline_heartbeat_receive_errors Errors of reading the socket.
dropline_heartbeat_receive_errors_total 0
# TYPE dropline_heartbeat_receive_buffer_bytes gauge
# UNIT dropline_heartbeat_receive_buffer_bytes bytes
# HELP dropline_heartbeat_receive_buffer_bytes Receive buffer really reserved.
dropline_heartbeat_receive_buffer_bytes 8192
# TYPE dropline_heartbeat_value gauge
# HELP dropline_heartbeat_value What the last heartbeat of a variable said.
dropline_heartbeat_value{variable=\"1\",from=\"7\"} 42
# TYPE dropline_heartbeat_arrived_seconds gauge
# UNIT dropline_heartbeat_arrived_seconds seconds
# HELP dropline_heartbeat_arrived_seconds When it came, since 1970.
dropline_heartbeat_arrived_seconds{variable=\"1\"} 1795253460
# EOF
"
        );
    }
}
