//! Bad input and a hostile environment: a clear message that says what to do, the promised exit code, and
//! nothing lost.

mod command;

use command::Bench;
use std::net::UdpSocket;
use std::process::Command;

/// The command must end with this code and say each of these.
fn refused(words: &[&str], code: i32, says: &[&str]) {
    let ended = Bench::new().run(words);
    assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.errors);
    for text in says {
        assert!(ended.errors.contains(text), "{words:?} should say {text:?}: {}", ended.errors);
    }
}

#[test]
fn rates_that_cannot_be_offered_are_usage_errors() {
    for (rate, says) in
        [("0pps", "above 0"), ("-5kpps", "above 0"), ("1e30pps", "beyond"), ("100", "needs a unit")]
    {
        let load = format!("--load={rate}");
        refused(&["trial", "sim:hard", &load], 2, &["--load", says]);
        let load = format!("--max-load={rate}");
        refused(&["search", "sim:hard", &load], 2, &["--max-load", says]);
    }
    refused(
        &["search", "sim:hard", "--min-load=2Mpps", "--max-load=1Mpps"],
        2,
        &["lowest load 2 Mpps", "1 Mpps"],
    );
}

#[test]
fn a_flag_that_means_nothing_for_a_target_is_no_silent_one() {
    for flag in [
        "--pid=1",
        "--target-ports=2",
        "--target-addresses=127.0.0.1",
        "--source-addresses=127.0.0.1",
        "--source-port=9",
    ] {
        let name = flag.split('=').next().unwrap();
        refused(&["search", "sim:hard", flag], 2, &[name, "sim:hard", "udp://"]);
    }
}

#[test]
fn goals_that_cannot_be_met_are_usage_errors() {
    for (goal, says) in [
        ("1", "below 1"),
        ("-1%", "at least 0"),
        ("-0.5,width=1%", "at least 0"),
        ("0,exceed=100%", "below 1"),
        ("0,width=0", "width"),
        ("0,trial=5", "needs a unit"),
        ("0,wdith=1%", "did you mean \"width\"?"),
    ] {
        refused(&["search", "sim:hard", &format!("--goal={goal}")], 2, &[says]);
    }
    refused(&["search", "sim:hard", "--algorithm=mdr", "--goal=0,width=1%", "--goal=1%"], 2, &["width"]);
    refused(&["search", "sim:hard", "--algorithm=credibel"], 2, &["similar value", "'credible'"]);
    refused(&["search", "sim:hard", "--algorithm=x"], 2, &["possible values: credible, mlr, mdr, binary"]);
    refused(&["search", "sim:hard", "--preset=cist"], 2, &["csit"]);
}

#[test]
fn a_verb_that_no_help_lists_is_recommended_to_nobody_and_an_error_has_no_number_of_the_system() {
    let ended = Bench::new().run(&["agent"]);
    assert!(ended.code == Some(2) && !ended.errors.contains("client"), "{}", ended.errors);
    refused(&["serach", "sim:hard"], 2, &["'search'"]);
    let ended = Bench::new().run(&["report", "no-such-file"]);
    assert!(ended.errors.contains("No such file or directory"), "{}", ended.errors);
    assert!(!ended.errors.contains("os error"), "{}", ended.errors);
}

#[test]
fn a_quantity_below_zero_is_refused_as_that_quantity_and_not_as_an_unknown_flag() {
    refused(&["search", "sim:hard", "--goal", "-1%"], 2, &["at least 0", "-1%"]);
    refused(&["search", "sim:hard", "--budget", "-5s"], 2, &["--budget", "at least 0", "-5s"]);
    refused(&["search", "sim:hard", "--min-load", "-5kpps"], 2, &["--min-load", "above 0", "-5"]);
    refused(&["search", "sim:hard", "--repeat", "-1"], 2, &["--repeat", "-1"]);
    refused(&["serve", "--buffer", "-4KiB"], 2, &["--buffer", "-4KiB"]);
}

#[test]
fn a_number_that_is_none_is_refused_in_plain_words() {
    refused(&["serve", "--queue", "-1"], 2, &["--queue", "whole number"]);
    refused(&["trial", "sim:hard", "--load", "1kpps", "--seed", "1.5"], 2, &["--seed", "whole number"]);
    refused(&["serve", "--fifo", "300"], 2, &["--fifo", "300"]);
}

