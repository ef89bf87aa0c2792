//! The style of a drawing that stands alone: each colour as it is, for programs that know no variables (librsvg,
//! Inkscape), and once more for a dark ground where the reader has one.

use super::STYLE;
use std::sync::LazyLock;

/// What stands in a file's `style` element.
pub(crate) fn style() -> &'static str {
    static ALONE: LazyLock<String> = LazyLock::new(made);
    &ALONE
}

fn made() -> String {
    let (dark, light): (Vec<&str>, Vec<&str>) =
        STYLE.lines().filter(|line| !line.starts_with(":root{color")).partition(|line| line.starts_with('@'));
    let [light_colours, dark_colours] = [
        light.iter().find(|line| line.starts_with(":root")).copied().unwrap_or_default(),
        dark.first().copied().unwrap_or_default(),
    ]
    .map(colours);
    let rules: Vec<(&str, &str)> = light
        .iter()
        .filter(|line| !line.starts_with(":root"))
        .flat_map(|line| line.split('}').filter_map(|rule| rule.split_once('{')))
        .collect();
    let mut style = String::new();
    for (selector, declared) in &rules {
        style.push_str(&format!("{selector}{{{}}}\n", filled(declared, &light_colours)));
    }
    style.push_str("@media(prefers-color-scheme:dark){");
    for (selector, declared) in rules {
        let coloured: Vec<&str> = declared.split(';').filter(|one| one.contains("var(")).collect();
        if !coloured.is_empty() {
            style.push_str(&format!("{selector}{{{}}}", filled(&coloured.join(";"), &dark_colours)));
        }
    }
    style + "}"
}

/// Names and values of `:root{--ink:#1c2127;…}`.
fn colours(rule: &str) -> Vec<(&str, &str)> {
    let inside = rule.rsplit_once('{').map_or("", |(_, inside)| inside).trim_end_matches('}');
    inside.split(';').filter_map(|one| one.split_once(':')).collect()
}

/// The declarations with each variable's value.
fn filled(declared: &str, colours: &[(&str, &str)]) -> String {
    colours
        .iter()
        .fold(declared.to_owned(), |text, (name, value)| text.replace(&format!("var({name})"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_needs_no_variables_and_has_every_colour_of_either_ground() {
        let style = style();
        assert!(!style.contains("var(") && !style.contains("--"), "{style}");
        let (light, dark) = style.split_once("@media").expect("a dark ground too");
        assert!(light.contains(".plot text{fill:#59636e") && dark.contains(".plot text{fill:#9ba6b1"));
        assert_eq!(light.matches('{').count(), light.matches('}').count());
        assert_eq!(dark.matches('{').count(), dark.matches('}').count());
    }
}
