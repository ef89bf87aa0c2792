//! The answer: the two tables of the weblog of 2012, a row's reason, the models beside what was lost.

use super::observed::Observed;
use super::row::{Layout, Row, Senders};
use dropline_record::{CaveatLine, Chart, Study, Table};
use dropline_stats::sample;

/// What the seed counted with 128 "Poisson" clients: packets sent.
const SEED_POISSON: [u64; 5] = [348_620, 439_038, 375_482, 382_650, 396_886];
/// What it counted with 64 "constant" clients.
const SEED_CONSTANT: [u64; 5] = [636_002, 621_036, 631_890, 631_051, 613_912];
/// Loss below this is too small for a relative error to mean something.
const JUDGED_ABOVE: f64 = 0.01;

/// All that was seen, in tables and charts.
pub(super) fn study(rows: &[Row], seen: &[Observed], mut caveats: Vec<CaveatLine>) -> Study {
    let groups: Vec<(Row, Vec<&Observed>)> = rows
        .iter()
        .map(|row| (*row, seen.iter().filter(|seen| seen.row == row.key()).collect::<Vec<_>>()))
        .filter(|(_, runs)| !runs.is_empty())
        .collect();
    for (row, runs) in &groups {
        let unexplained: u64 = runs.iter().map(|run| run.lost().abs_diff(run.dropped)).sum();
        if unexplained > 0 {
            caveats.push(CaveatLine::said(
                "unexplained",
                format!("{}: {unexplained} packets lost elsewhere than at the server's socket", row.key()),
            ));
        }
    }
    let mut tables: Vec<Table> =
        groups.iter().filter(|(row, _)| row.is_published()).map(|(row, runs)| seeds(row, runs)).collect();
    tables.extend([reasons(&groups), models(&groups), errors(&groups)]);
    Study {
        name: "poisson-loss".into(),
        title: title(&groups),
        paragraphs: paragraphs(),
        tables,
        charts: charts(&groups),
        caveats,
    }
}

fn title(groups: &[(Row, Vec<&Observed>)]) -> String {
    let find = |wanted: fn(&Senders) -> bool| {
        groups.iter().find(|(row, _)| row.is_published() && wanted(&row.senders)).map(|(_, runs)| runs)
    };
    let ticks = find(|senders| matches!(senders, Senders::Ticks { .. }));
    let yields = find(|senders| matches!(senders, Senders::Yield(_)));
    match (yields, ticks) {
        (Some(yields), Some(ticks)) => format!(
            "128 clients that one tick wakes lose {} at {:.0} packets a second; 64 that take turns lose {} at {:.0}: \
             it is the bursts, not the rate",
            percent(mean(ticks, Observed::loss_ratio)),
            mean(ticks, Observed::rate_pps),
            percent(mean(yields, Observed::loss_ratio)),
            mean(yields, Observed::rate_pps)
        ),
        _ => "Loss follows the largest backlog, not the rate".into(),
    }
}

fn paragraphs() -> Vec<String> {
    let mean = |packets: &[u64]| packets.iter().sum::<u64>() as f64 / packets.len() as f64;
    let (poisson, constant) = (mean(&SEED_POISSON), mean(&SEED_CONSTANT));
    // 128 clients, one packet each two ticks of 10 ms, for a minute.
    let of_ticks = 128.0 * 60.0 / 0.02;
    vec![
        "A weblog of August 2012 counts 64 clients that send and sleep(0): no loss; and 128 that sleep for an \
         exponential time of 0.2 ms: half the packets, and some of them lost, every time. Here the server takes 40 us \
         a packet and its own overhead; it reads from a socket that holds K packets of 16 B. Clients are processes. \
         Each run is a fresh server; times of departure are the clients', times of reading the server's, one clock."
            .into(),
        format!(
            "Its own numbers: its constant runs average {constant:.0} packets. At its \"about 10 000 a second\" that \
             is {:.1} s a run, which is an assumption, for the weblog does not say how long a run was. Its Poisson \
             runs average {poisson:.0}. 128 clients that each send one packet in two ticks of 10 ms (a sleep below a \
             tick is rounded up, and the tick that has begun does not count) send {of_ticks:.0} in 60 s: {:+.1} % off \
             what it counted. So each client sent a packet every {:.1} ms, not every 0.2 ms, all at the same ticks.",
            constant / 10_000.0,
            (of_ticks / poisson - 1.0) * 100.0,
            128.0 * 60.0 / poisson * 1000.0
        ),
        "What cannot be known is its K, its service time and which CPUs it had, so not why it lost 0.014 % and not \
         20 %: two groups of ticks of about K clients would do, or a network card's ring. On today's kernel a sleep \
         of 0.2 ms takes 0.26 ms: the same line offers ten times the load, and loses what the server cannot take."
            .into(),
    ]
}