#[test]
fn no_error_quotes_more_of_a_word_than_anybody_reads() {
    let long = "x".repeat(100_000);
    for words in [
        &["search", "sim:hard", "--seed", &long][..],
        &["search", "sim:hard", "--goal", &long],
        &["search", "sim:hard", "--algorithm", &long],
        &["search", "sim:hard", &format!("--{long}")],
        &["search", &long],
        &[long.as_str()],
    ] {
        let ended = Bench::new().run(words);
        let said = ended.errors.chars().count();
        assert!(ended.code == Some(2) && (1..5_000).contains(&said), "{}: {said} characters", words[0]);
    }
}

#[test]
fn a_search_of_no_trials_and_no_search_at_all_are_usage_errors() {
    refused(&["search", "sim:hard", "--max-trials", "0"], 2, &["--max-trials", "1.."]);
    refused(&["search", "sim:hard", "--repeat", "0"], 2, &["--repeat", "1.."]);
}

/// A CI job with such a condition would pass for ever.
#[test]
fn what_judges_a_load_is_refused_where_bursts_are_searched_for() {
    for flag in [
        "--fail-if=lower<90",
        "--require=narrow",
        "--baseline=a.jsonl",
        "--max-trials=2",
        "--level=80%",
        "--min-load=1kpps",
        "--certify",
        "--warm-up=1s",
        "--mdr-phases=3",
        "--budget=9s",
        "--goal=0",
        "--html=x.html",
    ] {
        let name = flag.split('=').next().unwrap();
        refused(&["search", "link:a/b,c/d", "--back-to-back=2", flag], 2, &["--back-to-back", name]);
    }
}

#[test]
fn a_result_that_is_not_the_required_one_is_named_in_words() {
    refused(&["search", "sim:dead", "-q", "-o-", "--require=narrow"], 1, &["drops at the lowest load"]);
}

#[test]
fn what_is_no_file_is_no_record_to_go_on_with() {
    refused(
        &["search", "sim:hard", "-q", "-o", "/dev/null"],
        2,
        &["/dev/null is not a file that a record can be kept in", "-o -"],
    );
    refused(
        &["search", "--resume", "-"],
        2,
        &["resumed in the file that holds its record", "cat >FILE && dropline search --resume FILE"],
    );
}

#[test]
fn targets_that_are_none_say_what_targets_there_are() {
    refused(&["search", "127.0.0.1:7007"], 2, &["udp://HOST:PORT"]);
    refused(&["search", "sim:hrad"], 2, &["did you mean \"hard\"?"]);
    refused(&["search", "sim:hard?capcity=1Mpps"], 2, &["did you mean \"capacity\"?"]);
    refused(&["search", "exec:true"], 2, &["--max-load"]);
    refused(&["search", "replay:/nonexistent.jsonl", "--max-load=1Mpps"], 4, &["/nonexistent.jsonl"]);
}

#[test]
fn a_closed_port_says_that_nothing_listens_there() {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = format!("udp://{free}");
    refused(
        &["trial", &target, "--load=1kpps", "--duration=1s"],
        4,
        &["port unreachable", &format!("dropline serve --listen {free}")],
    );
}

#[test]
fn a_target_that_never_answers_is_told_from_one_that_loses_all() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = format!("udp://{}", silent.local_addr().unwrap());
    refused(
        &["trial", &target, "--load=1kpps", "--duration=1s"],
        4,
        &["none was answered within 2.0", "?reply=none", "--drain"],
    );
}

#[test]
fn a_host_that_did_not_consent_is_refused() {
    for host in ["192.0.2.1:7", "[2001:db8::1]:7"] {
        refused(&["trial", &format!("udp://{host}"), "--load=1kpps"], 4, &["refused", "consent"]);
    }
    refused(&["trial", "udp://no-such-host.invalid:7", "--load=1kpps"], 4, &["no-such-host.invalid"]);
    refused(&["doctor", "udp://192.0.2.1:7"], 4, &["refused", "consent"]);
    let plan = "client target=192.0.2.1:53 tag=1 number=0 clients=1 payload=1400 schedule=10000000@constant offset=0 \
                reply=none same=true stamped=false seed=1 from=0 until=1";
    refused(&plan.split_whitespace().collect::<Vec<_>>(), 4, &["refused", "consent"]);
}

