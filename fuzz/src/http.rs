//! What a browser, or somebody else, sends to the page on loopback.

use super::text;
use dropline_aggregator::watch::{Content, page};

const SECRET: &str = "what only loopback may read";

/// Whatever is asked, the answer is one whole answer, and the page leaves for loopback names alone.
pub fn check(bytes: &[u8]) {
    let request = text(bytes);
    let answers = |path: &str| {
        (path == "/").then(|| Content { kind: "text/plain; charset=utf-8", text: SECRET.into() })
    };
    let answer = page::answer(&request, &answers);
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 "));
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
    if body == SECRET {
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"));
        let host =
            request.lines().find(|line| line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case("host:")));
        let host = host.unwrap_or_default().to_ascii_lowercase();
        assert!(["localhost", "127.", "::"].iter().any(|name| host.contains(name)), "{host}");
    }
}
