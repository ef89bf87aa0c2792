//! What an explanation says, in words: for terminal and page alike.

mod server;

use crate::loss_times::{every_words, when};
use crate::number::{self, JOIN, count, nanoseconds, percent, plural};
use dropline_record::explanation::{
    BufferSeen, Cause, Explanation, Lack, ServerSeen, ServiceFrom, Throttled,
};
use dropline_record::remedy::{Change, Predicted, Remedy, Verdict};

/// A model that is off by this share at most has about as many.
const NEAR: f64 = 0.1;

/// Arrivals of a dispersion above this come in bursts, below the other evenly: at random it is 1.
const BURSTS: f64 = 2.0;
const EVEN: f64 = 0.5;

/// A fact: its name, and the words.
pub(crate) type Fact = (&'static str, String);

/// The answer in a sentence.
pub(crate) fn sentence(found: &Explanation) -> String {
    if found.lost == 0 {
        let said = headline(found);
        return said.replace(" was lost.", " was lost: there is nothing to explain.");
    }
    let mut words = place_sentence(found, &plural(found.offered, "packet"));
    words.push_str(&doubt(found));
    words.push_str(found.cause.map_or("", cause_sentence));
    words + &unexplained(found)
}

/// How many were lost, where, and why.
pub(crate) fn headline(found: &Explanation) -> String {
    let offered = plural(found.offered, "packet");
    if found.offered == 0 {
        return "No packet came: there is nothing to explain.".into();
    }
    if found.lost == 0 && found.lacks.contains(&Lack::NoReplies) {
        return format!(
            "None of {offered} was lost before the program; what it does with them afterwards was not watched."
        );
    }
    if found.lost == 0 {
        return format!("None of {offered} was lost.");
    }
    place_sentence(found, &offered) + found.cause.map_or("", cause_sentence)
}

/// What keeps the headline from being all that is true.
pub(crate) fn below_headline(found: &Explanation) -> String {
    if found.lost == 0 { String::new() } else { doubt(found) + &unexplained(found) }
}

fn doubt(found: &Explanation) -> String {
    match found.doubted {
        0 => String::new(),
        some if some >= found.lost && found.lost > 1 => {
            " This machine or the path may have caused any of these losses, up to all.".into()
        }
        some => {
            format!(" Of all {}, up to {} may not be the target's doing.", count(found.lost), count(some))
        }
    }
}

/// What is said where the replay loses much more or less than was lost.
fn unexplained(found: &Explanation) -> String {
    let mut words = String::new();
    if let Some(model) = found.model.filter(|_| found.lacks.contains(&Lack::NotReplayed)) {
        let waiting = model.waited.filter(|_| model.contradicts_what_waited());
        let waiting = waiting.map_or_else(String::new, |[seen, replayed]| {
            format!(" and queues {} ({} measured)", count(replayed), count(seen))
        });
        words.push_str(&format!(
            " The model does not explain this loss: replayed, it loses {} ({} measured){waiting}. So neither the cause nor what \
             would help is known: change one thing and measure again, such as one more worker, a larger buffer, or a CPU of \
             its own.",
            count(model.replay.lost),
            count(model.measured)
        ));
    }
    if found.lacks.contains(&Lack::AnswersLimited) {
        return words
            + " A good part of the replies refuse: a limit of answers for each address looks like that (RRL of DNS servers), and \
               is not how fast the server is. Switch it off for this address, and measure again.";
    }
    if found.lacks.contains(&Lack::CountAlone) {
        words.push_str(&by_itself(found));
    }
    words
}

/// What it was, in a sentence behind the places.
fn cause_sentence(cause: Cause) -> &'static str {
    match cause {
        Cause::Arrivals => " They came together, more than the buffer holds.",
        Cause::Overload => {
            " The target is overloaded: packets came faster than it serves them, and a CPU of its own would not change that."
        }
        Cause::NoCpu => {
            " The target lacked a CPU: it could have run, and others had its CPU while packets came."
        }
        Cause::NoCpuOrLoad => {
            " It was the lack of a CPU or the load itself: the trial cannot tell them apart. Offer the load once more while \
             nothing else runs on the target's CPU."
        }
        Cause::Quota => " The target was stopped by its CPU quota, and packets came in that time.",
        Cause::Stalls => " The target did nothing for a while, and packets came in that time.",
        Cause::Together => " They came together while the target did nothing.",
    }
}

