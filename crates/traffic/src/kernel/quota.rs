//! The CPU time that control groups allow a process, and how often they stopped it (versions 1 and 2,
//! linux/Documentation/scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst).

use dropline_trial::Throttled;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The control groups above a process that limit its CPU time, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotas(Vec<Quota>);

/// A control group with a limit of CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Its directory.
    pub directory: PathBuf,
    /// CPU time of each period, of all its processes together.
    pub runtime_us: u64,
    /// The period.
    pub period_us: u64,
    /// Times that a period's share was used up so far.
    pub times: u64,
    /// How long processes were stopped for that so far.
    pub stopped_ns: u64,
}

/// The two versions of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Which version, and where its directory of a process is.
type QuotaFiles = (Version, PathBuf);

impl Quotas {
    /// Those of this very process.
    pub fn of_this_process() -> Self {
        Self::of_file(Path::new("/proc/self/cgroup"))
    }

    /// Those of another one.
    pub(crate) fn of_process(pid: u32) -> Self {
        Self::of_file(&PathBuf::from(format!("/proc/{pid}/cgroup")))
    }

    fn of_file(file: &Path) -> Self {
        let (Ok(groups), Ok(mounts)) = (read_to_string(file), read_to_string("/proc/self/mountinfo")) else {
            return Self::default();
        };
        Self(places(&groups, &mounts).iter().filter_map(Quota::read).collect())
    }

    /// The one that leaves least.
    pub fn tightest(&self) -> Option<&Quota> {
        self.0.iter().min_by(|a, b| {
            let [a, b] = [a, b].map(|quota| quota.runtime_us as f64 / quota.period_us as f64);
            a.total_cmp(&b)
        })
    }

    /// What stopped its process longest since `before`; `None` if nothing did.
    pub fn throttled_since(&self, before: &Self) -> Option<Throttled> {
        let grown = self.0.iter().filter_map(|now| {
            let then = before.0.iter().find(|then| then.directory == now.directory)?;
            Some(Throttled {
                runtime_us: now.runtime_us,
                period_us: now.period_us,
                times: now.times.saturating_sub(then.times),
                stopped_ns: now.stopped_ns.saturating_sub(then.stopped_ns),
            })
        });
        grown.filter(|throttled| throttled.times > 0).max_by_key(|throttled| throttled.stopped_ns)
    }
}

impl Quota {
    fn read((version, directory): &QuotaFiles) -> Option<Self> {
        let text = |name: &str| read_to_string(directory.join(name)).ok();
        let (runtime_us, period_us) = match version {
            Version::One => limit_1(&text("cpu.cfs_quota_us")?, &text("cpu.cfs_period_us")?),
            Version::Two => limit_2(&text("cpu.max")?),
        }?;
        let (times, stopped_ns) = stopped(&text("cpu.stat").unwrap_or_default());
        Some(Self { directory: directory.clone(), runtime_us, period_us, times, stopped_ns })
    }
}

/// Whether the control group of this process leaves real-time threads no time at all (version 1, where the kernel
/// shares it out by groups).
pub(crate) fn no_real_time_here() -> bool {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let own = places(&groups, &mounts).into_iter().find(|(version, _)| *version == Version::One);
    own.and_then(|(_, directory)| read_to_string(directory.join("cpu.rt_runtime_us")).ok())
        .is_some_and(|text| text.trim() == "0")
}

/// The directories of a process's control groups that may limit its CPU time, each with those above it. `groups` is
/// `/proc/PID/cgroup`, `mounts` `/proc/self/mountinfo`.
fn places(groups: &str, mounts: &str) -> Vec<QuotaFiles> {
    let mut found = Vec::new();
    for line in groups.lines() {
        // Number, controllers, path.
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let version = match controllers {
            "" => Version::Two,
            some if some.split(',').any(|controller| controller == "cpu") => Version::One,
            _ => continue,
        };
        let mount = mounts.lines().find_map(|line| mount(line, version));
        // Of a container's groups its root is all that is seen, and of one beside it nothing.
        let below = |root| Path::new(path).strip_prefix(root).ok().filter(|below| !below.starts_with(".."));
        found.extend(mount.into_iter().flat_map(|(root, mounted)| {
            let below = below(root).unwrap_or(Path::new(""));
            below.ancestors().map(move |below| (version, Path::new(mounted).join(below)))
        }));
    }
    found
}

