use super::*;
use crate::service::Service;
use proptest::prelude::*;

const AT: Request = Request { number: 0x0102_0304_0506, turn: 41 };

fn written(payload: &str, reply: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    Template::read(payload, reply).unwrap().write(AT, || 0x1122_3344_5566_7788, &mut bytes);
    bytes
}

fn why(payload: &str, reply: &str) -> String {
    Template::read(payload, reply).unwrap_err().to_string()
}

#[test]
fn fields_stand_among_bytes_as_they_are_described() {
    assert_eq!(written("hex:c0 DE{tag:4}{counter:2le}", "any"), [0xc0, 0xde, 3, 4, 5, 6, 41, 0]);
    assert_eq!(
        written("hex:{timestamp:8}{length:2}", "any"),
        [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0, 10]
    );
    assert_eq!(written("text:PING {tag:8x} {counter:4d}\\r\\n", "any"), b"PING 03040506 0041\r\n");
    assert_eq!(written("text:\\{\\x00é\\}", "any"), "{\0é}".as_bytes());
    assert_eq!(written("hex:aabb{length:1-2}ccdd", "any"), [0xaa, 0xbb, 3, 0xcc, 0xdd]);
    let random = |number| {
        let mut bytes = Vec::new();
        let template = Template::read("hex:{random:20}", "any").unwrap();
        template.write(Request { number, turn: 0 }, || 0, &mut bytes);
        bytes
    };
    assert!(random(1).len() == 20 && random(1) == random(1) && random(1) != random(2));
}

#[test]
fn checksums_are_those_of_their_definitions() {
    let of = |sum: &str| {
        let bytes = written(&format!("text:123456789{{checksum:{sum}}}"), "any");
        bytes[9..].to_vec()
    };
    // The check of a CRC is that of these digits with the field cut off: with four zeroes behind it is another one.
    let with_zeroes = written("text:123456789{checksum:crc32x}", "any");
    assert_eq!(with_zeroes.len(), 17);
    assert_eq!((of("sum8"), of("xor8")), (vec![0xdd], vec![0x31]));
    // RFC 1071's example, whose sum is ddf2.
    assert_eq!(written("hex:0001f203f4f5f6f7{checksum:inet}", "any")[8..], [0x22, 0x0d]);
    let little = of("crc32le");
    let mut big = of("crc32");
    big.reverse();
    assert_eq!(little, big);
}

#[test]
fn a_checksum_is_also_of_a_length_that_stands_behind_it() {
    assert_eq!(written("hex:{checksum:sum8}{length:2}aa", "any"), [0xae, 0, 4, 0xaa]);
    let template = Template::read("hex:{checksum:sum8}{length:2}{tag:4}{timestamp:8}", "echo").unwrap();
    let mut sent = Vec::new();
    template.write(AT, || 7, &mut sent);
    assert_eq!(template.judge(AT, &sent), Ok(ReplyMeaning::Class(0)));
}

#[test]
fn a_crc_of_known_bytes_is_the_known_one() {
    // CRC-32 of "123456789" is cbf43926; here it stands before them, as zeroes that count.
    let bytes = written("hex:{checksum:crc32}", "any");
    assert_eq!(bytes, 0x2144_df1c_u32.to_be_bytes(), "of four zeroes");
}

