//! What namespaces between two interfaces do with frames from one to the other: by which interface each router sends them on, and
//! behind which port each bridge knows whom they are for; and whether that is as it was.

use super::between::{Between, SpacePassed};
use super::links;
use super::netlink::Netlink;
use super::path_changes::ROUTES;
use super::view::View;
use dropline_account::{Role, Way};
use dropline_netrules::routes::{Flow, Route};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Over the way of frames between two interfaces.
#[derive(Debug)]
pub struct FramePath {
    spaces: Vec<Watched>,
    flows: Vec<(Way, [SocketAddr; 2])>,
    /// The hardware addresses of the interfaces.
    stations: Vec<Vec<u8>>,
    /// What was so when this was first asked.
    first: Option<Hops>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FramePathNews {
    /// A bridge does not know any more where one of the interfaces is.
    pub forgot: bool,
    /// What sends frames elsewhere now, in words.
    pub astray: Option<String>,
}

/// A namespace between, and what the kernel tells of it.
#[derive(Debug)]
struct Watched {
    view: View,
    told: Netlink,
    faces: BTreeMap<u32, Way>,
}

/// Of which frames, in which of the namespaces: in words.
type Of = (usize, String);
/// By which interface they leave, and to which router.
type Hop = (u32, Option<IpAddr>);

#[derive(Clone, Debug, Default)]
struct Hops {
    routed: BTreeMap<Of, Hop>,
    bridged: BTreeMap<Of, Hop>,
}

impl FramePath {
    /// Between interfaces that are named by the files of their namespaces, `None` for the calling thread's, and by their names there:
    /// of frames from and to these addresses, each with the way that it goes.
    ///
    /// # Errors
    /// If one of them is not to be seen, or the system has nothing left to look with.
    pub fn between(ends: [(Option<&Path>, &str); 2], flows: Vec<(Way, [SocketAddr; 2])>) -> io::Result<Self> {
        let (mut spaces, mut stations) = (Vec::new(), Vec::new());
        for SpacePassed { mut view, role, leaves, faces } in Between::find(ends)?.spaces {
            if role == Role::Between {
                let told = view.inside(|| Netlink::told_of(libc::NETLINK_ROUTE, ROUTES))??;
                spaces.push(Watched { view, told, faces });
            } else {
                let links = view.links().unwrap_or_default().into_iter();
                let own = links.filter(|link| leaves.contains_key(&link.index) && !link.hardware.is_empty());
                stations.extend(own.map(|link| link.hardware));
            }
        }
        Ok(Self { spaces, flows, stations, first: None })
    }

    /// What became of it since this was first asked; cheap where nothing changed.
    pub fn news(&mut self) -> FramePathNews {
        let mut is_new = self.first.is_none();
        for space in &mut self.spaces {
            is_new |= !space.told.news(|_| is_new = true);
        }
        if !is_new {
            return FramePathNews::default();
        }
        let now = self.look();
        let Some(first) = self.first.clone() else {
            self.first = Some(now);
            return FramePathNews::default();
        };
        // What loses frames leads them nowhere.
        let pairs = [(&first.routed, &now.routed), (&first.bridged, &now.bridged)];
        let mut moved = pairs.into_iter().flat_map(|(first, now)| {
            first
                .iter()
                .filter_map(|(of, &was)| Some((of, was, *now.get(of)?)).filter(|(_, was, is)| was != is))
        });
        let moved = moved.next().map(|(of, was, is)| (of.clone(), was, is));
        FramePathNews {
            forgot: first.bridged.keys().any(|of| !now.bridged.contains_key(of)),
            astray: moved.map(|(of, was, is)| self.words(&of, was, is)),
        }
    }

    fn look(&mut self) -> Hops {
        let mut hops = Hops::default();
        for (at, space) in self.spaces.iter_mut().enumerate() {
            for &(way, [from, to]) in &self.flows {
                // Where they arrive: at what leads back to where they came from.
                let arrives = space.faces.iter().filter(|(_, faces)| **faces != way);
                for arrives in arrives.map(|(&index, _)| index).collect::<Vec<_>>() {
                    if let Some(Route { local: false, through: Some(through), gateway, .. }) =
                        space.route(&Flow { arrives: Some(arrives), ..Flow::plain(Some(from), to, None) })
                    {
                        let of = format!("frames from {} to {}", from.ip(), to.ip());
                        hops.routed.insert((at, of), (through, gateway));
                    }
                }
            }
            for line in space.view.bridge_tables().unwrap_or_default() {
                if self.stations.contains(&line.hardware) && line.behind != line.bridge {
                    let of =
                        format!("frames of bridge number {} for {}", line.bridge, written(&line.hardware));
                    hops.bridged.insert((at, of), (line.behind, None));
                }
            }
        }
        hops
    }

    fn words(&mut self, (at, of): &Of, was: Hop, is: Hop) -> String {
        let view = &mut self.spaces[*at].view;
        let links = view.links().unwrap_or_default();
        let by = |(index, gateway): Hop| {
            let name = links
                .iter()
                .find(|link| link.index == index)
                .map_or("an interface that is gone", |link| &link.name);
            gateway.map_or_else(|| name.to_owned(), |gateway| format!("{name} to {gateway}"))
        };
        format!("in {} {of} leave by {}, and not by {} as before the first trial", view.name, by(is), by(was))
    }
}

impl Watched {
    fn route(&mut self, flow: &Flow) -> Option<Route> {
        links::route(self.view.netlink()?, flow).ok()?
    }
}

fn written(hardware: &[u8]) -> String {
    hardware.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}
