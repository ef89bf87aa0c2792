//! Records of every version stay readable. A record that an older version wrote is never made again.

use dropline_record::Record;
use dropline_record::schema::Line;

#[test]
fn a_record_of_version_1_reads_as_it_was_written() {
    let text = include_str!("records/dropline-1.jsonl");
    // It was shortened by hand to four of its twenty trials, and a reader says so.
    let why = Record::read(text).unwrap_err().to_string();
    assert!(why.contains("line 6 of the record contradicts the trials before it"), "{why}");
    let (trials, result) = text.trim_end().rsplit_once('\n').unwrap();
    let record = Record::read(trials).unwrap();
    assert_eq!(record.header.schema, "dropline/1");
    assert_eq!(record.trials.len(), 4);
    let trials: Vec<_> = record.trials.iter().map(|line| line.trial().unwrap()).collect();
    assert!(
        trials.iter().all(|trial| trial.offered == trial.forwarded + trial.lost() + trial.generator_lost)
    );
    assert_eq!(trials[0].input.load.as_millipps(), 20_000_000);
    let delays = trials[0].delay.histogram.as_ref().unwrap();
    assert_eq!(delays.count(), trials[0].forwarded);
    let Ok(Line::Result(result)) = serde_json::from_str(result) else { panic!("it ends with its result") };
    assert_eq!((result.goals[0].lower_pps, result.goals[1].goal.loss_ratio), (Some(1819.903), 0.01));
}
