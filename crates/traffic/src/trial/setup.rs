//! What a measurer was told once, for all its trials.

use super::options::MeasurerOptions;
use crate::error::UdpError;
use crate::progress::Progress;
use crate::sockets::flows::Flows;
use crate::target::{Reply, UdpTarget};
use dropline_payload::service::Service;
use dropline_trial::TrafficProfile;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The target, the traffic, how it is moved, and who wants to know or to stop.
pub(crate) struct Setup {
    pub(crate) target: UdpTarget,
    pub(crate) profile: TrafficProfile,
    pub(crate) options: MeasurerOptions,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) progress: Option<Arc<Progress>>,
}

impl Setup {
    /// Whether packets come back.
    pub(crate) fn is_answered(&self) -> bool {
        self.target.reply.is_answered()
    }

    /// The service that is asked in its own protocol, where it is one.
    pub(crate) fn service(&self) -> Option<&'static Service> {
        match self.target.reply {
            Reply::Service(service) => Some(service),
            Reply::Echo | Reply::Any | Reply::None => None,
        }
    }

    /// Whether the user wants to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Threads that send, and threads that receive: each has streams of its own.
    pub(crate) fn threads(&self) -> Result<(usize, usize), UdpError> {
        let (means, streams) = (&self.options.means, self.profile.streams.len());
        let (senders, receivers) = (means.senders.unwrap_or(1), means.receivers.unwrap_or(1));
        if senders == 0 || receivers == 0 || senders.max(receivers) > streams {
            return Err(UdpError::Threads { threads: senders.max(receivers), streams });
        }
        Ok((senders, receivers))
    }

    /// What is sent, to each address.
    pub(crate) fn packets(&self) -> Vec<Flows> {
        let MeasurerOptions { sources, targets, .. } = &self.options;
        let further = targets.addresses.iter().copied();
        let all: BTreeSet<IpAddr> = further.chain([self.target.address.ip()]).collect();
        let (port, streams) = (self.target.address.port(), self.profile.streams.len());
        all.into_iter()
            .map(|address| sources.flows(SocketAddr::new(address, port), streams, targets))
            .collect()
    }

    /// What an error of a socket means, after so many packets left.
    pub(crate) fn meaning(&self, error: io::Error, sent: u64) -> UdpError {
        UdpError::of_socket(error, self.target.address, sent, self.profile.packet.payload_bytes())
    }
}