#[test]
fn a_responder_that_cannot_listen_says_why() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refused(&["serve", "--listen", &address], 4, &[&address, "in use"]);
    refused(&["serve", "--listen", "192.0.2.1:7007"], 4, &["not an address of this machine"]);
    refused(&["serve", "--listen", "7007"], 2, &["ADDR:PORT"]);
    refused(&["serve", "--listen", "127.0.0.1:0", "--workers", "0"], 2, &["worker"]);
}

#[test]
fn records_that_cannot_be_read_say_which_line_and_why() {
    let bench = Bench::new();
    bench.done(&["search", "sim:hard", "-q", "-o", "r.jsonl"]);
    let whole = bench.read("r.jsonl");
    let said = |text: &str, code: i32, says: &str| {
        bench.write("bad.jsonl", text);
        for verb in [&["report", "bad.jsonl"][..], &["search", "--resume", "bad.jsonl"]] {
            let ended = bench.run(verb);
            assert_eq!(ended.code, Some(code), "{verb:?}: {}", ended.errors);
            assert!(ended.errors.contains(says), "{verb:?} should say {says:?}: {}", ended.errors);
        }
        assert_eq!(bench.read("bad.jsonl"), text, "a record that cannot be read is left as it is");
    };
    said("", 4, "empty");
    said("hello\n", 4, "line 1 is not the header");
    said(&whole.replace("dropline/1", "dropline/9"), 4, "dropline/9");
    said(&whole.replacen("\"offered\":", "\"offered\":-", 1), 4, "line 2");
    assert_eq!(bench.run(&["report", "nothing.jsonl"]).code, Some(4));
}

#[test]
fn records_that_nobody_named_have_a_name_each() {
    let bench = Bench::new();
    let of_one_second = 3;
    (0..of_one_second).for_each(|_| drop(bench.done(&["trial", "sim:hard", "--load", "1Mpps"])));
    let kept = std::fs::read_dir(bench.path("")).unwrap().map(|file| file.unwrap().file_name());
    let kept: Vec<String> = kept.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(kept.iter().filter(|name| name.ends_with(".jsonl")).count(), of_one_second, "{kept:?}");
}

#[test]
fn a_record_is_never_written_over() {
    let bench = Bench::new();
    bench.done(&["search", "sim:hard", "-q", "-o", "r.jsonl"]);
    let before = bench.read("r.jsonl");
    let ended = bench.run(&["search", "sim:hard", "-q", "-o", "r.jsonl"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.errors.contains("--resume r.jsonl"), "{}", ended.errors);
    assert_eq!(bench.read("r.jsonl"), before);
}

#[test]
fn what_cannot_be_written_at_the_end_is_refused_at_the_beginning() {
    let times = ["serve", "--listen=127.0.0.1:0", "--until-eof", "--queue=0", "--times=/sys/times.txt"];
    let ended = Bench::new().run(&times);
    assert_eq!((ended.code, ended.text.as_str()), (Some(4), ""), "{}", ended.errors);
    assert!(ended.errors.contains("cannot write /sys/times.txt"), "{}", ended.errors);
}

#[test]
fn a_record_that_cannot_be_replayed_is_named_with_what_is_wrong_with_it() {
    refused(&["search", "replay:/dev/zero", "-q", "-o", "-"], 4, &["cannot read /dev/zero", "256 MiB"]);
    refused(
        &["search", "replay:/etc/passwd", "-q", "-o", "-"],
        4,
        &["/etc/passwd: line 1 is not the header"],
    );
    refused(&["search", "replay:missing", "-q", "-o", "-"], 4, &["cannot read missing: No such file"]);
}

#[test]
fn missing_permissions_are_named_with_a_way_out() {
    refused(
        &["search", "sim:hard", "-q", "-o", "/sys/r.jsonl"],
        4,
        &["cannot write /sys/r.jsonl", "-o FILE"],
    );
    // Ports below 1024 need a privilege; root without it is refused as anyone is.
    let serve = ["--bounding-set=-net_bind_service", env!("CARGO_BIN_EXE_dropline"), "serve"];
    let serve = [&serve[..], &["--listen", "127.0.0.1:80"]].concat();
    let ended = Command::new("setpriv").args(serve).output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(4), "{errors}");
    assert!(errors.contains("may not listen at 127.0.0.1:80") && errors.contains("--listen"), "{errors}");
}

