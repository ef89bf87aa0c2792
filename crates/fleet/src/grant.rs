//! Who may send load at whom: a grant that is signed, ends by itself, and is looked at by the agent that shall send.
//!
//! An agent without a grant sends to loopback addresses alone. What a grant allows is still held to the agent's own ceiling, and the
//! target's own consent is asked as ever.

use dropline_failure::Failure;
use dropline_trial::time_of;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

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
    /// What it does at all; nothing said: it performs trials.
    #[serde(default)]
    pub may: Option<Vec<Duty>>,
    /// Addresses of this host at which agents of other hosts may send load.
    #[serde(default)]
    pub consents: Vec<String>,
    /// Agents that are believed when they say that their host consents, by their public keys, and for which addresses each is.
    #[serde(default)]
    pub consenters: BTreeMap<String, Vec<String>>,
}

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duty {
    /// It sends its share of trials.
    Perform,
    /// It reads what its host counted of packets that others send.
    Observe,
}

impl Ceiling {
    /// Whether it does this.
    pub fn has(&self, duty: Duty) -> bool {
        self.may.as_deref().unwrap_or(&[Duty::Perform]).contains(&duty)
    }

    /// What is neither a range of addresses nor empty, of what it names as such.
    pub fn wrong_range(&self) -> Option<&str> {
        let ranges = self.targets.iter().chain(&self.consents).chain(self.consenters.values().flatten());
        ranges.map(String::as_str).find(|range| !is_range(range))
    }
}

/// What an agent is asked to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskedTraffic {
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

/// Whether a text may be the id of a grant: each has one like the others.
pub fn is_id(text: &str) -> bool {
    text.len() == crate::keys::id().len()
        && text.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit())
}

impl Grant {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// If it is for nobody, for nothing, or by a key that signs no grants.
    pub fn check(&self) -> Result<(), Failure> {
        if !crate::name::is_name(&self.agent) {
            return Err(Failure::usage(format!("--agent {:?} is not the name of an agent", self.agent))
                .advice("it has at most 32 letters, digits, - and _, as dropline fleet list shows it"));
        }
        if let Some(wrong) = self.targets.iter().find(|range| !is_range(range)) {
            return Err(Failure::usage(format!("--target {wrong:?} is not ADDRESS/BITS:PORT")).advice(
                "write an address, as 10.0.0.7, or a range, as 10.0.0.0/24, either with a port above 0",
            ));
        }
        if self.max_pps == 0 || self.max_bps == 0 {
            return Err(Failure::usage("a grant of 0 allows nothing").advice(
                "write  --max-pps  with how many packets a second may leave; what holds no more is revoked",
            ));
        }
        match self.issuer.starts_with('A') {
            true => Ok(()),
            false => Err(Failure::usage(
                "--key: this is the key of an agent or a coordinator, and signs no grants",
            )
            .advice("the issuer's key is issuer.nk of  dropline fleet keys")),
        }
    }

    /// The grant with the signature of its issuer.
    ///
    /// # Errors
    /// If the key cannot sign, or is not the issuer's.
    pub fn sign(&self, key: &KeyPair) -> Result<Signed, Failure> {
        if key.public_key() != self.issuer {
            return Err(Failure::usage("a grant is signed by the key of its issuer"));
        }
        sign(serde_json::to_string(self).expect("a grant is JSON"), key)
    }
}

impl Signed {
    /// The id that it says it has.
    pub(crate) fn id(&self) -> Option<String> {
        serde_json::from_str::<Grant>(&self.grant).ok().map(|grant| grant.id)
    }

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
        if !is_signed(self, &grant.issuer) {
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
    sign(text, key)
}

/// The grant that holds no more, if one whom this agent obeys says so.
pub(crate) fn revoked(signed: &Signed, ceiling: &Ceiling) -> Option<String> {
    let revoked: Revoked = serde_json::from_str(&signed.grant).ok()?;
    let is_so = ceiling.issuers.contains(&revoked.issuer) && is_signed(signed, &revoked.issuer);
    is_so.then_some(revoked.revoke)
}

/// What the host of a target agrees to: that one agent, in one session, sends load at one address of it for a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Consent {
    /// The host's agent, by its public key.
    issuer: String,
    session: String,
    consents_to: SocketAddr,
    /// What the agent that sends asked with, as nobody did before: an answer from before is none to it.
    asked: String,
}

/// A consent holds for so long after it was asked for, by the clock of the agent that sends.
pub(crate) const CONSENT_HOLDS: Duration = Duration::from_secs(1);

/// What an agent asked consent with, and when: the latest first.
pub(crate) type Questions = VecDeque<(String, Instant)>;

