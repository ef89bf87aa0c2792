//! docs/reference/rfc9971.md names only tests and files that exist.

use std::path::Path;

#[test]
#[expect(clippy::disallowed_methods, reason = "what is tested is the repository's files")]
fn every_requirement_of_rfc_9971_names_a_place_and_a_test_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = include_str!("../../../docs/reference/rfc9971.md");
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| R")).collect();
    assert_eq!(rows.len(), 34);
    for (number, row) in (1..).zip(rows) {
        assert!(row.starts_with(&format!("| R{number} |")), "{row}");
        for name in row.split('`').skip(1).step_by(2).filter(|name| name.contains('/')) {
            let (file, function) = name.split_once(": ").unwrap_or((name, ""));
            assert!(root.join(file).exists(), "{file} in {row}");
            if !function.is_empty() {
                let source = std::fs::read_to_string(root.join(file)).unwrap();
                assert!(source.contains(&format!("fn {function}(")), "{function} in {file}");
            }
        }
    }
}
