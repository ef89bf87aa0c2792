//! Real servers under their own protocols: knot, nsd, memcached, chrony, dnsmasq, nginx and stamp-suite, each on a free port of loopback. What is
//! held are counts alone: how fast anything is says nothing here.

use crate::setup::{tools, unpacked};
use crate::{Done, root};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One trial of each, what it has to say, and what has to be refused.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    let bench = Bench { dropline: crate::tested_dropline()?, directory: root().join("target/services") };
    let _ = std::fs::remove_dir_all(&bench.directory);
    std::fs::create_dir_all(&bench.directory)
        .map_err(|why| format!("cannot create target/services: {why}"))?;
    bench.write("example.org.zone", ZONE)?;
    knot(&bench)?;
    nsd(&bench)?;
    memcached(&bench)?;
    chrony(&bench)?;
    dnsmasq(&bench)?;
    nginx(&bench)?;
    stalls(&bench)?;
    closes(&bench)?;
    stamp(&bench)?;
    eprintln!("make test-services took {} s", begun.elapsed().as_secs());
    Ok(())
}

const ZONE: &str = "\
$ORIGIN example.org.
$TTL 3600
@ IN SOA ns hostmaster 1 3600 900 86400 300
@ IN NS ns
ns IN A 127.0.0.1
* IN A 127.1.1.1
";

fn knot(bench: &Bench) -> Done {
    let (port, at) = (free_port()?, bench.directory.display());
    bench.write(
        "knot.conf",
        &format!(
            "server:\n    rundir: {at}\n    listen: 127.0.0.1@{port}\ndatabase:\n    storage: {at}\nzone:\n  - domain: example.org\n    \
             file: {at}/example.org.zone\n"
        ),
    )?;
    let _server = bench.start("knotd", &["-c", "knot.conf"])?;
    let target = format!("dns://127.0.0.1:{port}");
    bench.answers(&format!("{target}?names=h{{0..99}}.example.org"), &["noerror"])?;
    bench.answers(&format!("{target}?names=h{{}}.example.org&type=MX&rd=1&dnssec=1"), &["noerror"])?;
    bench.answers(&format!("{target}?names=h{{}}.example.net"), &["refused"])?;
    let told = bench.fails(&format!("{target}?names=ns.example.org&queries=names"), 2)?;
    holds(&told, "give one of them")?;
    holds(&bench.fails(&target, 2)?, "names=www.example.org")?;
    holds(&bench.fails(&format!("udp://127.0.0.1:{port}"), 4)?, &format!("dns://127.0.0.1:{port}"))
}

fn nsd(bench: &Bench) -> Done {
    for (limit, classes) in [(0, &["noerror"][..]), (50, &["noerror", "truncated"])] {
        let (port, at) = (free_port()?, bench.directory.display());
        bench.write(
            "nsd.conf",
            &format!(
                "server:\n    ip-address: 127.0.0.1@{port}\n    username: \"\"\n    pidfile: \"\"\n    zonesdir: \"{at}\"\n    \
                 zonelistfile: \"{at}/nsd.zones\"\n    xfrdir: \"{at}\"\n    database: \"\"\n    server-count: 1\n    \
                 rrl-ratelimit: {limit}\nzone:\n    name: example.org\n    zonefile: example.org.zone\nremote-control:\n    \
                 control-enable: no\n"
            ),
        )?;
        let _server = bench.start("nsd", &["-d", "-c", "nsd.conf"])?;
        let trial = bench.answers(&format!("dns://127.0.0.1:{port}?names=www.example.org"), classes)?;
        let mut caveats = trial["caveats"].as_array().into_iter().flatten();
        let said = caveats.any(|caveat| caveat["code"] == "answers_limited");
        if said != (limit > 0) {
            return Err(format!("nsd with a limit of {limit}: the limit is recognised: {said}"));
        }
    }
    Ok(())
}

fn memcached(bench: &Bench) -> Done {
    let port = free_port()?;
    // By root it is only started where it is told to stay root.
    let words =
        ["-u", "root", "-l", "127.0.0.1", "-t", "1", "-U", &port.to_string(), "-p", &port.to_string()];
    let _server = bench.start("memcached", &words)?;
    let target = format!("memcached://127.0.0.1:{port}?key=user{{0..9}}");
    bench.answers(&target, &["miss"])?;
    bench.answers(&format!("{target}&set=1300B"), &["stored"])?;
    bench.answers(&target, &["hit"]).map(|_| ())
}

