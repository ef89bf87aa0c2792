//! Addresses of other hosts that consented: packets may leave this machine for these, and for no other.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// As long as it lives, packets of this process may go to an address off this machine. Whoever makes one has checked that
/// the host which has the address consented.
#[derive(Debug)]
pub struct Consented(SocketAddr);

/// Hosts that a packet may pass on its way to one that consented: what is led astray ends somewhere.
pub(super) const HOPS: u32 = 16;

static TO: Mutex<Vec<SocketAddr>> = Mutex::new(Vec::new());

fn to() -> MutexGuard<'static, Vec<SocketAddr>> {
    TO.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Consented {
    /// Packets may go to this address and port.
    pub fn to(address: SocketAddr) -> Self {
        let address = canonical(address);
        to().push(address);
        Self(address)
    }

    /// Whether they may now.
    pub(crate) fn is_to(address: SocketAddr) -> bool {
        to().contains(&canonical(address))
    }
}

impl Drop for Consented {
    fn drop(&mut self) {
        let mut to = to();
        if let Some(at) = to.iter().position(|address| *address == self.0) {
            to.swap_remove(at);
        }
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_is_of_one_address_and_port_and_ends() {
        let [there, other] = ["198.51.100.9:7007", "198.51.100.9:7008"].map(|text| text.parse().unwrap());
        let [first, again] = [there; 2].map(Consented::to);
        assert!(Consented::is_to(there) && !Consented::is_to(other));
        drop(first);
        assert!(Consented::is_to(there), "as long as anybody has it");
        drop(again);
        assert!(!Consented::is_to(there));
    }
}
