//! `link:` targets: a device between two interfaces of this machine.

use super::{Kind, Opened, Opening, Scheme};
use crate::parameters::{parameters, unknown};
use dropline_account::{Snapshot, Way};
use dropline_failure::Failure;
use dropline_fastpath::frame::{Aim, MOST_FLOWS};
use dropline_fastpath::{
    Counting, Engine, KernelReflector, KnownUse, LinkEnd, LinkError, LinkMeasurer, LinkOptions, NextHop,
};
use dropline_traffic::{
    Counters, Cpus, FramePath, FramePathNews, Means, Moving, Priority, ReceiveMeans, SendMeans, Usage,
};
use dropline_trial::{Caveat, Measurer, PacketTimes, TrafficProfile, Trial, TrialInput};
use std::net::{IpAddr, SocketAddr};

pub(super) static NAMES: [&str; 9] = ["engine", "used", "ip", "via", "mac", "src", "dst", "vlan", "flows"];

/// Two interfaces, and how frames go from the first to the second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    from: LinkEnd,
    to: LinkEnd,
    engine: Engine,
    aim: Aim,
    /// Who forwards what leaves by the first, and what by the second.
    next_hops: [Option<NextHop>; 2],
    /// Whether they may be interfaces that others use.
    though_used: bool,
}

/// Its row in the table of targets.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "link:",
    forms: &[
        ("link:lab/near,lab/far", "a device between two interfaces, each written IF or NETNS/IF"),
        (
            "link:near,far?engine=packet",
            "the same with another engine: auto, xdp or packet (further parameters: ip, used, vlan, flows)",
        ),
        (
            "link:near,far?via=10.0.1.1&src=10.0.1.2&dst=10.0.2.2",
            "a router between them, by its address on the first side (or mac=), from and to addresses on either",
        ),
    ],
    parse: |rest| parse(rest).map(Kind::Link),
};

/// Reads `A,B?engine=packet&used=yes`.
fn parse(word: &str) -> Result<Link, Failure> {
    let (ends, parameters) = parameters(word)?;
    let (from, to) = ends
        .split_once(',')
        .ok_or_else(|| Failure::usage(format!("link:{ends} is not a pair of interfaces; write link:A,B")))?;
    let port = |word: &str| match word.contains(',') {
        true => Err(Failure::usage(format!("link:{ends} is not a pair of interfaces; write link:A,B"))),
        false => LinkEnd::parse(word).map_err(Failure::usage),
    };
    let mut link = Link {
        from: port(from)?,
        to: port(to)?,
        engine: Engine::Auto,
        aim: Aim::default(),
        next_hops: [None; 2],
        though_used: false,
    };
    let (mut ip, mut source, mut destination) = (None, None, None);
    for (name, value) in parameters {
        let wrong = |what: &str| Failure::usage(format!("{name}={value} in the target: {what}"));
        match name {
            "engine" => {
                let named = Engine::ALL.into_iter().find(|(word, _)| *word == value);
                let all = || Engine::ALL.map(|(word, _)| word).join(", ");
                link.engine = named.ok_or_else(|| wrong(&format!("there are {}", all())))?.1;
            }
            "via" | "mac" if link.next_hops[0].is_some() => return Err(wrong("via or mac, and once")),
            "via" => {
                link.next_hops =
                    hops(value, |word| station(word).map(NextHop::Address)).ok_or_else(|| wrong(ADDRESS))?
            }
            "mac" => {
                link.next_hops = hops(value, |word| hardware(word).map(NextHop::Hardware))
                    .ok_or_else(|| wrong("not a station's address such as 02:00:5e:10:00:01"))?;
            }
            "ip" => match value {
                "4" => ip = Some(false),
                "6" => ip = Some(true),
                _ => return Err(wrong("4 or 6, the version of IP")),
            },
            "src" => source = Some(station(value).ok_or_else(|| wrong(ADDRESS))?),
            "dst" => destination = Some(station(value).ok_or_else(|| wrong(ADDRESS))?),
            "vlan" => {
                let vlan = value.parse().ok().filter(|vlan| (1..=4094).contains(vlan));
                link.aim.vlan = Some(vlan.ok_or_else(|| wrong("a number from 1 to 4094"))?);
            }
            "flows" => {
                let flows = value.parse().ok().filter(|flows| (1..=MOST_FLOWS).contains(flows));
                link.aim.flows = flows.ok_or_else(|| wrong("a number from 1 to 16384"))?;
            }
            "used" => match value {
                "yes" => link.though_used = true,
                "no" => link.though_used = false,
                _ => return Err(wrong("yes or no")),
            },
            _ => return Err(unknown(SCHEME.prefix, name, &NAMES)),
        }
    }
    let hops = link.next_hops.iter().flatten().filter_map(|hop| match hop {
        NextHop::Address(address) => Some(address.is_ipv6()),
        NextHop::Hardware(_) => None,
    });
    let named = [source, destination].into_iter().flatten().map(|address| address.is_ipv6());
    let versions: Vec<bool> = ip.into_iter().chain(named).chain(hops).collect();
    let is_ipv6 = versions.first().copied().unwrap_or(false);
    if versions.iter().any(|&other| other != is_ipv6) {
        return Err(Failure::usage(
            "the target names addresses of both versions of IP, or of another one than ip= says: name those of one",
        ));
    }
    if is_ipv6 {
        let plain = Aim::of_ipv6();
        (link.aim.source, link.aim.destination) = (plain.source, plain.destination);
    }
    link.aim.source = source.unwrap_or(link.aim.source);
    link.aim.destination = destination.unwrap_or(link.aim.destination);
    apart(&link.aim)?;
    Ok(link)
}

