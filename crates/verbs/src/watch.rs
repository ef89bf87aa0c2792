//! The verb `watch`: traffic that is not ours, listened in on while it runs, kept as a record.

use crate::search::Finished;
use crate::trial::keep;
use dropline_archive::record_file::{Keeper, Output};
use dropline_archive::{clock, environment};
use dropline_failure::Failure;
use dropline_record::LoadUnit;
use dropline_record::{Header, ProfileLine, Purpose, Record, TrialLine, schema};
use dropline_stats::Spacing;
use dropline_traffic::{OverhearError, Overheard, Port};
use dropline_trial::number_of;
use dropline_trial::{ArrivalFidelity, Caveat, Packet, Rate, Stamp, TrafficProfile, Trial, TrialInput};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub use dropline_traffic::Glimpse;

/// What is listened in on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchPlan {
    /// UDP port of this network namespace, or of that of the process.
    pub port: u16,
    /// The process that is the service, if not the one that holds the socket.
    pub pid: Option<u32>,
    /// How long a socket that is not there yet is waited for.
    pub wait: Duration,
    /// How long; until stopped if not said.
    pub duration: Option<Duration>,
    /// Time between two looks at the socket.
    pub every: Duration,
    /// The command as it was typed, in words.
    pub command_line: Vec<String>,
}

/// Listens in until the time is over or `stop` is set, and keeps what it heard.
///
/// # Errors
/// If no socket is bound to the port, or no record can be begun. What was heard before its service ended, and what could
/// not be kept, is told all the same, with the failure beside it.
pub fn watch(
    plan: &WatchPlan,
    output: &Output,
    stop: &AtomicBool,
    see: impl FnMut(&Glimpse) + Send,
) -> Result<Finished, Failure> {
    let port = opened(plan, stop)?;
    let started = clock::now_utc();
    let address = port.address();
    let environment = environment::capture(&plan.command_line);
    let header_of = |heard: Option<&Overheard>| {
        let profile = TrafficProfile::default();
        // Others may send shorter packets than ours can be.
        let packet_bytes = heard
            .and_then(|heard| heard.usual_payload_bytes)
            .map_or(profile.packet.payload_bytes(), u32::from)
            .min(Packet::LONGEST);
        let name = heard.and_then(|heard| heard.watched.name.as_ref());
        Header {
            schema: schema::CURRENT.into(),
            verb: "watch".into(),
            started: started.clone(),
            target: format!("watch:{address}"),
            target_note: name.map(|name| format!("traffic of others to {name}")),
            asked_digest: None,
            load_unit: LoadUnit::Packets,
            load_is: "what arrives at the socket, from whomever".into(),
            profile: ProfileLine {
                arrival: "overheard".into(),
                packet_bytes,
                frame_bytes: packet_bytes + Packet::FRAME_OVERHEAD,
                packet_mean_bytes: None,
                ..ProfileLine::from(&profile)
            },
            search: None,
            generator: None,
            on: None,
            bursts: None,
            generator_limit_pps: None,
            environment: environment.clone(),
        }
    };
    let line = |trial: &Trial, header: &Header| {
        TrialLine::new(trial, &header.target, "overheard", Purpose::Trial, Duration::ZERO)
    };
    let mut keeper = Keeper::begin(output, &header_of(None))?;
    // What cannot be kept now is said at the end.
    let heard = port.listen(plan.duration, stop, see, |heard| {
        let header = header_of(Some(heard));
        let mut caveats = doubts(heard);
        caveats.push(unfinished(heard));
        let _ = keeper.anew(&header, &line(&trial(heard, caveats), &header));
    });
    let mut heard = heard.map_err(|why| failure(&why))?;
    let ended = heard.ended.take();
    let mut caveats = doubts(&heard);
    caveats.extend(ended.as_ref().map(|why| ended_early(why, heard.duration)));
    let is_early = plan.duration.is_none_or(|duration| heard.duration < duration);
    if stop.load(Ordering::Relaxed) && ended.is_none() && is_early {
        caveats.push(interrupted(plan.duration.is_some(), heard.duration));
    }
    let header = header_of(Some(&heard));
    let mut trial = trial(&heard, caveats);
    let begun = keeper.anew(&header, &line(&trial, &header));
    let (line, kept) = keep(&mut keeper, &mut trial, heard.packets.as_ref(), |trial| line(trial, &header));
    let mut record = Record::begin(header);
    record.trials.push(line);
    let ended = ended.map_or(Ok(()), |why| {
        let kept = output.path().map_or("", |_| ", and is kept");
        Err(failure(&why).advice(format!("what was heard until then is told{kept}")))
    });
    // A trial that is kept is so below the header of the beginning, where no other could be written.
    let begun = begun.map_err(|why| {
        why.advice(
            "what was heard is kept; what the header says of its process and its packets is of the beginning",
        )
    });
    Ok(Finished { record, failure: kept.and(begun).and(ended).err() })
}

/// The socket, once it is there.
fn opened(plan: &WatchPlan, stop: &AtomicBool) -> Result<Port, Failure> {
    let begun = Instant::now();
    loop {
        match Port::open(plan.port, plan.pid, plan.every) {
            Err(OverhearError::NoSocket(_)) if begun.elapsed() < plan.wait => {}
            other => return other.map_err(|why| failure(&why)),
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::interrupted());
        }
        thread::sleep(LOOKS_EVERY);
    }
}

