//! A real system, started afresh for each search.

use super::observed::Observed;
use dropline_archive::record_file::Output;
use dropline_failure::Failure;
use dropline_lab::{Bottleneck, Bridged, LabError, Namespace, Start, StartedTarget};
use dropline_search::{Limits, Preset};
use dropline_targets::Target;
use dropline_traffic::{Means, Moving, SendMeans};
use dropline_trial::{LoadRange, Rate, TrafficProfile};
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::search;
use dropline_verbs::search::Conditions;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a service may take to start, or a trial to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a search may begin, and how far apart, until the target answers.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(300);
/// What the bucket lets pass: 8 Mbit/s, and at once what it holds and what may wait.
const BUCKET: Bottleneck<'_> = Bottleneck { rate: "8mbit", burst_bytes: 15_000, limit_bytes: 3_000 };
const BUCKET_BYTES_A_SECOND: f64 = 1e6;
/// A payload of 64 B with the headers of UDP, IPv4 and Ethernet.
const PACKET_BYTES: f64 = 106.0;

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scene {
    /// A token bucket at a bridge.
    Bucket,
    /// A service that sleeps for each packet, as long as the system lets it.
    Scattered,
    /// An echo service and a program that never rests, on one CPU.
    Neighbour,
}

/// A system that answers; dropping it ends it.
pub(super) struct Ready {
    scene: Scene,
    address: SocketAddr,
    /// Held for their ends: programs before the namespaces that they run in.
    _programs: Vec<StartedTarget>,
    lab: Option<Bridged>,
}

impl Scene {
    pub(super) const ALL: [Self; 3] = [Self::Bucket, Self::Scattered, Self::Neighbour];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bucket => "token bucket",
            Self::Scattered => "scattered service",
            Self::Neighbour => "busy neighbour",
        }
    }

    /// What it is, in a line.
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Bucket => "bridge with tbf rate 8mbit burst 15000 limit 3000, 106 B a packet",
            Self::Scattered => "dropline serve --service-time 150us --sleep --queue 64",
            Self::Neighbour => "dropline serve --buffer 32KiB, a program that never rests on the same CPU",
        }
    }

    /// The load up to which no more than a share is lost in a second, where arithmetic tells.
    pub(super) fn truth_pps(self, loss_ratio: f64) -> Option<f64> {
        let at_once = f64::from(BUCKET.burst_bytes + BUCKET.limit_bytes);
        let passes = (BUCKET_BYTES_A_SECOND + at_once) / PACKET_BYTES;
        (self == Self::Bucket).then(|| passes / (1.0 - loss_ratio))
    }

    pub(super) fn needs_reference(self) -> bool {
        self.truth_pps(0.0).is_none()
    }

    /// Loads that are tried: few packets, for both ends share this machine.
    fn range(self) -> LoadRange {
        let rate = |pps: u64| Rate::from_millipps(pps * 1000);
        let most = if self == Self::Neighbour { 60_000 } else { 30_000 };
        LoadRange::new(rate(500), rate(most)).expect("in order")
    }

    /// Before a bucket packets leave one by one: of a train only what may wait would pass, full as the bucket is.
    fn moving(self) -> Moving {
        let send = if self == Self::Bucket { SendMeans::Sendmmsg } else { SendMeans::Auto };
        Moving { means: Means { send, ..Means::default() }, ..Moving::default() }
    }

    /// Starts it. A neighbour rests by itself when this program was killed, some searches of `budget` later.
    ///
    /// # Errors
    /// If the namespaces cannot be built or a program does not start.
    pub(super) fn start(self, budget: Duration) -> Result<Ready, Failure> {
        let ready = |address, programs, lab| Ready { scene: self, address, _programs: programs, lab };
        match self {
            Self::Bucket => {
                let lab = Bridged::new().map_err(|why| failure(&why))?;
                lab.shape(&BUCKET).map_err(|why| failure(&why))?;
                let listen = SocketAddr::from((lab.target_address, 7007));
                let (server, address) = serve(listen, &[], None, Some(&lab.target))?;
                Ok(ready(address, vec![server], Some(lab)))
            }
            Self::Scattered => {
                let words = ["--service-time", "150us", "--sleep", "--queue", "64"];
                let (server, address) = serve(SocketAddr::from(([127, 0, 0, 1], 0)), &words, None, None)?;
                Ok(ready(address, vec![server], None))
            }
            Self::Neighbour => {
                let cpus = std::thread::available_parallelism().map_or(1, usize::from);
                let cpu = u32::try_from(cpus - 1).unwrap_or(0);
                let words = ["--buffer", "32KiB"];
                let (server, address) =
                    serve(SocketAddr::from(([127, 0, 0, 1], 0)), &words, Some(cpu), None)?;
                let seconds = (budget * 8).as_secs() + 1;
                let busy = format!("ulimit -t {seconds}; while :; do :; done");
                let neighbour = Start { cpus: vec![cpu], ..Start::new(["sh", "-c", &busy]) };
                let neighbour = neighbour.start(None).map_err(|why| failure(&why))?;
                Ok(ready(address, vec![neighbour, server], None))
            }
        }
    }
}