/// Refuses flows that would come from where they go to, or from what no station has: the addresses that follow the first.
fn apart(aim: &Aim) -> Result<(), Failure> {
    let (first, flows, to) = (aim.source, aim.flows, aim.destination);
    // Flows differ in the last 32 bits.
    let last = aim.source_of(flows - 1);
    match Some(last).filter(|&last| last >= first && is_station(last)) {
        None => Err(Failure::usage(format!(
            "{flows} flows from {first} on would have addresses that no station has: name a lower one, or fewer flows"
        ))),
        Some(last) if (first..=last).contains(&to) => Err(Failure::usage(format!(
            "frames from {first} to {last} would come from {to} too, where they go to: name src= and dst= further apart, or fewer flows"
        ))),
        Some(_) => Ok(()),
    }
}

const ADDRESS: &str = "not the IP address of a station";

/// One next hop, or that of either direction behind a comma.
fn hops(words: &str, read: impl Fn(&str) -> Option<NextHop>) -> Option<[Option<NextHop>; 2]> {
    let (first, second) =
        words.split_once(',').map_or((words, None), |(first, second)| (first, Some(second)));
    let second = second.map(|word| read(word).ok_or(()));
    Some([Some(read(first)?), second.transpose().ok()?])
}

/// An address that one station has.
fn station(word: &str) -> Option<IpAddr> {
    word.parse().ok().filter(|&address| is_station(address))
}

fn is_station(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !is_broadcast && !address.is_loopback()
}

/// The hardware address of one station.
fn hardware(word: &str) -> Option<[u8; 6]> {
    let bytes = word.split(':').map(|byte| u8::from_str_radix(byte, 16).ok().filter(|_| byte.len() == 2));
    let address: [u8; 6] = bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()?;
    (address[0] & 1 == 0 && address != [0; 6]).then_some(address)
}

/// Refuses what is chosen of sockets and their threads: frames have neither.
fn refuse_sockets(moving: &Moving) -> Result<(), Failure> {
    let Means { send, receive, senders, receivers, cpus, priority } = &moving.means;
    let is_one = |threads: &Option<usize>| threads.is_none_or(|threads| threads == 1);
    let chosen = [
        ("--send", *send != SendMeans::Auto),
        ("--receive", *receive != ReceiveMeans::Auto),
        ("--senders", !is_one(senders)),
        ("--receivers", !is_one(receivers)),
        ("--cpus", *cpus != Cpus::Auto),
        ("--ordinary-priority", *priority != Priority::Auto),
    ];
    match chosen.into_iter().find(|(_, is_chosen)| *is_chosen) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} is about sockets and their threads, and frames between two interfaces have neither"
        ))
        .advice("leave it out; engine= in the target says what sends: auto, xdp or packet")),
    }
}

pub(super) fn open(link: &Link, profile: &TrafficProfile, opening: &Opening) -> Result<Opened, Failure> {
    if profile.directions.len() > 1 {
        apart(&link.aim.back())?;
    }
    refuse_sockets(&opening.moving)?;
    let options = LinkOptions {
        engine: link.engine,
        aim: link.aim.clone(),
        next_hops: link.next_hops,
        though_used: link.though_used,
        slices: opening.slices,
        keep_packets: opening.keep_packets,
        first_trial: opening.first_trial,
        stop: opening.stop.clone(),
    };
    let ends = [&link.from, &link.to];
    let count = || {
        let spaces = ends.map(LinkEnd::namespace);
        let counters = Counters::between([0, 1].map(|end| (spaces[end].as_deref(), ends[end].interface())));
        let aims = [(Way::Out, link.aim.clone()), (Way::Back, link.aim.back())];
        let flows = aims
            .iter()
            .take(profile.directions.len())
            .flat_map(|(way, aim)| aim.sampled().map(|flow| (*way, flow)));
        let frame_path = FramePath::between(
            [0, 1].map(|end| (spaces[end].as_deref(), ends[end].interface())),
            flows.collect(),
        )
        .ok();
        counters.map(|counters| Box::new(Counted { counters, frame_path }) as Box<dyn Counting>).ok()
    };
    let usages = {
        let (ends, to) = (ends.map(LinkEnd::clone), [link.aim.source, link.aim.destination]);
        Box::new(move || [known(&ends[0], to[0]), known(&ends[1], to[1])])
    };
    let measurer = LinkMeasurer::open(ends, usages, profile.clone(), options, count()).map_err(failure)?;
    let version = if link.aim.source.is_ipv6() { "IPv6" } else { "IPv4" };
    let ways = match profile.directions.as_slice() {
        [first, second] => {
            format!("{} from {} to {}, {} from there to here", first.name, link.from, link.to, second.name)
        }
        _ => format!("from {} to {}, one way", link.from, link.to),
    };
    Ok(Opened {
        note: Some(format!("frames of {version} and UDP: {ways}")),
        generator: Some(measurer.means()),
        reply_buffer_bytes: None,
        measurer: Box::new(Device(measurer)),
    })
}

