//! Where a store is and who asks it, from the environment that other programs use too.

use dropline_failure::Failure;
use std::net::{IpAddr, Ipv6Addr};

/// How a store is reached.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Scheme and host with its port, without a path.
    pub(crate) endpoint: String,
    pub(crate) region: String,
    pub(crate) key: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

impl std::fmt::Debug for Settings {
    /// The secret is not shown.
    fn fmt(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(form, "Settings({}, {})", self.endpoint, self.region)
    }
}

impl Settings {
    /// From the variables that AWS's own programs read.
    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let set =
            |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
        let needed = |name: &str| {
            set(&[name]).ok_or_else(|| {
                Failure::usage(format!("{name} is not set: nothing says who asks the store")).advice(
                    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (with short-lived ones AWS_SESSION_TOKEN too), and \
                     AWS_ENDPOINT_URL where the store is not Amazon's; of a profile:  \
                     eval \"$(aws configure export-credentials --format env)\"",
                )
            })
        };
        let region = set(&["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_else(|| "us-east-1".into());
        let named = set(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
        let endpoint = named.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let may_be_open =
            set(&["AWS_ALLOW_HTTP"]).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"));
        Ok(Self {
            endpoint: checked(&endpoint, may_be_open)?,
            region,
            key: needed("AWS_ACCESS_KEY_ID")?,
            secret: needed("AWS_SECRET_ACCESS_KEY")?,
            token: set(&["AWS_SESSION_TOKEN"]),
        })
    }

    /// The host with its port.
    pub(crate) fn host(&self) -> &str {
        self.endpoint.split_once("://").map_or("", |(_, host)| host)
    }

    /// Whether what is sent can be read on its way.
    pub(crate) fn is_open(&self) -> bool {
        self.endpoint.starts_with("http://")
    }
}

/// An endpoint without its last slash, if records may be sent there.
fn checked(endpoint: &str, may_be_open: bool) -> Result<String, Failure> {
    let refused = |why: &str| Failure::usage(format!("AWS_ENDPOINT_URL is {endpoint:?}: {why}"));
    let whole = endpoint.trim_end_matches('/');
    let Some((scheme, host)) = whole.split_once("://") else {
        return Err(
            refused("it is not an address").advice("such as https://s3.example.org or http://127.0.0.1:9000")
        );
    };
    let is_host = |sign: char| sign.is_ascii_alphanumeric() || "-.:[]_".contains(sign);
    if host.is_empty() || !host.chars().all(is_host) {
        return Err(refused("write a host with its port, and nothing else"));
    }
    match scheme {
        "https" => Ok(whole.to_owned()),
        "http" if may_be_open || is_loopback(host) => Ok(whole.to_owned()),
        "http" => Err(refused("what is sent there can be read and changed on its way").advice(
            "use https, or set AWS_ALLOW_HTTP=true if the network is your own; on this machine itself, http is always allowed",
        )),
        _ => Err(refused("it is neither https nor http")),
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost"
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        || name.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(more: &[(&str, &str)]) -> Result<Settings, Failure> {
        let all = [&[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s")], more].concat();
        Settings::of(|name| {
            all.iter().rev().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn records_are_sent_openly_to_this_machine_alone_unless_that_is_allowed() {
        for address in
            ["http://127.0.0.1:9000/", "http://localhost", "http://[::1]:9000", "https://s3.example.org"]
        {
            let found = settings(&[("AWS_ENDPOINT_URL", address)]).unwrap();
            assert_eq!(found.endpoint, address.trim_end_matches('/'));
        }
        for address in [
            "http://example.org",
            "http://127.0.0.1.example.org",
            "http://localhost@example.org",
            "ftp://a",
            "a",
        ] {
            let refused = settings(&[("AWS_ENDPOINT_URL", address)]).unwrap_err();
            assert_eq!(refused.exit_code(), 2, "{address}: {refused}");
        }
        let allowed = settings(&[("AWS_ENDPOINT_URL", "http://example.org"), ("AWS_ALLOW_HTTP", "true")]);
        assert!(allowed.unwrap().is_open());
    }

    #[test]
    fn the_store_is_amazons_of_the_region_where_nothing_else_is_said_and_a_secret_is_needed() {
        let found = settings(&[("AWS_REGION", "eu-west-1")]).unwrap();
        assert_eq!(found.endpoint, "https://s3.eu-west-1.amazonaws.com");
        assert!(!format!("{found:?}").contains("\"s\""));
        let without = settings(&[("AWS_SECRET_ACCESS_KEY", "")]).unwrap_err();
        assert!(
            without.exit_code() == 2 && without.to_string().contains("AWS_SECRET_ACCESS_KEY"),
            "{without}"
        );
    }
}
