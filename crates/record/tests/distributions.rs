//! A stored distribution is what was counted, or it is refused with what disagrees.

use dropline_record::schema::Line;
use dropline_record::{Count, DistributionLine};
use dropline_stats::{Above, Counted, Meaning};
use serde_json::{Value, json};

/// 6 us, 7 us and 9 to 11 us, events beyond 200 us, in two slices of time.
fn stored() -> Value {
    serde_json::to_value(Line::Distribution(Box::new(line()))).unwrap()
}

fn line() -> DistributionLine {
    let counted =
        |ranges: [(i64, i64, u64); 3], above| Counted::ranges(Meaning::default(), ranges, above).unwrap();
    let above = Some(Above { from: 200, count: 4 });
    let whole = counted([(6, 6, 20), (7, 7, 10), (9, 11, 2)], above);
    let mut line = DistributionLine::new("a.txt", "raw", "", &whole, &[]);
    let part = counted([(6, 6, 10), (7, 7, 5), (9, 11, 1)], None);
    [0.0, 1.0].into_iter().for_each(|begin_s| line.push_slice(begin_s, 1.0, &part));
    line
}

/// What is said against it.
fn against(line: &Value) -> Option<String> {
    let Line::Distribution(line) = serde_json::from_value(line.clone()).unwrap() else { panic!("{line}") };
    line.counted().err().or_else(|| line.counted_slices().err())
}

#[test]
fn a_distribution_that_contradicts_itself_is_refused_with_what_disagrees() {
    let good = stored();
    assert_eq!(against(&good), None);
    for (place, other, says) in [
        ("/schema", json!("dropline/99"), "schema is \"dropline/99\""),
        ("/cells/1/2", json!(11), "count is 36, and its cells make it 37"),
        ("/count", json!(1), "count is 1, and its cells make it 36"),
        ("/above_count", json!(5), "count is 36, and its cells make it 37"),
        ("/above_count", json!(10_000_000_000_000_000_000u64), "more than 2^53 events"),
        ("/cells/0/2", json!("4611686018427387904"), "more than 2^53 events"),
        ("/cells/0/2", json!("9223372036854775808"), "more than 2^53 events"),
        ("/cells/0/2", json!(0), "cell from 6 to 6 is empty"),
        ("/above_count", json!(0), "above_from is told without how many"),
        ("/above_count", Value::Null, "above_from is told without how many"),
        ("/above_from", Value::Null, "or the reverse"),
        ("/above_from", json!(11), "above_from is 11, and a cell goes up to 11"),
        ("/above_from", json!(i64::MAX), "beyond 2^52 ticks"),
        ("/cells/2", json!([11, 9, 2]), "a cell begins at 11 and ends at 9"),
        ("/cells/2", json!([7, 11, 2]), "cell from 7 to 7 is empty, is there twice, overlaps"),
        ("/cells/1", json!([6, 6, 10]), "is there twice"),
        ("/cells/0", json!([8, 8, 20]), "is not in order"),
        ("/cells/0", json!([-6, -6, 20]), "20 values are below zero, and none of its notes says so"),
        ("/unit_ns", json!(0), "unit_ns is 0"),
        ("/unit_ns", json!(1_000_000_000_000_000u64), "unit_ns is 1000000000000000"),
        ("/quantum_ns", json!(0.0), "quantum_ns is 0e0"),
        ("/quantum_ns", json!(-1000.0), "quantum_ns is -1e3"),
        ("/quantum_ns", json!(1e300), "quantum_ns is 1e300"),
        ("/quantum_ns", json!(300.0), "quantum_ns is 3e2"),
        ("/rounding", json!("up"), "rounding is \"up\""),
        ("/event", json!("some"), "event is \"some\""),
        ("/event", json!("maximum"), "event_of is null"),
        ("/event_of", json!(3), "event_of is 3"),
        ("/slices/1/begin_s", json!(-1.0), "slice 2: it begins at -1 s"),
        ("/slices/0/duration_s", json!(-1.0), "slice 1: it begins at 0 s and lasts -1 s"),
        ("/slices/1/cells/0", json!([6, 5, 1]), "slice 2: a cell begins at 6"),
        ("/slices/1/cells/0/2", json!(31), "slice 2: with it the slices have more events"),
        ("/slices/0/cells/0/2", json!("9223372036854775808"), "slice 1: the counts add up to more"),
    ] {
        let mut edited = good.clone();
        *edited.pointer_mut(place).unwrap_or_else(|| panic!("{place} is there")) = other.clone();
        let why = against(&edited).unwrap_or_else(|| panic!("{place} = {other} is taken"));
        assert!(why.contains(says), "{place} = {other}: {why}");
    }
}

