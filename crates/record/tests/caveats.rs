//! A doubt that was stored is read back as what it was: searches decide by it.

use dropline_record::CaveatLine;
use dropline_trial::Caveat;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn any_number<T: Arbitrary + 'static>(_name: &str) -> BoxedStrategy<T> {
    any::<T>().boxed()
}

/// A caveat of each variant that has a code of its own, with any numbers.
macro_rules! each {
    ($($variant:ident { $($field:ident),* })*) => {
        vec![$((any::<bool>(), $(any_number(stringify!($field)),)*).prop_map(|(_, $($field,)*)| Caveat::$variant { $($field),* }).boxed()),*]
    };
}

fn ours() -> Vec<BoxedStrategy<Caveat>> {
    each! {
        GeneratorLimited { intended, offered, error, interface }
        GeneratorLost { dropped }
        MoreThanOffered { offered, forwarded }
        ArrivalsNotKept { lateness_p99_ns, intended_idt_ns }
        GeneratorStarved { waited_ns }
        GeneratorThrottled { stopped_ns, times, runtime_us, period_us }
        TargetStarved { kept_ns, lost }
        LossDoubted { lost, ours }
        DelaysDoubted { delay_p90_ns, lateness_p90_ns }
        LinkDown { interface }
        RuleAppeared { rule }
        LeftElsewhere { packets, interface }
        AgentsLost { agents, lost, of }
        StartSkew { skew_ns, duration_ns }
        SuperposedConstant { agents, skew_ns, gap_ns }
        PacketTooLong { packet_bytes, mtu, interface }
        TargetUnreachable { error, at_ns, refused, reports }
        Outage { at_ns, for_ns, missing, offered, outages }
        FellSilent { at_ns, offered }
        WaitingGrew { from_ns, to_ns, duration_ns }
        AnswersAfterDrain { lost, late, drain_ns, fastest_ns, slowest_ns }
        StillQueued { lost, queued }
        ClockStepped { steps, largest_ns }
        StampsMissing { packets }
        DelayUnknown { packets }
        DelaysOfPart { known, replies }
        FewSlices { slices, wanted }
        PacketsLeftOut { kept, left_out }
        ForeignPackets { packets }
        RepliesDiffer { truncated, extended, changed }
        FramesDiffer { truncated, extended, changed }
        FramesPadded { frames }
        RepliesUnlike { truncated, extended, changed, unasked }
        RepliesElsewhere { packets, asked, from }
        CopiesElsewhere { copies, asked, from }
        RepliesRelayed { relayed, replies }
        RepliesInOrder { replies, lost, together }
        RepliesAmbiguous { ambiguous, replies }
        RepliesTwice { duplicated, lost }
        RepliesRefuse { class, refused, replies }
        AnswersLimited { refused, replies, silent, offered }
        RepliesFail { class, failed, replies }
        RepliesBeside { truncated, extended, changed }
        Drift { correlation, by_chance, since_trial, since_s, by_degrees }
        WarmUp { by_chance, since_trial, since_s, until_s, warmed_s }
        CarriesOver { by_chance, slow, after_loss, after_loss_pps, rested_pps }
        Unsteady { by_chance, low_pps, high_pps, is_slow, from_s, to_s }
        Slowed { before_pps, then_pps }
        TwoStates { slow_pps, fast_pps, slow, by_chance }
        Outages { trials, good, lowest_pps, borne_pps, least_lost }
        LossBelow { intended_load_pps, offered, lost }
        BadMoments { loss_ratio, trials, good, lowest_pps, borne_pps, decide, last, scattered }
        RandomLoss { loss_ratio, trials, of, lowest_pps, highest_pps, lost, offered }
        FailsAnywhere { loss_ratio, trials, of, lowest_pps, borne_pps, has_lower, has_upper }
        NoUpperEnd { loss_ratio, failed, passed_pps }
        CountersShared { beyond, unplaced }
        OthersCame { dropped, came }
        PlaceInferred { place, packets, because }
        PlacesUnseen { what, need }
        NotRealTime { why }
        TimerSlack { ns }
        RealTimeThrottled { runtime_us, period_us }
        Virtualized { by }
        MemoryNotLocked {}
        CpusMaySleep {}
        StoppedAtSpike { late_ns, number, cpu }
        EventsMissing { recorded, missing }
        PassagesUnmatched { passages }
        StampsDisagree { passages, least_ns }
        StampsDrift { ppm }
        Stalled { pipe, silent_ns, in_flight }
        BeginningCounted { passages }
        ProgramFailed { status }
        EventsLeftOut { kept, left_out }
        TraceDamaged { packets }
        GoalsContradict {
            strict_loss_ratio, loose_loss_ratio, achieved_pps, limit_pps, low_pps, high_pps
        }
        Interrupted {}
    }
}