/// The seed's form: a row a run.
fn seeds(row: &Row, runs: &[&Observed]) -> Table {
    let (name, then) = match row.senders {
        Senders::Yield(_) => ("64 \"constant\" clients", &SEED_CONSTANT),
        _ => ("128 \"Poisson\" clients, woken every 20 ms as by two ticks of 10", &SEED_POISSON),
    };
    let lost_then: [u64; 5] = if then == &SEED_POISSON { [65, 50, 46, 50, 58] } else { [0; 5] };
    let mut rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| [run.offered, run.received, run.lost()].iter().map(u64::to_string).collect())
        .collect();
    rows.extend(
        then.iter()
            .zip(lost_then)
            .map(|(sent, lost)| vec![format!("2012: {sent}"), (sent - lost).to_string(), lost.to_string()]),
    );
    Table {
        title: format!("{name}: {}", row.label()),
        note: format!(
            "A row a run of {} s here; the weblog's runs are about a minute (see above).",
            row.seconds
        ),
        columns: ["packets sent", "packets received", "packets dropped"].map(String::from).to_vec(),
        rows,
    }
}

/// Why each row lost what it lost.
fn reasons(groups: &[(Row, Vec<&Observed>)]) -> Table {
    let rows = groups.iter().map(|(row, runs)| {
        let index = |at: usize| mean(runs, |run| run.dispersion[at].unwrap_or(f64::NAN));
        let backlog = runs.iter().map(|run| run.largest_backlog).max().unwrap_or(0);
        vec![
            row.label(),
            format!("{:.0}", mean(runs, Observed::rate_pps)),
            format!("{:.2}", mean(runs, Observed::rho)),
            [0, 1, 2].map(|at| short(index(at))).join(" / "),
            backlog.to_string(),
            range(runs, Observed::loss_ratio),
            reason(row, runs, backlog),
        ]
    });
    Table {
        title: "What arrived, and why it was lost".into(),
        note: "rho: packets a second times service time. IDC: index of dispersion for counts at 1, 10 and 100 ms, 1 for \
               Poisson. Backlog: the most that would have waited had there been room. Loss: lowest to highest run; \
               in each run what was lost is what the socket says it dropped, or a caveat says so. A run sends for 2 s where no \
               length is named."
            .into(),
        columns: ["row", "offered/s", "rho", "IDC 1 / 10 / 100 ms", "backlog", "lost", "why"].map(String::from).to_vec(),
        rows: rows.collect(),
    }
}