fn chrony(bench: &Bench) -> Done {
    let (port, at) = (free_port()?, bench.directory.display());
    let lines = format!(
        "local stratum 10\nallow\nport {port}\ncmdport 0\npidfile {at}/chrony.pid\nbindaddress 127.0.0.1\nbindcmdaddress /\n"
    );
    bench.write("chrony.conf", &lines)?;
    let _server = bench.start("chronyd", &["-d", "-x", "-U", "-u", "root", "-f", "chrony.conf"])?;
    bench.answers(&format!("ntp://127.0.0.1:{port}"), &["time"]).map(|_| ())
}

/// A forwarder is not measured unless its word says so, and then passes on what it is asked.
fn dnsmasq(bench: &Bench) -> Done {
    let (port, others) = (free_port()?, UdpSocket::bind("127.0.0.1:0").map_err(|why| why.to_string())?);
    let asks = format!("--server=127.0.0.1#{}", others.local_addr().map_err(|why| why.to_string())?.port());
    let at = format!("--port={port}");
    let words = [
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--bind-interfaces",
        "--listen-address=127.0.0.1",
        "--address=/local.test/127.1.1.1",
        "--user=root",
        "--pid-file",
        &at,
        &asks,
    ];
    let _server = bench.start("dnsmasq", &words)?;
    let target = format!("dns://127.0.0.1:{port}?names=h{{}}.local.test");
    holds(&bench.fails(&target, 4)?, "asks other servers")?;
    bench.answers(&format!("{target}&ask-others=1"), &["noerror"])?;
    others.set_nonblocking(true).map_err(|why| why.to_string())?;
    match others.recv_from(&mut [0; 512]) {
        Err(_) => Ok(()),
        Ok(_) => Err("dnsmasq passed on a name that it has itself".into()),
    }
}

/// The tools that send HTTP requests: the one that is installed here, and the other one where somebody has it.
fn http_tools() -> Vec<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_oha = std::env::split_paths(&path).any(|place| place.join("oha").exists());
    if has_oha { vec!["vegeta", "oha"] } else { vec!["vegeta"] }
}

fn nginx(bench: &Bench) -> Done {
    let (port, at) = (free_port()?, bench.directory.display());
    let places: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|of| format!("    {of}_temp_path {at}/nginx-{of};\n"))
        .collect();
    bench.write(
        "nginx.conf",
        &format!(
            "daemon off;\nmaster_process off;\npid {at}/nginx.pid;\nerror_log stderr;\nevents {{ worker_connections 4096; }}\nhttp \
             {{\n    access_log off;\n{places}    server {{\n        listen 127.0.0.1:{port};\n        location / {{ return 200 \
             \"here\\n\"; }}\n        location /none {{ return 404; }}\n    }}\n}}\n"
        ),
    )?;
    let _server = bench.start("nginx", &["-c", &format!("{at}/nginx.conf"), "-e", "stderr"])?;
    for tool in http_tools() {
        let trial = bench.requests(&format!("http://127.0.0.1:{port}/a?b=c#deadline=2s&tool={tool}"))?;
        if trial["lost"] != 0 || trial["load_unit"] != "requests" {
            return Err(format!("nginx by {tool}: every request was to be answered, and it is {trial}"));
        }
        holds(&bench.fails(&format!("http://127.0.0.1:{port}/none#tool={tool}"), 4)?, "not served")?;
    }
    Ok(())
}

/// A server that stops answering for 0.6 s of each 1.2 s: who waits for an answer before he asks again sees two late ones; of an open
/// load, whatever is due then is late.
fn stalls(bench: &Bench) -> Done {
    const STALL: Duration = Duration::from_millis(600);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|why| why.to_string())?;
    let port = listener.local_addr().map_err(|why| why.to_string())?.port();
    let begun = Instant::now();
    let answer = move |mut stream: std::net::TcpStream| -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        while let Some(line) = lines.next().transpose()? {
            if line.is_empty() {
                let since = begun.elapsed().as_millis() % (2 * STALL.as_millis());
                std::thread::sleep(STALL.saturating_sub(Duration::from_millis(since as u64)));
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
            }
        }
        Ok(())
    };
    let serve = move || {
        for stream in listener.incoming().flatten() {
            let _ = std::thread::Builder::new().spawn(move || answer(stream));
        }
    };
    std::thread::Builder::new().spawn(serve).map_err(|why| why.to_string())?;
    for tool in http_tools() {
        let trial = bench.requests(&format!("http://127.0.0.1:{port}/#deadline=300ms&tool={tool}"))?;
        let [lost, offered] = ["lost", "offered"].map(|key| trial[key].as_u64().unwrap_or(0));
        // A trial of a second has at least 0.4 s of stalls, of which 0.1 s or more are too long to wait for.
        if lost * 20 < offered || offered < 250 {
            return Err(format!("a server that stalls, by {tool}: {lost} of {offered} are lost: {trial}"));
        }
    }
    Ok(())
}

