//! The services: how each is started, asked by ours and by others, and ended.

use super::observed::Numbers;
use super::stated::{CALIDNS, DNSPERF, DNSPERF_PLAIN, MEMCASLAP, RESPERF, Rival, WRK};
use dropline_archive::temporary::Scratch;
use dropline_failure::Failure;
use dropline_traffic::{Farewell, Started, start_with_us};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A service and who asks it.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// With `{port}` and `{dir}` for what they are.
    words: &'static str,
    /// Its configuration, in that directory.
    file: Option<(&'static str, &'static str)>,
    /// What is `{limit}` in it.
    limit: &'static str,
    target: &'static str,
    /// Words of the target's own, and the highest load that is looked at.
    asked: &'static [&'static str],
    most_pps: u32,
    /// Where it writes a line for each request, which nobody answers.
    written: Option<&'static str>,
    pub(super) is_http: bool,
    /// Whether it is searched again and again, and held against what others state.
    pub(super) is_held: bool,
    pub(super) rivals: &'static [Rival],
}

const KNOT: &str = include_str!("../../../../experiments/services/knot.conf");
const NSD: &str = include_str!("../../../../experiments/services/nsd.conf");
const UNBOUND: &str = include_str!("../../../../experiments/services/unbound.conf");
const CHRONY: &str = include_str!("../../../../experiments/services/chrony.conf");
const NGINX: &str = include_str!("../../../../experiments/services/nginx.conf");
const NAMED: &str = include_str!("../../../../experiments/services/named.conf");
const DNSDIST: &str = include_str!("../../../../experiments/services/dnsdist.lua");
const RADIUS: &str = include_str!("../../../../experiments/services/radiusd.conf");
const SNMP: &str = include_str!("../../../../experiments/services/snmpd.conf");
const RSYSLOG: &str = include_str!("../../../../experiments/services/rsyslog.conf");
const ZONE: &str = include_str!("../../../../experiments/services/example.org.zone");

const DNS: &str = "dns://127.0.0.1:{port}?queries={names}";
/// Names that are asked for, in the file that all generators read.
const NAMES: u32 = 10_000;

const PLAIN: Service = Service {
    name: "",
    about: "",
    words: "",
    file: None,
    limit: "0",
    target: DNS,
    asked: &[],
    // More than any of these services was ever seen to answer with one thread; a search says where it ends here.
    most_pps: 200_000,
    written: None,
    is_http: false,
    is_held: false,
    rivals: &[DNSPERF_PLAIN],
};

