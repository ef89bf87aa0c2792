//! A history in a browser: who may read it, what its pages say, and a search that is followed while it runs.

mod command;
mod nights;

use command::{Bench, interrupt, wait_for_lines};
use nights::{add, night, nights, records};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A running `dropline view`.
struct View {
    child: Child,
    address: String,
    token: String,
}

impl View {
    fn start(bench: &Bench, words: &[&str]) -> Self {
        let all = [&["view"], words].concat();
        let mut child = bench.command(&all).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("open http://").unwrap_or_else(|| panic!("{line}"));
        let (address, token) = url.split_once('/').unwrap();
        let token = token.strip_suffix('/').unwrap().to_owned();
        assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
        Self { address: address.to_owned(), token, child }
    }

    /// The whole answer to these bytes.
    fn told(&self, request: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The answer to who knows the token.
    fn get(&self, page: &str) -> String {
        self.told(&format!("GET /{}/{page} HTTP/1.1\r\nHost: {}\r\n\r\n", self.token, self.address))
    }

    /// A page that is there.
    fn page(&self, page: &str) -> String {
        let answer = self.get(page);
        let (head, page) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        page.to_owned()
    }

    fn interrupt(mut self) -> Option<i32> {
        interrupt(&self.child);
        self.child.wait().unwrap().code()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A history of so many nights.
fn history(count: usize) -> Bench {
    let bench = Bench::new();
    let names = nights(&bench, count);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(add(&bench, &all).code, Some(0));
    bench
}

/// The page of a record.
fn page_of(file: &str) -> String {
    format!("record/{}.html", file.strip_suffix(".jsonl").unwrap())
}

/// The first address in a page that begins so.
fn link<'a>(page: &'a str, start: &str) -> &'a str {
    let at = page.find(&format!("href=\"{start}")).unwrap_or_else(|| panic!("no link {start} in {page}"));
    page[at + 6..].split('"').next().unwrap()
}

#[test]
fn who_does_not_know_the_token_learns_nothing_and_pages_of_others_are_not_answered() {
    let bench = history(1);
    let view = View::start(&bench, &["nights"]);
    let (own, token) = (view.address.clone(), view.token.clone());
    let ask = |line: &str, headers: &str| view.told(&format!("{line} HTTP/1.1\r\n{headers}\r\n"));
    let host = format!("Host: {own}\r\n");
    let refused = ask("GET /", &host);
    assert!(refused.starts_with("HTTP/1.1 403 Forbidden\r\n") && refused.ends_with("\r\n\r\n"), "{refused}");
    assert!(refused.contains("\r\nContent-Length: 0\r\n") && !refused.to_lowercase().contains("dropline"));
    let wrong = format!("{}/", "0".repeat(32));
    let shorter = format!("{}/", &token[..31]);
    for path in [
        wrong.as_str(),
        &shorter,
        "index.html",
        "trends.html",
        &format!("../{token}/"),
        &format!("x?{token}/"),
    ] {
        for method in ["GET", "POST", "HEAD", "OPTIONS"] {
            assert_eq!(ask(&format!("{method} /{path}"), &host), refused, "{method} {path}");
        }
    }
    let with = |headers: &str| ask(&format!("GET /{token}/"), headers);
    assert!(with(&host).starts_with("HTTP/1.1 200"));
    assert!(with(&format!("{host}Origin: http://{own}\r\n")).starts_with("HTTP/1.1 200"));
    for headers in ["Host: evil.example\r\n", "", "Host: 10.0.0.1\r\n"] {
        assert!(with(headers).starts_with("HTTP/1.1 421"), "{headers}");
    }
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        assert!(with(&format!("{host}Origin: {origin}\r\n")).starts_with("HTTP/1.1 403"), "{origin}");
    }
    for method in ["POST", "HEAD", "PUT", "DELETE", "OPTIONS"] {
        assert!(ask(&format!("{method} /{token}/"), &host).starts_with("HTTP/1.1 405"), "{method}");
    }
    let head = with(&host).split_once("\r\n\r\n").unwrap().0.to_owned();
    for says in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
        "no-referrer",
        "no-store",
        "nosniff",
    ] {
        assert!(head.contains(says), "{says}: {head}");
    }
    assert_eq!(view.interrupt(), Some(0), "Ctrl-C ends it");
    for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
        let refused = bench.run(&["view", "nights", "--listen", address]);
        assert!(
            refused.code == Some(2) && refused.errors.contains("not a loopback address"),
            "{}",
            refused.errors
        );
    }
}

