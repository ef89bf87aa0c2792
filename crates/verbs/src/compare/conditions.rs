//! What was not the same in two records that are compared: neither a ratio nor a difference says anything of it.

use dropline_record::{CaveatLine, Part, Purpose, Record};
use dropline_trial::Rate;

/// What was not the same in both, but for what was asked.
pub(super) fn otherwise(of_a: Vec<Condition>, of_b: Vec<Condition>) -> Vec<CaveatLine> {
    let mut caveats: Vec<CaveatLine> = Vec::new();
    for ((code, what, of_a), (_, _, of_b)) in of_a.into_iter().zip(of_b) {
        let (Some(of_a), Some(of_b)) = (of_a, of_b) else { continue };
        if of_a == of_b {
            continue;
        }
        let words = format!("{what}: A {of_a}, B {of_b}");
        match caveats.iter_mut().find(|caveat| caveat.code == code) {
            Some(caveat) => caveat.text.push_str(&format!("; {words}")),
            None => caveats.push(CaveatLine::said(code, format!("not the same in both: {words}"))),
        }
    }
    caveats
}

/// A code, what it is, and what it was; `None` where that is not known.
pub(super) type Condition = (&'static str, &'static str, Option<String>);

/// Those of a record.
pub(super) fn conditions(record: &Record) -> Vec<Condition> {
    let header = &record.header;
    let (profile, environment) = (&header.profile, &header.environment);
    let parts = |parts: &[Part]| -> String {
        let words: Vec<String> = parts.iter().map(|part| format!("{} {}", part.name, part.share)).collect();
        words.join(", ")
    };
    let search = header.search.as_ref();
    let algorithm = search.map(|search| match &search.preset {
        Some(preset) => format!("{} with preset {preset}", search.algorithm),
        None => search.algorithm.clone(),
    });
    let level = search.and_then(|search| search.level).map(|level| format!("{} %", level * 100.0));
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let is_of_trials = search.is_none() && header.verb == "trial";
    let loads = record.trials.iter().filter(|trial| is_of_trials && trial.purpose == Purpose::Trial);
    let mut loads: Vec<String> = loads
        .filter_map(|trial| Rate::pps(trial.intended_load_pps).ok())
        .map(|load| load.to_string())
        .collect();
    loads.dedup();
    vec![
        ("load_differs", "load", (!loads.is_empty()).then(|| loads.join(", "))),
        ("target_differs", "target", Some(header.target.clone())),
        ("target_differs", "file that says what is asked, by its digest", header.asked_digest.clone()),
        ("traffic_differs", "arrivals", Some(profile.arrival.clone())),
        ("traffic_differs", "payload", Some(format!("{} B", profile.packet_bytes))),
        ("traffic_differs", "streams", Some(parts(&profile.streams))),
        ("traffic_differs", "directions", Some(parts(&profile.directions))),
        ("algorithm_differs", "algorithm", algorithm),
        ("algorithm_differs", "level", level),
        ("environment_differs", "version of dropline", Some(environment.dropline.clone())),
        ("environment_differs", "generator", header.generator.clone()),
        ("environment_differs", "measured by", Some(header.measured_by())),
        ("environment_differs", "kernel", environment.kernel.clone()),
        ("environment_differs", "system", environment.os.clone()),
        ("environment_differs", "processor", environment.cpu.clone()),
        ("environment_differs", "CPUs", number(environment.cpus)),
        ("environment_differs", "governor", environment.governor.clone()),
        ("environment_differs", "turbo", environment.turbo.clone()),
        ("environment_differs", "multithreading", environment.smt.clone()),
        ("environment_differs", "hypervisor", environment.virtualization.clone()),
    ]
}
