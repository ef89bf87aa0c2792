//! What a browser, or somebody else, sends to the pages on loopback.

use super::text;
use dropline_http::{Content, Gate, Request, answer};

const SECRET: &str = "what only loopback may read";
const TOKEN: &str = "2f0c7d1e90ab4c55b8d1a3476e02fb19";

/// Whatever is asked, the answer is one whole answer; the page leaves for loopback names alone, and where there is a token for
/// who knows it.
pub fn check(bytes: &[u8]) {
    let request = text(bytes);
    let answers =
        |asked: &Request| (asked.path == "/").then(|| Content::of("text/plain; charset=utf-8", SECRET));
    for gate in [Gate::Machine, Gate::Token(TOKEN.into())] {
        let answer = answer(&request, &gate, &answers);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 "));
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
        let knows = request.starts_with(&format!("GET {}", gate.root()));
        if body == SECRET {
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && knows, "{request}");
            let is_host = |line: &&str| line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case("host:"));
            let host = request.lines().find(is_host).unwrap_or_default().to_ascii_lowercase();
            assert!(["localhost", "127.", "::"].iter().any(|name| host.contains(name)), "{host}");
        }
        let has_token = request.split(' ').nth(1).is_some_and(|path| path.starts_with(&gate.root()));
        assert!(
            has_token || gate == Gate::Machine || (head.starts_with("HTTP/1.1 403 ") && body.is_empty()),
            "{head}"
        );
    }
}