#[test]
fn a_scenario_without_a_target_is_told_to_name_one() {
    let bench = Bench::new();
    for text in ["", "goal = '0'\n"] {
        bench.write("s.toml", text);
        let ended = bench.run(&["search", "--scenario", "s.toml"]);
        assert_eq!(ended.code, Some(2));
        let says = ["no target is named", "target = ", "udp://HOST:PORT"];
        assert!(says.iter().all(|says| ended.errors.contains(says)), "{}", ended.errors);
    }
}

/// A flag that does nothing is not taken: who gives it believes that it does.
#[test]
fn a_flag_of_packets_is_refused_by_name_where_none_of_ours_are_sent_and_what_the_target_has_for_it_is_named()
{
    let bench = Bench::new();
    let moved: [&[&str]; 6] = [
        &["--send=gso"],
        &["--receive=spin"],
        &["--senders=2"],
        &["--receivers=2"],
        &["--cpus=0/1"],
        &["--ordinary-priority"],
    ];
    let packets: [&[&str]; 3] = [&["--packet=100B"], &["--frame=64"], &["--streams=4"]];
    let wait: [&[&str]; 1] = [&["--drain=1s"]];
    let all = [&moved[..], &packets, &wait].concat();
    let but_wait = [&moved[..], &packets].concat();
    for (target, refused) in [
        ("wakeup:", &all[..]),
        ("jack:", &all),
        ("flowgraph:futuresdr?samples=10", &but_wait),
        ("heartbeat://127.0.0.1:9", &but_wait),
        ("exec:true", &moved),
        ("sim:hard", &moved),
        ("replay:x.jsonl", &all),
    ] {
        for words in refused {
            let flag = words[0].split('=').next().unwrap();
            let ended = bench.run(&[&["trial", target, "--load=1kHz", "--duration=100ms"], *words].concat());
            assert_eq!(ended.code, Some(2), "{target} {words:?}: {}", ended.errors);
            assert!(ended.errors.contains(&format!("{flag} means nothing to {target}")), "{}", ended.errors);
        }
    }
    let instead = |target: &str, flag: &str| {
        bench.run(&["trial", target, "--load=1kHz", "--duration=100ms", flag]).errors
    };
    assert!(instead("wakeup:", "--cpus=0/1").contains("wakeup:?cpus=0,1"));
    assert!(instead("wakeup:", "--ordinary-priority").contains("wakeup:?policy=other"));
    assert!(instead("jack:", "--ordinary-priority").contains("jack:?realtime=no"));
    for (target, said) in [
        ("wakeup:", "is sent no packets of ours"),
        ("sim:hard", "is sent no packets of ours"),
        ("link:a,b", "is sent frames of ours"),
        ("ntp://127.0.0.1", "has requests of its own"),
    ] {
        for flag in ["--payload=hex:00", "--reply=any"] {
            assert!(instead(target, flag).contains(&format!("{target} {said}")), "{target} {flag}");
        }
    }
}

