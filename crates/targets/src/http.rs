//! `http:` targets: a tool of the user's sends requests when they are due, and its own output says what became of each.

mod attempts;
mod stillness;
mod tool;

use super::{Kind, Opened, Opening, Scheme, Target, udp};
use attempts::{Asked, Attempt, Told};
use dropline_aggregator::address::host_and_port;
use dropline_failure::Failure;
use dropline_traffic::Quotas;
use dropline_trial::{
    Arrival, Caveat, Measurer, Rate, TrafficProfile, Trial, TrialInput, quantities, time_of,
};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tool::{Run, Tool};

/// Its row in the table of targets.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "http://",
    forms: &[(
        "http://HOST:PORT/",
        "requests to an HTTP server, sent by oha or vegeta: later than the deadline is lost (#deadline=50ms&tool=oha)",
    )],
    parse: |rest| parse(rest).map(Kind::Http),
};

/// Where nobody says how late an answer may be.
pub const DEADLINE: &str = "50ms";
/// A request is given up after so many deadlines: its connection is then closed.
const GIVES_UP_AFTER: u32 = 2;
/// Loads that a search looks at where nobody says.
const LOADS: (Rate, Rate) = (Rate::from_millipps(10_000), Rate::from_millipps(20_000_000));

/// What is asked, and how late an answer may be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Site {
    pub(super) host: String,
    pub(super) port: u16,
    /// Behind the address; with a slash.
    path: String,
    deadline: Duration,
    /// The deadline as it was written.
    written: String,
    tool: Option<&'static Tool>,
}

