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
    put_together(&root().join("target/book-source")).map_err(|why| format!("the book's source: {why}"))?;
    run(&program.display().to_string(), &["build"])
}

/// Copies what the book is made of, with the places that it has here, and writes its summary.
fn put_together(source: &Path) -> std::io::Result<()> {
    if source.exists() {
        fs::remove_dir_all(source)?;
    }
    copy(&root().join("docs"), &source.join("docs"))?;
    let mut summary = fs::read_to_string(root().join("docs/SUMMARY.md"))?.replace("](", "](docs/");
    fs::remove_file(source.join("docs/SUMMARY.md"))?;
    summary += "\n# The project\n\n";
    for (title, name) in BESIDE {
        copy_page(&root().join(name), &source.join(name))?;
        summary += &format!("- [{title}]({name})\n");
    }
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy_page(&root().join(license), &source.join(license))?;
    }
    summary += "\n# What was measured\n\n";
    let mut studies: Vec<_> =
        fs::read_dir(root().join("experiments"))?.flatten().map(|entry| entry.path()).collect();
    studies.sort();
    for study in studies.iter().filter(|study| study.join("README.md").exists()) {
        let name = study.file_name().unwrap_or_default().to_string_lossy();
        fs::create_dir_all(source.join("experiments").join(&*name))?;
        let page = format!("experiments/{name}/README.md");
        copy_page(&root().join(&page), &source.join(&page))?;
        summary += &format!("- [{name}]({page})\n");
    }
    fs::write(source.join("SUMMARY.md"), summary)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)?.flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            copy_page(&path, &to)?;
        }
    }
    Ok(())
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
