//! Installs what a part needs: one transaction, nothing recommended, no service started.

use crate::{Done, newer, python, root};
use std::path::{Path, PathBuf};

/// Debian packages that `make test` needs, and a file of each that tells that it is there.
const TEST: [(&str, &str); 16] = [
    ("chromium", "/usr/bin/chromium"),
    ("default-jre-headless", "/usr/bin/java"),
    ("gcc", "/usr/bin/gcc"),
    ("iproute2", "/sbin/ip"),
    ("iptables", "/usr/sbin/iptables-legacy"),
    ("libhdrhistogram-java", "/usr/share/java/hdrhistogram.jar"),
    ("librsvg2-bin", "/usr/bin/rsvg-convert"),
    // The commands of a page start a fleet.
    ("nats-server", "/usr/sbin/nats-server"),
    ("nftables", "/usr/sbin/nft"),
    ("nodejs", "/usr/bin/node"),
    ("npm", "/usr/bin/npm"),
    PROCPS,
    ("hyperfine", "/usr/bin/hyperfine"),
    ("prometheus", "/usr/bin/promtool"),
    ("python3-prometheus-client", "/usr/lib/python3/dist-packages/prometheus_client/__init__.py"),
    ("xinetd", "/usr/sbin/xinetd"),
];

/// The program `kill`, which a small installation lacks.
const PROCPS: (&str, &str) = ("procps", "/bin/kill");

/// A JACK server and its client library for `jack:` targets.
const AUDIO: [(&str, &str); 2] = [("jackd2", "/usr/bin/jackd"), PROCPS];

/// Compilers, an AVR simulator, emulators and an instruction counter for `make test-embedded`.
const EMBEDDED: [(&str, &str); 13] = [
    ("gcc", "/usr/bin/gcc"),
    ("clang", "/usr/bin/clang"),
    ("gcc-avr", "/usr/bin/avr-gcc"),
    ("avr-libc", "/usr/lib/avr/include/avr/io.h"),
    ("gcc-arm-none-eabi", "/usr/bin/arm-none-eabi-gcc"),
    ("gcc-riscv64-unknown-elf", "/usr/bin/riscv64-unknown-elf-gcc"),
    ("libnewlib-arm-none-eabi", "/usr/lib/arm-none-eabi/newlib/libc.a"),
    ("picolibc-riscv64-unknown-elf", "/usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs"),
    ("zlib1g-dev", "/usr/include/zlib.h"),
    ("libsimavr-dev", "/usr/include/simavr/sim_avr.h"),
    ("libelf-dev", "/usr/include/libelf.h"),
    ("qemu-user", "/usr/bin/qemu-armeb"),
    ("valgrind", "/usr/bin/valgrind"),
];

/// GNU Radio and what builds with it, for `flowgraph:gnuradio`.
const FLOWGRAPH: [(&str, &str); 7] = [
    ("cmake", "/usr/bin/cmake"),
    ("g++", "/usr/bin/g++"),
    ("gnuradio-dev", "/usr/include/gnuradio/top_block.h"),
    ("libspdlog-dev", "/usr/include/spdlog/spdlog.h"),
    ("make", "/usr/bin/make"),
    ("nlohmann-json3-dev", "/usr/include/nlohmann/json.hpp"),
    ("pkg-config", "/usr/bin/pkg-config"),
];

/// A compiler with libFuzzer and its sanitizers, for `make fuzz`.
const FUZZ: [(&str, &str); 2] = [
    ("clang", "/usr/bin/clang"),
    ("libclang-rt-14-dev", "/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a"),
];

/// What lets a pair of interfaces take live frames, for `make test-link`, and what builds the BPF programs.
const LINK: [(&str, &str); 5] = [
    ("clang", "/usr/bin/clang"),
    ("ethtool", "/usr/sbin/ethtool"),
    ("iproute2", "/sbin/ip"),
    ("llvm", "/usr/bin/llvm-objcopy"),
    ("nftables", "/usr/sbin/nft"),
];
/// Python with its environments, for `make test` and `make test-python`, where no other one is found first.
const PYTHON: [(&str, &str); 2] =
    [("python3", "/usr/bin/python3"), ("python3-venv", "/usr/share/doc/python3-venv/copyright")];

/// Traffic generators of others for `make bench-traffic`, `make bench-pacing` and `make bench-link`, and cyclictest for
/// `dropline experiment wakeup-cyclictest`.
const RIVALS: [(&str, &str); 8] = [
    ("d-itg", "/usr/bin/ITGSend"),
    ("iperf3", "/usr/bin/iperf3"),
    ("iproute2", "/sbin/ip"),
    ("mgen", "/usr/bin/mgen"),
    ("nuttcp", "/usr/bin/nuttcp"),
    ("qperf", "/usr/bin/qperf"),
    ("rt-tests", "/usr/bin/cyclictest"),
    ("sockperf", "/usr/bin/sockperf"),
];

