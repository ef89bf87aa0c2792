//! The verb `explain`: a record and its packets in, why packets were lost out.

use crate::resume::going_on;
use crate::search::load_in;
use crate::validity::is_counted_elsewhere;
use dropline_account::explanation::Doubts;
use dropline_account::{AddressFamily, Evidence, explain as explain_evidence};
use dropline_archive::reading;
use dropline_archive::record_file::{packets_beside, read_record};
use dropline_failure::{Failure, quoted, quoted_path};
use dropline_record::{
    BROKEN, CaveatLine, ExplainedLine, Explanation, LoadUnit, PacketFile, Record, TargetKind, TrialLine,
};
use dropline_targets::Target;
use dropline_trial::{Caveat, PacketTimes, Rate, TrafficProfile, Trial, number_of};
use std::path::Path;

/// A record with the explanation of its trial's loss.
#[derive(Debug)]
pub struct Explained {
    /// The record.
    pub record: Record,
    /// Why a trial of it lost packets.
    pub line: ExplainedLine,
}

/// Explains the loss of the trial in a record, or of the one of a search's trials that says most of its limit.
///
/// # Errors
/// If the record cannot be read, or the times of its packets were not kept or are another trial's.
pub fn explain(path: &Path) -> Result<Explained, Failure> {
    let mut record = read_record(path)?;
    if TargetKind::of(&record.header.target).is_some_and(|kind| kind.is_simulated) {
        return Err(Failure::environment(format!(
            "{}: a simulated target has no packets whose times could be kept, so there is nothing to explain",
            path.display()
        ))
        .advice(format!("what it lost at each load is shown by  dropline report {}", quoted_path(path))));
    }
    let (at, chosen) = match choice(&record) {
        Some(choice) => choice,
        None => return Err(empty(path, &record)),
    };
    let trial = &record.trials[at];
    if let Some(why) = never_kept(path, &record, trial) {
        return Err(why);
    }
    let file = match (&chosen, trial.packets.is_none()) {
        // A search keeps counts alone, and so do agents: they say where.
        (Some(_), true) => None,
        (None, true) if !trial.agents.is_empty() => None,
        _ => Some(packets(path, &record, trial)?),
    };
    if let Some(file) = file.as_ref().filter(|file| file.missing > 0) {
        record.reading.push(torn(path, file));
    }
    let trial = &record.trials[at];
    let stored = trial.trial().map_err(|why| Failure::environment(format!("{}: {why}", path.display())))?;
    let family = if record.header.target.contains('[') { AddressFamily::V6 } else { AddressFamily::V4 };
    let nothing = PacketTimes::with_room(0, false);
    let mut explanation = explain_evidence(&Evidence {
        packets: file.as_ref().map_or(&nothing, |file| &file.times),
        payload_bytes: record.header.profile.packet_bytes,
        family,
        offered: stored.offered,
        lost: stored.lost(),
        lost_at: stored.lost_at.as_ref(),
        doubts: doubts(&stored),
        unseen: trial.caveats.iter().any(|caveat| caveat.code == "places_unseen"),
        watched: stored.watched.as_ref(),
        duration_ns: stored.duration.as_nanos() as u64,
        drain_ns: (record.header.profile.drain_s.max(0.0) * 1e9) as u64,
        seed: stored.seed,
    });
    let mut caveats = match chosen {
        None => record.caveats(),
        Some(_) => record.reading.iter().chain(&trial.caveats).cloned().collect(),
    };
    give_way(&mut explanation, &stored, &mut caveats);
    let chosen = chosen.map(|words| match file {
        None if trial.directions.is_empty() && trial.agents.is_empty() && trial.lost.0 > 0 => {
            let again = again(&record, trial, trial.intended_load_pps);
            format!("{words}; to keep the times of its packets:  {again} -o again.jsonl")
        }
        _ => words,
    });
    let line = ExplainedLine {
        explanation,
        trial: trial.number,
        chosen,
        target: record.header.target.clone(),
        caveats,
    };
    Ok(Explained { record, line })
}

/// Nothing but a header: says how that comes about, and what to do.
fn empty(path: &Path, record: &Record) -> Failure {
    let next = match record.header.search.is_some() || record.header.bursts.is_some() {
        true => format!("resume it:  {}", going_on(&path.to_string_lossy(), &record.header)),
        false => "measure again, into another file".into(),
    };
    Failure::environment(format!("{}: it holds no finished trial", path.display())).advice(format!(
        "what wrote it was killed, or found no room, before its first trial was kept, or is still at it: {next}"
    ))
}