fn reason(row: &Row, runs: &[&Observed], backlog: u64) -> String {
    let (loss, rho) = (mean(runs, Observed::loss_ratio), mean(runs, Observed::rho));
    let room = u64::from(row.room);
    let stalled = mean(runs, |run| run.stalled_ns as f64 / run.span_ns.max(1) as f64);
    if loss == 0.0 {
        return match row.senders {
            Senders::Yield(clients) if row.layout == Layout::One && u64::from(clients) <= room => {
                format!("at most one packet a client can wait: {clients}, and K is {room}")
            }
            _ => format!("never more than {backlog} waited, and K is {room}"),
        };
    }
    if rho > 1.0 {
        return format!(
            "overload: more is offered than a server can take, at least {} must go (1 − 1/rho)",
            percent(1.0 - 1.0 / rho)
        );
    }
    match row.senders {
        Senders::Ticks { clients, groups, .. } if u64::from(clients / groups) > room * 3 / 4 => format!(
            "bursts of {} at a tick, and K is {room}, three quarters of it while draining",
            clients / groups
        ),
        _ if stalled > 0.05 => format!(
            "the server had work and no CPU for {} of the time: {backlog} waited, and K is {room}",
            percent(stalled)
        ),
        _ => format!("up to {backlog} would have waited, and K is {room}"),
    }
}

/// Each model beside what was lost.
fn models(groups: &[(Row, Vec<&Observed>)]) -> Table {
    let rows = groups.iter().map(|(row, runs)| {
        let ratio =
            |of: fn(&Observed) -> u64| percent(mean(runs, |run| of(run) as f64 / run.offered.max(1) as f64));
        vec![
            row.label(),
            percent(mean(runs, Observed::loss_ratio)),
            percent(mean(runs, |run| run.predicted.md1k.unwrap_or(f64::NAN))),
            ratio(|run| run.predicted.plain),
            ratio(|run| run.predicted.lumps),
            ratio(|run| run.predicted.stalls),
            format!("{:.1} us", mean(runs, |run| run.service_ns as f64 / 1e3)),
            format!("{:.0} us", mean(runs, |run| run.wake_ns as f64 / 1e3)),
        ]
    });
    Table {
        title: "What models predict".into(),
        note: "M/D/1/K: probability at this mean rate. G/D/1/K: this run's arrivals replayed with the measured service and \
               wake-up time. Lumps: the same with the kernel's rule that room comes back in quarters of the buffer. \
               Stalls: the same with each packet's service time, and the times when the server had work and no CPU, from \
               its own times."
            .into(),
        columns: ["row", "lost", "M/D/1/K", "G/D/1/K", "lumps", "stalls", "service", "wake-up"].map(String::from).to_vec(),
        rows: rows.collect(),
    }
}

