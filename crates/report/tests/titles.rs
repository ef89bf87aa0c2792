//! A title states what its own plot shows, of all trials, or says which it leaves out.

mod drawn;
mod made;

use drawn::{Figure, figures_of};
use dropline_record::compared::{ComparedModeLine, ModesLine, SideLine};
use dropline_record::fit::CellLine;
use dropline_record::{
    CaveatLine, Compared, Count, DelayAtLine, DelayLine, DisturbanceLine, Histogram, Purpose, Record,
    TrialLine,
};
use dropline_report::{compared_html, html};
use dropline_trial::Arrival;
use made::Made;

fn service() -> Record {
    Made::service(Arrival::constant(), 7).search()
}

fn figure(record: &Record, name: &str) -> Figure {
    let figures = figures_of(&html(std::slice::from_ref(record)));
    figures.into_iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("{name} is drawn"))
}

/// A trial whose every packet took so long.
fn slow(number: u64, load_pps: f64, delay_ns: u64, like: &TrialLine) -> TrialLine {
    let mut histogram = Histogram::new();
    histogram.record_n(delay_ns, 10_000);
    let stated = histogram.quantile(0.5);
    TrialLine {
        number,
        intended_load_pps: load_pps,
        purpose: Purpose::DelayAt,
        delay_ns: Some(DelayLine {
            count: Count(histogram.count()),
            min: histogram.min(),
            p50: stated,
            p90: stated,
            p99: stated,
            p99_9: stated,
            max: histogram.max(),
            histogram: histogram.to_v2_deflate(),
        }),
        ..like.clone()
    }
}

#[test]
fn a_delay_title_speaks_of_one_curve_and_names_the_goal_of_that_curve() {
    let mut record = service();
    let model = record.trials[0].clone();
    // 90 % of the first goal is quick, 90 % of the second, a little above it, is not.
    record.trials.push(slow(101, 165e3, 1_190_000, &model));
    record.trials.push(slow(102, 167e3, 18_200_000, &model));
    let at = |goal, trial| DelayAtLine { goal, share: 0.9, trial };
    record.result.as_mut().expect("it ended").delay_at = vec![at(0, 101), at(1, 102)];
    let delay = figure(&record, "delay");
    delay.assert_title_is_of_its_rows();
    let title = delay.title.replace('\u{a0}', " ");
    assert!(
        title.starts_with("At 90 % of the load for 0.5 % loss one packet in 1000 takes 18.2 ms"),
        "{title}"
    );
    let page = html(std::slice::from_ref(&record)).replace('\u{a0}', " ");
    assert!(page.contains(">90 % of no loss</text>") && page.contains(">90 % of 0.5 % loss</text>"));
}

#[test]
fn of_many_delays_the_heaviest_are_drawn_and_the_caption_says_how_many_there_are() {
    let mut record = service();
    let model = record.trials[0].clone();
    let delay_at = &mut record.result.as_mut().expect("it ended").delay_at;
    delay_at.clear();
    for number in 101..=112 {
        let load = 1e3 * number as f64;
        record.trials.push(slow(number, load, number * 1000, &model));
        delay_at.push(DelayAtLine { goal: 0, share: load / 186e3, trial: number });
    }
    let delay = figure(&record, "delay");
    delay.assert_title_is_of_its_rows();
    assert!(delay.title.contains("112\u{a0}us") && delay.caption.contains("10 of 12 delays"), "{delay:?}");
}

#[test]
fn lateness_is_not_called_a_delay() {
    let mut record = made::trial(139_000.0, 10);
    (record.trials[0].delay_ns, record.trials[0].service_delay_ns) = (None, None);
    let delay = figure(&record, "delay");
    assert!(delay.title.contains("leaves late by"), "{}", delay.title);
}

