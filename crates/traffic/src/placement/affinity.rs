//! Where a process runs, and who waits for whom.

pub use crate::sys::Farewell;
pub use rustix::process::Signal;

use crate::sys;
use rustix::process::{Pid, kill_process, kill_process_group};
use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};

/// A CPU and a priority for a process that is being started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// The CPU it stays on; `None` leaves it to the system.
    pub cpu: Option<u32>,
    /// Its priority under `SCHED_FIFO`; `None` leaves the normal one.
    pub fifo: Option<u8>,
}

/// A program that does not outlive this one, with what it started: its process group ends when this is dropped.
#[derive(Debug)]
pub struct Started {
    child: Child,
    tether: Option<sys::Tether>,
}

/// Starts a program, in a process group of its own (Ctrl-C is ours, who starts it), that does not outlive this one, even if this one is killed. To the
/// system "this one" is the thread that starts it: it must live as long as the program shall. What the program starts
/// ends with it, unless it leaves the group.
///
/// # Errors
/// If the system does not start it.
pub fn start_with_us(command: &mut Command, farewell: Farewell) -> io::Result<Started> {
    let (child, tether) = sys::start_with_us(command, farewell)?;
    Ok(Started { child, tether: Some(tether) })
}

impl Started {
    /// Sends it alone a signal.
    ///
    /// # Errors
    /// If it has ended and was waited for.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Sends it and what it started a signal.
    ///
    /// # Errors
    /// If all of them have ended.
    pub fn signal_group(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process_group(Pid::from_child(&self.child), signal)?)
    }

    /// Ends it and what it started, and waits for its end.
    pub fn end(&mut self) {
        self.tether = None;
        // One that ended already is only waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Deref for Started {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Started {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

/// Why a process did not get its seat.
#[derive(Debug, thiserror::Error)]
pub enum AffinityError {
    /// There is no such CPU here, or it is not this process's to use.
    #[error("cannot run on CPU {0}: {1}")]
    Cpu(u32, io::Error),
    /// The system does not let us go first: it takes root or CAP_SYS_NICE.
    #[error("cannot run at SCHED_FIFO priority {0}: {1}")]
    Fifo(u8, io::Error),
}

impl Seat {
    /// Moves this process there, and all that it starts from now on.
    ///
    /// # Errors
    /// If the system does not allow it.
    pub fn take(self) -> Result<(), AffinityError> {
        if let Some(cpu) = self.cpu {
            sys::run_on(&[cpu as usize]).map_err(|why| AffinityError::Cpu(cpu, why))?;
        }
        if let Some(priority) = self.fifo {
            sys::go_first(priority).map_err(|why| AffinityError::Fifo(priority, why))?;
        }
        Ok(())
    }
}
