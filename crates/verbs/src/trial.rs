//! The verb `trial`: one trial, kept.

use crate::observer::Watcher;
use crate::search::{Conditions, Finished, load_is};
use dropline_archive::record_file::{Keeper, Output, events_beside};
use dropline_archive::{clock, environment};
use dropline_distributions::drift;
use dropline_failure::Failure;
use dropline_record::{
    Count, Header, PacketFile, PacketsLine, ProfileLine, Purpose, Record, TrialLine, schema,
};
use dropline_targets::{Opening, Target};
use dropline_trial::{Caveat, PacketTimes, TrafficProfile, Trial, TrialInput};
use std::sync::Arc;
use std::time::Duration;

/// One trial, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialPlan {
    /// What is measured.
    pub target: Target,
    /// What the packets look like.
    pub profile: TrafficProfile,
    /// Load and duration.
    pub input: TrialInput,
    /// Packets whose times are kept one by one beside the record; 0 keeps none.
    pub keep_packets: usize,
}

/// Performs one trial and keeps it.
///
/// # Errors
/// If it could not be performed. One that could not be kept is told all the same, with the failure beside it.
pub fn trial(
    plan: &TrialPlan,
    output: &Output,
    conditions: &Conditions,
    watcher: &mut dyn Watcher,
) -> Result<Finished, Failure> {
    let opening = Opening {
        first_trial: 1,
        asked_below: 0,
        stop: Arc::clone(&conditions.stop),
        patience: conditions.patience,
        slices: conditions.slices,
        keep_packets: plan.keep_packets,
        keep_events: output.path().filter(|_| plan.keep_packets > 0).map(events_beside),
        moving: conditions.moving.clone(),
        live: watcher.live(),
        together: None,
        program: conditions.program.clone(),
    };
    let mut opened = plan.target.open(&plan.profile, opening)?;
    let mut environment = environment::capture(&conditions.command_line);
    environment.reply_buffer_bytes = opened.reply_buffer_bytes;
    let mut profile = ProfileLine::from(&plan.profile);
    if plan.target.paces_itself() {
        profile.arrival = "own pace".into();
    }
    let header = Header {
        schema: schema::CURRENT.into(),
        verb: "trial".into(),
        started: clock::now_utc(),
        target: plan.target.to_string(),
        target_note: opened.note,
        asked_digest: plan.target.asked_digest().unwrap_or_default(),
        load_unit: plan.target.load_unit(),
        load_is: load_is(&plan.target, &plan.profile),
        profile,
        search: None,
        generator: opened.generator,
        on: plan.target.on().unwrap_or_default(),
        bursts: None,
        generator_limit_pps: None,
        environment,
    };
    watcher.opened(&header.target, header.target_note.as_deref());
    let mut keeper = Keeper::begin(output, &header)?;
    watcher.begins(1, plan.input, "trial");
    let mut trial = opened.measurer.measure(plan.input).inspect_err(|_| {
        keeper.remove_empty();
    })?;
    let arrival = header.profile.arrival.clone();
    let times = opened.measurer.take_packets().filter(|_| plan.keep_packets > 0);
    let (line, kept) = keep(&mut keeper, &mut trial, times.as_ref(), |trial| TrialLine {
        course: drift::of_trial(trial),
        ..TrialLine::new(trial, &header.target, &arrival, Purpose::Trial, Duration::ZERO)
    });
    let failure = opened.measurer.finish().and(kept).err();
    watcher.ended(&line, None);
    let mut record = Record::begin(header);
    record.trials.push(line);
    Ok(Finished { record, failure })
}

/// Keeps a trial with the times of its packets. What cannot be kept is there to be told all the same.
///
/// The line comes first: it is small and says what was counted, and the times of the packets may fill the disk.
pub(crate) fn keep(
    keeper: &mut Keeper,
    trial: &mut Trial,
    times: Option<&PacketTimes>,
    line_of: impl FnOnce(&Trial) -> TrialLine,
) -> (TrialLine, Result<(), Failure>) {
    let (file, begun) = match times.map(|times| (keeper.packets(), times)) {
        Some((Ok(file), times)) => (file.map(|file| (file, times)), Ok(())),
        Some((Err(why), _)) => {
            let text = format!("the times of its packets were not kept, so nothing explains its loss: {why}");
            trial.caveats.push(Caveat::Reported { code: "packets_not_kept".into(), text });
            (None, Err(why))
        }
        None => (None, Ok(())),
    };
    let file = file.map(|(file, times)| (file, times, PacketFile::to_bytes(trial.number, trial.seed, times)));
    let packets = file.as_ref().map(|(file, times, bytes)| {
        let (kept, left_out) = (times.len() as u64, times.left_out());
        if left_out > 0 {
            trial.caveats.push(Caveat::PacketsLeftOut { kept, left_out });
        }
        PacketsLine {
            file: file.name(),
            kept: Count(kept),
            left_out: Count(left_out),
            identity: PacketFile::identity(bytes),
        }
    });
    let line = TrialLine { packets, ..line_of(trial) };
    if let Err(why) = keeper.trial(&line) {
        if let Some((file, ..)) = file {
            file.discard();
        }
        let left = if keeper.remove_empty() { ", and no file is left" } else { "" };
        return (
            line,
            Err(why.advice(format!("what was counted is told all the same{left}; to keep it, {ROOM}"))),
        );
    }
    match begun.and_then(|()| file.map_or(Ok(()), |(file, _, bytes)| file.write(&bytes))) {
        Ok(()) => (line, Ok(())),
        // No command that needs them is advised.
        Err(why) => (TrialLine { packets: None, ..line }, Err(why.advice(without_packets()))),
    }
}

/// How to keep what was not kept.
const ROOM: &str = "make room for it (free some space; ulimit -f unlimited), or name a file elsewhere (-o FILE), and measure again";

/// Said where all that was counted is kept.
fn without_packets() -> String {
    format!(
        "the record is whole; the times of its packets alone, which dropline explain needs, are not kept: to keep them too, {ROOM}"
    )
}
