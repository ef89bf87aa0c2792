//! The command line as a whole: its verbs, and how its words are taken.

use crate::args::SearchArgs;
use crate::help;
use crate::verbs::Verb;
use clap::Parser;

/// Finds the load above which packets drop, and says how sure that is.
#[derive(Debug, Parser)]
#[command(name = "dropline", version, max_term_width = help::WIDEST, propagate_version = true)]
#[command(disable_help_subcommand = true, subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
#[command(after_help = "\
Try it, no network and no root needed:
  dropline search sim:consistent

Measure a service of your own:
  dropline serve --service-time 20us &
  dropline search udp://127.0.0.1:7007

Exit codes:
  0    success
  1    a condition of --fail-if or --require, or something got worse
  2    wrong arguments
  3    measured, but not valid: the caveats say why
  4    could not run: it was refused, or something here prevents it
  130  interrupted: what was measured is kept")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// `--frame` of `search`.
const FRAMES: &str = "Size of the Ethernet frame with its checksum, instead of --packet; several, such as 64B,512B, make one \
                      search for each, and -o r.jsonl keeps r-1.jsonl, r-2.jsonl";

/// `--verbose` of what shows a search.
const WITH_GOALS: &str =
    "Also say how it was measured: traffic, generator, waits, and the goals with all their attributes";

/// `--verbose` of `explain`.
const ALL_DOUBTS: &str = "Also show the caveats that change no answer";

/// `--verbose` of `watch`.
const HOW_SEEN: &str = "Also say how the packets were seen";

/// `--arrival` of `trial`, whose own help has the list.
const ARRIVAL: &str =
    "When packets leave: constant, poisson, or another process of the list at the end of --help";

impl Cli {
    /// The definition as it is parsed by: a quantity may begin with a minus, and is refused as the quantity that
    /// it is. To clap `-1%` and `-5s` would be flags that nobody knows.
    pub(crate) fn as_typed() -> clap::Command {
        const QUANTITIES: [&str; 11] = [
            "GOAL",
            "N",
            "N|SHARES",
            "PACKETS",
            "PRIORITY",
            "PROBABILITY",
            "RATE",
            "RATIO",
            "SHARES",
            "SIZE",
            "TIME",
        ];
        fn with_minus(verb: clap::Command) -> clap::Command {
            let is_quantity = |arg: &clap::Arg| {
                let name = arg.get_value_names().and_then(|names| names.first()).map(|name| name.as_str());
                let name = name.and_then(|name| name.split('[').next()).unwrap_or_default();
                arg.get_long().is_some() && QUANTITIES.contains(&name)
            };
            verb.mut_args(|arg| if is_quantity(&arg) { arg.allow_hyphen_values(true) } else { arg })
                .mut_subcommands(with_minus)
        }
        // Flags of several verbs, of which one says more.
        let all = <Self as clap::CommandFactory>::command()
            .mut_subcommand("search", |verb| {
                SearchArgs::excluding(verb.mut_arg("frame", |arg| arg.help(FRAMES)))
            })
            .mut_subcommand("trial", |verb| verb.mut_arg("arrival", |arg| arg.help(ARRIVAL)));
        let told =
            [("search", WITH_GOALS), ("report", WITH_GOALS), ("explain", ALL_DOUBTS), ("watch", HOW_SEEN)];
        let all = told.into_iter().fold(all, |all, (verb, text)| {
            all.mut_subcommand(verb, |verb| verb.mut_arg("verbose", |arg| arg.help(text)))
        });
        help::tied(help::asked_last(with_minus(all)))
    }
}
