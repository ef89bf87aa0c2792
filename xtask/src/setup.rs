//! Installs what a part needs: one transaction, nothing recommended, no service started.

use crate::{Done, newer, python, root};
use std::path::Path;

/// Debian packages that `make test` needs, and a file of each that tells that it is there.
const TEST: [(&str, &str); 11] = [
    ("chromium", "/usr/bin/chromium"),
    ("default-jre-headless", "/usr/bin/java"),
    ("iproute2", "/sbin/ip"),
    ("iptables", "/usr/sbin/iptables-legacy"),
    ("libhdrhistogram-java", "/usr/share/java/hdrhistogram.jar"),
    ("librsvg2-bin", "/usr/bin/rsvg-convert"),
    ("nftables", "/usr/sbin/nft"),
    ("hyperfine", "/usr/bin/hyperfine"),
    ("prometheus", "/usr/bin/promtool"),
    ("python3-prometheus-client", "/usr/lib/python3/dist-packages/prometheus_client/__init__.py"),
    ("xinetd", "/usr/sbin/xinetd"),
];

/// A JACK server and its client library for `jack:` targets.
const AUDIO: [(&str, &str); 1] = [("jackd2", "/usr/bin/jackd")];

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
const FLOWGRAPH: [(&str, &str); 6] = [
    ("cmake", "/usr/bin/cmake"),
    ("g++", "/usr/bin/g++"),
    ("gnuradio-dev", "/usr/include/gnuradio/top_block.h"),
    ("libspdlog-dev", "/usr/include/spdlog/spdlog.h"),
    ("nlohmann-json3-dev", "/usr/include/nlohmann/json.hpp"),
    ("pkg-config", "/usr/bin/pkg-config"),
];

/// A compiler with libFuzzer and its sanitizers, for `make fuzz`.
const FUZZ: [(&str, &str); 2] = [
    ("clang", "/usr/bin/clang"),
    ("libclang-rt-14-dev", "/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a"),
];

/// Python with its environments, for `make test-python`, where no other one is found first.
const PYTHON: [(&str, &str); 2] =
    [("python3", "/usr/bin/python3"), ("python3-venv", "/usr/share/doc/python3-venv/copyright")];

/// Traffic generators of others for `make bench-traffic` and `make bench-pacing`, and cyclictest for
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

/// LTTng, a reader of its traces and a language more, for `make test-trace`.
const TRACE: [(&str, &str); 5] = [
    ("babeltrace2", "/usr/bin/babeltrace2"),
    ("g++", "/usr/bin/g++"),
    ("liblttng-ust-dev", "/usr/include/x86_64-linux-gnu/lttng/tracepoint.h"),
    ("lttng-tools", "/usr/bin/lttng"),
    ("python3", "/usr/bin/python3"),
];

/// Another installation on this machine is waited for, five minutes at most.
const WAIT: &str = "--option=DPkg::Lock::Timeout=300";

/// Keeps a freshly installed server from being started.
const POLICY: &str = "/usr/sbin/policy-rc.d";

pub(crate) fn run(part: &str) -> Done {
    match part {
        "test" => {
            packages(&TEST)?;
            browser()
        }
        "audio" => packages(&AUDIO),
        "embedded" => packages(&EMBEDDED),
        // LTTng records beside our rings.
        "flowgraph" => {
            packages(&[&FLOWGRAPH[..], &TRACE].concat())?;
            crate::trace::build()?;
            crate::flowgraph::build()
        }
        "python" => {
            if !python::is_here() {
                packages(&PYTHON)?;
            }
            python::set_up()
        }
        "rivals" => packages(&RIVALS),
        "fuzz" => packages(&FUZZ),
        "trace" => {
            packages(&TRACE)?;
            crate::trace::build()
        }
        _ => Err(format!(
            "there is no part {part:?}; there are audio, embedded, flowgraph, fuzz, python, rivals, test and trace"
        )),
    }
}

fn packages(wanted: &[(&str, &str)]) -> Done {
    let missing: Vec<&str> =
        wanted.iter().filter(|(_, file)| !Path::new(file).exists()).map(|(package, _)| *package).collect();
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

fn install(packages: &[&str]) -> Done {
    crate::run("apt-get", &["update", WAIT, "--quiet", "--quiet"])?;
    let mut words = vec!["install", WAIT, "--quiet", "--quiet", "--yes", "--no-install-recommends"];
    words.extend(packages);
    crate::run("env", &[&["DEBIAN_FRONTEND=noninteractive", "apt-get"], words.as_slice()].concat())
        .map_err(|why| format!("{why}\ninstall these Debian packages yourself: {}", packages.join(" ")))
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