/// Where the explanation shows that fewer packets can have been lost for want of a CPU than a caveat of the trial allows, the caveat says
/// so, and what is doubted becomes less.
fn give_way(explanation: &mut Explanation, trial: &Trial, caveats: &mut Vec<CaveatLine>) {
    let starved = trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::TargetStarved { kept_ns, lost } => Some((*kept_ns, lost.unwrap_or(explanation.lost))),
        _ => None,
    });
    let Some(((kept_ns, starved), most)) = starved.zip(explanation.for_want_of_a_cpu()) else { return };
    if most >= starved {
        return;
    }
    let others = explanation.doubted.saturating_sub(starved);
    explanation.doubted = others.saturating_add(most).min(explanation.doubted);
    let same = explanation.lost - most;
    let why = match explanation.cause {
        Some(_) => format!(
            "replayed on a CPU that nobody else uses, it loses {same} or more of these packets all the same"
        ),
        None => format!("its program took {same} of these packets, whatever waited, and did not answer them"),
    };
    let of_that = if most == 0 { "none is".to_owned() } else { format!("at most {most} are") };
    let text = format!(
        "other programs kept the target from running for up to {:.0} ms, and {why}: {of_that} lost for that",
        kept_ns as f64 / 1e6
    );
    for caveat in caveats.iter_mut().filter(|caveat| caveat.code == STARVED) {
        caveat.text.clone_from(&text);
    }
    if explanation.doubted.saturating_mul(2) < explanation.lost {
        caveats.retain(|caveat| caveat.code != DOUBTED);
    }
}

/// Codes of caveats that give way.
const STARVED: &str = "target_starved";
const DOUBTED: &str = "loss_doubted";

/// Which trial is explained, and why that one, where there are several.
fn choice(record: &Record) -> Option<(usize, Option<String>)> {
    let last = record.trials.len().checked_sub(1)?;
    if record.header.is_of_one_trial() || last == 0 {
        return Some((last, None));
    }
    let lossy = |counts: &dyn Fn(&TrialLine) -> bool| {
        let trials = record.trials.iter().enumerate();
        let lossy = trials.filter(|(_, trial)| trial.lost.0 > 0 && counts(trial));
        lossy.min_by(|(_, a), (_, b)| a.intended_load_pps.total_cmp(&b.intended_load_pps)).map(|(at, _)| at)
    };
    let is_valid = |trial: &TrialLine| !trial.void && !trial.caveats.iter().any(CaveatLine::is_invalidating);
    let (at, why) = if let Some(at) = lossy(&is_valid) {
        (at, "the lowest load that lost packets in a valid trial")
    } else if let Some(at) = lossy(&|trial| !trial.void) {
        (
            at,
            "the lowest load that lost packets; no trial that lost some is valid as a judgement of the target",
        )
    } else if let Some(at) = lossy(&|_| true) {
        (at, "the lowest load that lost packets; no trial that lost some counts")
    } else {
        (last, "the last one; none of them lost packets")
    };
    let load = Rate::from_millipps((record.trials[at].intended_load_pps * 1000.0).round() as u64);
    let load = load_in(load, record.header.load_unit);
    let of = number_of(record.trials.len() as u64, "trial");
    Some((at, Some(format!("trial {} of {of}, at {load}: {why}", record.trials[at].number))))
}

/// What speaks against a trial's numbers.
fn doubts(trial: &Trial) -> Doubts {
    let mut doubts = Doubts { not_the_targets: trial.lost_by_us(), ..Doubts::default() };
    for caveat in &trial.caveats {
        match *caveat {
            Caveat::CountersShared { beyond, unplaced } => {
                (doubts.beyond, doubts.unplaced) = (beyond, unplaced)
            }
            Caveat::OthersCame { dropped, came } => doubts.others = dropped.max(came),
            Caveat::AnswersLimited { .. } => doubts.limited = true,
            _ => {}
        }
    }
    doubts
}

/// The explanation of a record whose packets were kept; `None` where there is nothing to explain from. Why what was kept
/// cannot be read becomes a doubt of the record.
pub fn explanation_of(path: &Path, record: &mut Record) -> Option<Explanation> {
    record.trials.last()?.packets.as_ref()?;
    let beside = packets_beside(path);
    match explain(path) {
        Ok(explained) => Some(explained.line.explanation),
        Err(why) => {
            if beside.exists() {
                let text = format!("the trial's loss is not explained: {why}");
                record.reading.push(CaveatLine::said("packets_unread", text));
            }
            None
        }
    }
}

fn packets(path: &Path, record: &Record, trial: &TrialLine) -> Result<PacketFile, Failure> {
    let Some(kept) = &trial.packets else { return Err(not_kept(path, record, trial)) };
    let beside = packets_beside(path);
    let bytes =
        reading::file_bytes(&beside, reading::MOST_PACKETS).map_err(|why| match why.is_missing() {
            true => not_kept(path, record, trial),
            false => why.of(&beside),
        })?;
    let file = PacketFile::read(&bytes)
        .map_err(|why| Failure::environment(format!("{}: {why}", beside.display())))?;
    let is_same = kept.identity == PacketFile::identity(&bytes);
    if !is_same || (file.trial, file.seed) != (trial.number, trial.seed) {
        return Err(Failure::environment(format!("{} is of another trial, or damaged", beside.display()))
            .advice(
                "a record and its file of packets belong together: put back the one that was written with it",
            ));
    }
    Ok(file)
}