/// What the kernel tells of one end; what cannot be looked at may be in use.
fn known(end: &LinkEnd, to: IpAddr) -> KnownUse {
    let found = Usage::of(end.namespace().as_deref(), end.interface(), to);
    let Usage { used, in_front } = found.unwrap_or_else(|why| Usage {
        used: Some(format!("may be used, as that could not be looked at ({why})")),
        in_front: None,
    });
    KnownUse { used, in_front }
}

/// The counters of the namespaces between, and what these do with frames.
struct Counted {
    counters: Counters,
    frame_path: Option<FramePath>,
}

impl Counting for Counted {
    fn read(&mut self) -> Snapshot {
        self.counters.read()
    }

    fn waiting(&mut self) -> u64 {
        self.counters.waiting()
    }

    fn last(&self, way: Way) -> Option<(u64, u32)> {
        self.counters.last(way)
    }

    fn frame_path(&mut self) -> dropline_fastpath::Astray {
        let FramePathNews { forgot, astray } =
            self.frame_path.as_mut().map(FramePath::news).unwrap_or_default();
        dropline_fastpath::Astray { forgot, astray }
    }

    fn unseen(&self) -> Vec<Caveat> {
        self.counters.unseen().to_vec()
    }
}

fn failure(why: LinkError) -> Failure {
    match why {
        LinkError::Interrupted => Failure::interrupted(),
        LinkError::Thread(why) => Failure::thread(&why),
        LinkError::Word(_) | LinkError::Same(_) | LinkError::Profile(_) | LinkError::Frames { .. } => Failure::usage(why),
        LinkError::InUse { .. } => Failure::environment(why).advice(
            "name interfaces that lead to the device alone, in a network namespace of their own where you can; if nobody minds, add \
             used=yes to the target",
        ),
        LinkError::Privilege { .. } => Failure::environment(why).advice(
            "run it as root; a network namespace of your own does not do, as BPF asks for the machine's privilege",
        ),
        LinkError::NothingCame { .. } => Failure::environment(why).advice(
            "is the device between them up, and does it forward what is for the second interface's hardware address? A router has to be \
             named: via=ITS_ADDRESS&src=OURS&dst=OURS_BEHIND_IT in the target. Frames are of IPv4, from 198.18.0.1 to 198.19.0.1 \
             where you do not say; with ip=6 they are of IPv6",
        ),
        LinkError::NoNextHop { .. } => Failure::environment(why).advice(
            "via= is the router's own address at the first interface, and src= one of the same network, in which it answers",
        ),
        LinkError::Engine { .. } => Failure::environment(why).advice("engine=packet works with every interface; engine=auto chooses"),
        LinkError::Astray(_) => Failure::environment(why).advice("see to the interface, and begin again"),
        LinkError::NoInterface { .. }
        | LinkError::Namespace { .. }
        | LinkError::Unfit { .. }
        | LinkError::System { .. } => Failure::environment(why),
    }
}

/// Sends packets of ours to a service back at its interface, before they reach it.
///
/// # Errors
/// If the interface is not fit, the service listens elsewhere, or this user may not.
pub fn reflect(interface: &str, service: SocketAddr) -> Result<KernelReflector, Failure> {
    let end = LinkEnd::parse(interface).map_err(Failure::usage)?;
    match service {
        SocketAddr::V4(service) if !service.ip().is_unspecified() && !service.ip().is_loopback() => {
            KernelReflector::at(&end, service).map_err(failure)
        }
        _ => Err(Failure::usage(format!(
            "--xdp {interface} sends back what comes for an IPv4 address of that interface, and {} is none",
            service.ip()
        ))
        .advice("name it: --listen ADDRESS:7007")),
    }
}

/// A device whose errors say what to do.
struct Device(LinkMeasurer);

