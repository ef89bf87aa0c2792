//! What users install: a package for Debian, an archive, an image that holds one static program, and a wheel for Python. No
//! file names the directory or the time in which it was built.

use crate::{Done, root, run, run_in, target};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built: the name of it that the compiler has, and that packages have.
const MACHINE: (&str, &str) = match cfg!(target_arch = "aarch64") {
    true => ("aarch64-unknown-linux-gnu", "arm64"),
    false => ("x86_64-unknown-linux-gnu", "amd64"),
};
/// A larger program would be a mistake: so much is promised, and more by what one holds that needs no library.
const MOST_BYTES: u64 = 15 << 20;
const MORE_ALONE: u64 = 3 << 19;
const MOST_OF_WHEEL: u64 = 7 << 19;
/// Shells, and where Debian keeps the completions of each.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/dropline"),
    ("fish", "usr/share/fish/vendor_completions.d/dropline.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_dropline"),
];

/// Builds everything, into `target/packages`, and tries each in an empty root.
pub(crate) fn run_all() -> Done {
    let made = Made::of(&target().join("packages"))?;
    let [shared, alone] = [program(&made, false)?, program(&made, true)?];
    made.package(&shared)?;
    made.archive(&shared)?;
    made.image(&alone)?;
    let wheel = made.wheel()?;
    let mut sums = String::new();
    for name in ["dropline.deb", "dropline.tar.gz", "dropline-static", "image.tar", &wheel] {
        sums += &format!("{}  {name}\n", sum(&made.place.join(name))?);
    }
    write(&made.place.join("SHA256SUMS"), &sums)?;
    eprint!("{sums}");
    Ok(())
}

/// Where it is made, and of what.
struct Made {
    place: PathBuf,
    version: String,
    /// The second of the commit, which is the time of every file.
    epoch: String,
}

impl Made {
    fn of(place: &Path) -> Result<Self, String> {
        let cargo = said("cargo", &["metadata", "--no-deps", "--format-version=1", "--locked"])?;
        let cargo: Value = serde_json::from_str(&cargo).map_err(|why| why.to_string())?;
        let packages = cargo["packages"].as_array().into_iter().flatten();
        let version =
            packages.clone().find(|package| package["name"] == "dropline").map(|own| &own["version"]);
        let version = version.and_then(Value::as_str).ok_or("there is no package dropline")?.to_owned();
        let epoch = said("git", &["log", "-1", "--format=%ct"])?.trim().to_owned();
        directory(place)?;
        Ok(Self { place: place.to_owned(), version, epoch })
    }

    /// A directory in it, empty.
    fn empty(&self, name: &str) -> Result<PathBuf, String> {
        let made = self.place.join(name);
        let _ = std::fs::remove_dir_all(&made);
        directory(&made)?;
        Ok(made)
    }

    /// A file of all that is in a directory, in one order and with one time and owner.
    fn tar(&self, directory: &Path, to: &str) -> Done {
        let time = format!("--mtime=@{}", self.epoch);
        let same = ["--sort=name", &time, "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"];
        let to = self.place.join(to).to_string_lossy().into_owned();
        run_in(directory, "tar", &[&same[..], &["--create", "--file", &to, "."]].concat())
    }

    /// What every package of a system holds, below a root.
    fn files(&self, program: &Path, root: &Path) -> Done {
        install(program, &root.join("usr/bin/dropline"), "755")?;
        install(
            &crate::root().join("packaging/ci/dropline-gate"),
            &root.join("usr/bin/dropline-gate"),
            "755",
        )?;
        let man = root.join("usr/share/man/man1");
        for (page, text) in pages(program)? {
            let path = man.join(format!("{page}.1"));
            write(&path, &text)?;
            run("gzip", &["--no-name", "--best", &path.to_string_lossy()])?;
        }
        for (shell, path) in SHELLS {
            write(&root.join(path), &said(&program.to_string_lossy(), &["completions", shell])?)?;
        }
        let licence = read("packaging/copyright")? + &indented(&read("LICENSE-MIT")?);
        let documents = root.join("usr/share/doc/dropline");
        write(&documents.join("copyright"), &licence)?;
        documented(&documents)?;
        write(&documents.join("changelog"), &read("CHANGELOG.md")?)?;
        run("gzip", &["--no-name", "--best", &documents.join("changelog").to_string_lossy()])?;
        for unit in units()? {
            install(
                &unit,
                &root.join("usr/lib/systemd/system").join(unit.file_name().unwrap_or_default()),
                "644",
            )?;
        }
        Ok(())
    }

