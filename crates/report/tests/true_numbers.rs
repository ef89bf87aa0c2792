//! Nothing is said that is not so: each number of every kind of page, text, line and table is one of its record.

mod drawn;
mod made;

use drawn::figures_of;
use dropline_record::{CaveatLine, Record};
use dropline_report::{Style, csv, explained_html, html, line, markdown, object, text};
use dropline_trial::{Arrival, Caveat};
use made::Made;

/// Records of every kind that a page shows.
fn kinds() -> Vec<(&'static str, Vec<Record>)> {
    let service = || Made::service(Arrival::constant(), 7).search();
    let mut doubted = service();
    let states = Caveat::TwoStates { slow_pps: 170e3, fast_pps: 200e3, slow: 0.5, by_chance: None };
    doubted.result.as_mut().expect("it ended").caveats.push(CaveatLine::from(&states));
    let mut turns = made::trial(139_000.0, 10);
    let mut other = made::trial(150_000.0, 10).trials.remove(0);
    (other.number, other.target) = (2, "udp://127.0.0.1:7008".into());
    turns.trials.push(other);
    let mut stopped = made::trial(139_000.0, 10);
    stopped.trials[0].duration_s = 2.917;
    let cut_off = Record { result: None, ..service() };
    vec![
        ("two goals with delays", vec![service()]),
        ("Poisson arrivals", vec![Made::service(Arrival::poisson(), 3).search()]),
        ("doubted", vec![doubted]),
        ("cut off", vec![cut_off]),
        ("a hard limit", vec![Made::mdr("hard", 1, 10).search()]),
        ("bounds that fell", vec![Made::mdr("inconsistent", 3, 30).search()]),
        ("never lost", vec![Made::mdr("lossless", 3, 30).search()]),
        ("always lost", vec![Made::mdr("dead", 3, 30).search()]),
        ("bisection", vec![Made::binary("consistent", 1, 10, 0.005).search()]),
        ("a trial", vec![made::trial(139_000.0, 10)]),
        ("a trial that was stopped", vec![stopped]),
        ("turns", vec![turns]),
        ("several", vec![Made::mdr("hard", 1, 10).search(), Made::mdr("soft", 1, 10).search(), service()]),
    ]
}

/// Words without tags, with plain spaces; thousands stay together.
fn words(markup: &str) -> String {
    let text: String =
        markup.split('<').map(|part| part.split_once('>').map_or(part, |(_, words)| words)).collect();
    text.replace('\u{202f}', "").replace('\u{a0}', " ").replace('\u{2212}', "-")
}

/// The name of a percentile, or the whole of which one is told: `p99.9`, `one in 1000`.
fn is_name(word: &str) -> bool {
    word.starts_with('p') || ["100", "1000"].contains(&word)
}

/// Each number of a text with the digits behind its point, and the word after it.
fn numbers(text: &str) -> Vec<(f64, usize, String)> {
    let mut found = Vec::new();
    // Where plain blanks part the thousands, they belong together.
    let mut parts: Vec<String> = Vec::new();
    for word in text.split([' ', '\n']) {
        let digits =
            |text: &str, most: usize| text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit());
        let [head, rest] = [word.get(..3), word.get(3..)].map(Option::unwrap_or_default);
        let is_group = head.len() == 3
            && digits(head, 3)
            && !rest.starts_with(|sign: char| sign.is_ascii_digit() || sign == '.');
        match parts.last_mut() {
            Some(before) if is_group && !before.is_empty() && digits(before, 9) => before.push_str(word),
            _ => parts.push(word.to_owned()),
        }
    }
    let mut all = parts.iter().map(String::as_str).peekable();
    while let Some(word) = all.next() {
        let bare = word.trim_matches(|sign: char| !sign.is_ascii_digit());
        let digits = bare.bytes().filter(u8::is_ascii_digit).count();
        let (Ok(value), true) =
            (bare.parse::<f64>(), digits >= 3 && !word.contains(['/', ':']) && !is_name(word))
        else {
            continue;
        };
        let decimals = bare.split_once('.').map_or(0, |(_, behind)| behind.len());
        let unit = all.peek().map_or("", |next| next.trim_end_matches([',', '.', ';', ']'])).to_owned();
        found.push((value, decimals, unit));
    }
    found
}

