//! Tables as people and programs write them.

use super::*;

fn tsv(text: &str) -> Result<Imported, ImportError> {
    parse(text, Apart::Blanks, &Hints::default())
}

fn csv(text: &str, columns: &[&str]) -> Result<Imported, ImportError> {
    let columns = columns.iter().map(|column| (*column).to_owned()).collect();
    parse(text, Apart::Commas, &Hints { columns, ..Hints::default() })
}

fn cells(imported: &Imported) -> Vec<(i64, u64)> {
    imported.counted.cells().map(|(low, _, count)| (low, count)).collect()
}

#[test]
fn the_histograms_of_2004_are_read_whole() {
    let idle = tsv(include_str!("../../../../../experiments/audio-2004/idle.tsv")).unwrap();
    assert_eq!((idle.counted.count(), idle.counted.sums()), (10_400, Some((104_669, 1_345_273))));
    assert_eq!((idle.counted.meaning().unit_ns, idle.notes.len()), (1000, 0));
}

#[test]
fn a_mail_is_read_as_it_was_written() {
    let mail = tsv("Delay   Count\n-----   -----\n6       2257\n7       3210\n").unwrap();
    assert_eq!(mail.counted.count(), 5467);
    assert_eq!(mail.notes.len(), 1, "the unit was guessed");
    let unnamed = tsv("6 2257\n7 3210\n").unwrap();
    assert_eq!((unnamed.counted.count(), unnamed.notes.len()), (5467, 2), "the columns were guessed too");
}

#[test]
fn a_broken_line_is_named_and_nothing_is_imported() {
    let broken = |text: &str| tsv(text).unwrap_err().to_string();
    assert_eq!(
        broken("delay_us\tcount\n6\t1\n7\tNaN\n"),
        "line 3: \"NaN\" where a count, a whole number was expected"
    );
    assert!(broken("6 1\n7 1 1\n").starts_with("line 2"));
    assert!(broken("6 1\n7 -1\n").starts_with("line 2"));
    assert!(broken("6 1\ninf 1\n").starts_with("line 2"));
    assert!(broken("6 1\ndelay count\n").starts_with("line 2"), "names stand first");
    assert!(broken("delay count\n99999999999999999999 1\n").starts_with("line 2"));
    assert!(broken("").starts_with("the file ends"));
    assert!(broken("delay_us\tcount\n").starts_with("the file ends"));
}

#[test]
fn one_column_of_numbers_is_the_one_of_values() {
    let read = csv("path,\"latency, (ms)\",verb\r\n/a,12.5,GET\r\n\"/b,c\",3e0,PUT\r\n", &[]).unwrap();
    assert_eq!(cells(&read), [(30, 1), (125, 1)]);
    assert_eq!(read.counted.meaning().unit_ns, 1_000_000);
    assert_eq!(read.notes, ["column \"latency, (ms)\" was taken"]);
    assert_eq!(cells(&csv("latency_us\n5\n5\n", &[]).unwrap()), [(5, 2)]);
}

#[test]
fn counts_are_known_by_their_name() {
    for text in ["delay_us,count\n6,3\n7,1\n", "n;delay_us\n3;6\n1;7\n"] {
        let read = csv(text, &[]).unwrap();
        assert_eq!((cells(&read), read.notes.len()), (vec![(6, 3), (7, 1)], 0));
    }
}

#[test]
fn a_column_of_counts_that_is_not_used_where_the_values_are_named_is_spoken_of() {
    let text = "delay_us,count\n6,3\n7,1\n";
    let alone = csv(text, &["delay_us"]).unwrap();
    assert_eq!(cells(&alone), [(6, 1), (7, 1)]);
    assert!(alone.notes[0].starts_with("column \"count\" was not taken for counts"), "{:?}", alone.notes);
    let both = csv(text, &["delay_us", "count"]).unwrap();
    assert_eq!((cells(&both), both.notes.len()), (vec![(6, 3), (7, 1)], 0));
}

#[test]
fn where_several_columns_hold_numbers_none_is_guessed() {
    for text in ["at,latency_ms\n1,12\n2,13\n", "1,12,3\n2,13,3\n", "12,5\n13,5\n"] {
        let why = csv(text, &[]).unwrap_err().to_string();
        assert!(
            why.contains("--column")
                && why.contains(if text.starts_with('a') { "at, latency_ms" } else { "1 to " }),
            "{why}"
        );
    }
    assert_eq!(cells(&csv("at,latency_ms\n1,12\n2,13\n", &["Latency_ms"]).unwrap()), [(12, 1), (13, 1)]);
    assert_eq!(cells(&csv("1,12,3\n2,13,4\n", &["2", "3"]).unwrap()), [(12, 3), (13, 4)]);
    let why = csv("at,latency_ms\n1,12\n", &["p99"]).unwrap_err().to_string();
    assert_eq!(why, "line 2: there is no column \"p99\"; there are at, latency_ms");
    let why = csv("latency_ms,code\nNaN,200\n12,200\n", &[]).unwrap_err().to_string();
    assert!(why.contains("--column"), "no column is taken because another one begins with NaN: {why}");
    assert!(tsv("at latency\n1 12\n2 13\n").unwrap_err().to_string().contains("--column"));
}

