//! Records that nobody foresaw: no trial, no result, absurd numbers, thousands of trials.

mod drawn;
mod made;

use drawn::{assert_sound, figures_of, svgs_of};
use dropline_record::{
    AnswerLine, BoundsLine, Count, DelayAtLine, DelayLine, Purpose, ReasonWord, Record, ResultLine,
    ResultWord, SliceLine, TrialLine,
};
use dropline_report::{Graph, Style, csv, html, study_page, svgs, text, text_many};
use dropline_stats::Histogram;
use made::Made;
use proptest::prelude::*;
use std::sync::LazyLock;

/// A real search to start from.
static REAL: LazyLock<Record> = LazyLock::new(|| Made::mdr("inconsistent", 3, 30).search());

/// A number that JSON can hold.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 1e3..1e7,
        1 => Just(0.0),
        1 => Just(-1.0),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN_POSITIVE),
        1 => any::<f64>().prop_filter("JSON has no such number", |number| number.is_finite()),
    ]
}

fn maybe<T: Strategy>(strategy: T) -> impl Strategy<Value = Option<T::Value>> {
    prop::option::of(strategy)
}

fn count() -> impl Strategy<Value = Count> {
    prop_oneof![3 => 0u64..1_000_000, 1 => Just(0), 1 => any::<u64>()].prop_map(Count)
}

fn delay() -> impl Strategy<Value = DelayLine> {
    let values = prop::collection::vec((any::<u64>(), 0u64..10_000), 0..5);
    (values, any::<bool>()).prop_map(|(values, broken)| {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|(value, count)| histogram.record_n(value, count));
        DelayLine {
            count: Count(histogram.count()),
            min: histogram.min(),
            p50: histogram.quantile(0.5),
            p90: histogram.quantile(0.9),
            p99: histogram.quantile(0.99),
            p99_9: histogram.quantile(0.999),
            max: histogram.max(),
            histogram: if broken { "broken".into() } else { histogram.to_v2_deflate() },
        }
    })
}

fn bounds() -> impl Strategy<Value = BoundsLine> {
    (maybe(number()), any::<bool>(), maybe(number()), any::<bool>(), maybe(number())).prop_map(
        |(lower_pps, lower_valid, upper_pps, upper_valid, median_pps)| BoundsLine {
            lower_pps,
            lower_valid,
            upper_pps,
            upper_valid,
            median_pps,
        },
    )
}

fn trial() -> impl Strategy<Value = TrialLine> {
    let times = (number(), number(), number());
    let counts = (maybe(count()), count(), count(), count());
    let ratios = (maybe(number()), maybe(number()));
    let places = prop::collection::btree_map(
        prop::sample::select(vec!["receive_buffer".to_owned(), "qdisc".into(), "unexplained".into()]),
        count(),
        0..4,
    );
    let delays = (maybe(delay()), maybe(delay()), maybe(places));
    let rest = (
        number(),
        maybe("\\PC{0,8}"),
        prop::collection::vec(bounds(), 0..4),
        prop::collection::vec((number(), count(), count()), 0..3),
        any::<bool>(),
    );
    (times, counts, ratios, delays, rest).prop_map(|(times, counts, ratios, delays, rest)| TrialLine {
        at_s: times.0,
        duration_s: times.1,
        elapsed_s: times.2,
        intended: counts.0,
        offered: counts.1,
        forwarded: counts.2,
        lost: counts.3,
        loss_ratio: ratios.0,
        trial_loss_ratio: ratios.1,
        delay_ns: delays.0,
        lateness_ns: delays.1,
        lost_at: delays.2,
        intended_load_pps: rest.0,
        phase: rest.1,
        bounds: rest.2,
        slices: rest
            .3
            .into_iter()
            .map(|(duration_s, offered, forwarded)| SliceLine {
                duration_s,
                offered,
                forwarded,
                delay_ns: None,
            })
            .collect(),
        purpose: if rest.4 { Purpose::Search } else { Purpose::DelayAt },
        ..REAL.trials[0].clone()
    })
}