/// Of a loss inside the target's program whose number is all that a full queue has in common with it.
fn by_itself(found: &Explanation) -> String {
    let which = found.when.as_ref().and_then(|when| when.every).map_or_else(
        || "which packets were lost has nothing to do with what waited".to_owned(),
        |distance| format!("{} was lost, however many waited", every_words(distance)),
    );
    format!(
        " No cause is named: a full queue would not lose these packets, for {which}. The service may drop them by \
         itself: see what its own log or its counters say, and whether it limits a rate or samples."
    )
}

/// How many were lost, and where most of them.
fn place_sentence(found: &Explanation, offered: &str) -> String {
    let were = if found.lost == 1 { "was" } else { "were" };
    let lost = format!("{} of {offered} {were} lost", count(found.lost));
    let places: Vec<(&String, u64)> = found
        .lost_at
        .iter()
        .flatten()
        .filter(|(_, packets)| **packets > 0)
        .map(|(place, packets)| (place, *packets))
        .collect();
    match places.as_slice() {
        [] => format!("{lost}; where was not accounted for."),
        [(place, _)] if place.as_str() == "unexplained" && found.unanswered > 0 => format!(
            "{lost}. The target's socket dropped none of these, and no counter on the path has any: the target's program took \
             them and did not answer.{}",
            overload(found)
        ),
        [(place, _)] if place.as_str() == "unexplained" => format!("{lost}; no counter says where."),
        [(place, _)] => format!("{lost}, all {}.", place_words(found, place)),
        several if several.iter().all(|(place, _)| answered(place).is_some()) => {
            let each = |(place, packets): &(&String, u64)| {
                format!("{} for {}", answered(place).unwrap_or_default(), count(*packets))
            };
            let ways: Vec<String> = several.iter().map(each).collect();
            format!("{lost}, all by their replies: each had one, {}.", ways.join(", "))
        }
        several => {
            let most = several.iter().max_by_key(|(_, packets)| *packets).expect("there are several");
            let share = most.1 as f64 / found.lost.max(1) as f64;
            format!("{lost}, {} of them {}.", percent(share), place_words(found, most.0))
        }
    }
}

/// Of a target that drops packets itself: whether it is offered more than it serves, and how many a model loses of them.
fn overload(found: &Explanation) -> String {
    let is_by_queue = !found.lacks.contains(&Lack::CountAlone);
    let Some(load) = found.load.filter(|load| *load > 1.0 && is_by_queue) else { return String::new() };
    let queue = found.model.and_then(|model| model.md1k).zip(found.buffer).filter(|(lost, _)| {
        let off = (lost / found.unanswered as f64 - 1.0).abs();
        off <= NEAR
    });
    let queue = queue.map_or_else(String::new, |(lost, buffer)| {
        format!(
            ", and a queue of {} loses about as many ({})",
            plural(buffer.packets, "packet"),
            count(lost.round() as u64)
        )
    });
    format!(" It is offered {} times what it can serve{queue}.", number::three(load))
}

/// How a packet was answered that is lost there.
fn answered(place: &str) -> Option<&'static str> {
    match place {
        "reply_truncated" => Some("which was cut"),
        "reply_extended" => Some("which was longer than stated or allowed"),
        "reply_changed" => Some("which was not its answer"),
        "return_no_listener" => {
            Some("from another address or port than was asked, or to a port at which nobody listens")
        }
        _ => None,
    }
}

