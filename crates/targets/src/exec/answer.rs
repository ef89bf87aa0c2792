//! What a program answers, held against what it was asked.

use super::WrongAnswer;
use super::fields::{FieldError, Fields};
use super::question::Question;
use dropline_record::BROKEN;
use dropline_stats::Histogram;
use dropline_trial::caveat::{DISTURBING, INVALIDATING};
use dropline_trial::{Caveat, Delay, Slice, Trial};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// One line from the program.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Number of the trial that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<u64>,
    /// Packets that the load asked for.
    pub intended: u64,
    /// Packets that left.
    pub offered: u64,
    /// Packets that came back.
    pub forwarded: u64,
    /// Effective duration.
    #[serde(rename = "duration_s", serialize_with = "seconds")]
    pub duration: Duration,
    /// What the trial cost, with overheads.
    #[serde(rename = "elapsed_s", serialize_with = "seconds")]
    pub elapsed: Duration,
    /// Pairs of value and count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ns_histogram: Option<Vec<(u64, u64)>>,
    /// Parts of the trial in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<AnswerSlice>,
    /// Doubts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<AnswerCaveat>,
}

/// A part of a trial.
#[derive(Debug, Serialize)]
pub struct AnswerSlice {
    /// Its length.
    #[serde(rename = "duration_s", serialize_with = "seconds")]
    pub duration: Duration,
    /// Packets that left in it.
    pub offered: u64,
    /// Of those, how many came back.
    pub forwarded: u64,
}

/// A doubt of the program's.
#[derive(Debug, Serialize)]
pub struct AnswerCaveat {
    /// Stable name.
    pub code: String,
    /// In words.
    pub text: String,
}

impl Answer {
    /// Reads a line.
    ///
    /// # Errors
    /// If it is no object, lacks a field, or a field is not what it should be.
    pub fn read(line: &str) -> Result<Self, FieldError> {
        Self::read_of(line, None)
    }

    /// Reads one that may leave out `intended`, where so many packets were asked for. Who rounds the load up offers one packet more,
    /// and was asked for it.
    ///
    /// # Errors
    /// As of [`Self::read`].
    pub fn read_of(line: &str, asked: Option<u64>) -> Result<Self, FieldError> {
        let fields = Fields::read(line)?;
        let duration = fields.seconds("duration_s")?;
        let offered = fields.count("offered")?;
        let caveats = fields.entries("caveats", MOST_CAVEATS, CAVEAT, AnswerCaveat::read)?;
        for (at, AnswerCaveat { code, text }) in caveats.iter().enumerate() {
            fields.short("caveats", at, "code", code, LONGEST_CODE)?;
            fields.short("caveats", at, "text", text, LONGEST_TEXT)?;
        }
        Ok(Self {
            trial: fields.optional_count("trial")?,
            intended: match (fields.optional_count("intended")?, asked) {
                (Some(intended), _) => intended,
                (None, Some(asked)) => asked + u64::from(offered == asked + 1),
                (None, None) => fields.count("intended")?,
            },
            offered,
            forwarded: fields.count("forwarded")?,
            duration,
            elapsed: fields.optional_seconds("elapsed_s")?.unwrap_or(duration),
            delay_ns_histogram: fields.pairs("delay_ns_histogram")?,
            slices: fields.objects("slices", MOST_SLICES, AnswerSlice::read)?,
            caveats,
        })
    }

    /// The trial that the answer describes.
    ///
    /// # Errors
    /// If it is no answer to the question, or its numbers contradict one another.
    pub fn trial(self, question: &Question) -> Result<Trial, WrongAnswer> {
        self.answers(question)?;
        self.agrees_with_itself(question)?;
        self.can_have_happened(question)?;
        let mut trial = Trial {
            intended: Some(self.intended),
            offered: self.offered,
            forwarded: self.forwarded,
            duration: self.duration,
            elapsed: self.elapsed,
            ..Trial::new(question.trial, question.input, question.seed)
        };
        if let Some(pairs) = self.delay_ns_histogram {
            let mut histogram = Histogram::new();
            pairs.iter().for_each(|&(value, count)| histogram.record_n(value, count));
            trial.delay = Delay { histogram: Some(histogram), ..Delay::default() };
        }
        let slice = |AnswerSlice { duration, offered, forwarded }| Slice {
            duration,
            offered,
            forwarded,
            delay: None,
        };
        trial.slices = self.slices.into_iter().map(slice).collect();
        trial.caveats = self.caveats.into_iter().map(Caveat::from).collect();
        let replies = self.forwarded;
        let known = trial.delay.histogram.as_ref().map(Histogram::count).filter(|known| *known < replies);
        // Another Dropline has words of its own for that.
        let is_said = trial.caveats.iter().any(|caveat| caveat.code() == "delay_unknown");
        if let Some(known) = known.filter(|_| !is_said) {
            trial.caveats.push(Caveat::DelaysOfPart { known, replies });
        }
        let (asked, lasted) = (question.input.duration, self.duration);
        if lasted.abs_diff(asked) > asked / 1000 && !question.stopped {
            let (lasted, asked) = (lasted.as_secs_f64(), asked.as_secs_f64());
            let text = format!(
                "the program sent for {lasted} s what was to be sent in {asked} s: the load was {:.2} % off, and so may the \
                 limit be",
                100.0 * (asked / lasted - 1.0)
            );
            trial.caveats.push(Caveat::Reported { code: "duration_differs".into(), text });
        }
        if self.offered < self.intended {
            let (intended, offered) = (self.intended, self.offered);
            trial.caveats.push(Caveat::GeneratorLimited { intended, offered, error: None, interface: None });
        }
        Ok(trial)
    }

