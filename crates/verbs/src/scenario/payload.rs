//! `[payload]` and `[reply]` of a scenario file: the fields of your own protocol, one by one, as `--payload` and `--reply`.

use super::File;
use dropline_failure::{Failure, nearest};
use toml::Spanned;
use toml::de::DeValue;

/// What stands in a list of fields, each alone in its table.
const FIELDS: [&str; 8] = ["hex", "text", "tag", "counter", "random", "timestamp", "length", "checksum"];
/// What is said of replies.
const REPLIES: [&str; 6] = ["match", "tag", "answered", "refused", "error", "bytes"];

impl File<'_> {
    /// `fields = [ { hex = "c0de" }, { tag = 4 } ]` as `--payload` has it.
    pub(super) fn payload(&self, table: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
        let DeValue::Table(said) = table.get_ref() else { return self.word("payload", table) };
        let mut payload = None;
        for (key, value) in said {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("fields", DeValue::Array(fields)) => {
                    let words: Vec<String> =
                        fields.iter().map(|field| self.field(field)).collect::<Result<_, _>>()?;
                    payload = Some(format!("hex:{}", words.concat()));
                }
                ("file", DeValue::String(name)) => payload = Some(name.to_string()),
                (name, _) => {
                    let near = nearest(name, &["fields", "file"]);
                    let what =
                        format!("[payload] has fields = [ … ], or file = \"…\", and not {name:?} so{near}");
                    return Err(self.wrong(Some(key.span()), &what));
                }
            }
        }
        payload
            .ok_or_else(|| self.wrong(Some(table.span()), "[payload] says nothing: it needs fields = [ … ]"))
    }

    /// `{ tag = 4 }` as `{tag:4}`.
    fn field(&self, field: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
        let one = match field.get_ref() {
            DeValue::Table(table) if table.len() == 1 => table.iter().next(),
            _ => None,
        };
        let Some((key, value)) = one else {
            let what = "a field is a table of one, such as { tag = 4 } or { hex = \"c0de\" }";
            return Err(self.wrong(Some(field.span()), what));
        };
        let name = key.get_ref().as_ref();
        let word = self.word("payload", value)?;
        let words = match name {
            "hex" => word,
            "text" => word.bytes().map(|byte| format!("{byte:02x}")).collect(),
            _ if FIELDS.contains(&name) => format!("{{{name}:{word}}}"),
            _ => {
                let what = format!(
                    "{name:?} is not a field{}: there are {}",
                    nearest(name, &FIELDS),
                    FIELDS.join(", ")
                );
                return Err(self.wrong(Some(key.span()), &what));
            }
        };
        // Each is read alone, so that what is wrong has its own place.
        match dropline_targets::check_payload(&format!("hex:{words}")) {
            Ok(()) => Ok(words),
            Err(why) => Err(self.wrong(Some(value.span()), &why)),
        }
    }

    /// `tag = 2` and `refused = { at = 0, hex = "05" }` as `--reply` has it.
    pub(super) fn reply(&self, table: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
        let DeValue::Table(said) = table.get_ref() else { return self.word("reply", table) };
        let mut words = Vec::new();
        let tells = |name: &str| said.iter().find(|(key, _)| key.get_ref().as_ref() == name);
        if let (Some((key, value)), Some(_)) = (tells("match"), tells("tag")) {
            let what = "match and tag both say how a reply is told from others: leave one of them out";
            let _ = value;
            return Err(self.wrong(Some(key.span()), what));
        }
        if let Some((_, value)) = tells("match")
            && self.word("reply", value)? == "none"
            && let Some((other, _)) = said.iter().find(|(key, _)| key.get_ref().as_ref() != "match")
        {
            let what = format!(
                "nothing comes back by match = \"none\", and {:?} speaks of replies",
                other.get_ref()
            );
            return Err(self.wrong(Some(other.span()), &what));
        }
        for (key, value) in said {
            let name = key.get_ref().as_ref();
            let bytes = |part: &str| match value.get_ref() {
                DeValue::Table(rule) => rule.get(part).map(|value| self.word("reply", value)),
                _ => None,
            };
            words.push(match name {
                "match" => self.word("reply", value)?,
                "tag" => format!("tag@{}", self.word("reply", value)?),
                "bytes" => format!("bytes={}", self.word("reply", value)?),
                _ if REPLIES.contains(&name) => match (bytes("at"), bytes("hex")) {
                    (Some(at), Some(hex)) => format!("{name}@{}={}", at?, hex?),
                    _ => {
                        let what = format!(
                            "{name} says which bytes mean it, as {name} = {{ at = 0, hex = \"05\" }}"
                        );
                        return Err(self.wrong(Some(value.span()), &what));
                    }
                },
                _ => {
                    let near = nearest(name, &REPLIES);
                    let what =
                        format!("{name:?} is not said of replies{near}: there are {}", REPLIES.join(", "));
                    return Err(self.wrong(Some(key.span()), &what));
                }
            });
        }
        Ok(words.join(","))
    }
}
