//! The keys of `lost_at`, as a person reads them.

use dropline_account::{Place, Site};
use dropline_trial::direction::host_and_place;

/// `receive buffer`, `receive buffer at target`, `between router and target`; on the way back with `return` before it.
pub fn place_words(key: &str) -> String {
    let (host, place) = host_and_place(key);
    let words = place.replace('_', " ");
    match host.map(|host| host.split_once("..").ok_or(host)) {
        None => words,
        Some(Ok((from, to))) => format!("{words} {from} and {to}"),
        Some(Err(host)) => format!("{words} at {host}"),
    }
}

/// The hosts that packets passed, in their order, with what each lost and what was lost before it, on either way; `None` where
/// nobody observed any.
pub fn path_words<'a>(
    lost_at: impl Iterator<Item = (&'a str, u64)>,
    count: impl Fn(u64) -> String,
) -> Option<String> {
    let places: Vec<(&str, &str, u64)> =
        lost_at.filter_map(|(key, packets)| host_and_place(key).0.map(|host| (host, key, packets))).collect();
    let links = places.iter().filter(|(_, key, _)| Site::of_key(key) == Some(Site::out(Place::Between)));
    let links: Vec<((&str, &str), u64)> =
        links.filter_map(|(host, _, packets)| Some((host.split_once("..")?, *packets))).collect();
    let is_first = |((from, _), _): &&((&str, &str), u64)| links.iter().all(|((_, to), _)| to != from);
    let mut next = links.iter().find(is_first).map(|((from, _), _)| *from)?;
    let at = |host: &str| {
        let here = places.iter().filter(|(at, _, packets)| *at == host && *packets > 0);
        let lost: Vec<String> = here
            .map(|(_, key, packets)| {
                let place = host_and_place(key).1.replace('_', " ");
                format!("{place} {}", count(*packets))
            })
            .collect();
        if lost.is_empty() { host.to_owned() } else { format!("{host} (lost {})", lost.join(", ")) }
    };
    let mut words = at(next);
    // A host is passed once.
    for _ in 0..links.len() {
        let Some(((from, to), lost)) = links.iter().find(|((from, _), _)| *from == next) else { break };
        let back = format!("{to}..{from}");
        let back =
            places.iter().filter(|(host, ..)| *host == back).map(|(_, _, packets)| packets).sum::<u64>();
        let between = match (*lost, back) {
            (0, 0) => " \u{2192} ".to_owned(),
            (out, 0) => format!(" \u{2192} (lost between them {}) ", count(out)),
            (0, back) => format!(" \u{2192} (lost between them on the path back {}) ", count(back)),
            (out, back) => {
                format!(" \u{2192} (lost between them {}, on the path back {}) ", count(out), count(back))
            }
        };
        words += &between;
        words += &at(to);
        next = to;
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_hosts_and_places_and_the_way_in_its_order() {
        for (key, words) in [
            ("receive_buffer", "receive buffer"),
            ("my_host/return_receive_buffer", "return receive buffer at my_host"),
            ("router..target/between", "between router and target"),
            ("target..router/return_between", "return between target and router"),
        ] {
            assert_eq!(place_words(key), words);
        }
        let lost_at = [
            ("a_target/receive_buffer", 60),
            ("router..a_target/between", 40),
            ("a_target..router/return_between", 3),
            ("router/netfilter", 100),
            ("unexplained", 0),
            ("west..router/between", 0),
        ];
        let words = path_words(lost_at.into_iter(), |packets| packets.to_string()).unwrap();
        assert_eq!(
            words,
            "west \u{2192} router (lost netfilter 100) \u{2192} (lost between them 40, on the path back 3) a_target (lost receive \
             buffer 60)"
        );
        assert_eq!(path_words([("receive_buffer", 1)].into_iter(), |_| String::new()), None);
    }
}
