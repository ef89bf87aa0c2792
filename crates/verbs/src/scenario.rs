//! A scenario file (TOML) as flags: its keys are the names of the flags.

mod payload;

use dropline_archive::reading;
use dropline_failure::{Failure, nearest};
use dropline_targets::Target;
use dropline_trial::Arrival;
use std::ops::Range;
use std::path::{Component, Path};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a key of a scenario may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name: that of the flag without dashes before it, or of the place.
    pub name: String,
    /// How it is typed.
    pub kind: Kind,
    /// Whether it may stand more than once; a list of any other is one word, with commas.
    pub repeats: bool,
    /// Whether it was typed on the command line, which wins.
    pub typed: bool,
}

/// How a flag is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `--name=word`.
    Named,
    /// `--name=word`, a file.
    File,
    /// `--name`, or nothing.
    Switch,
    /// The word alone.
    Positional,
}

/// The flags that a scenario adds to what was typed; what was typed wins.
///
/// # Errors
/// If the file cannot be read, is no TOML, has an unknown key or a value of the wrong kind: with its line.
pub fn flags(path: &Path, known: &[Flag]) -> Result<Vec<String>, Failure> {
    let text = reading::text(path, reading::MOST_SETTINGS).map_err(|why| why.of(path))?;
    flags_of(&text, path, known)
}

/// The same of a text; `path` is what errors call it.
///
/// # Errors
/// As [`flags`].
pub fn flags_of(text: &str, path: &Path, known: &[Flag]) -> Result<Vec<String>, Failure> {
    let file = File { path, text };
    let table = DeTable::parse(text).map_err(|why| file.wrong(why.span(), why.message()))?;
    let mut flags = Vec::new();
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        let Some(flag) = known.iter().find(|flag| flag.name == name) else {
            let names: Vec<&str> = known.iter().map(|flag| flag.name.as_str()).collect();
            return Err(
                file.wrong(Some(key.span()), &format!("unknown key {name:?}{}", nearest(name, &names)))
            );
        };
        if flag.typed {
            continue;
        }
        if flag.kind == Kind::Switch {
            match value.get_ref() {
                DeValue::Boolean(true) => flags.push(format!("--{name}")),
                DeValue::Boolean(false) => {}
                _ => return Err(file.wrong(Some(value.span()), &format!("{name:?} is true or false"))),
            }
            continue;
        }
        let words = match name {
            "payload" => vec![file.payload(value)?],
            "reply" => vec![file.reply(value)?],
            _ => file.words(flag, value)?,
        };
        for word in words {
            if name == "join" {
                let what = format!("a scenario connects to no server of agents: {word:?}");
                return Err(file.wrong(Some(value.span()), &what).advice(
                    "it may come from elsewhere. To meet agents there, type --join on the command line",
                ));
            }
            if name == "background"
                || (name == "target" && starts_a_program(&word))
                || starts_agents(name, &word)
            {
                return Err(file
                    .wrong(Some(value.span()), &format!("a scenario starts no program: {word:?}"))
                    .advice(format!(
                        "it may come from elsewhere. To run that program, type {} on the command line",
                        typed(flag)
                    )));
            }
            if name == "target"
                && let Some(host) = host_to_ask_for(&word)
            {
                let what = format!("a scenario asks the network for no name: {host:?} of {word:?}");
                return Err(file.wrong(Some(value.span()), &what).advice(
                    "it may come from elsewhere. Write the host's address, or type the target on the command line",
                ));
            }
            if let Some(outside) = files(flag, &word).iter().find(|name| !is_of_here(name)) {
                let what = format!(
                    "a scenario names files of the directory in which it is used alone, and no hidden ones: {outside:?}"
                );
                return Err(file.wrong(Some(value.span()), &what).advice(format!(
                    "it may come from elsewhere. If that file is meant, type {} on the command line",
                    typed(flag)
                )));
            }
            flags.push(if flag.kind == Kind::Positional { word } else { format!("--{name}={word}") });
        }
    }
    Ok(flags)
}

/// A flag as it is typed.
fn typed(flag: &Flag) -> String {
    if flag.kind == Kind::Positional { flag.name.clone() } else { format!("--{}", flag.name) }
}

/// Agents of this machine are programs, and their server is another.
fn starts_agents(name: &str, word: &str) -> bool {
    name == "on" && word.split(',').any(|part| part.trim_start().starts_with("local:"))
}