    fn package(&self, program: &Path) -> Done {
        let root = self.empty("deb")?;
        self.files(program, &root)?;
        let size =
            said("du", &["--summarize", "--apparent-size", "--block-size=1K", &root.to_string_lossy()])?;
        let size = size.split_whitespace().next().unwrap_or_default();
        let control = read("packaging/control")?.replace("VERSION", &self.version).replace("SIZE", size);
        let control = control.replace("MACHINE", MACHINE.1);
        write(&root.join("DEBIAN/control"), &control)?;
        let to = self.place.join("dropline.deb").to_string_lossy().into_owned();
        let time = format!("SOURCE_DATE_EPOCH={}", self.epoch);
        run("chmod", &["-R", "u=rwX,go=rX", &root.to_string_lossy()])?;
        run("env", &[&time, "dpkg-deb", "--root-owner-group", "--build", &root.to_string_lossy(), &to])?;
        self.installs_and_goes(&to)
    }

    /// The package is installed below an empty root, and removed from there: nothing of it stays.
    fn installs_and_goes(&self, package: &str) -> Done {
        let root = self.empty("root")?;
        for name in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
            directory(&root.join(name))?;
        }
        write(&root.join("var/lib/dpkg/status"), "")?;
        let flags = format!("--root={}", root.display());
        let words = ["--force-depends", "--force-not-root", "--force-bad-path", "--log=/dev/null"];
        let dpkg = |more: &[&str]| run("dpkg", &[&[flags.as_str()], &words[..], more].concat());
        dpkg(&["--install", package])?;
        let installed = root.join("usr/bin/dropline").to_string_lossy().into_owned();
        run(&installed, &["--version"])?;
        dpkg(&["--purge", "dropline"])?;
        let left = said(
            "find",
            &[&root.to_string_lossy(), "-path", "*/var", "-prune", "-o", "-type", "f", "-print"],
        )?;
        if left.is_empty() { Ok(()) } else { Err(format!("the package leaves behind\n{left}")) }
    }

    fn archive(&self, program: &Path) -> Done {
        let root = self.empty("archive")?;
        let inside = root.join(format!("dropline-{}", self.version));
        self.files(program, &inside.join("share-root"))?;
        // A shorter way to the program, and no root's own directories.
        for (from, to) in [
            ("usr/bin/dropline", "dropline"),
            ("usr/bin/dropline-gate", "dropline-gate"),
            ("usr/share/man", "man"),
        ] {
            let (from, to) = (inside.join("share-root").join(from), inside.join(to));
            std::fs::rename(&from, &to).map_err(|why| format!("{}: {why}", to.display()))?;
        }
        for (shell, path) in SHELLS {
            let to = inside.join("completions").join(format!("dropline.{shell}"));
            install(&inside.join("share-root").join(path), &to, "644")?;
        }
        std::fs::remove_dir_all(inside.join("share-root")).map_err(|why| why.to_string())?;
        documented(&inside)?;
        run("chmod", &["-R", "u=rwX,go=rX", &root.to_string_lossy()])?;
        self.tar(&root, "dropline.tar")?;
        run_in(&self.place, "gzip", &["--no-name", "--best", "--force", "dropline.tar"])
    }

    /// The Python package; its name.
    fn wheel(&self) -> Result<String, String> {
        crate::setup::run("python")?;
        let built = crate::python::wheel("release", &remapped()?)?;
        let name = built.file_name().unwrap_or_default().to_string_lossy().into_owned();
        install(&built, &self.place.join(&name), "644")?;
        let size = built.metadata().map_err(|why| why.to_string())?.len();
        if size > MOST_OF_WHEEL {
            return Err(format!("{name} has {size} bytes, and {MOST_OF_WHEEL} are promised"));
        }
        Ok(name)
    }

    /// An image of the Open Container Initiative with one file, as `skopeo copy oci-archive:image.tar …` reads it.
    fn image(&self, program: &Path) -> Done {
        let root = self.empty("image-root")?;
        install(program, &root.join("dropline"), "755")?;
        answers_alone(&root)?;
        self.tar(&root, "layer.tar")?;
        let layer = self.place.join("layer.tar");
        let layout = self.empty("image")?;
        let inside = sum(&layer)?;
        run_in(&self.place, "gzip", &["--no-name", "--best", "--force", "layer.tar"])?;
        let blob = |path: &Path, kind: &str| -> Result<Value, String> {
            let sum = sum(path)?;
            let size = path.metadata().map_err(|why| why.to_string())?.len();
            install(path, &layout.join("blobs/sha256").join(&sum), "644")?;
            Ok(
                json!({ "mediaType": format!("application/vnd.oci.image.{kind}"), "digest": format!("sha256:{sum}"), "size": size }),
            )
        };
        let layer = blob(&self.place.join("layer.tar.gz"), "layer.v1.tar+gzip")?;
        let created = said("date", &["--utc", &format!("--date=@{}", self.epoch), "+%Y-%m-%dT%H:%M:%SZ"])?;
        let config = json!({
            "created": created.trim(), "architecture": MACHINE.1, "os": "linux",
            "config": { "Entrypoint": ["/dropline"], "User": "65534:65534", "WorkingDir": "/" },
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{inside}")] },
            "history": [{ "created": created.trim(), "created_by": "cargo xtask dist" }],
        });
        let kept = |name: &str, value: &Value, kind: &str| {
            let path = self.place.join(name);
            write(&path, &value.to_string())?;
            blob(&path, kind)
        };
        let config = kept("config.json", &config, "config.v1+json")?;
        let manifest = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": [layer],
        });
        let mut manifest = kept("manifest.json", &manifest, "manifest.v1+json")?;
        manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": self.version });
        let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
        write(&layout.join("index.json"), &index.to_string())?;
        write(&layout.join("oci-layout"), &json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
        self.tar(&layout, "image.tar")
    }
}