/// The consent of this host, where its agent's configuration has that address among what it `consents` to; signed by the key that
/// the agent has for the server.
pub(crate) fn consent(
    target: SocketAddr,
    session: &str,
    asked: &str,
    ceiling: &Ceiling,
    key: Option<&KeyPair>,
) -> Option<Signed> {
    let key = key.filter(|_| is_in(target, &ceiling.consents))?;
    let consent = Consent {
        issuer: key.public_key(),
        session: session.into(),
        consents_to: target,
        asked: asked.into(),
    };
    sign_as(CONSENT, serde_json::to_string(&consent).expect("it is JSON"), key).ok()
}

/// Until when the host of an address consents to what this session sends there, as somebody says whom this agent believes, who
/// was asked by it.
///
/// # Errors
/// If it does not, in words.
pub(crate) fn consented(
    signed: &[Signed],
    target: SocketAddr,
    session: &str,
    ceiling: &Ceiling,
    questions: &Questions,
) -> Result<Instant, Failure> {
    let mut why = format!("no agent on the host of {target} consents to it");
    for signed in signed {
        let Ok(consent) = serde_json::from_str::<Consent>(&signed.grant) else { continue };
        if consent.consents_to != target || consent.session != session {
            continue;
        }
        let is_believed = ceiling.consenters.get(&consent.issuer).is_some_and(|ranges| is_in(target, ranges));
        let asked = questions.iter().find(|(word, _)| *word == consent.asked);
        if !is_believed {
            why = format!(
                "{} consents for the host of {target}, and this agent does not believe it",
                consent.issuer
            );
        } else if !is_signed_as(CONSENT, signed, &consent.issuer) {
            why = format!(
                "the consent of the host of {target} was not signed by its agent, or was changed since"
            );
        } else if let Some(until) = asked.map(|(_, at)| *at + CONSENT_HOLDS)
            && until > Instant::now()
        {
            return Ok(until);
        } else {
            why = format!("the consent of the host of {target} is of another time");
        }
    }
    Err(not_consented(&why, target))
}

/// Nothing is sent to an address, for its host does not consent, or not any more.
pub(crate) fn not_consented(why: &str, target: SocketAddr) -> Failure {
    Failure::environment(format!("refused: {target} is on another host: {why}")).advice(
        "an agent on that host consents where its --config has the address under consents and \"observe\" under may; name that \
         agent by --observe, and its public key, with the address, under consenters in the --config of each agent that sends",
    )
}

/// Before what an agent signs with the key by which it logs in. A server asks for a signature of a text of its own choice, and no
/// text holds this byte.
const CONSENT: &[u8] = b"\xffdropline consent ";

fn sign(text: String, key: &KeyPair) -> Result<Signed, Failure> {
    sign_as(b"", text, key)
}

fn sign_as(mark: &[u8], text: String, key: &KeyPair) -> Result<Signed, Failure> {
    let signature = key
        .sign(&[mark, text.as_bytes()].concat())
        .map_err(|why| Failure::usage(format!("the key cannot sign: {why}")))?;
    Ok(Signed { grant: text, signature: signature.iter().map(|byte| format!("{byte:02x}")).collect() })
}

/// Whether whoever has this public key signed it.
fn is_signed(signed: &Signed, by: &str) -> bool {
    is_signed_as(b"", signed, by)
}

fn is_signed_as(mark: &[u8], signed: &Signed, by: &str) -> bool {
    let verified = KeyPair::from_public_key(by).ok().zip(bytes(&signed.signature));
    verified.is_some_and(|(key, signature)| {
        key.verify(&[mark, signed.grant.as_bytes()].concat(), &signature).is_ok()
    })
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Revoked {
    revoke: String,
    issuer: String,
}

/// What bounds that which an agent may send.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// When it ends, in seconds since 1970.
    pub until: Option<i64>,
    /// Packets a second.
    pub pps: Option<u64>,
    /// Bits a second of Ethernet frames.
    pub bps: Option<u64>,
}