/// A server that closes each second of its connections' requests without an answer: no tool may ask again, unsaid, what was not
/// answered, and what is served is what the server says that it served.
fn closes(bench: &Bench) -> Done {
    for tool in http_tools() {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|why| why.to_string())?;
        let port = listener.local_addr().map_err(|why| why.to_string())?.port();
        let counts = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let of_server = Arc::clone(&counts);
        let answer = move |mut stream: std::net::TcpStream,
                           [asked, answered]: &[AtomicU64; 2]|
              -> std::io::Result<()> {
            let mut lines = BufReader::new(stream.try_clone()?).lines();
            while let Some(line) = lines.next().transpose()? {
                // The first of all is asked before the load.
                if line.is_empty() && asked.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
                    return Ok(());
                } else if line.is_empty() {
                    answered.fetch_add(1, Ordering::Relaxed);
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
                }
            }
            Ok(())
        };
        let serve = move || {
            for stream in listener.incoming().flatten() {
                let counts = Arc::clone(&of_server);
                let _ = std::thread::Builder::new().spawn(move || answer(stream, &counts));
            }
        };
        std::thread::Builder::new().spawn(serve).map_err(|why| why.to_string())?;
        let trial = bench.requests(&format!("http://127.0.0.1:{port}/#deadline=2s&tool={tool}"))?;
        let [forwarded, offered] = ["forwarded", "offered"].map(|key| trial[key].as_u64().unwrap_or(0));
        let [asked, answered] = [0, 1].map(|at| counts[at].load(Ordering::Relaxed));
        // One was asked before the load; a tool may send a few behind the last that counts.
        const BESIDE: u64 = 40;
        if asked > offered + BESIDE || forwarded > answered || answered > forwarded + BESIDE {
            return Err(format!(
                "by {tool} the server was asked {asked} times and answered {answered}; it is {trial}"
            ));
        }
    }
    Ok(())
}

/// STAMP with ours at both ends, and with another implementation (stamp-suite) at each.
fn stamp(bench: &Bench) -> Done {
    let suite = root().join(tools()).join("stamp-suite").to_string_lossy().into_owned();
    let port = free_port()?;
    let reflector = bench.start(&suite, &["-i", "-S", "127.0.0.1", "-o", &port.to_string()])?;
    let trial = bench.answers(&format!("stamp://127.0.0.1:{port}"), &["stamp"])?;
    drop(reflector);
    if trial["lost"] != 0 {
        return Err(format!("stamp-suite as a reflector was to answer every packet, and it is {trial}"));
    }
    for kind in ["stateless", "stateful"] {
        let port = free_port()?;
        let dropline = bench.dropline.to_string_lossy().into_owned();
        let (listen, kind) = (format!("--listen=127.0.0.1:{port}"), format!("--stamp={kind}"));
        let _reflector = bench.start(&dropline, &["serve", &listen, &kind])?;
        bench.answers(&format!("stamp://127.0.0.1:{port}"), &["stamp"])?;
        let words = [
            "--remote-addr=127.0.0.1",
            "--count=500",
            "--send-delay=2ms",
            "--timeout=2",
            "--output-format=json",
        ];
        let mut sender = Command::new(&suite);
        let said = sender
            .args(words)
            .arg(format!("--remote-port={port}"))
            .output()
            .map_err(|why| why.to_string())?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        if !said.contains("\"packets_sent\":500,\"packets_received\":500,") {
            return Err(format!("stamp-suite was to have all answers of {kind}, and says {said}"));
        }
        eprintln!("stamp-suite: 500 of 500 answered by {kind}");
    }
    Ok(())
}

/// Where trials are made.
struct Bench {
    dropline: PathBuf,
    directory: PathBuf,
}

/// So long a server has until it answers.
const READY_WITHIN: Duration = Duration::from_secs(20);

impl Bench {
    fn write(&self, name: &str, text: &str) -> Done {
        std::fs::write(self.directory.join(name), text).map_err(|why| format!("cannot write {name}: {why}"))
    }

