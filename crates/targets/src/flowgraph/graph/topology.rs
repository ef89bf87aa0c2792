//! Which CPUs share a core.

use super::Cpus;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;

/// CPUs of each core that this program may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// In the order of their first CPUs; within a core in order.
    pub cores: Vec<Vec<u32>>,
}

/// Cores that a graph is kept to, as in the measurements of 2021.
const CORES: usize = 3;

impl Topology {
    /// Reads it from the kernel; CPUs of which it does not say where they are stand alone.
    pub fn read() -> Self {
        let status = read_to_string("/proc/self/status").unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let cpus = list(allowed.unwrap_or_default());
        let place = |cpu: u32| {
            let read = |what: &str| {
                let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{what}");
                read_to_string(path).ok()?.trim().parse().ok()
            };
            Some((read("physical_package_id")?, read("core_id")?))
        };
        Self::of(cpus.into_iter().map(|cpu| (cpu, place(cpu))))
    }

    /// From each CPU's package and core.
    pub fn of(cpus: impl IntoIterator<Item = (u32, Option<(i64, i64)>)>) -> Self {
        let mut known: BTreeMap<(i64, i64), Vec<u32>> = BTreeMap::new();
        let mut cores: Vec<Vec<u32>> = Vec::new();
        for (cpu, place) in cpus {
            match place {
                Some(place) => known.entry(place).or_default().push(cpu),
                None => cores.push(vec![cpu]),
            }
        }
        cores.extend(known.into_values());
        cores.iter_mut().for_each(|core| core.sort_unstable());
        cores.sort_unstable();
        Self { cores }
    }

    /// The CPUs that a graph is kept to.
    pub fn chosen(&self, wish: &Cpus) -> Vec<u32> {
        let cores = match wish {
            Cpus::Named(cpus) => return cpus.clone(),
            Cpus::ThreeCores if self.cores.len() > CORES => &self.cores[..CORES],
            Cpus::All | Cpus::ThreeCores => &self.cores[..],
        };
        let mut cpus = cores.concat();
        cpus.sort_unstable();
        cpus
    }
}

/// No kernel is built for more CPUs.
const MOST_CPUS: u32 = 1 << 16;

/// `0-3,8` as numbers, each once and in order; what is no CPU is left out.
pub fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (last < MOST_CPUS).then_some(first..=last)
    };
    let cpus: BTreeSet<u32> = text.split(',').filter_map(range).flatten().collect();
    cpus.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_cores_with_their_hyperthreads_are_chosen_where_there_are_more() {
        // The machine of 2021: six cores, CPU n and n + 6 share one.
        let six = Topology::of((0..12).map(|cpu| (cpu, Some((0, i64::from(cpu % 6))))));
        assert_eq!(six.chosen(&Cpus::ThreeCores), [0, 1, 2, 6, 7, 8]);
        assert_eq!(six.chosen(&Cpus::All).len(), 12);
        assert_eq!(six.chosen(&Cpus::Named(vec![5])), [5]);
        let two = Topology::of([(0, Some((0, 0))), (1, Some((0, 1)))]);
        assert_eq!(two.chosen(&Cpus::ThreeCores), [0, 1]);
        let unknown = Topology::of([(0, None), (1, None)]);
        assert_eq!(unknown.cores, [[0], [1]]);
    }

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        assert_eq!(list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert!(list("").is_empty());
    }

    #[test]
    fn a_list_of_more_cpus_than_a_kernel_knows_fills_no_memory() {
        assert_eq!(list("0-4294967295,3,1-3"), [1, 2, 3]);
    }
}
