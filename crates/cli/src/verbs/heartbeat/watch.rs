//! `dropline heartbeat watch`.

use super::report::Clock;
use super::variables;
use crate::signals::{INTERRUPTED, stop_on_signals};
use crate::verbs::{DONE, FAILED};
use crate::{output as out, plan};
use clap::Args;
use console::Term;
use dropline_aggregator::age::{short, span};
use dropline_aggregator::client::{AskError, allowed, ask};
use dropline_aggregator::metrics;
use dropline_aggregator::watch::{AlarmCommand, Event, Monitor, PAGE, Watch, WatchState};
use dropline_archive::clock;
use dropline_failure::Failure;
use dropline_http::{Answers, Content, Gate, Http, Request, RunningHttp};
use dropline_trial::number_of;
use dropline_trial::quantities;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Watch an aggregator: show which variables are alive, and report those that fall silent.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline heartbeat serve &
  dropline heartbeat watch 127.0.0.1:9060
  dropline heartbeat watch 127.0.0.1:9060 \\
      --page 127.0.0.1:9061
  dropline heartbeat watch 127.0.0.1:9060 --until-alarm \\
      --variables 0-7 --silent-after 5s
  dropline heartbeat watch 127.0.0.1:9060 \\
      --on-alarm 'logger -t heartbeat {kind} {variable}'

Exit code 1 says that there was an alarm: a variable was silent, or the aggregator was silent or restarted. Without an alarm, 130 says that a signal (Ctrl-C) ended it, and 4 that no report ever came.

In --on-alarm, {kind} becomes silent, no_report or restarted, {variable} a number or nothing, and {text} a sentence. \
With --page it serves / and /state.json for people and /metrics as OpenMetrics text.

Nothing is asked of a host that did not consent: run this on the host of the aggregator.")]
pub(crate) struct HeartbeatWatchArgs {
    /// Address of the aggregator, HOST:PORT.
    target: String,
    /// Time between two reports.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    every: String,
    /// Time without a heartbeat after which a variable is silent.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    silent_after: String,
    /// Variables that must be alive, such as 0-7 [default: all that are set].
    #[arg(long, value_name = "LIST")]
    variables: Option<String>,
    /// Whose clock the aggregator uses [default: shared if it runs on this machine].
    #[arg(long, value_name = "WHICH")]
    clock: Option<Clock>,
    /// Show a web page at this loopback address; port 0 takes any free port.
    #[arg(long, value_name = "ADDR:PORT")]
    page: Option<SocketAddr>,
    /// Run this command for every alarm, without a shell.
    #[arg(long, value_name = "COMMAND")]
    on_alarm: Option<String>,
    /// Stop at the first alarm.
    #[arg(long)]
    until_alarm: bool,
    /// How long to watch [default: until Ctrl-C].
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// Print one JSON object at the end instead of the table.
    #[arg(long)]
    json: bool,
}

/// Longest time between reports: stamps of two reports can be put in order for half a lap.
const RAREST: Duration = Duration::from_secs(9 * 3600 + 6 * 60);

pub(crate) fn run(args: &HeartbeatWatchArgs) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let target = allowed(&args.target)?;
    let every = plan::read("--every", quantities::positive_duration(&args.every))?;
    if every > RAREST || every < Duration::from_millis(10) {
        return Err(Failure::usage("--every is between 10ms and 546min: stamps wrap around every 18 h"));
    }
    let watch = Watch {
        silent_after: plan::read("--silent-after", quantities::positive_duration(&args.silent_after))?,
        expected: args.variables.as_deref().map(variables).transpose()?,
        clock_shared: Clock::is_shared(args.clock, target),
    };
    let duration =
        args.duration.as_deref().map(|word| plan::read("--duration", quantities::positive_duration(word)));
    let duration = duration.transpose()?;
    let mut command = args.on_alarm.as_deref().map(AlarmCommand::parse).transpose()?;
    let shown = Shown::new(target, Monitor::new(watch));
    let _page = args.page.map(|listen| shown.serve(listen)).transpose()?;

    let term = Term::stdout();
    let redraws = term.is_term() && !args.json;
    let mut drawn = 0;
    let begun = Instant::now();
    let mut turn = 0u32;
    let mut unheard = None;
    while !stop.load(Ordering::Relaxed) {
        let (events, failure) = shown.learn(target, every);
        unheard = failure;
        if redraws {
            let lines = table(&shown.state(), term.size().0.into());
            let _ = term.clear_last_lines(drawn);
            drawn = lines.len();
            out::print(&lines.join("\n"))?;
        } else if !args.json {
            for event in &events {
                out::print(&format!("{}  {:<9} {}", clock::now_utc(), event.kind.name(), event.text))?;
            }
        }
        let alarms = events.iter().filter(|event| event.kind.is_alarm());
        if let Some(command) = &mut command {
            alarms.clone().for_each(|event| command.start(event));
        }
        if args.until_alarm && alarms.count() > 0 {
            break;
        }
        // From the number of the turn, so that turns do not drift; what was missed is left out.
        turn = turn.max((begun.elapsed().as_nanos() / every.as_nanos()) as u32) + 1;
        let until = duration.map_or(every * turn, |duration| duration.min(every * turn));
        while !stop.load(Ordering::Relaxed) && begun.elapsed() < until {
            std::thread::sleep((until.saturating_sub(begun.elapsed())).min(Duration::from_millis(50)));
        }
        if duration.is_some_and(|duration| begun.elapsed() >= duration) {
            break;
        }
    }
    let state = shown.state();
    if let Some(counts) = command.map(AlarmCommand::finish)
        && counts.failed + counts.not_started > 0
    {
        note!(
            "--on-alarm: {} of {} commands failed, {} were not started",
            counts.failed,
            counts.started,
            counts.not_started
        );
    }
    if args.json {
        out::print_json(&state)?;
    } else {
        out::print(&summary(&state))?;
    }
    match unheard.filter(|_| state.reports == 0) {
        _ if state.alarms > 0 => Ok(FAILED),
        _ if stop.load(Ordering::Relaxed) => Ok(INTERRUPTED),
        // Nothing is known of any variable: that is no calm.
        Some(why) => Err(why.into()),
        None => Ok(DONE),
    }
}

