//! No files and no folders of a crate go in circles: what one uses can be read without it.
//!
//! A module and the files below it are one room, in which names go both ways; so are a crate's root and each of its files. A
//! name that a module hands on counts as of the file that it comes from.

mod tree;

use std::collections::{BTreeMap, BTreeSet};
use tree::{root, sources};

/// The files that each file uses, both as paths of modules: `mlr/view`.
type Uses<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Every path behind `crate::` or `super::`, from the root of the crate, groups in braces taken apart.
fn named_in(file: &str, text: &str) -> BTreeSet<String> {
    // Tests of a file may use anything.
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code: String =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|l| [l, "\n"]).collect();
    let mut named = BTreeSet::new();
    let above = |file: &str| file.rsplit_once('/').map_or(String::new(), |(above, _)| above.to_owned());
    for (at, _) in code.match_indices("crate::") {
        paths(&code[at + "crate::".len()..], "", &mut named);
    }
    for (at, _) in code.match_indices("super::").filter(|(at, _)| !code[..*at].ends_with("super::")) {
        let (mut rest, mut here) = (&code[at..], file.to_owned());
        while let Some(further) = rest.strip_prefix("super::") {
            (rest, here) = (further, above(&here));
        }
        paths(rest, &here, &mut named);
    }
    named
}

/// Adds the paths that a text begins with, of which all are below `here`; returns how much of the text they are.
fn paths(text: &str, here: &str, named: &mut BTreeSet<String>) -> usize {
    let name = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    if let Some(group) = text.strip_prefix('{') {
        let mut at = 0;
        while at < group.len() && !group[at..].starts_with('}') {
            let length = paths(&group[at..], here, named);
            // Commas, space, and names that `as` gives.
            at += length.max(1);
        }
        return at + 2;
    }
    let length = name(text);
    let below = format!("{here}/{}", &text[..length]).trim_matches('/').to_owned();
    match text[length..].strip_prefix("::") {
        Some(rest) if length > 0 => length + 2 + paths(rest, &below, named),
        _ => {
            named.insert(below);
            length
        }
    }
}

/// What a file hands on of others, by its own path: `Trial` of the crate's root is `trial/Trial`.
fn handed_on(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (file, text) in files {
        let own = |name: &str| format!("{file}/{name}").trim_matches('/').to_owned();
        let uses = text.split(';').filter_map(|statement| {
            let (before, rest) = statement.rsplit_once("use ")?;
            let seen = before.lines().last().unwrap_or_default().trim();
            ["pub", "pub(crate)", "pub(super)"].contains(&seen).then_some(rest)
        });
        for rest in uses {
            let mut named = BTreeSet::new();
            let (path, here) = match rest.strip_prefix("crate::") {
                Some(path) => (path, ""),
                None => (rest.strip_prefix("self::").unwrap_or(rest), file.as_str()),
            };
            paths(path, here, &mut named);
            found.extend(named.into_iter().filter_map(|path| {
                let name = own(path.rsplit('/').next()?);
                (name != path).then_some((name, path))
            }));
        }
    }
    found
}

/// Which file uses which, of those that are not one room.
fn uses(files: &BTreeMap<String, String>) -> Uses<'_> {
    let handed_on = handed_on(files);
    let mut uses = Uses::new();
    for (file, text) in files {
        let used = uses.entry(file).or_default();
        for mut named in named_in(file, text) {
            while let Some(origin) = handed_on.get(&named) {
                named.clone_from(origin);
            }
            // The longest path that is a file: the rest names what stands in it.
            let paths = named.match_indices('/').map(|(end, _)| &named[..end]).chain([named.as_str()]);
            let found = paths.filter_map(|path| files.get_key_value(path)).next_back();
            let one_room = |used: &str| {
                let within = |inner: &str, outer: &str| {
                    outer.is_empty()
                        || inner
                            .strip_prefix(outer)
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                within(file, used) || within(used, file)
            };
            used.extend(found.map(|(name, _)| name.as_str()).filter(|name| !one_room(name)));
        }
    }
    uses
}

