//! A target as people write it.

use super::text;
use dropline_targets::Target;

/// A target is called what was written, and one that is refused is refused in words.
pub fn check(bytes: &[u8]) {
    let word = &*text(bytes);
    match Target::parse(word) {
        Ok(target) => {
            assert_eq!(target.to_string(), word);
            assert_eq!(Target::parse(word).ok().as_ref(), Some(&target));
            let (min, max) = target.default_range();
            assert!(max.is_none_or(|max| min < max));
        }
        Err(why) => {
            assert_eq!(why.exit_code(), 2);
            assert!(!why.to_string().is_empty());
        }
    }
}
