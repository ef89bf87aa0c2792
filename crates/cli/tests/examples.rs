//! Every command of a `--help` and of the documents is a command: it runs as it is printed, and where a document
//! shows what it prints, it prints that.
//!
//! They run in the order in which they stand there, in a directory that holds nothing but what the repository has: what
//! an example reads is made by a line before it on the same page, and so is who answers at an address (`unmade`).
//!
//! What is shortened is shortened by rule: addresses become those of services started here, times and loads small
//! ones (`SHORTER`). What cannot run here stands in `NOT_HERE`, each with its reason. What is printed is shown anew by
//! `DROPLINE_BLESS=1 cargo test -p dropline --test examples`.

mod command;

use command::{Bench, Service};
use std::collections::BTreeSet;
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
    ("flowgraph:futuresdr", "the graphs take minutes to build; make test-flowgraph runs them"),
    ("flowgraph:gnuradio", "the graphs take minutes to build; make test-flowgraph runs them"),
    ("experiment flowgraph-latency", "needs the same graphs"),
    ("experiment poisson-loss", "runs for minutes; crates/experiments tests its parts"),
    ("heartbeat serve --listen 0.0.0.0", "listens to a network that the test did not make"),
    ("heartbeat cost", "measures for a minute; crates/cli/tests/heartbeat_reliability.rs runs it on less"),
    ("--probe request", "half a minute of turns; crates/cli/tests/latency.rs runs it"),
    ("--baseline ", "needs two searches of half a minute; crates/cli/tests/compared.rs has them"),
    ("dropline agent ", "needs a server with its key; make test-fleet starts them"),
    ("--join nats://10.0.0.1", "needs the same"),
    ("link:", "needs root and two interfaces; make test-link makes them"),
    ("dns://127.0.0.1:53?", "needs a DNS server at its own port; make test-services starts others"),
    (
        "--acknowledge 4c1f",
        "the identifier is of a history that nobody else has; crates/cli/tests/trend/main.rs takes a real one",
    ),
    ("| man -l -", "a pager; the page itself is printed by another test"),
    ("~/.local", "writes into a home directory"),
];

/// Commands that run until they are stopped: started, and stopped.
const ENDLESS: &[&str] = &["dropline serve", "dropline heartbeat serve", "dropline view"];

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

/// The services that the examples talk to, and a directory of a page's own.
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
        Self { bench, services, aggregator }
    }

    /// A new directory for a page, with what a clone of the repository has, and what programs wrote that are not run.
    fn turn_to(&mut self, saved: &[(String, String)]) {
        self.bench = Bench::new();
        for name in IN_THE_REPOSITORY {
            let at = root().join(name).canonicalize().unwrap();
            std::os::unix::fs::symlink(at, self.bench.path(name)).unwrap();
        }
        std::fs::copy(
            root().join("crates/distributions/tests/formats/fio.json"),
            self.bench.path("fio.json"),
        )
        .unwrap();
        let table =
            "# Histogram\n000006 000003\n000007 000020\n# Total: 000000023\n# Histogram Overflows: 00000\n";
        self.bench.write("quiet.hist", table);
        saved.iter().for_each(|(name, text)| self.bench.write(name, text));
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
            ("--listen 127.0.0.1:7008", "--listen 127.0.0.1:0"),
            ("127.0.0.1:7007", &self.services[0].address),
            ("127.0.0.1:7008", &self.services[1].address),
            ("--port 7007", &format!("--port {port}")),
            ("127.0.0.1:9000", "127.0.0.1:0"),
            ("127.0.0.1:9062", "127.0.0.1:0"),
            ("127.0.0.1:9061", "127.0.0.1:0"),
            ("127.0.0.1:8080", "127.0.0.1:0"),
            ("heartbeat serve", "heartbeat serve --listen 127.0.0.1:0"),
            ("127.0.0.1:9060", &self.aggregator.address),
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
        let words = ["--signal=INT", "--kill-after=60", limit, "sh", "-c", &format!("exec env {command}")];
        let words =
            if command.contains(['|', '>']) { [&words[..5], &[command]].concat() } else { words.to_vec() };
        let mut run = Command::new("timeout");
        run.args(words).current_dir(self.bench.path("")).env("PATH", path).stdin(Stdio::null());
        let ended = run.output().expect("coreutils");
        let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        (ended.status.code().unwrap_or(-1), said.concat())
    }
}

/// What of the repository the examples use.
const IN_THE_REPOSITORY: [&str; 3] = ["scenarios", "c", "experiments"];
/// What stands before a file that a command makes, or an address at which it answers.
const MAKES: [&str; 9] =
    ["-o", ">", "--html", "--svg", "--keep", "--export-json", "--page", "--metrics", "--history"];
/// How files end that an example may read.
const ENDS: [&str; 13] = [
    ".jsonl", ".tsv", ".csv", ".txt", ".hlog", ".hist", ".json", ".toml", ".py", ".o", ".c", ".ctf", ".html",
];