/// Reads `127.0.0.1:8080/a?b=c#deadline=50ms&tool=oha`: what stands behind the `#` is never sent to a server.
fn parse(rest: &str) -> Result<Site, Failure> {
    let (url, said) = rest.split_once('#').unwrap_or((rest, ""));
    let at = url.find(['/', '?']).unwrap_or(url.len());
    let (address, path) = url.split_at(at);
    let with_port = format!("{address}:80");
    let wrong = || Failure::usage(format!("http://{rest} is not an address; write http://127.0.0.1:8080/"));
    let (host, port) = host_and_port(address).or_else(|| host_and_port(&with_port)).ok_or_else(wrong)?;
    if path.chars().any(|sign| !sign.is_ascii_graphic()) {
        let why =
            format!("http://{rest}: a path has neither spaces nor signs beyond ASCII; write %20 for a space");
        return Err(Failure::usage(why));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let mut site = Site {
        host: host.into(),
        port,
        path,
        deadline: Duration::ZERO,
        written: DEADLINE.into(),
        tool: None,
    };
    for (name, value) in crate::parameters::query(said)? {
        match name {
            "deadline" => site.written = value.into(),
            "tool" => site.tool = Some(Tool::named(value)?),
            _ => return Err(crate::parameters::unknown("http://…#", name, &["deadline", "tool"])),
        }
    }
    site.deadline = crate::parameters::quantity("deadline", quantities::positive_duration(&site.written))?;
    Ok(site)
}

impl Site {
    /// Its whole word, whatever was left out of it.
    pub(super) fn word(&self) -> String {
        let tool = self.tool.map(|tool| format!("&tool={}", tool.name)).unwrap_or_default();
        format!("http://{}{}#deadline={}{tool}", self.authority(), self.path, self.written)
    }

    /// Host and port as a request names them.
    fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    pub(super) fn range() -> (Rate, Option<Rate>) {
        (LOADS.0, Some(LOADS.1))
    }

    pub(super) fn address(&self) -> Result<SocketAddr, Failure> {
        udp::resolve(&self.host, self.port, SCHEME.prefix)
    }
}

impl Target {
    /// A target's word, with what `--deadline` and `--tool` say.
    ///
    /// # Errors
    /// If the target is another one than `http://`, or says it itself.
    pub fn with_deadline(word: &str, deadline: Option<&str>, tool: Option<&str>) -> Result<String, Failure> {
        let mut word = word.to_owned();
        for (name, value) in [("deadline", deadline), ("tool", tool)] {
            let Some(value) = value else { continue };
            if !word.starts_with(SCHEME.prefix) {
                let why = format!("--{name} is for http:// targets, not for {word}");
                return Err(match name {
                    "deadline" => {
                        Failure::usage(why).advice("a goal bounds delays too: --goal 'late>50ms:0.1%'")
                    }
                    _ => Failure::usage(why),
                });
            }
            let said = word.split_once('#').map(|(_, said)| said);
            if said.is_some_and(|said| said.split('&').any(|part| part.starts_with(&format!("{name}=")))) {
                return Err(Failure::usage(format!("--{name}: the target gives {name} too; give it once")));
            }
            let joint = match said {
                None => '#',
                Some(_) => '&',
            };
            word = format!("{word}{joint}{name}={value}");
        }
        Ok(word)
    }
}

pub(super) fn open(site: &Site, profile: &TrafficProfile, opening: Opening) -> Result<Opened, Failure> {
    if profile.arrival != Arrival::constant() {
        return Err(Failure::usage("--arrival: the tools that send requests space them evenly (constant)")
            .advice("leave --arrival out, or write a program that sends as you want: exec:COMMAND"));
    }
    let address = site.address()?;
    udp::consent_of_all(address, &opening.moving.targets)?;
    let (tool, program) = Tool::found(site.tool)?;
    let deadline = time_of(site.deadline.as_nanos() as u64);
    let mut requests = Requests {
        site: site.clone(),
        address,
        tool,
        program,
        opening,
        profile: profile.clone(),
        idle: Duration::ZERO,
        is_behind: false,
        last: None,
    };
    requests.is_answered()?;
    let idle = time_of(requests.idle.as_nanos() as u64);
    Ok(Opened {
        note: Some(format!(
            "HTTP, answers in {idle}: an answer that is later than {deadline}, and none at all, counts as lost"
        )),
        generator: Some(format!("{} ({}), a new run for each trial", tool.name, tool.about)),
        reply_buffer_bytes: None,
        measurer: Box::new(requests),
    })
}

/// Has trials performed by a tool.
struct Requests {
    site: Site,
    address: SocketAddr,
    tool: &'static Tool,
    program: PathBuf,
    opening: Opening,
    profile: TrafficProfile,
    /// How long an answer takes without load.
    idle: Duration,
    /// Whether the last trial left requests behind that were not answered in time: the server may still be at them.
    is_behind: bool,
    /// The last trial.
    last: Option<udp::Lived>,
}

/// So long a server has to catch up before the next trial.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(10);

impl Requests {
    fn once(&self) -> Result<Told, Failure> {
        let asked =
            Asked { requests: 1, load: Rate::from_millipps(100_000), patience: Duration::from_secs(2) };
        self.run(asked, Duration::from_millis(5))
    }

    /// Waits until the server answers as it does without load: what it does not finish of one trial is no load of the next one.
    fn catch_up(&self) -> Result<Option<Caveat>, Failure> {
        let in_time = self.site.deadline.max(self.idle * 2);
        let begun = Instant::now();
        while begun.elapsed() < CATCHES_UP_WITHIN {
            let told = self.once()?;
            if told.stopped.is_some() {
                return Err(Failure::interrupted());
            }
            let is_in_time = |attempt: &Attempt| {
                (200..400).contains(&attempt.code) && u128::from(attempt.took_ns) <= in_time.as_nanos()
            };
            if told.attempts.first().is_some_and(is_in_time) {
                return Ok(None);
            }
        }
        let text = format!(
            "{} s after the trial before, the server did not answer a single request within {}: it was still at what that trial had \
             asked, or is slow without load. This trial says nothing of its load; search with a --max-load nearer to what it takes",
            CATCHES_UP_WITHIN.as_secs(),
            time_of(in_time.as_nanos() as u64)
        );
        Ok(Some(Caveat::Reported { code: "not_caught_up".into(), text }))
    }

    /// Whether nothing listens there any more.
    fn is_gone(&self) -> bool {
        let tried = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        tried.is_err_and(|why| why.kind() == io::ErrorKind::ConnectionRefused)
    }

    /// One request, before any load.
    fn is_answered(&mut self) -> Result<(), Failure> {
        /// A tool that gets too little of a CPU is ended before it says anything.
        const TRIES: usize = 3;
        let mut told = self.once()?;
        for _ in 1..TRIES {
            if told.says_anything() {
                break;
            }
            told = self.once()?;
        }
        let asked = format!("http://{}{}", self.site.authority(), self.site.path);
        let why = match told.attempts.first() {
            Some(Attempt { code: 200..400, took_ns, .. }) => {
                self.idle = Duration::from_nanos(*took_ns);
                return Ok(());
            }
            _ if told.stopped.is_some() => return Err(Failure::interrupted()),
            Some(Attempt { code: code @ 1.., .. }) => format!("it answers with status {code}"),
            Some(Attempt { error, .. }) if !error.is_empty() => error.clone(),
            _ if self.is_gone() => format!("connection refused: nothing listens at {}", self.address),
            _ if !told.says_anything() => {
                let what = format!(
                    "{} was to make one request of {asked}, and said nothing of it in {TRIES} tries: it may have had too little of \
                     a CPU, and the server is not known to be at fault",
                    self.tool.name
                );
                return Err(Failure::environment(what)
                    .advice("stop what else runs, or give it a larger CPU quota: dropline doctor says what disturbs here"));
            }
            _ => "the request failed, and the tool does not say why".into(),
        };
        Err(Failure::environment(format!("one request was made of {asked}, and it was not served: {why}"))
            .advice("name a server that listens, and a path that it answers with status 200: curl -i shows what it says"))
    }

    fn run(&self, asked: Asked, duration: Duration) -> Result<Told, Failure> {
        let Self { site, address, tool, program, opening, .. } = self;
        let url = format!("http://{address}{}", site.path);
        let run = Run { program, url: &url, host: &site.authority(), duration, asked };
        let before = Quotas::of_this_process();
        let told = tool.attempts(&run, opening)?;
        Ok(Told { throttled: Quotas::of_this_process().throttled_since(&before), ..told })
    }
}

impl Measurer for Requests {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        let begun = Instant::now();
        if let Some(last) = self.last.as_ref().filter(|last| last.has_died() && self.is_gone()) {
            return Err(udp::died(&format!("nothing listens at {}", self.address), last));
        }
        let behind = if self.is_behind { self.catch_up()? } else { None };
        let number = self.opening.first_trial;
        let requests =
            (u128::from(input.load.as_millipps()) * input.duration.as_nanos() / 1_000_000_000_000) as u64;
        let patience = self.site.deadline.saturating_mul(GIVES_UP_AFTER);
        let asked = Asked { requests, load: input.load, patience };
        let told = if requests > 0 { self.run(asked, input.duration)? } else { Told::default() };
        let mut trial = Trial::new(number, input, self.profile.trial_seed(number));
        if let Some(lasted) = told.stopped {
            if told.requests == 0 {
                return Err(Failure::interrupted());
            }
            trial.duration = lasted;
            trial.caveats.push(Caveat::Interrupted);
        }
        trial.caveats.extend(behind);
        let asked = Asked { requests: told.requests, ..asked };
        let silent = attempts::count(&mut trial, &told, asked, self.site.deadline, self.opening.slices);
        self.is_behind = trial.forwarded < trial.offered;
        if silent > 0 && told.stopped.is_none() && self.is_gone() {
            let (error, at_ns) = ("ECONNREFUSED".into(), told.last_answer_ns());
            trial.caveats.push(Caveat::TargetUnreachable { error, at_ns, refused: 0, reports: silent });
        }
        self.last = Some(udp::Lived::of(&trial));
        trial.elapsed = begun.elapsed().max(trial.duration);
        self.opening.first_trial += 1;
        Ok(trial)
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_target_always_says_the_deadline_and_nothing_of_it_is_sent() {
        let site = parse("127.0.0.1:8080").unwrap();
        assert_eq!(site.word(), "http://127.0.0.1:8080/#deadline=50ms");
        let site = parse("localhost/a?b=c&d=1#deadline=20ms&tool=oha").unwrap();
        assert_eq!(
            (site.port, site.path.as_str(), site.deadline),
            (80, "/a?b=c&d=1", Duration::from_millis(20))
        );
        assert_eq!(site.word(), "http://localhost:80/a?b=c&d=1#deadline=20ms&tool=oha");
        assert_eq!(parse("[::1]:81?q").unwrap().word(), "http://[::1]:81/?q#deadline=50ms");
        for (wrong, said) in [
            ("", "not an address"),
            ("h:1/a b", "%20"),
            ("h:1/\n", "%20"),
            ("h:1#deadline=5", "deadline in the target"),
            ("h:1#deadline=0s", "deadline in the target"),
            ("h:1#tool=wrk", "closed loop"),
            ("h:1#tools=oha", "did you mean \"tool\"?"),
        ] {
            let why = parse(wrong).unwrap_err();
            assert!(why.exit_code() == 2 && why.to_string().contains(said), "{wrong}: {why}");
        }
    }

    #[test]
    fn flags_are_added_to_the_word_and_said_once() {
        let word = |word| Target::with_deadline(word, Some("20ms"), Some("oha"));
        assert_eq!(word("http://h:1").unwrap(), "http://h:1#deadline=20ms&tool=oha");
        assert!(word("http://h:1#tool=oha").unwrap_err().to_string().contains("give it once"));
        assert!(word("udp://h:1").unwrap_err().to_string().contains("late>50ms:0.1%"));
    }
}