/// The codes that the crate `trial` has, as its source says them.
fn codes() -> BTreeSet<String> {
    let source = include_str!("../../trial/src/caveat.rs");
    let arms = source.lines().filter_map(|line| line.trim().strip_prefix("Self::")?.split_once("=> \""));
    arms.map(|(_, code)| code.trim_end_matches("\",").to_owned()).collect()
}

/// What another program said, often in our words.
fn reported() -> impl Strategy<Value = Caveat> {
    let code = prop_oneof![prop::sample::select(codes().into_iter().collect::<Vec<_>>()), any::<String>(),];
    (code, any::<String>(), any::<bool>()).prop_map(|(code, text, ours)| {
        let text = match code.as_str() {
            "interrupted" if ours => Caveat::Interrupted.to_string(),
            "memory_not_locked" if ours => Caveat::MemoryNotLocked.to_string(),
            "cpus_may_sleep" if ours => Caveat::CpusMaySleep.to_string(),
            _ => text,
        };
        Caveat::Reported { code, text }
    })
}

fn any_caveat() -> impl Strategy<Value = Caveat> {
    prop_oneof![3 => prop::strategy::Union::new(ours()), 1 => reported()]
}

fn stored(caveat: &Caveat) -> CaveatLine {
    let text = serde_json::to_string(&CaveatLine::from(caveat)).unwrap();
    serde_json::from_str(&text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_caveat_read_back_is_the_caveat_that_was_stored(caveat in any_caveat()) {
        let line = stored(&caveat);
        prop_assert_eq!((&line.code[..], &line.text), (caveat.code(), &caveat.to_string()));
        prop_assert_eq!(line.caveat(), caveat);
    }
}

#[test]
fn every_kind_of_caveat_is_tried_above() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tried: BTreeSet<String> =
        ours().iter().map(|one| one.new_tree(&mut runner).unwrap().current().code().to_owned()).collect();
    assert_eq!(tried, codes(), "a new caveat is a line of `ours`");
}

#[test]
fn a_code_of_ours_with_other_numbers_is_what_another_program_said() {
    for line in [
        r#"{"code":"generator_starved","text":"so it says"}"#,
        r#"{"code":"generator_starved","text":"so it says","waited_ns":-1}"#,
        r#"{"code":"generator_starved","text":"so it says","waited_ns":1,"more":2}"#,
        r#"{"code":"generator_starved","text":"so it says","waited_ns":1,"reported":true}"#,
    ] {
        let line: CaveatLine = serde_json::from_str(line).unwrap();
        let said = Caveat::Reported { code: "generator_starved".into(), text: "so it says".into() };
        assert_eq!(line.caveat(), said);
    }
}

#[test]
fn a_doubt_of_an_older_record_in_other_words_is_the_doubt() {
    let line =
        r#"{"code":"generator_starved","text":"as it was said then","waited_ns":18446744073709551615}"#;
    let line: CaveatLine = serde_json::from_str(line).unwrap();
    assert_eq!(line.caveat(), Caveat::GeneratorStarved { waited_ns: u64::MAX });
}

/// One of each kind, as the version of 25 November 2026 stored it: a field that came later has a default.
#[test]
fn a_doubt_that_an_older_version_stored_is_read_back_as_what_it_was() {
    let kept = include_str!("kept/caveats-2026-11-25.jsonl");
    let lines = kept.lines().map(|line| serde_json::from_str::<CaveatLine>(line).unwrap());
    let read: Vec<Caveat> = lines.map(|line| line.caveat()).collect();
    let reported: Vec<&Caveat> = read.iter().filter(|read| matches!(read, Caveat::Reported { .. })).collect();
    assert!(reported.is_empty() && read.len() >= 48, "{} lines, as reported: {reported:?}", read.len());
}
