//! Consent comes first: whether packets may go to an address, and what to do where they may not.
//!
//! Owns [`consent`], which every sender asks before its first packet. It sends nothing.
//! Start reading at [`consent`]; what leads where is told by [`Leash`].

use dropline_failure::Failure;
use dropline_traffic::{Detour, Guard, Leash, NoLeash};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;

/// Nothing sends load to a host that did not consent, and consent of another host cannot be had yet.
///
/// # Errors
/// If packets to that address would leave this machine, or nobody can tell.
pub fn consent(address: SocketAddr) -> Result<(), Failure> {
    Leash::towards(address).map(|_| ()).map_err(|why| refused(&address.to_string(), &why))
}

/// Does work that sends by a socket which is connected to a target, until anything comes that leads packets elsewhere: then
/// what the work is handed is set, and it has to end.
///
/// # Errors
/// If packets did not stay on this machine for certain, or do not any more.
pub fn guarded<T>(
    target: SocketAddr,
    socket: &UdpSocket,
    work: impl FnOnce(&AtomicBool) -> T,
) -> Result<T, Failure> {
    let astray = AtomicBool::new(false);
    let mut guard = Guard::over(socket, target).map_err(|why| refused(&target.to_string(), &why))?;
    let (done, came) = guard.during(&astray, || work(&astray));
    match came {
        None => Ok(done),
        Some(what) => Err(Failure::not_valid(format!(
            "ended: {target}: what may lead packets to another host came while they were sent ({what})"
        ))
        .advice(LEFT)),
    }
}

/// What to do where packets may have left already.
const LEFT: &str = "those packets are gone, and no more is sent to a host that did not consent; find what leads packets there \
                    ( ip rule,  ip route,  ip neigh,  bridge fdb,  nft list ruleset,  tc filter show  have it), take it away, and \
                    begin again";

/// Why no packet goes to a target, with what to do.
pub fn refused(target: &str, why: &NoLeash) -> Failure {
    let said = format!("refused: {target}: {why}");
    // What was measured before is kept, and is not the target's doing.
    let failure = match why {
        NoLeash::LeftElsewhere { .. } => Failure::not_valid(said),
        _ => Failure::environment(said),
    };
    failure.advice(match why {
        NoLeash::Unseen { .. } => {
            "no load is sent where nobody can tell who gets it; run this as root: to look into a network \
             namespace takes CAP_SYS_ADMIN and CAP_SYS_PTRACE"
                .into()
        }
        NoLeash::NotLooked { .. } => {
            "no load is sent where nobody can tell who gets it; raise the limit of processes ( ulimit -u  or the \
             container's pids limit) or of open files ( ulimit -n ), and try again"
                .into()
        }
        NoLeash::Loose(ip) => format!(
            "others could be led to another host by a rule of a firewall; measure the service at [::1], or let loopback \
             have the address too:  ip address add {ip}/128 dev lo"
        ),
        NoLeash::Apart { namespace, .. } => format!(
            "a load is never passed on by a router, and no flag allows it: run dropline in {namespace}, against its own address \
             ( ip netns exec ), or in a namespace that a pair of virtual interfaces or a bridge joins to it"
        ),
        NoLeash::Moved { .. } => {
            "what was measured before is kept; begin again, where that is the target that you mean".into()
        }
        NoLeash::LeadsOff { .. } => "no load is sent to a host that did not consent, and no flag allows it; run dropline in the network \
                                     namespace, or on the host, that has the address, against its own address"
            .into(),
        NoLeash::LedAway { .. } => "no load is sent to a host that did not consent, and no copy of it; remove that rule \
              (nft list ruleset or iptables-save shows it), or measure in a network namespace without it"
            .into(),
        NoLeash::LeftElsewhere { .. } => LEFT.into(),
        NoLeash::Diverted { by, .. } => mended(by),
        _ => "no load is sent to a host that did not consent; run dropline on that host, against its own \
              address"
            .into(),
    })
}

/// Why no socket was connected to a target, with what to do.
pub fn not_connected(target: SocketAddr, why: &io::Error) -> Failure {
    match NoLeash::inside(why) {
        Some(why) => refused(&target.to_string(), why),
        None => Failure::environment(format!("cannot send to {target}: {why}")),
    }
}

/// What to do about that which leads packets elsewhere.
fn mended(by: &Detour) -> String {
    let what = match by {
        Detour::Gateway(_) => {
            "let the route lead straight to the address, or by way of one that its namespace has at the interface where the \
             packets come in ( ip route get  shows it)"
        }
        Detour::Encapsulation => {
            "take the encapsulation away from the route ( ip route get  shows it), or measure in a network namespace without it"
        }
        Detour::Policy(_) => {
            "take the policy away ( ip xfrm policy  shows it), or measure in a network namespace without it"
        }
        Detour::Neighbour { .. } => {
            "delete that entry ( ip neigh  shows it): the kernel then asks again who has the address"
        }
        Detour::Bridge { is_known: true, .. } => {
            "delete that line of the bridge's table ( bridge fdb show  has it)"
        }
        Detour::Bridge { .. } => {
            "let the bridge hear from there first, with  ping -c 1  to that address, or write it into its table ( bridge fdb \
             replace ADDRESS dev PORT master static ); where a port does not learn ( bridge -d link  shows it), the latter alone \
             helps"
        }
        Detour::Rule { .. } => {
            "take the rule or the route away ( ip rule  and  ip route show table all  have them), or measure in a network \
             namespace without it"
        }
        Detour::Stacked { .. } => {
            "no flag allows it: run dropline in the network namespace of the target, against its own address, or join both by a \
             pair of virtual interfaces or a bridge; interfaces on top of another are let be where nothing but both ends is on top of it and \
             it leads nowhere else ( a dummy,  ip link add NAME type dummy )"
        }
        Detour::NotKnown { .. } => {
            "run dropline in the network namespace of the target, against its own address, or take it away there ( tc filter \
             show dev NAME,  bpftool net  and  ip -d link  show it)"
        }
        Detour::Tracked { .. } => {
            "delete the entry ( conntrack -L  and  conntrack -D  of conntrack-tools), wait until it has expired, mostly a few \
             minutes, or send from other ports ( --source-port )"
        }
        Detour::Shared { .. } => {
            "take the address away from one of them ( ip address del ), or run dropline in the one that is to be measured, \
             against its own address"
        }
        _ => {
            "name the address that it leads to, or run dropline in a control group without that program ( bpftool cgroup tree  \
             shows it)"
        }
    };
    format!("no load is sent to a host that did not consent; {what}")
}
