//! `dropline heartbeat reliability` and `cost`, as a user starts them.

mod command;

use command::Bench;

#[test]
fn a_random_frame_is_stored_once_in_34_8_years_at_the_original_rate() {
    let bench = Bench::new();
    let words = ["heartbeat", "reliability", "--draws", "100000", "--html", "page.html"];
    let text = bench.done(&words).text;
    assert!(
        text.starts_with("A random frame is stored with 2^-42: once in 34.8 years at 4000 frames a second\n")
    );
    for said in
        ["8.71 years", "12.4 days", "0 of 116947758 changed", "burst of 17 bits", "“in ¾ of those cases"]
    {
        assert!(text.contains(said), "{said}\n{text}");
    }
    let page = bench.read("page.html");
    assert!(page.contains("dropline <b>heartbeat reliability</b>") && page.contains("8.71 years"), "{page}");
}

#[test]
fn the_json_has_the_counts_and_follows_what_was_asked() {
    let bench = Bench::new();
    let found = bench
        .done(&[
            "heartbeat",
            "reliability",
            "--draws",
            "0",
            "--json",
            "--frame-rate",
            "8kpps",
            "--heartbeat",
            "30s",
            "--poll",
            "60s",
            "--used",
            "32",
            "--bit-error-rate",
            "1e-4",
            "--tried",
            "0",
        ])
        .json();
    assert_eq!(found["random"]["stored"], 2_f64.powi(-42));
    assert_eq!(found["waiting"]["stored_s"], 2_f64.powi(42) / 8000.0);
    let adler = &found["checks"][0];
    assert_eq!((&adler["pairs"][3], &adler["pairs"][4]), (&51_219_144.into(), &105_026_082.into()));
    assert_eq!(adler["undetected"].as_array().unwrap().len(), 1);
    assert_eq!((&found["polls"]["used_seen"], &found["polls"]["seen"]), (&0.25.into(), &0.625.into()));
    assert!(found["trying"]["at_most"].is_null() && found["simulations"][0]["interval"].is_null());
    assert_eq!(found["sentences"].as_array().unwrap().len(), 9);
}

#[test]
fn what_cannot_be_asked_is_a_usage_error_that_says_so() {
    let bench = Bench::new();
    for (words, said) in [
        (["--frame-rate", "4000"], "needs a unit"),
        (["--frame-rate", "1Mbit/s"], "frames a second"),
        (["--bit-error-rate", "0.7"], "below 0.5"),
        (["--level", "0"], "below 100%"),
        (["--used", "65"], "65"),
    ] {
        let ended = bench.run(&[&["heartbeat", "reliability"], &words[..]].concat());
        assert_eq!(ended.code, Some(2), "{words:?}");
        assert!(ended.errors.contains(said), "{words:?}: {}", ended.errors);
    }
}

#[test]
fn the_cost_of_any_source_is_its_size_and_what_is_missing_is_named() {
    let bench = Bench::new();
    bench.write("mine.c", "int mine(int x) { return x + 1; }\n");
    let found = bench.done(&["heartbeat", "cost", "mine.c", "--rounds", "1", "--json", "--quiet"]).json();
    let subject = &found["subjects"][0];
    let sizes = subject["sizes"].as_array().unwrap();
    assert_eq!(sizes.len(), 9);
    assert!(sizes[0]["flash_bytes"].as_u64().is_some_and(|bytes| (1..20).contains(&bytes)), "{}", sizes[0]);
    for size in sizes {
        assert!(size["flash_bytes"].is_null() != size["why_not"].is_null(), "{size}");
    }
    assert!(subject["interface"].is_null() && found["server"].is_null());
    // A compiler that is not there is named as well.
    let why = subject["why_not"].as_array().unwrap();
    assert!(why.iter().any(|why| why.as_str().unwrap().contains("hb_handle")), "{subject}");
    let ended = bench.run(&["heartbeat", "cost", "gone.c"]);
    assert_eq!((ended.code, ended.errors.contains("gone.c")), (Some(2), true));
}

#[test]
fn a_wrong_checksum_costs_fewer_instructions_than_a_heartbeat_and_an_object_is_counted_as_it_came() {
    let bench = Bench::new();
    bench.write(
        "small.c",
        "#include <stdint.h>\n#include <stddef.h>\n\
         uint8_t hb_handle(uint8_t *t, uint16_t now, const uint8_t *p, size_t n) {\n\
           if (n != 8 || p[4] != 0xf1 || p[3] != 0xce) return 0;\n\
           for (volatile int i = 0; i < 50; i++) t[4] = (uint8_t)now;\n\
           return 1;\n}\n",
    );
    let compiled = std::process::Command::new("gcc")
        .args(["-Os", "-c", "-o"])
        .arg(bench.path("small.o"))
        .arg(bench.path("small.c"))
        .status()
        .unwrap();
    assert!(compiled.success());
    let found = bench.done(&["heartbeat", "cost", "small.o", "--rounds", "0", "--json", "--quiet"]).json();
    let subject = &found["subjects"][0];
    assert!(subject["object_flash_bytes"].as_u64().unwrap() > 20, "{subject}");
    assert_eq!(found["nanoseconds"].as_array().unwrap().len(), 0);
    let counted = subject["instructions"].as_array().unwrap();
    if counted.is_empty() {
        assert!(subject["why_not"][0].as_str().unwrap().contains("valgrind"), "{subject}");
        return;
    }
    let each = |index: usize| counted[index][1]["each"].as_f64().unwrap();
    assert!(each(1) > each(2) + 100.0, "{subject}");
}
