//! What is answered.

/// What a path holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its media type.
    pub kind: &'static str,
    /// Its text.
    pub text: String,
    /// Whether it is what was asked for; else it says why it is not.
    pub is_found: bool,
    /// After so many seconds the reader shall ask again.
    pub again_s: Option<u64>,
}

impl Content {
    /// A text of this media type.
    pub fn of(kind: &'static str, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), is_found: true, again_s: None }
    }

    /// A page.
    pub fn page(text: impl Into<String>) -> Self {
        Self::of("text/html; charset=utf-8", text)
    }

    /// Words for who asked for what is not answered.
    pub(crate) fn words(text: &str) -> Self {
        Self::of("text/plain; charset=utf-8", text)
    }

    /// All of an answer with this status.
    pub(crate) fn answer(&self, status: &str) -> String {
        let again = self.again_s.map_or_else(String::new, |seconds| format!("Refresh: {seconds}\r\n"));
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n{again}Connection: close\r\n\r\n{}",
            self.kind,
            self.text.len(),
            self.text
        )
    }
}
