//! Sentences: how they begin, and the columns of a study's tables that hold them and not numbers.

use dropline_record::Table;

/// Cells longer than this are sentences.
const LONG: usize = 60;

/// The last column, if it holds sentences: it wraps, or stands below the rows.
pub(crate) fn sentences(table: &Table) -> Option<usize> {
    let last = table.columns.len().checked_sub(1).filter(|&last| last > 0)?;
    let mut cells = table.rows.iter().filter_map(|row| row.get(last));
    cells.any(|cell| is_sentence(cell)).then_some(last)
}

pub(crate) fn is_sentence(cell: &str) -> bool {
    cell.chars().count() > LONG
}

/// A title behind the name of what it is about, where that is needed.
pub(crate) fn labelled(label: &str, title: String) -> String {
    let mut letters = title.chars();
    match letters.next() {
        Some(first) if !label.is_empty() => {
            let rest: String = first.to_lowercase().chain(letters).collect();
            format!("{label}: {rest}")
        }
        _ => title,
    }
}

/// The first letter as at the start of a sentence.
///
/// A name stays as it is: what is written so is no other target, and no other file.
pub(crate) fn sentence_case(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default().trim_end_matches([':', '.', ',', ';']);
    if first.contains([':', '/', '.', '_', '=']) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What a doubt counts, with thousands apart as everywhere else: `774 007 of 825 693 packets`. Names, options and numbers of
/// fewer than five digits stay as they are.
pub(crate) fn counts(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut before = "";
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            said.push(' ');
        }
        let start = word.find(|sign| sign != '(' && sign != '[').unwrap_or(0);
        let digits = word[start..].bytes().take_while(u8::is_ascii_digit).count();
        let rest = &word[start + digits..];
        let is_name = before.starts_with("--") || ["pid", "port", "seed"].contains(&before);
        match word[start..start + digits].parse() {
            Ok(count) if digits >= 5 && !is_name && rest.chars().all(|sign| ",;:)].".contains(sign)) => {
                said.push_str(&word[..start]);
                said.push_str(&crate::number::count(count));
                said.push_str(rest);
            }
            _ => said.push_str(word),
        }
        before = word;
    }
    said
}

/// `2026-11-21T09:31:00Z` as `21 Nov 2026 09:31 UTC`; anything else as it is.
pub(crate) fn date(text: &str) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let read = || {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let mut parts = date.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
        let day: u32 = day.parse().ok()?;
        Some(format!("{day} {month} {year} {} UTC", time.get(..5)?))
    };
    read().unwrap_or_else(|| text.to_owned())
}

/// A command line as a shell reads it back: words are quoted where they must be.
pub(crate) fn command(words: &[String]) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./:=,@%+?".contains(sign);
    let quoted = |word: &String| match word {
        word if !word.is_empty() && word.chars().all(is_plain) && !word.contains('?') => word.clone(),
        word => format!("'{}'", dropline_printable::in_one_line(word).replace('\'', "'\\''")),
    };
    let mut words = words.iter();
    // Where the program is on this machine is nobody else's business.
    let first = words.next().map(|name| name.rsplit('/').next().unwrap_or(name).to_owned());
    first.into_iter().chain(words.map(quoted)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_or_left_alone() {
        assert_eq!(date("2026-11-21T09:31:00Z"), "21 Nov 2026 09:31 UTC");
        for odd in ["yesterday", "2026-99-21T09:31:00Z", "2026-11-21T✓Z"] {
            assert_eq!(date(odd), odd);
        }
    }

    #[test]
    fn counts_in_a_doubt_have_their_thousands_apart_and_names_and_options_stay() {
        let thin = |text: &str| text.replace('_', "\u{202f}");
        assert_eq!(counts("offered 774007 of 825693 packets"), thin("offered 774_007 of 825_693 packets"));
        assert_eq!(counts("(at most 65775 lost): 12345."), thin("(at most 65_775 lost): 12_345."));
        for same in [
            "pid 13867",
            "--budget 47000s",
            "127.0.0.1:17117",
            "4237 packets",
            "0.12345",
            "--max-trials 100000",
        ] {
            assert_eq!(counts(same), same);
        }
    }

    #[test]
    fn a_command_is_read_back_by_a_shell_as_it_was_typed() {
        let words =
            ["/usr/bin/dropline", "search", "sim:soft?seed=8", "--goal", "0.5%", "it's"].map(String::from);
        assert_eq!(command(&words), r"dropline search 'sim:soft?seed=8' --goal 0.5% 'it'\''s'");
    }
}