/// All of them; the one that is held against itself last, when the others have shown that they start.
pub(super) static SERVICES: [Service; 13] = [
    Service {
        name: "nsd",
        about: "nsd, one process, answers without limit (rrl-ratelimit: 0)",
        words: "nsd -d -c nsd.conf",
        file: Some(("nsd.conf", NSD)),
        ..PLAIN
    },
    Service {
        name: "nsd with RRL",
        about: "nsd, one process, 200 answers a second to each network, which is its default",
        words: "nsd -d -c nsd.conf",
        file: Some(("nsd.conf", NSD)),
        limit: "200",
        ..PLAIN
    },
    Service {
        name: "unbound",
        about: "unbound, one thread, names of its own (local-data)",
        words: "unbound -d -c unbound.conf",
        file: Some(("unbound.conf", UNBOUND)),
        // It offers to ask others for names that it has not; none such is asked for.
        target: "dns://127.0.0.1:{port}?queries={names}&ask-others=1",
        ..PLAIN
    },
    Service {
        name: "bind9",
        about: "named of BIND 9, one thread, no recursion",
        words: "named -g -n 1 -c named.conf",
        file: Some(("named.conf", NAMED)),
        ..PLAIN
    },
    Service {
        name: "dnsdist",
        about: "dnsdist, which answers by a rule of its own (SpoofAction) and has no server behind it",
        words: "dnsdist --supervised --disable-syslog -C dnsdist.lua",
        file: Some(("dnsdist.lua", DNSDIST)),
        ..PLAIN
    },
    Service {
        name: "coturn",
        about: "coturn as a STUN server, one relay thread",
        words: "turnserver -n --listening-ip=127.0.0.1 --listening-port={port} --relay-threads=1 --no-tls \
            --no-dtls --no-cli --no-auth --log-file=stdout --userdb={dir}/turndb --pidfile={dir}/turn.pid",
        target: "stun://127.0.0.1:{port}",
        rivals: &[],
        ..PLAIN
    },
    Service {
        name: "freeradius",
        about: "FreeRADIUS, one thread, logins by CHAP that it accepts",
        words: "freeradius -f -l stdout -d {dir} -n radiusd -D {unpacked}/usr/share/freeradius",
        file: Some(("radiusd.conf", RADIUS)),
        target: "udp://127.0.0.1:{port}",
        // User bob, whose answer (7, MD5 of 7, his password and the challenge) holds for any authenticator.
        asked: &[
            "--payload",
            "hex:01{tag:1}{length:2}{random:16} 0105626f62 0313 07 2f8c8de3c038421b4a6a0fd8baee0cb6 3c12 \
             64726f706c696e652d73657276696365",
            "--reply",
            "tag@1,refused@0=03",
        ],
        most_pps: 20_000,
        rivals: &[],
        ..PLAIN
    },
    Service {
        name: "snmpd",
        about: "snmpd of Net-SNMP, asked for sysUpTime.0",
        words: "snmpd -f -Le -C -c snmpd.conf",
        file: Some(("snmpd.conf", SNMP)),
        target: "udp://127.0.0.1:{port}",
        // The first byte of a request's number is no zero: it would come back shorter.
        asked: &[
            "--payload",
            "hex:3029 020100 0406 7075626c6963 a01c 020440{tag:3} 020100 020100 300e 300c 0608 2b06010201010300 0500",
            "--reply",
            "tag@18",
        ],
        rivals: &[],
        ..PLAIN
    },
    Service {
        name: "rsyslog",
        about: "rsyslog, one thread, which writes a line for each request and answers none: counted at its socket",
        words: "rsyslogd -n -i {dir}/rsyslog.pid -f {dir}/rsyslog.conf -M \
            {unpacked}/usr/lib/x86_64-linux-gnu/rsyslog",
        file: Some(("rsyslog.conf", RSYSLOG)),
        target: "udp://127.0.0.1:{port}",
        asked: &["--payload", "text:<13>Nov 27 10:00:00 here dropline: {counter:8d}", "--reply", "none"],
        written: Some("written"),
        rivals: &[],
        ..PLAIN
    },
    Service {
        name: "memcached",
        about: "memcached, one thread, by UDP: asked for keys that it does not have",
        words: "memcached -u root -l 127.0.0.1 -t 1 -U {port} -p {port}",
        target: "memcached://127.0.0.1:{port}",
        rivals: &[MEMCASLAP],
        ..PLAIN
    },
    Service {
        name: "chrony",
        about: "chrony as a time server that leaves this machine's clock alone (-x)",
        words: "chronyd -d -x -U -u root -f chrony.conf",
        file: Some(("chrony.conf", CHRONY)),
        target: "ntp://127.0.0.1:{port}",
        rivals: &[],
        ..PLAIN
    },
    Service {
        name: "nginx",
        about: "nginx, one process, five bytes of text; later than 50 ms is lost",
        words: "nginx -c {dir}/nginx.conf -e stderr",
        file: Some(("nginx.conf", NGINX)),
        target: "http://127.0.0.1:{port}/#deadline=50ms",
        most_pps: 20_000,
        is_http: true,
        rivals: &[WRK],
        ..PLAIN
    },
    Service {
        name: "knot",
        about: "knot, one worker",
        words: "knotd -c knot.conf",
        file: Some(("knot.conf", KNOT)),
        is_held: true,
        rivals: &[DNSPERF_PLAIN, DNSPERF, RESPERF, CALIDNS],
        ..PLAIN
    },
];

/// So long a service has until it answers.
const READY_WITHIN: Duration = Duration::from_secs(15);
/// So long a generator may take.
const PATIENCE: Duration = Duration::from_secs(90);
/// Above what a service bears, where the requests go.
const ABOVE: f64 = 1.5;
/// Trials of a search: short, so that a budget has many.
const TRIALS: &str = "trial=300ms,initial=300ms";
/// So many of a hundred packets come back within this time up to the knee.
const KNEE: &str = "p99<1ms";
/// Loads far above what a service bears: how many answers can be had of it?
const FLOODS: [&str; 3] = ["100kpps", "200kpps", "400kpps"];
/// Exit codes of a measurement whose numbers are there.
const MEASURED: [i32; 2] = [0, 3];

impl Service {
    /// Whether an answer's delay is a packet's: by HTTP a deadline bounds it, and who answers nothing has none.
    pub(super) fn has_delays(&self) -> bool {
        !self.is_http && self.written.is_none()
    }
}

/// A service that answers; dropping it ends it.
pub(super) struct Running {
    service: &'static Service,
    child: Started,
    directory: Scratch,
    port: u16,
}

