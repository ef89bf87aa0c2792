//! Asking for the ruleset of nftables.

use super::look_error::seen;
use super::netlink::Netlink;
use dropline_netrules::message::Request;
use dropline_netrules::ruleset::{self, Ruleset};
use std::io;

/// The subsystem of nftables, and what is asked of it.
const TABLES: u16 = (10 << 8) | 1;
const CHAINS: u16 = (10 << 8) | 4;
const RULES: u16 = (10 << 8) | 7;
const SETS: u16 = (10 << 8) | 10;
const ELEMENTS: u16 = (10 << 8) | 13;
const GENERATION: u16 = (10 << 8) | 16;

/// A number that every change of the ruleset raises; `None` where this user may not see it.
pub(super) fn generation(netlink: &mut Netlink) -> Option<u32> {
    let mut number = None;
    let asked = Request::one(GENERATION, &[0; 4]);
    netlink.ask(&asked, |message| number = ruleset::generation(message)).ok()?;
    number
}

/// The ruleset of nftables; `None` where this user may not see it. A kernel without nftables has none.
///
/// # Errors
/// If the kernel did not tell all.
pub(super) fn ruleset(netlink: &mut Netlink) -> io::Result<Option<Ruleset>> {
    let mut rules = Ruleset::default();
    // First those that are switched off; where they cannot be listed, neither can what is in them.
    let _ = netlink.ask(&Request::all(TABLES, &[0; 4]), |message| rules.add(message));
    match netlink.ask(&Request::all(CHAINS, &[0; 4]), |message| rules.add(message)) {
        Err(why) if matches!(why.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) => {
            return Ok(Some(rules));
        }
        told => {
            if seen(told)?.is_none() {
                return Ok(None);
            }
        }
    }
    if rules.chains.iter().all(|chain| chain.hook.is_none()) {
        return Ok(Some(rules));
    }
    seen(netlink.ask(&Request::all(RULES, &[0; 4]), |message| rules.add(message)))?;
    seen(netlink.ask(&Request::all(SETS, &[0; 4]), |message| rules.add(message)))?;
    let sets: Vec<_> =
        rules.sets.iter().map(|set| (set.family, set.table.clone(), set.name.clone())).collect();
    for (family, table, name) in sets {
        let ended = |name: &str| [name.as_bytes(), &[0]].concat();
        let asked = Request::all(ELEMENTS, &[family, 0, 0, 0]).with(1, &ended(&table)).with(2, &ended(&name));
        // One that is gone meanwhile was not looked into by any rule that is there now.
        seen(netlink.ask(&asked, |message| rules.add(message)))?;
    }
    Ok(Some(rules))
}
