//! The namespaces between two programs: pairs of interfaces lead from one to the next.

use super::look_error::seen;
use super::view::View;
use dropline_account::Way;
use dropline_netrules::links::Link;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;

/// The way from the first namespace to the last.
#[derive(Debug)]
pub(crate) struct Path {
    /// From the generator's to the target's.
    pub(crate) views: Vec<View>,
    /// For each, the interfaces on the way and which way packets go that leave through them.
    pub(crate) leaves: Vec<BTreeMap<u32, Way>>,
}

/// An interface whose other end is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) through: u32,
    pub(super) to: usize,
    pub(super) into: u32,
}

/// Most namespaces that are looked through.
const MOST: usize = 256;

impl Path {
    /// The shortest way from `here` to a namespace of this machine that has `address`; gives `here` back if
    /// there is none that this user may see, or nothing is left to look with.
    pub(crate) fn find(here: View, address: IpAddr) -> Result<Self, Box<View>> {
        let mut views = vec![here];
        if add_all_others(&mut views).is_err() {
            return Err(Box::new(views.swap_remove(0)));
        }
        let edges = edges(&mut views);
        let has = |view: &mut View| view.route(address).is_some_and(|route| route.local);
        let way = shortest(views.len(), &edges, |at| at > 0 && has(&mut views[at]));
        let Some(way) = way else { return Err(Box::new(views.swap_remove(0))) };
        let mut order = vec![0];
        let mut leaves = vec![BTreeMap::new()];
        for edge in way {
            leaves.last_mut().expect("has the first").insert(edge.through, Way::Out);
            leaves.push(BTreeMap::from([(edge.into, Way::Back)]));
            order.push(edge.to);
        }
        let mut views: Vec<Option<View>> = views.into_iter().map(Some).collect();
        let views = order.into_iter().filter_map(|at| views[at].take()).collect();
        Ok(Self { views, leaves })
    }
}

/// Puts all other namespaces that this user may enter behind the one that is looked from.
///
/// # Errors
/// If the system has nothing left to look with.
pub(crate) fn add_all_others(views: &mut Vec<View>) -> io::Result<()> {
    for file in super::namespaces::namespaces().into_iter().take(MOST) {
        if let Some(view) = seen(View::of_file(&file))?
            && views.iter().all(|known| known.id != view.id)
        {
            views.push(view);
        }
    }
    Ok(())
}

/// The number that one of them has in another.
pub(crate) fn number(views: &mut [View], within: usize, of: usize) -> Option<u32> {
    let [within, of] = views.get_disjoint_mut([within, of]).ok()?;
    within.number_of(of)
}

/// All pairs, each in both directions. Two interfaces are a pair if each names the other and its namespace, or each names the other
/// and both are in one.
pub(super) fn edges(views: &mut [View]) -> Vec<Edge> {
    let links: Vec<_> = views.iter_mut().map(|view| view.links().unwrap_or_default()).collect();
    let mut edges = Vec::new();
    for from in 0..views.len() {
        for to in 0..views.len() {
            if from == to {
                let at_home = |link: &&Link| link.kind == "veth" && link.other_namespace.is_none();
                let pairs =
                    links[from].iter().filter(at_home).filter_map(|link| Some((link.index, link.other?)));
                edges.extend(pairs.map(|(through, into)| Edge { from, through, to, into }));
                continue;
            }
            let candidates: Vec<(u32, u32, u32)> = links[from]
                .iter()
                .filter_map(|near| Some((near, near.other?, near.other_namespace?)))
                .filter(|(near, other, _)| {
                    links[to].iter().any(|far| far.index == *other && far.other == Some(near.index))
                })
                .map(|(near, other, number)| (near.index, other, number))
                .collect();
            if candidates.is_empty() {
                continue;
            }
            let number = number(views, from, to);
            let real = candidates.into_iter().filter(|(_, _, named)| number == Some(*named));
            edges.extend(real.map(|(through, into, _)| Edge { from, through, to, into }));
        }
    }
    edges
}

/// The fewest edges from the first of `count` to one that is `wanted`.
fn shortest(count: usize, edges: &[Edge], mut wanted: impl FnMut(usize) -> bool) -> Option<Vec<Edge>> {
    let mut by: Vec<Option<Edge>> = vec![None; count];
    let mut queue = VecDeque::from([0]);
    while let Some(at) = queue.pop_front() {
        if wanted(at) {
            let mut way = Vec::new();
            let mut at = at;
            while let Some(edge) = by[at] {
                way.push(edge);
                at = edge.from;
            }
            way.reverse();
            return Some(way);
        }
        for edge in edges.iter().filter(|edge| edge.from == at) {
            if edge.to != 0 && by[edge.to].is_none() {
                by[edge.to] = Some(*edge);
                queue.push_back(edge.to);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_found_and_a_missing_one_is_none() {
        let edge = |from, to| Edge { from, through: 2, to, into: 3 };
        let both = |a, b| [edge(a, b), edge(b, a)];
        let edges: Vec<Edge> = [both(0, 1), both(1, 2), both(2, 3), both(0, 4), both(4, 3)].concat();
        let way = |wanted: usize| shortest(6, &edges, |at| at == wanted);
        assert_eq!(way(3), Some(vec![edge(0, 4), edge(4, 3)]));
        assert_eq!(way(2), Some(vec![edge(0, 1), edge(1, 2)]));
        assert_eq!((way(5), way(0)), (None, Some(vec![])));
    }
}
