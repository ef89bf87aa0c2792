//! A grant as an agent is handed it.

use dropline_fleet::grant::{AskedTraffic, Ceiling, Grant, Signed, check as allowed};
use std::time::Duration;

/// A grant that nobody signed is refused; what one allows is within all that it says.
pub fn check(bytes: &[u8]) {
    if let Ok(signed) = serde_json::from_slice::<Signed>(bytes) {
        let issuer = serde_json::from_str::<Grant>(&signed.grant).map(|grant| grant.issuer);
        let ceiling = Ceiling { issuers: issuer.into_iter().collect(), ..Ceiling::default() };
        if let Ok(grant) = signed.of("west", &ceiling) {
            assert_eq!(grant.agent, "west");
        }
        assert!(signed.of("west", &Ceiling::default()).is_err(), "nobody is obeyed who is not named");
    }
    let Ok(grant) = serde_json::from_slice::<Grant>(bytes) else { return };
    let _ = grant.check();
    for (target, pps) in [("127.0.0.1:7007", 1000.0), ("10.0.0.7:7007", 1e6), ("[fd00::7]:53", 1.0)] {
        let asked = AskedTraffic {
            target: target.parse().expect("an address"),
            what: "a load",
            pps,
            bps: 880.0 * pps,
            duration: Duration::from_secs(10),
            now: 1_800_000_000,
        };
        assert!(allowed(&asked, None, &Ceiling::default()).is_ok() == asked.target.ip().is_loopback());
        if let Ok(bound) = allowed(&asked, Some(&grant), &Ceiling::default()) {
            assert!(
                grant.max_pps as f64 >= pps && grant.max_bps as f64 >= asked.bps && grant.trial_max_s >= 10
            );
            assert!(grant.not_before <= asked.now && asked.now + 10 <= grant.not_after);
            assert_eq!((bound.until, bound.pps), (Some(grant.not_after), Some(grant.max_pps)));
        }
    }
}
