//! A scenario file, which may come from elsewhere.

use super::text;
use dropline_targets::Target;
use dropline_verbs::scenario::{Flag, Kind, flags_of};
use std::path::Path;

/// What a scenario says becomes flags that it may set and a target that starts no program; else the error has a line.
pub fn check(bytes: &[u8]) {
    let text = &*text(bytes);
    let named = ["seed", "min-load", "goal", "frame", "streams", "delay-at", "background"];
    let kinds = named.map(|name| (name, Kind::Named)).into_iter();
    let kinds = kinds.chain([("json", Kind::Switch), ("target", Kind::Positional), ("html", Kind::File)]);
    let known: Vec<Flag> = kinds
        .map(|(name, kind)| Flag { name: name.into(), kind, repeats: name == "goal", typed: name == "seed" })
        .collect();
    match flags_of(text, Path::new("scenario.toml"), &known) {
        Ok(flags) => {
            for flag in flags {
                let Some(typed) = flag.strip_prefix("--") else {
                    assert!(!Target::parse(&flag).is_ok_and(|target| target.starts_a_program()), "{flag}");
                    continue;
                };
                let name = typed.split('=').next().unwrap_or_default();
                // A target may begin with dashes too; it is none then.
                let is_known =
                    known.iter().any(|flag| flag.name == name && !flag.typed && name != "background");
                assert!(is_known || Target::parse(&flag).is_err(), "{flag}");
            }
        }
        Err(why) => {
            assert_eq!(why.exit_code(), 2);
            let said = why.to_string();
            let line = said.strip_prefix("scenario.toml:").and_then(|rest| rest.split(':').next());
            let line: usize = line.and_then(|line| line.parse().ok()).expect("a line");
            assert!((1..=text.matches('\n').count() + 1).contains(&line), "{said}");
        }
    }
}