/// Where that is, as a person says it.
fn place_words(found: &Explanation, place: &str) -> String {
    if let Some(how) = answered(place) {
        return format!("by their replies: each had one, {how}");
    }
    if place == "late" {
        return "by answers that came after the drain".to_owned();
    }
    if let Some((host, place)) = place.split_once('/') {
        return match host.split_once("..") {
            Some((from, to)) => format!("on the path from {from} to {to}"),
            None => format!("on {host}, {}", place_words(found, place)),
        };
    }
    let (name, way) = match place.strip_prefix("return_") {
        Some(name) => (name, " on the path back"),
        None => (place, ""),
    };
    let name = match name {
        "receive_buffer" => "the receive buffer of the target's socket".into(),
        "service_queue" => "the target's own queue".into(),
        "unexplained" if found.unanswered > 0 => {
            "the target's program, which took them and did not answer".into()
        }
        "unexplained" => "a place that no counter names".into(),
        other => other.replace('_', " "),
    };
    format!("at {name}{way}")
}

/// What was seen, a line a fact.
pub(crate) fn facts(found: &Explanation) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(lost_at) = &found.lost_at {
        let mut places: Vec<(String, u64)> =
            lost_at.iter().map(|(place, packets)| (dropline_record::place_words(place), *packets)).collect();
        places.sort_by_key(|(place, packets)| (place == "unexplained", std::cmp::Reverse(*packets)));
        let words = places.iter().map(|(place, packets)| format!("{place}{JOIN}{}", count(*packets)));
        facts.push(("lost at", words.collect::<Vec<_>>().join(", ")));
    }
    let each = found.lost_at.iter().flatten().map(|(place, packets)| (place.as_str(), *packets));
    facts.extend(dropline_record::path_words(each, count).map(|words| ("path", words)));
    facts.extend(when(found).map(|words| ("when", words)));
    facts.extend(arrivals(found).map(|words| ("arrivals", words)));
    facts.extend(found.server.as_ref().map(|server| ("server", server::words(server))));
    facts.extend(found.server.as_ref().and_then(server::stalls).map(|words| ("stalls", words)));
    facts.extend(found.throttled.map(|throttled| ("quota", quota_words(throttled))));
    facts.extend(found.buffer.map(|buffer| ("buffer", buffer_words(found, buffer))));
    facts.extend(found.server.as_ref().and_then(server::own_time).map(|words| ("own CPU", words)));
    facts.extend(load(found).map(|words| ("load", words)));
    facts.extend(model(found).map(|words| ("model", words)));
    facts.extend(cause(found).map(|words| ("cause", words)));
    facts
}

/// `None` where the times of packets were not kept.
fn arrivals(found: &Explanation) -> Option<String> {
    let seen = &found.arrivals;
    let is_known = seen.dispersion.iter().any(Option::is_some);
    if !is_known && seen.rate_pps.is_none() && seen.largest_backlog.is_none() {
        return None;
    }
    let index = |value: Option<f64>| value.map_or_else(|| "\u{2013}".into(), number::three);
    let rate = seen.rate_pps.map_or_else(String::new, |rate| format!("{}{JOIN}pps, ", number::three(rate)));
    let together = match seen.dispersion.into_iter().flatten().fold(0.0, f64::max) {
        most if most > BURSTS => "in bursts: ",
        most if most > EVEN => "at random: ",
        _ => "evenly: ",
    };
    let [one, ten, hundred] = seen.dispersion.map(index);
    let backlog = seen
        .largest_backlog
        .map_or_else(String::new, |backlog| format!("; up to {} waited", plural(backlog, "packet")));
    let together = if is_known { together } else { "" };
    Some(format!(
        "{rate}{together}dispersion over 1, 10, 100{JOIN}ms {one} / {ten} / {hundred} (Poisson 1){backlog}"
    ))
}