fn answer() -> impl Strategy<Value = AnswerLine> {
    let loads = (maybe(number()), maybe(number()), maybe(number()), maybe(number()), maybe(0.0f64..1.0));
    let why = prop::sample::select(vec![
        ReasonWord::AtMaximum,
        ReasonWord::BelowMinimum,
        ReasonWord::GeneratorLimited,
        ReasonWord::TargetStarved,
        ReasonWord::Unfinished,
    ]);
    (loads, any::<bool>(), maybe(why), 0.0f64..1.0, number()).prop_map(
        |(loads, regular, why, loss_ratio, width)| {
            let mut goal = REAL.header.search.as_ref().expect("a search").goals[0].clone();
            goal.loss_ratio = loss_ratio;
            goal.width = width;
            AnswerLine {
                goal,
                lower_pps: loads.0,
                upper_pps: loads.1,
                median_pps: loads.2,
                conditional_throughput_pps: loads.3,
                level: loads.4,
                result: if regular { ResultWord::Regular } else { ResultWord::Irregular },
                why,
                outlook: None,
                certified: None,
            }
        },
    )
}

fn record() -> impl Strategy<Value = Record> {
    let result =
        (prop::collection::vec(answer(), 0..4), prop::collection::vec((0u32..5, number(), 0u64..9), 0..3));
    let trials = prop::collection::vec(trial(), 0..8);
    (trials, maybe(result), any::<bool>(), "\\PC{0,12}").prop_map(|(trials, result, search, target)| {
        let mut record = Record { trials, ..REAL.clone() };
        record.header.target = target;
        if !search {
            record.header.verb = "trial".into();
            record.header.search = None;
        }
        record.result = result.map(|(goals, delay_at)| ResultLine {
            ended_by: dropline_record::EndWord::Done,
            back_to_back: None,
            loss_curve: Vec::new(),
            goals,
            delay_at: delay_at
                .into_iter()
                .map(|(goal, share, trial)| DelayAtLine { goal, share, trial })
                .collect(),
            ..REAL.result.clone().expect("it ended")
        });
        for (index, trial) in record.trials.iter_mut().enumerate() {
            trial.number = index as u64 + 1;
        }
        record
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_record_can_be_shown(records in prop::collection::vec(record(), 0..4), width in 0usize..200) {
        let style = Style { width, ..Style::default() };
        for record in &records {
            prop_assert!(text(record, style).ends_with('\n'));
            prop_assert!(csv(record).lines().count() > record.trials.len());
            let page = html(std::slice::from_ref(record));
            svgs_of(&page).into_iter().for_each(assert_sound);
            for figure in figures_of(&page) {
                figure.assert_title_is_of_its_rows();
                if figure.name == "places" {
                    let lossy = record.trials.iter().filter(|trial| trial.lost.0 > 0);
                    let places = lossy.filter_map(|trial| trial.lost_at.as_ref()).flat_map(|places| places.values());
                    prop_assert_eq!(figure.sum_of("lost"), places.fold(0, |sum, count| count.0.saturating_add(sum)));
                }
            }
        }
        prop_assert!(text_many(&records, style).ends_with('\n'));
        svgs_of(&html(&records)).into_iter().for_each(assert_sound);
        svgs(&records).iter().for_each(|(_, svg)| assert_sound(svg));
        let graphs: Vec<Graph> = records
            .iter()
            .map(|record| Graph { caption: "x".into(), record: record.clone(), time_axis: 1 })
            .collect();
        svgs_of(&study_page(&made::study(), &graphs, &[], &[])).into_iter().for_each(assert_sound);
    }
}

#[test]
fn thousands_of_trials_stay_a_page_that_opens() {
    let mut record = REAL.clone();
    let shown = record.trials.clone();
    let (mut number, mut at) = (0, 0.0);
    record.trials = (0..5000)
        .map(|index| {
            number += 1;
            at += 1.0;
            let model = &shown[4 + index % (shown.len() - 4)];
            TrialLine { number, at_s: at, duration_s: 0.9, elapsed_s: 1.0, ..model.clone() }
        })
        .collect();
    let page = html(std::slice::from_ref(&record));
    svgs_of(&page).into_iter().for_each(assert_sound);
    assert!(page.len() < 1300 * record.trials.len(), "{}", page.len());
    let graph = svgs(&[record]).remove(0).1;
    let longest = graph
        .split("class=\"bound")
        .skip(1)
        .map(|path| path.split('"').nth(2).unwrap_or("").matches('M').count());
    assert!(longest.max() <= Some(1200), "a line has its points thinned");
}