/// Root and place of a mount of control groups; `None` of other mounts.
fn mount(line: &str, version: Version) -> Option<(&str, &str)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mounted) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1)?);
    let is = match version {
        Version::One => name == "cgroup" && options.split(',').any(|option| option == "cpu"),
        Version::Two => name == "cgroup2",
    };
    is.then_some((root, mounted))
}

/// `cpu.max`: runtime and period, or `max` and period.
fn limit_2(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    Some((words.next()??, words.next()??)).filter(|(_, period)| *period > 0)
}

/// `cpu.cfs_quota_us` and `cpu.cfs_period_us`: a quota of -1 is none.
fn limit_1(quota: &str, period: &str) -> Option<(u64, u64)> {
    Some((quota.trim().parse().ok()?, period.trim().parse().ok()?)).filter(|(_, period)| *period > 0)
}

/// `cpu.stat`: times and time stopped, in ns for version 1 and in us for version 2.
fn stopped(text: &str) -> (u64, u64) {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.trim().parse::<u64>().ok())
    };
    let stopped_ns = value("throttled_time").or(value("throttled_usec").map(|us| us.saturating_mul(1000)));
    (value("nr_throttled").unwrap_or(0), stopped_ns.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 25 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        33 30 0:29 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n\
        34 30 0:30 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n";

    fn found(groups: &str, mounts: &str) -> Vec<String> {
        places(groups, mounts).into_iter().map(|(_, place)| place.display().to_string()).collect()
    }

    #[test]
    fn the_groups_of_a_process_are_found_in_both_versions_with_those_above_them() {
        let groups = "4:cpuset:/a\n2:cpu,cpuacct:/a/b\n1:name=systemd:/x:y\n0::/c\n";
        assert_eq!(
            found(groups, MOUNTS),
            [
                "/sys/fs/cgroup/cpu,cpuacct/a/b",
                "/sys/fs/cgroup/cpu,cpuacct/a",
                "/sys/fs/cgroup/cpu,cpuacct/",
                "/sys/fs/cgroup/unified/c",
                "/sys/fs/cgroup/unified/",
            ]
        );
        let container = "40 30 0:30 /docker/7f /sys/fs/cgroup ro - cgroup2 cgroup rw,nsdelegate\n";
        assert_eq!(found("0::/docker/7f/job\n", container), ["/sys/fs/cgroup/job", "/sys/fs/cgroup/"]);
        assert_eq!(found("0::/../other\n", container), ["/sys/fs/cgroup/"]);
        for torn in ["", "0:", "0::", "a\nb", "1:cpu:"] {
            assert!(found(torn, "1 2 - \n - cgroup2\n").is_empty());
        }
    }

    #[test]
    fn a_limit_is_read_in_both_versions_and_none_is_none() {
        assert_eq!((limit_2("20000 100000\n"), limit_2("max 100000\n")), (Some((20_000, 100_000)), None));
        assert_eq!(
            (limit_1("20000\n", "100000\n"), limit_1("-1\n", "100000\n")),
            (Some((20_000, 100_000)), None)
        );
        for torn in ["", "5", "5 0", "x y"] {
            assert_eq!((limit_2(torn), limit_1(torn, "")), (None, None), "{torn}");
        }
    }

    #[test]
    fn what_was_stopped_is_nanoseconds_in_both_versions() {
        assert_eq!(stopped("nr_periods 9\nnr_throttled 3\nthrottled_time 5000\n"), (3, 5000));
        assert_eq!(stopped("usage_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 5\n"), (3, 5000));
        assert_eq!(stopped("nonsense"), (0, 0));
    }

    #[test]
    fn the_group_that_stopped_longest_is_the_one_that_is_named() {
        let at = |name: &str, runtime_us, times, stopped_ns| Quota {
            directory: name.into(),
            runtime_us,
            period_us: 100_000,
            times,
            stopped_ns,
        };
        let before = Quotas(vec![at("/a/b", 50_000, 4, 70), at("/a", 20_000, 0, 0)]);
        let after = Quotas(vec![at("/a/b", 50_000, 5, 80), at("/a", 20_000, 9, 500)]);
        let throttled = after.throttled_since(&before).unwrap();
        assert_eq!((throttled.runtime_us, throttled.times, throttled.stopped_ns), (20_000, 9, 500));
        assert_eq!(before.throttled_since(&before), None);
        assert_eq!(after.tightest().unwrap().directory, Path::new("/a"));
    }
}