#[test]
fn no_path_leads_out_of_a_history() {
    let bench = history(2);
    bench.write("secret.jsonl", &night(5));
    bench.write("secret.html", "secret");
    let view = View::start(&bench, &["nights"]);
    let file = records(&bench.path("nights")).into_keys().next().unwrap();
    assert!(view.page(&page_of(&file)).contains("sim:noisy"));
    let up = "%2e%2e%2f";
    for path in [
        "record/../secret.html".to_owned(),
        "record/../../secret.html".into(),
        format!("record/{up}secret.html"),
        format!("record/2026/03/01/{up}{up}{up}{up}secret.html"),
        "record//etc/passwd.html".into(),
        "record/%2fetc%2fpasswd".into(),
        "record/index.html".into(),
        "record/acknowledged.html".into(),
        format!("record/./{}.html", file.strip_suffix(".jsonl").unwrap()),
        format!("record/{file}"),
        "index.jsonl".into(),
        "trend/../record.html".into(),
        "nothing".into(),
        "%ff".into(),
    ] {
        let answer = view.get(&path);
        assert!(
            answer.starts_with("HTTP/1.1 404") && answer.ends_with("there is nothing\n"),
            "{path}: {answer}"
        );
    }
    let outside = bench.path("secret.jsonl");
    for other in ["../secret.jsonl", outside.to_str().unwrap(), "index.jsonl", "2026/../../secret.jsonl"] {
        let answer = view.get(&format!("compare.html?a={file}&b={other}"));
        assert!(
            answer.starts_with("HTTP/1.1 404") && answer.contains("the history has no record"),
            "{other}"
        );
    }
    // A name that is not one of our own making is a record as any other, and its page has its link.
    bench.write("nights/a b&?#%25\"<x>.jsonl", &night(30));
    let list = view.page("");
    let page = view.page(link(&list, "record/a%20b"));
    assert!(page.contains("sim:noisy") && !list.contains("<x>"), "{list}");
}

#[test]
fn a_list_is_filtered_paged_and_leads_to_records_limits_and_comparisons_without_a_script() {
    let bench = history(130);
    let mut trial = bench.command(&["trial", "sim:soft", "--load=1kpps", "-q", "--history", "nights"]);
    assert!(trial.env("GITHUB_SHA", "1a2b3c").output().unwrap().status.success());
    let view = View::start(&bench, &["nights"]);
    let rows = |page: &str| page.matches("<tr data-file=").count();
    let first = view.page("");
    assert!(first.contains("131") && first.contains("records") && first.contains("page 1 of 2"), "{first}");
    assert_eq!(rows(&first), 100);
    assert!(first.find("sim:soft").unwrap() < first.find("sim:noisy").unwrap(), "the newest first");
    assert!(first.contains("packets was lost") || first.contains("packets were lost"), "what a trial found");
    let second = view.page(link(&first, "./?page=2").trim_start_matches("./"));
    assert_eq!((rows(&second), second.contains("Older")), (31, false));
    for (asked, found) in [
        ("target=soft", 1),
        ("kind=search&since=2026-03-02&until=2026-03-02", 24),
        ("goal=0.5%25", 100),
        ("goal=0", 0),
        ("label=commit%3D1a", 1),
        ("target=soft&kind=search", 0),
    ] {
        assert_eq!(rows(&view.page(&format!("?{asked}"))), found, "{asked}");
    }
    let wrong = view.page("?since=yesterday&target=%3Cscript%3E");
    assert!(wrong.contains("is not a date") && wrong.contains("value=\"&lt;script&gt;\""), "{wrong}");
    assert!(!wrong.contains("<script>alert"));
    assert!(
        first.contains("<form") && first.contains("method=\"get\"") && !first.contains("http://"),
        "plain forms"
    );
    let trend = view.page(link(&second, "trend/"));
    assert!(trend.contains("data-plot=\"trend") && trend.contains("130"), "the limit over time");
    let all = view.page("trends.html");
    assert!(all.contains("sim:noisy") && all.contains("0.5"), "{all}");
    let file = |number: usize| {
        let at = second.match_indices("data-file=\"").nth(number).unwrap().0 + 11;
        second[at..].split('"').next().unwrap().to_owned()
    };
    let beside = view.page(&format!("compare.html?a={}&b={}", file(0), file(1)));
    assert!(beside.contains("dropline compare") && beside.contains("<table"), "{beside}");
    let refused = view.get(&format!("compare.html?a={}", file(0)));
    assert!(refused.starts_with("HTTP/1.1 404") && refused.contains("holds one side only"), "{refused}");
    // A record's page is the one of `report --html`, below links to the others.
    let page = view.page(&page_of(&file(0)));
    bench.done(&["report", &format!("nights/{}", file(0)), "--html", "page.html"]);
    let drawn = bench.read("page.html");
    let main = |page: &str| page[page.find("<main>").unwrap()..].to_owned();
    assert_eq!(main(&page), main(&drawn));
    let back = link(&page, "../");
    assert_eq!(back, "../../../../");
}

