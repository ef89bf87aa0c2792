//! What connects namespaces: pairs of interfaces, bridges, bottlenecks.

use crate::{LabError, Namespace};
use std::net::Ipv4Addr;

/// One end of a pair of interfaces.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Where it is.
    pub namespace: &'a Namespace,
    /// Its name there, at most 15 bytes.
    pub device: &'a str,
    /// Its address and prefix, `10.9.0.1/24`; without one it is up all the same.
    pub address: Option<&'a str>,
}

/// Joins two namespaces by a pair of interfaces; what leaves one arrives at the other.
///
/// # Errors
/// If a name is taken, or this user may not.
pub fn connect(a: End<'_>, b: End<'_>) -> Result<(), LabError> {
    let far = ["peer", "name", b.device, "netns", b.namespace.name()];
    a.namespace.ip(&[&["link", "add", "dev", a.device, "type", "veth"], far.as_slice()].concat())?;
    for end in [a, b] {
        if let Some(address) = end.address {
            end.namespace.ip(&["addr", "add", address, "dev", end.device])?;
        }
        end.namespace.ip(&["link", "set", "dev", end.device, "up"])?;
    }
    Ok(())
}

/// Two namespaces joined by one pair of interfaces: `near` in the client's, `far` in the target's.
#[derive(Debug)]
pub struct Pair {
    /// Where the measuring program runs.
    pub client: Namespace,
    /// Where the measured one does.
    pub target: Namespace,
    /// Address of the client.
    pub client_address: Ipv4Addr,
    /// Address of the target.
    pub target_address: Ipv4Addr,
}

impl Pair {
    /// The interface of the client.
    pub const NEAR: &str = "near";
    /// The interface of the target.
    pub const FAR: &str = "far";

    /// Makes both namespaces and the link.
    ///
    /// # Errors
    /// If iproute2 is missing or this user may not.
    pub fn new() -> Result<Self, LabError> {
        let (client, target) = (Namespace::new("client")?, Namespace::new("target")?);
        connect(
            End { namespace: &client, device: Self::NEAR, address: Some("10.9.0.1/24") },
            End { namespace: &target, device: Self::FAR, address: Some("10.9.0.2/24") },
        )?;
        Ok(Self { client, target, client_address: CLIENT, target_address: TARGET })
    }
}

/// Two namespaces joined by a bridge in a third, as a device under test between two ports: `near` in the
/// client's, `far` in the target's, `to-client` and `to-target` at the bridge.
#[derive(Debug)]
pub struct Bridged {
    /// Where the measuring program runs.
    pub client: Namespace,
    /// Where the bridge is.
    pub bridge: Namespace,
    /// Where the measured program runs.
    pub target: Namespace,
    /// Address of the client.
    pub client_address: Ipv4Addr,
    /// Address of the target.
    pub target_address: Ipv4Addr,
}

/// A token bucket in front of an interface: what it has no room for is dropped (tc-tbf).
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck<'a> {
    /// Rate of the bytes that leave, Ethernet header included, in the words of tc: `8mbit`.
    pub rate: &'a str,
    /// Bytes that may leave at once.
    pub burst_bytes: u32,
    /// Bytes that may wait.
    pub limit_bytes: u32,
}

impl Bridged {
    /// The bridge's port to the client.
    pub const TO_CLIENT: &str = "to-client";
    /// The bridge's port to the target.
    pub const TO_TARGET: &str = "to-target";

    /// Makes the namespaces, the bridge and both links.
    ///
    /// # Errors
    /// If iproute2 is missing or this user may not.
    pub fn new() -> Result<Self, LabError> {
        let (client, bridge) = (Namespace::new("client")?, Namespace::new("bridge")?);
        let target = Namespace::new("target")?;
        // One that snoops tells others of its groups when it comes up.
        bridge.ip(&["link", "add", "dev", "bridge", "type", "bridge", "mcast_snooping", "0"])?;
        bridge.ip(&["link", "set", "dev", "bridge", "up"])?;
        for (namespace, device, address, port) in [
            (&client, Pair::NEAR, "10.9.0.1/24", Self::TO_CLIENT),
            (&target, Pair::FAR, "10.9.0.2/24", Self::TO_TARGET),
        ] {
            connect(
                End { namespace, device, address: Some(address) },
                End { namespace: &bridge, device: port, address: None },
            )?;
            bridge.ip(&["link", "set", "dev", port, "master", "bridge"])?;
        }
        Ok(Self { client, bridge, target, client_address: CLIENT, target_address: TARGET })
    }

    /// Puts a bottleneck between the bridge and the target, instead of the one before it.
    ///
    /// # Errors
    /// If tc refuses it.
    pub fn shape(&self, bottleneck: &Bottleneck<'_>) -> Result<(), LabError> {
        bottleneck.at(&self.bridge, Self::TO_TARGET)
    }
}

impl Bottleneck<'_> {
    /// Puts it in front of an interface, instead of the one before it.
    ///
    /// # Errors
    /// If tc refuses it.
    pub fn at(&self, namespace: &Namespace, device: &str) -> Result<(), LabError> {
        let (burst, limit) = (self.burst_bytes.to_string(), self.limit_bytes.to_string());
        let tbf = ["tbf", "rate", self.rate, "burst", &burst, "limit", &limit];
        namespace.tc(&[&["qdisc", "replace", "dev", device, "root"], tbf.as_slice()].concat())?;
        Ok(())
    }
}

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const TARGET: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