#[test]
fn a_scenario_with_an_unknown_key_shows_its_line() {
    let bench = Bench::new();
    bench.write("s.toml", "target = 'sim:hard'\narrivl = 'poisson'\n");
    let ended = bench.run(&["search", "--scenario", "s.toml"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.errors.contains("s.toml:2") && ended.errors.contains("\"arrival\""), "{}", ended.errors);
}

#[test]
fn explain_sends_nobody_in_a_circle_who_has_a_target_whose_packets_are_never_kept() {
    let bench = Bench::new();
    bench.done(&["search", "sim:hard", "--algorithm=binary", "-q", "-o", "s.jsonl"]);
    bench.done(&["trial", "sim:hard", "--load", "10Mpps", "--duration", "1s", "-q", "-o", "t.jsonl"]);
    for (target, unit, ask) in [
        ("exec:python3 x.py", "packets", "ask that program"),
        ("http://127.0.0.1:9/", "requests", "the server logged"),
        ("wakeup:", "packets", ""),
    ] {
        for file in ["s.jsonl", "t.jsonl"] {
            let text = bench.read(file).replace("sim:hard", target);
            let text = text.replace("\"load_unit\":\"packets\"", &format!("\"load_unit\":\"{unit}\""));
            bench.write("edited.jsonl", &text);
            let error = bench.run(&["explain", "edited.jsonl"]);
            assert!(error.code == Some(4) && error.errors.contains(ask), "{target}: {}", error.errors);
            assert!(error.errors.contains("dropline report edited.jsonl"), "{target}: {}", error.errors);
            assert!(!error.errors.contains("dropline trial"), "{target}: {}", error.errors);
        }
    }
}

#[test]
fn what_cannot_be_explained_says_how_it_could() {
    let bench = Bench::new();
    bench.done(&["trial", "sim:hard", "--load", "10Mpps", "--duration", "1s", "-q", "-o", "r.jsonl"]);
    let error = bench.run(&["explain", "r.jsonl"]);
    let why = "a simulated target has no packets whose times could be kept";
    assert!(error.code == Some(4) && error.errors.contains(why), "{}", error.errors);
    assert!(error.errors.contains("dropline report r.jsonl"), "no advice in a circle: {}", error.errors);
    let service = bench.serve(&[]);
    let target = format!("udp://{}", service.address);
    let words =
        ["trial", &target, "--load=1kpps", "--duration=100ms", "--no-packets", "-q", "-o", "r2.jsonl"];
    bench.run(&words);
    let error = bench.run(&["explain", "r2.jsonl"]);
    let again = format!("dropline trial {target} --load 1000pps --arrival constant --duration 0.1s");
    assert!(error.code == Some(4) && error.errors.contains(&again), "{}", error.errors);
    bench.write("r2.jsonl.packets", "no packets");
    let error = bench.run(&["explain", "r2.jsonl"]);
    assert!(
        error.code == Some(4) && error.errors.contains("were not kept"),
        "a file that is not its own: {}",
        error.errors
    );
}

#[test]
fn a_search_is_repeated_so_often_as_can_be_held_and_the_error_names_that_bound() {
    let often = "4294967295";
    refused(&["search", "sim:hard", "--repeat", often, "-q", "-o-"], 2, &["1..=1000"]);
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("often.toml");
    std::fs::write(&scenario, format!("target = \"sim:hard\"\nrepeat = {often}\n")).unwrap();
    refused(&["search", "--scenario", scenario.to_str().unwrap(), "-q", "-o-"], 2, &["1..=1000"]);
}

#[test]
fn a_hint_says_what_to_type_instead_and_names_what_was_taken_for_what() {
    refused(&["history", "add", "nodir", "s1.jsonl"], 2, &["nodir is taken for a record", "--history DIR"]);
    refused(&["search", "sim:hard", "--goal=0.5"], 2, &["50 % of all packets lost", "write 0.5%"]);
    refused(&["search", "sim:hard", "--level=95"], 2, &["write 95%"]);
    refused(&["man", "serach"], 2, &["did you mean \"search\"?"]);
    refused(&["serve", "--listen", "127.0.0.1"], 2, &["such as 127.0.0.1:7007"]);
}

#[test]
fn an_explanation_of_a_simulated_target_sends_nobody_to_a_trial_that_explains_no_more() {
    let bench = Bench::new();
    bench.done(&["trial", "sim:hard", "--load=9Mpps", "--duration=1s", "-q", "-o", "t.jsonl"]);
    bench.done(&["search", "sim:consistent", "--max-trials=3", "-q", "-o", "s.jsonl"]);
    for name in ["t.jsonl", "s.jsonl"] {
        let ended = bench.run(&["explain", name]);
        assert_eq!(ended.code, Some(4), "{}", ended.errors);
        assert!(ended.errors.contains("a simulated target has no packets"), "{}", ended.errors);
        assert!(!ended.errors.contains("dropline trial"), "{}", ended.errors);
    }
}

#[test]
fn a_trial_that_doctor_advises_has_a_load_that_can_be_typed_and_none_where_none_is_taken() {
    let bench = Bench::new();
    let advised = |target: &str| bench.run(&["doctor", target]).text;
    assert!(advised("exec:cat").contains("dropline trial exec:cat --load 100pps --duration 1s"));
    let own_pace = advised("flowgraph:exec:/bin/true");
    assert!(own_pace.contains("dropline trial flowgraph:exec:/bin/true --duration 1s"), "{own_pace}");
}