#[test]
fn what_cannot_be_asked_lists_nothing_and_is_said_in_the_words_of_the_form() {
    let bench = history(2);
    let view = View::start(&bench, &["nights"]);
    for (asked, field) in [("label=1a2b", "label"), ("since=garbage", "from"), ("until=garbage", "to")] {
        let page = view.page(&format!("?{asked}"));
        assert!(page.contains(&format!("role=\"status\">{field} ")), "{asked}: {page}");
        assert!(
            !page.contains("--label") && !page.contains("--since") && !page.contains("--until"),
            "{asked}"
        );
        assert_eq!(page.matches("<tr data-file=").count(), 0, "{asked}: as if everything had been asked for");
    }
}

#[test]
fn a_record_whose_name_holds_a_control_character_is_compared_as_others_are() {
    let bench = history(2);
    let directory = bench.path("nights/2026/03/01");
    let file = directory.read_dir().unwrap().flatten().next().unwrap().path();
    std::fs::rename(&file, directory.join("esc\u{1b}[31m.jsonl")).unwrap();
    let view = View::start(&bench, &["nights"]);
    let list = view.page("");
    let values: Vec<&str> = list
        .match_indices("name=\"a\" value=\"")
        .map(|(at, start)| list[at + start.len()..].split('"').next().unwrap())
        .collect();
    assert_eq!(values.len(), 2, "{list}");
    // A browser encodes the value of a form.
    let typed = |value: &str| value.replace('%', "%25");
    view.page(&format!("compare.html?a={}&b={}", typed(values[0]), typed(values[1])));
}

#[test]
fn a_search_is_followed_while_it_runs_and_a_view_that_was_killed_goes_on_where_it_was() {
    let bench = history(1);
    // A program that performs a trial when it is told to: each line in the pipe is one.
    let measure = format!("'{}' measure sim:noisy", env!("CARGO_BIN_EXE_dropline"));
    let turns = "read turn <&3; printf '%s\\n' \"$request\"";
    let program = format!("exec 3<>turns\nwhile read -r request; do {turns}; done | {measure}\n");
    bench.write("program.sh", &program);
    assert!(std::process::Command::new("mkfifo").arg(bench.path("turns")).status().unwrap().success());
    let words =
        ["search", "exec:sh program.sh", "--max-load=1Mpps", "--max-trials=6", "-q", "--history", "nights"];
    let mut search = bench.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut turns = std::fs::OpenOptions::new().read(true).write(true).open(bench.path("turns")).unwrap();
    let mut turn = |lines: usize| {
        turns.write_all(b"go\n").unwrap();
        let path = bench.path(&running_file(&bench));
        wait_for_lines(&path, lines);
    };
    while running_file(&bench).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    turn(2);
    let view = View::start(&bench, &["nights"]);
    let list = view.page("?target=exec");
    assert!(list.contains("running now"), "{list}");
    let page = page_of(running_file(&bench).strip_prefix("nights/").unwrap());
    let answer = view.get(&page);
    assert!(answer.contains("\r\nRefresh: ") && answer.contains("of 1 trial so far"), "{answer}");
    let still = view.get(&format!("{page}?still=yes"));
    assert!(!still.contains("\r\nRefresh: ") && still.contains("Follow it"), "{still}");
    turn(3);
    assert!(view.page(&page).contains("of 2 trials so far"), "the record is read again");
    let address = view.address.clone();
    drop(view);
    // Killed, it is started again at the same place, beside the search that never noticed.
    let view = View::start(&bench, &["nights", "--listen", &address]);
    assert!(view.page(&page).contains("of 2 trials so far"));
    turn(4);
    assert!(view.page(&page).contains("of 3 trials so far"));
    interrupt(&search);
    turns.write_all(b"go\ngo\ngo\ngo\n").unwrap();
    search.wait().unwrap();
    let ended = view.get(&page);
    assert!(!ended.contains("\r\nRefresh: ") && !ended.contains("so far"), "{ended}");
}

/// The record that is not one of the nights.
fn running_file(bench: &Bench) -> String {
    let all = records(&bench.path("nights"));
    let file = all.into_keys().find(|file| file.contains("-exec-"));
    file.map_or_else(String::new, |file| format!("nights/{file}"))
}