impl Measurer for Device {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        self.0.measure(input).map_err(failure)
    }

    fn take_packets(&mut self) -> Option<PacketTimes> {
        self.0.take_packets()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_of_sockets_is_refused() {
        let of = |means: Means| refuse_sockets(&Moving { means, ..Moving::default() });
        assert!(of(Means { senders: Some(1), receivers: Some(1), ..Means::default() }).is_ok());
        for (means, flag) in [
            (Means { send: SendMeans::Gso, ..Means::default() }, "--send"),
            (Means { receive: ReceiveMeans::ALL[1], ..Means::default() }, "--receive"),
            (Means { senders: Some(2), ..Means::default() }, "--senders"),
            (Means { receivers: Some(2), ..Means::default() }, "--receivers"),
            (Means { cpus: Cpus::Free, ..Means::default() }, "--cpus"),
            (Means { priority: Priority::Ordinary, ..Means::default() }, "--ordinary-priority"),
        ] {
            let refused = of(means).unwrap_err();
            assert!(refused.exit_code() == 2 && refused.to_string().contains(flag), "{refused}");
        }
    }

    #[test]
    fn two_interfaces_and_an_engine_are_read_from_the_target_word() {
        let link = parse("lab/near,far?engine=packet&used=yes").unwrap();
        assert_eq!(
            (link.from, link.to),
            (LinkEnd::parse("lab/near").unwrap(), LinkEnd::parse("far").unwrap())
        );
        assert_eq!((link.engine, link.though_used), (Engine::Packet, true));
        let plain = parse("a,b").unwrap();
        assert_eq!((plain.engine, plain.though_used), (Engine::Auto, false));
        assert_eq!((plain.aim, plain.next_hops), (Aim::default(), [None; 2]));
        let routed = parse("a,b?via=10.0.1.1&src=10.0.1.2&dst=10.0.2.2&vlan=5&flows=64").unwrap();
        let ip = |word: &str| word.parse::<IpAddr>().unwrap();
        assert_eq!(routed.next_hops, [Some(NextHop::Address(ip("10.0.1.1"))), None]);
        let both = parse("a,b?via=10.0.1.1,10.0.2.1").unwrap();
        let hops = ["10.0.1.1", "10.0.2.1"].map(ip);
        assert_eq!(both.next_hops, hops.map(|hop| Some(NextHop::Address(hop))));
        let aim = Aim { source: ip("10.0.1.2"), destination: ip("10.0.2.2"), vlan: Some(5), flows: 64 };
        assert_eq!(routed.aim, aim);
        let by_hardware = parse("a,b?mac=02:00:5e:10:00:01").unwrap();
        assert_eq!(by_hardware.next_hops, [Some(NextHop::Hardware([2, 0, 0x5e, 0x10, 0, 1])), None]);
        for bad in [
            "via=10.0.1.1&mac=02:00:5e:10:00:01",
            "ip=5",
            "ip=4&via=fe80::1",
            "ip=6&src=10.0.0.1",
            "src=2001:db8::1&dst=10.0.0.1",
            "src=2001:db8::ffff:fffa&dst=2001:db8:1::1&flows=100",
            "dst=ff02::1",
            "via=10.0.1.1,",
            "via=10.0.1.1,10.0.2.1,10.0.3.1",
            "src=0.0.0.0",
            "dst=224.0.0.1",
            "mac=01:00:5e:10:00:01",
            "mac=2:0:5e:10:0:1",
            "vlan=0",
            "vlan=4095",
            "flows=0",
            "flows=16385",
            "src=198.19.0.1",
            "src=198.18.255.250&flows=8&dst=198.19.0.1",
            "src=198.18.255.250&flows=100",
            "src=223.255.255.250&flows=100",
        ] {
            assert_eq!(parse(&format!("a,b?{bad}")).unwrap_err().exit_code(), 2, "{bad}");
        }
        let six = parse("a,b?ip=6").unwrap().aim;
        assert_eq!((six.source, six.destination), (ip("2001:2::1"), ip("2001:2:0:1::1")));
        let six = parse("a,b?via=2001:db8::9&src=2001:db8::1&dst=2001:db8:1::1&flows=4").unwrap();
        assert_eq!((six.aim.source_of(3), six.aim.flows), (ip("2001:db8::4"), 4));
        assert_eq!(six.next_hops, [Some(NextHop::Address(ip("2001:db8::9"))), None]);
        // What goes back would.
        let back = parse("a,b?src=10.0.0.5&dst=10.0.0.1&flows=8").unwrap().aim.back();
        assert_eq!(apart(&back).unwrap_err().exit_code(), 2);
        for bad in ["", "a", "a,", ",b", "a,b,c", "a,b?engine=dpdk", "a,b?used=1", "a,b?engin=xdp", "a/b/c,d"]
        {
            assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad}");
        }
    }
}
