//! A rule that leads some streams elsewhere from mid-trial on is not the target's loss. Needs root, iproute2 and nftables:
//! without them the test is skipped, and fails where `CI` is `true`.
#![allow(clippy::disallowed_methods)]
#![cfg(all(target_os = "linux", not(feature = "portable")))]

use dropline_lab::{Namespace, built_or_skipped as built};
use dropline_traffic::{MeasurerOptions, Reply, Responder, Sources, UdpMeasurer, UdpTarget};
use dropline_trial::{Caveat, Measurer as _, Part, Rate, TrafficProfile, Trial, TrialInput};
use std::sync::Arc;
use std::time::Duration;

/// Two seconds of sixteen streams from ports in a row, while something happens after the first half second.
fn trial_while(own: &Namespace, port: u16, happens: impl FnOnce() + Send) -> Trial {
    let target = UdpTarget { address: ([127, 0, 0, 1], port).into(), reply: Reply::Echo };
    let streams = (0..16).map(|number| Part { name: number.to_string(), share: 1 }).collect();
    let profile = TrafficProfile { streams, ..TrafficProfile::default() };
    let sources = Sources { first_port: Some(4000), ..Sources::default() };
    let options = MeasurerOptions { sources, ..MeasurerOptions::default() };
    let input = TrialInput { load: Rate::pps(2_000.0).unwrap(), duration: Duration::from_secs(2) };
    std::thread::scope(|scope| {
        let measure = || {
            let mut measurer = UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?;
            measurer.reach(Duration::ZERO)?;
            measurer.measure(input)
        };
        let measured = scope.spawn(|| own.run(measure).unwrap().unwrap());
        std::thread::sleep(Duration::from_millis(700));
        happens();
        measured.join().unwrap()
    })
}

#[test]
fn what_a_rule_leads_elsewhere_from_mid_trial_on_is_not_the_targets_loss() {
    let Some(own) = built(Namespace::new("own")) else { return };
    let responder = |port: u16| {
        let listen = ([127, 0, 0, 1], port).into();
        own.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap()
    };
    let lost = |trial: &Trial, place: &str| {
        trial.lost_at.as_ref().and_then(|lost_at| lost_at.get(place)).copied().unwrap_or(0)
    };
    let _here = responder(7000);
    let rule = "table ip n {\n chain o { type nat hook output priority -100; udp dport 7000 udp sport 4000-4004 dnat to 127.0.0.1:7009; }\n}";
    let trial = trial_while(&own, 7000, || drop(own.nft(rule).unwrap()));
    assert!(trial.lost() > 300, "five of sixteen streams for half of the time: {:?}", trial.lost_at);
    assert!(lost(&trial, "led_away") * 2 > trial.lost(), "{:?} {:?}", trial.lost_at, trial.caveats);
    assert_eq!(lost(&trial, "no_listener"), 0);
    assert!(
        trial.is_disturbed()
            && trial.caveats.iter().any(|caveat| matches!(caveat, Caveat::LossDoubted { .. }))
    );

    let dies = responder(7001);
    let trial = trial_while(&own, 7001, move || drop(dies));
    assert!(trial.lost() > 0 && lost(&trial, "led_away") == 0, "{:?}", trial.lost_at);
}
