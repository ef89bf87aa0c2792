//! What the flags mean: words in, plans out.

mod comparison;

use crate::args::{ARRIVAL, FleetArgs, SearchArgs, TrafficArgs, TrialArgs};
use dropline_failure::Failure;
use dropline_search::{Limits, Preset};
use dropline_targets::{Choices, Target, with_payload};
use dropline_traffic::{Means, Moving, Priority, ReceiveMeans, SendMeans, Sources, Targets, read_addresses};
use dropline_trial::{
    Arrival, Drain, MOST_STREAMS, Packet, PacketError, PacketTimes, Part, Rate, TrafficProfile, TrialInput,
    quantities,
};
use dropline_verbs::arrival_argument;
use dropline_verbs::back_to_back::BackToBackPlan;
use dropline_verbs::plan::SearchPlan;
use dropline_verbs::resume;
use dropline_verbs::search_arguments::{Question, SearchArguments, Spelling};
use dropline_verbs::trial::TrialPlan;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

pub(crate) use comparison::{delay, injection, questions, smallest_effect, turns};

/// The traffic profile, once for each frame size.
pub(crate) fn profiles(
    args: &TrafficArgs,
    target: &Target,
    preset: Option<Preset>,
) -> Result<Vec<TrafficProfile>, Failure> {
    if let Some(profile) = resume::replayed_profile(target)? {
        // Its packets left when its record was made: nothing can be chosen of them.
        let given = [("--arrival", args.arrival != ARRIVAL), ("--directions", args.directions.is_some())];
        if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(target.no_choice(flag));
        }
        return Ok(vec![TrafficProfile { seed: args.seed.unwrap_or(profile.seed), ..profile }]);
    }
    let directions = match &args.directions {
        None => vec![Part::whole("out")],
        Some(_) if !target.takes_directions() => {
            return Err(Failure::usage(format!("--directions: {target} has one direction"))
                .advice("directions are for exec: programs, sim: systems and link:"));
        }
        Some(text) => parts("--directions", text)?,
    };
    let streams = match args.streams.as_deref().map(|words| (words.parse::<u32>(), words)) {
        None => Part::equal(1),
        Some((Ok(0), _)) => return Err(Failure::usage("--streams 0: a load needs at least one stream")),
        Some((Ok(count @ 1..=MOST_STREAMS), _)) => Part::equal(count),
        Some((Ok(_), _)) => {
            return Err(Failure::usage(format!("--streams: at most {MOST_STREAMS} streams")));
        }
        Some((Err(_), words)) => parts("--streams", words)?,
    };
    let mut drain = preset.map_or_else(Drain::default, Preset::drain);
    if let Some(text) = &args.measured.drain {
        drain.longest = read("--drain", quantities::duration(text))?;
    }
    let base = TrafficProfile {
        arrival: arrival_argument::arrival(&args.arrival, target.port())?,
        streams,
        directions,
        drain,
        ..TrafficProfile::default()
    };
    let base = TrafficProfile { seed: args.seed.unwrap_or(base.seed), ..base };
    let own = target.own_packet()?;
    let packets = match (&args.packet, &args.frame) {
        (None, None) if own.is_some() => own.into_iter().collect(),
        (given, _) if own.is_some() => {
            let flag = if given.is_some() { "--packet" } else { "--frame" };
            return Err(Failure::usage(format!("{flag}: requests of {target} are as long as what is asked"))
                .advice(format!("leave {flag} out")));
        }
        (None, None) => vec![base.packet],
        (Some(size), _) => vec![packet("--packet", size, Packet::of_payload)?],
        (None, Some(sizes)) => sizes
            .split(',')
            .map(|size| packet("--frame", size, Packet::of_frame))
            .collect::<Result<_, _>>()?,
    };
    Ok(packets.into_iter().map(|packet| TrafficProfile { packet, ..base.clone() }).collect())
}

/// As many streams as the target needs at this load, where nobody says how many.
pub(crate) fn with_streams(
    profile: TrafficProfile,
    args: &TrafficArgs,
    target: &Target,
    load: Rate,
) -> TrafficProfile {
    if args.streams.is_some() { profile } else { target.spread(profile, load) }
}

