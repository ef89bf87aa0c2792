//! Trials on services that speak a protocol of their own; here they are a few lines each.

use crate::odd_target::OddTarget;
use crate::{input, measurer, profile, undisturbed, undisturbed_trial};
use dropline_payload::service::{Origin, Service, dns, memcached, template};
use dropline_traffic::{Reflector, Reply, Responder, UdpError, UdpTarget, probe};
use dropline_trial::{Caveat, Measurer as _, Part, TrafficProfile, Trial};
use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A name that is never asked twice.
fn ever_new(address: SocketAddr) -> UdpTarget {
    let questions = dns::Questions::named("h{}.example.org", "A", dns::Options::default()).unwrap();
    UdpTarget { address, reply: Reply::of_service(Service::Dns(questions)) }
}

fn streams(count: u32) -> TrafficProfile {
    TrafficProfile { streams: Part::equal(count), ..profile() }
}

/// As a server would: the request, marked as a reply with this code.
fn answer(request: &[u8], code: u8) -> Vec<u8> {
    let mut reply = request.to_vec();
    reply[2] |= 0x80;
    reply[3] = code;
    reply
}

fn classes(trial: &Trial) -> Vec<(&str, u64)> {
    trial.replied().unwrap().classes.iter().map(|(class, count)| (class.as_str(), *count)).collect()
}

#[test]
fn every_request_asks_something_of_its_own_and_is_answered_by_its_own_reply() {
    let (trials, asked) = undisturbed(|| {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        let odd = OddTarget::start(move |socket, number, bytes, source| {
            heard.lock().unwrap().push((source, bytes[12..].to_vec()));
            let _ = socket.send_to(&answer(bytes, if number % 4 == 0 { 3 } else { 0 }), source);
        });
        let mut measurer = measurer(ever_new(odd.address), streams(3))?;
        let trials = vec![measurer.measure(input(2_000.0, 200))?, measurer.measure(input(2_000.0, 200))?];
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        Ok((trials, asked))
    });
    for trial in &trials {
        assert_eq!((trial.offered, trial.forwarded, trial.duplicated), (400, 400, Some(0)));
        assert_eq!((trial.reply_changed, trial.reply_truncated), (Some(0), Some(0)));
        assert_eq!(classes(trial), [("noerror", 300), ("nxdomain", 100)]);
        assert!(trial.delay.histogram.as_ref().is_some_and(|delay| delay.count() == 400));
    }
    let questions: BTreeSet<_> = asked.iter().map(|(_, question)| question).collect();
    assert_eq!((asked.len(), questions.len()), (800, 800), "no name is asked for twice, whatever its stream");
    let sources: BTreeSet<_> = asked.iter().map(|(source, _)| source).collect();
    assert_eq!(sources.len(), 3);
}