/// Files and addresses that a command makes, and those that it uses and does not make.
fn made_and_used(command: &str) -> [Vec<String>; 2] {
    let without_comment = command.split(" # ").next().unwrap_or(command);
    let without_comment = without_comment.replace("--output=", "-o ").replace("--port ", "--port 127.0.0.1:");
    let words: Vec<&str> = without_comment.split_whitespace().collect();
    let plain = |word: &str| {
        let word = word.rsplit("./").next().unwrap_or(word).trim_matches(['\'', '"', '(', ')', ';']);
        // A target that reads a file uses the file.
        word.rsplit("queries=").next().unwrap_or(word).trim_start_matches("udp://").to_owned()
    };
    let (mut made, mut used) = (Vec::new(), Vec::new());
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let is_file = word.contains("./") || ENDS.iter().any(|end| plain(word).ends_with(end));
        if MAKES.contains(&before) || before == "--listen" {
            made.push(plain(word));
        } else if is_file || plain(word).starts_with("127.0.0.1:") {
            used.push(plain(word));
        }
        if *word == "serve" && !without_comment.contains("--listen") {
            made.push(if before == "heartbeat" { "127.0.0.1:9060".into() } else { "127.0.0.1:7007".into() });
        }
    }
    if without_comment.contains("--start 'dropline serve'") {
        made.push("127.0.0.1:7007".into());
    }
    used.retain(|used| !made.contains(used));
    [made, used]
}

/// The first example of a page that uses what no line before it has made, with what that is. `saved` are the files that
/// the page tells its reader to save.
fn unmade<'a>(page: &'a [Example], saved: &[(String, String)]) -> Option<(&'a Example, String)> {
    let mut there: Vec<String> = saved.iter().map(|(name, _)| name.clone()).collect();
    for example in page {
        let [made, used] = made_and_used(&example.command);
        let in_the_repository = |name: &String| {
            IN_THE_REPOSITORY.iter().any(|part| name.starts_with(part)) && root().join(name).exists()
        };
        if let Some(name) = used.into_iter().find(|name| !there.contains(name) && !in_the_repository(name)) {
            return Some((example, name));
        }
        // Who does not go to the background answers nobody who waits for the next line.
        let goes_on = !example.command.contains("serve")
            || example.command.contains('&')
            || example.command.contains("--start");
        there.extend(made.into_iter().filter(|_| goes_on));
    }
    None
}

/// The files that a document tells its reader to save: "Save this one as `NAME`:" and a block.
fn saved(place: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(place).unwrap_or_default();
    let parts = text.split("Save this one as `").skip(1);
    let file = |part: &str| {
        let (name, rest) = part.split_once('`')?;
        let block = rest.split("```").nth(1)?;
        Some((name.to_owned(), block.split_once('\n')?.1.to_owned()))
    };
    parts.filter_map(file).collect()
}

#[test]
fn what_an_example_uses_and_nobody_made_is_found() {
    let page = |commands: &[&str]| -> Vec<Example> {
        let example =
            |&command: &&str| Example { place: String::new(), command: command.into(), printed: Vec::new() };
        commands.iter().map(example).collect()
    };
    let missing = |commands: &[&str]| unmade(&page(commands), &[]).map(|(_, name)| name);
    let serve = "dropline serve --service-time 1us &";
    assert_eq!(missing(&["dropline compare a.jsonl b.jsonl"]), Some("a.jsonl".into()));
    assert_eq!(
        missing(&["dropline search sim:hard -o a.jsonl", "dropline report a.jsonl --html a.html"]),
        None
    );
    assert_eq!(missing(&["dropline trial 'flowgraph:exec?n=2:./graph'"]), Some("graph".into()));
    assert_eq!(missing(&["cc c/trace/copy.c -o graph", "dropline trial flowgraph:exec:./graph"]), None);
    assert_eq!(missing(&["cc c/trace/none.c -o graph"]), Some("c/trace/none.c".into()));
    assert_eq!(missing(&["dropline trial udp://127.0.0.1:7007"]), Some("127.0.0.1:7007".into()));
    assert_eq!(missing(&[serve, "dropline watch --port 7007"]), None);
    assert_eq!(missing(&[serve, "dropline watch --port 5000"]), Some("127.0.0.1:5000".into()));
    assert_eq!(
        missing(&["dropline serve", "dropline trial udp://127.0.0.1:7007"]),
        Some("127.0.0.1:7007".into())
    );
    assert_eq!(missing(&["seq 9 > a.txt; seq 7 > b.txt", "dropline inject --stored a.txt b.txt"]), None);
}

#[test]
fn every_example_of_the_help_and_of_the_documents_runs() {
    let mut scene = Scene::new();
    let all = examples(&scene.bench);
    assert!(all.len() > 60, "only {} examples were found: the test reads nothing", all.len());
    let mut wrong = Vec::new();
    let mut ran = BTreeSet::new();
    for page in all.chunk_by(|one, next| one.place == next.place) {
        let saved = saved(&page[0].place);
        if let Some((example, name)) = unmade(page, &saved) {
            let Example { place, command, .. } = example;
            wrong.push(format!("{place}\n  {command}\n  uses {name}, which no line before it makes"));
        }
        scene.turn_to(&saved);
        run(&scene, page, &mut ran, &mut wrong);
    }
    assert!(wrong.is_empty(), "{} examples fail:\n{}", wrong.len(), wrong.join("\n"));
    for (words, _) in NOT_HERE {
        assert!(
            all.iter().any(|example| example.command.contains(words)),
            "no example has {words:?} any more"
        );
    }
}

/// Runs the examples of a page in their order, but those that an earlier page had and that leave nothing behind.
fn run(scene: &Scene, page: &[Example], ran: &mut BTreeSet<String>, wrong: &mut Vec<String>) {
    for Example { place, command, printed } in page {
        if NOT_HERE.iter().any(|(words, _)| command.contains(words)) {
            continue;
        }
        let shortened = scene.shortened(command);
        let [made, _] = made_and_used(command);
        if !ran.insert(shortened.clone()) && made.is_empty() {
            continue;
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
}
