//! The answer as tables in words and numbers.

use super::answer::Question;
use super::found::{CheckLine, ErrorLine, Reliability, Sentence};
use super::simulation::Simulation;
use super::verdict::{number, time};
use dropline_record::{Study, Table};
use dropline_report::{Curve, Curves};

const SENTENCES: &str = "What the original's notes say";

impl Reliability {
    /// What was asked, found and tried, for people.
    pub fn study(&self, asked: &Question) -> Study {
        let seen = number(100.0 * self.polls.used_seen);
        Study {
            charts: Vec::new(),
            name: "heartbeat reliability".into(),
            title: format!(
                "A random frame is stored with 2^{:.0}: once in {} at {} frames a second",
                self.random.stored.log2(),
                time(self.waiting.stored_s),
                number(self.waiting.frame_rate_pps)
            ),
            paragraphs: vec![
                format!(
                    "Only uniform noise earns that figure. A heartbeat that was damaged is another matter: three \
                     wrong bits can be enough, and a payload replaced under its old checksum passes with {}.",
                    number(self.stored.kept_checksum_fits)
                ),
                format!(
                    "A false value in a variable whose sender speaks every {} is seen by a monitor that asks every \
                     {} with {seen} %; in a silent or unused variable always. No check tells a late or replayed \
                     heartbeat, and only a keyed tag stops somebody who means it.",
                    time(self.polls.heartbeat_s),
                    time(self.polls.poll_s)
                ),
            ],
            tables: vec![
                self.random_packets(),
                self.checks(),
                self.errors(asked),
                self.damage(),
                self.polls(),
                self.tries(),
            ],
            caveats: Vec::new(),
        }
    }

    /// What passes each check over the bit error rate, for a page.
    pub fn plot(&self) -> Curves {
        let named = |name: &str| self.curves.undetected.iter().find(|(check, _)| *check == name);
        let at_most = |p: f64| self.curves.bit_error_rates.partition_point(|rate| *rate < p * 0.999);
        let at = at_most(1e-4);
        let title = match (self.curves.undetected.first(), named("CRC-16/CCITT")) {
            (Some((name, sum)), Some((crc, code))) => format!(
                "At a bit error rate of 10⁻⁴ {name} lets {} times as many wrong frames pass as {crc}, which is half \
                 as long",
                number((sum[at] / code[at]).round())
            ),
            _ => "Wrong frames that pass".into(),
        };
        Curves {
            title,
            caption:
                "The probability that a heartbeat arrives as another one and is stored; the formulas are in \
                 Dropline's explanation of heartbeats. Lower is better; the three sums lie close together."
                    .into(),
            x_name: "bit error rate".into(),
            y_name: "probability that a wrong frame passes".into(),
            x: self.curves.bit_error_rates.clone(),
            curves: self
                .curves
                .undetected
                .iter()
                .map(|(name, y)| Curve { name: (*name).into(), y: y.clone() })
                .collect(),
        }
    }

    /// The original's sentences as a table, for a page.
    pub fn sentences_table(&self) -> Table {
        let row = |line: &Sentence| {
            vec![format!("“{}”", line.quoted), line.verdict.word().into(), line.why.clone()]
        };
        Table {
            title: SENTENCES.into(),
            note: String::new(),
            columns: heads(&["sentence", "verdict", "why"]),
            rows: self.sentences.iter().map(row).collect(),
        }
    }

    /// The original's sentences as paragraphs, for a terminal.
    pub fn sentences_study(&self) -> Study {
        let paragraph =
            |line: &Sentence| format!("“{}”: {}; {}.", line.quoted, line.verdict.word(), line.why);
        Study {
            title: SENTENCES.into(),
            paragraphs: self.sentences.iter().map(paragraph).collect(),
            ..Study::default()
        }
    }

