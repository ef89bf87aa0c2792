//! What in a record follows from its target's kind: the file holds the target's word, and who reads it may not have
//! what measured it.

/// What follows from a kind of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetKind {
    /// How the words of its targets begin.
    pub prefix: &'static str,
    /// Whether the seed of each trial follows from the one in the header.
    pub seeds_trials: bool,
    /// Whether each trial intends as many packets as its load, its duration and its arrival process say.
    pub intends_its_load: bool,
    /// Whether its requests may be shorter than Dropline's own packets.
    pub asks_in_few_bytes: bool,
    /// Whether it is a system in virtual time: no packet moved, and no clock ran.
    pub is_simulated: bool,
    /// Whether frames go in at one interface and come out at another: nothing comes back, and no socket takes anything.
    pub is_of_frames: bool,
    /// Whether a program or a function of somebody's performed the trials: it alone knows more than it counted.
    pub is_of_a_program: bool,
    /// Whether the slices of a trial have all its packets.
    pub slices_all: bool,
    /// Whether a payload of the user's own may be asked with (`payload=`).
    pub takes_payload: bool,
}

const fn kind(prefix: &'static str, seeds_trials: bool, intends_its_load: bool) -> TargetKind {
    TargetKind {
        prefix,
        seeds_trials,
        intends_its_load,
        asks_in_few_bytes: false,
        is_simulated: false,
        is_of_frames: false,
        is_of_a_program: false,
        slices_all: false,
        takes_payload: false,
    }
}

/// Every kind that a target's word can begin with.
pub const TARGET_KINDS: [TargetKind; 16] = [
    TargetKind { slices_all: true, takes_payload: true, ..kind("udp://", true, true) },
    kind("dns://", true, true),
    TargetKind { asks_in_few_bytes: true, ..kind("memcached://", true, true) },
    kind("ntp://", true, true),
    kind("stun://", true, true),
    kind("stamp://", true, true),
    TargetKind { is_of_frames: true, ..kind("link:", true, true) },
    TargetKind { is_of_a_program: true, ..kind("exec:", true, true) },
    TargetKind { is_simulated: true, ..kind("sim:", true, true) },
    kind("http://", true, false),
    kind("heartbeat://", true, true),
    TargetKind { is_of_a_program: true, ..kind("measurer:", true, false) },
    kind("wakeup:", false, false),
    kind("jack:", false, false),
    kind("flowgraph:", false, false),
    kind("replay:", false, false),
];

impl TargetKind {
    /// That of a target's word; `None` for a word that this program does not know.
    pub fn of(target: &str) -> Option<Self> {
        TARGET_KINDS.into_iter().find(|kind| target.starts_with(kind.prefix))
    }
}