/// The same between the folders and files that stand side by side: what a file of one uses is used by all of it.
fn between_folders<'a>(uses: &Uses<'a>) -> Uses<'a> {
    let mut between = Uses::new();
    for (&file, used) in uses {
        for &used in used {
            // As many bytes as the paths have in common, to the end of the first name that differs.
            let shared = file.bytes().zip(used.bytes()).take_while(|(one, other)| one == other).count();
            let to_the_end =
                |path: &'a str| path[shared..].find('/').map_or(path, |further| &path[..shared + further]);
            between.entry(to_the_end(file)).or_default().insert(to_the_end(used));
        }
    }
    between
}

/// What is in a circle, or between two.
fn in_circles(mut uses: Uses<'_>) -> Uses<'_> {
    // What uses nothing that is left, or is used by nothing, is taken away, until only circles are left.
    loop {
        let left: BTreeSet<&str> = uses.keys().copied().collect();
        let used: BTreeSet<&str> = uses.values().flatten().copied().collect();
        uses.retain(|file, uses| used.contains(file) && !uses.is_disjoint(&left));
        uses.values_mut().for_each(|used| used.retain(|file| left.contains(file)));
        if uses.len() == left.len() {
            return uses;
        }
    }
}

#[test]
fn no_files_and_no_folders_of_a_crate_go_in_circles() {
    let mut found = BTreeMap::new();
    for crate_ in std::fs::read_dir(root().join("crates")).unwrap() {
        let src = crate_.unwrap().path().join("src");
        if !src.is_dir() {
            continue;
        }
        let module = |file: &std::path::Path| {
            let path = file.strip_prefix(&src).unwrap().with_extension("").to_string_lossy().into_owned();
            // The root of a crate has no name.
            if ["lib", "main"].contains(&path.as_str()) {
                return String::new();
            }
            path.strip_suffix("/mod").map(str::to_owned).unwrap_or(path)
        };
        let files: BTreeMap<String, String> = sources(&src)
            .into_iter()
            .map(|file| (module(&file), std::fs::read_to_string(&file).unwrap()))
            .collect();
        for (file, used) in in_circles(between_folders(&uses(&files))) {
            found.insert(src.join(file), used.into_iter().map(str::to_owned).collect::<Vec<_>>());
        }
    }
    assert!(found.is_empty(), "in circles: {found:#?}");
}

#[test]
fn a_circle_is_found_through_groups_and_above() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut files = BTreeMap::from([
        file("room", "mod one;\npub use one::{One};"),
        file("room/one", "use super::{Room, two::{Two, Other}};\nuse crate::apart;"),
        file("room/two", "use super::super::apart;"),
        file("apart", "// crate::room::one\nconst A: u8 = 1;"),
    ]);
    assert_eq!(in_circles(uses(&files)), Uses::new());
    files.extend([file("apart", "fn a() { crate::room::one::a() }")]);
    files.extend([file("below", "use crate::room::one;")]);
    let found: Vec<&str> = in_circles(uses(&files)).into_keys().collect();
    assert_eq!(found, ["apart", "room/one", "room/two"]);
    // The same by names that the root and a module hand on.
    files.extend([
        file("", "pub mod room;\npub use room::{One, Two as Other};"),
        file("apart", "use crate::One;"),
    ]);
    let found: Vec<&str> = in_circles(uses(&files)).into_keys().collect();
    assert_eq!(found, ["apart", "room/one", "room/two"]);
    files.extend([file("apart", "use std::fmt;")]);
    assert_eq!(in_circles(uses(&files)), Uses::new());
}

#[test]
fn a_circle_of_folders_is_found_though_no_files_go_in_one() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut files = BTreeMap::from([
        file("in/north/one", "use crate::in::south::one;"),
        file("in/north/two", "use crate::apart::A;"),
        file("in/south/one", "use std::fmt;"),
        file("in/south/two", "use std::fmt;"),
        file("apart", "const A: u8 = 1;"),
    ]);
    assert_eq!(in_circles(between_folders(&uses(&files))), Uses::new());
    files.extend([file("in/south/two", "use crate::in::north::two;")]);
    assert_eq!(in_circles(uses(&files)), Uses::new());
    let found: Vec<&str> = in_circles(between_folders(&uses(&files))).into_keys().collect();
    assert_eq!(found, ["in/north", "in/south"]);
}
