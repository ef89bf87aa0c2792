//! What is asked of a DNS server: a file of questions, or a pattern of names.

use super::text;
use dropline_payload::service::{ReplyMeaning, Request, Service, dns};

/// What is accepted can be asked, and is answered by a reply that repeats it.
pub fn check(bytes: &[u8]) {
    let text = text(bytes);
    let options = dns::Options { edns: Some(1232), ..dns::Options::default() };
    let read = dns::Questions::read(&text, options).ok();
    let made = dns::Questions::named(&text, "A", options).ok();
    for service in read.into_iter().chain(made).map(Service::Dns) {
        for number in [0, 1, 65_537, u64::MAX] {
            let request = Request::of_one_stream(number);
            let mut reply = Vec::new();
            service.write(request, || 0, &mut reply);
            assert!(reply.len() <= service.longest_request());
            reply[2] |= 0x80;
            assert_eq!(service.token(&reply), Some(number & 0xffff));
            assert_eq!(service.judge(request, &reply), Ok(ReplyMeaning::Class(0)));
        }
    }
}