/// What the loop and the page both look at.
#[derive(Clone)]
struct Shown {
    target: String,
    monitor: Arc<Mutex<Monitor>>,
    begun: Instant,
}

impl Shown {
    fn new(target: SocketAddr, monitor: Monitor) -> Self {
        Self { target: target.to_string(), monitor: Arc::new(Mutex::new(monitor)), begun: Instant::now() }
    }

    /// Asks once; says what happened, and why there was no report.
    fn learn(&self, target: SocketAddr, every: Duration) -> (Vec<Event>, Option<AskError>) {
        // All three requests of a turn together take no longer than the turn.
        let answer = ask(target, (every / 4).clamp(Duration::from_millis(5), Duration::from_secs(1)));
        let mut monitor = self.monitor.lock().unwrap_or_else(PoisonError::into_inner);
        match &answer {
            Ok(answer) => monitor.pass_over(answer.junk, None),
            Err(AskError::NoReport { why, junk, .. }) => monitor.pass_over(*junk, Some(*why)),
            Err(_) => {}
        }
        let events = monitor.learn(answer.as_ref().ok(), self.begun.elapsed(), unix_s());
        (events, answer.err())
    }

    fn state(&self) -> WatchState {
        let monitor = self.monitor.lock().unwrap_or_else(PoisonError::into_inner);
        WatchState::new(&self.target, &monitor, self.begun.elapsed(), unix_s())
    }

    fn serve(&self, listen: SocketAddr) -> Result<RunningHttp, Failure> {
        let shown = self.clone();
        let answers: Arc<Answers> = Arc::new(move |request: &Request| match request.path.as_str() {
            "/" => Some(Content::page(PAGE)),
            "/state.json" => {
                let state = serde_json::to_string(&shown.state()).expect("a state is JSON");
                Some(Content::of("application/json", state))
            }
            "/metrics" => Some(Content::of(metrics::CONTENT_TYPE, shown.state().metrics())),
            _ => None,
        });
        let page = Http::start(listen, Gate::Machine, answers)?;
        note!("page at {}", page.url());
        Ok(page)
    }
}

fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The live table: variables that are set or missed, in as many columns as fit.
fn table(state: &WatchState, width: usize) -> Vec<String> {
    const CELL: usize = 38;
    let mut lines = vec![headline(state)];
    let shown: Vec<String> = state
        .variables
        .iter()
        .filter(|variable| variable.state != "unset")
        .map(|variable| {
            let sign = if variable.state == "silent" { "!" } else { " " };
            let value = variable.value.map_or_else(|| "-".into(), |value| value.to_string());
            let age = short(&variable.age);
            format!("{sign}{:>3} {value:>4}  {age:<14.14} {}", variable.variable, bars(&variable.history))
        })
        .collect();
    let columns = (width / CELL).max(1);
    let rows = shown.len().div_ceil(columns);
    for row in 0..rows {
        let cells = (0..columns).filter_map(|column| shown.get(column * rows + row));
        let line: String = cells.map(|cell| format!("{cell:<CELL$}")).collect();
        lines.push(line.trim_end().to_owned());
    }
    let newest: Vec<&Event> = state.events.iter().rev().take(3).collect();
    lines.extend(newest.iter().rev().map(|event| format!("  {} s  {}", event.at_s as u64, event.text)));
    lines
}

/// The last eight values that were seen.
fn bars(history: &[(f64, u8)]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let from = history.len().saturating_sub(8);
    history[from..].iter().map(|(_, value)| BARS[usize::from(value / 32)]).collect()
}

fn headline(state: &WatchState) -> String {
    let set = state.variables.iter().filter(|variable| variable.from.is_some()).count();
    let silent: Vec<String> = state
        .variables
        .iter()
        .filter(|variable| variable.state == "silent")
        .map(|variable| variable.variable.to_string())
        .collect();
    let how = match (state.aggregator_silent || state.reports == 0, silent.is_empty()) {
        (true, _) => "no report comes from the aggregator".to_owned(),
        (false, true) => format!("{set} of 64 variables are set, none is silent"),
        (false, false) => format!("silent: {}", silent.join(", ")),
    };
    format!("{}  {how}", state.target)
}

fn summary(state: &WatchState) -> String {
    let mut lines = vec![
        headline(state),
        format!(
            "watched    {}, {}, {} unanswered, {} outdated",
            span(state.watched_s.round() as u64),
            number_of(state.reports, "report"),
            number_of(state.unanswered, "request"),
            number_of(state.outdated, "report")
        ),
        format!("alarms     {}, restarts {}", state.alarms, state.restarts),
    ];
    lines.extend(state.caveats.iter().map(|doubt| format!("! {}", doubt.text)));
    lines.join("\n")
}