#[test]
fn what_does_not_answer_its_request_is_counted_by_kind_and_never_as_an_answer() {
    let from = Arc::new(Mutex::new(None));
    let trial = undisturbed_trial(|| {
        let elsewhere = UdpSocket::bind("127.0.0.1:0").unwrap();
        *from.lock().unwrap() = elsewhere.local_addr().ok();
        let mut used = BTreeSet::new();
        let odd = OddTarget::start(move |socket, number, bytes, source| {
            let mut reply = answer(bytes, 0);
            used.insert([bytes[0], bytes[1]]);
            let _ = match number % 10 {
                // An identifier that is wrong by a bit, and no other request's.
                0 => {
                    let wrong =
                        |bit: u16| (u16::from_be_bytes([bytes[0], bytes[1]]) ^ 1 << bit).to_be_bytes();
                    let unused = (0..16).map(wrong).find(|token| !used.contains(token)).unwrap();
                    reply[..2].copy_from_slice(&unused);
                    socket.send_to(&reply, source)
                }
                // Another name, cut within the name.
                1 => {
                    reply[13] ^= 1;
                    socket.send_to(&reply, source)
                }
                2 => socket.send_to(&reply[..20], source),
                3 => elsewhere.send_to(&reply, source),
                // The request itself, nothing, and the right one twice.
                4 => socket.send_to(bytes, source),
                5 => Ok(0),
                6 => socket.send_to(&reply, source).and_then(|_| socket.send_to(&reply, source)),
                // What no number of its header speaks of, and a record that is not there.
                7 => socket.send_to(&[&reply[..], &[0; 300]].concat(), source),
                8 => {
                    reply[7] = 1;
                    socket.send_to(&reply, source)
                }
                _ => socket.send_to(&reply, source),
            };
        });
        measurer(ever_new(odd.address), profile())?.measure(input(2_000.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.lost()), (400, 80, 320));
    assert_eq!((trial.duplicated, classes(&trial)), (Some(40), vec![("noerror", 80)]));
    let unlike = Caveat::RepliesUnlike { truncated: 80, extended: 40, changed: 80, unasked: 40 };
    assert!(trial.caveats.contains(&unlike), "{:?}", trial.caveats);
    let from = from.lock().unwrap().unwrap().to_string();
    let is_from = |caveat: &Caveat| matches!(caveat, Caveat::RepliesElsewhere { packets: 40, from: named, .. } if *named == from);
    assert!(trial.caveats.iter().any(is_from), "{:?}", trial.caveats);
    let lost_at = trial.lost_at.as_ref().unwrap();
    let places = ["reply_truncated", "reply_extended", "reply_changed", "return_no_listener", "unexplained"];
    assert_eq!(places.map(|place| lost_at[place]), [80, 40, 120, 40, 40], "{lost_at:?}");
    assert_eq!(lost_at.get("no_listener"), None, "every request came to the server");
}

#[test]
fn an_answer_of_several_datagrams_counts_once_they_all_came() {
    let trial = undisturbed_trial(|| {
        let odd = OddTarget::start(move |socket, number, bytes, source| {
            let key = String::from_utf8_lossy(&bytes[8..]).trim_start_matches("get ").trim_end().to_owned();
            let whole = format!("VALUE {key} 0 1500\r\n{}\r\nEND\r\n", "v".repeat(1500));
            for (at, said) in whole.as_bytes().chunks(1000).enumerate() {
                // Of every other answer the second datagram is missing.
                if at == 0 || number % 2 == 0 {
                    let head = [[bytes[0], bytes[1]], [0, at as u8], [0, 2], [0, 0]].concat();
                    let _ = socket.send_to(&[&head[..], said].concat(), source);
                }
            }
        });
        let requests = Service::Memcached(memcached::Requests::get("k{0..9}").unwrap());
        let target = UdpTarget { address: odd.address, reply: Reply::of_service(requests) };
        measurer(target, profile())?.measure(input(1_000.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.duplicated), (200, 100, Some(0)));
    assert_eq!((classes(&trial), trial.reply_truncated), (vec![("hit", 100)], Some(100)));
}

#[test]
fn a_server_that_answers_one_question_of_several_answers_every_stream() {
    for names in ["0..1", "0..3"] {
        let odd = OddTarget::start(move |socket, _, bytes, source| {
            if bytes[14] == b'0' {
                let _ = socket.send_to(&answer(bytes, 0), source);
            }
        });
        let questions =
            dns::Questions::named(&format!("h{{{names}}}.org"), "A", dns::Options::default()).unwrap();
        let target = UdpTarget { address: odd.address, reply: Reply::of_service(Service::Dns(questions)) };
        measurer(target, streams(4)).unwrap().reach(Duration::from_millis(1)).unwrap();
    }
}

#[test]
fn a_server_that_may_ask_others_is_told_before_the_first_trial_and_its_answers_in_it() {
    // Recursion is offered; authority is claimed by every other reply.
    let start = || {
        OddTarget::start(|socket, number, bytes, source| {
            let mut reply = answer(bytes, 0x80);
            reply[2] |= if number % 2 == 0 { 4 } else { 0 };
            let _ = socket.send_to(&reply, source);
        })
    };
    let odd = start();
    let found = probe(ever_new(odd.address), &profile(), &AtomicBool::new(false)).unwrap();
    assert_eq!(found.origin, Origin::Others);
    let trial =
        undisturbed_trial(|| measurer(ever_new(start().address), profile())?.measure(input(1_000.0, 100)));
    let relayed = Caveat::RepliesRelayed { relayed: 50, replies: 100 };
    assert!(trial.caveats.contains(&relayed), "{:?}", trial.caveats);
}

#[test]
fn a_reply_of_an_earlier_trial_is_late_and_answers_nothing() {
    let (trials, ()) = undisturbed(|| {
        let mut before = Vec::new();
        let odd = OddTarget::start(move |socket, number, bytes, source| {
            let reply = answer(bytes, 0);
            let _ = socket.send_to(&reply, source);
            match number {
                0..100 => before.push(reply),
                number => drop(socket.send_to(&before[number as usize - 100], source)),
            }
        });
        let mut measurer = measurer(ever_new(odd.address), profile())?;
        Ok((vec![measurer.measure(input(1_000.0, 100))?, measurer.measure(input(1_000.0, 100))?], ()))
    });
    assert_eq!((trials[0].forwarded, trials[0].late), (100, Some(0)));
    assert_eq!((trials[1].forwarded, trials[1].late, trials[1].duplicated), (100, Some(100), Some(0)));
}

#[test]
fn refusals_are_not_loss_and_are_doubted() {
    let trial = undisturbed_trial(|| {
        let odd = OddTarget::start(move |socket, number, bytes, source| {
            let mut reply = answer(bytes, if number % 10 == 0 { 5 } else { 0 });
            reply[2] |= if number % 10 == 1 { 2 } else { 0 };
            let _ = socket.send_to(&reply, source);
        });
        measurer(ever_new(odd.address), profile())?.measure(input(1_000.0, 100))
    });
    assert_eq!((trial.forwarded, trial.lost()), (100, 0));
    assert_eq!(classes(&trial), [("noerror", 80), ("refused", 10), ("truncated", 10)]);
    assert!(
        trial
            .caveats
            .iter()
            .any(|caveat| matches!(caveat, Caveat::RepliesRefuse { refused: 20, replies: 100, .. }))
    );
}

#[test]
fn a_load_whose_replies_would_not_be_told_apart_is_refused_with_the_streams_that_it_needs() {
    let odd = OddTarget::start(|_, _, _, _| panic!("nothing is sent"));
    // A reply may take 5 s.
    let trial = measurer(ever_new(odd.address), profile()).unwrap().measure(input(100_000.0, 100));
    assert!(matches!(trial, Err(UdpError::FewStreams { needed: 16, streams: 1, .. })), "{trial:?}");
    let uneven = vec![Part::whole("a"), Part { name: "b".into(), share: 2 }];
    let uneven = measurer(ever_new(odd.address), TrafficProfile { streams: uneven, ..profile() });
    assert!(matches!(uneven.err(), Some(UdpError::UnevenStreams)));
    assert_eq!(odd.stop(), 0);
}

#[test]
fn a_service_that_answers_is_found_before_the_first_trial_and_one_that_echoes_is_not_one() {
    let stop = AtomicBool::new(false);
    let odd = OddTarget::start(|socket, _, bytes, source| {
        let _ = socket.send_to(&answer(bytes, 3), source);
    });
    let found = probe(ever_new(odd.address), &profile(), &stop).unwrap();
    assert_eq!((found.said, found.round_trip_ns.is_some()), (Some("nxdomain"), true));
    measurer(ever_new(odd.address), streams(40)).unwrap().reach(Duration::from_millis(1)).unwrap();
    let echo = OddTarget::start(|socket, _, bytes, source| {
        let _ = socket.send_to(bytes, source);
    });
    let found = probe(ever_new(echo.address), &profile(), &stop);
    assert!(matches!(found, Err(UdpError::NoAnswer { others: 1.., .. })), "{found:?}");
}

#[test]
fn a_service_of_which_nothing_came_back_is_sent_nothing_but_its_own_requests() {
    let is_dns = Arc::new(AtomicBool::new(true));
    let heard = Arc::clone(&is_dns);
    let odd = OddTarget::start(move |socket, number, bytes, source| {
        if bytes.len() < 12 || bytes[2] & 0xf8 != 0 || bytes[5] != 1 {
            heard.store(false, Ordering::Relaxed);
        }
        if number == 0 {
            let _ = socket.send_to(&answer(bytes, 0), source);
        }
    });
    let trial = measurer(ever_new(odd.address), profile()).unwrap().measure(input(500.0, 100)).unwrap();
    assert_eq!((trial.forwarded, trial.lost()), (1, trial.offered - 1));
    assert!(is_dns.load(Ordering::Relaxed), "no count query, and no packet of ours");
}

/// A protocol of somebody's own.
fn own(address: SocketAddr, payload: &str, reply: &str) -> UdpTarget {
    let template = template::Template::read(payload, reply).unwrap();
    UdpTarget { address, reply: Reply::of_service(Service::Own(template)) }
}

#[test]
fn replies_of_an_own_protocol_are_told_by_their_tag_and_classed_by_their_bytes() {
    let trial = undisturbed_trial(|| {
        let odd = OddTarget::start(|socket, number, bytes, source| {
            // The tag comes back two bytes further on, behind a code; every fourth is refused, every fifth says nothing.
            let code = if number % 4 == 0 { 5 } else { 0 };
            let reply = [&[0x81, code, 0, 0], &bytes[2..6]].concat();
            if number % 5 != 0 || number < 100 {
                let _ = socket.send_to(&reply, source);
            }
        });
        let target =
            own(odd.address, "hex:c0de{tag:4}{counter:2}", "tag@4,answered@0=81,refused@1=05,bytes=8");
        measurer(target, streams(4))?.measure(input(1_000.0, 400))
    });
    let replied: u64 = classes(&trial).iter().map(|(_, count)| count).sum();
    assert_eq!((trial.offered, replied), (400, trial.forwarded));
    assert!((300..=390).contains(&trial.forwarded), "{}", trial.forwarded);
    assert_eq!(classes(&trial).iter().map(|(class, _)| *class).collect::<Vec<_>>(), ["answered", "refused"]);
    assert!(!trial.caveats.iter().any(|caveat| matches!(caveat, Caveat::RepliesInOrder { .. })));
}

#[test]
fn a_reply_with_another_tag_or_of_another_length_is_never_an_answer() {
    let trial = undisturbed_trial(|| {
        let odd = OddTarget::start(|socket, number, bytes, source| {
            let mut reply = bytes.to_vec();
            match number % 4 {
                0 if number > 20 => reply[2] ^= 0x40,
                1 if number > 20 => reply.push(0),
                2 if number > 20 => reply.truncate(6),
                _ => {}
            }
            let _ = socket.send_to(&reply, source);
        });
        let target = own(odd.address, "hex:c0de{tag:4}{random:10}", "tag@2,bytes=16");
        measurer(target, streams(1))?.measure(input(1_000.0, 200))
    });
    let unlike = trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::RepliesUnlike { truncated, extended, unasked, .. } => Some((*truncated, *extended, *unasked)),
        _ => None,
    });
    let (truncated, extended, unasked) = unlike.unwrap();
    assert_eq!(trial.forwarded + truncated + extended + unasked, 200, "{unlike:?}");
    assert!(truncated.min(extended).min(unasked) > 30, "{unlike:?}");
}

#[test]
fn a_reflector_of_ours_answers_every_session_sender_and_nothing_that_could_be_an_answer() {
    for kind in Reflector::ALL {
        let trial = undisturbed_trial(|| {
            let running = Responder { stamp: Some(kind), ..Responder::default() }.start().unwrap();
            let target = UdpTarget { address: running.address(), reply: Reply::of_service(Service::Stamp) };
            let trial = measurer(target, streams(2))?.measure(input(2_000.0, 200));
            assert_eq!(running.stop().answered, 400);
            trial
        });
        assert_eq!((trial.forwarded, classes(&trial)), (400, vec![("stamp", 400)]), "{kind:?}");
        let running = Responder { stamp: Some(kind), ..Responder::default() }.start().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let (mut request, mut reply) = (vec![0; 60], [0; 100]);
        request[3] = 7;
        let mut ask = |bytes: &[u8]| {
            socket.send_to(bytes, running.address()).unwrap();
            socket.recv(&mut reply).ok().map(|length| reply[..length].to_vec())
        };
        let numbers = [(); 2].map(|()| ask(&request).unwrap()[3]);
        assert_eq!(numbers, if kind == Reflector::Stateful { [0, 1] } else { [7, 7] });
        let answer = ask(&request).unwrap();
        assert_eq!((answer.len(), &answer[24..28]), (60, &request[..4]));
        assert_eq!(
            (ask(&answer), ask(&request[..43])),
            (None, None),
            "an answer, and what is shorter than one"
        );
    }
}

/// Every reply comes a turn of the tags late: it carries the tag of the request that is under way by then.
#[test]
fn a_reply_that_may_be_to_an_earlier_request_with_the_same_tag_is_not_timed() {
    let trial = undisturbed_trial(|| {
        let mut kept = std::collections::VecDeque::new();
        let odd = OddTarget::start(move |socket, _, bytes, source| {
            kept.push_back(bytes.to_vec());
            if kept.len() > 256 {
                let _ = socket.send_to(&kept.pop_front().unwrap(), source);
            }
        });
        let target = own(odd.address, "hex:00{tag:1}", "tag");
        let mut short = profile();
        short.drain.longest = Duration::from_millis(100);
        measurer(target, short)?.measure(input(1_000.0, 600))
    });
    assert_eq!((trial.offered, trial.forwarded), (600, 344));
    // The first turn of the tags had no reply: those of the second may be its own, and so on with each turn.
    let said = |caveat: &Caveat| matches!(caveat, Caveat::RepliesAmbiguous { ambiguous: 344, replies: 344 });
    assert!(trial.caveats.iter().any(said), "{:?}", trial.caveats);
    assert_eq!(trial.delay.histogram.map_or(0, |delay| delay.count()), 0);
    assert!(trial.slices.is_empty(), "nobody knows which are missing");
}

#[test]
fn a_tag_that_comes_round_before_the_first_answer_did_is_refused_whatever_the_drain_is() {
    let odd = OddTarget::start(|socket, _, bytes, source| {
        let (socket, bytes) = (socket.try_clone().unwrap(), bytes.to_vec());
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            let _ = socket.send_to(&bytes, source);
        });
    });
    let mut short = profile();
    short.drain.longest = Duration::from_millis(100);
    let mut measurer = measurer(own(odd.address, "hex:00{tag:1}", "tag"), short).unwrap();
    measurer.reach(Duration::from_millis(300)).unwrap();
    let trial = measurer.measure(input(900.0, 1000));
    assert!(matches!(trial, Err(UdpError::FewStreams { needed: 3, streams: 1, .. })), "{trial:?}");
}

