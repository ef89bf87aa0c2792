//! What `cargo test -- --ignored` comes to: tests that need what `make test` does not install, and nothing else.

mod tree;

use tree::{root, sources};

#[test]
fn a_test_is_ignored_only_for_what_it_needs_and_says_which_command_installs_that() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    for path in ["crates", "xtask/src", "fuzz/src"].iter().flat_map(|place| sources(&root().join(place))) {
        let text = std::fs::read_to_string(&path).unwrap();
        for ignored in text.split("#[ignore").skip(1) {
            let reason = ignored.split('"').nth(1).unwrap_or_default();
            let installs = reason.strip_prefix("needs ").and_then(|reason| reason.split_once(": make "));
            let is_a_command = installs.is_some_and(|(_, name)| makefile.contains(&format!("\n{name}: ##")));
            assert!(is_a_command, "{}: {reason:?} is not  needs SOMETHING: make COMMAND", path.display());
        }
    }
}
