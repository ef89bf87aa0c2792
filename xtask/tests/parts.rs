//! What `cargo test -- --ignored` comes to: tests that need something, and parts that do nothing unasked.

mod tree;

use tree::{root, sources};

/// What a test says that is a part of others, and how its first line looks.
const PART: &str = "a part that other tests play";

#[test]
fn a_part_that_other_tests_play_does_nothing_unless_it_is_asked_for_by_name() {
    let mut parts = 0;
    for path in sources(&root().join("crates")) {
        let text = std::fs::read_to_string(&path).unwrap();
        for ignored in text.split("#[ignore").skip(1) {
            let reason = ignored.split('"').nth(1).unwrap_or_default();
            if reason.starts_with("needs ") {
                continue;
            }
            let body = ignored.split_once("fn ").map(|(_, function)| function).unwrap_or_default();
            let (name, body) = body.split_once("() {").unwrap_or_default();
            let asks = format!("if !part::is_asked_for(\"{name}\")");
            let shown = path.display();
            assert_eq!(reason, PART, "{shown}: {name}: say what it needs, or that it is a part");
            assert!(body.trim_start().starts_with(&asks), "{shown}: {name} begins with  {asks}");
            parts += 1;
        }
    }
    assert!(parts >= 12, "{parts} parts");
}
