//! An interface of the way, or the address, that leaves its namespace while something is measured.

use super::*;

/// How long a trial is that nothing ends.
pub(super) const LONG: Duration = Duration::from_secs(20);

/// Two trials in a row; once a hundred packets of the first were answered, `comes` happens.
pub(super) fn trials_while(
    client: &Namespace,
    served: &RunningResponder,
    address: Ipv4Addr,
    comes: impl FnOnce() + Send,
) -> (Trial, Result<Trial, UdpError>) {
    trials_of_while(Reply::Echo, client, served, address, comes)
}

/// The same of a target that replies so.
pub(super) fn trials_of_while(
    reply: Reply,
    client: &Namespace,
    served: &RunningResponder,
    address: Ipv4Addr,
    comes: impl FnOnce() + Send,
) -> (Trial, Result<Trial, UdpError>) {
    let target = UdpTarget { address: (address, PORT).into(), reply };
    let drain = Drain { longest: Duration::from_millis(200), ..Drain::default() };
    let profile = TrafficProfile { drain, ..TrafficProfile::default() };
    let input = |duration| TrialInput { load: Rate::pps(500.0).unwrap(), duration };
    let before = served.counts().received;
    std::thread::scope(|scope| {
        let coming = std::thread::Builder::new()
            .spawn_scoped(scope, || {
                let until = Instant::now() + LONG / 2;
                while served.counts().received < before + 100 && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(5));
                }
                comes();
            })
            .unwrap();
        let measured = client.run(|| {
            let options = MeasurerOptions::default();
            let mut measurer = UdpMeasurer::new(target, profile, options, 1, Arc::default(), None).unwrap();
            let first = measurer.measure(input(LONG)).unwrap();
            coming.join().unwrap();
            (first, measurer.measure(input(LONG / 100)))
        });
        measured.unwrap()
    })
}

/// It was ended at once, and says why in these words.
pub(super) fn assert_ended(trial: &Trial, words: &str) {
    let said = trial.caveats.iter().find(|caveat| caveat.code() == "rule_appeared").map(ToString::to_string);
    assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{words}: {:?}", trial.caveats);
    assert!(trial.duration < LONG && trial.offered < 10_000, "it is ended at once");
    assert!(trial.is_invalid() && trial.lost_by_target() == 0 && !trial.is_interrupted());
}

#[test]
fn an_interface_of_the_way_that_leaves_its_namespace_in_mid_trial_ends_it_and_no_other_follows() {
    for is_moved in [true, false] {
        let Some(lab) = built(Pair::new()) else { return };
        let Some(stranger) = built(Namespace::new("stranger")) else { return };
        let served = serve(&lab.target, lab.target_address);
        let leaves = || {
            if !is_moved {
                lab.target.ip(&["link", "del", "dev", Pair::FAR]).unwrap();
                return;
            }
            lab.target.ip(&["link", "set", "dev", Pair::FAR, "netns", stranger.name()]).unwrap();
            stranger.ip(&["addr", "add", "10.9.0.2/24", "dev", Pair::FAR]).unwrap();
            stranger.ip(&["link", "set", "dev", Pair::FAR, "up"]).unwrap();
        };
        let (trial, next) = trials_while(&lab.client, &served, lab.target_address, leaves);
        let words = if is_moved { "interface far of" } else { "which is on the path, was taken away" };
        assert_ended(&trial, words);
        let why = match next.unwrap_err() {
            UdpError::NoLeash { why, .. } => why,
            other => panic!("{other}"),
        };
        assert_eq!(matches!(why, NoLeash::Moved { .. }), is_moved, "{why}");
    }
}

#[test]
fn a_link_that_goes_down_and_comes_back_in_mid_trial_ends_nothing() {
    let Some(lab) = built(Pair::new()) else { return };
    let served = serve(&lab.target, lab.target_address);
    let target = UdpTarget { address: (lab.target_address, PORT).into(), reply: Reply::Echo };
    let input = TrialInput { load: Rate::pps(500.0).unwrap(), duration: Duration::from_secs(2) };
    let trial = std::thread::scope(|scope| {
        let goes = std::thread::Builder::new()
            .spawn_scoped(scope, || {
                let until = Instant::now() + LONG;
                while served.counts().received < 100 && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(5));
                }
                for how in ["down", "up"] {
                    lab.target.ip(&["link", "set", "dev", Pair::FAR, how]).unwrap();
                    std::thread::sleep(Duration::from_millis(200));
                }
            })
            .unwrap();
        let options = MeasurerOptions::default();
        let measured = lab.client.run(|| {
            UdpMeasurer::new(target, TrafficProfile::default(), options, 1, Arc::default(), None)?
                .measure(input)
        });
        goes.join().unwrap();
        measured.unwrap().unwrap()
    });
    let codes: Vec<_> = trial.caveats.iter().map(|caveat| caveat.code()).collect();
    assert!(codes.contains(&"link_down") && !codes.contains(&"rule_appeared"), "{:?}", trial.caveats);
    assert_eq!(trial.duration, input.duration, "it goes to its end");
}

#[test]
fn an_address_that_moves_to_another_namespace_between_two_trials_ends_the_measurement() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let (_there, _beside) = (serve(&lab.target, lab.target_address), serve(&stranger, STRANGER));
    let target = UdpTarget { address: (lab.target_address, PORT).into(), reply: Reply::Echo };
    let input = TrialInput { load: Rate::pps(500.0).unwrap(), duration: Duration::from_millis(100) };
    let (first, second, last) = lab
        .client
        .run(|| {
            let options = MeasurerOptions::default();
            let profile = TrafficProfile::default();
            let mut measurer = UdpMeasurer::new(target, profile, options, 1, Arc::default(), None).unwrap();
            let first = measurer.measure(input);
            let own = format!("{}/24", lab.target_address);
            lab.target.ip(&["addr", "del", &own, "dev", Pair::FAR]).unwrap();
            let second = measurer.measure(input);
            stranger.ip(&["addr", "add", &own, "dev", Pair::NEAR]).unwrap();
            lab.client.ip(&["neigh", "flush", "dev", Pair::NEAR]).unwrap();
            (first, second, measurer.measure(input))
        })
        .unwrap();
    assert!(first.is_ok(), "{first:?}");
    let why = second.unwrap_err();
    // A namespace of another test may have one like it.
    let is_gone =
        matches!(&why, UdpError::NoLeash { why: NoLeash::Elsewhere(_) | NoLeash::Apart { .. }, .. });
    assert!(is_gone, "nobody has it: {why}");
    let why = last.unwrap_err();
    assert!(matches!(&why, UdpError::NoLeash { why: NoLeash::Moved { .. }, .. }), "another has it: {why}");
}
