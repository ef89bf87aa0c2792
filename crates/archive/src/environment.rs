//! What a sceptic asks about this machine, read from the kernel.

use dropline_record::Environment;
use std::collections::BTreeMap;
use std::fs::read_to_string;

/// Reads what can be read; what cannot is `None`.
pub fn capture(command_line: &[String]) -> Environment {
    let cpuinfo = text("/proc/cpuinfo");
    Environment {
        dropline: env!("CARGO_PKG_VERSION").into(),
        command_line: command_line.to_vec(),
        kernel: text("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}")),
        os: text("/etc/os-release").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(line.trim_matches('"').to_owned())
        }),
        cpu: cpuinfo.as_deref().and_then(|text| field(text, "model name")),
        cpus: std::thread::available_parallelism().ok().and_then(|count| u32::try_from(count.get()).ok()),
        governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        turbo: turbo(),
        smt: text("/sys/devices/system/cpu/smt/active")
            .map(|active| if active == "1" { "on" } else { "off" }.to_owned()),
        virtualization: virtualization(cpuinfo.as_deref()),
        clocksource: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        memory_bytes: text("/proc/meminfo")
            .and_then(|text| field(&text, "MemTotal"))
            .and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok())
            .map(|kib| kib * 1024),
        rmem_max_bytes: number("/proc/sys/net/core/rmem_max"),
        rmem_default_bytes: number("/proc/sys/net/core/rmem_default"),
        reply_buffer_bytes: None,
        load_average: text("/proc/loadavg").and_then(|text| text.split_whitespace().next()?.parse().ok()),
        root: text("/proc/self/status").and_then(|text| field(&text, "Uid")).map(|ids| {
            // Real, effective, saved, file system.
            ids.split_whitespace().nth(1) == Some("0")
        }),
        labels: labels(|name| std::env::var(name).ok()),
    }
}

/// What build services call the commit, the branch and the number of a build: each by the variables that it sets.
const SERVICES: [[&str; 3]; 8] = [
    ["GITHUB_SHA", "GITHUB_REF_NAME", "GITHUB_RUN_ID"],
    ["CI_COMMIT_SHA", "CI_COMMIT_REF_NAME", "CI_PIPELINE_ID"],
    ["BUILDKITE_COMMIT", "BUILDKITE_BRANCH", "BUILDKITE_BUILD_NUMBER"],
    ["CIRCLE_SHA1", "CIRCLE_BRANCH", "CIRCLE_BUILD_NUM"],
    ["TRAVIS_COMMIT", "TRAVIS_BRANCH", "TRAVIS_BUILD_NUMBER"],
    ["DRONE_COMMIT_SHA", "DRONE_BRANCH", "DRONE_BUILD_NUMBER"],
    ["BUILD_SOURCEVERSION", "BUILD_SOURCEBRANCHNAME", "BUILD_BUILDID"],
    ["GIT_COMMIT", "GIT_BRANCH", "BUILD_NUMBER"],
];
/// A longer value is not a name.
const LONGEST_LABEL: usize = 200;

/// The labels of the first service that names a commit.
fn labels(variable: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let said = |name: &str| variable(name).filter(|value| !value.is_empty() && value.len() <= LONGEST_LABEL);
    let service = SERVICES.iter().find(|[commit, ..]| said(commit).is_some());
    let named = service.into_iter().flat_map(|names| ["commit", "branch", "build"].into_iter().zip(names));
    named.filter_map(|(label, name)| Some((label.to_owned(), said(name)?))).collect()
}

fn turbo() -> Option<String> {
    let intel = text("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == "0");
    let other = || text("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == "1");
    intel.or_else(other).map(|on| if on { "on" } else { "off" }.to_owned())
}

fn virtualization(cpuinfo: Option<&str>) -> Option<String> {
    let named = text("/sys/class/dmi/id/sys_vendor").filter(|vendor| {
        ["QEMU", "VMware", "Xen", "innotek", "Microsoft", "Amazon", "Google"]
            .iter()
            .any(|name| vendor.contains(name))
    });
    let flags = cpuinfo.and_then(|text| field(text, "flags"));
    let flagged = flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    named.or_else(|| flagged.then(|| "hypervisor of unknown name".to_owned()))
}

fn text(path: &str) -> Option<String> {
    read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn number(path: &str) -> Option<u64> {
    text(path)?.parse().ok()
}

/// The value behind `name :` in a file of such lines.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_branch_and_build_are_those_of_the_service_that_started_it() {
        let of = |set: &[(&str, &str)]| {
            labels(|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned()))
        };
        let found = of(&[("CI_COMMIT_SHA", "5f0c"), ("CI_PIPELINE_ID", "12"), ("BUILD_NUMBER", "7")]);
        let named: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(named, [("build", "12"), ("commit", "5f0c")]);
        assert!(of(&[("BUILD_NUMBER", "7"), ("GITHUB_SHA", "")]).is_empty());
        assert!(of(&[("GITHUB_SHA", &"x".repeat(1000))]).is_empty());
    }

    #[test]
    fn this_machine_has_a_kernel_and_processors() {
        let environment = capture(&["dropline".into()]);
        assert!(environment.kernel.is_some_and(|kernel| kernel.starts_with("Linux ")));
        assert!(environment.cpus.is_some_and(|cpus| cpus > 0));
        assert!(environment.root.is_some());
    }
}