    fn random_packets(&self) -> Table {
        let (random, waiting) = (self.random, self.waiting);
        let row = |what: &str, chance: f64, between: f64| {
            vec![what.into(), format!("2^{:.0}", chance.log2()), number(chance), time(between)]
        };
        Table {
            title: "Eight random bytes".into(),
            note: format!(
                "At {} frames a second. At least one stored within a day: {}; within a year: {}. {} packets tried \
                 and none accepted show a probability below {} at {} %.",
                number(waiting.frame_rate_pps),
                number(waiting.stored_in_a_day),
                number(waiting.stored_in_a_year),
                self.trying.tried,
                self.trying.at_most.map_or("1".into(), number),
                number(100.0 * self.trying.level)
            ),
            columns: heads(&["taken for", "chance", "", "once in"]),
            rows: vec![
                row("a heartbeat, any variable", random.accepted, waiting.accepted_s),
                row("a heartbeat that is stored", random.stored, waiting.stored_s),
                row("a request", random.request, 1.0 / (waiting.frame_rate_pps * random.request)),
                row("a heartbeat, were its magic byte free", random.checksum_alone, waiting.checksum_alone_s),
            ],
        }
    }

    fn checks(&self) -> Table {
        let row = |line: &CheckLine| {
            let mut cells = vec![
                line.name.to_owned(),
                line.bits.to_string(),
                line.minimum_distance.map_or("1 possible".into(), |d| d.to_string()),
            ];
            cells.extend((0..4).map(|d| line.mean.get(d).map_or("–".into(), |mean| number(*mean))));
            cells
        };
        Table {
            title: "Wrong frames near a right one".into(),
            note: "Mean number of other storable heartbeats, each with its right check, that differ from one in \
                   exactly d bits, counted over all 2^22."
                .into(),
            columns: heads(&["check", "bits", "nearest", "d=1", "d=2", "d=3", "d=4"]),
            rows: self.checks.iter().map(row).collect(),
        }
    }

    fn errors(&self, asked: &Question) -> Table {
        let rate = |line: &ErrorLine| line.bit_error_rate.to_string();
        let mut columns = vec!["bit error rate".to_owned(), "any error".to_owned()];
        columns.extend(self.checks.iter().map(|check| check.name.to_owned()));
        columns.push("Adler-32: once in".into());
        let rows = (0..asked.bit_error_rates.len())
            .map(|at| {
                let adler = self.checks[0].undetected[at];
                let mut row = vec![rate(&adler), number(adler.any_error)];
                row.extend(self.checks.iter().map(|check| number(check.undetected[at].undetected.counted)));
                row.push(adler.between_s.map_or("never".into(), time));
                row
            })
            .collect();
        let worst = self.checks.iter().flat_map(|check| &check.undetected).fold(1.0, |worst: f64, line| {
            let chance = line.undetected;
            if chance.counted > 0.0 { worst.max(chance.at_most / chance.counted) } else { worst }
        });
        Table {
            title: "Bit errors that pass".into(),
            note: format!(
                "Each bit wrong at random; from the frames counted above, the CRCs' from all. What lies beyond \
                 distance 4 adds at most {} %. The keyed tag's is the mean over keys.",
                number(100.0 * (worst - 1.0))
            ),
            columns,
            rows,
        }
    }

    fn damage(&self) -> Table {
        let mut rows = vec![
            vec!["payload replaced, checksum kept".into(), number(self.stored.kept_checksum_fits)],
            vec![
                format!("all {} swaps of two bytes", self.swaps.tried),
                format!("{} of {} changed", self.swaps.stored, self.swaps.tried - self.swaps.unchanged),
            ],
            vec![
                format!("all {} rotations", self.rotations.tried),
                format!(
                    "{} of {} changed",
                    self.rotations.stored,
                    self.rotations.tried - self.rotations.unchanged
                ),
            ],
            vec!["one or two bytes replaced".into(), "0".into()],
            vec!["duplicate, delayed or replayed".into(), "1".into()],
        ];
        let shortest = self.shortest_burst_bits.unwrap_or(0);
        rows.push(vec![
            format!("burst of up to {} bits in the payload", shortest.saturating_sub(1)),
            "0".into(),
        ]);
        rows.extend(
            self.bursts.iter().filter(|burst| burst.bits >= shortest).map(|burst| {
                vec![format!("burst of {} bits in the payload", burst.bits), number(burst.passes)]
            }),
        );
        Table {
            title: "Other damage that passes".into(),
            note: "A burst begins and ends with a wrong bit, those between are wrong at random; most significant \
                   bit first, within the 22 bits that differ between heartbeats."
                .into(),
            columns: heads(&["damage", "passes"]),
            rows,
        }
    }