#[test]
fn a_first_line_names_the_columns_though_the_one_of_row_numbers_has_no_name() {
    for (text, apart) in [
        (",ts,latency_ms\n0,0.0,12\n1,0.1,13\n", Apart::Commas),
        ("\"\",\"ts\",\"latency_ms\"\n\"1\",0.0,12\n\"2\",0.1,13\n", Apart::Commas),
        (";ts;latency_ms\n0;0.0;12\n1;0.1;13\n", Apart::Commas),
        ("\tts\tlatency_ms\n0\t0.0\t12\n1\t0.1\t13\n", Apart::Blanks),
    ] {
        assert_eq!(looks(text), Some(apart), "{text}");
        let read = |column: &[&str]| {
            let columns = column.iter().map(|column| (*column).to_owned()).collect();
            parse(text, apart, &Hints { columns, ..Hints::default() })
        };
        for column in ["latency_ms", "3"] {
            let read = read(&[column]).unwrap();
            assert_eq!(cells(&read), [(12, 1), (13, 1)], "{text}");
            assert_eq!(read.counted.meaning().unit_ns, 1_000_000, "{text}");
        }
        let why = read(&[]).err().unwrap().to_string();
        assert!(why.contains("number 1 (it has no name), ts, latency_ms"), "{why}");
    }
    // Of a series without a name, and of a table that ends each line with a comma.
    assert_eq!(cells(&csv(",0\n0,12\n1,13\n", &["2"]).unwrap()), [(12, 1), (13, 1)]);
    assert_eq!(cells(&csv("path,latency_ms,\n/a,12,\n/b,13,\n", &[]).unwrap()), [(12, 1), (13, 1)]);
}

#[test]
fn a_first_row_that_lacks_its_value_is_not_taken_for_names_in_silence() {
    for text in ["GET,\nPUT,12\n", ",GET\n12,PUT\n13,PUT\n", ",7\n12,3\n", "path,latency_ms\n/a,\n/b,12\n"] {
        assert!(csv(text, &[]).is_err(), "{text}");
    }
}

#[test]
fn a_value_that_is_missing_or_infinite_is_named_with_its_line() {
    let broken = |value: &str| csv(&format!("a,latency_ms\nx,1\ny,{value}\n"), &[]).unwrap_err().to_string();
    for value in ["", "NaN", "inf", "-inf", "1e400", "12 ms", "\"3"] {
        assert!(broken(value).starts_with("line 3: "), "{value}");
    }
    assert!(csv("a,b\n", &[]).unwrap_err().to_string().starts_with("the file ends"));
}

#[test]
fn a_first_value_that_is_none_is_named_with_its_own_line_and_gives_its_column_to_no_other() {
    assert_eq!(looks("latency_ms\nNaN\n12\n"), Some(Apart::Commas));
    for text in ["latency_ms\nabc\n12\n", "path,latency_ms\n/a,abc\n/b,12\n"] {
        let why = csv(text, &[]).unwrap_err().to_string();
        assert!(why.starts_with("line 2: \"abc\" where a number"), "{why}");
    }
    let why = csv("at,latency_ms\n1,abc\n2,12\n", &[]).unwrap_err().to_string();
    assert!(why.contains("--column"), "{why}");
}

#[test]
fn a_decimal_comma_is_called_that() {
    for (text, at) in [
        ("latency_ms\n12\n12,5\n", "line 3: \"12,5\" has a comma"),
        ("at;latency_ms\na;12.5\nb;1,5\n", "line 3: \"1,5\" has a comma"),
        ("at\tlatency_ms\na\t1\nb\t1,5\n", "line 3: \"1,5\" has a comma"),
    ] {
        let why = parse(text, looks(text).unwrap(), &Hints::default()).unwrap_err().to_string();
        assert!(why.starts_with(at) && why.contains("with a point"), "{why}");
    }
}

#[test]
fn a_column_is_not_passed_over_for_another_because_of_how_its_numbers_are_written() {
    for (text, what) in [
        ("ts;latency_ms;n\n1;1,2;3\n2;1,3;3\n", "\"1,2\" in column \"latency_ms\" has a comma"),
        ("ts;latency_ms\n1;1,2\n2;1,3\n", "\"1,2\" in column \"latency_ms\" has a comma"),
        ("request,latency\n1,1.5 ms\n2,900us\n", "\"1.5 ms\" in column \"latency\" has a unit"),
        ("1\t1,2\n2\t1,3\n", "\"1,2\" in column 2 has a comma"),
    ] {
        let why = parse(text, looks(text).unwrap(), &Hints::default()).unwrap_err().to_string();
        assert!(why.contains(what) && why.contains("--column"), "{why}");
    }
    // What is no number at all, a date or a name of a service, hides none.
    let dated = "at,by,latency_ms\n2026-11-23T10:00:00,5g,12\n2026-11-23T10:00:01,5g,13\n";
    assert_eq!(cells(&csv(dated, &[]).unwrap()), [(12, 1), (13, 1)]);
    let taken = csv("by,latency_ms,n\nx,12,3\ny,13,4\n", &[]).unwrap();
    assert_eq!(taken.notes, ["columns \"latency_ms\" and \"n\" were taken, for the values and their counts"]);
}

