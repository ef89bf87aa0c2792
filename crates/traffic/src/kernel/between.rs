//! The namespaces that frames from one interface to another may pass.

use super::path::{Edge, add_all_others, edges};
use super::view::View;
use dropline_account::{Role, Way};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;

/// What is between two interfaces, which may be in other namespaces than the calling thread's.
#[derive(Debug)]
pub(crate) struct Between {
    /// The namespace of the first interface, that of the second where it is another, and those that pairs of interfaces lead to.
    pub(crate) spaces: Vec<SpacePassed>,
    /// The other ends of the second interface and of the first: their namespaces and their numbers.
    pub(crate) last: [Option<(u64, u32)>; 2],
}

/// A namespace that frames may pass.
#[derive(Debug)]
pub(crate) struct SpacePassed {
    pub(crate) view: View,
    pub(crate) role: Role,
    /// The interfaces that frames pass, and which way what leaves by them goes; none where they may pass all.
    pub(crate) leaves: BTreeMap<u32, Way>,
    /// The same of interfaces in a namespace between: which of both ends they lead nearer to.
    pub(crate) faces: BTreeMap<u32, Way>,
}

impl Between {
    /// Both are named by the files of their namespaces, `None` for the calling thread's, and by their names there.
    ///
    /// # Errors
    /// If one of them is not to be seen.
    pub(crate) fn find([from, to]: [(Option<&Path>, &str); 2]) -> io::Result<Self> {
        let open = |namespace: Option<&Path>| namespace.map_or_else(View::here, View::of_file);
        let mut views = vec![open(from.0)?];
        let other = open(to.0)?;
        let second = usize::from(other.id != views[0].id);
        views.extend(Some(other).filter(|_| second == 1));
        let mut number = |at: usize, name: &str| {
            let links = views[at].links().unwrap_or_default();
            links.iter().find(|link| link.name == name).map(|link| link.index).ok_or(io::ErrorKind::NotFound)
        };
        let ends = [(0, number(0, from.1)?, Way::Out), (second, number(second, to.1)?, Way::Back)];
        add_all_others(&mut views)?;
        let edges = edges(&mut views);
        let other_end = |(at, index, _): (usize, u32, Way)| {
            edges.iter().find(|edge| (edge.from, edge.through) == (at, index))
        };
        let last = [ends[1], ends[0]].map(|end| other_end(end).map(|edge| (views[edge.to].id, edge.into)));
        let first = other_end(ends[0]).filter(|edge| (edge.to, edge.into) != (second, ends[1].1));
        let is_passed = passed(views.len(), &edges, second, first);
        let steps = [ends[0], ends[1]].map(|(at, index, _)| steps(&is_passed, &edges, (at, index)));
        let mut spaces = Vec::new();
        for (at, view) in views.into_iter().enumerate() {
            let here = ends.iter().filter(|end| end.0 == at && !is_passed[at]);
            let leaves: BTreeMap<u32, Way> = here.map(|&(_, index, way)| (index, way)).collect();
            let role = match at {
                0 => Role::Near,
                _ if at == second => Role::Far,
                _ => Role::Between,
            };
            if is_passed[at] || !leaves.is_empty() {
                let faces = faces(&edges, at, &ends, &steps);
                spaces.push(SpacePassed { view, role, leaves, faces });
            }
        }
        Ok(Self { spaces, last })
    }
}

/// Which namespaces are led to by the pair at the first interface and those behind it, and not through the namespaces of the ends.
fn passed(count: usize, edges: &[Edge], second: usize, first: Option<&Edge>) -> Vec<bool> {
    let mut is_passed = vec![false; count];
    let mut queue: VecDeque<usize> = first.map(|edge| edge.to).into_iter().collect();
    while let Some(at) = queue.pop_front() {
        if !std::mem::replace(&mut is_passed[at], true) {
            let further = edges.iter().filter(|edge| edge.from == at && ![0, second].contains(&edge.to));
            queue.extend(further.map(|edge| edge.to));
        }
    }
    is_passed
}

/// How many pairs a frame passes from each namespace between to an end; `None` where none leads there.
fn steps(is_passed: &[bool], edges: &[Edge], (end, index): (usize, u32)) -> Vec<Option<u32>> {
    let mut steps = vec![None; is_passed.len()];
    let at_end = edges.iter().find(|edge| (edge.from, edge.through) == (end, index));
    let mut queue: VecDeque<(usize, u32)> = at_end.map(|edge| (edge.to, 1)).into_iter().collect();
    while let Some((at, far)) = queue.pop_front() {
        if is_passed[at] && steps[at].is_none() {
            steps[at] = Some(far);
            let further = edges.iter().filter(|edge| edge.from == at && edge.to != at);
            queue.extend(further.map(|edge| (edge.to, far + 1)));
        }
    }
    steps
}

/// Which way interfaces of a namespace between lead: to the one end, or nearer to it than to the other.
fn faces(
    edges: &[Edge],
    at: usize,
    ends: &[(usize, u32, Way); 2],
    steps: &[Vec<Option<u32>>; 2],
) -> BTreeMap<u32, Way> {
    let leads = |edge: &Edge, end: usize| {
        let (space, index, _) = ends[end];
        let is_nearer = || steps[end][edge.to].zip(steps[end][at]).is_some_and(|(there, here)| there < here);
        (edge.to, edge.into) == (space, index) || edge.to != at && is_nearer()
    };
    let of = |edge: &Edge| match (leads(edge, 1), leads(edge, 0)) {
        (true, false) => Some((edge.through, Way::Out)),
        (false, true) => Some((edge.through, Way::Back)),
        _ => None,
    };
    edges.iter().filter(|edge| edge.from == at).filter_map(of).collect()
}
