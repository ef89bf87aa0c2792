//! What the documents say exists, exists, and a reader finds it.

mod tree;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use tree::{files, root};

/// Every document, as a path from the repository.
fn documents() -> Vec<PathBuf> {
    let root = root();
    let mut found: Vec<PathBuf> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    for directory in ["docs", "experiments", "c", "fuzz"] {
        found.extend(files(&root.join(directory), "md"));
    }
    found.sort();
    found.iter().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect()
}

fn read(name: impl AsRef<Path>) -> String {
    let name = name.as_ref();
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|why| panic!("{}: {why}", name.display()))
}

/// The text without what stands in fences.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Words in backticks that look like paths of this repository.
fn paths(text: &str) -> Vec<&str> {
    let starts = [
        "crates/",
        "xtask/",
        "docs/",
        "experiments/",
        "scenarios/",
        "tests/",
        "fuzz/",
        ".ci/",
        "schema/",
        "python/",
        "c/",
    ];
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| starts.iter().any(|start| word.starts_with(start)))
        .filter(|word| !word.contains([' ', '*', '<', '{', '…']) && !word.contains("NAME"))
        .map(|word| word.split(':').next().unwrap_or(word))
        .collect()
}

/// Where a document's links lead: a path from the repository, and an anchor. Links to the outside are left out.
fn links(document: &Path, text: &str) -> Vec<(PathBuf, String)> {
    let words = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let inside = words.filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
    inside
        .map(|link| {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let mut path = if file.is_empty() { document.to_owned() } else { PathBuf::new() };
            if !file.is_empty() {
                for part in document.parent().unwrap().join(file).components() {
                    match part {
                        Component::ParentDir => drop(path.pop()),
                        part => path.push(part),
                    }
                }
            }
            (path, anchor.to_owned())
        })
        .collect()
}

/// The anchors of a document, as browsers and mdBook know its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let named = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    named
        .map(|name| {
            let kept = name.chars().filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
            kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
        })
        .collect()
}

/// The pages below docs/ that a document links to.
fn pages(document: &str) -> Vec<PathBuf> {
    let linked = links(Path::new(document), &prose(&read(document))).into_iter().map(|(path, _)| path);
    linked.filter(|path| path.starts_with("docs")).collect()
}

#[test]
fn paths_in_the_documents_exist() {
    let mut seen = 0;
    for name in documents() {
        for path in paths(&prose(&read(&name))) {
            seen += 1;
            let there =
                root().join(path).exists() || root().join(&name).parent().unwrap().join(path).exists();
            assert!(there, "{} names {path}, which does not exist", name.display());
        }
    }
    assert!(seen > 120, "only {seen} paths were found: the check reads nothing");
}