impl Service {
    /// Starts it on the first CPU, and waits until it answers.
    ///
    /// # Errors
    /// If its program is not here, or it does not answer.
    pub(super) fn start(&'static self, stop: &AtomicBool) -> Result<Running, Failure> {
        let directory = Scratch::new().map_err(Failure::environment)?;
        let port = free_port()?;
        let mut words = self.words.split_whitespace();
        let name = words.next().unwrap_or_default();
        let program = found(name).ok_or_else(|| missing(name))?;
        // Beside what is installed: with its own libraries and files.
        let own = unpacked().filter(|own| program.starts_with(own));
        let root = own.as_deref().map_or_else(String::new, |own| own.to_string_lossy().into_owned());
        let filled = |text: &str| {
            fill(text, directory.path(), port).replace("{limit}", self.limit).replace("{unpacked}", &root)
        };
        let write = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).map_err(Failure::environment)
        };
        let names: String = (0..NAMES).map(|name| format!("h{name}.example.org A\n")).collect();
        write("names.txt", &names)?;
        write("example.org.zone", ZONE)?;
        if let Some((name, text)) = self.file {
            write(name, &filled(text))?;
        }
        let words = words.map(|word| OsString::from(filled(word)));
        let mut command = pinned("0", &program);
        command.args(words).current_dir(directory.path()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(own) = own {
            let libraries = LIBRARIES.map(|place| own.join(place));
            command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).map_err(Failure::environment)?);
            // It keeps what it learns below the directory that it is started in, and looks for no descriptions.
            command.env("SNMP_PERSISTENT_DIR", directory.path()).env("MIBS", "");
        }
        let child = start_with_us(&mut command, Farewell::Asked)
            .map_err(|why| Failure::environment(format!("cannot start {name}: {why}")))?;
        let mut running = Running { service: self, child, directory, port };
        running.wait_until_it_answers(stop)?;
        Ok(running)
    }
}

