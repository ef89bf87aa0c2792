//! Which of connected interfaces are between two of them.

use std::collections::{BTreeMap, BTreeSet};

/// An interface: the number of its namespace among those that are looked at, and its own.
pub type Node = (usize, u32);

/// What is connected to what: both ends of a pair, a bridge and each of its ports, an interface and what is on top of it.
#[derive(Clone, Debug, Default)]
pub struct Connections(BTreeMap<Node, BTreeSet<Node>>);

impl Connections {
    /// Two are connected.
    pub fn add(&mut self, one: Node, other: Node) {
        self.0.entry(one).or_default().insert(other);
        self.0.entry(other).or_default().insert(one);
    }

    /// What is connected to one directly.
    pub fn of(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        self.0.get(&node).into_iter().flatten().copied()
    }

    /// All that can be come to from one, itself included, without those.
    pub fn reached(&self, from: Node, without: &BTreeSet<Node>) -> BTreeSet<Node> {
        let (mut reached, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(node) = left.pop() {
            if !without.contains(&node) && reached.insert(node) {
                left.extend(self.of(node));
            }
        }
        reached
    }

    /// All that is on a way between two, themselves included: what leads nowhere else is left out.
    pub fn between(&self, one: Node, other: Node) -> BTreeSet<Node> {
        let mut way: BTreeSet<Node> = self.0.keys().copied().chain([one, other]).collect();
        loop {
            let leads = |node: &Node| {
                *node == one || *node == other || self.of(*node).filter(|next| way.contains(next)).count() > 1
            };
            let left: BTreeSet<Node> = way.iter().copied().filter(leads).collect();
            if left.len() == way.len() {
                return way;
            }
            way = left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_nowhere_else_is_not_between_and_what_goes_round_is() {
        let mut connections = Connections::default();
        let node = |number| (0, number);
        for (one, other) in [(1, 2), (2, 3), (3, 4), (2, 5), (5, 6), (3, 7), (7, 8), (8, 2)] {
            connections.add(node(one), node(other));
        }
        assert_eq!(connections.between(node(1), node(4)), [1, 2, 3, 4, 7, 8].map(node).into());
        assert_eq!(connections.reached(node(6), &[node(2)].into()), [5, 6].map(node).into());
    }
}
