//! Files that a user names, and those beside them: what each is, or why it cannot be read.

const RECORD: &str = include_str!("../../record/tests/records/dropline-1.jsonl");

/// Everything of the record of a search but its result.
fn search() -> &'static str {
    RECORD.lines().next().unwrap()
}

#[test]
fn what_cannot_be_read_is_not_compared_with_a_search_as_what_it_does_not_hold() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("search.jsonl"), search()).unwrap();
    std::fs::write(path("text"), "dear diary\n").unwrap();
    std::fs::write(path("cut.jsonl"), &search()[..200]).unwrap();
    std::fs::write(path("empty"), "").unwrap();
    std::fs::create_dir(path("directory")).unwrap();
    let all = [
        ("nofile", "cannot read"),
        ("directory", "cannot read"),
        ("text", "nothing of it was imported"),
        ("empty", "is empty"),
        ("cut.jsonl", "begin anew"),
    ];
    for (name, says) in all {
        for (a, b) in [("search.jsonl", name), (name, "search.jsonl")] {
            let why = dropline_verbs::compare::read(&path(a), &path(b)).unwrap_err();
            let text = why.to_string();
            assert!(
                why.exit_code() == 4 && text.contains(name) && text.contains(says),
                "{a} and {b}: {} {text}",
                why.exit_code()
            );
        }
    }
    std::fs::write(path("values"), "1\n2\n3\n").unwrap();
    let why = dropline_verbs::compare::read(&path("search.jsonl"), &path("values")).unwrap_err();
    assert!(why.exit_code() == 2 && why.to_string().contains("values holds delays"), "{why}");
}
