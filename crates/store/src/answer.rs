//! What a store answers in XML: a list of objects, or why it refuses.

/// An object as a list has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its key behind the bucket's own beginning.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// A part of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// With their whole keys.
    pub(crate) objects: Vec<Object>,
    /// By which the next part is asked for.
    pub(crate) next: Option<String>,
}

/// Reads a list; `None` of anything else.
pub(crate) fn listing(text: &str) -> Option<Listing> {
    let (_, inside) = text.split_once("<ListBucketResult")?;
    // What is escaped twice may hold any sign.
    let is_escaped = element(inside, "EncodingType").is_some_and(|kind| kind == "url");
    let object = |part: &str| {
        let key = plain(element(part, "Key")?);
        let name = if is_escaped { unescaped(&key)? } else { key };
        Some(Object { name, bytes: element(part, "Size")?.trim().parse().ok()? })
    };
    let parts = inside.split("<Contents>").skip(1);
    let objects = parts.map(|part| object(part.split("</Contents>").next()?)).collect::<Option<_>>()?;
    let is_cut = element(inside, "IsTruncated").is_some_and(|value| value.trim() == "true");
    let next = element(inside, "NextContinuationToken").map(plain).filter(|_| is_cut);
    // A list that does not say how it goes on would hide records.
    (next.is_some() || !is_cut).then_some(Listing { objects, next })
}

/// The code and the words of a refusal; empty where there are none.
pub(crate) fn refusal(text: &str) -> [String; 2] {
    ["Code", "Message"].map(|name| element(text, name).map(plain).unwrap_or_default())
}

/// What stands in the first element of a name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inside, _)| inside)
}

/// Without XML's own escapes.
fn plain(text: &str) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('&') {
        all += before;
        let (word, behind) = from.split_once(';').unwrap_or((from, ""));
        let sign = match word {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => numbered(word),
        };
        all.extend(sign);
        rest = behind;
    }
    all + rest
}

fn numbered(word: &str) -> Option<char> {
    let number = word.strip_prefix('#')?;
    let number = match number.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(number)
}

/// Without `%2F` and `+`; `None` of what is not text then.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(all: &[(&str, u64)]) -> Vec<Object> {
        all.iter().map(|(name, bytes)| Object { name: (*name).into(), bytes: *bytes }).collect()
    }

    #[test]
    fn a_list_has_the_names_and_sizes_of_its_objects_whatever_is_escaped() {
        let contents = "<Contents><Key>a/%C3%A4+%26.jsonl</Key><ETag>&quot;1&quot;</ETag><Size>12</Size></Contents>\
            <Contents><Key>b</Key><Size>0</Size></Contents>";
        let head = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Name>n</Name>";
        let whole = format!(
            "{head}<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>"
        );
        assert_eq!(listing(&whole).unwrap().objects, objects(&[("a/ä &.jsonl", 12), ("b", 0)]));
        let cut = format!(
            "{head}<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken><Contents><Key>a+&#x26;&lt;</Key><Size>1</Size></Contents></ListBucketResult>"
        );
        let found = listing(&cut).unwrap();
        assert_eq!((found.objects, found.next.as_deref()), (objects(&[("a+&<", 1)]), Some("a&b")));
    }

    #[test]
    fn what_is_not_a_whole_list_is_none() {
        let list = |inside: &str| listing(&format!("<ListBucketResult>{inside}</ListBucketResult>"));
        assert_eq!(list(""), Some(Listing::default()));
        assert_eq!(list("<IsTruncated>true</IsTruncated>"), None);
        assert_eq!(list("<Contents><Key>a</Key></Contents>"), None);
        assert_eq!(
            list("<EncodingType>url</EncodingType><Contents><Key>%f</Key><Size>1</Size></Contents>"),
            None
        );
        assert_eq!(listing("<html>"), None);
        assert_eq!(
            refusal("<Error><Code>NoSuchBucket</Code><Message>a &lt;b</Message></Error>"),
            ["NoSuchBucket", "a <b"]
        );
    }
}
