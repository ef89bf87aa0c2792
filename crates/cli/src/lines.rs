//! Lines that are no wider than their terminal.

/// Text with no line wider than the terminal where a blank parts it. A command is
/// broken as a shell reads it back. A word that is longer than a line stays whole: a terminal wraps it, and it is copied as
/// one.
pub(crate) fn folded(help: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_command = false;
    for line in help.split('\n') {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        let is_command = in_command || (indent > 0 && words.starts_with("dropline "));
        in_command = is_command && line.ends_with('\\');
        let (end, hanging) = if is_command { (" \\", indent + 4) } else { ("", indent + 2) };
        let mut rest = line.to_owned();
        while console::measure_text_width(&rest) > width {
            let room = width.saturating_sub(end.len());
            let from = rest.len() - rest.trim_start().len();
            let fits = |at: &usize| console::measure_text_width(&rest[..*at]) <= room;
            let blanks = || rest.match_indices(' ').map(|(at, _)| at).filter(|at| *at > from);
            // Where none fits, behind the first word.
            let Some(at) = blanks().rfind(fits).or_else(|| blanks().next()) else { break };
            let after = rest[at..].trim_start().to_owned();
            if after.is_empty() || after == "\\" {
                break;
            }
            lines.push(format!("{}{end}", rest[..at].trim_end()));
            rest = format!("{:hanging$}{after}", "");
        }
        lines.push(rest);
    }
    lines.join("\n")
}

/// The same of an error or a hint: a command that has no room behind what it is for stands in a line of its own.
pub(crate) fn told(text: &str, width: usize) -> String {
    let line = |line: &str| {
        if console::measure_text_width(line) <= width || !line.contains("  dropline ") {
            return line.to_owned();
        }
        let indent = line.len() - line.trim_start().len();
        let parts = line.split("  ").map(str::trim).filter(|part| !part.is_empty());
        let apart = parts.map(|part| match part.starts_with("dropline ") {
            true => format!("{:1$}{part}", "", indent + 2),
            false => format!("{:indent$}{part}", ""),
        });
        apart.collect::<Vec<_>>().join("\n")
    };
    folded(&text.split('\n').map(line).collect::<Vec<_>>().join("\n"), width)
}

/// Words behind a name, beneath one another.
pub(crate) fn hanging(name: &str, words: &str, width: usize) -> String {
    let indent = console::measure_text_width(name);
    let room = width.saturating_sub(indent).max(NARROWEST);
    let mut lines: Vec<String> = vec![String::new()];
    for word in words.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    format!("{name}{}", lines.join(&format!("\n{:indent$}", "")))
}

/// Fewer columns are none to wrap in.
const NARROWEST: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_folded_says_the_same_and_a_command_is_read_back_by_a_shell() {
        let help = "Usage: dropline import [OPTIONS] --output <FILE> <FILE>\n\n  dropline search --scenario \\\n      some/file.toml -o out.jsonl\n";
        for width in [20, 30, 40] {
            let shown = folded(help, width);
            let (usage, command) = shown.split_once("\n\n").expect("an empty line");
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(usage), "Usage: dropline import [OPTIONS] --output <FILE> <FILE>");
            let typed = command.replace("\\\n", " ");
            assert_eq!(words(&typed), "dropline search --scenario some/file.toml -o out.jsonl", "{shown}");
            assert!(
                shown.lines().all(|line| line.len() <= width || line.split_whitespace().count() < 3),
                "{shown}"
            );
        }
        assert_eq!(folded(help, 100), help);
    }

    #[test]
    fn no_error_and_no_hint_is_wider_than_its_terminal_and_its_commands_are_read_back_by_a_shell() {
        let command = "dropline trial udp://127.0.0.1:7007 --load 60000pps --arrival constant --duration 1s";
        let error = format!(
            "error: s1.jsonl: the times of its packets were not kept, and without them only places are known\n  offer the same \
             once more, and keep them:  {command}   or look at its places:  dropline report s1.jsonl"
        );
        for width in [40, 60, 80] {
            let shown = told(&error, width);
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{width}:\n{shown}");
            let typed = shown.replace(" \\\n", " ");
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&typed), words(&error), "{shown}");
            let commands: Vec<String> =
                typed.lines().map(words).filter(|line| line.starts_with("dropline")).collect();
            assert_eq!(commands, [command, "dropline report s1.jsonl"], "{shown}");
        }
        assert_eq!(told(&error, usize::MAX), error);
    }

    #[test]
    fn words_hang_beneath_one_another() {
        assert_eq!(
            hanging("! virtual      ", "other guests take time that no counter here shows", 40),
            "! virtual      other guests take time\n               that no counter here\n               shows"
        );
    }
}
