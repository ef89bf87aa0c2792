//! The words of the page of counts and orders.

macro_rules! fields {
    ($($field:ident,)*) => {
        /// A word of the control page; as in `struct control` of `bpf/layout.h`.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Field {
            $($field,)*
        }

        /// All of them, in order.
        #[cfg(test)]
        const ALL: &[Field] = &[$(Field::$field,)*];
    };
}

fields! {
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
    Before1,
    Before2,
    Before3,
    Before4,
    Head1,
    Head2,
    Head3,
    Head4,
    Head5,
    Head6,
    Head7,
    Head8,
    Head9,
    Head10,
    Head11,
    Stop,
    Epoch,
    Next,
    Unique,
    Duplicated,
    Late,
    Truncated,
    Extended,
    Changed,
    Padded,
}

/// Those of the first bytes of a frame.
pub(crate) const HEAD: [Field; 11] = [
    Field::Head1,
    Field::Head2,
    Field::Head3,
    Field::Head4,
    Field::Head5,
    Field::Head6,
    Field::Head7,
    Field::Head8,
    Field::Head9,
    Field::Head10,
    Field::Head11,
];

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
        let ours: Vec<String> = ALL.iter().map(|field| format!("{field:?}").to_lowercase()).collect();
        assert_eq!(names("struct control {", "};"), ours);
        assert!(ALL.iter().enumerate().all(|(at, &field)| field as usize == at));
    }
}
