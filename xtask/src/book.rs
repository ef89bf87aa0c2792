//! The documents as a site, in target/book.

use crate::{Done, root, run};
use std::fs;
use std::path::Path;
use std::process::Command;

const VERSION: &str = "0.4.52";

/// Documents beside docs/, which its pages link to.
const BESIDE: [(&str, &str); 6] = [
    ("Dropline", "README.md"),
    ("Architecture", "ARCHITECTURE.md"),
    ("Contributing", "CONTRIBUTING.md"),
    ("Design: questions a sceptic would ask", "DESIGN.md"),
    ("Glossary", "GLOSSARY.md"),
    ("Changelog", "CHANGELOG.md"),
];

/// Installs mdBook if it is not there, and builds.
pub(crate) fn build() -> Done {
    let own = root().join("target/mdbook");
    let installed = Command::new("mdbook").arg("--version").output().is_ok();
    let program = if installed { "mdbook".into() } else { own.join("bin/mdbook") };
    if !installed && !program.exists() {
        let place = own.display().to_string();
        run(
            "cargo",
            &[
                "install",
                "mdbook",
                "--locked",
                "--version",
                VERSION,
                "--no-default-features",
                "--root",
                &place,
            ],
        )?;
    }
    let documents = crate::dist::documents()?;
    put_together(&root().join("target/book-source"), &documents)
        .map_err(|why| format!("the book's source: {why}"))?;
    run(&program.display().to_string(), &["build"])
}

/// Copies the documents and what they lead to, with the places that they have here, and writes the summary.
fn put_together(source: &Path, documents: &[String]) -> std::io::Result<()> {
    if source.exists() {
        fs::remove_dir_all(source)?;
    }
    for name in documents {
        let to = source.join(name);
        fs::create_dir_all(to.parent().expect("it lies in the source"))?;
        copy_page(&root().join(name), &to)?;
    }
    let mut summary = fs::read_to_string(root().join("docs/SUMMARY.md"))?.replace("](", "](docs/");
    fs::remove_file(source.join("docs/SUMMARY.md"))?;
    summary += "\n# The project\n\n";
    for (title, name) in BESIDE {
        summary += &format!("- [{title}]({name})\n");
    }
    summary += "\n# What was measured\n\n";
    let study = |page: &&String| page.starts_with("experiments/") && page.matches('/').count() == 2;
    for page in documents.iter().filter(study) {
        let name = page.split('/').nth(1).unwrap_or_default();
        summary += &format!("- [{name}]({page})\n");
    }
    fs::write(source.join("SUMMARY.md"), summary)
}

/// Copies a file; what a page calls README.md mdBook calls index.
fn copy_page(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.extension().is_some_and(|end| end == "md") {
        fs::write(
            to,
            fs::read_to_string(from)?.replace("README.md)", "index.md)").replace("README.md#", "index.md#"),
        )
    } else {
        fs::copy(from, to).map(drop)
    }
}
