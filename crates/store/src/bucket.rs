//! A place in a store.

use crate::answer::{Object, listing, refusal};
use crate::settings::Settings;
use crate::signature::{Asked, authorization, escaped, sha256};
use dropline_failure::Failure;
use jiff::Timestamp;
use std::time::Duration;
use ureq::http::{Request, Response};
use ureq::{Agent, Body};

/// What an address of a store begins with.
const SCHEME: &str = "s3://";
/// How long a store may take to be reached, to answer, and for all of it.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(30);
const WHOLE: Duration = Duration::from_secs(600);
/// What is waited before a request is made again that a store could not take.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// Longer answers are not read where words are expected.
const MOST_WORDS: u64 = 16 << 20;

/// A part of a bucket: the objects whose keys begin alike.
#[derive(Clone, Debug)]
pub struct Bucket {
    settings: Settings,
    agent: Agent,
    name: String,
    /// Empty, or with a slash at its end.
    prefix: String,
}

/// By what it is known that an object is the one that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision(String);

/// What a request shall find where it puts something.
enum Found<'a> {
    Nothing,
    This(&'a Revision),
    Anything,
}

/// What a store is asked.
struct Ask<'a> {
    method: &'static str,
    /// Of an object, or of the bucket.
    name: Option<&'a str>,
    query: &'a str,
    /// Headers beside those that every request has.
    more: &'a [(&'static str, String)],
    body: Option<&'a [u8]>,
    /// A longer answer is not read.
    most: u64,
}

impl<'a> Ask<'a> {
    /// One without a query and a body, whose answer is words.
    fn of(method: &'static str, name: Option<&'a str>) -> Self {
        Self { method, name, query: "", more: &[], body: None, most: MOST_WORDS }
    }
}

impl Bucket {
    /// Whether a word is the address of one.
    pub fn is_named(word: &str) -> bool {
        word.starts_with(SCHEME)
    }

