//! What a trial's arrivals were, in words: beside what was asked, chance and the cost of a send.

use crate::number::{self, JOIN};
use crate::traffic;
use dropline_record::{ArrivalsLine, Fidelity, SpacedLine, ThoughtLine, TrialLine};

/// `Poisson as asked: rate +0.00 %, KS 0.20 (floor 0.19: a send takes 2.1 us), dispersion 1.01 / 0.99 / 1.03`.
pub(crate) fn words(trial: &TrialLine) -> String {
    let name = traffic::arrival_words(&trial.arrival);
    let Some(arrivals) = &trial.arrivals else { return without_times(name, trial) };
    let mut facts: Vec<String> = arrivals.rate_error.map(rate).into_iter().collect();
    let seen = arrivals.left.as_ref().or(arrivals.arrived.as_ref());
    if let Some(seen) = seen {
        facts.extend(distance(arrivals, seen));
        facts.push(dispersion(arrivals, seen));
    }
    facts.extend(arrivals.thought.as_ref().map(thought));
    let verdict = verdict(trial);
    if facts.is_empty() { verdict } else { format!("{verdict}: {}", facts.join(", ")) }
}

/// The same without its numbers: `Poisson as asked`.
pub(crate) fn verdict(trial: &TrialLine) -> String {
    let name = traffic::arrival_words(&trial.arrival);
    let Some(arrivals) = &trial.arrivals else { return without_times(name, trial) };
    let seen = arrivals.left.as_ref().or(arrivals.arrived.as_ref());
    let late = trial.caveats.iter().any(|caveat| caveat.code == "arrivals_not_kept");
    let verdict = match arrivals.fidelity {
        // Gaps as asked are no arrivals as asked where packets left too late.
        Some(_) if late => ", not as asked",
        Some(Fidelity::AsAsked) => " as asked",
        // Equal gaps in nine of ten places, and lumps between them.
        Some(Fidelity::Near) if is_lumpy(arrivals, seen) => ", gaps nearly as asked, but in lumps",
        Some(Fidelity::Near) => ", nearly as asked",
        Some(Fidelity::NotAsAsked) => ", not as asked",
        None => "",
    };
    format!("{name}{verdict}")
}

/// Whether packets came in lumps that were not asked for, though most gaps are as asked.
fn is_lumpy(arrivals: &ArrivalsLine, seen: Option<&SpacedLine>) -> bool {
    /// What random arrivals have.
    const LUMPS: f64 = 1.0;
    let row = |line: &SpacedLine| [line.dispersion_1ms, line.dispersion_10ms, line.dispersion_100ms];
    let Some((asked, seen)) = arrivals.intended.as_ref().zip(seen) else { return false };
    let pairs = row(asked).into_iter().zip(row(seen));
    pairs.filter_map(|(asked, seen)| Some(seen? - asked?)).any(|more| more > LUMPS)
}

/// How clients slept: the one thing of a closed loop that had a distribution to keep.
fn thought(thought: &ThoughtLine) -> String {
    let ThoughtLine { asked_ns, slept } = thought;
    let length = |ns: f64| number::nanoseconds(ns.round() as u64);
    let kept = match (slept.within_tenth, slept.ks) {
        (Some(within), _) => format!(", {} within 10{JOIN}%", number::percent(within)),
        (None, Some(ks)) => {
            let p = slept.ks_ideal.map_or_else(String::new, |ideal| format!(" (p {})", small(ideal)));
            format!(", KS {}{p}", small(ks))
        }
        (None, None) => String::new(),
    };
    let mean = slept.mean_gap_ns.map_or_else(|| "\u{2013}".into(), length);
    format!("slept {mean} for {} asked{kept}", length(*asked_ns))
}

/// All that is known when no times were kept.
fn without_times(mut name: String, trial: &TrialLine) -> String {
    // A load that nobody asked for is what it came to.
    if trial.intended.is_some() && trial.intended_load_pps > 0.0 {
        name.push_str(", ");
        name.push_str(&rate(trial.offered_load_pps / trial.intended_load_pps - 1.0));
    }
    name
}

fn rate(error: f64) -> String {
    let sign = if error >= 0.0 { "+" } else { "\u{2212}" };
    format!("rate {sign}{}{JOIN}%", number::fixed(error.abs() * 100.0, 2))
}

/// How far the gaps are from those asked for, beside what nobody could do better.
fn distance(arrivals: &ArrivalsLine, seen: &SpacedLine) -> Option<String> {
    if let Some(within) = seen.within_tenth {
        return Some(format!("{} of gaps within 10{JOIN}%", number::percent(within)));
    }
    let ks = seen.ks?;
    let best = match (arrivals.ks_floor, arrivals.send_cost_ns, seen.ks_ideal) {
        (Some(floor), Some(cost), ideal) if ideal.is_none_or(|ideal| ideal < floor) => {
            format!(" (floor {}: a send takes {})", number::fixed(floor, 2), number::nanoseconds(cost))
        }
        (_, _, Some(ideal)) => format!(" (p {})", small(ideal)),
        _ => String::new(),
    };
    Some(format!("KS {}{best}", small(ks)))
}