    /// Whether all was sent that was asked for.
    pub(super) fn is_whole(&self, question: &Question) -> bool {
        let intended = question.intends.as_ref().is_none_or(|allowed| allowed.contains(&self.intended));
        intended && self.duration >= *question.lasts().start()
    }

    /// Whether it is about what was asked.
    fn answers(&self, question: &Question) -> Result<(), WrongAnswer> {
        let (asked, input) = (question.trial, question.input);
        if let Some(answered) = self.trial.filter(|&answered| answered != asked) {
            return Err(WrongAnswer::OtherTrial { asked, answered });
        }
        let Some(mut allowed) = question.intends.clone() else { return Ok(()) };
        if question.stopped {
            allowed = 0..=*allowed.end();
        }
        let duration_s = input.duration.as_secs_f64();
        if !allowed.contains(&self.intended) {
            let (intended, load) = (self.intended, input.load.to_string());
            return Err(WrongAnswer::OtherLoad { intended, load, duration_s, allowed });
        }
        let lasts = question.lasts();
        let too_short = self.duration < *lasts.start() && !question.stopped;
        if too_short || self.duration > *lasts.end() {
            return Err(WrongAnswer::OtherDuration {
                asked: duration_s,
                answered: self.duration.as_secs_f64(),
            });
        }
        Ok(())
    }

    /// Whether parts are no larger than the whole.
    fn agrees_with_itself(&self, question: &Question) -> Result<(), WrongAnswer> {
        if self.offered == 0 && self.forwarded > 0 {
            return Err(WrongAnswer::OutOfNothing(self.forwarded));
        }
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let of_slices = |count: fn(&AnswerSlice) -> u64| sum(&mut self.slices.iter().map(count));
        let (sent, back) = (of_slices(|slice| slice.offered), of_slices(|slice| slice.forwarded));
        let delays = sum(&mut self.delay_ns_histogram.iter().flatten().map(|&(_, count)| count));
        for (larger, large, smaller, small) in [
            ("\"offered\"", self.offered, "\"intended\"", self.intended),
            ("the sum of the slices' \"offered\"", sent, "\"offered\"", self.offered),
            ("the sum of the slices' \"forwarded\"", back, "\"forwarded\"", self.forwarded),
            (
                "what the slices lost (their \"offered\" less their \"forwarded\")",
                sent.saturating_sub(back),
                "what the trial lost (\"offered\" less \"forwarded\")",
                self.offered.saturating_sub(self.forwarded),
            ),
            ("the number of delays", delays, "\"forwarded\"", self.forwarded),
        ] {
            if large > small {
                let (large, small) = (large.to_string(), small.to_string());
                return Err(WrongAnswer::More { larger, large, smaller, small });
            }
        }
        let slices =
            self.slices.iter().map(|slice| slice.duration).fold(Duration::ZERO, Duration::saturating_add);
        for (larger, large, smaller, small) in [
            ("\"duration_s\"", self.duration, "\"elapsed_s\"", self.elapsed),
            (
                "\"elapsed_s\"",
                self.elapsed,
                "the trial's duration, its drain and --patience together",
                question.costs_at_most,
            ),
            // Lengths of slices are rounded one by one.
            (
                "the sum of the slices' \"duration_s\"",
                slices,
                "\"duration_s\" and a hundredth",
                self.duration.saturating_add(self.duration / 100),
            ),
        ] {
            if large > small {
                let [large, small] = [large, small].map(|time| format!("{} s", time.as_secs_f64()));
                return Err(WrongAnswer::More { larger, large, smaller, small });
            }
        }
        Ok(())
    }
}

