//! What a program answers, held against what it was asked.

use super::WrongAnswer;
use super::fields::{FieldError, Fields};
use super::question::Question;
use dropline_stats::Histogram;
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
        let fields = Fields::read(line)?;
        let duration = fields.seconds("duration_s")?;
        let caveats = fields.entries("caveats", MOST_CAVEATS, CAVEAT, AnswerCaveat::read)?;
        for (at, AnswerCaveat { code, text }) in caveats.iter().enumerate() {
            fields.short("caveats", at, "code", code, LONGEST_CODE)?;
            fields.short("caveats", at, "text", text, LONGEST_TEXT)?;
        }
        Ok(Self {
            trial: fields.optional_count("trial")?,
            intended: fields.count("intended")?,
            offered: fields.count("offered")?,
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
        self.agrees_with_itself()?;
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
        if self.forwarded > self.offered {
            let (offered, forwarded) = (self.offered, self.forwarded);
            trial.caveats.push(Caveat::MoreThanOffered { offered, forwarded });
        }
        if self.offered < self.intended {
            let (intended, offered) = (self.intended, self.offered);
            trial.caveats.push(Caveat::GeneratorLimited { intended, offered });
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
    fn agrees_with_itself(&self) -> Result<(), WrongAnswer> {
        if self.offered == 0 && self.forwarded > 0 {
            return Err(WrongAnswer::OutOfNothing(self.forwarded));
        }
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let of_slices = |count: fn(&AnswerSlice) -> u64| sum(&mut self.slices.iter().map(count));
        let delays = sum(&mut self.delay_ns_histogram.iter().flatten().map(|&(_, count)| count));
        for (larger, large, smaller, small) in [
            ("\"offered\"", self.offered, "\"intended\"", self.intended),
            (
                "the sum of the slices' \"offered\"",
                of_slices(|slice| slice.offered),
                "\"offered\"",
                self.offered,
            ),
            (
                "the sum of the slices' \"forwarded\"",
                of_slices(|slice| slice.forwarded),
                "\"forwarded\"",
                self.forwarded,
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
            // Lengths of slices are rounded one by one.
            (
                "the sum of the slices' \"duration_s\"",
                slices,
                "\"duration_s\"",
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
        let surplus = forwarded.saturating_sub(offered);
        if surplus > (offered / MORE_BY).max(1) {
            return Err(WrongAnswer::MoreThanSent { forwarded, offered });
        }
        let (mut sent, mut back) = (0, 0);
        for (number, slice) in self.slices.iter().enumerate() {
            (sent, back) = (sent + slice.offered, back + slice.forwarded);
            if back > sent + surplus {
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

/// One in so many packets may have come back twice.
const MORE_BY: u64 = 100;
/// Every line of an answer is kept in the record, which is read whole: more says nothing to anybody.
const MOST_CAVEATS: usize = 100;
const LONGEST_CODE: usize = 64;
const LONGEST_TEXT: usize = 1000;
const MOST_SLICES: usize = 10_000;
/// What a caveat is.
const CAVEAT: &str = r#"words, or {"code": "…", "text": "…"}"#;

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
        let text = |value: &Value| value.as_str().map(String::from);
        match value {
            Value::String(text) => Some(Self { code: "program".into(), text: text.clone() }),
            Value::Object(map) => Some(Self { code: text(map.get("code")?)?, text: text(map.get("text")?)? }),
            _ => None,
        }
    }
}

impl From<AnswerCaveat> for Caveat {
    fn from(AnswerCaveat { code, text }: AnswerCaveat) -> Self {
        // Whether the user stopped us is ours to say.
        let code = if code == Self::Interrupted.code() { "program".into() } else { code };
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
            caveats: trial
                .caveats
                .iter()
                .map(|caveat| AnswerCaveat { code: caveat.code().into(), text: caveat.to_string() })
                .collect(),
        }
    }
}

fn seconds<S: serde::Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Rate, TrialInput};

    /// Ten packets in a second were asked for.
    fn trial(line: &str) -> Result<Trial, String> {
        let input = TrialInput { load: Rate::from_millipps(10_000), duration: Duration::from_secs(1) };
        let drain = Duration::from_secs(2);
        let question = Question { trial: 3, input, seed: 7, intends: Some(9..=11), drain, stopped: false };
        let answer = Answer::read(line).map_err(|why| why.to_string())?;
        answer.trial(&question).map_err(|why| why.to_string())
    }

    #[test]
    fn the_promised_answer_is_a_trial() {
        let trial = trial(r#"{"intended":10,"offered":10,"forwarded":8,"duration_s":1.0}"#).unwrap();
        assert_eq!((trial.lost(), trial.elapsed), (2, Duration::from_secs(1)));
    }

    #[test]
    fn a_program_does_not_say_that_the_user_stopped_us() {
        let line = r#"{"intended":10,"offered":10,"forwarded":8,"duration_s":1.0,
            "caveats":[{"code":"interrupted","text":"by me"}]}"#;
        let trial = trial(line).unwrap();
        let said: Vec<_> = trial.caveats.iter().map(|caveat| (caveat.code(), caveat.to_string())).collect();
        assert!(!trial.is_interrupted() && said == [("program", "by me".into())], "{said:?}");
    }

    #[test]
    fn optional_fields_enter_the_trial() {
        let line = r#"{"trial":3,"intended":10,"offered":9,"forwarded":8,"duration_s":1.0,"elapsed_s":1.5,
            "delay_ns_histogram":[[100,3],[200,5]],"slices":[{"duration_s":0.5,"offered":4,"forwarded":4}],
            "caveats":["warm",{"code":"x","text":"y"}],"vendor":1}"#;
        let trial = trial(line).unwrap();
        assert_eq!(trial.delay.histogram.unwrap().count(), 8);
        assert_eq!((trial.slices.len(), trial.caveats.len()), (1, 3));
        assert!(trial.caveats.contains(&Caveat::GeneratorLimited { intended: 10, offered: 9 }));
    }

    #[test]
    fn more_back_than_sent_is_a_caveat() {
        let trial = trial(r#"{"intended":10,"offered":10,"forwarded":11,"duration_s":1.0}"#).unwrap();
        assert_eq!(trial.lost(), 0);
        assert_eq!(trial.caveats, [Caveat::MoreThanOffered { offered: 10, forwarded: 11 }]);
    }

    /// `10,10,8,1.0` and what follows.
    fn after(counts: [&str; 4], more: &str) -> String {
        let [intended, offered, forwarded, duration] = counts;
        let all = format!(
            r#"{{"intended":{intended},"offered":{offered},"forwarded":{forwarded},"duration_s":{duration}{more}}}"#
        );
        trial(&all).expect_err(&all)
    }

    #[test]
    fn an_answer_for_another_question_names_both() {
        for (wrong, says) in [
            (
                after(["5", "5", "5", "1"], ""),
                r#""intended" is 5, and 10 pps for 1 s is 9 to 11 packets: this answer is not for the load that was asked"#,
            ),
            (after(["12", "12", "5", "1"], ""), r#""intended" is 12, and 10 pps"#),
            (after(["10", "10", "5", "1"], r#","trial":2"#), r#""trial" is 2, and trial 3 was asked for"#),
            (after(["10", "10", "5", "0.4"], ""), r#""duration_s" is 0.4, and 1 s were asked for"#),
            (after(["10", "10", "5", "2.1"], ""), r#""duration_s" is 2.1, and 1 s"#),
        ] {
            assert!(wrong.contains(says), "{wrong}");
        }
    }

    #[test]
    fn numbers_that_contradict_one_another_are_named_both() {
        let slices = |counts: &str| {
            format!(r#","slices":[{{"duration_s":0.6,{counts}}},{{"duration_s":0.4,{counts}}}]"#)
        };
        for (wrong, says) in [
            (after(["10", "11", "11", "1"], ""), r#""offered" (11) is more than "intended" (10)"#),
            (after(["10", "0", "1", "1"], ""), r#""forwarded" is 1, and "offered" is 0"#),
            (
                after(["10", "10", "9", "1"], r#","elapsed_s":0.9"#),
                r#""duration_s" (1 s) is more than "elapsed_s" (0.9 s)"#,
            ),
            (
                after(["10", "10", "1", "1"], r#","delay_ns_histogram":[[5,1],[7,1]]"#),
                r#"the number of delays (2) is more than "forwarded" (1)"#,
            ),
            (
                after(["10", "10", "9", "1"], &slices(r#""offered":6,"forwarded":1"#)),
                r#"the sum of the slices' "offered" (12) is more than "offered" (10)"#,
            ),
            (
                after(["10", "10", "9", "1"], &slices(r#""offered":5,"forwarded":5"#)),
                r#"the sum of the slices' "forwarded" (10) is more than "forwarded" (9)"#,
            ),
            (
                after(["10", "10", "9", "0.9"], &slices(r#""offered":5,"forwarded":1"#)),
                r#"the sum of the slices' "duration_s" (1 s) is more than "duration_s" (0.909 s)"#,
            ),
        ] {
            assert!(wrong.contains(says), "{wrong}\n{says}");
        }
    }

    #[test]
    fn what_cannot_have_happened_is_named_with_both_numbers() {
        let second = r#","slices":[{"duration_s":0.5,"offered":5,"forwarded":6},{"duration_s":0.5,"offered":5,"forwarded":3}]"#;
        for (wrong, says) in [
            (
                after(["10", "10", "12", "1"], ""),
                r#""forwarded" is 12, and "offered" is 10: more came back than"#,
            ),
            (
                after(["10", "10", "9", "1"], second),
                r#"by the end of slices[0], 6 packets were "forwarded" and 5"#,
            ),
            (
                after(["10", "10", "9", "1"], r#","delay_ns_histogram":[[100,3],[4000000000,1]]"#),
                r#"a delay of 4 s is in "delay_ns_histogram", and the trial took 3 s with its drain"#,
            ),
            (
                after(["10", "10", "9", "1"], r#","delay_ns_histogram":[[18446744073709551615,1]]"#),
                "a delay of 18446744073.709553 s",
            ),
            (after(["10", "10", "5", "1"], r#","forwarded":10"#), r#"it has "forwarded" twice"#),
            (
                after(
                    ["10", "10", "5", "1"],
                    r#","slices":[{"offered":1,"duration_s":1,"offered":2,"forwarded":0}]"#,
                ),
                r#"it has "offered" twice"#,
            ),
        ] {
            assert!(wrong.contains(says), "{wrong}\n{says}");
        }
        // What cost longer may have been on its way for longer.
        let waited = r#"{"intended":10,"offered":10,"forwarded":9,"duration_s":1,"elapsed_s":5,"delay_ns_histogram":[[4000000000,1]]}"#;
        assert_eq!(trial(waited).unwrap().delay.histogram.unwrap().count(), 1);
    }

    #[test]
    fn a_field_that_cannot_be_read_is_named_in_words_of_the_protocol() {
        let slice = r#","slices":[{"duration_s":0.5,"offered":4}]"#;
        for (wrong, says) in [
            (
                after(["10.5", "10", "5", "1"], ""),
                r#""intended" is 10.5: it must be a whole number, 0 or more and below 2^64"#,
            ),
            (after(["-1", "10", "5", "1"], ""), r#""intended" is -1: it must be a whole"#),
            (after(["10", "\"10\"", "5", "1"], ""), r#""offered" is "10": it must be a whole"#),
            (after(["10", "10", "null", "1"], ""), r#"it has no "forwarded""#),
            (
                after(["10", "10", "5", "0"], ""),
                r#""duration_s" is 0: it must be a number of seconds above 0"#,
            ),
            (after(["10", "10", "5", "-1"], ""), r#""duration_s" is -1: it must"#),
            (after(["10", "10", "5", "1e300"], ""), r#""duration_s" is 1e+300: it must"#),
            (after(["10", "10", "5", "1"], slice), r#"it has no "slices[0].forwarded""#),
            (after(["10", "10", "5", "1"], r#","slices":[7]"#), r#""slices[0]" is 7: it must be an object"#),
            (
                after(["10", "10", "5", "1"], r#","delay_ns_histogram":[[1,2],[3]]"#),
                r#""delay_ns_histogram[1]" is [3]: it must be [value_ns, count], two whole numbers"#,
            ),
            (
                after(["10", "10", "5", "1"], r#","caveats":["x",3]"#),
                r#""caveats[1]" is 3: it must be words"#,
            ),
        ] {
            assert!(wrong.contains(says), "{wrong}");
        }
        for (line, says) in [
            ("OK", ""),
            ("[]", ""),
            ("7", ""),
            ("{", ": EOF while parsing an object at byte 1"),
            (r#"{"intended":1}{}"#, ": trailing characters at byte 15"),
        ] {
            assert_eq!(trial(line).unwrap_err(), format!("it is not one JSON object{says}"), "{line}");
        }
    }

    #[test]
    fn a_number_that_is_too_large_is_called_that() {
        let wrong = after(["10", "1e400", "5", "1"], "");
        assert!(wrong.contains("the number at byte ") && wrong.contains("is beyond 1.8e308"), "{wrong}");
        let wrong = after(["10", "18446744073709551616", "5", "1"], "");
        assert!(wrong.contains("below 2^64"), "{wrong}");
    }

    #[test]
    fn what_would_fill_the_record_is_refused_with_the_bound_that_it_passed() {
        let caveats = |text: &str, count: usize| format!(r#","caveats":[{}]"#, vec![text; count].join(","));
        let words = |length: usize| format!("\"{}\"", "é".repeat(length));
        let coded = |length: usize| format!(r#"{{"code":"{}","text":"x"}}"#, "c".repeat(length));
        let slices = |count: usize| {
            format!(
                r#","slices":[{}]"#,
                vec![r#"{"duration_s":1e-9,"offered":0,"forwarded":0}"#; count].join(",")
            )
        };
        for (within, beyond, says) in [
            (
                caveats("\"x\"", 100),
                caveats("\"x\"", 101),
                "\"caveats\" has 101 entries, and at most 100 are taken",
            ),
            (
                caveats(&words(1000), 1),
                caveats(&words(1001), 1),
                "the text of \"caveats[0]\" has 1001 characters, and at most 1000 are taken",
            ),
            (caveats(&coded(64), 2), caveats(&coded(65), 2), "the code of \"caveats[0]\" has 65 characters"),
            (slices(10_000), slices(10_001), "\"slices\" has 10001 entries, and at most 10000 are taken"),
        ] {
            let line =
                |more: &str| format!(r#"{{"intended":10,"offered":10,"forwarded":5,"duration_s":1{more}}}"#);
            assert!(trial(&line(&within)).is_ok(), "{says}");
            let why = trial(&line(&beyond)).unwrap_err();
            assert!(why.starts_with(says), "{why}");
        }
    }
}
