//! What performs a trial (RFC 9971: the Measurer).

use crate::{PacketTimes, Trial, TrialInput};

/// Performs trials. The traffic profile was given when it was built; a trial gets load and duration,
/// nothing else (RFC 9971 §4.5.3).
///
/// Loss is a result; only "the trial could not be performed" is an error.
pub trait Measurer {
    /// Why a trial could not be performed.
    type Error;

    /// Performs one trial.
    ///
    /// # Errors
    /// If it could not be performed; what was measured before stays valid. A trial that the user stopped when something
    /// had been counted is a trial ([`Trial::is_interrupted`]).
    fn measure(&mut self, input: TrialInput) -> Result<Trial, Self::Error>;

    /// Says that no further trial is asked for; what performs them says then whether all of them hold.
    ///
    /// # Errors
    /// If what was measured cannot be relied on.
    fn finish(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The times of each packet of the last trial, once; `None` where they are not kept.
    fn take_packets(&mut self) -> Option<PacketTimes> {
        None
    }
}

impl<M: Measurer + ?Sized> Measurer for Box<M> {
    type Error = M::Error;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Self::Error> {
        (**self).measure(input)
    }

    fn finish(&mut self) -> Result<(), Self::Error> {
        (**self).finish()
    }

    fn take_packets(&mut self) -> Option<PacketTimes> {
        (**self).take_packets()
    }
}
