//! The kinds of target, by the word that begins them: the one table that parsing, errors and help are made from.

use super::{
    Kind, Scheme, exec, flowgraph, given, heartbeat, http, jack, link, replay, service, simulated, udp,
    wakeup,
};
use crate::parameters::Parameter;
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

/// The sets whose tables are made from the code, by what a target of theirs begins with.
pub static PARAMETERS: [(&str, &[Parameter]); 3] = [
    (wakeup::SCHEME.prefix, &wakeup::PARAMETERS),
    (jack::SCHEME.prefix, &jack::PARAMETERS),
    ("flowgraph:futuresdr", &flowgraph::graph::PARAMETERS),
];

/// The other sets, by the page whose table each name stands in.
pub static IN_TABLES: [(&str, &[&str]); 5] = [
    ("docs/how-to/device-between-ports.md", &link::NAMES),
    ("docs/how-to/dns-server.md", &service::OF_DNS),
    ("docs/how-to/dns-server.md", &service::OF_MEMCACHED),
    ("docs/how-to/trace-a-pipeline.md", &flowgraph::settings::PROGRAM),
    ("docs/how-to/trace-a-pipeline.md", &flowgraph::settings::TRACE),
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
    use crate::Target;

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
    fn each_parameter_that_a_target_takes_stands_in_one_of_its_forms() {
        for kind in &KINDS {
            let forms: Vec<&str> = kind.forms.iter().flat_map(|(form, about)| [*form, about]).collect();
            let is_part = |sign: char| sign.is_ascii_lowercase() || sign == '-';
            let said = forms.iter().flat_map(|text| text.split(|sign| !is_part(sign)));
            let said: Vec<&str> = said.collect();
            let mut taken = None;
            for (form, _) in kind.forms {
                let named = form.replace("HOST:PORT", "127.0.0.1:7007").replace("NAME", "consistent");
                let first = named.replacen('?', "?no-such=1&", 1);
                for word in [first, format!("{named}?no-such=1"), format!("{named}#no-such=1")] {
                    let Err(why) = parse(&word) else { continue };
                    let why = why.to_string();
                    let Some((_, names)) = why.split_once(" has no parameter \"no-such\"; it has ") else {
                        continue;
                    };
                    let names = names.split(", ").filter(|name| *name != "none");
                    let left: Vec<&str> = names.filter(|name| !said.contains(name)).collect();
                    assert!(left.is_empty(), "{form}: {left:?} stand in none of {forms:?}");
                    taken = Some(());
                }
            }
            // What follows is all of a command, a file, an address or a name.
            let takes_none = ["exec:", "replay:", "heartbeat://", "measurer:"].contains(&kind.prefix);
            assert_ne!(takes_none, taken.is_some(), "{}", kind.prefix);
        }
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

    #[test]
    fn the_default_that_a_table_states_is_what_the_target_has_without_it() {
        for (prefix, set) in PARAMETERS {
            let plain = Target::parse(prefix).unwrap().kind;
            for Parameter { name, default, .. } in set.iter().filter(|one| !one.default.is_empty()) {
                let said = Target::parse(&format!("{prefix}?{name}={default}")).unwrap().kind;
                assert_eq!(said, plain, "{prefix}?{name}={default}");
            }
        }
    }

    #[test]
    fn every_parameter_of_a_table_is_taken_and_an_error_names_all_of_them() {
        for (prefix, set) in PARAMETERS {
            let unknown = Target::parse(&format!("{prefix}?nothing=1")).unwrap_err().to_string();
            for Parameter { name, .. } in set {
                let wrong = Target::parse(&format!("{prefix}?{name}="))
                    .map_or_else(|why| why.to_string(), |_| String::new());
                assert!(!wrong.contains("has no parameter"), "{wrong}");
                assert!(unknown.contains(name), "{unknown}");
            }
        }
    }
}
