//! The examples and properties of questions and their replies.

use super::*;
use proptest::prelude::*;

fn listed(text: &str) -> Questions {
    Questions::read(text, Options::default()).unwrap()
}

fn asked(questions: &Questions, number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    questions.write(Request::of_one_stream(number), &mut bytes);
    bytes
}

/// As a server answers it, with these flags beside the mark of a reply.
fn answered(questions: &Questions, number: u64, flags: u16) -> Vec<u8> {
    let mut bytes = asked(questions, number);
    bytes[FLAGS_AT..][..2].copy_from_slice(&(IS_REPLY | flags).to_be_bytes());
    bytes
}

#[test]
fn questions_have_their_turns_and_lines_their_comments() {
    let questions = listed("; first\nexample.org A\n\n# more\n.\tNS ; root\nWWW.example.org. type65\n");
    assert_eq!(questions.turns(), Some(3));
    let head = |number: u16| [number, 0, 1, 0, 0, 0].map(u16::to_be_bytes).concat();
    assert_eq!(asked(&questions, 3), [&head(3)[..], b"\x07example\x03org\0\0\x01\0\x01"].concat());
    assert_eq!(
        asked(&questions, 65_536 + 1),
        [&head(1)[..], b"\x03WWW\x07example\x03org\0\0\x41\0\x01"].concat()
    );
    assert_eq!(asked(&questions, 4), [&head(4)[..], b"\0\0\x02\0\x01"].concat());
}

#[test]
fn names_that_are_made_are_on_the_wire_as_ones_that_are_listed() {
    for (pattern, number, name) in [
        ("h{0..9}.a.org", 12, "h2.a.org"),
        ("{}.org.", 7, "0000000000007.org"),
        ("a.b", 0, "a.b"),
        (".", 0, "."),
    ] {
        let made = Questions::named(pattern, "AAAA", Options::default()).unwrap();
        let twin = listed(&format!("{name} AAAA"));
        assert_eq!(asked(&made, number), asked(&twin, number), "{pattern}");
        assert!(asked(&made, number).len() <= made.longest_request());
    }
}

#[test]
fn edns_says_the_longest_reply_and_the_wish_for_signatures() {
    let options = Options { recursion: true, edns: Some(1232), dnssec: true, ..Options::default() };
    let bytes = asked(&Questions::read("a. A", options).unwrap(), 1);
    assert_eq!(bytes[..12], [1u16, 0x0100, 1, 0, 0, 1].map(u16::to_be_bytes).concat());
    assert_eq!(bytes[bytes.len() - OPT_BYTES..], [0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]);
}

#[test]
fn a_reply_is_of_the_class_of_its_code_unless_it_is_truncated() {
    let questions = listed("example.org A");
    let name = |flags| match questions.judge(Request::of_one_stream(9), &answered(&questions, 9, flags)) {
        Ok(ReplyMeaning::Class(at)) => CLASSES[at].name,
        other => panic!("{other:?}"),
    };
    let codes = ["noerror", "formerr", "servfail", "nxdomain", "notimp", "refused", "other", "other"];
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 9].map(name), codes);
    assert_eq!((name(0x0200), name(0x0205)), ("truncated", "truncated"));
}

