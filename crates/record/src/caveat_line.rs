//! A doubt, as it is kept.

use dropline_trial::Caveat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A doubt: a stable code, words, and the numbers behind them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaveatLine {
    /// Stable name.
    pub code: String,
    /// In words.
    pub text: String,
    /// The numbers behind the words.
    #[serde(flatten)]
    pub numbers: serde_json::Map<String, serde_json::Value>,
}

impl CaveatLine {
    /// A doubt in words alone.
    pub fn said(code: &str, text: impl Into<String>) -> Self {
        Self { code: code.into(), text: text.into(), numbers: serde_json::Map::new() }
    }

    /// Whether it says that our own side, or the way, disturbed the trial.
    pub fn is_disturbing(&self) -> bool {
        self.caveat().disturbs()
    }

    /// Whether it leaves a trial that says more about us, or the way, than about the target.
    pub fn is_invalidating(&self) -> bool {
        self.caveat().invalidates()
    }

    /// The doubt again, as what it was: one of ours when the code and all numbers are its, else a reported one. Numbers that
    /// an older version did not store are as that version would have had them.
    pub fn caveat(&self) -> Caveat {
        let mut fields = self.numbers.clone();
        fields.insert("code".into(), self.code.as_str().into());
        let ours = serde_json::from_value::<Caveat>(serde_json::Value::Object(fields)).ok();
        let has_all = |caveat: &Caveat| {
            let known = numbers(caveat);
            self.numbers.keys().all(|name| known.contains_key(name))
        };
        ours.filter(has_all)
            .unwrap_or_else(|| Caveat::Reported { code: self.code.clone(), text: self.text.clone() })
    }
}

impl From<&Caveat> for CaveatLine {
    fn from(caveat: &Caveat) -> Self {
        let mut line =
            Self { code: caveat.code().into(), text: caveat.to_string(), numbers: numbers(caveat) };
        let reported = |caveat: &Caveat| matches!(caveat, Caveat::Reported { .. });
        if reported(caveat) && !reported(&line.caveat()) {
            // A program's doubt has the name of one of ours that has no numbers.
            line.numbers.insert("reported".into(), true.into());
        }
        line
    }
}

/// The numbers behind a doubt.
fn numbers(caveat: &Caveat) -> serde_json::Map<String, serde_json::Value> {
    let mut numbers = match serde_json::to_value(caveat) {
        Ok(serde_json::Value::Object(numbers)) => numbers,
        _ => serde_json::Map::new(),
    };
    // Not `remove`, which does not keep the order.
    numbers.retain(|name, _| name != "code" && name != "text");
    numbers
}
