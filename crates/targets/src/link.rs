//! `link:` targets: a device between two interfaces of this machine.

use super::{Kind, Opened, Opening, Scheme};
use crate::parameters::parameters;
use dropline_account::Snapshot;
use dropline_failure::{Failure, nearest};
use dropline_fastpath::frame::DESTINATION;
use dropline_fastpath::{Counting, Engine, Known, LinkEnd, LinkError, LinkMeasurer, LinkOptions};
use dropline_traffic::{Counters, Usage};
use dropline_trial::{Caveat, Measurer, PacketTimes, TrafficProfile, Trial, TrialInput};

const NAMES: [&str; 2] = ["engine", "used"];

/// Two interfaces, and how frames go from the first to the second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    from: LinkEnd,
    to: LinkEnd,
    engine: Engine,
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
            "the same with another engine: auto, xdp or packet (further parameter: used)",
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
    let mut link = Link { from: port(from)?, to: port(to)?, engine: Engine::Auto, though_used: false };
    for (name, value) in parameters {
        let wrong = |what: &str| Failure::usage(format!("{name}={value} in the target: {what}"));
        match name {
            "engine" => {
                let named = Engine::ALL.into_iter().find(|(word, _)| *word == value);
                link.engine = named.ok_or_else(|| wrong("there are auto, xdp and packet"))?.1;
            }
            "used" => match value {
                "yes" => link.though_used = true,
                "no" => link.though_used = false,
                _ => return Err(wrong("yes or no")),
            },
            _ => {
                return Err(Failure::usage(format!(
                    "link: has no parameter {name:?}{}; it has {}",
                    nearest(name, &NAMES),
                    NAMES.join(", ")
                )));
            }
        }
    }
    Ok(link)
}

pub(super) fn open(link: &Link, profile: &TrafficProfile, opening: &Opening) -> Result<Opened, Failure> {
    let options = LinkOptions {
        engine: link.engine,
        slices: opening.slices,
        keep_packets: opening.keep_packets,
        first_trial: opening.first_trial,
        stop: opening.stop.clone(),
    };
    let ends = [&link.from, &link.to];
    let count = || {
        let spaces = ends.map(LinkEnd::namespace);
        let counters = Counters::between([0, 1].map(|end| (spaces[end].as_deref(), ends[end].interface())));
        counters.map(|counters| Box::new(Counted(counters)) as Box<dyn Counting>).ok()
    };
    let known = ends.map(|end| (end, known(end, link.though_used)));
    let measurer = LinkMeasurer::open(known, profile.clone(), options, count()).map_err(failure)?;
    Ok(Opened {
        note: Some(format!("frames of IPv4 and UDP from {} to {}, one way", link.from, link.to)),
        generator: Some(measurer.means()),
        reply_buffer_bytes: None,
        measurer: Box::new(Device(measurer)),
    })
}

/// What the kernel tells of one end; what cannot be looked at may be in use.
fn known(end: &LinkEnd, though_used: bool) -> Known {
    let found = Usage::of(end.namespace().as_deref(), end.interface(), DESTINATION.into());
    let Usage { used, in_front } = found.unwrap_or_else(|why| Usage {
        used: Some(format!("may be used, as that could not be looked at ({why})")),
        in_front: None,
    });
    Known { used: used.filter(|_| !though_used), in_front }
}

/// The counters of the namespaces between.
struct Counted(Counters);

impl Counting for Counted {
    fn read(&mut self) -> Snapshot {
        self.0.read()
    }

    fn waiting(&mut self) -> u64 {
        self.0.waiting()
    }

    fn last(&self) -> Option<(u64, u32)> {
        self.0.last()
    }

    fn unseen(&self) -> Vec<Caveat> {
        self.0.unseen().to_vec()
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
            "is the device between them up, and does it forward what is for the second interface's hardware address? Frames are of \
             IPv4, from 198.18.0.1 to 198.19.0.1; a router is not asked for its own address",
        ),
        LinkError::Engine { .. } => Failure::environment(why).advice("engine=packet works with every interface; engine=auto chooses"),
        LinkError::Astray(_) => Failure::environment(why).advice("see to the interface, and begin again"),
        LinkError::NoInterface { .. }
        | LinkError::Namespace { .. }
        | LinkError::Unfit { .. }
        | LinkError::System { .. } => Failure::environment(why),
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
    fn two_interfaces_and_an_engine_are_read_from_the_target_word() {
        let link = parse("lab/near,far?engine=packet&used=yes").unwrap();
        assert_eq!(
            (link.from, link.to),
            (LinkEnd::parse("lab/near").unwrap(), LinkEnd::parse("far").unwrap())
        );
        assert_eq!((link.engine, link.though_used), (Engine::Packet, true));
        let plain = parse("a,b").unwrap();
        assert_eq!((plain.engine, plain.though_used), (Engine::Auto, false));
        for bad in ["", "a", "a,", ",b", "a,b,c", "a,b?engine=dpdk", "a,b?used=1", "a,b?engin=xdp", "a/b/c,d"]
        {
            assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad}");
        }
    }
}
