//! Which agents perform trials: the words behind `--on`.

use crate::name::is_name;
use crate::wire::Who;
use dropline_failure::{Failure, nearest};

/// Which agents, and what share of the load each has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// So many that are started for it on this machine.
    Local(u32),
    /// Names or labels, each with its share.
    Named(Vec<(String, u32)>),
}

/// More agents are not started on one machine.
const MOST_LOCAL: u32 = 64;

impl Selection {
    /// Reads `local:4`, or `west=2,east`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(word: &str) -> Result<Self, Failure> {
        let wrong = |why: String| {
            Failure::usage(format!("--on {word}: {why}"))
                .advice("write  --on local:4  for agents on this machine, or names or labels of agents, as  --on west=2,east")
        };
        if let Some(count) = word.strip_prefix("local:") {
            let count = count.parse().ok().filter(|count| (1..=MOST_LOCAL).contains(count));
            return count
                .map(Self::Local)
                .ok_or_else(|| wrong(format!("local: takes from 1 to {MOST_LOCAL} agents")));
        }
        let one = |word: &str| {
            let (name, share) = match word.split_once('=') {
                Some((name, share)) => {
                    let share = share.parse().ok().filter(|share| (1..=10_000).contains(share));
                    (
                        name,
                        share.ok_or_else(|| {
                            wrong(format!("the share of {name} is a whole number from 1 to 10000"))
                        })?,
                    )
                }
                None => (word, 1),
            };
            match is_name(name) {
                true => Ok((name.to_owned(), share)),
                false => Err(wrong(format!("{name:?} is not the name of an agent"))),
            }
        };
        word.split(',').map(one).collect::<Result<_, _>>().map(Self::Named)
    }

    /// The words by which just these are chosen, whichever names and labels chose them.
    pub fn word(&self, chosen: &[(Who, u32)]) -> String {
        if let Self::Local(count) = self {
            return format!("local:{count}");
        }
        let one = |(who, share): &(Who, u32)| match share {
            1 => who.name.clone(),
            share => format!("{}={share}", who.name),
        };
        let mut all: Vec<String> = chosen.iter().map(one).collect();
        all.sort();
        all.join(",")
    }

    /// Those of the agents that are there which are meant, in the order of their names, with their shares.
    ///
    /// # Errors
    /// If a name or label is nobody's.
    pub fn of(&self, there: &[Who]) -> Result<Vec<(Who, u32)>, Failure> {
        let Self::Named(named) = self else {
            return Ok(there.iter().map(|who| (who.clone(), 1)).collect());
        };
        let mut chosen: Vec<(Who, u32)> = Vec::new();
        for (name, share) in named {
            let is_meant = |who: &&Who| who.name == *name || who.labels.contains(name);
            let meant: Vec<&Who> = there.iter().filter(is_meant).collect();
            if meant.is_empty() {
                let known: Vec<&str> = there
                    .iter()
                    .flat_map(|who| std::iter::once(&who.name).chain(&who.labels))
                    .map(String::as_str)
                    .collect();
                let said = match known.is_empty() {
                    true => "no agent answered".to_owned(),
                    false => format!("those that answered are {}", known.join(", ")),
                };
                return Err(Failure::environment(format!(
                    "--on: no agent is called {name:?}{}; {said}",
                    nearest(name, &known)
                ))
                .advice("dropline fleet list  shows who is there; an agent is started by  dropline agent --join nats://HOST"));
            }
            for who in meant {
                if chosen.iter().all(|(other, _)| other.id != who.id) {
                    chosen.push((who.clone(), *share));
                }
            }
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(name: &str, labels: &[&str]) -> Who {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Who {
            name: name.into(),
            id: format!("id-of-{name}"),
            host: "host".into(),
            labels,
            version: "1".into(),
            schema: "1".into(),
            cpus: 1,
            clock: None,
            session: None,
            may: String::new(),
        }
    }

    #[test]
    fn agents_are_chosen_by_name_or_label_each_once_with_its_share() {
        let there = [who("a", &["west"]), who("b", &["west"]), who("c", &[])];
        let chosen = |word: &str| {
            let chosen = Selection::parse(word).unwrap().of(&there);
            chosen.map(|all| {
                all.iter().map(|(who, share)| format!("{}={share}", who.name)).collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(chosen("west=2,c").unwrap(), "a=2 b=2 c=1");
        assert_eq!(chosen("b=3,west").unwrap(), "b=3 a=1");
        let selection = Selection::parse("west=2,c").unwrap();
        assert_eq!(selection.word(&selection.of(&there).unwrap()), "a=2,b=2,c");
        let missing = chosen("wast").unwrap_err();
        assert_eq!(missing.exit_code(), 4);
        assert!(missing.to_string().contains("west"), "{missing}");
    }

    #[test]
    fn what_is_no_selection_is_refused_in_words() {
        assert_eq!(Selection::parse("local:4").unwrap(), Selection::Local(4));
        for wrong in ["local:", "local:0", "local:999", "a=0", "a=x", "", "a,,b", "a.b", "a b", "a=1,>"] {
            assert_eq!(Selection::parse(wrong).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }
}