#[test]
fn values_below_zero_are_taken_where_a_note_says_how_many() {
    let mut line = stored();
    line["cells"][0] = json!([-6, -6, 20]);
    line["notes"] = json!(["20 values are below zero"]);
    assert_eq!(against(&line), None);
    line["notes"] = json!(["19 values are below zero"]);
    assert!(against(&line).is_some());
}

#[test]
fn a_maximum_is_of_one_event_at_least_and_a_tick_is_a_thousand_millionth_of_the_unit_at_least() {
    let good = stored();
    let of = |event: &str, event_of: Value, quantum_ns: f64| {
        let mut line = good.clone();
        (line["event"], line["event_of"], line["quantum_ns"]) = (json!(event), event_of, json!(quantum_ns));
        against(&line)
    };
    assert_eq!((of("maximum", json!(1), 1000.0), of("each", Value::Null, 1e-6)), (None, None));
    assert!(of("maximum", json!(0), 1000.0).unwrap().contains("event_of is 0"));
    for quantum_ns in [1e-7, 1e4, 1_000.000_01] {
        assert!(of("each", Value::Null, quantum_ns).unwrap().contains("quantum_ns is"), "{quantum_ns}");
    }
}

#[test]
fn slices_may_begin_together_last_no_time_and_have_all_events() {
    let mut line = stored();
    line["slices"][1]["begin_s"] = json!(0.0);
    line["slices"][1]["duration_s"] = json!(0.0);
    line["slices"][1]["cells"] = json!([[6, 6, 20]]);
    assert_eq!(against(&line), None);
    line["slices"][1]["cells"] = json!([[6, 6, 21]]);
    assert!(against(&line).unwrap().contains("more events than count"));
    let mut line = stored();
    line["above_from"] = json!(12);
    assert_eq!(against(&line), None, "just above the highest cell");
}

#[test]
fn events_in_order_are_those_that_were_counted() {
    let counted = Counted::ranges(Meaning::default(), [(6, 6, 2), (9, 11, 2)], None).unwrap();
    let good = DistributionLine::new("a.txt", "raw", "", &counted, &[]);
    let against = |events: &[i64]| {
        let line = DistributionLine { events: events.to_vec(), ..good.clone() };
        line.events_in_order().map(<[i64]>::to_vec)
    };
    assert_eq!(against(&[]), Ok(vec![]));
    for events in [[9, 6, 11, 6], [6, 6, 10, 10]] {
        assert_eq!(against(&events), Ok(events.to_vec()));
    }
    for (events, says) in [
        (&[9, 6, 11][..], "its cell from 6 to 6 has 2 events, and 1 of its events in order are there"),
        (&[9, 6, 8, 6], "its cell from 9 to 11 has 2 events, and 1 of"),
        (&[9, 6, 12, 6], "its cell from 9 to 11 has 2 events, and 1 of"),
        (&[9, 6, 11, 6, 7], "count is 4, and there are 5 events in order"),
    ] {
        assert!(against(events).unwrap_err().contains(says), "{events:?}");
    }
    let edited = DistributionLine { count: Count(5), events: vec![6, 6, 9, 9], ..good.clone() };
    assert!(edited.events_in_order().unwrap_err().contains("count is 5, and its cells make it 4"));
}

#[test]
fn stretches_have_all_events_in_the_ticks_of_the_whole() {
    let mut line = line();
    assert_eq!(line.counted_stretches(), Ok(vec![]));
    let part = Counted::ranges(Meaning::default(), [(6, 6, 10), (7, 7, 8)], None).unwrap();
    line.push_stretch(&part);
    assert_eq!(line.counted_stretches(), Err("count is 36, and its stretches make it 18".into()));
    line.push_stretch(&part);
    assert_eq!(line.counted_stretches(), Ok(vec![part.clone(), part]));
    line.stretches[1][0].2 = Count(0);
    assert!(line.counted_stretches().unwrap_err().contains("stretch 2: the cell from 6 to 6 is empty"));
    line.rounding = "up".into();
    assert!(line.counted_stretches().unwrap_err().contains("rounding is \"up\""));
}