/// Whether an agent may send what it is asked to: to loopback whatever its ceiling allows, elsewhere what a grant allows too; and
/// what bounds it.
///
/// # Errors
/// If it may not.
pub fn check(asked: &AskedTraffic, grant: Option<&Grant>, ceiling: &Ceiling) -> Result<Bound, Failure> {
    let within = |what: &str, asked: f64, most: Option<u64>, whose: &str| match most {
        Some(most) if asked > most as f64 => {
            Err(refused(&format!("{what} of {asked:.0} is above {most}, which {whose} allows")))
        }
        _ => Ok(()),
    };
    let all = |pps: Option<u64>, bps: Option<u64>, trial_s: Option<u64>, whose: &str| {
        let AskedTraffic { what, .. } = asked;
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
            true => Ok(Bound { until: None, pps: ceiling.max_pps, bps: ceiling.max_bps }),
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
    if asked.now > grant.not_after {
        return Err(refused(&format!(
            "the grant {} has expired, {} ago by the clock of this host",
            grant.id,
            time_of(asked.now.abs_diff(grant.not_after).saturating_mul(1_000_000_000))
        )));
    }
    if ends > grant.not_after {
        return Err(refused(&format!("the grant {} ends before the trial would", grant.id)));
    }
    let least =
        |of_ceiling: Option<u64>, of_grant: u64| Some(of_ceiling.map_or(of_grant, |most| most.min(of_grant)));
    Ok(Bound {
        until: Some(grant.not_after),
        pps: least(ceiling.max_pps, grant.max_pps),
        bps: least(ceiling.max_bps, grant.max_bps),
    })
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
    (bits <= most && port != Some(0)).then_some((address, bits, port))
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

    fn asked(target: &str, pps: f64, seconds: u64, now: i64) -> AskedTraffic {
        let duration = Duration::from_secs(seconds);
        AskedTraffic {
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
    fn a_host_consents_to_what_its_agent_names_and_is_believed_by_whom_names_it() {
        let (key, target) = (KeyPair::new_user(), "10.78.0.2:7007".parse().unwrap());
        let there = Ceiling { consents: vec!["10.78.0.2:7007".into()], ..Ceiling::default() };
        let believes = |range: &str| Ceiling {
            consenters: [(key.public_key(), vec![range.to_owned()])].into(),
            ..Ceiling::default()
        };
        let (here, elsewhere) = (believes("10.78.0.2:7007"), believes("10.78.0.3"));
        let questions: Questions = [("q1".to_owned(), Instant::now())].into();
        let old: Questions = [("q1".to_owned(), Instant::now().checked_sub(CONSENT_HOLDS).unwrap())].into();
        let others: Questions = [("q2".to_owned(), Instant::now())].into();
        let signed = consent(target, "s1", "q1", &there, Some(&key)).unwrap();
        let said = |signed: &Signed, target: &str, session: &str, asked: &Questions, here: &Ceiling| {
            consented(std::slice::from_ref(signed), target.parse().unwrap(), session, here, asked)
        };
        let until = said(&signed, "10.78.0.2:7007", "s1", &questions, &here).unwrap();
        assert_eq!(until, questions[0].1 + CONSENT_HOLDS, "counted from the question, not from the answer");
        let other = Signed { grant: signed.grant.replace(":7007", ":7008"), ..signed.clone() };
        // As a server has it that asks the agent to sign a text by which it logs in.
        let asked_for = sign(signed.grant.clone(), &key).unwrap();
        for (signed, target, session, asked, here) in [
            (&signed, "10.78.0.2:7008", "s1", &questions, &here),
            (&signed, "10.78.0.3:7007", "s1", &questions, &here),
            (&signed, "10.78.0.2:7007", "s2", &questions, &here),
            (&signed, "10.78.0.2:7007", "s1", &old, &here),
            (&signed, "10.78.0.2:7007", "s1", &others, &here),
            (&signed, "10.78.0.2:7007", "s1", &questions, &Ceiling::default()),
            (&signed, "10.78.0.2:7007", "s1", &questions, &elsewhere),
            (&asked_for, "10.78.0.2:7007", "s1", &questions, &here),
            (&other, "10.78.0.2:7008", "s1", &questions, &here),
        ] {
            assert_eq!(
                said(signed, target, session, asked, here).unwrap_err().exit_code(),
                4,
                "{target} {session}"
            );
        }
        assert_eq!(
            consent(target, "s1", "q1", &Ceiling::default(), Some(&key)),
            None,
            "nothing said is no consent"
        );
        assert_eq!(consent("10.78.0.2:7008".parse().unwrap(), "s1", "q1", &there, Some(&key)), None);
    }

    #[test]
    fn without_a_grant_loopback_alone_is_sent_to() {
        let none = Ceiling::default();
        assert_eq!(check(&asked("127.0.0.1:7007", 1e9, 9999, 1), None, &none).unwrap(), Bound::default());
        assert_eq!(check(&asked("[::1]:7007", 1.0, 1, 1), None, &none).unwrap(), Bound::default());
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
        let allowed = |asked: AskedTraffic, ceiling: &Ceiling| check(&asked, Some(&grant), ceiling);
        let bound = Bound { until: Some(200), pps: Some(1000), bps: Some(10_000_000) };
        assert_eq!(allowed(asked("10.1.2.3:7007", 1000.0, 50, 150), &open).unwrap(), bound);
        let late = allowed(asked("10.1.2.3:7007", 1.0, 1, 260), &open).unwrap_err();
        assert!(late.to_string().contains("has expired, 60.0 s ago"), "{late}");
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
        for wrong in
            ["", "10.0.0.0/33", "x", "10.0.0.0/24:", "10.0.0.0/24:x", "10.0.0.7:0", "[::1", "10.0.0.0/-1"]
        {
            assert!(!is_range(wrong), "{wrong}");
        }
    }
}