#[test]
fn every_link_leads_to_a_file_and_every_anchor_to_a_heading() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for name in documents() {
        for (path, anchor) in links(&name, &prose(&read(&name))) {
            seen += 1;
            let there = root().join(&path).exists();
            if !there || (!anchor.is_empty() && !anchors(&prose(&read(&path))).contains(&anchor)) {
                wrong.push(format!("{}: {}#{anchor}", name.display(), path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
    assert!(seen > 60, "only {seen} links were found: the check reads nothing");
}

#[test]
fn the_summary_names_every_page_once_and_the_index_links_to_it() {
    let mut all: Vec<PathBuf> = documents().into_iter().filter(|path| path.starts_with("docs")).collect();
    all.retain(|path| !path.ends_with("SUMMARY.md"));
    let mut summary = pages("docs/SUMMARY.md");
    summary.sort();
    assert_eq!(summary, all, "docs/SUMMARY.md names each page of docs once");
    assert!(pages("README.md").contains(&"docs/README.md".into()), "README.md leads to docs/README.md");
    let index = pages("docs/README.md");
    let lost = all.iter().filter(|page| !page.ends_with("docs/README.md") && !index.contains(page));
    assert_eq!(lost.collect::<Vec<_>>(), [] as [&PathBuf; 0], "docs/README.md does not link to these");
}

/// Pages with Rust blocks, and what compiles each.
const COMPILED: [(&str, &str); 2] = [
    ("docs/how-to/sdr-graphs.md", "crates/trace/src/lib.rs"),
    ("docs/how-to/trace-a-pipeline.md", "crates/cli/tests/flowgraph.rs"),
];

#[test]
fn every_rust_block_of_a_document_is_compiled() {
    let all = documents();
    let with_blocks =
        all.iter().filter(|name| read(name).contains("```rust\n")).map(|name| name.to_string_lossy());
    assert_eq!(with_blocks.collect::<Vec<_>>(), COMPILED.map(|(page, _)| page));
    for (page, by) in COMPILED {
        assert!(read(by).contains(page), "{by} does not compile {page}");
    }
}

#[test]
fn the_readmes_two_commands_are_in_the_makefile() {
    let makefile = read("Makefile");
    for command in ["make demo", "make test"] {
        assert!(read("README.md").contains(command), "README.md lacks {command}");
        let target = format!("\n{}:", command.strip_prefix("make ").unwrap());
        assert!(makefile.contains(&target), "Makefile lacks {command}");
    }
}

#[test]
fn architecture_names_every_crate() {
    let text = read("ARCHITECTURE.md");
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(text.contains(&format!("`{name}`")), "ARCHITECTURE.md does not name {name}");
    }
}

#[test]
fn tests_that_the_documents_name_are_there() {
    for (name, least) in [("docs/promises.md", 100), ("docs/reference/rfc9971.md", 20)] {
        let text = read(name);
        let named = text.split('`').skip(1).step_by(2).filter_map(|word| word.split_once(".rs: "));
        let mut seen = 0;
        for (file, function) in named {
            seen += 1;
            let source = read(format!("{file}.rs"));
            assert!(source.contains(&format!("fn {function}(")), "{name}: {file}.rs has no test {function}");
        }
        assert!(seen >= least, "{name}: only {seen} tests were found: the check reads nothing");
    }
}

/// Names that a document puts behind a file: `crates/…/x.rs`: `name`, or `name` of `crates/…/x.rs`.
fn names_of_files(text: &str) -> Vec<(&str, &str)> {
    let text: Vec<&str> = text.split('`').collect();
    let is_file = |word: &str| paths(&format!("`{word}`")).contains(&word) && word.ends_with(".rs");
    let is_name = |word: &str| {
        let signs = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':';
        word.len() > 1 && word.chars().all(signs) && word.chars().any(char::is_alphabetic)
    };
    // Every second part stands in backticks.
    let triples = text.windows(3).enumerate().filter(|(at, _)| at % 2 == 1).map(|(_, words)| words);
    triples
        .filter_map(|words| match *words {
            [file, ": " | ":\n   ", name] if is_file(file) && is_name(name) => Some((file, name)),
            [name, " of " | " of\n" | " in " | " of\n   " | " in\n   ", file]
                if is_file(file) && is_name(name) =>
            {
                Some((file, name))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn names_that_a_document_puts_behind_a_file_stand_in_it() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for document in documents().into_iter().filter(|name| !name.starts_with("experiments")) {
        for (file, name) in names_of_files(&prose(&read(&document))) {
            seen += 1;
            let last = name.rsplit("::").next().unwrap_or(name);
            let there = root().join(file).exists() && read(file).contains(last);
            if !there {
                wrong.push(format!("{}: {file} has no {name}", document.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 30, "only {seen} names were found: the check reads nothing");
}

#[test]
fn every_variable_that_is_read_has_its_row() {
    let page = read("docs/reference/environment.md");
    let mut read_ones = BTreeSet::new();
    for (directory, end) in [("crates", "rs"), ("python/python", "py"), ("python/src", "rs")] {
        for path in files(&root().join(directory), end) {
            let text = std::fs::read_to_string(&path).unwrap();
            let words = text.split('"').filter(|word| {
                let is_name =
                    word.chars().all(|sign| sign.is_ascii_uppercase() || sign == '_' || sign == '3');
                is_name
                    && ["DROPLINE_", "AWS_"]
                        .iter()
                        .any(|begin| word.len() > begin.len() && word.starts_with(begin))
            });
            read_ones.extend(words.map(str::to_owned));
        }
    }
    assert!(read_ones.len() > 12, "only {read_ones:?} were found: the check reads nothing");
    let lost: Vec<_> = read_ones.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(lost.is_empty(), "docs/reference/environment.md has no row for {lost:?}");
}