fn quota_words(quota: Throttled) -> String {
    format!(
        "the target's control group may use the CPU for {} of each {}: that was used up {}, and it was stopped for {} in all",
        nanoseconds(quota.runtime_us * 1000),
        nanoseconds(quota.period_us * 1000),
        plural(quota.times, "time"),
        nanoseconds(quota.stopped_ns)
    )
}

fn buffer_words(found: &Explanation, buffer: BufferSeen) -> String {
    let packets = plural(buffer.packets, "packet");
    // A model that does not fit says nothing of what was full.
    if (buffer.own_queue || buffer.bytes.is_none()) && found.lacks.contains(&Lack::NotReplayed) {
        let what = if buffer.own_queue { "the target's own queue" } else { "the socket's buffer" };
        return format!(
            "how many packets {what} holds is not known: {packets} waited when others were lost, and the model for it does not \
             fit"
        );
    }
    if buffer.own_queue {
        return format!("the target's own queue holds {packets}, by what waited when others were lost");
    }
    let draining = format!("{} to {} while draining", count(buffer.draining_packets), count(buffer.packets));
    match (buffer.bytes, buffer.inferred) {
        (Some(bytes), _) => format!(
            "{} is {packets} of this size (each is charged {}), {draining}",
            number::bytes(bytes),
            number::bytes(buffer.truesize_bytes.into())
        ),
        (None, _) => format!("{packets} by what waited when others were lost, {draining}"),
    }
}

fn load(found: &Explanation) -> Option<String> {
    // CPU time bounds neither: a server that waits is slower, and one that polls is faster.
    let server = found.server.as_ref().filter(|server| server.service_from != ServiceFrom::Cpu)?;
    let load = found.load?;
    let most = number::three(1e9 / server.service_ns.max(1.0));
    let between = if server.stalls > 0 { " between stalls" } else { "" };
    Some(match load >= 1.0 {
        true => {
            format!(
                "{} times what it can serve (rho): {most}{JOIN}pps served at most{between}",
                number::three(load)
            )
        }
        false => {
            format!("busy for {} of the time (rho): {most}{JOIN}pps served at most{between}", percent(load))
        }
    })
}

fn model(found: &Explanation) -> Option<String> {
    let model = found.model?;
    let error = model.error().map_or_else(String::new, |error| {
        format!(" ({}{})", if error >= 0.0 { "+" } else { "\u{2212}" }, percent(error.abs()))
    });
    Some(format!(
        "replay of the arrivals with the target's stalls: {} lost{error} {}; measured {}{}",
        count(model.replay.lost),
        interval(model.replay),
        count(model.measured),
        if model.measured == found.lost { "" } else { " at its socket and in its own queue" },
    ))
}

/// Least and most of 95 % of the replays.
pub(crate) fn interval(predicted: Predicted) -> String {
    format!("[{}, {}]", count(predicted.low), count(predicted.high))
}

fn cause(found: &Explanation) -> Option<String> {
    let lost = |wanted: Change| found.with(|change| change == wanted).map(|found| count(found.lost));
    let constant = lost(Change::ConstantArrivals);
    let mut words = match found.cause? {
        Cause::Arrivals => "the arrivals: they come together, and more wait than the buffer holds".to_owned(),
        Cause::Overload => {
            format!("an overload: packets come faster than they are served, on any CPU{}", waiting(found))
        }
        Cause::NoCpu => {
            "the lack of a CPU: at the pace that it had between, the target keeps up with the load".to_owned()
        }
        Cause::NoCpuOrLoad => "the lack of a CPU or the load itself: the trial cannot tell them apart".to_owned(),
        Cause::Stalls => {
            format!("the target's stalls: packets come and nobody reads them{}", stalling(found))
        }
        Cause::Quota => {
            "the target's CPU quota: it is used up, and packets come while the target is stopped until the next period"
                .to_owned()
        }
        Cause::Together => "the arrivals and the target's stalls together".to_owned(),
    };
    if let Some(constant) = constant {
        words.push_str(&format!("; as many packets at equal distances would lose {constant}"));
    }
    Some(words)
}

