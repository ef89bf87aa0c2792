//! What the replies of a service said.

use std::collections::BTreeMap;

/// Replies of a trial by what they said: each request that was answered, once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replied {
    /// By class, as the protocol calls it; one that no reply had is not there.
    pub classes: BTreeMap<String, u64>,
    /// Payload bytes of all of them, where they were counted.
    pub bytes: Option<u64>,
}

/// What a class of replies means for who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassMeaning {
    /// The service did what it is there for.
    Answered,
    /// The service kept to a rule of its own: it asks to come less often, or by another path.
    Refused,
    /// The service could not do it.
    Failed,
}