/// The files that a value names.
fn files(flag: &Flag, word: &str) -> Vec<String> {
    match (flag.kind, flag.name.as_str()) {
        (Kind::File, _) => vec![word.to_owned()],
        (_, "payload") if !dropline_targets::is_words(word) => vec![word.to_owned()],
        (_, "arrival") => {
            let mut named = Vec::new();
            // Whether it is a process at all is said by whoever makes it.
            let _ = Arrival::parse(word, &mut |name| {
                named.push(name.to_owned());
                Ok(vec![0, 1])
            });
            named
        }
        (_, "target") => {
            let target = Target::parse(word).ok();
            target.iter().filter_map(Target::file).map(|path| path.to_string_lossy().into_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a file's name leads down from the current directory, no link on its way leads out of that, and no part of it is
/// hidden: programs read such files by themselves, shells among them.
fn is_of_here(name: &str) -> bool {
    // A store is elsewhere, whatever its address looks like.
    let is_file = !name.contains("://");
    let is_down = is_file
        && Path::new(name).components().all(|part| match part {
            Component::Normal(part) => !part.as_encoded_bytes().starts_with(b"."),
            part => part == Component::CurDir,
        });
    is_down && reading::lies_in(Path::new("."), Path::new(name))
}

fn host_to_ask_for(target: &str) -> Option<String> {
    Target::parse(target).ok()?.name_to_ask_for().map(str::to_owned)
}

fn starts_a_program(target: &str) -> bool {
    Target::parse(target).is_ok_and(|target| target.starts_a_program())
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    /// The values of a key, as they would be typed.
    fn words(&self, flag: &Flag, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Failure> {
        let key = flag.name.as_str();
        match value.get_ref() {
            DeValue::Array(items) => {
                let words: Vec<String> =
                    items.iter().map(|item| self.word(key, item)).collect::<Result<_, _>>()?;
                Ok(if flag.repeats || words.is_empty() { words } else { vec![words.join(",")] })
            }
            _ => Ok(vec![self.word(key, value)?]),
        }
    }

    /// One value: a word, a number, or a table of attributes (`loss-ratio` stands first in a goal).
    fn word(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(flag) => Ok(flag.to_string()),
            DeValue::Table(table) => {
                let mut first = None;
                let mut rest = Vec::new();
                for (name, value) in table {
                    let word = self.word(key, value)?;
                    match name.get_ref().as_ref() {
                        "loss-ratio" => first = Some(word),
                        name => rest.push(format!("{name}={word}")),
                    }
                }
                Ok(first.into_iter().chain(rest).collect::<Vec<_>>().join(","))
            }
            DeValue::Array(_) | DeValue::Datetime(_) => {
                Err(self.wrong(Some(value.span()), &format!("{key:?} takes words, numbers or a table")))
            }
        }
    }

    /// A usage error that shows the line.
    fn wrong(&self, span: Option<Range<usize>>, what: &str) -> Failure {
        let at = span.map_or(0, |span| span.start).min(self.text.len());
        let number = self.text[..at].matches('\n').count();
        let line = self.text.lines().nth(number).unwrap_or_default();
        let path = self.path.display();
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let column = self.text[start..at].chars().count() + 1;
        Failure::usage(format!("{path}:{}:{column}: {what}\n  {} | {line}", number + 1, number + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, typed: &[&str]) -> Result<Vec<String>, Failure> {
        let named = [
            "seed", "min-load", "arrival", "budget", "frame", "streams", "goal", "payload", "reply", "on",
            "join",
        ];
        let kinds = named.map(|name| (name, Kind::Named)).into_iter();
        let kinds = kinds.chain([("json", Kind::Switch), ("target", Kind::Positional), ("html", Kind::File)]);
        let flag = |(name, kind): (&str, Kind)| Flag {
            name: name.into(),
            kind,
            repeats: name == "goal",
            typed: typed.contains(&name),
        };
        flags_of(text, Path::new("scenario.toml"), &kinds.map(flag).collect::<Vec<_>>())
    }

    #[test]
    fn keys_are_flags() {
        let text = "target = 'sim:hard'\nseed = 3\nmin-load = '1kpps'\nframe = ['64B', '512B']\n\
                    [streams]\nvoice = 1\nbulk = 3\n[[goal]]\nloss-ratio = '0'\n[[goal]]\nwidth = '1%'\nloss-ratio = '0.5%'\n";
        let mut flags = read(text, &[]).unwrap();
        flags.sort();
        let expected = [
            "--frame=64B,512B",
            "--goal=0",
            "--goal=0.5%,width=1%",
            "--min-load=1kpps",
            "--seed=3",
            "--streams=bulk=3,voice=1",
            "sim:hard",
        ];
        let mut sorted_streams = flags.clone();
        for flag in &mut sorted_streams {
            if let Some(streams) = flag.strip_prefix("--streams=") {
                let mut parts: Vec<&str> = streams.split(',').collect();
                parts.sort_unstable();
                *flag = format!("--streams={}", parts.join(","));
            }
        }
        assert_eq!(sorted_streams, expected);
    }

    #[test]
    fn a_payload_and_its_replies_are_described_field_by_field() {
        let text = "[payload]\nfields = [ { hex = 'c0 de' }, { text = 'é' }, { tag = 4 }, { counter = '8d' }, { checksum = 'crc32' } ]\n\
                    [reply]\ntag = 2\nrefused = { at = 0, hex = '05' }\nbytes = '6..20'\n";
        let mut flags = read(text, &[]).unwrap();
        flags.sort();
        let reply = flags.pop().unwrap();
        assert_eq!(flags, ["--payload=hex:c0 dec3a9{tag:4}{counter:8d}{checksum:crc32}"]);
        let mut said: Vec<&str> = reply.trim_start_matches("--reply=").split(',').collect();
        said.sort_unstable();
        assert_eq!(said, ["bytes=6..20", "refused@0=05", "tag@2"]);
        assert_eq!(read("payload = 'hex:00'\n", &[]).unwrap(), ["--payload=hex:00"]);
        for (text, place, said) in [
            ("[payload]\nfields = [ { hex = 'c0' }, { tig = 4 } ]\n", ":2:30:", "did you mean \"tag\"?"),
            ("[payload]\nfields = [ { hex = 'c0d' } ]\n", ":2:20:", "in pairs"),
            ("[payload]\nfields = [\n  { tag = 9 },\n]\n", ":3:11:", "1 to 8 bytes"),
            ("[payload]\nfields = [ 'c0' ]\n", ":2:12:", "a table of one"),
            ("[payload]\nfeilds = [ ]\n", ":2:1:", "did you mean \"fields\"?"),
            ("[reply]\nrefused = '05'\n", ":2:11:", "refused = { at = 0"),
            ("[reply]\nmatch = 'echo'\ntag = 2\n", ":2:1:", "leave one of them out"),
            ("[reply]\nmatch = 'none'\nbytes = '4'\n", ":3:1:", "nothing comes back"),
            ("[reply]\nrefusd = 1\n", ":2:1:", "did you mean \"refused\"?"),
            ("payload = '/etc/shadow'\n", ":1:11:", "files of the directory"),
            ("[payload]\nfile = '../secret'\n", ":1:1:", "files of the directory"),
        ] {
            let why = read(text, &[]).unwrap_err().to_string();
            assert!(why.contains(place) && why.contains(said), "{text:?}: {why}");
        }
    }

    #[test]
    fn what_was_typed_wins() {
        assert_eq!(read("target = 'sim:hard'\nseed = 3\n", &["target", "seed"]).unwrap(), [""; 0]);
    }

    #[test]
    fn a_scenario_starts_no_program() {
        for target in [
            "exec:touch made",
            "flowgraph:exec:touch made",
            "flowgraph:gnuradio",
            "flowgraph:futuresdr?pipes=2",
        ] {
            let text = &format!("seed = 1\ntarget = '{target}'\n");
            let error = read(text, &[]).unwrap_err();
            assert!(
                error.to_string().contains("scenario.toml:2:10: a scenario starts no program"),
                "{error}"
            );
            assert_eq!(read(text, &["target"]).unwrap(), ["--seed=1"], "typed, it may");
        }
        assert_eq!(read("on = ['west=2', 'east']\n", &[]).unwrap(), ["--on=west=2,east"]);
        let error = read("on = ['east', 'local:2']\n", &[]).unwrap_err().to_string();
        assert!(error.contains("a scenario starts no program"), "{error}");
        let error = read("on = 'local:2'\n", &[]).unwrap_err().to_string();
        assert!(error.contains("scenario.toml:1:6: a scenario starts no program"), "{error}");
        assert_eq!(read("on = 'west=2,east'\n", &[]).unwrap(), ["--on=west=2,east"]);
    }

    #[test]
    fn a_scenario_connects_to_no_server_of_agents() {
        for server in ["tls://host.invalid", "nats://127.0.0.1"] {
            let error = read(&format!("join = '{server}'\n"), &[]).unwrap_err().to_string();
            assert!(error.contains("scenario.toml:1:8: a scenario connects to no server"), "{error}");
            assert_eq!(read(&format!("join = '{server}'\n"), &["join"]).unwrap(), [""; 0], "typed, it may");
        }
    }

    #[test]
    fn a_scenario_asks_the_network_for_no_name() {
        for target in ["udp://host.invalid:7", "heartbeat://host.invalid:7"] {
            let text = &format!("seed = 1\ntarget = '{target}'\n");
            let error = read(text, &[]).unwrap_err();
            assert!(
                error.to_string().contains("scenario.toml:2:10: a scenario asks the network for no name"),
                "{error}"
            );
            assert_eq!(read(text, &["target"]).unwrap(), ["--seed=1"], "typed, it may");
        }
        for target in ["udp://localhost:7", "udp://[::1]:7", "udp://127.0.0.1:7"] {
            assert!(read(&format!("target = '{target}'\n"), &[]).is_ok(), "{target}");
        }
    }

    #[test]
    fn a_scenario_names_no_file_outside_of_the_directory_in_which_it_is_used() {
        for name in [
            "/home/me/.bashrc",
            ".bash_aliases",
            "pages/.x/page.html",
            "../page.html",
            "pages/../../page.html",
        ] {
            let error = read(&format!("seed = 1\nhtml = '{name}'\n"), &[]).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("scenario.toml:2:8: a scenario names files of the directory"), "{text}");
            assert_eq!(read(&format!("html = '{name}'\n"), &["html"]).unwrap(), [""; 0], "typed, it may");
        }
        for name in ["page.html", "./pages/page.html", "page..html", "-"] {
            assert_eq!(read(&format!("html = '{name}'\n"), &[]).unwrap(), [format!("--html={name}")]);
        }
    }

    #[test]
    fn a_recording_that_a_scenario_names_is_of_the_directory_in_which_it_is_used() {
        for value in [
            "arrival = 'replay:/etc/shadow'",
            "arrival = 'poisson+2*replay:../seen.ns'",
            "target = 'replay:/home/me/other.jsonl'",
            "target = 'flowgraph:ctf:/home/me/trace'",
        ] {
            let error = read(&format!("seed = 1\n{value}\n"), &[]).unwrap_err().to_string();
            assert!(error.contains("scenario.toml:2:"), "{error}");
            assert!(error.contains("a scenario names files of the directory"), "{error}");
        }
        assert_eq!(read("arrival = 'replay:seen.ns'\n", &[]).unwrap(), ["--arrival=replay:seen.ns"]);
        assert_eq!(read("target = 'replay:seen.jsonl'\n", &[]).unwrap(), ["replay:seen.jsonl"]);
    }

    #[test]
    fn an_unknown_key_shows_its_line_and_the_nearest_right_one() {
        let error = read("target = 'sim:hard'\narrivl = 'poisson'\n", &[]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains("scenario.toml:2:") && text.contains("did you mean \"arrival\"?"), "{text}");
        assert!(text.contains("2 | arrivl = 'poisson'"), "{text}");
        let error = read("target = \n", &[]).unwrap_err();
        assert!(error.to_string().contains("scenario.toml:1:"), "{error}");
    }

    #[test]
    fn a_switch_is_true_or_false_and_nothing_else() {
        assert_eq!(read("json = true\n", &[]).unwrap(), ["--json"]);
        assert_eq!(read("json = false\n", &[]).unwrap(), [""; 0]);
        for other in ["'true'", "1", "[true]"] {
            let error = read(&format!("json = {other}\n"), &[]).unwrap_err().to_string();
            assert!(error.contains("scenario.toml:1:") && error.contains("true or false"), "{error}");
        }
    }

    /// A value as it stands in the file, and as it would be typed.
    fn value() -> impl Strategy<Value = (String, String)> {
        let number = (-1_000_000_i64..1_000_000).prop_map(|number| (number.to_string(), number.to_string()));
        let word = "[a-z0-9.:%?=,µ-]{0,12}".prop_map(|word| (format!("'{word}'"), word));
        prop_oneof![number, word]
    }

    proptest! {
        /// The twin: what stands in the file is what would be typed.
        #[test]
        fn any_value_of_a_key_is_the_flag_that_would_be_typed(
            key in prop::sample::select(vec!["seed", "min-load", "arrival", "budget"]),
            (written, typed) in value(),
        ) {
            prop_assert_eq!(read(&format!("{key} = {written}\n"), &[]).unwrap(), [format!("--{key}={typed}")]);
        }

        /// Errors have a line that the file has, whatever the file is.
        #[test]
        fn any_text_is_flags_or_an_error_with_a_line(
            lines in prop::collection::vec(
                "(target|seed|json|goal|\\[streams\\]|\\[\\[goal\\]\\]|[a-z-]{0,6}|\\PC{0,6}) ?(=|) ?('|\"|\\[|\\{|)\\PC{0,10}('|\"|\\]|\\}|)",
                0..6,
            ),
        ) {
            let text = lines.join("\n");
            if let Err(error) = read(&text, &[]) {
                let error = error.to_string();
                let line = error.split("scenario.toml:").nth(1).and_then(|rest| rest.split(':').next());
                let line: usize = line.unwrap().parse().unwrap();
                prop_assert!((1..=lines.len().max(1) + 1).contains(&line), "{}", error);
            }
        }
    }
}