/// The target of a word, with what flags say of it.
pub(crate) fn target(word: &str, traffic: &TrafficArgs) -> Result<Target, Failure> {
    let word = with_payload(word, traffic.payload.as_deref(), traffic.reply.as_deref())?;
    let word = Target::with_deadline(&word, traffic.deadline.as_deref(), traffic.tool.as_deref())?;
    let target = Target::parse(&word)?;
    match of_traffic(traffic, target.choices()) {
        Some(flag) => Err(target.no_choice(flag)),
        None => Ok(target),
    }
}

/// The target that is named, if it may be measured: asked before anything is sent, measured or started.
///
/// Whether packets may go there from other machines is asked there.
fn allowed(word: Option<&str>, traffic: &TrafficArgs, fleet: &FleetArgs) -> Result<Target, Failure> {
    let target = target(word.unwrap_or_default(), traffic)?;
    if let Some(flag) = of_packets(traffic).filter(|_| !target.is_udp()) {
        let why = format!("{flag} is for udp:// targets: {target} is sent no packets of ours");
        return Err(Failure::usage(why));
    }
    let moving = moving(traffic)?;
    if fleet.on.as_ref().is_none_or(|on| on.starts_with("local:")) {
        target.consent(&moving.targets)?;
    }
    Ok(target)
}

/// A flag that was given and means something only where packets are sent.
fn of_packets(traffic: &TrafficArgs) -> Option<&'static str> {
    let given = [
        ("--pid", traffic.measured.pid.is_some()),
        ("--target-ports", traffic.measured.target_ports > 1),
        ("--target-addresses", traffic.measured.target_addresses.is_some()),
        ("--source-addresses", traffic.moving.source_addresses.is_some()),
        ("--source-port", traffic.moving.source_port.is_some()),
    ];
    given.into_iter().find_map(|(flag, given)| given.then_some(flag))
}

/// A flag that was given and says more of the traffic than can be chosen.
fn of_traffic(traffic: &TrafficArgs, choices: Choices) -> Option<&'static str> {
    let moving = &traffic.moving;
    let given = [
        ("--packet", Choices::Packets, traffic.packet.is_some()),
        ("--frame", Choices::Packets, traffic.frame.is_some()),
        ("--streams", Choices::Packets, traffic.streams.is_some()),
        ("--drain", Choices::Wait, traffic.measured.drain.is_some()),
        ("--send", Choices::Moved, moving.send != SendMeans::Auto),
        ("--receive", Choices::Moved, moving.receive != ReceiveMeans::Auto),
        ("--senders", Choices::Moved, moving.senders != 1),
        ("--receivers", Choices::Moved, moving.receivers != 1),
        ("--cpus", Choices::Moved, moving.cpus != "auto"),
        ("--ordinary-priority", Choices::Moved, moving.ordinary_priority),
    ];
    given.into_iter().find_map(|(flag, needs, given)| (given && choices < needs).then_some(flag))
}

/// One trial.
pub(crate) fn trial(args: &TrialArgs) -> Result<TrialPlan, Failure> {
    let mut target = allowed(args.target.as_deref(), &args.traffic, &args.fleet)?;
    if let Some(text) = &args.stop_above {
        target = target.stopping_above(read("--stop-above", quantities::positive_duration(text))?)?;
    }
    if args.load.is_none() {
        target = target.at_own_pace();
    }
    let mut profiles = profiles(&args.traffic, &target, None)?;
    if profiles.len() > 1 {
        return Err(Failure::usage("--frame: a trial has one frame size; several are for search"));
    }
    let profile = profiles.remove(0);
    let asked = args.load.as_deref().map(|text| rate("--load", text, &target, profile.packet)).transpose()?;
    let load = match (target.paces_itself(), asked) {
        (false, _) => arrival_argument::load(&profile.arrival, asked.or_else(|| target.default_load()))?,
        // What it comes to is known afterwards.
        (true, None) => Rate::LOWEST,
        (true, Some(_)) => {
            return Err(Failure::usage(format!("--load: {target} runs at its own pace"))
                .advice("leave --load out: what it moves is measured"));
        }
    };
    if !target.takes_clients() {
        arrival_argument::scheduled(&profile.arrival)?;
    }
    let duration = read("--duration", quantities::positive_duration(&args.duration))?;
    let profile = with_streams(profile, &args.traffic, &target, load);
    let is_here = args.fleet.on.is_none();
    let keeps = is_here && !args.no_packets && args.keep.output.as_deref() != Some("-".as_ref());
    let keep_packets = if keeps { PacketTimes::ROOM } else { 0 };
    Ok(TrialPlan { target, profile, input: TrialInput { load, duration }, keep_packets })
}

