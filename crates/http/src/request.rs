//! What is asked.

/// A path and what follows its question mark, both as they were before they were put into an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// From the root on, with its first slash.
    pub path: String,
    query: Vec<(String, String)>,
}

impl Request {
    /// Reads it from an address; `None` of what is not text.
    pub fn of(address: &str) -> Option<Self> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let read = |text: &str| decoded(&text.replace('+', " "));
            Some((read(name)?, read(value)?))
        };
        let query = query.split('&').filter(|text| !text.is_empty()).map(pair).collect::<Option<_>>()?;
        Some(Self { path: decoded(path)?, query })
    }

    /// What was said of something; `None` where nothing was.
    pub fn said(&self, name: &str) -> Option<&str> {
        let value = self.query.iter().find(|(found, _)| found == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }
}

/// Percent-encoded bytes as what they stand for (RFC 3986 §2.1).
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|&digit| (digit as char).to_digit(16));
        rest = match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                &after[2..]
            }
            _ => {
                bytes.push(byte);
                after
            }
        };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_before_it_was_one() {
        let request =
            Request::of("/a%20b/%C3%A4%2e%2e?target=sim%3Asoft&goal=0.5%25&label=a+b&empty=&x").unwrap();
        assert_eq!(request.path, "/a b/ä..");
        let said = |name| request.said(name);
        assert_eq!(
            (said("target"), said("goal"), said("label")),
            (Some("sim:soft"), Some("0.5%"), Some("a b"))
        );
        assert_eq!((said("empty"), said("x"), said("none")), (None, None, None));
        assert_eq!(Request::of("/%ff"), None);
        for odd in ["/%", "/%4", "/%zz", "/a%é"] {
            assert_eq!(Request::of(odd).unwrap().path, odd);
        }
    }
}
