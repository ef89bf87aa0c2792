//! Whom a listener answers.

use crate::content::Content;
use dropline_failure::Failure;
use std::fs::File;
use std::io::Read as _;
use std::net::IpAddr;

/// Who may read what is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Every program of this machine.
    Machine,
    /// Who knows the token: it is the first part of every path.
    Token(String),
}

/// Random bytes of a token.
const TOKEN: usize = 16;

impl Gate {
    /// A gate with a token that nobody knows yet.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn with_token() -> Result<Self, Failure> {
        use std::fmt::Write as _;
        let mut bytes = [0; TOKEN];
        File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes)).map_err(|why| {
            Failure::environment(format!("cannot read random numbers from /dev/urandom: {why}"))
        })?;
        let token = bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes it");
            text
        });
        Ok(Self::Token(token))
    }

    /// Where the root is, from the address on.
    pub fn root(&self) -> String {
        match self {
            Self::Machine => "/".into(),
            Self::Token(token) => format!("/{token}/"),
        }
    }

    /// What is left of a path behind the token, or the answer to who may not read.
    pub(crate) fn pass<'a>(&self, path: &'a str, headers: &Headers<'_>) -> Result<&'a str, String> {
        let rest = match self {
            Self::Machine => path,
            // Who does not know it learns nothing, not even what else was wrong.
            Self::Token(token) => {
                behind(path, token).ok_or_else(|| Content::words("").answer("403 Forbidden"))?
            }
        };
        let host = headers.only("host").filter(|host| is_loopback_name(host));
        // A page of somebody else whose name leads here must not read this one.
        let host = host.ok_or_else(|| {
            Content::words("this is for loopback names alone\n").answer("421 Misdirected Request")
        })?;
        match headers.all("origin").all(|origin| origin.strip_prefix("http://") == Some(host)) {
            true => Ok(rest),
            false => Err(Content::words("this is not for pages from elsewhere\n").answer("403 Forbidden")),
        }
    }
}

/// The lines of a request behind its first one.
pub(crate) struct Headers<'a>(pub(crate) Vec<(&'a str, &'a str)>);

impl Headers<'_> {
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    fn only<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let mut all = self.all(name);
        all.next().filter(|_| all.next().is_none())
    }
}

/// What follows a token. How long it takes does not tell how much of it was right.
fn behind<'a>(path: &'a str, token: &str) -> Option<&'a str> {
    let (said, rest) = path.strip_prefix('/')?.split_at_checked(token.len())?;
    let differing = said.bytes().zip(token.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
    (differing == 0 && rest.starts_with('/')).then_some(rest)
}

/// Whether `Host` names this machine's loopback: `localhost`, `127.0.0.1:9061`, `[::1]:9061`.
fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(gate: &Gate, path: &str, headers: &[(&str, &str)]) -> Result<String, String> {
        let passed = gate.pass(path, &Headers(headers.to_vec()));
        passed.map(str::to_owned).map_err(|answer| answer.split("\r\n").next().unwrap().to_owned())
    }

    #[test]
    fn who_does_not_know_the_token_learns_nothing() {
        let gate = Gate::with_token().unwrap();
        let root = gate.root();
        assert_eq!((root.len(), Gate::with_token().unwrap() == gate), (2 + 2 * TOKEN, false));
        let own = [("Host", "127.0.0.1:9")];
        assert_eq!(passes(&gate, &format!("{root}a/b"), &own).unwrap(), "/a/b");
        assert_eq!(passes(&gate, &root, &own).unwrap(), "/");
        let wrong = format!("/{}0/", &root[1..root.len() - 2]);
        let wrong = if wrong == root { wrong.replace("0/", "1/") } else { wrong };
        let refused = gate.pass("/", &Headers(Vec::new())).unwrap_err();
        assert!(refused.ends_with("\r\n\r\n"), "{refused}");
        for path in ["", "/", "/a", &wrong, root.trim_end_matches('/'), &root.to_uppercase()[..9], "/é"] {
            let said = gate.pass(path, &Headers(vec![("Host", "evil.example")]));
            assert_eq!(said.unwrap_err(), refused, "{path}");
        }
    }

    #[test]
    fn pages_of_somebody_else_are_not_answered() {
        let gate = Gate::Machine;
        for host in ["127.0.0.1:9", "localhost", "[::1]:9", "LOCALHOST:1"] {
            assert!(passes(&gate, "/a", &[("host", host)]).is_ok(), "{host}");
            let own = format!("http://{host}");
            assert!(passes(&gate, "/a", &[("Host", host), ("Origin", &own)]).is_ok(), "{host}");
        }
        for host in ["evil.example:9", "127.0.0.1.evil.example", "10.0.0.1", ""] {
            assert!(passes(&gate, "/a", &[("Host", host)]).unwrap_err().contains("421"), "{host}");
        }
        assert!(passes(&gate, "/a", &[]).unwrap_err().contains("421"));
        assert!(passes(&gate, "/a", &[("Host", "localhost"), ("Host", "evil")]).unwrap_err().contains("421"));
        for origin in ["http://evil.example", "null", "http://localhost:8", "https://localhost"] {
            let said = passes(&gate, "/a", &[("Host", "localhost"), ("Origin", origin)]);
            assert!(said.unwrap_err().contains("403"), "{origin}");
        }
    }
}