/// What the documents are: those at the root, all of `docs`, and what these lead to or name to be copied.
const DOCUMENTS: [&str; 10] = [
    ":(glob)*.md",
    ":(glob)LICENSE-*",
    "docs",
    ":(glob)experiments/**/README.md",
    "packaging/ci",
    "python/notebooks",
    "scenarios",
    "schema",
    ":(glob)c/trace/*",
    ":(glob)c/trace/python/*.py",
];

/// Their names.
pub(crate) fn documents() -> Result<Vec<String>, String> {
    let names = said("git", &[&["ls-files", "-z", "--"], &DOCUMENTS[..]].concat())?;
    Ok(names.split_terminator('\0').map(str::to_owned).collect())
}

/// The documents, where their links to one another lead.
fn documented(to: &Path) -> Done {
    documents()?.iter().try_for_each(|name| install(&root().join(name), &to.join(name), "644"))
}

/// The program as it is shipped; `alone`, it needs nothing of a system but its kernel.
fn program(made: &Made, alone: bool) -> Result<PathBuf, String> {
    let mut flags = remapped()?;
    if alone {
        flags += " -Ctarget-feature=+crt-static";
    }
    let build =
        target().join(if alone { "dist-static" } else { "dist-shared" }).to_string_lossy().into_owned();
    let flags = format!("RUSTFLAGS={flags}");
    let cargo = ["cargo", "build", "--locked", "--profile=dist", "--package=dropline", "--target", MACHINE.0];
    let to = ["--target-dir", &build];
    run("env", &[&[flags.as_str()], &cargo[..], &crate::SHIPPED, &to].concat())?;
    let built = Path::new(&build).join(MACHINE.0).join("dist/dropline");
    let bytes = std::fs::read(&built).map_err(|why| format!("{}: {why}", built.display()))?;
    let most = MOST_BYTES + if alone { MORE_ALONE } else { 0 };
    if bytes.len() as u64 > most {
        return Err(format!("{} has {} bytes, and {most} are promised", built.display(), bytes.len()));
    }
    for path in [cargo_home()?, root().to_string_lossy().into_owned()] {
        if bytes.windows(path.len()).any(|part| part == path.as_bytes()) {
            return Err(format!("{} names the directory {path} in which it was built", built.display()));
        }
    }
    let named = made.place.join(if alone { "dropline-static" } else { "dropline" });
    install(&built, &named, "755")?;
    Ok(named)
}

