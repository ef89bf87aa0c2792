//! `jack:` targets under a real server: jackd with its dummy driver needs no sound card.

use crate::{Done, build_dropline, root};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A short trial at each of three periods, one without a real-time policy, a search, and a server that runs already.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    let dropline = build_dropline()?;
    let directory = root().join("target/audio");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).map_err(|why| format!("cannot create target/audio: {why}"))?;
    for target in ["jack:", "jack:?period=256", "jack:?period=1024&rate=44100", "jack:?period=64&realtime=no"]
    {
        let trial = last_trial(&dropline, &["trial", target, "--duration", "2s"], &directory)?;
        holds(target, &trial)?;
    }
    let search =
        ["search", "jack:", "--goal", "0.5", "--max-trials", "3", "--max-load", "375Hz", "--budget", "20s"];
    last_trial(&dropline, &search, &directory)?;
    running(&dropline, &directory)?;
    eprintln!("make test-audio took {} s", begun.elapsed().as_secs());
    Ok(())
}

/// Every cycle that was served is in a window, every one that was due is in a slice.
fn holds(target: &str, trial: &str) -> Done {
    let number = |after: &str, key: &str| -> Result<u64, String> {
        let from = trial.find(after).ok_or_else(|| format!("{target}: no {after} in {trial}"))?;
        let key = format!("\"{key}\":");
        let at = trial[from..].find(&key).ok_or_else(|| format!("{target}: no {key}"))? + from + key.len();
        let digits: String = trial[at..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse().map_err(|_| format!("{target}: {key} is no count"))
    };
    let windows = number("\"cycles\":{", "below_half")?
        + number("\"cycles\":{", "to_period")?
        + number("\"cycles\":{", "beyond")?;
    let served = number("\"delay_ns\":{", "count")?;
    let (offered, forwarded) = (number("{", "offered")?, number("{", "forwarded")?);
    if windows != served || forwarded > served || served > offered || offered == 0 {
        return Err(format!(
            "{target}: {windows} in windows, {served} served, {forwarded} of {offered} forwarded"
        ));
    }
    Ok(())
}

/// Joins a server that somebody else started.
fn running(dropline: &Path, directory: &Path) -> Done {
    let name = format!("dropline-test-{}", std::process::id());
    let words = ["-r", "-n", &name, "-d", "dummy", "-r", "48000", "-p", "512"];
    let mut server = Command::new("jackd")
        .args(words)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .map_err(|why| format!("jackd cannot be started: {why}"))?;
    let target = format!("jack:?server={name}");
    // It answers when it is up.
    let waiting = Instant::now();
    let mut done = Err("the server never answered".to_owned());
    while done.is_err() && waiting.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(200));
        done = last_trial(dropline, &["trial", &target, "--duration", "1s"], directory);
    }
    let held = done.and_then(|trial| holds(&target, &trial));
    let _ = server.kill();
    let _ = server.wait();
    held
}

/// Runs a verb and returns the last trial of its record.
fn last_trial(dropline: &Path, words: &[&str], directory: &Path) -> Result<String, String> {
    let record = directory.join("record.jsonl").to_string_lossy().into_owned();
    // A record is never written over.
    let _ = std::fs::remove_file(&record);
    let dropline = dropline.to_string_lossy();
    crate::run(&dropline, &[words, &["--quiet", "--output", &record]].concat())?;
    let text = std::fs::read_to_string(&record).map_err(|why| format!("cannot read {record}: {why}"))?;
    let mut trials = text.lines().filter(|line| line.starts_with("{\"line\":\"trial\""));
    trials.next_back().map(str::to_owned).ok_or_else(|| format!("no trial in {record}"))
}
