//! The Python package: a wheel, and its tests in an environment of their own.

use crate::{Done, newer, root, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What the tests need beside the wheel.
const REQUIREMENTS: &str = "python/tests/requirements.txt";

/// Where everything of it lies.
fn place() -> PathBuf {
    target().join("python")
}

/// A program of the environment.
fn program(name: &str) -> String {
    place().join("venv/bin").join(name).to_string_lossy().into_owned()
}

/// Whether Python is here, and can make an environment.
pub(crate) fn is_here() -> bool {
    Command::new("python3")
        .args(["-c", "import ensurepip, venv"])
        .status()
        .is_ok_and(|status| status.success())
}

/// Makes the environment, with what the tests need.
pub(crate) fn set_up() -> Done {
    environment(&place(), REQUIREMENTS)
}

/// Makes the environment of programs that read what Dropline writes.
pub(crate) fn set_up_readers() -> Done {
    environment(&target().join("readers"), "tests/readers/requirements.txt")
}

/// Makes an environment of Python, with what these requirements name from wherever pip is told to look.
fn environment(place: &Path, requirements: &str) -> Done {
    let done = place.join("installed");
    if newer(&done, &root().join(requirements)) == Some(true) {
        return Ok(());
    }
    let venv = place.join("venv");
    let python = venv.join("bin/python").to_string_lossy().into_owned();
    crate::run("python3", &["-m", "venv", "--clear", &venv.to_string_lossy()])?;
    crate::run(&python, &["-m", "pip", "install", "--quiet", "--requirement", requirements])?;
    std::fs::write(&done, "").map_err(|why| format!("cannot write {}: {why}", done.display()))
}

/// What a host of repositories runs, and the form that each has to have.
const HOSTED: [(&str, &str); 4] = [
    (".github/workflows/ci.yml", "vendor.github-workflows"),
    (".github/workflows/release.yml", "vendor.github-workflows"),
    ("action.yml", "vendor.github-actions"),
    ("packaging/ci/gitlab.yml", "vendor.gitlab-ci"),
];

/// What is written for hosted CI has its host's form, and nothing in it that its linter knows to be unsafe.
fn hosted() -> Done {
    for (file, form) in HOSTED {
        crate::run(&program("check-jsonschema"), &["--builtin-schema", form, file])?;
    }
    crate::run(&program("zizmor"), &["--offline", "--quiet", ".github", "action.yml"])
}

/// The wheel is built and installed, its types are checked, its tests run.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    hosted()?;
    let manifest = "python/Cargo.toml";
    crate::run("cargo", &["fmt", "--manifest-path", manifest, "--check"])?;
    let wheel = wheel("dev", "")?.to_string_lossy().into_owned();
    eprintln!("the wheel took {} s", begun.elapsed().as_secs());
    let python = program("python");
    let install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", &wheel];
    crate::run(&python, &install)?;
    crate::run(&python, &["-m", "mypy", "--config-file", "python/pyproject.toml", "python/python"])?;
    crate::run(&python, &["-m", "mypy.stubtest", "dropline._dropline"])?;
    let words = ["-m", "pytest", "--quiet", "--config-file", "python/pyproject.toml", "python/tests"];
    crate::run(&python, &words)?;
    let examples = ["-m", "pytest", "--quiet", "--doctest-modules", "--pyargs", "dropline"];
    crate::run(&python, &[&examples[..], &["-p", "no:cacheprovider", "--ignore-glob=*robot.py"]].concat())?;
    eprintln!("make test-python took {} s", begun.elapsed().as_secs());
    Ok(())
}

/// A wheel of this profile, with the compiler's flags beside it.
pub(crate) fn wheel(profile: &str, flags: &str) -> Result<PathBuf, String> {
    let wheels = place().join("wheels");
    let _ = std::fs::remove_dir_all(&wheels);
    let (out, built) = (wheels.to_string_lossy().into_owned(), target().to_string_lossy().into_owned());
    let words = ["build", "--locked", "--profile", profile, "--manifest-path", "python/Cargo.toml"];
    let words = [&words[..], &["--target-dir", &built, "--out", &out]].concat();
    match flags {
        "" => crate::run(&program("maturin"), &words)?,
        flags => {
            let flags = format!("RUSTFLAGS={flags}");
            crate::run("env", &[&[flags.as_str(), &program("maturin")], &words[..]].concat())?;
        }
    }
    let found = std::fs::read_dir(&wheels).map_err(|why| format!("cannot read {out}: {why}"))?;
    let is_wheel = |path: &PathBuf| path.extension() == Some(Path::new("whl").as_os_str());
    let mut wheels = found.filter_map(|entry| Some(entry.ok()?.path())).filter(is_wheel);
    wheels.next().ok_or_else(|| format!("maturin left no wheel in {out}"))
}
