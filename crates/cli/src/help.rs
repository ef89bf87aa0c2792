//! What help is made of: tables of words, closed sets of values, and lines that clap alone wraps.
//!
//! A paragraph is one line of text here, however long: clap wraps it at the terminal's width. What must not be wrapped,
//! such as a command to copy, is no longer than [`NARROWEST`].

use crate::lines;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, Command};
use std::ffi::OsString;

/// The narrowest terminal that help is made for.
const NARROWEST: usize = 60;

/// Columns in front of a flag's long help.
const INDENT: usize = 10;

/// The heading of what a flag may be.
const VALUES: &str = "Possible values";

/// The widest lines of help: longer ones are hard to read.
pub(crate) const WIDEST: usize = 100;

/// The verbs that somebody needs first.
const FIRST: [&str; 5] = ["search", "trial", "explain", "compare", "serve"];

/// The verbs that have verbs below them.
const WITH_VERBS: [&str; 3] = ["fleet", "heartbeat", "history"];

/// What a bare `dropline` shows below them.
const NEXT: &str = "\
Try it; it needs no network and no root:
  dropline search sim:consistent

All verbs:               dropline --help
One verb with examples:  dropline search --help
What can be measured:    dropline help targets";

/// A space at which no line ends, until it is printed.
const TIE: char = '\u{a0}';

/// The longest end of a paragraph that is kept together.
const TIED: usize = 48;

/// A heading, and each word in a line of its own with what it means below.
pub(crate) fn table<'a>(heading: &str, rows: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let rows = rows.into_iter().map(|(word, about)| format!("\n  {word}\n      {about}"));
    format!("{heading}:{}", rows.collect::<String>())
}

/// The values of a flag that takes one of a closed set, from the set's own table: help shows them, completion knows
/// them, and another word is refused with the nearest one.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = T>,
    word: fn(T) -> &'static str,
    about: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<T> = all.into_iter().collect();
    let values = all.iter().map(|&value| PossibleValue::new(word(value)).help(about(value).to_owned()));
    PossibleValuesParser::new(values.collect::<Vec<_>>())
        .map(move |typed| *all.iter().find(|&&value| word(value) == typed).expect("clap takes these alone"))
}

/// The same command with help that keeps the last two words of a paragraph together, and each default with its word:
/// no line is left with a single word. [`printed`] takes the ties out again.
pub(crate) fn tied(command: Command) -> Command {
    let mut command = command.mut_args(tied_argument).mut_subcommands(tied);
    if let Some(text) = command.get_about().map(ToString::to_string) {
        command = command.about(tie(&text));
    }
    if let Some(text) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(tie(&text));
    }
    if let Some(text) = command.get_after_long_help().map(ToString::to_string) {
        command = command.after_long_help(tie(&text));
    }
    command
}

fn tied_argument(arg: Arg) -> Arg {
    let Some(mut help) = arg.get_help().map(ToString::to_string) else { return arg };
    if !arg.get_action().takes_values() {
        return arg.help(tie(&help));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|word| word.to_string_lossy()).collect();
    if !arg.is_hide_default_value_set() && !defaults.is_empty() {
        help = format!("{help} [default: {}]", defaults.join(" "));
    }
    let help = tie(&help);
    let values = if arg.is_hide_possible_values_set() { Vec::new() } else { arg.get_possible_values() };
    let arg = arg.hide_default_value(true).hide_possible_values(true);
    if values.is_empty() {
        return arg.help(help);
    }
    let rows: Vec<(&str, String)> = values
        .iter()
        .map(|value| (value.get_name(), value.get_help().map(ToString::to_string).unwrap_or_default()))
        .collect();
    let words: Vec<&str> = rows.iter().map(|(word, _)| *word).collect();
    let arg = arg.help(format!("{help} {}", tie(&format!("[possible values: {}]", words.join(", ")))));
    if rows.iter().all(|(_, about)| about.is_empty()) {
        return arg;
    }
    let longest = words.iter().map(|word| word.len()).max().unwrap_or_default();
    let short: Vec<String> =
        rows.iter().map(|(word, about)| format!("\n  {word:longest$}  {about}")).collect();
    let listed = if short.iter().all(|row| row.len() <= NARROWEST - INDENT) {
        format!("{VALUES}:{}", short.concat())
    } else {
        table(VALUES, rows.iter().map(|(word, about)| (*word, about.as_str())))
    };
    arg.long_help(format!("{help}\n\n{}", tie(&listed)))
}