#[test]
fn the_places_of_loss_count_every_trial_wherever_the_axis_ends() {
    let mut record = service();
    for trial in &mut record.trials {
        trial.lost_at = Some([("service_queue".to_owned(), trial.lost)].into());
    }
    let queue: u64 = record.trials.iter().map(|trial| trial.lost.0).sum();
    // Far above all that the axis shows, most of the packets were lost, elsewhere.
    let high = TrialLine {
        number: 101,
        intended_load_pps: 2e6,
        lost: Count(3 * queue),
        lost_at: Some([("receive_buffer".to_owned(), Count(3 * queue))].into()),
        ..record.trials[0].clone()
    };
    record.trials.push(high.clone());
    let places = figure(&record, "places");
    assert!(places.title.starts_with("75\u{a0}% were lost at the receive buffer"), "{}", places.title);
    assert_eq!(places.sum_of("lost"), 4 * queue);
    assert!(places.rows.iter().any(|row| row[0].starts_with("above ")), "{places:?}");
    record.trials.push(TrialLine { number: 102, lost: Count(77), lost_at: None, ..high });
    let places = figure(&record, "places");
    assert!(places.caption.contains("Not counted: 77 lost in 1\u{a0}trial"), "{}", places.caption);
}

#[test]
fn a_title_of_loss_tells_which_trials_off_its_axis_say_otherwise() {
    let mut record = service();
    let quiet = figure(&record, "loss").title;
    assert!(!quiet.contains(';'), "{quiet}");
    let model = record.trials[0].clone();
    let low = TrialLine { number: 101, intended_load_pps: 2e3, lost: Count(5), ..model.clone() };
    let high = TrialLine { number: 102, intended_load_pps: 2e6, lost: Count(0), ..model };
    record.trials.extend([low, high]);
    let loss = figure(&record, "loss");
    loss.assert_title_is_of_its_rows();
    let said = "; 1\u{a0}trial below lost packets; 1\u{a0}trial above lost none";
    assert_eq!(loss.title, format!("{quiet}{said}"));
}

#[test]
fn a_title_of_loss_counts_no_loss_that_may_all_be_our_own_doing() {
    let mut record = service();
    for trial in &mut record.trials {
        trial.lost = Count(50);
        trial.disturbance =
            Some(DisturbanceLine { displaced: Count(90), waited_ns: Count(0), doubted: Count(50) });
    }
    assert!(figure(&record, "loss").title.starts_with("No trial here says what the target loses"));
    record.trials.iter_mut().for_each(|trial| trial.disturbance = None);
    assert!(figure(&record, "loss").title.starts_with("Every trial here lost packets"));
}

#[test]
fn two_searches_over_each_other_are_titled_by_what_came_back_of_each() {
    let (a, mut b) = (service(), service());
    for trial in &mut b.trials {
        trial.forwarding_rate_pps *= 0.5;
    }
    let most = |record: &Record| {
        record
            .trials
            .iter()
            .filter(|trial| !trial.void)
            .map(|trial| trial.forwarding_rate_pps)
            .fold(0.0, f64::max)
    };
    let [of_a, of_b] = [&a, &b].map(most);
    assert_eq!(of_b, of_a * 0.5);
    let figures = figures_of(&html(&[a, b]));
    let figure = figures.iter().find(|figure| figure.name == "forwarded-together").expect("it is drawn");
    let told: Vec<f64> =
        figure.title.split_whitespace().filter_map(|word| word.trim_end_matches(',').parse().ok()).collect();
    assert_eq!(told.len(), 2, "{}", figure.title);
    assert!((told[1] / told[0] - 0.5).abs() < 1e-3, "{}", figure.title);
    for side in ["A", "B"] {
        assert!(figure.rows.iter().any(|row| row[0] == side), "{figure:?}");
    }
}