/// Of a target that is slow because it waits.
fn waiting(found: &Explanation) -> &'static str {
    let serving = found.server.as_ref().and_then(|server| server.serving);
    match serving.and_then(|serving| serving.share(serving.waiting_ns)) {
        Some(share) if share > 0.5 => ", by a target that sleeps or waits for most of a packet's time",
        _ => "",
    }
}

/// What a target did for most of its stalls.
fn stalling(found: &Explanation) -> &'static str {
    let most = |part: fn(&ServerSeen) -> Option<u64>| {
        found.server.as_ref().is_some_and(|server| part(server).is_some_and(|ns| ns * 2 > server.stalled_ns))
    };
    if most(|server| server.paused_ns) {
        ", for it sleeps or waits for something else; whether that comes with time or with packets is not known"
    } else {
        ""
    }
}

/// A verdict in words, as the heading of its changes and as what stands beside each.
pub(crate) fn verdict_words(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Helps => ("what would help (replayed)", "helps"),
        Verdict::MayHelp => ("what may help", "may help"),
        Verdict::Postpones => ("what would only postpone it", "postpones"),
        Verdict::DoesNot => ("what would not", "does not"),
    }
}

/// A change in words: what, and on which condition.
pub(crate) fn change_words(found: &Explanation, remedy: &Remedy) -> (String, &'static str) {
    let until_full = "more comes than is served: it is full later, and as many are lost from then on";
    let room = if remedy.postpones { until_full } else { "" };
    match remedy.change {
        Change::Buffer { times, rcvbuf_bytes } => {
            (format!("buffer for \u{d7}{times} packets (SO_RCVBUF {rcvbuf_bytes})"), room)
        }
        Change::Queue { times, packets } => {
            (format!("queue \u{d7}{times} ({})", plural(packets, "packet")), room)
        }
        Change::Batch { packets } => (
            format!("batch: up to {} a read", plural(packets.into(), "packet")),
            "if a system call costs 1 us of each packet",
        ),
        Change::Worker => (
            "one more worker".into(),
            "reading the same socket, with a CPU, and not waiting for the same thing",
        ),
        Change::OwnCpu => ("target on a CPU of its own".into(), own_cpu_condition(found)),
        Change::NoQuota => {
            ("no CPU quota, or one that lasts".into(), "and a CPU to run on (cpu.max, cpu.cfs_quota_us)")
        }
        Change::HalfTheLoad => ("half the load".into(), "every other packet, at random"),
        Change::ConstantArrivals => ("constant arrivals".into(), "as many packets, equally far apart"),
    }
}

/// What the interval of a CPU of its own reaches from and to.
fn own_cpu_condition(found: &Explanation) -> &'static str {
    match found.server.as_ref().and_then(|server| server.own_time) {
        Some(_) => "from what its own running time allows to what its pace allows",
        None => "how fast it would be there is not known",
    }
}

/// The title of the plot of what waited: what it was, where the replay says.
pub(crate) fn cause_title(found: &Explanation) -> String {
    match found.cause {
        Some(Cause::Arrivals) => "Packets came together, more than the buffer holds",
        Some(Cause::Overload) => "Packets came faster than they are served",
        Some(Cause::NoCpu) => "Packets were lost while the target had no CPU",
        Some(Cause::NoCpuOrLoad) => {
            "Packets came faster than the target served them, for want of a CPU or not"
        }
        Some(Cause::Stalls) => "Packets were lost while the target did nothing",
        Some(Cause::Quota) => "Packets were lost while the target was stopped by its CPU quota",
        Some(Cause::Together) => "Packets came together while the target did nothing",
        None => "What waited at the target",
    }
    .into()
}