#[test]
fn a_reply_to_another_question_is_not_an_answer() {
    let (questions, other) = (listed("example.org A"), listed("example.net A"));
    assert_eq!(questions.judge(Request::of_one_stream(9), &answered(&other, 9, 0)), Err(Unlike::Changed));
    let (letters, types) = (listed("EXAMPLE.org A"), listed("example.org AAAA"));
    assert_eq!(
        questions.judge(Request::of_one_stream(9), &answered(&letters, 9, 0)),
        Ok(ReplyMeaning::Class(0)),
        "letters of another case"
    );
    assert_eq!(questions.judge(Request::of_one_stream(9), &answered(&types, 9, 0)), Err(Unlike::Changed));
    // One that states no question answers only where it says that it could not.
    let mut without = answered(&questions, 9, 5);
    without[QUESTIONS_AT + 1] = 0;
    assert_eq!(questions.judge(Request::of_one_stream(9), &without[..12]), Ok(ReplyMeaning::Class(5)));
    without[FLAGS_AT + 1] = 0;
    assert_eq!(questions.judge(Request::of_one_stream(9), &without[..12]), Err(Unlike::Changed));
    without[FLAGS_AT + 1] = 5;
    let followed = questions.judge(Request::of_one_stream(9), &without);
    assert_eq!(followed, Err(Unlike::Extended), "by what no number of its header speaks of");
    let whole = answered(&questions, 9, 0);
    assert_eq!(questions.judge(Request::of_one_stream(9), &whole[..whole.len() - 1]), Err(Unlike::Truncated));
    assert_eq!(questions.judge(Request::of_one_stream(9), &whole[..11]), Err(Unlike::Truncated));
    assert_eq!(
        questions.judge(Request::of_one_stream(9), &answered(&questions, 9, 0x2800)),
        Err(Unlike::Changed),
        "an update"
    );
}

