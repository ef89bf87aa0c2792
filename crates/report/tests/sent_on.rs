//! A page that is sent on: it tells its answer in a link, carries its record, and is no larger than it must be.

mod drawn;
mod made;

use base64::Engine as _;
use dropline_record::{BoundsLine, Record, TrialLine};
use dropline_report::{csv, html};
use made::Made;
use std::io::Read as _;

/// What a link of the page saves, unpacked.
fn saved(page: &str, kind: &str) -> Option<String> {
    let at = page.find(&format!(".{kind}\" href=\"data:"))?;
    let packed = page[at..].split_once("base64,")?.1.split('"').next()?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(packed).expect("it is base64");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("it is packed");
    Some(text)
}

fn many(trials: usize) -> Record {
    let mut record = Made::service(dropline_trial::Arrival::constant(), 7).search();
    let shown = record.trials.clone();
    let trial = |index: usize| {
        let model = &shown[index % shown.len()];
        let scatter = 1.0 + (index * 7919 % 1000) as f64 * 1e-5;
        let bound = |pps: f64| Some(pps * (1.0 + 0.3 / (index + 1) as f64));
        TrialLine {
            number: index as u64 + 1,
            at_s: index as f64 * 1.1,
            duration_s: 1.0,
            elapsed_s: 1.1,
            intended_load_pps: model.intended_load_pps * scatter,
            bounds: vec![
                BoundsLine {
                    lower_pps: bound(180e3),
                    lower_valid: true,
                    upper_pps: bound(184e3),
                    upper_valid: true,
                    median_pps: bound(182e3),
                };
                2
            ],
            ..model.clone()
        }
    };
    record.trials = (0..trials).map(trial).collect();
    record.result.as_mut().expect("it ended").delay_at.clear();
    record
}

#[test]
fn the_title_and_description_of_a_page_are_its_answer() {
    let search = Made::mdr("hard", 1, 10).search();
    let several = vec![search.clone(), Made::mdr("soft", 1, 10).search()];
    for records in [vec![search], vec![made::trial(139_000.0, 10)], several] {
        let page = html(&records);
        let head = page.split_once("<style>").expect("a head").0;
        let title = head.split_once("<title>").expect("a title").1.split_once("</title>").unwrap().0;
        let heading = page.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0;
        let words: String =
            heading.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
        assert_eq!(words.trim_end_matches('.'), title);
        assert!(head.contains(&format!("<meta property=\"og:title\" content=\"{title}\">")), "{head}");
        let described =
            |name: &str| head.split_once(name).expect(name).1.split('"').next().unwrap().to_owned();
        let description = described("name=\"description\" content=\"");
        assert_eq!(description, described("property=\"og:description\" content=\""));
        assert!(!description.is_empty() && !head.contains("og:url"));
    }
}

#[test]
fn every_plot_and_section_can_be_linked_to() {
    let page = html(&[Made::mdr("hard", 1, 10).search(), Made::mdr("soft", 1, 10).search()]);
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|part| part.split('"').next()).collect();
    let parts = page.matches("<figure ").count() + page.matches("<section ").count();
    assert!(ids.len() == parts && parts > 4, "{ids:?}");
    for id in &ids {
        assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{id} is one part's");
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    assert!(ids.contains(&"search-time") && ids.contains(&"every-trial"), "{ids:?}");
    assert_eq!(page.matches("To read values: point at a plot").count(), 1);
}

#[test]
fn a_page_carries_its_record_and_its_trials_as_csv() {
    let record = Made::mdr("hard", 1, 10).search();
    let page = html(std::slice::from_ref(&record));
    assert_eq!(saved(&page, "jsonl").expect("the record is there"), record.to_lines());
    assert_eq!(saved(&page, "csv").expect("the CSV is there"), csv(&record));
}

#[test]
fn a_page_of_200_trials_has_at_most_450_kb_and_one_of_10_000_at_most_3_mb() {
    for (trials, most) in [(200, 450_000), (10_000, 3_000_000)] {
        let record = many(trials);
        let page = html(std::slice::from_ref(&record));
        let of = |from: &str, to: &str| -> usize {
            page.split(from).skip(1).filter_map(|part| part.split(to).next()).map(str::len).sum()
        };
        let parts = [of("<svg", "</svg>"), of("<tbody", "</tbody>"), of("base64,", "\"")];
        assert!(
            page.len() <= most,
            "{trials} trials: {} bytes, of them drawings, tables, files {parts:?}",
            page.len()
        );
        drawn::svgs_of(&page).into_iter().for_each(drawn::assert_sound);
        // Whatever is thinned, every number is there.
        assert_eq!(saved(&page, "csv").expect("the CSV is there"), csv(&record));
        if trials > 1200 {
            assert!(
                page.contains("the others lie on these or beside them") && page.contains("evenly chosen")
            );
        } else {
            assert_eq!(page.matches("<tr data-trial=").count(), trials);
        }
    }
}

#[test]
fn each_mark_of_a_thinned_plot_has_its_row() {
    let page = html(&[many(10_000)]);
    for figure in page.split("<figure ").skip(1).map(|part| part.split("</figure>").next().unwrap()) {
        let rows = figure.matches("<tr data-say=").count();
        for marks in figure.split("data-marks=\"").skip(1).map(|part| part.split('"').next().unwrap()) {
            assert_eq!(marks.split(' ').filter(|mark| !mark.is_empty()).count(), rows);
        }
        assert!(rows <= 1200, "{rows}");
    }
}