    fn start(&self, program: &str, words: &[&str]) -> Result<Server, String> {
        let log = |what: &str| {
            let name = format!("{}.{what}", program.rsplit('/').next().unwrap_or(program));
            std::fs::File::create(self.directory.join(&name))
                .map_err(|why| format!("cannot write {name}: {why}"))
        };
        let roots = [PathBuf::from("/"), unpacked()];
        let places = roots.iter().flat_map(|root| ["usr/sbin", "usr/bin"].map(|place| root.join(place)));
        let path = places
            .map(|place| place.join(program))
            .find(|path| path.exists())
            .unwrap_or_else(|| program.into());
        let mut command = Command::new(path);
        command.args(words).current_dir(&self.directory).stdin(Stdio::null());
        if command.get_program().to_string_lossy().contains("/unpacked/") {
            command.env("LD_LIBRARY_PATH", crate::setup::libraries());
        }
        let child = command.stdout(log("out")?).stderr(log("err")?).spawn();
        child.map(|child| Server { child }).map_err(|why| format!("{program} cannot be started: {why}"))
    }

    fn run(&self, target: &str) -> Result<Output, String> {
        let words = ["trial", target, "--load=500pps", "--duration=1s", "--json", "--quiet", "--output=-"];
        let mut command = Command::new(&self.dropline);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = [root().join(tools())].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(places).map_err(|why| why.to_string())?);
        command.args(words).current_dir(&self.directory).output().map_err(|why| why.to_string())
    }

    /// The trial of a target once it answers.
    fn trial(&self, target: &str) -> Result<(Value, String), String> {
        let begun = Instant::now();
        // Exit code 4: it does not answer yet.
        let ended = loop {
            let ended = self.run(target)?;
            if ended.status.code() != Some(4) || begun.elapsed() > READY_WITHIN {
                break ended;
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        let trial = serde_json::from_slice(&ended.stdout)
            .map_err(|why| format!("{target}: no trial ({why}), but {errors}"))?;
        Ok((trial, errors))
    }

    /// The trial of an HTTP server, whose counts add up.
    fn requests(&self, target: &str) -> Result<Value, String> {
        let (trial, errors) = self.trial(target)?;
        let count = |key: &str| trial[key].as_u64().unwrap_or(u64::MAX);
        if count("forwarded").saturating_add(count("lost")) != count("offered") || count("forwarded") == 0 {
            return Err(format!("{target}: it is {trial}\n{errors}"));
        }
        eprintln!("{target}: {} of {} in time", count("forwarded"), count("offered"));
        Ok(trial)
    }

    /// The trial of a target, which has replies of these classes and of no others, and none that went astray.
    fn answers(&self, target: &str, classes: &[&str]) -> Result<Value, String> {
        let (trial, errors) = self.trial(target)?;
        let count = |key: &str| trial[key].as_u64();
        let replies =
            trial["replies"].as_object().ok_or_else(|| format!("{target}: no replies in {trial}"))?;
        let sum = replies.values().filter_map(Value::as_u64).sum::<u64>();
        let none_astray = ["duplicated", "reply_truncated", "reply_extended", "reply_changed"]
            .into_iter()
            .all(|key| count(key) == Some(0));
        let adds_up =
            count("offered") == count("forwarded").zip(count("lost")).map(|(came, lost)| came + lost);
        let is_right = replies.keys().eq(classes) && count("forwarded") == Some(sum) && sum > 0;
        if !(is_right && none_astray && adds_up) {
            return Err(format!("{target}: {classes:?} were to answer, and it is {trial}\n{errors}"));
        }
        eprintln!("{target}: {}", trial["replies"]);
        Ok(trial)
    }

    /// What is said of a target that cannot be measured.
    fn fails(&self, target: &str, code: i32) -> Result<String, String> {
        let ended = self.run(target)?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        match ended.status.code() == Some(code) {
            true => Ok(said),
            false => {
                Err(format!("{target}: it was to end with {code}, and ended with {}: {said}", ended.status))
            }
        }
    }
}

fn holds(said: &str, words: &str) -> Done {
    if said.contains(words) { Ok(()) } else { Err(format!("{words:?} is not in: {said}")) }
}

/// A port that is free for both TCP and UDP, until the server has it.
fn free_port() -> Result<u16, String> {
    for _ in 0..100 {
        let udp = UdpSocket::bind("127.0.0.1:0").map_err(|why| why.to_string())?;
        let address = udp.local_addr().map_err(|why| why.to_string())?;
        if TcpListener::bind(address).is_ok() {
            return Ok(address.port());
        }
    }
    Err("no port is free for TCP and UDP".into())
}

/// A server that is asked to end when it is dropped.
struct Server {
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        }
        let asked = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && asked.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