#[test]
fn a_row_goes_on_in_the_next_line_within_quotes_and_lines_are_still_counted() {
    let read = csv("path,latency_ms\n\"/a\nb\",12\n# it\"s\n/c,13\r\n", &[]).unwrap();
    assert_eq!(cells(&read), [(12, 1), (13, 1)]);
    let why = csv("path,latency_ms\n\"/a\n\nb\",12\n/c,x\n", &[]).unwrap_err().to_string();
    assert!(why.starts_with("line 5: \"x\" where a number"), "{why}");
    let why = csv("path,latency_ms\n/a,12\n\"/b,13\n/c,14\n", &[]).unwrap_err().to_string();
    assert!(why.starts_with("line 3: ") && why.contains("a quote that ends"), "{why}");
}

#[test]
fn a_name_that_two_columns_have_names_none() {
    let why = csv("ms,ms\n1,2\n", &["ms"]).unwrap_err().to_string();
    assert!(why.contains("2 columns are called \"ms\": name it by its number"), "{why}");
    assert_eq!(cells(&csv("ms,ms\n1,2\n", &["2"]).unwrap()), [(2, 1)]);
}

#[test]
fn what_is_wrong_is_blamed_on_its_own_line() {
    let why = csv("path,latency_ms\n/a,1,2\n/b,3,4\n", &[]).unwrap_err().to_string();
    assert!(why.starts_with("line 2: ") && why.contains("as many columns"), "{why}");
    let why = csv("latency_ns\n5\n4503599627370497\n6\n", &[]).unwrap_err().to_string();
    assert!(why.starts_with("line 3: "), "{why}");
}

#[test]
fn a_unit_that_the_header_names_gives_way_to_no_other() {
    let read = |unit_ns| {
        let hints = Hints { unit_ns: Some(unit_ns), ..Hints::default() };
        parse("# of today\nlatency_ms\n12\n", Apart::Commas, &hints)
    };
    let why = read(1000).unwrap_err().to_string();
    assert_eq!(why, "line 2: the column \"latency_ms\" is in ms, and --unit says us");
    assert_eq!(read(1_000_000).unwrap().counted.meaning().unit_ns, 1_000_000);
}

#[test]
fn a_rate_names_no_unit_of_time() {
    assert_eq!((unit("delay_us"), unit("Latency [µs]"), unit("time.ns")), (Some(1000), Some(1000), Some(1)));
    assert_eq!((unit("requests/s"), unit("bytes"), unit("us")), (None, None, Some(1000)));
    assert_eq!((unit("total_kb_s"), unit("time_per_s"), unit("total_s")), (None, None, Some(1_000_000_000)));
}

#[test]
fn a_unit_in_a_column_of_its_own_is_that_of_the_values_and_no_other_takes_its_place() {
    let read = |text: &str, unit_ns| {
        let apart = looks(text).unwrap();
        parse(text, apart, &Hints { unit_ns, ..Hints::default() })
    };
    for text in ["1 ms\n2 ms\n", "lat unit\n1 ms\n2 ms\n", "lat,unit\n1,ms\n2,ms\n"] {
        let found = read(text, None).unwrap();
        assert_eq!(found.counted.meaning().unit_ns, 1_000_000, "{text}");
        assert!(!found.notes.iter().any(|note| note.contains("no unit")), "{:?}", found.notes);
        assert!(read(text, Some(1_000_000)).is_ok(), "{text}");
        let why = read(text, Some(1000)).map(|_| ()).unwrap_err().to_string();
        assert!(why.contains("values") || why.contains("\"lat\""), "{why}");
        assert!(why.contains("ms") && why.contains("--unit says us"), "{why}");
    }
    let word = read("lat,what\n1,rtt_ms\n2,ping\n", None).unwrap();
    assert_eq!(word.counted.meaning().unit_ns, 1000, "a name that ends as a unit does is none");
    let mixed = read("lat,unit\n1,us\n2,ms\n", None).map(|_| ()).unwrap_err().to_string();
    assert!(mixed.contains("line 3") && mixed.contains("in ms") && mixed.contains("in us"), "{mixed}");
    let lacking = read("lat,unit\n1,us\n2,\n", None).map(|_| ()).unwrap_err().to_string();
    assert!(lacking.contains("no unit"), "{lacking}");
    let otherwise = read("lat_us,unit\n1,ms\n", None).map(|_| ()).unwrap_err().to_string();
    assert!(otherwise.contains("the column beside it says ms"), "{otherwise}");
}
