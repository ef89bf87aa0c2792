//! What an explanation lacks and what speaks against it, in words: for terminal and page alike.

use crate::traffic::is_of_frames;
use dropline_record::explanation::{Explanation, Lack};
use dropline_record::{CaveatLine, Record};

/// Whether a doubt decides what an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It stands behind the answer.
    Decides,
    /// It is told where all is.
    Beside,
}

impl Weight {
    /// Whether a lack decides what the answer is worth; the others only say where a number comes from.
    pub(crate) fn of_lack(lack: Lack) -> Self {
        match lack {
            Lack::BufferNotSeen | Lack::LeftByApp | Lack::StallsUnexplained => Self::Beside,
            _ => Self::Decides,
        }
    }

    /// The same of a caveat.
    pub(crate) fn of_caveat(caveat: &CaveatLine) -> Self {
        const DECIDE: [&str; 11] = [
            "answers_limited",
            "answers_unseen",
            "arrivals_missed",
            "counters_shared",
            "fell_silent",
            "others_came",
            "packets_torn",
            "places_unseen",
            "replies_unlike",
            "target_starved",
            "target_unreachable",
        ];
        match caveat.is_disturbing() || caveat.is_invalidating() || DECIDE.contains(&caveat.code.as_str()) {
            true => Self::Decides,
            false => Self::Beside,
        }
    }
}

/// What an explanation lacks, in words, with what to do.
pub(crate) fn lack_words(record: &Record, found: &Explanation, lack: Lack) -> &'static str {
    match lack {
        Lack::BufferNotSeen => {
            "the target's buffer was not seen; its size is taken from what waited when packets were lost"
        }
        Lack::NoReplies => {
            "nobody saw packets come back: which were lost and how long each took is not known, only how many, \
             and what the target did between two looks"
        }
        Lack::PacketsLeftOut => "only the first packets were kept: what came later is not in the models",
        Lack::PacketsMissing => "the file of packets was cut off: what is missing is not in the models",
        Lack::ServiceNotKnown => {
            "too few packets waited for another to say how long the target takes for one"
        }
        Lack::StallsUnexplained => {
            "the target was not watched: why it stalled is not known; on this machine, and allowed to see its \
             process, dropline watches it"
        }
        Lack::LeftByApp => {
            "packets are taken to arrive when their send began, by our own clock: a sender that lost its CPU \
             in between sent later"
        }
        Lack::NotReplayed => {
            "the replay does not lose what was lost, or not while as many wait: something is not in it, so it names no cause, \
             and what would help was not tried on it; stalls shorter than the time between two looks are not seen (--every)"
        }
        Lack::CountAlone => {
            "these losses are not those of a full queue: packets were lost whatever waited, or a queue as long loses others and at \
             other times, no better than at random: so no cause is named, and what would help was not tried"
        }
        Lack::CpuNotSeen => {
            "how long the target's threads ran and waited for a CPU was not seen, so whether it lacked one is not known: run \
             dropline as the target's user or as root, on the target's machine"
        }
        Lack::OwnTimeNotKnown => {
            "what the target's busiest thread ran and waited for a CPU does not fit into the time that it takes for a packet, so \
             whether it lacked a CPU is not known: offer the load once more while nothing else runs on its CPU"
        }
        Lack::OthersCame => {
            "packets of others came to the target's socket, or may have, and the replay knows only the trial's: so neither the \
             cause nor what would help is known; stop the others, another trial say, and measure again"
        }
        Lack::TimesNotKept if record.header.on.is_some() => {
            "agents keep no times of single packets, so at which hosts and places packets were lost is all that is known: for why they \
             were lost there, offer the same load to that host alone without --on, and explain that record"
        }
        Lack::TimesNotKept if found.lost_at.is_none() => {
            "the times of a search's packets are not kept, so neither where nor why they were lost is known: offer this load \
             once more with dropline trial, and explain that record"
        }
        Lack::AnswersLimited => {
            "a limit of the service's answers has a part in this loss, and no model has that: switch it off for this address, and \
             measure again"
        }
        Lack::TimesNotKept => {
            "the times of a search's packets are not kept, and without them only places are known: offer this load once more \
             with dropline trial, and explain that record"
        }
        Lack::PacedElsewhere => {
            "replies came as far apart as something else on the path let them, a queueing discipline say: a server as slow as \
             that would have lost packets in front of it, and none were; how long it takes is not known from them"
        }
        Lack::PacedByQueue => {
            "a queue on the path to the target was full, and replies came as far apart as it let packets through: how long \
             the target takes is not known from them (tc -s qdisc show has the queues of an interface)"
        }
        Lack::PacedByReturnQueue => {
            "a queue on the path back was full, and replies came as far apart as it let them through: how long the target \
             takes is not known from them (tc -s qdisc show has the queues of an interface)"
        }
        Lack::PaceNotKnown => {
            "replies came far further apart than the CPU time that the target spent on a packet, and next to nothing waited \
             at its socket: a queue on the path there or back may have paced them, or one inside the target; how long it \
             takes is not known from them (tc -s qdisc show has the queues of an interface)"
        }
        Lack::ElsewhereLost if is_of_frames(record) => {
            "a device between two interfaces loses frames at the places that are named: the models are of a program that takes packets \
             from a queue"
        }
        Lack::ElsewhereLost if found.model.is_some_and(|model| model.measured == 0) => {
            "none of the loss is where packets wait for the target, at its socket and in its own queue, and the models are of \
             these alone"
        }
        Lack::ElsewhereLost => {
            "part of the loss is not where packets wait for the target, at its socket and in its own queue: the models are \
             of these alone"
        }
    }
}
