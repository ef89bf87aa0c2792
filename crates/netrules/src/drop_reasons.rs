//! Why the kernel drops packets, by its own word: how it describes the tracepoint `skb:kfree_skb`.

/// The kernel's description of the tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its number.
    pub id: u64,
    /// Reasons: the number that this kernel has for each, and its name.
    pub reasons: Vec<(u32, String)>,
}

impl Format {
    /// Reads `events/skb/kfree_skb/format`; `None` if it is no such description.
    pub fn read(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: ")?.trim().parse().ok())?;
        let (_, named) = text.split_once("__print_symbolic(REC->reason,")?;
        let reason = |part: &str| {
            let (number, name) = part.split_once('}')?.0.split_once(',')?;
            let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
            Some((number.trim().parse().ok()?, name.to_string()))
        };
        Some(Self { id, reasons: named.split('{').filter_map(reason).collect() })
    }

    /// The kernel's words for one of these reasons; `None` if it has none of them.
    pub fn filter(&self, names: &[&str]) -> Option<String> {
        let wanted = self.reasons.iter().filter(|(_, name)| names.contains(&name.as_str()));
        let words: Vec<String> = wanted.map(|(number, _)| format!("reason=={number}")).collect();
        (!words.is_empty()).then(|| words.join("||"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_reasons_are_the_kernels_own() {
        let text = "name: kfree_skb\nID: 2310\nformat:\n\tfield:void * skbaddr;\toffset:8;\n\nprint fmt: \"reason: %s\", \
                    REC->skbaddr, __print_symbolic(REC->reason, { 2, \"NOT_SPECIFIED\" }, { 72, \"XDP\" }, { 73, \
                    \"TC_INGRESS\" })\n";
        let format = Format::read(text).unwrap();
        assert_eq!((format.id, format.reasons.len()), (2310, 3));
        assert_eq!(format.filter(&["TC_INGRESS", "XDP"]).as_deref(), Some("reason==72||reason==73"));
        assert_eq!(format.filter(&["CPU_BACKLOG"]), None);
        assert_eq!(Format::read("name: sched_switch\nID: 3\n"), None);
    }
}