#[test]
fn a_service_that_answers_wrongly_is_told_apart_from_one_that_is_silent() {
    let stop = AtomicBool::new(false);
    for (payload, said) in [
        ("hex:00{tag:4}", "5 carried the identifier of no request that was open"),
        ("hex:01{tag:4}", "5 were too short"),
        ("hex:02{tag:4}", "5 were too long"),
        ("hex:03{tag:4}", "5 spoke of something else than was asked"),
    ] {
        let odd = OddTarget::start(|socket, _, bytes, source| {
            let mut reply = bytes.to_vec();
            match bytes[0] {
                0 => reply[1] ^= 0x80,
                1 => reply.truncate(5),
                2 => reply.push(0),
                _ => reply[0] = 7,
            }
            let _ = socket.send_to(&reply, source);
        });
        let reply = if payload.starts_with("hex:01") { "tag,bytes=6" } else { "echo" };
        let why = probe(own(odd.address, payload, reply), &profile(), &stop).unwrap_err();
        assert!(
            matches!(why, UdpError::NoAnswer { others: 5, .. }) && why.to_string().contains(said),
            "{why}"
        );
    }
}

#[test]
fn more_replies_than_requests_are_duplicates_where_nothing_tells_them_apart() {
    let trial = undisturbed_trial(|| {
        let odd = OddTarget::start(|socket, _, bytes, source| {
            let _ = socket.send_to(bytes, source).and_then(|_| socket.send_to(bytes, source));
        });
        measurer(own(odd.address, "hex:c0de", "any"), profile())?.measure(input(200.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded, trial.duplicated), (40, 40, Some(40)));
    let unlike = trial.caveats.iter().any(|caveat| matches!(caveat, Caveat::RepliesUnlike { .. }));
    assert!(!unlike, "{:?}", trial.caveats);
}

#[test]
fn replies_that_say_nothing_are_counted_and_are_never_more_than_requests() {
    let every_twice = |twice: bool| {
        undisturbed_trial(move || {
            let odd = OddTarget::start(move |socket, number, _, source| {
                for _ in 0..if twice { 2 } else { u64::from(number % 10 != 0) } {
                    let _ = socket.send_to(b"ok", source);
                }
            });
            let target = own(odd.address, "text:PING", "any");
            measurer(target, streams(2))?.measure(input(1_000.0, 300))
        })
    };
    let in_order = |trial: &Trial| {
        trial.caveats.iter().find_map(|caveat| match caveat {
            Caveat::RepliesInOrder { replies, lost, .. } => Some((*replies, *lost)),
            _ => None,
        })
    };
    let trial = every_twice(true);
    assert!(trial.forwarded <= trial.offered, "{} of {}", trial.forwarded, trial.offered);
    assert_eq!(in_order(&trial), Some((trial.forwarded, 0)));
    let trial = every_twice(false);
    assert_eq!((trial.offered, trial.forwarded), (300, 270));
    assert_eq!(in_order(&trial), Some((270, 30)));
    let knows_delays = trial.delay.histogram.is_some() || !trial.slices.is_empty();
    assert!(!knows_delays, "nobody knows which are missing");
}

#[test]
fn replies_that_say_nothing_have_delays_only_where_one_request_is_under_way_at_a_time() {
    // Each tenth reply comes behind later ones, none is missing.
    let delayed = |by: Duration| {
        undisturbed_trial(move || {
            let odd = OddTarget::start(move |socket, number, _, source| match number % 10 {
                0 => {
                    let socket = socket.try_clone().unwrap();
                    std::thread::spawn(move || {
                        std::thread::sleep(by);
                        let _ = socket.send_to(b"ok", source);
                    });
                }
                _ => drop(socket.send_to(b"ok", source)),
            });
            measurer(own(odd.address, "text:PING", "any"), profile())?.measure(input(100.0, 400))
        })
    };
    let together = |trial: &Trial| {
        trial.caveats.iter().find_map(|caveat| match caveat {
            Caveat::RepliesInOrder { lost: 0, together, .. } => Some(*together),
            _ => None,
        })
    };
    let trial = delayed(Duration::from_millis(100));
    let has_delays = |trial: &Trial| {
        trial.delay.histogram.is_some() || trial.slices.iter().any(|slice| slice.delay.is_some())
    };
    assert!(together(&trial).is_some_and(|replies| replies > 9), "{:?}", trial.caveats);
    assert!(!has_delays(&trial), "which of them came when is not known");
    // Every reply comes before the next request leaves: 100 a second, by one stream.
    let trial = delayed(Duration::ZERO);
    assert!(together(&trial) != Some(0) || has_delays(&trial), "{:?}", trial.caveats);
}

#[test]
fn a_one_way_service_gets_its_own_payload_alone() {
    let heard = Arc::new(Mutex::new(BTreeSet::new()));
    let trial = undisturbed_trial(|| {
        let told = Arc::clone(&heard);
        let odd = OddTarget::start(move |_, _, bytes, _| {
            told.lock().unwrap().insert(bytes.to_vec());
        });
        let target = own(odd.address, "text:<13>dropline", "none");
        measurer(target, streams(1))?.measure(input(500.0, 200))
    });
    assert_eq!((trial.offered, trial.forwarded), (100, 100));
    assert_eq!(*heard.lock().unwrap(), BTreeSet::from([b"<13>dropline".to_vec()]), "no query of ours");
}
