//! Every command of a `--help` and of the documents is a command: it runs as it is printed, and where a document
//! shows what it prints, it prints that.
//!
//! What is shortened is shortened by rule: addresses become those of services started here, times and loads small
//! ones (`SHORTER`). What cannot run here stands in `NOT_HERE`, each with its reason. What is printed is shown anew by
//! `DROPLINE_BLESS=1 cargo test -p dropline --test examples`.

mod command;

use command::{Bench, Service};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What takes long, and what it becomes: a command that holds the first words gets the second, and loses a flag of
/// the same name.
const SHORTER: &[(&str, &[&str])] = &[
    ("search udp://", &["--max-load=3kpps", "--max-trials=1", "--warm-up=0s", "--drain=50ms", "-q"]),
    ("search exec:", &["--budget=5s", "-q"]),
    ("rfc2544-frame-sizes.toml", &["--preset=csit", "--frame=64B"]),
    ("trial udp://", &["--duration=100ms", "--drain=50ms", "-q"]),
    ("trial wakeup:", &["--duration=100ms", "-q"]),
    ("trial 'flowgraph:exec", &["--duration=2s", "-q"]),
    ("watch --port", &["--duration=100ms"]),
    ("compare --abba", &["--duration=4s", "-q"]),
    // A busy machine answers few of many packets in a short turn.
    ("compare --abba udp", &["--load=1kpps"]),
    ("--every 1s --spread", &["--duration=100ms"]),
    ("--rate 4kpps --duration", &["--duration=100ms"]),
    ("heartbeat watch", &["--duration=300ms"]),
    ("heartbeat reliability", &["--draws=20000"]),
    ("experiment search-cost", &["--runs=2"]),
    ("experiment search-coverage", &["--runs=1", "--only=hard"]),
];

/// What no test runs, and why.
const NOT_HERE: &[(&str, &str)] = &[
    ("cargo install", "builds with optimisation, for minutes"),
    ("cargo xtask setup", "installs Debian packages"),
    ("jack:", "needs an audio server; make test-audio starts one"),
    ("'my-service ", "the reader's own program"),
    ("flowgraph:futuresdr", "the graphs take minutes to build; make test-flowgraph runs them"),
    ("flowgraph:gnuradio", "the graphs take minutes to build; make test-flowgraph runs them"),
    ("experiment flowgraph-latency", "needs the same graphs"),
    ("experiment poisson-loss", "runs for minutes; crates/experiments tests its parts"),
    ("heartbeat serve --listen 0.0.0.0", "listens to a network that the test did not make"),
    ("heartbeat cost", "measures for a minute; crates/cli/tests/heartbeat_reliability.rs runs it on less"),
    (
        "--start 'dropline serve' --probe request",
        "half a minute of turns; crates/cli/tests/latency.rs runs it",
    ),
    ("--baseline ", "needs two searches of half a minute; crates/cli/tests/compared.rs has them"),
    ("search-of-main.jsonl", "needs two searches of half a minute; crates/cli/tests/compared.rs has them"),
    ("| man -l -", "a pager; the page itself is printed by another test"),
    ("~/.local", "writes into a home directory"),
];

/// Commands that run until they are stopped: started, and stopped.
const ENDLESS: &[&str] = &["dropline serve", "dropline heartbeat serve"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands under `Example`s and `Try it`; a long one goes on in the next line.
fn in_help(help: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut inside = false;
    for line in help.lines() {
        if line.starts_with("Example") || line.starts_with("Try it") {
            inside = true;
        } else if inside && line.starts_with("   ") {
            let last = commands.last_mut().expect("a command to go on with");
            *last = format!("{} {}", last.trim_end_matches([' ', '\\']), line.trim());
        } else if inside && line.starts_with("  ") {
            commands.push(line.trim().into());
        } else if !line.ends_with(':') {
            inside = false;
        }
    }
    commands
}

/// A command, where it stands, and the lines that it is shown to print.
struct Example {
    place: String,
    command: String,
    printed: Vec<String>,
}

/// The commands of a document's console blocks, each with what is printed below it.
fn in_document(place: &Path, text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    for block in text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        for line in block.lines() {
            match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => {
                    let place = place.display().to_string();
                    found.push(Example { place, command: command.to_owned(), printed: Vec::new() });
                }
                (None, Some(last)) => last.printed.push(line.to_owned()),
                (None, None) => panic!("{}: a console block begins with a command", place.display()),
            }
        }
    }
    found
}

/// The first line that is shown and was not said; a line `…` stands for any number of lines.
fn unsaid<'a>(printed: &'a [String], said: &str) -> Option<&'a str> {
    let mut said = said.lines().map(str::trim_end);
    let mut anywhere = false;
    for line in printed {
        let line = line.as_str();
        if line == "…" {
            anywhere = true;
            continue;
        }
        let found = if anywhere { said.any(|other| other == line) } else { said.next() == Some(line) };
        if !found {
            return Some(line);
        }
        anywhere = false;
    }
    None
}

