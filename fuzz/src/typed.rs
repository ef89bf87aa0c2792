//! What people give beside targets and quantities: files of kept runs, conditions, hosts and networks. The first byte
//! says which.

use super::text;
use dropline_aggregator::access::Network;
use dropline_aggregator::address::host_and_port;
use dropline_experiments::{EXPERIMENTS, OfKept};
use dropline_record::Record;
use dropline_traffic::Cpus;
use dropline_verbs::fail_if::{AskedSearch, FailIf};
use std::sync::LazyLock;

/// Records against which conditions are held: those of the corpus that are whole.
static RECORDS: LazyLock<Vec<Record>> = LazyLock::new(|| {
    let texts = [
        include_str!("../../crates/record/tests/records/dropline-1.jsonl"),
        include_str!("../corpus/record/trial.txt"),
        include_str!("../corpus/record/torn.txt"),
        include_str!("../corpus/record/search.txt"),
        include_str!("../corpus/record/mlr.txt"),
        include_str!("../corpus/record/mdr.txt"),
    ];
    texts.into_iter().filter_map(|text| Record::read(text).ok()).collect()
});

/// What is read is called what was written, is held without a panic, and is refused in words.
pub fn check(bytes: &[u8]) {
    let Some((&which, bytes)) = bytes.split_first() else { return };
    let word = &*text(bytes);
    match usize::from(which) % 8 {
        5 => condition(word),
        6 => address(word),
        7 => {
            if let Ok(cpus) = word.parse::<Cpus>() {
                assert_eq!(cpus.to_string().parse().ok(), Some(cpus), "CPUs are read as they are printed");
            }
        }
        _ => EXPERIMENTS.iter().filter_map(|one| one.of_kept).for_each(|of_kept| kept(of_kept, word)),
    }
}

fn kept(of_kept: OfKept, word: &str) {
    match of_kept(word) {
        Ok(study) => assert!(!study.title.is_empty()),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

fn condition(word: &str) {
    let condition = match FailIf::parse(word) {
        Ok(condition) => condition,
        Err(why) => return assert_eq!(why.exit_code(), 2),
    };
    assert_eq!(condition.to_string(), word);
    let asked =
        AskedSearch { loss_ratios: vec![0.0, 0.005], medians: false, certified: false, delays: false };
    for asked in [None, Some(&asked)] {
        assert!(condition.check(asked).err().is_none_or(|why| why.exit_code() == 2));
    }
    assert!(!RECORDS.is_empty());
    for record in &*RECORDS {
        let held = condition.hold(record);
        assert!(held.value.is_none_or(f64::is_finite) && !held.text.contains("NaN"), "{held:?}");
        assert!(held.failed || !held.text.ends_with("not measured"), "what was not measured has not passed");
    }
}

fn address(word: &str) {
    if let Some((host, port)) = host_and_port(word) {
        assert!(port > 0 && !host.is_empty() && !host.contains(['[', ']', ' ']));
        assert_eq!(host_and_port(&format!("{host}:{port}")), Some((host, port)));
    }
    if let Ok(network) = word.parse::<Network>() {
        assert_eq!(network.to_string().parse(), Ok(network), "a network is read as it is printed");
        let own = word.split('/').next().and_then(|address| address.parse().ok()).expect("an address");
        assert!(network.holds(own), "a network holds the address that names it");
    }
}
