//! A protocol of one's own: its words, and a capture whose payloads are sent.

use super::text;
use dropline_payload::service::template::{Template, capture};
use dropline_payload::service::{Request, Service};

/// What is accepted can be sent, has the length that it says, and is answered by itself where an echo is.
pub fn check(bytes: &[u8]) {
    if let Ok(capture::Capture { datagrams, .. }) = capture::read(bytes) {
        let payloads: Vec<Vec<u8>> = datagrams.into_iter().map(|datagram| datagram.payload).collect();
        let longest = payloads.iter().map(Vec::len).max().unwrap_or(0);
        if let Ok(mix) = Template::listed(payloads, "any") {
            assert_eq!(Service::Own(mix).longest_request(), longest);
        }
    }
    let words = text(bytes);
    let (payload, reply) = words.split_once('\n').unwrap_or((&words, "any"));
    for (reply, is_echo) in [(reply, false), ("echo", true)] {
        let Ok(template) = Template::read(payload, reply) else { continue };
        let service = Service::Own(template);
        let request = Request::of_one_stream(0x0102_0304_0506_0708);
        let mut sent = Vec::new();
        service.write(request, || 7, &mut sent);
        assert_eq!(sent.len(), service.longest_request());
        let token = service.token(&sent);
        assert!(token.is_none_or(|token| u64::BITS - token.leading_zeros() <= service.token_bits()));
        let judged = service.judge(request, &sent);
        assert!(!is_echo || judged.is_ok() && token.is_some(), "what comes back as it was is an echo");
        assert!(sent.len() <= service.longest_reply() || judged.is_err());
    }
}
