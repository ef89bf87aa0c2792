//! What performs a trial (RFC 9971: the Measurer).

use crate::{PacketTimes, Trial, TrialInput};

/// Performs trials. The traffic profile was given when it was built; a trial gets load and duration,
/// nothing else (RFC 9971 §4.5.3).
///
/// Loss is a result; only "the trial could not be performed" is an error.
///
/// ```
/// use dropline_trial::{Measurer, Rate, Trial, TrialInput};
/// use std::convert::Infallible;
/// use std::time::Duration;
///
/// /// Forwards a thousand packets a second, and drops the rest.
/// struct Thousand;
///
/// impl Measurer for Thousand {
///     type Error = Infallible;
///
///     fn measure(&mut self, input: TrialInput) -> Result<Trial, Infallible> {
///         let offered = (input.load.as_pps() * input.duration.as_secs_f64()) as u64;
///         let forwarded = offered.min((1e3 * input.duration.as_secs_f64()) as u64);
///         let trial = Trial::new(1, input, 7);
///         Ok(Trial { intended: Some(offered), offered, forwarded, elapsed: input.duration, ..trial })
///     }
/// }
///
/// let input = TrialInput { load: Rate::pps(1250.0)?, duration: Duration::from_secs(2) };
/// let trial = Thousand.measure(input)?;
/// assert_eq!((trial.lost(), trial.loss_ratio()), (500, Some(0.2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// A function that performs trials, as a measurer. The number and the chance of its trials are whoever's who asks.
pub fn measuring<E, F: FnMut(TrialInput) -> Result<Trial, E>>(perform: F) -> Measuring<F> {
    Measuring(perform)
}

/// A function as a measurer: [`measuring`] makes one.
#[derive(Clone, Debug)]
pub struct Measuring<F>(F);

impl<E, F: FnMut(TrialInput) -> Result<Trial, E>> Measurer for Measuring<F> {
    type Error = E;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, E> {
        (self.0)(input)
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
