//! What the documents say exists, exists, and a reader finds it.

mod tree;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use tree::{files, root, sources};

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

/// Whether a text has this word, and not only a longer one that it is part of.
fn has_word(text: &str, word: &str) -> bool {
    let is_of_word = |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_of_word(text[..at].chars().next_back()) && !is_of_word(text[at + word.len()..].chars().next())
    })
}

/// The texts of a directory's sources, but for their comments.
fn code_below(directory: &Path) -> String {
    let uncommented = |text: String| -> String {
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
    };
    let all = sources(directory).into_iter();
    all.map(|file| uncommented(std::fs::read_to_string(file).unwrap())).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_file_that_a_document_names_without_its_folder_is_there_and_has_the_name_beside_it() {
    let mut all: Vec<PathBuf> = Vec::new();
    for directory in ["crates", "xtask", "python/src", "fuzz/src"] {
        all.extend(sources(&root().join(directory)));
    }
    let (mut seen, mut wrong) = (0, Vec::new());
    // What CONTRIBUTING.md says of samples of changes is of the day on which they were made.
    for document in documents().into_iter().filter(|name| !name.starts_with("experiments")) {
        if document == Path::new("CONTRIBUTING.md") || document == Path::new("CHANGELOG.md") {
            continue;
        }
        let text = prose(&read(&document));
        let words: Vec<&str> = text.split('`').collect();
        for (at, file) in words.iter().enumerate().skip(1).step_by(2) {
            let is_file = file.ends_with(".rs") && !file.contains(['/', '*', ' ', ':']) && file.len() > 3;
            if !is_file {
                continue;
            }
            seen += 1;
            let named: Vec<&PathBuf> = all.iter().filter(|path| path.ends_with(file)).collect();
            let before = at.checked_sub(2).map(|name| (words[name], words[at - 1].trim()));
            let name = before.filter(|(_, between)| ["of", "in"].contains(between)).map(|(name, _)| name);
            let is_name = |name: &&str| name.chars().all(|sign| sign.is_alphanumeric() || sign == '_');
            let has = |path: &&&PathBuf| match name.filter(is_name) {
                Some(name) => has_word(&std::fs::read_to_string(path).unwrap(), name),
                None => true,
            };
            if !named.iter().any(|path| has(&path)) {
                wrong.push(format!("{}: {file}, {name:?}", document.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "not there:\n{}", wrong.join("\n"));
    assert!(seen > 8, "only {seen} files were found: the check reads nothing");
}

#[test]
fn what_architecture_says_that_a_crate_owns_stands_in_it() {
    let text = read("ARCHITECTURE.md");
    let table = text.split("| crate | the noun it owns |").nth(1).expect("the table of crates");
    let (mut seen, mut wrong) = (0, Vec::new());
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`');
        let code = code_below(&root().join("crates").join(name).join("src"));
        let owned = cells[2].split('`').skip(1).step_by(2);
        for noun in owned.filter(|word| word.starts_with(char::is_uppercase)) {
            seen += 1;
            if !has_word(&code, noun) {
                wrong.push(format!("{name} has no {noun}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 40, "only {seen} names were found: the check reads nothing");
}

/// What a module's own comment says of it, and the rest of its text.
fn door(text: &str) -> (String, String) {
    let is_door = |line: &&str| line.starts_with("//!");
    let door = text.lines().filter(is_door).map(|line| &line[3..]).collect::<Vec<_>>().join("\n");
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    (prose(&door), text.lines().filter(is_code).collect::<Vec<_>>().join("\n"))
}

/// The comment at the head of a file is where a reader enters: the files and the modules that it names are there.
#[test]
fn what_the_comment_of_a_module_names_is_there() {
    let (mut seen, mut wrong) = (0, Vec::new());
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    for folder in crates.map(|entry| entry.unwrap().path().join("src")) {
        let of_the_crate = code_below(&folder);
        for file in sources(&folder) {
            let (door, code) = door(&std::fs::read_to_string(&file).unwrap());
            let beside = [root(), folder.clone(), folder.join(".."), file.parent().unwrap().to_owned()];
            for word in door.split('`').skip(1).step_by(2) {
                let path = word.trim_end_matches('/');
                let is_file = [".rs", ".c", ".md"].iter().any(|end| path.ends_with(end));
                if is_file && !path.contains([' ', '*', '…']) && !path.contains("NAME") {
                    seen += 1;
                    if !beside.iter().any(|from| from.join(path).exists()) {
                        wrong.push(format!("{}: {word}", file.display()));
                    }
                }
            }
            // Links, and where to start reading: a module of the file, or anything of the crate that has a path.
            let links = door.split("[`").skip(1).filter_map(|rest| {
                let (name, behind) = rest.split_once("`]")?;
                Some(behind.strip_prefix('(').and_then(|to| to.split(')').next()).unwrap_or(name))
            });
            let begun = door.split("Start reading at ").skip(1).flat_map(|rest| {
                let sentence = rest.split('.').next().unwrap_or_default();
                sentence.split('`').skip(1).step_by(2).collect::<Vec<_>>()
            });
            for name in
                links.chain(begun).filter(|name| !name.starts_with("dropline_") && !name.contains('/'))
            {
                seen += 1;
                let plain = name.rsplit('@').next().unwrap_or(name).trim_end_matches(['(', ')', '!']);
                let there = match plain.rsplit_once("::") {
                    Some((_, last)) => has_word(&of_the_crate, last),
                    None => has_word(&code, plain),
                };
                if !there {
                    wrong.push(format!("{}: {name}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "not there:\n{}", wrong.join("\n"));
    assert!(seen > 120, "only {seen} names were found: the check reads nothing");
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