/// Each line with its last two words tied, where they are short.
fn tie(text: &str) -> String {
    let line = |line: &str| {
        let Some((before, last)) = line.rsplit_once(' ').filter(|(before, _)| !before.trim().is_empty())
        else {
            return line.to_owned();
        };
        let beside = before.rsplit(' ').next().unwrap_or(before);
        if beside.chars().count() + last.chars().count() < TIED {
            format!("{before}{TIE}{last}")
        } else {
            line.to_owned()
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The same command with `--help` and `--version` below all its other flags.
pub(crate) fn asked_last(command: Command) -> Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
    let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    let asked = [
        help.help("Print a summary of the help (-h), or all of it (--help)"),
        version.help("Print the version"),
    ];
    let command = command.disable_help_flag(true).disable_version_flag(true);
    command.args(asked.map(|arg| arg.help_heading("Help"))).mut_subcommands(asked_last)
}

/// The list of targets, among the words behind `help`.
const TARGETS: &str = "targets";

/// A list that `help` has beside the verbs: `dropline help targets`.
pub(crate) fn list_of(words: &[OsString], targets: fn() -> String) -> Option<String> {
    let [_, help, topic] = words else { return None };
    (help == "help" && topic == TARGETS).then(|| {
        let mut list = Command::new(TARGETS)
            .help_template("{after-help}")
            .after_help(tie(&targets()))
            .max_term_width(WIDEST);
        let text = printed(&list.render_help().to_string());
        lines::folded(text.trim_start_matches('\n'), crate::output::columns())
    })
}

/// Help as it is printed: without ties, and without the indent of empty lines.
pub(crate) fn printed(help: &str) -> String {
    let lines = help.split('\n').map(|line| if line.trim().is_empty() { "" } else { line });
    lines.collect::<Vec<_>>().join("\n").replace(TIE, " ")
}

/// `dropline help VERB` as what it is short for.
pub(crate) fn asked_for(mut words: Vec<OsString>) -> Vec<OsString> {
    let at = words.iter().take(3).position(|word| word == "help");
    if at == Some(1) || (at == Some(2) && WITH_VERBS.iter().any(|verb| words[1] == *verb)) {
        words.remove(at.unwrap_or_default());
        words.push("--help".into());
    }
    words
}

/// What a bare `dropline` shows: where to begin, and how to see the rest.
pub(crate) fn first(all: &Command) -> String {
    let verbs = FIRST.map(|verb| all.find_subcommand(verb).expect("a verb").clone());
    let mut short = Command::new("dropline")
        .about(all.get_about().cloned().unwrap_or_default())
        .override_usage("dropline VERB …")
        .subcommands(verbs)
        .subcommand_help_heading("Begin with")
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .after_help(NEXT)
        .max_term_width(WIDEST);
    lines::folded(&printed(&short.render_help().to_string()), crate::output::columns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Cli;

    /// Each verb and each verb of a verb, by its words; the program itself is none.
    fn verbs() -> Vec<Vec<String>> {
        fn below(command: &Command, path: &[String], found: &mut Vec<Vec<String>>) {
            found.push(path.to_vec());
            for verb in
                command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
            {
                below(verb, &[path, &[verb.get_name().to_owned()]].concat(), found);
            }
        }
        let mut found = Vec::new();
        below(&Cli::as_typed(), &[], &mut found);
        found
    }

    /// Its help at this width; 0 never wraps.
    fn rendered(verb: &[String], long: bool, width: usize) -> String {
        let mut all = Cli::as_typed().term_width(width);
        all.build();
        let at = verb.iter().fold(&mut all, |at, word| at.find_subcommand_mut(word).expect("a verb"));
        let help = if long { at.render_long_help() } else { at.render_help() };
        printed(&help.to_string())
    }

    /// What is wrong with help at a width: lines that are longer, and lines that a wrap left with one word.
    fn flaws(wrapped: &str, unwrapped: &str, width: usize) -> Vec<String> {
        let mut flaws = Vec::new();
        let whole: Vec<Vec<&str>> = unwrapped.lines().map(|line| line.split_whitespace().collect()).collect();
        let mut left: &[Vec<&str>] = &whole;
        let mut begun = 0;
        for line in wrapped.lines() {
            if line.chars().count() > width {
                flaws.push(format!("longer than {width}: {line}"));
            }
            let words = line.split_whitespace().count();
            let (paragraph, rest) = left.split_first().expect("wrapping adds no words");
            if begun > 0 && words == 1 && begun + words == paragraph.len() {
                flaws.push(format!("one word at {width}: {}", paragraph.join(" ")));
            }
            begun += words;
            if begun >= paragraph.len() {
                (left, begun) = (rest, 0);
            }
        }
        flaws
    }

    /// Lines of text that is wrapped which break a sentence: somebody wrapped them by hand.
    fn broken_by_hand(unwrapped: &str) -> Vec<String> {
        // A sentence's end, an item, a row of two columns.
        let ends = |line: &str| {
            line.ends_with(['.', ':', ']', ')'])
                || line.trim_start().starts_with('-')
                || line.trim_start().contains("  ")
        };
        let lines: Vec<&str> = unwrapped.lines().collect();
        let indent = |line: &str| line.len() - line.trim_start().len();
        let broken = lines.windows(2).filter(|pair| {
            let [line, next] = pair else { unreachable!("windows of two") };
            line.chars().count() > NARROWEST
                && !next.trim().is_empty()
                && indent(line) == indent(next)
                && !ends(line)
        });
        broken.map(|pair| pair[0].to_owned()).collect()
    }

    #[test]
    fn no_line_of_any_help_is_cut_or_left_with_one_word_at_60_80_and_100_columns() {
        let mut wrong = Vec::new();
        for verb in verbs() {
            let name = verb.join(" ");
            let unwrapped = rendered(&verb, true, 0);
            wrong.extend(
                broken_by_hand(&unwrapped).into_iter().map(|line| format!("{name}: by hand: {line}")),
            );
            for width in [NARROWEST, 80, WIDEST] {
                for (long, flag) in [(true, "--help"), (false, "-h")] {
                    let unwrapped = rendered(&verb, long, 0);
                    let found = flaws(&rendered(&verb, long, width), &unwrapped, width);
                    wrong.extend(found.into_iter().map(|flaw| format!("{name} {flag}: {flaw}")));
                }
            }
        }
        assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn a_command_to_copy_is_never_wrapped() {
        let mut long = Vec::new();
        for verb in verbs() {
            let help = rendered(&verb, true, 0);
            let shown = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
            let commands = shown.take_while(|line| line.starts_with("  "));
            let wrapped = commands.filter(|line| line.chars().count() > NARROWEST);
            long.extend(wrapped.map(|line| format!("{}: {line}", verb.join(" "))));
        }
        assert!(long.is_empty(), "longer than {NARROWEST} columns:\n{}", long.join("\n"));
    }

    #[test]
    fn no_line_of_any_help_is_wider_than_its_terminal_but_for_a_word_that_is() {
        for width in [40, 60, 80, 100, 200] {
            for verb in verbs() {
                for long in [false, true] {
                    let shown = lines::folded(&rendered(&verb, long, width.min(WIDEST)), width);
                    for line in shown.lines().filter(|line| line.chars().count() > width) {
                        let words = line.trim_end_matches('\\').split_whitespace().count();
                        assert_eq!(words, 1, "{} at {width}: {line}", verb.join(" "));
                    }
                }
            }
        }
    }

    #[test]
    fn a_line_that_is_cut_or_left_with_one_word_is_found() {
        let whole = "Usage\n\n  one two three four\n";
        assert!(flaws("Usage\n\n  one two\n  three four\n", whole, 12).is_empty());
        assert_eq!(
            flaws("Usage\n\n  one two three\n  four\n", whole, 16),
            ["one word at 16: one two three four"]
        );
        assert_eq!(flaws(whole, whole, 16), ["longer than 16:   one two three four"]);
        let by_hand = format!(
            "{}\nand goes on\n",
            "a line that is longer than any terminal is narrow ".repeat(2).trim()
        );
        assert_eq!(broken_by_hand(&by_hand).len(), 1);
    }

    #[test]
    fn no_help_sends_its_reader_to_a_file_of_the_repository() {
        for verb in verbs() {
            let help = rendered(&verb, true, 0);
            for place in ["docs/", "crates/", ".md"] {
                assert!(!help.contains(place), "{}: {place}", verb.join(" "));
            }
        }
    }

    #[test]
    fn help_says_the_same_as_before() {
        for verb in verbs() {
            let name = if verb.is_empty() { "dropline".into() } else { verb.join("-") };
            let text = format!("{}\n{:=<80}\n{}", rendered(&verb, false, 80), "", rendered(&verb, true, 80));
            insta::assert_snapshot!(format!("help-{name}"), text);
        }
        insta::assert_snapshot!("bare", first(&Cli::as_typed()));
        let words = ["dropline", "help", "targets"].map(OsString::from);
        insta::assert_snapshot!("help-targets", list_of(&words, crate::args::targets).expect("a list"));
    }

    #[test]
    fn help_before_a_verb_is_the_flag_after_it() {
        let words = |typed: &str| typed.split(' ').map(OsString::from).collect::<Vec<_>>();
        for verb in verbs().into_iter().filter(|verb| !verb.is_empty()) {
            let flag = words(&format!("dropline {} --help", verb.join(" ")));
            assert_eq!(asked_for(words(&format!("dropline help {}", verb.join(" ")))), flag);
            if let [first, second] = &verb[..] {
                assert_eq!(asked_for(words(&format!("dropline {first} help {second}"))), flag);
            }
        }
        let target = words("dropline trial udp://help:7");
        assert_eq!(asked_for(target.clone()), target, "no word but `help` alone");
    }

    #[test]
    fn every_flag_has_a_sentence_without_an_end_of_its_own() {
        for verb in verbs() {
            let mut all = Cli::as_typed();
            all.build();
            let at = verb.iter().fold(&mut all, |at, word| at.find_subcommand_mut(word).expect("a verb"));
            for arg in at.get_arguments() {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty(), "{verb:?} {}: nothing is said of it", arg.get_id());
                let long = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
                assert!(
                    !help.contains('\n')
                        && (long.is_empty() || long == help || long.contains("\n\nPossible"))
                        || arg.get_id() == "help",
                    "{verb:?} {}: one sentence",
                    arg.get_id()
                );
            }
        }
    }
}