impl Ready {
    /// Searches it with no other seed than the run's number.
    ///
    /// # Errors
    /// If a trial could not be performed, or the user wants to stop.
    pub(super) fn search(
        &self,
        run: u32,
        budget: Duration,
        stop: &Arc<AtomicBool>,
    ) -> Result<Observed, Failure> {
        let target = Target::parse(&format!("udp://{}", self.address))?;
        let plan = SearchPlan {
            profile: TrafficProfile { seed: u64::from(run) + 1, ..TrafficProfile::default() },
            limits: Limits { budget: Some(budget), max_trials: None },
            ..SearchPlan::of(
                target,
                AlgorithmPlan::parse("credible")?,
                Preset::Csit.goals(),
                self.scene.range(),
            )
        };
        let conditions = Conditions {
            command_line: vec!["dropline".into(), "experiment".into(), "search-real".into()],
            stop: Arc::clone(stop),
            patience: PATIENCE,
            moving: self.scene.moving(),
            ..Conditions::default()
        };
        let search = || {
            // A bridge that was just built may not pass the first packets on: nothing was measured then.
            for _ in 1..TRIES {
                match search::search(&plan, &Output::Nowhere, &conditions, &mut Unwatched) {
                    Err(_) if !stop.load(Ordering::Relaxed) => std::thread::sleep(PAUSE),
                    begun => return begun,
                }
            }
            search::search(&plan, &Output::Nowhere, &conditions, &mut Unwatched)
        };
        let finished = match &self.lab {
            Some(lab) => lab.client.run(search).map_err(|why| failure(&why))?,
            None => search(),
        }?;
        match finished.failure {
            Some(why) => Err(why),
            None => Observed::of(self.scene.name(), run, &finished.record)
                .ok_or_else(|| Failure::environment("a search ended without a result")),
        }
    }
}

/// `dropline serve` as a process of its own, and where it listens.
fn serve(
    listen: SocketAddr,
    words: &[&str],
    cpu: Option<u32>,
    inside: Option<&Namespace>,
) -> Result<(StartedTarget, SocketAddr), Failure> {
    let program = std::env::current_exe()
        .map_err(|why| Failure::environment(format!("the file of this program cannot be found: {why}")))?;
    let listen = listen.to_string();
    let mut all = vec!["serve", "--listen", &listen, "--until-eof", "--json"];
    all.extend(words);
    let mut start = Start::new([program.to_string_lossy().into_owned()]);
    start.words.extend(all.into_iter().map(String::from));
    start.cpus.extend(cpu);
    let started = start.start(inside).map_err(|why| failure(&why))?;
    let address = started
        .wait_for(PATIENCE, |line| line.trim().strip_prefix("listening udp ")?.parse().ok())
        .map_err(|why| failure(&why))?;
    Ok((started, address))
}

fn failure(why: &LabError) -> Failure {
    let failure = Failure::environment(why);
    match why {
        LabError::Permission(_) => {
            failure.advice("run it as root; it makes namespaces of its own and removes them")
        }
        LabError::Missing { package, .. } => failure.advice(format!("apt-get install {package}")),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_lets_pass_what_it_holds_what_may_wait_and_its_rate() {
        assert_eq!(Scene::Bucket.truth_pps(0.0).map(f64::round), Some(9604.0));
        assert_eq!(Scene::Bucket.truth_pps(0.005).map(f64::round), Some(9652.0));
        assert_eq!(Scene::Neighbour.truth_pps(0.0), None);
    }
}
