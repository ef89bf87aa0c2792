//! The embedded target: echoes what it receives, at the pace it is told to have.

use super::settings::{Responder, ResponderCounts};
use super::workers::{LOOK_EVERY, Workers};
use crate::error::BindError;
use crate::means::ReceiveMeans;
use crate::sys::{keep_trains, let_wait, set_receive_buffer};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;

impl Responder {
    /// Listens and serves until stopped.
    ///
    /// # Errors
    /// If the address cannot be listened at, or the configuration leaves nothing to serve with.
    pub fn start(self) -> Result<RunningResponder, BindError> {
        if self.workers == 0 {
            return Err(BindError::Zero("worker"));
        }
        let bind = |error| BindError::of_bind(error, self.listen);
        let socket = UdpSocket::bind(self.listen).map_err(bind)?;
        socket.set_nonblocking(true).map_err(bind)?;
        if self.receive == ReceiveMeans::Gro {
            keep_trains(&socket).map_err(BindError::system("asking for whole trains"))?;
        }
        let receive_buffer_bytes = match self.buffer {
            Some(bytes) => set_receive_buffer(&socket, usize::try_from(bytes).unwrap_or(usize::MAX))
                .map_err(BindError::system("setting the receive buffer"))?,
            None => socket2::SockRef::from(&socket)
                .recv_buffer_size()
                .map_err(BindError::system("reading the receive buffer"))?,
        };
        let address = socket.local_addr().map_err(bind)?;
        let desk = Arc::new(Workers::new(socket, address, self));
        let mut running =
            RunningResponder { desk, receive_buffer_bytes: receive_buffer_bytes as u64, threads: Vec::new() };
        let from_socket = self.queue == 0 && !self.service_time.is_zero();
        if !from_socket && !self.receive.spins() {
            let_wait(running.desk.socket(), LOOK_EVERY).map_err(bind)?;
        }
        if !from_socket {
            running.start_thread("receiver", Workers::receive_all)?;
        }
        if !self.service_time.is_zero() {
            let work = if from_socket { Workers::serve_from_socket } else { Workers::serve_all };
            for _ in 0..self.workers {
                running.start_thread("worker", work)?;
            }
        }
        Ok(running)
    }
}

/// A responder at work; dropping it stops it.
#[derive(Debug)]
pub struct RunningResponder {
    desk: Arc<Workers>,
    receive_buffer_bytes: u64,
    threads: Vec<JoinHandle<()>>,
}

impl RunningResponder {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.desk.address
    }

    /// Receive buffer that the system really reserved, in bytes.
    pub fn receive_buffer_bytes(&self) -> u64 {
        self.receive_buffer_bytes
    }

    /// What it did so far.
    pub fn counts(&self) -> ResponderCounts {
        self.desk.counts()
    }

    /// When each packet was read from the socket and when it was served, in ns by the machine's monotonic
    /// clock; as far as they are kept.
    pub fn times(&self) -> Vec<[u64; 2]> {
        self.desk.times()
    }

    /// Stops it and says what it did. What still waits is not served any more.
    pub fn stop(mut self) -> ResponderCounts {
        self.close();
        self.desk.counts()
    }

    fn start_thread(&mut self, name: &str, work: fn(&Workers)) -> Result<(), BindError> {
        let desk = Arc::clone(&self.desk);
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || work(&desk))
            .map_err(BindError::Thread)?;
        self.threads.push(thread);
        Ok(())
    }

    fn close(&mut self) {
        self.desk.close();
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join()
                && !std::thread::panicking()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Drop for RunningResponder {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_responder_with_nothing_to_serve_with_is_refused() {
        let start = |responder: Responder| responder.start().map(|_| ()).unwrap_err().to_string();
        assert!(start(Responder { workers: 0, ..Responder::default() }).contains("worker"));
    }

    #[test]
    fn a_place_that_cannot_be_listened_at_says_why() {
        let taken = Responder::default().start().unwrap();
        let again = Responder { listen: taken.address(), ..Responder::default() }.start();
        assert!(matches!(again, Err(BindError::InUse(address)) if address == taken.address()));
        let foreign = Responder { listen: "192.0.2.1:0".parse().unwrap(), ..Responder::default() }.start();
        assert!(matches!(foreign, Err(BindError::NotAvailable(_))));
    }
}
