//! What other programs and the kernel say in a few words: jackd, LTTng, lists of CPUs. The first byte says who.

use super::text;
use dropline_jack::server_output::{complaint, ours};
use dropline_targets::flowgraph::discarded;
use dropline_targets::flowgraph::graph::Topology;
use dropline_targets::flowgraph::graph::topology::list;

/// What is read stands in the bytes, steers no terminal, and takes no more room than it may.
pub fn check(bytes: &[u8]) {
    let Some((who, bytes)) = bytes.split_first() else { return };
    match who % 4 {
        0 => {
            for (process, name) in ours(bytes, 7) {
                let entry = [&process.to_ne_bytes()[..], format!("jack-7:{name}:").as_bytes()].concat();
                assert!(name.starts_with("dropline-") && bytes.windows(entry.len()).any(|at| at == entry));
            }
        }
        1 => {
            let said = complaint(bytes);
            assert!(
                said.len() <= 6 * 3 * 4200 && !said.contains(|sign: char| sign.is_control() && sign != '\t'),
                "{said:?}"
            );
        }
        2 => {
            let said = &*text(bytes);
            let again = format!("{said}\nDiscarded events: 5\n");
            assert_eq!(discarded(&again), discarded(said).saturating_add(5));
        }
        _ => {
            let said = &*text(bytes);
            let cpus = list(said);
            assert!(cpus.is_sorted() && cpus.windows(2).all(|pair| pair[0] < pair[1]));
            let whole: Vec<String> = cpus.iter().map(u32::to_string).collect();
            assert_eq!(list(&whole.join(",")), cpus);
            let place = |cpu: &u32| (*cpu, cpu.is_multiple_of(3).then_some((0, i64::from(cpu / 2))));
            let topology = Topology::of(cpus.iter().map(place));
            let mut all = topology.cores.concat();
            all.sort_unstable();
            assert_eq!(all, cpus, "each CPU is in one core");
        }
    }
}
