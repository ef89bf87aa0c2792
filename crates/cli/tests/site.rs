//! A history as files for any web server.

mod command;
mod nights;

use command::Bench;
use nights::{add, nights, records};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

/// Every file below a directory, by its path from there on.
fn files(directory: &Path) -> BTreeMap<String, String> {
    fn walk(directory: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
        for entry in directory.read_dir().unwrap().flatten() {
            let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => walk(&entry.path(), &format!("{name}/"), found),
                false => drop(found.insert(name, std::fs::read_to_string(entry.path()).unwrap())),
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(directory, "", &mut found);
    found
}

/// The pages that a page leads to, from the root on.
fn links(page: &str, text: &str) -> BTreeSet<String> {
    let hrefs = text.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let pages = hrefs.filter(|href| !href.starts_with('#') && !href.starts_with("data:"));
    let to = |href: &str| {
        let mut at: Vec<&str> = page.split('/').collect();
        at.pop();
        for part in href.split('/') {
            match part {
                ".." => drop(at.pop().expect("no link leads out")),
                part => at.push(part),
            }
        }
        at.join("/")
    };
    pages.map(to).collect()
}

/// A history of so many nights and a trial.
fn history(count: usize) -> Bench {
    let bench = Bench::new();
    let names = nights(&bench, count);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(add(&bench, &all).code, Some(0));
    bench.done(&["trial", "sim:soft", "--load=1kpps", "-q", "--history", "nights"]);
    bench
}

#[test]
fn a_site_has_a_page_for_each_record_and_limit_and_every_link_leads_to_one() {
    let bench = history(102);
    let told = bench.done(&["report", "nights", "--site", "public"]);
    assert!(told.text.contains("public/index.html"), "{}", told.text);
    let site = files(&bench.path("public"));
    let count = |start: &str| site.keys().filter(|page| page.starts_with(start)).count();
    assert_eq!(
        (count("record/"), count("trend/"), count("index"), count("trends")),
        (103, 2, 2, 1),
        "the share that came back of the trial is one"
    );
    let mut reached = BTreeSet::from(["index.html".to_owned()]);
    for (page, text) in &site {
        assert!(text.starts_with("<!DOCTYPE html><!-- drawn by dropline -->"), "{page}");
        assert!(!text.contains("<form") && !text.contains("<input"), "{page}: files cannot be asked");
        for link in links(page, text) {
            assert!(site.contains_key(&link), "{page} leads to {link}, which is not there");
            reached.insert(link);
        }
    }
    assert_eq!(reached, site.keys().cloned().collect(), "each page is reached");
    // The page of a record is that of the record alone, below its links.
    let (file, _) = records(&bench.path("nights")).pop_first().unwrap();
    bench.done(&["report", &format!("nights/{file}"), "--html", "page.html"]);
    let main = |page: &str| page[page.find("<main>").unwrap()..].to_owned();
    let page = &site[&format!("record/{}.html", file.strip_suffix(".jsonl").unwrap())];
    assert_eq!(main(page), main(&bench.read("page.html")));
}

#[test]
fn what_is_not_a_page_of_ours_is_not_touched_and_what_did_not_change_is_not_drawn_again() {
    let bench = history(2);
    std::fs::create_dir(bench.path("public")).unwrap();
    bench.write("public/robots.txt", "mine");
    let site = |more: &[&str]| bench.run(&[&["report", "nights", "--site", "public"], more].concat());
    assert_eq!(site(&[]).code, Some(0));
    let first = files(&bench.path("public"));
    assert_eq!(first["robots.txt"], "mine");
    let when = |page: &str| -> SystemTime {
        bench.path("public").join(page).metadata().unwrap().modified().unwrap()
    };
    let page = first.keys().find(|page| page.starts_with("record/2026/03/01")).unwrap();
    let before = when(page);
    let again = site(&[]);
    assert!(again.errors.contains("3 as before"), "{}", again.errors);
    assert_eq!((files(&bench.path("public")), when(page)), (first.clone(), before));
    // One more night: its page, and the lists.
    nights(&bench, 3);
    add(&bench, &["2.jsonl"]);
    assert!(site(&[]).errors.contains("3 as before"));
    let more = files(&bench.path("public"));
    assert_eq!(more.len(), first.len() + 1);
    assert_ne!(more["index.html"], first["index.html"]);
    // A page of somebody else is in the way: it is named, and nothing was drawn.
    std::fs::remove_dir_all(bench.path("public")).unwrap();
    std::fs::create_dir(bench.path("public")).unwrap();
    bench.write("public/index.html", "<p>my own page");
    let refused = site(&[]);
    assert!(refused.code == Some(2) && refused.errors.contains("is not written over"), "{}", refused.errors);
    assert_eq!(files(&bench.path("public")).len(), 1);
    // So is one in the place of a record's page.
    std::fs::remove_file(bench.path("public/index.html")).unwrap();
    let last = first.keys().rfind(|page| page.starts_with("record/")).unwrap();
    std::fs::create_dir_all(bench.path("public").join(last).parent().unwrap()).unwrap();
    bench.write(&format!("public/{last}"), "<p>my own page");
    let refused = site(&[]);
    assert!(refused.code == Some(2) && refused.errors.contains("is not written over"), "{}", refused.errors);
    assert_eq!(files(&bench.path("public")).len(), 1, "nothing was drawn");
    for (words, says) in [
        (&["report", "nights", "other", "--site", "p"][..], "one history"),
        (&["report", "nowhere", "--site", "p"], "there is no history"),
        (&["report", "--site", "p"], "no history is named"),
        (&["report", "nights", "--site", "p", "--json"], "cannot be used with"),
    ] {
        let refused = bench.run(words);
        assert!(refused.code == Some(2) && refused.errors.contains(says), "{words:?}: {}", refused.errors);
    }
}

#[test]
fn a_site_writes_through_no_link_and_leads_to_a_page_for_each_record_that_cannot_be_drawn() {
    let bench = history(2);
    std::fs::create_dir_all(bench.path("public")).unwrap();
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(bench.path("elsewhere"), bench.path("public/record")).unwrap();
    let site = || bench.run(&["report", "nights", "--site", "public"]);
    let refused = site();
    assert!(refused.code == Some(4) && refused.errors.contains("record is a link"), "{}", refused.errors);
    assert_eq!(files(&bench.path("elsewhere")).len(), 0);
    std::fs::remove_file(bench.path("public/record")).unwrap();
    // Longer than what is drawn: a line of trials again and again.
    let (file, _) = records(&bench.path("nights")).pop_first().unwrap();
    let path = bench.path("nights").join(&file);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str(&"\n".repeat(65 << 20));
    std::fs::write(&path, text).unwrap();
    let drawn = site();
    assert!(drawn.errors.contains("1 record not drawn"), "{}", drawn.errors);
    let pages = files(&bench.path("public"));
    for (page, text) in &pages {
        links(page, text).iter().for_each(|link| assert!(pages.contains_key(link), "{page} leads to {link}"));
    }
}