/// The documents of a directory and those of docs/.
fn documents(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && (path.ends_with("docs") || directory != root()) {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What is shown, as it is said now: as many lines before and after `…` as there were.
fn anew(printed: &[String], said: &str) -> Vec<String> {
    let said: Vec<String> = said.lines().map(|line| line.trim_end().to_owned()).collect();
    let Some(at) = printed.iter().position(|line| line == "…") else { return said };
    let after = said.len().saturating_sub(printed.len() - at - 1);
    [&said[..at.min(after)], &["…".to_owned()], &said[after..]].concat()
}

/// All of them with where they stand: of each verb, of each document.
fn examples(bench: &Bench) -> Vec<Example> {
    let verbs = |words: &[&str]| {
        let help = bench.done(&[words, &["--help"]].concat()).text;
        let list = help.split("Verbs:\n").nth(1).unwrap_or_default();
        let names = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        (in_help(&help), names.map(str::to_owned).collect::<Vec<_>>())
    };
    let mut found = Vec::new();
    let mut left: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(verb) = left.pop() {
        let (commands, further) = verbs(&verb.iter().map(String::as_str).collect::<Vec<_>>());
        let place = format!("{} --help", verb.join(" "));
        let of = |command| Example { place: place.clone(), command, printed: Vec::new() };
        found.extend(commands.into_iter().map(of));
        left.extend(further.into_iter().map(|name| [verb.as_slice(), &[name]].concat()));
    }
    for path in documents(&root()) {
        found.extend(in_document(&path, &std::fs::read_to_string(&path).unwrap()));
    }
    found
}

/// What the examples read, in a directory of its own, and the services they talk to.
struct Scene {
    bench: Bench,
    services: [Service; 2],
    aggregator: Aggregator,
}

struct Aggregator {
    child: std::process::Child,
    address: String,
}

impl Drop for Aggregator {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

impl Scene {
    fn new() -> Self {
        let bench = Bench::new();
        let services = [bench.serve(&[]), bench.serve(&[])];
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let serving = ["heartbeat", "serve", "--listen", &free];
        let child = bench.command(&serving).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let aggregator = Aggregator { child, address: free };
        let scene = Self { bench, services, aggregator };
        scene.write_files();
        scene
    }

    fn write_files(&self) {
        let bench = &self.bench;
        let values: String = (0..400).map(|n| format!("{}\n", 20 + n * n % 37)).collect();
        let table: String = (0..40).map(|n| format!("{}\t{}\n", 20 + n, 3 + n * n % 17)).collect();
        bench.write("values.txt", &values);
        std::fs::copy(root().join("crates/distributions/tests/formats/fio.json"), bench.path("fio.json"))
            .unwrap();
        bench.write("requests.csv", &format!("latency_ms\n{values}"));
        for name in ["latencies", "idle", "iozone64", "iozone32", "before", "after"] {
            bench.write(&format!("{name}.tsv"), &table);
        }
        let table =
            "# Histogram\n000006 000003\n000007 000020\n# Total: 000000023\n# Histogram Overflows: 00000\n";
        bench.write("quiet.hist", table);
        bench.done(&["search", "sim:hard", "-q", "-o", "night.jsonl"]);
        let target = self.services[0].target();
        for name in ["before", "after", "dropline-20261121-093100"] {
            let record = format!("{name}.jsonl");
            let words = ["--load=1kpps", "--duration=100ms", "--drain=50ms", "-q", "-o", &record];
            bench.done(&[&["trial", &target], &words[..]].concat());
        }
        let hlog = bench.done(&["export", "before.jsonl", "--to", "hlog"]).text;
        ["idle", "loaded", "service"].iter().for_each(|name| bench.write(&format!("{name}.hlog"), &hlog));
        let document = std::fs::read_to_string(root().join("docs/reference/exec.md")).unwrap();
        let shown =
            |kind: &str| document.split(kind).nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        bench.write("tester.py", shown("```python\n"));
        bench.write("tester", "#!/bin/sh\nexec dropline measure sim:hard\n");
        Command::new("chmod").args(["+x", "tester"]).current_dir(bench.path("")).status().unwrap();
        for (name, at) in [("scenarios", "scenarios"), ("c", "c")] {
            std::os::unix::fs::symlink(root().join(at).canonicalize().unwrap(), bench.path(name)).unwrap();
        }
        let compiled = |words: &[&str]| {
            let done = Command::new("cc").args(words).current_dir(bench.path("")).status();
            assert!(done.expect("a C compiler").success(), "{words:?}");
        };
        compiled(&["-std=c11", "-O2", "-pthread", "c/trace/copy.c", "-o", "graph"]);
        compiled(&["-O2", "-c", "c/heartbeat/heartbeat.c", "-o", "mine.o"]);
        bench.done(&["trial", "flowgraph:exec:./graph", "--duration=5s", "-q", "-o", "graph.jsonl"]);
    }

    /// The command as it is run here.
    fn shortened(&self, command: &str) -> String {
        let without_comment = command.split(" # ").next().unwrap_or(command).trim_end_matches([' ', '&']);
        let mut command = without_comment.split_whitespace().collect::<Vec<_>>().join(" ");
        let port = self.services[0].address.rsplit(':').next().expect("an address has a port");
        for (from, to) in [
            ("cargo run --release -p dropline -- ", "dropline "),
            // What another program wrote is there already.
            ("fio --name=read --rw=randread --size=16m --output-format=json+ --output=fio.json && ", ""),
            ("cyclictest -m -p 95 -a -i 1000 -l 100000 -h 400 -q > quiet.hist && ", ""),
            ("127.0.0.1:7007", &self.services[0].address),
            ("127.0.0.1:7008", &self.services[1].address),
            ("--port 5000", &format!("--port {port}")),
            ("--port 7007", &format!("--port {port}")),
            ("127.0.0.1:9000", "127.0.0.1:0"),
            ("127.0.0.1:9062", "127.0.0.1:0"),
            ("127.0.0.1:9061", "127.0.0.1:0"),
            ("heartbeat serve", "heartbeat serve --listen 127.0.0.1:0"),
            ("127.0.0.1:9060", &self.aggregator.address),
            ("--pid 4711", &format!("--pid {}", self.aggregator.child.id())),
        ] {
            command = command.replace(from, to);
        }
        if command == "dropline serve" || command.starts_with("dropline serve --service") {
            command = command.replace("serve", "serve --listen 127.0.0.1:0");
        }
        let shorter =
            SHORTER.iter().filter(|(words, _)| command.contains(words)).flat_map(|(_, flags)| *flags);
        for flag in shorter.collect::<Vec<_>>() {
            let name = flag.split('=').next().unwrap_or(flag);
            if let Some((before, rest)) = command.split_once(&format!(" {name} ")) {
                let rest = rest.trim_start().split_once(' ').map_or("", |(_, rest)| rest);
                command = format!("{before} {rest}");
            }
            command = format!("{command} {flag}");
        }
        command
    }

    /// Runs it by a shell; the exit code, and what it said.
    fn run(&self, command: &str) -> (i32, String) {
        let bin = Path::new(env!("CARGO_BIN_EXE_dropline")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        // SIGINT to the program itself: a shell's background command would ignore it.
        let limit = if ENDLESS.iter().any(|endless| command.starts_with(endless)) { "0.5" } else { "240" };
        let words = ["--signal=INT", "--kill-after=60", limit, "sh", "-c", &format!("exec {command}")];
        let words =
            if command.contains(['|', '>']) { [&words[..5], &[command]].concat() } else { words.to_vec() };
        let mut run = Command::new("timeout");
        run.args(words).current_dir(self.bench.path("")).env("PATH", path).stdin(Stdio::null());
        let ended = run.output().expect("coreutils");
        let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        (ended.status.code().unwrap_or(-1), said.concat())
    }
}

#[test]
fn every_example_of_the_help_and_of_the_documents_runs() {
    let scene = Scene::new();
    let all = examples(&scene.bench);
    assert!(all.len() > 60, "only {} examples were found: the test reads nothing", all.len());
    let mut wrong = Vec::new();
    let mut ran = std::collections::BTreeSet::new();
    for Example { place, command, printed } in &all {
        if NOT_HERE.iter().any(|(words, _)| command.contains(words)) {
            continue;
        }
        let shortened = scene.shortened(command);
        if !ran.insert(shortened.clone()) {
            continue;
        }
        // A file that an example makes, another may have made.
        if let Some(made) = shortened.split(" -o ").nth(1).and_then(|rest| rest.split(' ').next()) {
            let _ = std::fs::remove_file(scene.bench.path(made));
            let _ = std::fs::remove_file(scene.bench.path(&format!("{made}.packets")));
        }
        let began = std::time::Instant::now();
        let (code, said) = scene.run(&shortened);
        println!("{:6.2} s  {code:3}  {shortened}", began.elapsed().as_secs_f64());
        // 1: a condition of the example's own holds; 3: this machine was too busy; 124: it was stopped, as it has to be.
        let stopped = ENDLESS.iter().any(|endless| shortened.starts_with(endless));
        let ran = matches!(code, 0 | 1 | 3) || (stopped && matches!(code, 124 | 130));
        if !ran {
            wrong.push(format!("{place}\n  {command}\n  run as  {shortened}\n  ended with {code}: {said}"));
        }
        // What is shortened prints something else than what is shown.
        let line = unsaid(printed, &said).filter(|_| shortened == *command);
        if line.is_some() && std::env::var_os("DROPLINE_BLESS").is_some() {
            let shown = |lines: &[String]| format!("$ {command}\n{}\n", lines.join("\n"));
            let page = std::fs::read_to_string(place).unwrap();
            std::fs::write(place, page.replace(&shown(printed), &shown(&anew(printed, &said)))).unwrap();
        } else if let Some(line) = line {
            wrong.push(format!("{place}\n  {command}\n  is shown to print  {line}\n  and prints\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{} examples fail:\n{}", wrong.len(), wrong.join("\n"));
    for (words, _) in NOT_HERE {
        assert!(
            all.iter().any(|example| example.command.contains(words)),
            "no example has {words:?} any more"
        );
    }
}
