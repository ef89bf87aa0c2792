//! What an explanation lacks.

use super::{BufferSeen, Evidence};
use crate::service_time::Served;
use schemars::JsonSchema;
use serde::Serialize;

/// What an explanation lacks, and so may be wrong about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// The memory of the target's socket was not seen: its size is taken from the backlog of lost packets.
    BufferNotSeen,
    /// Nobody saw packets come back: not known which were lost, when each was served, when the server stalled.
    NoReplies,
    /// Packets after the first ones were not kept.
    PacketsLeftOut,
    /// The file of packets was cut off.
    PacketsMissing,
    /// Too few packets waited: the service time is not known.
    ServiceNotKnown,
    /// The target was not watched: why it stalled is not known.
    StallsUnexplained,
    /// Packets left when their system call began; the kernel may have been later.
    LeftByApp,
    /// A server as slow as its replies came would have lost packets where they wait, and lost none: something else on the way
    /// paced them.
    PacedElsewhere,
    /// Packets were lost in a queue on the way to the target, which let the others through at its own pace.
    PacedByQueue,
    /// The same on the way back.
    PacedByReturnQueue,
    /// The target spent far less CPU time on a packet than its replies were apart, and what was on its way did not wait at its
    /// socket: its pace may be a queue's on the way.
    PaceNotKnown,
    /// A part of the loss is elsewhere than where packets wait for the server: no model has it.
    ElsewhereLost,
    /// The replay loses another number than was lost, or has another number waiting when packets are lost: it says neither the
    /// cause nor what would help.
    NotReplayed,
    /// Packets were lost inside the target's program whatever waited, or a replay of a full queue loses as many, but other ones and
    /// at other times, no better than chance: the program may drop packets by itself.
    CountAlone,
    /// How long the busiest thread of the target ran, and waited for a CPU, was not seen: how fast it would be on a CPU of its
    /// own is known only to be between its pace and anything faster.
    CpuNotSeen,
    /// What the busiest thread of the target ran, and waited for a CPU, does not fit into the pace at which it served: how fast it
    /// would be on a CPU of its own is not known.
    OwnTimeNotKnown,
    /// Packets of others came to the target's socket, or may have: the replay knows only the trial's.
    OthersCame,
    /// A good part of the replies refused: a limit of the service's answers is why others are missing.
    AnswersLimited,
    /// The times of its packets were not kept: nothing was replayed, only places are known.
    TimesNotKept,
}

impl Lack {
    /// Those that are known before anything is replayed.
    pub(super) fn before_the_replay(
        evidence: &Evidence<'_>,
        served: Option<&Served>,
        buffer: Option<BufferSeen>,
    ) -> Vec<Self> {
        let packets = evidence.packets;
        if packets.is_empty() && evidence.offered > 0 {
            // Where nothing was lost, nothing lacks.
            return if evidence.lost > 0 { vec![Self::TimesNotKept] } else { Vec::new() };
        }
        let elsewhere = evidence.lost.saturating_sub(evidence.measured_by_model());
        let is_stalled = served.is_some_and(|served| served.stalls.total_ns() > 0);
        let known = [
            (Self::NoReplies, packets.returns.is_none()),
            (Self::PacketsLeftOut, packets.left_out() > 0),
            (Self::ServiceNotKnown, packets.returns.is_some() && served.is_none()),
            (Self::BufferNotSeen, buffer.is_none_or(|buffer| buffer.inferred && !buffer.own_queue)),
            (Self::StallsUnexplained, evidence.watched.is_none() && is_stalled),
            (Self::ElsewhereLost, elsewhere * 50 > evidence.lost),
            (Self::OthersCame, evidence.doubts.others > 0 && evidence.lost > 0),
            (Self::AnswersLimited, evidence.doubts.limited),
            (Self::LeftByApp, packets.departures.stamp == dropline_trial::Stamp::App),
        ];
        known.into_iter().filter(|(_, is)| *is).map(|(lack, _)| lack).collect()
    }
}
