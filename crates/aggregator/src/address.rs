//! `HOST:PORT` as people write it.

use std::net::Ipv6Addr;

/// The host without brackets and the port of `127.0.0.1:9060`, `[::1]:9060` or `host.example:9060`; `None` of any other
/// word. No name is asked for.
pub fn host_and_port(word: &str) -> Option<(&str, u16)> {
    let (host, port) = word.rsplit_once(':')?;
    // A port is digits alone; a number may have a sign.
    let port = Some(port).filter(|port| port.bytes().all(|digit| digit.is_ascii_digit()))?;
    let port = port.parse().ok().filter(|&port| port > 0)?;
    let is_name = |host: &str| {
        !host.is_empty()
            && !host
                .contains(|sign: char| sign.is_whitespace() || sign.is_control() || "[]/:?#@".contains(sign))
    };
    let is_ipv6 = |host: &str| {
        let (address, zone) = host.split_once('%').unzip();
        address.unwrap_or(host).parse::<Ipv6Addr>().is_ok() && zone.is_none_or(is_name)
    };
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').filter(|host| is_ipv6(host))?,
        None => host,
    };
    (is_ipv6(host) || is_name(host)).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_its_port_are_read_and_what_is_neither_is_refused_before_any_name_is_asked_for() {
        assert_eq!(host_and_port("127.0.0.1:7"), Some(("127.0.0.1", 7)));
        assert_eq!(host_and_port("[fe80::1%eth0]:65535"), Some(("fe80::1%eth0", 65_535)));
        assert_eq!(host_and_port("::1:7"), Some(("::1", 7)));
        assert_eq!(host_and_port("a-host.example:7"), Some(("a-host.example", 7)));
        for wrong in [
            "",
            ":7",
            "host",
            "host:",
            "host:0",
            "host:65536",
            "host:+7",
            "host:-7",
            "[]:7",
            "[[::1]]:7",
            "[::1:7",
            "::1]:7",
            "[host]:7",
            "[fe80::1%]:7",
            "[fe80::1%eth0]:7x]:7",
            "fe80::1%eth 0:7",
            "a b:7",
            "a:b:7",
            "udp://host:7",
            "host/7:7",
            "a\n:7",
            "me@host:7",
        ] {
            assert_eq!(host_and_port(wrong), None, "{wrong:?}");
        }
    }
}
