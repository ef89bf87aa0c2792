//! Tests only: programs at the interfaces of a way, before a trial and while it runs.

use super::measurer::UdpMeasurer;
use super::options::MeasurerOptions;
use crate::error::UdpError;
use crate::responder::settings::Responder;
use crate::sys::led_by_program::{PLACES, stand_at};
use crate::target::{Reply, UdpTarget};
use dropline_lab::{Bridged, Namespace, Pair, built_or_skipped};
use dropline_trial::{Measurer as _, Rate, TrafficProfile, TrialInput};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn number(namespace: &Namespace, device: &str) -> u32 {
    let said = namespace.ip(&["-o", "link", "show", "dev", device]).unwrap();
    said.split(':').next().unwrap().parse().unwrap()
}

#[test]
fn a_program_at_an_interface_of_the_way_is_seen_and_in_mid_trial_ends_it() {
    let Some(lab) = built_or_skipped(Bridged::new()) else { return };
    let listen = (lab.target_address, 7007).into();
    let responder = || Responder { listen, ..Responder::default() }.start();
    let served = lab.target.run(responder).unwrap().unwrap();
    let target = UdpTarget { address: listen, reply: Reply::Echo };
    let input = |duration| TrialInput { load: Rate::pps(500.0).unwrap(), duration };
    let measurer = || {
        let options = MeasurerOptions::default();
        UdpMeasurer::new(target, TrafficProfile::default(), options, 1, Arc::default(), None)
    };
    let short = Duration::from_millis(50);
    let offer = || lab.client.run(|| measurer()?.measure(input(short))).unwrap();
    assert!(offer().is_ok(), "without a program");
    let port = lab.bridge.ip(&["-o", "link", "show", "master", "bridge"]).unwrap();
    let port = port.split(": ").nth(1).and_then(|name| name.split('@').next()).unwrap().to_owned();
    let at = [(&lab.client, Pair::NEAR), (&lab.target, Pair::FAR), (&lab.bridge, port.as_str())];
    for ((namespace, device), place) in at.into_iter().flat_map(|at| PLACES.map(|place| (at, place))) {
        let interface = number(namespace, device);
        let stands = || namespace.run(|| stand_at(interface, place)).unwrap();
        let refused = |offered: Result<_, UdpError>| {
            let words = format!("at interface {device} of ");
            let why = offered.expect_err(&words).to_string();
            assert!(why.contains("nobody can tell") && why.contains(&words), "{place}: {why}");
        };
        match stands() {
            Ok(program) => {
                let before = served.counts().received;
                refused(offer());
                assert_eq!(served.counts().received, before, "not a packet");
                drop(program);
            }
            Err(why) if std::env::var("CI").as_deref() != Ok("true") => {
                eprintln!("left out: no program can be attached: {why}");
                continue;
            }
            Err(why) => panic!("no program can be attached: {why}"),
        }
        // Links are let go of by the kernel a little later.
        let until = Instant::now() + Duration::from_secs(20);
        while offer().is_err() && Instant::now() < until {}
        let long = Duration::from_secs(20);
        let before = served.counts().received;
        let (during, after, program) = std::thread::scope(|scope| {
            let come = || {
                let until = Instant::now() + long / 2;
                while served.counts().received < before + 100 && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(5));
                }
                stands()
            };
            let coming = std::thread::Builder::new().spawn_scoped(scope, come).unwrap();
            let measured = lab.client.run(|| {
                let mut measurer = measurer()?;
                let during = measurer.measure(input(long))?;
                let program: io::Result<_> = coming.join().unwrap();
                Ok::<_, UdpError>((during, measurer.measure(input(short)), program))
            });
            measured.unwrap().unwrap()
        });
        let codes: Vec<_> = during.caveats.iter().map(|caveat| caveat.code()).collect();
        assert!(codes.contains(&"rule_appeared") && during.duration < long, "{device} {place}: {codes:?}");
        refused(after);
        drop(program.unwrap());
        while offer().is_err() && Instant::now() < until + long {}
    }
}
