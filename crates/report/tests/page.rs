//! The page as a file: self-contained, inert, true to its record.

mod drawn;
mod made;

use drawn::{assert_sound, svgs_of};
use dropline_record::{CaveatLine, Record};
use dropline_report::{Graph, Style, csv, html, study_page, svgs, text};
use dropline_trial::{Arrival, TrafficProfile};
use made::Made;

fn service() -> Record {
    Made::service(Arrival::constant(), 7).search()
}

#[test]
fn a_page_needs_no_network() {
    let page = html(&[service()]);
    let addresses: Vec<&str> =
        page.match_indices("http").map(|(at, _)| &page[at..(at + 30).min(page.len())]).collect();
    // Names of the SVG language and the policy's own attribute; none is loaded.
    assert!(
        addresses
            .iter()
            .all(|address| address.starts_with("http://www.w3.org/2000/svg")
                || address.starts_with("http-equiv")),
        "{addresses:?}"
    );
    assert!(!page.contains("@import") && !page.contains("url(") && !page.contains(" src="));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_page_without_data_is_small() {
    let empty = Record { trials: Vec::new(), result: None, ..service() };
    let size = html(&[empty]).len();
    assert!(size < 100_000, "{size}");
}

#[test]
fn what_a_record_says_cannot_become_markup() {
    let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&";
    let mut record = service();
    record.header.target = evil.into();
    record.header.target_note = Some(evil.into());
    record.header.generator = Some(evil.into());
    record.header.load_is = evil.into();
    record.header.profile.arrival = evil.into();
    record.header.environment.command_line = vec![evil.into()];
    record.header.environment.cpu = Some(evil.into());
    for trial in &mut record.trials {
        trial.phase = Some(evil.into());
        trial.caveats =
            vec![CaveatLine { code: evil.into(), text: evil.into(), numbers: serde_json::Map::new() }];
        trial.lost_at = Some([(evil.to_owned(), trial.lost)].into());
    }
    let result = record.result.as_mut().expect("it ended");
    result.caveats =
        vec![CaveatLine { code: evil.into(), text: evil.into(), numbers: serde_json::Map::new() }];
    let study = dropline_record::Study { title: evil.into(), name: evil.into(), ..made::study() };
    let graph = Graph { caption: evil.into(), record: record.clone(), time_axis: 0 };
    let pages = [
        html(std::slice::from_ref(&record)),
        html(&[record.clone(), service()]),
        study_page(&study, &[graph], &[], &[]),
    ];
    for page in pages {
        assert_eq!(page.matches("<script").count(), 1, "only the page's own");
        assert!(!page.contains("<img") && page.contains("&lt;script&gt;"));
        svgs_of(&page).into_iter().for_each(assert_sound);
    }
    svgs(&[record.clone()]).iter().for_each(|(_, svg)| assert_sound(svg));
    assert!(!text(&record, Style::default()).contains('\x1b'));
    assert_eq!(csv(&record).matches("\r\n").count(), record.trials.len() + 1);
}

#[test]
fn the_numbers_of_the_page_are_the_records() {
    let record = service();
    let page = html(std::slice::from_ref(&record));
    for goal in &record.result.as_ref().expect("it ended").goals {
        for (name, load) in
            [("headline", goal.headline_pps()), ("lower", goal.lower_pps), ("upper", goal.upper_pps)]
        {
            let said = format!("data-{name}-pps=\"{}\"", load.expect("the answer is regular"));
            assert!(page.contains(&said), "{said}");
        }
    }
    for trial in &record.trials {
        let said = format!("data-trial=\"{}\" data-load-pps=\"{}\"", trial.number, trial.intended_load_pps);
        assert!(page.contains(&said), "{said}");
    }
}

#[test]
fn every_drawing_is_sound_in_both_widths() {
    let records =
        [service(), Made::mdr("inconsistent", 3, 30).search(), Made::mdr("lossless", 3, 30).search()];
    for record in &records {
        let page = html(std::slice::from_ref(record));
        let (wide, narrow) =
            (page.matches("class=\"plot wide\"").count(), page.matches("class=\"plot narrow\"").count());
        assert!(wide >= 2 && wide == narrow, "{wide} and {narrow}");
        svgs_of(&page).into_iter().for_each(assert_sound);
    }
    svgs_of(&html(&records)).into_iter().for_each(assert_sound);
}

#[test]
fn each_plot_is_a_file_that_stands_alone() {
    let record = service();
    let files = svgs(std::slice::from_ref(&record));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let all = ["search-time.svg", "loss.svg", "forwarded.svg", "delay-by-load.svg", "delay.svg"];
    assert_eq!(names, all);
    for (_, svg) in &files {
        assert_sound(svg);
        assert!(svg.contains("<style>") && svg.contains("prefers-color-scheme:dark"));
        assert!(!svg.contains("var("), "librsvg knows no variables: all would be black");
    }
    let two = svgs(&[record.clone(), made::trial(139_000.0, 10)]);
    let names: Vec<&str> = two.iter().map(|(name, _)| name.as_str()).collect();
    let of_search = all.map(|name| name.replace(".svg", "-1.svg"));
    assert_eq!(names[..5], of_search);
    assert_eq!(names[5..], ["delay-2.svg", "slices-2.svg"]);
}

#[test]
fn every_trial_is_one_mark_and_one_row() {
    let record = service();
    let page = html(std::slice::from_ref(&record));
    let graph =
        svgs_of(&page).into_iter().find(|svg| svg.contains("elapsed search time")).expect("it is drawn");
    let root = roxmltree::Document::parse(graph).unwrap();
    let marks = root.root_element().attribute("data-marks").unwrap().split(' ').count();
    assert_eq!(marks, record.trials.len());
    // In the overview of the whole range many lie on one another.
    for figure in drawn::figures_of(&page).iter().filter(|figure| figure.name == "forwarded") {
        assert!(figure.rows.len() <= record.trials.len() && figure.rows.len() > 10);
    }
    assert_eq!(marks, drawn::figures_of(&page)[0].rows.len());
    assert!(shown_in_loss(&page) <= record.trials.len());
}

/// Marks of the plot of loss against load.
fn shown_in_loss(page: &str) -> usize {
    let plot = svgs_of(page).into_iter().find(|svg| svg.contains("loss ratio, log")).expect("it is drawn");
    let root = roxmltree::Document::parse(plot).unwrap();
    root.root_element().attribute("data-marks").map_or(0, |marks| marks.split(' ').count())
}

#[test]
fn an_invalid_bound_is_drawn_apart() {
    let record = Made::mdr("inconsistent", 3, 30).search();
    let invalid = record.trials.iter().flat_map(|trial| &trial.bounds).any(|bounds| !bounds.upper_valid);
    assert!(invalid, "the search had an invalid bound on its way");
    let page = html(&[record]);
    assert!(page.contains("bound invalid s") && page.contains("Dashed: a bound that its last trial"));
}

#[test]
fn searches_side_by_side_share_the_rate_axis_and_a_group_the_time_axis() {
    let graph = |caption: &str, made: Made, time_axis| Graph {
        caption: caption.into(),
        record: made.search(),
        time_axis,
    };
    let graphs = [
        graph("first", Made::mdr("inconsistent", 1, 10), 0),
        graph("second", Made::mdr("inconsistent", 3, 10), 0),
        graph("binary", Made::binary("inconsistent", 1, 60, 0.005), 1),
    ];
    let page = study_page(&made::study(), &graphs, &[], &[]);
    let drawn: Vec<&str> = svgs_of(&page)
        .into_iter()
        .filter(|svg| svg.contains("plot wide") && svg.contains(">axis from"))
        .collect();
    let cut = |svg: &str| svg[svg.find("axis from").unwrap()..].split('<').next().unwrap().to_owned();
    assert_eq!(cut(drawn[0]), cut(drawn[1]));
    assert_eq!(cut(drawn[0]), cut(drawn[2]));
    let last_tick = |svg: &str| {
        let document = roxmltree::Document::parse(svg).unwrap();
        let ticks = document.descendants().filter(|node| node.attribute("text-anchor") == Some("middle"));
        let texts: Vec<(String, String)> = ticks
            .map(|node| (node.attribute("x").unwrap().to_owned(), node.text().unwrap().to_owned()))
            .collect();
        texts.last().unwrap().clone()
    };
    assert_eq!(last_tick(drawn[0]), last_tick(drawn[1]));
    assert_ne!(last_tick(drawn[0]), last_tick(drawn[2]));
    assert!(drawn[2].contains("name t1"), "0.5 % loss has its colour also where it is the only goal");
}

#[test]
fn a_load_that_is_a_sum_is_said_with_its_parts() {
    let mut record = service();
    record.header.profile = dropline_record::ProfileLine::from(&TrafficProfile { ..made::two_directions() });
    record.header.load_is = "the sum over 2 directions: up 1/4, down 3/4".into();
    let page = html(std::slice::from_ref(&record));
    assert!(page.contains("the sum over 2 directions") && page.contains("up 1/4, down 3/4"));
    assert!(
        text(&record, Style { verbose: true, ..Style::default() })
            .contains("the sum over 2 directions: up 1/4, down 3/4")
    );
}

#[test]
fn later_fields_are_shown_when_they_are_there() {
    let mut record = service();
    for goal in &mut record.result.as_mut().expect("it ended").goals {
        goal.median_pps = Some(186_500.0);
        goal.level = Some(0.95);
    }
    let lost = record.trials[0].lost;
    record.trials[0].lost_at = Some([("receive_buffer".to_owned(), lost)].into());
    let (page, shown) = (html(std::slice::from_ref(&record)), text(&record, Style::default()));
    assert!(
        page.contains("Brackets hold the true value with 95\u{a0}% probability")
            && page.contains("95\u{a0}% from")
    );
    assert!(page.contains("drops above") && page.contains("data-headline-pps=\"186500\""));
    assert!(page.contains("receive buffer"));
    assert!(shown.contains("95 % interval") && shown.contains("receive buffer"));
}

#[test]
fn a_page_that_explains_a_loss_says_why_and_what_would_help() {
    let (record, found) = made::explained();
    let page = dropline_report::explained_html(&record, &found);
    for words in
        ["Why packets were lost", "What would help", "constant arrivals", "SO_RCVBUF", "1\u{202f}280"]
    {
        assert!(page.contains(words), "{words}");
    }
    let drawings = svgs_of(&page);
    assert!(drawings.len() >= 6, "three plots, each twice: {}", drawings.len());
    drawings.iter().for_each(|drawing| assert_sound(drawing));
    let files = dropline_report::explained_svgs(&found);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["remedies.svg", "backlog.svg", "burst.svg", "gaps.svg"]);
}