/// Servers for `make test-services`. Like those of the gallery they are unpacked and not installed: their packages would enable
/// units, six of which want port 53, and chrony's would take away the machine's own keeper of the time.
const SERVICES: [(&str, &str); 6] = [
    ("chrony", "/usr/sbin/chronyd"),
    ("dnsmasq-base", "/usr/sbin/dnsmasq"),
    ("knot", "/usr/sbin/knotd"),
    ("memcached", "/usr/bin/memcached"),
    ("nginx-light", "/usr/sbin/nginx"),
    ("nsd", "/usr/sbin/nsd"),
];

/// The further servers of `dropline experiment services`.
const GALLERY_SERVERS: [(&str, &str); 7] = [
    ("bind9", "/usr/sbin/named"),
    ("coturn", "/usr/bin/turnserver"),
    ("dnsdist", "/usr/bin/dnsdist"),
    ("freeradius", "/usr/sbin/freeradius"),
    ("rsyslog", "/usr/sbin/rsyslogd"),
    ("snmpd", "/usr/sbin/snmpd"),
    ("unbound", "/usr/sbin/unbound"),
];

/// Generators of others that ask these servers, for `dropline experiment services`.
const GALLERY: [(&str, &str); 4] = [
    ("dnsperf", "/usr/bin/dnsperf"),
    ("libmemcached-tools", "/usr/bin/memcaslap"),
    ("pdns-tools", "/usr/bin/calidns"),
    ("wrk", "/usr/bin/wrk"),
];

/// The tool that sends HTTP requests in `make test-services`, as Go's module proxy has it.
const VEGETA: &str = "github.com/tsenart/vegeta/v12@v12.13.0";
/// Another implementation of STAMP.
const STAMP_SUITE: &str = "stamp-suite@1.0.0";
/// What carries messages between agents, for `make test-fleet`.
const FLEET: [(&str, &str); 1] = [("nats-server", "/usr/sbin/nats-server")];

/// LTTng, a reader of its traces and a language more, for `make test-trace`.
const TRACE: [(&str, &str); 6] = [
    ("babeltrace2", "/usr/bin/babeltrace2"),
    ("g++", "/usr/bin/g++"),
    ("liblttng-ust-dev", "/usr/include/x86_64-linux-gnu/lttng/tracepoint.h"),
    ("lttng-tools", "/usr/bin/lttng"),
    PROCPS,
    ("python3", "/usr/bin/python3"),
];

/// Another installation on this machine is waited for, five minutes at most.
const WAIT: &str = "--option=DPkg::Lock::Timeout=300";

/// Keeps a freshly installed server from being started.
const POLICY: &str = "/usr/sbin/policy-rc.d";

pub(crate) fn run(part: &str) -> Done {
    match PARTS.iter().find(|(name, _)| *name == part) {
        Some((_, install)) => install(),
        None => Err(format!("there is no part {part:?}; there are {}", parts())),
    }
}

/// All parts by name.
pub(crate) fn parts() -> String {
    PARTS.map(|(name, _)| name).join(", ")
}

