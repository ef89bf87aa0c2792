//! What a service may reply: any bytes at all.

use dropline_payload::service::{Request, Service, dns, latest, memcached, template};

/// A token is one that a request can have, and a request that comes back as it was is not a reply.
pub fn check(bytes: &[u8]) {
    let Some((chosen, reply)) = bytes.split_first() else { return };
    let names = dns::Questions::read("www.example.org A\n. NS\n", dns::Options::default());
    let made = dns::Questions::named("h{0..99}.example.org", "AAAA", dns::Options::default());
    let services = [
        Service::Dns(names.expect("two questions")),
        Service::Dns(made.expect("a pattern")),
        Service::Memcached(memcached::Requests::get("key{0..9}").expect("a key")),
        Service::Memcached(memcached::Requests::set("key", 9).expect("a key")),
        Service::Ntp,
        Service::Stun,
        Service::Stamp,
        Service::Own(
            template::Template::read("hex:c0de{tag:4}", "tag@4,answered@0=81,bytes=6..20")
                .expect("a payload"),
        ),
    ];
    let service = &services[usize::from(*chosen) % services.len()];
    let Some(token) = service.token(reply) else { return };
    let bits = service.token_bits();
    assert!(u64::BITS - token.leading_zeros() <= bits);
    let Some(number) = latest(token, bits, u64::MAX) else { return };
    let request = Request::of_one_stream(number);
    let is_longer = reply.len() > service.longest_reply();
    assert!(!is_longer || service.judge(request, reply).is_err(), "more than may answer");
    let _ = service.origin(reply);
    let mut asked = Vec::new();
    service.write(request, || 0, &mut asked);
    assert!(asked.len() <= service.longest_request());
    assert_eq!(service.token(&asked), None, "a request is not its own reply");
}