#[test]
fn an_explanation_on_a_terminal_begins_with_the_answer() {
    let (record, found) = made::explained();
    let said = explained_text(&record, &found).replace('\u{202f}', " ");
    assert!(said.starts_with("1 280 of 2 560 packets were lost, all at the receive buffer"), "{said}");
    let at = |words: &str| said.find(words).unwrap_or_else(|| panic!("{words} is not in\n{said}"));
    assert!(
        at("\nwhen") < at("\nbuffer")
            && at("\nmodel") < at("what would help")
            && at("what would help") < at("what would not")
    );
}

#[test]
fn what_the_targets_program_took_and_did_not_answer_is_said_to_be_there() {
    let (record, mut found) = made::explained();
    found.lost_at = Some([("unexplained".to_owned(), 1280u64)].into());
    (found.unanswered, found.load) = (1280, Some(1.6));
    found.model.as_mut().unwrap().md1k = Some(1250.4);
    let said = |found: &dropline_record::Explanation| {
        let said = explained_text(&record, found);
        said.replace(['\u{202f}', '\u{a0}', '\n'], " ").replace("  ", " ")
    };
    let text = said(&found);
    for words in [
        "The target's socket dropped none of these, and no counter on the path has any: the target's program took them",
        "It is offered 1.6 times what it can serve, and a queue of 63 packets loses about as many (1 250).",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    assert!(!text.contains("no counter says where"), "{text}");
    // Where that is not known, it is said what was measured and what was not.
    found.unanswered = 0;
    found.model.as_mut().unwrap().measured = 0;
    found.lacks.push(dropline_record::explanation::Lack::ElsewhereLost);
    let text = said(&found);
    assert!(text.contains("measured 0 at its socket and in its own queue"), "{text}");
    assert!(text.contains("none of the loss is where packets wait for the target"), "{text}");
}

fn explained_text(record: &Record, found: &dropline_record::Explanation) -> String {
    dropline_report::explain_text(
        record,
        &made::explained_line(found),
        Style { verbose: true, ..Style::default() },
    )
}

#[test]
fn an_explanation_says_the_caveats_that_decide_behind_its_answer_and_counts_the_others() {
    use dropline_record::CaveatLine;
    let (record, found) = made::explained();
    let decides = CaveatLine::said("others_came", "others came");
    let beside = CaveatLine::said("timer_slack", "a timer is slack");
    let line =
        dropline_record::ExplainedLine { caveats: vec![beside, decides], ..made::explained_line(&found) };
    let said = |verbose| dropline_report::explain_text(&record, &line, Style { verbose, ..Style::default() });
    let (short, full) = (said(false), said(true));
    let at = |words: &str| short.find(words).unwrap_or_else(|| panic!("{words} is not in\n{short}"));
    assert!(at("were lost") < at("! others came") && at("! others came") < at("\narrivals"));
    assert!(!short.contains("a timer is slack") && short.contains("-v shows them"), "{short}");
    assert!(full.contains("! a timer is slack") && !full.contains("-v shows"), "{full}");
}

#[test]
fn the_median_of_an_interval_is_drawn_over_time_and_stands_among_the_numbers() {
    let without = service();
    let mut with = service();
    let middles: Vec<f64> = with
        .trials
        .iter_mut()
        .flat_map(|trial| &mut trial.bounds)
        .filter_map(|bounds| {
            bounds.median_pps = bounds.lower_pps.zip(bounds.upper_pps).map(|(low, high)| 0.5 * (low + high));
            bounds.median_pps
        })
        .collect();
    assert!(!middles.is_empty());
    let drawn = |record: Record| {
        let page = html(&[record]);
        (page.contains("Dotted: the median of an interval"), page.contains("class=\"median s0\""), page)
    };
    let (said, line, page) = drawn(with);
    assert!(said && line && page.contains("median, "), "the line, its caption and its column");
    let (said, line, page) = drawn(without);
    assert!(!said && !line && !page.contains("median, "), "bounds have none");
}

#[test]
fn the_plot_over_time_says_of_an_answer_what_the_table_says() {
    for (system, words) in [("lossless", "limit not reached"), ("dead", "drops at the lowest load")] {
        let svg = svgs(&[Made::mdr(system, 3, 30).search()])[0].1.clone();
        assert!(svg.contains(&format!(">{words}<")), "{system}");
    }
}

#[test]
fn the_page_of_an_explanation_begins_with_the_cause_and_says_what_would_help_in_classes() {
    let (record, found) = made::explained();
    let page = dropline_report::explained_html(&record, &found);
    let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words} is not on the page"));
    let heading = &page[at("<h1>")..at("</h1>")];
    assert!(heading.contains("were lost") && heading.contains("They came together"), "{heading}");
    assert!(
        at("</h1>") < at("data-plot=\"remedies\"")
            && at("data-plot=\"remedies\"") < at("Why packets were lost")
    );
    let burst = &page[at("data-plot=\"burst\"")..];
    for lane in ["arrivals in each", "the target: ", "packets at the target"] {
        assert!(burst.contains(lane), "{lane}");
    }
}