#[test]
fn what_is_wrong_is_told_with_line_and_column_and_what_there_is() {
    for (payload, place, said) in [
        ("hex:c0d", "line 1, column 7", "in pairs"),
        ("hex:c0 zz", "line 1, column 8", "in pairs"),
        ("hex:c0{tig:4}", "line 1, column 8", "{tag:4}"),
        ("hex:c0{tag}", "line 1, column 8", "{tag:4le}"),
        ("hex:c0{tag:9}", "line 1, column 8", "1 to 8 bytes"),
        ("hex:{tag:4}{tag:4}", "line 1, column 13", "the second"),
        ("hex:{tag:4d}", "line 1, column 6", "{tag:8x}"),
        ("hex:{checksum:md5}", "line 1, column 6", "crc32"),
        ("hex:c0{length:1}{random:300}", "line 1, column 8", "length of 302 does not fit"),
        ("text:é\n{length:2d}{random:98}", "line 2, column 2", "length of 103 does not fit"),
        ("hex:c0{length:1-4}", "line 1, column 8", "has 2 bytes, and 4 less"),
        ("text:a\nbé}c", "line 2, column 3", "not opened"),
        ("text:a{tag:4", "line 1, column 7", "not closed"),
        ("text:a\\q", "line 1, column 7", "backslash"),
        ("hax:00", "line 1, column 1", "hex: or text:"),
    ] {
        let why = why(payload, "any");
        assert!(why.contains(place) && why.contains(said), "{payload:?}: {why}");
    }
    for (reply, place, said) in [
        ("tag@x", "column 1", "behind @"),
        ("tag@4,refusd@1=05", "column 7", "answered, refused, error"),
        ("tag,refused@1=5", "column 5", "pairs"),
        ("tag,bytes=9..3", "column 5", "bytes=16..512"),
        ("whatever", "column 1", "any, echo, none"),
        ("any,echo", "column 5", "contradicts \"any\""),
        ("tag@2,tag@3", "column 7", "contradicts \"tag@2\""),
        ("none,refused@1=05", "column 6", "contradicts \"none\""),
        ("bytes=4,none", "column 9", "nothing comes back"),
        ("tag,bytes=4,bytes=5", "column 13", "say them once"),
        ("tag,refused@4=05,refused@4=05", "column 18", "says what \"refused@4=05\" says"),
        ("tag,refused@4=05,refused@4=0506", "column 18", "says what"),
        ("tag,refused@4=05,error@4=05", "column 18", "contradicts \"refused@4=05\""),
        ("tag,answered@4=05,refused@4=05", "column 19", "contradicts \"answered@4=05\""),
        ("tag,error@5=0102,answered@4=050102", "column 18", "contradicts"),
        ("tag,refused@0=05", "column 5", "bytes of the tag"),
        ("refused@3=0505,tag", "column 1", "bytes of the tag"),
        ("tag,refused@4=05,bytes=4..4", "column 5", "at most 4 bytes"),
        ("tag@2,bytes=4", "column 1", "the tag ends with byte 6"),
        ("echo,refused@4=05", "column 6", "contradicts \"echo\""),
    ] {
        let why = why("hex:{tag:4}", reply);
        assert!(why.contains(place) && why.contains(said), "{reply:?}: {why}");
    }
    assert!(why("hex:00", "tag@4").contains("{tag:4}") && why("hex:00", "echo").contains("reply=any"));
    assert!(why("text:", "any").contains("would have 0"));
}

#[test]
fn of_bytes_that_mean_different_things_the_worse_is_asked_first_where_both_can_be() {
    for reply in
        ["tag,error@4=05,refused@4=0501", "tag,answered@4=81,refused@5=05", "tag,refused@4=05,refused@4=06"]
    {
        assert!(Template::read("hex:{tag:4}", reply).is_ok(), "{reply}");
    }
}

#[test]
fn what_is_too_short_for_its_tag_was_cut_and_carries_no_identifier() {
    let service = |payload, reply| Service::Own(Template::read(payload, reply).unwrap());
    let own = service("hex:c0de{tag:4}", "tag@2");
    for length in 0..6 {
        assert_eq!(own.without_token(&[0; 6][..length]), Some(Unlike::Truncated), "{length}");
    }
    assert_eq!(own.without_token(&[0; 6]), None, "it has one, whosever it is");
    let hex = service("text:{tag:4x}", "tag,bytes=4..6");
    assert_eq!(hex.without_token(b"zzzzzzz"), Some(Unlike::Extended));
    assert_eq!(service("hex:{tag:2}0102", "echo").without_token(&[0; 3]), Some(Unlike::Truncated));
    // Queries that come back as they were, and what is shorter than any reply.
    for other in [Service::Stamp, Service::Ntp, Service::Stun] {
        let mut request = Vec::new();
        other.write(AT, || 0, &mut request);
        assert_eq!(other.without_token(&request), Some(Unlike::Changed), "{other:?}");
        assert_eq!(other.without_token(&request[..10]), Some(Unlike::Truncated), "{other:?}");
    }
}

#[test]
fn a_mean_request_is_that_of_all_turns() {
    let listed = Service::Own(Template::listed(vec![vec![0; 10], vec![0; 1000]], "any").unwrap());
    assert_eq!((listed.mean_request(), listed.longest_request(), listed.is_recorded()), (505.0, 1000, true));
    let one = Service::Own(Template::read("hex:c0de{tag:4}", "tag@2").unwrap());
    assert_eq!((one.mean_request(), one.is_recorded()), (6.0, false));
}

#[test]
fn a_reply_says_by_its_tag_to_which_request_it_is_and_by_its_bytes_what_it_means() {
    let template = Template::read("hex:01{tag:4}", "tag@2,refused@0=05,error@0=02,bytes=6..8").unwrap();
    let reply = |first, length: usize| {
        let mut bytes = vec![first, 0xff, 3, 4, 5, 6, 0, 0, 0];
        bytes.truncate(length);
        bytes
    };
    assert_eq!(template.token(&reply(1, 6)), Some(0x0304_0506));
    assert_eq!(template.token(&reply(1, 5)), None);
    let judge = |bytes: Vec<u8>| template.judge(AT, &bytes);
    assert_eq!(judge(reply(1, 6)), Ok(ReplyMeaning::Class(0)));
    assert_eq!(
        (judge(reply(5, 6)), judge(reply(2, 8))),
        (Ok(ReplyMeaning::Class(1)), Ok(ReplyMeaning::Class(2)))
    );
    assert_eq!((judge(reply(1, 5)), judge(reply(1, 9))), (Err(Unlike::Truncated), Err(Unlike::Extended)));
    let strict = Template::read("hex:01{tag:4}", "tag,answered@0=81").unwrap();
    assert_eq!(strict.judge(AT, &[0x81, 3, 4, 5, 6]), Ok(ReplyMeaning::Class(0)));
    assert_eq!(strict.judge(AT, &[0x01, 3, 4, 5, 6]), Err(Unlike::Changed), "the request itself");
}