/// A search for each frame size. `generator_limit` is asked for only where it is needed.
pub(crate) fn searches(
    args: &SearchArgs,
    generator_limit: &mut dyn FnMut(&TrafficProfile) -> Result<Rate, Failure>,
) -> Result<Vec<SearchPlan>, Failure> {
    let target = allowed(args.target.as_deref(), &args.traffic, &args.fleet)?;
    let asked = arguments(args);
    let replayed = asked.replayed(&target);
    let question = asked.question(replayed.as_ref())?;
    let plan = |profile| asked.plan(target.clone(), &question, profile, replayed.as_ref(), generator_limit);
    profiles(&args.traffic, &target, question.preset)?.into_iter().map(plan).collect()
}

/// The bursts of each frame size.
pub(crate) fn bursts(args: &SearchArgs, repetitions: u32) -> Result<Vec<BackToBackPlan>, Failure> {
    /// A bucket fills again, and a queue gets empty.
    const REST: Duration = Duration::from_millis(200);
    if args.fleet.on.is_some() {
        return Err(Failure::usage(
            "--on is for a load that agents share, and a burst leaves by one interface",
        )
        .advice("leave --on out: the burst is sent from here"));
    }
    let target = allowed(args.target.as_deref(), &args.traffic, &args.fleet)?;
    if !target.is_of_frames() || args.traffic.directions.is_some() {
        return Err(Failure::usage("--back-to-back is for frames of one direction, of a link: target"));
    }
    let plan = |mut profile: TrafficProfile| {
        if profile.arrival != Arrival::constant() {
            return Err(Failure::usage(
                "--back-to-back: frames of a burst leave one behind another, without --arrival",
            ));
        }
        profile.drain.rest = profile.drain.rest.max(REST);
        let rate = match &args.max_load {
            Some(_) => {
                arguments(args).range(&target, &profile, &mut |_| Err(Failure::usage("--max-load")))?.max()
            }
            None => BackToBackPlan::line_rate(profile.packet)?,
        };
        Ok(BackToBackPlan { target: target.clone(), profile, rate, repetitions })
    };
    profiles(&args.traffic, &target, None)?.into_iter().map(plan).collect()
}

/// The words of a search.
fn arguments(args: &SearchArgs) -> SearchArguments<'_> {
    SearchArguments {
        spelling: Spelling::Flags,
        goals: &args.goal,
        algorithm: args.algorithm,
        preset: args.preset,
        level: args.level.as_deref(),
        certify: args.certify,
        mdr_version: args.mdr_version,
        mdr_phases: args.mdr_phases,
        mdr_doublings: args.mdr_doublings,
        effective: None,
        budget: args.budget.as_deref(),
        max_trials: args.max_trials,
        min_load: args.min_load.as_deref(),
        max_load: args.max_load.as_deref(),
        warm_up: args.warm_up.as_deref(),
        delay_at: &args.delay_at,
        seed: args.traffic.seed,
        keeps_streams: args.traffic.streams.is_some(),
    }
}

/// The search of a record that is replayed: what it was asked for is asked again where the command line says nothing.
pub(crate) fn replayed(args: &SearchArgs) -> Option<SearchPlan> {
    arguments(args).replayed(&Target::parse(args.target.as_deref()?).ok()?)
}

/// How often an interval shall hold the true value.
pub(crate) fn level(text: &str) -> Result<f64, Failure> {
    let level = read("--level", quantities::ratio(text))?.as_f64();
    if level > 0.0 && level < 1.0 {
        Ok(level)
    } else {
        Err(Failure::usage("--level must be between 0 and 1, such as 95%"))
    }
}

