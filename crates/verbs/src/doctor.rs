//! The verb `doctor`: what disturbs a measurement here, and does the target answer.

use dropline_archive::environment;
use dropline_failure::{Failure, quoted};
use dropline_targets::{Opening, Spoken, Target, generator_limit};
use dropline_traffic::{Quota, Quotas};
use dropline_trial::{Rate, TrafficProfile};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What was looked at.
    pub subject: String,
    /// What was found.
    pub found: String,
    /// How bad that is.
    pub weight: Weight,
    /// What to do.
    pub advice: Option<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing to do.
    Fine,
    /// Numbers will scatter or be smaller.
    Disturbs,
    /// Nothing can be measured.
    Broken,
}

/// Looks at this machine.
///
/// # Errors
/// If the user wants to stop.
pub fn examine_machine(stop: &Arc<AtomicBool>) -> Result<Vec<Finding>, Failure> {
    let machine = environment::capture(&[]);
    let unknown = || "unknown".to_owned();
    let mut findings = vec![fine(
        "machine",
        format!(
            "{} processors, {}, {}",
            machine.cpus.map_or_else(unknown, |cpus| cpus.to_string()),
            machine.cpu.clone().unwrap_or_else(unknown),
            machine.kernel.clone().unwrap_or_else(unknown)
        ),
    )];
    findings.push(match machine.cpus {
        Some(cpus) if cpus < 4 => disturbs(
            "processors",
            format!("{cpus}: generator, receiver and target share them"),
            "with four or more, each has one of its own",
        ),
        _ => fine("processors", "enough for generator, receiver and target"),
    });
    findings.push(quota(Quotas::of_this_process().tightest()));
    findings.push(match machine.governor.as_deref() {
        Some("performance") => fine("governor", "performance"),
        Some(governor) => disturbs(
            "governor",
            format!("{governor}: speed changes with load"),
            "cpupower frequency-set -g performance",
        ),
        None => fine("governor", "none: the processor's speed is not this system's to set"),
    });
    findings.push(match machine.turbo.as_deref() {
        Some("on") => {
            disturbs("turbo", "on: speed depends on heat and neighbours", "switch it off for comparisons")
        }
        turbo => fine("turbo", turbo.unwrap_or("unknown")),
    });
    findings.push(match machine.virtualization.as_deref() {
        Some(name) => disturbs(
            "virtual",
            format!("{name}: other guests take time that no counter here shows"),
            "compare ratios measured in one run, not single figures",
        ),
        None => fine("virtual", "no"),
    });
    findings.push(match machine.clocksource.as_deref() {
        Some(source @ ("tsc" | "kvm-clock" | "arch_sys_counter")) => fine("clock", source),
        source => {
            disturbs("clock", source.unwrap_or("unknown").to_owned(), "reading it may cost microseconds")
        }
    });
    findings.push(match machine.rmem_max_bytes {
        Some(bytes) if bytes < 4 << 20 && machine.root != Some(true) => disturbs(
            "buffers",
            format!("net.core.rmem_max is {bytes} B: our reply socket may overflow before the target does"),
            "sysctl -w net.core.rmem_max=8388608, or run as root",
        ),
        Some(bytes) => fine("buffers", format!("net.core.rmem_max {bytes} B")),
        None => fine("buffers", "unknown"),
    });
    findings.push(match machine.load_average {
        Some(load) if load > 0.5 => {
            disturbs("load", format!("{load} in the last minute"), "stop what else runs on this machine")
        }
        load => fine("load", load.map_or_else(unknown, |load| load.to_string())),
    });
    findings.push(match generator_limit(&TrafficProfile::default(), stop) {
        Ok(limit) => fine("generator", format!("offers about {} of 64 B to our own reflector", about(limit))),
        Err(why) if why.kind() == dropline_failure::FailureKind::Interrupted => return Err(why),
        Err(why) => failed("generator", &why),
    });
    Ok(findings)
}

/// In two digits: the next second it is another.
fn about(load: Rate) -> Rate {
    let step = 10f64.powf((load.as_pps().max(1.0).log10() - 1.0).floor());
    Rate::from_millipps(((load.as_pps() / step).round() * step * 1000.0) as u64)
}