/// Index of dispersion at 1, 10 and 100 ms, and the schedule's own where that is not near 1.
fn dispersion(arrivals: &ArrivalsLine, seen: &SpacedLine) -> String {
    let row = |line: &SpacedLine| {
        let index = |value: Option<f64>| {
            value.map_or_else(
                || "\u{2013}".into(),
                |value| number::fixed(value, if value < 10.0 { 2 } else { 0 }),
            )
        };
        [line.dispersion_1ms, line.dispersion_10ms, line.dispersion_100ms].map(index).join(" / ")
    };
    let asked = arrivals.intended.as_ref().map(row).filter(|asked| *asked != row(seen));
    let asked = asked.map_or_else(String::new, |asked| format!(" (asked {asked})"));
    format!("dispersion {}{asked}", row(seen))
}

/// Two decimals, three below a tenth.
fn small(value: f64) -> String {
    number::fixed(value, if value < 0.0995 { 3 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_record::{Purpose, TrialLine};
    use dropline_trial::{ArrivalFidelity, Fidelity, Rate, Spaced, Stamp, Thought, Trial, TrialInput};
    use std::time::Duration;

    fn spaced(ks: Option<f64>, within_tenth: Option<f64>, dispersion: [f64; 3]) -> Option<Spaced> {
        Some(Spaced {
            packets: 1_000_204,
            mean_gap_ns: Some(1e4),
            variation: Some(1.0),
            ks,
            ks_ideal: ks.map(|_| 0.00136),
            within_tenth,
            dispersion: dispersion.map(Some),
            backward: 0,
            stamp: Stamp::App,
        })
    }

    fn said(arrival: &str, kept: Option<ArrivalFidelity>) -> String {
        let input = TrialInput { load: Rate::from_millipps(100_000_000), duration: Duration::from_secs(10) };
        let trial = Trial { intended: Some(1_000_000), offered: 999_000, kept, ..Trial::new(1, input, 7) };
        let line = TrialLine::new(&trial, "udp://", arrival, Purpose::Trial, Duration::ZERO);
        words(&line).replace(JOIN, " ")
    }

    #[test]
    fn a_poisson_load_at_its_floor_is_said_to_be_as_asked() {
        let kept = ArrivalFidelity {
            rate_error: Some(0.0),
            intended: spaced(Some(0.001), None, [1.01, 0.99, 1.03]),
            left: spaced(Some(0.2), None, [1.01, 0.99, 1.03]),
            send_cost_ns: Some(2100),
            ks_floor: Some(0.19),
            ..ArrivalFidelity::default()
        };
        assert_eq!(kept.fidelity(), Some(Fidelity::AsAsked));
        assert_eq!(
            said("poisson", Some(kept)),
            "Poisson as asked: rate +0.00 %, KS 0.20 (floor 0.19: a send takes 2.10 us), dispersion 1.01 / 0.99 / 1.03"
                .replace("2.10", "2.1")
        );
    }

    #[test]
    fn lumps_instead_of_equal_gaps_are_said_to_be_something_else() {
        let kept = ArrivalFidelity {
            rate_error: Some(-0.0012),
            intended: spaced(None, Some(1.0), [0.0, 0.0, 0.0]),
            left: spaced(None, Some(0.004), [99.2, 54.0, 0.01]),
            ..ArrivalFidelity::default()
        };
        assert_eq!(
            said("constant", Some(kept)),
            "constant, not as asked: rate \u{2212}0.12 %, 0.4 % of gaps within 10 %, \
             dispersion 99 / 54 / 0.01 (asked 0.00 / 0.00 / 0.00)"
        );
    }

    #[test]
    fn lumps_of_a_constant_load_are_not_nearly_what_was_asked() {
        let of = |seen: [f64; 3]| {
            let kept = ArrivalFidelity {
                rate_error: Some(0.0072),
                intended: spaced(None, Some(1.0), [0.0; 3]),
                left: spaced(None, Some(0.96), seen),
                ..ArrivalFidelity::default()
            };
            assert_eq!(kept.fidelity(), Some(Fidelity::Near));
            said("constant", Some(kept))
        };
        assert!(
            of([3.06, 3.05, 3.17]).starts_with("constant, gaps nearly as asked, but in lumps: "),
            "{}",
            of([3.06; 3])
        );
        assert!(of([0.2, 0.1, 0.1]).starts_with("constant, nearly as asked: "));
    }

    #[test]
    fn without_times_only_the_rate_is_said() {
        assert_eq!(said("constant", None), "constant, rate \u{2212}0.10 %");
    }

    #[test]
    fn a_closed_loop_is_described_without_a_judgement() {
        let kept =
            ArrivalFidelity { left: spaced(None, None, [8.4, 5.9, 27.0]), ..ArrivalFidelity::default() };
        assert_eq!(said("yield:n=64", Some(kept.clone())), "yield:n=64: dispersion 8.40 / 5.90 / 27");
        // What had a distribution to keep is judged by it.
        let slept = Spaced { mean_gap_ns: Some(19.8e6), ..spaced(Some(0.97), None, [0.0; 3]).unwrap() };
        let thought = Some(Thought { asked_ns: 200_000.0, slept });
        let sleepers = said("clients:n=128,think=exp(200us)", Some(ArrivalFidelity { thought, ..kept }));
        assert_eq!(
            sleepers,
            "clients:n=128,think=exp(200us): dispersion 8.40 / 5.90 / 27, slept 19.8 ms for 200 us asked, KS 0.97 \
             (p 0.001)"
        );
    }
}
