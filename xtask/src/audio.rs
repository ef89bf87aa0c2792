//! `jack:` targets under a real server: jackd with its dummy driver needs no sound card.

use crate::{Done, root, tested_dropline};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A short trial at each of three periods, one without a real-time policy, a search, and a server that runs already.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    let dropline = tested_dropline()?;
    let directory = root().join("target/audio");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).map_err(|why| format!("cannot create target/audio: {why}"))?;
    for target in ["jack:", "jack:?period=256", "jack:?period=1024&rate=44100", "jack:?period=64&realtime=no"]
    {
        let trial = last_trial(&dropline, &["trial", target, "--duration", "2s"], &directory)?;
        holds(target, &trial)?;
    }
    let search =
        ["search", "jack:", "--goal", "50%", "--max-trials", "3", "--max-load", "375Hz", "--budget", "20s"];
    last_trial(&dropline, &search, &directory)?;
    running(&dropline, &directory)?;
    killed(&dropline, &directory)?;
    left(&dropline, &directory)?;
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
    let server = Jackd::start("dropline-test")?;
    let target = format!("jack:?server={}", server.name);
    // It answers when it is up.
    let waiting = Instant::now();
    let mut done = Err("the server never answered".to_owned());
    while done.is_err() && waiting.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(200));
        done = last_trial(dropline, &["trial", &target, "--duration", "1s"], directory);
    }
    done.and_then(|trial| holds(&target, &trial))
}

/// jackd's registry has eight places, and a server that is killed keeps its own: a trial takes the place of one of ours.
fn killed(dropline: &Path, directory: &Path) -> Done {
    let names: Vec<String> = (0..8).map(|n| format!("dropline-killed-{n}")).collect();
    for name in &names {
        let mut server = Jackd::start(name)?;
        // Where others hold places there are fewer for these, and none is left when one of these is refused.
        if server.is_entered() {
            let _ = server.child.kill();
        }
    }
    let full = match Jackd::start("dropline-ninth")?.is_entered() {
        true => Err("jackd's registry holds more than eight servers".to_owned()),
        false => Ok(()),
    };
    let done = full
        .and_then(|()| last_trial(dropline, &["trial", "jack:", "--duration", "1s"], directory))
        .and_then(|trial| holds("jack: with a full registry", &trial));
    // One that starts under the same name takes the place, and gives it back when it is asked to end.
    for name in &names {
        Jackd::start(name)?.is_entered();
    }
    done
}

/// A run that is killed takes its jackd with it, and the next removes what is left of its shared memory; one of another
/// container, where numbers of processes are the same, keeps its own.
fn left(dropline: &Path, directory: &Path) -> Done {
    // On a busy machine the one that goes on may end before it was looked at: then it goes on for longer.
    for seconds in ["8s", "25s", "80s"] {
        if let Some(seen) = left_beside_one_of(seconds, dropline, directory)? {
            return seen;
        }
    }
    Err("jack: each run that was to be looked at had ended before".into())
}

/// `None` where the run that goes on for so long had ended when it was looked at.
fn left_beside_one_of(seconds: &str, dropline: &Path, directory: &Path) -> Result<Option<Done>, String> {
    const OF_EACH: usize = 5;
    let trial = |seconds: &str| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]).arg(dropline);
        command.args(["trial", "jack:", "--duration", seconds, "-q", "-o", "-"]).current_dir(directory);
        command.stdout(Stdio::null());
        command
    };
    let names = || -> Vec<String> {
        let all = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.contains("dropline-jack-")).collect()
    };
    let mut living = trial(seconds).spawn().map_err(|why| why.to_string())?;
    // A directory, the server's socket, and three semaphores of clients.
    let waiting = Instant::now();
    let wait_for = |count| {
        while names().len() < count && waiting.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    wait_for(OF_EACH);
    let of_living = names();
    let mut killed = trial("600s").spawn().map_err(|why| why.to_string())?;
    wait_for(2 * OF_EACH);
    killed.kill().and_then(|()| killed.wait()).map_err(|why| why.to_string())?;
    // Its parent is gone; the run is once the kernel has taken back what it held.
    let of_killed: Vec<String> = names().into_iter().filter(|name| !of_living.contains(name)).collect();
    let dying = Instant::now();
    while of_killed.iter().any(|name| is_held(name)) && dying.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let next = trial("1s").status().map_err(|why| why.to_string())?;
    let after = names();
    if living.try_wait().map_err(|why| why.to_string())?.is_some_and(|ended| ended.success()) {
        return Ok(None);
    }
    let ended = living.wait().map_err(|why| why.to_string())?;
    let rest = names();
    Ok(Some(match next.success() && ended.success() && of_living.len() == OF_EACH {
        false => Err(format!("jack: in containers: {next} and {ended}, beside {of_living:?}")),
        _ if !of_living.iter().all(|name| after.contains(name)) => {
            Err(format!("jack: of {of_living:?} only {after:?} were left"))
        }
        _ if after.len() > OF_EACH || !rest.is_empty() => Err(format!("jack: left {after:?}, then {rest:?}")),
        true => Ok(()),
    }))
}

/// Whether a run that lives holds this directory of shared memory.
fn is_held(name: &str) -> bool {
    let directory = Path::new("/dev/shm").join(name);
    directory.is_dir() && std::fs::File::open(directory).is_ok_and(|open| open.try_lock().is_err())
}

/// A server that is asked to end when it is dropped.
struct Jackd {
    child: Child,
    name: String,
}

impl Jackd {
    fn start(name: &str) -> Result<Self, String> {
        let child = Command::new("jackd")
            .args(["-r", "-n", name, "-d", "dummy", "-r", "48000", "-p", "512"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| format!("jackd cannot be started: {why}"))?;
        Ok(Self { child, name: name.to_owned() })
    }

    /// Whether it is in the registry, where its name may stand from one that was killed; `false` if it ended.
    fn is_entered(&mut self) -> bool {
        let place = [&self.child.id().to_ne_bytes()[..], b"jack-"].concat();
        while matches!(self.child.try_wait(), Ok(None)) {
            let registry = std::fs::read("/dev/shm/jack-shm-registry").unwrap_or_default();
            if registry.windows(place.len()).any(|window| window == place) {
                return true;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Jackd {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        }
        let _ = self.child.wait();
    }
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