/// Every number of a record, and what follows from a pair of bounds.
fn known(records: &[Record]) -> Vec<f64> {
    fn collect(value: &serde_json::Value, known: &mut Vec<f64>) {
        match value {
            serde_json::Value::Number(number) => known.extend(number.as_f64()),
            serde_json::Value::String(text) => known.extend(text.parse::<f64>().ok()),
            serde_json::Value::Array(all) => all.iter().for_each(|one| collect(one, known)),
            serde_json::Value::Object(all) => all.values().for_each(|one| collect(one, known)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    for record in records {
        collect(&object(record), &mut all);
        record
            .to_lines()
            .lines()
            .for_each(|line| collect(&serde_json::from_str(line).expect("JSON"), &mut all));
        let bounds = record.trials.iter().flat_map(|trial| &trial.bounds);
        all.extend(bounds.filter_map(|at| Some((at.upper_pps? - at.lower_pps?) / at.upper_pps?)));
        for answer in record.answers().into_iter().flatten() {
            all.extend(answer.upper_pps.zip(answer.lower_pps).map(|(upper, lower)| (upper - lower) / upper));
        }
        // What one search found beside another.
        let headlines = |record: &Record| -> Vec<f64> {
            record.answers().into_iter().flatten().filter_map(|answer| answer.headline_pps()).collect()
        };
        for other in records.iter().flat_map(&headlines) {
            all.extend(headlines(record).into_iter().map(|load| load / other - 1.0).map(f64::abs));
        }
        all.push(record.trials.iter().map(|trial| trial.duration_s).sum());
        all.push(record.trials.iter().map(|trial| trial.elapsed_s).sum());
        all.push(record.trials.iter().map(|trial| trial.offered.0 as f64).sum());
        all.push(record.trials.iter().map(|trial| trial.lost.0 as f64).sum());
    }
    all
}

/// The ends of answers: each is rounded outwards, by up to a whole unit of its last digit.
fn ends(records: &[Record]) -> Vec<f64> {
    let of = |record: &Record| -> Vec<f64> {
        let answers = record.answers().into_iter().flatten();
        answers
            .flat_map(|answer| {
                let open = dropline_report::denied(record, &answer);
                let stated = answer.headline_pps().filter(|_| answer.level.is_none());
                let open = open.map_or([None; 2], |open| [open.low_pps, open.high_pps]);
                [stated, answer.lower_pps, answer.upper_pps, open[0], open[1]]
            })
            .flatten()
            .collect()
    };
    records.iter().flat_map(of).collect()
}

/// Whether a number that is shown is one of those, in some unit, to its last digit, or such an end.
fn is_known(shown: f64, decimals: usize, known: &[f64], ends: &[f64]) -> bool {
    let last = 10f64.powi(-(decimals as i32));
    let within = |value: f64, units: f64| (value - shown).abs() <= units * last.max(value.abs() * 1e-9);
    let near = |value: f64| within(value, 0.5001);
    if ends.iter().any(|end| [1.0, 1e-3, 1e-6, 1e-9].iter().any(|scale| within(end * scale, 1.0))) {
        return true;
    }
    // Three digits of a number above a thousand end before its point.
    let rounded = |value: f64| decimals == 0 && shown >= 1000.0 && (value / shown - 1.0).abs() < 5.1e-3;
    let scales = [1.0, 1e-3, 1e-6, 1e-9, 1e2, 1e3, 1e6];
    known.iter().any(|value| scales.iter().any(|scale| near(value * scale) || rounded(value * scale)))
}

#[test]
fn each_number_of_an_answer_is_of_the_record_on_the_page_in_text_in_a_line_and_in_markdown() {
    for (kind, records) in kinds() {
        let (known, ends) = (known(&records), ends(&records));
        let page = html(&records);
        let between = |from: &str, to: &str| {
            page.split_once(from)
                .map_or("", |(_, after)| after.split(to).next().unwrap_or_default())
                .to_owned()
        };
        let mut said = vec![
            ("headline", between("<h1>", "</h1>")),
            ("title", between("<title>", "</title>")),
            ("lead", between("<p class=\"lead\">", "</p>")),
            ("table", between("<tbody>", "</tbody>").replace("</td>", " ; ")),
        ];
        if let [only] = records.as_slice() {
            let first = text(only, Style { width: 200, ..Style::default() });
            said.push(("line", line(only).rsplit_once(". ").expect("its date").0.to_owned()));
            said.push(("text", first.split("\n\n").next().unwrap_or_default().to_owned()));
        }
        said.push(("Markdown", markdown(&records).split("\n\n").next().unwrap_or_default().to_owned()));
        for (place, said) in said {
            for (value, decimals, unit) in numbers(&words(&said)) {
                assert!(
                    is_known(value, decimals, &known, &ends),
                    "{kind}, {place}: {value} {unit} in {}",
                    words(&said)
                );
            }
        }
    }
}

/// Plots whose title states values of its own marks, and what it may state besides.
const OF_THEIR_MARKS: [&str; 5] = ["delay", "loss", "forwarded", "delay-by-load", "over-time"];

#[test]
fn each_value_of_a_title_is_a_mark_of_the_plot_below_it() {
    let mut titles = 0;
    for (kind, records) in kinds() {
        for figure in figures_of(&html(&records)) {
            if !OF_THEIR_MARKS.contains(&figure.name.as_str()) {
                continue;
            }
            let (label, title) = match records.len() {
                1 => ("", figure.title.as_str()),
                // The search that it is of stands before it.
                _ => figure.title.rsplit_once(": ").unwrap_or_default(),
            };
            assert_eq!(label.is_empty(), records.len() == 1);
            let figure = drawn::Figure { title: title.to_owned(), ..figure.clone() };
            figure.assert_title_is_of_its_rows();
            let cells: Vec<String> = figure.rows.iter().flatten().map(|cell| words(cell)).collect();
            let here = figure.title.split(';').next().unwrap_or_default().to_owned();
            let here = if figure.name == "forwarded" { figure.title.clone() } else { here };
            for (value, decimals, unit) in numbers(&words(&here)) {
                let shown = format!("{value:.decimals$}");
                let is_of = |cell: &String| cell.split(' ').any(|part| part == shown);
                // Slices are heads of columns there.
                let is_told = cells.iter().any(is_of) || figure.name == "over-time";
                assert!(
                    is_told,
                    "{kind}, {}: {shown} {unit} of {:?} is in no row: {cells:?}",
                    figure.name, figure.title
                );
                titles += 1;
            }
        }
    }
    assert!(titles > 20, "{titles} values of titles were looked at");
}

#[test]
fn what_is_said_to_who_does_not_see_a_plot_is_its_title_and_a_row_is_read_out_as_it_stands() {
    let (explained, found) = made::explained();
    let mut pages: Vec<String> = kinds().iter().map(|(_, records)| html(records)).collect();
    pages.push(explained_html(&explained, &found));
    for page in pages {
        for figure in page.split("<figure ").skip(1).map(|part| part.split("</figure>").next().unwrap()) {
            let part = |from: &str, to: &str| {
                words(figure.split_once(from).expect(from).1.split(to).next().unwrap())
            };
            assert_eq!(part("<h2>", "</h2>"), part("<title>", "</title>"));
            for row in figure.split("<tr data-say=\"").skip(1) {
                let (said, cells) = row.split_once("\">").expect("a row");
                let said = words(said);
                let cells = words(&cells.split("</tr>").next().unwrap().replace("</td>", " ; "));
                let of_cells = numbers(&cells);
                // A sentence may leave a cell out, and states none that is not in one.
                for (value, decimals, _) in numbers(&said) {
                    let is_there = of_cells.iter().any(|(other, _, _)| {
                        (other - value).abs()
                            <= 0.5001 * 10f64.powi(-(decimals as i32)).max(other.abs() * 5e-3)
                    });
                    let is_phase = said.contains("trial ") && decimals == 0;
                    assert!(is_there || is_phase, "{value} of {said:?} is not in {cells:?}");
                }
            }
        }
    }
}

#[test]
fn csv_and_json_have_the_numbers_of_the_record_to_the_last_digit() {
    for (kind, records) in kinds() {
        for record in &records {
            let table = csv(record);
            let mut lines = table.lines();
            let heads: Vec<&str> = lines.next().expect("heads").split(',').collect();
            let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
            let object = object(record);
            assert_eq!(rows.len(), record.trials.len(), "{kind}");
            for (index, trial) in record.trials.iter().enumerate() {
                let of = |head: &str| heads.iter().position(|known| *known == head).map(|at| rows[index][at]);
                let json = &object["trials"][index];
                for (head, value) in [
                    ("intended_load_pps", trial.intended_load_pps),
                    ("offered", trial.offered.0 as f64),
                    ("forwarded", trial.forwarded.0 as f64),
                    ("lost", trial.lost.0 as f64),
                    ("forwarding_rate_pps", trial.forwarding_rate_pps),
                    ("duration_s", trial.duration_s),
                ] {
                    let cell = of(head).unwrap_or_else(|| panic!("{head} is not in {heads:?}"));
                    assert_eq!(cell.parse::<f64>().ok(), Some(value), "{kind}, CSV, {head}");
                    if !json.is_null() {
                        let told = &json[head];
                        let told = told.as_f64().or_else(|| told.as_str()?.parse().ok());
                        assert_eq!(told, Some(value), "{kind}, JSON, {head}");
                    }
                }
            }
        }
    }
}