/// From one look at whether the socket is there to the next.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// What was heard, in the words of a trial: what arrived was offered, what was not lost on its way to the program was
/// forwarded.
fn trial(heard: &Overheard, caveats: Vec<Caveat>) -> Trial {
    let lost: u64 = heard.account.lost_at.values().sum();
    let offered = heard.arrived.unwrap_or(heard.read_in_namespace + heard.dropped).max(lost);
    let input = TrialInput { load: rate(heard, offered), duration: heard.duration };
    Trial {
        offered,
        forwarded: offered - lost,
        stamp: heard.spacing.as_ref().map(|_| Stamp::Kernel),
        kept: heard.spacing.as_ref().map(|spacing| ArrivalFidelity::overheard(spacing, Stamp::Kernel)),
        lost_at: Some(heard.account.lost_at.clone()),
        watched: Some(heard.watched.clone()),
        caveats,
        ..Trial::new(1, input, 0)
    }
}

/// Packets a second while any came: the watch may have begun before the first, and ended after the last.
fn rate(heard: &Overheard, packets: u64) -> Rate {
    let mean_ns = heard.spacing.as_ref().and_then(Spacing::mean_ns).filter(|mean_ns| *mean_ns > 0.0);
    let all = || packets as f64 / heard.duration.as_secs_f64().max(1e-9);
    Rate::pps(mean_ns.map_or_else(all, |mean_ns| 1e9 / mean_ns)).unwrap_or(Rate::from_millipps(1))
}

fn doubts(heard: &Overheard) -> Vec<Caveat> {
    let reported = |code: &str, text: String| Caveat::Reported { code: code.into(), text };
    let mut doubts: Vec<Caveat> = heard.untapped.iter().map(untapped).collect();
    doubts.extend(heard.account.caveats.iter().cloned());
    doubts.extend(answers_unseen(heard));
    if heard.missed > 0 {
        doubts.push(reported(
            "arrivals_missed",
            format!("{} arrived faster than this program could listen in", number_of(heard.missed, "packet")),
        ));
    }
    if heard.clock_steps > 0 {
        doubts.push(reported(
            "clock_set",
            format!("the clock that stamps packets was set during the watch (times: {})", heard.clock_steps),
        ));
    }
    if heard.watched.pid.is_none() {
        doubts.push(reported(
            "process_unseen",
            "the process that holds the socket could not be seen, so nor could its CPU time and its waiting: \
             run as its user or as root, or name it with --pid"
                .into(),
        ));
    }
    doubts
}

/// Of packets that a program read: what became of them then is its own affair.
fn answers_unseen(heard: &Overheard) -> Option<Caveat> {
    let lost: u64 = heard.account.lost_at.values().sum();
    let read = heard.arrived.unwrap_or(heard.read_in_namespace).saturating_sub(lost);
    (read > 0).then(|| Caveat::Reported {
        code: "answers_unseen".into(),
        text: "losses are those before the program read a packet; what it did with the packets that it read is not seen: those that \
               it dropped, in a queue of its own say, or did not answer count as forwarded; a trial, which counts \
               the answers, or the program's own counters tell"
            .into(),
    })
}

/// Of what is kept while it goes on.
fn unfinished(heard: &Overheard) -> Caveat {
    Caveat::Reported {
        code: "watch_unfinished".into(),
        text: format!(
            "these are the counts {:.1} s after the watch began: it was killed later, before it could keep more; the times \
             of packets, by which loss is explained, are kept at the end alone",
            heard.duration.as_secs_f64()
        ),
    }
}

/// A signal came, before the time was over or where none was set.
fn interrupted(has_end: bool, after: Duration) -> Caveat {
    match has_end {
        true => Caveat::Interrupted,
        false => Caveat::Reported {
            code: Caveat::Interrupted.code().into(),
            text: format!(
                "a signal (Ctrl-C) ended the watch, which had no --duration: all that came in its {:.1} s is counted",
                after.as_secs_f64()
            ),
        },
    }
}

fn ended_early(why: &OverhearError, after: Duration) -> Caveat {
    Caveat::Reported {
        code: "watch_ended".into(),
        text: format!(
            "{why}, {:.1} s after the watch began, which ended with it: what came later had no socket, what waited in its buffer \
             when it was last seen was read by nobody, and both are lost; what it dropped just before may be missing",
            after.as_secs_f64()
        ),
    }
}

fn untapped(why: &String) -> Caveat {
    Caveat::Reported {
        code: "arrivals_unseen".into(),
        text: format!(
            "arrivals were not seen ({why}): that takes CAP_NET_RAW, so run as root; counted instead were drops at \
             the socket, and datagrams that all sockets of this network namespace read"
        ),
    }
}

fn failure(why: &OverhearError) -> Failure {
    let failure = Failure::environment(why);
    match why {
        OverhearError::Thread(why) => Failure::thread(why),
        OverhearError::NoSocket(port) => failure.advice(format!(
            "is the service running, and in this network namespace?  ss -lunp 'sport = :{port}'; in another one:  \
             dropline watch --port {port} --pid PID; one that starts later is waited for with --wait 1min"
        )),
        OverhearError::System(source) if source.kind() == ErrorKind::PermissionDenied => failure
            .advice("to enter the process's network namespace takes CAP_SYS_ADMIN and CAP_SYS_PTRACE there (root outside of containers)"),
        _ => failure,
    }
}
