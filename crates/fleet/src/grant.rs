//! Who may send load at whom: a grant that is signed, ends by itself, and is looked at by the agent that shall send.
//!
//! An agent without a grant sends to loopback addresses alone. What a grant allows is still held to the agent's own ceiling, and the
//! target's own consent is asked as ever.

use dropline_failure::Failure;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What is allowed, as it is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Which grant this is.
    pub id: String,
    /// Public key of whoever grants it.
    pub issuer: String,
    /// The agent that may send.
    pub agent: String,
    /// Where to, as `10.0.0.0/24:7007` or `10.0.0.7`: all ports.
    pub targets: Vec<String>,
    /// Packets a second, at most.
    pub max_pps: u64,
    /// Bits a second of Ethernet frames, at most.
    pub max_bps: u64,
    /// The longest trial, in seconds.
    pub trial_max_s: u64,
    /// From when on, in seconds since 1970.
    pub not_before: i64,
    /// Until when.
    pub not_after: i64,
}

/// A grant with its signature: the signed text is kept as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The grant, as JSON.
    pub grant: String,
    /// Its Ed25519 signature, in hexadecimal digits.
    pub signature: String,
}

/// What an agent allows by itself, whatever is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Public keys of those whose grants it obeys.
    #[serde(default)]
    pub issuers: Vec<String>,
    /// Where it sends at all; nothing said: wherever a grant says.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Packets a second, at most.
    #[serde(default)]
    pub max_pps: Option<u64>,
    /// Bits a second of Ethernet frames, at most.
    #[serde(default)]
    pub max_bps: Option<u64>,
    /// The longest trial, in seconds.
    #[serde(default)]
    pub trial_max_s: Option<u64>,
    /// Grants that hold no more.
    #[serde(default)]
    pub revoked: Vec<String>,
}

/// What an agent is asked to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Where to.
    pub target: SocketAddr,
    /// What it would send, in words.
    pub what: &'static str,
    /// The most of it within any 100 ms, in packets a second.
    pub pps: f64,
    /// The same in bits a second of Ethernet frames.
    pub bps: f64,
    /// For how long.
    pub duration: Duration,
    /// When, in seconds since 1970.
    pub now: i64,
}

impl Grant {
    /// The grant with the signature of its issuer.
    ///
    /// # Errors
    /// If the key cannot sign, or is not the issuer's.
    pub fn sign(&self, key: &KeyPair) -> Result<Signed, Failure> {
        if key.public_key() != self.issuer {
            return Err(Failure::usage("a grant is signed by the key of its issuer"));
        }
        let grant = serde_json::to_string(self).expect("a grant is JSON");
        let signature = key
            .sign(grant.as_bytes())
            .map_err(|why| Failure::usage(format!("the key cannot sign: {why}")))?;
        Ok(Signed { grant, signature: signature.iter().map(|byte| format!("{byte:02x}")).collect() })
    }
}

impl Signed {
    /// The grant, if it was signed by one of `issuers` for this agent and is not revoked.
    ///
    /// # Errors
    /// If any of that is not so.
    pub fn of(&self, agent: &str, ceiling: &Ceiling) -> Result<Grant, Failure> {
        let grant: Grant =
            serde_json::from_str(&self.grant).map_err(|_| refused("the grant cannot be read"))?;
        if !ceiling.issuers.contains(&grant.issuer) {
            return Err(refused(&format!("the grant is by {}, whom this agent does not obey", grant.issuer)));
        }
        let signature =
            bytes(&self.signature).ok_or_else(|| refused("the signature of the grant cannot be read"))?;
        let issuer = KeyPair::from_public_key(&grant.issuer)
            .map_err(|_| refused("the issuer of the grant is not a key"))?;
        if issuer.verify(self.grant.as_bytes(), &signature).is_err() {
            return Err(refused("the grant was not signed by its issuer, or was changed since"));
        }
        if grant.agent != agent {
            return Err(refused(&format!("the grant is for agent {}", grant.agent)));
        }
        if ceiling.revoked.contains(&grant.id) {
            return Err(refused(&format!("the grant {} was revoked", grant.id)));
        }
        Ok(grant)
    }
}

