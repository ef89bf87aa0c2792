//! A name that stands twice in one JSON object: a reader keeps the last, another the first.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// The first such name in a text, at any depth.
pub(super) fn twice(text: &str) -> Option<String> {
    let mut found = None;
    // What is no JSON is said by who reads it.
    let _ = Names(&mut found).deserialize(&mut serde_json::Deserializer::from_str(text));
    found
}

struct Names<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Names<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                self.0.get_or_insert(name);
            }
            map.next_value_seed(Names(&mut *self.0))?;
        }
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        while list.next_element_seed(Names(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_found_at_any_depth_and_in_its_own_object_alone() {
        let found = |text| twice(text).unwrap_or_default();
        assert_eq!(found(r#"{"a":1,"b":[true,null,-1,1.5,"a"],"\u0061":2}"#), "a");
        assert_eq!(found(r#"{"s":[{"x":1},{"x":2,"y":{"z":0,"z":0}}]}"#), "z");
        assert_eq!(found(r#"{"s":[{"x":1},{"x":2}],"x":3}"#), "");
        assert_eq!((found("[1"), found("")), (String::new(), String::new()));
    }
}
