//! How a request says who asks: AWS Signature Version 4.

use crate::settings::Settings;
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// A request that is to be signed.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    /// Escaped, from the first slash on.
    pub(crate) path: &'a str,
    /// Escaped, in order of the names.
    pub(crate) query: &'a str,
    /// In order of their names, which are in small letters.
    pub(crate) headers: &'a [(&'static str, String)],
    /// SHA-256 of the body.
    pub(crate) sum: &'a str,
    /// As `20130524T000000Z`.
    pub(crate) moment: &'a str,
}

/// The value of the header `Authorization`.
pub(crate) fn authorization(settings: &Settings, asked: &Asked<'_>) -> String {
    let day = asked.moment.split('T').next().unwrap_or_default();
    let scope = format!("{day}/{}/s3/aws4_request", settings.region);
    let names: Vec<&str> = asked.headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let headers: String =
        asked.headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let Asked { method, path, query, sum, moment, .. } = asked;
    let request = format!("{method}\n{path}\n{query}\n{headers}\n{names}\n{sum}");
    let text = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}", sha256(request.as_bytes()));
    let mut key = keyed(format!("AWS4{}", settings.secret).as_bytes(), day);
    for part in [&settings.region, "s3", "aws4_request"] {
        key = keyed(&key, part);
    }
    let signature = hexadecimal(&keyed(&key, &text));
    format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={signature}",
        settings.key
    )
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes it");
        text
    })
}

/// All but letters, digits and `-._~` as `%2F`; `/` too, unless it parts names.
pub(crate) fn escaped(text: &str, keeps_slash: bool) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => all.push(byte as char),
            b'/' if keeps_slash => all.push('/'),
            _ => write!(all, "%{byte:02X}").expect("a string takes it"),
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of Amazon's own description, "Signature Calculations for the Authorization Header".
    #[test]
    fn the_examples_of_the_description_have_the_signatures_that_it_says() {
        let settings = Settings {
            endpoint: "https://examplebucket.s3.amazonaws.com".into(),
            region: "us-east-1".into(),
            key: "AKIAIOSFODNN7EXAMPLE".into(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            token: None,
        };
        let nothing = sha256(b"");
        let body = sha256(b"Welcome to Amazon S3.");
        let header = |name: &'static str, value: &str| (name, value.to_owned());
        let (host, moment) = (header("host", "examplebucket.s3.amazonaws.com"), "20130524T000000Z");
        let (empty, date) = (header("x-amz-content-sha256", &nothing), header("x-amz-date", moment));
        let signed = |method, path, query, headers: &[(&'static str, String)], sum: &str| {
            let asked = Asked { method, path, query, headers, sum, moment };
            authorization(&settings, &asked).rsplit('=').next().unwrap().to_owned()
        };
        let ranged = [host.clone(), header("range", "bytes=0-9"), empty.clone(), date.clone()];
        assert_eq!(
            signed("GET", "/test.txt", "", &ranged, &nothing),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        assert_eq!(
            signed("GET", "/", "max-keys=2&prefix=J", &[host.clone(), empty, date.clone()], &nothing),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
        let put = [
            header("date", "Fri, 24 May 2013 00:00:00 GMT"),
            host,
            header("x-amz-content-sha256", &body),
            date,
            header("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ];
        assert_eq!(
            signed("PUT", &escaped("/test$file.text", true), "", &put, &body),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        );
    }
}
