//! Which graph ran, in words for terminal and page.

use crate::number::{self, JOIN};
use dropline_record::GraphLine;
use dropline_record::graph_line::ResidenceLine;

/// Names and words of the facts.
pub(crate) fn facts(graph: &GraphLine, duration_s: f64) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        (
            "graph",
            format!(
                "{}, scheduler {}: {} of {}, buffers of {}, copies of at most {}",
                graph.framework,
                graph.scheduler,
                number::plural(graph.pipes.into(), "pipe"),
                number::plural(graph.stages.into(), "stage"),
                number::bytes(graph.buffer_bytes.0),
                number::plural(graph.max_copy.0, "sample")
            ),
        ),
        ("ran on", cpus(graph)),
        (
            "cost",
            format!(
                "{} of CPU time, {} CPUs on average",
                number::seconds(graph.cpu_s),
                number::three(graph.cpu_s / duration_s.max(1e-9))
            ),
        ),
    ];
    if let (Some(backlog), Some(longest)) = (graph.backlog_s, graph.longest_wait_s) {
        let least = graph.lost.iter().map(|lost| lost.0).min().unwrap_or(0);
        let most = graph.lost.iter().map(|lost| lost.0).max().unwrap_or(0);
        let lost = match (least, most) {
            (_, 0) => "none was lost there".into(),
            (least, most) => {
                format!("{} to {} of a pipe were lost there", number::count(least), number::count(most))
            }
        };
        facts.push((
            "backlog",
            format!(
                "a due sample may wait {}; up to {} of samples waited, {lost}",
                number::seconds(backlog),
                number::seconds(longest)
            ),
        ));
    }
    facts
}

/// `CPU 0, 1, 2, 6, 7, 8: 3 of 6 cores, 6 threads`.
fn cpus(graph: &GraphLine) -> String {
    let used: Vec<String> = graph.cpus.iter().map(ToString::to_string).collect();
    let cores = graph.cores.iter().filter(|core| core.iter().any(|cpu| graph.cpus.contains(cpu))).count();
    let all = number::plural(graph.cores.len() as u64, "core");
    let threads = number::plural(graph.threads.into(), "thread");
    format!("CPU{JOIN}{}: {cores} of {all}, {threads}", used.join(", "))
}

/// Heads of the table of blocks.
pub(crate) const HEADS: [&str; 6] = ["block", "granules", "p50", "p90", "p99", "max"];

/// A row of it; `stages` is how many copies a pipe has.
pub(crate) fn row(of: &ResidenceLine, stages: u32) -> [String; 6] {
    let name = match of.block {
        block if block > stages => "sink".into(),
        1 => "head and copy 1".into(),
        block => format!("copy {block}"),
    };
    let time = |value: Option<u64>| value.map_or_else(|| "\u{2013}".into(), number::nanoseconds);
    let delay = of.delay_ns.as_ref();
    [
        name,
        number::count(delay.map_or(0, |delay| delay.count.0)),
        time(delay.and_then(|delay| delay.p50)),
        time(delay.and_then(|delay| delay.p90)),
        time(delay.and_then(|delay| delay.p99)),
        time(delay.and_then(|delay| delay.max)),
    ]
}
