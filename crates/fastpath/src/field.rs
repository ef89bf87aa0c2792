//! The words of the page of counts and orders.

/// A word of the control page; as in `struct control` of `bpf/layout.h`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field {
    Count,
    GiveUp,
    Spins,
    Base,
    IpBase,
    Tagged,
    Flows,
    Mark,
    Tag,
    Earlier,
    Length,
    Station,
    Destination,
    ToPort,
    Source,
    FromPort,
    Stop,
    Epoch,
    Next,
    Unique,
    Duplicated,
    Late,
    Truncated,
    Extended,
    Changed,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Names between two lines of the header, in order.
    pub(crate) fn names(from: &str, to: &str) -> Vec<String> {
        let text = include_str!("../bpf/layout.h");
        let (_, text) = text.split_once(from).unwrap();
        let (text, _) = text.split_once(to).unwrap();
        let fields = text.lines().filter_map(|line| line.trim().strip_prefix("u64 ")?.split_once(';'));
        fields.map(|(name, _)| name.replace('_', "").to_lowercase()).collect()
    }

    #[test]
    fn the_control_page_is_the_same_on_both_sides() {
        use Field::*;
        let fields = [
            Count,
            GiveUp,
            Spins,
            Base,
            IpBase,
            Tagged,
            Flows,
            Mark,
            Tag,
            Earlier,
            Length,
            Station,
            Destination,
            ToPort,
            Source,
            FromPort,
            Stop,
            Epoch,
            Next,
            Unique,
            Duplicated,
            Late,
            Truncated,
            Extended,
            Changed,
        ];
        let ours = fields.map(|field| format!("{field:?}").to_lowercase());
        assert_eq!(names("struct control {", "};"), ours);
        assert!(fields.iter().enumerate().all(|(at, &field)| field as usize == at));
    }
}