/// A part by its name, and how what it needs is installed.
type Part = (&'static str, fn() -> Done);

const PARTS: [Part; 12] = [
    ("audio", || packages(&AUDIO)),
    ("embedded", || packages(&EMBEDDED)),
    ("fleet", || packages(&FLEET)),
    // LTTng records beside our rings.
    ("flowgraph", || {
        packages(&[&FLOWGRAPH[..], &TRACE].concat())?;
        crate::trace::build()?;
        crate::flowgraph::build()
    }),
    ("fuzz", || packages(&FUZZ)),
    ("gallery", || run("services").and_then(|()| packages(&GALLERY)).and_then(|()| unpack(&GALLERY_SERVERS))),
    ("link", || packages(&LINK)),
    ("python", || {
        python_is_here()?;
        python::set_up()
    }),
    ("rivals", || packages(&RIVALS)),
    ("services", || {
        unpack(&SERVICES)?;
        vegeta()?;
        stamp_suite()
    }),
    ("test", || {
        packages(&TEST)?;
        python_is_here()?;
        python::set_up_readers()?;
        browser()
    }),
    ("trace", || {
        packages(&TRACE)?;
        crate::trace::build()
    }),
];

/// Python that can make environments: whichever is found first, else Debian's.
fn python_is_here() -> Done {
    if python::is_here() { Ok(()) } else { packages(&PYTHON) }
}

fn packages(wanted: &[(&str, &str)]) -> Done {
    let missing: Vec<&str> =
        wanted.iter().filter(|(_, file)| !is_there(Path::new(file))).map(|(package, _)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let held = !Path::new(POLICY).exists() && std::fs::write(POLICY, "#!/bin/sh\nexit 101\n").is_ok();
    if held {
        crate::run("chmod", &["+x", POLICY])?;
    }
    let done = install(&missing);
    if held {
        let _ = std::fs::remove_file(POLICY);
    }
    done
}

/// Whether a file is there, or a program of its name elsewhere on the path.
fn is_there(file: &Path) -> bool {
    let is_program = file.parent().is_some_and(|parent| parent.ends_with("bin") || parent.ends_with("sbin"));
    let (Some(path), Some(name)) = (std::env::var_os("PATH"), file.file_name()) else { return file.exists() };
    file.exists() || (is_program && std::env::split_paths(&path).any(|place| place.join(name).exists()))
}

fn install(packages: &[&str]) -> Done {
    let mut words = vec!["install", WAIT, "--quiet", "--quiet", "--yes", "--no-install-recommends"];
    words.extend(packages);
    crate::run("apt-get", &["update", WAIT, "--quiet", "--quiet"])
        .and_then(|()| {
            crate::run("env", &[&["DEBIAN_FRONTEND=noninteractive", "apt-get"], words.as_slice()].concat())
        })
        .map_err(|why| format!("{why}\ninstall these Debian packages yourself: {}", packages.join(" ")))
}

/// Where packages are unpacked that are not to be installed.
pub(crate) fn unpacked() -> PathBuf {
    crate::target().join("unpacked")
}

/// Unpacks packages, and those that they need and that are not here, without installing any.
fn unpack(wanted: &[(&str, &str)]) -> Done {
    let directory = unpacked();
    let is_here = |file: &str| is_there(Path::new(file)) || directory.join(&file[1..]).exists();
    let missing: Vec<&str> =
        wanted.iter().filter(|(_, file)| !is_here(file)).map(|(package, _)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let archives = directory.join("archives");
    std::fs::create_dir_all(archives.join("partial"))
        .map_err(|why| format!("cannot create {}: {why}", archives.display()))?;
    let place = format!("--option=Dir::Cache::archives={}", root().join(&archives).display());
    let mut words = vec![
        "install",
        WAIT,
        "--quiet",
        "--quiet",
        "--yes",
        "--no-install-recommends",
        "--download-only",
        &place,
    ];
    words.extend(&missing);
    crate::run("apt-get", &["update", WAIT, "--quiet", "--quiet"])?;
    crate::run("apt-get", &words)?;
    let files = std::fs::read_dir(&archives).map_err(|why| why.to_string())?.flatten();
    for archive in
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "deb"))
    {
        let archive = root().join(archive);
        crate::run_in(&directory, "dpkg-deb", &["--extract", &archive.to_string_lossy(), "."])?;
    }
    Ok(())
}

/// Where libraries of what is unpacked are.
pub(crate) fn libraries() -> String {
    let own = root().join(unpacked());
    ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"]
        .map(|place| own.join(place).display().to_string())
        .join(":")
}

/// Where tools are installed that come from other registries.
pub(crate) fn tools() -> PathBuf {
    crate::target().join("tools/bin")
}

/// A reflector and a session-sender of others.
fn stamp_suite() -> Done {
    if is_there(&tools().join("stamp-suite")) {
        return Ok(());
    }
    let place = format!("--root={}", root().join(crate::target()).join("tools").display());
    crate::run("cargo", &["install", "--locked", "--quiet", &place, STAMP_SUITE])
}

/// By Go, which has to be there: Debian's is older than the tool wants.
fn vegeta() -> Done {
    if is_there(&tools().join("vegeta")) {
        return Ok(());
    }
    let place = format!("GOBIN={}", root().join(tools()).display());
    crate::run("env", &[&place, "go", "install", VEGETA])
        .map_err(|why| format!("{why}\ninstall Go 1.22 or later, or vegeta, into a directory of PATH"))
}

/// The driver of the headless browser, from its lock file.
fn browser() -> Done {
    let directory = root().join("tests/browser");
    let lock = directory.join("package-lock.json");
    let installed = directory.join("node_modules/.package-lock.json");
    if newer(&installed, &lock) == Some(true) {
        return Ok(());
    }
    let directory = directory.to_string_lossy().into_owned();
    crate::run("npm", &["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", &directory])
}
