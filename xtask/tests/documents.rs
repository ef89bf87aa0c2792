//! What the documents say exists, exists.

mod tree;
use tree::root;

const DOCUMENTS: [&str; 12] = [
    "README.md",
    "ARCHITECTURE.md",
    "GLOSSARY.md",
    "DESIGN.md",
    "METHODOLOGY.md",
    "CONTRIBUTING.md",
    "docs/exec.md",
    "docs/flowgraph.md",
    "docs/how-to-read-a-result.md",
    "docs/lost-packets.md",
    "docs/promises.md",
    "docs/rfc9971.md",
];

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// Words in backticks that look like paths of this repository.
fn paths(text: &str) -> Vec<&str> {
    let starts =
        ["crates/", "xtask/", "docs/", "experiments/", "scenarios/", "tests/", "fuzz/", ".ci/", "schema/"];
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| starts.iter().any(|start| word.starts_with(start)))
        .filter(|word| !word.contains([' ', '*', '<', '{']))
        .map(|word| word.split(':').next().unwrap_or(word))
        .collect()
}

#[test]
fn paths_in_the_documents_exist() {
    let mut seen = 0;
    for name in DOCUMENTS {
        for path in paths(&read(name)) {
            seen += 1;
            assert!(root().join(path).exists(), "{name} names {path}, which does not exist");
        }
    }
    assert!(seen > 20, "only {seen} paths were found: the check reads nothing");
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
    for (name, least) in [("docs/promises.md", 40), ("docs/rfc9971.md", 20)] {
        let text = read(name);
        let named = text.split('`').skip(1).step_by(2).filter_map(|word| word.split_once(".rs: "));
        let mut seen = 0;
        for (file, function) in named {
            seen += 1;
            let source = read(&format!("{file}.rs"));
            assert!(source.contains(&format!("fn {function}(")), "{name}: {file}.rs has no test {function}");
        }
        assert!(seen >= least, "{name}: only {seen} tests were found: the check reads nothing");
    }
}