/// `west=2,east=1`.
fn parts(flag: &str, text: &str) -> Result<Vec<Part>, Failure> {
    text.split(',')
        .map(|part| {
            let wrong = || {
                Failure::usage(format!("{flag} {text:?}: {part:?} is not NAME=SHARE with a share above 0"))
            };
            let (name, share) = part.split_once('=').ok_or_else(wrong)?;
            let share = share
                .parse::<u32>()
                .ok()
                .filter(|share| (1..=1_000_000).contains(share))
                .ok_or_else(wrong)?;
            Ok(Part { name: name.trim().into(), share })
        })
        .collect()
}

fn packet(flag: &str, text: &str, make: fn(u32) -> Result<Packet, PacketError>) -> Result<Packet, Failure> {
    let bytes = read(flag, quantities::bytes(text.trim()))?;
    make(u32::try_from(bytes).unwrap_or(u32::MAX)).map_err(|why| Failure::usage(format!("{flag}: {why}")))
}

fn rate(flag: &str, text: &str, target: &Target, packet: Packet) -> Result<Rate, Failure> {
    target.load(&format!("{flag} {text:?}"), read(flag, quantities::load(text))?, packet)
}

/// How packets of ours are moved.
pub(crate) fn moving(traffic: &TrafficArgs) -> Result<Moving, Failure> {
    let args = &traffic.moving;
    let priority = if args.ordinary_priority { Priority::Ordinary } else { Priority::Auto };
    let addresses = |flag: &str, words: Option<&str>| match words {
        Some(words) => read_addresses(words).ok_or_else(|| {
            Failure::usage(format!(
                "{flag} {words:?}: write addresses as 127.0.0.1-127.0.0.8 or 127.0.0.1,127.0.0.9"
            ))
        }),
        None => Ok(Vec::new()),
    };
    Ok(Moving {
        means: Means {
            send: args.send,
            receive: args.receive,
            senders: Some(args.senders),
            receivers: Some(args.receivers),
            cpus: read("--cpus", args.cpus.parse())?,
            priority,
        },
        sources: Sources {
            addresses: addresses("--source-addresses", args.source_addresses.as_deref())?,
            first_port: args.source_port,
        },
        targets: Targets {
            addresses: addresses("--target-addresses", traffic.measured.target_addresses.as_deref())?,
            ports: traffic.measured.target_ports,
        },
        target_pid: traffic.measured.pid,
    })
}

/// The first address of what is written so.
pub(crate) fn address(flag: &str, word: &str, shape: &str) -> Result<SocketAddr, Failure> {
    let found = word.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| Failure::usage(format!("{flag} {word:?} is not {shape}")))
}

/// A written quantity, with a usage error that names the flag.
pub(crate) fn read<T, E: std::fmt::Display>(flag: &str, value: Result<T, E>) -> Result<T, Failure> {
    value.map_err(|why| Failure::usage(format!("{flag}: {why}")))
}

/// What a search is asked for, before its target is looked at.
pub(crate) fn question(args: &SearchArgs) -> Result<Question, Failure> {
    arguments(args).question(replayed(args).as_ref())
}

/// How long an exec: program may stay silent.
pub(crate) fn patience(args: &TrafficArgs) -> Result<Duration, Failure> {
    read("--patience", quantities::positive_duration(&args.measured.patience))
}

/// New limits of a resumed search, where they are given.
pub(crate) fn limit(args: &SearchArgs, limits: &mut Limits) -> Result<(), Failure> {
    arguments(args).limit(limits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Cli;
    use crate::verbs::Verb;
    use clap::Parser as _;

    #[test]
    fn the_generator_is_not_measured_before_the_address_is_allowed() {
        for words in [
            &["udp://192.0.2.1:7007"][..],
            &["dns://192.0.2.1"],
            &["heartbeat://192.0.2.1:9060"],
            &["udp://127.0.0.1:7007", "--target-addresses", "127.0.0.2,192.0.2.1"],
        ] {
            let cli = Cli::try_parse_from([&["dropline", "search"], words].concat()).unwrap();
            let Verb::Search(args) = cli.verb else { panic!("a search") };
            let refused = searches(&args, &mut |_| panic!("measured first")).unwrap_err();
            assert_eq!(refused.exit_code(), 4);
            assert!(refused.to_string().contains("refused: 192.0.2.1"), "{refused}");
        }
    }
}
