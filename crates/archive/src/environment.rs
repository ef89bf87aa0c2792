//! What a sceptic asks about this machine, read from the kernel.

use dropline_record::Environment;
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
    }
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
    fn this_machine_has_a_kernel_and_processors() {
        let environment = capture(&["dropline".into()]);
        assert!(environment.kernel.is_some_and(|kernel| kernel.starts_with("Linux ")));
        assert!(environment.cpus.is_some_and(|cpus| cpus > 0));
        assert!(environment.root.is_some());
    }
}
