//! The library under made-up histories of packets: by libFuzzer for long, and its corpus again in every run.

use super::{Bench, output, printed, tell};
use crate::{Done, root};
use std::path::PathBuf;
use std::process::Command;

/// The forms of the library that are fuzzed; each has code of its own.
const FORMS: [&str; 4] = ["-DHB_FAST=0", "-DHB_FAST=1", "-DHB_WORDS=0", "-DHB_NARROW=1"];
/// Inputs beyond the corpus in every run, of all forms together.
const MORE: u64 = 1_000_000;
/// Random tables whose report zlib checks, of each form.
const TABLES: &str = "100000";
/// Where what libFuzzer found is kept.
const CORPUS: &str = "c/heartbeat/test/corpus";

/// Replays the corpus and a million inputs more under the sanitizers, and has zlib check reports.
pub(super) fn replayed(bench: &mut Bench) -> Done {
    println!("\nhistories of packets made up, under the sanitizers");
    let files: Vec<String> = corpus()?.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let more = (MORE / FORMS.len() as u64).to_string();
    let zlib = std::path::Path::new("/usr/include/zlib.h").exists();
    if !zlib {
        bench.skipped.push("reports checked by zlib: zlib1g-dev is missing".into());
    }
    for form in FORMS {
        let small = small(form);
        let program = bench.built("replay");
        let sources = ["heartbeat.c", "test/fuzz.c", "test/replay.c"].map(|name| bench.source(name));
        let words = [
            &["-O1", "-g", "-std=c99", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
            small.as_slice(),
            &sources.each_ref().map(String::as_str),
            &["-o", &program],
        ];
        output("gcc", &words.concat())?;
        let words: Vec<&str> =
            std::iter::once(more.as_str()).chain(files.iter().map(String::as_str)).collect();
        let kept = printed(&program, &words);
        let what = format!("{} files and {more} more, {}", files.len(), small.join(" "));
        tell(bench, &what, kept);
        if zlib {
            let program = bench.built("zlib");
            let sources = ["heartbeat.c", "test/zlib.c"].map(|name| bench.source(name));
            let sources = sources.each_ref().map(String::as_str);
            output(
                "gcc",
                &[&["-O2", "-std=c99"], small.as_slice(), &sources, &["-lz", "-o", &program]].concat(),
            )?;
            let kept = printed(&program, &[TABLES]);
            tell(bench, &format!("{TABLES} reports agree with zlib, {}", small.join(" ")), kept);
        }
    }
    Ok(())
}

/// The flags of a form: bytes one by one are a choice within the small one.
fn small(form: &str) -> Vec<&str> {
    if form == "-DHB_WORDS=0" { vec!["-DHB_FAST=0", form] } else { vec![form] }
}

/// Feeds the library so many inputs in all, each form its share, and keeps new ones beside the corpus.
pub(super) fn fuzz(inputs: u64) -> Done {
    let source = root().join("c/heartbeat");
    let build = root().join("fuzz/target/heartbeat-c");
    let found = build.join("found");
    std::fs::create_dir_all(&found).map_err(|why| format!("cannot create {}: {why}", found.display()))?;
    let program = build.join("fuzz").to_string_lossy().into_owned();
    let sources = ["heartbeat.c", "test/fuzz.c"].map(|name| source.join(name).to_string_lossy().into_owned());
    let sources = sources.each_ref().map(String::as_str);
    for form in FORMS {
        let small = small(form);
        println!("heartbeat-c {}: {} inputs", small.join(" "), inputs.div_ceil(FORMS.len() as u64));
        let flags =
            ["-O2", "-g", "-std=c11", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"];
        output("clang", &[&flags, small.as_slice(), &sources, &["-o", &program]].concat())
            .map_err(|why| format!("{why}\ncargo xtask setup fuzz installs what is missing"))?;
        let status = Command::new(&program)
            .arg(format!("-runs={}", inputs.div_ceil(FORMS.len() as u64)))
            .args([
                "-max_len=100",
                "-rss_limit_mb=1024",
                "-timeout=20",
                "-verbosity=0",
                "-print_final_stats=1",
            ])
            .arg(format!("-artifact_prefix={}/", build.display()))
            .arg(&found)
            .arg(root().join(CORPUS))
            // Blocks that were freed are forgotten soon: most of the time went into remembering them.
            .env("ASAN_OPTIONS", "quarantine_size_mb=1:malloc_context_size=0")
            .status()
            .map_err(|why| format!("{program} cannot be started: {why}"))?;
        if !status.success() {
            return Err(format!("{} breaks on an input in {}", small.join(" "), build.display()));
        }
    }
    Ok(())
}

/// The files of the corpus, in order.
fn corpus() -> Result<Vec<PathBuf>, String> {
    let directory = root().join(CORPUS);
    let unreadable = |why: std::io::Error| format!("cannot read {}: {why}", directory.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&directory).map_err(unreadable)? {
        files.push(entry.map_err(unreadable)?.path());
    }
    files.sort();
    if files.is_empty() { Err(format!("{} holds no corpus", directory.display())) } else { Ok(files) }
}