/// What our control group may use of the CPUs.
fn quota(tightest: Option<&Quota>) -> Finding {
    let Some(quota) = tightest else { return fine("quota", "no limit of CPU time that is seen from here") };
    let before = match quota.times {
        0 => String::new(),
        times => {
            format!("; it was used up {times} times so far, for {} ms in all", quota.stopped_ns / 1_000_000)
        }
    };
    disturbs(
        "quota",
        format!(
            "the control group {} may use the CPU for {} of each {} ms, and is stopped for the rest{before}",
            quota.directory.display(),
            quota.runtime_us as f64 / 1000.0,
            quota.period_us as f64 / 1000.0
        ),
        "raise it (cpu.max, cpu.cfs_quota_us, docker --cpus), or measure outside of it: who is stopped is late",
    )
}

/// Looks at a target: whose socket it is, may it be measured, does it answer, to what, and how fast.
pub fn examine_target(target: &Target, stop: &Arc<AtomicBool>) -> Vec<Finding> {
    let mut found = measured(target, stop);
    let listener = match target.listener(stop) {
        Ok(Some(listener)) => listener,
        Ok(None) | Err(_) => return found,
    };
    let is_measured = found.iter().all(|finding| finding.weight != Weight::Broken);
    match listener.spoken {
        Some(Spoken { words, command }) => {
            let advice = Some(format!("to measure it:  {command}"));
            match is_measured {
                false if target.asks_nothing() => {
                    found = vec![Finding { advice, ..fine("target", format!("{target}: {words}")) }];
                }
                false => found.push(Finding { advice, ..fine("service", words) }),
                true => found.push(fine("service", words)),
            }
        }
        None if target.asks_nothing() => {
            let silent = Failure::environment(format!(
                "{target}: a question that every DNS server answers was sent there, and no answer came"
            ));
            found = vec![failed("target", &silent.advice(
                "start the server, or name the address and the port at which it listens; it may also have a rule that keeps this address out",
            ))];
        }
        None => {}
    }
    found.insert(0, fine("socket", listener.holder));
    found
}

fn measured(target: &Target, stop: &Arc<AtomicBool>) -> Vec<Finding> {
    let opening = Opening { stop: Arc::clone(stop), patience: Duration::from_secs(10), ..Opening::default() };
    match target.open(&TrafficProfile::default(), opening) {
        Ok(mut opened) => {
            let note = opened.note.unwrap_or_else(|| "ready".into());
            let mut finding = fine("target", format!("{target}: {note}"));
            if target.starts_a_program() {
                // A trial may send packets anywhere: nobody asked for one. That it ends well can be known without.
                if let Err(why) = opened.measurer.finish() {
                    return vec![failed("target", &why)];
                }
                finding.found += "; it was not asked for a trial";
                let load = match target.paces_itself() {
                    true => String::new(),
                    false => format!(" --load 100{}", target.load_unit().rates()[0]),
                };
                let target = quoted(&target.to_string());
                finding.advice =
                    Some(format!("to ask it for one:  dropline trial {target}{load} --duration 1s"));
            }
            vec![finding]
        }
        Err(why) => vec![failed("target", &why)],
    }
}

fn fine(subject: &str, found: impl Into<String>) -> Finding {
    Finding { subject: subject.into(), found: found.into(), weight: Weight::Fine, advice: None }
}

fn disturbs(subject: &str, found: impl Into<String>, advice: &str) -> Finding {
    Finding { weight: Weight::Disturbs, advice: Some(advice.into()), ..fine(subject, found) }
}

fn failed(subject: &str, why: &Failure) -> Finding {
    let (what, advice) = why.parts();
    Finding { weight: Weight::Broken, advice: advice.map(str::to_owned), ..fine(subject, what) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_machine_offers_is_said_in_as_many_digits_as_it_keeps() {
        let about = |pps: u64| about(Rate::from_millipps(pps * 1000)).to_string();
        assert_eq!([380_628, 515_247, 1_049_999, 7].map(about), ["380 kpps", "520 kpps", "1 Mpps", "7 pps"]);
    }

    #[test]
    fn a_program_that_was_asked_for_nothing_is_said_to_be_so_and_one_that_fails_is_broken() {
        let found = |word: &str| {
            let stop = Arc::new(AtomicBool::new(false));
            examine_target(&Target::parse(word).unwrap(), &stop).remove(0)
        };
        let waits = found("exec:cat");
        assert!(waits.weight == Weight::Fine && waits.found.contains("not asked for a trial"), "{waits:?}");
        let fails = found("exec:false");
        assert!(
            fails.weight == Weight::Broken && fails.found.contains("was asked for no trial"),
            "{fails:?}"
        );
    }
}
