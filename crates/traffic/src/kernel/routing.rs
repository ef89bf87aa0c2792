//! Rules of routing, and routes, that tell packets to one address from others to it: by their port, protocol, source, user, mark
//! or type of service. What such a rule does to packets is asked of the kernel itself.

use super::links;
use super::look_error::seen;
use super::netlink::Netlink;
use dropline_netrules::routes::{Flow, Route};
use dropline_netrules::routing_rule::{Rule, table_name};
use std::io;

/// Where a rule or a route in this namespace leads some of the packets of a flow, in words, where that is `elsewhere`.
///
/// # Errors
/// If it could not be looked at.
pub(super) fn led_elsewhere(
    netlink: &mut Netlink,
    namespace: &str,
    flow: &Flow,
    elsewhere: impl Fn(&Route) -> bool,
) -> io::Result<Option<String>> {
    let rules = seen(rules(netlink, flow))?.unwrap_or_default();
    let led = |route: io::Result<Option<Route>>| Ok::<_, io::Error>(leading(route)?.filter(&elsewhere));
    if let Some(route) = led(links::route(netlink, flow))? {
        let rule = rules.iter().find(|rule| Some(rule.table) == route.table && rule.may_meet(flow));
        return Ok(Some(told(netlink, namespace, rule, &route, None)));
    }
    for rule in rules.iter().filter(|rule| rule.may_meet(flow)) {
        let Some(met) = rule.met_by(flow) else { continue };
        if let Some(route) = led(links::route(netlink, &met))? {
            return Ok(Some(told(netlink, namespace, Some(rule), &route, None)));
        }
    }
    Ok(None)
}

/// The same of routes for a type of service alone.
///
/// # Errors
/// If it could not be looked at.
pub(super) fn led_elsewhere_by_service(
    netlink: &mut Netlink,
    namespace: &str,
    flow: &Flow,
    elsewhere: impl Fn(&Route) -> bool,
) -> io::Result<Option<String>> {
    // The two bits below are the network's own, for congestion.
    for service in (1..64).map(|code: u8| code << 2) {
        let route = links::route(netlink, &Flow { service, ..*flow });
        if let Some(route) = leading(route)?.filter(&elsewhere) {
            return Ok(Some(told(netlink, namespace, None, &route, Some(service))));
        }
    }
    Ok(None)
}

/// A route; `None` where there is none, or one that leads nowhere.
pub(super) fn leading(route: io::Result<Option<Route>>) -> io::Result<Option<Route>> {
    const NOWHERE: [i32; 4] = [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::EACCES, libc::EINVAL];
    match route {
        Err(why) if why.raw_os_error().is_some_and(|code| NOWHERE.contains(&code)) => Ok(None),
        route => Ok(seen(route)?.flatten()),
    }
}

/// The rules for a flow's version of IP, as they are tried.
fn rules(netlink: &mut Netlink, flow: &Flow) -> io::Result<Vec<Rule>> {
    let mut rules = Vec::new();
    netlink.ask(&Rule::all(flow.to.ip()), |message| rules.extend(Rule::read(message)))?;
    Ok(rules)
}

/// In words: what leads packets where.
fn told(
    netlink: &mut Netlink,
    namespace: &str,
    rule: Option<&Rule>,
    route: &Route,
    service: Option<u8>,
) -> String {
    let links = links::links(netlink).unwrap_or_default();
    let name = links.into_iter().find(|link| Some(link.index) == route.through).map(|link| link.name);
    let interface = name.map_or("an interface that is not known".into(), |name| format!("interface {name}"));
    let gateway = route.gateway.map(|gateway| format!(" and by way of {gateway}")).unwrap_or_default();
    let what = match (rule, service, route.table) {
        (Some(rule), ..) => format!("the rule \"{}\"", rule.words()),
        (None, Some(service), Some(table)) => {
            format!("a route of table {} for type of service {service:#04x}", table_name(table))
        }
        (None, Some(service), None) => format!("a route for type of service {service:#04x}"),
        (None, None, Some(table)) => format!("a route of table {}", table_name(table)),
        (None, None, None) => "a route".into(),
    };
    format!("in {namespace}, {what} leads them out by {interface}{gateway}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_namespace_has_the_rules_that_every_one_has() {
        let mut netlink = Netlink::open(libc::NETLINK_ROUTE).unwrap();
        let rules = rules(&mut netlink, &Flow::plain(None, "10.9.0.2:7007".parse().unwrap(), None)).unwrap();
        assert!(rules.iter().any(|rule| rule.words().ends_with("from all lookup main")), "{rules:?}");
    }
}
