use super::*;

#[test]
fn no_time_is_rounded_to_none_of_a_larger_unit() {
    let said = Caveat::ArrivalsNotKept { lateness_p99_ns: 137_494_123, intended_idt_ns: 877 }.to_string();
    assert!(said.contains("left 137 ms late or more, where packets are 877 ns apart"), "{said}");
    assert_eq!(
        [0, 999, 1_000, 12_345, 1_500_000_000].map(time_of),
        ["0 ns", "999 ns", "1.00 us", "12.3 us", "1.50 s"]
    );
}

#[test]
fn a_doubted_loss_is_told_as_the_most_that_it_can_be_and_not_as_what_it_is() {
    let said = Caveat::LossDoubted { lost: 7_312, ours: 7_040 }.to_string();
    let bound = "may have lost up to 7040 of these 7312 packets (the other caveats say how)";
    assert!(said.contains(bound), "{said}");
    let said = Caveat::LossDoubted { lost: 785, ours: 785 }.to_string();
    assert!(said.contains("may have lost some or all of these 785 packets"), "{said}");
}

#[test]
fn only_what_there_is_some_of_is_named_and_one_of_it_is_no_plural() {
    let said = Caveat::RepliesDiffer { truncated: 0, extended: 997, changed: 0 }.to_string();
    assert!(said.starts_with("997 packets came back longer") && !said.contains("shorter"), "{said}");
    let said = Caveat::RepliesDiffer { truncated: 1, extended: 0, changed: 0 }.to_string();
    assert!(said.starts_with("1 packet came back shorter than sent: that is loss"), "{said}");
    let said = Caveat::RepliesBeside { truncated: 2, extended: 1, changed: 0 }.to_string();
    assert!(said.contains("2 replies cut short and 1 reply longer"), "{said}");
    let said = Caveat::RepliesDiffer { truncated: 0, extended: 0, changed: 3 }.to_string();
    assert!(said.starts_with("3 packets came back with other bytes") && !said.contains("longer"), "{said}");
    let error = "ECONNREFUSED".to_owned();
    let said = Caveat::TargetUnreachable { error, at_ns: 0, refused: 0, reports: 1 }.to_string();
    assert!(said.contains("(ECONNREFUSED): 1 report about packets that had left; start it again"), "{said}");
}

#[test]
fn packets_that_were_refused_are_not_said_to_want_a_cpu() {
    let said = |error: Option<&str>, interface: Option<&str>| {
        let (error, interface) = (error.map(String::from), interface.map(String::from));
        Caveat::GeneratorLimited { intended: 10, offered: 4, error, interface }.to_string()
    };
    assert!(said(None, None).contains("free a CPU"));
    let queue = said(Some("ENOBUFS"), Some("veA"));
    assert!(
        queue.contains("queue of interface veA") && queue.contains("tc -s qdisc show dev veA"),
        "{queue}"
    );
    assert!(said(Some("EPERM"), None).contains("firewall"));
    let rule = said(Some("ENOBUFS (chain out of table netdev t)"), Some("veA"));
    assert!(rule.contains("in front of interface veA may drop such packets (chain out of"), "{rule}");
    assert!(!rule.contains("full"), "{rule}");
    for error in ["ENOBUFS", "EPERM", "EINVAL"] {
        let said = said(Some(error), None);
        assert!(said.contains(error) && said.contains("4 of 10") && !said.contains("CPU"), "{said}");
    }
}

#[test]
fn a_warm_up_is_advised_that_is_no_shorter_than_what_was_seen_and_what_was_given() {
    let said = |until_s: Option<f64>, warmed_s: f64| {
        let caveat =
            Caveat::WarmUp { by_chance: 0.002, since_trial: Some(9), since_s: Some(10.8), until_s, warmed_s };
        caveat.to_string()
    };
    for (until_s, warmed_s, words) in [
        (Some(7.8), 0.0, "up to 7.8 s after the start, found a slower target"),
        (Some(7.8), 0.0, "(--warm-up 8s)"),
        (Some(3.2), 5.0, "(--warm-up 9s)"),
        (Some(7.8), 5.0, "(--warm-up 15s)"),
        (Some(70.0), 0.0, "(--warm-up 70s)"),
        (None, 0.0, "(--warm-up 15s)"),
    ] {
        assert!(said(until_s, warmed_s).contains(words), "{words}: {}", said(until_s, warmed_s));
    }
}