/// Of a target whose trials never keep the times of packets, however often they are offered: that, and what else there is.
fn never_kept(path: &Path, record: &Record, trial: &TrialLine) -> Option<Failure> {
    let target = &record.header.target;
    let what = record.header.load_unit.many();
    let (why, ask) = if is_counted_elsewhere(target) {
        let why =
            "only the program that performed its trials knows where packets went: it answers with counts";
        (why.to_owned(), "ask that program; ")
    } else if trial.packets.is_some() || Target::parse(target).map_or(true, |target| target.keeps_times()) {
        return None;
    } else if record.header.load_unit == LoadUnit::Requests {
        let why = format!(
            "the program that sends its {what} counts them and keeps no times of single ones, so why some were lost is not known"
        );
        (why, "see what the server logged at that time; ")
    } else {
        (
            format!(
                "no times of single {what} are kept of such a target, so why some were lost is not known"
            ),
            "",
        )
    };
    let report = quoted_path(path);
    let advice = format!("{ask}what was counted is shown by  dropline report {report}");
    Some(Failure::environment(format!("{}: {why}", path.display())).advice(advice))
}

/// There is no file: says how to get one.
fn not_kept(path: &Path, record: &Record, trial: &TrialLine) -> Failure {
    let broken = record.caveats().into_iter().find(|caveat| caveat.code == BROKEN);
    let ended = broken.map_or_else(String::new, |why| format!("\n  the search ended early: {}", why.text));
    let failure = |why: &str| Failure::environment(format!("{}: {why}{ended}", path.display()));
    let said = |code: &str| {
        trial.caveats.iter().find(|caveat| caveat.code == code).map(|caveat| caveat.text.as_str())
    };
    let port = record.header.target.rsplit(':').next().unwrap_or("PORT");
    if let (None, Some(why)) = (&trial.packets, said("packets_not_kept")) {
        return failure(why);
    }
    match &trial.packets {
        Some(line) => {
            failure(&format!("the times of its packets were to be kept in {}, which is not there", line.file))
                .advice("move it back beside the record; where the disk was full it was never written")
        }
        None if said("watch_unfinished").is_some() && said("arrivals_unseen").is_none() => failure(
            "the watch was killed, and the times of packets, by which loss is explained, are kept at its end alone",
        )
        .advice(format!(
            "what it counted is there:  dropline report {}; watch once more, and end it by Ctrl-C or --duration:  \
             dropline watch --port {port}",
            quoted_path(path)
        )),
        None if record.header.verb == "watch" => {
            failure("its arrivals were not seen, and without them only drops are known").advice(format!(
                "listen in once more with CAP_NET_RAW, as root has it:  dropline watch --port {port}"
            ))
        }
        None => match trial.directions.first() {
            None => failure("the times of its packets were not kept, and without them only places are known")
                .advice(format!("offer the same once more, and keep them:  {}", again(record, trial, trial.intended_load_pps))),
            Some(first) => failure(
                "of a trial in several directions the times of single frames are not kept, and without them only places are known",
            )
            .advice(format!(
                "where each direction lost frames is shown by  dropline report {} ; explain a trial in one of them, in {} by  {} , in \
                 another with what is named in the target the other way round",
                quoted_path(path),
                first.name,
                again(record, trial, first.intended_load_pps)
            )),
        },
    }
}

/// The command that offers a trial's packets once more, at a load.
fn again(record: &Record, trial: &TrialLine, load: f64) -> String {
    let profile = &record.header.profile;
    let target = Target::parse(&record.header.target).ok();
    let is_of_frames = target.as_ref().is_some_and(Target::is_of_frames);
    // Requests of a service are as long as what is asked.
    let has_size = target.is_some_and(|target| matches!(target.own_packet(), Ok(None)));
    let usual = TrafficProfile::default().packet.payload_bytes();
    let size = match has_size && profile.packet_bytes != usual {
        true if is_of_frames => format!(" --frame {}B", profile.frame_bytes),
        true => format!(" --packet {}B", profile.packet_bytes),
        false => String::new(),
    };
    format!(
        "dropline trial {}{size} --load {load:.0}pps --arrival {} --duration {}s",
        quoted(&record.header.target),
        quoted(&profile.arrival),
        trial.intended_duration_s
    )
}

fn torn(path: &Path, file: &PacketFile) -> CaveatLine {
    let (kept, missing) = (file.times.len(), file.missing);
    CaveatLine {
        code: "packets_torn".into(),
        text: format!(
            "{} was cut off or damaged: the first {} are explained, {missing} are missing",
            packets_beside(path).display(),
            number_of(kept, "packet")
        ),
        numbers: serde_json::Map::new(),
    }
}