/// How far the models are off, where there is something to be off from.
fn errors(groups: &[(Row, Vec<&Observed>)]) -> Table {
    type Model = (&'static str, fn(&Observed) -> Option<f64>);
    let models: [Model; 4] = [
        ("M/D/1/K", |run| Some(run.predicted.md1k? * run.offered as f64)),
        ("G/D/1/K", |run| Some(run.predicted.plain as f64)),
        ("lumps", |run| Some(run.predicted.lumps as f64)),
        ("stalls", |run| Some(run.predicted.stalls as f64)),
    ];
    let mut rows = Vec::new();
    for (name, layout) in [("one CPU", Layout::One), ("two CPUs", Layout::Two)] {
        let judged: Vec<&Observed> = groups
            .iter()
            .filter(|(row, _)| row.layout == layout)
            .flat_map(|(_, runs)| runs.iter().copied())
            .filter(|run| run.loss_ratio() > JUDGED_ABOVE)
            .collect();
        if judged.is_empty() {
            continue;
        }
        for (model, predicted) in models {
            let errors: Vec<f64> = judged
                .iter()
                .filter_map(|run| Some((predicted(run)? / run.lost() as f64 - 1.0).abs()))
                .collect();
            let worst = errors.iter().copied().fold(f64::NAN, f64::max);
            let middle = sample::quantile(&errors, 0.5).unwrap_or(f64::NAN);
            rows.push(vec![
                format!("{name}, {model}"),
                errors.len().to_string(),
                percent(middle),
                percent(worst),
            ]);
        }
    }
    Table {
        title: "How far the predictions are off".into(),
        note: "Relative error of the predicted loss, of each run that lost more than 1 %. The last model knows when the \
               server ran and how long each packet took it, not what it read. What it lacks on two CPUs: a client's \
               stamp is taken before its system call, a microsecond or two before the packet is at the socket; with \
               room that comes back a quarter at a time, these decide over K/4 packets."
            .into(),
        columns: ["model", "runs", "median error", "largest error"].map(String::from).to_vec(),
        rows,
    }
}

fn charts(groups: &[(Row, Vec<&Observed>)]) -> Vec<Chart> {
    let mut charts = Vec::new();
    let drawn = |row: &Row| {
        row.is_published() || matches!((row.senders, row.layout), (Senders::Poisson(6_400), Layout::One))
    };
    for (row, runs) in groups.iter().filter(|(row, _)| drawn(row)) {
        let Some(run) = runs.first() else { continue };
        let bars = |of: fn(&super::observed::Moment) -> u64| {
            run.moments
                .iter()
                .enumerate()
                .map(|(at, moment)| [at as f64, at as f64 + 1.0, of(moment) as f64])
                .collect()
        };
        let chart = |title: String, y: &str, bars, line| Chart {
            title,
            y: y.into(),
            x: "time, ms".into(),
            bars,
            line,
            series: Vec::new(),
        };
        charts.push(chart(
            format!("Arrivals: {}", row.senders),
            "packets a millisecond",
            bars(|moment| moment.arrived),
            None,
        ));
        charts.push(chart(
            format!("Backlog against K = {}: {}", row.room, row.senders),
            "packets that wait",
            bars(|moment| moment.backlog),
            Some(f64::from(row.room)),
        ));
        if run.moments.iter().any(|moment| moment.lost > 0) {
            charts.push(chart(
                format!("Drops: {}", row.senders),
                "packets lost a millisecond",
                bars(|moment| moment.lost),
                None,
            ));
        }
    }
    for layout in [Layout::One, Layout::Two] {
        let senders = Senders::Ticks { clients: 128, period_ms: 20, groups: 1 };
        let mut over: Vec<[f64; 3]> = groups
            .iter()
            .filter(|(row, _)| row.senders == senders && row.layout == layout)
            .map(|(row, runs)| {
                let room = f64::from(row.room);
                [room - 8.0, room + 8.0, 100.0 * mean(runs, Observed::loss_ratio)]
            })
            .collect();
        over.sort_by(|a, b| a[0].total_cmp(&b[0]));
        over.dedup_by(|a, b| a[0] == b[0]);
        if over.len() > 1 {
            let name = if layout == Layout::One { "one CPU" } else { "two CPUs" };
            charts.push(Chart {
                title: format!("Loss against K, {name}: {senders}"),
                x: "K, packets".into(),
                y: "lost, %".into(),
                bars: over,
                line: None,
                series: Vec::new(),
            });
        }
    }
    charts
}

fn mean(runs: &[&Observed], of: impl Fn(&Observed) -> f64) -> f64 {
    runs.iter().map(|run| of(run)).sum::<f64>() / runs.len() as f64
}

/// From the lowest run to the highest.
fn range(runs: &[&Observed], of: impl Fn(&Observed) -> f64) -> String {
    let values: Vec<f64> = runs.iter().map(|run| of(run)).collect();
    let (low, high) =
        (values.iter().copied().fold(f64::NAN, f64::min), values.iter().copied().fold(f64::NAN, f64::max));
    if percent(low) == percent(high) { percent(low) } else { format!("{}–{}", percent(low), percent(high)) }
}

fn percent(ratio: f64) -> String {
    match ratio * 100.0 {
        _ if ratio.is_nan() => "–".into(),
        0.0 => "0 %".into(),
        value if value.abs() < 0.001 => "<0.001 %".into(),
        value if value.abs() < 1.0 => format!("{value:.3} %"),
        value => format!("{value:.1} %"),
    }
}

fn short(index: f64) -> String {
    if index.is_nan() {
        "–".into()
    } else if index >= 10.0 {
        format!("{index:.0}")
    } else {
        format!("{index:.2}")
    }
}
