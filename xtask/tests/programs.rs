//! Programs that tests call by name are on a fresh machine: a `cargo xtask setup` installs each, or every Debian has it.

mod tree;

use std::collections::BTreeSet;
use tree::{root, sources};

/// What stands before the name of a program that is started.
const STARTED: [&str; 4] =
    ["Command::new(\"", "crate::run(\"", "program::run(\"", "program::run_with_input(\""];

/// What no machine with Debian and Rust is without: the essential packages, apt, and cargo.
const EVERYWHERE: [&str; 18] = [
    "apt-get", "bash", "cargo", "chmod", "chrt", "cp", "env", "id", "ldd", "mkfifo", "prlimit", "script",
    "setpriv", "sh", "taskset", "timeout", "unshare", "yes",
];

/// Programs, the package that each comes from, and the list of `xtask/src/setup.rs` that must have it.
const INSTALLED: [(&str, &str, &str); 23] = [
    ("babeltrace2", "babeltrace2", "TRACE"),
    ("bridge", "iproute2", "TEST"),
    ("cc", "gcc", "TEST"),
    ("clang", "clang", "LINK"),
    ("cmake", "cmake", "FLOWGRAPH"),
    ("cyclictest", "rt-tests", "RIVALS"),
    ("gcc", "gcc", "TEST"),
    ("ip", "iproute2", "TEST"),
    ("iptables-legacy", "iptables", "TEST"),
    ("jackd", "jackd2", "AUDIO"),
    ("java", "default-jre-headless", "TEST"),
    ("kill", "procps", "TEST"),
    ("llvm-objcopy", "llvm", "LINK"),
    ("lttng", "lttng-tools", "TRACE"),
    ("lttng-sessiond", "lttng-tools", "TRACE"),
    ("nats-server", "nats-server", "FLEET"),
    ("node", "nodejs", "TEST"),
    ("npm", "npm", "TEST"),
    ("prometheus", "prometheus", "TEST"),
    ("promtool", "prometheus", "TEST"),
    ("python3", "python3", "TEST"),
    ("tc", "iproute2", "TEST"),
    ("xinetd", "xinetd", "TEST"),
];

/// Not started by a test: the name of our own help, and a program that `make book` builds.
const NOT_NEEDED: [&str; 2] = ["dropline", "mdbook"];

/// The programs that the sources name, without their directories.
fn started() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in ["crates", "xtask/src"].iter().flat_map(|place| sources(&root().join(place))) {
        let text = std::fs::read_to_string(path).unwrap();
        // As in one line: a name may begin in the next one.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( \"", "(\"");
        let words = STARTED.iter().flat_map(|begin| text.split(begin).skip(1));
        let names = words.filter_map(|rest| rest.split('"').next()?.rsplit('/').next());
        found.extend(names.map(str::to_owned));
    }
    found
}

#[test]
fn every_program_that_is_started_by_its_name_is_installed_or_on_every_debian() {
    let setup = std::fs::read_to_string(root().join("xtask/src/setup.rs")).unwrap();
    let list = |name: &str| setup.split(&format!("\nconst {name}: [")).nth(1)?.split("\n];").next();
    let started = started();
    assert!(started.len() > 25, "only {started:?} were found: the check reads nothing");
    for program in &started {
        let is_known = EVERYWHERE.iter().chain(&NOT_NEEDED).any(|name| name == program);
        let installed = INSTALLED.iter().find(|(name, ..)| name == program);
        let is_installed = installed.is_some_and(|(_, package, part)| {
            // A package of several lists has a name there.
            let written = [format!("(\"{package}"), format!(" {},", package.to_uppercase())];
            list(part).is_some_and(|list| written.iter().any(|written| list.contains(written)))
        });
        assert!(
            is_known || is_installed,
            "{program}: xtask/src/setup.rs does not install it ({installed:?})"
        );
    }
    let named = EVERYWHERE.iter().chain(&NOT_NEEDED).chain(INSTALLED.iter().map(|(name, ..)| name));
    let gone: Vec<_> = named.filter(|name| !started.contains(**name)).collect();
    assert_eq!(gone, [] as [&&str; 0], "nothing starts these any more");
}

#[test]
fn a_unit_starts_the_program_that_its_package_installs_by_what_its_file_has_to_say() {
    const INSTALLED_AT: &str = "usr/bin/dropline";
    let makes = std::fs::read_to_string(root().join("xtask/src/dist.rs")).unwrap();
    assert!(makes.contains(&format!("\"{INSTALLED_AT}\"")), "the package has the program elsewhere");
    let units = tree::files(&root().join("packaging"), "service");
    assert!(units.len() > 1, "only {units:?} were found: the check reads nothing");
    for unit in units {
        let text = std::fs::read_to_string(&unit).unwrap();
        let starts = text.lines().find_map(|line| line.strip_prefix("ExecStart=/")).unwrap_or_default();
        assert!(starts.starts_with(&format!("{INSTALLED_AT} ")), "{}: {starts}", unit.display());
        // A variable that nobody sets is an empty word, and no program takes that for a name or an address.
        let set = |name: &&str| *name == "CREDENTIALS_DIRECTORY" || text.contains(&format!("# {name}="));
        let named = starts.split("${").skip(1).filter_map(|rest| rest.split('}').next());
        let unset: Vec<&str> = named.filter(|name| !set(name)).collect();
        assert!(unset.is_empty(), "{}: nobody is told to set {unset:?}", unit.display());
    }
}