impl Answer {
    /// Whether packets left before they came back, and no sooner than the trial began.
    fn can_have_happened(&self, question: &Question) -> Result<(), WrongAnswer> {
        let (forwarded, offered) = (self.forwarded, self.offered);
        if forwarded > offered {
            return Err(WrongAnswer::MoreThanSent { forwarded, offered });
        }
        let (mut sent, mut back) = (0, 0);
        for (number, slice) in self.slices.iter().enumerate() {
            (sent, back) = (sent + slice.offered, back + slice.forwarded);
            if back > sent {
                return Err(WrongAnswer::BeforeSent { slice: number, forwarded: back, offered: sent });
            }
        }
        let within = self.elapsed.max(self.duration.saturating_add(question.drain));
        let delays = self.delay_ns_histogram.iter().flatten().filter(|(_, count)| *count > 0);
        let longest = Duration::from_nanos(delays.map(|(delay, _)| *delay).max().unwrap_or(0));
        // Values of a histogram are rounded.
        if longest > within.saturating_add(within / 100) {
            let [delay_s, within_s] = [longest, within].map(|time| time.as_secs_f64());
            return Err(WrongAnswer::Delay { delay_s, within_s });
        }
        Ok(())
    }
}

/// Every line of an answer is kept in the record, which is read whole: more says nothing to anybody.
const MOST_CAVEATS: usize = 100;
const LONGEST_CODE: usize = 64;
const LONGEST_TEXT: usize = 1000;
const MOST_SLICES: usize = 10_000;
/// What a caveat is.
const CAVEAT: &str = r#"words, a code, or {"code": "…", "text": "…"}"#;

impl AnswerSlice {
    fn read(fields: &Fields) -> Result<Self, FieldError> {
        Ok(Self {
            duration: fields.seconds("duration_s")?,
            offered: fields.count("offered")?,
            forwarded: fields.count("forwarded")?,
        })
    }
}

impl AnswerCaveat {
    fn read(value: &Value) -> Option<Self> {
        match value {
            // Who says a code and no more means it no less.
            Value::String(word) if says_of_trial(word.trim()) => Some(Self::bare(word.trim())),
            Value::String(text) => Some(Self { code: "program".into(), text: text.clone() }),
            Value::Object(map) => {
                let code = map.get("code")?.as_str()?;
                match map.get("text") {
                    None | Some(Value::Null) => Some(Self::bare(code)),
                    Some(text) => Some(Self { code: code.into(), text: text.as_str()?.into() }),
                }
            }
            _ => None,
        }
    }

    /// A code that came without words.
    fn bare(code: &str) -> Self {
        let means = if INVALIDATING.contains(&code) { "is not valid" } else { "is in doubt" };
        let text = format!(
            "the program that performed the trial says that it {means} ({code}), and not why: look at what that program \
             writes elsewhere, or let it give the reason as \"text\""
        );
        Self { code: code.into(), text }
    }
}

/// Whether it is a code that changes what a trial is worth.
fn says_of_trial(word: &str) -> bool {
    INVALIDATING.contains(&word) || DISTURBING.contains(&word)
}

impl From<AnswerCaveat> for Caveat {
    fn from(AnswerCaveat { code, text }: AnswerCaveat) -> Self {
        // Whether the user stopped us, and what ended a search, is ours to say.
        let is_ours = [Self::Interrupted.code(), BROKEN].contains(&code.as_str());
        let code = if is_ours { "program".into() } else { code };
        Self::Reported { code, text }
    }
}

impl From<&Trial> for Answer {
    fn from(trial: &Trial) -> Self {
        Self {
            trial: None,
            intended: trial.intended.unwrap_or(trial.offered),
            offered: trial.offered,
            forwarded: trial.forwarded,
            duration: trial.duration,
            elapsed: trial.elapsed,
            delay_ns_histogram: trial.delay.histogram.as_ref().map(|histogram| histogram.cells().collect()),
            slices: Vec::new(),
            // What was not offered, or has no delay, stands in the numbers, by which it is judged.
            caveats: trial
                .caveats
                .iter()
                .filter(|caveat| {
                    !matches!(
                        caveat,
                        Caveat::GeneratorLimited { error: None, .. } | Caveat::DelaysOfPart { .. }
                    )
                })
                .map(|caveat| AnswerCaveat { code: caveat.code().into(), text: caveat.to_string() })
                .collect(),
        }
    }
}

fn seconds<S: serde::Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

#[cfg(test)]
mod tests;
