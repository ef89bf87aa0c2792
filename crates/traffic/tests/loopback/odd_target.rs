//! Targets that misbehave on purpose.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A target that does as its function says with each packet.
pub(crate) struct OddTarget {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl OddTarget {
    /// `serve` gets the socket, the number of the packet (from 0), its bytes and its source.
    pub(crate) fn start(mut serve: impl FnMut(&UdpSocket, u64, &[u8], SocketAddr) + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let address = socket.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut bytes = vec![0; 65_535];
            let mut received = 0;
            while !stopped.load(Ordering::Relaxed) {
                if let Ok((length, source)) = socket.recv_from(&mut bytes) {
                    serve(&socket, received, &bytes[..length], source);
                    received += 1;
                }
            }
            received
        });
        Self { address, stop, thread: Some(thread) }
    }

    /// Stops it; how many packets it received.
    pub(crate) fn stop(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for OddTarget {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
