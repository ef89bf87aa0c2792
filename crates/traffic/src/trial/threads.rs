//! The threads of a trial: those that send, those that receive, and their end.

use super::logs::{ReceiverLog, SenderLog};
use crate::error::UdpError;
use crate::means::ReceiveMeans;
use crate::packet::trial_state::TrialState;
use crate::placement::cpus::Placement;
use crate::receive::reading::Reading;
use crate::receive::received::Received;
use crate::receive::receiver::{Receiver, Tools};
use crate::send::schedule::Schedule;
use crate::send::send_queue::SendQueue;
use crate::send::sender::{Sender, Task};
use crate::send::sent::Sent;
use crate::send::spread::Spread;
use crate::sys::{Exit, ReceiveBatch};
use dropline_stats::Cut;
use dropline_trial::Drain;
use std::io;
use std::net::UdpSocket;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// One sender for each log, each with as many of the streams as the others.
pub(crate) fn senders<'a>(
    task: Task<'a>,
    spread: &'a Spread,
    mut exits: Vec<Exit<'a>>,
    queues: &'a mut [SendQueue],
    logs: Vec<SenderLog<'a>>,
) -> Vec<Sender<'a>> {
    let mut begin = 0;
    let sender = |(number, (queues, (log, departed))): (usize, (&'a mut [SendQueue], SenderLog<'a>))| {
        let streams = begin..begin + queues.len();
        begin = streams.end;
        let exits = exits.drain(..queues.len()).collect();
        Sender { number, streams, exits, queues, turns: spread.turns(), task, log, departed: Some(departed) }
    };
    queues.chunks_mut(queues.len().div_ceil(logs.len())).zip(logs).enumerate().map(sender).collect()
}

/// What all receivers of a trial have in common.
pub(crate) struct Receivers<'a> {
    pub(crate) reading: Reading<'a>,
    pub(crate) cut: Cut,
    /// Replies that there is room for.
    pub(crate) expected: u64,
    pub(crate) means: ReceiveMeans,
    /// Nothing comes back but what the network reports.
    pub(crate) one_way: bool,
}

impl<'a> Receivers<'a> {
    /// One receiver for each log, each with as many of the sockets as the others; `sender_of` each socket.
    pub(crate) fn of(
        &self,
        sockets: &'a [UdpSocket],
        sender_of: &'a [usize],
        batches: &'a mut [ReceiveBatch],
        logs: Vec<ReceiverLog<'a>>,
    ) -> io::Result<Vec<Receiver<'a>>> {
        let each = sockets.len().div_ceil(logs.len());
        let parts = sockets.chunks(each).zip(sender_of.chunks(each));
        let mut first_stream = 0;
        let receiver = |(((sockets, senders), batch), (log, arrived)): (((&'a [UdpSocket], _), _), _)| {
            let Self { reading, cut, expected, .. } = *self;
            let tools = Tools { batch, log, arrived, reading, first_stream, cut, expected };
            first_stream += sockets.len();
            let mut receiver = Receiver::new(sockets, senders, tools, self.means, self.one_way);
            receiver.clear_backlog().map(|()| receiver)
        };
        parts.zip(batches).zip(logs).map(receiver).collect()
    }
}

/// Runs a thread for each sender and each receiver, the first of the receivers on this one, until all have ended.
pub(crate) fn run(
    sending: Vec<(Sender<'_>, Schedule)>,
    receiving: Vec<Receiver<'_>>,
    placement: &Placement,
    flight: &TrialState<'_>,
    end_ns: u64,
    drain: Option<Drain>,
) -> Result<(Sent, io::Result<Received>), UdpError> {
    std::thread::scope(|scope| {
        let mut senders = Vec::new();
        for (sender, schedule) in sending {
            senders.push(start(scope, "sender", flight, move || sender.run(schedule, flight))?);
        }
        let run = |number, receiver: Receiver<'_>| {
            let _settled = placement.settle_receiver(number);
            receiver.run(flight, end_ns, drain)
        };
        let mut receiving = receiving.into_iter().enumerate();
        let (_, first) = receiving.next().expect("there is at least one receiver");
        let mut others = Vec::new();
        for (number, receiver) in receiving {
            others.push(start(scope, "receiver", flight, move || run(number, receiver))?);
        }
        let mut received = run(0, first);
        for other in others {
            match (&mut received, join(other)) {
                (Ok(all), Ok(other)) => all.merge(other),
                (Ok(_), Err(error)) => received = Err(error),
                (Err(_), _) => {}
            }
        }
        let mut sent = senders.into_iter().map(join);
        let mut all = sent.next().expect("there is at least one sender");
        sent.for_each(|other| all.merge(other));
        Ok((all, received))
    })
}

/// What cannot be started ends the others.
fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    flight: &TrialState<'_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, UdpError> {
    let started = Builder::new().name(name.into()).spawn_scoped(scope, work);
    started.inspect_err(|_| flight.halt()).map_err(UdpError::Thread)
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