#[test]
fn a_title_of_what_came_back_is_of_every_trial_that_is_drawn_and_says_of_which_load_it_speaks() {
    let mut record = service();
    let sound = &record.trials[0];
    let (number, far) = (sound.number, TrialLine { number: 9_999, ..sound.clone() });
    // A trial that our side disturbed, farther up than all others, which brought the most.
    let most = record.trials.iter().map(|trial| trial.intended_load_pps).fold(0.0, f64::max);
    record.trials.push(TrialLine {
        intended_load_pps: most * 4.0,
        forwarding_rate_pps: most * 3.0,
        caveats: vec![CaveatLine::said("generator_starved", "")],
        ..far
    });
    let title = || figure(&record, "forwarded").title;
    let numbers = |title: &str| -> Vec<f64> {
        let joined = title.replace('\u{202f}', "");
        joined.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let told = numbers(&title());
    assert!((told[1] / told[0] - 4.0 / 3.0).abs() < 1e-2, "{}", title());
    assert!(title().ends_with("the highest load"), "{}", title());
    let of_all = title();
    let void = record.trials.iter_mut().find(|trial| trial.number == number).unwrap();
    void.void = true;
    assert_eq!(figure(&record, "forwarded").title, format!("{of_all} that counts"));
}

#[test]
fn a_mode_is_named_with_the_shares_that_are_counted_in_its_range() {
    let edge = |cell: i32| 100.0 * 1.01f64.powi(cell);
    let side = |of: u64| SideLine {
        count: Count(300 * of),
        histogram: (0..300)
            .map(|cell| CellLine { low: edge(cell), high: edge(cell + 1), count: Count(of) })
            .collect(),
        ..SideLine::default()
    };
    // It ends within a bin of the plot.
    let mode = || ComparedModeLine { low: edge(0), high: edge(92), peak: edge(9), mass: 92.0 / 300.0 };
    let compared = Compared {
        a: side(10),
        b: side(20),
        unit_ns: 1_000,
        modes: Some(ModesLine { a: vec![mode()], b: vec![mode()] }),
        ..Compared::default()
    };
    let page = compared_html(&compared).replace('\u{a0}', " ");
    assert!(page.contains("A 30.7 %, B 30.7 %"), "{:?}", page.split(": A ").nth(1).map(|rest| &rest[..30]));
}

/// A trial of a search at a load, of which so many of a thousand were lost.
fn lossy(number: u64, load_pps: f64, lost: u64, like: &TrialLine) -> TrialLine {
    let (ratio, offered) = (lost as f64 / 1e3, Count(1000));
    TrialLine {
        number,
        intended_load_pps: load_pps,
        offered,
        intended: Some(offered),
        forwarded: Count(1000 - lost),
        lost: Count(lost),
        loss_ratio: Some(ratio),
        trial_loss_ratio: Some(ratio),
        disturbance: None,
        ..like.clone()
    }
}

#[test]
fn two_loads_that_differ_do_not_look_the_same_in_a_title_or_in_the_table_of_trials() {
    let mut record = service();
    let like = record.trials[0].clone();
    record.trials = vec![lossy(1, 150_000.0, 0, &like), lossy(2, 150_003.0, 400, &like)];
    for answer in &mut record.result.as_mut().unwrap().goals {
        (answer.lower_pps, answer.upper_pps) = (Some(149_000.0), Some(151_000.0));
    }
    let title = figure(&record, "loss").title;
    assert!(title.contains("150.000 and 150.003"), "{title}");
    let page = html(std::slice::from_ref(&record));
    assert!(page.contains(">150.000<") && page.contains(">150.003<"), "the table of trials has both");
}

#[test]
fn a_slice_that_lost_no_more_than_chance_gives_it_is_not_named() {
    let mut record = made::trial(139_000.0, 10);
    let slices = &mut record.trials[0].slices;
    for (at, slice) in slices.iter_mut().enumerate() {
        slice.forwarded = slice.offered;
        slice.forwarded.0 -= [2, 1, 3, 6, 1, 2][at % 6];
    }
    let title = figure(&record, "slices").title;
    assert!(!title.contains("; slice "), "{title}");
    record.trials[0].slices[3].forwarded.0 -= 60;
    let title = figure(&record, "slices").title;
    assert!(title.contains("; slice 4 has"), "{title}");
}