impl Running {
    fn wait_until_it_answers(&mut self, stop: &AtomicBool) -> Result<(), Failure> {
        let begun = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(300));
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::interrupted());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(Failure::environment(format!("{} ended at once ({status})", self.service.name)));
            }
            let asked = self.dropline(&["trial", "--load", "100pps", "--duration", "100ms"], stop);
            match asked {
                Ok(_) => return Ok(()),
                Err(why) if begun.elapsed() > READY_WITHIN => return Err(why),
                Err(_) => {}
            }
        }
    }

    fn most(&self) -> String {
        format!("{}pps", self.service.most_pps)
    }

    /// Searches it.
    pub(super) fn search(
        &self,
        arrivals: &str,
        seed: u32,
        budget: Duration,
        stop: &AtomicBool,
    ) -> Result<Numbers, Failure> {
        let budget = format!("{}ms", budget.as_millis());
        let seed = seed.to_string();
        let [none, some] = ["0", "0.5%"].map(|ratio| format!("{ratio},{TRIALS}"));
        let mut words =
            vec!["search", "--goal", &none, "--goal", &some, "--budget", &budget, "--seed", &seed];
        let most = self.most();
        if !self.service.is_http {
            words.extend(["--arrival", arrivals, "--max-load", &most]);
        }
        let json = self.dropline(&words, stop)?;
        let mut figures = BTreeMap::new();
        for (goal, name) in json["goals"].as_array().into_iter().flatten().zip(["ndr", "pdr"]) {
            for key in ["lower_pps", "median_pps", "upper_pps"] {
                if let Some(pps) = goal[key].as_f64() {
                    figures.insert(format!("{name}_{key}"), pps);
                }
            }
        }
        let results: Vec<&str> = json["goals"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|goal| goal["result"].as_str())
            .collect();
        Ok(Numbers { figures, words: results.join(", "), caveats: codes(&json) })
    }

    /// Searches for the load up to which answers come promptly.
    pub(super) fn knee(&self, budget: Duration, stop: &AtomicBool) -> Result<Numbers, Failure> {
        let (budget, goal) = (format!("{}ms", budget.as_millis()), format!("{KNEE},{TRIALS}"));
        let most = self.most();
        let words = ["search", "--goal", &goal, "--budget", &budget, "--max-load", &most];
        let json = self.dropline(&words, stop)?;
        let goal = &json["goals"][0];
        let ends = ["lower_pps", "median_pps", "upper_pps"];
        let figures = ends.into_iter().filter_map(|key| Some((format!("knee_{key}"), goal[key].as_f64()?)));
        let words = goal["result"].as_str().unwrap_or_default().to_owned();
        Ok(Numbers { figures: figures.collect(), words, caveats: codes(&json) })
    }

    /// The most answers a second that can be had of it, however many are lost.
    pub(super) fn most_answers(&self, stop: &AtomicBool) -> Result<Numbers, Failure> {
        let mut best = Numbers::default();
        for load in FLOODS {
            let json = self.dropline_beside(&["trial", "--load", load, "--duration", "2s"], stop)?;
            let (Some(offered), Some(forwarded)) = (json["offered"].as_f64(), json["forwarded"].as_f64())
            else {
                continue;
            };
            let rate = forwarded / json["duration_s"].as_f64().unwrap_or(2.0);
            if best.figures.get("rate").is_none_or(|&so_far| rate > so_far) {
                let lost = 100.0 * (1.0 - forwarded / offered.max(1.0));
                best.figures = BTreeMap::from([
                    ("rate".into(), rate),
                    ("lost_percent".into(), (lost * 10.0).round() / 10.0),
                ]);
                best.caveats = codes(&json);
            }
        }
        Ok(best)
    }

    /// Lines that it has written, once it writes no more.
    fn lines_written(&self) -> Option<u64> {
        let file = self.directory.path().join(self.service.written?);
        let length = || std::fs::metadata(&file).map_or(0, |about| about.len());
        let (mut before, begun) = (u64::MAX, Instant::now());
        while length() != before && begun.elapsed() < READY_WITHIN {
            before = length();
            std::thread::sleep(Duration::from_millis(500));
        }
        let text = std::fs::read(&file).ok()?;
        Some(text.iter().filter(|&&byte| byte == b'\n').count() as u64)
    }

    /// Offers more than it bears.
    pub(super) fn above(&self, bears: Option<f64>, stop: &AtomicBool) -> Result<Numbers, Failure> {
        // Where no search says what it takes, as much as is looked at.
        self.trial(Self::dropline, bears.map_or(self.service.most_pps.into(), |bears| bears * ABOVE), stop)
    }

    /// Offers what a generator states.
    pub(super) fn at_stated(&self, stated: Option<f64>, stop: &AtomicBool) -> Result<Numbers, Failure> {
        let stated = stated.filter(|rate| *rate >= 1.0);
        let stated = stated.ok_or_else(|| Failure::environment("it states no rate"))?;
        self.trial(Self::dropline_beside, stated, stop)
    }

    fn trial(
        &self,
        asked: impl Fn(&Self, &[&str], &AtomicBool) -> Result<Value, Failure>,
        load_pps: f64,
        stop: &AtomicBool,
    ) -> Result<Numbers, Failure> {
        let load = format!("{load_pps:.0}pps");
        let before = self.lines_written();
        let json = asked(self, &["trial", "--load", &load, "--duration", "2s"], stop)?;
        let mut figures = BTreeMap::from([("load".to_owned(), load_pps)]);
        for key in ["intended", "offered", "forwarded", "lost"] {
            figures.extend(json[key].as_f64().map(|count| (key.to_owned(), count)));
        }
        let counts = |of: &Value| -> Vec<(String, u64)> {
            let all = of.as_object().into_iter().flatten();
            all.filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)))
                .filter(|(_, count)| *count > 0)
                .collect()
        };
        let listed = |counts: Vec<(String, u64)>| {
            counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        let (places, replies) = (counts(&json["lost_at"]), counts(&json["replies"]));
        let words = [listed(places), listed(replies)].into_iter().filter(|part| !part.is_empty());
        let mut words = words.collect::<Vec<_>>().join("; replies: ");
        if let Some((before, now)) = before.zip(self.lines_written()) {
            // With the few requests that a trial makes before its load.
            figures.insert("written".into(), (now - before) as f64);
            let separator = if words.is_empty() { "" } else { "; " };
            write!(
                words,
                "{separator}it wrote {} lines, and took {} packets",
                now - before,
                json["forwarded"]
            )
            .map_err(Failure::environment)?;
        }
        Ok(Numbers { figures, words, caveats: codes(&json) })
    }

    /// Has another generator ask it, on the last CPU.
    pub(super) fn ask(&self, rival: &Rival, stop: &AtomicBool) -> Result<Numbers, Failure> {
        let mut words = rival.words.split_whitespace();
        let name = words.next().unwrap_or_default();
        let program = found(name).ok_or_else(|| missing(name))?;
        let mut command = pinned(&last_cpu(), &program);
        command.args(words.map(|word| self.filled(word)));
        let (said, _) = self.output(command, stop)?;
        let end: String = said.lines().rev().take(1).collect();
        let none = || Failure::environment(format!("{} states no rate: {end}", rival.name));
        rival.stated(&said).ok_or_else(none)
    }

    /// What this very program says of it.
    fn dropline(&self, words: &[&str], stop: &AtomicBool) -> Result<Value, Failure> {
        let program = std::env::current_exe().map_err(Failure::environment)?;
        self.answer(Command::new(program), words, stop)
    }

    /// The same on the last CPU, as all others that ask. On two CPUs a receiver of ours that has the service's own takes time from
    /// it that it has for answers while others ask.
    fn dropline_beside(&self, words: &[&str], stop: &AtomicBool) -> Result<Value, Failure> {
        let program = std::env::current_exe().map_err(Failure::environment)?;
        self.answer(pinned(&last_cpu(), &program), words, stop)
    }

    fn answer(&self, mut command: Command, words: &[&str], stop: &AtomicBool) -> Result<Value, Failure> {
        command
            .arg(words[0])
            .arg(self.filled(self.service.target))
            .args(self.service.asked)
            .args(&words[1..]);
        command.args(["--json", "--quiet", "--output", "-"]);
        let (said, code) = self.output(command, stop)?;
        match serde_json::from_str(&said) {
            Ok(json) if MEASURED.contains(&code) => Ok(json),
            _ => Err(Failure::environment(format!(
                "it ended with {code}: {}",
                said.lines().last().unwrap_or_default()
            ))),
        }
    }

    /// What a program prints, and its exit code; what it says of an error, where it prints nothing.
    fn output(&self, mut command: Command, stop: &AtomicBool) -> Result<(String, i32), Failure> {
        let at = |name: &str| self.directory.path().join(name);
        let create = |name: &str| std::fs::File::create(at(name)).map_err(Failure::environment);
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        command.stdout(create("said")?).stderr(create("errors")?);
        let mut child = start_with_us(&mut command, Farewell::Asked).map_err(Failure::environment)?;
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(Failure::environment)? {
                break status;
            }
            if stop.load(Ordering::Relaxed) || Instant::now() > until {
                child.end();
                let why = format!("it did not end within {} s", PATIENCE.as_secs());
                return Err(if Instant::now() > until {
                    Failure::environment(why)
                } else {
                    Failure::interrupted()
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        child.end();
        let text = |name: &str| {
            std::fs::read(at(name))
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(Failure::environment)
        };
        let said = text("said")?;
        let said = if said.trim().is_empty() { text("errors")? } else { said };
        Ok((said, status.code().unwrap_or(-1)))
    }

    fn filled(&self, text: &str) -> String {
        fill(text, self.directory.path(), self.port)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.end();
    }
}

fn fill(text: &str, directory: &Path, port: u16) -> String {
    let names = directory.join("names.txt");
    let filled = text.replace("{port}", &port.to_string()).replace("{names}", &names.to_string_lossy());
    filled.replace("{dir}", &directory.to_string_lossy())
}

fn codes(json: &Value) -> Vec<String> {
    let caveats = json["caveats"].as_array().into_iter().flatten();
    caveats.filter_map(|caveat| caveat["code"].as_str()).map(str::to_owned).collect()
}

/// A program that keeps to these CPUs.
fn pinned(cpus: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", cpus]).arg(program);
    command
}

fn last_cpu() -> String {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    (cpus - 1).to_string()
}

/// Where packages lie that are not installed.
fn unpacked() -> Option<PathBuf> {
    std::fs::canonicalize("target/unpacked").ok()
}

/// Where their libraries are.
const LIBRARIES: [&str; 3] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/freeradius"];

/// A program of that name: of the path, of the system's own directories, or unpacked by `cargo xtask setup gallery`.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own =
        ["/usr/sbin", "/usr/bin", "target/unpacked/usr/sbin", "target/unpacked/usr/bin"].map(PathBuf::from);
    let place =
        std::env::split_paths(&path).chain(own).map(|place| place.join(name)).find(|file| file.is_file());
    place.and_then(|file| std::fs::canonicalize(file).ok())
}

fn missing(name: &str) -> Failure {
    Failure::environment(format!("{name} is not here"))
        .advice("cargo xtask setup gallery  installs what is missing")
}

/// A port that is free for both TCP and UDP, until the service has it.
fn free_port() -> Result<u16, Failure> {
    for _ in 0..100 {
        let udp = UdpSocket::bind("127.0.0.1:0").map_err(Failure::environment)?;
        let address = udp.local_addr().map_err(Failure::environment)?;
        if TcpListener::bind(address).is_ok() {
            return Ok(address.port());
        }
    }
    Err(Failure::environment("no port is free for TCP and UDP"))
}
