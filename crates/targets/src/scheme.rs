//! The kinds of target, by the word that begins them: the one table that parsing, errors and help are made from.

use super::{
    Kind, Scheme, exec, flowgraph, given, heartbeat, http, jack, link, replay, service, simulated, udp,
    wakeup,
};
use dropline_failure::Failure;

/// Every kind, in the order of the help. A new one is a file beside this and a line here.
pub static KINDS: [Scheme; 16] = [
    udp::SCHEME,
    service::DNS,
    service::MEMCACHED,
    service::NTP,
    service::STUN,
    service::STAMP,
    http::SCHEME,
    link::SCHEME,
    simulated::SCHEME,
    heartbeat::SCHEME,
    wakeup::SCHEME,
    jack::SCHEME,
    flowgraph::kind::SCHEME,
    exec::SCHEME,
    replay::SCHEME,
    given::SCHEME,
];

/// Reads a word.
pub(crate) fn parse(word: &str) -> Result<Kind, Failure> {
    if let Some((kind, rest)) = KINDS.iter().find_map(|kind| Some((kind, word.strip_prefix(kind.prefix)?))) {
        return (kind.parse)(rest);
    }
    let plainest: Vec<&str> = KINDS.iter().filter_map(|kind| Some(kind.forms.first()?.0)).collect();
    let plainest = plainest.join(", ");
    Err(if word.is_empty() {
        Failure::usage("no target is named")
            .advice(format!("give a TARGET, or a scenario its target = \"…\": {plainest}"))
    } else {
        Failure::usage(format!("{word:?} is not a target"))
            .advice(format!("a target is one of {plainest}; try sim:consistent"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_knows_what_follows_from_each_kind() {
        let known = dropline_record::TARGET_KINDS.map(|kind| kind.prefix);
        for kind in &KINDS {
            assert!(
                known.contains(&kind.prefix),
                "{} has no line in crates/record/src/target_kind.rs",
                kind.prefix
            );
        }
        assert_eq!(known.len(), KINDS.len());
    }

    #[test]
    fn each_form_of_a_target_is_one_of_its_kind() {
        for kind in &KINDS {
            for (form, about) in kind.forms {
                assert!(form.starts_with(kind.prefix) && !about.is_empty(), "{form}");
                let named = form.replace("HOST:PORT", "127.0.0.1:7007").replace("NAME", "consistent");
                assert!(parse(&named).is_ok(), "{form} is read as {:?}", parse(&named));
            }
        }
    }
}