#[test]
fn an_echo_is_the_request_as_it_was_but_for_its_time() {
    let template = Template::read("hex:01{tag:4}{timestamp:8}{checksum:inet}", "echo").unwrap();
    let mut sent = Vec::new();
    template.write(AT, || 7, &mut sent);
    assert_eq!(
        (template.token(&sent), template.judge(AT, &sent)),
        (Some(0x0304_0506), Ok(ReplyMeaning::Class(0)))
    );
    assert_eq!(template.judge(AT, &sent[..14]), Err(Unlike::Truncated));
    sent[0] = 2;
    assert_eq!(template.judge(AT, &sent), Err(Unlike::Changed));
    sent.push(0);
    assert_eq!(template.judge(AT, &sent), Err(Unlike::Extended));
}

#[test]
fn an_echo_whose_time_and_checksum_do_not_agree_is_changed() {
    let template = Template::read("hex:01{tag:4}{timestamp:8}{checksum:crc32}", "echo").unwrap();
    let mut sent = Vec::new();
    template.write(AT, || 7, &mut sent);
    assert_eq!(template.judge(AT, &sent), Ok(ReplyMeaning::Class(0)));
    for at in 5..sent.len() {
        let mut reply = sent.clone();
        reply[at] ^= 1;
        assert_eq!(template.judge(AT, &reply), Err(Unlike::Changed), "byte {at}");
    }
}

#[test]
fn a_template_that_asks_dns_is_held_to_the_rules_of_dns_and_told_to_ask_nobody_first() {
    let service = |payload| Service::Own(Template::read(payload, "tag@0").unwrap());
    let query = service("hex:{tag:2}0100000100000000000003777777076578616d706c65036f72670000010001");
    assert!(!query.may_ask_others());
    let first = |service: &Service| {
        let mut bytes = Vec::new();
        service.write(AT, || 0, &mut bytes);
        bytes
    };
    assert_eq!((first(&query)[2], first(&query.without_recursion())[2]), (1, 0));
    let mut reply = first(&query);
    (reply[2], reply[3]) = (0x81, 0x80);
    assert_eq!(query.origin(&reply), crate::service::Origin::Others);
    let other = service("hex:{tag:2}c0dec0dec0dec0dec0dec0dec0dec0de");
    assert!(other.may_ask_others() && other.without_recursion() == other);
}

#[test]
fn several_payloads_have_their_turns() {
    let mix = Template::listed(vec![b"one".to_vec(), b"three".to_vec()], "any").unwrap();
    let turn = |turn| {
        let mut bytes = Vec::new();
        mix.write(Request { number: 9, turn }, || 0, &mut bytes);
        bytes
    };
    assert_eq!((turn(0), turn(1), turn(2)), (b"one".to_vec(), b"three".to_vec(), b"one".to_vec()));
    assert_eq!((mix.turns(), mix.longest_request(), mix.is_of_one_length()), (Some(2), 5, false));
    assert!(mix.is_in_order() && mix.is_answered());
    assert!(
        Template::listed(Vec::new(), "any").is_err() && Template::listed(vec![Vec::new()], "any").is_err()
    );
}

proptest! {
    #[test]
    fn no_words_and_no_reply_make_it_panic(
        payload in "(hex|text|):([0-9a-f]{2}|\\{(tag|counter|random|timestamp|length|checksum):[0-9a-z-]{0,6}\\}|\\\\?\\PC){0,6}",
        reply in "(any|echo|none|tag(@[0-9]{1,3})?|bytes=[0-9]{1,3})(,(refused|answered|\\PC{0,4})@[0-9]{1,2}=[0-9a-f]{0,4}){0,2}",
        bytes in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        if let Ok(template) = Template::read(&payload, &reply) {
            let mut written = Vec::new();
            template.write(AT, || 7, &mut written);
            prop_assert_eq!(written.len(), template.longest_request());
            let bits = template.token_bits();
            prop_assert!(template.token(&bytes).is_none_or(|token| u64::BITS - token.leading_zeros() <= bits));
            let judged = template.judge(AT, &bytes);
            prop_assert!(bytes.len() <= template.longest_reply() || judged.is_err());
        }
    }
}