/// An answer with one record of four bytes, whose name stands ahead.
fn with_record(questions: &Questions, flags: u16) -> Vec<u8> {
    let mut bytes = answered(questions, 9, flags);
    bytes[RECORDS_AT[0] + 1] = 1;
    bytes.extend(*b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01");
    bytes
}

#[test]
fn a_reply_ends_where_its_records_end() {
    let questions = listed("example.org A");
    let judge = |bytes: &[u8]| questions.judge(Request::of_one_stream(9), bytes);
    let whole = with_record(&questions, 0);
    assert_eq!(judge(&whole), Ok(ReplyMeaning::Class(0)));
    for cut in 12..whole.len() {
        assert_eq!(judge(&whole[..cut]), Err(Unlike::Truncated), "{cut} bytes of it");
    }
    assert_eq!(judge(&[&whole[..], &[0]].concat()), Err(Unlike::Extended));
    let told = with_record(&questions, IS_TRUNCATED);
    assert_eq!(judge(&told[..told.len() - 3]), Ok(ReplyMeaning::Class(TRUNCATED)), "it says so itself");
    let mut in_itself = whole.clone();
    let name_at = answered(&questions, 9, 0).len();
    in_itself[name_at + 1] = name_at as u8;
    assert_eq!(judge(&in_itself), Err(Unlike::Changed), "a name that is behind itself");
    in_itself[name_at] = 0x80;
    assert_eq!(judge(&in_itself), Err(Unlike::Changed), "a label of no kind that there is");
}

#[test]
fn a_reply_that_is_longer_than_was_allowed_is_not_an_answer() {
    let long = |options, length: usize| {
        let questions = Questions::read("example.org TXT", options).unwrap();
        let mut bytes = Vec::new();
        Questions::read("example.org TXT", Options::default())
            .unwrap()
            .write(Request::of_one_stream(9), &mut bytes);
        bytes[FLAGS_AT..][..2].copy_from_slice(&IS_REPLY.to_be_bytes());
        bytes[RECORDS_AT[0] + 1] = 1;
        let data = length - bytes.len() - 11;
        bytes.extend([0, 0, 16, 0, 1, 0, 0, 0, 60]);
        bytes.extend((data as u16).to_be_bytes());
        bytes.resize(length, 0);
        questions.judge(Request::of_one_stream(9), &bytes)
    };
    let with = |edns| Options { edns, ..Options::default() };
    assert_eq!(
        (long(with(None), 512), long(with(None), 513)),
        (Ok(ReplyMeaning::Class(0)), Err(Unlike::Extended))
    );
    assert_eq!(long(with(Some(1232)), 1232), Ok(ReplyMeaning::Class(0)));
    assert_eq!(long(with(Some(1232)), 1233), Err(Unlike::Extended));
    // One that says that it is cut, and ends within its record.
    let questions = listed("example.org A");
    let mut cut = with_record(&questions, IS_TRUNCATED);
    let length_at = cut.len() - 6;
    cut[length_at..][..2].copy_from_slice(&[2, 0]);
    let mut said = |length: usize| {
        cut.resize(length, 0);
        questions.judge(Request::of_one_stream(9), &cut)
    };
    assert_eq!((said(512), said(513)), (Ok(ReplyMeaning::Class(TRUNCATED)), Err(Unlike::Extended)));
}

#[test]
fn a_server_that_asks_others_shows_it() {
    let questions = listed("example.org A");
    let of = |flags| origin(&with_record(&questions, flags));
    assert_eq!((of(IS_AUTHORITY), of(IS_AUTHORITY | RECURSION_OFFERED)), (Origin::Own, Origin::OwnOrOthers));
    assert_eq!((of(0), of(RECURSION_OFFERED)), (Origin::Others, Origin::Others));
    assert_eq!((of(5), of(RECURSION_OFFERED | 5)), (Origin::Own, Origin::OwnOrOthers), "refused");
    let referral = answered(&questions, 9, 0);
    assert_eq!(origin(&referral), Origin::Own, "it names who knows, and did not ask");
    // That there is no such name is known to who has its zone.
    let mut denied = referral.clone();
    denied[FLAGS_AT + 1] |= 3;
    assert_eq!(origin(&denied), Origin::Others);
    denied[FLAGS_AT] |= (IS_AUTHORITY >> 8) as u8;
    assert_eq!(origin(&denied), Origin::Own);
    let itself = Questions::of_itself();
    let of = |flags| itself.origin(&with_record(&itself, flags));
    assert_eq!(
        (of(0), of(RECURSION_OFFERED)),
        (Origin::Own, Origin::OwnOrOthers),
        "nobody has authority over that"
    );
}

#[test]
fn a_wrong_line_is_told_with_its_place() {
    let told = |text: &str| Questions::read(text, Options::default()).unwrap_err().to_string();
    assert!(told("a.org A\n  b.org\n").starts_with("line 2, column 3: the type is missing"), "{}", told("b"));
    assert!(told("b.org Q").starts_with("line 1, column 7: \"Q\" is not a type"));
    assert!(told("é.org A x").starts_with("line 1, column 9: \"x\" is one word too many"));
    assert!(told("a..b A").starts_with("line 1, column 1: a label"));
    assert!(told(&format!("{}.org A", "a".repeat(64))).contains("a label has 1 to 63 bytes"));
    assert!(told(&format!("{} A", "abc.".repeat(64))).contains("at most 255 bytes"));
    assert!(told("a\\25 A").contains("backslash") && told("a\\256 A").contains("backslash"));
    assert!(told("; nothing\n").contains("there is no question"));
}

#[test]
fn a_name_has_any_byte_that_is_written_by_its_number() {
    let bytes = asked(&listed("a\\.b\\000.org A"), 0);
    assert_eq!(bytes[12..], *b"\x04a.b\0\x03org\0\0\x01\0\x01");
}

#[test]
fn a_pattern_whose_longest_name_is_too_long_is_refused() {
    let label = "a".repeat(62);
    assert!(Questions::named(&format!("{label}{{0..9}}.org"), "A", Options::default()).is_ok());
    assert!(Questions::named(&format!("{label}{{0..10}}.org"), "A", Options::default()).is_err());
    assert!(Questions::named("a\\.b{}", "A", Options::default()).is_err());
    assert!(Questions::named("", "A", Options::default()).is_err());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[ -~\n\t;é\\\\.{}]{0,80}", number: u64) {
        if let Ok(questions) = Questions::read(&text, Options::default()) {
            let reply = answered(&questions, number, 0);
            prop_assert_eq!(questions.judge(Request::of_one_stream(number), &reply), Ok(ReplyMeaning::Class(0)));
        }
        if let Ok(questions) = Questions::named(&text, "A", Options::default()) {
            let reply = answered(&questions, number, 0);
            prop_assert_eq!(questions.judge(Request::of_one_stream(number), &reply), Ok(ReplyMeaning::Class(0)));
            prop_assert!(reply.len() <= questions.longest_request());
        }
    }
}
