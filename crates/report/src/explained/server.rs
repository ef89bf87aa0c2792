//! What the server did, in words.

use crate::number::{self, JOIN, nanoseconds, percent, plural};
use dropline_record::explanation::{ServerSeen, ServiceFrom};

/// How long a packet takes it, and what it does meanwhile.
pub(super) fn words(server: &ServerSeen) -> String {
    let who = match (&server.name, server.pid) {
        (Some(name), Some(pid)) => format!("{name} (pid{JOIN}{pid}), "),
        _ => String::new(),
    };
    let from = match server.service_from {
        ServiceFrom::Replies => "between replies to packets that waited",
        ServiceFrom::Queue => "between packets that it took while others waited",
        ServiceFrom::Cpu => "CPU time a packet: less if it polls, more if it waits",
    };
    let wake = match server.wake_ns {
        0 => String::new(),
        ns => format!("; idle, it needs {} more to wake", nanoseconds(ns)),
    };
    let serving =
        serving(server).map_or_else(String::new, |words| format!("; with packets waiting, {words}"));
    format!(
        "{who}{} a packet ({from}; \u{b1}{JOIN}{}){wake}{serving}",
        nanoseconds(server.service_ns as u64),
        nanoseconds((2.0 * server.service_error_ns) as u64)
    )
}

/// How fast it would be on a CPU that nobody else uses; nothing where its pace was not seen.
pub(super) fn own_time(server: &ServerSeen) -> Option<String> {
    let own = server.own_time.filter(|_| server.service_from != ServiceFrom::Cpu)?;
    let waited = match own.waited_ns * 20.0 > own.most_ns {
        true => {
            format!(
                " and the {} that it waited for a CPU, which it may have made up for",
                nanoseconds(own.waited_ns as u64)
            )
        }
        false => String::new(),
    };
    let [least, most] = [own.least_ns, own.most_ns].map(|ns| nanoseconds(ns as u64));
    let takes = match least == most {
        true => format!("{most} a packet, as it did: its busiest thread hardly waited for one"),
        false => {
            format!("{least} to {most} a packet: from what its busiest thread ran to the pace it had{waited}")
        }
    };
    Some(format!("on a CPU that nobody else uses it would take {takes}"))
}

/// What its process did while packets waited and it took some.
fn serving(server: &ServerSeen) -> Option<String> {
    let seen = server.serving?;
    shares([
        ("it ran", seen.share(seen.cpu_ns)),
        ("it could have run and had no CPU", seen.share(seen.not_scheduled_ns)),
        ("it slept or waited for something else", seen.share(seen.waiting_ns)),
    ])
}

/// Those of more than a twentieth, with what the time was spent with.
fn shares<const N: usize>(shares: [(&str, Option<f64>); N]) -> Option<String> {
    let worth =
        shares.into_iter().filter_map(|(words, share)| Some((words, share.filter(|share| *share > 0.05)?)));
    let words: Vec<String> = worth.map(|(words, share)| format!("{} {words}", percent(share))).collect();
    (!words.is_empty()).then(|| number::listed(&words))
}

/// What the server did while it had work and answered nothing.
pub(super) fn stalls(server: &ServerSeen) -> Option<String> {
    let [shortest, longest] = server.stall_range_ns?;
    let range = if server.stalls == 1 {
        format!("of {}", nanoseconds(longest))
    } else {
        format!(
            "of {} to {}, {} in all",
            nanoseconds(shortest),
            nanoseconds(longest),
            nanoseconds(server.stalled_ns)
        )
    };
    let share = |ns: Option<u64>| ns.map(|ns| ns as f64 / server.stalled_ns.max(1) as f64);
    let why = shares([
        ("it could have run and had no CPU", share(server.not_scheduled_ns)),
        ("it ran and answered nothing", share(server.busy_ns)),
        ("it slept or waited for something else", share(server.paused_ns)),
    ]);
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    Some(format!("{} {range} with packets waiting{why}", plural(server.stalls, "time")))
}
