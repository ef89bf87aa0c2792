//! Why frames could not be sent from one interface to the other, or not be judged.

use dropline_trial::number_of;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// Why a trial between two interfaces could not be performed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// A word that names no port.
    #[error("{0:?} is not an interface; write IF or NETNS/IF")]
    Word(String),
    /// A namespace is not there, or may not be entered.
    #[error("the network namespace {name} cannot be entered: {why}")]
    Namespace {
        /// As `ip netns` lists it.
        name: String,
        /// What the system said.
        why: io::Error,
    },
    /// An interface is not there.
    #[error("there is no interface {port}: {why}")]
    NoInterface {
        /// As it was named.
        port: String,
        /// What the system said.
        why: io::Error,
    },
    /// It is one that frames cannot leave or come out at.
    #[error("{port} {what}")]
    Unfit {
        /// As it was named.
        port: String,
        /// What it is, or is not.
        what: &'static str,
    },
    /// Somebody uses it: frames of a trial would be among theirs.
    #[error("{port} {how}: others use it, and a trial would fill what they use")]
    InUse {
        /// As it was named.
        port: String,
        /// How that is known.
        how: String,
    },
    /// Both ends are the same.
    #[error("{0} is named twice: frames leave at one interface and come out at another")]
    Same(String),
    /// The privilege lacks.
    #[error("{doing} takes root, or {capabilities}: {why}")]
    Privilege {
        /// What was tried.
        doing: &'static str,
        /// What it takes.
        capabilities: &'static str,
        /// What the system said.
        why: io::Error,
    },
    /// The system refused something else.
    #[error("{doing} failed: {why}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What it said.
        why: io::Error,
    },
    /// The router that is to forward frames does not answer.
    #[error("nobody behind {from} says that he has {hop}")]
    NoNextHop {
        /// The address that was asked for.
        hop: IpAddr,
        /// Where frames leave.
        from: String,
    },
    /// Nothing came out at the other end.
    #[error("of {sent} that left by {from}, none came out at {to} within {} s", .waited.as_secs_f64())]
    NothingCame {
        /// How many frames were tried.
        sent: String,
        /// Where they left.
        from: String,
        /// Where they should have come out.
        to: String,
        /// How long they were waited for.
        waited: Duration,
    },
    /// Frames had to end before any left.
    #[error("{0}, before a frame of the trial had left")]
    Astray(String),
    /// The engine that was asked for does not work here.
    #[error("the engine {engine} does not work from {from} to {to}: {why}")]
    Engine {
        /// Its name.
        engine: &'static str,
        /// Where frames leave.
        from: String,
        /// Where they come out.
        to: String,
        /// What was seen.
        why: String,
    },
    /// What the profile asks for that frames here cannot be.
    #[error("{0}")]
    Profile(String),
    /// Not one frame is due in the time, or more than there is room for.
    #[error("{} would be due in the trial, and {most} at most have room: a lower load or a shorter --duration", number_of(*.frames, "frame"))]
    Frames {
        /// At least so many.
        frames: u64,
        /// So many have room.
        most: u64,
    },
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(io::Error),
}

impl LinkError {
    /// What was tried and what the system said; what a privilege lacks for is said as that.
    pub(crate) fn of(doing: &'static str, capabilities: &'static str) -> impl Fn(io::Error) -> Self {
        move |why| match why.raw_os_error() {
            Some(libc::EPERM) => Self::Privilege { doing, capabilities, why },
            _ => Self::System { doing, why },
        }
    }
}