    /// The one at an address as `s3://BUCKET/PREFIX`, with what the environment says of the store.
    ///
    /// # Errors
    /// If it is not an address, or the environment lacks what is needed.
    pub fn of(address: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let refused = |why: &str| {
            Failure::usage(format!("{address:?} is not an address of a history in a store: {why}"))
                .advice("such as s3://measurements/nights")
        };
        let rest = address.strip_prefix(SCHEME).ok_or_else(|| refused("it does not begin with s3://"))?;
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "-.".contains(sign);
        if !(3..=63).contains(&name.len()) || !name.chars().all(is_plain) {
            return Err(refused("a bucket's name has 3 to 63 small letters, digits, - and ."));
        }
        let prefix = prefix.trim_matches('/');
        if prefix.split('/').any(|part| part.is_empty() || part == "." || part == "..") && !prefix.is_empty()
        {
            return Err(refused("each part behind the bucket needs a name"));
        }
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let settings = Settings::of(variable)?;
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(ANSWER))
            .timeout_global(Some(WHOLE))
            .user_agent(concat!("dropline/", env!("CARGO_PKG_VERSION")));
        // On this machine nobody stands between.
        let agent = if settings.is_open() { agent.proxy(None) } else { agent };
        Ok(Self { agent: agent.build().into(), settings, name: name.to_owned(), prefix })
    }

    /// All objects below it.
    ///
    /// # Errors
    /// If the store cannot be asked, or refuses.
    pub fn list(&self) -> Result<Vec<Object>, Failure> {
        let mut all = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let prefix = escaped(&self.prefix, false);
            let from = next.map(|next| format!("continuation-token={}&", escaped(&next, false)));
            let query = format!("{}encoding-type=url&list-type=2&prefix={prefix}", from.unwrap_or_default());
            let (status, body, _) = self.ask(&Ask { query: &query, ..Ask::of("GET", None) })?;
            let text = String::from_utf8_lossy(&body);
            if status != 200 {
                return Err(self.refused("list what is below", "", status, &text));
            }
            let listed = listing(&text).ok_or_else(|| {
                Failure::environment(format!(
                    "{} answers with something that is not a list of objects",
                    self.at("")
                ))
            })?;
            let own = |object: Object| {
                let name = object.name.strip_prefix(&self.prefix)?.to_owned();
                (!name.is_empty()).then_some(Object { name, ..object })
            };
            all.extend(listed.objects.into_iter().filter_map(own));
            match listed.next {
                Some(more) => next = Some(more),
                None => return Ok(all),
            }
        }
    }

    /// An object of at most so many bytes with its tag; `None` where there is none.
    ///
    /// # Errors
    /// If the store cannot be asked, or refuses.
    pub fn read(&self, name: &str, most: u64) -> Result<Option<(Vec<u8>, Revision)>, Failure> {
        let (status, body, tag) = self.ask(&Ask { most, ..Ask::of("GET", Some(name)) })?;
        match status {
            200 => Ok(Some((body, Revision(tag)))),
            404 if refusal(&String::from_utf8_lossy(&body))[0] != "NoSuchBucket" => Ok(None),
            _ => Err(self.refused("read", name, status, &String::from_utf8_lossy(&body))),
        }
    }

    /// Puts an object where there is none; whether there was none.
    ///
    /// # Errors
    /// If the store cannot be asked, or refuses.
    pub fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool, Failure> {
        self.put(name, bytes, &Found::Nothing)
    }

    /// Puts an object in place of the one with this tag; whether that was still there.
    ///
    /// # Errors
    /// If the store cannot be asked, or refuses.
    pub fn replace(&self, name: &str, bytes: &[u8], old: &Revision) -> Result<bool, Failure> {
        self.put(name, bytes, &Found::This(old))
    }

    /// Puts an object, whatever was there.
    ///
    /// # Errors
    /// If the store cannot be asked, or refuses.
    pub fn put_over(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.put(name, bytes, &Found::Anything).map(|_| ())
    }

    /// Removes an object; one that is not there is removed.
    ///
    /// # Errors
    /// If the store cannot be asked, or refuses.
    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        let (status, body, _) = self.ask(&Ask::of("DELETE", Some(name)))?;
        match status {
            200 | 202 | 204 | 404 => Ok(()),
            _ => Err(self.refused("remove", name, status, &String::from_utf8_lossy(&body))),
        }
    }

    fn put(&self, name: &str, bytes: &[u8], found: &Found<'_>) -> Result<bool, Failure> {
        let condition = match found {
            Found::Nothing => vec![("if-none-match", "*".to_owned())],
            Found::This(Revision(tag)) => vec![("if-match", tag.clone())],
            Found::Anything => Vec::new(),
        };
        let (status, body, _) =
            self.ask(&Ask { more: &condition, body: Some(bytes), ..Ask::of("PUT", Some(name)) })?;
        match status {
            200 | 201 | 204 => Ok(true),
            412 => Ok(false),
            // What was read is gone.
            404 if matches!(found, Found::This(_))
                && refusal(&String::from_utf8_lossy(&body))[0] != "NoSuchBucket" =>
            {
                Ok(false)
            }
            _ => Err(self.refused("write", name, status, &String::from_utf8_lossy(&body))),
        }
    }

    /// Asks once, and again where the store could not take it just now. The status, the body and the tag.
    fn ask(&self, ask: &Ask<'_>) -> Result<(u16, Vec<u8>, String), Failure> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let asked = self.ask_once(ask);
            let again = match &asked {
                Ok((status, ..)) => matches!(status, 409 | 429 | 500 | 502 | 503 | 504),
                // A store that was silent for so long is not asked again: somebody waits.
                Err(ureq::Error::Io(_) | ureq::Error::ConnectionFailed) => true,
                Err(_) => false,
            };
            match pauses.next().filter(|_| again) {
                Some(pause) => std::thread::sleep(pause),
                None => {
                    return asked.map_err(|why| {
                        let object = ask.name.unwrap_or_default();
                        Failure::environment(format!(
                            "{} cannot be reached at {}: {why}",
                            self.at(object),
                            self.settings.endpoint
                        ))
                    });
                }
            }
        }
    }

    fn ask_once(&self, ask: &Ask<'_>) -> Result<(u16, Vec<u8>, String), ureq::Error> {
        let &Ask { method, name, query, more, body, most } = ask;
        let key = name.map(|name| format!("/{}", escaped(&format!("{}{name}", self.prefix), true)));
        let path = format!("/{}{}", self.name, key.unwrap_or_default());
        let sum = sha256(body.unwrap_or_default());
        let moment = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut headers = vec![
            ("host", self.settings.host().to_owned()),
            ("x-amz-content-sha256", sum.clone()),
            ("x-amz-date", moment.clone()),
        ];
        headers.extend(self.settings.token.clone().map(|token| ("x-amz-security-token", token)));
        headers.extend(more.iter().cloned());
        headers.sort();
        let asked = Asked { method, path: &path, query, headers: &headers, sum: &sum, moment: &moment };
        let authorization = authorization(&self.settings, &asked);
        let mark = if query.is_empty() { "" } else { "?" };
        let address = format!("{}{path}{mark}{query}", self.settings.endpoint);
        let mut request =
            Request::builder().method(method).uri(address).header("authorization", authorization);
        for (name, value) in headers.iter().filter(|(name, _)| *name != "host") {
            request = request.header(*name, value);
        }
        let answer: Response<Body> = match body {
            Some(body) => self.agent.run(request.body(body)?)?,
            None => self.agent.run(request.body(())?)?,
        };
        let status = answer.status().as_u16();
        let tag =
            answer.headers().get("etag").and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
        let body = answer.into_body().into_with_config().limit(most).read_to_vec()?;
        Ok((status, body, tag))
    }

    /// The address of an object.
    fn at(&self, name: &str) -> String {
        format!("{SCHEME}{}/{}{name}", self.name, self.prefix)
    }

    fn refused(&self, what: &str, name: &str, status: u16, text: &str) -> Failure {
        let [code, words] = refusal(text);
        let said =
            [code.as_str(), words.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        let said = if said.is_empty() { String::new() } else { format!(": {}", said.join(": ")) };
        let failure = Failure::environment(format!(
            "the store refuses to {what} {} with status {status}{said}",
            self.at(name)
        ));
        match status {
            301 | 307 | 400 => failure.advice("see whether AWS_REGION is the region of the bucket, and AWS_ENDPOINT_URL its store"),
            401 | 403 => failure.advice(
                "see whether AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY may list, read, write and remove there, and whether \
                 this machine's clock is right",
            ),
            404 => failure.advice("make the bucket first: a history does not make one"),
            412 | 501 => failure.advice("the store has to know conditional writes (If-None-Match), so that nobody overwrites"),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(address: &str) -> Result<Bucket, Failure> {
        Bucket::of(address, |name| {
            name.starts_with("AWS_").then(|| "1".into()).filter(|_| !name.contains("ENDPOINT"))
        })
    }

    #[test]
    fn an_address_names_a_bucket_and_what_is_below_it() {
        for (address, at) in [
            ("s3://measurements/nights/", "s3://measurements/nights/a.jsonl"),
            ("s3://measurements", "s3://measurements/a.jsonl"),
            ("s3://my.bucket/a/b c", "s3://my.bucket/a/b c/a.jsonl"),
        ] {
            assert_eq!(bucket(address).unwrap().at("a.jsonl"), at);
        }
        for address in
            ["s3://", "s3://a", "s3://Big/x", "s3://user:pw@host/x", "s3://abc/../x", "s3://abc/a//b"]
        {
            assert_eq!(bucket(address).unwrap_err().exit_code(), 2, "{address}");
        }
    }
}