/// Says that a grant holds no more, signed as the grant was.
///
/// # Errors
/// If the key cannot sign.
pub fn revoke(id: &str, key: &KeyPair) -> Result<Signed, Failure> {
    let text =
        serde_json::to_string(&Revoked { revoke: id.into(), issuer: key.public_key() }).expect("it is JSON");
    let signature =
        key.sign(text.as_bytes()).map_err(|why| Failure::usage(format!("the key cannot sign: {why}")))?;
    Ok(Signed { grant: text, signature: signature.iter().map(|byte| format!("{byte:02x}")).collect() })
}

/// The grant that holds no more, if one whom this agent obeys says so.
pub(crate) fn revoked(signed: &Signed, ceiling: &Ceiling) -> Option<String> {
    let revoked: Revoked = serde_json::from_str(&signed.grant).ok()?;
    let issuer = KeyPair::from_public_key(&revoked.issuer).ok()?;
    let is_so = ceiling.issuers.contains(&revoked.issuer)
        && issuer.verify(signed.grant.as_bytes(), &bytes(&signed.signature)?).is_ok();
    is_so.then_some(revoked.revoke)
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Revoked {
    revoke: String,
    issuer: String,
}

/// Whether an agent may send what it is asked to: to loopback whatever its ceiling allows, elsewhere what a grant allows too. Until
/// when it may, in seconds since 1970, where that ends.
///
/// # Errors
/// If it may not.
pub fn check(asked: &Asked, grant: Option<&Grant>, ceiling: &Ceiling) -> Result<Option<i64>, Failure> {
    let within = |what: &str, asked: f64, most: Option<u64>, whose: &str| match most {
        Some(most) if asked > most as f64 => {
            Err(refused(&format!("{what} of {asked:.0} is above {most}, which {whose} allows")))
        }
        _ => Ok(()),
    };
    let all = |pps: Option<u64>, bps: Option<u64>, trial_s: Option<u64>, whose: &str| {
        let Asked { what, .. } = asked;
        within(&format!("{what}, in packets a second within 100 ms,"), asked.pps, pps, whose)?;
        within(&format!("{what}, in bits a second within 100 ms,"), asked.bps, bps, whose)?;
        within("a trial's length, in seconds,", asked.duration.as_secs_f64(), trial_s, whose)
    };
    all(ceiling.max_pps, ceiling.max_bps, ceiling.trial_max_s, "the agent's own configuration")?;
    let ip = asked.target.ip().to_canonical();
    if !ceiling.targets.is_empty() && !is_in(asked.target, &ceiling.targets) {
        return Err(refused(&format!(
            "{} is none of the targets that the agent's own configuration names",
            asked.target
        )));
    }
    let Some(grant) = grant else {
        return match ip.is_loopback() {
            true => Ok(None),
            false => Err(refused(&format!(
                "{} is not a loopback address, and there is no grant for it",
                asked.target
            ))),
        };
    };
    if !is_in(asked.target, &grant.targets) {
        return Err(refused(&format!("{} is none of the targets of the grant {}", asked.target, grant.id)));
    }
    let whose = format!("the grant {}", grant.id);
    all(Some(grant.max_pps), Some(grant.max_bps), Some(grant.trial_max_s), &whose)?;
    let ends = asked
        .now
        .saturating_add(i64::try_from(asked.duration.as_secs_f64().ceil() as u64).unwrap_or(i64::MAX));
    if asked.now < grant.not_before {
        return Err(refused(&format!("the grant {} does not hold yet", grant.id)));
    }
    if ends > grant.not_after {
        return Err(refused(&format!("the grant {} ends before the trial would", grant.id)));
    }
    Ok(Some(grant.not_after))
}

fn refused(why: &str) -> Failure {
    Failure::environment(format!("refused: {why}")).advice(
        "dropline fleet grant  makes a grant, signed by a key that the agent's --config names under issuers",
    )
}

/// Whether an address is in one of these, each `ADDRESS`, `ADDRESS/BITS`, or either with `:PORT`; IPv6 in brackets before a port.
fn is_in(target: SocketAddr, ranges: &[String]) -> bool {
    ranges.iter().filter_map(|range| parse(range)).any(|(network, bits, port)| {
        port.is_none_or(|port| port == target.port()) && covers(network, bits, target.ip().to_canonical())
    })
}

/// Whether a range can be read.
pub fn is_range(text: &str) -> bool {
    parse(text).is_some()
}

fn parse(text: &str) -> Option<(IpAddr, u32, Option<u16>)> {
    let (network, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (network, port) = rest.split_once(']')?;
            (network, port.strip_prefix(':').map(str::parse).transpose().ok()?)
        }
        None if text.matches(':').count() == 1 => {
            let (network, port) = text.split_once(':')?;
            (network, Some(port.parse().ok()?))
        }
        None => (text, None),
    };
    let (address, bits) =
        network.split_once('/').map_or((network, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
    (bits <= most).then_some((address, bits, port))
}

fn covers(network: IpAddr, bits: u32, address: IpAddr) -> bool {
    let same = |a: u128, b: u128, length: u32| bits == 0 || (a ^ b) >> (length - bits) == 0;
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            same(network.to_bits().into(), address.to_bits().into(), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => same(network.to_bits(), address.to_bits(), 128),
        _ => false,
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(issuer: &KeyPair) -> Grant {
        Grant {
            id: "g1".into(),
            issuer: issuer.public_key(),
            agent: "west-1".into(),
            targets: vec!["10.1.0.0/16:7007".into()],
            max_pps: 1000,
            max_bps: 10_000_000,
            trial_max_s: 60,
            not_before: 100,
            not_after: 200,
        }
    }

    fn asked(target: &str, pps: f64, seconds: u64, now: i64) -> Asked {
        let duration = Duration::from_secs(seconds);
        Asked {
            target: target.parse().unwrap(),
            what: "a share of the load",
            pps,
            bps: pps * 1000.0,
            duration,
            now,
        }
    }

    fn ceiling(issuer: &KeyPair) -> Ceiling {
        Ceiling { issuers: vec![issuer.public_key()], ..Ceiling::default() }
    }

    #[test]
    fn a_grant_holds_only_as_its_issuer_signed_it_and_for_whom() {
        let issuer = KeyPair::new_account();
        let signed = grant(&issuer).sign(&issuer).unwrap();
        assert_eq!(signed.of("west-1", &ceiling(&issuer)).unwrap(), grant(&issuer));
        let said = |signed: &Signed, agent: &str, ceiling: &Ceiling| {
            signed.of(agent, ceiling).unwrap_err().to_string()
        };
        assert!(said(&signed, "east", &ceiling(&issuer)).contains("for agent west-1"));
        let stranger = KeyPair::new_account();
        assert!(said(&signed, "west-1", &ceiling(&stranger)).contains("does not obey"));
        assert!(
            said(&signed, "west-1", &Ceiling::default()).contains("does not obey"),
            "nobody is obeyed unasked"
        );
        let more = Signed { grant: signed.grant.replace("1000,", "9000,"), ..signed.clone() };
        assert!(said(&more, "west-1", &ceiling(&issuer)).contains("changed since"));
        let forged = grant(&issuer);
        let text = serde_json::to_string(&forged).unwrap();
        let signature =
            stranger.sign(text.as_bytes()).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(said(&Signed { grant: text, signature }, "west-1", &ceiling(&issuer)).contains("not signed"));
        assert!(forged.sign(&stranger).is_err());
        let revoked = Ceiling { revoked: vec!["g1".into()], ..ceiling(&issuer) };
        assert!(said(&signed, "west-1", &revoked).contains("revoked"));
        for broken in ["", "0", "zz", "\u{e9}\u{e9}"] {
            assert!(
                Signed { signature: broken.into(), ..signed.clone() }
                    .of("west-1", &ceiling(&issuer))
                    .is_err()
            );
        }
    }

    #[test]
    fn without_a_grant_loopback_alone_is_sent_to() {
        let none = Ceiling::default();
        assert_eq!(check(&asked("127.0.0.1:7007", 1e9, 9999, 1), None, &none).unwrap(), None);
        assert_eq!(check(&asked("[::1]:7007", 1.0, 1, 1), None, &none).unwrap(), None);
        assert!(check(&asked("10.1.2.3:7007", 1.0, 1, 1), None, &none).is_err());
        let few = Ceiling { max_pps: Some(10), ..Ceiling::default() };
        assert!(
            check(&asked("127.0.0.1:7007", 11.0, 1, 1), None, &few).is_err(),
            "its own ceiling holds for loopback too"
        );
    }

    #[test]
    fn a_grant_allows_what_it_says_and_no_more_and_the_ceiling_holds_all_the_same() {
        let issuer = KeyPair::new_account();
        let (grant, open) = (grant(&issuer), ceiling(&issuer));
        let allowed = |asked: Asked, ceiling: &Ceiling| check(&asked, Some(&grant), ceiling);
        assert_eq!(allowed(asked("10.1.2.3:7007", 1000.0, 50, 150), &open).unwrap(), Some(200));
        for (wrong, why) in [
            (asked("10.2.2.3:7007", 1.0, 1, 150), "another network"),
            (asked("10.1.2.3:7008", 1.0, 1, 150), "another port"),
            (asked("10.1.2.3:7007", 1001.0, 1, 150), "too fast"),
            (asked("10.1.2.3:7007", 1.0, 61, 110), "too long"),
            (asked("10.1.2.3:7007", 1.0, 1, 99), "too early"),
            (asked("10.1.2.3:7007", 1.0, 51, 150), "it would outlive the grant"),
            (asked("10.1.2.3:7007", 1.0, 1, 201), "too late"),
        ] {
            assert_eq!(allowed(wrong, &open).unwrap_err().exit_code(), 4, "{why}");
        }
        let lower = Ceiling { max_pps: Some(500), targets: vec!["10.1.2.0/24".into()], ..open };
        assert!(allowed(asked("10.1.2.3:7007", 500.0, 1, 150), &lower).is_ok());
        assert!(allowed(asked("10.1.2.3:7007", 501.0, 1, 150), &lower).is_err());
        assert!(allowed(asked("10.1.3.3:7007", 1.0, 1, 150), &lower).is_err());
    }

    #[test]
    fn ranges_are_read_as_they_are_written() {
        let is = |target: &str, range: &str| is_in(target.parse().unwrap(), &[range.into()]);
        assert!(is("10.0.0.7:1", "10.0.0.7") && !is("10.0.0.8:1", "10.0.0.7"));
        assert!(is("10.9.9.9:1", "0.0.0.0/0") && !is("[2001:db8::1]:1", "0.0.0.0/0"));
        assert!(is("[2001:db8::1]:53", "[2001:db8::/32]:53") && is("[2001:db8::1]:53", "2001:db8::/32"));
        assert!(!is("[2001:db9::1]:53", "2001:db8::/32") && !is("[2001:db8::1]:54", "[2001:db8::/32]:53"));
        for wrong in ["", "10.0.0.0/33", "x", "10.0.0.0/24:", "10.0.0.0/24:x", "[::1", "10.0.0.0/-1"] {
            assert!(!is_range(wrong), "{wrong}");
        }
    }
}