fn cargo_home() -> Result<String, String> {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"));
    home.map_err(|_| "neither CARGO_HOME nor HOME is set".into())
}

/// The compiler's flags with which no directory of this machine is named in what it builds.
fn remapped() -> Result<String, String> {
    let compiler = said("rustc", &["--print", "sysroot"])?.trim().to_owned();
    let pairs = [
        (cargo_home()?, "/cargo"),
        (root().to_string_lossy().into_owned(), "/dropline"),
        (compiler, "/rust"),
    ];
    Ok(pairs.map(|(from, to)| format!("--remap-path-prefix={from}={to}")).join(" "))
}

/// The program searches in a root in which nothing else is.
fn answers_alone(root: &Path) -> Done {
    run("chroot", &[&root.to_string_lossy(), "/dropline", "search", "sim:hard", "--quiet", "-o", "-"])
}

/// The man pages of the program and of all its verbs, by name.
fn pages(program: &Path) -> Result<Vec<(String, String)>, String> {
    let (mut wanted, mut seen) = (vec!["dropline".to_owned()], BTreeSet::new());
    let mut pages = Vec::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let words: Vec<&str> = name.split('-').skip(1).collect();
        let text = said(&program.to_string_lossy(), &[&["man"], words.as_slice()].concat())?;
        let plain = text.replace("\\-", "-");
        let below = plain.lines().filter_map(|line| line.strip_suffix("(1)"));
        wanted.extend(below.filter(|other| other.starts_with(&format!("{name}-"))).map(str::to_owned));
        pages.push((name, text));
    }
    Ok(pages)
}

/// The units of systemd.
fn units() -> Result<Vec<PathBuf>, String> {
    let directory = root().join("packaging");
    let files = std::fs::read_dir(&directory).map_err(|why| format!("{}: {why}", directory.display()))?;
    let mut units: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    units.retain(|path| path.extension().is_some_and(|ending| ending == "service"));
    units.sort();
    Ok(units)
}

/// Debian's form of a text of several paragraphs.
fn indented(text: &str) -> String {
    text.lines()
        .map(|line| if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {line}\n") })
        .collect()
}

fn directory(path: &Path) -> Done {
    std::fs::create_dir_all(path).map_err(|why| format!("cannot make {}: {why}", path.display()))
}

fn read(name: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(name)).map_err(|why| format!("cannot read {name}: {why}"))
}

fn write(path: &Path, text: &str) -> Done {
    directory(path.parent().unwrap_or(path))?;
    std::fs::write(path, text).map_err(|why| format!("cannot write {}: {why}", path.display()))
}

fn install(from: &Path, to: &Path, mode: &str) -> Done {
    run("install", &["-D", "--mode", mode, &from.to_string_lossy(), &to.to_string_lossy()])
}

fn sum(path: &Path) -> Result<String, String> {
    let told = said("sha256sum", &[&path.to_string_lossy()])?;
    Ok(told.split_whitespace().next().unwrap_or_default().to_owned())
}

/// What a program prints.
fn said(program: &str, words: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(words).current_dir(root()).output();
    let output = output.map_err(|why| format!("{program} cannot be started: {why}"))?;
    if !output.status.success() {
        return Err(format!("{program} {} failed: {}", words.join(" "), output.status));
    }
    String::from_utf8(output.stdout).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_of_the_documents_that_packages_hold_leads_to_what_they_hold() {
        let held: Vec<PathBuf> = documents().unwrap().iter().map(|name| root().join(name)).collect();
        let mut lost = Vec::new();
        for page in held.iter().filter(|page| page.extension().is_some_and(|kind| kind == "md")) {
            let text = std::fs::read_to_string(page).unwrap();
            for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next()) {
                if link.is_empty() || link.contains("://") {
                    continue;
                }
                let leads = page.parent().unwrap().join(link).canonicalize();
                let is_held = |leads: &PathBuf| held.iter().any(|one| one.starts_with(leads));
                if !leads.as_ref().is_ok_and(is_held) {
                    lost.push(format!("{}: {link}", page.display()));
                }
            }
        }
        assert!(lost.is_empty(), "{lost:#?}");
    }
}