    fn polls(&self) -> Table {
        let polls = self.polls;
        let row = |what: String, chance: f64| vec![what, number(chance)];
        Table {
            title: "A false value seen at a poll".into(),
            note: format!(
                "Heartbeats every {}, polls every {}, {} of 64 variables in use. Random frames bring a false value \
                 that is seen once in {}.",
                time(polls.heartbeat_s),
                time(polls.poll_s),
                polls.used,
                time(polls.between_seen_s)
            ),
            columns: heads(&["stored in", "seen"]),
            rows: vec![
                row("a variable in use, regular heartbeats".into(), polls.used_seen),
                row("a variable in use, heartbeats at random".into(), polls.used_seen_random),
                row("an unused or silent variable".into(), polls.unused_seen),
                row("any of the 64".into(), polls.seen),
            ],
        }
    }

    fn tries(&self) -> Table {
        let row = |simulation: &Simulation| {
            vec![
                simulation.what.clone(),
                format!("{} of {}", simulation.hits, simulation.tried),
                simulation
                    .interval
                    .map_or("–".into(), |(low, high)| format!("{} to {}", number(low), number(high))),
                number(simulation.expected),
                if simulation.agrees() { "agrees" } else { "disagrees" }.into(),
            ]
        };
        let product =
            |chance: Option<f64>| chance.map_or("not seen".into(), |p| format!("2^{:.2}", p.log2()));
        Table {
            title: "The same by trying".into(),
            note: format!(
                "The first four are parts of a random packet, tried one by one; together they make {} accepted and \
                 {} stored.",
                product(self.splitting.accepted),
                product(self.splitting.stored)
            ),
            columns: heads(&["drawn; hit", "hits", "95 % interval", "formula", ""]),
            rows: self.splitting.parts.iter().chain(&self.simulations).map(row).collect(),
        }
    }
}

fn heads(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_holds_the_numbers_and_every_row_is_as_wide_as_its_heads() {
        let asked = Question { draws: 100_000, ..Question::default() };
        let found = asked.answer();
        let study = found.study(&asked);
        assert_eq!(
            study.title,
            "A random frame is stored with 2^-42: once in 34.8 years at 4000 frames a second"
        );
        let mut tables = study.tables;
        tables.push(found.sentences_table());
        for table in &tables {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.title);
        }
        assert_eq!(tables[0].rows[0][1..], ["2^-40", "9.09e-13", "8.71 years"]);
        assert_eq!(tables[1].rows[0][1..], ["32", "3", "0", "0", "12.2", "25"]);
        let at_1e_3 = &tables[2].rows[0];
        assert_eq!(at_1e_3[..3], ["0.001", "0.062", "1.15e-8"]);
        assert_eq!(at_1e_3.last().unwrap(), "6.03 h");
        assert_eq!(found.sentences.len(), found.sentences_study().paragraphs.len());
        let plot = found.plot();
        assert_eq!((plot.x.len(), plot.curves.len()), (41, found.checks.len()));
        // The curves go through the table's numbers.
        for (curve, check) in plot.curves.iter().zip(&found.checks) {
            for (at, line) in [(30, &check.undetected[0]), (0, &check.undetected[3])] {
                let ratio = curve.y[at] / line.undetected.counted;
                assert!((ratio - 1.0).abs() < 1e-9, "{}: {ratio}", curve.name);
            }
        }
    }
}
